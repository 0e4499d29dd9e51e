"""The folder of a sweep: what it is of, and one Parquet file for each part that is finished.

``_sweep.json`` says which design and which study it is of; ``part-000012.parquet`` holds the rows of one part: their
number, parameters, outputs, and in words what went wrong.  A part is written beside and renamed when it is whole and on
the disk, so what has its name is finished, whatever happened to whoever wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileFormatError, MissingFileError, OptionError, OutputError
from ..io.atomic_files import beside
from ..io.tables.formats import need_pyarrow
from ..spatial.arrays import Array

MANIFEST, VERSION = "_sweep.json", 1
PART = re.compile(r"part-(\d{6,})\.parquet")
ROW, FAILURE = "row", "failure"
"""Columns: the number of a row, and in words what went wrong in it."""


def part_file(folder: Path, number: int) -> Path:
    """Return where a part is when it is finished."""
    return folder / f"part-{number:06d}.parquet"


def refuse_used(folder: Path, holds: str) -> None:
    """Refuse a folder that holds something else, or is none."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} is there and holds {holds}: give an empty or a new folder")


def claim(folder: Path, name: str, says: Mapping[str, Any]) -> None:
    """Say in a file what a folder is of, if nothing does yet, and clear away parts that were half-written."""
    if not (folder / name).exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(f"{folder} cannot be made: {problem.strerror or problem}") from None
        with beside(folder / name) as new:
            new.write_text(json.dumps(says, indent=1) + "\n", encoding="utf-8")
    for left in folder.glob(".*.parquet"):  # of a process that was killed while writing
        left.unlink(missing_ok=True)


@dataclass(frozen=True)
class Manifest:
    """What a folder is of.

    Attributes
    ----------
    design, study : str
        Fingerprints.
    title, label : str
        Both in words.
    rows, part_rows : int
        Of all, and of a part.
    names : list of str
        The parameters.
    version : int
    """

    design: str
    study: str
    title: str
    label: str
    rows: int
    part_rows: int
    names: list[str]
    version: int = VERSION

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return -(-self.rows // self.part_rows)


class SweepFolder:
    """A folder of parts.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def compare(self, manifest: Manifest, resume: bool) -> Manifest:
        """Find that the folder is new, or of the same sweep; return what holds there.  Nothing is written."""
        if not (self.path / MANIFEST).exists():
            refuse_used(self.path, "no sweep")
            return manifest
        known = self.manifest()
        if not resume:
            raise OptionError(f"{self.path} holds a sweep already: give another folder, or resume it")
        if known.design != manifest.design:
            change = (
                f"{known.title}; asked for now: {manifest.title}"
                if known.title != manifest.title
                else f"{known.title} as now, with other values or distributions"
            )
            raise OptionError(
                f"{self.path} holds a sweep with another design ({change}): give another folder, or remove this one"
            )
        if known.study != manifest.study:
            raise OptionError(
                f"{self.path} holds a sweep of another study: {known.label!r} was another one, or has been changed "
                "since; give another folder, or remove this one"
            )
        return known

    def begin(self, manifest: Manifest) -> None:
        """Say what the folder is of, if it does not yet, and clear away what was half-written."""
        claim(self.path, MANIFEST, asdict(manifest))

    def manifest(self) -> Manifest:
        """Read what the folder is of."""
        place = self.path / MANIFEST
        if not place.is_file():
            raise MissingFileError(f"there is no sweep in {str(self.path)!r}: it would hold a file {MANIFEST}")
        try:
            known = Manifest(**json.loads(place.read_text(encoding="utf-8")))
        except (TypeError, ValueError, OSError) as problem:
            raise FileFormatError(f"this does not say which sweep it is of ({problem})", str(place)) from None
        if known.version != VERSION:
            raise FileFormatError(f"only version {VERSION} of the format is understood", str(place))
        return known

    def finished(self) -> dict[int, Path]:
        """Return the parts that are whole, in order."""
        if not self.path.is_dir():
            return {}
        found = {int(m[1]): path for path in self.path.iterdir() if (m := PART.fullmatch(path.name))}
        return dict(sorted(found.items()))

    def write(self, number: int, columns: Mapping[str, Array]) -> None:
        """Write a part, wholly or not at all."""
        arrow = need_pyarrow()
        table = {name: arrow.array(x) for name, x in columns.items() if name != FAILURE}
        table[FAILURE] = arrow.array(columns[FAILURE], type=arrow.string())
        with beside(part_file(self.path, number)) as place, place.open("wb") as stream:
            # names of outputs that failed everywhere in a part come from the others: see SweepResult
            arrow.parquet.write_table(arrow.table(table), stream, use_dictionary=[FAILURE], compression="zstd")

    def files(self) -> list[Path]:
        """Return the files of the parts, in order."""
        return list(self.finished().values())

    def names(self, number: int) -> list[str]:
        """Return the columns of a part."""
        return list(need_pyarrow().parquet.read_schema(self.finished()[number]).names)

    def read(self, number: int, names: Sequence[str]) -> dict[str, Array]:
        """Return those of some columns that a part has."""
        with need_pyarrow().parquet.ParquetFile(self.finished()[number]) as file:
            table = file.read(columns=[name for name in names if name in file.schema_arrow.names])
        return {name: table.column(name).to_numpy() for name in table.column_names}


class KeptParts(SweepFolder):
    """Parts in memory, of a sweep that nobody wants on the disk; files are written when they are asked for."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kept: dict[int, dict[str, Array]] = {}

    def begin(self, manifest: Manifest) -> None:
        """Say what the parts are of."""
        self.of = manifest

    def manifest(self) -> Manifest:
        """Return what they are of."""
        return self.of

    def finished(self) -> dict[int, Path]:
        """Return the parts that there are, and where each would be."""
        return {number: part_file(self.path, number) for number in sorted(self.kept)}

    def write(self, number: int, columns: Mapping[str, Array]) -> None:
        """Keep a part."""
        self.kept[number] = dict(columns)

    def files(self) -> list[Path]:
        """Write what is kept, once, and return the files."""
        if not (self.path / MANIFEST).exists():
            super().begin(self.of)
            for number, columns in self.kept.items():
                super().write(number, columns)
        return super().files()

    def names(self, number: int) -> list[str]:
        """Return the columns of a part."""
        return list(self.kept[number])

    def read(self, number: int, names: Sequence[str]) -> dict[str, Array]:
        """Return those of some columns that a part has."""
        return {name: self.kept[number][name] for name in names if name in self.kept[number]}


def columns_of(first: int, parameters: Mapping[str, Array], outputs: Mapping[str, Any]) -> dict[str, Array]:
    """Return all columns of a part: rows, parameters, outputs (one column per entry), and what failed."""
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
