"""Simple control laws: PD, PID, compensation of gravity and friction, tables, limits, your own functions.

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

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import newton_euler
from ..algorithms.compliant_directions import GivingWay
from ..algorithms.joint_friction import friction_force
from ..errors import Message, OptionError, Setting, ShapeError, UnknownNameError
from ..model.tree import Model
from ..motion.piecewise import check_table, check_times, hermite
from ..motion.splines import Piecewise
from ..motion.trajectory_interface import Trajectory
from ..run.failure import asked_with_lists
from ..run.law_kernels import refuse_nested
from ..spatial import Scalar, where
from ..spatial.arrays import pack, split
from ..spatial.numbers import real_numbers
from .base import Around, Controller, Gain, Outcome, gains, servo
from .driven_joints import Scalars, driven_joints, gathered, spread, tracking_error
from .mechanism_loops import left_to_motors, loops_of


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
        return spread(tree, driven_joints(tree), servo(error.position, error.velocity, self.kp, self.kd)), []

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of each freedom."""
        joints = driven_joints(tree)
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
        return np.zeros(sum(j.nv for j in driven_joints(tree)))

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
        return spread(tree, driven_joints(tree), tau), rates


def _not_beyond(force: Scalar, bound: float, error: Scalar) -> Scalar:
    """Return the rate of an error's integral: zero where the force is at its limit and the error drives it beyond."""
    upwards = where(error > 0.0, 0.0 * error, error)
    downwards = where(error < 0.0, 0.0 * error, error)
    return where(force > bound, upwards, where(force < -bound, downwards, error))


@dataclass(frozen=True, eq=False)
class GravityCompensation(Controller):
    """tau = g(q): the forces that hold the robot still, provided that something else holds its floating base.

    The motors of a mechanism with closed loops carry the weight of all its links.
    """

    RELIES_ON_LOOPS = True

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        weight, _ = newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity)
        if tree.is_constrained:
            return left_to_motors(tree, self.loops or loops_of(tree), q, weight, "GravityCompensation"), []
        driven = driven_joints(tree)
        return spread(tree, driven, gathered(driven, weight)), []


@dataclass(frozen=True, eq=False)
class FrictionCompensation(Controller):
    """Forces that overcome the friction of the driven joints, to be added to a law that ignores friction.

    The motors of a mechanism with closed loops also overcome the friction of its passive joints.

    Parameters
    ----------
    friction_speed : float
        As in :func:`kinetree.simulate`; Coulomb friction is ``friction v / sqrt(v^2 + friction_speed^2)``.

    Examples
    --------
    ``ComputedTorque(goal, kp, kd) + FrictionCompensation()``
    """

    friction_speed: float = 1e-2
    RELIES_ON_LOOPS = True

    def __post_init__(self) -> None:
        if not self.friction_speed > 0.0:
            raise OptionError(f"friction_speed must be positive, not {self.friction_speed!r}")

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        against = [-f for f in friction_force(tree, v, self.friction_speed, q)]
        if tree.is_constrained:
            return left_to_motors(tree, self.loops or loops_of(tree), q, against, "FrictionCompensation"), []
        driven = driven_joints(tree)
        return spread(tree, driven, gathered(driven, against)), []


