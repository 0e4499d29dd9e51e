"""Checks of the paths that users give: a bad one raises one of our errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from ..errors import FileFormatError, KinetreeError, MissingFileError, OptionError, nearest


def as_path(given: Any, what: str) -> Path:
    """Return a path; refuse what cannot be one.

    given: str or path-like
    what: Its description in messages: ``the file of a record``.
    """
    try:
        text = os.fspath(given)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise OptionError(f"{what} is given as text or a pathlib.Path, not as {type(given).__name__}")
    if not text:
        raise OptionError(f"{what} has no name: the text is empty")
    if "\0" in text:
        raise OptionError(f"{what} cannot be {text!r}: a file's name cannot contain NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise OptionError(f"{what} cannot be {text!r}: it has a character that is not text") from None
    return Path(text)


def is_folder(path: Path) -> bool:
    """Return whether there is such a folder; False for impossible names, for which the system raises errors."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Return whether there is such a file; False for impossible names."""
    try:
        return path.is_file()
    except OSError:
        return False


def file_meant(path: Path, endings: Collection[str] = ()) -> str:
    """Return a hint, for the message that a file is missing, which existing file or folder was probably meant."""
    folder = path.parent
    if not is_folder(folder):
        return f": there is no directory {str(folder)!r}"
    try:
        there = [p.name for p in folder.iterdir() if not endings or p.suffix.lower() in endings if p.is_file()]
        near = nearest(path.name, there)
    except OSError:  # a folder without permission
        return ""
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def whole_content(
    path: Path, what: str, missing: type[KinetreeError] = MissingFileError, hint: Callable[[], str] = str
) -> bytes:
    """Return the content of a whole file; errors say what is missing or cannot be read.

    what: What the file should be: ``robot file``.
    missing: The error to raise if there is no such file.
    hint: Returns a hint that is added to the message in that case.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise missing(f"there is no {what} {str(path)!r}{hint()}") from None
    except IsADirectoryError:
        raise FileFormatError(f"this is a directory, not a {what}", str(path)) from None
    except OSError as problem:
        raise FileFormatError(f"this {what} cannot be read ({problem.strerror or problem})", str(path)) from None
