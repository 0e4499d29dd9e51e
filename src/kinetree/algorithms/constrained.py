"""Dynamics of closed chains on top of the tree recursions, over any scalar.

The equations are those of the spanning tree plus the forces of the cut joints,

    M a + h = tau + K^T lambda,    K a = -drift        (000 eq. 8.1, 8.5; 002 eq. 9.17)

Here the choice of what depends on what is made beforehand: ``rows`` are constraints that
are independent of one another, ``dependent`` the freedoms that follow from the others.
Each function also returns a *quality* between 0 and 1: how well the choice serves at this
very configuration.  Near 0 another choice, or a rank-revealing method, is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.tree import Model
from ..spatial import Scalar, ldl, ldl_solve, sqrt, where
from . import composite_body, constraints, factorisation, newton_euler
from .kinematics import poses
from .passes import Scalars, present

Matrix = list[list[Scalar]]


class Residuals(NamedTuple):
    """Largest violation, squared and summed, of position, velocity and acceleration constraints."""

    gap: Scalar
    velocity: Scalar
    acceleration: Scalar


LEAST_QUALITY = 1e-8
"""Where the prepared choice of coordinates serves worse than this (a squared sine), the general method steps in."""

LEAST_QUALITY_SINGLE = 1e-3
"""As :data:`LEAST_QUALITY`, in single precision."""


def orthogonal_solve(columns: Sequence[Scalars], rhs: Scalars, size: float = 1.0) -> tuple[list[Scalar], Scalar]:
    """Solve a square system given by columns; and how far the columns are from being dependent.

    Columns shorter than ``size`` are compared with that, so that those made of rounding errors stand out.

    Gram-Schmidt on the columns and the right-hand side together, which is as stable as
    Householder's reflections (Bjorck 1967) and needs no pivoting.
    """
    n = len(columns)
    work = [list(c) for c in columns] + [list(rhs)]
    upper: Matrix = [[0.0] * (n + 1) for _ in range(n)]
    quality: Scalar = 1.0
    for j in range(n):
        left = inner(work[j], work[j])
        quality = _smaller(quality, _share(left, inner(columns[j], columns[j]), size * size))
        length = sqrt(left)
        upper[j][j] = length
        unit = [x / length for x in work[j]]
        for k in range(j + 1, n + 1):
            r = inner(unit, work[k])
            upper[j][k] = r
            work[k] = [w - r * u for w, u in zip(work[k], unit, strict=True)]
    x: list[Scalar] = [0.0] * n
    for j in reversed(range(n)):
        rest = upper[j][n]
        for k in range(j + 1, n):
            rest = rest - upper[j][k] * x[k]
        x[j] = rest / upper[j][j]
    return x, quality


def inner(a: Scalars, b: Scalars) -> Scalar:
    """Return the sum of products; exact zeros, of which loops leave many, are passed over."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if present(x) and present(y):
            total = total + x * y
    return total


def _divided(a: Scalars, b: Scalars) -> list[Scalar]:
    return [x / y if present(x) else 0.0 for x, y in zip(a, b, strict=True)]


def _smaller(a: Scalar, b: Scalar) -> Scalar:
    return where(b < a, b, a)


def _share(left: Scalar, whole: Scalar, least: float) -> Scalar:
    """Return what is left of a square, compared with ``least`` where that is larger."""
    return left / where(whole > least, whole, least)


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Any, loads: Any, rows: Sequence[int],
    dependent: Sequence[int],
) -> tuple[list[Scalar], list[Scalar], Scalar, Residuals]:  # fmt: skip
    """Return forces on the independent freedoms, multipliers of ``rows``, quality, and how consistent the motion is.

    Nothing drives the dependent freedoms: their rows of the tree's equations give the
    multipliers, K_d^T lambda = tau_d, and those the forces, tau_i - K_i^T lambda, which is
    G^T tau (004 eq. 10.40; 000 eq. 8.4 with the actuated rows solved last).
    """
    posed = poses(tree, q)
    tau, _ = newton_euler.inverse_dynamics(tree, q, v, a, gravity, loads)
    k_all = constraints.constraint_matrix(tree, q, posed)
    k = [k_all[r] for r in rows]
    columns = [[row[j] for j in dependent] for row in k]  # of K_d^T
    multipliers, quality = orthogonal_solve(columns, [tau[j] for j in dependent], constraints.usual_size(tree))
    forces: list[Scalar] = []
    for j in range(tree.nv):
        force = 0.0 if j in dependent else tau[j]
        if j not in dependent:
            for row, multiplier in zip(k, multipliers, strict=True):
                force = force - row[j] * multiplier
        forces.append(force)
    bias = constraints.drift(tree, q, v, posed)
    return forces, multipliers, quality, residuals(tree, q, v, a, k_all, bias)


