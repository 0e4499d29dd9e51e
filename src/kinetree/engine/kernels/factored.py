"""Kernels that solve equations with a matrix of which another kernel returns what its factors are made of."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..llvm import host
from ..load_code import load_or_compile_own
from ..make_once import made_once, once
from ..result_memory import empty
from ..threads import thread_pool
from ..trace import Shape
from .composed import ComposedKernel
from .factored_solves import SOLVES, RowOrder, order_of, scratch_bytes, solves_module
from .kernel import Kernel, address_of

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_RUN = ctypes.CFUNCTYPE(_LONG, _POINTER, _POINTER, _LONG, _LONG, _POINTER)


@once
def _code(target: host.Machine, single_precision: bool) -> tuple[int, Any, Any]:
    what, vectors = "solving with factors", target.vectors(single_precision)
    addresses, alive = load_or_compile_own(
        what, f"{what} {vectors}", lambda: solves_module(vectors), ("run",), target=target
    )
    return addresses["run"], _RUN(addresses["run"]), alive


NUMBERS_AT_ONCE = 1 << 18
"""Results that a thread computes at a time, so that the right sides stay in the nearer caches."""


class SolvedEquation(NamedTuple):
    """An equation F(p, ..., x) = y as kernels."""

    solution: Kernel
    """Takes p, ..., y and any further arguments, and returns x."""
    slopes: Kernel
    """Takes the same with x in place of y, and returns the derivatives of F except the one with respect to x."""
    place: int
    """Index of the argument that is y."""


@dataclass
class FactoredKernel(ComposedKernel):
    """The inverse of a symmetric matrix, or derivatives of the x that solves F(p, ..., x) = y with that as the last.

    ``factors`` takes p and returns, for each row, the numbers from which L and D of dF/dx = L^T D L are made; see
    :mod:`.factored_solves`. ``carriers`` are the nearest row that carries each one, -1 for none.
    """

    factors: Kernel | None = None
    carriers: Sequence[int] = ()
    equation: SolvedEquation | None = None

    def __post_init__(self) -> None:
        for part in self.parts:
            part.read_soon = True

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The solution first, the factors last."""
        assert self.factors is not None
        return (self.factors,) if self.equation is None else (*self.equation[:2], self.factors)

    def _calls(self, batch: bool) -> list[tuple[Kernel, bool]]:
        return [(part, batch) for part in self.parts]

    @made_once
    def _order(self) -> RowOrder:
        return order_of(self.carriers, self.vectors)

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        made = result if result.flags.c_contiguous and result.dtype == self.dtype else empty(self.shape, self.dtype)
        self._fill(arrays, made, 1, 1)
        if made is not result:
            result[...] = made

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        self._in_pieces(
            arrays, batch, result, max(NUMBERS_AT_ONCE // self.parts[-1].size, self.lanes) * threads,
            lambda some, made: self._fill(some, made, len(made), threads),
        )  # fmt: skip

    def _fill(self, arrays: Sequence[np.ndarray], made: np.ndarray, count: int, threads: int) -> None:
        """Compute the factors for some states; right sides, which are larger, and solutions for a few at a time."""
        n = self.shape[-1]
        factors = self.parts[-1](arrays[0], threads=threads)
        if factors.ndim == 2 and count > 1:  # p is the same for all
            factors = np.ascontiguousarray(np.broadcast_to(factors, (count, *factors.shape)))
        if getattr(self._local, "scratch", None) is None:
            self._local.scratch = np.empty(scratch_bytes(self._order, self.vectors), np.uint8)
        made, factors = made.reshape(count, -1, n, n), factors.reshape(count, n, -1)
        if self.equation is None:
            solve(factors, factors, made, self._order, self._local.scratch, self.target, threads)
            return
        solution, slopes, y = self.equation
        given = [*arrays[:y], solution(*arrays, threads=threads), *arrays[y + 1 :]]
        step = max(NUMBERS_AT_ONCE // self.size // self.lanes, 1) * self.lanes * threads
        for start in range(0, count, step):
            few = slice(start, start + step)
            right_sides = slopes(*(a if a.ndim == 1 else a[few] for a in given), threads=threads)
            solve(factors[few], right_sides, made[few], self._order, self._local.scratch, self.target, threads)


def solve(
    factors: np.ndarray, given: np.ndarray, made: np.ndarray, order: RowOrder, scratch: np.ndarray,
    target: host.Machine, threads: int = 1,
) -> None:  # fmt: skip
    """Fill ``made``, (..., matrices, n, n), with minus the inverse times what is given, and with the inverse.

    ``factors`` (..., n, 13) are the numbers of the rows, with as many matrices given for each state as there are before
    the inverse; all are contiguous and of one precision.
    """
    n = made.shape[-1]
    count, job = factors.size // (n * factors.shape[-1]), ctypes.create_string_buffer(SOLVES.size)
    address, run, _ = _code(target, bool(factors.dtype == np.float32))
    SOLVES.write(
        ctypes.addressof(job), scratch=address_of(scratch), start=0, stop=count, tile_area=0,
        scratch_bytes=scratch.nbytes, factors=address_of(factors), given=address_of(given), result=address_of(made),
        rows=n, right_sides=made.shape[-3] - 1, order=address_of(order.rows), slots=order.slots,
        met=address_of(order.met), strips=order.met.shape[1],
    )  # fmt: skip
    if threads == 1 or count == 1:
        run(ctypes.addressof(job), address_of(scratch), 0, count, None)
    else:
        pool = thread_pool()
        pool.run(job, address, pool.start(threads - 1), 1)
