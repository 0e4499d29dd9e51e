"""Mass matrix by composite rigid bodies (Featherstone eq. 5.7-5.14; Shah eq. 5.19-5.21)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.tree import Link, Model
from ..spatial import ArticulatedInertia, Force, RigidInertia, Scalar, Transform
from .passes import Coupling, Scalars, each, inward, pairs, positions, present

Matrix = list[list[Scalar]]


def composite_inertias(tree: Model, transforms: Sequence[Transform]) -> tuple[list[RigidInertia], RigidInertia]:
    """Return the inertia of each body with all it carries as if welded; last, that of everything at the base."""

    def step(link: Link, total: RigidInertia, x: Transform) -> tuple[RigidInertia, RigidInertia]:
        return total, x.rigid_to_parent(total)

    return inward(tree, step, each(tree, lambda link: link.inertia), transforms)


def _composites_with_added(tree: Model, transforms: Sequence[Transform]) -> list[ArticulatedInertia]:
    """Return composite inertias including those added to bodies, which are not rigid-body inertias."""

    def step(link: Link, total: ArticulatedInertia, x: Transform) -> tuple[ArticulatedInertia, ArticulatedInertia]:
        return total, x.articulated_to_parent(total)

    return inward(tree, step, each(tree, Link.articulated), transforms)[0]


def mass_matrix(tree: Model, q: Scalars) -> Matrix:
    """Return the joint-space inertia matrix; entries between separate branches are exact zeros.

    The force that accelerates everything a joint carries about its axis is projected on the joints before it, one after
    the other (the walk of Featherstone section 7.2.1, with the condition of eq. 7.9 corrected).
    """
    coordinates = positions(tree, q)
    transforms = each(tree, lambda link, x: link.transform(x), coordinates)
    subspaces = each(tree, lambda link, x: link.subspace(x), coordinates)
    composites: list[Any] = composite_inertias(tree, transforms)[0]
    if any(link.added is not None for link in tree.links):
        composites = _composites_with_added(tree, transforms)

    def force(k: int, own: Any) -> Force:
        return own.composite @ own.subspace[k]

    def block(link: Link, i: int, j: int, own: Any) -> Scalar:
        value = own.subspace[i].dot(force(j, own))
        return value + link.armature[i] if i == j and present(link.armature[i]) else value

    def felt(force: Force, m: int, own: Any) -> Scalar:
        return own.subspace[m].dot(force)

    (matrix,) = pairs(
        tree, [Coupling(block, force, felt)], lambda force, own: own.transform.force_to_parent(force),
        composite=composites, transform=transforms, subspace=subspaces,
    )  # fmt: skip
    return matrix  # type: ignore[no-any-return]
