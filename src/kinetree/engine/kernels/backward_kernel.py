"""A backward pass of dynamic programming over nodes whose matrices are too large for straight-line code.

At a node the state changes by ``S = [A B]`` times changes of state and action, and the value of the next node has the
slope v and the curvature V.  With H and h the curvature and slope of the node's own cost,

    Q = H + S^T V S,    q = h + S^T (v + V gap),    K = -Quu^-1 Qux,    V' = Qxx + Qxu K,    v' = qx + Qxu k.

Products of matrices run in tiles that stay in registers, a row of numbers per vector.  What happens to the actions
alone, limits included, is a law of its own, given as a kernel: it returns k and the factors of Quu.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..llvm.assembly import Fields, MachineFunction, Module, Operand, StructLayout, Value
from ..llvm.vectors import Vectors, spread
from ..load_code import load_or_compile_text
from .kernel import Kernel, address_of

BY_NODE = ("steps", "gap", "slopes", "found", "u")
BY_PLAN = ("value", "bounds", "damping", "share")

JOB = StructLayout(
    **dict.fromkeys((*BY_NODE, *BY_PLAN, "work", "law"), "ptr"),
    **{f"{name}_node": "i64" for name in BY_NODE}, **{f"{name}_plan": "i64" for name in (*BY_NODE, *BY_PLAN)},
    nodes="i64", plans="i64",
)  # fmt: skip
"""Where arrays begin, and how many bytes lie between nodes and between plans."""

SUMMED = 3
"""Slope and curvature of the cost along the step, and the least pivot: sums, and a minimum, over the nodes so far."""


@dataclass(frozen=True)
class NodeShape:
    """What the vectors of a node hold; see :class:`BackwardKernel`."""

    nd: int
    """Directions of the state."""
    nu: int
    """Actions."""
    entries: tuple[tuple[int, int], ...]
    """Places of the cost's curvature, after its slopes."""
    bends: tuple[tuple[int, int], ...]
    """Places of a further curvature that counts by a share."""

    @property
    def m(self) -> int:
        """Directions of state and actions."""
        return self.nd + self.nu

    @property
    def n_value(self) -> int:
        """Length of a value: slope, upper triangle of the curvature, three numbers."""
        return self.nd + self.nd * (self.nd + 1) // 2 + SUMMED

    @property
    def n_law(self) -> int:
        """How many numbers the law of actions returns: k, three numbers, L below its diagonal, 1/D, which are led."""
        return self.nu + SUMMED + self.nu * (self.nu - 1) // 2 + 2 * self.nu


