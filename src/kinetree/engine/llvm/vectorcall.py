"""Calling a kernel straight from Python, without Python code in between.

A built-in function is made whose C entry point (generated here, against CPython's
vectorcall convention) accepts plain float64 arrays, one state or a batch of them, and
perhaps ``out=`` and ``threads=``, calls the machine code and returns.  Anything else (lists, batches with
more axes, other types, a state that the guard does not like) goes to an ordinary Python
function.

Everything the entry point needs lies in a ``bytes`` object that is the built-in's
``self``: addresses, sizes, and the Python objects it compares with.
"""

from __future__ import annotations

import ctypes
import inspect
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..kernels.kernel import STREAMED_BYTES, Kernel, crew, driver_address, run_address
from ..load_code import ready_text
from ..once import once
from ..threads import ASKED
from . import host
from .driver import _WORDS as JOB_WORDS

SYMBOL = "enter"
MAX_INPUTS = 6
MAX_DIMS = 3
SMALL_BATCH = 32
"""States that are computed without letting go of the interpreter."""

MOST_STACK = 1 << 15
"""Bytes of stack that a batch may use; kernels that need more ask for memory.  Some systems give threads 128 KiB."""

_FROM_PYTHON = ("Py_DecRef", "PyMem_RawMalloc", "PyMem_RawFree")
"""Functions of CPython that the entry point calls by name."""

# Layout of CPython and NumPy objects on 64-bit machines (NumPy's is part of its ABI).
_TYPE, _BYTES_DATA, _TUPLE_SIZE, _TUPLE_ITEMS = 8, 32, 16, 24
_DATA, _NDIM, _DIMS, _STRIDES, _DESCR, _FLAGS = 16, 24, 32, 40, 56, 64
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400

# Layout of the context, in 8-byte words.
_FIELDS = (
    "single", "lanes", "guard_single", "guard_lanes", "drive", "places", "scratch_bytes", "tile_bytes", "second",
    "out_length", "array_type", "float64", "fallback", "vectorcall", "new_array", "release", "retake", "out_name",
    "threads_name", "int_type", "as_long", "crew", "gather", "run", "round",
    "inputs", "ndim", *(f"dim{k}" for k in range(MAX_DIMS)), *(f"length{k}" for k in range(MAX_INPUTS)),
)  # fmt: skip
_AT = {name: _BYTES_DATA + 8 * k for k, name in enumerate(_FIELDS)}


def available() -> bool:
    """Whether this interpreter has the object layout that the entry point relies on."""
    return (
        sys.implementation.name == "cpython"
        and struct.calcsize("P") == 8
        and not hasattr(sys, "gettotalrefcount")
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and _layout_holds()
    )


@lru_cache(maxsize=1)
def _layout_holds() -> bool:
    """Check the assumed offsets on a real array instead of trusting them."""
    a = np.zeros((3, 5))
    base = id(a)

    def word(offset: int) -> int:
        return ctypes.c_uint64.from_address(base + offset).value

    def pair(offset: int) -> list[int]:
        return list((ctypes.c_int64 * 2).from_address(word(offset)))

    marker = b"0123456789abcdef"
    flags = _CONTIGUOUS | _ALIGNED | _WRITEABLE
    return (
        word(_TYPE) == id(np.ndarray)
        and word(_DATA) == a.ctypes.data
        and ctypes.c_int.from_address(base + _NDIM).value == 2
        and pair(_DIMS) == [3, 5]
        and pair(_STRIDES) == [40, 8]
        and word(_DESCR) == id(np.dtype(np.float64))
        and ctypes.c_int.from_address(base + _FLAGS).value & flags == flags
        and ctypes.string_at(id(marker) + _BYTES_DATA, 16) == marker
        and ctypes.c_int64.from_address(id((1, 2)) + _TUPLE_SIZE).value == 2
    )


