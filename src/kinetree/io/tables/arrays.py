"""Tables as named arrays of NumPy (``.npz``) and MATLAB (``.mat``), with one array per quantity or per joint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import FileFormatError, KinetreeError
from .columns import TIME, Asked, Layout, Wanted, column_name, in_seconds, layout
from .joints_in_rows import of_another_joint
from .mat_file import read_mat
from .other_names import array_readings, times_among
from .parts import ROWS, Array, OpenTable, Part, opened, rows_of

MOST_LISTED = 12

NAMES_OF_JOINTS = ("name", "names", "joint_name", "joint_names")
"""Names of arrays that hold the names of joints, as in ROS."""


class ArrayTable:
    """Arrays by name, rows first; a record saved as ``.npz`` is one.

    Each array becomes columns named for the quantity and its entries, which are then found as in other tables.
    """

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path, self.file = path, str(path)
        self.rules: list[str] = []
        self.in_order: set[str] = set()  # quantities in a single array, whose columns have no names
        self.columns: dict[str, Array] = {}
        self.taken: set[str] = set()
        self.there = read_mat(path) if path.suffix.lower() == ".mat" else read_npz(path)
        time, self.joints = self._time(), self._joints()
        for key, labels in {**asked.wanted, **(asked.optional or {})}.items():
            self._add_whole(key, labels, (asked.fewer or {}).get(key), None if time is None else time.size)
        single = self._single() if not self.columns else None
        rows = self._rows(single)
        if single is None:
            self._add_columns(rows)
            self._refuse_missing(asked.wanted)
            self._add_time(time, rows)
        else:
            self.columns = {str(k): column for k, column in enumerate(single.T)}
        header = list(self.columns) if single is None else None
        found = asked.layout(self.file, header, len(self.columns))
        if found.time is not None and rows:
            found = in_seconds(found, float(list(self.columns.values())[found.time][0]))
        self.layout: Layout = found if single is not None else replace(
            found, remark="", numbered=found.numbered | self.in_order
        )  # fmt: skip
        self.rows = rows

    # -------------------------------------------------------------- contents

    def _time(self) -> Array | None:
        own: dict[str, str | None] = {name: None for name in self.there if TIME.fullmatch(name)}
        if not own:
            names = list(self.there)
            own = {names[one.column]: one.unit for one in times_among(names) if one.nanoseconds is None}
        if len(own) > 1:
            self._fail(f"arrays {' and '.join(map(repr, list(own)[:2]))} may be the times: keep the one that is")
        for name, unit in own.items():
            self.taken.add(name)
            if name not in ("t", "time"):
                self.rules.append(f"times are read from array {name!r}")
            self.name_of_time, self.unit_of_time = name, unit
            return np.asarray(self.there[name])
        return None

    def _joints(self) -> list[str]:
        """Return the joint of every column if an array of texts names them, the same in all rows."""
        for name in NAMES_OF_JOINTS:
            array = self.there.get(name)
            if array is None or array.dtype.kind != "U" or array.ndim not in (1, 2) or not array.size:
                continue
            rows = np.char.strip(np.atleast_2d(array))
            other = np.argwhere(rows != rows[0])
            if len(other):
                row, k = other[0]
                words = of_another_joint(f"{name}[{k}]", str(rows[0, k]), str(rows[row, k]))
                self._fail(f"row {row + 1}: {words}")
            return [str(joint) for joint in rows[0]]
        return []

    def _add_whole(self, key: str, labels: Sequence[str], fewer: Sequence[str] | None, count: int | None) -> None:
        """Make columns from the array that holds a quantity, if there is one."""
        found = {key: None} if key in self.there else {
            name: unit for name in self.there if name not in self.taken for unit in array_readings(name, key)
        }  # fmt: skip
        if len(found) > 1:
            found = {name: unit for name, unit in found.items() if self.there[name].ndim == 2}
        if len(found) > 1:
            both = " and ".join(map(repr, list(found)[:2]))
            self._fail(f"arrays {both} can both be {key!r} of the joints: name the intended one {key!r}")
        for name, unit in found.items():
            array = self.there[name]
            if name != key and array.ndim == 1 and len(labels) > 1:
                continue  # probably for one joint
            array, own = self._oriented(name, array, labels, fewer, count)
            self.taken.add(name)
            if name != key:
                self.rules.append(f"{key} is read from array {name!r}")
            more = f" [{unit}]" if unit else ""
            if own is not self.joints:
                self.in_order.add(key)
            named = (f"{key}_{column_name(label)}{more}" for label in own)
            self.columns |= dict(zip(named, array.T, strict=True))

    def _oriented(
        self, name: str, array: Array, labels: Sequence[str], fewer: Sequence[str] | None, count: int | None
    ) -> tuple[Array, Sequence[str]]:
        """Return an array with its rows first, and the names of its columns."""
        known = {len(own): own for own in (fewer or labels, labels)}
        if set(self.joints) & set(labels):
            known[len(self.joints)] = self.joints
        if array.ndim == 1 and 1 in known:
            array = array[:, None]
        if array.dtype.kind in "fiu" and array.ndim == 2:
            down, across = array.shape
            turned = down in known and (across not in known or (count == across != down))
            if turned:
                self.rules.append(f"array {name!r} has a row for each joint, {array.shape}, and is transposed")
                array = array.T
            if array.shape[1] in known:
                return array, known[array.shape[1]]
        self._fail(
            f"array {name!r} must be numbers of shape (rows, {len(labels)}), not {array.dtype} {array.shape}"
        )  # fmt: skip

    def _single(self) -> Array | None:
        """Return the only array, if it is a table."""
        rest = [x for name, x in self.there.items() if name not in self.taken and x.ndim == 2 and min(x.shape) > 1]
        return rest[0] if len(rest) == 1 and rest[0].dtype.kind in "fiu" and not self.taken else None

    def _rows(self, single: Array | None) -> int:
        """Return the number of rows, and refuse arrays of different lengths."""
        if single is not None:
            return len(single)
        rows: int | None = None
        for name, column in self.columns.items():
            rows = len(column) if rows is None else rows
            if len(column) != rows:
                self._fail(f"array {name.partition('_')[0]!r} has {len(column)} rows and the first one {rows}")
        if rows is None:
            lengths = {x.size for name, x in self.there.items() if name not in self.taken and _is_column(x)}
            rows = max(lengths, default=0)
        return rows

    def _add_time(self, time: Array | None, rows: int) -> None:
        if time is None:
            return
        flat = time.reshape(-1) if time.ndim == 2 and 1 in time.shape else time
        if flat.shape != (rows,) or time.dtype.kind not in "fiu":
            self._fail(f"array {self.name_of_time!r} must be numbers of shape ({rows},), not {time.dtype} {time.shape}")
        self.columns = {f"time [{self.unit_of_time}]" if self.unit_of_time else "time": flat, **self.columns}

    def _add_columns(self, rows: int) -> None:
        """Add arrays that are one column each."""
        for name, x in self.there.items():
            if name not in self.taken and _is_column(x) and x.size == rows and name not in self.columns:
                self.columns[name] = x.reshape(-1)

    def _refuse_missing(self, wanted: Wanted) -> None:
        """Refuse a file without any column of a quantity."""
        for key in wanted:
            there = any(one.startswith(f"{key}_") for one in self.columns)
            if not there and layout_or_nothing(self.file, list(self.columns), wanted, key) is None:
                listed = [f"{name} {x.shape}" + ("" if x.dtype.kind in "fiu" else f" of {x.dtype}")
                          for name, x in self.there.items()] or ["none"]  # fmt: skip
                more = f", ... ({len(listed)} in all)" if len(listed) > MOST_LISTED else ""
                self._fail(
                    f"there is no array {key!r}; needed are {', '.join(wanted)}, and perhaps time; there are "
                    f"{', '.join(listed[:MOST_LISTED])}{more}"
                )

    def _fail(self, message: str) -> NoReturn:
        raise FileFormatError(message, self.file)

    # -------------------------------------------------------------- rows

    def source(self) -> OpenTable:
        """Return the table, ready to be read."""
        return opened(self.layout, self.parts, self.rules)

    def parts(self) -> Iterator[Part]:
        """Yield slices of the arrays."""
        for first in range(0, self.rows, ROWS):
            yield self._part(first, min(ROWS, self.rows - first))

    def _part(self, first: int, count: int) -> Part:
        columns, factors = list(self.columns.values()), self.layout.factors

        def fault(row: int, message: str) -> FileFormatError:
            return FileFormatError(f"row {first + row + 1}: {message}", self.file)

        def column(k: int) -> Array:
            return np.asarray(columns[k][first : first + count], dtype=float) * factors.get(k, 1.0)

        return Part(lambda: rows_of(self.layout, column), fault, count / self.rows)


def layout_or_nothing(file: str, names: Sequence[str], wanted: Wanted, key: str) -> Layout | None:
    """Find the columns of one quantity, if all of them exist."""
    try:
        return layout(file, names, len(names), {key: wanted[key]}) if names else None
    except KinetreeError:
        return None


def _is_column(x: Array) -> bool:
    return x.dtype.kind in "fiu" and x.size > 1 and (x.ndim == 1 or (x.ndim == 2 and 1 in x.shape))


# ------------------------------------------------------------------ files


def read_npz(path: Path) -> dict[str, Array]:
    """Read all arrays of a NumPy file that can be read without running code."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
    except Exception as problem:
        raise FileFormatError(f"this is not a file of NumPy arrays ({problem})", str(path)) from None
