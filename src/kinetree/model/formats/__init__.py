"""Readers and writers of robot files: URDF, SDF, MJCF, kinetree's YAML, and files of the sources' programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...errors import FileFormatError, NoValueError, OptionError, RobotFileNotFoundError, UnsupportedError
from ...io.atomic_files import beside
from ...io.other_programs import READERS, of_program
from ...io.paths import as_path, file_meant, is_folder, whole_content
from ..tree import Model
from . import loop_list, mjcf, mjcf_writer, sdf, urdf, urdf_edit, urdf_writer, xml, yaml, yaml_nodes
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
        is_list = loop_list.is_loop_list(yaml_nodes.nodes(side))
        chosen = replace(chosen, side_file=loop_list.LoopList(side) if is_list else yaml.SideFile(side))
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
    writer = WRITERS[path.suffix.lower()]
    if model.symbols and path.suffix.lower() != WITH_SYMBOLS:
        raise NoValueError(model.symbols)
    if original is not None:
        source = _open(as_path(original, "the original file"))
        if path.suffix.lower() != ".urdf" or source.path.suffix.lower() not in (".urdf", ".xml"):
            raise UnsupportedError(f"original= is for URDF files; it cannot write {path} from {original}")
        writer = partial(urdf_edit.edited, source=source)
    try:
        data = writer(model).encode("utf-8")
    except UnicodeEncodeError as problem:
        raise UnsupportedError(f"cannot write {path}: a name has a character that is not text ({problem})") from None
    with beside(path) as place:
        place.write_bytes(data)


WRITERS: dict[str, Callable[[Model], str]] = {
    ".yaml": yaml.write, ".yml": yaml.write, ".urdf": urdf_writer.write, ".sdf": sdf.write,
    ".xml": mjcf_writer.write, ".mjcf": mjcf_writer.write, ".par": lambda model: of_program("symoro").write(model),
}  # fmt: skip
"""Writers of robot files, by the file name's extension."""


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
    if suffix in (".yaml", ".yml"):
        return yaml.read
    if suffix == ".urdf":
        return urdf.read
    if suffix in (".sdf", ".world"):
        return sdf.read
    if suffix in READERS:
        read: Callable[[Source, Options], Model] = of_program(READERS[suffix]).read
        return read
    if suffix in (".xml", ".mjcf"):
        root = xml.parse(source.data, source.file)
        if root.tag == "robot":
            return urdf.read
        if root.tag == "mujoco":
            return mjcf.read
        if root.tag == "sdf":
            return sdf.read
        raise FileFormatError(
            f"the root element is <{root.tag}>; a robot file has <robot> (URDF), <sdf> or <mujoco> (MJCF)",
            source.file,
            root.line,
        )
    if suffix == ".xacro":
        raise FileFormatError(f"xacro must be expanded first: {urdf.XACRO_HINT}", source.file)
    raise FileFormatError(
        f"files ending in {suffix or 'nothing'!r} are not supported; use .urdf, .sdf, .xml (MJCF or URDF), .yaml, "
        ".m (ReDySim), .par (SYMORO) or .mat (spatial_v2)",
        source.file,
    )
