"""Writing tables at once, or part by part into a temporary file that is renamed when complete."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_files import beside
from .columns import column_name
from .formats import format_of, need_pyarrow, pyarrow

Array = np.ndarray


# ------------------------------------------------------------------ whole tables


def csv_text(columns: Mapping[str, Any], first_line: str = "") -> str:
    """Return columns as comma-separated values, numbers with all their digits.

    Parameters
    ----------
    columns : mapping from str to array-like
        Numbers or words; all columns have the same length.
    first_line : str
        A line above the names.
    """
    return (f"{first_line}\n" if first_line else "") + _csv_lines([list(columns)]) + _csv_rows(columns)


def write_parquet(path: Path, columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write columns as Parquet, with metadata."""
    arrow = need_pyarrow()
    table = arrow.table({name: np.asarray(column) for name, column in columns.items()})
    with path.open("wb") as stream:
        arrow.parquet.write_table(table.replace_schema_metadata(metadata) if metadata else table, stream)


def _csv_rows(columns: Mapping[str, Any]) -> str:
    return _csv_lines(zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True))


def _csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


# ------------------------------------------------------------------ part by part


class Sink:
    """A table that rows are written to.

    Parameters
    ----------
    key : str
        Name of the quantity, such as ``tau``.
    labels : sequence of str
        Names of its entries.
    has_time : bool
        Whether a column of times comes first.
    """

    def __init__(self, beside: Path, key: str, labels: Sequence[str], has_time: bool) -> None:
        self.beside, self.key = beside, key
        self.names = [*(["time"] if has_time else []), *(column_name(f"{key}_{label}") for label in labels)]
        self.open()

    def open(self) -> None:
        """Begin the file."""

    def encode(self, time: Array | None, values: Array) -> Any:
        """Return rows in the form that is written; called by several threads at once."""
        raise NotImplementedError

    def write(self, encoded: Any) -> None:
        """Append the result of :meth:`encode`; called in the order of the rows."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish the file."""

    def columns(self, time: Array | None, values: Array) -> dict[str, Array]:
        """Return the columns by name."""
        own = [np.ascontiguousarray(x, dtype=float) for x in (*([] if time is None else [time]), *values.T)]
        return dict(zip(self.names, own, strict=True))

    def table(self, time: Array | None, values: Array) -> Any:
        """Return an Arrow table of the same memory; Arrow's own way from arrays would import pandas."""
        arrow, own = need_pyarrow(), self.columns(time, values)
        made = [arrow.Array.from_buffers(arrow.float64(), len(x), [None, arrow.py_buffer(x)]) for x in own.values()]
        return arrow.table(made, names=list(own))


class CsvSink(Sink):
    """CSV, with enough digits to read numbers back to the last bit."""

    def open(self) -> None:
        """Write the names."""
        self.stream = self.beside.open("wb")
        self.stream.write(_csv_lines([self.names]).encode())

    def encode(self, time: Array | None, values: Array) -> Any:
        """Return rows as lines of text."""
        found = pyarrow()
        if found is None:
            return _csv_rows(self.columns(time, values)).encode()
        stream = found.BufferOutputStream()
        found.csv.write_csv(self.table(time, values), stream, found.csv.WriteOptions(include_header=False))
        return stream.getvalue()

    def write(self, encoded: Any) -> None:
        """Append lines."""
        self.stream.write(encoded)

    def close(self) -> None:
        """Finish the file."""
        self.stream.close()


class ParquetSink(Sink):
    """Parquet, with a row group per part."""

    def open(self) -> None:
        """Begin the file with its schema."""
        arrow = need_pyarrow()
        self.schema = arrow.schema([(name, arrow.float64()) for name in self.names])
        # numbers hardly ever repeat, so a dictionary would only cost time
        self.writer = arrow.parquet.ParquetWriter(self.beside, self.schema, use_dictionary=False)

    def encode(self, time: Array | None, values: Array) -> Any:
        """Return an Arrow table."""
        return self.table(time, values)

    def write(self, encoded: Any) -> None:
        """Append a group of rows."""
        self.writer.write_table(encoded)

    def close(self) -> None:
        """Write the footer, which completes the file."""
        self.writer.close()


class NpzSink(Sink):
    """NPZ, written at once at the end."""

    def open(self) -> None:
        """Begin with no rows."""
        self.parts: list[tuple[Array | None, Array]] = []

    def encode(self, time: Array | None, values: Array) -> tuple[Array | None, Array]:
        """Return rows unchanged."""
        return time, values

    def write(self, encoded: tuple[Array | None, Array]) -> None:
        """Keep rows for the end."""
        self.parts.append(encoded)

    def close(self) -> None:
        """Write the times, if there are any, and the numbers under their key."""
        arrays: dict[str, Any] = {self.key: np.concatenate([values for _, values in self.parts])} if self.parts else {}
        times = [time for time, _ in self.parts if time is not None]
        if times:
            arrays["time"] = np.concatenate(times)
        with self.beside.open("wb") as stream:
            np.savez(stream, **arrays)


SINKS: dict[str, type[Sink]] = {".csv": CsvSink, ".parquet": ParquetSink, ".npz": NpzSink}


@contextmanager
def new_table(path: Path, key: str, labels: Sequence[str], has_time: bool) -> Iterator[Sink]:
    """Yield a table to fill, which appears in its place if the block succeeds, and not at all otherwise."""
    with beside(path) as place:
        sink = SINKS[format_of(path)](place, key, labels, has_time)
        try:
            yield sink
        finally:
            sink.close()
