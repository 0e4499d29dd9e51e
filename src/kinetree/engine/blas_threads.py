"""One thread for small matrices: threads that BLAS starts for them wait longer for one another than they compute.

NumPy and SciPy each bring an OpenBLAS, whose threads spin while they wait; on a machine that is otherwise busy, an SVD
of a hundred columns then takes a hundred times as long.  The number of threads belongs to the whole process, so it is
changed only briefly, and the last user restores it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator, suppress
from pathlib import Path
from typing import NamedTuple

from .make_once import once

SMALL = 600
"""Number of rows or columns up to which a matrix counts as small."""

_NAMES = [(p, s) for p in ("scipy_openblas_", "openblas_") for s in ("64_", "")]


class _OpenBlas(NamedTuple):
    """An OpenBLAS library, whose number of threads can be read and set."""

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
_before: list[tuple[_OpenBlas, int]] = []
"""The number of threads to restore."""


class one_blas_thread(ContextDecorator):
    """Limit BLAS to one thread inside a block or a function, unless matrices are large.

    size: Rows or columns of the largest matrix.
    """

    _holders = 0
    """The number of callers that currently want one thread."""

    def __init__(self, size: int = 0) -> None:
        self.is_small = size <= SMALL

    def __enter__(self) -> None:
        if not self.is_small:
            return
        with _lock:
            if not one_blas_thread._holders:
                libraries = _libraries("numpy", *(["scipy"] if "scipy.linalg" in sys.modules else []))
                _before[:] = [(library, threads) for library in libraries if (threads := library.get()) > 1]
                for library, _ in _before:
                    library.set(1)
            one_blas_thread._holders += 1

    def __exit__(self, *problem: object) -> None:
        if not self.is_small:
            return
        with _lock:
            one_blas_thread._holders -= 1
            if not one_blas_thread._holders:
                for library, threads in _before:
                    library.set(threads)
