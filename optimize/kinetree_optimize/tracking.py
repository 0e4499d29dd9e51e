"""Feedback along a plan: its own gains, or those of a time-varying LQR."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import ExplainsArguments, OptionError, ShapeError
from kinetree.spatial.arrays import Array

from . import c_tables
from .c_tables import EARLY
from .held_friction import with_friction_held
from .plan import Plan
from .riccati import NodeLayout, RiccatiProgram


@dataclass(frozen=True, eq=False)
class Follower(ExplainsArguments):
    """A function ``f(t, q, v)`` of joint forces that follows a plan: ``u + gains @ change of the state``.

    Use it as ``kt.control.Sampled(follower, period=plan.problem.step)``. After the plan's end it holds the last action
    and gains.

    Parameters
    ----------
    plan : Plan
        A single one, whose actions are torques.
    gains : ndarray (nodes, motors, directions)
    """

    plan: Plan
    gains: Array

    def __post_init__(self) -> None:
        if self.plan.batch:
            raise OptionError("a follower follows one plan: take plan.lane(k) of a batch")
        if self.plan.problem.dynamics.command.mode != "torque":
            raise OptionError("a follower gives joint forces: plan with action='torque'")
        d = self.plan.problem.dynamics
        if self.plan.gains.shape != self.gains.shape:
            raise ShapeError(f"gains must have shape {self.plan.gains.shape}, got {self.gains.shape}")
        if d.nz:
            raise OptionError("states of force elements cannot be measured, so plans with them are not followed")

    def action(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the forces of the motors, (motors,)."""
        plan, d = self.plan, self.plan.problem.dynamics
        k = min(int(t / plan.problem.step + EARLY), len(plan.u) - 1)
        old = np.concatenate([plan.q[k], plan.v[k]])
        way = d.apart_program({"a": old, "b": np.concatenate([np.asarray(q, float), np.asarray(v, float)])})
        lower, upper = plan.problem.action_limits_of(())
        return np.clip(plan.u[k] + self.gains[k] @ way, lower, upper)

    def __call__(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the forces on all freedoms."""
        return self.plan.problem.dynamics.on_freedoms(self.action(t, q, v))

    def for_c(self, robot: Any) -> Any:
        """Return the law at one node for C, which ``robot.codegen(folder, controllers={...})`` writes."""
        return c_tables.law(self, robot)

    def codegen(self, folder: str | Path, prefix: str = "plan") -> Path:
        """Write this follower as C99 that allocates nothing: the law, and the plan with its gains as constants.

        Parameters
        ----------
        folder : str or Path
        prefix : str
            Names of files and functions begin with it: call ``prefix_plan(t, q, v, tau)`` of the header.

        Returns
        -------
        Path
            The header with the plan, ``prefix_plan.h``, beside ``prefix.c``, ``prefix.h`` and ``prefix_test.c``.
        """
        return c_tables.write(self, folder, prefix)


def follow(plan: Plan) -> Follower:
    """Return a controller's function that follows a plan by the gains that the search found.

    These are optimal for the costs of the plan; actions at their limits have none. :func:`tvlqr` finds others.
    """
    return Follower(plan, plan.gains)


def tvlqr(
    plan: Plan, *, positions: ArrayLike = 1.0, velocities: ArrayLike = 0.1, efforts: ArrayLike = 1.0, end: float = 1.0,
    coulomb: bool = False,
) -> Follower:  # fmt: skip
    """Return a function that follows a plan by a time-varying linear-quadratic regulator.

    Parameters
    ----------
    plan : Plan
    positions, velocities, efforts : float or array_like
        Weights of deviations squared, integrated over time: one number, or one per freedom or motor. For a mechanism,
        one per independent coordinate.
    end : float
        How much longer, in seconds, the last deviation counts.
    coulomb : bool
        Whether the smoothed Coulomb friction of joints is linearized with the rest: where a joint rests, it is a damper
        of its size over the plan's ``friction_speed``, of which nothing is left once the joint moves.  By default it
        stays the force that it is in the plan.

    Returns
    -------
    Follower
    """
    if plan.batch:
        raise OptionError("tvlqr follows one plan: take plan.lane(k) of a batch")
    d, h = plan.problem.dynamics, plan.problem.step
    n, nu, nodes = d.nd, d.nu, len(plan.u)
    half = (n - d.nz) // 2
    weights = np.zeros(n + nu)
    for which, given, name in (
        (slice(0, half), positions, "positions"), (slice(half, 2 * half), velocities, "velocities"),
        (slice(n, None), efforts, "efforts"),
    ):  # fmt: skip
        numbers = np.asarray(given, dtype=float)
        if (
            np.any(numbers < 0.0)
            or not np.isfinite(numbers).all()
            or (numbers.ndim and numbers.shape != weights[which].shape)
        ):
            raise OptionError(f"weights of {name} must be one number that is not negative, or {len(weights[which])}")
        weights[which] = numbers
    x = np.concatenate([plan.q, plan.v, plan.z], axis=-1)
    linear = d if coulomb else with_friction_held(plan.problem, plan.q[:-1], plan.v[:-1])
    steps = linear.slopes(plan.t[:-1], x[:-1], linear.ends(plan.t[:-1], x[:-1], plan.u), plan.u).reshape(nodes, -1)
    layout = NodeLayout(n, nu, tuple((k, k) for k in range(n + nu)))
    riccati = RiccatiProgram(layout, False)
    value = np.zeros(layout.n_value)
    value[layout.numbers.stop - 1] = np.inf  # no pivot yet
    diagonal = [k for k, (i, j) in enumerate(zip(*np.triu_indices(n), strict=True)) if i == j]
    value[n + np.array(diagonal)] = end * weights[:n]
    slopes = np.concatenate([np.zeros(n + nu), h * weights])
    gains = np.zeros((nodes, nu, n))
    empty = {"gap": n, "u": nu, "bounds": 2 * nu, "damping": 1}
    nothing: dict[str, Any] = {name: np.zeros(size) for name, size in empty.items()}
    for k in reversed(range(nodes)):
        found = riccati({"steps": steps[k], "slopes": slopes, "value": value, **nothing})
        value, gains[k] = found[: layout.n_value], found[layout.gains].reshape(nu, n)
    return Follower(plan, gains)
