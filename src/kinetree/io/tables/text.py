"""Small tables for people to read, on a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from numbers import Real

MOST_ROWS = 24
"""The most rows that are shown; the rest is counted."""


@dataclass(frozen=True)
class TextTable:
    """Rows of words and numbers under column names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    """Numbers are written with four digits and right-aligned."""
    title: str = ""
    """A line above."""
    more: str = ""
    """How to see rows that are not shown: ``"forces.multipliers has all"``."""
    notes: Sequence[str] = ()
    """Lines below."""

    def __str__(self) -> str:
        cells = [[str(name) for name in self.columns], *([_written(x) for x in row] for row in self.rows[:MOST_ROWS])]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.columns))]
        right = [self._is_number(k) for k in range(len(self.columns))]
        lines = [
            "  ".join(x.rjust(w) if r else x.ljust(w) for x, w, r in zip(row, widths, right, strict=True)).rstrip()
            for row in cells
        ]
        return "\n".join([*([self.title] if self.title else []), *lines, *self._below()])

    def html(self) -> str:
        """Return the table in HTML, for a notebook."""
        head = "".join(f"<th>{escape(str(name))}</th>" for name in self.columns)
        styles = [' style="text-align: right"' if self._is_number(k) else "" for k in range(len(self.columns))]
        body = "".join(
            "<tr>" + "".join(f"<td{s}>{escape(_written(x))}</td>" for x, s in zip(row, styles, strict=True)) + "</tr>"
            for row in self.rows[:MOST_ROWS]
        )
        title = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        rest = "".join(f"<p>{escape(line)}</p>" for line in self._below())
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _below(self) -> list[str]:
        rest = len(self.rows) - MOST_ROWS
        left_out = [f"... and {rest} more{': ' + self.more if self.more else ''}"] if rest > 0 else []
        return [*left_out, *self.notes]

    def _is_number(self, k: int) -> bool:
        return bool(self.rows) and all(row[k] == "" or isinstance(row[k], Real) for row in self.rows)


def _written(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    return str(value) if isinstance(value, int) else f"{float(value) + 0.0:.4g}"
