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
from ..load_code import load_or_compile_own, load_or_compile_text
from ..make_once import once
from . import host
from .assembly import MachineFunction, Module, StructLayout, Value
from .body import emit_body
from .body_loops import BodyStep, Slot
from .emitter import Emitter
from .vectors import Vectors, first_lanes, spread, transpose_loaded

OWN, COLUMN, ROW = "own", "column", "row"
"""Where numbers are: of the body, in the table; of the columns; in a row of a matrix (its ``word``)."""

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_JOB = StructLayout(count="i64", calls="ptr", table="ptr", columns="ptr", matrices="ptr")
_CALL = StructLayout(step="ptr", own="i64", first="i64", size="i64", row="i64")
_STEP = {"numbers": "ptr", "columns": "ptr", "matrices": "ptr", "first": "i64", "size": "i64", "row": "i64"}
_MIRRORED = StructLayout(n="i64", matrix="ptr", other="ptr", starts="ptr", count="ptr")
CALL_WORDS = len(_CALL.at)
"""Of a call: the step, where the body's numbers are in the table, first column, how many columns, first row."""


def pairs_module(steps: Sequence[BodyStep], v: Vectors, nv: int) -> str:
    """Return LLVM assembly of ``@step0``, ``@step1``, ... and of ``@pairs(job)``, which calls them."""
    module = Module()
    module.add("declarations", "\n".join(Emitter(v).declarations()))
    for k, step in enumerate(steps):
        graph, outputs = fuse(step.graph, step.outputs) if v.fused else (step.graph, step.outputs)
        with module.function(f"step{k}", _STEP) as f:
            _StepWriter(f, step, graph, outputs, v, nv).write()
    with module.function("pairs", {"job": "ptr"}) as f:
        job = _JOB.of(f.args[0])
        calls, table, columns, matrices = (job[name] for name in ("calls", "table", "columns", "matrices"))
        with f.loop(0, job["count"]) as i:
            call = _CALL.of(calls.at(i * CALL_WORDS, "i64"))
            numbers = table.at(call["own"], v.real)
            f.call(call["step"], numbers, columns, matrices, call["first"], call["size"], call["row"])
    return module.text()


class _StepWriter:
    """Writes one step: its own numbers are read once, then comes a loop, and some last columns."""

    def __init__(
        self, f: MachineFunction, step: BodyStep, graph: Graph, outputs: Sequence[int], v: Vectors, nv: int
    ) -> None:
        self.f, self.step, self.graph, self.outputs, self.v, self.nv = f, step, graph, outputs, v, nv
        self.own: dict[int, str] = {}
        self.rows: dict[int, Value] = {}

    def write(self) -> None:
        """Write all of it."""
        f, v = self.f, self.v
        numbers, _, matrices, first, size, row = f.args
        for k in self._read():
            source = self.step.sources[k]
            if source.base == OWN:
                number = numbers.at(source.index, v.real).load(v.real)
                self.own[k] = Emitter(v, f).spread(number.name)
        for place, _ in self.step.targets:
            if place.base == ROW and place.word not in self.rows:
                self.rows[place.word] = matrices.at(place.word, "ptr").load("ptr").at(row, v.real)
        full = size & -v.lanes
        with f.loop(first, first + full, v.lanes) as column:
            self._body(column, None)
        if v.lanes > 1:
            left = size - full
            with f.when(left > 0):
                self._body(first + full, first_lanes(v, left))

    def _read(self) -> list[int]:
        """Return inputs that some result depends on."""
        graph = self.graph
        return [int(graph.values[i]) for i in graph.reachable(self.outputs) if graph.kinds[i] == INPUT]

    def _at(self, place: Slot, column: Value) -> Value:
        """Return where columns begin; those beyond the last have places, so that a whole vector can always be read."""
        if place.base == COLUMN:
            start, row_length = self.f.args[1], padded(self.nv, self.v)
        else:
            start, row_length = self.rows[place.word], self.nv
        return start.at(column, self.v.real).at(place.index * row_length, self.v.real)

    def _body(self, column: Value, mask: Value | None) -> None:
        f, v, step = self.f, self.v, self.step
        kept: list[tuple[Slot, str]] = []

        def load(k: int) -> str:
            return self.own[k] if k in self.own else self._at(step.sources[k], column).load(v.type, v.item).name

        def store(k: int, value: str) -> None:
            kept.append((step.targets[k][0], value))

        emit_body(Emitter(v, f), self.graph, self.outputs, load, store)
        for place, name in kept:
            value, at = Value(f, v.type, name), self._at(place, column)
            if mask is None:
                at.store(value, v.item)
            else:
                f.call(f"llvm.masked.store.{v.suffix}.p0", value, at, f.valued(v.item, "i32"), mask)


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
    what, vectors = "mirroring of matrices", target.vectors(single_precision)
    name = f"{what} {vectors} {upwards}"
    addresses, alive = load_or_compile_own(
        what, name, lambda: mirror_module(vectors, upwards), ("mirror",), target=target
    )
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
