"""Kernels that loop: a schedule of small straight-line steps instead of one long function.

Each step is compiled once and called many times with different offsets.  There is a work area per lane of the batch; a
step finds its numbers at ``base + offset + index``, where the offset comes from its entry in the schedule.

A step may belong to a body and to everything it carries, one freedom after the other.  Their numbers lie in *columns*
of the work area: the step reads the body's own numbers once, goes through the columns, writes numbers per column into
results, and replaces the column's content by what the next body toward the base needs.  With one state the columns lie
side by side, so that a vector takes as many of them as it has lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..functions import written_out
from ..fuse import fuse
from ..graph import INPUT, Graph
from .assembly import Fields, MachineFunction, Module, StructLayout, Value
from .body import emit_body
from .emitter import Emitter
from .modules import aligned_stack
from .vectorcall import work_area
from .vectors import Vectors, first_lanes

BASES = ("in", "out", "work", "params")

COLUMN, ROW = "column", "row"
"""Further bases for steps that go through columns: the current column, and its number in a row of consecutive
results."""

SCHEDULE = StructLayout(
    count="i64", entries="ptr", params="ptr", outs="i64", words="i64", size="i64", inputs="i64", lengths="ptr",
    numbers="i64", work="i64", cleared="i64", moves="i64", moved="ptr", runs="i64", in_runs="ptr",
)  # fmt: skip
"""The fields of a schedule: the number of entries, where entries and parameters are, the number of output vectors,
words per entry. For one state there are also the size of the result, the number of inputs, their lengths one by one and
in total, and how many numbers the steps keep; and, if outputs are not the result as it is, whether it is all zeros at
first, how many numbers are moved, and from where to where (pairs of 32-bit numbers), and the same for runs of numbers,
each with its length; those from place 0 are zeros."""

FROM_PYTHON = ("PyMem_RawMalloc", "PyMem_RawFree")


@dataclass(frozen=True)
class Slot:
    """Where a number is: its ``base`` area, which word of the entry holds the offset, and the index from there."""

    base: str
    word: int
    index: int


@dataclass(frozen=True)
class HeldColumns:
    """Where columns are in the work area: their offset, numbers in each, and how many there are."""

    at: int = 0
    width: int = 1
    count: int = 0
    rows: tuple[tuple[str, int], ...] = ()
    """Where the results of a freedom go with each column, if they do not come one after the other: the area, and how
    far after the freedom's own row; those of a body's next freedom are as many further as there are columns."""

    def apart(self, v: Vectors) -> int:
        """Return how far apart the numbers of a column are for one state; there is room for whole vectors."""
        return (self.count // v.lanes + 2) * v.lanes

    def room(self, v: Vectors) -> int:
        """Return how many vectors of the work area the columns take; for one state, as many numbers."""
        return self.width * self.apart(v) if self.count else 0


@dataclass
class BodyStep:
    """A graph whose inputs and outputs are in slots; input k of the graph is in ``sources[k]``."""

    graph: Graph = field(default_factory=Graph)
    sources: list[Slot] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    targets: list[tuple[Slot, bool]] = field(default_factory=list)
    """The slot, and whether to add to its content instead of replacing it."""
    columns_word: int = 0
    """Which word of an entry is the number of columns it goes through; zero if it goes through none."""

    def source(self, place: Slot) -> int:
        """Return the graph's node for the number in a slot."""
        if place not in self.sources:
            self.sources.append(place)
        return self.graph.input(self.sources.index(place))

    def store(self, place: Slot, node: int, accumulate: bool = False) -> None:
        """Store a result in a slot."""
        if (place, accumulate) not in self.targets:
            self.targets.append((place, accumulate))
            self.outputs.append(node)


