"""Factors of the mass matrix that keep the zeros of branches, and solving with them.

``parents[k]`` is the nearest degree of freedom that carries k, -1 for none
(:attr:`kinetree.model.tree.Model.dof_parents`); entries outside a dof's own path to the
base are zero in the matrix and stay zero in the factors.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..spatial import Scalar, sqrt

Matrix = list[list[Scalar]]


def ltdl(matrix: Sequence[Sequence[Scalar]], parents: Sequence[int]) -> tuple[Matrix, list[Scalar]]:
    """``M = L^T D L`` with L unit lower triangular: eliminate from the tips, touching only carriers."""
    n = len(matrix)
    h = [list(row) for row in matrix]
    lower: Matrix = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for k in reversed(range(n)):
        i = parents[k]
        while i >= 0:
            factor = h[k][i] / h[k][k]
            j = i
            while j >= 0:
                h[i][j] = h[i][j] - factor * h[k][j]
                j = parents[j]
            lower[k][i] = factor
            i = parents[i]
    return lower, [h[k][k] for k in range(n)]


def ltl(matrix: Sequence[Sequence[Scalar]], parents: Sequence[int]) -> Matrix:
    """``M = L^T L`` with L lower triangular."""
    lower, d = ltdl(matrix, parents)
    roots = [sqrt(x) for x in d]
    result: Matrix = [[0.0] * len(d) for _ in d]
    for k in range(len(d)):
        i = k
        while i >= 0:
            result[k][i] = lower[k][i] * roots[k] if i != k else roots[k]
            i = parents[i]
    return result


def ltdl_solve(factors: tuple[Matrix, list[Scalar]], parents: Sequence[int], rhs: Sequence[Scalar]) -> list[Scalar]:
    """Solve ``L^T D L x = rhs``."""
    lower, d = factors
    x = list(rhs)
    for k in reversed(range(len(d))):
        i = parents[k]
        while i >= 0:
            x[i] = x[i] - lower[k][i] * x[k]
            i = parents[i]
    x = [value / pivot for value, pivot in zip(x, d, strict=True)]
    for k in range(len(d)):
        i = parents[k]
        while i >= 0:
            x[k] = x[k] - lower[k][i] * x[i]
            i = parents[i]
    return x
