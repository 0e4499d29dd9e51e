"""A search by CMA-ES, which needs no gradients: for goals that are users' functions, or that are not smooth.

Populations of designs are evaluated in batches; limits count by a thousand times what they are exceeded by, and designs
that do not follow the motion are worse than all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.io.interrupts import are_interrupts_passed_on
from kinetree.spatial.arrays import Array

if TYPE_CHECKING:
    from .search import DesignSearch

SPREAD = 0.2
"""Standard deviation of the first population, in parts of the ranges."""

EVALUATIONS = 400
"""The most designs that a run evaluates, for each free number and three more."""

SMALLEST, FLAT = 1e-9, 1e-11
"""A run ends when populations are this small, in parts of the ranges, or their merits differ by this little."""

OF_NO_USE = 1e9
"""Merit of designs that do not follow the motion."""


def need_cma() -> Any:
    """Return the package cma, or raise an error that says how to get it."""
    try:
        import cma
    except ImportError as problem:
        said = "searches without gradients are those of the package cma: pip install 'kinetree[design]'"
        raise KinetreeError(said) from problem
    return cma


class EvolutionSearch:
    """Runs of CMA-ES over a design's numbers.

    Parameters
    ----------
    of : DesignSearch
    """

    def __init__(self, of: DesignSearch) -> None:
        self.of, self.free, self.cma = of, of.free, need_cma()
        self.loose = np.flatnonzero([name not in of.idle for name in self.free.names])
        self.best, self.least = of.free.start.copy(), np.inf

    def run(self, starts: Array) -> Array:
        """Return the best design of one run from each of several starts, (n,)."""
        each = EVALUATIONS * (len(self.loose) + 3)
        with self.of.progress.of(each * len(starts)):
            try:
                for k, start in enumerate(starts):
                    self._once(start, k * each, each)
            except KeyboardInterrupt:
                if are_interrupts_passed_on():
                    raise
                self.of.interrupted = True
        return self.best

    def _once(self, start: Array, done: int, most: int) -> None:
        """Search from one design."""
        span = (self.free.high - self.free.low)[self.loose]
        begin = (start - self.free.low)[self.loose] / span
        width = max(2, len(begin))  # cma takes no less than two numbers
        options = {
            "bounds": [0.0, 1.0], "seed": int(self.of.rng.integers(1, 2**31)), "maxfevals": most, "tolx": SMALLEST,
            "tolfun": FLAT, "tolfunhist": FLAT, "verbose": -9,
        }  # fmt: skip
        evolution = self.cma.CMAEvolutionStrategy(np.resize(begin, width), SPREAD, options)
        while not evolution.stop():
            asked = evolution.ask()
            u = np.tile(start, (len(asked), 1))
            u[:, self.loose] = self.free.low[self.loose] + np.array(asked)[:, : len(begin)] * span
            merits = self._merits(np.clip(u, self.free.low, self.free.high))
            evolution.tell(asked, merits.tolist())
            self.of.progress.step(done + int(evolution.countevals))

    def _merits(self, u: Array) -> Array:
        """Return the merits of designs, and keep the best."""
        found = self.of.of.evaluate(u, self.of.asked, None)
        merits = np.where(found.follows, self.of.merit(found.values, slack=0.0) + self.of.crowded(u), OF_NO_USE)
        first = int(np.argmin(merits))
        if merits[first] < self.least and found.follows[first]:
            self.best, self.least = u[first].copy(), float(merits[first])
            self.of.progress.tell(self.best, self.least, f"best so far {self.least:.6g} of the first")
        return merits
