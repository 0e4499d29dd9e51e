"""Inverse dynamics of a floating base as the sources define it (Shah table 7.1, Featherstone eq. 7.25-7.31).

The joint accelerations are given and nothing drives the base: first the base
acceleration follows from the balance of the whole robot, then the joint forces.
"""

from __future__ import annotations

from ..errors import ModelError
from ..model.tree import Link, Model
from ..spatial import ZERO_MOTION, Force, Motion, RigidInertia, Scalar, combine, ldl, ldl_solve
from . import springs, tendons
from .newton_euler import Moving, Wrenches, base_at_rest, felt_by_joint, inertia_force, move
from .passes import Scalars, collect, inward, outward, positions, rates


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a_joints: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the base acceleration (as the base joint's v-dot) and the forces of the other joints."""
    if not tree.is_floating:
        raise ModelError(f"robot {tree.name!r} has no floating base; load it with floating_base=True")
    external = wrenches or [None] * len(tree.links)
    accelerations = rates(tree, [0.0] * 6 + list(a_joints))
    moving = outward(tree, move, base_at_rest(gravity), positions(tree, q), rates(tree, v), accelerations)
    own = [(link.inertia, inertia_force(link, m, f)) for link, m, f in zip(tree.links, moving, external, strict=True)]

    def gather(
        link: Link, total: tuple[RigidInertia, Force], m: Moving
    ) -> tuple[tuple[RigidInertia, Force], tuple[RigidInertia, Force]]:
        inertia, force = total
        return total, (m.transform.rigid_to_parent(inertia), m.transform.force_to_parent(force))

    totals, _ = inward(tree, gather, own, moving)

    base, (inertia, force) = moving[0], totals[0]
    pulls = springs.pulls(tree, q)
    h0 = [s.dot(force) for s in base.subspace]
    if pulls[0] is not None:
        h0 = [h + p for h, p in zip(h0, pulls[0], strict=True)]
    pulled = tendons.pulls(tree, q)
    if pulled is not None:
        h0 = [h + p for h, p in zip(h0, pulled[:6], strict=True)]
    i0 = [[s.dot(inertia @ t) for t in base.subspace] for s in base.subspace]
    for k, extra in enumerate(tree.links[0].armature):
        i0[k][k] = i0[k][k] + extra
    a_base = ldl_solve(ldl(i0), [-h for h in h0])  # Shah eq. 7.13

    def follow(link: Link, parent: Motion, m: Moving) -> Motion:
        if link.index == 0:
            return combine(m.subspace, a_base)
        return m.transform.motion_to_child(parent)

    carried = outward(tree, follow, ZERO_MOTION, moving)
    per_body = []
    for link, m, (inertia, force), base_motion, a, pull in zip(
        tree.links, moving, totals, carried, accelerations, pulls, strict=True
    ):
        f = inertia @ base_motion + force  # Featherstone eq. 7.25
        per_body.append(felt_by_joint(link, m.subspace, f, a if link.index else None, pull))
    tau = collect(tree, per_body)[6:]
    return a_base, tau if pulled is None else [t + p for t, p in zip(tau, pulled[6:], strict=True)]
