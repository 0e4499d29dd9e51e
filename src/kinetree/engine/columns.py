"""Symmetric matrices found column by column, from a kernel that multiplies by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .composed import ComposedKernel
from .kernels.kernel import Kernel
from .trace import Shape

BLOCK = 64
"""Rows and columns that are mirrored together, so that both sides stay in the cache."""


@dataclass
class SymmetricKernel(ComposedKernel):
    """A symmetric matrix that depends on the inputs.

    ``product`` takes the same inputs and one vector more, which it multiplies by the matrix;
    all unit vectors go through it as one batch, state by state, so that the memory needed
    beside the result does not grow with the batch.  Rounding leaves the two numbers on
    either side of the diagonal a little different: the one that belongs to the later unit
    vector is taken for both.
    """

    product: Kernel | None = None

    @cached_property
    def _units(self) -> np.ndarray:
        return np.eye(self.shape[0], dtype=self.dtype)

    @property
    def parts(self) -> tuple[Kernel]:
        """The product."""
        assert self.product is not None
        return (self.product,)

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._fill(arrays, result, 1)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        spread = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays]
        for index in np.ndindex(*batch):
            self._fill([a[index] for a in spread], result[index], threads)

    def _fill(self, state: Sequence[np.ndarray], matrix: np.ndarray, threads: int) -> None:
        assert self.product is not None
        self.product(*state, self._units, out=matrix, threads=threads)  # row k is the matrix times unit vector k
        mirror(matrix)


def mirror(matrix: np.ndarray) -> None:
    """Put the numbers below the diagonal above it, too."""
    n = len(matrix)
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        matrix[a:b, b:] = matrix[b:, a:b].T
        corner = matrix[a:b, a:b]
        corner[...] = np.tril(corner) + np.tril(corner, -1).T
