"""Keeping loops closed while stepping, over any scalar.

A step leaves a mechanism open by its error.  Newton steps back, along the motion that the
constraint forces would cause, close it again:

    q <- q - M^-1 K^T (K M^-1 K^T)^-1 gap,      v <- v - M^-1 K^T (K M^-1 K^T)^-1 K v,

with K the rows of the constraint matrix that are independent of one another.  The second
line is the nearest velocity, in energy, that the loops allow; the K that it is multiplied
by is that of the closed configuration, for beside it constraints point elsewhere.  All other
factors are made once: with those of the open configuration each step still leaves only
as large a part of the error as the error itself is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ..model.tree import Model
from ..spatial import Scalar, dot, ldl, ldl_solve, where
from . import composite_body, constraints, factorisation, kinematics
from .constrained import ConstraintCoupling, least_share
from .passes import Scalars

Row = TypeVar("Row")

ROUNDS = 2

ROUNDS_TO_PROJECT = 3
"""Newton steps with the same factors: each leaves only as large a part of the gap as the first one was large."""


def close(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int], rounds: int = ROUNDS
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Bring a state back to where the loops are closed; also return the square of the gap before the last step back.

    Long steps of low order leave larger gaps, and take more ``rounds``.
    """
    coupling = _coupling(tree, q, rows)
    nearer, slower, off = list(q), list(v), list[Scalar]()
    k = coupling.k
    for _ in range(rounds):
        k = _rows(constraints.constraint_matrix(tree, nearer), rows)
        off = _rows(constraints.gaps(tree, nearer), rows)
        nearer = kinematics.integrate(tree, nearer, coupling.back(off))
    for _ in range(ROUNDS):
        slower = [a + b for a, b in zip(slower, coupling.back([dot(row, slower) for row in k]), strict=True)]
    return nearer, slower, dot(off, off)


def project(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int]
) -> tuple[list[Scalar], list[Scalar], Scalar, Scalar]:
    """Close a state that is nearly closed as :meth:`kinetree.Mechanism.project` does.

    The nearest configuration, in radians and metres, and there the nearest velocity, in energy.

    Returns
    -------
    q, v
        Closed.
    left
        The square of the gap before the last step.
    quality
        Of the choice of ``rows``, between 0 and 1.
    """
    k = _rows(constraints.constraint_matrix(tree, q), rows)
    least = constraints.usual_size(tree) ** 2
    squares = [[dot(a, b) for b in k] for a in k]
    across = ldl(squares)
    lengths = [row[i] for i, row in enumerate(squares)]
    quality = least_share([where(x > least, x, least) for x in lengths], across[1])
    nearer, off = list(q), list[Scalar]()
    for _ in range(ROUNDS_TO_PROJECT):
        off = _rows(constraints.gaps(tree, nearer), rows)
        multipliers = ldl_solve(across, off)
        nearer = kinematics.integrate(tree, nearer, [-dot(column, multipliers) for column in zip(*k, strict=True)])
    coupling, slower = _coupling(tree, nearer, rows), list(v)
    for _ in range(ROUNDS):
        off_speed = [dot(row, slower) for row in coupling.k]
        slower = [a + b for a, b in zip(slower, coupling.back(off_speed), strict=True)]
    return nearer, slower, dot(off, off), where(coupling.quality < quality, coupling.quality, quality)


def _coupling(tree: Model, q: Scalars, rows: Sequence[int]) -> ConstraintCoupling:
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), tree.dof_parents)
    return ConstraintCoupling(tree, factors, _rows(constraints.constraint_matrix(tree, q), rows))


def _rows(of: Sequence[Row], chosen: Sequence[int]) -> list[Row]:
    return [of[r] for r in chosen]
