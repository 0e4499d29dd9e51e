"""The folder of a sweep: its manifest, and one Parquet file for each finished part.

``_sweep.json`` identifies the design and the study; ``part-000012.parquet`` contains the rows of one part: row number,
parameters, outputs, and a description of what went wrong.  A part is written to a temporary file that is renamed once
it is complete and on the disk, so a file with the final name is always complete, even if the process that wrote it was
killed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileFormatError, MissingFileError, OptionError, OutputError
from kinetree.io.atomic_files import beside
from kinetree.io.tables.formats import need_pyarrow
from kinetree.spatial.arrays import Array

MANIFEST, VERSION = "_sweep.json", 1
PART = re.compile(r"part-(\d{6,})\.parquet")
ROW, FAILURE = "row", "failure"
"""Columns for the number of a row, and for a description of what went wrong in it."""


def part_file(folder: Path, number: int) -> Path:
    """Return the path of a finished part."""
    return folder / f"part-{number:06d}.parquet"


def refuse_used(folder: Path, holds: str) -> None:
    """Refuse a folder that holds something else, or a path that is not a folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} exists and holds {holds}: give an empty or a new folder")


def claim(folder: Path, name: str, says: Mapping[str, Any]) -> None:
    """Write the manifest of a folder, if there is none yet, and remove incomplete parts."""
    if not (folder / name).exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(f"{folder} cannot be made: {problem.strerror or problem}") from None
        with beside(folder / name) as new:
            new.write_text(json.dumps(says, indent=1) + "\n", encoding="utf-8")
    for left in folder.glob(".*.parquet"):  # left by a process that was killed while writing
        left.unlink(missing_ok=True)


@dataclass(frozen=True)
class Manifest:
    """The contents of the folder of a sweep."""

    design: str
    study: str
    """Fingerprints of the design and the study."""
    title: str
    label: str
    """Design and study in words."""
    rows: int
    part_rows: int
    """Number of all rows, and of the rows of a part."""
    names: list[str]
    """The parameters."""
    version: int = VERSION

    @property
    def parts(self) -> int:
        """The number of parts."""
        return -(-self.rows // self.part_rows)


class SweepFolder:
    """A folder of parts."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def compare(self, manifest: Manifest, resume: bool) -> Manifest:
        """Check that the folder is new, or of the same sweep; return the valid manifest.  Nothing is written."""
        if not (self.path / MANIFEST).exists():
            refuse_used(self.path, "no sweep")
            return manifest
        known = self.manifest()
        if not resume:
            raise OptionError(f"{self.path} holds a sweep already: give another folder, or resume it")
        if known.design != manifest.design:
            change = (
                f"{known.title}; requested now: {manifest.title}"
                if known.title != manifest.title
                else f"{known.title} as now, with other values or distributions"
            )
            raise OptionError(
                f"{self.path} holds a sweep with another design ({change}): give another folder, or remove this one"
            )
        if known.study != manifest.study:
            raise OptionError(
                f"{self.path} holds a sweep of another study: {known.label!r} was different, or "
                "has changed since; give another folder, or remove this one"
            )
        return known

    def begin(self, manifest: Manifest) -> None:
        """Write the manifest, if there is none yet, and remove incomplete parts."""
        claim(self.path, MANIFEST, asdict(manifest))

    def manifest(self) -> Manifest:
        """Read the manifest."""
        place = self.path / MANIFEST
        if not place.is_file():
            raise MissingFileError(f"there is no sweep in {str(self.path)!r}: it would hold a file {MANIFEST}")
        try:
            known = Manifest(**json.loads(place.read_text(encoding="utf-8")))
        except (TypeError, ValueError, OSError) as problem:
            raise FileFormatError(f"this does not describe a sweep ({problem})", str(place)) from None
        if known.version != VERSION:
            raise FileFormatError(f"only version {VERSION} of the format is understood", str(place))
        return known

    def finished(self) -> dict[int, Path]:
        """Return the finished parts, in order."""
        if not self.path.is_dir():
            return {}
        found = {int(m[1]): path for path in self.path.iterdir() if (m := PART.fullmatch(path.name))}
        return dict(sorted(found.items()))

    def write(self, number: int, columns: Mapping[str, Array]) -> None:
        """Write a part, completely or not at all."""
        arrow = need_pyarrow()
        table = {name: arrow.array(x) for name, x in columns.items() if name != FAILURE}
        table[FAILURE] = arrow.array(columns[FAILURE], type=arrow.string())
        with beside(part_file(self.path, number)) as place, place.open("wb") as stream:
            # names of outputs that failed in all rows of a part come from other parts: see SweepResult
            arrow.parquet.write_table(arrow.table(table), stream, use_dictionary=[FAILURE], compression="zstd")

    def files(self) -> list[Path]:
        """Return the files of the parts, in order."""
        return list(self.finished().values())

    def names(self, number: int) -> list[str]:
        """Return the columns of a part."""
        return list(need_pyarrow().parquet.read_schema(self.finished()[number]).names)

    def read(self, number: int, names: Sequence[str]) -> dict[str, Array]:
        """Return the requested columns that a part has."""
        with need_pyarrow().parquet.ParquetFile(self.finished()[number]) as file:
            table = file.read(columns=[name for name in names if name in file.schema_arrow.names])
        return {name: table.column(name).to_numpy() for name in table.column_names}


class KeptParts(SweepFolder):
    """Parts in memory, for a sweep without a folder; files are written only when they are needed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kept: dict[int, dict[str, Array]] = {}

    def begin(self, manifest: Manifest) -> None:
        """Keep the manifest."""
        self.of = manifest

    def manifest(self) -> Manifest:
        """Return the manifest."""
        return self.of

    def finished(self) -> dict[int, Path]:
        """Return the parts in memory, and the path that the file of each would have."""
        return {number: part_file(self.path, number) for number in sorted(self.kept)}

    def write(self, number: int, columns: Mapping[str, Array]) -> None:
        """Keep a part."""
        self.kept[number] = dict(columns)

    def files(self) -> list[Path]:
        """Write the parts to files, if that has not been done yet, and return the files."""
        if not (self.path / MANIFEST).exists():
            super().begin(self.of)
            for number, columns in self.kept.items():
                super().write(number, columns)
        return super().files()

    def names(self, number: int) -> list[str]:
        """Return the columns of a part."""
        return list(self.kept[number])

    def read(self, number: int, names: Sequence[str]) -> dict[str, Array]:
        """Return the requested columns that a part has."""
        return {name: self.kept[number][name] for name in names if name in self.kept[number]}


def columns_of(first: int, parameters: Mapping[str, Array], outputs: Mapping[str, Any]) -> dict[str, Array]:
    """Return all columns of a part: rows, parameters, outputs (one column per entry), and failures."""
    count = len(next(iter(parameters.values())))
    found: dict[str, Any] = {ROW: np.arange(first, first + count), **parameters}
    for name, values in outputs.items():
        array = np.asarray(values)
        if name != FAILURE and array.ndim == 1:
            found[name] = array
        elif name != FAILURE:
            found |= {f"{name}[{k}]": np.ascontiguousarray(x) for k, x in enumerate(array.T)}
    failures = outputs.get(FAILURE)
    found[FAILURE] = np.full(count, None)
    if failures is not None:
        found[FAILURE][:] = [None if x is None else str(x) for x in failures]
    return found
