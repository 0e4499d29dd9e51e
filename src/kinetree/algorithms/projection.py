"""Keeping loops closed while stepping, over any scalar.

A step leaves a mechanism open by its error.  Newton steps back, along the shortest way, close it again:

    q <- q - K^T (K K^T)^-1 gap,      v <- v - K^T (K K^T)^-1 K v,

with K the rows of the constraint matrix that are independent of one another.  Loops that share no joint leave zeros
in K K^T, which cost nothing once traced: each cluster of loops is closed by itself.  The K that velocities are
multiplied by is that of the closed configuration, for beside it constraints point elsewhere.  All other factors are
made once: with those of the open configuration each step still leaves only as large a part of the error as the error
itself is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ..model.tree import Model
from ..spatial import Scalar, dot, ldl, ldl_solve, where
from . import composite_body, constraints, factorisation, kinematics, loop_clusters, newton_euler
from .constrained import LEAST_QUALITY, ConstraintCoupling, inner, least_share
from .passes import Scalars

Row = TypeVar("Row")

WEIGHTLESS = (0.0, 0.0, 0.0)

ROUNDS = 2

ROUNDS_TO_PROJECT = 3
"""Newton steps with the same factors: each leaves only as large a part of the gap as the first one was large."""


class ShortestWay:
    """The least change, in radians and metres, that takes something away from ``K x``, with factors made once."""

    def __init__(self, k: Sequence[Scalars]) -> None:
        self.k = k
        below = [[inner(row, other) for other in k[: i + 1]] for i, row in enumerate(k)]
        squares = [[below[max(i, j)][min(i, j)] for j in range(len(k))] for i in range(len(k))]
        self.lengths = [row[i] for i, row in enumerate(squares)]
        self._factors = ldl(squares)

    def back(self, off: Scalars) -> list[Scalar]:
        """Return the shortest ``x`` with ``K x = -off``."""
        multipliers = ldl_solve(self._factors, off)
        return [-inner(column, multipliers) for column in zip(*self.k, strict=True)]

    def quality(self, size: float) -> Scalar:
        """Return how independent the rows are, between 0 and 1; ``size`` is how long they usually are."""
        least = size * size
        return least_share([where(x > least, x, least) for x in self.lengths], self._factors[1])


def close(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int], rounds: int = ROUNDS
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Bring a state back to where the loops are closed; also return the square of the gap before the last step back.

    Long steps of low order leave larger gaps, and take more ``rounds``.
    """
    way = ShortestWay(_rows(constraints.constraint_matrix(tree, q), rows))
    nearer, slower, off = list(q), list(v), list[Scalar]()
    k = way.k
    for _ in range(rounds):
        k = _rows(constraints.constraint_matrix(tree, nearer), rows)
        off = _rows(constraints.gaps(tree, nearer), rows)
        nearer = kinematics.integrate(tree, nearer, way.back(off))
    for _ in range(rounds):
        slower = [a + b for a, b in zip(slower, way.back([inner(row, slower) for row in k]), strict=True)]
    return nearer, slower, dot(off, off)


def project(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int], pivots: loop_clusters.Pivots = ()
) -> tuple[list[Scalar], list[Scalar], Scalar, Scalar]:
    """Close a state that is nearly closed as :meth:`kinetree.Mechanism.project` does.

    The nearest configuration, in radians and metres, and there the nearest velocity, in energy; that is found by
    clusters of loops where ``pivots`` are given.

    Returns
    -------
    q, v
        Closed.
    left
        The square of the gap before the last step.
    quality
        How well the choice of ``rows`` and of ``pivots`` serves: one is just enough.
    """
    way = ShortestWay(_rows(constraints.constraint_matrix(tree, q), rows))
    quality = way.quality(constraints.usual_size(tree)) / LEAST_QUALITY
    nearer, off = list(q), list[Scalar]()
    for _ in range(ROUNDS_TO_PROJECT):
        off = _rows(constraints.gaps(tree, nearer), rows)
        nearer = kinematics.integrate(tree, nearer, way.back(off))
    slower, own = _nearest_by_clusters(tree, nearer, v, pivots) if pivots else _nearest(tree, nearer, v, rows)
    return nearer, slower, dot(off, off), where(own < quality, own, quality)


def _nearest(tree: Model, q: Scalars, v: Scalars, rows: Sequence[int]) -> tuple[list[Scalar], Scalar]:
    """Return v - M^-1 K^T (K M^-1 K^T)^-1 K v, and how well the choice of rows serves."""
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), tree.dof_parents)
    coupling = ConstraintCoupling(tree, factors, _rows(constraints.constraint_matrix(tree, q), rows))
    slower = list(v)
    for _ in range(ROUNDS):
        off = [dot(row, slower) for row in coupling.k]
        slower = [a + b for a, b in zip(slower, coupling.back(off), strict=True)]
    return slower, coupling.quality / LEAST_QUALITY


def _nearest_by_clusters(
    tree: Model, q: Scalars, v: Scalars, pivots: loop_clusters.Pivots
) -> tuple[list[Scalar], Scalar]:
    """Return the same: what a blow M v gives the mechanism at rest, G (G^T M G)^-1 G^T M v, by its own dynamics."""
    still = [0.0] * tree.nv
    blow, _ = newton_euler.inverse_dynamics(tree, q, still, v, WEIGHTLESS, None)
    slower, quality, _ = loop_clusters.forward_dynamics(tree, q, still, blow, WEIGHTLESS, None, pivots)
    return slower, quality / loop_clusters.LEAST_QUALITY


def _rows(of: Sequence[Row], chosen: Sequence[int]) -> list[Row]:
    return [of[r] for r in chosen]