@dataclass(frozen=True, eq=False)
class TorqueTable(Controller):
    """Forces from a table.

    Parameters
    ----------
    times : array_like, shape (K,)
    tau : array_like, shape (K, n)
        Forces of the driven degrees of freedom, or of all.
    kind : {"linear", "step"}
        Linear between rows, or constant until the next row; the last row then lasts as long as the one before it.
    hold : bool
        Whether to keep the last row after the end (and the first before the start) instead of raising an error.
    """

    times: ArrayLike
    tau: ArrayLike
    kind: str = "linear"
    hold: bool = False
    table: Piecewise = field(init=False, repr=False)

    def __post_init__(self) -> None:
        knots = check_times(self.times)
        rows = check_table(self.tau, len(knots), "tau")
        if self.kind not in ("linear", "step"):
            raise UnknownNameError("kind of table", self.kind, ("linear", "step"))
        if self.kind == "linear":
            made = hermite(knots, [rows])
        else:
            made = np.stack([rows, 0.0 * rows], axis=1)
            knots = np.append(knots, 2.0 * knots[-1] - knots[-2])
        object.__setattr__(self, "table", Piecewise(knots, made, hold=self.hold))

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the times of rows at which the table has a kink or jump; dense samples of a curve have none."""
        return self.table.kinks(begin, end)

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        tau, _, _ = self.table.at(t)
        driven = driven_joints(tree)
        count = sum(j.nv for j in driven)
        if len(tau) == count:
            return spread(tree, driven, tau), []
        if len(tau) == tree.nv:
            return tau, []
        raise ShapeError(
            f"the table has {len(tau)} columns; robot {tree.name!r} has {count} driven joints, nv = {tree.nv}"
        )


@dataclass(frozen=True, eq=False)
class Saturated(Around):
    """Another controller with limited forces.

    Parameters
    ----------
    controller : Controller
    limit : float or array_like, optional
        Largest force of each degree of freedom; the robot's effort limits by default.
    """

    limit: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit is not None:
            real_numbers(self.limit, Setting("limit"), infinite=True)

    def limits(self, tree: Model) -> np.ndarray:
        """Return the largest force of each degree of freedom, (nv,)."""
        if self.limit is not None:
            return real_numbers(self.limit, Setting("limit"), tree.nv, infinite=True)
        bounds = tree.joint_vector("effort_limit")
        if len(bounds) and not np.isfinite(bounds).any():
            raise OptionError(
                Message(f"robot {tree.name!r} has no effort limits to stop at: give ", Setting("limit", ...))
            )
        return bounds

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces within their limits."""
        tau, rates = super().law(tree, t, q, v, z)
        return self._limited(tree, tau), rates

    def update(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars, period: float) -> Outcome:
        """Return the joint forces at a sample instant and the other controller's states at the next one."""
        tau, after = super().update(tree, t, q, v, z, period)
        return self._limited(tree, tau), after

    def _limited(self, tree: Model, tau: Scalars) -> list[Scalar]:
        return [limited(x, float(bound)) for x, bound in zip(tau, self.limits(tree), strict=True)]


def limited(x: Scalar, bound: float) -> Scalar:
    """Limit a force to a bound in both directions."""
    if math.isinf(bound) or (isinstance(x, float) and x == 0.0):
        return x
    return where(x > bound, bound, where(x < -bound, -bound, x))  # NaN is not hidden


# ---------------------------------------------------------------- functions as controllers


@dataclass(frozen=True, eq=False)
class Law(Controller):
    """A user's own law, written over any scalar, which is compiled like the others.

    Parameters
    ----------
    function : callable
        ``function(t, q, v)`` gets a scalar and two lists of scalars and returns nv scalars; it
        uses ``+ - * /``, :func:`kinetree.sin` and the like, and :func:`kinetree.where` instead of ``if``.

    Examples
    --------
    >>> damper = Law(lambda t, q, v: [-0.5 * rate for rate in v])
    """

    function: Callable[[Scalar, list[Scalar], list[Scalar]], Sequence[Scalar]]

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        answer = asked_with_lists(self.function, t, list(q), list(v))
        if not isinstance(answer, Iterable):
            raise ShapeError(f"the law returned one number: return a list of {tree.nv} forces, one per freedom")
        tau = list(answer)
        if len(tau) != tree.nv:
            raise ShapeError(f"the law returned {len(tau)} forces, robot {tree.name!r} has nv = {tree.nv}")
        try:
            refuse_nested(tau, "[*first, *others]")
        except TypeError as problem:
            raise ShapeError(f"the law must return {tree.nv} numbers: {problem}") from None
        return tau, []


@dataclass(frozen=True, eq=False)
class PythonLaw(Controller):
    """Any Python function of arrays as a controller; it cannot be compiled. Made by :func:`from_function`."""

    IN_MACHINE_CODE = False
    python_function: Callable[[Any, np.ndarray, np.ndarray], ArrayLike]

    def plain_function(self) -> Callable[..., Any]:
        """Return the function."""
        return self.python_function

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        batch = np.broadcast_shapes(np.shape(t), *(np.shape(x) for x in (*q, *v)))
        tau = np.asarray(self.python_function(t, pack(list(q), batch), pack(list(v), batch)), dtype=float)
        if tau.shape[-1:] != (tree.nv,):
            raise ShapeError(f"the controller returned shape {tau.shape}, expected (..., {tree.nv}) = nv")
        return split(tau), []


def from_function(function: Callable[[Any, np.ndarray, np.ndarray], ArrayLike]) -> PythonLaw:
    """Return a controller from a Python function ``f(t, q, v) -> tau`` of arrays; slower, as it is not compiled."""
    if not callable(function):
        raise OptionError(f"a controller is a function f(t, q, v) -> tau, not {type(function).__name__}")
    return PythonLaw(function)
