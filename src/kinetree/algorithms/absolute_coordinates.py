"""The three recursions with every quantity in the world's frame (Featherstone eq. 4.6-4.10, 5.7-5.9, 6.46-6.55).

Axes and inertias are brought to the world's frame first, s_i = 0X_i s'_i and I_i = 0X_i I'_i iX_0 (Featherstone section
4.3).  After that, no transforms between bodies are needed: where :mod:`.newton_euler`, :mod:`.composite_body` and
:mod:`.articulated_body` transform quantities from frame to frame, they are simply added here.

All moments are taken about the world's origin, so digits are lost if the robot is far away from it: at a distance d,
rounding errors grow by about (d / size)^2. Link coordinates have no such special point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.tree import Link, Model
from ..spatial import (
    ZERO3,
    ZERO_MOTION,
    ArticulatedInertia,
    Force,
    Motion,
    RigidInertia,
    Scalar,
    Transform,
    Vec3,
    combine,
    combine_forces,
)
from . import springs, tendons
from .articulated_body import Pivot, eliminate, freed, times
from .factorization import ltdl, ltdl_solve
from .kinematics import Posed, Twist, poses
from .newton_euler import Wrenches, felt_by_joint
from .passes import (
    Coupling,
    Scalars,
    bias_motion,
    collect,
    each,
    inward,
    nothing,
    outward,
    pairs,
    part,
    positions,
    present,
    rates,
)

Matrix = list[list[Scalar]]


class SeenFromWorld(NamedTuple):
    """A body in the world: its pose 0X_i, its joint's axes s_i and its inertia I_i, in the world's coordinates."""

    pose: Transform
    axes: tuple[Motion, ...]
    inertia: RigidInertia


def seen_from_world(tree: Model, q: Scalars) -> Sequence[SeenFromWorld]:
    """Return every body in the world (Featherstone section 4.3)."""

    def seen(link: Link, p: Posed) -> SeenFromWorld:
        axes = tuple(p.pose.motion_to_parent(s) for s in p.subspace)
        return SeenFromWorld(p.pose, axes, p.pose.rigid_to_parent(link.inertia))

    return each(tree, seen, poses(tree, q))


def moving(
    tree: Model, bodies: Sequence[SeenFromWorld], q: Scalars, v: Scalars, a: Scalars | None, gravity: Scalars
) -> Sequence[Twist]:
    """Return velocities and accelerations, the base rising at -g (Featherstone eq. 4.6, 4.7; with S' of eq. 7.16)."""

    def step(link: Link, parent: Twist, p: SeenFromWorld, q: Scalars, v: Scalars, a: Scalars | None) -> Twist:
        joint = combine(p.axes, v)
        # Featherstone has v_i x s_i v; v_i = v_parent + s_i v, and the cross product of the second part with itself is
        # zero
        acceleration = parent.acceleration + parent.velocity.cross(joint)
        bias = bias_motion(link, q, v)
        if bias is not None:
            acceleration = acceleration + p.pose.motion_to_parent(bias)
        if a is not None:
            acceleration = acceleration + combine(p.axes, a)
        return Twist(parent.velocity + joint, acceleration)

    base = Twist(ZERO_MOTION, Motion(ZERO3, -Vec3.of(gravity)))
    accelerations = nothing(tree) if a is None else rates(tree, a)
    return outward(tree, step, base, bodies, positions(tree, q), rates(tree, v), accelerations)


def required(link: Link, p: SeenFromWorld, t: Twist, external: Force | None) -> Force:
    """Return the force that a body's motion requires, less the external force on it (Featherstone eq. 4.8)."""
    force = p.inertia @ t.acceleration + t.velocity.cross_force(p.inertia @ t.velocity)
    return force if external is None else force - p.pose.force_to_parent(external)


def joint_forces(
    tree: Model, bodies: Sequence[SeenFromWorld], own: Sequence[Force], accelerations: Sequence[Any], pulls:
    Sequence[Any],
) -> list[Scalar]:  # fmt: skip
    """Return the joint forces, each joint carrying all forces beyond it (Featherstone eq. 4.9, 4.10)."""

    def step(
        link: Link, total: Force, p: SeenFromWorld, a: Scalars | None, pull: Scalars | None
    ) -> tuple[list[Scalar], Force]:
        return felt_by_joint(link, p.axes, total, a, pull), total

    return collect(tree, inward(tree, step, own, bodies, accelerations, pulls)[0])


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars | None, gravity: Scalars, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """Return the joint forces for a motion."""
    bodies = seen_from_world(tree, q)
    own = each(tree, required, bodies, moving(tree, bodies, q, v, a, gravity), wrenches or nothing(tree))
    accelerations = nothing(tree) if a is None else rates(tree, a)
    tau = joint_forces(tree, bodies, own, accelerations, springs.pulls(tree, q))
    pulled = tendons.pulls(tree, q)
    return tau if pulled is None else [t + p for t, p in zip(tau, pulled, strict=True)]


def mass_matrix(tree: Model, q: Scalars) -> Matrix:
    """Return the joint-space inertia matrix: H_ij = s_j . (I^C_i s_i), I^C a plain sum (Featherstone eq. 5.7-5.9)."""
    return _mass_matrix(tree, seen_from_world(tree, q))


def _mass_matrix(tree: Model, bodies: Sequence[SeenFromWorld]) -> Matrix:
    def step(link: Link, total: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
        return total, total

    def force(k: int, own: Any) -> Force:
        return own.composite @ own.axes[k]

    def block(link: Link, i: int, j: int, own: Any) -> Scalar:
        value = own.axes[i].dot(force(j, own))
        return value + link.armature[i] if i == j and present(link.armature[i]) else value

    def felt(force: Force, m: int, own: Any) -> Scalar:
        return own.axes[m].dot(force)

    composites, _ = inward(tree, step, part(bodies, 2))
    (matrix,) = pairs(tree, [Coupling(block, force, felt)], None, composite=composites, axes=part(bodies, 1))
    return matrix  # type: ignore[no-any-return]


def by_mass_matrix(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """Return joint accelerations; the bias force and the matrix share axes and inertias (Featherstone section 5.4).

    Springs are not included: ``tau`` is the joint force that remains after the springs are held.
    """
    bodies = seen_from_world(tree, q)
    own = each(tree, required, bodies, moving(tree, bodies, q, v, None, gravity), wrenches or nothing(tree))
    bias = joint_forces(tree, bodies, own, nothing(tree), nothing(tree))
    parents = tree.dof_parents
    return ltdl_solve(
        ltdl(_mass_matrix(tree, bodies), parents), parents, [t - b for t, b in zip(tau, bias, strict=True)]
    )


def articulated_body(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None,
    pulling: bool = True,
) -> list[Scalar]:  # fmt: skip
    """Return joint accelerations by articulated bodies (Featherstone eq. 6.46-6.55), with springs if ``pulling``.

    As in link coordinates, accelerations are split into what they would be without joint accelerations and the rest,
    mu, so that no articulated inertia multiplies a velocity term (Featherstone eq. 6.53 has I^A c).
    """
    bodies = seen_from_world(tree, q)
    pulled = tendons.pulls(tree, q) if pulling else None
    if pulled is not None:
        tau = [t - p for t, p in zip(tau, pulled, strict=True)]

    def at_own_inertia(
        link: Link, p: SeenFromWorld, t: Twist, external: Force | None
    ) -> tuple[ArticulatedInertia, Force]:
        return p.inertia.articulated(), required(link, p, t, external)

    def give_way(
        link: Link, total: tuple[ArticulatedInertia, Force], p: SeenFromWorld, tau: Scalars, pull: Scalars | None
    ) -> tuple[tuple[list[Scalar], Pivot], tuple[ArticulatedInertia, Force]]:
        inertia, force = total
        pivot = eliminate(inertia, p.axes, link.armature)
        excess = [t - s.dot(force) for s, t in zip(p.axes, tau, strict=True)]
        if pull is not None:
            excess = [e - held for e, held in zip(excess, pull, strict=True)]
        return (excess, pivot), (freed(inertia, pivot), force + combine_forces(pivot.psi, excess))

    def accelerate(
        link: Link, parent: tuple[Motion, list[Scalar]], p: SeenFromWorld, solved: tuple[list[Scalar], Pivot]
    ) -> tuple[Motion, list[Scalar]]:
        mu, (excess, pivot) = parent[0], solved
        a = [base - mu.dot(psi) for base, psi in zip(times(pivot.d_inverse, excess), pivot.psi, strict=True)]
        return mu + combine(p.axes, a), a

    twists = moving(tree, bodies, q, v, None, gravity)
    own = each(tree, at_own_inertia, bodies, twists, wrenches or nothing(tree))
    pulls = springs.pulls(tree, q) if pulling else nothing(tree)
    solved, _ = inward(tree, give_way, own, bodies, rates(tree, tau), pulls)
    return collect(tree, part(outward(tree, accelerate, (ZERO_MOTION, []), bodies, solved), 1))