class _Assembly:
    """A function body in LLVM assembly, written from top to bottom."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def op(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def at(self, pointer: str, offset: int) -> str:
        return self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def word(self, pointer: str, offset: int, kind: str = "ptr") -> str:
        return self.op(f"load {kind}, ptr {self.at(pointer, offset)}")

    def field(self, name: str, kind: str = "ptr") -> str:
        return self.word("%self", _AT[name], kind)

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def compare(self, how: str, kind: str, a: str, b: str | int) -> str:
        return self.op(f"icmp {how} {kind} {a}, {b}")

    def need(self, condition: str, label: str) -> None:
        """Go on only if the condition holds; otherwise this call is unusual."""
        self.branch(condition, label, "unusual")
        self.label(label)

    def is_float_array(self, array: str, mark: str, flags: int) -> None:
        self.need(self.compare("eq", "ptr", self.word(array, _TYPE), self.field("array_type")), f"array_{mark}")
        self.need(self.compare("eq", "ptr", self.word(array, _DESCR), self.field("float64")), f"float_{mark}")
        found = self.op(f"and i32 {self.word(array, _FLAGS, 'i32')}, {flags}")
        self.need(self.compare("eq", "i32", found, flags), f"plain_{mark}")


def _read_arguments(s: _Assembly) -> str:
    """Positional arguments and perhaps ``out=`` and ``threads=``; returns the output object or null."""
    n = s.field("inputs", "i64")
    s.do("store i64 1, ptr %threads")
    s.do("store ptr null, ptr %given")
    s.need(s.compare("eq", "i64", "%nargs", n), "enough")
    s.branch(s.compare("eq", "ptr", "%kwnames", "null"), "inputs", "with_keywords")
    s.label("with_keywords")
    keywords = s.word("%kwnames", _TUPLE_SIZE, "i64")
    s.need(s.compare("ule", "i64", keywords, 2), "few_keywords")
    for k in range(2):
        s.branch(s.compare("sgt", "i64", keywords, k), f"keyword{k}", "inputs")
        s.label(f"keyword{k}")
        name = s.word("%kwnames", _TUPLE_ITEMS + 8 * k)
        place = s.op(f"add i64 {n}, {k}")
        value = s.op(f"load ptr, ptr {s.op(f'getelementptr ptr, ptr %args, i64 {place}')}")
        s.branch(s.compare("eq", "ptr", name, s.field("out_name")), f"out{k}", f"not_out{k}")
        s.label(f"out{k}")
        s.do(f"store ptr {value}, ptr %given")
        s.do(f"br label %known{k}")
        s.label(f"not_out{k}")
        s.need(s.compare("eq", "ptr", name, s.field("threads_name")), f"named_threads{k}")
        s.need(s.compare("eq", "ptr", s.word(value, _TYPE), s.field("int_type")), f"whole{k}")
        number = s.op(f"call i64 {s.field('as_long')}(ptr {value}, ptr %overflow)")  # too large: -1
        s.do(f"store i64 {number}, ptr %threads")
        s.do(f"br label %known{k}")
        s.label(f"known{k}")
    s.do("br label %inputs")
    s.label("inputs")
    threads = s.op("load i64, ptr %threads")
    s.need(s.compare("sgt", "i64", threads, 0), "some_threads")
    # the first time that so many are wanted, Python starts them
    s.branch(s.compare("eq", "i64", threads, 1), "crewed", "with_crew")
    s.label("with_crew")
    s.need(s.compare("sle", "i64", threads, s.op(f"add i64 {s.word(s.field('crew'), ASKED, 'i64')}, 1")), "crewed")
    return s.op("load ptr, ptr %given")


def _read_inputs(s: _Assembly) -> None:
    """Fill the tables of pointers and strides; -1 in ``%rows`` means that no input is a batch yet."""
    n = s.field("inputs", "i64")
    s.do("store i64 -1, ptr %rows")
    for k in range(MAX_INPUTS):
        s.branch(s.compare("sgt", "i64", n, k), f"input{k}", "inputs_done")
        s.label(f"input{k}")
        array = s.op(f"load ptr, ptr {s.op(f'getelementptr ptr, ptr %args, i64 {k}')}")
        s.is_float_array(array, f"in{k}", _ALIGNED)
        dims, strides = s.word(array, _DIMS), s.word(array, _STRIDES)
        length = s.field(f"length{k}", "i64")
        pointer_at = s.op(f"getelementptr ptr, ptr %pointers, i64 {k}")
        s.do(f"store ptr {s.word(array, _DATA)}, ptr {pointer_at}")
        ndim = s.word(array, _NDIM, "i32")
        s.branch(s.compare("eq", "i32", ndim, 1), f"vector{k}", f"not_vector{k}")

        s.label(f"vector{k}")
        s.need(s.compare("eq", "i64", s.word(dims, 0, "i64"), length), f"vector_fits{k}")
        s.need(s.compare("eq", "i64", s.word(strides, 0, "i64"), 8), f"vector_dense{k}")
        s.do(f"br label %stored{k}")

        s.label(f"not_vector{k}")
        s.need(s.compare("eq", "i32", ndim, 2), f"matrix{k}")
        s.need(s.compare("eq", "i64", s.word(dims, 8, "i64"), length), f"matrix_fits{k}")
        s.need(s.compare("eq", "i64", s.word(strides, 8, "i64"), 8), f"matrix_dense{k}")
        step = s.word(strides, 0, "i64")
        s.need(s.compare("eq", "i64", s.op(f"and i64 {step}, 7"), 0), f"matrix_whole{k}")
        count, known = s.word(dims, 0, "i64"), s.op("load i64, ptr %rows")
        s.need(s.compare("sgt", "i64", count, 0), f"matrix_filled{k}")
        fresh, same = s.compare("eq", "i64", known, -1), s.compare("eq", "i64", known, count)
        s.need(s.op(f"or i1 {fresh}, {same}"), f"matrix_agrees{k}")
        s.do(f"store i64 {count}, ptr %rows")
        row_step = s.op(f"ashr i64 {step}, 3")
        s.do(f"br label %stored{k}")

        s.label(f"stored{k}")
        stride = s.op(f"phi i64 [ 0, %vector_dense{k} ], [ {row_step}, %matrix_agrees{k} ]")
        s.do(f"store i64 {stride}, ptr {s.op(f'getelementptr i64, ptr %strides, i64 {k}')}")
    s.do("br label %inputs_done")
    s.label("inputs_done")


def _prepare_output(s: _Assembly, out: str) -> str:
    """Check the given output or make a new array of shape (rows, *shape) or (*shape)."""
    ndim, rows = s.field("ndim", "i64"), s.op("load i64, ptr %rows")
    batched = s.compare("sge", "i64", rows, 0)
    s.do(f"store i64 {rows}, ptr %dims")
    for k in range(MAX_DIMS):
        slot = s.op(f"getelementptr i64, ptr %dims, i64 {k + 1}")
        s.do(f"store i64 {s.field(f'dim{k}', 'i64')}, ptr {slot}")
    first = s.op("getelementptr i64, ptr %dims, i64 1")
    shape = s.op(f"select i1 {batched}, ptr %dims, ptr {first}")
    rank = s.op(f"add i64 {ndim}, {s.op(f'zext i1 {batched} to i64')}")
    rank32 = s.op(f"trunc i64 {rank} to i32")
    s.branch(s.compare("eq", "ptr", out, "null"), "make", "use")

    s.label("make")
    made = s.op(
        f"call ptr {s.field('new_array')}(ptr {s.field('array_type')}, i32 {rank32}, ptr {shape}, i32 12, ptr null, "
        "ptr null, i32 0, i32 0, ptr null)"
    )
    s.branch(s.compare("eq", "ptr", made, "null"), "failed", "target")

    s.label("use")
    s.is_float_array(out, "out", _CONTIGUOUS | _ALIGNED | _WRITEABLE)
    s.need(s.compare("eq", "i32", s.word(out, _NDIM, "i32"), rank32), "out_rank")
    out_dims = s.word(out, _DIMS)
    for k in range(MAX_DIMS + 1):
        s.branch(s.compare("sgt", "i32", rank32, k), f"out_dim{k}", "out_fits")
        s.label(f"out_dim{k}")
        wanted = s.op(f"load i64, ptr {s.op(f'getelementptr i64, ptr {shape}, i64 {k}')}")
        s.need(s.compare("eq", "i64", s.word(out_dims, 8 * k, "i64"), wanted), f"out_dim{k}_ok")
    s.do("br label %out_fits")
    s.label("out_fits")
    _refuse_overlap(s, out, rows)
    references = s.op(f"load i64, ptr {out}")  # one more, for what we return; immortal objects keep theirs
    mortal = s.compare("sge", "i32", s.op(f"trunc i64 {references} to i32"), 0)
    more = s.op(f"add i64 {references}, 1")
    s.do(f"store i64 {s.op(f'select i1 {mortal}, i64 {more}, i64 {references}')}, ptr {out}")
    s.do("br label %target")
    s.label("target")
    return s.op(f"phi ptr [ {made}, %make ], [ {out}, %apart ]")


def _refuse_overlap(s: _Assembly, out: str, rows: str) -> None:
    """An output that shares memory with an input would be written before all is read: leave that to Python."""
    last_row = s.op(f"call i64 @llvm.smax.i64(i64 {s.op(f'sub i64 {rows}, 1')}, i64 0)")
    states = s.op(f"add i64 {last_row}, 1")
    out_start = s.op(f"ptrtoint ptr {s.word(out, _DATA)} to i64")
    numbers = s.op(f"mul i64 {states}, {s.field('out_length', 'i64')}")
    out_end = s.op(f"add i64 {out_start}, {s.op(f'mul i64 {numbers}, 8')}")
    n = s.field("inputs", "i64")
    for k in range(MAX_INPUTS):
        s.branch(s.compare("sgt", "i64", n, k), f"overlap{k}", "apart")
        s.label(f"overlap{k}")
        data = s.op(f"load ptr, ptr {s.op(f'getelementptr ptr, ptr %pointers, i64 {k}')}")
        stride = s.op(f"load i64, ptr {s.op(f'getelementptr i64, ptr %strides, i64 {k}')}")
        span = s.op(f"mul i64 {s.op(f'mul i64 {stride}, {last_row}')}, 8")
        first = s.op(f"ptrtoint ptr {data} to i64")
        start = s.op(f"add i64 {first}, {s.op(f'call i64 @llvm.smin.i64(i64 {span}, i64 0)')}")
        row_bytes = s.op(f"mul i64 {s.field(f'length{k}', 'i64')}, 8")
        furthest = s.op(f"add i64 {first}, {s.op(f'call i64 @llvm.smax.i64(i64 {span}, i64 0)')}")
        end = s.op(f"add i64 {furthest}, {row_bytes}")
        before, after = s.compare("sle", "i64", end, out_start), s.compare("sge", "i64", start, out_end)
        s.need(s.op(f"or i1 {before}, {after}"), f"apart{k}")
    s.do("br label %apart")
    s.label("apart")


def _guard_single(s: _Assembly) -> None:
    """One state: a positive verdict means that Python should see it."""
    guard = s.field("guard_single")
    s.branch(s.compare("eq", "ptr", guard, "null"), "allowed", "guarded")
    s.label("guarded")
    s.do(f"call void {guard}(ptr %pointers, ptr %verdict)")
    s.need(s.op(f"fcmp ule double {s.op('load double, ptr %verdict')}, 0.0"), "allowed")


def _run_batch(s: _Assembly, result: str) -> None:
    """Hand the batch to the driver; let go of the interpreter if it takes a while."""
    streamed = _is_streamed(s)
    tile_size, whole_size = s.field("tile_bytes", "i64"), s.field("scratch_bytes", "i64")
    without_tile = s.op(f"sub i64 {whole_size}, {tile_size}")
    scratch_size = s.op(f"select i1 {streamed}, i64 {whole_size}, i64 {without_tile}")
    scratch, heap = _work_area(s, scratch_size)
    behind = s.op(f"getelementptr i8, ptr {scratch}, i64 {without_tile}")
    values = {
        "kernel": s.field("lanes"), "guard": s.field("guard_lanes"), "out": s.word(result, _DATA), "scratch": scratch,
        "out_length": s.field("out_length", "i64"), "start": "0", "stop": s.op("load i64, ptr %rows"),
        "count": s.field("inputs", "i64"), "context": "null", "places": s.field("places"),
        "tile_area": s.op(f"select i1 {streamed}, ptr {behind}, ptr null"), "scratch_bytes": scratch_size,
        "second": s.field("second", "i64"),
    }  # fmt: skip
    for k, (name, kind) in enumerate(JOB_WORDS.items()):
        s.do(f"store {kind} {values[name]}, ptr {s.at('%job', 8 * k)}")
    n, head = values["count"], 8 * len(JOB_WORDS)
    size = s.op(f"mul i64 {n}, 8")
    pointers = s.at("%job", head)
    strides = s.op(f"getelementptr i64, ptr {pointers}, i64 {n}")
    lengths = s.op(f"getelementptr i64, ptr {strides}, i64 {n}")
    for to, source in ((pointers, "%pointers"), (strides, "%strides"), (lengths, s.at("%self", _AT["length0"]))):
        s.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
    drive = s.field("drive")
    s.branch(s.compare("sgt", "i64", values["stop"], SMALL_BATCH), "long", "short")
    s.label("long")
    state = s.op(f"call ptr {s.field('release')}()")
    helpers = s.op(f"sub i64 {s.op('load i64, ptr %threads')}, 1")
    s.branch(s.compare("eq", "i64", helpers, 0), "alone", "together")
    s.label("alone")
    doubt_alone = s.op(f"call i64 {drive}(ptr %job)")
    s.do("br label %computed")
    s.label("together")
    unit = s.field("round", "i64")
    doubt_together = s.op(
        f"call i64 {s.field('gather')}(ptr {s.field('crew')}, ptr %job, ptr {s.field('run')}, "
        f"i64 {helpers}, i64 {unit})"
    )
    s.do("br label %computed")
    s.label("computed")
    doubt_long = s.op(f"phi i64 [ {doubt_alone}, %alone ], [ {doubt_together}, %together ]")
    s.do(f"call void {s.field('retake')}(ptr {state})")
    s.do("br label %judged")
    s.label("short")
    doubt_short = s.op(f"call i64 {drive}(ptr %job)")
    s.do("br label %judged")
    s.label("judged")
    doubt = s.op(f"phi i64 [ {doubt_long}, %computed ], [ {doubt_short}, %short ]")
    s.do(f"call void @PyMem_RawFree(ptr {heap})")
    s.branch(s.compare("eq", "i64", doubt, 0), "fine", "doubtful")
    s.label("fine")
    s.do(f"ret ptr {result}")
    s.label("doubtful")  # drop our reference and let Python decide
    s.do(f"call void @Py_DecRef(ptr {result})")
    s.do("br label %unusual")


def _work_area(s: _Assembly, size: str) -> tuple[str, str]:
    """Memory for a tile, aligned, and what must be given back: null if it is on the stack."""
    s.branch(s.compare("sgt", "i64", size, MOST_STACK), "much_work", "little_work")
    s.label("little_work")
    own = s.op(f"alloca i8, i64 {size}, align 64")
    s.do("br label %work_area")
    s.label("much_work")
    heap = s.op(f"call ptr @PyMem_RawMalloc(i64 {s.op(f'add i64 {size}, 64')})")
    s.branch(s.compare("eq", "ptr", heap, "null"), "doubtful", "granted")  # let Python say that memory is short
    s.label("granted")
    address = s.op(f"ptrtoint ptr {heap} to i64")
    up = s.op(f"and i64 {s.op(f'sub i64 0, {address}')}, 63")
    aligned = s.op(f"getelementptr i8, ptr {heap}, i64 {up}")
    s.do("br label %work_area")
    s.label("work_area")
    area = s.op(f"phi ptr [ {own}, %little_work ], [ {aligned}, %granted ]")
    return area, s.op(f"phi ptr [ null, %little_work ], [ {heap}, %granted ]")


def _is_streamed(s: _Assembly) -> str:
    """Whether there is too much output for the caches."""
    numbers = s.op(f"mul i64 {s.op('load i64, ptr %rows')}, {s.field('out_length', 'i64')}")
    return s.compare("sgt", "i64", numbers, STREAMED_BYTES // 8)


def entry_module() -> str:
    """LLVM assembly of ``enter(self, args, nargs, kwnames)``."""
    s = _Assembly()
    out = _read_arguments(s)
    _read_inputs(s)
    rows = s.op("load i64, ptr %rows")
    single = s.compare("slt", "i64", rows, 0)
    s.branch(single, "ask_single", "ask_batch")
    s.label("ask_batch")
    s.need(s.compare("sgt", "i64", s.field("scratch_bytes", "i64"), 0), "allowed_batch")
    s.do("br label %allowed")
    s.label("ask_single")
    s.need(s.compare("ne", "ptr", s.field("single"), "null"), "ready_single")
    _guard_single(s)
    result = _prepare_output(s, out)
    s.branch(single, "run_single", "run_batch")
    s.label("run_single")
    s.do(f"call void {s.field('single')}(ptr %pointers, ptr {s.word(result, _DATA)})")
    s.do(f"ret ptr {result}")
    s.label("run_batch")
    _run_batch(s, result)
    s.label("failed")
    s.do("ret ptr null")
    s.label("unusual")
    s.do(f"ret ptr {_call_python(s)}")
    job_words = len(JOB_WORDS) + 3 * MAX_INPUTS
    return "\n".join(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "declare void @Py_DecRef(ptr)",
            "declare ptr @PyMem_RawMalloc(i64)",
            "declare void @PyMem_RawFree(ptr)",
            "declare i64 @llvm.smin.i64(i64, i64)",
            "declare i64 @llvm.smax.i64(i64, i64)",
            f"define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{",
            "entry:",
            f"  %pointers = alloca ptr, i64 {MAX_INPUTS}",
            f"  %strides = alloca i64, i64 {MAX_INPUTS}",
            f"  %dims = alloca i64, i64 {MAX_DIMS + 1}",
            f"  %job = alloca i64, i64 {job_words}",
            "  %rows = alloca i64",
            "  %threads = alloca i64",
            "  %given = alloca ptr",
            "  %overflow = alloca i32",
            "  %verdict = alloca double",
            *s.lines,
            "}",
            "",
        ]
    )


def _call_python(s: _Assembly) -> str:
    return s.op(f"call ptr {s.field('vectorcall')}(ptr {s.field('fallback')}, ptr %args, i64 %nargs, ptr %kwnames)")


@once
def _entry() -> tuple[int, Any]:
    addresses, alive = ready_text(None, entry_module(), (SYMBOL,), _FROM_PYTHON, host.target(host.NATIVE))
    return addresses[SYMBOL], alive


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_FASTCALL_KEYWORDS = 0x0080 | 0x0002


@once
def _definition(name: str, doc: str) -> _MethodDef:
    """CPython keeps a pointer to this for as long as the function lives, so it lives for ever."""
    return _MethodDef(name.encode(), _entry()[0], _FASTCALL_KEYWORDS, doc.encode())


@lru_cache(maxsize=1)
def _numpy_new_array() -> int:
    """Address of NumPy's ``PyArray_New``: entry 93 of its table of C functions."""
    try:
        from numpy._core import _multiarray_umath as core  # type: ignore[attr-defined]
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as core  # type: ignore[no-redef]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(core._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + 93 * 8).value or 0)


