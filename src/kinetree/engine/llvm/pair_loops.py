"""Loops over pairs: each body of a tree with each of the bodies that it carries, the latter side by side.

What the freedoms of a branch hold lies in *columns*, one value per place and column.  A step
belongs to a body that carries the branch: it reads the body's own numbers from a table, goes
through the columns of the branch as many at a time as a vector has lanes, writes a number
per column into rows of matrices, and replaces what the columns hold by what the next
body towards the base is to find.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fuse import fuse
from ..graph import INPUT, Graph
from ..load_code import load_or_compile_text
from ..make_once import once
from . import host
from .assembly import Layout, Module, Value
from .body import emit_body
from .body_loops import BodyStep, Slot
from .emitter import Emitter
from .vectors import Vectors, spread, transpose_loaded

OWN, COLUMN, ROW = "own", "column", "row"
"""Where numbers are: of the body, in the table; of the columns; in a row of a matrix (its ``word``)."""

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_JOB = (("count", "i64"), ("calls", "ptr"), ("table", "ptr"), ("columns", "ptr"), ("matrices", "ptr"))
_CALL = (("step", "ptr"), ("own", "i64"), ("first", "i64"), ("size", "i64"), ("row", "i64"))
_MIRRORED = Layout(n="i64", matrix="ptr", other="ptr", starts="ptr", count="ptr")
CALL_WORDS = len(_CALL)
"""Of a call: the step, where the body's numbers are in the table, first column, how many columns, first row."""


def pairs_module(steps: Sequence[BodyStep], vectors: Vectors, nv: int) -> str:
    """Return LLVM assembly of ``@step0``, ``@step1``, ... and of ``@pairs(job)``, which calls them."""
    text = Emitter(vectors).declarations()
    masked = f"llvm.masked.store.{vectors.suffix}.p0"
    if vectors.lanes > 1:
        text.append(f"declare void @{masked}({vectors.type}, ptr, i32, {vectors.of('i1')})")
    for k, step in enumerate(steps):
        graph, outputs = fuse(step.graph, step.outputs) if vectors.fused else (step.graph, step.outputs)
        text += _StepWriter(step, graph, outputs, vectors, nv, masked).function(f"step{k}")
    e = Emitter(vectors)
    _read_words(e, "job", _JOB)
    e.line("%any = icmp sgt i64 %count, 0")
    e.line("br i1 %any, label %next, label %done")
    e.lines.append("next:")
    e.line("%i = phi i64 [ 0, %start ], [ %j, %next ]")
    e.line(f"%at = mul i64 %i, {CALL_WORDS}")
    e.line("%call = getelementptr i64, ptr %calls, i64 %at")
    _read_words(e, "call", _CALL)
    e.line(f"%numbers = getelementptr {e.real}, ptr %table, i64 %own")
    e.line("call void %step(ptr %numbers, ptr %columns, ptr %matrices, i64 %first, i64 %size, i64 %row)")
    e.line("%j = add i64 %i, 1")
    e.line("%more = icmp slt i64 %j, %count")
    e.line("br i1 %more, label %next, label %done")
    e.lines.append("done:")
    return "\n".join([*text, "define void @pairs(ptr %job) {", "start:", *e.lines, "  ret void", "}", ""])


def _read_words(e: Emitter, base: str, words: Sequence[tuple[str, str]]) -> None:
    for k, (name, kind) in enumerate(words):
        e.line(f"%{name} = load {kind}, ptr {e.op(f'getelementptr i64, ptr %{base}, i64 {k}')}")


