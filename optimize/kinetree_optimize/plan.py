"""Plans: motions that were optimized, with what limits them."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.errors import ExplainsArguments, OptionError
from kinetree.io.tables.text import TextTable
from kinetree.simulation.records.record import Record
from kinetree.simulation.run import make_record
from kinetree.spatial.arrays import Array

from .node_costs import NamedLimit
from .solver import LOST, OPTIMAL, FoundPlans

if TYPE_CHECKING:
    from .problem import MotionProblem

BINDS = 1e-6
"""Limits whose multiplier is above this part of the largest one count as binding."""

MOST_NAMED = 8
"""The most limits that a printed plan names."""


class AtLimit(NamedTuple):
    """A limit that stops a motion from being better, or that it does not keep.

    Attributes
    ----------
    name : str
        Such as ``"velocity of elbow"``.
    node : int
    time : float
        Seconds.
    excess : float
        How far the limit is exceeded, with sign, in its own unit.
    price : float
        How fast the best cost falls if the limit is widened, per unit.
    plan : int
        Which plan of a batch.
    """

    name: str
    node: int
    time: float
    excess: float
    price: float
    plan: int


@dataclass(frozen=True, eq=False, repr=False)
class Plan(ExplainsArguments):
    """The best motion that was found, or the best of each start of a batch.

    Attributes
    ----------
    problem : MotionProblem
    t : ndarray (nodes + 1,)
        Times of the nodes.
    q, v, z : ndarrays (nodes + 1, ..., n)
        States at the nodes; ``z`` are those of force elements.
    u : ndarray (nodes, ..., motors)
        Actions, each constant until the next node; ``problem.action_names`` says which is which.
    gains : ndarray (nodes, ..., motors, directions)
        How actions follow changes of the state: ``u + gains @ change``, with changes of positions along each freedom.
    cost : float or ndarray
    found : FoundPlans
        What the search left behind, which :meth:`MotionProblem.solve` continues from.
    """

    problem: MotionProblem
    t: Array
    q: Array
    v: Array
    z: Array
    u: Array
    gains: Array
    cost: Any
    found: FoundPlans

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return self.q.shape[1:-1]

    @property
    def status(self) -> Any:
        """How the search ended: ``"optimal"``, or why it is not, for each plan."""
        return np.array(self.found.status) if self.batch else self.found.status[0]

    @property
    def success(self) -> Any:
        """Whether the search ended at an optimum that keeps all limits, for each plan."""
        found = np.array([status == OPTIMAL for status in self.found.status])
        return found if self.batch else bool(found[0])

    @property
    def iterations(self) -> Any:
        """The number of iterations, for each plan."""
        return self.found.iterations if self.batch else int(self.found.iterations[0])

    @property
    def seconds(self) -> float:
        """How long the search took."""
        return self.found.seconds

    @cached_property
    def reason(self) -> str:
        """Why a search ended as ``"lost"``: where the motion is not finite, or which cost has no value or no slope."""
        lanes = [k for k, status in enumerate(self.found.status) if status == LOST]
        return self._reason_of(lanes[0]) if lanes else ""

    def _reason_of(self, lane: int) -> str:
        x, u = self.found.x[:, lane], self.found.u[:, lane]
        if not np.isfinite(x).all():
            node = int(np.argmax(~np.isfinite(x).all(axis=-1)))
            return (
                f"the motion is not finite from {self.t[node]:.4g} s on: take more substeps, a shorter horizon, a "
                "softer ground or another first guess"
            )
        names = {"value": "no value", "slopes": "no derivative"}
        for what, at_end in itertools.product(names, (False, True)):
            for term, costs in self.problem.costs_alone(at_end):
                nodes = slice(-1, None) if at_end else slice(0, -1)
                given = {"t": self.t[nodes, None], "x": x[nodes], "u": u, "penalty": np.ones((1, 1))}
                given["p"] = costs.wanted.vector(len(self.t), len(self.found.status))[nodes, lane]
                bad = ~np.isfinite(getattr(costs, what)(given)).all(axis=-1)
                if bad.any():
                    node = int(np.argmax(bad)) + at_end * len(u)
                    name = term.names(self.problem.robot.model, 1)[0]
                    return f"{name!r} has {names[what]} at node {node}, {self.t[node]:.4g} s"
        return "derivatives of the motion are not finite: take more substeps or another first guess"

    # ------------------------------------------------------------------ limits

    def _rows(self) -> list[tuple[NamedLimit, int, float, float, int]]:
        """Return limits that are exceeded or bind: name, node, excess, price, plan."""
        texts, found, rows = self.problem.texts, self.found, []
        nodes = len(self.u)
        parts = ((texts.run.named, found.y, found.excess, range(nodes)),
                 (texts.end.named, found.y_end[None], found.excess_end[None], [nodes]))  # fmt: skip
        most = max((np.abs(y).max(initial=0.0) for _, y, _, _ in parts), default=0.0)
        for named, y, excess, where_ in parts:
            acts = (np.abs(y) > BINDS * most) | (np.abs(excess) > self.problem.tolerance)
            for k, plan, j in np.argwhere(acts):
                limit = named[j]
                rows.append(
                    (limit, where_[k], excess[k, plan, j] / limit.scale, abs(y[k, plan, j]) * limit.scale, plan)
                )
        return rows

    @cached_property
    def limits(self) -> tuple[AtLimit, ...]:
        """Limits of states and ends that stop the motion from being better, the most costly ones first."""
        found = [AtLimit(limit.name, int(node), float(self.t[node]), float(excess), float(price), int(plan))
                 for limit, node, excess, price, plan in self._rows()]  # fmt: skip
        return tuple(sorted(found, key=lambda x: -x.price))

    @cached_property
    def violations(self) -> tuple[AtLimit, ...]:
        """Limits that the motion does not keep, the largest excess first."""
        tolerance = self.problem.tolerance
        scale = {limit.name: limit.scale for part in (self.problem.texts.run, self.problem.texts.end)
                 for limit in part.named}  # fmt: skip
        found = [x for x in self.limits if abs(x.excess) * scale[x.name] > tolerance]
        return tuple(sorted(found, key=lambda x: -abs(x.excess) * scale[x.name]))

    @property
    def saturated(self) -> dict[str, int]:
        """Actions at their limits: how many nodes of each motor, over all plans."""
        lower, upper = self.problem.action_limits_of(self.batch)
        at = (self.u <= lower) | (self.u >= upper)
        counts = at.reshape(-1, at.shape[-1]).sum(axis=0).tolist()
        return {name: n for name, n in zip(self.problem.action_names, counts, strict=True) if n}

    # ------------------------------------------------------------------ showing

    @property
    def _notes(self) -> list[str]:
        notes = [f"lost: {self.reason}"] if self.reason else []
        for what, listed in (("not kept", self.violations), ("what stops it", self.limits)):
            if not listed:
                continue
            most: dict[str, AtLimit] = {}
            for x in listed:
                most.setdefault(x.name, x)
            said = [
                f"{x.name} at {x.time:.4g} s" + (f" by {abs(x.excess):.3g}" if what == "not kept" else "")
                for x in list(most.values())[:MOST_NAMED]
            ]
            notes.append(f"{what}: {', '.join(said)}" + (", ..." if len(most) > MOST_NAMED else ""))
        if self.saturated:
            said = [f"{name} {n}" for name, n in self.saturated.items()]
            notes.append(f"actions at their limits, of {self.u[..., 0].size} nodes: {', '.join(said)}")
        return notes

    def __repr__(self) -> str:
        status = self.status if not self.batch else ", ".join(
            f"{n} {word}" for word, n in Counter(self.found.status).items()
        )  # fmt: skip
        cost = f", cost {self.cost:.6g}" if not self.batch else ""
        return (
            f"<Plan of {self.problem.robot.name!r}: {self.t[-1]:g} s, {len(self.u)} nodes{cost}, {status}, "
            f"{int(np.max(self.found.iterations))} iterations, {self.seconds:.2g} s>"
        )

    @property
    def table(self) -> TextTable:
        """One row per motor: first, largest and last action."""
        rows: list[tuple[object, ...]] = []
        for k, name in enumerate(self.problem.action_names):
            u = self.u[..., k]
            rows.append((name, float(u.min()), float(u.max()), float(np.sqrt((u * u).mean()))))
        return TextTable(
            ("motor", "least", "largest", "rms"), rows, repr(self).strip("<>"), "plan.u has all", notes=self._notes
        )

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table.html()

    def record(self) -> Record:
        """Return the motion as a record, which plots, plays in the viewer and is saved like one of a simulation.

        Forces and accelerations are those right after each node.
        """
        equation, dynamics = self.problem.dynamics.equation, self.problem.dynamics
        held = np.concatenate([self.u, self.u[-1:]])
        status = "complete" if np.all(self.success) else str(self.status)
        info = {"steps": len(self.u) * self.problem.substeps, "planned": True}
        with equation.reading(dynamics.numbers_with(held)):
            return make_record(equation, self.t, self.q, self.v, self.z, (), status, self.problem.integrator, info)

    def plot(self, *args: Any, **options: Any) -> Any:
        """Plot the motion, see :meth:`kinetree.Record.plot`."""
        return self.record().plot(*args, **options)

    def lane(self, index: int) -> Plan:
        """Return one plan of a batch."""
        if not self.batch:
            raise OptionError("this plan has no batch to choose from")
        at = (slice(None), slice(index, index + 1) if index >= 0 else slice(index, index + 1 or None))
        f = self.found
        found = f._replace(
            x=f.x[at], u=f.u[at], gains=f.gains[at], y=f.y[at], y_end=f.y_end[at[1]], penalty=f.penalty[at[1]],
            cost=f.cost[at[1]], excess=f.excess[at], excess_end=f.excess_end[at[1]], status=f.status[at[1]],
            iterations=f.iterations[at[1]], gap=f.gap[at[1]],
        )  # fmt: skip
        return plan_of(self.problem, self.t, found, ())


def plan_of(problem: MotionProblem, t: Array, found: FoundPlans, batch: tuple[int, ...]) -> Plan:
    """Return a plan from what the search found."""
    d = problem.dynamics

    def shaped(x: Array) -> Array:
        return x.reshape(len(x), *batch, *x.shape[2:])

    q, v, z = (shaped(x) for x in np.split(found.x, [d.nq, d.nq + d.nv], axis=-1))
    gains = shaped(found.gains).reshape(len(found.u), *batch, d.nu, d.nd)
    cost = found.cost.reshape(batch) if batch else float(found.cost[0])
    return Plan(problem, t, q, v, z, shaped(found.u), gains, cost, found)
