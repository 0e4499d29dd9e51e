"""The search for a closed configuration: from those that a file names, and then from random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...spatial.arrays import Array
from .. import closing_on_arrays
from ..tolerances import WIDEST

FEW_STEPS = 40
"""Steps in which a start that the model names must close, before others are tried."""

GUESSES_AT_ONCE = 20
"""Random guesses that are closed together."""


def is_closed(found: closing_on_arrays.Closed) -> Array:
    """Return which configurations are closed, or would be if redundant constraints did not contradict one another."""
    return np.asarray(found.done | (found.held & (np.abs(found.gaps).max(axis=-1, initial=0.0) <= WIDEST)))


@dataclass
class AssemblySearch:
    """Yields closed configurations, some at a time, and remembers what was tried.

    Parameters
    ----------
    problem : closing.ClosingProblem
    tolerance : float
    widest : callable
        Given the gaps of one configuration, returns the constraint with the largest one, its size and its unit.
    starts : dict
        Configurations to begin with, by name.
    guesses : ndarray, shape (N, nq)
        Random configurations to begin with afterwards.
    is_stretched : callable
        Given a configuration with small gaps, returns whether they remain because loops are stretched out.
    """

    problem: closing_on_arrays.ClosingProblem
    tolerance: float
    widest: Callable[[Array], tuple[str, float, str]]
    starts: dict[str, Array]
    guesses: Array
    is_stretched: Callable[[Array], bool] = lambda q: False
    tried: list[str] = field(default_factory=list)
    nearest: Array | None = None

    def __iter__(self) -> Iterator[Array]:
        for name, q in self.starts.items():
            self.tried.append(name)
            yield self._closed(q[None], FEW_STEPS)
        for first in range(0, len(self.guesses), GUESSES_AT_ONCE):
            part = self.guesses[first : first + GUESSES_AT_ONCE]
            yield self._closed(part, closing_on_arrays.MOST_STEPS)
        if len(self.guesses):
            self.tried.append(f"{len(self.guesses)} random configurations")

    def _closed(self, guesses: Array, most_steps: int) -> Array:
        # a guess may creep toward a dead end for a long time: the next one should not have to wait
        found = closing_on_arrays.close_wherever_it_can_be(self.problem, guesses, self.tolerance, True, most_steps)
        done = is_closed(found)
        for lane in np.flatnonzero(done & ~found.done):
            done[lane] = not self.is_stretched(found.q[lane])
        if not done.any():
            sizes = self.problem.size(found.gaps)
            best = found.gaps[int(np.argmin(np.where(np.isfinite(sizes), sizes, np.inf)))]
            if self.nearest is None or self.problem.size(best[None])[0] < self.problem.size(self.nearest[None])[0]:
                self.nearest = best
        return found.q[done]

    def how_far(self) -> str:
        """Return what was tried, and how large the gap of the best attempt remained, in words."""
        tried = ", ".join(self.tried[:-1]) + (" and " if len(self.tried) > 1 else "") + self.tried[-1]
        if self.nearest is None:
            return f"tried were {tried}"
        name, left, unit = self.widest(self.nearest)
        return f"from {tried}, the nearest remains off by {left:.3g} {unit} at joint {name!r}"


def contradicting(
    problem: closing_on_arrays.ClosingProblem,
    names: Sequence[str],
    counts: Sequence[int],
    guesses: Array,
    tolerance: float,
) -> list[str]:
    """Return the loops without which the others close: those that contradict one another.

    Parameters
    ----------
    problem : closing.ClosingProblem
        The problem with all loops.
    names, counts : sequences
        Names of the loops, and how many constraints each has, in order.
    guesses : ndarray (N, nq)
        Configurations to close from.
    tolerance : float
    """
    rows, guilty = np.arange(problem.gaps(guesses[:1]).shape[-1]), []
    for name, end, count in zip(names, np.cumsum(counts), counts, strict=True):
        kept = (rows < end - count) | (rows >= end)

        def gaps(q: Array, kept: Array = kept) -> Array:
            return problem.gaps(q) * kept

        def matrix(q: Array, kept: Array = kept) -> Array:
            return problem.matrix(q) * kept[:, None]

        without = replace(problem, gaps=gaps, matrix=matrix)
        if is_closed(closing_on_arrays.close_wherever_it_can_be(without, guesses.copy(), tolerance, True)).any():
            guilty.append(name)
    return guilty