def rolled_module(
    steps: Sequence[BodyStep], v: Vectors, columns: HeldColumns | None = None, one_state: bool = False
) -> str:
    """Return LLVM assembly of ``@step0``, ``@step1``, ... and of ``@kernel(in, out, context)`` that runs a schedule.

    The context is a :data:`SCHEDULE`.  The first word of an entry is the address of its step.  For one state it is
    ``@kernel(table, out)``, with a table of pointers to the inputs, and the schedule is ``@schedule``; ``@run(in, out,
    work)`` does the same with inputs one after the other, in a work area of the caller.
    """
    module = Module()
    form = v.one if one_state else v
    declared = [*Emitter(form).declarations(), *(Emitter(v).declarations() if one_state else ())]
    module.add("declarations", "\n".join(dict.fromkeys(declared)))
    areas = dict.fromkeys((*BASES, "entry"), "ptr")
    for k, step in enumerate(steps):
        graph, outputs = step.graph, written_out(step.graph, step.outputs)
        if v.fused:
            graph, outputs = fuse(graph, outputs)
        with module.function(f"step{k}", areas, attributes=aligned_stack(v)) as f:
            _StepWriter(f, step, graph, outputs, v, form, columns or HeldColumns()).write()
    if one_state:
        module.add("schedule", f"@schedule = global [{len(SCHEDULE.at)} x i64] zeroinitializer")
        with module.function("run", dict.fromkeys(BASES[:3], "ptr")) as f:
            _run_steps(f, SCHEDULE.of(f.symbol("schedule")), *f.args)
        with module.function("kernel", {"table": "ptr", "out": "ptr"}) as f:
            _run_one(f, form, *f.args)
        return module.text()
    with module.function("kernel", {"in": "ptr", "out": "ptr", "context": "ptr"}) as f:
        given, out, context = f.args
        schedule = SCHEDULE.of(context)
        _run_steps(f, schedule, given, out, out.at(schedule["outs"], v.type))
    return module.text()


def _run_steps(f: MachineFunction, schedule: Fields, given: Value, out: Value, work: Value) -> None:
    count, entries, params, words = (schedule[name] for name in ("count", "entries", "params", "words"))
    with f.loop(0, count) as i:
        entry = entries.at(i * words, "i64")
        f.call(entry.load("ptr"), given, out, work, params, entry)


def _run_one(f: MachineFunction, v: Vectors, table: Value, out: Value) -> None:
    """Put the inputs one after the other, run the steps, and move their results to where they belong."""
    schedule = SCHEDULE.of(f.symbol("schedule"))
    numbers, outs, moves = (schedule[name] for name in ("numbers", "outs", "moves"))
    is_moved = moves.differs(0)
    with f.way_out("no_memory") as no_memory:
        area, heap = work_area(f, (numbers + outs + schedule["work"]) * v.item, no_memory)
        at, lengths = f.variable(area, "at"), schedule["lengths"]
        with f.loop(0, schedule["inputs"], changing=(at,)) as k:
            size = lengths.at(k, "i64").load("i64") * v.item
            f.call("llvm.memcpy.p0.p0.i64", at.value, table.at(k, "ptr").load("ptr"), size, f.valued(0, "i1"))
            at.set(at.value + size)
        found = is_moved.choose(at.value, out)
        _run_steps(f, schedule, area, found, at.value.at(outs, v.real))
        with f.when(is_moved):
            with f.when(schedule["cleared"].differs(0)):
                f.call("llvm.memset.p0.i64", out, f.valued(0, "i8"), schedule["size"] * v.item, f.valued(0, "i1"))
            pairs, runs = schedule["moved"], schedule["in_runs"]
            with f.loop(0, moves * 2, 2) as k:
                to, source = (pairs.at(k + n, "i32").load("i32").to("i64") for n in range(2))
                out.at(to, v.real).store(found.at(source, v.real).load(v.real))
            with f.loop(0, schedule["runs"] * 3, 3) as k:
                to, source, count = (runs.at(k + n, "i32").load("i32").to("i64") for n in range(3))
                there, size = out.at(to, v.real), count * v.item
                with f.when(source.equals(0)):
                    f.call("llvm.memset.p0.i64", there, f.valued(0, "i8"), size, f.valued(0, "i1"))
                with f.otherwise():
                    f.call("llvm.memcpy.p0.p0.i64", there, found.at(source, v.real), size, f.valued(0, "i1"))
        f.call("PyMem_RawFree", heap)
        f.ret()
    with f.loop(0, schedule["size"]) as k:  # an error cannot be reported from here
        out.at(k, v.real).store(Value(f, v.real, Emitter(v).number(float("nan"))))


