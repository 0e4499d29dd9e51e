"""The two ways of walking a tree, which every recursion is made of.

An *outward* step makes a body's quantities from its parent's; an *inward* step says what
a body hands to its parent; *each* looks at every body by itself.  The recursions are
written as such steps, so that they can be unrolled body by body (as here) or traced once
per kind of body and looped over: a tree with a ``walk`` of its own does the walking itself
(:mod:`kinetree.run.large_trees.tree`), and what the steps return then stays inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..model.tree import BASE, Link, Model
from ..spatial import Motion, Scalar, combine

Scalars = Sequence[Scalar]


def outward(tree: Model, step: Callable[..., Any], base: Any, *per_body: Sequence[Any]) -> list[Any]:
    """Call ``step(link, parent_result, *inputs_of_this_body)`` from the base to the tips."""
    if tree.walk is not None:
        return tree.walk.outward(step, base, *per_body)
    results: list[Any] = []
    for link in tree.links:
        parent = base if link.parent == BASE else results[link.parent]
        results.append(step(link, parent, *(column[link.index] for column in per_body)))
    return results


def inward(
    tree: Model, step: Callable[..., tuple[Any, Any]], own: Sequence[Any], *per_body: Sequence[Any]
) -> tuple[list[Any], Any]:
    """Call ``step(link, total, *inputs)`` from the tips to the base.

    ``total`` is the body's own quantity plus what its children handed in.  The step
    returns a result and what to hand to the parent; the second return value is what the
    base receives (None when nothing stands on it).
    """
    if tree.walk is not None:
        return tree.walk.inward(step, own, *per_body)
    totals = list(own)
    results: list[Any] = [None] * len(tree.links)
    ground: Any = None
    for link in reversed(tree.links):
        i = link.index
        results[i], handed = step(link, totals[i], *(column[i] for column in per_body))
        if link.parent == BASE:
            ground = handed if ground is None else add(ground, handed)
        else:
            totals[link.parent] = add(totals[link.parent], handed)
    return results, ground


def each(tree: Model, function: Callable[..., Any], *per_body: Sequence[Any]) -> list[Any]:
    """Call ``function(link, *inputs_of_this_body)`` for every body."""
    if tree.walk is not None:
        return tree.walk.each(function, *per_body)
    return [function(link, *(column[link.index] for column in per_body)) for link in tree.links]


def total(tree: Model, per_body: Sequence[Any], zero: Any) -> Any:
    """Sum over all bodies, begun with ``zero``."""
    if tree.walk is not None:
        return tree.walk.total(per_body, zero)
    for value in per_body:
        zero = add(zero, value)
    return zero


def pairs(
    tree: Model, start: Callable[..., Any], carry: Callable[..., Any] | None, meet: Callable[..., Any],
    *per_body: Sequence[Any],
) -> list[list[list[Scalar]]]:  # fmt: skip
    """Matrices with an entry for each freedom of a body and each freedom of the bodies that carry it.

    ``start(link, *inputs)`` returns what each freedom of a body takes along, a list, and the entries
    within its joint, one block by rows per matrix.  ``carry(held, *inputs)`` makes of what a
    freedom holds at a body what it holds at that body's parent (None: the same).
    ``meet(held, *inputs)`` returns, for each freedom of a body that carries it and for each
    matrix, the two entries: in the row of the one that carries, and in its column.
    Matrices are returned by rows; entries between separate branches are exact zeros.
    """
    if tree.walk is not None:
        return tree.walk.pairs(start, carry, meet, *per_body)

    def of(link: Link) -> list[Any]:
        return [column[link.index] for column in per_body]

    matrices: list[list[list[Any]]] = []
    for link in tree.links:
        held, blocks = start(link, *of(link))
        matrices = matrices or [[[None] * tree.nv for _ in range(tree.nv)] for _ in blocks]

        def enter(matrix: int, row: int, column: int, value: Scalar, ratio: float) -> None:
            now = matrices[matrix][row]
            now[column] = add(now[column], value if ratio == 1.0 else value * ratio)

        own = link.v_slice.start
        for k, block in enumerate(blocks):
            for i, row in enumerate(block):
                for j, value in enumerate(row):
                    enter(k, own + i, own + j, value, link.ratio * link.ratio)
        carrier = link
        while carrier.parent != BASE:
            if carry is not None:
                held = [carry(x, *of(carrier)) for x in held]
            carrier = tree.links[carrier.parent]
            first, ratio = carrier.v_slice.start, link.ratio * carrier.ratio
            for i, x in enumerate(held):
                for j, entries in enumerate(meet(x, *of(carrier))):
                    for k, (above, below) in enumerate(entries):
                        enter(k, first + j, own + i, above, ratio)
                        enter(k, own + i, first + j, below, ratio)
    return [[[0.0 if x is None else x for x in row] for row in matrix] for matrix in matrices]


def everywhere(tree: Model, value: Any) -> Sequence[Any]:
    """Something that belongs to the whole tree, as an input of every body."""
    return tree.walk.everywhere(value) if tree.walk is not None else [value] * len(tree.links)


def part(per_body: Sequence[Any], index: int) -> Sequence[Any]:
    """One component of what a pass returned for every body."""
    own = getattr(per_body, "part", None)
    return own(index) if own is not None else [result[index] for result in per_body]


def present(x: Scalar) -> bool:
    """Whether a parameter is anything but an exact zero; one that is not known yet counts as present."""
    return not (isinstance(x, float) and x == 0.0)


def nothing(tree: Model) -> list[None]:
    """No input for any body."""
    return [None] * len(tree.links)


def add(a: Any, b: Any) -> Any:
    """Sum of two quantities, or of two tuples of quantities, part by part; None counts as nothing."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple(add(x, y) for x, y in zip(a, b, strict=True))
    return a + b


