"""Readers and writers of robot files: URDF, SDF, MJCF, kinetree's YAML, and files of the sources' programs.

Each format is imported when a file of it is read or written: a shell that completes names of joints waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import FileFormatError, NoValueError, OptionError, RobotFileNotFoundError, UnsupportedError
from ...io.atomic_files import beside
from ...io.other_programs import READERS, of_program
from ...io.paths import as_path, file_meant, is_folder, whole_content
from ..tree import Model
from .source import Options, Source

__all__ = ["Options", "read", "save"]

ENDINGS = (".urdf", ".sdf", ".world", ".xml", ".mjcf", ".xacro", ".yaml", ".yml", ".m", ".par", ".mat")
"""Extensions of robot files, and of related files."""

WITH_SYMBOLS = ".par"
"""The extension of files in which numbers may be symbols."""


def read(
    path: str | os.PathLike[str], options: Options | None = None, loops: str | os.PathLike[str] | None = None
) -> Model:
    """Read a robot file; the file name's extension, and for ``.xml`` the root element, determine the format.

    Parameters
    ----------
    path : path-like
        ``.urdf``, ``.sdf`` or ``.world``, ``.xml`` or ``.mjcf`` (URDF, SDF or MJCF), ``.yaml`` or ``.yml``, ``.m``
        (ReDySim's ``inputs.m``), ``.par`` (SYMORO), ``.mat`` (a model of spatial_v2); or a folder of ReDySim.
    options : Options, optional
        See :func:`kinetree.load`.
    loops : path-like, optional
        A YAML file with joints that close loops.
    """
    place = as_path(path, "a robot file")
    is_redysim = is_folder(place) and any(place.glob("*.m"))
    source, chosen = _open(of_program("redysim").inputs_of(place) if is_redysim else place), options or Options()
    if loops is not None:
        side = _open(as_path(loops, "a file with loops"))
        loop_list = _format(".model.formats.loop_list")
        is_list = loop_list.is_loop_list(_format(".model.formats.yaml_nodes").nodes(side))
        chosen = replace(
            chosen, side_file=loop_list.LoopList(side) if is_list else _format(".model.formats.yaml").SideFile(side)
        )
    if chosen.values and source.path.suffix.lower() != WITH_SYMBOLS:
        raise OptionError(f"values are for symbols in .par files; {source.file} has none")
    return _reader(source)(source, chosen)


def save(model: Model, path: str | os.PathLike[str], original: str | os.PathLike[str] | None = None) -> None:
    """Write a robot file, completely or not at all; the file name's extension determines the format.

    Parameters
    ----------
    model : Model
    path : path-like
        ``.yaml`` or ``.yml`` (the whole model), ``.xml`` or ``.mjcf`` (everything that MuJoCo supports), ``.urdf``,
        ``.sdf`` or ``.par`` (everything that these formats can express).
    original : path-like, optional
        For a URDF file, the file that the robot was read from: only its inertias, friction and springs are changed.
    """
    path = as_path(path, "a robot file")
    refuse_unwritable(path)
    writer: Callable[[Model], str] = _format(WRITERS[path.suffix.lower()]).write
    if model.symbols and path.suffix.lower() != WITH_SYMBOLS:
        raise NoValueError(model.symbols)
    if original is not None:
        source = _open(as_path(original, "the original file"))
        if path.suffix.lower() != ".urdf" or source.path.suffix.lower() not in (".urdf", ".xml"):
            raise UnsupportedError(f"original= is for URDF files; it cannot write {path} from {original}")
        writer = partial(_format(".model.formats.urdf_edit").edited, source=source)
    try:
        data = writer(model).encode("utf-8")
    except UnicodeEncodeError as problem:
        raise UnsupportedError(f"cannot write {path}: a name has a character that is not text ({problem})") from None
    with beside(path) as place:
        place.write_bytes(data)


YAML, URDF, SDF, MJCF_WRITER = (
    ".model.formats.yaml", ".model.formats.urdf", ".model.formats.sdf", ".model.formats.mjcf_writer"
)  # fmt: skip
WRITERS = {
    ".yaml": YAML, ".yml": YAML, ".urdf": ".model.formats.urdf_writer", ".sdf": SDF, ".xml": MJCF_WRITER,
    ".mjcf": MJCF_WRITER, WITH_SYMBOLS: READERS[WITH_SYMBOLS],
}  # fmt: skip
"""Modules that write robot files, by the file name's extension."""

OF_ENDING = {".yaml": YAML, ".yml": YAML, ".urdf": URDF, ".sdf": SDF, ".world": SDF, **READERS}
"""Modules that read robot files, by the file name's extension; XML has its root element for that."""

ROOTS = {"robot": URDF, "mujoco": ".model.formats.mjcf", "sdf": SDF}
"""Modules that read XML files, by the root element."""


def _format(name: str) -> Any:
    """Return the module of a format."""
    return import_module(name, "kinetree") if name.startswith(".") else of_program(name)


def refuse_unwritable(path: Path) -> None:
    """Refuse a file that no robot can be written to: unknown extension, or no such folder."""
    if path.suffix.lower() not in WRITERS:
        raise UnsupportedError(f"cannot write {path}: robots are written as .yaml, .urdf, .sdf, .xml (MJCF) or .par")
    folder = Path(os.path.realpath(path)).parent
    if not is_folder(folder):
        raise RobotFileNotFoundError(f"cannot write {str(path)!r}: there is no directory {str(folder)!r}")


def _open(path: Path) -> Source:
    return Source(path, whole_content(path, "robot file", RobotFileNotFoundError, lambda: file_meant(path, ENDINGS)))


def _reader(source: Source) -> Callable[[Source, Options], Model]:
    suffix = source.path.suffix.lower()
    name = OF_ENDING.get(suffix)
    if suffix in (".xml", ".mjcf"):
        root = _format(".model.formats.xml").parse(source.data, source.file)
        if root.tag not in ROOTS:
            raise FileFormatError(
                f"the root element is <{root.tag}>; a robot file has <robot> (URDF), <sdf> or <mujoco> (MJCF)",
                source.file,
                root.line,
            )
        name = ROOTS[root.tag]
    if name is not None:
        read: Callable[[Source, Options], Model] = _format(name).read
        return read
    if suffix == ".xacro":
        raise FileFormatError(f"xacro must be expanded first: {_format('.model.formats.urdf').XACRO_HINT}", source.file)
    raise FileFormatError(
        f"files ending in {suffix or 'nothing'!r} are not supported; use .urdf, .sdf, .xml (MJCF or URDF), .yaml, "
        ".m (ReDySim), .par (SYMORO) or .mat (spatial_v2)",
        source.file,
    )
