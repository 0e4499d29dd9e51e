"""Forward dynamics by articulated bodies, O(n) (Featherstone eq. 6.46-6.55; Shah eq. 7.19-7.24).

Every acceleration is split into what it would be without joint accelerations, which the Newton-Euler outward sweep
gives together with the required force, and the rest, ``mu``, which propagates linearly.  This avoids the product of
articulated inertia and velocity terms in Featherstone's form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import SingularError
from ..model.tree import Link, Model
from ..spatial import (
    ZERO_MOTION,
    ArticulatedInertia,
    Force,
    Motion,
    Scalar,
    Transform,
    combine,
    combine_forces,
    ldl,
    ldl_inverse,
)
from . import springs as joint_springs
from . import tendons
from .newton_euler import Moving, Wrenches, base_at_rest, inertia_force, move
from .passes import Scalars, collect, each, inward, nothing, outward, part, positions, present, rates


class Pivot(NamedTuple):
    """A joint's elimination: U = I^A S, the inverse of D = S^T U, and Psi = U D^-1."""

    u: tuple[Force, ...]
    d: list[list[Scalar]]
    d_inverse: list[list[Scalar]]
    psi: tuple[Force, ...]


def eliminate(inertia: ArticulatedInertia, subspace: tuple[Motion, ...], armature: Sequence[float]) -> Pivot:
    """Factor out a joint's freedom: a k x k pivot for k degrees of freedom (Featherstone eq. 6.47-6.48)."""
    u = tuple(inertia @ s for s in subspace)
    d = [[s.dot(column) for column in u] for s in subspace]
    for k, extra in enumerate(armature):
        if present(extra):
            d[k][k] = d[k][k] + extra
    inverse = [[1.0 / d[0][0]]] if len(d) == 1 else ldl_inverse(ldl(d))
    psi = tuple(combine_forces(u, column) for column in inverse)
    return Pivot(u, d, inverse, psi)


def freed(inertia: ArticulatedInertia, pivot: Pivot) -> ArticulatedInertia:
    """Return what remains of an inertia when its joint yields: I^A - U D^-1 U^T (Featherstone eq. 7.19)."""
    for psi, u in zip(pivot.psi, pivot.u, strict=True):
        inertia = inertia - ArticulatedInertia.dyad(psi, u)
    return inertia


def times(matrix: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> list[Scalar]:
    """Return the product of a small matrix and a vector."""
    result = []
    for row in matrix:
        total = row[0] * x[0]
        for a, b in zip(row[1:], x[1:], strict=True):
            total = total + a * b
        result.append(total)
    return result


def at_own_inertia(link: Link, m: Moving, external: Force | None) -> tuple[ArticulatedInertia, Force]:
    """Return a body's own inertia, and the force required by its motion without joint accelerations."""
    return link.articulated(), inertia_force(link, m, external)


def articulated_inertias(
    tree: Model, transforms: Sequence[Transform], subspaces: Sequence[tuple[Motion, ...]]
) -> list[tuple[ArticulatedInertia, Pivot]]:
    """Return the articulated inertia and pivot of every joint, tips to base."""

    def step(
        link: Link, total: ArticulatedInertia, x: Transform, s: tuple[Motion, ...]
    ) -> tuple[tuple[ArticulatedInertia, Pivot], ArticulatedInertia]:
        pivot = eliminate(total, s, link.armature)
        return (total, pivot), x.articulated_to_parent(freed(total, pivot))

    own = each(tree, Link.articulated)
    return inward(tree, step, own, transforms, subspaces)[0]


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None,
    springs: bool = True,
) -> list[Scalar]:  # fmt: skip
    """Return joint accelerations for given joint forces; springs act only if ``springs``."""
    if tree.has_followers:
        raise SingularError("articulated bodies need independent joints; method='composite_body' does not")
    moving = outward(tree, move, base_at_rest(gravity), positions(tree, q), rates(tree, v), nothing(tree))
    pulled = tendons.pulls(tree, q) if springs else None
    if pulled is not None:
        tau = [t - p for t, p in zip(tau, pulled, strict=True)]

    def give_way(
        link: Link, total: tuple[ArticulatedInertia, Force], m: Moving, tau: Scalars, pull: Scalars | None
    ) -> tuple[tuple[list[Scalar], Pivot], tuple[ArticulatedInertia, Force]]:
        inertia, force = total
        pivot = eliminate(inertia, m.subspace, link.armature)
        excess = [t - s.dot(force) for s, t in zip(m.subspace, tau, strict=True)]
        if pull is not None:
            excess = [e - p for e, p in zip(excess, pull, strict=True)]
        handed = force + combine_forces(pivot.psi, excess)
        up = m.transform.articulated_to_parent(freed(inertia, pivot)), m.transform.force_to_parent(handed)
        return (excess, pivot), up

    def accelerate(link: Link, parent: tuple[Motion, list[Scalar]], m: Moving, solved: tuple[list[Scalar], Pivot]):  # type: ignore[no-untyped-def]
        excess, pivot = solved
        mu = m.transform.motion_to_child(parent[0])
        a = [base - mu.dot(psi) for base, psi in zip(times(pivot.d_inverse, excess), pivot.psi, strict=True)]
        return mu + combine(m.subspace, a), a

    own = each(tree, at_own_inertia, moving, wrenches or nothing(tree))
    pulls = joint_springs.pulls(tree, q) if springs else nothing(tree)
    solved, _ = inward(tree, give_way, own, moving, rates(tree, tau), pulls)
    reached = outward(tree, accelerate, (ZERO_MOTION, []), moving, solved)
    return collect(tree, part(reached, 1))
