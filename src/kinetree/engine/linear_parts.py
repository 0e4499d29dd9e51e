"""Graphs that are linear in some of their inputs, in two parts: coefficients, and sums of their products with these.

Derivatives along a direction are linear in it, and so are gradients in their weights.  Where many directions or weights
belong to one state, the coefficients are computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .graph import ADD, DIV, INPUT, MUL, NEG, SELECT, SUB, Graph


class LinearParts(NamedTuple):
    """A graph in two parts."""

    coefficients: list[int]
    """Nodes of the graph itself, which has grown by some."""
    sums: Graph
    """Its inputs are those that the graph is linear in, then the coefficients."""
    outputs: list[int]
    """Of ``sums``."""


def split_linear(graph: Graph, outputs: Sequence[int], first: int, count: int) -> LinearParts:
    """Split a graph whose outputs are linear in ``count`` inputs from number ``first`` on, without constant terms.

    Consecutive factors become one coefficient, and so does a choice between one and zero.
    """
    order = graph.reachable(outputs)
    uses = Counter(a for i in order for a in graph.args[i]) + Counter(outputs)
    sums, known = Graph(), dict[int, int]()
    one, zero = graph.const(1.0), graph.const(0.0)
    scaled: dict[int, tuple[int, int]] = {}  # for each linear node: a factor, and a node of the sums

    def coefficient(node: int) -> int:
        if graph.is_const(node):
            return sums.const(graph.values[node])
        return sums.input(count + known.setdefault(node, len(known)))

    def value(node: int) -> int:
        if node not in scaled:
            return sums.const(0.0)  # there is no other constant term
        factor, base = scaled[node]
        if factor != one:
            scaled[node] = one, product(factor, base)
        return scaled[node][1]

    def product(factor: int, base: int) -> int:
        if graph.kinds[factor] == NEG:
            return sums.neg(sums.mul(coefficient(graph.args[factor][0]), base))
        return sums.mul(coefficient(factor), base)

    def times(node: int, factor: int) -> tuple[int, int]:
        """Return a product, in which factors that nothing else needs are combined."""
        if uses[node] > 1:
            return factor, value(node)
        before, base = scaled[node]
        return graph.mul(before, factor), base

    for i in order:
        kind, args = graph.kinds[i], graph.args[i]
        if kind == INPUT and first <= graph.values[i] < first + count:
            scaled[i] = one, sums.input(int(graph.values[i]) - first)
        elif not any(a in scaled for a in args):
            continue
        elif kind in (ADD, SUB):
            scaled[i] = one, (sums.add if kind == ADD else sums.sub)(value(args[0]), value(args[1]))
        elif kind == NEG:
            scaled[i] = times(args[0], graph.const(-1.0))
        elif kind == MUL and not (args[0] in scaled and args[1] in scaled):
            scaled[i] = times(*args) if args[0] in scaled else times(*reversed(args))
        elif kind == DIV and args[1] not in scaled:
            scaled[i] = times(args[0], graph.div(one, args[1]))
        elif kind == SELECT and args[0] not in scaled:
            choices = (args[1], lambda x: (x, zero)), (args[2], lambda x: (zero, x))
            parts = [(graph.select(args[0], *both(scaled[a][0])), scaled[a][1]) for a, both in choices if a in scaled]
            scaled[i] = parts[0]
            if len(parts) > 1:
                scaled[i] = one, sums.add(*(product(*part) for part in parts))
        else:
            raise ValueError(f"a graph is not linear in its inputs from {first} on: {kind} of {args}")
    found = [value(o) for o in outputs]
    return LinearParts(list(known), sums, found)