def residuals(tree: Model, q: Scalars, v: Scalars, a: Scalars | None, k: Matrix, bias: Scalars) -> Residuals:
    """Return how far a state, or a motion, is from what the loops allow."""
    gaps = constraints.gaps(tree, q)
    speeds = [inner(row, v) for row in k]
    left = [] if a is None else [inner(row, a) + b for row, b in zip(k, bias, strict=True)]
    return Residuals(inner(gaps, gaps), inner(speeds, speeds), inner(left, left))


class ConstraintCoupling:
    """K M^-1 K^T of constraints K, factorised once, and how independent of one another they are.

    Parameters
    ----------
    tree : Model
    factors
        L and D of the mass matrix, M = L^T D L, see :func:`kinetree.algorithms.factorisation.ltdl`.
    k : rows of scalars
    size : float
        How long rows usually are; where it is given, rows much shorter, made of rounding errors, count as dependent.
    """

    def __init__(
        self, tree: Model, factors: tuple[Matrix, list[Scalar]], k: Sequence[Scalars], size: float = 0.0
    ) -> None:  # fmt: skip
        self.parents, self.factors, self.k = tree.dof_parents, factors, k
        half = [factorisation.half_solve(factors[0], self.parents, row) for row in k]
        weighted = [_divided(row, factors[1]) for row in half]
        matrix = [[inner(a, b) if j <= i else 0.0 for j, b in enumerate(half)] for i, a in enumerate(weighted)]
        self._coupled = ldl(matrix)
        self.quality: Scalar = least_share([row[i] for i, row in enumerate(matrix)], self._coupled[1])
        if size:
            for row in k:  # rows of rounding errors have pivots as good as any
                self.quality = _smaller(self.quality, inner(row, row) / size**2)
        self._freely: list[list[Scalar]] | None = None

    def open(self, tau: Scalars) -> list[Scalar]:
        """Compute M^-1 tau: accelerations with the loops open."""
        return factorisation.ltdl_solve(self.factors, self.parents, tau)

    def solve(self, sums: Scalars) -> list[Scalar]:
        """Find the multipliers that change K a by ``sums``."""
        return ldl_solve(self._coupled, sums)

    def back(self, off: Scalars) -> list[Scalar]:
        """Compute the least change, in energy, of velocities (or the like) that takes ``off`` away from K v."""
        if self._freely is None:
            self._freely = [self.open(row) for row in self.k]
        multipliers = self.solve(off)
        return [-inner(column, multipliers) for column in zip(*self._freely, strict=True)]


def least_share(diagonal: Scalars, pivots: Scalars) -> Scalar:
    """Return the least part of a row that is independent of those before it: 0 for dependent rows, 1 at best."""
    quality: Scalar = 1.0
    for here, pivot in zip(diagonal, pivots, strict=True):
        quality = _smaller(quality, pivot / where(here > 0.0, here, 1.0))
    return quality


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, rows: Sequence[int],
    stabilisation: tuple[float, float] = (0.0, 0.0),
) -> tuple[list[Scalar], list[Scalar], Scalar, Residuals]:  # fmt: skip
    """Return accelerations, multipliers of ``rows``, quality, and how consistent the state is.

    Multiplier elimination (000 eq. 8.6-8.7): with the branch-sparse factors M = L^T D L,
    (K M^-1 K^T) lambda = -(drift + K M^-1 (tau - h)) - 2 alpha K v - beta^2 gap, the last
    two being Baumgarte's stabilisation.  Loops that share no body leave zeros in
    K M^-1 K^T, and zeros cost nothing once traced.
    """
    posed = poses(tree, q)
    bias, _ = newton_euler.inverse_dynamics(tree, q, v, None, gravity, loads)
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), tree.dof_parents)
    k_all = constraints.constraint_matrix(tree, q, posed)
    drift_all = constraints.drift(tree, q, v, posed)
    k = [k_all[r] for r in rows]
    free = factorisation.ltdl_solve(factors, tree.dof_parents, [t - b for t, b in zip(tau, bias, strict=True)])
    coupling = ConstraintCoupling(tree, factors, k, constraints.usual_size(tree))
    target = [-(drift_all[r] + inner(row, free)) for r, row in zip(rows, k, strict=True)]
    alpha, beta = stabilisation
    if alpha or beta:
        gaps = constraints.gaps(tree, q)
        target = [
            t - 2.0 * alpha * inner(row, v) - beta * beta * gaps[r] for t, r, row in zip(target, rows, k, strict=True)
        ]
    multipliers = coupling.solve(target)
    push = [inner([row[j] for row in k], multipliers) for j in range(tree.nv)]
    total = [t - b + p for t, b, p in zip(tau, bias, push, strict=True)]
    acceleration = factorisation.ltdl_solve(factors, tree.dof_parents, total)
    return acceleration, multipliers, coupling.quality, residuals(tree, q, v, None, k_all, drift_all)
