"""Equations M x = y for many y, given L and D of M = L^T D L, whose L has few entries where trees have branches.

Columns are solved for in strips of a few vectors, which stay in the nearest cache: L^T first, from the last row, then
1/D, then L, from the first row.  Some consecutive rows are computed together, so that a number that is loaded is used
for all of them.  What such a *block* needs of other rows is listed, and the entries of L are first put in the order in
which they are needed, of which there are few next to one another in a matrix of branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import pairwise, product
from operator import or_
from typing import NamedTuple

import numpy as np

from ..llvm.assembly import Fields, MachineFunction, Module, StructLayout, Value
from ..llvm.driver import JOB
from ..llvm.symmetric_results import write_mirror
from ..llvm.vectors import Vectors, first_lanes, spread

HEIGHTS = (4, 2, 1)
"""Rows of a block."""

NEVER = 1 << 62
"""Stands at the end of a list of rows."""

_OF_POOL = ("scratch", "start", "stop", "tile_area", "scratch_bytes")
_OWN = {"scratch": "ptr", "start": "i64", "stop": "i64", "tile_area": "ptr"}

SOLVES = StructLayout(
    **{name: (JOB.kinds[name], JOB.at[name]) for name in _OF_POOL},
    factors=("ptr", JOB.size), given="ptr", result="ptr", rows="i64", right_sides="i64", blocks="i64", table="ptr",
    lists="ptr", entries="i64", order="ptr",
)  # fmt: skip
"""What a pool of threads reads of a job, and: where matrices with L and D on its diagonal are, one per state; where the
matrices of right sides are, and where the solutions go, each state's followed by the inverse; how many rows each has;
how many matrices of right sides each state has; how many blocks there are; a :data:`BLOCK` for each and direction, L^T
first; lists of rows; how many entries of L are used, and which these are: 32-bit numbers."""

BLOCK = StructLayout(first="i64", height="i64", others="i64", entries="i64")
"""The first row of a block, how many it has, and where the list of other rows on which it depends begins, and its
entries of L: those between its own rows, then those of each other row."""


class Blocks(NamedTuple):
    """The rows of L in blocks, as machine code reads them."""

    table: np.ndarray
    lists: np.ndarray
    order: np.ndarray


def blocks_of(before: Sequence[int]) -> Blocks:
    """Return blocks of the rows of L; bit j of ``before[i]`` is set if row i has an entry in column j < i."""
    n, after = len(before), [0] * len(before)
    for i, columns in enumerate(before):
        for j in _bits(columns):
            after[j] |= 1 << i

    def others(several: Sequence[int], start: int, height: int) -> int:
        return reduce(or_, several[start : start + height]) & ~(((1 << height) - 1) << start)

    def cost(start: int, height: int) -> float:
        """Return how long each row takes: as products or as loads, whichever are more; a block has zeros, too."""
        met = sum(others(x, start, height).bit_count() for x in (after, before))
        return met * max(2 * height, height + 2) / height

    starts = [0]
    while starts[-1] < n:
        starts.append(starts[-1] + min((h for h in HEIGHTS if starts[-1] + h <= n), key=partial(cost, starts[-1])))
    blocks = list(pairwise(starts))
    table, lists, order = list[tuple[int, ...]](), list[int](), list[int]()
    for several, way in ((after, -1), (before, 1)):
        for start, stop in blocks[::way]:
            rows, met = range(start, stop)[::way], _bits(others(several, start, stop - start))
            table.append((start, stop - start, len(lists), len(order)))
            lists += [*met, NEVER]
            pairs = [*((i, j) for k, j in enumerate(rows) for i in rows[k + 1 :]), *product(met, rows)]
            order += [max(pair) * n + min(pair) for pair in pairs]
    return Blocks(np.array(table, np.int64), np.array(lists, np.int64), np.array(order, np.int32))


def _bits(number: int) -> list[int]:
    """Return which bits are set."""
    return [k for k, x in enumerate(bin(number)[:1:-1]) if x == "1"]


def vectors_of_strip(v: Vectors) -> int:
    """Return the most vectors of a strip's rows."""
    return 2 if v.few_registers else 4


def scratch_bytes(rows: int, blocks: Blocks, v: Vectors) -> int:
    """Return how much room a strip, 1/D and L take, and some more to begin at the beginning of a line."""
    return rows * (vectors_of_strip(v) * v.size + v.item) + len(blocks.order) * v.item + 128


