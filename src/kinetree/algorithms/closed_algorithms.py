"""Algorithms of mechanisms with closed loops as the table runs them: options as keywords, one flat list of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..model.tree import Model
from ..spatial import Force, Scalar
from . import closed_derivatives, constrained_dynamics, independent_motion, loop_constraints, multi_handle, newton_euler
from .loop_clusters import Pivots


def residuals(tree: Model, q: Any, v: Any, a: Any) -> list[Scalar]:
    """Return the sums of squared residuals of the constraints on positions, velocities and accelerations."""
    k, drift = loop_constraints.constraint_matrix(tree, q), loop_constraints.drift(tree, q, v)
    return list(constrained_dynamics.residuals(tree, q, v, a, k, drift))


def inverse_dynamics(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, rows: Sequence[int], dependent: Sequence[int]
) -> list[Scalar]:
    """Return forces, multipliers, quality and the residuals of the constraints."""
    forces, multipliers, quality, left = constrained_dynamics.inverse_dynamics(
        tree, q, v, a, tree.gravity, loads, rows, dependent
    )
    return [*forces, *multipliers, quality, *left]


def forward_dynamics(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, rows: Sequence[int], stabilization: tuple[float, float]
) -> list[Scalar]:
    """Return accelerations, multipliers, quality and the residuals of the constraints."""
    found = constrained_dynamics.forward_dynamics(
        tree, q, v, tau, tree.gravity, loads, rows, stabilization=stabilization
    )  # fmt: skip
    k, drift = loop_constraints.constraint_matrix(tree, q), loop_constraints.drift(tree, q, v)
    left = constrained_dynamics.residuals(tree, q, v, None, k, drift)
    return [*found.a, *found.multipliers, found.quality, *left]


def forward_dynamics_by_handles(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, rows: Sequence[int], stabilization: tuple[float, float]
) -> list[Scalar]:
    """Return accelerations and constraint forces by articulated bodies with several handles."""
    a, multipliers, quality, left = multi_handle.closed_forward_dynamics(
        tree, q, v, tau, tree.gravity, loads, rows, stabilization
    )
    return [*a, *multipliers, quality, *left]


def forward_dynamics_by_clusters(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, pivots: Pivots
) -> list[Scalar]:
    """Return accelerations, quality and residuals, cluster by cluster of coupled loops."""
    a, quality, left = independent_motion.forward_dynamics(tree, q, v, tau, tree.gravity, loads, pivots)
    return [*a, quality, *left]


def inverse_dynamics_by_clusters(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Pivots, friction: bool
) -> list[Scalar]:
    """Return forces on the independent freedoms, quality and residuals, cluster by cluster of coupled loops."""
    motion = independent_motion.embed(tree, q, v, pivots)
    forces = independent_motion.inverse_dynamics(tree, q, v, a, tree.gravity, loads, motion, friction)
    return [*forces, motion.worth(tree), *constrained_dynamics.residuals(tree, q, v, a, motion.k, motion.drift)]


def velocities(tree: Model, q: Any, v: Any, *, pivots: Pivots) -> list[Scalar]:
    """Return all velocities from the independent ones among those given, quality and residuals."""
    found, quality, left = independent_motion.allowed(tree, q, v, None, pivots)
    return [*found, quality, *left]


def accelerations(tree: Model, q: Any, v: Any, a: Any, *, pivots: Pivots) -> list[Scalar]:
    """Return all accelerations from the independent ones among those given, quality and residuals."""
    found, quality, left = independent_motion.allowed(tree, q, v, a, pivots)
    return [*found, quality, *left]


def _at_rest(tree: Model, q: Any, pivots: Pivots, compute: Callable[..., Sequence[Scalar]]) -> list[Scalar]:
    """Return a function of the motions that loops allow at a configuration, with quality and residuals."""
    still = [0.0] * tree.nv
    motion = independent_motion.embed(tree, q, still, pivots)
    left = constrained_dynamics.residuals(tree, q, still, None, motion.k, motion.drift)
    return [*compute(motion), motion.worth(tree), *left]


def basis_entries(tree: Model, q: Any, *, pivots: Pivots) -> list[Scalar]:
    """Return the shares by which freedoms follow the independent ones of their cluster, quality and residuals."""
    places = independent_motion.pattern(tree, pivots)
    return _at_rest(tree, q, pivots, lambda motion: [motion.shares[j].get(i, 0.0) for j, i in places])


def checked_mass_matrix(tree: Model, q: Any, *, pivots: Pivots) -> list[Scalar]:
    """Return G^T M G by rows, quality and residuals."""
    compute = partial(independent_motion.mass_matrix, tree, q)
    return _at_rest(tree, q, pivots, lambda motion: [x for row in compute(motion) for x in row])


def momentum(tree: Model, q: Any, v: Any, *, pivots: Pivots) -> list[Scalar]:
    """Return G^T M v, quality and residuals."""
    still, weightless = [0.0] * tree.nv, (0.0, 0.0, 0.0)
    momenta, _ = newton_euler.inverse_dynamics(tree, q, still, v, weightless, springs=False)
    return _at_rest(tree, q, pivots, lambda motion: motion.along(momenta))


def loop_forces(tree: Model, q: Any, v: Any, a: Any, tau: Any, loads: Any = None, *, pivots: Pivots) -> list[Scalar]:
    """Return multipliers, forces of loop joints (in own and world axes) and of all joints, quality and residuals."""
    motion = independent_motion.embed(tree, q, v, pivots)
    multipliers, *several = independent_motion.loop_forces(tree, q, v, a, tau, tree.gravity, loads, motion)
    forces = [x for some in several for force in some for x in force]
    return [
        *multipliers,
        *forces,
        motion.worth(tree),
        *constrained_dynamics.residuals(tree, q, v, a, motion.k, motion.drift),
    ]


def hybrid_dynamics(
    tree: Model, q: Any, v: Any, given: Any, loads: Any = None, *, pivots: Pivots, known_freedoms: Sequence[int]
) -> list[Scalar]:
    """Return accelerations, forces, quality and residuals where some freedoms have given motions."""
    motion = independent_motion.embed(tree, q, v, pivots)
    a, tau = independent_motion.hybrid_dynamics(tree, q, v, given, loads, motion, known_freedoms)
    left = constrained_dynamics.residuals(tree, q, v, None, motion.k, motion.drift)
    return [*a, *tau, motion.quality, *left]


def forward_dynamics_by_independent(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, rows: Sequence[int], pivots: Pivots
) -> list[Scalar]:
    """Return what :func:`forward_dynamics` does, using only the inertia of the independent freedoms.

    Joints that only the loops hold may then move no inertia at all, as happens after regrouping.
    """
    motion = independent_motion.embed(tree, q, v, pivots)
    a = independent_motion.accelerations(tree, q, v, tau, tree.gravity, loads, motion)
    force, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
    multipliers = motion.multipliers([f - t for f, t in zip(force, tau, strict=True)])
    left = constrained_dynamics.residuals(tree, q, v, None, motion.k, motion.drift)
    return [*a, *(multipliers[r] for r in rows), motion.quality, *left]


def independent_forward_dynamics(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, pivots: Pivots
) -> list[Scalar]:
    """Return only accelerations, without quality and residuals, which have no use with symbols."""
    motion = independent_motion.embed(tree, q, v, pivots)
    return independent_motion.accelerations(tree, q, v, tau, tree.gravity, loads, motion)


def independent_inverse_dynamics(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Pivots
) -> list[Scalar]:
    """Return only the forces on the independent freedoms."""
    motion = independent_motion.embed(tree, q, v, pivots)
    return independent_motion.inverse_dynamics(tree, q, v, a, tree.gravity, loads, motion)


def independent_hybrid_dynamics(
    tree: Model, q: Any, v: Any, given: Any, loads: Any = None, *, pivots: Pivots, known_freedoms: Sequence[int]
) -> list[list[Scalar]]:
    """Return only accelerations and forces where some freedoms have given motions."""
    motion = independent_motion.embed(tree, q, v, pivots)
    return list(independent_motion.hybrid_dynamics(tree, q, v, given, loads, motion, known_freedoms))


def multipliers(tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, pivots: Pivots) -> list[Scalar]:
    """Return the loads of all constraints under joint forces, the smallest ones if some are redundant."""
    motion = independent_motion.embed(tree, q, v, pivots)
    a = independent_motion.accelerations(tree, q, v, tau, tree.gravity, loads, motion)
    return independent_motion.multipliers(tree, q, v, a, tau, tree.gravity, loads, motion)


def joint_wrenches(tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Pivots) -> Sequence[Force]:
    """Return what each joint of the tree transmits to its body while motors act on independent freedoms only."""
    motion = independent_motion.embed(tree, q, v, pivots)
    return independent_motion.loop_forces(tree, q, v, a, [0.0] * tree.nv, tree.gravity, loads, motion).joints


def basis(tree: Model, q: Any, *, pivots: Pivots) -> list[list[Scalar]]:
    """Return G of v = G v_independent."""
    return independent_motion.embed(tree, q, [0.0] * tree.nv, pivots).basis


def reduced_mass_matrix(tree: Model, q: Any, *, pivots: Pivots) -> list[list[Scalar]]:
    """Return G^T M G."""
    return independent_motion.mass_matrix(tree, q, independent_motion.embed(tree, q, [0.0] * tree.nv, pivots))


def reduced_inverse_dynamics(tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Pivots) -> list[Scalar]:
    """Return the forces on the independent freedoms, G^T (M a + h)."""
    whole, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
    return independent_motion.embed(tree, q, v, pivots).along(whole)


def reduced_bias_force(tree: Model, q: Any, v: Any, loads: Any = None, *, pivots: Pivots) -> list[Scalar]:
    """Return the forces on the independent freedoms when these do not accelerate, G^T (M g + h)."""
    motion = independent_motion.embed(tree, q, v, pivots)
    alone = motion.acceleration([0.0] * len(motion.free))
    return motion.along(newton_euler.inverse_dynamics(tree, q, v, alone, tree.gravity, loads)[0])


def _flat_derivatives(
    compute: Callable[..., Any], tree: Model, vectors: Sequence[Any], loads: Any, pivots: Any, friction: bool
) -> list[Scalar]:
    *matrices, quality, left = compute(tree, *vectors, tree.gravity, loads, pivots, friction)
    return [*(x for matrix in matrices for column in matrix for x in column), quality, *left]


def inverse_dynamics_derivatives(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Pivots, friction: bool
) -> list[Scalar]:
    """Return the derivatives of inverse dynamics along the motions that loops allow."""
    compute = closed_derivatives.inverse_dynamics_derivatives
    return _flat_derivatives(compute, tree, (q, v, a), loads, pivots, friction)


def forward_dynamics_derivatives(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, pivots: Pivots, friction: bool
) -> list[Scalar]:
    """Return the derivatives of forward dynamics along the motions that loops allow."""
    compute = closed_derivatives.forward_dynamics_derivatives
    return _flat_derivatives(compute, tree, (q, v, tau), loads, pivots, friction)


def force_slopes(
    tree: Model, q: Any, v: Any, a: Any, tau: Any, loads: Any = None, *, pivots: Pivots, friction: bool
) -> list[Scalar]:
    """Return the derivatives of the equations of motion along the motions that loops allow."""
    return _flat_derivatives(closed_derivatives.force_slopes, tree, (q, v, a, tau), loads, pivots, friction)


def basis_slopes(tree: Model, q: Any, *, pivots: Pivots) -> list[Any]:
    """Return how the motions that loops allow change with the configuration."""
    return closed_derivatives.basis_slopes(tree, q, pivots)
