"""What machine code knows of the memory of CPython and NumPy, by name: layouts, flags, function table indices.

NumPy's are part of its ABI; those of CPython hold on 64-bit machines.  Where one does not hold, :func:`differences`
names it, and calls go through Python instead; the tests name it, too, even where only use can reveal it.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np

from .assembly import StructLayout

OBJECT = StructLayout(references="i64", type="ptr")
"""The beginning of every object (``PyObject``)."""

BYTES = StructLayout(size=("i64", 16), hash="i64", data="i8")
"""A ``bytes`` object (``PyBytesObject``)."""

TUPLE = StructLayout(size=("i64", 16), items=("ptr", tuple.__basicsize__))
"""A tuple (``PyTupleObject``); since Python 3.14 it keeps its hash before the items."""

LIST = StructLayout(size=("i64", 16), items="ptr")
"""A list (``PyListObject``); a tuple's size is at the same place."""

NUMBER = StructLayout(value=("double", 16))
"""A float, of Python (``PyFloatObject``) or of NumPy (``PyDoubleScalarObject``)."""

ARRAY = StructLayout(
    data=("ptr", 16), ndim="i32", dims=("ptr", 32), strides="ptr", base="ptr", descr="ptr", flags="i32"
)
"""An array (``PyArrayObject_fields``)."""

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""Flags of arrays: ``NPY_ARRAY_C_CONTIGUOUS``, ``NPY_ARRAY_ALIGNED``, ``NPY_ARRAY_WRITEABLE``."""

FLOAT, DOUBLE = 11, 12
"""What NumPy calls float32 and float64 in C: ``NPY_FLOAT``, ``NPY_DOUBLE``."""

NEW_ARRAY, SET_HANDLER = 93, 304
"""Indices of ``PyArray_New`` and ``PyDataMem_SetHandler`` in NumPy's table of functions."""

FASTCALL_WITH_KEYWORDS = 0x0080 | 0x0002
"""How a built-in function takes its arguments: ``METH_FASTCALL | METH_KEYWORDS``."""


class MethodDef(ctypes.Structure):
    """The definition of a built-in function: ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


@lru_cache(maxsize=1)
def differences() -> tuple[str, ...]:
    """Return the names of layouts that differ here, by inspecting a real array and other objects."""
    array, marker = np.zeros((3, 5)), b"0123456789abcdef"
    pair, two_numbers = (marker, array), [2.5, np.float64(2.5)]

    def word(thing: object, place: int) -> int:
        return ctypes.c_int64.from_address(id(thing) + place).value

    def short(name: str) -> int:
        return ctypes.c_int32.from_address(id(array) + ARRAY.at[name]).value

    def two(address: int) -> list[int]:
        return list((ctypes.c_int64 * 2).from_address(address))

    flags = CONTIGUOUS | ALIGNED | WRITEABLE
    holds = {
        "OBJECT.type": word(array, OBJECT.at["type"]) == id(np.ndarray),
        "BYTES.data": ctypes.string_at(id(marker) + BYTES.at["data"], len(marker)) == marker,
        "TUPLE.size": word(pair, TUPLE.at["size"]) == len(pair),
        "TUPLE.items": two(id(pair) + TUPLE.at["items"]) == [id(marker), id(array)],
        "LIST.size": word(two_numbers, LIST.at["size"]) == len(two_numbers),
        "LIST.items": two(word(two_numbers, LIST.at["items"])) == [id(x) for x in two_numbers],
        "NUMBER.value": all(ctypes.c_double.from_address(id(x) + 16).value == x for x in two_numbers),
        "ARRAY.data": word(array, ARRAY.at["data"]) == array.ctypes.data,
        "ARRAY.ndim": short("ndim") == array.ndim,
        "ARRAY.dims": two(word(array, ARRAY.at["dims"])) == list(array.shape),
        "ARRAY.strides": two(word(array, ARRAY.at["strides"])) == list(array.strides),
        "ARRAY.descr": word(array, ARRAY.at["descr"]) == id(array.dtype),
        "ARRAY.flags": short("flags") & flags == flags,
    }
    return tuple(name for name, is_so in holds.items() if not is_so)


@lru_cache(maxsize=8)
def numpy_function(number: int) -> int:
    """Return the address of a function of NumPy's table."""
    try:
        from numpy._core import _multiarray_umath as core  # type: ignore[attr-defined]
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as core  # type: ignore[no-redef]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(core._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + number * 8).value or 0)