class _StepWriter:
    """Writes one step; ``form`` describes the numbers that it keeps, ``v`` those that it computes with."""

    def __init__(
        self, f: MachineFunction, step: BodyStep, graph: Graph, outputs: Sequence[int], v: Vectors, form: Vectors,
        columns: HeldColumns,
    ) -> None:  # fmt: skip
        self.f, self.step, self.graph, self.outputs, self.form, self.columns = f, step, graph, outputs, form, columns
        self.v = v if step.columns_word else form
        self.areas = dict(zip(BASES, f.args[:4], strict=True))
        self.entry, self.side_by_side, self.lanes = f.args[4], form.lanes == 1, v.lanes
        self.apart = columns.apart(v)
        self.own: dict[int, str] = {}
        self._bases: dict[tuple[str, int], Value] = {}

    def write(self) -> None:
        """Write the whole step."""
        f, v, word = self.f, self.v, self.step.columns_word
        if not word:
            self._body(None, None)
            return
        for k in self._read():
            if self.step.sources[k].base == COLUMN:
                self._base(self.step.sources[k])  # before the loop, where it is the same for all columns
            else:
                self.own[k] = self._load(k, None)
        for place, _ in self.step.targets:
            self._base(place)
        self.count = self._word(word)
        if not self.side_by_side or v.lanes == 1:
            with f.loop(0, self.count) as column:
                self._body(column, None)
            return
        full = self.count & -v.lanes
        with f.loop(0, full, v.lanes) as column:
            self._body(column, None)
        with f.when(self.count > full):
            self._body(full, first_lanes(v, self.count - full))

    def _read(self) -> list[int]:
        """Return the inputs that some result depends on."""
        graph = self.graph
        return [int(graph.values[i]) for i in graph.reachable(self.outputs) if graph.kinds[i] == INPUT]

    def _word(self, word: int) -> Value:
        return self.entry.at(word, "i64").load("i64")

    def _base(self, place: Slot) -> Value:
        """Return the beginning of an area for this entry; offsets are in vectors (in parameters: numbers)."""
        rows = self.columns.rows
        where = rows[place.index % len(rows)][0] if place.base == ROW and rows else "out"
        key = (place.base + where, place.word)
        if key not in self._bases:
            offset, form = self._word(place.word), self.form
            if place.base == COLUMN:
                area = self.areas["work"].at(self.columns.at, form.type)
                self._bases[key] = area.at(offset if self.side_by_side else offset * self.columns.width, form.type)
            else:
                area = self.areas[where if place.base == ROW else place.base]
                self._bases[key] = area.at(offset, form.real if place.base == "params" else form.type)
        return self._bases[key]

    def _at(self, place: Slot, column: Value | None) -> Value:
        """Return the address of a number, for the current column if the step goes through columns."""
        base, form = self._base(place), self.form
        if place.base == ROW:
            assert column is not None
            if self.columns.rows:
                freedom, row = divmod(place.index, len(self.columns.rows))
                further = self.columns.rows[row][1] + freedom * self.columns.count
                return base.at(further, form.type).at(column, form.type)
            return base.at(self.count * place.index, form.type).at(column, form.type)
        if place.base == COLUMN and self.side_by_side:
            further, number = divmod(place.index, self.columns.width)
            here = base.at(number * self.apart + further, form.type)
            return here if column is None else here.at(column, form.type)
        if place.base == COLUMN and column is not None:
            base = base.at(column * self.columns.width, form.type)
        return base.at(place.index, form.real if place.base == "params" else form.type)

    def _load(self, k: int, column: Value | None) -> str:
        place, v = self.step.sources[k], self.v
        at = self._at(place, column)
        if place.base == COLUMN:
            return at.load(v.type, v.item if self.side_by_side else v.size).name
        alone = place.base == "params" or self.form.lanes < v.lanes
        found = at.load(v.real if alone else v.type, v.item if alone else v.size)
        return Emitter(v, self.f).spread(found.name) if alone else found.name

    def _body(self, column: Value | None, mask: Value | None) -> None:
        f, v = self.f, self.v
        kept: list[tuple[Slot, bool, str]] = []
        in_order = column is None

        def load(k: int) -> str:
            return self.own[k] if k in self.own else self._load(k, column)

        def store(k: int, value: str) -> None:
            place, accumulate = self.step.targets[k]
            if in_order:
                put(place, accumulate, value)
            else:
                kept.append((place, accumulate, value))

        def put(place: Slot, accumulate: bool, name: str) -> None:
            at, value = self._at(place, column), Value(f, v.type, name)
            if accumulate:
                value = f.op(f"fadd {v.type} {at.load(v.type, v.size).name}, {name}", v.type)
            if mask is None:
                at.store(value, v.size if in_order or not self.side_by_side else v.item)
            else:
                f.call(f"llvm.masked.store.{v.suffix}.p0", value, at, f.valued(v.item, "i32"), mask)

        emit_body(Emitter(v, f), self.graph, self.outputs, load, store)
        for each in kept:
            put(*each)
