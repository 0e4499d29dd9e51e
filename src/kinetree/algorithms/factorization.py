"""Factors of the mass matrix that keep the zeros of branches, and solving with them.

``parents[k]`` is the nearest degree of freedom that carries k, -1 for none
(:attr:`kinetree.model.tree.Model.dof_parents`); entries outside a degree of freedom's own path to the base are zero in
the matrix and stay zero in the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..spatial import Scalar, sqrt
from .passes import present
from .tree_walk import Column

Matrix = list[list[Scalar]]


def carriers(parents: Sequence[int], k: int) -> list[int]:
    """Return a degree of freedom followed by those that carry it, toward the base."""
    path = []
    while k >= 0:
        path.append(k)
        k = parents[k]
    return path


def eliminate(
    matrix: Sequence[Sequence[Scalar]], paths: Sequence[Sequence[int]], divided: Callable[[Scalar, Scalar], Scalar]
) -> tuple[list[Column], list[Scalar]]:
    """Factor ``M = L^T D L`` from the tips, touching only carriers.

    Returns L by rows, without its diagonal and its structural zeros, and D. ``divided(entry, pivot)`` divides entries
    by pivots; ``paths`` are the results of :func:`carriers`.
    """
    h = [{i: row[i] for i in path} for row, path in zip(matrix, paths, strict=True)]
    lower: list[Column] = [{} for _ in h]
    for k in reversed(range(len(h))):
        for n, i in enumerate(paths[k][1:], 1):
            lower[k][i] = divided(h[k][i], h[k][k])
            for j in paths[k][n:]:
                h[i][j] = h[i][j] - lower[k][i] * h[k][j]
    return lower, [h[k][k] for k in range(len(h))]


def ltdl(matrix: Sequence[Sequence[Scalar]], parents: Sequence[int]) -> tuple[Matrix, list[Scalar]]:
    """Return ``M = L^T D L`` with L unit lower triangular."""
    n = len(matrix)
    sparse, d = eliminate(matrix, [carriers(parents, k) for k in range(n)], lambda entry, pivot: entry / pivot)
    return [[1.0 if i == j else sparse[i].get(j, 0.0) for j in range(n)] for i in range(n)], d


def ltl(matrix: Sequence[Sequence[Scalar]], parents: Sequence[int]) -> Matrix:
    """Return ``M = L^T L`` with L lower triangular."""
    lower, d = ltdl(matrix, parents)
    roots = [sqrt(x) for x in d]
    result: Matrix = [[0.0] * len(d) for _ in d]
    for k in range(len(d)):
        i = k
        while i >= 0:
            result[k][i] = lower[k][i] * roots[k] if i != k else roots[k]
            i = parents[i]
    return result


def half_solve(lower: Matrix, parents: Sequence[int], rhs: Sequence[Scalar]) -> list[Scalar]:
    """Solve ``L^T x = rhs``; x is nonzero only where ``rhs`` is, and on the paths from there to the base."""
    x = list(rhs)
    for k in reversed(range(len(x))):
        if present(x[k]):
            for i in carriers(parents, k)[1:]:
                x[i] = x[i] - lower[k][i] * x[k]
    return x


def ltdl_solve(factors: tuple[Matrix, list[Scalar]], parents: Sequence[int], rhs: Sequence[Scalar]) -> list[Scalar]:
    """Solve ``L^T D L x = rhs``."""
    lower, d = factors
    x = [value / pivot for value, pivot in zip(half_solve(lower, parents, rhs), d, strict=True)]
    for k in range(len(d)):
        for i in carriers(parents, k)[1:]:
            x[k] = x[k] - lower[k][i] * x[i]
    return x
