"""Backward sweeps through steps as machine code: weights of where steps end become weights of where they began.

A law does that for one step; it is linear in the weights of its end.  With one row of weights, that is a gradient, and
the law is a single function.  With a row for each number of the state, that is a matrix of derivatives: what multiplies
the weights is then computed once per step, and blocks of rows are multiplied with it one after the other.

Inputs are ``t`` and ``h`` (one number each), the state in which the first step begins, the states in which all of them
end, one after the other, parameters, and the rows of weights; the output is these rows where the first step begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..fuse import prepare
from ..graph import INPUT, Graph
from ..linear_parts import split_linear
from ..llvm.assembly import Module
from ..llvm.emit import inner_function
from ..llvm.emitter import Emitter
from ..llvm.modules import table_of_places, work_vectors
from ..llvm.table_lookups import table_words
from ..llvm.vectors import Vectors
from .step_kernel import LanesKernel, copy_vectors, time_after

TIME, STEP, FIRST_STATE = 0, 1, 2
"""Places of t, h and the first state among the inputs of a law."""

BLOCK = 2
"""Rows that are multiplied by coefficients at a time: each coefficient is read once for all of them."""


@dataclass
class Sweep:
    """A law of one step, ``(t, h, state, parameters, weights)`` to the weights before it, and how often it runs."""

    graph: Graph
    outputs: list[int]
    n_state: int
    n_parameters: int
    steps: int
    rows: int

    @property
    def n_weights(self) -> int:
        """The number of weights in one row."""
        return len(self.outputs)

    @property
    def block(self) -> int:
        """The number of rows that are processed at a time."""
        return min(self.rows, BLOCK)

    @property
    def all_rows(self) -> int:
        """The number of rows, rounded up to whole blocks."""
        return -(-self.rows // self.block) * self.block

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the kernel's input vectors."""
        parameters = (self.n_parameters,) if self.n_parameters else ()
        return (1, 1, self.n_state, self.steps * self.n_state, *parameters, self.all_rows * self.n_weights)

    def content(self) -> str:
        """Return everything that the machine code depends on."""
        graph = self.graph
        return repr((graph.kinds, graph.args, graph.values, self.outputs, self.n_state, self.steps, self.rows))


@dataclass
class SweepKernel(LanesKernel):
    """Machine code of a :class:`Sweep`."""

    sweep: Callable[[], Sweep] | None = None

    def _assembly(self, form: str) -> str:
        assert self.sweep is not None
        return sweep_module(self.sweep(), self.vectors, self._before_work)


def sweep_module(sweep: Sweep, v: Vectors, work_at: int) -> str:
    """Return LLVM assembly of the loops and of the functions they call."""
    n, p, m, block = sweep.n_state, sweep.n_parameters, sweep.n_weights, sweep.block
    vector, size = v.type, v.size
    weights_at = FIRST_STATE + n + p
    coefficients_at = weights_at + block * m
    module = Module()
    module.add("declarations", "\n".join(Emitter(v).declarations()))
    coefficients: Sequence[int] = ()
    if sweep.rows == 1:
        module.add("rows", _function("rows", sweep.graph, sweep.outputs, v))
    else:
        parts = split_linear(sweep.graph, sweep.outputs, weights_at, m)
        coefficients = parts.coefficients
        if coefficients:
            module.add("coefficients", _function("coefficients", sweep.graph, coefficients, v))
        rows = Graph()
        done = _side_by_side(parts.sums, parts.outputs, m, block, rows)
        module.add("rows", _function("rows", rows, done, v))
    with module.function("kernel", {"in": "ptr", "out": "ptr", "context": "ptr"}) as f:
        given, out, _ = f.args
        x, states = given.at(work_at, vector), given.at(FIRST_STATE, vector)
        weights = x.at(weights_at, vector)
        after = states.at((sweep.steps + 1) * n, vector)
        begin, h = (given.at(k, vector).load(vector, size) for k in (TIME, STEP))
        x.at(STEP, vector).store(h, size)
        copy_vectors(v, after, x.at(FIRST_STATE + n, vector), p)
        copy_vectors(v, after.at(p, vector), out, sweep.all_rows * m)
        with f.loop(0, sweep.steps) as done_before:
            k = -done_before + (sweep.steps - 1)
            copy_vectors(v, states.at(k * n, vector), x.at(FIRST_STATE, vector), n)
            x.at(TIME, vector).store(time_after(v, begin, h, k), size)
            if coefficients:
                f.call("coefficients", x, x.at(coefficients_at, vector))
            with f.loop(0, sweep.all_rows // block) as number:
                own = out.at(number * (block * m), vector)
                copy_vectors(v, own, weights, block * m)
                f.call("rows", x if sweep.rows == 1 else weights, own)
    places = table_of_places([k * size for k in range(sweep.all_rows * m)], v)
    work = work_vectors(coefficients_at + len(coefficients))
    return "\n".join([table_words(len(sweep.graph.tables)), places, work, module.text()])


def _side_by_side(sums: Graph, wanted: Sequence[int], m: int, block: int, rows: Graph) -> list[int]:
    """Return the sums for several rows of weights, operation by operation; a coefficient is read once for all."""
    places: list[dict[int, int]] = [{} for _ in range(block)]
    for i in sums.reachable(wanted):
        for r, place in enumerate(places):
            k = int(sums.values[i])
            given = [rows.input(r * m + k if k < m else (block - 1) * m + k)] if sums.kinds[i] == INPUT else []
            place[i] = given[0] if given else rows.remade(sums, i, place)
    return [place[o] for place in places for o in wanted]


def _function(name: str, graph: Graph, wanted: Sequence[int], vectors: Vectors) -> str:
    return inner_function(name, *prepare(graph, list(wanted), vectors.fused), vectors)
