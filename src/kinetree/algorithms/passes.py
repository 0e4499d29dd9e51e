"""The two ways of walking a tree, which every recursion is made of.

An *outward* step makes a body's quantities from its parent's; an *inward* step says what
a body hands to its parent.  The recursions are written as such steps, so that they can
be unrolled body by body (as here) or traced once and looped over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..model.tree import BASE, Link, Model
from ..spatial import Motion, Scalar, combine

Scalars = Sequence[Scalar]


def outward(tree: Model, step: Callable[..., Any], base: Any, *per_body: Sequence[Any]) -> list[Any]:
    """Call ``step(link, parent_result, *inputs_of_this_body)`` from the base to the tips."""
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


def add(a: Any, b: Any) -> Any:
    """Sum of two quantities, or of two tuples of quantities, part by part; None counts as nothing."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple(add(x, y) for x, y in zip(a, b, strict=True))
    return a + b


def positions(tree: Model, q: Scalars) -> list[list[Scalar]]:
    """Each joint's coordinates; a follower's come from its leader."""
    return [link.position(q) for link in tree.links]


def rates(tree: Model, v: Scalars) -> list[list[Scalar]]:
    """Each joint's velocities or accelerations; a follower's come from its leader."""
    return [link.velocity(v) for link in tree.links]


def collect(tree: Model, per_body: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Joint forces laid out like ``v``; a follower's force is carried by its leader."""
    total: list[Any] = [None] * tree.nv
    for link, values in zip(tree.links, per_body, strict=True):
        for k, value in zip(range(link.v_slice.start, link.v_slice.stop), values, strict=True):
            total[k] = add(total[k], value * link.ratio if link.follows else value)
    return total


def bias_motion(link: Link, q: Scalars, v: Scalars) -> Motion | None:
    """The apparent derivative of the subspace times ``v``; None where the subspace is constant."""
    columns = link.kind.subspace_rate(q, v)
    return None if columns is None else combine(columns, v)
