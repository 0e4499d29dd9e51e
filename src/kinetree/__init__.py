"""kinetree: the dynamics of robots and mechanisms, for one state or a million."""

from typing import TYPE_CHECKING

from . import former_names
from .errors import (
    ArgumentError,
    CacheWarning,
    ClosureError,
    CompileError,
    ContactWarning,
    FileFormatError,
    IdentificationError,
    IdentificationWarning,
    KinetreeError,
    KinetreeWarning,
    MissingFileError,
    ModelError,
    ModelWarning,
    NoLoopsError,
    NoSolutionError,
    OptionError,
    OutputError,
    PathError,
    ReadOnlyError,
    RobotFileNotFoundError,
    RoundingWarning,
    ShapeError,
    SimulationError,
    SingularError,
    SingularityWarning,
    SpeedWarning,
    StateError,
    TrajectoryError,
    UnknownNameError,
    UnreachableError,
    UnsupportedError,
)
from .loops.constraint_forces import ConstraintForces
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
    KnifeEdge,
    ParallelAxes,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    RollingBall,
    RollingWheel,
    Spherical,
    Translation,
    Universal,
)
from .model.mass import MassProperties
from .model.pose import Pose
from .model.tree import Mimic
from .robot import names_elsewhere
from .robot.builder import Builder
from .robot.dh import DHRow, KhalilRow, from_dh
from .robot.load import load
from .robot.mechanism import Mechanism
from .robot.robot import Robot
from .run.wrenches import Wrench
from .spatial import (
    arctan2,
    clip,
    cos,
    exp,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)
from .version import VERSION

if TYPE_CHECKING:
    from . import contact, control, errors, forces, gallery, identification, simulation, spatial, sweeps
    from .contact import ground, impact, stops
    from .export import c_code as codegen
    from .export import published, symbolic
    from .identification.excitation import exciting_motion
    from .identification.identified import Identified
    from .identification.identify import identify
    from .identification.measured import Measured
    from .model import euler_angle_joints
    from .motion import trajectories, walking
    from .motion.equilibrium import equilibrium
    from .motion.inverse_kinematics import inverse_kinematics
    from .motion.walking import legs
    from .motion.workspace import workspace
    from .robot import chain_costs as cost
    from .run.functions import compile_function
    from .simulation.constrained.drift import Baumgarte
    from .simulation.constrained.driven_robot import DrivenRobot
    from .simulation.events import Event
    from .simulation.prescribed import Prescribed
    from .simulation.records.record import Record
    from .simulation.rigid_run import simulate_rigid
    from .simulation.simulate import Simulator, simulate, simulate_prescribed
    from .simulation.worlds import sensors
    from .simulation.worlds.draws import LogUniform, Normal, Uniform
    from .simulation.worlds.moment import Moment
    from .simulation.worlds.random_pushes import RandomPushes
    from .simulation.worlds.world import World
    from .sweeps.running import sweep
    from .view import view

__version__ = VERSION

former_names.install()

