"""Inverse and forward dynamics of tables that may be larger than memory, row by row.

An output file appears only when it is complete. An output folder gets one Parquet file for each part of the source,
each of which appears when it is complete, so that an interrupted conversion resumes where it stopped.
"""

from __future__ import annotations

import json
import os
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import (
    FileFormatError,
    Message,
    MissingFileError,
    ModelWarning,
    OptionError,
    OutputError,
    Setting,
    explains_arguments,
    refuse_unknown,
    warn,
)
from kinetree.evaluation.checks import check_threads
from kinetree.former_names import former_arguments
from kinetree.identification.doubts.about_samples import doubtful_angles
from kinetree.io.paths import as_path, file_meant, is_folder
from kinetree.io.progress import Bar
from kinetree.io.tables.columns import Wanted
from kinetree.io.tables.converting import Law, convert
from kinetree.io.tables.formats import FORMATS, need_pyarrow
from kinetree.io.tables.parts import OpenTable
from kinetree.io.tables.reading import open_table
from kinetree.io.tables.writing import Sink, new_table
from kinetree.io.units import ShownUnits
from kinetree.model.force_units import FORCE_OF
from kinetree.robot.load import as_robot
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from ..fingerprints import fingerprint_of
from ..folder import claim, part_file, refuse_used
from .independent_joints import fewer_columns, followed, following

METHODS = {"inverse_dynamics": ("a", "tau"), "forward_dynamics": ("tau", "a")}
"""The quantity that is read besides positions and velocities, and the one that is written."""

PART_ROWS = 1_000_000
"""Minimum number of rows of a part of a folder, except for the last part of a file."""

MANIFEST = "_table.json"
"""The manifest of a folder; programs that read folders of Parquet files skip names that begin with an underscore."""


class LateStart(Protocol):
    """A configuration that is computed when it is needed."""

    @property
    def is_given(self) -> bool:
        """Whether the user gave a configuration."""

    def __call__(self) -> Array:
        """Return the configuration."""


@dataclass(frozen=True)
class TableDone:
    """The result of a conversion.

    Attributes
    ----------
    rows : int
        Number of rows that were computed now.
    seconds : float
    output : Path
    skipped : int
        Number of rows that already existed.
    """

    rows: int
    seconds: float
    output: Path
    skipped: int = 0


@explains_arguments
@former_arguments(initial="q_guess")
def over_table(
    robot: Robot | str | os.PathLike[str], method: str, source: str | os.PathLike[str], output: str | os.PathLike[str],
    *, friction: bool = False, q_guess: ArrayLike | LateStart | None = None, differentiate: bool = False,
    cutoff: float | None = None, over: str | None = None, units: str | Sequence[str] | None = None,
    threads: int | None = None, progress: bool = True, tell: Callable[[str], None] | None = None,
) -> TableDone:  # fmt: skip
    """Compute inverse or forward dynamics of every row of a table, and write another table, in bounded memory.

    Parameters
    ----------
    robot : Robot, or name or path of one
    method : {"inverse_dynamics", "forward_dynamics"}
    source : path
        A ``.parquet``, ``.csv``, ``.npz`` or ``.mat`` file with the columns ``q_elbow``, ``v_elbow``, and ``a_elbow``
        or ``tau_elbow``; or a folder of Parquet files.
    output : path
        A ``.parquet``, ``.csv`` or ``.npz`` file, which appears when it is complete; or a folder, to which Parquet
        files are added as they are finished. Parts that already exist in the folder are not computed again.
    friction : bool
        Whether to include the joints' own damping and friction.
    q_guess : array_like, optional
        For a mechanism of which the table has only the independent joints, a configuration on the branch of the motion.
    differentiate : bool
        For inverse dynamics of a table with only times and positions: whether to smooth and differentiate these, see
        :func:`kinetree.identification.differentiated`.
    cutoff : float, optional
        Cutoff frequency of a filter to use instead of smoothing, in Hz.
    over : str, optional
        A joint whose position becomes the first column of the output, such as that of a crank.
    units : str or sequence of str, optional
        Units of the output instead of SI, ``"deg mm"``; its columns then name them, ``tau_lift [N mm]``.  Arrays of
        ``.npz`` cannot.
    threads : int, optional
        Number of threads; one per processor by default.
    progress : bool
        Whether to show a progress bar on the terminal.
    tell : callable, optional
        Called with remarks about the table: columns that are not used, or that are interpreted by a rule; if it is left
        out, there is a warning about the latter.

    Returns
    -------
    TableDone

    Examples
    --------
    ``kt.sweeps.over_table("panda.urdf", "inverse_dynamics", "motion.parquet", "torques/")``
    """
    robot = as_robot(robot)
    refuse_unknown("method of a table", method, METHODS)
    count = os.cpu_count() or 1 if threads is None else threads
    check_threads(count)
    place, target = as_path(source, "the table"), as_path(output, "the table to write")
    if differentiate and (method != "inverse_dynamics" or target.suffix.lower() not in FORMATS):
        raise OptionError(
            Message(Setting("differentiate", True), f" is for inverse dynamics into a file: {', '.join(FORMATS)}")
        )
    if cutoff is not None and not differentiate:
        raise OptionError(
            Message(Setting("cutoff"), " is of the filter of ", Setting("differentiate", True), ": give both")
        )
    shown = ShownUnits.read(units)
    if shown.others and target.suffix.lower() == ".npz":
        said = Message("arrays of .npz are in SI, since they cannot name a unit: leave out ", Setting("units"))
        raise OptionError(Message(said, ", or write .csv or .parquet"))
    place_over = None if over is None else robot.entry_index(over, "q")
    made = _Conversion(robot, method, friction, q_guess, count, tell, differentiate, cutoff, place_over, shown)
    begin = clock.perf_counter()
    if target.suffix.lower() in FORMATS:
        if target.exists() and place.exists() and target.samefile(place):
            raise OptionError(f"{target} is the motion itself: give another file to write")
        rows, skipped = made.into_file(place, target, progress), 0
    elif target.suffix:
        raise OptionError(f"tables are {', '.join(FORMATS)} files, or a folder (no extension), not {str(target)!r}")
    else:
        rows, skipped = made.into_folder(place, target, progress)
    if made.reach and (doubt := doubtful_angles(robot, np.fmax.reduce(made.reach))):
        words = f"{place}: {doubt}; columns in degrees are named so, as 'q_elbow [deg]' is"
        warn(words, ModelWarning)
    return TableDone(rows, clock.perf_counter() - begin, target, skipped)


