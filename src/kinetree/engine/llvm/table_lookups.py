"""Numbers looked up in tables, lane by lane: data that code finds by address when it runs.

A module with tables defines ``@tables``, two words for each: where its numbers are, and the number of its last row as a
floating-point number.  The code's loader fills them in.  Rows are kept within the table whatever they are, so no state
can make the code read elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..graph import Graph
from .emitter import Emitter

SYMBOL = "tables"

LAST_IN_SINGLE = 2**24
"""The largest row that single precision can count to."""


def table_words(count: int) -> str:
    """Define the words for a number of tables."""
    return f"@{SYMBOL} = global [{2 * count} x i64] zeroinitializer, align 8\n" if count else ""


def words_for(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Return the content of ``@tables``; the arrays must stay where they are."""
    words = np.empty((len(tables), 2), dtype=np.int64)
    for k, table in enumerate(tables):
        words[k, 0] = table.__array_interface__["data"][0]
        last = len(table) - 1
        words.view(np.float64)[k, 1] = min(last, LAST_IN_SINGLE) if table.dtype == np.float32 else last
    return words


class TableLookups:
    """Emits lookups within one function; a row that several numbers come from is found once."""

    def __init__(self, emitter: Emitter, graph: Graph) -> None:
        self.e, self.graph = emitter, graph
        self._rows: dict[tuple[int, int], tuple[str, str]] = {}
        self._places: dict[int, str] = {}

    def number(self, i: int, name: Callable[[int], str]) -> str:
        """Emit one lookup."""
        e = self.e
        which, columns, column = self.graph.gathered_from(i)
        row = self.graph.args[i][0]
        first = self.op(f"getelementptr {e.real}, ptr {self._place(which)}, i64 {column}")
        if self.graph.is_const(row) and self.graph.values[row] == 0.0:
            return self.e.spread(self.op(f"load {e.real}, ptr {first}, align {e.vectors.item}"))
        if (which, row) not in self._rows:
            self._rows[which, row] = self._offset(which, columns, name(row))
        offset, lost = self._rows[which, row]
        if e.lanes == 1:
            at = self.op(f"getelementptr {e.real}, ptr {first}, i32 {offset}")
            found = self.op(f"load {e.real}, ptr {at}, align {e.vectors.item}")
            return self.op(f"select i1 {lost}, {e.real} {e.number(float('nan'))}, {e.real} {found}")
        n = e.lanes
        at = self.op(f"getelementptr {e.real}, ptr {first}, <{n} x i32> {offset}")
        every = f"<{n} x i1> splat (i1 true)"
        found = self.op(
            f"call {e.type} @llvm.masked.gather.{e.vectors.suffix}.v{n}p0(<{n} x ptr> {at}, i32 {e.vectors.item}, "
            f"{every}, {e.type} poison)"
        )
        return self.op(f"select <{n} x i1> {lost}, {e.type} {e.number(float('nan'))}, {e.type} {found}")

    def op(self, text: str) -> str:
        """Emit an instruction."""
        return self.e.op(text)

    def _place(self, which: int) -> str:
        """Return the address of a table's numbers."""
        if which not in self._places:
            self._places[which] = self.op(f"load ptr, ptr getelementptr (i64, ptr @{SYMBOL}, i64 {2 * which})")
        return self._places[which]

    def _offset(self, which: int, columns: int, row: str) -> tuple[str, str]:
        """Return the offsets of rows, in numbers from the table's first one, and which lanes have no row."""
        e = self.e
        mask, whole = ("i1", "i32") if e.lanes == 1 else (f"<{e.lanes} x i1>", f"<{e.lanes} x i32>")
        last = self.op(f"load double, ptr getelementptr (i64, ptr @{SYMBOL}, i64 {2 * which + 1})")
        if e.single:
            last = self.op(f"fptrunc double {last} to float")
        last = self.e.spread(last)
        zero = e.number(0.0)
        lost = self.op(f"fcmp uno {e.type} {row}, {row}")
        above = self.op(f"fcmp ogt {e.type} {row}, {zero}")  # NaN is not
        risen = self.op(f"select {mask} {above}, {e.type} {row}, {e.type} {zero}")
        below = self.op(f"fcmp olt {e.type} {risen}, {last}")
        kept = self.op(f"select {mask} {below}, {e.type} {risen}, {e.type} {last}")
        number = self.op(f"fptosi {e.type} {kept} to {whole}")
        stride = f"{columns}" if e.lanes == 1 else f"splat (i32 {columns})"
        return (number if columns == 1 else self.op(f"mul {whole} {number}, {stride}")), lost
