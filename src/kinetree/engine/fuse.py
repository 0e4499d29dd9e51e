"""Fused multiply-add: a product whose every use is a sum disappears into those sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .graph import ADD, CONST, FMA, MUL, SUB, Graph


def prepare(graph: Graph, outputs: Sequence[int], fused: bool) -> tuple[Graph, list[int]]:
    """A graph as code is made of it: with products fused into sums, or as it is where the processor cannot do that."""
    return fuse(*flatten_sums(graph, outputs)) if fused else _prune(graph, outputs)


def flatten_sums(graph: Graph, outputs: Sequence[int]) -> tuple[Graph, list[int]]:
    """Sums that only another sum needs become one chain with it: first the plain terms, then the products.

    (a b + c d) + (e f - g h) takes one multiplication and four fused operations as it stands, but three as a
    chain.  Terms are added in another order than was written, which changes results by rounding.
    """
    order = graph.reachable(outputs)
    uses: dict[int, int] = dict.fromkeys(order, 0)
    for i in order:
        for a in graph.args[i]:
            uses[a] += 1
    for o in outputs:
        uses[o] += 1
    kinds, args = graph.kinds, graph.args
    inner = {
        a for i in order if kinds[i] in (ADD, SUB) for a in args[i] if kinds[a] in (ADD, SUB) and uses[a] == 1
    }  # fmt: skip

    def terms(i: int, positive: bool = True) -> Iterator[tuple[bool, int]]:
        """Terms of a sum with their signs."""
        stack = [(args[i][1], positive == (kinds[i] == ADD)), (args[i][0], positive)]
        while stack:
            k, sign = stack.pop()
            if k in inner:
                stack += [(args[k][1], sign == (kinds[k] == ADD)), (args[k][0], sign)]
            else:
                yield sign, k

    new = Graph()
    place: dict[int, int] = {}
    for i in order:
        if i in inner:
            continue
        if kinds[i] in (ADD, SUB):
            chain = sorted(terms(i), key=lambda t: (kinds[t[1]] == MUL, not t[0]))  # positive ones first: no negation
            sign, first = next((t for t in chain if t[0]), chain[0])
            chain.remove((sign, first))
            total = place[first] if sign else new.neg(place[first])
            for sign, k in chain:
                total = new.add(total, place[k]) if sign else new.sub(total, place[k])
            place[i] = total
        else:
            place[i] = _copied(new, graph, i, place)
    return new, [place[o] for o in outputs]


def _copied(new: Graph, graph: Graph, i: int, place: dict[int, int]) -> int:
    """The same node in another graph."""
    if graph.kinds[i] == CONST:
        return new.const(graph.values[i])
    if graph.kinds[i] == "input":
        return new.input(int(graph.values[i]))
    return new._node(graph.kinds[i], *(place[a] for a in graph.args[i]))


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