@dataclass(frozen=True)
class _SourcePiece:
    """Rows of a source that become one file."""

    path: Path
    groups: list[int]
    rows: int


@dataclass(frozen=True)
class _Conversion:
    robot: Robot
    method: str
    friction: bool
    q_guess: Any
    threads: int
    tell: Callable[[str], None] | None
    differentiate: bool = False
    cutoff: float | None = None
    over: int | None = None
    shown: ShownUnits = field(default_factory=ShownUnits)
    reach: list[Array] = field(default_factory=list)
    """Range of each coordinate, part by part."""

    def law(self, *state: Array) -> Array:
        if len(state[0]):
            self.reach.append(np.fmax.reduce(np.abs(state[0])))
        found = np.asarray(getattr(self.robot, self.method)(*state, **({"friction": True} if self.friction else {})))
        if self.over is None:
            return found
        return np.concatenate([state[0][..., self.over : self.over + 1], found], axis=-1)

    def sink(self, target: Path, has_time: bool) -> AbstractContextManager[Sink]:
        """Open a table to write."""
        robot, key = self.robot, METHODS[self.method][1]
        named = list(map(self.shown.size, units_of(robot)[key].values())) if self.shown.others else None
        over = None
        if self.over is not None:
            unit, size = self.shown.size(robot.q_units[self.over])
            over = robot.q_names[self.over], unit if named else "", size
        return new_table(target, key, robot.v_names, has_time, named, over)

    def opened(self, path: Path) -> tuple[OpenTable, Law]:
        """Open a table; return it, with the function that is computed for each row."""
        robot, (third, _) = self.robot, METHODS[self.method]
        wanted = {"q": robot.q_names, "v": robot.v_names, third: robot.v_names}
        fewer = None if robot.loops is None else fewer_columns(robot, third)
        table = self._table(path, wanted, fewer)
        if not table.fewer and getattr(self.q_guess, "is_given", self.q_guess is not None):
            words = " is for mechanisms of which only the independent joints are given: here all are"
            raise OptionError(Message(Setting("q_guess"), words))
        if table.remark and self.tell is not None:
            self.tell(table.remark)
        elif table.rules and self.tell is None:
            warn(f"{path}: {table.rules}", ModelWarning)
        if not table.fewer:
            return table, self.law
        given = self.q_guess() if callable(self.q_guess) else self.q_guess
        start = robot.assembled() if given is None else robot.close(np.asarray(given, dtype=float), limits=False)
        return followed(table, robot, start), following(self.law, robot, third)

    def _table(self, path: Path, wanted: Wanted, fewer: Wanted | None) -> OpenTable:
        try:
            if not self.differentiate:
                return open_table(path, wanted, fewer, units_of(self.robot))
        except FileFormatError as problem:
            from .differentiated_table import has_positions_only

            inverse = self.method == "inverse_dynamics"
            if not (inverse and has_positions_only(path, self.robot, fewer, units_of(self.robot))):
                raise
            words = f"{problem}; for velocities and accelerations by differences give "
            raise OptionError(Message(words, Setting("differentiate", True))) from None
        from .differentiated_table import differentiated_table

        return differentiated_table(path, self.robot, fewer, units_of(self.robot), self.cutoff)

    def into_file(self, source: Path, target: Path, progress: bool) -> int:
        """Write one file."""
        paths = _files(source) if is_folder(source) else [source]
        table, law = self.opened(paths[0])
        rows = 0
        with self.sink(target, table.has_time) as sink, _bar(source, progress) as bar:
            for k, path in enumerate(paths):
                if k:
                    table, law = self.opened(path)
                rows += convert(table.parts(), law, sink, self.threads, bar, 1.0 / len(paths), self.tell)
            if not rows:
                raise OptionError(f"{source} has no rows, so there is nothing to compute")
        return rows

    def into_folder(self, source: Path, target: Path, progress: bool) -> tuple[int, int]:
        """Write a file for each missing part; return how many rows were computed, and how many were already there."""
        pieces = list(_pieces(_files(source) if is_folder(source) else [source]))
        if not sum(piece.rows for piece in pieces):
            raise OptionError(f"{source} has no rows, so there is nothing to compute")
        self._begin(target, pieces)
        rows, skipped, total = 0, 0, sum(piece.rows for piece in pieces)
        opened: dict[Path, tuple[OpenTable, Law]] = {}
        try:
            with _bar(source, progress) as bar:
                for number, piece in enumerate(pieces):
                    place = part_file(target, number)
                    if place.exists():
                        skipped += piece.rows
                        bar.show((rows + skipped) / total)
                        continue
                    if piece.path not in opened:
                        opened = {piece.path: self.opened(piece.path)}
                    table, law = opened[piece.path]
                    with self.sink(place, table.has_time) as sink:
                        rows += convert(table.parts_of(piece.groups), law, sink, self.threads, tell=self.tell)
                    bar.show((rows + skipped) / total)
        except OutputError as problem:
            done = rows + skipped
            raise OutputError(
                f"{problem}; {done:,} of {total:,} rows are finished and stay: make room and call again"
            ) from None
        return rows, skipped

    def _begin(self, target: Path, pieces: list[_SourcePiece]) -> None:
        """Write the manifest of the folder, or check that it is the same."""
        given = getattr(self.q_guess, "is_given", self.q_guess is not None)
        guess = None if not given else self.q_guess() if callable(self.q_guess) else self.q_guess
        sources = [(piece.path.name, piece.path.stat().st_size, piece.groups, piece.rows) for piece in pieces]
        written = (self.over, *sorted(self.shown.others.items())) if self.over is not None or self.shown.others else ()
        own = fingerprint_of((self.method, self.friction, self.robot.model, guess, sources, *written))
        place = target / MANIFEST
        if place.is_file():
            try:
                known: Any = json.loads(place.read_text(encoding="utf-8"))
            except ValueError:
                known = None
            if not isinstance(known, Mapping) or known.get("of") != own:
                raise OptionError(
                    f"{target} holds what was computed from another table, robot or method: give another folder, or "
                    "remove this one"
                )
        else:
            refuse_used(target, "something else")
        claim(target, MANIFEST, {"kinetree-table": 1, "of": own, "method": self.method})


