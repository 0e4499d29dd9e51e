"""Small linear systems over any scalar: the k x k pivots of multi-DOF joints, and general ones with row pivoting."""

from __future__ import annotations

from collections.abc import Sequence

from .scalar import Scalar, where

Matrix = list[list[Scalar]]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Return the sum of products."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def ldl(matrix: Sequence[Sequence[Scalar]]) -> tuple[Matrix, list[Scalar]]:
    """Factor a symmetric positive definite matrix as ``L diag(d) L^T``, L unit lower triangular.

    Exact zeros, of which long chains have many, are skipped.
    """
    n = len(matrix)
    lower: Matrix = [[0.0] * n for _ in range(n)]
    d: list[Scalar] = []
    for j in range(n):
        scaled = {k: x * d[k] for k, x in enumerate(lower[j][:j]) if not _is_zero(x)}
        pivot = matrix[j][j]
        for k, x in scaled.items():
            pivot = pivot - lower[j][k] * x
        d.append(pivot)
        lower[j][j] = 1.0
        reciprocal = 1.0 / pivot if j + 1 < n else 0.0
        for i in range(j + 1, n):
            entry, row = matrix[i][j], lower[i]
            for k, x in scaled.items():
                if not _is_zero(row[k]):
                    entry = entry - row[k] * x
            row[j] = 0.0 if _is_zero(entry) else entry * reciprocal
    return lower, d


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, float) and x == 0.0


def ldl_solve(factors: tuple[Matrix, list[Scalar]], rhs: Sequence[Scalar]) -> list[Scalar]:
    """Solve with the factors of :func:`ldl`."""
    lower, d = factors
    n = len(d)
    x = list(rhs)
    for i in range(n):
        for k in range(i):
            if not _is_zero(lower[i][k]):
                x[i] = x[i] - lower[i][k] * x[k]
    x = [xi * (1.0 / di) for xi, di in zip(x, d, strict=True)]  # the reciprocals of the factorization
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            if not _is_zero(lower[k][i]):
                x[i] = x[i] - lower[k][i] * x[k]
    return x


def ldl_inverse(factors: tuple[Matrix, list[Scalar]]) -> Matrix:
    """Return the inverse from the factors of :func:`ldl`."""
    n = len(factors[1])
    columns = [ldl_solve(factors, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return [[columns[j][i] for j in range(n)] for i in range(n)]


def _eliminated(matrix: Sequence[Sequence[Scalar]], rhs: Sequence[Sequence[Scalar]]) -> tuple[Matrix, Matrix, Scalar]:
    """Return an upper triangle, the right sides reduced with it, and the sign of the row exchanges.

    Each lane takes the largest entry of a column as its pivot. Rows are exchanged by ``where``, so the choice need not
    be known while tracing.
    """
    n = len(matrix)
    rows = [[*a, *b] for a, b in zip(matrix, rhs, strict=True)]
    sign: Scalar = 1.0
    for k in range(n):
        for i in range(k + 1, n):
            larger = abs(rows[i][k]) > abs(rows[k][k])
            upper = [where(larger, y, x) for x, y in zip(rows[k], rows[i], strict=True)]
            rows[i] = [where(larger, x, y) for x, y in zip(rows[k], rows[i], strict=True)]
            rows[k], sign = upper, where(larger, -sign, sign)
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x if j <= k else x - factor * p for j, (x, p) in enumerate(zip(rows[i], rows[k], strict=True))]
    return [row[:n] for row in rows], [row[n:] for row in rows], sign


def lu_solve(matrix: Sequence[Sequence[Scalar]], rhs: Sequence[Scalar]) -> list[Scalar]:
    """Solve n equations by elimination with row pivoting; the result is infinite or NaN where they are singular."""
    upper, right, _ = _eliminated(matrix, [[x] for x in rhs])
    x: list[Scalar] = [row[0] for row in right]
    for i in reversed(range(len(x))):
        for k in range(i + 1, len(x)):
            x[i] = x[i] - upper[i][k] * x[k]
        x[i] = x[i] / upper[i][i]
    return x


def lu_determinant(matrix: Sequence[Sequence[Scalar]]) -> Scalar:
    """Return the determinant, by elimination with row pivoting."""
    upper, _, found = _eliminated(matrix, [[] for _ in matrix])
    for k in range(len(upper)):
        found = found * upper[k][k]
    return found
