"""Kernels that solve equations with a matrix of which another kernel returns factors."""

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
from .composed import STATES_AT_ONCE, ComposedKernel
from .factored_solves import SOLVES, Blocks, blocks_of, scratch_bytes, solves_module
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

    ``both`` takes p and returns L of dF/dx = L^T D L, with D on its diagonal; bit j of ``before[i]`` is set if row i
    may have an entry in column j < i.
    """

    both: Kernel | None = None
    before: Sequence[int] = ()
    equation: SolvedEquation | None = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The solution first, the factors last."""
        assert self.both is not None
        return (self.both,) if self.equation is None else (*self.equation[:2], self.both)

    def _calls(self, batch: bool) -> list[tuple[Kernel, bool]]:
        return [(part, batch) for part in self.parts]

    @made_once
    def _blocks(self) -> Blocks:
        return blocks_of(self.before)

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        made = result if result.flags.c_contiguous and result.dtype == self.dtype else empty(self.shape, self.dtype)
        self._fill(arrays, made, 1, 1)
        if made is not result:
            result[...] = made

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        self._in_pieces(
            arrays, batch, result, STATES_AT_ONCE // self.size,
            lambda some, made: self._fill(some, made, len(made), threads),
        )  # fmt: skip

    def _fill(self, arrays: Sequence[np.ndarray], made: np.ndarray, count: int, threads: int) -> None:
        """Compute the factors and right sides of some states, and solve."""
        n = self.shape[-1]
        both = given = self.parts[-1](arrays[0], threads=threads)
        if both.ndim == 2 and count > 1:  # p is the same for all
            both = given = np.ascontiguousarray(np.broadcast_to(both, (count, n, n)))
        if self.equation is not None:
            solution, slopes, y = self.equation
            x = solution(*arrays, threads=threads)
            given = slopes(*arrays[:y], x, *arrays[y + 1 :], threads=threads)
        if getattr(self._local, "scratch", None) is None:
            self._local.scratch = np.empty(scratch_bytes(n, self._blocks, self.vectors), np.uint8)
        made = made.reshape(count, -1, n, n)
        solve(both, given, made, self._blocks, self._local.scratch, self.target, threads)


def solve(
    both: np.ndarray, given: np.ndarray, made: np.ndarray, blocks: Blocks, scratch: np.ndarray, target: host.Machine,
    threads: int = 1,
) -> None:  # fmt: skip
    """Fill ``made``, (..., matrices, n, n), with minus the inverse times what is given, and with the inverse.

    ``both`` (..., n, n) are factors, with as many matrices given for each as there are before the inverse; all are
    contiguous and of one precision.
    """
    n = made.shape[-1]
    count, job = both.size // (n * n), ctypes.create_string_buffer(SOLVES.size)
    address, run, _ = _code(target, bool(both.dtype == np.float32))
    table, lists, order = blocks
    SOLVES.write(
        ctypes.addressof(job), scratch=address_of(scratch), start=0, stop=count, tile_area=0,
        scratch_bytes=scratch.nbytes, factors=address_of(both), given=address_of(given), result=address_of(made),
        rows=n, right_sides=made.shape[-3] - 1, blocks=len(table) // 2, table=address_of(table),
        lists=address_of(lists), entries=len(order), order=address_of(order),
    )  # fmt: skip
    if threads == 1 or count == 1:
        run(ctypes.addressof(job), address_of(scratch), 0, count, None)
    else:
        pool = thread_pool()
        pool.run(job, address, pool.start(threads - 1), 1)
