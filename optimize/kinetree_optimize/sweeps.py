"""The passes over the nodes of many plans at once: slopes, backward pass, new motions, their costs.

Arrays begin with the node, then the plan: all plans of a node are one call of machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kinetree.evaluation.law_kernels import LawProgram, evaluation_into
from kinetree.spatial.arrays import Array

from .node_costs import NodeCosts
from .nodes import NodeDynamics
from .riccati import NodeLayout, RiccatiProgram

Call = Callable[[], object]

SHARES = 8
"""How many lengths of a step are tried at once."""


def bound(program: LawProgram, vectors: Mapping[str, Array], out: Array, threads: int = 1) -> Call:
    """Return a function that evaluates a program on arrays that stay in place, into one that does too."""
    given = {name: vectors[name] for name in program.lengths}
    if program.kernel is not None:
        return evaluation_into(program.kernel, list(given.values()), out, threads)

    def slow() -> None:
        out[...] = program(given, threads)

    return slow


class Texts(NamedTuple):
    """What is the same for all plans of a problem."""

    dynamics: NodeDynamics
    run: NodeCosts
    end: NodeCosts
    threads: int

    @property
    def layout(self) -> NodeLayout:
        """The vectors of the backward pass."""
        d = self.dynamics
        entries = self.run.entries
        if d.nd < d.steps.count:  # directions of a mechanism mix all components
            entries = tuple((i, j) for i in range(d.nd + d.nu) for j in range(i, d.nd + d.nu))
        return NodeLayout(d.nd, d.nu, entries)


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
        self._penalty = np.empty((nodes * lanes, 1))
        arrays = {"t": given.t[:-1], "x": x[:-1], "u": u, "p": given.p[:-1], "y": given.y}
        flat = {name: a.reshape(nodes * lanes, a.shape[-1]) for name, a in arrays.items()}
        flat["penalty"] = self._penalty
        last = {"t": given.t[-1], "x": x[-1], "p": given.p[-1], "y": given.y_end, "penalty": given.penalty}
        self._vectors, self._texts, self._shape = (flat, last), texts, (nodes, lanes)
        self._calls: dict[str, tuple[Call, Call]] = {}
        self._found = np.empty((nodes * lanes, 2)), np.empty((lanes, 2))
        sizes = [2 * len(costs.named) for costs in (texts.run, texts.end)]
        self._limits = np.zeros((nodes * lanes, sizes[0])), np.zeros((lanes, sizes[1]))

    def _call(self, what: str, outs: tuple[Array, Array]) -> None:
        """Evaluate one of the programs of nodes, on the way and at the end; arrays are those of the first call."""
        if what not in self._calls:
            texts, made = self._texts, []
            for costs, vectors, out in zip((texts.run, texts.end), self._vectors, outs, strict=True):
                made.append(bound(getattr(costs, what), vectors, out, texts.threads) if out.size else _nothing)
            self._calls[what] = made[0], made[1]
        self._penalty.reshape(self._shape)[:] = self.given.penalty[:, 0]
        for call in self._calls[what]:
            call()

    def values(self) -> tuple[Array, Array]:
        """Return costs, and costs with what limits add, (L,)."""
        self._call("value", self._found)
        with np.errstate(all="ignore"):
            total = self._found[0].reshape(*self._shape, 2).sum(axis=0) + self._found[1]
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


def _nothing() -> None:
    """Evaluate nothing: there are no limits."""


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
        self.x, self.u = np.zeros((nodes + 1, lanes, d.nx)), np.zeros((nodes, lanes, d.nu))
        self.arrays = old_x, old_u, feedback, gaps
        self._reached = np.zeros((nodes, lanes, d.nx + d.nu))
        self._first = np.zeros((lanes, d.nx))
        self._nx = d.nx
        self._calls = [
            bound(d.follow, {
                "t": given.t[k], "x": self._reached[k - 1][:, : d.nx] if k else self._first, "old": old_x[k],
                "u": old_u[k], "forward": feedback[k][:, : d.nu], "gains": feedback[k][:, d.nu :],
                "share": self.share, "gap": gaps[k], "bounds": given.bounds,
            }, self._reached[k], texts.threads)
            for k in range(nodes)
        ]  # fmt: skip
        self.costs = CostPass(texts, given, self.x, self.u)

    def __call__(self, start: Array, share: Array) -> tuple[Array, Array]:
        """Move from the starts (L, nx) by shares (L,) of the steps; return costs, without and with limits."""
        self.share[:, 0], self._first[:] = share, start
        for call in self._calls:
            call()
        self.x[0], self.x[1:], self.u[:] = start, self._reached[..., : self._nx], self._reached[..., self._nx :]
        return self.costs.values()


class Passes:
    """All passes over plans (L) that are still being improved."""

    def __init__(self, texts: Texts, riccati: RiccatiProgram, given: Inputs, x: Array, u: Array) -> None:
        d, layout = texts.dynamics, texts.layout
        self.texts, self.given, self.x, self.u, self._riccati = texts, given, x, u, riccati
        nodes, lanes = u.shape[:2]
        self.gaps = np.zeros((nodes, lanes, d.nd))
        self.found = np.zeros((nodes, lanes, layout.n_result))
        self.damping = np.zeros((lanes, 1))
        self.costs = CostPass(texts, given, x, u)
        self._steps = np.zeros((nodes, lanes, d.nd * (d.nd + d.nu)))
        self._slopes = np.zeros((nodes, lanes, layout.n_slopes))
        count = d.steps.count
        self._full = self._slopes
        if d.nd < count:
            self._full = np.zeros((nodes, lanes, count + d.nu + len(texts.run.entries)))
        self._end = np.zeros((lanes, count + len(texts.end.entries)))
        self._value = np.zeros((lanes, layout.n_value))
        self._vectors = [
            {
                "steps": self._steps[k], "gap": self.gaps[k], "slopes": self._slopes[k],
                "value": self.found[k + 1][:, : layout.n_value] if k + 1 < nodes else self._value, "u": u[k],
                "bounds": given.bounds, "damping": self.damping,
            }
            for k in range(nodes)
        ]  # fmt: skip
        self._calls: list[Call] = []
        if riccati.is_compiled:
            self._calls = [
                bound(riccati.program, vectors, own, texts.threads)
                for vectors, own in zip(self._vectors, self.found, strict=True)
            ]
        self._forward: dict[int, ForwardPass] = {}

    # ------------------------------------------------------------------ slopes

    def linearize(self) -> None:
        """Find how states and costs change, at all nodes of all plans."""
        d = self.texts.dynamics
        nodes, lanes = self.u.shape[:2]
        times = self.given.t[:-1].reshape(-1)
        x, u = self.x[:-1].reshape(-1, d.nx), self.u.reshape(-1, d.nu)
        ends = d.ends(times, x, u)
        self._steps.reshape(nodes * lanes, d.nd, d.nd + d.nu)[:] = d.slopes(times, x, ends, u)
        if d.can_jump:
            reached = np.ascontiguousarray(ends[:, -1, : d.nx])
            there = self.x[1:].reshape(-1, d.nx)
            self.gaps.reshape(-1, d.nd)[:] = d.apart_program({"a": there, "b": reached}, self.texts.threads)
        self.costs.slopes(self._full, self._end)
        self._lay_out_slopes()

    def _lay_out_slopes(self) -> None:
        d, layout = self.texts.dynamics, self.texts.layout
        count, basis = d.steps.count, None
        rows, columns = np.triu_indices(d.nd)
        end_basis = d.basis(self.x[-1])
        curved = _symmetric(self._end[:, count:], self.texts.end.entries, count)
        slope = self._end[:, :count]
        if end_basis is not None:
            slope, curved = _led(slope, end_basis), _led_twice(curved, end_basis)
            basis = d.basis(self.x[:-1])
        self._value[:, : d.nd], self._value[:, d.nd :] = slope, curved[:, rows, columns]
        if basis is None:
            return
        nu, m = d.nu, count + d.nu
        whole = np.zeros((*basis.shape[:-2], m, d.nd + nu))
        whole[..., :count, : d.nd] = basis
        whole[..., count:, d.nd :] = np.eye(nu)
        curved = _led_twice(_symmetric(self._full[..., m:], self.texts.run.entries, m), whole)
        places = tuple(np.array(layout.entries).T)
        self._slopes[..., : d.nd + nu] = _led(self._full[..., :m], whole)
        self._slopes[..., d.nd + nu :] = curved[..., places[0], places[1]]

    # ------------------------------------------------------------------ backward

    def backward(self) -> tuple[Array, Array, Array]:
        """Return the slope and the curvature of the cost along the step, and the least pivot, each (L,)."""
        for call in reversed(self._calls):
            call()
        if not self._calls:
            for k in reversed(range(len(self._vectors))):
                self.found[k] = self._riccati(self._vectors[k])
        last = self.found[..., -3:]
        return last[..., 0].sum(axis=0), last[..., 1].sum(axis=0), last[..., 2].min(axis=0)

    @property
    def feedback(self) -> Array:
        """Changes of actions and gains among what was found, (N, L, n)."""
        layout = self.texts.layout
        return self.found[..., layout.forward.start : layout.gains.stop]

    @property
    def weight_of_gaps(self) -> Array:
        """How much the cost changes with a gap, at most, (L,)."""
        return np.abs(self.found[..., : self.texts.dynamics.nd]).max(axis=(0, 2))

    def largest_action_step(self) -> Array:
        """Return the largest change of an action that the backward pass proposes, (L,)."""
        return np.abs(self.found[..., self.texts.layout.forward]).max(axis=(0, 2))

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
