"""kinetree: the dynamics of robots and mechanisms, for one state or a million."""

from . import gallery
from .dh import DHRow, KhalilRow, from_dh
from .errors import (
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
from .simulation import (
    Event,
    Record,
    Simulator,
    contact,
    control,
    ground,
    impact,
    inverse_kinematics,
    legs,
    simulate,
    simulate_rigid,
    stops,
    trajectories,
    walking,
)
from .spatial import arctan2, cos, sin, sqrt, where

__version__ = "0.1.0"

__all__ = [
    "Builder",
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


def __getattr__(name: str) -> object:
    """The viewer is imported when first asked for: it needs the extra ``view``."""
    if name == "view":
        import importlib

        return importlib.import_module(".view", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
