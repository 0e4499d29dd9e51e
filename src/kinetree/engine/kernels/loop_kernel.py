"""Kernels whose machine code is a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..llvm.body_loops import rolled_module
from ..llvm.streaming import place_words
from ..load_code import load_or_compile_text
from ..make_once import made_once
from .kernel import Kernel, address_of


@dataclass
class LoopKernel(Kernel):
    """A kernel whose machine code is a loop: one state goes through it as a batch of one."""

    def is_ready(self, batch: bool) -> bool:
        """Return whether the one form that there is is at hand."""
        return super().is_ready(True)

    @property
    def sends(self) -> bool:
        """A loop has no place of its own for that."""
        return False

    @property
    def single_address(self) -> int:  # type: ignore[override]
        """The same loop."""
        return self.lanes_address

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._run_batch([np.atleast_2d(a) for a in arrays], (1,), result, 1)


@dataclass
class RolledKernel(LoopKernel):
    """A kernel that runs a schedule of steps, for what is too long to unroll.

    ``schedule`` returns the steps, one row of offsets per call (step number first), the
    parameters, and the number of work vectors.
    """

    schedule: Callable[[], Any] | None = None

    @made_once
    def _plan(self) -> Any:
        assert self.schedule is not None
        return self.schedule()

    @property
    def work_vectors(self) -> int:
        """Vectors that the steps keep between them."""
        return int(self._plan.work_vectors)

    @made_once
    def lanes_address(self) -> int:
        """Machine code of the loop, with its schedule filled in."""
        plan = self._plan
        text = rolled_module(plan.steps, self.vectors)
        names = tuple(f"step{k}" for k in range(len(plan.steps)))
        addresses, alive = load_or_compile_text(self.name, text, ("kernel", *names), target=self.target)
        table = np.array([addresses[name] for name in names], dtype=np.int64)
        entries = plan.entries.copy()
        entries[:, 0] = table[entries[:, 0]]
        params = plan.params.astype(self.dtype)
        words = (len(entries), address_of(entries), address_of(params), self.size, entries.shape[1])
        self._context = np.array(words, dtype=np.int64)
        places = place_words(np.arange(self.size) * self._vector_bytes, self.vectors.per_line)
        self._places = address_of(places)
        self._alive += [alive, entries, params, self._context, places]
        return addresses["kernel"]

    @property
    def context_address(self) -> int:
        """Where the schedule is."""
        return address_of(self._context)
