"""Controllers: each is a law over any scalar, compiled with the robot it drives."""

from .laws import (
    PD,
    PID,
    ComputedTorque,
    Controller,
    Feedforward,
    FrictionCompensation,
    GravityCompensation,
    Law,
    OperationalSpace,
    PythonLaw,
    Saturated,
    Sum,
    TorqueTable,
    critical_damping,
    from_function,
    gains,
)

__all__ = [
    "PD",
    "PID",
    "ComputedTorque",
    "Controller",
    "Feedforward",
    "FrictionCompensation",
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
]
