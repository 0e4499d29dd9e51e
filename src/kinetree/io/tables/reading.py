"""Tables of motions read in parts: ``.csv``, ``.parquet``, ``.npz`` and ``.mat``, every fault with its file and row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...errors import FileFormatError, KinetreeError, MissingFileError, OptionError
from ..paths import file_meant, is_file, is_folder
from .columns import OTHER_WORDS, Layout, Units, Wanted, layout, with_optional
from .formats import RECORD_MARK, format_of, need_pyarrow, pyarrow

Array = np.ndarray
BLOCK = 4_000_000
"""Bytes of a part of a CSV file."""
LONE_RETURN = re.compile(rb"\r(?!\n)")
PEEK = 65_536
"""Bytes that tell how numbers are written."""
DECIMAL_COMMA, DECIMAL_POINT = (
    re.compile(rb"(?:^|[;\t])\s*[-+]?\d*" + mark + rb"\d+(?:[eE][-+]?\d+)?\s*(?=[;\t\r\n]|$)", re.MULTILINE)
    for mark in (b",", rb"\.")
)
ROWS = 65_536
"""Rows of a part of the other files."""


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
    fewer: bool = False
    """Whether it holds the fewer columns that do as well."""
    quantities: tuple[str, ...] = ()
    """What the arrays of its rows are, in order."""
    groups: Callable[[Sequence[int]], Iterator[Part]] | None = None
    """Of a Parquet file the parts of some of its groups of rows."""
    doubt: str = ""
    """Why columns may be others than they were taken for."""

    def parts_of(self, groups: Sequence[int]) -> Iterator[Part]:
        """Return the parts of some groups of rows of a Parquet file."""
        if self.groups is None:
            raise OptionError("only Parquet files without joints that follow others can be read from the middle")
        return self.groups(groups)


def open_table(
    path: Path,
    wanted: Wanted,
    fewer: Wanted | None = None,
    units: Units | None = None,
    optional: Wanted | None = None,
) -> OpenTable:
    """Look at the head of a file; its rows are read when its parts are.

    Parameters
    ----------
    path : Path
    wanted : mapping
        Quantities with the names of their entries.
    fewer : mapping, optional
        Some of these entries, with which alone a table does as well.
    units : mapping, optional
        What the entries are measured in: columns whose names end in another unit, ``q_elbow [deg]``, are converted.
    optional : mapping, optional
        Further quantities, read where the table has them.
    """
    kind = path.suffix.lower()
    kind = kind if kind == ".mat" else format_of(path, "tables are .csv, .parquet, .npz or .mat files")
    if is_folder(path):
        raise FileFormatError("this is no file", str(path))
    if not is_file(path):
        raise MissingFileError(f"there is no file {str(path)!r}{file_meant(path)}")
    table: type[CsvTable | ParquetTable | NpzTable]
    table = {".csv": CsvTable, ".parquet": ParquetTable, ".npz": NpzTable, ".mat": MatTable}[kind]  # type: ignore[assignment]
    try:
        return table(path, wanted, fewer, units, optional).source()
    except KinetreeError:
        raise
    except OSError as problem:
        raise FileFormatError(f"this file cannot be read ({problem.strerror or problem})", str(path)) from None


# ------------------------------------------------------------------ CSV


class CsvTable:
    """Comma-separated values; semicolons and tabs are understood, too, and decimal commas between these.

    Every line is a row.  An empty one is a fault (a lost sample, perhaps) but for those at the end of the file.
    """

    def __init__(
        self,
        path: Path,
        wanted: Wanted,
        fewer: Wanted | None = None,
        units: Units | None = None,
        optional: Wanted | None = None,
    ) -> None:
        self.path, self.file = path, str(path)
        with path.open("rb") as stream:
            first = stream.readline()
            self.skipped = 1 if first.startswith(RECORD_MARK.encode()) else 0
            if self.skipped:
                first = stream.readline()
            more = stream.read(PEEK)
        text = self._decode(first, 1 + self.skipped).lstrip("\ufeff")
        if not text.strip():
            raise FileFormatError("the file is empty, or its first line is", self.file, 1 + self.skipped)
        self._refuse_lone_returns(first, 1 + self.skipped)
        self.decimal_comma = _has_decimal_commas(first + more)
        self.delimiter = max(";\t" if self.decimal_comma else ",;\t", key=text.count)
        cells = self._cells(text, 1 + self.skipped)
        numbers = [_is_number(cell.replace(",", ".") if self.decimal_comma else cell) for cell in cells]
        if any(numbers) and not all(numbers):
            odd = cells[numbers.index(False)]
            raise FileFormatError(
                f"the first line must be names or numbers, and not both: {odd.strip()!r} is no number",
                self.file,
                1 + self.skipped,
            )
        self.has_header = not any(numbers)
        if optional:
            wanted = with_optional(self.file, cells if self.has_header else None, len(cells), wanted, optional)
        self.layout = layout(self.file, cells if self.has_header else None, len(cells), wanted, fewer, units)
        self.count = len(cells)

    def source(self) -> OpenTable:
        """Return the table, ready to be read."""
        return OpenTable(
            self.parts,
            self.layout.time is not None,
            self.layout.remark,
            self.layout.fewer,
            tuple(self.layout.quantities),
            doubt=self.layout.doubt,
        )

    def parts(self) -> Iterator[Part]:
        """Yield blocks of whole lines."""
        size = max(1, self.path.stat().st_size)
        line, empty = 1, 0
        with self.path.open("rb") as stream:
            for _ in range(self.skipped + self.has_header):
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
        """Make a part of some lines; ``empty`` is the number of an empty line just before them, or zero."""

        def fault(row: int, message: str) -> FileFormatError:
            return FileFormatError(message, self.file, line + row)

        return Part(lambda: self._read(block, line, empty), fault, share)

    def _cells(self, text: str, line: int) -> list[str]:
        """Split the first line."""
        try:
            return next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as problem:
            raise FileFormatError(f"the line cannot be split into columns ({problem})", self.file, line) from None

    def _refuse_lone_returns(self, block: bytes, line: int) -> None:
        """Refuse carriage returns that end no line: some readers take them for line ends, and some do not."""
        if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
            before = LONE_RETURN.search(block)
            here = line + (block.count(b"\n", 0, before.start()) if before else 0)
            raise FileFormatError(
                "a carriage return stands alone, and may or may not end a line: end lines with \\n or \\r\\n",
                self.file,
                here,
            )

    def _refuse_empty(self, line: int) -> NoReturn:
        raise FileFormatError("the line is empty; only at the end of the file may lines be so", self.file, line)

    def _read(self, block: bytes, line: int, empty: int) -> Rows:
        if empty:
            self._refuse_empty(empty)
        self._refuse_lone_returns(block, line)
        if self.decimal_comma:
            block = block.replace(b",", b".")
        columns = csv_numbers(block, self.count, self.layout.used, self.delimiter)
        if columns is None:  # not installed, or something is wrong: the slow reader says what and where
            columns = self._carefully(block, line)
        for k, times in self.layout.factors.items():
            columns[k] = columns[k] * times
        own = {key: np.stack([columns[k] for k in ks], axis=1) for key, ks in self.layout.quantities.items()}
        time = None if self.layout.time is None else columns[self.layout.time]
        return Rows(time, tuple(own.values()))

    def _carefully(self, block: bytes, line: int) -> dict[int, Array]:
        reader = csv.reader(io.StringIO(self._decode(block, line)), delimiter=self.delimiter)
        used = self.layout.used
        rows = []
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as problem:
                here = line + reader.line_num - 1
                raise FileFormatError(f"the line cannot be read ({problem})", self.file, here) from None
            if cells is None:
                break
            here = line + reader.line_num - 1
            if not any(cell.strip() for cell in cells) and len(cells) < 2:
                self._refuse_empty(here)
            if len(cells) != self.count:
                raise FileFormatError(f"{len(cells)} columns, where the first line has {self.count}", self.file, here)
            rows.append([self._number(cells[k], k, here) for k in used])
        table = np.array(rows, dtype=float).reshape(len(rows), len(used))
        return {k: table[:, i] for i, k in enumerate(used)}

    def _number(self, cell: str, column: int, line: int) -> float:
        name = self.layout.names[column]
        if not cell.strip():
            raise FileFormatError(f"the value of {name!r} is missing", self.file, line)
        if not _is_number(cell):
            raise FileFormatError(f"{name!r} must be a number, not {cell.strip()!r}", self.file, line)
        return float(cell)

    def _decode(self, data: bytes, line: int) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as problem:
            here = line + data[: problem.start].count(b"\n")
            raise FileFormatError("the file is not text in UTF-8", self.file, here) from None


def csv_numbers(block: bytes, count: int, used: Sequence[int], delimiter: str = ",") -> dict[int, Array] | None:
    """Read columns of numbers out of whole lines by pyarrow; None where that is not installed, or something is wrong.

    Parameters
    ----------
    block : bytes
        Lines, without names.
    count : int
        Columns of the file.
    used : sequence of int
        Those to read.
    delimiter : str
        What stands between two columns.
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
                column_types=dict.fromkeys(needed, found.float64()), null_values=[], include_columns=needed
            ),
        )
    except found.ArrowInvalid:
        return None
    return {int(name): table.column(name).to_numpy() for name in needed}


