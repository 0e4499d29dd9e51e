"""Trace a function by running it on nodes instead of numbers: what it leaves behind is a graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .graph import Graph, inputs, outputs

Shape = tuple[int, ...]


@dataclass
class Traced:
    """A graph with named vector inputs and an output of some shape."""

    graph: Graph
    outputs: list[int]
    lengths: tuple[int, ...]
    shape: Shape


def trace(
    function: Callable[..., Any], lengths: Sequence[int], flatten: Callable[[Any], Any], most_nodes: float = math.inf
) -> Traced:
    """Run a function on nodes. ``flatten`` turns what it returns into nested lists."""
    graph = Graph(most_nodes)
    first, vectors = 0, []
    for n in lengths:
        vectors.append(inputs(graph, n, first))
        first += n
    nested = flatten(function(*vectors))
    leaves: list[Any] = []
    shape = _collect(nested, leaves)
    if math.prod(shape) != len(leaves):  # machine code would write outside its array
        raise ValueError(f"a traced function returned {len(leaves)} numbers in lists of different lengths")
    return Traced(graph, outputs(graph, leaves), tuple(lengths), shape)


def _collect(nested: Any, leaves: list[Any]) -> Shape:
    if not isinstance(nested, list):
        leaves.append(nested)
        return ()
    inner: Shape = ()
    for item in nested:
        inner = _collect(item, leaves)
    return (len(nested), *inner)
