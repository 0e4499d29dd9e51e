"""Loops over pairs: each body of a tree with each of the bodies that it carries, the latter side by side.

What the freedoms of a branch hold lies in *columns*, one value per place and column.  A step
belongs to a body that carries the branch: it reads the body's own numbers from a table, goes
through the columns of the branch as many at a time as a vector has lanes, writes a number
per column into rows of matrices, and replaces what the columns hold by what the next
body towards the base is to find.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .composed import ComposedKernel
from .emit import Emitter, emit_body
from .fuse import fuse
from .graph import Graph
from .kernel import Kernel, RolledKernel, Shape
from .making import made_once
from .ready import ready_text
from .rolled import Place, Step
from .vectors import Vectors, transpose_loaded

OWN, COLUMN, ROW = "own", "column", "row"
"""Where numbers are: of the body, in the table; of the columns; in a row of a matrix (its ``word``)."""

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_JOB = (("count", "i64"), ("calls", "ptr"), ("table", "ptr"), ("columns", "ptr"), ("matrices", "ptr"))
_CALL = (("step", "ptr"), ("own", "i64"), ("first", "i64"), ("size", "i64"), ("row", "i64"))
CALL_WORDS = len(_CALL)
"""Of a call: the step, where the body's numbers are in the table, first column, how many columns, first row."""


