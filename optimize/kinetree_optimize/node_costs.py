"""Costs and limits at a node, as machine code: values, slopes, and what limits push back with.

A limit ``lower <= s <= upper`` with the multiplier y and the penalty p adds ``p/2 d(s + y/p)^2 - y^2/(2p)`` to the
cost, where d is the distance from the interval: the augmented Lagrangian of Rockafellar and Hestenes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kinetree.algorithms.passes import present
from kinetree.errors import OptionError, ShapeError
from kinetree.evaluation.law_kernels import LawProgram
from kinetree.evaluation.planning.second_derivatives import Bend
from kinetree.evaluation.step_adjoints import rates_along
from kinetree.simulation.worlds.instant import Moment
from kinetree.spatial import Scalar, where
from kinetree.spatial.arrays import Array

from .nodes import NodeDynamics
from .terms import Bounded, Residual, Term

Scalars = Sequence[Scalar]

FURTHEST = 1e15
"""Limits beyond this are none."""


class Limited(NamedTuple):
    """A number that is kept within limits, at a node.

    Attributes
    ----------
    value : scalar
        In units in which an excess of one is much.
    lower, upper : scalar
    """

    value: Scalar
    lower: Scalar
    upper: Scalar


class NamedLimit(NamedTuple):
    """What a limit is called.

    Attributes
    ----------
    name : str
    scale : float
        How much one in its own units is in those of the node.
    """

    name: str
    scale: float


@dataclass
class Wanted:
    """Which terms count as costs and as limits, with the numbers they want.

    Attributes
    ----------
    costs : sequence of Term
    limits : sequence of Term or Bounded
    ranges : set of str
        Which limits of the model itself hold: ``"positions"``, ``"velocities"``, ``"torques"``.
    goal : mapping of str to ndarray
        Numbers that functions find as ``m.goal[name]``.
    numbers : list of ndarray
        What each cost and then each limit wants: (n,), (batch, n) or (nodes, batch, n).
    """

    costs: Sequence[Term]
    limits: Sequence[Term | Bounded]
    ranges: frozenset[str]
    goal: Mapping[str, Array]
    numbers: Sequence[Array]

    @cached_property
    def slices(self) -> list[slice]:
        """Places of the numbers of each term, and then of each goal, in their vector."""
        ends = np.cumsum([0, *(x.shape[-1] for x in (*self.numbers, *self.goal.values()))]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @property
    def size(self) -> int:
        """Length of the vector of all these numbers."""
        return self.slices[-1].stop if self.slices else 0

    def vector(self, nodes: int, batch: int) -> Array:
        """Return all numbers at all nodes, (nodes, batch, size)."""
        found = np.zeros((nodes, batch, self.size))
        for where_, x in zip(self.slices, (*self.numbers, *self.goal.values()), strict=True):
            found[..., where_] = x
        return found

    def named_goals(self, p: Scalars) -> dict[str, Scalars]:
        """Return the goals by name."""
        places = self.slices[len(self.numbers) :]
        return {name: p[where_] for name, where_ in zip(self.goal, places, strict=True)}


class NodeCosts:
    """Costs and limits at nodes, either on the way or at the end.

    Parameters
    ----------
    dynamics : NodeDynamics
    wanted : Wanted
    at_end : bool
    second_order : bool
        Whether second derivatives of differences and limited numbers count.
    """

    def __init__(self, dynamics: NodeDynamics, wanted: Wanted, at_end: bool, second_order: bool = False) -> None:
        self.dynamics, self.wanted, self.at_end, self.second_order = dynamics, wanted, at_end, second_order
        self.named: list[NamedLimit] = []
        """The limits, in their order."""
        self.count_limits()

    def count_limits(self) -> None:
        """Find how many limits there are by running the functions on numbers."""
        d = self.dynamics
        q = d.robot.neutral() if d.robot.loops is None else d.robot.assembled()
        x = [*q.tolist(), *[0.1] * (d.nv + d.nz)]
        p = [*np.asarray(self.wanted.vector(1, 1))[0, 0].tolist()] if self._is_single else [0.1] * self.wanted.size
        self.named = []
        with np.errstate(all="ignore"):  # NumPy's numbers: a function may divide by a zero of this very state
            state, numbers = ([np.float64(number) for number in given] for given in (x, p))
            self._limited(self._moment(0.0, state, [np.float64(0.1)] * d.nu, numbers), numbers)

    @property
    def _is_single(self) -> bool:
        return all(np.ndim(x) == 1 for x in (*self.wanted.numbers, *self.wanted.goal.values()))

    @property
    def lengths(self) -> dict[str, int]:
        """The vectors that programs take."""
        d = self.dynamics
        return {"t": 1, "x": d.nx, "u": 0 if self.at_end else d.nu, "p": self.wanted.size, "y": len(self.named),
                "penalty": 1}  # fmt: skip

    # ------------------------------------------------------------------ texts

    def _moment(self, t: Scalar, x: Scalars, u: Scalars, p: Scalars) -> Moment:
        u = u if len(u) else [0.0] * self.dynamics.nu
        return self.dynamics.moment(t, x, u, self.wanted.named_goals(p))

    def _squares(self, m: Moment, p: Scalars) -> list[tuple[Scalar, float]]:
        """Return differences and their weights."""
        found: list[tuple[Scalar, float]] = []
        for term, where_ in zip(self.wanted.costs, self.wanted.slices, strict=False):
            if not term.counts(self.at_end):
                continue
            rows = term.differences(m, p[where_])
            given = np.asarray(term.weight, dtype=float)
            if given.ndim and len(given) != len(rows):
                raise ShapeError(f"{term.called} has {len(rows)} entries, but {len(given)} weights")
            weights = np.broadcast_to(given, (len(rows),)) * (1.0 if self.at_end else self.dynamics.period)
            found += [(row, float(w)) for row, w in zip(rows, weights, strict=True) if w]
        return found

    def _limited(self, m: Moment, p: Scalars) -> list[Limited]:
        """Return all limited numbers; the first time, also note their names."""
        found, named = list[Limited](), list[NamedLimit]()

        def add(name: str, value: Scalar, lower: float, upper: float, scale: float | None = None) -> None:
            if lower < -FURTHEST and upper > FURTHEST:
                return
            span = upper - lower
            scale = (1.0 / span if 0.0 < span < FURTHEST else 1.0) if scale is None else scale
            found.append(Limited(value * scale, lower * scale, upper * scale))
            named.append(NamedLimit(name, scale))

        self._ranges(m, add)
        first = len(self.wanted.costs)
        for limit, where_ in zip(self.wanted.limits, self.wanted.slices[first:], strict=False):
            term = limit.term if isinstance(limit, Bounded) else limit
            if not term.counts(self.at_end):
                continue
            rows = term.differences(m, p[where_])
            bounds = (limit.lower, limit.upper) if isinstance(limit, Bounded) else (0.0, 0.0)
            lower, upper = (np.broadcast_to(np.asarray(x, dtype=float), (len(rows),)) for x in bounds)
            names = term.names(self.dynamics.robot.model, len(rows))
            for name, row, a, b in zip(names, rows, lower.tolist(), upper.tolist(), strict=True):
                add(name, row, a, b, 1.0)
        if not self.named:
            self.named = named
        return found

    def _ranges(self, m: Moment, add: Any) -> None:
        """Add the limits of the model itself."""
        robot = self.dynamics.robot
        if "positions" in self.wanted.ranges:
            for joint in robot.model.joints:
                if joint.mimic or joint.kind.nq != joint.nv:
                    continue
                for k in range(*joint.q_slice.indices(robot.nq)):
                    add(f"position limit of {robot.q_names[k]}", m.q[k], robot.lower_limits[k], robot.upper_limits[k])
        if "velocities" in self.wanted.ranges:
            for k, (name, most) in enumerate(zip(robot.v_names, robot.velocity_limits.tolist(), strict=True)):
                add(f"velocity limit of {name}", m.v[k], -most, most)
        if "torques" in self.wanted.ranges and self.dynamics.command.mode != "torque" and not self.at_end:
            for k, (name, most) in enumerate(zip(robot.v_names, robot.effort_limits.tolist(), strict=True)):
                add(f"torque limit of {name}", m.forces[k], -most, most)

    # ------------------------------------------------------------------ programs

    def _parts(self, v: Mapping[str, Scalars]) -> tuple[list[tuple[Scalar, float]], list[Limited]]:
        m = self._moment(v["t"][0], v["x"], v["u"], v["p"])
        return self._squares(m, v["p"]), self._limited(m, v["p"])

    def _program(self, what: str, law: Any, rows: int = 0) -> LawProgram:
        robot, where_ = self.dynamics.robot, "the end" if self.at_end else "a node"
        return LawProgram(f"{what} at {where_} of a plan of {robot.name!r}", law, self.lengths, True, cpu=robot.cpu)

    @cached_property
    def value(self) -> LawProgram:
        """Cost, and what limits add to it."""

        def law(**v: Scalars) -> list[Scalar]:
            squares, limited = self._parts(v)
            cost: Scalar = sum((w * x * x for x, w in squares), 0.0 * v["t"][0])
            penalty, half = v["penalty"][0], 0.0 * v["t"][0]
            for limit, y in zip(limited, v["y"], strict=True):
                excess = _excess(limit, y / penalty)
                half = half + 0.5 * penalty * excess * excess - 0.5 * y * y / penalty
            return [cost, half]

        return self._program("cost", law)

    @cached_property
    def excess(self) -> LawProgram:
        """How far limits are exceeded, and then the multipliers that follow."""

        def law(**v: Scalars) -> list[Scalar]:
            _, limited = self._parts(v)
            penalty = v["penalty"][0]
            far = [_excess(limit, 0.0 * penalty) for limit in limited]
            return far + [penalty * _excess(x, y / penalty) for x, y in zip(limited, v["y"], strict=True)]

        return self._program("limits", law)

    @cached_property
    def slopes(self) -> LawProgram:
        """Slopes by directions and actions, and the numbers at :attr:`entries` of the second derivatives."""

        def law(**v: Scalars) -> list[Scalar]:
            squares, limited = self._parts(v)
            penalty = v["penalty"][0]
            rows = [(x, 2.0 * w * x, 2.0 * w) for x, w in squares]
            for limit, y in zip(limited, v["y"], strict=True):
                excess = _excess(limit, y / penalty)
                rows.append((limit.value, penalty * excess, _weighed(limit, y / penalty, penalty)))
            columns = [_rates([x for x, _, _ in rows], moved) for moved in self.dynamics.directions_of(v["x"], v["u"])]
            slope: list[Any] = [0.0] * len(columns)
            curved: dict[tuple[int, int], Any] = {}
            for k, (_, first, second) in enumerate(rows):
                own = [(j, column[k]) for j, column in enumerate(columns) if present(column[k])]
                for n, (i, a) in enumerate(own):
                    slope[i] = slope[i] + first * a
                    for j, b in own[n:]:
                        curved[i, j] = curved.get((i, j), 0.0) + second * a * b
            self._entries = tuple(sorted(curved))
            return [*slope, *(curved[place] for place in self._entries), *self._bends(v, [x for _, x, _ in rows])]

        return self._program("slopes of the cost", law)

    def _bends(self, v: Mapping[str, Scalars], weights: Scalars) -> list[Scalar]:
        """Return what second derivatives of differences and limited numbers add, with these weights."""
        self._bent: tuple[tuple[int, int], ...] = ()
        if not self.second_order or not weights:
            return []
        names = [name for name, n in self.lengths.items() if n]

        def values(*vectors: Scalars) -> list[Scalar]:
            squares, limited = self._parts(dict.fromkeys(self.lengths, ()) | dict(zip(names, vectors, strict=True)))
            return [*(x for x, _ in squares), *(limit.value for limit in limited)]

        def directions(*vectors: Scalars) -> Any:
            given = dict.fromkeys(self.lengths, ()) | dict(zip(names, vectors, strict=True))
            return self.dynamics.directions_of(given["x"], given["u"])

        bend = Bend(values, lambda _, end: end, [self.lengths[name] for name in names], directions)
        if bend.looks_up:
            return []
        self._bent = bend.places
        return bend([x for name in names for x in v[name]], weights)

    @property
    def bends(self) -> tuple[tuple[int, int], ...]:
        """Places of what second derivatives of differences and limited numbers add, in the upper triangle."""
        _ = self.slopes
        return self._bent

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """Places of second derivatives that are not always zero, in the upper triangle."""
        _ = self.slopes
        return self._entries


def _rates(results: list[Scalar], moved: list[tuple[Scalar, Scalar]]) -> list[Scalar]:
    return rates_along(results, moved) if results else []


def _is_equality(limit: Limited) -> bool:
    return isinstance(limit.lower, float) and limit.lower == limit.upper


def _excess(limit: Limited, shift: Scalar) -> Scalar:
    """Return the distance of a number from its interval, with sign."""
    s = limit.value + shift
    if _is_equality(limit):
        return s - limit.lower
    return _where_exceeded(limit, s, s - limit.lower, s - limit.upper)


def _weighed(limit: Limited, shift: Scalar, weight: Scalar) -> Scalar:
    """Return the weight where a number is outside of its interval, otherwise zero."""
    return weight if _is_equality(limit) else _where_exceeded(limit, limit.value + shift, weight, weight)


def _where_exceeded(limit: Limited, s: Scalar, below: Scalar, above: Scalar) -> Scalar:
    found = where(limit.upper < s, above, 0.0 * s) if limit.upper <= FURTHEST else 0.0 * s
    return where(s < limit.lower, below, found) if limit.lower >= -FURTHEST else found


def checked_goal(goal: Any, terms: Sequence[Any]) -> dict[str, Array]:
    """Return goals as arrays; refuse what no function could ask for."""
    if goal is None:
        return {}
    if not isinstance(goal, Mapping):
        raise OptionError(f"goal is a mapping from names to numbers, not {goal!r}")
    own = [t for t in terms if isinstance(t.term if isinstance(t, Bounded) else t, Residual)]
    if not own:
        raise OptionError("goal is for functions, which read m.goal[name]; there is no kt.optimize.Residual here")
    found = {name: np.atleast_1d(np.asarray(x, dtype=float)) for name, x in goal.items()}
    for name, x in found.items():
        if x.ndim > 2 or not np.isfinite(x).all():
            raise ShapeError(f"goal {name!r} must be finite numbers, (n,) or one row per motion")
    return found
