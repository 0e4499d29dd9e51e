"""Calling a kernel for one state straight from Python, without Python code in between.

A built-in function is made whose C entry point (generated here, against CPython's
vectorcall convention) accepts plain one-dimensional float64 arrays and an optional
``out=``, calls the machine code and returns.  Anything else (lists, batches, other types,
a state that the guard does not like) goes to an ordinary Python function.

Everything the entry point needs lies in a ``bytes`` object that is the built-in's
``self``: addresses, sizes, and the Python objects it compares with.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from . import cache, machine
from .kernel import Kernel

SYMBOL = "enter"
MAX_INPUTS = 6
MAX_DIMS = 2

# Layout of CPython and NumPy objects on 64-bit machines (NumPy's is part of its ABI).
_TYPE, _BYTES_DATA, _TUPLE_SIZE, _TUPLE_ITEMS = 8, 32, 16, 24
_DATA, _NDIM, _DIMS, _DESCR, _FLAGS = 16, 24, 32, 56, 64
_C_ALIGNED, _WRITEABLE = 0x101, 0x400

# Layout of the context, in 8-byte words.
_FIELDS = (
    "kernel", "guard", "array_type", "float64", "fallback", "vectorcall", "new_array", "out_name",
    "inputs", "ndim", "dim0", "dim1", *(f"length{k}" for k in range(MAX_INPUTS)),
)  # fmt: skip
_AT = {name: _BYTES_DATA + 8 * k for k, name in enumerate(_FIELDS)}


def available() -> bool:
    """Whether this interpreter has the object layout that the entry point relies on."""
    return (
        sys.implementation.name == "cpython"
        and struct.calcsize("P") == 8
        and not hasattr(sys, "gettotalrefcount")
        and not hasattr(sys, "_is_gil_enabled")
        and _layout_holds()
    )


@lru_cache(maxsize=1)
def _layout_holds() -> bool:
    """Check the assumed offsets on a real array instead of trusting them."""
    a = np.zeros((3, 5))
    base = id(a)

    def word(offset: int) -> int:
        return ctypes.c_uint64.from_address(base + offset).value

    dims = (ctypes.c_int64 * 2).from_address(word(_DIMS))
    marker = b"0123456789abcdef"
    return (
        word(_TYPE) == id(np.ndarray)
        and word(_DATA) == a.ctypes.data
        and ctypes.c_int.from_address(base + _NDIM).value == 2
        and list(dims) == [3, 5]
        and word(_DESCR) == id(np.dtype(np.float64))
        and ctypes.c_int.from_address(base + _FLAGS).value & (_C_ALIGNED | _WRITEABLE) == _C_ALIGNED | _WRITEABLE
        and ctypes.string_at(id(marker) + _BYTES_DATA, 16) == marker
        and ctypes.c_int64.from_address(id((1, 2)) + _TUPLE_SIZE).value == 2
    )


def entry_module() -> str:
    """LLVM assembly of ``enter(self, args, nargs, kwnames)``."""
    lines: list[str] = []
    count = 0

    def op(text: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"  %t{count} = {text}")
        return f"%t{count}"

    def at(pointer: str, offset: int) -> str:
        return op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def field(name: str, kind: str = "ptr") -> str:
        return op(f"load {kind}, ptr {at('%self', _AT[name])}")

    def word(pointer: str, offset: int, kind: str = "ptr") -> str:
        return op(f"load {kind}, ptr {at(pointer, offset)}")

    def need(condition: str, label: str) -> None:
        lines.append(f"  br i1 {condition}, label %{label}, label %unusual")
        lines.append(f"{label}:")

    def check_array(array: str, mark: str, flags: int) -> None:
        need(op(f"icmp eq ptr {word(array, _TYPE)}, {field('array_type')}"), f"is_array{mark}")
        need(op(f"icmp eq ptr {word(array, _DESCR)}, {field('float64')}"), f"is_float{mark}")
        found = op(f"and i32 {word(array, _FLAGS, 'i32')}, {flags}")
        need(op(f"icmp eq i32 {found}, {flags}"), f"is_plain{mark}")

    # arguments: positional only, or positional and out=
    n = field("inputs", "i64")
    need(op(f"icmp eq i64 %nargs, {n}"), "enough")
    lines.append(f"  br i1 {op('icmp eq ptr %kwnames, null')}, label %no_out, label %with_out")
    lines.append("with_out:")
    need(op(f"icmp eq i64 {word('%kwnames', _TUPLE_SIZE, 'i64')}, 1"), "one_keyword")
    need(op(f"icmp eq ptr {word('%kwnames', _TUPLE_ITEMS)}, {field('out_name')}"), "named_out")
    out_slot = op(f"getelementptr ptr, ptr %args, i64 {n}")
    given = op(f"load ptr, ptr {out_slot}")
    lines.append("  br label %no_out")
    lines.append("no_out:")
    out = op(f"phi ptr [ null, %enough ], [ {given}, %named_out ]")
    table = "%table"
    for k in range(MAX_INPUTS):
        lines.append(f"  br i1 {op(f'icmp sgt i64 {n}, {k}')}, label %input{k}, label %inputs_done")
        lines.append(f"input{k}:")
        array = op(f"load ptr, ptr {op(f'getelementptr ptr, ptr %args, i64 {k}')}")
        check_array(array, f"_in{k}", _C_ALIGNED)
        need(op(f"icmp eq i32 {word(array, _NDIM, 'i32')}, 1"), f"is_vector{k}")
        length = op(f"load i64, ptr {word(array, _DIMS)}")
        need(op(f"icmp eq i64 {length}, {field(f'length{k}', 'i64')}"), f"fits{k}")
        slot = op(f"getelementptr ptr, ptr {table}, i64 {k}")
        lines.append(f"  store ptr {word(array, _DATA)}, ptr {slot}")
    lines.append("  br label %inputs_done")
    lines.append("inputs_done:")
    # the guard looks at the state; a positive verdict means that Python should see it
    guard = field("guard")
    lines.append(f"  br i1 {op(f'icmp eq ptr {guard}, null')}, label %allowed, label %guarded")
    lines.append("guarded:")
    lines.append(f"  call void {guard}(ptr {table}, ptr %verdict)")
    need(op(f"fcmp ule double {op('load double, ptr %verdict')}, 0.0"), "allowed")
    lines.append(f"  br i1 {op(f'icmp eq ptr {out}, null')}, label %make, label %use")
    lines.append("make:")
    ndim = field("ndim", "i64")
    ndim32 = op(f"trunc i64 {ndim} to i32")
    dims_at = at("%self", _AT["dim0"])
    made = op(
        f"call ptr {field('new_array')}(ptr {field('array_type')}, i32 {ndim32}, ptr {dims_at}, i32 12, ptr null, "
        "ptr null, i32 0, i32 0, ptr null)"
    )
    lines.append(f"  br i1 {op(f'icmp eq ptr {made}, null')}, label %failed, label %run")
    lines.append("use:")
    check_array(out, "_out", _C_ALIGNED | _WRITEABLE)
    wanted = op(f"trunc i64 {field('ndim', 'i64')} to i32")
    need(op(f"icmp eq i32 {word(out, _NDIM, 'i32')}, {wanted}"), "out_rank")
    out_dims = word(out, _DIMS)
    lines.append(f"  br i1 {op(f'icmp sgt i32 {wanted}, 0')}, label %out_dim0, label %out_fits")
    lines.append("out_dim0:")
    need(op(f"icmp eq i64 {op(f'load i64, ptr {out_dims}')}, {field('dim0', 'i64')}"), "out_dim0_ok")
    lines.append(f"  br i1 {op(f'icmp sgt i32 {wanted}, 1')}, label %out_dim1, label %out_fits")
    lines.append("out_dim1:")
    second = word(out_dims, 8, "i64")
    need(op(f"icmp eq i64 {second}, {field('dim1', 'i64')}"), "out_fits")
    count_at = op(f"load i64, ptr {out}")  # a new reference to what we return (immortals keep theirs)
    low = op(f"trunc i64 {count_at} to i32")
    mortal = op(f"icmp sge i32 {low}, 0")
    more = op(f"add i64 {count_at}, 1")
    kept = op(f"select i1 {mortal}, i64 {more}, i64 {count_at}")
    lines.append(f"  store i64 {kept}, ptr {out}")
    lines.append("  br label %run")
    lines.append("run:")
    result = op(f"phi ptr [ {made}, %make ], [ {out}, %out_fits ]")
    kernel = field("kernel")
    lines.append(f"  call void {kernel}(ptr {table}, ptr {word(result, _DATA)})")
    lines.append(f"  ret ptr {result}")
    lines.append("failed:")
    lines.append("  ret ptr null")
    lines.append("unusual:")
    answer = op(f"call ptr {field('vectorcall')}(ptr {field('fallback')}, ptr %args, i64 %nargs, ptr %kwnames)")
    lines.append(f"  ret ptr {answer}")
    return "\n".join(
        [
            f"define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{",
            "entry:",
            f"  %table = alloca ptr, i64 {MAX_INPUTS}",
            "  %verdict = alloca double",
            *lines,
            "}",
            "",
        ]
    )


@lru_cache(maxsize=1)
def _entry() -> tuple[int, Any]:
    text = entry_module()
    key = cache.digest("entry", text, machine.host().key)
    code = cache.read(key)
    if code is None:
        code = machine.assemble(text)
        cache.write(key, code)
    addresses, alive = machine.load(code, (SYMBOL,))
    return addresses[SYMBOL], alive


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_FASTCALL_KEYWORDS = 0x0080 | 0x0002


@lru_cache(maxsize=1)
def _numpy_new_array() -> int:
    """Address of NumPy's ``PyArray_New``: entry 93 of its table of C functions."""
    from numpy._core import _multiarray_umath as core

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(core._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + 93 * 8).value or 0)


