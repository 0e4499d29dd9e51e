"""Small symmetric systems over any scalar: the k x k pivots of multi-DOF joints."""

from __future__ import annotations

from collections.abc import Sequence

from .scalar import Scalar

Matrix = list[list[Scalar]]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Return the sum of products."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def ldl(matrix: Sequence[Sequence[Scalar]]) -> tuple[Matrix, list[Scalar]]:
    """Factor a symmetric positive definite matrix as ``L diag(d) L^T``, L unit lower triangular."""
    n = len(matrix)
    lower: Matrix = [[0.0] * n for _ in range(n)]
    d: list[Scalar] = []
    for j in range(n):
        scaled = [lower[j][k] * d[k] for k in range(j)]
        pivot = matrix[j][j]
        for k in range(j):
            pivot = pivot - lower[j][k] * scaled[k]
        d.append(pivot)
        lower[j][j] = 1.0
        for i in range(j + 1, n):
            entry = matrix[i][j]
            for k in range(j):
                entry = entry - lower[i][k] * scaled[k]
            lower[i][j] = entry / pivot
    return lower, d


def ldl_solve(factors: tuple[Matrix, list[Scalar]], rhs: Sequence[Scalar]) -> list[Scalar]:
    """Solve with the factors of :func:`ldl`."""
    lower, d = factors
    n = len(d)
    x = list(rhs)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - lower[i][k] * x[k]
    x = [xi / di for xi, di in zip(x, d, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - lower[k][i] * x[k]
    return x


def ldl_inverse(factors: tuple[Matrix, list[Scalar]]) -> Matrix:
    """Return the inverse from the factors of :func:`ldl`."""
    n = len(factors[1])
    columns = [ldl_solve(factors, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return [[columns[j][i] for j in range(n)] for i in range(n)]
