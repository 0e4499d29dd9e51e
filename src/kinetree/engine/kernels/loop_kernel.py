"""Kernels whose machine code is a loop."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..llvm.body_loops import FROM_PYTHON, SCHEDULE, rolled_module
from ..llvm.streaming import place_words
from ..load_code import load_or_compile_text
from ..make_once import made_once
from ..trace import Shape
from .kernel import Kernel, address_of
from .symmetric_results import mirror

LONG_RUN = 16
"""Numbers that it pays to move in one piece."""


class Moves(NamedTuple):
    """How results of steps get to where they belong."""

    cleared: bool
    """Whether all results are zeros at first."""
    single: np.ndarray
    """(n, 2): from where to where."""
    runs: np.ndarray
    """(n, 3): the same for consecutive numbers, and how many there are; those from place 0 are all zeros."""


def moves_to(places: np.ndarray) -> Moves:
    """Return how each result k gets what is at ``places[k]``, where the number at place 0 is zero."""
    before, after = places[:-1], places[1:]
    goes_on = np.where(after == 0, before == 0, (after == before + 1) & (before != 0))
    starts = np.concatenate([[0], np.flatnonzero(~goes_on) + 1])[: len(places)]
    sizes = np.diff(np.append(starts, len(places)))
    long, zeros = sizes >= LONG_RUN, places[starts] == 0
    cleared = bool(sizes[zeros & ~long].sum() * 8 > len(places))  # one by one, they would take longer than all at once
    if cleared:
        long, sizes = long & ~zeros, np.where(zeros, 0, sizes)
    runs = np.stack([starts, places[starts], sizes], axis=1)[long]
    short = np.where(long, 0, sizes)
    to = np.repeat(starts, short) + np.arange(short.sum()) - np.repeat(np.cumsum(short) - short, short)
    return Moves(cleared, np.stack([to, places[to]], axis=1).astype(np.int32), runs.astype(np.int32))


class InnerLoop(NamedTuple):
    """A loop that another kernel calls, with its inputs in one consecutive block."""

    inputs: int
    outs: int
    """Number of values that are its results, after which its work area begins."""
    kept: int
    """Number of values that it works with."""


@dataclass
class RolledKernel(Kernel):
    """A kernel that runs a schedule of steps, for code that would be too long to unroll.

    ``schedule`` returns the steps, one row of offsets per call (step number first), the
    parameters, the number of work vectors, where columns are, and which of the steps' numbers each output is if they
    are not the outputs in order: the first of these is zero.  Matrices may be so large that states are computed one
    after the other; what is below the diagonals is then left in the work area, by columns.
    """

    schedule: Callable[[], Any] | None = None

    @made_once
    def _plan(self) -> Any:
        assert self.schedule is not None
        return self.schedule()

    @property
    def sends(self) -> bool:
        """Always False: a loop has no place for sending."""
        return False

    @property
    def _outs(self) -> int:
        """The number of values that the steps leave for the outputs."""
        places = self._plan.places
        return self.size if places is None else int(self._plan.outs)

    @property
    def inside(self) -> InnerLoop:
        """What a kernel that calls this one must know."""
        assert self._plan.places is None, "only what passes over bodies leave is the result as it is"
        return InnerLoop(sum(self.lengths), self._outs, self._kept)

    @property
    def _kept(self) -> int:
        """The number of vectors that the steps keep between them; for one state, as many numbers."""
        plan = self._plan
        return int(plan.work_vectors) + int(plan.columns.room(self.vectors))

    @property
    def work_vectors(self) -> int:
        """The number of vectors for which there must be room after the outputs."""
        return self._kept + max(self._outs - self.size, 0)

    @property
    def is_one_function(self) -> bool:
        """Whether states are computed side by side."""
        return self._plan.large is None

    @made_once
    def lanes_address(self) -> int:
        """The machine code of the loop, with its schedule filled in."""
        addresses, entries, params = self._load_steps(False)
        words = (len(entries), address_of(entries), address_of(params), self._outs, entries.shape[1])
        self._context = np.array(words, dtype=np.int64)
        found = np.arange(self.size) if self._plan.places is None else self._plan.places
        places = place_words((found * self._vector_bytes).tolist(), self.vectors.per_line)
        self._places = address_of(places)
        self._alive += [self._context, places]
        return addresses["kernel"]

    @made_once
    def single_address(self) -> int:
        """The machine code of the loop for one state, with its schedule filled in."""
        addresses, entries, params = self._load_steps(True)
        plan, lengths = self._plan, np.array(self.lengths, dtype=np.int64)
        moves = moves_to(np.zeros(0, np.int64) if plan.places is None else plan.places)
        SCHEDULE.write(
            addresses["schedule"], count=len(entries), entries=address_of(entries), params=address_of(params),
            outs=0 if plan.places is None else self._outs, words=entries.shape[1], size=self.size,
            inputs=len(lengths), lengths=address_of(lengths), numbers=sum(self.lengths), work=self._kept,
            cleared=int(moves.cleared), moves=len(moves.single), moved=address_of(moves.single),
            runs=len(moves.runs), in_runs=address_of(moves.runs),
        )  # fmt: skip
        self._alive += [lengths, moves]
        self.run_address = addresses["run"]
        self._run = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3)(self.run_address)
        return addresses["kernel"]

    def is_ready(self, batch: bool) -> bool:
        """Return whether the form for batches, or for one state, has been loaded."""
        return ("lanes_address" if batch and self.is_one_function else "single_address") in self.__dict__

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        large = self._plan.large
        if large is None:
            super()._run_single(arrays, result)
            return
        _ = self.single_address
        direct = result.flags.c_contiguous and result.dtype == self.dtype
        made = result if direct else np.empty(self.shape, self.dtype)
        if not large.full:
            made[...] = 0.0
        given: np.ndarray = np.concatenate(arrays, dtype=self.dtype)
        if getattr(self._local, "work", None) is None:
            self._local.work = np.zeros(self._kept, self.dtype)
        work, n = self._local.work, self.shape[-1]
        self._run(address_of(given), address_of(made), address_of(work))
        i, j = large.within
        for matrix, at in zip(made.reshape(-1, n, n) if large.below else (), large.below, strict=True):
            within = matrix[i, j]
            mirror(matrix, matrix if at is None else work[at : at + n * n].reshape(n, n), self.target)
            matrix[i, j] = within
        if not direct:
            result[...] = made

    def _load_steps(self, one_state: bool) -> tuple[dict[str, int], np.ndarray, np.ndarray]:
        """Return the addresses of the code, and the schedule with those of its steps."""
        plan = self._plan
        text = rolled_module(plan.steps, self.vectors, plan.columns, one_state)
        names = tuple(f"step{k}" for k in range(len(plan.steps)))
        symbols = ("kernel", *(("schedule", "run") if one_state else ()), *names)
        from_python = FROM_PYTHON if one_state else ()
        addresses, alive = load_or_compile_text(self.name, text, symbols, from_python, self.target)
        table = np.array([addresses[name] for name in names], dtype=np.int64)
        entries = plan.entries.copy()
        entries[:, 0] = table[entries[:, 0]]
        params: np.ndarray = plan.params.astype(self.dtype)
        self._alive += [alive, entries, params]
        return addresses, entries, params

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        if self.is_one_function:
            super()._run_batch(arrays, batch, result, threads)
            return
        spread = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays]
        for index in np.ndindex(*batch):
            self._run_single([a[index] for a in spread], result[index])

    @property
    def context_address(self) -> int:
        """The address of the schedule."""
        _ = self.lanes_address
        return address_of(self._context)
