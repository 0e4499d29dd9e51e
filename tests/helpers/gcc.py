"""Compiling C as strictly as we promise it compiles."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
COMPILER = shutil.which("gcc") or shutil.which("cc")


def compile_c(*arguments: object, optimize: str = "-O2") -> None:
    """Run the compiler with all warnings as errors; its complaints are the test's."""
    assert COMPILER, "a C compiler is needed for this test"
    command = [COMPILER, *STRICT, optimize, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[:4000]
    assert run.stderr == ""


class Library:
    """C source as a shared library whose functions take and return arrays.

    ``with_libm=False`` links against nothing at all, so that a call of math.h's functions fails.
    """

    def __init__(self, source: Path, real: type = np.float64, *, with_libm: bool = True, **options: str) -> None:
        target = source.with_suffix(".so")
        libraries = ["-lm"] if with_libm else ["-nostdlib", "-Wl,--no-undefined", "-ffreestanding"]
        compile_c("-shared", "-fPIC", "-o", target, source, *libraries, **options)
        self.real = real
        self.handle = ctypes.CDLL(str(target))

    def __call__(self, name: str, size: int, *vectors: np.ndarray) -> np.ndarray:
        """Call ``void name(const real *, ..., real *)`` for one state."""
        arrays = [np.ascontiguousarray(v, dtype=self.real) for v in vectors]
        result = np.full(size, np.nan, dtype=self.real)
        function = getattr(self.handle, name)
        function.restype = None
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, result)))
        return result
