"""Kernels of systems in which some coordinates follow others, made from kernels in which all are free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..blas_threads import one_blas_thread
from ..trace import Shape
from .composed import STATES_AT_ONCE, ComposedKernel
from .kernel import Kernel


class Spread(NamedTuple):
    """How an input of the free system follows from one with followers: ``x[places] * factor + offset``."""

    places: np.ndarray
    factor: np.ndarray
    offset: np.ndarray

    def of(self, x: np.ndarray) -> np.ndarray:
        """Return the input of the free system, (..., n)."""
        return np.asarray(x[..., self.places] * self.factor + self.offset, dtype=x.dtype)


@dataclass
class LedKernel(ComposedKernel):
    """A kernel for a system with followers: inputs of ``free`` are spread out, rows or columns of its results gathered.

    What belongs to a following coordinate is added to the one that it follows, times its factor, along each of the
    ``axes`` of the result.
    """

    free: Kernel | None = None
    spreads: Sequence[Spread | None] = ()
    rates: Spread | None = None
    """How velocities are spread out."""
    own: np.ndarray | None = None
    """The coordinates of the free system that do not follow."""
    axes: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernel of the free system."""
        assert self.free is not None
        return (self.free,)

    def _calls(self, batch: bool) -> list[tuple[Kernel, bool]]:
        free, *rest = self.parts
        return [(free, batch), *((part, True) for part in rest)]

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        result[...] = self._found(arrays, 1)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        size = max(self.parts[0].size, 1)

        def fill(some: list[np.ndarray], made: np.ndarray) -> None:
            made[...] = self._found(some, threads)

        self._in_pieces(arrays, batch, result, STATES_AT_ONCE // size, fill)

    def _spread_out(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [a if s is None else s.of(a) for s, a in zip(self.spreads, arrays, strict=True)]

    def _found(self, arrays: Sequence[np.ndarray], threads: int) -> np.ndarray:
        found = self.parts[0](*self._spread_out(arrays), threads=threads)
        for axis in self.axes:
            found = self._gathered(found, axis)
        return found

    def _gathered(self, x: np.ndarray, axis: int) -> np.ndarray:
        """Return the entries of coordinates that do not follow, to which those of their followers are added."""
        assert self.rates is not None
        assert self.own is not None
        found = np.take(x, self.own, axis=axis)
        of, led = np.moveaxis(found, axis, 0), np.moveaxis(x, axis, 0)
        for k in np.setdiff1d(np.arange(len(led)), self.own):
            of[self.rates.places[k]] += self.rates.factor[k] * led[k]
        return found


@dataclass
class LedSolutionKernel(LedKernel):
    """The x that solves M x = y with followers: that of the free system, corrected by multipliers.

    The free system returns x; ``product`` takes its first input and one more vector, which it multiplies by the inverse
    of M.
    """

    product: Kernel | None = None
    ties: np.ndarray | None = None
    """One row per following coordinate: the combination of x that is zero."""

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernel of the free system, and its product."""
        assert self.product is not None
        return (*super().parts, self.product)

    def _found(self, arrays: Sequence[np.ndarray], threads: int) -> np.ndarray:
        assert self.ties is not None
        solve, product = self.parts
        state = self._spread_out(arrays)
        x = solve(*state, threads=threads)
        ties: np.ndarray = self.ties.astype(self.dtype)
        responses = product(state[0][..., None, :], ties, threads=threads)  # of the free system to each tie
        with one_blas_thread():
            multipliers = np.linalg.solve(responses @ ties.T, -(x @ ties.T)[..., None])
            x = x + (np.swapaxes(responses, -1, -2) @ multipliers)[..., 0]
        return np.asarray(x[..., self.own])
