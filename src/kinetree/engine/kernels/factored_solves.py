"""Equations M x = y for many y, with M = L^T D L, by passing six numbers from each row to the one before it.

Rows form trees: each has at most one nearest row before it, its *carrier*, which may have one itself, and so on.  Row i
has six numbers s_i and six numbers f_i, and an entry of L is L_ij = s_j . f_i for all rows j that carry row i.  So L
need not be known: with t = D L x,

    t_i = y_i - s_i . p_i,    p_i = sum of f_k t_k over all rows k that row i carries,

from the last row to the first, and then, from the first to the last,

    x_i = t_i / D_i - f_i . a_i,    a_i = sum of s_j x_j over all rows j that carry row i.

Both sums are handed from row to row, 24 products per row and right side, however many rows carry it.  Columns are
solved for in strips of a few vectors, so that a number that is loaded is used for all of them, and the sums of a strip
stay in registers.  Where trees branch, they wait in *slots*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..llvm.assembly import MachineFunction, Module, StructLayout, Value, Variable
from ..llvm.driver import JOB
from ..llvm.vectors import Vectors, first_lanes, spread
from .symmetric_results import write_mirror

AXIS, SHARE, INVERSE_PIVOT = 0, 6, 12
"""Where s, f and 1/D begin among the numbers of a row."""

NUMBERS = 13
"""Of a row."""

MOST_COPIED = 1 << 19
"""Solutions of up to this many bytes are collected in the caches and then written in one piece; pieces of rows would
take several times as long to reach memory."""

BEFORE, NONE = -1, -2
"""Stand for the slot of a carrier: it is the row before, or there is none."""

_OF_POOL = ("scratch", "start", "stop", "tile_area", "scratch_bytes")
_OWN = {"scratch": "ptr", "start": "i64", "stop": "i64", "tile_area": "ptr"}

SOLVES = StructLayout(
    **{name: (JOB.kinds[name], JOB.at[name]) for name in _OF_POOL},
    factors=("ptr", JOB.size), given="ptr", result="ptr", rows="i64", right_sides="i64", order="ptr", slots="i64",
    met="ptr", strips="i64",
)  # fmt: skip
"""What a pool of threads reads of a job, and: where the numbers of the rows are, one table per state; where the
matrices of right sides are, and where the solutions go, each state's followed by the inverse; how many rows each has;
how many matrices of right sides each state has; a :data:`ROW` for each row, and how many slots they use; which rows
each strip meets, see :class:`RowOrder`, and how many strips there are."""

ROW = StructLayout(row="i64", carrier="i64", own="i64")
"""Which row comes next; the slot of the row that carries it, :data:`BEFORE` or :data:`NONE`; and its own slot, if
others than the next row follow it directly, or :data:`NONE`."""


class RowOrder(NamedTuple):
    """The rows of trees in the order in which sums are handed on, as machine code reads it."""

    rows: np.ndarray
    """A :data:`ROW` for each."""
    slots: int
    met: np.ndarray
    """(2, strips, rows): whether t may be other than zero in any column of a strip, given right sides that are zero but
    where one of row and column carries the other; and with the identity as right sides. One byte each."""


def order_of(carriers: Sequence[int], v: Vectors) -> RowOrder:
    """Return the order of rows, given the nearest row that carries each one, -1 for none.

    A row is followed by one that it carries where there is one: then sums need not wait in a slot.
    """
    carried: list[list[int]] = [[] for _ in (*carriers, -1)]
    for k, carrier in enumerate(carriers):
        carried[carrier].append(k)
    order, waiting = list[int](), carried[-1][::-1]
    while waiting:
        k = waiting.pop()
        order.append(k)
        waiting += carried[k][::-1]
    place = {k: at for at, k in enumerate(order)}
    own, free, used, rows = dict[int, int](), list[int](), 0, list[tuple[int, int, int]]()
    for at, k in enumerate(order):
        carrier = carriers[k]
        if len(carried[k]) > 1:
            used += not free
            own[k] = free.pop() if free else used - 1
        slot = NONE if carrier < 0 else BEFORE if place[carrier] == at - 1 else own[carrier]
        rows.append((k, slot, own.get(k, NONE)))
        if carrier in own and k == carried[carrier][-1]:
            free.append(own[carrier])
    return RowOrder(np.array(rows, np.int64), used, _met(carriers, v)[:, :, order].copy())


def _met(carriers: Sequence[int], v: Vectors) -> np.ndarray:
    """Return which rows each strip meets."""
    n, width = len(carriers), vectors_of_strip(v) * v.lanes
    before = np.arange(n)[:, None] // width == np.arange(-(-n // width))
    after = before.copy()
    for k, carrier in reversed(list(enumerate(carriers))):
        if carrier >= 0:
            before[carrier] |= before[k]
    for k, carrier in enumerate(carriers):
        if carrier >= 0:
            after[k] |= after[carrier]
    return np.stack([(before | after).T, before.T]).astype(np.uint8)


def vectors_of_strip(v: Vectors) -> int:
    """Return the most vectors of a strip's rows: six times as many are sums, and should be in registers."""
    return 2 if v.few_registers else 3