def _bar(source: Path, progress: bool) -> Bar:
    return Bar(1.0, source.name, wanted=progress)


def _files(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith("."))
    if not found:
        raise MissingFileError(f"there is no .parquet file in the folder {str(folder)!r}")
    return found


def _pieces(paths: list[Path]) -> Iterator[_SourcePiece]:
    """Yield groups of rows of Parquet files that are converted together."""
    arrow = need_pyarrow()
    for path in paths:
        if path.suffix.lower() != ".parquet":
            raise OptionError(f"only Parquet files can go into a folder; give a file to write for {path.name}")
        if not path.is_file():
            raise MissingFileError(f"there is no file {str(path)!r}{file_meant(path)}")
        try:
            head = arrow.parquet.read_metadata(path)
        except (arrow.ArrowException, OSError) as problem:
            raise OptionError(f"{path} is not a Parquet file ({problem})") from None
        groups: list[int] = []
        rows = 0
        for k in range(head.num_row_groups):
            groups.append(k)
            rows += head.row_group(k).num_rows
            if rows >= PART_ROWS:
                yield _SourcePiece(path, groups, rows)
                groups, rows = [], 0
        if groups:
            yield _SourcePiece(path, groups, rows)


def units_of(robot: Robot) -> dict[str, dict[str, str]]:
    """Return the unit of every column of a table, by quantity and name."""
    of_v = dict(zip(robot.v_names, robot.v_units, strict=True))
    return {
        "q": dict(zip(robot.q_names, robot.q_units, strict=True)),
        "v": {name: f"{unit}/s" for name, unit in of_v.items()},
        "a": {name: f"{unit}/s^2" for name, unit in of_v.items()},
        "tau": {name: FORCE_OF[unit] for name, unit in of_v.items()},
    }
