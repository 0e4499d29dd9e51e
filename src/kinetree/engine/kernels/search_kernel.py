"""Searches as machine code: steps from a start until each lane is done, without leaving the lanes.

A lane that is done no longer changes, so its result does not depend on the lanes beside it: the loop ends when all
lanes of a vector are done, or after the largest number of steps.  What a step computes from parameters alone is the
same in all steps, and found once before them.

Inputs are the largest number of steps, the start, and parameters; the output consists of some numbers of the last
state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..graph import CONST, GATHER, INPUT, LESS, Graph, inputs, outputs
from ..llvm.assembly import Module, Value
from ..llvm.emitter import Emitter
from ..llvm.modules import table_of_places, work_vectors
from ..llvm.vectors import Vectors
from .kernel import Kernel
from .step_kernel import copy_vectors, first_as_integer, function_of

Nodes = Sequence[object]

LONGEST_CHAIN = 8
"""Terms of a sum that are added one after the other. A step waits for sums of all its gaps, and then of all its moves:
with two or three chains for each, one of a Stewart platform takes 8 % less time."""


@dataclass
class TracedSearch:
    """A traced search: how it begins and how it steps, each a graph.

    Inputs of ``begin`` are the start and the parameters, those of ``step`` the state, what is found once, and the
    parameters.
    """

    begin: Graph
    first: list[int]
    """The first state, then what is found once."""
    step: Graph
    next: list[int]
    sizes: tuple[int, ...]
    """How many numbers the start and each vector of parameters have."""
    going: int
    """Place in the state of the number that is positive while a lane is not done."""
    returned: tuple[int, ...]
    """Places in the state of what is returned."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the kernel's output."""
        return (len(self.returned),)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the kernel's input vectors."""
        return (1, *self.sizes)

    def content(self) -> str:
        """Return everything that the machine code depends on."""
        graphs = [(g.kinds, g.args, g.values) for g in (self.begin, self.step)]
        return repr((graphs, self.first, self.next, self.sizes, self.going, self.returned))


def trace_search(
    begin: Callable[[Nodes, Nodes], Nodes], step: Callable[[Nodes, Nodes], Nodes], sizes: Sequence[int],
    going: int, returned: Sequence[int], most: float = math.inf,
) -> TracedSearch:  # fmt: skip
    """Run the beginning and a step of a search on nodes.

    Parameters
    ----------
    begin, step : callables
        ``begin(start, parameters)`` and ``step(state, parameters)`` return a state.
    sizes : sequence of int
        How many numbers a start has, and each vector of parameters.
    going : int
        Place in the state of the number that is positive while a lane is not done.
    returned : sequence of int
        Places in the state of what is returned.
    most : float
        Nodes that a step may have.
    """
    first, after, n_start, n_parameters = Graph(), Graph(most), sizes[0], sum(sizes[1:])
    given = inputs(first, n_start + n_parameters)
    state = outputs(first, begin(given[:n_start], given[n_start:]))
    going_on = inputs(after, len(state) + n_parameters)
    new = outputs(after, step(going_on[: len(state)], going_on[len(state) :]))
    once = _found_once(after, new, len(state))
    state += first.inlined(after, once, [*range(len(new)), *(x.index for x in given[n_start:])])
    return TracedSearch(first, state, *_given(after, new, once, len(new)), tuple(sizes), going, tuple(returned))


def _found_once(graph: Graph, wanted: Sequence[int], n: int) -> list[int]:
    """Return the operations on inputs from ``n`` on whose results others need, unless these are conditions."""
    alone: list[bool] = []
    for kind, value, args in zip(graph.kinds, graph.values, graph.args, strict=True):
        alone.append(kind == CONST or (kind == INPUT and value >= n) or (bool(args) and all(alone[a] for a in args)))
    found, needed = set[int](), set(wanted)
    for i in reversed(graph.reachable(wanted)):
        if i not in needed or not graph.args[i]:
            continue
        if alone[i] and graph.kinds[i] not in (LESS, GATHER):
            found.add(i)
        else:
            needed.update(graph.args[i])
    return sorted(found)


