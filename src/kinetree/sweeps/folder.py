"""The folder of a sweep: what it is of, and one Parquet file for each part that is finished.

``_sweep.json`` says which design and which study it is of; ``part-000012.parquet`` holds the rows of one part: their
number, parameters, outputs, and in words what went wrong.  A part is written beside and renamed when it is whole and on
the disk, so what has its name is finished, whatever happened to whoever wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileFormatError, MissingFileError, OptionError, OutputError
from ..io.atomic_files import beside
from ..io.tables.formats import need_pyarrow

Array = np.ndarray

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

    def write(self, number: int, first: int, parameters: Mapping[str, Array], outputs: Mapping[str, Any]) -> None:
        """Write a part, wholly or not at all."""
        arrow = need_pyarrow()
        count = len(next(iter(parameters.values())))
        columns = {ROW: np.arange(first, first + count), **parameters}
        table: dict[str, Any] = {name: arrow.array(x) for name, x in columns.items()}
        failures = None
        for name, values in outputs.items():
            if name == FAILURE:
                failures = [None if x is None else str(x) for x in values]
                continue
            array = np.asarray(values)
            if array.ndim == 1:
                table[name] = arrow.array(array)
            else:
                table |= {f"{name}[{k}]": arrow.array(np.ascontiguousarray(x)) for k, x in enumerate(array.T)}
        table[FAILURE] = arrow.array(failures or [None] * count, type=arrow.string())
        with beside(part_file(self.path, number)) as place, place.open("wb") as stream:
            # names of outputs that failed everywhere in a part come from the others: see SweepResult
            arrow.parquet.write_table(arrow.table(table), stream, use_dictionary=[FAILURE], compression="zstd")
