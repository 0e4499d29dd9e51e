"""J A J^T for a symmetric A that only its product is known of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .kernel import Kernel, Shape


@dataclass
class SandwichKernel(Kernel):
    """What ``rows`` return, one below the other, times a symmetric matrix times the transpose of the same.

    ``product`` takes the inputs and one vector more, which it multiplies by the matrix;
    ``finish`` may make something else of the result, over any number of states.
    """

    rows: Sequence[Kernel] = ()
    product: Kernel | None = None
    finish: Callable[[np.ndarray], np.ndarray] | None = None

    def _parts(self) -> list[Kernel]:
        assert self.product is not None
        return [self.product, *self.rows]

    @property
    def lanes_address(self) -> int:  # type: ignore[override]
        """Machine code of the product; that of the rows is made, too."""
        product, *_ = [kernel.lanes_address for kernel in self._parts()]
        return product

    @property
    def single_address(self) -> int:  # type: ignore[override]
        """The same: one state is a batch of rows."""
        return self.lanes_address

    def is_ready(self, batch: bool) -> bool:
        """Whether all parts are at hand."""
        return all(kernel.is_ready(True) for kernel in self._parts())

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._run_batch([np.atleast_2d(a) for a in arrays], (1,), result[None], 1)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        product, *kernels = self._parts()
        if not kernels:
            return  # a matrix without rows
        j = np.concatenate([kernel(*arrays, threads=threads) for kernel in kernels], axis=-2)
        moved = product(*(a[..., None, :] for a in arrays), j, threads=threads)
        both = np.tril(j @ np.swapaxes(moved, -1, -2))
        both += np.swapaxes(np.tril(both, -1), -1, -2)  # rounding would leave the two sides a little different
        result[...] = both if self.finish is None else self.finish(both)
