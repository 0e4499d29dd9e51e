"""State feedback beside an equilibrium, and the gains of the linear-quadratic regulator in discrete time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import kinematics
from ..errors import OptionError, ShapeError, explains_arguments
from ..model.tree import Model
from ..spatial import Scalar
from .base import Controller, Outcome
from .driven_joints import Scalars, motorless
from .observers import linear_model

Array = np.ndarray


@explains_arguments
@dataclass(frozen=True, eq=False)
class StateFeedback(Controller):
    """tau = tau_0 - K x, x being how far positions and velocities are from a state.

    Parameters
    ----------
    gain : array_like, shape (nv, 2 n)
        K: of the n positions, then of the n velocities.
    q, v, tau : array_like
        The state, and the forces there.
    independent : tuple of int, optional
        The freedoms whose positions and velocities are fed back; all by default.

    Examples
    --------
    Made by :func:`lqr`.
    """

    gain: ArrayLike
    q: ArrayLike
    v: ArrayLike
    tau: ArrayLike
    independent: tuple[int, ...] | None = None

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        k = np.asarray(self.gain, dtype=float)
        chosen = range(tree.nv) if self.independent is None else self.independent
        if k.shape != (tree.nv, 2 * len(chosen)):
            raise ShapeError(f"the gain must have shape ({tree.nv}, {2 * len(chosen)}), got {k.shape}")
        away = kinematics.difference(tree, np.asarray(self.q, dtype=float).tolist(), q)
        faster = [a - b for a, b in zip(v, np.asarray(self.v, dtype=float).tolist(), strict=True)]
        x = [away[j] for j in chosen] + [faster[j] for j in chosen]
        tau: list[Scalar] = []
        for row, begin in zip(k.tolist(), np.asarray(self.tau, dtype=float).tolist(), strict=True):
            total: Scalar = begin
            for factor, deviation in zip(row, x, strict=True):
                if factor != 0.0:
                    total = total - factor * deviation
            tau.append(total)
        return tau, []


@explains_arguments
def lqr(
    robot: Any, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, *, period: float | None = None,
    positions: ArrayLike = 1.0, velocities: ArrayLike = 1.0, efforts: ArrayLike = 1.0, forces: Any = (),
) -> StateFeedback:  # fmt: skip
    """Return the feedback that brings a robot back to a state at the least cost: the linear-quadratic regulator.

    The cost is the sum over all samples (the integral over time) of the squares of deviations and motor forces, each
    times its weight.  The discrete one knows of the hold between samples, so it goes into
    ``Sampled(lqr(..., period=T), period=T)``.

    Parameters
    ----------
    robot : Robot
        With or without loops; joints without motor are balanced by the others.
    q, v, tau : array_like
        The state, an equilibrium, and its joint forces; by default those that hold it there.
    period : float, optional
        Of the samples, in seconds; continuous time without it.
    positions, velocities : float or array_like
        Weights of deviations, one or one per (independent) freedom.
    efforts : float or array_like
        Weights of motor forces, one or one per motor's freedom.
    forces : force elements
        That act on the robot.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> upright = kt.control.lqr(robot, [3.14159265], period=0.01, positions=10.0)
    >>> balanced = kt.control.Sampled(upright, period=0.01)
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are  # slow to import, and few need it

    known, place, rate, force = linear_model(robot, q, v, tau, 1.0 if period is None else period, forces)
    model = robot.linearize(place, rate, force, forces=forces) if period is None else known
    n = len(model.states) // 2
    idle = motorless(robot.model)
    motors = [k for k in range(robot.nv) if k not in idle]
    if not motors:
        raise OptionError(f"no joint of {robot.name!r} has a motor")
    stuck = [robot.v_names[k] for k in idle if abs(force[k]) > 1e-9 * max(1.0, float(np.abs(force).max()))]
    if stuck:
        raise OptionError(f"this is no equilibrium: joint {stuck[0]!r} has no motor and needs a force there")
    weights = np.concatenate([_weights(positions, n, "positions"), _weights(velocities, n, "velocities")])
    if np.any(weights < 0.0):
        raise OptionError("weights of positions and velocities must not be negative")
    effort = _weights(efforts, len(motors), "efforts")
    if np.any(effort <= 0.0):
        raise OptionError("weights of efforts must be positive")
    a, b, price, cost = model.A, model.B[:, motors], np.diag(effort), np.diag(weights)
    try:
        if period is None:
            s = solve_continuous_are(a, b, cost, price)
            k = np.linalg.solve(price, b.T @ s)
        else:
            s = solve_discrete_are(a, b, cost, price)
            k = np.linalg.solve(price + b.T @ s @ b, b.T @ s @ a)
    except (np.linalg.LinAlgError, ValueError) as problem:
        raise OptionError(
            f"no feedback of the motors of {robot.name!r} holds it there at a finite cost ({problem})"
        ) from None
    gain = np.zeros((robot.nv, 2 * n))
    gain[motors] = k
    chosen = tuple(robot.v_names.index(name) for name in model.states[:n])
    return StateFeedback(gain, place, rate, np.where(np.isin(range(robot.nv), motors), force, 0.0), chosen)


def _weights(given: ArrayLike, count: int, name: str) -> Array:
    try:
        numbers = np.broadcast_to(np.asarray(given, dtype=float), (count,))
    except (TypeError, ValueError):
        raise ShapeError(f"weights of {name} must be one number or {count}, got {given!r}") from None
    if not np.isfinite(numbers).all():
        raise OptionError(f"weights of {name} must be finite, not {given!r}")
    return numbers
