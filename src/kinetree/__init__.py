"""kinetree: the dynamics of robots and mechanisms, for one state or a million."""

import importlib
from typing import TYPE_CHECKING

from .dh import DHRow, KhalilRow, from_dh
from .errors import (
    CacheWarning,
    ClosureError,
    CompileError,
    FileFormatError,
    KinetreeError,
    KinetreeWarning,
    ModelError,
    ModelWarning,
    OptionError,
    OutputError,
    RobotFileNotFoundError,
    ShapeError,
    SimulationError,
    SingularError,
    SingularityWarning,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from .load import load
from .mechanism import ConstraintForces, Mechanism
from .model.joints import (
    Continuous,
    Custom,
    Cylindrical,
    Distance,
    EulerFree,
    EulerSpherical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translation,
    Universal,
)
from .model.mass import MassProperties
from .model.pose import Pose
from .model.tree import Mimic
from .robot import Builder, Robot, Wrench
from .spatial import arctan2, cos, sin, sqrt, where

if TYPE_CHECKING:
    from . import gallery
    from .simulation import (
        Event,
        Record,
        contact,
        control,
        ground,
        impact,
        legs,
        simulate_rigid,
        stops,
        trajectories,
        walking,
    )
    from .simulation.inverse_kinematics import inverse_kinematics
    from .simulation.simulate import Simulator, simulate

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "CacheWarning",
    "ClosureError",
    "CompileError",
    "ConstraintForces",
    "Continuous",
    "Custom",
    "Cylindrical",
    "DHRow",
    "Distance",
    "EulerFree",
    "EulerSpherical",
    "Event",
    "FileFormatError",
    "Fixed",
    "Free",
    "Helical",
    "KhalilRow",
    "KinetreeError",
    "KinetreeWarning",
    "MassProperties",
    "Mechanism",
    "Mimic",
    "ModelError",
    "ModelWarning",
    "OptionError",
    "OutputError",
    "Planar",
    "Pose",
    "Prismatic",
    "Record",
    "Revolute",
    "Robot",
    "RobotFileNotFoundError",
    "ShapeError",
    "SimulationError",
    "Simulator",
    "SingularError",
    "SingularityWarning",
    "Spherical",
    "StateError",
    "Translation",
    "Universal",
    "UnknownNameError",
    "UnsupportedError",
    "Wrench",
    "arctan2",
    "contact",
    "control",
    "cos",
    "from_dh",
    "gallery",
    "ground",
    "impact",
    "inverse_kinematics",
    "legs",
    "load",
    "simulate",
    "simulate_rigid",
    "sin",
    "sqrt",
    "stops",
    "trajectories",
    "walking",
    "where",
]


_PACKAGES = ("gallery", "simulation", "view")
_OF_SIMULATION = (
    "Event",
    "Record",
    "Simulator",
    "contact",
    "control",
    "ground",
    "impact",
    "inverse_kinematics",
    "legs",
    "simulate",
    "simulate_rigid",
    "stops",
    "trajectories",
    "walking",
)


def __getattr__(name: str) -> object:
    """Simulation, gallery and viewer are imported when first asked for: a robot's dynamics need none of them."""
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name in _OF_SIMULATION:
        value = globals()[name] = getattr(importlib.import_module(".simulation", __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
