"""Kernels that are not one piece of machine code: they call other kernels and combine the results.

They are used for the matrices of large trees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..blas_threads import one_blas_thread
from ..result_memory import empty
from ..trace import Shape
from .kernel import Kernel
from .symmetric_results import mirror


@dataclass
class ComposedKernel(Kernel):
    """A kernel that calls its ``parts``, by default always in their form for batches."""

    @property
    def parts(self) -> Sequence[Kernel]:
        """All kernels that it calls, starting with the one that it stands for."""
        raise NotImplementedError

    def _calls(self, batch: bool) -> list[tuple[Kernel, bool]]:
        """Return its parts, and whether each is called in its form for batches, for a batch or for one state."""
        return [(part, True) for part in self.parts]

    def _made(self, batch: bool) -> int:
        """Make the machine code of all parts; return the address of the first."""
        first, *_ = [_address(part, form) for part, form in self._calls(batch)]
        return first

    @property
    def lanes_address(self) -> int:  # type: ignore[override]
        """The machine code of the first part for a batch; that of the others is made, too."""
        return self._made(True)

    @property
    def single_address(self) -> int:  # type: ignore[override]
        """The same for one state."""
        return self._made(False)

    def is_ready(self, batch: bool) -> bool:
        """Return whether all parts have been loaded in the forms that are called."""
        return all(part.is_ready(form) for part, form in self._calls(batch))

    @property
    def is_one_function(self) -> bool:
        """Always False: several functions are called."""
        return False

    def _in_pieces(
        self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, count: int,
        compute: Callable[[list[np.ndarray], np.ndarray], None],
    ) -> None:  # fmt: skip
        """Let ``compute(arrays, result)`` fill a few states at a time, about ``count``: so many as fill vectors."""
        total = math.prod(batch)
        rows = [a if a.ndim == 1 else np.broadcast_to(a, (*batch, a.shape[-1])).reshape(total, -1) for a in arrays]
        made = result if result.flags.c_contiguous and result.dtype == self.dtype else np.empty(
            (*batch, *self.shape), self.dtype
        )  # fmt: skip
        flat, step = made.reshape(total, *self.shape), max(-(-count // self.lanes) * self.lanes, 1)
        for start in range(0, total, step):
            some = [a if a.ndim == 1 else a[start : start + step] for a in rows]
            compute(some, flat[start : start + step])
        if made is not result:
            result[...] = made


def _address(part: Kernel, batch: bool) -> int:
    """Make a form of a part; some that are one loop handle the states of a batch one after the other."""
    in_lanes = batch and (part.is_one_function or isinstance(part, ComposedKernel))
    return part.lanes_address if in_lanes else part.single_address


def _each_state(arrays: Sequence[np.ndarray], batch: Shape) -> Any:
    """Iterate over a batch: the index of each state, and the arrays of that state."""
    spread = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays]
    return ((index, [a[index] for a in spread]) for index in np.ndindex(*batch))


# ------------------------------------------------------------------ factors of a matrix


@dataclass
class FactorKernel(ComposedKernel):
    """L and D of a matrix L^T D L, D as one more row; or only L of L^T L if the shape is square.

    ``both`` returns L with D on its diagonal.
    """

    both: Kernel | None = None

    @property
    def parts(self) -> tuple[Kernel]:
        """L with D on its diagonal."""
        assert self.both is not None
        return (self.both,)

    def _calls(self, batch: bool) -> list[tuple[Kernel, bool]]:
        return [(part, batch) for part in self.parts]

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._divide(self.parts[0](*arrays), result)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        self._divide(self.parts[0](*arrays, threads=threads), result)

    def _divide(self, both: np.ndarray, result: np.ndarray) -> None:
        n = both.shape[-1]
        pivots = both.diagonal(axis1=-2, axis2=-1).copy()
        both[..., range(n), range(n)] = 1.0
        if result.shape[-2] > n:
            result[..., :n, :], result[..., n, :] = both, pivots
        else:
            np.multiply(both, np.sqrt(pivots)[..., None], out=result)


# ------------------------------------------------------------------ columns of bodies


@dataclass
class BodyColumnsKernel(ComposedKernel):
    """A matrix made by ``bodies``, except for the entries at ``places``, which ``beside`` makes.

    ``chosen`` are the columns that are wanted, all if it is None.
    """

    bodies: Kernel | None = None
    beside: Kernel | None = None
    places: np.ndarray | None = None
    chosen: np.ndarray | None = None

    @property
    def parts(self) -> tuple[Kernel, Kernel]:
        """The kernel of most entries, and the one of the rest."""
        assert self.bodies is not None
        assert self.beside is not None
        return self.bodies, self.beside

    def _calls(self, batch: bool) -> list[tuple[Kernel, bool]]:
        return [(part, batch) for part in self.parts]

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._run_batch(arrays, (), result, 1)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        assert self.places is not None
        bodies, beside = self.parts
        whole = result if self.chosen is None else empty((*batch, *bodies.shape), self.dtype)
        bodies(*arrays, out=whole, threads=threads)
        whole[..., self.places[0], self.places[1]] = beside(*arrays, threads=threads)
        if self.chosen is not None:
            np.take(whole, self.chosen, axis=-1, out=result)


# ------------------------------------------------------------------ products with a matrix


@dataclass
class SymmetricKernel(ComposedKernel):
    """A symmetric matrix that depends on the inputs, found column by column.

    ``product`` takes the same inputs and one vector more, which it multiplies by the matrix; all unit vectors go
    through it as one batch, state by state, so that the memory needed beside the result does not grow with the batch.
    Rounding leaves the two numbers on either side of the diagonal slightly different: that of the later unit vector is
    used for both.
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
        for index, state in _each_state(arrays, batch):
            self._fill(state, result[index], threads)

    def _fill(self, state: Sequence[np.ndarray], matrix: np.ndarray, threads: int) -> None:
        direct = matrix.flags.c_contiguous and matrix.dtype == self.dtype
        made = matrix if direct else np.empty(self.shape, self.dtype)
        self.parts[0](*state, self._units, out=made, threads=threads)  # row k is the matrix times unit vector k
        mirror(made, made, self.target, upwards=True)
        if not direct:
            matrix[...] = made


