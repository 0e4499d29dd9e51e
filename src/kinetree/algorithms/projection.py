"""The nearest state that constraints allow, over any scalar.

The error of an integration step leaves a mechanism slightly open. Newton steps along the shortest path close it again,

    q <- q - W K^T (K W K^T)^-1 gap,      v <- v - W K^T (K W K^T)^-1 (K v - s'),

where K contains the independent rows of the constraint matrix, and s' the rates of driven constraints. Corrections of
configurations are the shortest in radians and meters (W = 1); those of velocities are either the shortest or those of
least energy (W = M^-1).  Loops that share no joint leave zeros in K W K^T, which cost nothing once traced: each cluster
of loops is closed separately. The factors are computed once: even with those of the open configuration, each step
leaves only a fraction of the error, and this fraction is proportional to the error itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model.tree import Model
from ..spatial import Scalar, where
from . import constrained_dynamics, independent_motion, kinematics, loop_clusters, loop_constraints, newton_euler
from .constrained_dynamics import LEAST_QUALITY, UNDRIVEN, EnergyWay, ShortestWay, Targets, inner
from .passes import Scalars

WEIGHTLESS = (0.0, 0.0, 0.0)

ROUNDS = 2
"""Number of corrections of velocities. The equations are linear, so the second only removes rounding errors."""

ROUNDS_TO_PROJECT = 3
"""Number of Newton steps of configurations with the same factors."""


class Projected(NamedTuple):
    """A state that constraints allow."""

    q: list[Scalar]
    v: list[Scalar]
    left: Scalar
    """The square of the gap before the last correction."""
    quality: Scalar
    """How well the choice of rows and of pivots worked; one is just good enough."""


def project(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int], targets: Targets = UNDRIVEN, *,
    pivots: loop_clusters.Pivots = (), rounds: int = ROUNDS_TO_PROJECT,
) -> Projected:  # fmt: skip
    """Return the nearest closed configuration, and the nearest velocity there, in energy, of a nearly closed state.

    :meth:`kinetree.Mechanism.project` uses this function. If ``pivots`` are given, velocities are found cluster by
    cluster.
    """
    way = ShortestWay(constrained_dynamics.matrix(tree, q, rows, targets))
    quality = way.quality(loop_constraints.usual_size(tree) ** 2) / LEAST_QUALITY
    nearer, left, _ = _nearer(tree, q, rows, targets, way, rounds)
    if pivots:
        slower, own = _slower_by_clusters(tree, nearer, v, pivots)
    else:
        back = EnergyWay(tree, nearer, constrained_dynamics.matrix(tree, nearer, rows, targets))
        slower = _slower(back, back.k, v, rows, targets, ROUNDS)
        own = back.quality() / LEAST_QUALITY
    return Projected(nearer, slower, left, where(own < quality, own, quality))


def close(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int], rounds: int = ROUNDS
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Return a state brought back to closed loops, as cheaply as every step can afford; also return ``left``.

    Corrections of velocities are also the shortest, computed with the factors of the configurations. Long steps of low
    order leave larger gaps and take more ``rounds``.
    """
    way = ShortestWay(constrained_dynamics.matrix(tree, q, rows))
    nearer, left, k = _nearer(tree, q, rows, UNDRIVEN, way, rounds)
    return nearer, _slower(way, k, v, rows, UNDRIVEN, rounds), left


def _nearer(
    tree: Model, q: Scalars, rows: Sequence[int], targets: Targets, way: ShortestWay, rounds: int
) -> tuple[list[Scalar], Scalar, Sequence[Scalars]]:
    """Return a closed configuration, the square of the gap before the last step, and K there."""
    nearer, off, k = list(q), list[Scalar](), way.k
    for _ in range(rounds):
        k = constrained_dynamics.matrix(tree, nearer, rows, targets)
        off = constrained_dynamics.gaps(tree, nearer, rows, targets)
        nearer = kinematics.integrate(tree, nearer, way.back(off))
    return nearer, inner(off, off), k


def _slower(
    way: ShortestWay, k: Sequence[Scalars], v: Scalars, rows: Sequence[int], targets: Targets, rounds: int
) -> list[Scalar]:
    """Return the velocity without the part that ``k`` does not allow, corrected along the rows of ``way``."""
    slower = list(v)
    for _ in range(rounds):
        back = way.back(constrained_dynamics.slips(k, slower, rows, targets))
        slower = [a + b for a, b in zip(slower, back, strict=True)]
    return slower


def _slower_by_clusters(
    tree: Model, q: Scalars, v: Scalars, pivots: loop_clusters.Pivots
) -> tuple[list[Scalar], Scalar]:
    """Return the velocity that an impulse M v gives the mechanism at rest, G (G^T M G)^-1 G^T M v."""
    still = [0.0] * tree.nv
    blow, _ = newton_euler.inverse_dynamics(tree, q, still, v, WEIGHTLESS, None)
    slower, quality, _ = independent_motion.forward_dynamics(tree, q, still, blow, WEIGHTLESS, None, pivots)
    return slower, quality / loop_clusters.LEAST_QUALITY_OF_CLUSTERS
