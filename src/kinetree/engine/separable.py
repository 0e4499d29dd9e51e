"""Square matrices made of a table: every entry is a short product of numbers of its row and of its column.

Rows and columns are nested like the branches of a tree: entry (j, i) is one product where j
lies in the branch of i, another where i lies in that of j, and zero where neither does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .composed import ComposedKernel
from .kernels.kernel import Kernel
from .llvm.branch_matrix import fill
from .trace import Shape

Pair = tuple[slice, slice]


class Factors(Protocol):
    """Which numbers of the table's rows j and i are multiplied."""

    @property
    def below(self) -> Pair:
        """For j in the branch of i."""

    @property
    def above(self) -> Pair:
        """For i in the branch of j, but not the other way round."""

    @property
    def own(self) -> slice | None:
        """Numbers of i that are added where j and i are of one branching."""


@dataclass
class Branches:
    """Where the branch of each row begins and ends, rows numbered so that each branch is contiguous."""

    first: np.ndarray
    last: np.ndarray
    own: np.ndarray
    """Number of each row among those that begin the same branch."""


@dataclass
class SeparableKernel(ComposedKernel):
    """Matrices that ``table`` holds the numbers of, in the shape (rows, rows) or (matrices, rows, rows)."""

    table: Kernel | None = None
    factors: Sequence[Factors] = ()
    branches: Branches | None = None
    symmetric: dict[int, np.ndarray] = field(default_factory=dict)
    """Matrices that are symmetric, each with what is added to its diagonal."""

    @property
    def parts(self) -> tuple[Kernel]:
        """The table."""
        assert self.table is not None
        return (self.table,)

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        assert self.table is not None
        self._fill(self.table(*arrays), result)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        assert self.table is not None
        tables = self.table(*arrays, threads=threads)
        for index in np.ndindex(*batch):
            self._fill(tables[index], result[index])

    def _fill(self, table: np.ndarray, result: np.ndarray) -> None:
        assert self.branches is not None
        matrices = result if result.ndim == 3 else result[None]
        n, branches = len(table), self.branches
        for matrix, f in zip(matrices, self.factors, strict=True):
            down, across = matrix.strides
            direct = matrix.dtype == table.dtype and across == matrix.itemsize and down % across == 0
            made = matrix if direct else np.empty(matrix.shape, table.dtype)
            below, above = ((table[:, left], table[:, right]) for left, right in (f.below, f.above))
            fill(made, below, above, branches.first, branches.last, self.target)
            if f.own is not None:
                _add_own(made, table[:, f.own], branches)
            if not direct:
                matrix[...] = made
        for k, diagonal in self.symmetric.items():
            _mirror_own(matrices[k], branches)
            matrices[k][range(n), range(n)] += diagonal


def _add_own(matrix: np.ndarray, own: np.ndarray, branches: Branches) -> None:
    """Number m of column i belongs to freedom m of the same branching."""
    columns, m = np.nonzero(own)
    matrix[columns - branches.own[columns] + m, columns] += own[columns, m]


def _mirror_own(matrix: np.ndarray, branches: Branches) -> None:
    """Make a matrix symmetric to the bit whose entries across branchings are the same products on either side."""
    for apart in range(1, int(branches.own.max(initial=0)) + 1):
        later = np.nonzero(branches.own >= apart)[0]
        matrix[later - apart, later] = matrix[later, later - apart]
