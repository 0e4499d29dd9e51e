"""State feedback about an equilibrium, and the gains of the linear-quadratic regulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import kinematics
from ..errors import OptionError, ShapeError
from ..model.tree import Model
from ..robot.linear_model import LinearModel
from ..robot.load import as_robot
from ..spatial import Scalar
from ..spatial.arrays import Array
from ..spatial.numbers import real_number, real_numbers
from .base import Controller, Outcome, holds_scalars
from .driven_joints import Scalars, motorless
from .observers import linear_model

UNMOVED = 1e-9
"""Motions that decay more slowly than this fraction of the fastest one have no cost."""

STILL = 1e-3
"""Largest speed and acceleration, in SI units, of an equilibrium, whose numbers may be rounded."""


@dataclass(frozen=True, eq=False)
class StateFeedback(Controller):
    """tau = tau_0 - K x, where x is the deviation of positions and velocities from a state.

    Parameters
    ----------
    gain : array_like, shape (nv, 2 n)
        K, for the n positions, then the n velocities.
    q, v, tau : array_like
        The state, and the forces there.
    independent : tuple of int, optional
        The freedoms whose positions and velocities are fed back; all by default.

    Examples
    --------
    :func:`lqr` makes one.
    """

    gain: ArrayLike
    q: ArrayLike
    v: ArrayLike
    tau: ArrayLike
    independent: tuple[int, ...] | None = None

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        chosen = range(tree.nv) if self.independent is None else self.independent
        width, numbers = 2 * len(chosen), self._numbers()
        if len(numbers["gain"]) != tree.nv * width or (np.ndim(self.gain) == 2 and np.shape(self.gain)[1] != width):
            raise ShapeError(f"the gain must have shape ({tree.nv}, {width}), got {np.shape(self.gain)}")
        away = kinematics.difference(tree, numbers["q"], q)
        faster = [a - b for a, b in zip(v, numbers["v"], strict=True)]
        x = [away[j] for j in chosen] + [faster[j] for j in chosen]
        tau: list[Scalar] = []
        for k, begin in enumerate(numbers["tau"]):
            total: Scalar = begin
            for factor, deviation in zip(numbers["gain"][k * width : (k + 1) * width], x, strict=True):
                if not (isinstance(factor, float) and factor == 0.0):
                    total = total - factor * deviation
            tau.append(total)
        return tau, []

    def _numbers(self) -> dict[str, list[Scalar]]:
        given = {name: getattr(self, name) for name in ("gain", "q", "v", "tau")}
        return {k: x if holds_scalars(x) else np.asarray(x, dtype=float).ravel().tolist() for k, x in given.items()}

    def adjustable(self, tree: Model) -> dict[str, np.ndarray]:
        """Return all numbers, which can be changed in C; the gain row by row."""
        return {name: np.array(x) for name, x in self._numbers().items()}


def lqr(
    robot: Any, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, *, period: float | None = None,
    positions: ArrayLike = 1.0, velocities: ArrayLike = 1.0, efforts: ArrayLike = 1.0, forces: Any = (),
    friction_speed: float | None = None,
) -> StateFeedback:  # fmt: skip
    """Return the feedback that brings a robot back to a state at the least cost: the linear-quadratic regulator.

    The cost is the sum over all samples (or the integral over time) of the weighted squares of deviations and motor
    forces.  The discrete regulator accounts for the hold between samples; use it as
    ``Sampled(lqr(..., period=T), period=T)``.

    Parameters
    ----------
    robot : Robot, or path-like
        A robot with or without loops; joints without motor are balanced by the others.
    q, v, tau : array_like
        The state, which must be an equilibrium, and its joint forces; by default those that hold the robot there.
    period : float, optional
        Sample period in seconds; without it, time is continuous.
    positions, velocities : float or array_like
        Weights of deviations: one number, one per (independent) freedom, or a symmetric matrix: the blocks of Q.
    efforts : float or array_like
        Weights of motor forces: one number, one per motor's freedom, or a symmetric matrix: R.  One number for joints
        of very different inertia makes the light ones so fast that simulations need ``integrator="radau"``; a multiple
        of ``W @ W``, with ``W`` the inverse mass matrix, makes all joints equally fast.
    forces : force elements
        Forces that act on the robot.
    friction_speed : float, optional
        Smooths Coulomb friction as in :meth:`kinetree.Robot.linearize`, which at rest makes it a damper of its size
        over this speed.  By default it is left out at rest, that of :class:`kinetree.forces.Motor` too: viscous
        friction is included.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> upright = kt.control.lqr(robot, [3.14159265], period=0.01, positions=10.0)
    >>> balanced = kt.control.Sampled(upright, period=0.01)
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are  # slow to import, and few need it

    robot = as_robot(robot)
    if period is not None:
        real_number(period, "period", positive=True, unit="seconds")
    model, place, rate, force = linear_model(robot, q, v, tau, period, forces, friction_speed)
    n = len(model.states) // 2
    idle = motorless(robot.model)
    motors = [k for k in range(robot.nv) if k not in idle]
    if not motors:
        raise OptionError(f"no joint of {robot.name!r} has a motor")
    stuck = [robot.v_names[k] for k in idle if abs(force[k]) > 1e-9 * max(1.0, float(np.abs(force).max()))]
    if stuck:
        raise OptionError(f"this is not an equilibrium: joint {stuck[0]!r} has no motor and needs a force there")
    moves = np.abs(model.rate) / (1.0 if period is None else period)
    if np.any(moves > STILL):
        name = model.states[int(np.argmax(moves))]
        raise OptionError(
            f"this is not an equilibrium: {name!r} changes by {moves.max():.3g} per second there; leave v out, and "
            "give forces tau that hold the robot, or leave them out"
        )
    cost = np.zeros((2 * n, 2 * n))
    cost[:n, :n], cost[n:, n:] = _weights(positions, n, "positions"), _weights(velocities, n, "velocities")
    price = _weights(efforts, len(motors), "efforts", positive=True)
    a, b = model.A, model.B[:, motors]
    try:
        if period is None:
            s = solve_continuous_are(a, b, cost, price)
            k = np.linalg.solve(price, b.T @ s)
        else:
            s = solve_discrete_are(a, b, cost, price)
            k = np.linalg.solve(price + b.T @ s @ b, b.T @ s @ a)
    except (np.linalg.LinAlgError, ValueError) as problem:
        raise OptionError(f"no motor feedback holds {robot.name!r} there at a finite cost ({problem})") from None
    _refuse_unseen(a - b @ k, model, period)
    gain = np.zeros((robot.nv, 2 * n))
    gain[motors] = k
    chosen = tuple(robot.v_names.index(name) for name in model.states[:n])
    return StateFeedback(gain, place, rate, np.where(np.isin(range(robot.nv), motors), force, 0.0), chosen)


