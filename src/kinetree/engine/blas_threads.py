"""One thread for small matrices: threads that BLAS starts for them wait longer for one another than they compute.

NumPy and SciPy bring an OpenBLAS of their own, whose threads spin while they wait; on a machine that has other things
to do, an SVD of a hundred columns then takes a hundred times as long.  How many threads there are is a number of the
whole process, so it is set for a moment only, and back by the last one who wanted it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .make_once import once

SMALL = 600
"""Rows or columns up to which a matrix is small."""

_NAMES = [(p, s) for p in ("scipy_openblas_", "openblas_") for s in ("64_", "")]


class _OpenBlas(NamedTuple):
    """An OpenBLAS: how many threads it may use, to be asked and said."""

    get: Callable[[], int]
    set: Callable[[int], None]


@once
def _libraries(*packages: str) -> tuple[_OpenBlas, ...]:
    """Find every OpenBLAS that these packages have loaded from their own folders."""
    found = []
    for package in packages:
        home = Path(str(sys.modules[package].__file__)).parent
        for file in (*home.parent.glob(f"{package}.libs/*openblas*"), *home.glob(".dylibs/*openblas*")):
            with suppress(OSError):
                library = ctypes.CDLL(str(file))
                for prefix, suffix in [n for n in _NAMES if hasattr(library, f"{n[0]}set_num_threads{n[1]}")][:1]:
                    get, put = (getattr(library, f"{prefix}{what}_num_threads{suffix}") for what in ("get", "set"))
                    get.restype, put.argtypes, put.restype = ctypes.c_int, (ctypes.c_int,), None
                    found.append(_OpenBlas(get, put))
    return tuple(found)


_lock = threading.Lock()
_holders: list[int] = []
"""One for everybody who wants one thread now."""

_before: list[tuple[_OpenBlas, int]] = []
"""How many threads to go back to."""


@contextmanager
def one_blas_thread(size: int = 0) -> Iterator[None]:
    """Let BLAS use one thread inside, unless matrices are large."""
    if size > SMALL:
        yield
        return
    with _lock:
        if not _holders:
            libraries = _libraries("numpy", *(["scipy"] if "scipy.linalg" in sys.modules else []))
            several = [(library, threads) for library in libraries if (threads := library.get()) > 1]
            for library, _ in several:
                library.set(1)
            _before[:] = several
        _holders.append(1)
    try:
        yield
    finally:
        with _lock:
            _holders.pop()
            if not _holders:
                for library, threads in _before:
                    library.set(threads)
