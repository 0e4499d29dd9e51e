"""The schedule of a rolled kernel: which step runs for which body, and where its numbers are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...algorithms.path import Path
from ...engine.graph import INPUT
from ...engine.llvm.body_loops import BodyStep, HeldColumns, Slot
from ...model.tree import BASE, Link, Model
from ...spatial.arrays import flatten, leaves
from .pairs import PairedMatrix, PairPass, Pairs
from .traces import (
    COUNT,
    FIRST,
    FIRST_INPUT,
    OUT,
    OWN_POOL,
    OWN_SUM,
    PARAMS,
    PARENT_POOL,
    PARENT_SUM,
    RECORD,
    STEP,
    TOTAL,
    InputColumn,
    InputVector,
    Laid,
    Pass,
    PerBody,
    Trace,
)
from .tree import LoopedTree


@dataclass
class Schedule:
    """Everything a rolled kernel needs: steps, entries (without addresses), parameters, sizes."""

    steps: list[BodyStep]
    entries: np.ndarray
    """One row per call: step number, then offsets."""
    params: np.ndarray
    work_vectors: int
    columns: HeldColumns
    outs: int = 0
    """Number of values that the steps write, if these are not the outputs in order."""
    places: np.ndarray | None = None
    """In that case, the index of each output among these values; the first value is zero."""
    large: LargeMatrices | None = None


class LargeMatrices(NamedTuple):
    """Matrices that are too large for several states side by side; their rows are written directly to the result."""

    full: bool
    """Whether there are no structural zeros."""
    below: list[int | None]
    """Position in the work area of the entries below the diagonal of each matrix, by columns; None if it is
    symmetric."""
    within: np.ndarray
    """Entries within joints of several freedoms, which are already in place: row, column."""


NEAREST_CACHE = 1 << 15
"""Bytes of columns that bodies meet at a time."""

MOST_SIDE_BY_SIDE = 1 << 18
"""Up to this many entries of matrices, states are computed side by side: 16 MB with vectors of AVX-512."""


def roll(function: Callable[..., Any], tree: Model, layouts: Sequence[str], options: dict[str, Any]) -> Schedule:
    """Trace ``function(tree, *vectors, **options)`` into a schedule; a vector's layout is "q", "v" or "wrench".

    The option ``known`` has one value per body, which determines how the body is treated.  The function may return
    matrices of pairs of bodies, one or several.
    """
    rolled = LoopedTree(tree, options.get("known", ()))
    result = function(rolled, *_vectors(layouts), **options)
    first = result[0] if isinstance(result, list) and result else result
    if isinstance(first, PairedMatrix):
        return _pair_schedule(rolled, tree, layouts, first.pairs)
    return _schedule(rolled, layouts, _store(rolled, result), result.blanks() if isinstance(result, Laid) else [])


def _pair_schedule(rolled: LoopedTree, tree: Model, layouts: Sequence[str], pairs: Pairs) -> Schedule:
    """Schedule passes and then pairs; find the index of each entry of the matrices among the resulting numbers."""
    links, nv, several = rolled.links, tree.nv, len(pairs.symmetric)
    if pairs.of_bodies is None:
        length, owns = nv, [(link.v_slice.start, link.v_slice.stop - link.v_slice.start) for link in links]
    else:
        width, length = pairs.of_bodies
        owns = [(width * link.index, width) for link in links]
    carried = list(_carried(tree, owns))
    met = sum(links[i].kind.nv * size for i, runs in carried for _, size in runs)
    if met * pairs.rows_per_freedom > MOST_SIDE_BY_SIDE:
        if pairs.of_bodies is not None:
            return _large_schedule_of_bodies(rolled, layouts, pairs, carried, *pairs.of_bodies)
        return _large_schedule(rolled, tree, layouts, pairs, carried)
    places = np.zeros((several, nv, length), dtype=np.int64)
    block_at = [1]  # the first number is zero, for entries between separate branches
    for link, (first, size) in zip(links, owns, strict=True):
        rows, own = np.arange(nv)[link.v_slice], np.arange(first, first + size)
        numbers = np.arange(block_at[-1], block_at[-1] + several * len(rows) * size)
        places[:, rows[:, None], own[None, :]] = numbers.reshape(several, len(rows), size)
        block_at.append(block_at[-1] + len(numbers))
    at, calls = block_at[-1], []
    for i, first, size in _in_blocks(carried, NEAREST_CACHE // (64 * len(pairs.varying))):
        calls.append((i, at, first, size))
        run = slice(first, first + size)
        for m in range(nv)[links[i].v_slice]:
            for n, symmetric in enumerate(pairs.symmetric):
                places[n, m, run] = np.arange(at, at + size)
                at += 0 if symmetric else size
                if pairs.of_bodies is None:
                    places[n, run, m] = np.arange(at, at + size)
                at += size
    columns = HeldColumns(width=len(pairs.varying), count=length)
    found = _schedule(rolled, layouts, lambda link: block_at[link.index], [], calls, columns, [c for c, _ in owns])
    return replace(found, outs=at, places=places.ravel())


def _large_schedule(
    rolled: LoopedTree, tree: Model, layouts: Sequence[str], pairs: Pairs,
    carried: Sequence[tuple[int, list[tuple[int, int]]]],
) -> Schedule:  # fmt: skip
    """Return the same schedule with the rows of matrices written directly to the result."""
    nv, links = tree.nv, rolled.links
    for trace in pairs.starts:
        size = trace.link.kind.nv
        for n, (place, accumulate) in enumerate(trace.step.targets):
            if place.base == "out":
                matrix, row, column = np.unravel_index(place.index, (len(pairs.symmetric), size, size))
                trace.step.targets[n] = replace(place, index=int((matrix * nv + row) * nv + column)), accumulate
    own = [link.v_slice.start for link in links]
    calls = [(i, own[i] * nv + first, first, size) for i, runs in carried for first, size in runs]
    columns = HeldColumns(width=len(pairs.varying), count=nv)
    found = _schedule(rolled, layouts, lambda link: own[link.index] * (nv + 1), [], calls, columns, own)
    at, rows, below = found.work_vectors, list[tuple[str, int]](), list[int | None]()
    for n, symmetric in enumerate(pairs.symmetric):
        rows += [("out", n * nv * nv)] if symmetric else [("out", n * nv * nv), ("work", at)]
        below.append(None if symmetric else at)
        at += 0 if symmetric else nv * nv
    full = all(len(children) <= 1 for children in (tree.roots, *tree.children))
    columns = replace(found.columns, at=at, rows=tuple(rows))
    within = [(k, j) for link in links for k in range(nv)[link.v_slice] for j in range(link.v_slice.start, k)]
    large = LargeMatrices(full, below, np.array(within, dtype=np.int64).reshape(-1, 2).T)
    return replace(found, work_vectors=at, columns=columns, large=large)


def _large_schedule_of_bodies(
    rolled: LoopedTree, layouts: Sequence[str], pairs: Pairs, carried: Sequence[tuple[int, list[tuple[int, int]]]],
    width: int, length: int,
) -> Schedule:  # fmt: skip
    """Return the same schedule with an equal number of columns for each body."""
    for trace in pairs.starts:
        for n, (place, accumulate) in enumerate(trace.step.targets):
            if place.base == "out":
                row, column = divmod(place.index, width)
                trace.step.targets[n] = replace(place, index=row * length + column), accumulate
    links = rolled.links
    calls = [(i, links[i].v_slice.start * length + first, first, size) for i, runs in carried for first, size in runs]
    columns = HeldColumns(width=len(pairs.varying), count=length, rows=(("out", 0),))

    def own(link: Link) -> int:
        return link.v_slice.start * length + width * link.index

    found = _schedule(rolled, layouts, own, [], calls, columns, [width * link.index for link in links])
    return replace(found, large=LargeMatrices(False, [], np.zeros((2, 0), dtype=np.int64)))


def _carried(tree: Model, owns: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield bodies that carry others, from the tips, with the columns of the carried ones as joined runs (first, size).

    ``owns`` are each body's own columns.
    """
    runs: list[list[tuple[int, int]]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        if tree.children[i]:
            yield i, runs[i]
        if tree.parents[i] != BASE:
            runs[tree.parents[i]] = _joined(runs[tree.parents[i]], [owns[i]], runs[i])


def _in_blocks(carried: Sequence[tuple[int, list[tuple[int, int]]]], most: int) -> list[tuple[int, int, int]]:
    """Return bodies and the columns (first, size) that they meet, some ``most`` columns with all bodies at a time."""
    size = max(most // 16, 1) * 16
    pieces = [
        (max(first, start), i, min(first + count, start + size))
        for i, runs in carried
        for first, count in runs
        for start in range(first // size * size, first + count, size)
    ]
    pieces.sort(key=lambda piece: piece[0] // size)  # the order of bodies remains
    return [(i, first, end - first) for first, i, end in pieces]


def _joined(*several: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the runs (first, size) of several lists, in order, with neighbors joined."""
    joined: list[tuple[int, int]] = []
    for first, size in sorted(run for runs in several for run in runs):
        if joined and sum(joined[-1]) == first:
            joined[-1] = joined[-1][0], joined[-1][1] + size
        else:
            joined.append((first, size))
    return joined


def _vectors(layouts: Sequence[str]) -> list[Any]:
    """Return the arguments of a traced function for its vectors."""
    vectors: list[Any] = [InputVector(k) for k in range(len(layouts))]
    if layouts and layouts[-1] == "wrench":
        vectors[-1] = InputColumn(vectors[-1], "wrench")
    return vectors


def _store(rolled: LoopedTree, result: Any, first: int = 0) -> Callable[[Link], int]:
    """Let the steps write the result, starting at ``first``; return where a body's part of it begins.

    Several results laid out like ``v`` come one after the other.
    """
    if isinstance(result, list) and result and all(isinstance(x, Laid) for x in result):
        return [_store(rolled, laid, k * rolled.nv) for k, laid in enumerate(result)][-1]
    if isinstance(result, (Laid, PerBody)):
        per_body = result.per_body if isinstance(result, Laid) else result
        shares = [list(leaves(flatten(value))) for value in per_body.values]
        for trace, share in zip(per_body.made_in.traces, shares, strict=True):
            for k, x in enumerate(share):
                place = result.place(*divmod(k, result.width)) if isinstance(result, Laid) else k
                trace.put("out", OUT, first + place, x)
        return result.share if isinstance(result, Laid) else lambda link: len(shares[0]) * link.index
    for k, x in enumerate(leaves(flatten(result))):
        rolled.last.put("out", OUT, k, x)
    return lambda link: 0


class _Read:
    """The positions in the work area that needed steps read; others are dropped and the gaps closed.

    Positions are distinguished by area: the records of a group, the pool of a pass, the totals.
    """

    def __init__(self, rolled: LoopedTree) -> None:
        self.rolled = rolled
        self.read: dict[Any, set[int]] = defaultdict(set)
        stages = [*rolled.passes, None]
        for this in reversed(stages):
            while self._reads_more(this):  # what a body reads its neighbor must write, for which it reads more
                pass
        self.number = {area: {k: i for i, k in enumerate(sorted(read))} for area, read in self.read.items()}
        for this in stages:
            for trace in self._traces(this):
                self._tidy(this, trace)

    def size(self, area: Any) -> int:
        """Return how many numbers are kept in an area."""
        return len(self.read[area])

    def _traces(self, this: Pass | None) -> list[Trace]:
        return [self.rolled.last] if this is None else this.traces

    def _area(self, this: Pass | None, trace: Trace, place: Slot) -> Any:
        if place.base != "work":
            return None
        if place.word in (RECORD, TOTAL):
            return (place.word, trace.group if place.word == RECORD else None)
        return this

    def _wanted(self, this: Pass | None, trace: Trace) -> list[tuple[tuple[Slot, bool], int]]:
        """Return the numbers written by a step that are read elsewhere, with their nodes."""
        return [
            (target, node)
            for target, node in zip(trace.step.targets, trace.step.outputs, strict=True)
            if target[0].base != "work" or target[0].index in self.read[self._area(this, trace, target[0])]
        ]

    def _reads_more(self, this: Pass | None) -> bool:
        before = sum(map(len, self.read.values()))
        for trace in self._traces(this):
            graph = trace.step.graph
            for i in graph.reachable([node for _, node in self._wanted(this, trace)]):
                if graph.kinds[i] == INPUT:
                    place = trace.step.sources[int(graph.values[i])]
                    if place.base == "work":
                        self.read[self._area(this, trace, place)].add(place.index)
        return sum(map(len, self.read.values())) > before

    def _tidy(self, this: Pass | None, trace: Trace) -> None:
        def moved(place: Slot) -> Slot:
            area = self._area(this, trace, place)
            if area is None:
                return place
            return replace(place, index=self.number.get(area, {}).get(place.index, -1))  # -1: never read

        kept = self._wanted(this, trace)
        trace.step.targets = [(moved(place), accumulate) for (place, accumulate), _ in kept]
        trace.step.outputs = [node for _, node in kept]
        trace.step.sources = [moved(place) for place in trace.step.sources]


def _schedule(
    rolled: LoopedTree, layouts: Sequence[str], out_at: Callable[[Link], int], blanks: Sequence[int],
    pair_calls: Sequence[tuple[int, int, int, int]] = (), columns: HeldColumns | None = None,
    first_columns: Sequence[int] = (),
) -> Schedule:  # fmt: skip
    """Put steps and their calls in order; ``pair_calls`` give body, position of results, and columns."""
    read = _Read(rolled)
    tree, bodies = rolled.tree, len(rolled.links)
    varying = [rolled.groups[g].varying for g in rolled.group_of]
    params = [numbers[k] for numbers, own in zip(rolled.constants, varying, strict=True) for k in own]
    records = [read.size((RECORD, g)) for g in rolled.group_of]
    record_at = np.cumsum([0, *records])
    total_at = int(record_at[-1])
    n_totals = read.size((TOTAL, None))
    start = total_at + n_totals
    whole = np.zeros(FIRST_INPUT + len(layouts), dtype=np.int64)
    whole[TOTAL] = total_at
    steps: list[BodyStep] = []
    rows: list[np.ndarray] = []

    def once(step: BodyStep, out: Sequence[int] = (0,)) -> None:
        calls = np.tile(whole, (len(out), 1))
        calls[:, STEP], calls[:, OUT] = len(steps), out
        steps.append(step)
        rows.append(calls)

    if n_totals:
        once(_cleared(n_totals))
    if columns is not None:
        once(_zero())
    if blanks:
        once(_blank(rolled.nv), blanks)
    calls = np.tile(whole, (bodies, 1))
    calls[:, PARAMS] = np.cumsum([0, *map(len, varying)])[:-1]
    calls[:, RECORD], calls[:, OUT] = record_at[:-1], [out_at(link) for link in rolled.links]
    calls[:, FIRST] = first_columns or 0
    calls[:, FIRST_INPUT:] = _shares(rolled, layouts)
    parents = np.array(tree.parents, dtype=int)
    pools = 0
    for this in rolled.passes:
        if not any(trace.step.outputs for trace in this.traces):
            continue
        if this.whole is not None:
            once(this.whole.step)
            continue
        if isinstance(this, PairPass):
            bodies_met = np.array([call[0] for call in pair_calls], dtype=np.int64)
            met = calls[bodies_met]
            met[:, STEP] = len(steps) + np.array(rolled.group_of)[bodies_met]
            met[:, [OUT, FIRST, COUNT]] = np.array(pair_calls, dtype=np.int64).reshape(-1, 4)[:, 1:]
            steps += [t.step for t in this.traces]
            rows.append(met)
            continue
        size = read.size(this)
        places, used = _pool_places(tree, this.outward)
        pools = max(pools, used * size)
        own = start + np.array(places, dtype=int) * size
        calls[:, STEP] = len(steps) + np.array(rolled.group_of)
        calls[:, OWN_POOL] = calls[:, OWN_SUM] = own
        calls[:, PARENT_POOL] = calls[:, PARENT_SUM] = np.where(parents == BASE, start, own[parents])
        steps += [t.step for t in this.traces]
        rows.append(calls.copy() if this.outward else calls[::-1].copy())
    if rolled.last.step.outputs:
        once(rolled.last.step)
    at = HeldColumns() if columns is None else replace(columns, at=start + pools)
    return Schedule(steps, np.concatenate(rows), np.array(params or [0.0]), start + pools, at)


def _shares(rolled: LoopedTree, layouts: Sequence[str]) -> np.ndarray:
    """Return where each body's part of each input begins, (bodies, inputs)."""
    links = rolled.links
    within = {
        "q": (rolled.nq, [link.q_slice.start for link in links]),
        "v": (rolled.nv, [link.v_slice.start for link in links]),
        "wrench": (6 * len(links), [6 * link.index for link in links]),
    }
    shares = np.array([within[layout][1] for layout in layouts], dtype=np.int64)
    begins = np.cumsum([0, *(within[layout][0] for layout in layouts)])[:-1]
    return (shares.reshape(len(layouts), len(links)) + begins[:, None]).T


def _cleared(n_totals: int) -> BodyStep:
    """Return the step that sets sums to zero."""
    step = BodyStep()
    for k in range(n_totals):
        step.store(Slot("work", TOTAL, k), step.graph.const(0.0))
    return step


def _zero() -> BodyStep:
    """Return the step that writes the zero that stands for structural zeros."""
    step = BodyStep()
    step.store(Slot("out", OUT, 0), step.graph.const(0.0))
    return step


def _blank(nv: int) -> BodyStep:
    """Return the step that writes a column of six zeros."""
    step = BodyStep()
    for k in range(6):
        step.store(Slot("out", OUT, k * nv), step.graph.const(0.0))
    return step


def _pool_places(tree: Model | Path, outward: bool) -> tuple[list[int], int]:
    """Return a position per body for the numbers passed between it and its children, reused when all are done."""
    places = [0] * len(tree.links)
    free: list[int] = []
    used = 0
    waiting = [len(c) for c in tree.children]

    def take() -> int:
        nonlocal used
        if free:
            return free.pop()
        used += 1
        return used - 1

    if outward:
        for i, parent in enumerate(tree.parents):
            if tree.children[i]:
                places[i] = take()
            if parent != BASE:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    free.append(places[parent])
    else:
        for i in reversed(range(len(tree.links))):
            parent = tree.parents[i]
            if parent != BASE and tree.children[parent][-1] == i:
                places[parent] = take()
            if tree.children[i]:
                free.append(places[i])
    return places, used
