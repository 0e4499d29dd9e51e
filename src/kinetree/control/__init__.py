"""Controllers: what the motors do at every moment, each a law over any scalar, compiled with the robot it drives."""

from ..errors import no_such_name
from .actuators import Actuators
from .base import Controller, Sum, critical_damping, gains
from .basic_controllers import (
    PD,
    PID,
    FrictionCompensation,
    GravityCompensation,
    Law,
    PythonLaw,
    Saturated,
    TorqueTable,
    from_function,
)
from .commands import Commanded
from .computed_torque import ComputedTorque
from .feedforward import Feedforward
from .observers import LinearObserver, MomentumObserver, Observer, kalman, luenberger
from .operational_space import CartesianImpedance, OperationalSpace
from .sampled import DiscreteLaw, Sampled
from .state_feedback import StateFeedback, lqr
from .tuning import Gains, gains_for
from .with_model import WithModel

__all__ = [
    "PD",
    "PID",
    "Actuators",
    "CartesianImpedance",
    "Commanded",
    "ComputedTorque",
    "Controller",
    "DiscreteLaw",
    "Feedforward",
    "FrictionCompensation",
    "Gains",
    "GravityCompensation",
    "Law",
    "LinearObserver",
    "MomentumObserver",
    "Observer",
    "OperationalSpace",
    "PythonLaw",
    "Sampled",
    "Saturated",
    "StateFeedback",
    "Sum",
    "TorqueTable",
    "WithModel",
    "critical_damping",
    "from_function",
    "gains",
    "gains_for",
    "kalman",
    "lqr",
    "luenberger",
]


def __getattr__(name: str) -> object:
    """Say which name was meant."""
    raise no_such_name(__name__, name, __all__)


def __dir__() -> list[str]:
    """Return what is meant for users."""
    return sorted(__all__)