def _given(graph: Graph, wanted: Sequence[int], once: Sequence[int], n: int) -> tuple[Graph, list[int]]:
    """Return a graph in which some operations are inputs, between the first ``n`` inputs and the others."""
    new = Graph(tables=graph.tables)
    place = {i: new.input(n + k) for k, i in enumerate(once)}
    for i in graph.reachable(wanted):
        if i not in place:
            is_later = graph.kinds[i] == INPUT and graph.values[i] >= n
            place[i] = new.input(int(graph.values[i]) + len(once)) if is_later else new.copied(graph, i, place)
    return new, [place[o] for o in wanted]


@dataclass
class SearchKernel(Kernel):
    """Machine code of a :class:`TracedSearch`; see the head of this file."""

    search: Callable[[], TracedSearch] | None = None

    @property
    def sends(self) -> bool:
        """Always False: a loop has no place for sending."""
        return False

    def _assembly(self, form: str) -> str:
        assert self.search is not None
        return search_module(self.search(), self.vectors if form == "lanes" else self.vectors.one, form == "lanes")


def search_module(search: TracedSearch, v: Vectors, in_lanes: bool) -> str:
    """Return LLVM assembly of the loop and of the functions it calls.

    For lanes, inputs are consecutive vectors; for one state, a table of pointers to them.
    """
    n, n_start, p, vector, size = len(search.next), search.sizes[0], sum(search.sizes[1:]), v.type, v.size
    whole = len(search.first) + p
    module = Module()
    module.add("declarations", "\n".join(Emitter(v).declarations()))
    module.add("begin", function_of("begin", search.begin, search.first, v))
    module.add("step", function_of("step", search.step, search.next, v, LONGEST_CHAIN))
    context = {"context": "ptr"} if in_lanes else {}
    with module.function("kernel", {"in": "ptr", "out": "ptr", **context}) as f:
        given, out = f.args[:2]
        rooms = [f.room(vector, whole, size) for _ in range(2)]
        if in_lanes:
            most, start = given.load(vector, size), given.at(1, vector)
        else:
            most, start, at = given.load("ptr").load(vector, size), f.room(vector, n_start + p, size), 0
            for k, count in enumerate(search.sizes):
                copy_vectors(v, given.at(1 + k, "ptr").load("ptr"), start.at(at, vector), count)
                at += count
        f.call("begin", start, rooms[0])
        copy_vectors(v, start.at(n_start, vector), rooms[0].at(whole - p, vector), p)
        copy_vectors(v, rooms[0].at(n, vector), rooms[1].at(n, vector), whole - n)
        last, done = first_as_integer(v, most), f.variable(0, "done")
        x, other = f.variable(rooms[0], "state"), f.variable(rooms[1], "other")
        with f.forever(done, x, other):
            f.leave(unless=done.value < last)
            before, new = x.value, other.value
            f.call("step", before, new)
            x.set(new)
            other.set(before)
            done.set(done.value + 1)
            f.leave(unless=_any_positive(v, new.at(search.going, vector).load(vector, size)))
        for k, place in enumerate(search.returned):
            out.at(k, vector).store(x.value.at(place, vector).load(vector, size), size)
    if not in_lanes:
        return module.text()
    places = table_of_places([k * size for k in range(len(search.returned))], v)
    return "\n".join([places, work_vectors(0), module.text()])


def _any_positive(v: Vectors, numbers: Value) -> Value:
    """Return whether any number of a vector is positive."""
    f, zero = numbers.f, "zeroinitializer" if v.lanes > 1 else Emitter(v).number(0.0)
    found = f.op(f"fcmp ogt {v.type} {numbers.name}, {zero}", v.of("i1"))
    if v.lanes == 1:
        return found
    return f.op(f"bitcast {found.type} {found.name} to i{v.lanes}", f"i{v.lanes}").differs(0)
