"""Derivatives of what solves an equation, from derivatives of the equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .composed import ComposedKernel
from .kernels.kernel import Kernel
from .trace import Shape

COLUMNS = 512
"""Columns that are solved for together, so that little room is needed beside the result."""


class Equation(NamedTuple):
    """F(p, ..., x) = y as kernels."""

    solution: Kernel
    """Takes p, ..., y and what else there is, and returns x."""
    slopes: Kernel
    """Takes the same with x for y, and returns the derivatives of F but for that by x."""
    inverse: Kernel
    """Takes p and returns the inverse of the derivative by x."""
    product: Kernel
    """Takes p and what is to be multiplied by that inverse."""
    place: int
    """Which of the arguments is y."""


@dataclass
class ImplicitKernel(ComposedKernel):
    """Derivatives of the x that solves F(p, ..., x) = y: minus the inverse of dF/dx times the derivatives of F.

    The last of the matrices is that inverse.
    """

    equation: Equation | None = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The solution first."""
        assert self.equation is not None
        return self.equation[:4]

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._solve(list(arrays), self.parts[0](*arrays), result, 1)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        spread = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays]
        solved = self.parts[0](*arrays, threads=threads)
        for index in np.ndindex(*batch):
            self._solve([a[index] for a in spread], solved[index], result[index], threads)

    def _solve(self, state: list[np.ndarray], x: np.ndarray, result: np.ndarray, threads: int) -> None:
        assert self.equation is not None
        _, slopes, inverse, product, y = self.equation
        p, n = state[0], len(x)
        slopes(*state[:y], x, *state[y + 1 :], out=result[:-1])
        for matrix in result[:-1]:
            for start in range(0, n, COLUMNS):
                columns = matrix[:, start : start + COLUMNS]
                columns[...] = -product(p, np.ascontiguousarray(columns.T), threads=threads).T
        inverse(p[None], out=result[-1:], threads=threads)
