"""Files and folders that appear complete or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import KinetreeError, OutputError


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yield a temporary file to write to; it replaces the file if all went well, and is removed otherwise."""
    with all_beside([path], f"{path} cannot be written") as (place,):
        yield place


@contextmanager
def all_beside(paths: Sequence[Path], refusal: str) -> Iterator[list[Path]]:
    """Yield temporary files to write to; none replaces its file before all are on the disk.

    Links are followed, so that a file keeps its other names; permissions are those of any new file.

    paths: The files, in folders that exist.
    refusal: Beginning of the error if they cannot be written: ``robot.yaml cannot be written``.
    """
    places: list[Path] = []
    try:
        targets = [Path(os.path.realpath(path)) for path in paths]
        for target in targets:
            places.append(_reserve(target))
        yield places
        for place in places:
            _put_on_disk(place)
        for place, target in zip(places, targets, strict=True):
            os.replace(place, target)
    except KinetreeError:
        raise  # the error already explains itself
    except OSError as problem:
        raise OutputError(f"{refusal}: {problem.strerror or problem}") from None
    finally:
        for place in places:
            with suppress(OSError):  # a disk that has just become read-only
                place.unlink(missing_ok=True)


@contextmanager
def folder_beside(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; if all went well, it replaces the old folder with everything in it.

    If anything goes wrong, or the user interrupts, the old folder is unchanged. Disk errors are raised as they are.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    hidden = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        made, old = hidden / "new", hidden / "old"
        made.mkdir()
        yield made
        if not folder.exists():
            os.replace(made, folder)
            return
        os.replace(folder, old)
        try:
            os.replace(made, folder)
        except BaseException:
            os.replace(old, folder)
            raise
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _reserve(target: Path) -> Path:
    """Make an empty, hidden file in the same folder, with the same extension, from which writers infer the format."""
    place = target.with_name(f".{uuid.uuid4().hex}{target.suffix}")
    os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return place


def _put_on_disk(place: Path) -> None:
    """Wait until the file is on the disk: the rename must not get there before the content."""
    with place.open("r+b") as stream:
        os.fsync(stream.fileno())
