"""The files of one folder, which is all that a MATLAB program can see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileFormatError, KinetreeError, RobotFileNotFoundError
from kinetree.io.paths import whole_content
from kinetree.io.tables.mat_file import read_variables
from kinetree.spatial.scalar import Scalar

from . import values
from .call_variables import CallFrame
from .evaluate import HostFunction, MatlabRunner
from .parse import decoded, parse
from .syntax import MatlabFile
from .values import MatlabError, MatlabStruct, Matrix

LARGEST_DATA = 100_000_000
"""The most bytes of a data file."""


class MatlabFolder:
    """Functions and data of a folder; each file is read once, when it is needed.

    Parameters
    ----------
    path : Path
    behind : sequence of Path
        Folders to search for files that are not in this one: those into which its files would be copied.
    """

    def __init__(self, path: Path, behind: Sequence[Path] = ()) -> None:
        self.path, self.places = path, (path, *behind)
        self._programs: dict[str, MatlabFile | None] = {}
        self._data: dict[str, dict[str, Any]] = {}

    def find(self, file: str) -> Path | None:
        """Return the path of a file, in this folder or in one of ``behind``; None if there is none."""
        if "/" in file or "\\" in file or file in ("", ".", ".."):
            return None
        for place in self.places:
            path = place / file
            if path.is_file() and path.resolve().parent == place.resolve():
                return path
            if path.suffix == ".m" and path.with_suffix(".p").is_file():
                return None  # an encrypted file would have overwritten the one in the other folder
        return None

    def give(self, path: Path, data: bytes) -> None:
        """Provide the content of a file that has been read already."""
        self._programs[path.stem] = parse(data, str(path))

    def replace(self, name: str, path: Path) -> None:
        """Read a function from another file."""
        self.give(path.with_stem(name), whole_content(path, "file of MATLAB", RobotFileNotFoundError))

    def has(self, function: str) -> bool:
        """Return whether there is a readable file of this function."""
        return self._programs.get(function) is not None or self.find(f"{function}.m") is not None

    def encrypted(self) -> list[str]:
        """Return the names of the functions that exist as ``.p`` files."""
        return sorted({p.stem for place in self.places for p in place.glob("*.p")})

    # ------------------------------------------------------------------ for programs

    def program(self, name: str) -> MatlabFile | None:
        """Return the file ``name.m``, or None if there is none."""
        if name not in self._programs:
            path = self.find(f"{name}.m")
            self._programs[name] = None
            if path is not None:
                data = whole_content(path, "file of MATLAB", RobotFileNotFoundError)
                self._programs[name] = parse(data, str(path))
        return self._programs[name]

    def data(self, name: str) -> dict[str, Any]:
        """Return the variables of a ``.mat`` file, or the table of a text file under an empty name."""
        path = self.find(name) or self.find(f"{name}.mat")
        if path is None:
            raise MatlabError(f"there is no file {name!r} in the folder, and no other is searched")
        if name not in self._data:
            content = whole_content(path, "file of data", RobotFileNotFoundError)
            if len(content) > LARGEST_DATA:
                raise MatlabError(f"{name!r} has {len(content)} bytes, more than {LARGEST_DATA}")
            try:
                is_mat = path.suffix.lower() == ".mat"
                self._data[name] = _variables(content, path) if is_mat else {"": table(content, path)}
            except KinetreeError as problem:
                raise MatlabError(str(problem)) from None
        return self._data[name]

    def missing(self, name: str) -> str:
        """Return what is known about a function that cannot be read."""
        if name in self.encrypted():
            return f": {name}.p is encrypted, and cannot be read without MATLAB"
        return ""

    # ------------------------------------------------------------------ for other modules

    def call(
        self, name: str, arguments: Sequence[Any] = (), outputs: int = 1,
        hosts: Mapping[str, HostFunction] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Return the outputs of a function.

        Parameters
        ----------
        name : str
        arguments : sequence
            Scalars of any kind, or lists of scalars, which are columns.
        outputs : int
            Number of requested outputs.
        hosts : mapping of str to callable, optional
            Functions in place of others.
        """
        given = [x if isinstance(x, (Matrix, str)) else values.of(x) for x in arguments]
        return MatlabRunner(self, hosts).call(name, given, outputs)

    def workspace(self, name: str, hosts: Mapping[str, HostFunction] | None = None) -> CallFrame:
        """Return the variables that a function without arguments, or a script, leaves behind."""
        return MatlabRunner(self, hosts).workspace(name)

    def inputs_of(self, name: str) -> list[str | None]:
        """Return the names of a function's parameters."""
        program = self.program(name)
        return list(program.functions[0].parameters) if program is not None and program.functions else []

    def outputs_of(self, name: str) -> list[str]:
        """Return the names of a function's outputs."""
        program = self.program(name)
        return list(program.functions[0].outputs) if program is not None and program.functions else []


def numbers(value: Any) -> list[Scalar]:
    """Return the entries of a matrix, column by column."""
    return values.number_matrix(value).entries()


def _variables(content: bytes, path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, array in read_variables(content, str(path)).items():
        if not isinstance(array, np.ndarray) or "{" in name:
            continue  # texts and cells are left out: asking for one raises an error that it does not exist
        if array.dtype.kind != "b" and array.dtype != np.dtype(float):
            raise FileFormatError(
                f"{name!r} is of class {array.dtype}, whose numbers MATLAB rounds and cuts off: save double({name})",
                str(path),
            )
        matrix = values.settled(array if array.ndim > 1 else array.reshape(1, -1), array.dtype.kind == "b")
        *outer, last = name.split(".")
        inside = found
        for word in outer:
            inside = inside.setdefault(word, MatlabStruct())
        inside[last] = matrix
    return found


def table(content: bytes, path: Path) -> Matrix:
    """Return the numbers of a text file, a row on each line."""
    rows: list[list[float]] = []
    for k, line in enumerate(decoded(content).split("\n")):
        words = line.split("%")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            rows.append([float(word) for word in words])
        except ValueError:
            raise FileFormatError(f"this is not a row of numbers: {line.strip()[:60]!r}", str(path), k + 1) from None
        if len(rows[-1]) != len(rows[0]):
            raise FileFormatError(f"{len(rows[-1])} numbers where the first row has {len(rows[0])}", str(path), k + 1)
    return values.settled(np.array(rows) if rows else np.zeros((0, 0)))
