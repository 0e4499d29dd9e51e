"""Rewriting graphs for fused multiply-add: a product whose every use is a sum disappears into those sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .graph import ADD, FMA, MUL, SUB, Graph
from .order import with_short_waits


def prepare(graph: Graph, outputs: Sequence[int], fused: bool, longest: int | None = None) -> tuple[Graph, list[int]]:
    """Return the graph to generate code from: products are fused into sums where the processor can do that.

    longest: See :func:`flatten_sums`.
    """
    found = fuse(*flatten_sums(graph, outputs, longest)) if fused else _prune(graph, outputs)
    return with_short_waits(*found)


def flatten_sums(graph: Graph, outputs: Sequence[int], longest: int | None = None) -> tuple[Graph, list[int]]:
    """Turn a sum and the sums that only it needs into one chain: first the plain terms, then the products.

    Sums of more terms than ``longest`` become several chains of about equal length, since each term waits for the one
    before: that pays where much of the code waits.

    (a b + c d) + (e f - g h) takes one multiplication and four fused operations as it stands, but three as a chain.
    Terms are added in a different order than written, which changes rounding.
    """
    order = graph.reachable(outputs)
    uses = Counter(a for i in order for a in graph.args[i]) + Counter(outputs)
    kinds, args = graph.kinds, graph.args
    inner = {
        a for i in order if kinds[i] in (ADD, SUB) for a in args[i] if kinds[a] in (ADD, SUB) and uses[a] == 1
    }  # fmt: skip

    def terms(i: int, positive: bool = True) -> Iterator[tuple[bool, int]]:
        """Yield the terms of a sum with their signs."""
        stack = [(args[i][1], positive == (kinds[i] == ADD)), (args[i][0], positive)]
        while stack:
            k, sign = stack.pop()
            if k in inner:
                stack += [(args[k][1], sign == (kinds[k] == ADD)), (args[k][0], sign)]
            else:
                yield sign, k

    new = Graph(tables=graph.tables)
    place: dict[int, int] = {}
    for i in order:
        if i in inner:
            continue
        if kinds[i] in (ADD, SUB):
            chain = sorted(terms(i), key=lambda t: (kinds[t[1]] == MUL, not t[0]))  # positive ones first: no negation
            parts = -(-len(chain) // (longest or len(chain)))
            sums = [_sum(new, chain[k::parts], place) for k in range(parts)]
            while len(sums) > 1:
                sums = [new.add(*sums[:2]), *sums[2:]]
            place[i] = sums[0]
        else:
            place[i] = new.copied(graph, i, place)
    return new, [place[o] for o in outputs]


def _sum(new: Graph, chain: list[tuple[bool, int]], place: Mapping[int, int]) -> int:
    """Make a chain of terms with signs, a positive one first if there is any."""
    sign, first = next((t for t in chain if t[0]), chain[0])
    total = place[first] if sign else new.neg(place[first])
    rest = list(chain)
    rest.remove((sign, first))
    for sign, k in rest:
        total = new.add(total, place[k]) if sign else new.sub(total, place[k])
    return total


def fuse(graph: Graph, outputs: Sequence[int]) -> tuple[Graph, list[int]]:
    """Return a graph of only what the outputs need, in which products are fused into sums.

    Both operands of a sum may be products; the one that is used nowhere else is preferred.  A product that is also
    needed on its own stays, since fusing it would save nothing.
    """
    order = graph.reachable(outputs)
    uses = Counter(a for i in order for a in graph.args[i]) + Counter(outputs)
    sums = Counter(a for i in order if graph.kinds[i] in (ADD, SUB) for a in graph.args[i])

    new = Graph(tables=graph.tables)
    place: dict[int, int] = {}

    def product(i: int) -> tuple[int, int] | None:
        """Return the factors of a product that may be fused away."""
        if graph.kinds[i] != MUL or uses[i] != sums[i]:
            return None
        return graph.args[i]  # type: ignore[return-value]

    for i in order:
        kind, args = graph.kinds[i], graph.args[i]
        if kind in (ADD, SUB):
            a, b = args
            fa, fb = product(a), product(b)
            if fa and fb and uses[a] > uses[b]:
                fa = None
            if fa:
                other = place[b] if kind == ADD else new.neg(place[b])
                place[i] = new.node(FMA, place[fa[0]], place[fa[1]], other)
            elif fb:
                x = place[fb[0]] if kind == ADD else new.neg(place[fb[0]])
                place[i] = new.node(FMA, x, place[fb[1]], place[a])
            else:
                place[i] = new.copied(graph, i, place)
        else:
            place[i] = new.copied(graph, i, place)
    final = [place[o] for o in outputs]
    return _prune(new, final)


def _prune(graph: Graph, outputs: Sequence[int]) -> tuple[Graph, list[int]]:
    """Drop what nothing needs (the products that were fused away)."""
    new = Graph(tables=graph.tables)
    place: dict[int, int] = {}
    for i in graph.reachable(outputs):
        place[i] = new.copied(graph, i, place)
    return new, [place[o] for o in outputs]