def _refuse_unseen(closed: Array, model: LinearModel, period: float | None) -> None:
    """Refuse weights under which a motion has no cost, and so is not controlled."""
    values, vectors = np.linalg.eig(closed)
    growth = values.real if period is None else (np.abs(values) - 1.0) / period
    if growth.max() < -UNMOVED * max(1.0, float(np.abs(growth).max())):
        return
    name = model.states[int(np.argmax(np.abs(vectors[:, int(np.argmax(growth))])))]
    raise OptionError(
        f"these weights do not control {name!r}, whose motion has no cost: give its position a weight, even a small one"
    )


def _weights(given: ArrayLike, count: int, name: str, positive: bool = False) -> Array:
    """Return a symmetric matrix of weights from one number, a row of numbers, or a matrix."""
    what = f"weights of {name}"
    if np.ndim(given) != 2:
        return np.diag(real_numbers(given, what, count, positive=positive))
    matrix = np.asarray(given, dtype=float)
    if matrix.shape != (count, count) or not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
        raise ShapeError(f"{what} must be one number, {count}, or a symmetric matrix ({count}, {count})")
    least, most = np.linalg.eigvalsh(matrix)[[0, -1]]
    if least < (1e-14 if positive else -1e-12) * abs(most) or (positive and most <= 0.0):
        raise OptionError(f"{what} must be {'positive' if positive else 'not negative'} in every direction")
    return matrix
