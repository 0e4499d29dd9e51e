"""The passes over a tree from which every recursion is built.

An *outward* step computes a body's quantities from its parent's; an *inward* step determines what a body passes to its
parent; *each* handles every body alone, and *pairs* handles each body together with each of those that carry it. The
recursions are written as such steps, so that they can be unrolled body by body, or traced once per kind of body and run
in a loop; :mod:`.tree_walk` defines these ways of walking a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..model.tree import Link, Model
from ..spatial import Motion, Scalar, combine
from ..spatial.dual import Dual
from .tree_walk import Column, Coupling, LazyMatrix, add, walk_of

__all__ = [
    "Coupling", "Scalars", "add", "at_tip", "bias_motion", "body_columns", "collect", "each", "everywhere", "inward",
    "moving_along", "nothing", "on_demand", "outward", "pairs", "part", "path_to", "positions", "present", "rates",
    "side_by_side", "table", "tips_first", "total",
]  # fmt: skip

Scalars = Sequence[Scalar]


def outward(tree: Model, step: Callable[..., Any], base: Any, *per_body: Sequence[Any]) -> list[Any]:
    """Call ``step(link, parent_result, *inputs_of_this_body)`` from the base to the tips."""
    return walk_of(tree).outward(step, base, *per_body)  # type: ignore[no-any-return]


def inward(
    tree: Model, step: Callable[..., tuple[Any, Any]], own: Sequence[Any], *per_body: Sequence[Any]
) -> tuple[list[Any], Any]:
    """Call ``step(link, total, *inputs)`` from the tips to the base.

    ``total`` is the body's own quantity plus what its children passed on.  The step returns a result and what to pass
    to the parent; the second return value is what the base receives (None if it carries nothing).
    """
    return walk_of(tree).inward(step, own, *per_body)


def each(tree: Model, function: Callable[..., Any], *per_body: Sequence[Any]) -> list[Any]:
    """Call ``function(link, *inputs_of_this_body)`` for every body."""
    return walk_of(tree).each(function, *per_body)  # type: ignore[no-any-return]


def pairs(
    tree: Model, couplings: Sequence[Coupling], carry: Callable[..., Any] | None = None, **per_body: Sequence[Any]
) -> list[Any]:
    """Return matrices by rows with an entry for each freedom of a body and each freedom of the bodies that carry it.

    ``carry(taken, own)`` converts the quantity that a freedom takes along to a body (see :class:`.tree_walk.Coupling`)
    to the one it takes along to that body's parent; None leaves it unchanged.  Entries between separate branches are
    exact zeros.
    """
    return walk_of(tree).pairs(couplings, carry, **per_body)


def body_columns(
    tree: Model, width: int, length: int, take: Callable[..., Any], felt: Callable[..., Scalar],
    **per_body: Sequence[Any],
) -> list[list[Scalar]]:  # fmt: skip
    """Return a matrix with a row per freedom and ``width`` columns per body, filled with zeros to ``length`` columns.

    ``take(k, own)`` is the quantity that column k of a body takes along, unchanged, to all bodies that carry it;
    ``felt(taken, m, own)`` is the entry in the row of freedom m of the body itself or of one that carries it.
    """
    return walk_of(tree).body_columns(width, length, take, felt, **per_body)  # type: ignore[no-any-return]


def on_demand(tree: Model) -> Model:
    """Return this tree with passes that compute a body's quantities only on request.

    Matrices of pairs are then computed column by column: see :func:`tips_first`.
    """
    return walk_of(tree).on_demand()  # type: ignore[no-any-return]


def tips_first(
    tree: Model, matrices: Sequence[Any], then: Callable[[Column], Column] = lambda column: column
) -> list[Any]:
    """Compute the columns of matrices of :func:`on_demand`, the last ones first, and return the matrices by rows.

    Each column is replaced by the result of ``then``, if that is given.
    """
    if not all(isinstance(m, LazyMatrix) for m in matrices):
        return list(matrices)
    columns = {j: [then(m.column(j)) for m in matrices] for j in reversed(range(tree.nv))}
    places = range(tree.nv)
    return [[[columns[j][k].get(i, 0.0) for j in places] for i in places] for k in range(len(matrices))]


def total(tree: Model, per_body: Sequence[Any], zero: Any) -> Any:
    """Return the sum over all bodies, starting with ``zero``."""
    return walk_of(tree).total(per_body, zero)


def everywhere(tree: Model, value: Any) -> Sequence[Any]:
    """Return a value of the whole tree as an input for every body."""
    return walk_of(tree).everywhere(value)  # type: ignore[no-any-return]


def part(per_body: Sequence[Any], index: int) -> Sequence[Any]:
    """Return one component of what a pass returned for every body."""
    own = getattr(per_body, "part", None)
    return own(index) if own is not None else [result[index] for result in per_body]


def present(x: Scalar) -> bool:
    """Return whether a parameter is anything other than an exact zero; an unknown one counts as present."""
    return not (isinstance(x, float) and x == 0.0)


def nothing(tree: Model) -> list[None]:
    """Return empty inputs for all bodies."""
    return [None] * len(tree.links)


def positions(tree: Model, q: Scalars) -> list[list[Scalar]]:
    """Return each joint's coordinates; a follower's come from its leader."""
    return walk_of(tree).positions(q)  # type: ignore[no-any-return]


def rates(tree: Model, v: Scalars) -> list[list[Scalar]]:
    """Return each joint's velocities or accelerations; a follower's come from its leader."""
    return walk_of(tree).rates(v)  # type: ignore[no-any-return]


def moving_along(tree: Model, q: Scalars, freedom: int) -> list[Scalar]:
    """Return the coordinates as dual numbers, with their rates when one freedom moves at unit velocity."""
    moved: list[Scalar] = [Dual(x) for x in q]
    for link in tree.links:
        if link.follows or not link.v_slice.start <= freedom < link.v_slice.stop:
            continue
        unit = [1.0 if k == freedom else 0.0 for k in link.freedoms]
        own = q[link.q_slice]
        for n, (x, rate) in enumerate(zip(own, link.kind.rate(own, unit), strict=True)):
            moved[link.q_slice.start + n] = Dual(x, rate)
    return moved


def collect(tree: Model, per_body: Sequence[Sequence[Any]], empty: Any = None) -> list[Any]:
    """Return joint forces, accelerations or columns laid out like ``v``; a leader carries its followers' forces.

    Entries to which no body contributes are ``empty``.
    """
    return walk_of(tree).collect(per_body, empty)  # type: ignore[no-any-return]


def side_by_side(tree: Model, per_body: Sequence[Sequence[Scalar]], layout: str) -> list[Scalar]:
    """Return each joint's own numbers, laid out like ``"q"`` or ``"v"``; followers have none."""
    return walk_of(tree).side_by_side(per_body, layout)  # type: ignore[no-any-return]


def table(tree: Model, per_body: Sequence[Sequence[Sequence[Scalar]]], width: int) -> list[list[Scalar]]:
    """Return a row of ``width`` numbers per degree of freedom of independent joints, in the order of ``v``."""
    return walk_of(tree).table(per_body, width)  # type: ignore[no-any-return]


def bias_motion(link: Link, q: Scalars, v: Scalars) -> Motion | None:
    """Return the apparent derivative of the subspace times ``v``; None if the subspace is constant."""
    columns = link.kind.subspace_rate(q, v)
    return None if columns is None else combine(columns, v)


def path_to(tree: Any, body: int) -> Any:
    """Return the path from the base to a body."""
    return walk_of(tree).path_to(body)


def at_tip(path: Any, per_body: Sequence[Any]) -> Any:
    """Return what a pass found for the last body of a path."""
    return walk_of(path).at_tip(per_body)
