"""Chains as machine code: a step that is repeated along rows of numbers, each with its own, lane by lane.

The state after each step is the state before the next one. A step also reads its own numbers from some long vectors:
those of consecutive steps begin ``stride`` numbers apart, so that they may share some. Steps follow the rows or run
against them.

Inputs are the first state, the long vectors, and parameters; the output has a row for each step, which begins with the
state after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..graph import Graph, inputs, outputs
from ..llvm.assembly import Module
from ..llvm.emitter import Emitter
from ..llvm.modules import table_of_places, work_vectors
from ..llvm.table_lookups import table_words
from ..llvm.vectors import Vectors
from .kernel import Kernel
from .step_kernel import copy_vectors, function_of


class ChainRows(NamedTuple):
    """How a step reads a long vector.

    Attributes
    ----------
    width : int
        How many numbers a step reads.
    stride : int
        How far those of consecutive steps are apart.
    """

    width: int
    stride: int


@dataclass
class Chain:
    """A traced step, ``(state, rows, parameters)`` to the next state and further results."""

    graph: Graph
    outputs: list[int]
    n_state: int
    rows: tuple[ChainRows, ...]
    n_parameters: int
    steps: int
    backward: bool
    """Whether the last rows come first."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the kernel's output."""
        return self.steps, len(self.outputs)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the kernel's input vectors."""
        long = tuple((self.steps - 1) * each.stride + each.width for each in self.rows)
        return (self.n_state, *long, *((self.n_parameters,) if self.n_parameters else ()))

    def content(self) -> str:
        """Return everything that the machine code depends on."""
        graph = self.graph
        numbers = self.n_state, self.rows, self.n_parameters, self.steps, self.backward
        return repr((graph.kinds, graph.args, graph.values, self.outputs, numbers))


def trace_chain(
    law: Callable[..., Sequence[object]], n_state: int, rows: Sequence[ChainRows], n_parameters: int, steps: int,
    backward: bool,
) -> Chain:  # fmt: skip
    """Run a step on nodes: ``law(state, *rows, parameters)`` returns the next state, and what else is wanted."""
    graph = Graph()
    given = inputs(graph, n_state + sum(each.width for each in rows) + n_parameters)
    vectors, first = [], 0
    for count in (n_state, *(each.width for each in rows), n_parameters):
        vectors.append(given[first : first + count])
        first += count
    return Chain(graph, outputs(graph, law(*vectors)), n_state, tuple(rows), n_parameters, steps, backward)


@dataclass
class ChainKernel(Kernel):
    """Machine code of a :class:`Chain`, with a separate form for one."""

    chain: Callable[[], Chain] | None = None

    @property
    def sends(self) -> bool:
        """Always False: a loop has no place for sending."""
        return False

    def _assembly(self, form: str) -> str:
        assert self.chain is not None
        if form == "lanes":
            return chain_module(self.chain(), self.vectors, self._before_work)
        return chain_module(self.chain(), self.vectors.one)


def chain_module(chain: Chain, v: Vectors, work_at: int = 0) -> str:
    """Return LLVM assembly of the loop and of the step that it calls.

    Inputs of one chain are the addresses of its vectors; those of several are consecutive, and ``work_at`` is how many
    vectors after their beginning the work area begins.
    """
    n, vector, width, alone = chain.n_state, v.type, len(chain.outputs), v.lanes == 1
    module = Module()
    module.add("declarations", "\n".join(Emitter(v).declarations()))
    module.add("step", function_of("step", chain.graph, chain.outputs, v))
    places, ends = [n], [n]
    for each, length in zip(chain.rows, chain.lengths[1:], strict=False):
        places.append(places[-1] + each.width)
        ends.append(ends[-1] + length)
    needed = places[-1] + chain.n_parameters
    with module.function("kernel", {"in": "ptr", "out": "ptr"} | ({} if alone else {"context": "ptr"})) as f:
        given, out = f.args[:2]
        if alone:
            x = f.room(vector, needed, v.size)
            vectors = [given.at(k, "ptr").load("ptr") for k in range(len(chain.lengths))]
        else:
            x = given.at(work_at, vector)
            vectors = [given.at(first, vector) for first in (0, *ends)]
        copy_vectors(v, vectors[0], x, n)
        if chain.n_parameters:
            copy_vectors(v, vectors[-1], x.at(places[-1], vector), chain.n_parameters)
        with f.loop(0, chain.steps) as done_before:
            k = -done_before + (chain.steps - 1) if chain.backward else done_before
            for each, place, own in zip(chain.rows, places, vectors[1:], strict=False):
                copy_vectors(v, own.at(k * each.stride, vector), x.at(place, vector), each.width)
            found = out.at(k * width, vector)
            f.call("step", x, found)
            copy_vectors(v, found, x, n)
    table = table_of_places([k * v.size for k in range(chain.steps * width)], v)
    return "\n".join([table_words(len(chain.graph.tables)), table, work_vectors(needed), module.text()])
