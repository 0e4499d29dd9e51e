"""The spatial biped of Shah: its gait, feet and gains."""

from __future__ import annotations

from kinetree.contact.ground import rectangle
from kinetree.motion.walking import gaits, legs

from ..walking_machine import BOTH, Walker, walking_system

FOOT_WIDTH = 0.08
"""Width of the feet of the spatial biped in meters; the book does not state it."""


def machine() -> Walker:
    """Make the machine of Shah section 7.2.2: hips are ball joints, ankles universal, four spots per foot."""
    spots = [s for side in BOTH for s in rectangle(f"{side}_foot", 0.15, FOOT_WIDTH)]
    angles = ("zero", "-roll", "-hip", "knee", "-ankle", "roll")
    walk = gaits.biped(legs.SPATIAL_BIPED, 0.5, 0.5, hip_width=0.1, coordinates=angles)
    return Walker("biped-spatial", walk, spots, "spatial-biped", 0.05, (200.0, 40.0), (200.0, 40.0))


SYSTEM = walking_system(
    machine(),
    BOTH,
    ("hip", "knee", "ankle"),
    "spatial biped: ball joints at the hips, universal ankles, 18 degrees of freedom",
    "Shah sections 7.2.2 and 9.3, Table B.1",
    "Width of a foot (0.08 m) and inertia of the trunk (a cube of 0.1 m, hips at its lower edges) are not in the book.",
    "No ground data are printed for this machine: those of the planar biped, at four spots per foot.",
    "The initial lateral offset is 0.08 m in section 7.2.2 and -0.08 m in Table B.1: the sign is the standing foot's "
    "side.",
)
