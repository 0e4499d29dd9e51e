"""The C entry point of a built-in function, by which Python calls a kernel without Python code in between.

It follows CPython's vectorcall convention, accepts plain float64 arrays, one state or a batch of them, and
perhaps ``out=`` and ``threads=``, calls the machine code and returns.  Anything else goes to ordinary Python
functions: one for other values (lists, batches with more axes, other types, a state that the guard does not like),
one for other arguments.

Everything the entry point needs lies in a ``bytes`` object that is the built-in's
``self``, its *context*: addresses, sizes, and the Python objects it compares with.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np

from .driver import JOB, STREAMED_BYTES
from .pool import POOL

SYMBOL = "enter"
MAX_INPUTS = 6
MAX_DIMS = 3
SMALL_BATCH = 32
"""States that are computed without letting go of the interpreter."""

MOST_STACK = 1 << 15
"""Bytes of stack that a batch may use; kernels that need more ask for memory.  Some systems give threads 128 KiB."""

FROM_PYTHON = ("Py_DecRef", "PyMem_RawMalloc", "PyMem_RawFree")
"""Functions of CPython that the entry point calls by name."""

# Layout of CPython and NumPy objects on 64-bit machines (NumPy's is part of its ABI).
_TYPE, _BYTES_DATA, _TUPLE_SIZE = 8, 32, 16
_TUPLE_ITEMS = tuple.__basicsize__  # since Python 3.14 tuples keep their hash before the items
_DATA, _NDIM, _DIMS, _STRIDES, _DESCR, _FLAGS = 16, 24, 32, 40, 56, 64
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400

CONTEXT = (
    # the form for one state: its machine code, and that of its guard
    "single", "guard_single",
    # the form for batches: where the code is, and what a job of the driver says about every batch
    "lanes", "guard_lanes", "drive", "run", "places", "scratch_bytes", "tile_bytes", "second", "round",
    "tiles", "block_bytes",
    # both
    "pool", "out_length", "array_type", "float64", "fallback", "refused", "vectorcall", "new_array", "release",
    "retake", "out_name", "threads_name", "int_type", "as_long",
    "inputs", "ndim", *(f"dim{k}" for k in range(MAX_DIMS)), *(f"length{k}" for k in range(MAX_INPUTS)),
)  # fmt: skip
"""Words of the context, of 8 bytes each.  A form is off while its ``single`` or its ``scratch_bytes`` is zero, and its
other words need not be known until then."""

CONTEXT_AT = {name: _BYTES_DATA + 8 * k for k, name in enumerate(CONTEXT)}
"""Where each word is behind the beginning of the ``bytes`` object."""


@lru_cache(maxsize=1)
def layout_holds() -> bool:
    """Return whether objects are laid out as assumed above, by looking at a real array and others."""
    a = np.zeros((3, 5))
    base = id(a)

    def word(offset: int) -> int:
        return ctypes.c_uint64.from_address(base + offset).value

    def pair(offset: int) -> list[int]:
        return list((ctypes.c_int64 * 2).from_address(word(offset)))

    marker = b"0123456789abcdef"
    names = (marker, a)
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
        and ctypes.c_int64.from_address(id(names) + _TUPLE_SIZE).value == 2
        and list((ctypes.c_int64 * 2).from_address(id(names) + _TUPLE_ITEMS)) == [id(marker), id(a)]
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
        return self.word("%self", CONTEXT_AT[name], kind)

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def compare(self, how: str, kind: str, a: str, b: str | int) -> str:
        return self.op(f"icmp {how} {kind} {a}, {b}")

    def need(self, condition: str, label: str, otherwise: str = "refused") -> None:
        """Go on only if the condition holds; otherwise Python takes what is not understood."""
        self.branch(condition, label, otherwise)
        self.label(label)

    def is_float_array(self, array: str, mark: str, flags: int) -> None:
        self.need(self.compare("eq", "ptr", self.word(array, _TYPE), self.field("array_type")), f"array_{mark}")
        self.need(self.compare("eq", "ptr", self.word(array, _DESCR), self.field("float64")), f"float_{mark}")
        found = self.op(f"and i32 {self.word(array, _FLAGS, 'i32')}, {flags}")
        self.need(self.compare("eq", "i32", found, flags), f"plain_{mark}")


def _read_arguments(s: _Assembly) -> str:
    """Read positional arguments and perhaps ``out=`` and ``threads=``; returns the output object or null."""
    n = s.field("inputs", "i64")
    s.do("store i64 1, ptr %threads")
    s.do("store ptr null, ptr %given")
    s.need(s.compare("eq", "i64", "%nargs", n), "enough", "unusual")
    s.branch(s.compare("eq", "ptr", "%kwnames", "null"), "inputs", "with_keywords")
    s.label("with_keywords")
    keywords = s.word("%kwnames", _TUPLE_SIZE, "i64")
    s.need(s.compare("ule", "i64", keywords, 2), "few_keywords", "unusual")
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
        s.need(s.compare("eq", "ptr", name, s.field("threads_name")), f"named_threads{k}", "unusual")
        s.need(s.compare("eq", "ptr", s.word(value, _TYPE), s.field("int_type")), f"whole{k}")
        number = s.op(f"call i64 {s.field('as_long')}(ptr {value}, ptr %overflow)")  # too large: -1
        s.do(f"store i64 {number}, ptr %threads")
        s.do(f"br label %known{k}")
        s.label(f"known{k}")
    s.do("br label %inputs")
    s.label("inputs")
    threads = s.op("load i64, ptr %threads")
    s.need(s.compare("sgt", "i64", threads, 0), "some_threads")
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
    """Leave an output that shares memory with an input to Python: it would be written before all is read."""
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
    """Ask the guard about one state: a positive verdict means that Python should see it."""
    guard = s.field("guard_single")
    s.branch(s.compare("eq", "ptr", guard, "null"), "allowed", "guarded")
    s.label("guarded")
    s.do(f"call void {guard}(ptr %pointers, ptr %verdict)")
    s.need(s.op(f"fcmp ule double {s.op('load double, ptr %verdict')}, 0.0"), "allowed")


def _ask_for_threads(s: _Assembly) -> None:
    """Leave it to Python to start workers, the first time that so many are wanted."""
    threads = s.op("load i64, ptr %threads")
    s.branch(s.compare("eq", "i64", threads, 1), "allowed_batch", "with_threads")
    s.label("with_threads")
    known = s.op(f"add i64 {s.word(s.field('pool'), POOL.at['asked'], 'i64')}, 1")
    s.need(s.compare("sle", "i64", threads, known), "allowed_batch")


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
        **{name: s.field(name, "i64") for name in ("second", "tiles", "block_bytes")},
    }  # fmt: skip
    for k, (name, kind) in enumerate(JOB.kinds.items()):
        s.do(f"store {kind} {values[name]}, ptr {s.at('%job', 8 * k)}")
    n, head = values["count"], 8 * len(JOB.at)
    size = s.op(f"mul i64 {n}, 8")
    pointers = s.at("%job", head)
    strides = s.op(f"getelementptr i64, ptr {pointers}, i64 {n}")
    lengths = s.op(f"getelementptr i64, ptr {strides}, i64 {n}")
    for to, source in ((pointers, "%pointers"), (strides, "%strides"), (lengths, s.at("%self", CONTEXT_AT["length0"]))):
        s.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
    drive = s.field("drive")
    s.branch(s.compare("sgt", "i64", values["stop"], SMALL_BATCH), "long", "short")
    s.label("long")
    state = s.op(f"call ptr {s.field('release')}()")
    workers = s.op(f"sub i64 {s.op('load i64, ptr %threads')}, 1")
    s.branch(s.compare("eq", "i64", workers, 0), "alone", "together")
    s.label("alone")
    doubt_alone = s.op(f"call i64 {drive}(ptr %job)")
    s.do("br label %computed")
    s.label("together")
    unit, pool = s.field("round", "i64"), s.field("pool")
    run_shared = s.word(pool, POOL.at["run_shared"])
    arguments = f"ptr {pool}, ptr %job, ptr {s.field('run')}, i64 {workers}, i64 {unit}"
    doubt_together = s.op(f"call i64 {run_shared}({arguments})")
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
    s.do("br label %refused")


def _work_area(s: _Assembly, size: str) -> tuple[str, str]:
    """Get memory for a tile, aligned, and what must be given back: null if it is on the stack."""
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
    """Return whether there is too much output for the caches."""
    numbers = s.op(f"mul i64 {s.op('load i64, ptr %rows')}, {s.field('out_length', 'i64')}")
    return s.compare("sgt", "i64", numbers, STREAMED_BYTES // 8)


def entry_module() -> str:
    """Return LLVM assembly of ``enter(self, args, nargs, kwnames)``."""
    s = _Assembly()
    out = _read_arguments(s)
    _read_inputs(s)
    rows = s.op("load i64, ptr %rows")
    single = s.compare("slt", "i64", rows, 0)
    s.branch(single, "ask_single", "ask_batch")
    s.label("ask_batch")
    s.need(s.compare("sgt", "i64", s.field("scratch_bytes", "i64"), 0), "ready_batch")
    _ask_for_threads(s)
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
    for label, function in (("unusual", "fallback"), ("refused", "refused")):
        s.label(label)
        s.do(f"ret ptr {_call_python(s, function)}")
    job_words = len(JOB.at) + 3 * MAX_INPUTS
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


def _call_python(s: _Assembly, function: str) -> str:
    return s.op(f"call ptr {s.field('vectorcall')}(ptr {s.field(function)}, ptr %args, i64 %nargs, ptr %kwnames)")