_OUT = sys.intern("out")
_keep: dict[int, Any] = {}


def make_entry(kernel: Kernel, fallback: Callable[..., Any], name: str, doc: str = "", guard: Kernel | None = None) -> Any:
    """A built-in function for one state, with ``fallback`` for everything else.

    The fallback must accept the same arguments, ``out`` included.
    """
    if len(kernel.lengths) > MAX_INPUTS or len(kernel.shape) > MAX_DIMS or kernel.single_precision:
        return fallback
    vectorcall = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
    dims = (*kernel.shape, *([0] * (MAX_DIMS - len(kernel.shape))))
    lengths = (*kernel.lengths, *([0] * (MAX_INPUTS - len(kernel.lengths))))
    context = struct.pack(
        f"<{len(_FIELDS)}q",
        kernel.single_address, guard.single_address if guard else 0, id(np.ndarray), id(np.dtype(np.float64)),
        id(fallback), vectorcall, _numpy_new_array(), id(_OUT), len(kernel.lengths), len(kernel.shape), *dims, *lengths,
    )  # fmt: skip
    definition = _MethodDef(name.encode(), _entry()[0], _FASTCALL_KEYWORDS, doc.encode())
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    function = make(ctypes.addressof(definition), context, None)
    # the definition and what the context points at must outlive the function
    _keep[id(context)] = (definition, context, kernel, guard, fallback)
    return function
