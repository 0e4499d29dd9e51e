"""kinetree: the dynamics of robots and mechanisms, for one state or a million."""

from .dh import DHRow, KhalilRow, from_dh
from .errors import (
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
    SingularError,
    SingularityWarning,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from .load import load
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
from .spatial import cos, sin, sqrt, where

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "CompileError",
    "Continuous",
    "Custom",
    "Cylindrical",
    "DHRow",
    "Distance",
    "EulerFree",
    "EulerSpherical",
    "FileFormatError",
    "Fixed",
    "Free",
    "Helical",
    "KhalilRow",
    "KinetreeError",
    "KinetreeWarning",
    "MassProperties",
    "Mimic",
    "ModelError",
    "ModelWarning",
    "OptionError",
    "OutputError",
    "Planar",
    "Pose",
    "Prismatic",
    "Revolute",
    "Robot",
    "RobotFileNotFoundError",
    "ShapeError",
    "SingularError",
    "SingularityWarning",
    "Spherical",
    "StateError",
    "Translation",
    "Universal",
    "UnknownNameError",
    "UnsupportedError",
    "Wrench",
    "cos",
    "from_dh",
    "load",
    "sin",
    "sqrt",
    "where",
]
