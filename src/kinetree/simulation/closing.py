"""Keeping loops closed while stepping, over any scalar.

A step leaves a mechanism open by its error.  One Newton step back, along the motion that
the constraint forces would cause, closes it again to the square of that error:

    q <- q - M^-1 K^T (K M^-1 K^T)^-1 gap,      v <- v - M^-1 K^T (K M^-1 K^T)^-1 K v,

with K the rows of the constraint matrix that are independent of one another.  The second
line is the nearest velocity, in energy, that the loops allow.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algorithms import composite_body, factorisation, kinematics, loop_closure
from ..model.tree import Model
from ..spatial import Scalar, ldl, ldl_solve

Scalars = Sequence[Scalar]


def close(tree: Model, q: Scalars, v: Scalars, rows: Sequence[int]) -> tuple[list[Scalar], list[Scalar]]:
    """The state brought back to where the loops are closed."""
    parents = tree.dof_parents
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), parents)
    matrix, gaps = loop_closure.constraint_matrix(tree, q), loop_closure.gaps(tree, q)
    k = [matrix[r] for r in rows]
    yielding = [factorisation.ltdl_solve(factors, parents, row) for row in k]
    coupling = ldl([[_dot(a, y) for y in yielding] for a in k])

    def back(off: Scalars) -> list[Scalar]:
        multipliers = ldl_solve(coupling, off)
        return [-_dot(column, multipliers) for column in zip(*yielding, strict=True)]

    closed = kinematics.integrate(tree, q, back([gaps[r] for r in rows]))
    slower = back([_dot(row, v) for row in k])
    return closed, [a + b for a, b in zip(v, slower, strict=True)]


def _dot(a: Scalars, b: Scalars) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
