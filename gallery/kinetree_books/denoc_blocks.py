"""Matrices whose rows and columns come in named blocks, for reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.errors import ShapeError, refuse_unknown
from kinetree.spatial.arrays import Array

WIDEST = 12
"""Matrices with more columns than this are printed as a pattern of blocks."""


class Axis:
    """The labeled blocks along one side of a matrix.

    blocks: Label and size of each block.
    parts: Further names of blocks or of parts of them. If a name is also a label, the label takes precedence.
    """

    def __init__(self, blocks: Iterable[tuple[str, int]], parts: Mapping[str, slice] | None = None) -> None:
        self.labels: list[str] = []
        self.slices: list[slice] = []
        self.size = 0
        for label, size in blocks:
            self.labels.append(label)
            self.slices.append(slice(self.size, self.size + size))
            self.size += size
        self._names = {**(parts or {}), **dict(zip(self.labels, self.slices, strict=True))}

    def __getitem__(self, name: str) -> slice:
        refuse_unknown("block", name, self._names)
        return self._names[name]

    def __iter__(self) -> Iterator[tuple[str, slice]]:
        return zip(self.labels, self.slices, strict=True)


class BlockMatrix:
    """A matrix whose rows and columns come in named blocks.

    ``matrix.array`` (or ``np.asarray(matrix)``) gives the numbers.  ``@`` with another block
    matrix keeps the labels; with anything else it gives a plain array.

    name: Its name when printed.

    Examples
    --------
    >>> import numpy as np
    >>> sides = Axis([("upper", 1), ("lower", 1)])
    >>> matrix = BlockMatrix(np.array([[2.0, 0.5], [0.5, 1.0]]), sides, sides, "I")
    >>> matrix.block("upper", "lower")
    array([[0.5]])
    >>> print(matrix)
    I (2 x 2)
          | upper | lower
    ------+-------+------
    upper |     2 |   0.5
    ------+-------+------
    lower |   0.5 |     1
    """

    def __init__(self, array: Array, rows: Axis, columns: Axis, name: str = "matrix") -> None:
        if array.shape != (rows.size, columns.size):
            raise ShapeError(f"{name} has shape {array.shape}, but its labels say {(rows.size, columns.size)}")
        self.array, self.rows, self.columns, self.name = array, rows, columns, name

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.rows.size, self.columns.size

    @property
    def row_labels(self) -> list[str]:
        """Labels of the blocks of rows."""
        return self.rows.labels

    @property
    def column_labels(self) -> list[str]:
        """Labels of the blocks of columns."""
        return self.columns.labels

    @property
    def T(self) -> BlockMatrix:
        """The transpose."""
        return BlockMatrix(self.array.T, self.columns, self.rows, f"{self.name}^T")

    def block(self, row: str, column: str) -> Array:
        """Return one block, by labels or by the names of their parts."""
        return self.array[self.rows[row], self.columns[column]]

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, BlockMatrix):
            return BlockMatrix(self.array @ other.array, self.rows, other.columns, f"{self.name} {other.name}")
        return self.array @ np.asarray(other)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype=dtype) if copy or dtype is not None else self.array

    def pattern(self) -> str:
        """Return text that shows which blocks are zero (``.``), the identity (``1``) and neither (``#``)."""
        cells = [[_symbol(self.array[r, c]) for _, c in self.columns] for _, r in self.rows]
        first = max(len(s) for s in self.row_labels)
        lines = [" ".join([" " * first, *self.column_labels])]
        for label, row in zip(self.row_labels, cells, strict=True):
            centered = [f"{cell:^{len(c)}}" for cell, c in zip(row, self.column_labels, strict=True)]
            lines.append(" ".join([f"{label:{first}}", *centered]).rstrip())
        return "\n".join([self._title(), *lines])

    def numbers(self, digits: int = 5) -> str:
        """Return every number as text, in separate blocks; exact zeros are dots."""
        texts = [[_number(x, digits) for x in row] for row in self.array]
        width = max(len(t) for row in texts for t in row)
        spans = [max((width + 2) * (c.stop - c.start) - 2, len(label)) for label, c in self.columns]
        first = max(len(s) for s in self.row_labels)
        rule = "-+-".join("-" * n for n in [first, *spans])
        header = " | ".join(f"{label:>{n}}" for label, n in zip(self.column_labels, spans, strict=True))
        lines = [f"{'':{first}} | {header}"]
        for label, rows in self.rows:
            lines.append(rule)
            for i in range(rows.start, rows.stop):
                cells = [_cell(texts[i][c], width, n) for (_, c), n in zip(self.columns, spans, strict=True)]
                lines.append(f"{label if i == rows.start else '':{first}} | " + " | ".join(cells))
        return "\n".join([self._title(), *lines])

    def _title(self) -> str:
        return f"{self.name} ({self.shape[0]} x {self.shape[1]})"

    def __str__(self) -> str:
        return self.numbers() if self.shape[1] <= WIDEST else self.pattern()

    def __repr__(self) -> str:
        return f"<BlockMatrix {self._title()}, rows {self.row_labels}, columns {self.column_labels}>"


def _cell(texts: Sequence[str], width: int, span: int) -> str:
    """Return the numbers of one row of one block as text, as wide as the block's column."""
    joined = "  ".join(f"{t:>{width}}" for t in texts)
    return f"{joined:>{span}}"


def _symbol(block: Array) -> str:
    if not block.any():
        return "."
    square = block.shape[0] == block.shape[1]
    return "1" if square and np.array_equal(block, np.eye(len(block))) else "#"


def _number(x: float, digits: int) -> str:
    return "." if x == 0.0 else f"{x:.{digits}g}"
