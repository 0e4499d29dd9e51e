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

    columns: Numbers or words; all columns have the same length.
    first_line: A line above the names.
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

    key: Name of the quantity, such as ``tau``.
    labels: Names of its entries.
    has_time: Whether a column of times comes first.
    units: Unit of each of them, which its column then names, and its size in SI.
    over: Name, unit and size in SI of a coordinate that comes before everything else: the first number of each row; a
        unit of ``""`` is not named.
    """

    def __init__(
        self, beside: Path, key: str, labels: Sequence[str], has_time: bool,
        units: Sequence[tuple[str, float]] | None = None, over: tuple[str, str, float] | None = None,
    ) -> None:  # fmt: skip
        self.beside, self.key = beside, key
        own = list(zip((f"{key}_{label}" for label in labels), units or [("", 1.0)] * len(labels), strict=True))
        if over is not None:
            own.insert(0, (f"q_{over[0]}", over[1:]))
        found = [column_name(f"{name} [{unit}]" if unit else name) for name, (unit, _) in own]
        self.first = found[: over is not None]
        self.names = [*self.first, *(["time"] if has_time else []), *found[len(self.first) :]]
        sizes = np.array([size for _, (_, size) in own])
        self.sizes = None if np.all(sizes == 1.0) else sizes
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
        shown = values if self.sizes is None else values / self.sizes
        first, rest = shown.T[: len(self.first)], shown.T[len(self.first) :]
        own = [np.ascontiguousarray(x, dtype=float) for x in (*first, *([] if time is None else [time]), *rest)]
        return dict(zip(self.names, own, strict=True))

    def table(self, time: Array | None, values: Array) -> Any:
        """Return an Arrow table of the same memory; Arrow's own way from arrays would import pandas."""
        arrow, own = need_pyarrow(), self.columns(time, values)
        made = [arrow.Array.from_buffers(arrow.float64(), len(x), [None, arrow.py_buffer(x)]) for x in own.values()]
        return arrow.table(made, names=list(own))


class CsvSink(Sink):
    """CSV, with enough digits to read numbers back to the last bit."""

    def open(self) -> None:
        """Begin the file with the line of names."""
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
        whole = np.concatenate([values for _, values in self.parts]) if self.parts else None
        over = len(self.first)
        arrays: dict[str, Any] = {} if whole is None else {self.key: whole[:, over:]}
        if over and whole is not None:
            arrays[self.first[0]] = whole[:, 0]
        times = [time for time, _ in self.parts if time is not None]
        if times:
            arrays["time"] = np.concatenate(times)
        with self.beside.open("wb") as stream:
            np.savez(stream, **arrays)


SINKS: dict[str, type[Sink]] = {".csv": CsvSink, ".parquet": ParquetSink, ".npz": NpzSink}


@contextmanager
def new_table(
    path: Path, key: str, labels: Sequence[str], has_time: bool, units: Sequence[tuple[str, float]] | None = None,
    over: tuple[str, str, float] | None = None,
) -> Iterator[Sink]:  # fmt: skip
    """Yield a table to fill, which appears in its place if the block succeeds, and not at all otherwise."""
    with beside(path) as place:
        sink = SINKS[format_of(path)](place, key, labels, has_time, units, over)
        try:
            yield sink
        finally:
            sink.close()
