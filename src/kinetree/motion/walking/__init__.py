"""Walking: gaits as trajectories, the geometry of legs, the zero moment point."""

from ...errors import explain_public
from .gaits import Leg, TrunkPath, Walk, biped, tripod, trot
from .legs import (
    HEXAPOD,
    PLANAR_BIPED,
    QUADRUPED,
    SPATIAL_BIPED,
    UNIFIED_BIPED,
    Gait,
    LegAngles,
    inverted_pendulum,
    leg_angles,
)
from .zero_moment_point import center_of_pressure, support_margin, zero_moment_point

__all__ = [
    "HEXAPOD", "PLANAR_BIPED", "QUADRUPED", "SPATIAL_BIPED", "UNIFIED_BIPED", "Gait", "Leg", "LegAngles", "TrunkPath",
    "Walk", "biped", "center_of_pressure", "inverted_pendulum", "leg_angles", "support_margin", "tripod", "trot",
    "zero_moment_point",
]  # fmt: skip


__dir__ = explain_public(__name__)
