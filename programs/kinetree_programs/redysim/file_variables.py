"""The variables that a ReDySim file leaves behind, by name."""

from __future__ import annotations

import numpy as np

from kinetree.errors import FileFormatError
from kinetree.spatial.arrays import Array

from ..matlab.call_variables import CallFrame
from ..matlab.values import Matrix


class FileNumbers:
    """Known numbers of a file.

    Parameters
    ----------
    frame : CallFrame
        The variables after running the file.
    """

    def __init__(self, frame: CallFrame) -> None:
        self.file, self.lines = frame.file, frame.lines
        self.values = {
            name: value.numbers().data.ravel(order="F")
            for name, value in frame.variables.items()
            if isinstance(value, Matrix) and value.is_plain
        }
        self.others = [name for name in frame.variables if name not in self.values]
        self.extra: dict[str, int] = {}
        """Vectors that are longer than needed, and by how much."""

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def first(self, *names: str) -> str | None:
        """Return the first of some names that has a value."""
        return next((name for name in names if name in self.values), None)

    def vector(self, name: str, count: int | None = None, longer: bool = False) -> Array:
        """Return a row or column as a vector; ReDySim ignores entries after those it needs."""
        if name not in self.values:
            why = " that is numbers" if name in self.others else ""
            raise FileFormatError(f"there is no {name!r}{why}", self.file)
        value = self.values[name]
        if count is not None and (value.size < count or (value.size > count and not longer)):
            wanted = "be a single number" if count == 1 else f"have {count} numbers"
            raise FileFormatError(f"{name!r} must {wanted}, got {value.size}", self.file, self.line(name))
        if count is not None and value.size > count:
            self.extra[name] = value.size - count
            value = value[:count]
        if not np.isfinite(value).all():
            raise FileFormatError(f"{name!r} has an entry that is not a finite number", self.file, self.line(name))
        return value

    def number(self, name: str) -> float:
        """Return a single number."""
        return float(self.vector(name, 1)[0])

    def number_of(self, *names: str) -> float | None:
        """Return the first of some numbers that exists."""
        found = self.first(*names)
        return None if found is None else self.number(found)

    def line(self, name: str) -> int | None:
        """Return the line where a variable was last assigned."""
        return self.lines.get(name)
