"""Load code from the cache on disk, or compile it now and keep it there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import cache
from .llvm import host


def load_or_compile(
    what: str | None, key: str | None, text: Callable[[], str], symbols: tuple[str, ...], from_python: tuple[str, ...] =
    (), target: host.Machine | None = None,
) -> tuple[dict[str, int], Any]:  # fmt: skip
    """Return the addresses of functions and what must be kept alive.

    what: For messages; None leaves it to the caller to report what failed.
    key: What the code depends on besides the machine; None keeps it out of the cache.
    text: Returns the LLVM assembly; called only if the code is not in the cache.
    symbols, from_python: Names that the code defines, and functions of CPython that it calls.
    target: What the code is made for; the usual machine if left out.
    """
    try:
        target = target or host.host()
        file = None if key is None else cache.digest(key, target.key)
        code = None if file is None else cache.read(file)
        if code is None:
            code = host.assemble(text(), target)
            if file is not None:
                cache.write(file, code)
        return host.load(code, symbols, from_python)
    except (host.CompilationError, NotImplementedError) as problem:
        if what is None:
            raise
        raise host.CompilationError(f"compiling {what} failed: {problem}") from None


def load_or_compile_text(
    what: str | None, text: str, symbols: tuple[str, ...], from_python: tuple[str, ...] = (),
    target: host.Machine | None = None,
) -> tuple[dict[str, int], Any]:  # fmt: skip
    """Load or compile assembly that is quick to write: its text is all that the code depends on."""
    return load_or_compile(what, cache.digest(text), lambda: text, symbols, from_python, target)


def load_or_compile_own(
    what: str | None, name: str, text: Callable[[], str], symbols: tuple[str, ...], from_python: tuple[str, ...] = (),
    target: host.Machine | None = None,
) -> tuple[dict[str, int], Any]:  # fmt: skip
    """Load or compile code that its name identifies: otherwise it depends on the engine's sources only.

    It also depends on the interpreter and NumPy, whose objects it knows.
    """
    key = cache.digest(cache.digest_of_sources(Path(__file__).parent), sys.version, np.__version__, name)
    return load_or_compile(what, key, text, symbols, from_python, target)
