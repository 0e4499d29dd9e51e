"""Controller gains from the inertia at the motors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError
from ..robot.robot import Robot

FREQUENCY = 10.0
"""Default frequency of a joint's response, in rad/s: it settles within half a second."""


class Gains(NamedTuple):
    """Stiffness and damping, one per freedom with a motor."""

    kp: np.ndarray
    kd: np.ndarray


def gains_for(robot: Robot, q: ArrayLike, frequency: ArrayLike = FREQUENCY, ratio: ArrayLike = 1.0) -> Gains:
    """Choose gains of a PD law so that every joint responds with the same frequency, whatever it carries.

    Stiffness is ``m frequency^2`` and damping ``2 ratio m frequency``, where ``m`` is the inertia at the motor in this
    configuration while the others hold still: the diagonal of the mass matrix, in motor coordinates if the mechanism
    has loops.

    Parameters
    ----------
    robot : Robot
    q : array_like
        One configuration, with closed loops.
    frequency : array_like
        Frequency in rad/s: one number, or one per freedom with a motor.
    ratio : array_like
        Damping ratio: 1 is critical, less oscillates.

    Returns
    -------
    Gains
        ``(kp, kd)``, for :class:`PD`, :class:`PID` and :class:`Feedforward`.

    Examples
    --------
    >>> import kinetree as kt
    >>> arm = kt.gallery.load("kuka-kr5")
    >>> kp, kd = kt.control.gains_for(arm, arm.neutral(), frequency=20.0)
    """
    inertia = _felt(robot, np.asarray(q, dtype=float))
    speed, damped = np.asarray(frequency, dtype=float), np.asarray(ratio, dtype=float)
    for name, value in (("frequency", speed), ("ratio", damped)):
        if value.shape not in ((), inertia.shape):
            raise OptionError(f"{name} must be one number or {inertia.size}, one per motor, not shape {value.shape}")
    if not (np.all(speed > 0.0) and np.all(np.isfinite(speed)) and np.all(damped >= 0.0)):
        raise OptionError("frequency must be positive and finite, ratio zero or more")
    return Gains(inertia * speed**2, 2.0 * damped * inertia * speed)


def _felt(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return the inertia at each freedom with a motor while the other motors hold still."""
    motors = robot.model.motors
    if not motors:
        raise OptionError(f"no joint of {robot.name!r} has a motor")
    if robot.loops is None:
        return np.diag(np.asarray(robot.mass_matrix(q)))[motors].copy()
    seen = np.linalg.pinv(robot.basis(q)[motors])  # speeds of the independent coordinates from those of the motors
    return np.einsum("ki,kl,li->i", seen, robot.reduced_mass_matrix(q), seen)
