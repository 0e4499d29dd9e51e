"""Fused multiply-add: a product whose every use is a sum disappears into those sums."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import ADD, CONST, FMA, MUL, SUB, Graph


def fuse(graph: Graph, outputs: Sequence[int]) -> tuple[Graph, list[int]]:
    """A new graph with only what the outputs need, in which products are fused into sums.

    Both operands of a sum may be products; the one that is used nowhere else is
    preferred.  A product that is needed by itself as well stays, since fusing it would
    save nothing.
    """
    order = graph.reachable(outputs)
    uses: dict[int, int] = dict.fromkeys(order, 0)
    sums: dict[int, int] = dict.fromkeys(order, 0)
    for i in order:
        is_sum = graph.kinds[i] in (ADD, SUB)
        for a in graph.args[i]:
            uses[a] += 1
            if is_sum:
                sums[a] += 1
    for o in outputs:
        uses[o] += 1

    new = Graph()
    place: dict[int, int] = {}

    def product(i: int) -> tuple[int, int] | None:
        """Factors of a product that may vanish."""
        if graph.kinds[i] != MUL or uses[i] != sums[i]:
            return None
        return graph.args[i]  # type: ignore[return-value]

    for i in order:
        kind, args = graph.kinds[i], graph.args[i]
        if kind == CONST:
            place[i] = new.const(graph.values[i])
        elif kind == "input":
            place[i] = new.input(int(graph.values[i]))
        elif kind in (ADD, SUB):
            a, b = args
            fa, fb = product(a), product(b)
            if fa and fb and uses[a] > uses[b]:
                fa = None
            if fa:
                other = place[b] if kind == ADD else new.neg(place[b])
                place[i] = new._node(FMA, place[fa[0]], place[fa[1]], other)
            elif fb:
                x = place[fb[0]] if kind == ADD else new.neg(place[fb[0]])
                place[i] = new._node(FMA, x, place[fb[1]], place[a])
            else:
                place[i] = new._node(kind, place[a], place[b])
        else:
            place[i] = new._node(kind, *(place[a] for a in args))
    final = [place[o] for o in outputs]
    return _prune(new, final)


def _prune(graph: Graph, outputs: Sequence[int]) -> tuple[Graph, list[int]]:
    """Drop what nothing needs (the products that were fused away)."""
    new = Graph()
    place: dict[int, int] = {}
    for i in graph.reachable(outputs):
        kind = graph.kinds[i]
        if kind == CONST:
            place[i] = new.const(graph.values[i])
        elif kind == "input":
            place[i] = new.input(int(graph.values[i]))
        else:
            place[i] = new._node(kind, *(place[a] for a in graph.args[i]))
    return new, [place[o] for o in outputs]
