"""The interface of studies of a sweep, and the simplest study: a user's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kinetree.errors import OptionError
from kinetree.spatial.arrays import Array

from .fingerprints import fingerprint_of

Columns = Mapping[str, Array]

LOST = "the motion became NaN or infinite on the way: a smaller step may help"
NOT_CLOSED = "the loops cannot be closed all along the motion"
AT_ONCE = 4096
"""Number of rows that are computed together: enough for the vectors and threads of any processor."""


class SweepStudy:
    """The computation that is done for each row."""

    label = "study"

    def check(self, names: tuple[str, ...]) -> None:
        """Refuse parameters that the study does not have."""

    def own(self, name: str) -> float:
        """Return the default value of a parameter, for designs that multiply it."""
        raise OptionError(
            f"parameter {name!r} is drawn relative to what the model has, and a function has no model: give its numbers"
        )

    def compute(self, columns: Columns) -> dict[str, Any]:
        """Return an array for each output; the one named ``failure`` describes what went wrong."""
        raise NotImplementedError

    @property
    def rows_at_once(self) -> int:
        """The best number of rows to compute together, considering memory and kernels."""
        return AT_ONCE

    def content(self) -> Any:
        """Return everything that determines the results."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """A text that distinguishes this study from any other."""
        return fingerprint_of(self.content())


class FunctionStudy(SweepStudy):
    """A user's function that takes and returns mappings from names to arrays (n,)."""

    def __init__(self, function: Callable[[dict[str, Array]], Mapping[str, Any]]) -> None:
        self.function = function
        self.label = getattr(function, "__name__", type(function).__name__)

    def compute(self, columns: Columns) -> dict[str, Any]:
        """Call the function."""
        found = self.function(dict(columns))
        if not isinstance(found, Mapping) or not found:
            # only the type: a message that is the same for all rows means that no row can work
            what = "an empty one" if isinstance(found, Mapping) else type(found).__name__
            raise OptionError(
                f"the function of a sweep returns a mapping of names to arrays, such as {{'cost': ...}}, not {what}"
            )
        return dict(found)

    def content(self) -> Any:
        """Return the function."""
        return self.function
