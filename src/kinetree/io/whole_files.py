"""Files that appear whole or not at all: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import KinetreeError, OutputError


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A name beside a file to write to; it takes the file's place when all went well, and is gone otherwise."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
        os.close(handle)
        os.chmod(name, 0o666 & ~_umask())  # temporary files are their owner's only, results are not
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem.strerror or problem}") from None
    try:
        yield Path(name)
        os.replace(name, path)
    except KinetreeError:
        raise  # it says what is wrong already
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem.strerror or problem}") from None
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    """The user's mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