def pairs_module(steps: Sequence[Step], vectors: Vectors, nv: int) -> str:
    """LLVM assembly of ``@step0``, ``@step1``, ... and of ``@pairs(job)``, which calls them."""
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
        self, step: Step, graph: Graph, outputs: Sequence[int], vectors: Vectors, nv: int, masked: str
    ) -> None:
        self.step, self.graph, self.outputs, self.vectors, self.nv, self.masked = (
            step, graph, outputs, vectors, nv, masked,
        )  # fmt: skip
        self.e = Emitter(vectors)
        self.own: dict[int, str] = {}
        self.rows: dict[int, str] = {}

    def function(self, name: str) -> list[str]:
        """All of it."""
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
        """Inputs that some result depends on."""
        graph = self.graph
        return [int(graph.values[i]) for i in graph.reachable(self.outputs) if graph.kinds[i] == "input"]

    def _spread(self, index: int) -> str:
        """One of the body's numbers in all lanes."""
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

        def at(place: Place) -> str:
            """Columns beyond the last have places of their own, so that a whole vector can always be read."""
            if place.base == COLUMN:
                start = e.op(f"getelementptr {e.real}, ptr %columns, i64 {column}")
                return e.op(f"getelementptr {e.real}, ptr {start}, i64 {place.index * padded(self.nv, self.vectors)}")
            start = e.op(f"getelementptr {e.real}, ptr {self.rows[place.word]}, i64 {column}")
            return e.op(f"getelementptr {e.real}, ptr {start}, i64 {place.index * self.nv}")

        def load(k: int) -> str:
            if k in self.own:
                return self.own[k]
            return e.op(f"load {e.type}, ptr {at(step.sources[k])}, align {item}")

        kept: list[tuple[Place, str]] = []

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
    """Columns that there is room for."""
    return (nv // vectors.lanes + 2) * vectors.lanes


@dataclass
class PairPlan:
    """Everything that is needed to make matrices of pairs of bodies."""

    schedule: Any
    """What fills the table."""
    numbers: int
    """In the table."""
    steps: Sequence[Step]
    calls: np.ndarray
    """Rows of :data:`CALL_WORDS`, outer bodies first, with a step's number for its address."""
    held: np.ndarray
    """Where in the table the numbers are that each column holds at first, (columns, numbers)."""
    blocks: np.ndarray
    """Entries that are in the table: which matrix, row, column, where in the table."""
    symmetric: list[bool]
    """Which matrices are."""
    full: bool
    """Whether all bodies carry one another, so that no entry is zero by structure."""


@dataclass
class PairKernel(ComposedKernel):
    """Matrices of pairs of bodies, in the shape (nv, nv) or (matrices, nv, nv)."""

    plan: Callable[[], PairPlan] | None = None

    @made_once
    def _plan(self) -> PairPlan:
        assert self.plan is not None
        return self.plan()

    @made_once
    def table(self) -> Kernel:
        """What fills the table."""
        return RolledKernel(
            self.name, self.source, self.lengths, (self._plan.numbers,), None, self.argument_names,
            self.single_precision, target=self.target, schedule=lambda: self._plan.schedule,
        )  # fmt: skip

    @property
    def parts(self) -> tuple[Kernel]:
        """What fills the table."""
        return (self.table,)

    @made_once
    def _code(self) -> tuple[Any, np.ndarray]:
        """What runs a job, and its calls."""
        plan, names = self._plan, tuple(f"step{k}" for k in range(len(self._plan.steps)))
        text = pairs_module(plan.steps, self.vectors, self.shape[-1])
        addresses, alive = ready_text(self.name, text, ("pairs", *names), target=self.target)
        calls = plan.calls.copy()
        calls[:, 0] = np.array([addresses[name] for name in names], dtype=np.int64)[calls[:, 0]]
        self._alive.append(alive)
        return _RUN(addresses["pairs"]), calls

    def is_ready(self, batch: bool) -> bool:
        """Whether all parts are at hand."""
        return "_code" in self.__dict__ and super().is_ready(batch)

    @property
    def lanes_address(self) -> int:  # type: ignore[override]
        """Machine code that fills the table; that of the pairs is made, too."""
        _ = self._code
        return self.table.lanes_address

    @made_once
    def _transposer(self) -> Any:
        addresses, alive = ready_text(self.name, mirror_module(self.vectors), ("mirror",), target=self.target)
        self._alive.append(alive)
        return _RUN(addresses["mirror"])

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._fill(self.table(*arrays), result)

    def _run_batch(self, arrays: Sequence[np.ndarray], batch: Shape, result: np.ndarray, threads: int) -> None:
        tables = self.table(*arrays, threads=threads)
        for index in np.ndindex(*batch):
            self._fill(tables[index], result[index])

    def _room(self) -> tuple[np.ndarray, np.ndarray]:
        """Work areas of this thread: what columns hold, and what will be below the diagonals."""
        room = getattr(self._local, "room", None)
        if room is None:
            plan, n = self._plan, self.shape[-1]
            columns = np.zeros((plan.held.shape[1], padded(n, self.vectors)), self.dtype)
            # what no pair of bodies writes to stays zero
            room = self._local.room = columns, np.zeros((plan.symmetric.count(False), n, n), self.dtype)
        return room  # type: ignore[no-any-return]

    def _fill(self, table: np.ndarray, result: np.ndarray) -> None:
        plan, n = self._plan, self.shape[-1]
        direct = result.flags.c_contiguous and result.dtype == self.dtype
        made = result if direct else np.empty(self.shape, self.dtype)
        if not plan.full:
            made[...] = 0.0
        columns, room = self._room()
        columns[:, :n] = table[plan.held].T
        matrices, below = made if made.ndim == 3 else made[None], iter(room)
        others = [m if symmetric else next(below) for m, symmetric in zip(matrices, plan.symmetric, strict=True)]
        run, calls = self._code
        run_job(run, calls, len(calls), table, columns, _addresses([*matrices, *others]))
        for matrix, other in zip(matrices, others, strict=True):
            self._mirror(matrix, other)
        k, i, j, at = plan.blocks
        matrices[k, i, j] = table[at]
        if not direct:
            result[...] = made

    def _mirror(self, matrix: np.ndarray, other: np.ndarray) -> None:
        """Put the numbers that are above the diagonal of another matrix below that of this one."""
        n, lanes = len(matrix), self.vectors.lanes
        if n < lanes or lanes == 1:
            matrix[...] = np.triu(matrix) + np.triu(other, 1).T
            return
        starts = np.array([*range(0, n - lanes, lanes), n - lanes], dtype=np.int64)
        run_job(self._transposer, matrix, n, other, starts, np.array([len(starts)], dtype=np.int64))


def _addresses(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([a.ctypes.data for a in arrays], dtype=np.int64)


def run_job(run: Any, first: np.ndarray, count: int, *others: np.ndarray) -> None:
    """Call machine code with a number and the addresses of arrays."""
    job = np.array([count, *(a.ctypes.data for a in (first, *others))], dtype=np.int64)
    run(job.ctypes.data)


def mirror_module(vectors: Vectors) -> str:
    """LLVM assembly of ``@mirror(job)``: squares of numbers above one diagonal, transposed below another.

    The last squares may overlap others, and those on the diagonal are half left as they are.
    """
    e, lanes = Emitter(vectors), vectors.lanes
    whole, flags = vectors.of("i64"), vectors.of("i1")
    _read_words(e, "job", (("n", "i64"), ("matrix", "ptr"), ("other", "ptr"), ("starts", "ptr"), ("count_at", "ptr")))
    e.line("%count = load i64, ptr %count_at")
    e.line("br label %strip")
    e.lines.append("strip:")
    e.line("%a = phi i64 [ 0, %start ], [ %a_next, %strip_end ]")
    e.line(f"%i = load i64, ptr {e.op('getelementptr i64, ptr %starts, i64 %a')}")
    e.line(f"%beside = add i64 %i, {lanes}")
    e.line("br label %square")
    e.lines.append("square:")
    e.line("%b = phi i64 [ %a, %strip ], [ %b_next, %square_end ]")
    e.line(f"%j = load i64, ptr {e.op('getelementptr i64, ptr %starts, i64 %b')}")

    def rows(name: str, row: str, column: str) -> list[str]:
        first = e.op(f"add i64 {e.op(f'mul i64 {row}, %n')}, {column}")
        found = [e.op(f"getelementptr {e.real}, ptr %{name}, i64 {first}")]
        for _ in range(lanes - 1):
            found.append(e.op(f"getelementptr {e.real}, ptr {found[-1]}, i64 %n"))
        return found

    lines, columns = transpose_loaded(vectors, rows("other", "%i", "%j"), "x")
    e.lines += lines
    places = rows("matrix", "%j", "%i")
    e.line("%apart = icmp sge i64 %j, %beside")
    e.line("br i1 %apart, label %plain, label %mixed")
    e.lines.append("plain:")
    for place, value in zip(places, columns, strict=True):
        e.line(f"store {e.type} {value}, ptr {place}, align {vectors.item}")
    e.line("br label %square_end")
    e.lines.append("mixed:")
    numbers = ", ".join(f"i64 {k}" for k in range(lanes))

    def spread(value: str) -> str:
        one = e.op(f"insertelement {whole} poison, i64 {value}, i64 0")
        return e.op(f"shufflevector {whole} {one}, {whole} poison, <{lanes} x i32> zeroinitializer")

    column = e.op(f"add {whole} <{numbers}>, {spread('%i')}")
    for k, (place, value) in enumerate(zip(places, columns, strict=True)):
        is_below = e.op(f"icmp slt {whole} {column}, {spread(e.op(f'add i64 %j, {k}'))}")
        present = e.op(f"load {e.type}, ptr {place}, align {vectors.item}")
        mixed = e.op(f"select {flags} {is_below}, {e.type} {value}, {e.type} {present}")
        e.line(f"store {e.type} {mixed}, ptr {place}, align {vectors.item}")
    e.line("br label %square_end")
    e.lines.append("square_end:")
    e.line("%b_next = add i64 %b, 1")
    e.line("%more = icmp slt i64 %b_next, %count")
    e.line("br i1 %more, label %square, label %strip_end")
    e.lines.append("strip_end:")
    e.line("%a_next = add i64 %a, 1")
    e.line("%more_strips = icmp slt i64 %a_next, %count")
    e.line("br i1 %more_strips, label %strip, label %done")
    e.lines.append("done:")
    return "\n".join(["define void @mirror(ptr %job) {", "start:", *e.lines, "  ret void", "}", ""])