class _StepWriter:
    """Writes one step: its own numbers are read once, then comes a loop, and some last columns."""

    def __init__(
        self, step: BodyStep, graph: Graph, outputs: Sequence[int], vectors: Vectors, nv: int, masked: str
    ) -> None:
        self.step, self.graph, self.outputs, self.vectors, self.nv, self.masked = (
            step, graph, outputs, vectors, nv, masked,
        )  # fmt: skip
        self.e = Emitter(vectors)
        self.own: dict[int, str] = {}
        self.rows: dict[int, str] = {}

    def function(self, name: str) -> list[str]:
        """Return all of it."""
        e, lanes = self.e, self.vectors.lanes
        for k in self._read():
            if self.step.sources[k].base == OWN:
                self.own[k] = self._spread(self.step.sources[k].index)
        for place, _ in self.step.targets:
            if place.base == ROW and place.word not in self.rows:
                address = e.op(f"getelementptr ptr, ptr %matrices, i64 {place.word}")
                self.rows[place.word] = e.op(
                    f"getelementptr {e.real}, ptr {e.op(f'load ptr, ptr {address}')}, i64 %row"
                )
        e.line("%end = add i64 %first, %size")
        e.line(f"%full = and i64 %size, {-lanes}")
        e.line("%last = add i64 %first, %full")
        e.line("%any = icmp sgt i64 %full, 0")
        e.line("br i1 %any, label %columns_at_once, label %rest")
        e.lines.append("columns_at_once:")
        e.line("%c = phi i64 [ %first, %start ], [ %c_next, %columns_at_once ]")
        self._body("%c", None)
        e.line(f"%c_next = add i64 %c, {lanes}")
        e.line("%more = icmp slt i64 %c_next, %last")
        e.line("br i1 %more, label %columns_at_once, label %rest")
        e.lines.append("rest:")
        if lanes > 1:
            e.line("%left = sub i64 %size, %full")
            e.line("%some = icmp sgt i64 %left, 0")
            e.line("br i1 %some, label %last_columns, label %done")
            e.lines.append("last_columns:")
            self._body("%last", self._first_lanes("%left"))
            e.line("br label %done")
            e.lines.append("done:")
        arguments = "ptr %numbers, ptr %columns, ptr %matrices, i64 %first, i64 %size, i64 %row"
        return [f"define void @{name}({arguments}) {{", "start:", *e.lines, "  ret void", "}"]

    def _read(self) -> list[int]:
        """Return inputs that some result depends on."""
        graph = self.graph
        return [int(graph.values[i]) for i in graph.reachable(self.outputs) if graph.kinds[i] == INPUT]

    def _spread(self, index: int) -> str:
        """Return one of the body's numbers in all lanes."""
        e, lanes = self.e, self.vectors.lanes
        one = e.op(f"load {e.real}, ptr {e.op(f'getelementptr {e.real}, ptr %numbers, i64 {index}')}")
        if lanes == 1:
            return one
        first = e.op(f"insertelement {e.type} poison, {e.real} {one}, i64 0")
        return e.op(f"shufflevector {e.type} {first}, {e.type} poison, <{lanes} x i32> zeroinitializer")

    def _first_lanes(self, count: str) -> str:
        e, lanes = self.e, self.vectors.lanes
        whole = self.vectors.of("i64")
        numbers = ", ".join(f"i64 {k}" for k in range(lanes))
        one = e.op(f"insertelement {whole} poison, i64 {count}, i64 0")
        spread = e.op(f"shufflevector {whole} {one}, {whole} poison, <{lanes} x i32> zeroinitializer")
        return e.op(f"icmp slt {whole} <{numbers}>, {spread}")

    def _body(self, column: str, mask: str | None) -> None:
        e, step = self.e, self.step
        item = self.vectors.item

        def at(place: Slot) -> str:
            """Return columns beyond the last have places of their own, so that a whole vector can always be read."""
            if place.base == COLUMN:
                start = e.op(f"getelementptr {e.real}, ptr %columns, i64 {column}")
                return e.op(f"getelementptr {e.real}, ptr {start}, i64 {place.index * padded(self.nv, self.vectors)}")
            start = e.op(f"getelementptr {e.real}, ptr {self.rows[place.word]}, i64 {column}")
            return e.op(f"getelementptr {e.real}, ptr {start}, i64 {place.index * self.nv}")

        def load(k: int) -> str:
            if k in self.own:
                return self.own[k]
            return e.op(f"load {e.type}, ptr {at(step.sources[k])}, align {item}")

        kept: list[tuple[Slot, str]] = []

        def store(k: int, value: str) -> None:
            kept.append((step.targets[k][0], value))

        emit_body(e, self.graph, self.outputs, load, store)
        for place, value in kept:
            if mask is None:
                e.line(f"store {e.type} {value}, ptr {at(place)}, align {item}")
            else:
                flags = self.vectors.of("i1")
                e.line(f"call void @{self.masked}({e.type} {value}, ptr {at(place)}, i32 {item}, {flags} {mask})")


