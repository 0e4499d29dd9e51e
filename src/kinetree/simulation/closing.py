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

from ..algorithms import composite_body, factorisation, kinematics, loop_closure
from ..model.tree import Model
from ..spatial import Scalar, ldl, ldl_solve

Scalars = Sequence[Scalar]
Row = TypeVar("Row")


UNCLOSED = 1e-9
"""Loops that are open by more than this, in metres or radians, before the last step back are not closed by it."""

ROUNDS = 2


def close(tree: Model, q: Scalars, v: Scalars, rows: Sequence[int]) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """The state brought back to where the loops are closed, and the square of the gap before the last step back."""
    parents = tree.dof_parents
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), parents)
    k = _rows(loop_closure.constraint_matrix(tree, q), rows)
    yielding = [factorisation.ltdl_solve(factors, parents, row) for row in k]
    coupling = ldl([[_dot(a, y) for y in yielding] for a in k])

    def back(off: Scalars) -> list[Scalar]:
        multipliers = ldl_solve(coupling, off)
        return [-_dot(column, multipliers) for column in zip(*yielding, strict=True)]

    nearer, slower, off = list(q), list(v), list[Scalar]()
    for _ in range(ROUNDS):
        k = _rows(loop_closure.constraint_matrix(tree, nearer), rows)
        off = _rows(loop_closure.gaps(tree, nearer), rows)
        nearer = kinematics.integrate(tree, nearer, back(off))
    for _ in range(ROUNDS):
        slower = [a + b for a, b in zip(slower, back([_dot(row, slower) for row in k]), strict=True)]
    return nearer, slower, _dot(off, off)


def _rows(of: Sequence[Row], chosen: Sequence[int]) -> list[Row]:
    return [of[r] for r in chosen]


def _dot(a: Scalars, b: Scalars) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
