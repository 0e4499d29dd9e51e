"""Algorithms of mechanisms with closed loops as the table runs them: options as keywords, one flat list of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..model.tree import Model
from ..spatial import Scalar
from . import (
    closed_derivatives,
    constrained,
    constraints,
    independent_motion,
    loop_clusters,
    multi_handle,
    newton_euler,
)


def inverse_dynamics(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, rows: Sequence[int], dependent: Sequence[int]
) -> list[Scalar]:
    """Return forces, multipliers, quality and what is left of the constraints."""
    forces, multipliers, quality, left = constrained.inverse_dynamics(
        tree, q, v, a, tree.gravity, loads, rows, dependent
    )
    return [*forces, *multipliers, quality, *left]


def forward_dynamics(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, rows: Sequence[int], stabilization: tuple[float, float]
) -> list[Scalar]:
    """Return accelerations, multipliers, quality and what is left of the constraints."""
    found = constrained.forward_dynamics(
        tree, q, v, tau, tree.gravity, loads, rows, stabilization=stabilization
    )  # fmt: skip
    k, drift = constraints.constraint_matrix(tree, q), constraints.drift(tree, q, v)
    left = constrained.residuals(tree, q, v, None, k, drift)
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
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]]
) -> list[Scalar]:
    """Return accelerations, quality and what is left, cluster by cluster of coupled loops."""
    a, quality, left = loop_clusters.forward_dynamics(tree, q, v, tau, tree.gravity, loads, pivots)
    return [*a, quality, *left]


def inverse_dynamics_by_clusters(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]]
) -> list[Scalar]:
    """Return forces on the independent freedoms, quality and what is left, cluster by cluster of coupled loops."""
    forces, quality, left = loop_clusters.inverse_dynamics(tree, q, v, a, tree.gravity, loads, pivots)
    return [*forces, quality, *left]


def hybrid_dynamics(
    tree: Model, q: Any, v: Any, given: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]],
    known_freedoms: Sequence[int],
) -> list[Scalar]:  # fmt: skip
    """Return accelerations, forces, quality and what is left where some freedoms are driven by motion."""
    motion = independent_motion.embed(tree, q, v, pivots)
    a, tau = independent_motion.hybrid_dynamics(tree, q, v, given, loads, motion, known_freedoms)
    left = constrained.residuals(tree, q, v, None, motion.k, motion.drift)
    return [*a, *tau, motion.quality, *left]


def forward_dynamics_by_independent(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, rows: Sequence[int], pivots: Sequence[tuple[int, int]]
) -> list[Scalar]:
    """Do what :func:`forward_dynamics` does by the inertia of the independent freedoms alone.

    So joints that only the loops hold may move nothing that has inertia, as after a regrouping.
    """
    motion = independent_motion.embed(tree, q, v, pivots)
    a, _ = independent_motion.hybrid_dynamics(tree, q, v, tau, loads, motion, ())
    force, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
    multipliers = motion.multipliers([f - t for f, t in zip(force, tau, strict=True)])
    left = constrained.residuals(tree, q, v, None, motion.k, motion.drift)
    return [*a, *(multipliers[r] for r in rows), motion.quality, *left]


def independent_forward_dynamics(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]]
) -> list[Scalar]:
    """Return accelerations and nothing else: no quality, no residuals, which symbols have no use for."""
    return independent_motion.forward_dynamics(tree, q, v, tau, loads, pivots)


def independent_inverse_dynamics(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]]
) -> list[Scalar]:
    """Return forces on the independent freedoms and nothing else."""
    return independent_motion.inverse_dynamics(tree, q, v, a, loads, pivots)


def _flat_derivatives(
    compute: Callable[..., Any], tree: Model, vectors: Sequence[Any], loads: Any, pivots: Any, friction: bool
) -> list[Scalar]:
    *matrices, quality, left = compute(tree, *vectors, tree.gravity, loads, pivots, friction)
    return [*(x for matrix in matrices for column in matrix for x in column), quality, *left]


def inverse_dynamics_derivatives(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]], friction: bool
) -> list[Scalar]:
    """Return slopes of inverse dynamics along the motions that loops allow."""
    compute = closed_derivatives.inverse_dynamics_derivatives
    return _flat_derivatives(compute, tree, (q, v, a), loads, pivots, friction)


def forward_dynamics_derivatives(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]], friction: bool
) -> list[Scalar]:
    """Return slopes of forward dynamics along the motions that loops allow."""
    compute = closed_derivatives.forward_dynamics_derivatives
    return _flat_derivatives(compute, tree, (q, v, tau), loads, pivots, friction)


def force_slopes(
    tree: Model, q: Any, v: Any, a: Any, tau: Any, loads: Any = None, *, pivots: Sequence[tuple[int, int]],
    friction: bool,
) -> list[Scalar]:  # fmt: skip
    """Return slopes of the equations of motion along the motions that loops allow."""
    return _flat_derivatives(closed_derivatives.force_slopes, tree, (q, v, a, tau), loads, pivots, friction)


def basis_slopes(tree: Model, q: Any, *, pivots: Sequence[tuple[int, int]]) -> list[Any]:
    """Return how the motions that loops allow change."""
    return closed_derivatives.basis_slopes(tree, q, pivots)
