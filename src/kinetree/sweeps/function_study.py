"""What every study of a sweep answers, and the simplest: a function of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import OptionError
from ..spatial.arrays import Array
from .fingerprints import fingerprint_of

Columns = Mapping[str, Array]

LOST = "the motion became NaN or infinite on the way: a smaller step may help"
NOT_CLOSED = "the loops cannot be closed all along the motion"
AT_ONCE = 4096
"""Rows that are computed together: enough for the vectors and threads of any processor."""


class SweepStudy:
    """What is computed for each row."""

    label = "study"

    def check(self, names: tuple[str, ...]) -> None:
        """Refuse parameters that it does not have."""

    def own(self, name: str) -> float:
        """Return what a parameter is if nothing else is said, for designs that multiply it."""
        raise OptionError(
            f"parameter {name!r} is drawn relative to what the model has, and a function has no model: give its numbers"
        )

    def compute(self, columns: Columns) -> dict[str, Any]:
        """Return an array for each output; one named ``failure`` says in words what went wrong."""
        raise NotImplementedError

    @property
    def rows_at_once(self) -> int:
        """How many rows are computed together, as far as memory and kernels are concerned."""
        return AT_ONCE

    def content(self) -> Any:
        """Return all that decides the answers."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """What tells this study from any other."""
        return fingerprint_of(self.content())


class FunctionStudy(SweepStudy):
    """A function of one's own: of a mapping from names to arrays (n,), it returns a mapping from names to arrays."""

    def __init__(self, function: Callable[[dict[str, Array]], Mapping[str, Any]]) -> None:
        self.function = function
        self.label = getattr(function, "__name__", type(function).__name__)

    def compute(self, columns: Columns) -> dict[str, Any]:
        """Call it."""
        found = self.function(dict(columns))
        if not isinstance(found, Mapping) or not found:
            # the type alone: words that are the same for all rows tell that no row can work
            what = "an empty one" if isinstance(found, Mapping) else type(found).__name__
            raise OptionError(
                f"the function of a sweep returns a mapping of names to arrays, such as {{'cost': ...}}, not {what}"
            )
        return dict(found)

    def content(self) -> Any:
        """Return the function."""
        return self.function
