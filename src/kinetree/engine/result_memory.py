"""Memory for large results: they reuse that of earlier ones, see :mod:`.llvm.kept_memory`."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from typing import Any

import numpy as np

from .llvm.foreign import SET_HANDLER, numpy_function
from .llvm.host import NATIVE, CompilationError, target
from .llvm.kept_memory import FROM_PYTHON, FUNCTIONS, KEPT, kept_memory_module
from .load_code import load_or_compile_own
from .make_once import once

LARGE = 1 << 21
"""Results of at least this many bytes are put into kept memory: one large page; for less, a block would be mostly
empty."""

MOST_KEPT = 1 << 30
"""The most bytes that are kept, or a sixteenth of the machine's memory if that is less."""

_HANDLER_NAME = b"mem_handler"


class _Allocator(ctypes.Structure):
    """NumPy's ``PyDataMem_Handler``."""

    _fields_ = (
        ("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in FUNCTIONS),
    )  # fmt: skip


def _limit() -> int:
    """Return how many bytes may be kept; ``KINETREE_POOL`` is ``off`` or a number of megabytes."""
    asked = os.environ.get("KINETREE_POOL", "").strip().lower()
    if asked in ("off", "0"):
        return 0
    if asked.isdigit():
        return int(asked) << 20
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # this system does not answer that
        return MOST_KEPT // 4
    return min(MOST_KEPT, memory // 16)


@once
def handler() -> tuple[int, Any]:
    """Return the address of the allocator's capsule for NumPy, 0 where there is none, and what it needs."""
    limit = _limit()
    if not limit or sys.implementation.name != "cpython":
        return 0, None
    try:
        addresses, alive = load_or_compile_own(
            None, "kept memory", kept_memory_module, FUNCTIONS, FROM_PYTHON, target(NATIVE)
        )
    except (CompilationError, NotImplementedError):
        return 0, None
    state = ctypes.create_string_buffer(KEPT.size)
    advise = getattr(ctypes.pythonapi, "madvise", None) if sys.platform == "linux" else None
    words = {"limit": limit, "advise": 0 if advise is None else ctypes.cast(advise, ctypes.c_void_p).value}
    for name, value in words.items():
        ctypes.c_int64.from_address(ctypes.addressof(state) + KEPT.at[name]).value = value or 0
    made = _Allocator(b"kinetree", 1, ctypes.addressof(state), *(addresses[name] for name in FUNCTIONS))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new(ctypes.addressof(made), _HANDLER_NAME, None)
    keep = alive, state, made, capsule
    for thing in keep:  # arrays may outlive this module when the interpreter ends
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return id(capsule), keep


def for_machine_code() -> tuple[int, int, int]:
    """Return the addresses of ``allocate(state, bytes)``, ``release(state, block, bytes)`` and the state, or zeros.

    They are called with the interpreter's lock held.
    """
    address, keep = handler()
    return (keep[2].allocate, keep[2].release, keep[2].context) if address else (0, 0, 0)


@once
def _set_handler() -> Any:
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpy_function(SET_HANDLER))


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array for a result; a large one in memory that was used before, if there is some."""
    if math.prod(shape) * np.dtype(dtype).itemsize < LARGE or not handler()[0]:
        return np.empty(shape, dtype)
    before = _set_handler()(handler()[1][-1])
    try:
        return np.empty(shape, dtype)
    finally:
        _set_handler()(before)
