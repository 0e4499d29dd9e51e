"""Reading tables of motions in parts: text, Parquet, and arrays of NumPy or MATLAB; errors name file and row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...errors import FileFormatError, KinetreeError, MissingFileError
from ..paths import file_meant, is_file, is_folder
from ..units import TIMES
from .arrays import ArrayTable
from .columns import Asked, Units, Wanted, in_seconds
from .csv_head import decoded, is_number, read_head, refuse_lone_returns, split
from .formats import need_pyarrow, pyarrow, readable_format
from .joints_in_rows import named_by_row, of_another_joint
from .parts import ROWS, Array, OpenTable, Part, Rows, opened, rows_of

BLOCK = 4_000_000
"""Bytes per part of a CSV file."""

DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\s*\d{1,2}:\d{2}")
NUMBER_AND_UNIT = re.compile(r"\s*[+-]?[\d.]+(?:[eE][+-]?\d+)?\s*([A-Za-z°]+)\s*")


def open_table(
    path: Path, wanted: Wanted, fewer: Wanted | None = None, units: Units | None = None, optional: Wanted | None = None
) -> OpenTable:
    """Open a file and read its head; rows are read part by part.

    wanted, fewer, units, optional: See :class:`.columns.Asked`.
    """
    kind = readable_format(path)
    if is_folder(path):
        raise FileFormatError("this is not a file", str(path))
    if not is_file(path):
        raise MissingFileError(f"there is no file {str(path)!r}{file_meant(path)}")
    tables = {".parquet": ParquetTable, ".npz": ArrayTable, ".mat": ArrayTable}
    table: type[CsvTable | ParquetTable | ArrayTable]
    table = tables.get(kind, CsvTable)  # type: ignore[assignment]
    try:
        return table(path, Asked(wanted, fewer, units, optional)).source()
    except KinetreeError:
        raise
    except OSError as problem:
        raise FileFormatError(f"this file cannot be read ({problem.strerror or problem})", str(path)) from None


# ------------------------------------------------------------------ CSV


class CsvTable:
    """Comma-separated values; also with semicolons, tabs or spaces, and with decimal commas.

    Every line is a row. An empty line is an error (possibly a lost sample) except at the end of the file.
    """

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path, self.file = path, str(path)
        self.head = head = read_head(path)
        self.count, self.delimiter = head.count, head.delimiter
        self.layout = asked.layout(self.file, head.names, head.count)
        self._find_unit_of_times()

    def _find_unit_of_times(self) -> None:
        """Convert times since 1970 that are not in seconds."""
        time = self.layout.time
        if time is None or self.layout.nanoseconds is not None:
            return
        with self.path.open("rb") as stream:
            for _ in range(self.head.skipped):
                stream.readline()
            row = stream.readline().decode("utf-8", "replace")
        try:
            first = float(split(row, self.delimiter)[time].replace(self.head.decimal, "."))
        except (ValueError, IndexError, csv.Error):
            return  # reading the row reports what is wrong with it
        self.layout = in_seconds(self.layout, first)

    def source(self) -> OpenTable:
        """Return the table, ready to be read."""
        return opened(self.layout, self.parts, self.head.rules)

    def parts(self) -> Iterator[Part]:
        """Yield blocks of whole lines."""
        size = max(1, self.path.stat().st_size)
        line, empty = 1, 0
        with self.path.open("rb") as stream:
            for _ in range(self.head.skipped):
                stream.readline()
                line += 1
            while block := stream.read(BLOCK) + stream.readline():
                rows = block.rstrip(b"\r\n")
                if rows:
                    yield self._part(rows, line, len(block) / size, empty)
                if block.count(b"\n", len(rows)) > bool(rows):
                    empty = empty or line + rows.count(b"\n") + bool(rows)
                line += block.count(b"\n")

    def _part(self, block: bytes, line: int, share: float, empty: int) -> Part:
        """Make a part of some lines; ``empty`` is the number of an empty line just before them, if any, else zero."""

        def fault(row: int, message: str) -> FileFormatError:
            return FileFormatError(message, self.file, line + row)

        return Part(lambda: self._read(block, line, empty), fault, share)

    def _refuse_empty(self, line: int) -> NoReturn:
        raise FileFormatError("the line is empty; empty lines are allowed only at the end of the file", self.file, line)

    def _read(self, block: bytes, line: int, empty: int) -> Rows:
        if empty:
            self._refuse_empty(empty)
        refuse_lone_returns(self.file, block, line)
        if self.delimiter == " ":  # any number of spaces and tabs
            block = b"\n".join(b" ".join(row.split()) for row in block.split(b"\n"))
        columns = csv_numbers(block, self.count, self.layout.used, self.delimiter, self.head.decimal)
        if columns is None:  # not installed, or something is wrong: the slow reader reports the error and its position
            columns = self._carefully(block, line)
        if self.head.joints:
            self._refuse_other_joints(block, line)
        for k, times in self.layout.factors.items():
            columns[k] = columns[k] * times
        return rows_of(self.layout, columns.__getitem__)

    def _cells(self, block: bytes, line: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of every row, with the number of its line."""
        reader = csv.reader(io.StringIO(decoded(self.file, block, line)), delimiter=self.delimiter)
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as problem:
                here = line + reader.line_num - 1
                raise FileFormatError(f"the line cannot be read ({problem})", self.file, here) from None
            if cells is None:
                return
            yield line + reader.line_num - 1, cells

    def _refuse_other_joints(self, block: bytes, line: int) -> None:
        """Refuse rows that name other joints than the first row: their numbers do not belong to the columns' joints."""
        for here, cells in self._cells(block, line):
            for k, joint in self.head.joints.items():
                if cells[k].strip() != joint:
                    column = self.layout.names[k]
                    raise FileFormatError(of_another_joint(column, joint, cells[k].strip()), self.file, here)

    def _carefully(self, block: bytes, line: int) -> dict[int, Array]:
        used = self.layout.used
        rows = []
        for here, cells in self._cells(block, line):
            if not any(cell.strip() for cell in cells) and len(cells) < 2:
                self._refuse_empty(here)
            if len(cells) != self.count:
                self._refuse_count(len(cells), here)
            rows.append([self._number(cells[k], k, here) for k in used])
        table = np.array(rows, dtype=float).reshape(len(rows), len(used))
        return {k: table[:, i] for i, k in enumerate(used)}

    def _refuse_count(self, count: int, line: int) -> NoReturn:
        words = f"{count} columns, where the first line has {self.count}"
        if count == 2 * self.count and self.delimiter == ",":
            words += (
                "; decimal commas cannot be distinguished from those between columns: write semicolons between these"
            )
        raise FileFormatError(words, self.file, line)

    def _number(self, cell: str, column: int, line: int) -> float:
        name, decimal = self.layout.names[column], self.head.decimal
        if not cell.strip():
            raise FileFormatError(f"the value of {name!r} is missing", self.file, line)
        plain = cell if decimal == "." or "." in cell else cell.replace(decimal, ".")
        if decimal != "." and is_number(cell) and "." in cell:
            words = f"{name!r} is {cell.strip()!r}, while other numbers have decimal commas: write all in one way"
            raise FileFormatError(words, self.file, line)
        if not is_number(plain):
            hint = ""
            if DATE.match(cell):
                hint = "; write times as seconds, in pandas (t - t.iloc[0]).dt.total_seconds()"
            elif unit := NUMBER_AND_UNIT.fullmatch(cell):
                hint = f"; leave the unit out of every cell, and name the column '{name} [{unit[1]}]'"
            raise FileFormatError(f"{name!r} must be a number, not {cell.strip()!r}{hint}", self.file, line)
        return float(plain)


