"""Controllers: what the motors do at every moment, each a law over any scalar, compiled with the robot it drives."""

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
from .operational_space import OperationalSpace
from .tuning import Gains, gains_for

__all__ = [
    "PD",
    "PID",
    "Actuators",
    "Commanded",
    "ComputedTorque",
    "Controller",
    "Feedforward",
    "FrictionCompensation",
    "Gains",
    "GravityCompensation",
    "Law",
    "OperationalSpace",
    "PythonLaw",
    "Saturated",
    "Sum",
    "TorqueTable",
    "critical_damping",
    "from_function",
    "gains",
    "gains_for",
]


def __dir__() -> list[str]:
    """Return what is meant for users."""
    return sorted(__all__)
