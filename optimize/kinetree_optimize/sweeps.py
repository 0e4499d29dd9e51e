"""The passes over the nodes of many plans at once: slopes, backward pass, new motions, their costs.

Arrays begin with the node, then the plan: all plans of a node are one call of machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kinetree.evaluation.planning.second_derivatives import Bend
from kinetree.spatial.arrays import Array

from .node_costs import NodeCosts
from .nodes import NodeDynamics, PreparedNodes
from .riccati import NUMBERS, NodeLayout, RiccatiProgram, bound

Call = Callable[[], object]

SHARES = 8
"""How many lengths of a step are tried at once."""

CLOSED = 1e-9
"""Gaps between nodes below this are none."""


def flattened(x: Array) -> Array:
    """Return a view of numbers at nodes (N, L, n) with all of them in one row, (N L, n)."""
    found = x.reshape(x.shape[0] * x.shape[1], x.shape[2])
    assert np.may_share_memory(found, x) or not x.size, "a copy would not follow its changes"
    return found


class Texts(NamedTuple):
    """What is the same for all plans of a problem."""

    dynamics: NodeDynamics
    run: NodeCosts
    end: NodeCosts
    threads: int
    bend: Bend | None = None
    """Second derivatives of the dynamics, if they count."""

    @property
    def layout(self) -> NodeLayout:
        """The vectors of the backward pass."""
        d = self.dynamics
        entries = self.run.entries
        if d.nd < d.steps.count:  # directions of a mechanism mix all components
            entries = tuple((i, j) for i in range(d.nd + d.nu) for j in range(i, d.nd + d.nu))
        return NodeLayout(d.nd, d.nu, entries, self.run.bends, d.nx if self.bend else 0)


class Inputs(NamedTuple):
    """What is given at every node of some plans, and changes between iterations.

    Attributes
    ----------
    t : ndarray (N + 1, L, 1)
    p : ndarray (N + 1, L, n)
        Numbers that terms want.
    y, y_end : ndarrays (N, L, n), (L, n)
        Multipliers of limits.
    penalty : ndarray (L, 1)
    bounds : ndarray (L, 2 nu)
        Least and largest actions.
    """

    t: Array
    p: Array
    y: Array
    y_end: Array
    penalty: Array
    bounds: Array

    def of(self, lanes: Array) -> Inputs:
        """Return copies for some of the plans."""
        return Inputs(*(np.ascontiguousarray(x[:, lanes] if x.ndim == 3 else x[lanes]) for x in self))


class CostPass:
    """Costs of motions (N + 1, L) whose arrays stay in place."""

    def __init__(self, texts: Texts, given: Inputs, x: Array, u: Array) -> None:
        nodes, lanes = u.shape[:2]
        self.given = given
        self._penalty = np.ones((nodes * lanes, 1))
        arrays = {"t": given.t[:-1], "x": x[:-1], "u": u, "p": given.p[:-1], "y": given.y}
        flat = {name: flattened(a) for name, a in arrays.items()}
        flat["penalty"] = self._penalty
        last = {"t": given.t[-1], "x": x[-1], "p": given.p[-1], "y": given.y_end, "penalty": given.penalty}
        self._vectors, self._texts, self._shape = (flat, last), texts, (nodes, lanes)
        self._calls: dict[str, tuple[Call, ...]] = {}
        self._found = np.empty((nodes * lanes, 2)), np.empty((lanes, 2))
        self._by_node = self._found[0].reshape(nodes, 2 * lanes)
        sizes = [2 * len(costs.named) for costs in (texts.run, texts.end)]
        self._limits = np.zeros((nodes * lanes, sizes[0])), np.zeros((lanes, sizes[1]))

    def _call(self, what: str, outs: tuple[Array, Array]) -> None:
        """Evaluate one of the programs of nodes, on the way and at the end; arrays are those of the first call."""
        if what not in self._calls:
            texts, made = self._texts, []
            for costs, vectors, out in zip((texts.run, texts.end), self._vectors, outs, strict=True):
                if out.size:
                    made.append(bound(getattr(costs, what), vectors, out, texts.threads))
            self._calls[what] = tuple(made)
        if self._texts.run.named:
            self._penalty.reshape(self._shape)[:] = self.given.penalty[:, 0]
        for call in self._calls[what]:
            call()

    def values(self) -> tuple[Array, Array]:
        """Return costs, and costs with what limits add, (L,)."""
        self._call("value", self._found)
        with np.errstate(all="ignore"):
            total = np.add.reduce(self._by_node).reshape(-1, 2) + self._found[1]
            return total[:, 0], total[:, 0] + total[:, 1]

    def slopes(self, out: Array, out_end: Array) -> None:
        """Compute slopes at all nodes, (N, L, n) and (L, n), into arrays that are always the same."""
        self._call("slopes", (out.reshape(-1, out.shape[-1]), out_end))

    def limits(self) -> tuple[Array, Array, Array, Array]:
        """Return excesses on the way and at the end, and the multipliers that follow."""
        self._call("excess", self._limits)
        found = []
        for out, costs, shape in zip(
            self._limits, (self._texts.run, self._texts.end), (self._shape, self._shape[1:]), strict=True
        ):
            n = len(costs.named)
            own = out.reshape(*shape, 2 * n).copy()
            found += [own[..., :n], own[..., n:]]
        return found[0], found[2], found[1], found[3]


class PlannedMotions:
    """PlannedMotions of plans, (N + 1, L): the state of each node follows the action that led to it in memory."""

    def __init__(self, nodes: int, lanes: int, nx: int, nu: int) -> None:
        self.whole = np.zeros((nodes + 1, lanes, nx + nu))
        self.x, self.u = self.whole[..., :nx], self.whole[1:, :, nx:]

    def take(self, other: PlannedMotions, own: Array, source: Array) -> None:
        """Take some plans from others; all if as many are listed as there are."""
        if len(own) == self.whole.shape[1] == other.whole.shape[1]:
            self.whole[:] = other.whole
        else:
            self.whole[:, own] = other.whole[:, source]


class ForwardPass:
    """New motions near old ones, node after node.

    Parameters
    ----------
    texts : Texts
    given : Inputs
        Of the new motions, L; old motions may be a single one for all of them.
    old_x, old_u : ndarrays (N + 1, l, nx), (N, l, nu)
    feedback : ndarray (N, l, n)
        Changes of actions, and then gains, from the backward pass.
    gaps : ndarray (N, l, nd)
    """

    def __init__(self, texts: Texts, given: Inputs, old_x: Array, old_u: Array, feedback: Array, gaps: Array) -> None:
        d = texts.dynamics
        nodes, lanes = given.y.shape[:2]
        self.share = np.ones((lanes, 1))
        self.motions = PlannedMotions(nodes, lanes, d.nx, d.nu)
        self.x, self.u = self.motions.x, self.motions.u
        self.arrays = old_x, old_u, feedback, gaps
        self._calls = [
            bound(d.follow, {
                "t": given.t[k], "x": self.x[k], "old": old_x[k], "u": old_u[k], "forward": feedback[k][:, : d.nu],
                "gains": feedback[k][:, d.nu :], "share": self.share, "gap": gaps[k], "bounds": given.bounds,
            }, self.motions.whole[k + 1], texts.threads)
            for k in range(nodes)
        ]  # fmt: skip
        self.costs = CostPass(texts, given, self.x, self.u)

    def __call__(self, start: Array, share: Array | float) -> tuple[Array, Array]:
        """Move from the starts (L, nx) by shares (L,) of the steps; return costs, without and with limits."""
        self.share[:, 0], self.x[0] = share, start
        for call in self._calls:
            call()
        return self.costs.values()


class Passes:
    """All passes over plans (L) that are still being improved."""

    def __init__(self, texts: Texts, riccati: RiccatiProgram, given: Inputs) -> None:
        d, layout = texts.dynamics, texts.layout
        self.texts, self.given, self.riccati = texts, given, riccati
        nodes, lanes = given.y.shape[:2]
        self.motions = PlannedMotions(nodes, lanes, d.nx, d.nu)
        self.x, self.u = self.motions.x, self.motions.u
        self.candidates = PlannedMotions(nodes, lanes, d.nx, d.nu)
        self.gaps = np.zeros((nodes, lanes, d.nd))
        self.is_open = d.can_jump
        """Whether nodes may begin apart from where the one before ended."""
        self.found = np.zeros((nodes, lanes, layout.n_result))
        self.damping = np.zeros((lanes, 1))
        self.bend_share = np.ones((lanes, 1))
        self.costs = CostPass(texts, given, self.x, self.u)
        self._slopes = np.zeros((nodes, lanes, layout.n_slopes))
        count = d.steps.count
        self._full = self._slopes
        if d.nd < count:
            self._full = np.zeros((nodes, lanes, count + d.nu + len(texts.run.entries)))
        self._end = np.zeros((lanes, count + len(texts.end.entries) + len(texts.end.bends)))
        self._value = np.zeros((lanes, layout.n_value))
        self._value[:, -1] = np.inf
        place = {entry: d.nd + k for k, entry in enumerate(zip(*map(list, np.triu_indices(d.nd)), strict=True))}
        self._end_places = [[place.get(entry, 0) for entry in own] for own in (texts.end.entries, texts.end.bends)]
        self._dynamics = PreparedNodes(d, flattened(given.t[:-1]), flattened(self.x[:-1]), flattened(self.u))
        steps = self._dynamics.steps
        self._find_gaps: Call | None = None
        if d.can_jump:
            vectors = {"a": flattened(self.x[1:]), "b": self._dynamics.ends}
            self._find_gaps = bound(d.apart_program, vectors, self.gaps.reshape(-1, d.nd), texts.threads)
        by_node = {
            "steps": steps.reshape(nodes, lanes, -1), "gap": self.gaps, "slopes": self._slopes, "u": self.u,
            "t": given.t[:-1], "x": self.x[:-1],
        }  # fmt: skip
        by_plan = {
            "value": self._value, "bounds": given.bounds, "damping": self.damping, "share": self.bend_share,
        }  # fmt: skip
        self._calls = riccati.prepared(by_node, by_plan, self.found, texts.threads)
        self._forward: dict[int, ForwardPass] = {}

    def begin(self, x: Array, u: Array) -> None:
        """Forget everything about other motions than these, (N + 1, L, nx) and (N, L, nu)."""
        self.x[:], self.u[:] = x, u
        self.gaps[:], self.found[:], self.damping[:], self.bend_share[:] = 0.0, 0.0, 0.0, 1.0
        self.is_open = self.texts.dynamics.can_jump

    def rolled_out(self, start: Array, u: Array) -> tuple[Array, Array]:
        """Return the motions that follow from actions, and the actions within their limits."""
        self.begin(start, u)
        forward, own = self.all_at_once(), slice(0, len(start))
        forward(start, 0.0)
        return forward.x[:, own].copy(), forward.u[:, own].copy()

    # ------------------------------------------------------------------ slopes

    def linearize(self) -> None:
        """Find how states and costs change, at all nodes of all plans."""
        d = self.texts.dynamics
        self._dynamics()
        if self.is_open and self._find_gaps is not None:
            self._find_gaps()
            if np.abs(self.gaps).max() <= CLOSED:
                self.gaps[:], self.is_open = 0.0, False
        self.costs.slopes(self._full, self._end)
        if d.nd < d.steps.count:
            self._lead_slopes()

    def _lead_slopes(self) -> None:
        """Find slopes along the directions of a mechanism from those along all components."""
        d, layout, count = self.texts.dynamics, self.texts.layout, self.texts.dynamics.steps.count
        basis = d.basis(self.x[:-1])
        assert basis is not None
        nu, m = d.nu, count + d.nu
        whole = np.zeros((*basis.shape[:-2], m, d.nd + nu))
        whole[..., :count, : d.nd] = basis
        whole[..., count:, d.nd :] = np.eye(nu)
        curved = _led_twice(_symmetric(self._full[..., m:], self.texts.run.entries, m), whole)
        places = tuple(np.array(layout.entries).T)
        self._slopes[..., : d.nd + nu] = _led(self._full[..., :m], whole)
        self._slopes[..., d.nd + nu :] = curved[..., places[0], places[1]]

    def _lay_out_value(self) -> None:
        """Write the slopes and curvatures of the cost at the end."""
        d, value, count = self.texts.dynamics, self._value, self.texts.dynamics.steps.count
        entries, bends = self._end_places
        if d.nd == count:
            value[:, :count] = self._end[:, :count]
            middle = count + len(entries)
            value[:, entries] = self._end[:, count:middle]
            if bends:
                value[:, [k for k in bends if k not in entries]] = 0.0
                value[:, bends] += self.bend_share * self._end[:, middle:]
            return
        basis, (rows, columns) = d.basis(self.x[-1]), np.triu_indices(d.nd)
        assert basis is not None
        curved = _led_twice(_symmetric(self._end[:, count:], self.texts.end.entries, count), basis)
        value[:, : d.nd] = _led(self._end[:, :count], basis)
        value[:, d.nd : -NUMBERS] = curved[:, rows, columns]

    # ------------------------------------------------------------------ backward

    def backward(self) -> tuple[Array, Array, Array]:
        """Return the slope and the curvature of the cost along the step, and the least pivot, each (L,)."""
        self._lay_out_value()
        for call in self._calls:
            call()
        slope, curvature, least = self.found[0][:, self.texts.layout.numbers].T.copy()
        return slope, curvature, least

    @property
    def feedback(self) -> Array:
        """Changes of actions and gains among what was found, (N, L, n)."""
        layout = self.texts.layout
        return self.found[..., layout.forward.start : layout.gains.stop]

    @property
    def weight_of_gaps(self) -> Array:
        """How much the cost changes with a gap, at most, (L,)."""
        return np.abs(self.found[..., : self.texts.dynamics.nd]).max(axis=(0, 2))

    # ------------------------------------------------------------------ forward

    def all_at_once(self) -> ForwardPass:
        """Return the pass in which every plan tries one share; a single plan tries several."""
        if 0 not in self._forward:
            given = self.given if self.u.shape[1] > 1 else self.given.of(np.zeros(SHARES, dtype=int))
            self._forward[0] = ForwardPass(self.texts, given, self.x, self.u, self.feedback, self.gaps)
        made = self._forward[0]
        if self.u.shape[1] == 1:
            _copy_into(made.costs, self.given, np.zeros(SHARES, dtype=int))
        return made

    def some(self, lanes: Array) -> ForwardPass:
        """Return a pass for some of the plans, which may be listed several times, with copies of their numbers."""
        size = 1 << max(3, int(len(lanes) - 1).bit_length())
        lanes = np.concatenate([lanes, np.full(size - len(lanes), lanes[0])])
        if size not in self._forward:
            copies = [np.ascontiguousarray(a[:, lanes]) for a in (self.x, self.u, self.feedback, self.gaps)]
            self._forward[size] = ForwardPass(self.texts, self.given.of(lanes), *copies)
        else:
            made = self._forward[size]
            for own, a in zip(made.arrays, (self.x, self.u, self.feedback, self.gaps), strict=True):
                own[:] = a[:, lanes]
            _copy_into(made.costs, self.given, lanes)
        return self._forward[size]


def _copy_into(costs: CostPass, given: Inputs, lanes: Array) -> None:
    for own, x in zip(costs.given, given, strict=True):
        if x.shape[-1]:
            own[...] = x[:, lanes] if x.ndim == 3 else x[lanes]


def _symmetric(numbers: Array, entries: Sequence[tuple[int, int]], n: int) -> Array:
    found = np.zeros((*numbers.shape[:-1], n, n))
    for k, (i, j) in enumerate(entries):
        found[..., i, j] = found[..., j, i] = numbers[..., k]
    return found


def _led(slope: Array, basis: Array) -> Array:
    return (slope[..., None, :] @ basis)[..., 0, :]


def _led_twice(curved: Array, basis: Array) -> Array:
    return np.swapaxes(basis, -1, -2) @ curved @ basis
