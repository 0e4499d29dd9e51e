"""Machine code that fills a square matrix from a table: a short product for every entry.

Rows and columns are numbered along a walk that goes down each branch of a tree before the
next, and each has a branch from its own number to some last one.  Entry (j, i) is one
product where j lies in the branch of i, another where i lies in that of j, else zero.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..load_code import load_or_compile_text
from ..once import once
from . import host
from .emitter import Emitter
from .vectors import Vectors

_FILL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_POINTERS = ("low", "high", "low_right", "high_right", "first", "last", "out")
_COUNTS = ("size", "padded", "out_step")
"""What the code is given, one word each: addresses, then counts and distances in numbers."""


def fill_module(n_below: int, n_above: int, vectors: Vectors) -> str:
    """Return LLVM assembly of ``@fill(job)``."""
    e, lanes = Emitter(vectors), vectors.lanes
    whole, flags = vectors.of("i32"), vectors.of("i1")
    for k, name in enumerate(_POINTERS + _COUNTS):
        at = e.op(f"getelementptr i64, ptr %job, i64 {k}")
        e.line(f"%{name} = load {'ptr' if name in _POINTERS else 'i64'}, ptr {at}")
    e.line(f"%full = and i64 %size, {-lanes}")
    e.line("br label %row")
    e.lines.append("row:")
    e.line("%j = phi i64 [ 0, %start ], [ %j_next, %row_end ]")

    def spread(kind: str, vector: str, value: str) -> str:
        if lanes == 1:
            return value
        one = e.op(f"insertelement {vector} poison, {kind} {value}, i64 0")
        return e.op(f"shufflevector {vector} {one}, {vector} poison, <{lanes} x i32> zeroinitializer")

    def row_numbers(name: str, count: int) -> list[str]:
        at = e.op(f"mul i64 %j, {count}")
        start = e.op(f"getelementptr {e.real}, ptr %{name}, i64 {at}")
        places = [e.op(f"getelementptr {e.real}, ptr {start}, i64 {k}") for k in range(count)]
        return [spread(e.real, e.type, e.op(f"load {e.real}, ptr {p}")) for p in places]

    def row_place(name: str) -> str:
        at = e.op(f"getelementptr i32, ptr %{name}, i64 %j")
        return spread("i32", whole, e.op(f"load i32, ptr {at}"))

    low, high = row_numbers("low", n_below), row_numbers("high", n_above)
    here, end = row_place("first"), row_place("last")
    at = e.op("mul i64 %j, %out_step")
    e.line(f"%out_row = getelementptr {e.real}, ptr %out, i64 {at}")

    def product(left: list[str], right: str, i: str) -> str:
        total = ""
        for k, factor in enumerate(left):
            base = e.op(f"add i64 {i}, {e.op(f'mul i64 %padded, {k}')}")
            other = e.op(f"load {e.type}, ptr {e.op(f'getelementptr {e.real}, ptr %{right}, i64 {base}')}, align 4")
            total = e.fma(factor, other, total) if total else e.op(f"fmul {e.type} {factor}, {other}")
        return total

    def entry(i: str) -> str:
        first, last = (
            e.op(f"load {whole}, ptr {e.op(f'getelementptr i32, ptr %{name}, i64 {i}')}, align 4")
            for name in ("first", "last")
        )
        within = [e.op(f"icmp sle {whole} {a}, {b}") for a, b in ((first, here), (here, last), (first, end))]
        below = e.op(f"and {flags} {within[0]}, {within[1]}")
        zero = "zeroinitializer" if lanes > 1 else "0.0"
        # where the row is not in the column's branch, the column may be in the row's
        behind = e.op(f"icmp slt {whole} {here}, {first}")
        above = e.op(f"and {flags} {behind}, {within[2]}")
        other = e.op(f"select {flags} {above}, {e.type} {product(high, 'high_right', i)}, {e.type} {zero}")
        return e.op(f"select {flags} {below}, {e.type} {product(low, 'low_right', i)}, {e.type} {other}")

    e.line("%any = icmp sgt i64 %full, 0")
    e.line("br i1 %any, label %column, label %rest")
    e.lines.append("column:")
    e.line("%i = phi i64 [ 0, %row ], [ %i_next, %column ]")
    value = entry("%i")
    e.line(f"store {e.type} {value}, ptr {e.op(f'getelementptr {e.real}, ptr %out_row, i64 %i')}, align 4")
    e.line(f"%i_next = add i64 %i, {lanes}")
    e.line("%more = icmp slt i64 %i_next, %full")
    e.line("br i1 %more, label %column, label %rest")
    e.lines.append("rest:")
    e.line("%left = sub i64 %size, %full")
    e.line("%some = icmp sgt i64 %left, 0")
    e.line("br i1 %some, label %last_columns, label %row_end")
    e.lines.append("last_columns:")
    value = entry("%full")
    e.line(f"store {e.type} {value}, ptr %kept, align {e.size}")
    e.line("br label %copy")
    e.lines.append("copy:")
    e.line("%k = phi i64 [ 0, %last_columns ], [ %k_next, %copy ]")
    one = e.op(f"load {e.real}, ptr {e.op(f'getelementptr {e.real}, ptr %kept, i64 %k')}")
    at = e.op("add i64 %full, %k")
    e.line(f"store {e.real} {one}, ptr {e.op(f'getelementptr {e.real}, ptr %out_row, i64 {at}')}")
    e.line("%k_next = add i64 %k, 1")
    e.line("%more_left = icmp slt i64 %k_next, %left")
    e.line("br i1 %more_left, label %copy, label %row_end")
    e.lines.append("row_end:")
    e.line("%j_next = add i64 %j, 1")
    e.line("%more_rows = icmp slt i64 %j_next, %size")
    e.line("br i1 %more_rows, label %row, label %end")
    e.lines.append("end:")
    head = ["define void @fill(ptr %job) {", "start:", f"  %kept = alloca {e.type}, align {e.size}"]
    return "\n".join([*e.declarations(), *head, *e.lines, "  ret void", "}", ""])


@once
def _filler(n_below: int, n_above: int, target: host.Machine, single_precision: bool) -> tuple[Any, Any]:
    text = fill_module(n_below, n_above, target.vectors(single_precision))
    addresses, alive = load_or_compile_text("filling of matrices", text, ("fill",), target=target)
    return _FILL(addresses["fill"]), alive


def fill(
    matrix: np.ndarray, below: tuple[np.ndarray, np.ndarray], above: tuple[np.ndarray, np.ndarray],
    first: np.ndarray, last: np.ndarray, target: host.Machine | None = None,
) -> None:  # fmt: skip
    """Fill ``matrix``, whose rows must be contiguous; ``below`` and ``above`` hold numbers of rows and of columns.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        Of the numbers' own precision.
    below, above : pairs of ndarray, shapes (n, m)
        Entry (j, i) is the product of row j of the first and row i of the second.
    first, last : ndarray of int, shape (n,)
        Where the branch of each row begins and ends.
    target : Machine, optional
        What the code is made for; the usual machine if left out.
    """
    n, target, single_precision = len(matrix), target or host.host(), bool(matrix.dtype == np.float32)
    lanes = target.vectors(single_precision).lanes
    padded = -(-n // lanes) * lanes
    right = []
    for _, factors in (below, above):
        right.append(np.zeros((factors.shape[1], padded), dtype=matrix.dtype))
        right[-1][:, :n] = factors.T
    left = [np.ascontiguousarray(factors, dtype=matrix.dtype) for factors, _ in (below, above)]
    branch = np.zeros((2, padded), dtype=np.int32)
    branch[:, :n] = first, last
    step = matrix.strides[0] // matrix.itemsize
    addresses = [a.ctypes.data for a in (*left, *right, *branch, matrix)]
    job = np.array([*addresses, n, padded, step], dtype=np.int64)
    _filler(left[0].shape[1], left[1].shape[1], target, single_precision)[0](job.ctypes.data)