class _Context(bytes):
    """The built-in's ``self``: numbers for the entry point, and what must live as long as it does."""

    keep: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling a built-in pickles its ``self`` and a name: give the object whose method it stands for."""
        return _itself, (self.keep[-1].__self__,)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()


def _itself(value: Any) -> Any:
    return value


def _takes(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _documentation(name: str, doc: str, function: Callable[..., Any]) -> str:
    """A docstring from which :func:`inspect.signature` learns the parameters, as CPython's own built-ins have it."""
    signature = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    if not all(p.default is p.empty or isinstance(p.default, (int, float, str, type(None))) for p in plain):
        return doc  # only literals can be written
    parameters = ", ".join(["$self", str(inspect.Signature(plain))[1:-1]] if plain else ["$self"])
    return f"{name}({parameters})\n--\n\n{doc}"


_OUT, _THREADS = sys.intern("out"), sys.intern("threads")
_DTYPE = np.dtype(np.float64)


class Entry:
    """A built-in function for plain arrays, with an ordinary one for everything else.

    The two forms, one state and batch, are switched on separately, so that neither is
    compiled before it is needed; until then calls of that form go to the fallback.
    """

    def __init__(self, function: Any, context: _Context, kernel: Kernel, guard: Kernel | None) -> None:
        self.function, self._context = function, context
        self._kernel, self._guard = kernel, guard

    @classmethod
    def make(
        cls, kernel: Kernel, fallback: Callable[..., Any], name: str, doc: str = "", guard: Kernel | None = None
    ) -> Entry | None:
        """Make the function; None if the kernel is not of a form that the entry point knows.

        The fallback must accept the same arguments; ``out`` is known if the fallback knows it.
        """
        if len(kernel.lengths) > MAX_INPUTS or len(kernel.shape) > MAX_DIMS or kernel.single_precision:
            return None
        values = {
            "drive": driver_address(kernel.target),
            "tile_bytes": kernel.tile_bytes,
            "second": kernel.second_area,
            "out_length": kernel.size,
            "array_type": id(np.ndarray),
            "float64": id(_DTYPE),
            "fallback": id(fallback),
            "vectorcall": host.python_function("PyObject_Vectorcall"),
            "new_array": _numpy_new_array(),
            "release": host.python_function("PyEval_SaveThread"),
            "retake": host.python_function("PyEval_RestoreThread"),
            "out_name": id(_OUT) if _takes(fallback, "out") else 0,
            "threads_name": id(_THREADS) if _takes(fallback, "threads") else 0,
            "int_type": id(int),
            "as_long": host.python_function("PyLong_AsLongLongAndOverflow"),
            "crew": crew().address,
            "gather": crew().gather_address,
            "run": run_address(kernel.target),
            "round": kernel.round,
            "inputs": len(kernel.lengths),
            "ndim": len(kernel.shape),
            **{f"dim{k}": n for k, n in enumerate(kernel.shape)},
            **{f"length{k}": n for k, n in enumerate(kernel.lengths)},
        }
        context = _Context(struct.pack(f"<{len(_FIELDS)}q", *(values.get(f, 0) for f in _FIELDS)))
        context.keep = (kernel, guard, fallback)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        definition = _definition(name, _documentation(name, doc, fallback))
        function = make(ctypes.addressof(definition), context, None)
        return cls(function, context, kernel, guard)

    def _set(self, name: str, value: int) -> None:
        ctypes.c_int64.from_address(id(self._context) + _AT[name]).value = value

    def enable_single(self) -> None:
        """Compile the form for one state and let calls go to it."""
        if self._guard:
            self._set("guard_single", self._guard.single_address)
        self._set("single", self._kernel.single_address)

    def enable_batch(self) -> None:
        """Compile the form for batches and let calls go to it."""
        if self._guard:
            self._set("guard_lanes", self._guard.lanes_address)
        self._set("lanes", self._kernel.lanes_address)
        self._set("places", self._kernel.places_address)
        self._set("scratch_bytes", self._kernel.scratch_bytes)
