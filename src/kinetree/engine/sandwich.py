"""J A J^T for a symmetric A that only its product is known of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .composed import ComposedKernel
from .kernels.kernel import Kernel
from .trace import Shape


@dataclass
class SandwichKernel(ComposedKernel):
    """What ``rows`` return, one below the other, times a symmetric matrix times the transpose of the same.

    ``product`` takes the inputs and one vector more, which it multiplies by the matrix;
    ``finish`` may make something else of the result, over any number of states.
    """

    rows: Sequence[Kernel] = ()
    product: Kernel | None = None
    finish: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The product, and the rows."""
        assert self.product is not None
        return (self.product, *self.rows)

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._run_batch([np.atleast_2d(a) for a in arrays], (1,), result[None], 1)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        product, *kernels = self.parts
        if not kernels:
            return  # a matrix without rows
        j = np.concatenate([kernel(*arrays, threads=threads) for kernel in kernels], axis=-2)
        moved = product(*(a[..., None, :] for a in arrays), j, threads=threads)
        both = np.tril(j @ np.swapaxes(moved, -1, -2))
        both += np.swapaxes(np.tril(both, -1), -1, -2)  # rounding would leave the two sides a little different
        result[...] = both if self.finish is None else self.finish(both)
