"""kinetree: the dynamics of robots and mechanisms, for one state or a million."""

from typing import TYPE_CHECKING

from .dh import DHRow, KhalilRow, from_dh
from .errors import (
    CacheWarning,
    ClosureError,
    CompileError,
    ContactWarning,
    FileFormatError,
    KinetreeError,
    KinetreeWarning,
    MissingFileError,
    ModelError,
    ModelWarning,
    NoLoopsError,
    OptionError,
    OutputError,
    RobotFileNotFoundError,
    ShapeError,
    SimulationError,
    SingularError,
    SingularityWarning,
    StateError,
    TrajectoryError,
    UnknownNameError,
    UnreachableError,
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
from .robot import Builder, Robot
from .spatial import arctan2, cos, sin, sqrt, where
from .wrenches import Wrench

if TYPE_CHECKING:
    from . import codegen, cost, errors, gallery, published, simulation, symbolic
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
    from .view import view

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "CacheWarning",
    "ClosureError",
    "CompileError",
    "ConstraintForces",
    "ContactWarning",
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
    "MissingFileError",
    "ModelError",
    "ModelWarning",
    "NoLoopsError",
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
    "TrajectoryError",
    "Translation",
    "Universal",
    "UnknownNameError",
    "UnreachableError",
    "UnsupportedError",
    "Wrench",
    "arctan2",
    "codegen",
    "contact",
    "control",
    "cos",
    "cost",
    "errors",
    "from_dh",
    "gallery",
    "ground",
    "impact",
    "inverse_kinematics",
    "legs",
    "load",
    "published",
    "simulate",
    "simulate_rigid",
    "simulation",
    "sin",
    "sqrt",
    "stops",
    "symbolic",
    "trajectories",
    "view",
    "walking",
    "where",
]


_PACKAGES = ("codegen", "cost", "errors", "gallery", "published", "simulation", "symbolic", "view")
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
    """What a robot's dynamics can do without (simulation, gallery, viewer, ...) is imported when first asked for."""
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name in _OF_SIMULATION:
        value = globals()[name] = getattr(import_module(".simulation", __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names; modules that others have imported are there, too, but are not meant."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