def scratch_bytes(order: RowOrder, v: Vectors) -> int:
    """Return how much room a strip, its slots and a matrix take, and some more to begin at the beginning of a line."""
    n = len(order.rows)
    return (n + 6 * order.slots) * vectors_of_strip(v) * v.size + n * n * v.item + 128


def solves_module(v: Vectors) -> str:
    """Return LLVM assembly of ``@run(job, scratch, start, stop, tile_area)``: some states of a :data:`SOLVES`.

    Results are minus the solutions, and the inverse of M, which is symmetric.
    """
    module, most = Module(), vectors_of_strip(v)
    for inverts in (False, True):
        for width in range(1, most + 1):
            name = _strip_name(inverts, width)
            parameters = dict.fromkeys(("job", "factors", "given", "result", "strip"), "ptr") | {"number": "i64"}
            with module.function(name, parameters, linkage="internal", attributes="noinline") as f:
                _Strip(f, v, width, inverts).write()
    with module.function("run", {"job": "ptr", **_OWN}, "i64") as f:
        _run(f, v, most)
    return module.text()


def _strip_name(inverts: bool, width: int) -> str:
    return f"{'invert' if inverts else 'solve'}{width}"


def _run(f: MachineFunction, v: Vectors, most: int) -> None:
    job, scratch, start, stop, _ = f.args
    word = SOLVES.of(job)
    n, right_sides = word["rows"], word["right_sides"]
    strip = scratch + (f.valued(64) - (scratch.to("i64") & 63))
    collected = strip.at((n + word["slots"] * 6) * (most * v.lanes), v.real)
    size = n * n * v.item
    is_small = size <= MOST_COPIED
    with f.loop(start, stop) as state:
        factors = word["factors"].at(state * n * NUMBERS, v.real)
        given = word["given"].at(state * right_sides * n * n, v.real)
        result = word["result"].at(state * (right_sides + 1) * n * n, v.real)

        def strips(
            k: Value, inverts: bool, factors: Value = factors, given: Value = given, result: Value = result
        ) -> None:
            place = result.at(k * n * n, v.real)
            matrix = is_small.choose(collected, place)
            with f.loop(0, word["strips"]) as number:
                left = ((n - number * (most * v.lanes) + (v.lanes - 1)) // v.lanes).min(most)
                for width in range(1, most + 1):
                    with f.when(left.equals(width)):
                        right_side = given.at(k * n * n, v.real)
                        f.call(_strip_name(inverts, width), job, factors, right_side, matrix, strip, number)
            if inverts:
                write_mirror(f, v, n, matrix, matrix, upwards=False)
            with f.when(is_small):
                f.call("llvm.memcpy.p0.p0.i64", place, matrix, size, f.valued(0, "i1"))

        with f.loop(0, right_sides) as k:
            strips(k, False)
        strips(right_sides, True)
    f.ret(0)


class _Strip:
    """Writes the solution for a strip of columns, in ``width`` vectors."""

    def __init__(self, f: MachineFunction, v: Vectors, width: int, inverts: bool) -> None:
        self.f, self.v, self.width, self.inverts = f, v, width, inverts
        job, self.factors, self.given, self.result, self.strip, number = f.args
        self.job = SOLVES.of(job)
        self.n, strips = self.job["rows"], self.job["strips"]
        self.column = number * (vectors_of_strip(v) * v.lanes)
        last = self.column + (width - 1) * v.lanes
        self.mask = first_lanes(v, self.n - last)
        self.end = last + v.lanes
        self.met = self.job["met"] + (number + strips if inverts else number) * self.n
        self.slots = self.strip.at(self.n * (width * v.lanes), v.real)
        self.zero = Value(f, v.type, "zeroinitializer")

    def write(self) -> None:
        """Write both directions."""
        f, v = self.f, self.v
        with f.loop(0, self.job["slots"] * (6 * self.width)) as k:
            self.slots.at(k, v.type).store(self.zero, v.size)
        sums = self._no_sums()
        with f.loop(1, self.n + 1, changing=sums) as k:
            at = self.n - k
            row, carrier, own = self._entry(at)
            with f.when(self.met.at(at).load("i8").differs(0)):
                self._row_back(row, carrier, own, sums)
            with f.otherwise():  # nor is anything handed to it
                for place in self._places(row):
                    place.store(self.zero, v.size)
        sums = self._no_sums()
        with f.loop(0, self.n, changing=sums) as at:
            row, carrier, own = self._entry(at)
            if self.inverts:  # an inverse is symmetric, and what a row carries comes after it
                with f.when(row < self.end):
                    self._row_forth(row, carrier, own, sums)
            else:
                self._row_forth(row, carrier, own, sums)

    def _no_sums(self) -> list[Variable]:
        return [self.f.variable(self.zero, "sum") for _ in range(6 * self.width)]

    def _row_back(self, row: Value, carrier: Value, own: Value, sums: list[Variable]) -> None:
        """Compute t / D of a row, and hand what its carrier and those before need of it to the carrier."""
        f, v = self.f, self.v
        with f.when(own >= 0):
            for place, total in self._slot(own, sums):
                total.set(f.op(f"fadd {v.type} {total.value.name}, {place.load(v.type, v.size).name}", v.type))
                place.store(self.zero, v.size)  # so that others may use the slot
        found = self._less(self._right_side(row), row, AXIS, sums)
        for x, place in zip(found, self._places(row), strict=True):
            place.store(f.op(f"fmul {v.type} {x.name}, {self._number(row, INVERSE_PIVOT).name}", v.type), v.size)
        self._add(sums, row, SHARE, found)
        with f.when(carrier.differs(BEFORE)):
            with f.when(carrier >= 0):
                for place, total in self._slot(carrier, sums):
                    here = place.load(v.type, v.size).name
                    place.store(f.op(f"fadd {v.type} {here}, {total.value.name}", v.type), v.size)
            for total in sums:
                total.set(self.zero)

    def _row_forth(self, row: Value, carrier: Value, own: Value, sums: list[Variable]) -> None:
        """Compute x of a row, and hand what those need that it carries to them."""
        f, v = self.f, self.v
        with f.when(carrier.differs(BEFORE)):
            for total in sums:
                total.set(self.zero)
            with f.when(carrier >= 0):
                for place, total in self._slot(carrier, sums):
                    total.set(place.load(v.type, v.size))
        known = [place.load(v.type, v.size) for place in self._places(row)]
        found = self._less(known, row, SHARE, sums)
        self._add(sums, row, AXIS, found)
        with f.when(own >= 0):
            for place, total in self._slot(own, sums):
                place.store(total.value, v.size)
        *whole, last = self._cells(self.result, row)
        for cell, x in zip(whole, found, strict=False):
            cell.store(x, v.item)
        f.call(f"llvm.masked.store.{v.suffix}.p0", found[-1], last, f.valued(v.item, "i32"), self.mask)

    def _less(self, begin: Sequence[Value], row: Value, first: int, sums: Sequence[Variable]) -> list[Value]:
        """Return what is left of numbers less six of the row's times the sums, in two halves that need not wait."""
        f, v = self.f, self.v
        found, others = list(begin), [self.zero] * self.width
        for m in range(3):
            for half, so_far in ((m, found), (m + 3, others)):
                number = f.op(f"fneg {v.type} {self._number(row, first + half).name}", v.type)
                for k, x in enumerate(so_far):
                    so_far[k] = self._plus(number, sums[half * self.width + k].value, x)
        return [f.op(f"fadd {v.type} {x.name}, {y.name}", v.type) for x, y in zip(found, others, strict=True)]

    def _add(self, sums: Sequence[Variable], row: Value, first: int, found: Sequence[Value]) -> None:
        """Add six of the row's numbers times what was found."""
        for m in range(6):
            number = self._number(row, first + m)
            for k, x in enumerate(found):
                total = sums[m * self.width + k]
                total.set(self._plus(number, x, total.value))

    def _plus(self, a: Value, b: Value, c: Value) -> Value:
        """Return a b + c."""
        f, v = self.f, self.v
        if v.fused:
            return f.call(f"llvm.fma.{v.suffix}", a, b, c, result=v.type)
        product = f.op(f"fmul {v.type} {a.name}, {b.name}", v.type)
        return f.op(f"fadd {v.type} {c.name}, {product.name}", v.type)

    def _number(self, row: Value, k: int) -> Value:
        """Return a number of a row, in all lanes."""
        found = self.factors.at(row * NUMBERS, self.v.real).at(k, self.v.real).load(self.v.real)
        return spread(found, self.v.lanes)

    def _entry(self, at: Value) -> tuple[Value, Value, Value]:
        """Return which row comes at a place, and the slots of its carrier and of its own."""
        entry = ROW.of(self.job["order"] + at * ROW.size)
        return entry["row"], entry["carrier"], entry["own"]

    def _slot(self, number: Value, sums: Sequence[Variable]) -> list[tuple[Value, Variable]]:
        """Return where a slot keeps each of the sums."""
        first = self.slots.at(number * (6 * self.width), self.v.type)
        return [(first.at(k, self.v.type), total) for k, total in enumerate(sums)]

    def _places(self, row: Value) -> list[Value]:
        """Return where the strip's numbers of a row are kept."""
        v = self.v
        return [self.strip.at(row * (self.width * v.lanes) + k * v.lanes, v.real) for k in range(self.width)]

    def _cells(self, matrix: Value, row: Value) -> list[Value]:
        """Return where the row's vectors of a matrix are."""
        v = self.v
        return [matrix.at(row * self.n + self.column + k * v.lanes, v.real) for k in range(self.width)]

    def _right_side(self, row: Value) -> list[Value]:
        """Return a row of minus the right sides, or of the identity."""
        f, v = self.f, self.v
        if self.inverts:
            zero, one = (Value(f, v.type, f"splat ({v.real} {x})") for x in ("0.0", "1.0"))
            ramp = ", ".join(f"i64 {k}" for k in range(v.lanes))
            columns = Value(f, v.of("i64"), f"<{ramp}>")
            return [
                columns.equals(spread(row - self.column - k * v.lanes, v.lanes)).choose(one, zero)
                for k in range(self.width)
            ]
        *whole, last = self._cells(self.given, row)
        given = [cell.load(v.type, v.item) for cell in whole]
        name, item = f"llvm.masked.load.{v.suffix}.p0", f.valued(v.item, "i32")
        given.append(f.call(name, last, item, self.mask, self.zero, result=v.type))
        return [f.op(f"fneg {v.type} {x.name}", v.type) for x in given]
