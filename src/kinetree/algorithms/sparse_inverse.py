"""The inverse of a mass matrix in factors that keep the zeros of branches.

M = L^T D L with L unit lower triangular, eliminated from the tips (:mod:`.factorization`); then M^-1 = W D^-1 W^T with
W = L^-1.  Row k of W, like row k of L, is zero except for k and its carriers, so W is cheap, there is only one division
per pivot, and for a branch on which the right-hand side is zero only the entries of W before the branching are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..spatial import Scalar
from .factorization import carriers, eliminate
from .tree_walk import Column


class SparseInverse:
    """W by rows and the reciprocal pivots.

    matrix: A mass matrix.
    parents: The nearest degree of freedom that carries each one, -1 for none
        (:attr:`kinetree.model.tree.Model.dof_parents`).
    """

    def __init__(self, matrix: Sequence[Sequence[Scalar]], parents: Sequence[int]) -> None:
        self.paths = [carriers(parents, k) for k in range(len(matrix))]
        lower, pivots = eliminate(matrix, self.paths, lambda entry, pivot: entry * (1.0 / pivot))
        self.reciprocals = [1.0 / pivot for pivot in pivots]
        self.w: list[Column] = []
        for k, path in enumerate(self.paths):
            row: Column = {k: 1.0}
            for n, i in enumerate(path[1:], 1):  # L W = 1, row by row
                row[i] = -_sum(lower[k][m] * self.w[m][i] for m in reversed(path[1 : n + 1]))
            self.w.append(row)

    def times(self, column: Column, sign: float = 1.0) -> Column:
        """Return M^-1 x, or its negative, without the entries that are zero by structure."""
        gathered: dict[int, list[Scalar]] = {}
        for k, x in column.items():
            for i in self.paths[k]:
                gathered.setdefault(i, []).append(self.w[k][i] * x)
        z = {i: _sum(terms) * (self.reciprocals[i] * sign) for i, terms in gathered.items()}
        met = ((k, [self.w[k][i] * z[i] for i in path if i in z]) for k, path in enumerate(self.paths))
        return {k: _sum(terms) for k, terms in met if terms}

    def matrix(self) -> list[Column]:
        """Return M^-1 itself, by rows."""
        n = len(self.paths)
        scaled = [{i: w * self.reciprocals[i] for i, w in row.items()} for row in self.w]
        rows: list[Column] = [{} for _ in range(n)]
        for k in range(n):
            for j in range(k + 1):
                common = [scaled[k][i] * self.w[j][i] for i in self.paths[j] if i in scaled[k]]
                if common:
                    rows[k][j] = rows[j][k] = _sum(common)
        return rows


def _sum(terms: Iterable[Scalar]) -> Scalar:
    first, *rest = terms
    for term in rest:
        first = first + term
    return first