__all__ = [
    "ArgumentError",
    "Baumgarte",
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
    "DrivenRobot",
    "EulerFree",
    "EulerSpherical",
    "Event",
    "FileFormatError",
    "Fixed",
    "Free",
    "Helical",
    "IdentificationError",
    "IdentificationWarning",
    "Identified",
    "KhalilRow",
    "KinetreeError",
    "KinetreeWarning",
    "KnifeEdge",
    "LogUniform",
    "MassProperties",
    "Measured",
    "Mechanism",
    "Mimic",
    "MissingFileError",
    "ModelError",
    "ModelWarning",
    "Moment",
    "NoLoopsError",
    "NoSolutionError",
    "Normal",
    "OptionError",
    "OutputError",
    "ParallelAxes",
    "PathError",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Pose",
    "Prescribed",
    "Prismatic",
    "RandomPushes",
    "ReadOnlyError",
    "Record",
    "Revolute",
    "Robot",
    "RobotFileNotFoundError",
    "RollingBall",
    "RollingWheel",
    "RoundingWarning",
    "ShapeError",
    "SimulationError",
    "Simulator",
    "SingularError",
    "SingularityWarning",
    "SpeedWarning",
    "Spherical",
    "StateError",
    "TrajectoryError",
    "Translation",
    "Uniform",
    "Universal",
    "UnknownNameError",
    "UnreachableError",
    "UnsupportedError",
    "World",
    "Wrench",
    "arctan2",
    "clip",
    "codegen",
    "compile_function",
    "contact",
    "control",
    "cos",
    "cost",
    "equilibrium",
    "errors",
    "euler_angle_joints",
    "exciting_motion",
    "exp",
    "forces",
    "from_dh",
    "gallery",
    "ground",
    "gym",
    "identification",
    "identify",
    "impact",
    "inverse_kinematics",
    "legs",
    "load",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "published",
    "sensors",
    "sign",
    "simulate",
    "simulate_prescribed",
    "simulate_rigid",
    "simulation",
    "sin",
    "spatial",
    "sqrt",
    "stops",
    "sweep",
    "sweeps",
    "symbolic",
    "tanh",
    "trajectories",
    "view",
    "walking",
    "where",
    "workspace",
]


_LATER = {
    "sensors": ".simulation.worlds.sensors",
    "Normal": ".simulation.worlds.draws:Normal",
    "LogUniform": ".simulation.worlds.draws:LogUniform",
    "Uniform": ".simulation.worlds.draws:Uniform",
    "Moment": ".simulation.worlds.moment:Moment",
    "RandomPushes": ".simulation.worlds.random_pushes:RandomPushes",
    "World": ".simulation.worlds.world:World",
    "Baumgarte": ".simulation.constrained.drift:Baumgarte",
    "DrivenRobot": ".simulation.constrained.driven_robot:DrivenRobot",
    "Event": ".simulation.events:Event",
    "Identified": ".identification.identified:Identified",
    "Measured": ".identification.measured:Measured",
    "Prescribed": ".simulation.prescribed:Prescribed",
    "Record": ".simulation.records.record:Record",
    "Simulator": ".simulation.simulate:Simulator",
    "codegen": ".export.c_code",
    "compile_function": ".run.functions:compile_function",
    "contact": ".contact",
    "control": ".control",
    "cost": ".robot.chain_costs",
    "equilibrium": ".motion.equilibrium:equilibrium",
    "errors": ".errors",
    "euler_angle_joints": ".model.euler_angle_joints",
    "exciting_motion": ".identification.excitation:exciting_motion",
    "forces": ".forces",
    "gallery": ".gallery",
    "gym": ".gym",
    "ground": ".contact.ground",
    "identification": ".identification",
    "identify": ".identification.identify:identify",
    "impact": ".contact.impact",
    "inverse_kinematics": ".motion.inverse_kinematics:inverse_kinematics",
    "legs": ".motion.walking.legs",
    "published": ".export.published",
    "simulate": ".simulation.simulate:simulate",
    "simulate_prescribed": ".simulation.simulate:simulate_prescribed",
    "simulate_rigid": ".simulation.rigid_run:simulate_rigid",
    "simulation": ".simulation",
    "stops": ".contact.stops",
    "sweep": ".sweeps.running:sweep",
    "sweeps": ".sweeps",
    "symbolic": ".export.symbolic",
    "trajectories": ".motion.trajectories",
    "view": ".view",
    "walking": ".motion.walking",
    "workspace": ".motion.workspace:workspace",
}
"""Where the public names are that a robot's dynamics can do without: imported when first asked for."""


def __getattr__(name: str) -> object:
    """Import what a robot's dynamics can do without (simulation, gallery, viewer, ...) when it is first asked for."""
    if name not in _LATER:
        here = names_elsewhere.function_called(name)
        hint = f"; here it is {here}" if here else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    from importlib import import_module

    module, _, attribute = _LATER[name].partition(":")
    value: object = import_module(module, __name__)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names; modules that others have imported are there, too, but are not meant."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
