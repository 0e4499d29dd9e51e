"""The interface of tables: ordered parts of rows, with times and an array per quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import FileFormatError, OptionError
from .columns import Layout

Array = np.ndarray

ROWS = 65_536
"""Rows per part of a binary file."""


@dataclass(frozen=True)
class Rows:
    """Some rows of a table: times, if there are any, and an array per quantity."""

    time: Array | None
    arrays: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.arrays[0])


def rows_of(layout: Layout, column: Callable[[int], Array]) -> Rows:
    """Return rows from a function that reads a column, in the requested units."""
    own = tuple(np.stack([column(k) for k in ks], axis=1) for ks in layout.quantities.values())
    time = None if layout.time is None else column(layout.time)
    if time is not None and layout.nanoseconds is not None:
        time = time + 1e-9 * column(layout.nanoseconds)
    return Rows(time, own)


@dataclass(frozen=True)
class Part:
    """Some rows that have not been read yet."""

    read: Callable[[], Rows]
    fault: Callable[[int, str], FileFormatError]
    """Makes an error about one of its rows, counted from zero."""
    share: float
    """Fraction of the whole file."""


@dataclass(frozen=True)
class OpenTable:
    """A table that can be read in parts, in order."""

    parts: Callable[[], Iterator[Part]]
    has_time: bool
    remark: str = ""
    """Remarks for the user: unused columns, and all of ``rules``."""
    fewer: bool = False
    """Whether it has only the sufficient subset of columns."""
    quantities: tuple[str, ...] = ()
    """The quantities of the arrays of its rows, in order."""
    groups: Callable[[Sequence[int]], Iterator[Part]] | None = None
    """For a Parquet file: returns the parts of some of its row groups."""
    rules: str = ""
    """Inferences that were made by a rule, because the file does not use kinetree's own names."""
    doubt: str = ""
    """Why its columns may have been misunderstood."""
    numbered: frozenset[str] = frozenset()
    """Quantities whose columns are numbered or in plain order instead of named."""

    def parts_of(self, groups: Sequence[int]) -> Iterator[Part]:
        """Return the parts of some row groups of a Parquet file."""
        if self.groups is None:
            raise OptionError("only Parquet files without joints that follow others can be read from the middle")
        return self.groups(groups)

    def whole(self) -> tuple[Array | None, dict[str, Array]]:
        """Read all rows: times, if there are any, and the array of each quantity; None and no arrays without rows."""
        rows = [part.read() for part in self.parts()]
        if not rows:
            return None, {}
        arrays = {key: np.concatenate([part.arrays[k] for part in rows]) for k, key in enumerate(self.quantities)}
        return (
            np.concatenate([part.time for part in rows if part.time is not None]) if self.has_time else None
        ), arrays


def opened(layout: Layout, parts: Callable[[], Iterator[Part]], rules: Sequence[str] = ()) -> OpenTable:
    """Return a table with a known layout."""
    rules = [text for text in (*rules, layout.rules) if text]
    said = [*rules, *([layout.remark] if layout.remark else [])]
    names = tuple(layout.quantities)
    return OpenTable(
        parts, layout.time is not None, "; ".join(said), layout.fewer, names, rules="; ".join(rules),
        doubt=layout.doubt, numbered=layout.numbered,
    )  # fmt: skip