def csv_numbers(
    block: bytes, count: int, used: Sequence[int], delimiter: str = ",", decimal: str = "."
) -> dict[int, Array] | None:
    """Return columns of numbers read by pyarrow from whole lines; None if it is missing, or something is wrong.

    block: Lines, without names.
    count: Columns of the file.
    used: The columns to read.
    delimiter: Delimiter between columns.
    decimal: The decimal point, or comma.
    """
    found = pyarrow()
    if found is None:
        return None
    needed = [str(k) for k in used]
    kind = found.csv
    try:
        table = kind.read_csv(
            found.py_buffer(block),
            read_options=kind.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=[str(k) for k in range(count)]
            ),
            parse_options=kind.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            convert_options=kind.ConvertOptions(
                column_types=dict.fromkeys(needed, found.float64()),
                null_values=[],
                include_columns=needed,
                decimal_point=decimal,
            ),
        )
    except found.ArrowInvalid:
        return None
    # to_numpy would import pandas, which takes longer than reading a hundred thousand rows
    return {int(name): np.from_dlpack(table.column(name).combine_chunks()) for name in needed}


# ------------------------------------------------------------------ Parquet


def _is_text(arrow: Any, kind: Any) -> bool:
    kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))


class ParquetTable:
    """A Parquet file whose columns are read by name."""

    def __init__(self, path: Path, asked: Asked) -> None:
        arrow = need_pyarrow()
        self.path, self.file = path, str(path)
        try:
            self.schema = arrow.parquet.read_schema(path)
            names = list(self.schema.names)
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as problem:
            raise FileFormatError(f"this is not a Parquet file ({problem})", self.file) from None
        says_nothing = names == [str(k) for k in range(len(names))]
        self.joints: dict[int, str] = {}
        texts = [k for k, kind in enumerate(self.schema.types) if _is_text(arrow, kind)]
        if texts:
            found, self.joints = named_by_row(names, self._first_row(texts))
            names = list(found)
        self.layout = asked.layout(self.file, None if says_nothing else names, len(names))
        for k in self.layout.used:
            kind = self.schema.types[k]
            if k == self.layout.time and arrow.types.is_timestamp(kind):
                factors = {**self.layout.factors, k: TIMES[kind.unit]}
                self.layout = replace(self.layout, factors=factors)
            elif not (arrow.types.is_floating(kind) or arrow.types.is_integer(kind)):
                raise FileFormatError(f"column {names[k]!r} holds {kind}, not numbers", self.file)
        self._find_unit_of_times()

    def _find_unit_of_times(self) -> None:
        """Convert times since 1970 that are not in seconds."""
        time = self.layout.time
        if time is None or self.layout.nanoseconds is not None:
            return
        for first in self._first_row([time]).values():
            self.layout = in_seconds(self.layout, float(np.asarray(first).astype(float)))

    def _first_row(self, columns: Sequence[int]) -> dict[int, Any]:
        """Return the values in the first row of some columns, without missing ones."""
        arrow = need_pyarrow()
        try:
            with arrow.parquet.ParquetFile(self.path) as file:
                batch = next(file.iter_batches(1, columns=[self.schema.names[k] for k in columns]), None)
                if batch is None or not batch.num_rows:
                    return {}
                own = {k: batch.column(self.schema.names[k]) for k in columns}
                return {k: np.asarray(x)[0] for k, x in own.items() if not x.null_count}
        except (arrow.ArrowException, OSError):
            return {}  # reading the rows reports what is wrong with them

    def source(self) -> OpenTable:
        """Return the table, ready to be read."""
        return replace(opened(self.layout, self.parts), groups=self.parts)

    def parts(self, groups: Sequence[int] | None = None) -> Iterator[Part]:
        """Yield batches of rows, of some groups or of all."""
        names = [self.schema.names[k] for k in sorted({*self.layout.used, *self.joints})]
        arrow, first = need_pyarrow(), 0
        try:
            with arrow.parquet.ParquetFile(self.path) as file:
                total = max(1, file.metadata.num_rows)
                if groups is not None:
                    first = sum(file.metadata.row_group(k).num_rows for k in range(groups[0]))
                for batch in file.iter_batches(ROWS, row_groups=groups, columns=names):
                    yield self._part(batch, first, batch.num_rows / total)
                    first += batch.num_rows
        except (arrow.ArrowException, OSError) as problem:  # damage after the head
            raise FileFormatError(f"the file cannot be read beyond row {first} ({problem})", self.file) from None

    def _part(self, batch: Any, first: int, share: float) -> Part:
        def fault(row: int, message: str) -> FileFormatError:
            return FileFormatError(f"row {first + row + 1}: {message}", self.file)

        def column(k: int) -> Array:
            values = batch.column(self.schema.names[k])
            if values.null_count:
                empty = int(np.argmax(np.asarray(values.is_null())))
                raise fault(empty, f"the value of {self.schema.names[k]!r} is missing")
            return np.asarray(values).astype(float) * self.layout.factors.get(k, 1.0)

        def read() -> Rows:
            for k, joint in self.joints.items():
                here = batch.column(self.schema.names[k]).to_pylist()
                other = next((row for row, one in enumerate(here) if one != joint), None)
                if other is not None:
                    raise fault(other, of_another_joint(self.schema.names[k], joint, str(here[other])))
            return rows_of(self.layout, column)

        return Part(read, fault, share)
