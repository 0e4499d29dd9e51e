"""kinetree: the dynamics of robots and mechanisms, for one state or a million."""

from typing import TYPE_CHECKING

from . import former_names
from .lazy_names import LazyNames
from .version import VERSION

if TYPE_CHECKING:
    from . import contact as contact
    from . import control as control
    from . import errors as errors
    from . import forces as forces
    from . import gallery as gallery
    from . import identification as identification
    from . import simulation as simulation
    from . import spatial as spatial
    from . import sweeps as sweeps
    from .contact import ground as ground
    from .contact import impact as impact
    from .contact import stops as stops
    from .errors import ArgumentError as ArgumentError
    from .errors import CacheWarning as CacheWarning
    from .errors import ClosureError as ClosureError
    from .errors import CompileError as CompileError
    from .errors import ContactWarning as ContactWarning
    from .errors import FileFormatError as FileFormatError
    from .errors import IdentificationError as IdentificationError
    from .errors import IdentificationWarning as IdentificationWarning
    from .errors import KinetreeError as KinetreeError
    from .errors import KinetreeWarning as KinetreeWarning
    from .errors import MissingFileError as MissingFileError
    from .errors import ModelError as ModelError
    from .errors import ModelWarning as ModelWarning
    from .errors import NoLoopsError as NoLoopsError
    from .errors import NoSolutionError as NoSolutionError
    from .errors import NoValueError as NoValueError
    from .errors import OptionError as OptionError
    from .errors import OutputError as OutputError
    from .errors import PathError as PathError
    from .errors import ReadOnlyError as ReadOnlyError
    from .errors import RobotFileNotFoundError as RobotFileNotFoundError
    from .errors import RoundingWarning as RoundingWarning
    from .errors import ShapeError as ShapeError
    from .errors import SimulationError as SimulationError
    from .errors import SingularError as SingularError
    from .errors import SingularityWarning as SingularityWarning
    from .errors import SpeedWarning as SpeedWarning
    from .errors import StateError as StateError
    from .errors import TrajectoryError as TrajectoryError
    from .errors import UnknownNameError as UnknownNameError
    from .errors import UnreachableError as UnreachableError
    from .errors import UnsupportedError as UnsupportedError
    from .export import c_code as _c_code
    from .export import published as published
    from .export import symbolic as symbolic
    from .identification.excitation import exciting_motion as exciting_motion
    from .identification.identified import Identified as Identified
    from .identification.identify import identify as identify
    from .identification.measured import Measured as Measured
    from .loops.constraint_forces import ConstraintForces as ConstraintForces
    from .model import euler_angle_joints as euler_angle_joints
    from .model.joint_fields import Mimic as Mimic
    from .model.joints import Continuous as Continuous
    from .model.joints import Custom as Custom
    from .model.joints import Cylindrical as Cylindrical
    from .model.joints import Distance as Distance
    from .model.joints import EulerFree as EulerFree
    from .model.joints import EulerSpherical as EulerSpherical
    from .model.joints import Fixed as Fixed
    from .model.joints import Free as Free
    from .model.joints import Helical as Helical
    from .model.joints import KnifeEdge as KnifeEdge
    from .model.joints import ParallelAxes as ParallelAxes
    from .model.joints import Planar as Planar
    from .model.joints import PointOnLine as PointOnLine
    from .model.joints import PointOnPlane as PointOnPlane
    from .model.joints import Prismatic as Prismatic
    from .model.joints import Revolute as Revolute
    from .model.joints import RollingBall as RollingBall
    from .model.joints import RollingWheel as RollingWheel
    from .model.joints import Spherical as Spherical
    from .model.joints import Translation as Translation
    from .model.joints import Universal as Universal
    from .model.mass import MassProperties as MassProperties
    from .model.pose import Pose as Pose
    from .motion import trajectories as trajectories
    from .motion import walking as walking
    from .motion.equilibrium import equilibrium as equilibrium
    from .motion.inverse_geometry import InverseGeometry as InverseGeometry
    from .motion.inverse_geometry import inverse_geometry as inverse_geometry
    from .motion.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from .motion.walking import legs as legs
    from .motion.workspace import workspace as workspace
    from .robot import chain_costs as _chain_costs
    from .robot.builder import Builder as Builder
    from .robot.dh import DHRow as DHRow
    from .robot.dh import KhalilRow as KhalilRow
    from .robot.dh import from_dh as from_dh
    from .robot.load import load as load
    from .robot.mechanism import Mechanism as Mechanism
    from .robot.robot import Robot as Robot
    from .run.functions import compile_function as compile_function
    from .run.wrenches import Wrench as Wrench
    from .simulation.constrained.drift import Baumgarte as Baumgarte
    from .simulation.constrained.driven_robot import DrivenRobot as DrivenRobot
    from .simulation.events import Event as Event
    from .simulation.prescribed import Prescribed as Prescribed
    from .simulation.records.record import Record as Record
    from .simulation.rigid_run import simulate_rigid as simulate_rigid
    from .simulation.simulator import Simulator as Simulator
    from .simulation.simulator import simulate as simulate
    from .simulation.simulator import simulate_prescribed as simulate_prescribed
    from .simulation.worlds import sensors as sensors
    from .simulation.worlds.draws import LogUniform as LogUniform
    from .simulation.worlds.draws import Normal as Normal
    from .simulation.worlds.draws import Uniform as Uniform
    from .simulation.worlds.moment import Moment as Moment
    from .simulation.worlds.random_pushes import RandomPushes as RandomPushes
    from .simulation.worlds.world import World as World
    from .spatial import arctan2 as arctan2
    from .spatial import clip as clip
    from .spatial import cos as cos
    from .spatial import exp as exp
    from .spatial import log as log
    from .spatial import logical_and as logical_and
    from .spatial import logical_not as logical_not
    from .spatial import logical_or as logical_or
    from .spatial import maximum as maximum
    from .spatial import minimum as minimum
    from .spatial import sign as sign
    from .spatial import sin as sin
    from .spatial import sqrt as sqrt
    from .spatial import tanh as tanh
    from .spatial import where as where
    from .studies.redysim import Redysim as Redysim
    from .sweeps.running import sweep as sweep
    from .view import view as view

    codegen, cost = _c_code, _chain_costs