def positions(tree: Model, q: Scalars) -> list[list[Scalar]]:
    """Each joint's coordinates; a follower's come from its leader."""
    if tree.walk is not None:
        return tree.walk.positions(q)
    return [link.position(q) for link in tree.links]


def rates(tree: Model, v: Scalars) -> list[list[Scalar]]:
    """Each joint's velocities or accelerations; a follower's come from its leader."""
    if tree.walk is not None:
        return tree.walk.rates(v)
    return [link.velocity(v) for link in tree.links]


def collect(tree: Model, per_body: Sequence[Sequence[Any]], empty: Any = None) -> list[Any]:
    """Joint forces, accelerations or columns laid out like ``v``; a follower's force is carried by its leader.

    Where no body has anything there is ``empty``.
    """
    if tree.walk is not None:
        return tree.walk.collect(per_body)
    total: list[Any] = [None] * tree.nv
    for link, values in zip(tree.links, per_body, strict=True):
        for k, value in zip(range(link.v_slice.start, link.v_slice.stop), values, strict=True):
            total[k] = add(total[k], value * link.ratio if link.follows else value)
    return total if empty is None else [empty if x is None else x for x in total]


def side_by_side(tree: Model, per_body: Sequence[Sequence[Scalar]], layout: str) -> list[Scalar]:
    """Each joint's own numbers, laid out like ``"q"`` or ``"v"``; followers have none."""
    if tree.walk is not None:
        return tree.walk.side_by_side(per_body, layout)
    return [x for link, values in zip(tree.links, per_body, strict=True) if not link.follows for x in values]


def table(tree: Model, per_body: Sequence[Sequence[Sequence[Scalar]]], width: int) -> list[list[Scalar]]:
    """One row of ``width`` numbers per degree of freedom, in the order of ``v``, of joints that are all independent."""
    if tree.walk is not None:
        return tree.walk.table(per_body, width)
    return [list(row) for rows in per_body for row in rows]


def bias_motion(link: Link, q: Scalars, v: Scalars) -> Motion | None:
    """The apparent derivative of the subspace times ``v``; None where the subspace is constant."""
    columns = link.kind.subspace_rate(q, v)
    return None if columns is None else combine(columns, v)