def _has_decimal_commas(lines: bytes) -> bool:
    """Tell whether numbers between semicolons or tabs are written as in much of Europe: ``-0,5``, not ``0.5``."""
    if b";" not in lines and b"\t" not in lines:
        return False
    return DECIMAL_COMMA.search(lines) is not None and DECIMAL_POINT.search(lines) is None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


# ------------------------------------------------------------------ Parquet


class ParquetTable:
    """Columns by name."""

    def __init__(
        self,
        path: Path,
        wanted: Wanted,
        fewer: Wanted | None = None,
        units: Units | None = None,
        optional: Wanted | None = None,
    ) -> None:
        arrow = need_pyarrow()
        self.path, self.file = path, str(path)
        try:
            self.schema = arrow.parquet.read_schema(path)
            names = list(self.schema.names)
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as problem:
            raise FileFormatError(f"this is no Parquet file ({problem})", self.file) from None
        says_nothing = names == [str(k) for k in range(len(names))]
        if optional:
            wanted = with_optional(self.file, None if says_nothing else names, len(names), wanted, optional)
        self.layout: Layout = layout(self.file, None if says_nothing else names, len(names), wanted, fewer, units)
        for k in self.layout.used:
            kind = self.schema.types[k]
            if not (arrow.types.is_floating(kind) or arrow.types.is_integer(kind)):
                raise FileFormatError(f"column {names[k]!r} holds {kind}, not numbers", self.file)

    def source(self) -> OpenTable:
        """Return the table, ready to be read."""
        return OpenTable(
            self.parts,
            self.layout.time is not None,
            self.layout.remark,
            self.layout.fewer,
            tuple(self.layout.quantities),
            self.parts,
            self.layout.doubt,
        )

    def parts(self, groups: Sequence[int] | None = None) -> Iterator[Part]:
        """Yield batches of rows, of some groups or of all."""
        names = [self.schema.names[k] for k in self.layout.used]
        arrow, first = need_pyarrow(), 0
        try:
            with arrow.parquet.ParquetFile(self.path) as file:
                total = max(1, file.metadata.num_rows)
                if groups is not None:
                    first = sum(file.metadata.row_group(k).num_rows for k in range(groups[0]))
                for batch in file.iter_batches(ROWS, row_groups=groups, columns=names):
                    yield self._part(batch, first, batch.num_rows / total)
                    first += batch.num_rows
        except (arrow.ArrowException, OSError) as problem:  # damage behind the head
            raise FileFormatError(f"the file cannot be read beyond row {first} ({problem})", self.file) from None

    def _part(self, batch: Any, first: int, share: float) -> Part:
        def fault(row: int, message: str) -> FileFormatError:
            return FileFormatError(f"row {first + row + 1}: {message}", self.file)

        def column(k: int) -> Array:
            values = batch.column(self.schema.names[k])
            if values.null_count:
                empty = int(np.argmax(np.asarray(values.is_null())))
                raise fault(empty, f"the value of {self.schema.names[k]!r} is missing")
            return np.asarray(values, dtype=float) * self.layout.factors.get(k, 1.0)

        def read() -> Rows:
            own = [np.stack([column(k) for k in ks], axis=1) for ks in self.layout.quantities.values()]
            return Rows(None if self.layout.time is None else column(self.layout.time), tuple(own))

        return Part(read, fault, share)


