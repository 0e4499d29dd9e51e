"""Second derivatives of a weighted sum of what a law returns, as further nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...algorithms.passes import present
from ...engine.differentiate import forward, reverse
from ...engine.graph import Graph, Node, inputs, outputs
from ...spatial import Scalar
from ..law_kernels import constant

Scalars = Sequence[Scalar]

Columns = Sequence[Sequence[tuple[Scalar, Scalar]]]
"""For each direction, the scalars that it moves, each with its rate."""


class Bend:
    """How a weighted sum of the end of a law curves along directions of its inputs.

    The law is traced once, in a graph of its own, and inserted into others.  The way from the end to its neighbors is
    ``apart(end, other)``; the end counts as constant in it.

    Parameters
    ----------
    law : callable
        ``law(*vectors)`` returns a list of scalars.
    apart : callable
        ``apart(end, other)`` returns a list of scalars.
    lengths : sequence of int
        Lengths of the vectors.
    directions : callable
        ``directions(*vectors)`` returns :data:`Columns`.
    """

    def __init__(
        self, law: Callable[..., Scalars], apart: Callable[[Scalars, Scalars], Scalars], lengths: Sequence[int],
        directions: Callable[..., Columns],
    ) -> None:  # fmt: skip
        self._graph = graph = Graph()
        vectors, first = list[list[Node]](), 0
        for n in lengths:
            vectors.append(inputs(graph, n, first))
            first += n
        end = law(*vectors)
        held = inputs(graph, len(end), first)
        way = list(apart(held, end))
        weights = inputs(graph, len(way), first + len(held))
        self._end = outputs(graph, end)
        columns = [[(node, rate) for node, rate in column if present(rate)] for column in directions(*vectors)]
        found = _symmetric(graph, outputs(graph, way), outputs(graph, weights), columns)
        self.places = tuple(sorted(found))
        """Places of the second derivatives that are not always zero, in the upper triangle."""
        self._found = [found[place] for place in self.places]

    @property
    def looks_up(self) -> bool:
        """Whether it looks up data, and so cannot be inserted into other graphs."""
        return bool(self._graph.tables)

    @property
    def operations(self) -> int:
        """How many operations it takes, the law itself included."""
        return sum(bool(self._graph.args[i]) for i in self._graph.reachable([*self._end, *self._found]))

    def __call__(self, given: Scalars, weights: Scalars) -> list[Scalar]:
        """Return the second derivatives at :attr:`places`, from all vectors one after the other."""
        graph = next(x.graph for x in (*weights, *given) if isinstance(x, Node))
        start = outputs(graph, given)
        end = graph.inlined(self._graph, self._end, start)
        found = graph.inlined(self._graph, self._found, [*start, *end, *outputs(graph, weights)])
        return [constant(Node(graph, k)) for k in found]


def _symmetric(graph: Graph, results: list[int], weights: list[int], columns: Any) -> dict[tuple[int, int], int]:
    """Return the second derivatives of a weighted sum; those along turns, which do not commute, as means of both."""
    moved = list(dict.fromkeys(node.index for column in columns for node, _ in column))
    slopes = dict(zip(moved, (Node(graph, k) for k in reverse(graph, results, weights, moved)), strict=True))
    zero = graph.const(0.0)
    still = dict.fromkeys(moved, zero)
    along: list[Any] = []
    for column in columns:
        total: Any = 0.0
        for node, rate in column:
            total = total + rate * slopes[node.index]
        along.append(total)
    rates = []
    for column in columns:
        own = outputs(graph, [rate for _, rate in column])
        rates.append(still | dict(zip((node.index for node, _ in column), own, strict=True)))
    is_turn = [any(isinstance(rate, Node) and not graph.is_const(rate.index) for _, rate in c) for c in columns]
    found: dict[tuple[int, int], int] = {}
    nodes = outputs(graph, along)
    bent = [forward(graph, nodes, rate) for rate in rates]  # row k: derivatives of all slopes along k
    for i in range(len(columns)):
        for j in range(i, len(columns)):
            entry = bent[j][i]
            if is_turn[i] or is_turn[j]:
                entry = outputs(graph, [0.5 * (Node(graph, bent[j][i]) + Node(graph, bent[i][j]))])[0]
            if entry != zero:
                found[i, j] = entry
    return found
