"""Functions that graphs call: a text that is used many times is traced and compiled once.

A function is a graph of its own.  A node of kind ``call`` is one of its results; those of one call have the same
arguments and stand beside one another.  A function may also be the step of a loop: its first arguments are a state, its
results the next state, and it is repeated while one number of the state is positive, each lane for itself.

What a call means is what its graph means if it is written out in its place.  Machine code calls; everything else that
reads graphs writes calls out first, :func:`written_out`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple


class Repetition(NamedTuple):
    """How a step is repeated."""

    most: int
    """How often at most."""
    going: int
    """The place in the state of the number that is positive while a lane is not done."""


class CalledFunction:
    """A function with a graph of its own.

    Parameters
    ----------
    graph : Graph
    outputs : sequence of int
        Its results.
    inputs : int
        How many numbers it takes.
    repeated : Repetition, optional
        If it is the step of a loop.
    """

    def __init__(self, graph: Any, outputs: Sequence[int], inputs: int, repeated: Repetition | None = None) -> None:
        self.graph, self.outputs, self.inputs, self.repeated = graph, list(outputs), inputs, repeated

    @cached_property
    def digest(self) -> str:
        """A digest of all that its machine code depends on."""
        g = self.graph
        content = repr((g.kinds, g.args, g.values, self.outputs, self.inputs, self.repeated))
        return hashlib.sha256(content.encode()).hexdigest()[:24]

    def __repr__(self) -> str:
        return f"<function {self.digest}>"

    def written_into(self, graph: Any, arguments: Sequence[int]) -> list[int]:
        """Make the results in another graph without a call, and simplify them."""
        if self.repeated is None:
            return list(graph.inlined(self.graph, self.outputs, arguments))
        n = len(self.outputs)
        state, given = list(arguments[:n]), list(arguments[n:])
        for _ in range(self.repeated.most):
            on = graph.less(graph.const(0.0), state[self.repeated.going])
            if graph.is_const(on) and not graph.values[on]:
                break
            new = graph.inlined(self.graph, self.outputs, [*state, *given])
            state = [graph.select(on, x, y) for x, y in zip(new, state, strict=True)]
        return state


class CallResult(NamedTuple):
    """One result of a call: the value of its node."""

    function: CalledFunction
    number: int


def call(
    key: Hashable, function: Callable[..., Any], arguments: Sequence[Any], repeated: tuple[int, int] | None = None
) -> list[Any]:  # fmt: skip
    """Call a function of nodes; it is traced when a graph first calls it.

    Parameters
    ----------
    key : hashable
        What the function depends on.
    function : callable
        Takes a list of nodes and returns a list of them.
    arguments : sequence of nodes and numbers
        Of a loop: the state, then what does not change.
    repeated : tuple of two ints, optional
        If the function is the step of a loop, see :class:`Repetition`.
    """
    node = next(x for x in arguments if hasattr(x, "index_of"))
    graph, kind = node.graph, type(node)
    known = graph.functions.get((key, repeated))
    if known is None:
        own = type(graph)(tables=graph.tables)
        found = function([kind(own, own.input(k)) for k in range(len(arguments))])
        outputs = [x.index if isinstance(x, kind) else own.const(float(x)) for x in found]
        known = graph.functions[key, repeated] = CalledFunction(
            own, outputs, len(arguments), None if repeated is None else Repetition(*repeated)
        )
    indices = tuple(node.index_of(x) for x in arguments)
    if all(graph.is_const(i) for i in indices):
        return [kind(graph, i) for i in known.written_into(graph, indices)]
    return [kind(graph, graph.valued("call", CallResult(known, k), indices)) for k in range(len(known.outputs))]


def written_out(graph: Any, outputs: Sequence[int], kept: Collection[int] = ()) -> list[int]:
    """Return the same results without calls, as further nodes of the graph; ``kept`` nodes stay as they are."""
    found = list(outputs)
    while True:
        order = graph.reachable(found)
        if not any(graph.kinds[i] == "call" and i not in kept for i in order):
            return found
        place: dict[int, int] = {}
        made: dict[tuple[Any, ...], list[int]] = {}
        for i in order:
            args = graph.args[i]
            if i in kept or not args:
                place[i] = i
            elif graph.kinds[i] == "call":
                function, number = graph.values[i]
                given = tuple(place[a] for a in args)
                if (function, given) not in made:
                    made[function, given] = function.written_into(graph, given)
                place[i] = made[function, given][number]
            else:
                place[i] = i if all(place[a] == a for a in args) else graph.remade(graph, i, place)
        found = [place[o] for o in found]


def functions_of(graph: Any, outputs: Sequence[int] | None = None) -> list[CalledFunction]:
    """Return all functions that a graph calls, and those that they call, each once."""
    found: dict[str, CalledFunction] = {}

    def visit(graph: Any) -> Iterator[CalledFunction]:
        for kind, value in zip(graph.kinds, graph.values, strict=True):
            if kind == "call":
                yield value.function

    waiting = list(visit(graph))
    while waiting:
        function = waiting.pop()
        if function.digest not in found:
            found[function.digest] = function
            waiting += visit(function.graph)
    return list(found.values())
