"""Factors of the mass matrix in O(n^2), from articulated bodies, without elimination.

In M = L^T D L, D contains the pivots of articulated bodies, and an entry of L is the part of a unit force at one joint
that is felt at another joint before it: L^T = 1 + H phi K with Psi for K, whose columns are transformed from body to
body like any force (the factorization of the mass matrix by Kalman filtering, Rodriguez 1987).  For a few joints
elimination (:mod:`.factorization`) takes fewer operations, but it needs O(n^3) for a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.tree import BASE, Link, Model
from ..spatial import Force, Motion, Scalar, Transform, combine_forces
from .articulated_body import Pivot, articulated_inertias
from .factorization import ltdl
from .kinematics import AT_ORIGIN
from .passes import Coupling, Scalars, each, outward, pairs, part, positions, table

Matrix = list[list[Scalar]]


class EliminatedJoint(NamedTuple):
    """A joint's pivot, and what it takes to make rows of L from it."""

    transform: Transform
    subspace: tuple[Motion, ...]
    shares: tuple[Force, ...]
    """For each freedom, the force that a unit force at it makes its carriers feel."""
    lower: Matrix
    """L within the joint."""
    d: list[Scalar]


def eliminated_joints(tree: Model, q: Scalars) -> Sequence[EliminatedJoint]:
    """Return every joint, eliminated from the tips to the base; independent joints only."""
    coordinates = positions(tree, q)
    transforms = each(tree, lambda link, x: link.transform(x), coordinates)
    subspaces = each(tree, lambda link, x: link.subspace(x), coordinates)
    pivots = part(articulated_inertias(tree, transforms, subspaces), 1)

    def joint(link: Link, x: Transform, subspace: tuple[Motion, ...], pivot: Pivot) -> EliminatedJoint:
        lower, d = ltdl(pivot.d, range(-1, link.kind.nv - 1))
        return EliminatedJoint(x, subspace, tuple(combine_forces(pivot.psi, row) for row in lower), lower, d)

    return each(tree, joint, transforms, subspaces, pivots)


def tree_factors(tree: Model, q: Scalars) -> Matrix:
    """Return L, with D in place of the ones on its diagonal, of a tree of independent joints."""

    def block(link: Link, i: int, j: int, own: Any) -> Scalar:
        return own.joint.d[i] if i == j else own.joint.lower[i][j]

    def share(k: int, own: Any) -> tuple[Force]:
        return (own.joint.shares[k],)

    def felt(force: tuple[Force], m: int, own: Any) -> Scalar:
        return own.joint.subspace[m].dot(force[0])

    def carry(force: tuple[Force, ...], own: Any) -> tuple[Force, ...]:
        return tuple(own.joint.transform.force_to_parent(f) for f in force)

    lower_only = Coupling(block, lambda k, own: (), lambda taken, m, own: 0.0, share, felt)
    (matrix,) = pairs(tree, [lower_only], carry, joint=eliminated_joints(tree, q))
    return matrix  # type: ignore[no-any-return]


def rows_of_factors(tree: Model, q: Scalars) -> Matrix:
    """Return, for each freedom, its axis, its share and 1/D, 13 numbers, seen from the root body.

    An entry of L is the inner product of the axis of a freedom and the share of one that it carries.
    """

    def place(link: Link, parent: tuple[Transform], joint: EliminatedJoint) -> tuple[Transform]:
        return (parent[0] if link.parent == BASE else (parent[0] @ joint.transform).collapsed(),)

    def numbers(link: Link, seen: tuple[Transform], joint: EliminatedJoint) -> list[list[Scalar]]:
        of_freedoms = zip(joint.subspace, joint.shares, joint.d, strict=True)
        return [[*seen[0].motion_to_parent(s), *seen[0].force_to_parent(f), 1.0 / d] for s, f, d in of_freedoms]

    joints = eliminated_joints(tree, q)
    seen = outward(tree, place, (AT_ORIGIN.pose,), joints)
    return table(tree, each(tree, numbers, seen, joints), 13)