@dataclass
class QuadraticFormKernel(ComposedKernel):
    """J A J^T: J is what ``rows`` return, stacked, and A a symmetric matrix.

    ``product`` takes the inputs and one more vector, which it multiplies by A; ``finish`` may transform the result,
    over any number of states.
    """

    rows: Sequence[Kernel] = ()
    product: Kernel | None = None
    finish: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The product and the rows."""
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
        both += np.swapaxes(np.tril(both, -1), -1, -2)  # rounding would leave the two sides slightly different
        result[...] = both if self.finish is None else self.finish(both)


# ------------------------------------------------------------------ derivatives of the solution of an equation

COLUMNS = 512
"""Columns that are solved for together, so that little extra memory is needed."""

MOST_MULTIPLIED = 400
"""Rows of an inverse up to which multiplying by it is faster than solving for each column."""

STATES_AT_ONCE = 1 << 19
"""Numbers in matrices that are multiplied at a time, so that they stay in the caches."""


class ImplicitEquation(NamedTuple):
    """The equation F(p, ..., x) = y as kernels."""

    solution: Kernel
    """Takes p, ..., y and any further arguments, and returns x."""
    slopes: Kernel
    """Takes the same with x in place of y, and returns the derivatives of F except the one with respect to x."""
    inverse: Kernel
    """Takes p and returns the inverse of the derivative with respect to x."""
    product: Kernel
    """Takes p and the vectors to be multiplied by that inverse."""
    place: int
    """The position of y among the arguments of ``solution``."""


@dataclass
class SolutionDerivativeKernel(ComposedKernel):
    """Derivatives of the x that solves F(p, ..., x) = y: minus the inverse of dF/dx times the derivatives of F.

    The last of the matrices is that inverse.
    """

    equation: ImplicitEquation | None = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The solution first."""
        assert self.equation is not None
        solution, slopes, inverse, product, _ = self.equation
        return (solution, slopes, inverse) if self._multiplies else (solution, slopes, inverse, product)

    def _calls(self, batch: bool) -> list[tuple[Kernel, bool]]:
        if self._multiplies:
            return [(part, batch) for part in self.parts]
        solution, slopes, *rest = self.parts
        return [(solution, batch), (slopes, False), *((part, True) for part in rest)]

    @property
    def _multiplies(self) -> bool:
        return self.shape[-1] <= MOST_MULTIPLIED

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._derive(list(arrays), self.parts[0](*arrays), result, 1)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        solve = self.parts[0]
        if self._multiplies:
            self._in_pieces(
                arrays, batch, result, STATES_AT_ONCE // self.size,
                lambda some, made: self._derive(some, solve(*some, threads=threads), made, threads),
            )  # fmt: skip
            return
        solved = solve(*arrays, threads=threads)
        for index, state in _each_state(arrays, batch):
            self._derive(state, solved[index], result[index], threads)

    def _derive(self, state: list[np.ndarray], x: np.ndarray, result: np.ndarray, threads: int) -> None:
        assert self.equation is not None
        _, slopes, inverse, product, y = self.equation
        at, p, n = (*state[:y], x, *state[y + 1 :]), state[0], x.shape[-1]
        if self._multiplies:
            inverted = inverse(p, threads=threads)
            with one_blas_thread(n):
                np.matmul(-inverted[..., None, :, :], slopes(*at, threads=threads), out=result[..., :-1, :, :])
            result[..., -1, :, :] = inverted
            return
        slopes(*at, out=result[:-1])
        for matrix in result[:-1]:
            for start in range(0, n, COLUMNS):
                columns = matrix[:, start : start + COLUMNS]
                columns[...] = -product(p, np.ascontiguousarray(columns.T), threads=threads).T
        inverse(p[None], out=result[-1:], threads=threads)