def solves_module(v: Vectors) -> str:
    """Return LLVM assembly of ``@run(job, scratch, start, stop, tile_area)``: some states of a :data:`SOLVES`.

    Results are minus the solutions, and the inverse of M, which is symmetric.
    """
    module, most = Module(), vectors_of_strip(v)
    for inverts in (False, True):
        for width in range(1, most + 1):
            name = _strip_name(inverts, width)
            parameters = dict.fromkeys(("job", "given", "result", "strip", "pivots", "entries"), "ptr") | {
                "column": "i64"
            }
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
    pivots = strip.at(n * (most * v.lanes), v.real)
    entries = pivots.at(n, v.real)
    with f.loop(start, stop) as state:
        factors = word["factors"].at(state * n * n, v.real)
        with f.loop(0, n) as k:
            one = f.op(f"fdiv {v.real} 1.0, {factors.at(k * n + k, v.real).load(v.real).name}", v.real)
            pivots.at(k, v.real).store(one)
        with f.loop(0, word["entries"]) as k:
            entries.at(k, v.real).store(
                factors.at(word["order"].at(k, "i32").load("i32").to("i64"), v.real).load(v.real)
            )
        given = word["given"].at(state * right_sides * n * n, v.real)
        result = word["result"].at(state * (right_sides + 1) * n * n, v.real)

        def strips(k: Value, inverts: bool, given: Value = given, result: Value = result) -> None:
            with f.loop(0, n, most * v.lanes) as column:
                left = ((n - column + (v.lanes - 1)) // v.lanes).min(most)
                for width in range(1, most + 1):
                    with f.when(left.equals(width)):
                        places = [x.at(k * n * n, v.real) for x in (given, result)]
                        f.call(_strip_name(inverts, width), job, *places, strip, pivots, entries, column)

        with f.loop(0, right_sides) as k:
            strips(k, False)
        strips(right_sides, True)
        inverse = result.at(right_sides * n * n, v.real)
        write_mirror(f, v, n, inverse, inverse, upwards=False)
    f.ret(0)


class _Strip:
    """Writes the solution for a strip of columns, in ``width`` vectors."""

    def __init__(self, f: MachineFunction, v: Vectors, width: int, inverts: bool) -> None:
        self.f, self.v, self.width, self.inverts = f, v, width, inverts
        job, self.given, self.result, self.strip, self.pivots, self.entries, self.column = f.args
        self.job = SOLVES.of(job)
        self.n = self.job["rows"]
        last = self.column + (width - 1) * v.lanes
        self.mask = first_lanes(v, self.n - last)
        self.limit = (last + (v.lanes - 1)).min(self.n - 1) if inverts else self.n - 1
        """The last row whose numbers matter: an inverse is symmetric, and L^T has nothing below its diagonal."""

    def write(self) -> None:
        """Write both directions."""
        f, count = self.f, self.job["blocks"]
        for backward in (True, False):
            with f.loop(0, count) as k:
                block = BLOCK.of(self.job["table"] + (k if backward else k + count) * BLOCK.size)
                first, height = block["first"], block["height"]
                with f.when(first <= self.limit):
                    for h in HEIGHTS:
                        with f.when(height.equals(h)):
                            self._rows(block, [first + r for r in range(h)], backward)

    def _rows(self, block: Fields, rows: list[Value], backward: bool) -> None:
        f, v = self.f, self.v
        rows = rows[::-1] if backward else rows
        begin = self._right_side if backward else self._divided
        totals = [f.variable(x, "total") for row in rows for x in begin(row)]
        within = iter([self.entries.at(block["entries"] + k, v.real) for k in range(len(rows) * (len(rows) - 1) // 2)])
        entries = self.entries.at(block["entries"] + len(rows) * (len(rows) - 1) // 2, v.real)
        other, entry = (f.variable(x, "at") for x in (self.job["lists"].at(block["others"], "i64"), entries))
        with f.forever(other, entry, *totals):
            row = other.value.load("i64")
            f.leave(unless=row <= self.limit)
            found = [x.load(v.type, v.size) for x in self._places(row)]
            for r in range(len(rows)):
                self._subtract(totals, r, entry.value.at(r, v.real), found)
            other.set(other.value.at(1, "i64"))
            entry.set(entry.value.at(len(rows), v.real))
        for r, row in enumerate(rows):
            found = [x.value for x in totals[r * self.width : (r + 1) * self.width]]
            for later in range(r + 1, len(rows)):
                self._subtract(totals, later, next(within), found)
            for place, x in zip(self._places(row), found, strict=True):
                place.store(x, v.size)
            if not backward:
                *whole, last = self._cells(self.result, row)
                for cell, x in zip(whole, found, strict=False):
                    cell.store(x, v.item)
                f.call(f"llvm.masked.store.{v.suffix}.p0", found[-1], last, f.valued(v.item, "i32"), self.mask)

    def _subtract(self, totals: list, row: int, entry: Value, found: Sequence[Value]) -> None:
        """Subtract an entry times the numbers of its row."""
        f, v = self.f, self.v
        factor = spread(entry.load(v.real), v.lanes)
        minus = f.op(f"fneg {v.type} {factor.name}", v.type)
        for k, x in enumerate(found):
            total = totals[row * self.width + k]
            if v.fused:
                total.set(f.call(f"llvm.fma.{v.suffix}", minus, x, total.value, result=v.type))
            else:
                product = f.op(f"fmul {v.type} {minus.name}, {x.name}", v.type)
                total.set(f.op(f"fadd {v.type} {total.value.name}, {product.name}", v.type))

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
        none = Value(f, v.type, "zeroinitializer")
        *whole, last = self._cells(self.given, row)
        given = [cell.load(v.type, v.item) for cell in whole]
        name, item = f"llvm.masked.load.{v.suffix}.p0", f.valued(v.item, "i32")
        given.append(f.call(name, last, item, self.mask, none, result=v.type))
        return [f.op(f"fneg {v.type} {x.name}", v.type) for x in given]

    def _divided(self, row: Value) -> list[Value]:
        """Return a row of the strip divided by its pivot."""
        f, v = self.f, self.v
        one = spread(self.pivots.at(row, v.real).load(v.real), v.lanes)
        found = [x.load(v.type, v.size) for x in self._places(row)]
        return [f.op(f"fmul {v.type} {x.name}, {one.name}", v.type) for x in found]
