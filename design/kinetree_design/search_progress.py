"""What a search tells while it runs: a bar on the terminal, and the best design so far for a callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from kinetree.errors import OptionError
from kinetree.io.progress import Bar
from kinetree.spatial.arrays import Array

from .free_numbers import FreeNumbers


@dataclass(frozen=True)
class SoFar:
    """The best design so far, as a callback of :func:`kinetree.design` gets it.

    Attributes
    ----------
    numbers : dict of str to float
        The free numbers by name, in SI.
    value : float
        What the search makes smaller.  While it looks for points to be met: by how much they are missed, as a fraction
        of the mechanism's size; otherwise the goals, in parts of what they were when the search began, and a thousand
        times what limits are exceeded by.
    done, total : int
        How many starts, evaluations or searches there were, and the most there can be.
    text : str
        The same in words.
    """

    numbers: dict[str, float]
    value: float
    done: int
    total: int
    text: str


class SearchProgress:
    """The progress of one search, for the terminal or a callback.

    Parameters
    ----------
    free : FreeNumbers
    wanted : bool or callable
        Whether to show a bar on a terminal; or what to call with each better design.
    """

    def __init__(self, free: FreeNumbers, wanted: bool | Callable[[SoFar], Any]) -> None:
        if not isinstance(wanted, bool) and not callable(wanted):
            raise OptionError(f"progress is True, False or what to call with the best design so far, not {wanted!r}")
        self.free, self.wanted = free, wanted
        self._bar: Bar | None = None
        self._total, self._done, self._least = 0, 0, float("inf")

    def of(self, total: int) -> Self:
        """Begin a stage with so many steps, which ends with the block."""
        self._total, self._done, self._least = total, 0, float("inf")
        self._bar = Bar(total, "design", counted=True, wanted=self.wanted is True)
        return self

    def __enter__(self) -> Self:
        assert self._bar is not None
        self._bar.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        assert self._bar is not None
        self._bar.__exit__(*problem)
        self._bar = None

    def step(self, done: int) -> None:
        """Set how many steps are done."""
        self._done = done
        if self._bar is not None:
            self._bar.show(done)

    def tell(self, u: Array, value: float, text: str) -> None:
        """Tell a design, if it is the best of this stage."""
        if not value < self._least:
            return
        self._least = value
        if self._bar is not None:
            self._bar.show(self._done, f"design: {text}")
        if callable(self.wanted):
            numbers = dict(zip(self.free.names, u.tolist(), strict=True))
            self.wanted(SoFar(numbers, float(value), self._done, self._total, text))
