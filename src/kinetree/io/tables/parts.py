"""What a table looks like to those who read it: parts, in order, of rows with times and an array per quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import FileFormatError, OptionError
from .columns import Layout

Array = np.ndarray

ROWS = 65_536
"""Rows of a part of a file that is no text."""


@dataclass(frozen=True)
class Rows:
    """Some rows of a table: times, if there are any, and an array per quantity."""

    time: Array | None
    arrays: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.arrays[0])


@dataclass(frozen=True)
class Part:
    """Some rows that have not been read yet."""

    read: Callable[[], Rows]
    fault: Callable[[int, str], FileFormatError]
    """Of one of its rows, counted from zero."""
    share: float
    """Of the whole file."""


@dataclass(frozen=True)
class OpenTable:
    """A table that can be read in parts, in order."""

    parts: Callable[[], Iterator[Part]]
    has_time: bool
    remark: str = ""
    """What the user should know, if told anything: columns that are not used, and all of ``rules``."""
    fewer: bool = False
    """Whether it holds the fewer columns that do as well."""
    quantities: tuple[str, ...] = ()
    """What the arrays of its rows are, in order."""
    groups: Callable[[Sequence[int]], Iterator[Part]] | None = None
    """Of a Parquet file the parts of some of its groups of rows."""
    rules: str = ""
    """What was understood by a rule, and not because the file says so in kinetree's own words."""
    doubt: str = ""
    """Why its columns may be others than they were taken for."""
    numbered: frozenset[str] = frozenset()
    """Quantities whose columns are numbered, or in plain order, and not named for their entries."""

    def parts_of(self, groups: Sequence[int]) -> Iterator[Part]:
        """Return the parts of some groups of rows of a Parquet file."""
        if self.groups is None:
            raise OptionError("only Parquet files without joints that follow others can be read from the middle")
        return self.groups(groups)

    def whole(self) -> tuple[Array | None, dict[str, Array]]:
        """Read all rows: times, if there are any, and the array of each quantity; without rows nothing of either."""
        rows = [part.read() for part in self.parts()]
        if not rows:
            return None, {}
        arrays = {key: np.concatenate([part.arrays[k] for part in rows]) for k, key in enumerate(self.quantities)}
        return (
            np.concatenate([part.time for part in rows if part.time is not None]) if self.has_time else None
        ), arrays


def opened(layout: Layout, parts: Callable[[], Iterator[Part]], rules: Sequence[str] = ()) -> OpenTable:
    """Return a table whose columns were found."""
    rules = [text for text in (*rules, layout.rules) if text]
    said = [*rules, *([layout.remark] if layout.remark else [])]
    names = tuple(layout.quantities)
    return OpenTable(
        parts, layout.time is not None, "; ".join(said), layout.fewer, names, rules="; ".join(rules),
        doubt=layout.doubt, numbered=layout.numbered,
    )  # fmt: skip
