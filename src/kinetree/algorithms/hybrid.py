"""Hybrid dynamics: some joints are given accelerations, the others forces (Featherstone section 7.5, eq. 7.36-7.38).

A joint with known acceleration does not yield: its articulated body is passed on as a whole, and its force is computed
once the motion is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..model.tree import Joint, Link, Model
from ..spatial import ZERO_MOTION, ArticulatedInertia, Force, Motion, Scalar, combine, combine_forces, ldl, ldl_solve
from . import springs, tendons
from .articulated_body import at_own_inertia, eliminate, freed, times
from .composite_body import mass_matrix
from .newton_euler import Moving, Wrenches, base_at_rest, inverse_dynamics, move
from .passes import Scalars, collect, each, inward, nothing, outward, part, positions, rates


def hybrid_dynamics(
    tree: Model, q: Scalars, v: Scalars, given: Scalars, known: Sequence[bool], gravity: Scalars, wrenches: Wrenches |
    None = None,
) -> tuple[list[Scalar], list[Scalar]]:  # fmt: skip
    """Return accelerations and forces of all joints.

    ``known[i]`` is True if joint i's entries of ``given`` are accelerations, False if they are forces.
    """
    pulled = tendons.pulls(tree, q)
    if pulled is not None:
        return _beside_tendons(tree, q, v, given, known, gravity, wrenches, pulled)
    shares = rates(tree, given)
    accelerations = each(tree, lambda link, x: x if known[link.index] else None, shares)
    moving = outward(tree, move, base_at_rest(gravity), positions(tree, q), rates(tree, v), accelerations)
    own = each(tree, at_own_inertia, moving, wrenches or nothing(tree))

    def give_way(
        link: Link, total: tuple[ArticulatedInertia, Force], m: Moving, x: Scalars, a: Any, pull: Any
    ) -> tuple[Any, Any]:
        inertia, force = total
        if a is not None:
            up = m.transform.articulated_to_parent(inertia), m.transform.force_to_parent(force)
            return (inertia, force, None, x), up
        pivot = eliminate(inertia, m.subspace, link.armature)
        excess = [t - s.dot(force) for s, t in zip(m.subspace, x, strict=True)]
        if pull is not None:
            excess = [e - p for e, p in zip(excess, pull, strict=True)]
        handed = force + combine_forces(pivot.psi, excess)
        up = m.transform.articulated_to_parent(freed(inertia, pivot)), m.transform.force_to_parent(handed)
        return (inertia, force, pivot, excess), up

    def accelerate(
        link: Link, parent: Any, m: Moving, solved: Any, x: Scalars, pull: Any
    ) -> tuple[Motion, list[Scalar], list[Scalar]]:
        inertia, force, pivot, excess = solved
        mu = m.transform.motion_to_child(parent[0])
        if pivot is None:
            f = inertia @ mu + force
            tau = [s.dot(f) + extra * a for s, extra, a in zip(m.subspace, link.armature, x, strict=True)]
            if pull is not None:
                tau = [t + p for t, p in zip(tau, pull, strict=True)]
            return mu, list(x), tau
        a = [b - mu.dot(psi) for b, psi in zip(times(pivot.d_inverse, excess), pivot.psi, strict=True)]
        return mu + combine(m.subspace, a), a, list(x)

    pulls = springs.pulls(tree, q)
    solved, _ = inward(tree, give_way, own, moving, shares, accelerations, pulls)
    reached = outward(tree, accelerate, (ZERO_MOTION, [], []), moving, solved, shares, pulls)
    return collect(tree, part(reached, 1)), collect(tree, part(reached, 2))


def _beside_tendons(
    tree: Model, q: Scalars, v: Scalars, given: Scalars, known: Sequence[bool], gravity: Scalars,
    wrenches: Wrenches | None, pulled: Scalars,
) -> tuple[list[Scalar], list[Scalar]]:  # fmt: skip
    """Solve with tendons, whose pull the joint forces must also hold."""
    moved = {k for j, is_known in zip(tree.joints, known, strict=True) if is_known for k in _freedoms(j)}
    less = [x if k in moved else x - p for k, (x, p) in enumerate(zip(given, pulled, strict=True))]
    a, tau = hybrid_dynamics(replace(tree, tendons=()), q, v, less, known, gravity, wrenches)
    return a, [t + p for t, p in zip(tau, pulled, strict=True)]


def _freedoms(joint: Joint) -> range:
    return joint.freedoms


def by_partition(
    tree: Model, q: Scalars, v: Scalars, given: Scalars, known: Sequence[bool], gravity: Scalars, wrenches: Wrenches |
    None = None,
) -> tuple[list[Scalar], list[Scalar]]:  # fmt: skip
    """Solve by splitting the mass matrix (Featherstone eq. 7.32-7.34); also for joints that mimic others."""
    fixed = [False] * tree.nv
    for joint, is_known in zip(tree.joints, known, strict=True):
        for k in joint.freedoms:
            fixed[k] = is_known
    unknown = [k for k in range(tree.nv) if not fixed[k]]
    a = [x if f else 0.0 for x, f in zip(given, fixed, strict=True)]
    if unknown:
        bias, _ = inverse_dynamics(tree, q, v, a, gravity, wrenches)
        h = mass_matrix(tree, q)
        block = [[h[i][j] for j in unknown] for i in unknown]
        for k, x in zip(unknown, ldl_solve(ldl(block), [given[k] - bias[k] for k in unknown]), strict=True):
            a[k] = x
    tau, _ = inverse_dynamics(tree, q, v, a, gravity, wrenches)
    return a, [t if f else x for t, x, f in zip(tau, given, fixed, strict=True)]
