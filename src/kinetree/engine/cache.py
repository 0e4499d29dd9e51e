"""Machine code on disk, so that nothing is compiled twice.

There is one file per kernel, named after what it was made from.  Files are written under another name and then renamed,
so two processes may write at once; a checksum in front reveals damage.  Whatever goes wrong with the disk, the caller
compiles and continues, and is warned once; see :func:`report_to`.

What is read here is run.  So it is read only from a folder and a file that belong to the user and that
nobody else can write to; a checksum proves nothing, since whoever plants code can compute it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_MAGIC = b"kinetree-code-1\n"
_warned = False


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)


_report: Callable[[str], object] = _warn


def report_to(report: Callable[[str], object]) -> None:
    """Set the function that receives the first message about a problem with the disk, instead of a warning."""
    global _report
    _report = report


_ADVICE = "Set KINETREE_CACHE to a folder that can be written, or to 'off'"
_ADVICE_OF_OWN = "Set KINETREE_CACHE to a folder of your own, or to 'off'"
_IS_WINDOWS = os.name == "nt"
_ONLY_OWNER = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

LARGEST_CACHE = 256 << 20
"""Bytes of code that are kept; beyond that, the oldest files are removed."""


def directory() -> Path | None:
    """Return the folder for compiled code: ``KINETREE_CACHE``, or one of the user's; None if off or unknown."""
    try:
        return _directory()
    except RuntimeError as problem:  # a user without a home, as in containers
        _complain(f"there is no folder for the cache of compiled code ({problem}). {_ADVICE}")
        return None


def _directory() -> Path | None:
    chosen = os.environ.get("KINETREE_CACHE")
    if chosen is not None:
        return None if chosen.strip().lower() in ("", "0", "off", "none") else Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kinetree"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "kinetree" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kinetree"


def digest(*parts: str | bytes) -> str:
    """Return a name derived from what a kernel was made from."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()


@lru_cache(maxsize=16)
def digest_of_sources(folder: Path) -> str:
    """Return a digest that changes whenever a Python file below a folder does, so that stale code is never used."""
    return digest(*(p.read_bytes() for p in sorted(folder.rglob("*.py"))))


def read(key: str) -> bytes | None:
    """Return the code stored under a key, or None if there is none or it is damaged."""
    folder = directory()
    if folder is None:
        return None
    try:
        data = _read_own(folder, f"{key}.code")
    except FileNotFoundError:
        return None
    except _ForeignCodeError as problem:
        _complain(f"machine code is not taken from {problem}; it is compiled instead. {_ADVICE_OF_OWN}")
        return None
    except OSError as problem:
        _complain(f"the cache of compiled code cannot be read ({problem}); compiling instead. {_ADVICE}")
        return None
    head = len(_MAGIC) + 32
    if not data.startswith(_MAGIC) or hashlib.sha256(data[head:]).digest() != data[len(_MAGIC) : head]:
        _complain(f"the cached code {folder / key}.code is damaged; it is compiled anew")
        return None
    return data[head:]


def write(key: str, code: bytes) -> None:
    """Store code under a key, completely or not at all."""
    folder = directory()
    if folder is None:
        return
    temporary = None
    try:
        folder.mkdir(_ONLY_OWNER, parents=True, exist_ok=True)
        _require_own_folder(folder)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".writing-")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(code).digest() + code)
        os.replace(temporary, folder / f"{key}.code")
        temporary = None
        if int(key[:2], 16) == 0:  # now and then
            _forget_the_oldest(folder)
    except _ForeignCodeError as problem:  # nothing would be read from there
        _complain(f"machine code is not kept in {problem}. {_ADVICE_OF_OWN}")
    except OSError as problem:
        if isinstance(problem, PermissionError) and (folder / f"{key}.code").exists():
            return  # Windows does not replace a file that somebody is reading: it is the same one
        _complain(f"the cache of compiled code in {folder} cannot be written ({problem}). {_ADVICE}")
    finally:  # also when the user interrupts
        if temporary is not None:
            with suppress(OSError):  # a disk that has just become read-only
                os.unlink(temporary)


# ------------------------------------------------------------------ whose code it is


class _ForeignCodeError(Exception):
    """Somebody else could have put code in a place; the message names it and says why."""


def _read_own(folder: Path, name: str) -> bytes:
    """Read a file that only the user can have written.

    Folder and file are checked through the opened handles, so that nobody can swap them in between.
    """
    if _IS_WINDOWS:
        _require_own_folder(folder)
        return (folder / name).read_bytes()
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _require_own(os.fstat(opened), folder)
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=opened), "rb") as file:
            _require_own(os.fstat(file.fileno()), folder / name)
            return file.read()
    finally:
        os.close(opened)


def _require_own_folder(folder: Path) -> None:
    if not _IS_WINDOWS:
        _require_own(folder.stat(), folder)
    elif not folder.resolve().is_relative_to(Path.home().resolve()):
        # access lists are not read: below a profile Windows lets only its user, and administrators, write
        raise _ForeignCodeError(f"{folder}, which is not below your own folder {Path.home()}: others may write there")


def _require_own(found: os.stat_result, place: Path) -> None:
    if found.st_uid != os.geteuid():
        raise _ForeignCodeError(f"{place}, which belongs to another user (uid {found.st_uid}, yours is {os.geteuid()})")
    if found.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        raise _ForeignCodeError(f"{place}, which others can write to (mode {mode:o}): 'chmod go-w {place}' forbids it")
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        raise _ForeignCodeError(f"{place}, which is not an ordinary file")


def _forget_the_oldest(folder: Path) -> None:
    """Keep the cache below its limit; other processes may do the same at the same time."""
    files = []
    for path in (*folder.glob("*.code"), *folder.glob(".writing-*")):
        with suppress(FileNotFoundError):
            found = path.stat()
            files.append((found.st_mtime, found.st_size, path))
    total = 0
    for _, size, path in sorted(files, reverse=True):
        total += size
        if total > LARGEST_CACHE:
            path.unlink(missing_ok=True)


def _complain(message: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        _report(message)