class _Work:
    """Places in the work area, in bytes."""

    def __init__(self, shape: NodeShape, v: Vectors) -> None:
        self.row, self.long_row = (-(-n // v.lanes) * v.lanes for n in (shape.nd, shape.m))
        self.size = 0
        self.value = self._room(shape.nd * self.row)
        self.moved = self._room(shape.nd * self.long_row)
        self.q = self._room(shape.m * self.long_row)
        self.gains = self._room(shape.nu * self.row)
        self.slope, self.ahead = self._room(self.row), self._room(self.row)
        self.q_slope = self._room(self.long_row)
        self.numbers = self._room(SUMMED)
        self.curvature = self._room(shape.nu * shape.nu)
        self.law = self._room(shape.n_law)
        self.table = self._room(5)
        self.nowhere = self._room(1)

    def _room(self, numbers: int) -> int:
        place = self.size
        self.size += -(-numbers * 8 // 64) * 64
        return place


Entry = Callable[[Operand, Value], Value]
"""Returns the address of an entry of a matrix, by row and column."""


class _Rowwise:
    """A matrix in memory."""

    def __init__(self, pointer: Value, stride: int) -> None:
        self.pointer, self.stride = pointer, stride

    def at(self, row: Operand, column: Operand) -> Value:
        """Return the address of an entry."""
        place = row * self.stride
        if isinstance(place, Value):
            return self.pointer.at(place + column, "double")
        return self.pointer.at(column + place, "double")


class _Writer:
    """Writes the pass of one node."""

    def __init__(self, f: MachineFunction, v: Vectors, shape: NodeShape, work: _Work) -> None:
        self.f, self.v, self.shape, self.work = f, v, shape, work
        self.tile = (4, 6) if not v.few_registers else (4, 2)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Return a b + c."""
        return self.f.call(f"llvm.fmuladd.{self.v.suffix}", a, b, c, result=self.v.type)

    def load(self, place: Value) -> Value:
        """Return a vector."""
        return place.load(self.v.type, 8)

    def number(self, place: Value) -> Value:
        """Return a number in all lanes."""
        return spread(place.load("double", 8), self.v.lanes) if self.v.lanes > 1 else place.load("double", 8)

    def arithmetic(self, how: str, a: Value, b: Value) -> Value:
        """Return a sum or a product of numbers or vectors."""
        return self.f.op(f"{how} {a.type} {a.name}, {b.name}", a.type)

    def product(
        self, into: _Rowwise, left: Entry, right: _Rowwise, rows: int, inner: int, columns: int,
        added: _Rowwise | None = None,
    ) -> None:  # fmt: skip
        """Write ``into = added + left right``; ``left(i, k)`` returns the address of an entry."""
        high, wide = self.tile
        for first in range(0, columns, wide * self.v.lanes):
            width = min(wide, -(-(columns - first) // self.v.lanes))
            places = [first + w * self.v.lanes for w in range(width)]
            whole = rows // high * high
            if whole:
                with self.f.loop(0, whole, high, hint="i") as i:
                    self._tile(into, left, right, [i + r for r in range(high)], inner, places, added)
            if whole < rows:
                self._tile(into, left, right, list(range(whole, rows)), inner, places, added)

    def _tile(
        self, into: _Rowwise, left: Entry, right: _Rowwise, rows: Sequence[Operand], inner: int,
        places: Sequence[int], added: _Rowwise | None,
    ) -> None:  # fmt: skip
        f, zero = self.f, Value(self.f, self.v.type, "zeroinitializer")
        sums = [[f.variable(zero if added is None else self.load(added.at(i, j)), "sum") for j in places] for i in rows]
        with f.loop(0, inner, changing=[x for row in sums for x in row]) as k:
            vectors = [self.load(right.at(k, j)) for j in places]
            for i, row in zip(rows, sums, strict=True):
                factor = self.number(left(i, k))
                for x, vector in zip(row, vectors, strict=True):
                    x.set(self.fma(factor, vector, x.value))
        for i, row in zip(rows, sums, strict=True):
            for j, x in zip(places, row, strict=True):
                into.at(i, j).store(x.value, 8)

    def copy(self, to: Value, source: Value, numbers: int) -> None:
        """Copy numbers."""
        self.f.call("llvm.memcpy.p0.p0.i64", to, source, 8 * numbers, self.f.valued(0, "i1"))


def backward_module(shape: NodeShape, v: Vectors) -> str:
    """Return LLVM assembly of ``run(job)``: the nodes of all plans, from the last one to the first."""
    module, work = Module(), _Work(shape, v)
    for name, places in (("entries", shape.entries), ("bends", shape.bends)):
        row = [(_place(shape, work, i, j), _place(shape, work, j, i) if i != j else work.nowhere) for i, j in places]
        numbers = ", ".join(f"i64 {x}" for pair in row for x in pair)
        if row:
            module.add(name, f"@{name} = internal constant [{2 * len(row)} x i64] [{numbers}]")
    with module.function("node", {"job": "ptr", "at": "ptr"}, linkage="internal", attributes="noinline") as f:
        _write_node(f, v, shape, work)
    with module.function("run", {"job": "ptr"}) as f:
        _write_run(f, v, shape, work)
    return module.text()


def _place(shape: NodeShape, work: _Work, i: int, j: int) -> int:
    """Return where an entry of Q is; those of actions in rows of states are never read."""
    return work.nowhere if i < shape.nd <= j else work.q + 8 * (i * work.long_row + j)


NODE = StructLayout(**dict.fromkeys((*BY_NODE, *BY_PLAN), "ptr"))
"""Where the vectors of a node are."""


def _write_run(f: MachineFunction, v: Vectors, shape: NodeShape, work: _Work) -> None:
    (job,) = f.args
    word, nd = JOB.of(job), shape.nd
    area, room = word["work"], f.room("ptr", len(NODE.at))
    here, nodes, matrix = NODE.of(room), word["nodes"], _Rowwise(area.at(work.value), work.row)
    table = area.at(work.table)
    for k, place in enumerate((work.q_slope + 8 * nd, work.curvature)):
        table.at(k, "ptr").store(area.at(place))
    with f.loop(0, word["plans"], hint="plan") as plan:
        for name in BY_PLAN:
            here[name] = word[name] + plan * word[f"{name}_plan"]
        end = here["value"]
        _Writer(f, v, shape, work).copy(area.at(work.slope), end, nd)
        entry = f.variable(nd, "entry")
        with f.loop(0, nd, changing=(entry,), hint="i") as i, f.loop(i, nd, changing=(entry,), hint="j") as j:
            number = end.at(entry.value, "double").load("double")
            matrix.at(i, j).store(number)
            matrix.at(j, i).store(number)
            entry.set(entry.value + 1)
        _Writer(f, v, shape, work).copy(area.at(work.numbers), end.at(shape.n_value - SUMMED, "double"), SUMMED)
        with f.loop(1, nodes + 1) as back:
            for name in BY_NODE:
                here[name] = word[name] + (nodes - back) * word[f"{name}_node"] + plan * word[f"{name}_plan"]
            f.call("node", job, room)


def _write_node(f: MachineFunction, v: Vectors, shape: NodeShape, work: _Work) -> None:
    job, at = f.args
    nd, nu, m, w = shape.nd, shape.nu, shape.m, _Writer(f, v, shape, work)
    word, here = JOB.of(job), NODE.of(at)
    area = word["work"]

    def rows(where: int, stride: int) -> _Rowwise:
        return _Rowwise(area.at(where), stride)

    steps, value, moved = _Rowwise(here["steps"], m), rows(work.value, work.row), rows(work.moved, work.long_row)
    q, gains = rows(work.q, work.long_row), rows(work.gains, work.row)
    slope, ahead, q_slope = (rows(place, 0) for place in (work.slope, work.ahead, work.q_slope))
    gap, slopes, found = here["gap"], here["slopes"], here["found"]
    law = area.at(work.law)

    w.product(ahead, lambda _, k: gap.at(k, "double"), value, 1, nd, nd, slope)
    w.copy(q_slope.pointer, slopes, m)
    w.product(q_slope, lambda _, k: ahead.at(0, k), steps, 1, nd, m, q_slope)
    w.product(moved, value.at, steps, nd, nd, m)
    w.product(q, lambda i, k: steps.at(k, i), moved, nd, nd, nd)
    below = _Rowwise(q.at(nd, 0), work.long_row)
    w.product(below, lambda i, k: steps.at(k, i + nd), moved, nu, nd, m)
    for name, first, places in (("entries", m, shape.entries), ("bends", m + len(shape.entries), shape.bends)):
        if places:
            _add_entries(w, here, area, name, first, len(places))
    for i in range(nu):
        w.copy(area.at(work.curvature + 8 * nu * i), q.at(nd + i, nd), nu)
    _decide(w, word, here, area)
    _write_gains(w, law, q, gains)
    w.product(value, lambda i, a: q.at(a + nd, i), gains, nd, nu, nd, q)
    with f.loop(0, nd, hint="row") as row, f.loop(0, row, hint="column") as column:
        value.at(row, column).store(value.at(column, row).load("double"))
    w.product(slope, lambda _, a: law.at(a, "double"), below, 1, nu, nd, q_slope)
    w.copy(found, slope.pointer, nd)
    _add_numbers(w, law, area, found)
    w.copy(found.at(shape.n_value, "double"), law, nu)
    for i in range(nu):
        w.copy(found.at(shape.n_value + nu + i * nd, "double"), gains.at(i, 0), nd)


def _add_entries(w: _Writer, here: Fields, area: Value, name: str, first: int, count: int) -> None:
    """Add the cost's curvature to both of its places."""
    table, numbers = w.f.symbol(name), here["slopes"].at(first, "double")
    with w.f.loop(0, count, hint="entry") as k:
        number = numbers.at(k, "double").load("double")
        if name == "bends":
            number = w.arithmetic("fmul", number, here["share"].load("double"))
        for side in range(2):
            place = area.at(table.at(k * 2 + side, "i64").load("i64"))
            place.store(w.arithmetic("fadd", place.load("double"), number))


def _decide(w: _Writer, word: Fields, here: Fields, area: Value) -> None:
    """Call the law of actions."""
    table = area.at(w.work.table)
    for k, name in enumerate(("u", "bounds", "damping")):
        table.at(2 + k, "ptr").store(here[name])
    w.f.call(word["law"], table, area.at(w.work.law))


def _write_gains(w: _Writer, law: Value, q: _Rowwise, gains: _Rowwise) -> None:
    """Solve for the gains with the factors that the law returned, a strip of columns at a time."""
    nd, nu = w.shape.nd, w.shape.nu
    lower = nu + SUMMED
    inverse = lower + nu * (nu - 1) // 2
    with w.f.loop(0, nd, w.v.lanes, hint="strip") as strip:
        rows: list[Value] = []
        for i in range(nu):
            led = w.number(law.at(inverse + nu + i, "double"))
            row = w.arithmetic("fmul", led, w.load(q.at(nd + i, strip)))
            rows.append(w.f.op(f"fneg {row.type} {row.name}", row.type))

        def factor(i: int, j: int) -> Value:
            number = w.number(law.at(lower + i * (i - 1) // 2 + j, "double"))
            return w.f.op(f"fneg {number.type} {number.name}", number.type)

        for i in range(nu):
            for j in range(i):
                rows[i] = w.fma(factor(i, j), rows[j], rows[i])
        for i in range(nu):
            rows[i] = w.arithmetic("fmul", rows[i], w.number(law.at(inverse + i, "double")))
        for i in reversed(range(nu)):
            for j in range(i + 1, nu):
                rows[i] = w.fma(factor(j, i), rows[j], rows[i])
        for i, row in enumerate(rows):
            gains.at(i, strip).store(row, 8)


def _add_numbers(w: _Writer, law: Value, area: Value, found: Value) -> None:
    """Add slope and curvature to those of later nodes, and keep the least pivot."""
    numbers, place = area.at(w.work.numbers), found.at(w.shape.n_value - SUMMED, "double")
    for k in range(SUMMED):
        own, later = law.at(w.shape.nu + k, "double").load("double"), numbers.at(k, "double").load("double")
        if k < SUMMED - 1:
            new = w.arithmetic("fadd", own, later)
        else:
            new = w.f.op(f"fcmp olt double {later.name}, {own.name}", "i1").choose(later, own)
        numbers.at(k, "double").store(new)
        place.at(k, "double").store(new)


class BackwardKernel:
    """The backward pass over the nodes of some plans.

    Parameters
    ----------
    shape : NodeShape
    law : Kernel
        From q of the actions, their curvature row by row, u, least and largest u, and damping, to
        ``NodeShape.n_law`` numbers.
    """

    def __init__(self, shape: NodeShape, law: Kernel) -> None:
        self.shape, self.law = shape, law
        v = law.target.vectors()
        addresses, self._alive = load_or_compile_text(
            "a backward pass", backward_module(shape, v), ("run",), target=law.target
        )
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["run"])
        self._work = _Work(shape, v).size

    def prepared(self, by_node: Sequence[np.ndarray], by_plan: Sequence[np.ndarray]) -> Callable[[], None]:
        """Return a function that runs over arrays that stay in place, for one thread.

        Parameters
        ----------
        by_node : sequence of ndarray (nodes, plans, n)
            In the order of :data:`BY_NODE`; rows are consecutive numbers, those of ``steps`` followed by readable ones.
        by_plan : sequence of ndarray (plans, n)
            In the order of :data:`BY_PLAN`.
        """
        assert all(x.strides[-1] == 8 for x in (*by_node, *by_plan))
        area = np.zeros(self._work + 64, dtype=np.uint8)
        nodes, plans = by_node[0].shape[:2]
        words = dict(zip((*BY_NODE, *BY_PLAN), map(address_of, (*by_node, *by_plan)), strict=True))
        words |= {"work": (address_of(area) + 63) & ~63, "law": self.law.single_address}
        words |= {f"{name}_node": x.strides[0] for name, x in zip(BY_NODE, by_node, strict=True)}
        words |= {
            f"{name}_plan": x.strides[-2] for name, x in zip((*BY_NODE, *BY_PLAN), (*by_node, *by_plan), strict=True)
        }
        words |= {"nodes": nodes, "plans": plans}
        job = np.zeros(JOB.size // 8, dtype=np.int64)
        JOB.write(address_of(job), **words)
        run, place = self._run, address_of(job)

        def again(alive: object = (self, area, job, *by_node, *by_plan)) -> None:
            run(place)

        return again
