"""PD and PID control of the joints.

Each one is a few lines of law over any scalar; see :mod:`kinetree.control.base`
for what they have in common.  Forces of joints without a motor (including a floating
base) are zero.

Examples
--------
>>> from kinetree import control, trajectories
>>> goal = trajectories.Cycloid([0.0, 0.0, 0.0], [0.5, 1.0, -0.5], 2.0).held()
>>> hold = control.PD(goal, kp=49.0, kd=control.critical_damping(49.0)) + control.GravityCompensation()
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.compliant_directions import GivingWay
from ..errors import Setting
from ..model.tree import Model
from ..motion.trajectory_interface import Trajectory
from ..spatial import Scalar, where
from ..spatial.numbers import real_numbers
from .base import Controller, Gain, Outcome, gains, servo
from .driven_joints import Scalars, spread, tracking_error
from .saturation import limited


@dataclass(frozen=True, eq=False)
class PD(Controller):
    """tau = kp e + kd e'.

    Parameters
    ----------
    trajectory : Trajectory
        Desired motion of the driven joints, or of all joints.
    kp, kd : float or array_like
        One number, one per driven degree of freedom, or a batch of those.
    """

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    GAINS = ("kp", "kd")

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        error = tracking_error(tree, self.trajectory, t, q, v)
        return spread(tree, tree.driven_joints, servo(error.position, error.velocity, self.kp, self.kd)), []

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of each freedom."""
        joints = tree.driven_joints
        count = sum(j.nv for j in joints)
        return spread(tree, joints, gains(self.kp, count, "kp")), spread(tree, joints, gains(self.kd, count, "kd")), []


@dataclass(frozen=True, eq=False)
class PID(Controller):
    """tau = kp e + kd e' + ki (integral of e) (Shah eq. 9.2).

    Parameters
    ----------
    trajectory : Trajectory
        Desired motion of the driven joints, or of all joints.
    kp, kd, ki : float or array_like
        One number, one per driven degree of freedom, or a batch of those.
    limit : float or array_like, optional
        Largest force of each driven degree of freedom.  While a force is at its limit, an error that would drive it
        beyond is not integrated, so the integral does not wind up.
    """

    trajectory: Trajectory
    kp: Gain
    kd: Gain
    ki: Gain
    limit: ArrayLike | None = None
    GAINS = ("kp", "kd", "ki")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit is not None:
            real_numbers(self.limit, Setting("limit"), positive=True, infinite=True)

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return zeros, the initial integrals of the errors."""
        return np.zeros(sum(j.nv for j in tree.driven_joints))

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces, and the errors as the rates of their integrals."""
        error = tracking_error(tree, self.trajectory, t, q, v)
        push = servo(error.position, error.velocity, self.kp, self.kd)
        integral = [k * x for k, x in zip(gains(self.ki, len(z), "ki"), z, strict=True)]
        tau = [a + b for a, b in zip(push, integral, strict=True)]
        rates: list[Scalar] = error.position
        if self.limit is not None:
            bounds = real_numbers(self.limit, Setting("limit"), len(tau), positive=True, infinite=True)
            rates = [_not_beyond(x, float(b), e) for x, b, e in zip(tau, bounds, rates, strict=True)]
            tau = [limited(x, float(b)) for x, b in zip(tau, bounds, strict=True)]
        return spread(tree, tree.driven_joints, tau), rates


def _not_beyond(force: Scalar, bound: float, error: Scalar) -> Scalar:
    """Return the rate of an error's integral: zero where the force is at its limit and the error drives it beyond."""
    upwards = where(error > 0.0, 0.0 * error, error)
    downwards = where(error < 0.0, 0.0 * error, error)
    return where(force > bound, upwards, where(force < -bound, downwards, error))
