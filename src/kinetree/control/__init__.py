"""Controllers: what the motors do at every moment, each a law over any scalar, compiled with the robot it drives."""

from typing import TYPE_CHECKING

from ..lazy_names import LazyNames

if TYPE_CHECKING:
    from .actuators import Actuators as Actuators
    from .base import Controller as Controller
    from .base import Sum as Sum
    from .base import critical_damping as critical_damping
    from .base import gains as gains
    from .basic_controllers import PD as PD
    from .basic_controllers import PID as PID
    from .basic_controllers import FrictionCompensation as FrictionCompensation
    from .basic_controllers import GravityCompensation as GravityCompensation
    from .basic_controllers import Law as Law
    from .basic_controllers import PythonLaw as PythonLaw
    from .basic_controllers import Saturated as Saturated
    from .basic_controllers import TorqueTable as TorqueTable
    from .basic_controllers import from_function as from_function
    from .commands import Commanded as Commanded
    from .computed_torque import ComputedTorque as ComputedTorque
    from .feedforward import Feedforward as Feedforward
    from .observers import LinearObserver as LinearObserver
    from .observers import MomentumObserver as MomentumObserver
    from .observers import Observer as Observer
    from .observers import kalman as kalman
    from .observers import luenberger as luenberger
    from .operational_space import CartesianImpedance as CartesianImpedance
    from .operational_space import OperationalSpace as OperationalSpace
    from .sampled import DiscreteLaw as DiscreteLaw
    from .sampled import Sampled as Sampled
    from .state_feedback import StateFeedback as StateFeedback
    from .state_feedback import lqr as lqr
    from .tuning import Gains as Gains
    from .tuning import gains_for as gains_for
    from .with_model import WithModel as WithModel

_NAMES = LazyNames(
    __name__,
    {
        ".actuators": ("Actuators",),
        ".base": ("Controller", "Sum", "critical_damping", "gains"),
        ".basic_controllers": (
            "FrictionCompensation",
            "GravityCompensation",
            "Law",
            "PD",
            "PID",
            "PythonLaw",
            "Saturated",
            "TorqueTable",
            "from_function",
        ),
        ".commands": ("Commanded",),
        ".computed_torque": ("ComputedTorque",),
        ".feedforward": ("Feedforward",),
        ".observers": ("LinearObserver", "MomentumObserver", "Observer", "kalman", "luenberger"),
        ".operational_space": ("CartesianImpedance", "OperationalSpace"),
        ".sampled": ("DiscreteLaw", "Sampled"),
        ".state_feedback": ("StateFeedback", "lqr"),
        ".tuning": ("Gains", "gains_for"),
        ".with_model": ("WithModel",),
    },
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
