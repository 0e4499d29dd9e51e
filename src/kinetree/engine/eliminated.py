"""Factors of a symmetric matrix that another kernel finds, eliminated along the branches of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .composed import ComposedKernel
from .kernels.kernel import Kernel
from .trace import Shape


@dataclass
class EliminatedKernel(ComposedKernel):
    """L and D with ``matrix = L^T D L``, D as one more row; or L alone with ``matrix = L^T L`` if the shape is square.

    ``parents[k]`` is the nearest row that carries row k, -1 for none; rows that do not carry one another have
    zeros between them, in the matrix and in L.
    """

    matrix: Kernel | None = None
    parents: Sequence[int] = ()

    @property
    def parts(self) -> tuple[Kernel]:
        """The matrix."""
        assert self.matrix is not None
        return (self.matrix,)

    @cached_property
    def _carriers(self) -> list[np.ndarray | slice]:
        """Of each row, as a slice where they are all before it."""
        found: list[np.ndarray] = []
        for parent in self.parents:
            found.append(np.append(found[parent], parent) if parent >= 0 else np.empty(0, dtype=int))
        return [slice(0, k) if len(above) == k else above for k, above in enumerate(found)]

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        (matrix,) = self.parts
        self._factor(matrix(*arrays), result)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        (matrix,) = self.parts
        spread = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays]
        for index in np.ndindex(*batch):
            self._factor(matrix(*(a[index] for a in spread)), result[index])

    def _factor(self, h: np.ndarray, result: np.ndarray) -> None:
        """Row by row from the last, each touching only those that carry it (002 L1936)."""
        n = len(h)
        pivots = np.empty(n, dtype=h.dtype)
        for k in reversed(range(n)):
            above = self._carriers[k]
            pivots[k], row = h[k, k], h[k, above]
            factors = row / pivots[k]
            if isinstance(above, slice):
                h[above, above] -= factors[:, None] * row
            else:
                h[np.ix_(above, above)] -= factors[:, None] * row
            h[k] = 0.0
            h[k, above], h[k, k] = factors, 1.0
        if len(result) > n:
            result[:n], result[n] = h, pivots
        else:
            result[...] = h * np.sqrt(pivots)[:, None]