def padded(nv: int, vectors: Vectors) -> int:
    """Return the columns that there is room for."""
    return (nv // vectors.lanes + 2) * vectors.lanes


class Runner:
    """Machine code of steps, and the calls that it makes.

    Parameters
    ----------
    name : str
        For messages.
    steps : sequence of BodyStep
    calls : ndarray of int, shape (calls, CALL_WORDS)
        With a step's number for its address.
    nv : int
        Rows and columns of the matrices.
    target, vectors
        What the code is made for.
    """

    def __init__(
        self, name: str, steps: Sequence[BodyStep], calls: np.ndarray, nv: int, target: host.Machine, vectors: Vectors
    ) -> None:
        names = tuple(f"step{k}" for k in range(len(steps)))
        text = pairs_module(steps, vectors, nv)
        addresses, self._alive = load_or_compile_text(name, text, ("pairs", *names), target=target)
        self._run, self._calls = _RUN(addresses["pairs"]), calls.copy()
        self._calls[:, 0] = np.array([addresses[n] for n in names], dtype=np.int64)[calls[:, 0]]
        self._nv, self._vectors = nv, vectors

    def columns(self, numbers: int) -> np.ndarray:
        """Return room for so many numbers per column, (numbers, columns and some more)."""
        dtype = np.float32 if self._vectors.single_precision else np.float64
        return np.zeros((numbers, padded(self._nv, self._vectors)), dtype)

    def __call__(self, table: np.ndarray, columns: np.ndarray, matrices: Sequence[np.ndarray]) -> None:
        """Make all calls; arrays are contiguous, and a matrix has rows of nv numbers."""
        places = np.array([m.ctypes.data for m in matrices], dtype=np.int64)
        _run_job(self._run, len(self._calls), self._calls, table, columns, places)


def _run_job(run: Any, count: int, *arrays: np.ndarray) -> None:
    """Call machine code with a number and the addresses of arrays."""
    job = np.array([count, *(a.ctypes.data for a in arrays)], dtype=np.int64)
    run(job.ctypes.data)


def mirror(matrix: np.ndarray, other: np.ndarray, target: host.Machine, upwards: bool = False) -> None:
    """Put the numbers above the diagonal of another matrix (or the same) below that of this one; both contiguous.

    Or the other way round, ``upwards``.
    """
    vectors = target.vectors(bool(matrix.dtype == np.float32))
    n, lanes = len(matrix), vectors.lanes
    if n < lanes or lanes == 1:
        matrix[...] = np.tril(matrix) + np.tril(other, -1).T if upwards else np.triu(matrix) + np.triu(other, 1).T
        return
    starts = np.array([*range(0, n - lanes, lanes), n - lanes], dtype=np.int64)
    run, _ = _mirror_code(target, vectors.single_precision, upwards)
    _run_job(run, n, matrix, other, starts, np.array([len(starts)], dtype=np.int64))


@once
def _mirror_code(target: host.Machine, single_precision: bool, upwards: bool) -> tuple[Any, Any]:
    text = mirror_module(target.vectors(single_precision), upwards)
    addresses, alive = load_or_compile_text("mirroring of matrices", text, ("mirror",), target=target)
    return _RUN(addresses["mirror"]), alive


def mirror_module(v: Vectors, upwards: bool) -> str:
    """Return LLVM assembly of ``@mirror(job)``: squares beside one diagonal, transposed to the other side of another.

    The last squares may overlap others, and those on the diagonal are half left as they are.
    """
    module = Module()
    with module.function("mirror", {"job": "ptr"}) as f:
        job = _MIRRORED.of(f.args[0])
        n, matrix, other, starts = (job[name] for name in ("n", "matrix", "other", "starts"))
        count = job["count"].load("i64")
        with f.loop(0, count) as a:
            i = starts.at(a, "i64").load("i64")
            with f.loop(a, count) as b:
                j = starts.at(b, "i64").load("i64")
                row, column = (i, j) if upwards else (j, i)
                square = transpose_loaded(v, _rows_from(v, other, n, column, row))
                places = _rows_from(v, matrix, n, row, column)
                with f.when(j >= i + v.lanes):
                    for place, value in zip(places, square, strict=True):
                        place.store(value, v.item)
                with f.otherwise():
                    _store_beside_diagonal(v, places, square, row, column, upwards)
    return module.text()


def _rows_from(v: Vectors, matrix: Value, n: Value, row: Value, column: Value) -> list[Value]:
    """Return where the rows of a square of a matrix begin."""
    found = [matrix.at(row * n + column, v.real)]
    for _ in range(v.lanes - 1):
        found.append(found[-1].at(n, v.real))
    return found


def _store_beside_diagonal(
    v: Vectors, places: Sequence[Value], square: Sequence[Value], row: Value, column: Value, upwards: bool
) -> None:
    """Store those numbers of a square that are on the other side of the diagonal."""
    ramp = Value(row.f, v.of("i64"), f"<{', '.join(f'i64 {k}' for k in range(v.lanes))}>")
    columns = ramp + spread(column, v.lanes)
    for k, (place, value) in enumerate(zip(places, square, strict=True)):
        this_row = spread(row + k, v.lanes)
        is_beyond = columns > this_row if upwards else columns < this_row
        place.store(is_beyond.choose(value, place.load(v.type, v.item)), v.item)
