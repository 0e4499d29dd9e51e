"""Adjoints of steps: from weights of the state after a step to weights of the state before it and of its parameters.

Positions are weighted along their freedoms, so a quaternion has three weights.  The adjoint of a step is the gradient
of its formula.  If a whole matrix of derivatives is needed, the rates that the step evaluates define how they are
differentiated (:data:`LinearRate`): accelerations solve an equation, and their derivatives solve it with the same
factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.passes import present
from ..engine.differentiate import forward, reverse
from ..engine.graph import Graph, Node, inputs, outputs
from ..engine.kernels.sweep_kernel import FIRST_STATE, Sweep, SweepKernel
from ..engine.llvm import host
from ..spatial import Scalar
from ..spatial.arrays import Array
from .law_kernels import Sizes, constant, of_no_graph, once, prepared_call, run_kernel

Scalars = Sequence[Scalar]

Pull = Callable[[Scalars], list[Scalar]]
"""A function from weights of an answer to weights of freedoms, velocities, further states and moved parameters."""

LinearRate = Callable[[Scalars, Scalars, Scalars], tuple[list[Scalar], Pull]]
"""A function from ``(question, p, a)`` to the answer and its derivatives; ``a`` repeats the accelerations as numbers
that are held constant during differentiation."""


class StepText(NamedTuple):
    """A step over any scalar."""

    advance: Callable[..., list[Scalar]]
    """``advance(ask, t, state, h, p)`` returns the next state; ``ask(question)`` returns the answer."""
    rate: Callable[..., list[Scalar]]
    """``rate(question, p)`` returns the answer."""
    sizes: Sizes
    tangents: Callable[[Scalars], Sequence[Scalars]]
    """How q changes with each freedom."""
    nq: int
    nv: int
    nz: int

    @property
    def n_weighed(self) -> int:
        """The number of entries of a state that have weights: all except those that describe how a step went."""
        return self.nq + self.nv + self.nz

    def in_coordinates(self, q: Scalars, weights: Scalars) -> list[Scalar]:
        """Return weights of coordinates, velocities and further states from those along freedoms."""
        found: list[Scalar] = [0.0] * self.nq
        for weight, tangent in zip(weights, self.tangents(q), strict=False):
            square = sum(x * x for x in tangent)
            found = [a + b * (weight / square) for a, b in zip(found, tangent, strict=True)]
        return [*found, *weights[self.nv : 2 * self.nv + self.nz]]

    def along_freedoms(self, q: Scalars, weights: Scalars) -> list[Scalar]:
        """Convert adjoint weights: the first nq (of coordinates) become nv (of freedoms), the others stay."""
        return [sum(x * w for x, w in zip(t, weights, strict=False)) for t in self.tangents(q)] + list(
            weights[self.nq :]
        )


def rates_along(results: Scalars, moved: Sequence[tuple[Scalar, Scalar]], still: Scalars = ()) -> list[Scalar]:
    """Return how fast traced results change when some scalars change at given rates and others are held constant."""
    graph: Graph = next(x.graph for x, _ in moved)
    nodes, rates = (outputs(graph, some) for some in zip(*moved, strict=True))
    known = dict.fromkeys(outputs(graph, still), graph.const(0.0)) | dict(zip(nodes, rates, strict=True))
    return [constant(Node(graph, k)) for k in forward(graph, outputs(graph, results), known)]


def _gradient(results: Scalars, weights: Scalars, wrt: Sequence[Node]) -> list[Node]:
    graph = wrt[0].graph
    found = reverse(graph, outputs(graph, results), outputs(graph, weights), [x.index for x in wrt])
    return [Node(graph, k) for k in found]


def _inlined(graph: Graph, source: Graph, results: Sequence[int], given: Scalars) -> list[Node]:
    return [Node(graph, k) for k in graph.inlined(source, results, outputs(graph, given))]


def step_backwards(text: StepText, moved: Sequence[int], linear: LinearRate | None = None) -> tuple[Graph, list[int]]:
    """Trace the adjoint of a step: ``(t, h, state, p, weights)`` to the weights before it.

    Weights belong to freedoms, velocities, further states and the ``moved`` parameters, to whose weights those of this
    step are added.  With ``linear`` rates, the coefficients of the weights are short expressions.
    """
    graph, sizes, free = Graph(), text.sizes, 2 * text.nv + text.nz
    m = free + len(moved)
    given = inputs(graph, FIRST_STATE + sizes.state + sizes.parameters + m)
    end = FIRST_STATE + sizes.state
    (t, h), state, p = given[:FIRST_STATE], given[FIRST_STATE:end], given[end:-m]
    weights, wrt = given[-m:], [*state, *(p[k] for k in moved)]
    at_once: list[Any] = [0.0] * m  # weights that are computed along the freedoms of the state
    if linear is None:
        new = text.advance(lambda question: text.rate(question, p), t, state, h, p)
        found = _gradient(new[: text.n_weighed], text.in_coordinates(new[: text.nq], weights), wrt)
    else:
        rate = _TracedRate(linear, text, m, graph.tables)
        found, at_once = _through_rates(text, given, weights, len(moved), rate)
    before = text.along_freedoms(state[: text.nq], found[: text.n_weighed]) + found[len(state) :]
    kept = [0.0] * free + weights[free:]
    return graph, outputs(graph, [a + b + c for a, b, c in zip(before, at_once, kept, strict=True)])


def _through_rates(
    text: StepText, given: Sequence[Node], weights: Scalars, moved: int, rate: _TracedRate
) -> tuple[list[Any], list[Any]]:
    """Return weights of the state and moved parameters, and those of the first question along freedoms.

    The step is traced separately, with inputs in place of answers, where its derivatives end.
    """
    graph, sizes = given[0].graph, text.sizes
    step, first = Graph(tables=graph.tables), FIRST_STATE + sizes.state + sizes.parameters
    own = inputs(step, first)
    asked: list[list[Any]] = []
    stand_ins: list[Node] = []

    def ask(question: Sequence[Any]) -> list[Any]:
        asked.append(list(question))
        stand_ins.extend(inputs(step, sizes.answer, first + len(stand_ins)))
        return list(stand_ins[-sizes.answer :])

    end = FIRST_STATE + sizes.state
    new = text.advance(ask, own[0], own[FIRST_STATE:end], own[1], own[end:])
    p, answers = given[end:first], list[Node]()

    def real(nodes: Sequence[Any]) -> list[Node]:
        return _inlined(graph, step, outputs(step, nodes), [*given[:first], *answers])

    for question in asked:
        answers += rate.answer(graph, real(question), p)
    wrt, free = [*own[FIRST_STATE:end], *stand_ins], 2 * text.nv + text.nz

    def pulled_back(results: Scalars, weights: Scalars) -> list[Any]:
        """Return weights of what states depend on, by the matrix of that: shorter than what it comes from."""
        units = [text.in_coordinates(results[: text.nq], [float(i == j) for i in range(free)]) for j in range(free)]
        rows = real([x for unit in units for x in _gradient(results[: text.n_weighed], unit, wrt)])
        total: list[Any] = [0.0] * len(wrt)
        for j in range(free):
            row = map(constant, rows[j * len(wrt) : (j + 1) * len(wrt)])
            total = [a + weights[j] * b if present(b) else a for a, b in zip(total, row, strict=True)]
        return total

    total = pulled_back(new, weights)
    of_moved: list[Any] = [0.0] * moved
    for k in reversed(range(len(asked))):
        its, at = slice(k * sizes.answer, (k + 1) * sizes.answer), sizes.state + k * sizes.answer
        pulled = rate.pulled(graph, real(asked[k]), p, answers[its][: text.nv], total[at : at + sizes.answer])
        if k == 0:  # the question at the beginning of the step
            return [*total[: sizes.state], *of_moved], pulled
        total = [a + b for a, b in zip(total, pulled_back(asked[k][1:], pulled), strict=True)]
        of_moved = [a + b for a, b in zip(of_moved, pulled[free:], strict=True)]
    raise AssertionError("a step asks for rates")


class _TracedRate:
    """A linear rate as a graph, to be inserted into others for each question."""

    def __init__(self, linear: LinearRate, text: StepText, m: int, tables: list[Array]) -> None:
        self._graph, sizes = Graph(tables=tables), text.sizes
        given = inputs(self._graph, sizes.question + sizes.parameters + text.nv + sizes.answer)
        first, a = sizes.question, sizes.question + sizes.parameters
        answer, pull = linear(given[:first], given[first:a], given[a : a + text.nv])
        self._answer = outputs(self._graph, answer)
        self._pulled = outputs(self._graph, pull(given[a + text.nv :]))
        assert len(self._pulled) == m

    def answer(self, graph: Graph, question: Scalars, p: Scalars) -> list[Node]:
        return _inlined(graph, self._graph, self._answer, [*question, *p])

    def pulled(self, graph: Graph, question: Scalars, p: Scalars, a: Scalars, weights: Scalars) -> list[Node]:
        return _inlined(graph, self._graph, self._pulled, [*question, *p, *a, *weights])


class SweepProgram:
    """Backward sweeps through many steps, in machine code.

    name: For messages.
    moved: Parameters that also have weights.
    steps: Number of steps.
    rows: Number of weighted sums that are processed at a time.
    linear: For trees; worthwhile for many rows.
    cpu: The processor to make machine code for; the default one if empty.
    """

    def __init__(
        self, name: str, text: StepText, moved: Sequence[int], steps: int, rows: int, linear: LinearRate | None = None,
        cpu: str = "",
    ) -> None:  # fmt: skip
        graph, found = step_backwards(text, moved, linear if rows > 1 else None)
        sweep = Sweep(graph, found, text.sizes.state, text.sizes.parameters, steps, rows)

        def make(key: str, target: host.Machine) -> SweepKernel:
            return SweepKernel(
                name, of_no_graph, sweep.lengths, (sweep.all_rows, sweep.n_weights), key, target=target,
                sweep=lambda: sweep, tables=graph.tables,
            )  # fmt: skip

        self.rows = rows
        self.kernel: SweepKernel = once("sweep" + sweep.content(), cpu, make, graph.tables)

    def __call__(
        self, t: Array, h: float, begin: Array, ends: Array, parameters: Array, weights: Array, threads: int = 1
    ) -> Array:
        """Return weights (..., rows, m) before the first step from those after the last one.

        t: (...). The time at which the first step begins.
        begin: (..., n). The state at the beginning.
        ends: (..., steps, n). The states at the ends of the steps.
        parameters: (..., p)
        weights: (..., rows, m)
        """
        whole = np.zeros((*weights.shape[:-2], *self.kernel.shape))
        whole[..., : self.rows, :] = weights
        ends, whole = (x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1]) for x in (ends, whole))
        numbers = [np.asarray(x, dtype=float)[..., None] for x in (t, h)]
        given = [parameters] if parameters.shape[-1] else []
        return run_kernel(self.kernel, *numbers, begin, ends, *given, whole, threads=threads)[..., : self.rows, :]

    def prepared(self, h: float, count: int, own_weights: bool, threads: int = 1) -> PreparedSweep:
        """Return a sweep of ``count`` states; weights are the same for all unless each has its own."""
        return PreparedSweep(self.kernel, self.rows, h, count, own_weights, threads)


class PreparedSweep:
    """A sweep of ``count`` states with its inputs laid out, except for the states at the ends of steps."""

    def __init__(self, kernel: SweepKernel, rows: int, h: float, count: int, own_weights: bool, threads: int) -> None:
        self._rows = rows
        shared = {1} if own_weights else {1, len(kernel.lengths) - 1}
        self._arrays = [np.zeros((1 if k in shared else count, n)) for k, n in enumerate(kernel.lengths)]
        self._arrays[1][:] = h
        self._call = prepared_call(kernel, self._arrays, threads)

    def __call__(self, t: Array, begin: Array, ends: Array, parameters: Array, weights: Array) -> Array:
        """Return weights (count, rows, m) before the first step, see :class:`SweepProgram`."""
        time, _, state, *numbers, rows = self._arrays[:3] + self._arrays[4:]
        time[:, 0], state[:] = t, begin
        if numbers:
            numbers[0][:] = parameters
        flat = weights.reshape(-1, weights.shape[-2] * weights.shape[-1])
        rows[:, : flat.shape[-1]] = flat
        self._call.read_from(3, np.ascontiguousarray(ends).reshape(len(begin), -1))
        return self._call()[:, : self._rows]
