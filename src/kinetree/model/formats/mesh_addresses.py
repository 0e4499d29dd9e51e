"""Where the meshes of a robot file are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ..shapes.by_name import shape_kind
from ..shapes.solid import Solid


def find_mesh(address: str, robot_file: Path, line: int, package_dirs: Sequence[Path] = ()) -> Path:
    """Return the path of a mesh that a robot file names; raise an error with the line if it is not there."""
    tried = list(_places(address, robot_file, package_dirs))
    for place in tried:
        if place.is_file():
            return place
    raise FileFormatError(f"the mesh {address!r} is not there ({_looked(tried)})", str(robot_file), line)


def mesh_named(address: str, robot_file: Path, line: int, scale: Any = (1.0, 1.0, 1.0)) -> Solid:
    """Return a mesh that a robot file names; it need not be there, as long as nobody asks for its shape."""
    tried = [place for place in _places(address, robot_file, ()) if place.is_file()]
    where = f"{robot_file}, line {line}"
    mesh: Solid = shape_kind("mesh")(str(tried[0]) if tried else address, scale, where=where)
    return mesh


def _looked(tried: Sequence[Path]) -> str:
    if not tried:
        return "only files can be read"
    more = f" and {len(tried) - 1} other places" if len(tried) > 1 else ""
    return f"looked for {tried[0]}{more}"


def _places(address: str, robot_file: Path, package_dirs: Sequence[Path]) -> Iterator[Path]:
    """Yield possible paths of a mesh; ``package://name/rest`` is searched from the robot file up, then as in ROS."""
    scheme, separator, rest = address.replace("\\", "/").partition("://")
    folder = robot_file.resolve().parent
    if not separator:
        yield folder / scheme
    elif scheme == "file":
        yield Path(rest)
    elif scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        for holder in (*package_dirs, folder, *folder.parents, *_ros_folders()):
            yield holder / package / inside
            if holder.name == package:
                yield holder / inside


def _ros_folders() -> Iterator[Path]:
    for part in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        if part:
            yield Path(part)
    for part in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if part:
            yield Path(part) / "share"