# ------------------------------------------------------------------ npz


class NpzTable:
    """Arrays by name, rows first; a record saved as ``.npz`` is one."""

    def __init__(
        self,
        path: Path,
        wanted: Wanted,
        fewer: Wanted | None = None,
        units: Units | None = None,
        optional: Wanted | None = None,
    ) -> None:
        self.path, self.file = path, str(path)
        names = {"time": ("time", "t")}
        names |= {key: (key, *OTHER_WORDS.get(key, ())) for key in (*wanted, *(optional or ()))}
        every = self._arrays()
        self.there = tuple(every)
        self.arrays = {key: every[own[0]] for key, words in names.items() if (own := [w for w in words if w in every])}
        self._turn({**wanted, **(optional or {})})
        wanted = {**wanted, **{key: labels for key, labels in (optional or {}).items() if key in self.arrays}}
        self.fewer = fewer is not None and self._fit(fewer) and not self._fit(wanted)
        self.wanted = fewer if self.fewer and fewer is not None else wanted
        rows = None
        for key, labels in self.wanted.items():
            self._check(key, len(labels))
            rows = len(self.arrays[key]) if rows is None else rows
            if len(self.arrays[key]) != rows:
                self._fail(f"array {key!r} has {len(self.arrays[key])} rows and the first one {rows}")
        time = self.arrays.get("time")
        if time is not None and (time.shape != (rows,) or time.dtype.kind not in "fiu"):
            self._fail(f"array 'time' must be numbers of shape ({rows},), not {time.dtype} {time.shape}")
        self.rows = rows or 0

    def _arrays(self) -> dict[str, Array]:
        """Read the arrays of the file."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                return {name: np.asarray(file[name]) for name in file.files}
        except Exception as problem:
            raise FileFormatError(f"this is no file of NumPy arrays ({problem})", self.file) from None

    def _turn(self, wanted: Wanted) -> None:
        """Let rows come first where the program that wrote the file has them last."""

    def _fit(self, wanted: Wanted) -> bool:
        return all(self.arrays[k].shape[1:] == (len(labels),) for k, labels in wanted.items() if k in self.arrays)

    def _check(self, key: str, width: int) -> None:
        if key not in self.arrays:
            there = f"there are {', '.join(self.there[:8])}" if self.there else "there are none"
            self._fail(f"there is no array {key!r}; needed are {', '.join(self.wanted)}, and perhaps time; {there}")
        array = self.arrays[key]
        if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] != width:
            self._fail(f"array {key!r} must be numbers of shape (rows, {width}), not {array.dtype} {array.shape}")

    def _fail(self, message: str) -> NoReturn:
        raise FileFormatError(message, self.file)

    def source(self) -> OpenTable:
        """Return the table, ready to be read."""
        return OpenTable(self.parts, "time" in self.arrays, fewer=self.fewer, quantities=tuple(self.wanted))

    def parts(self) -> Iterator[Part]:
        """Yield slices of the arrays."""
        for first in range(0, self.rows, ROWS):
            yield self._part(first, min(ROWS, self.rows - first))

    def _part(self, first: int, count: int) -> Part:
        def fault(row: int, message: str) -> FileFormatError:
            return FileFormatError(f"row {first + row + 1}: {message}", self.file)

        def read() -> Rows:
            own = tuple(np.asarray(self.arrays[key][first : first + count], dtype=float) for key in self.wanted)
            time = self.arrays.get("time")
            return Rows(None if time is None else np.asarray(time[first : first + count], dtype=float), own)

        return Part(read, fault, count / self.rows)


class MatTable(NpzTable):
    """Matrices of a file of MATLAB, by name, or fields of its only structure; samples may be rows or columns."""

    def _arrays(self) -> dict[str, Array]:
        from scipy.io import loadmat  # only those who have such files wait for it

        try:
            found = loadmat(self.path, simplify_cells=True)
        except NotImplementedError:
            self._fail("files of version 7.3 are not read: write it by save(..., '-v7')")
        except Exception as problem:
            raise FileFormatError(f"this is no file of MATLAB ({problem})", self.file) from None
        found = {name: value for name, value in found.items() if not name.startswith("__")}
        if len(found) == 1 and isinstance(only := next(iter(found.values())), dict):
            found = only
        return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}

    def _turn(self, wanted: Wanted) -> None:
        rows = len(self.arrays["time"]) if "time" in self.arrays and self.arrays["time"].ndim == 1 else None
        for key in [key for key in wanted if key in self.arrays]:
            array = self.arrays[key]
            if array.ndim == 2 and rows is not None and array.shape[1] == rows != len(array):
                self.arrays[key] = array.T
            elif array.ndim == 1 and len(wanted[key]) == 1:
                self.arrays[key] = array[:, None]