__version__ = VERSION

former_names.install()


def _meant(name: str) -> str | None:
    """Say what is called so elsewhere."""
    from .robot.names_elsewhere import function_called

    here = function_called(name)
    return f"here it is {here}" if here else None


_NAMES = LazyNames(
    __name__,
    {
        ".errors": (
            "ArgumentError",
            "CacheWarning",
            "ClosureError",
            "CompileError",
            "ContactWarning",
            "FileFormatError",
            "IdentificationError",
            "IdentificationWarning",
            "KinetreeError",
            "KinetreeWarning",
            "MissingFileError",
            "ModelError",
            "ModelWarning",
            "NoLoopsError",
            "NoSolutionError",
            "NoValueError",
            "OptionError",
            "OutputError",
            "PathError",
            "ReadOnlyError",
            "RobotFileNotFoundError",
            "RoundingWarning",
            "ShapeError",
            "SimulationError",
            "SingularError",
            "SingularityWarning",
            "SpeedWarning",
            "StateError",
            "TrajectoryError",
            "UnknownNameError",
            "UnreachableError",
            "UnsupportedError",
        ),
        ".studies.redysim": ("Redysim",),
        ".identification.excitation": ("exciting_motion",),
        ".identification.identified": ("Identified",),
        ".identification.identify": ("identify",),
        ".identification.measured": ("Measured",),
        ".loops.constraint_forces": ("ConstraintForces",),
        ".model.joint_fields": ("Mimic",),
        ".model.joints": (
            "Continuous",
            "Custom",
            "Cylindrical",
            "Distance",
            "EulerFree",
            "EulerSpherical",
            "Fixed",
            "Free",
            "Helical",
            "KnifeEdge",
            "ParallelAxes",
            "Planar",
            "PointOnLine",
            "PointOnPlane",
            "Prismatic",
            "Revolute",
            "RollingBall",
            "RollingWheel",
            "Spherical",
            "Translation",
            "Universal",
        ),
        ".model.mass": ("MassProperties",),
        ".model.pose": ("Pose",),
        ".motion.equilibrium": ("equilibrium",),
        ".motion.inverse_geometry": ("InverseGeometry", "inverse_geometry"),
        ".motion.inverse_kinematics": ("inverse_kinematics",),
        ".motion.workspace": ("workspace",),
        ".robot.builder": ("Builder",),
        ".robot.dh": ("DHRow", "KhalilRow", "from_dh"),
        ".robot.load": ("load",),
        ".robot.mechanism": ("Mechanism",),
        ".robot.robot": ("Robot",),
        ".run.functions": ("compile_function",),
        ".run.wrenches": ("Wrench",),
        ".simulation.constrained.drift": ("Baumgarte",),
        ".simulation.constrained.driven_robot": ("DrivenRobot",),
        ".simulation.events": ("Event",),
        ".simulation.prescribed": ("Prescribed",),
        ".simulation.records.record": ("Record",),
        ".simulation.rigid_run": ("simulate_rigid",),
        ".simulation.simulator": ("Simulator", "simulate", "simulate_prescribed"),
        ".simulation.worlds.draws": ("LogUniform", "Normal", "Uniform"),
        ".simulation.worlds.moment": ("Moment",),
        ".simulation.worlds.random_pushes": ("RandomPushes",),
        ".simulation.worlds.world": ("World",),
        ".spatial": (
            "arctan2",
            "clip",
            "cos",
            "exp",
            "log",
            "logical_and",
            "logical_not",
            "logical_or",
            "maximum",
            "minimum",
            "sign",
            "sin",
            "sqrt",
            "tanh",
            "where",
        ),
        ".sweeps.running": ("sweep",),
    },
    modules={
        "contact": ".contact",
        "ground": ".contact.ground",
        "impact": ".contact.impact",
        "stops": ".contact.stops",
        "control": ".control",
        "errors": ".errors",
        "published": ".export.published",
        "symbolic": ".export.symbolic",
        "forces": ".forces",
        "gallery": ".gallery",
        "gym": ".gym",
        "identification": ".identification",
        "euler_angle_joints": ".model.euler_angle_joints",
        "trajectories": ".motion.trajectories",
        "walking": ".motion.walking",
        "legs": ".motion.walking.legs",
        "simulation": ".simulation",
        "sensors": ".simulation.worlds.sensors",
        "spatial": ".spatial",
        "sweeps": ".sweeps",
        "view": ".view",
        "codegen": ".export.c_code",
        "cost": ".robot.chain_costs",
    },
    otherwise=_meant,
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
