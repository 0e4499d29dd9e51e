"""What the studio opens: systems of the gallery, files of one folder, dropped files."""

from __future__ import annotations

import base64
import binascii
import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from kinetree import gallery
from kinetree.errors import FileFormatError, OptionError
from kinetree.model.attachments import attachments
from kinetree.model.formats import ENDINGS
from kinetree.model.tree import BASE
from kinetree.robot.load import load
from kinetree.studies.sources import cited

from ..project.document import Document
from ..view.displayed_robot import make_figure
from ..view.framing import framing
from ..view.motion import Poses

MOST_FILES, MOST_BYTES = 500, 50_000_000
"""What is taken of dropped files at most: a zip file of few bytes can unfold to many."""

ROBOTS = tuple(ending for ending in ENDINGS if ending not in (".m", ".mat", ".xacro", ".world"))


def cards() -> list[dict[str, Any]]:
    """List the systems of the gallery, by source."""
    found = []
    for name in gallery.names():
        about = gallery.about(name)
        group = next(iter(cited(about.source)), "ReDySim" if "ReDySim" in about.source else "Others")
        found.append({"name": name, "title": about.title, "group": group})
    return found


def files(folder: Path) -> list[str]:
    """List the robot files of a folder, and of the folders in it."""
    found = [path for path in [*folder.glob("*"), *folder.glob("*/*")] if path.suffix.lower() in ROBOTS]
    return sorted(path.relative_to(folder).as_posix() for path in found if path.is_file())[:MOST_FILES]


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder; refuse names that lead out of it, by dots or by links."""
    root = folder.resolve()
    path = (root / name).resolve() if name.strip() and "\0" not in name else root
    if path == root or not path.is_relative_to(root):
        raise OptionError(f"the studio reads and writes files in {str(folder)!r} only, where {name!r} is not")
    return path


def dropped(given: Mapping[str, Any]) -> Document:
    """Open dropped files: one robot file, with what it refers to, or a folder of ReDySim, as files or zipped.

    given: Contents by name, in base 64.
    """
    contents = dict(_unfolded(given))
    place = tempfile.TemporaryDirectory(prefix="kinetree-dropped-")  # removed when nothing holds it any more
    folder = Path(place.name)
    for name, content in contents.items():
        path = inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    inputs = sorted(folder.rglob("inputs.m"))
    robots = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ROBOTS)
    if inputs:
        return Document.open(load(inputs[0].parent))
    if len(robots) != 1:
        listed = ", ".join(path.name for path in robots[:6]) or ", ".join(list(contents)[:6]) or "nothing"
        raise OptionError(
            f"drop one robot ({', '.join(ROBOTS)}) with its meshes, or a folder of ReDySim with inputs.m, not {listed}"
        )
    opened = Document.open(robots[0])
    if opened.path is not None:
        return Document(opened.text, origin=robots[0].name)
    opened.holds = place
    return opened


def _unfolded(given: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for name, text in given.items():
        try:
            content = base64.b64decode(str(text), validate=True)
        except binascii.Error:
            raise FileFormatError("the file did not arrive whole", str(name)) from None
        if not str(name).lower().endswith(".zip"):
            found.append((str(name), content))
            continue
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                listed = [entry for entry in archive.infolist() if not entry.is_dir()]
                if len(listed) > MOST_FILES or sum(entry.file_size for entry in listed) > MOST_BYTES:
                    raise OptionError(f"{name} holds more than {MOST_FILES} files or {MOST_BYTES / 1e6:.0f} MB")
                found += [(PurePosixPath(entry.filename).as_posix(), archive.read(entry)) for entry in listed]
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as problem:
            raise FileFormatError(f"this zip file cannot be read: {problem}", str(name)) from None
    return found


def picture(name: str) -> dict[str, Any]:
    """Return a line drawing of a system of the gallery, seen as the viewer shows it, in a square of one by one."""
    robot, q = load(name), np.asarray(gallery.start(name), dtype=float)
    figure = make_figure(robot, None, q=q)
    poses, away, up = Poses.of(robot.model, q), framing([figure], None).sight.away, figure.scene.up
    right = np.cross(up, away)
    right /= np.linalg.norm(right)
    view = np.stack([right, np.cross(away, right)])
    lines, spots = [], [view @ poses.point(i, np.zeros(3)) for i in range(len(robot.model.bodies))]
    for body, points in attachments(robot.model).items():
        ends = [view @ poses.point(body, p) for p in points] if body != BASE else []
        lines += [[ends[0], end] for end in ends[1:]]
    flat = np.array([*spots, *(end for line in lines for end in line)])
    low, high = flat.min(axis=0), flat.max(axis=0)
    size = float((high - low).max()) or 1.0
    flat = np.round((flat - low + 0.5 * (size - (high - low))) / size, 4)
    return {"name": name, "spots": flat[: len(spots)].tolist(), "lines": flat[len(spots) :].reshape(-1, 4).tolist()}
