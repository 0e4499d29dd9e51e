"""What a rolled kernel runs: which step for which body, and where its numbers are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...algorithms.path import Path
from ...engine.graph import INPUT
from ...engine.kernels.composed import PairPlan
from ...engine.llvm.body_loops import BodyStep, Slot
from ...engine.llvm.pair_loops import CALL_WORDS
from ...model.tree import BASE, Link, Model
from ...spatial.arrays import flatten, leaves
from .traces import (
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


def roll(function: Callable[..., Any], tree: Model, layouts: Sequence[str], options: dict[str, Any]) -> Schedule:
    """Trace ``function(tree, *vectors, **options)`` into a schedule; a vector's layout is "q", "v" or "wrench".

    The option ``known`` has one value per body that says how to treat it.
    """
    rolled = LoopedTree(tree, options.get("known", ()))
    result = function(rolled, *_vectors(layouts), **options)
    return _schedule(rolled, layouts, _store(rolled, result), result.blanks() if isinstance(result, Laid) else [])


def roll_pairs(function: Callable[..., Any], tree: Model, layouts: Sequence[str], options: dict[str, Any]) -> PairPlan:
    """Trace a function that returns one matrix of pairs of bodies, or several, see :func:`roll`."""
    looped = LoopedTree(tree)
    result = function(looped, *_vectors(layouts), **options)
    pairs = (result[0] if isinstance(result, list) else result).pairs
    shares = [pairs.shares[g] for g in looped.group_of]
    share_at = np.cumsum([0, *shares])
    schedule = _schedule(looped, layouts, lambda link: int(share_at[link.index]), [])
    links, group_of, nv = looped.links, looped.group_of, tree.nv
    calls = [
        (group_of[i], share_at[i], first, size, links[i].v_slice.start * nv)
        for i, runs in _carried_freedoms(tree)
        for first, size in runs
    ]
    held = np.zeros((nv, len(pairs.varying)), dtype=np.int64)
    blocks: list[tuple[int, int, int, int]] = []
    for link, g, share in zip(links, group_of, share_at, strict=False):
        own = link.v_slice.start
        for m, row in enumerate(pairs.held_at[g]):
            held[own + m] = share + np.array(row, dtype=np.int64)
        for k, block in enumerate(pairs.blocks_at[g]):
            blocks += [(k, own + i, own + j, share + x) for i, row in enumerate(block) for j, x in enumerate(row)]
    return PairPlan(
        schedule, int(share_at[-1]), pairs.steps, np.array(calls, dtype=np.int64).reshape(-1, CALL_WORDS), held,
        np.array(blocks, dtype=np.int64).T, pairs.symmetric, all(len(c) <= 1 for c in (tree.roots, *tree.children)),
    )  # fmt: skip


def _carried_freedoms(tree: Model) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Return bodies that carry others, from the tips, with the freedoms of those: runs of one another's neighbors."""
    runs: list[list[tuple[int, int]]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        if tree.children[i]:
            yield i, runs[i]
        if tree.parents[i] != BASE:
            own = tree.links[i].v_slice
            runs[tree.parents[i]] = _joined(runs[tree.parents[i]], [(own.start, own.stop - own.start)], runs[i])


def _joined(*several: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs (first, size) of several lists, in order, neighbors made one."""
    joined: list[tuple[int, int]] = []
    for first, size in sorted(run for runs in several for run in runs):
        if joined and sum(joined[-1]) == first:
            joined[-1] = joined[-1][0], joined[-1][1] + size
        else:
            joined.append((first, size))
    return joined


def _vectors(layouts: Sequence[str]) -> list[Any]:
    """Return what a traced function takes for its vectors."""
    vectors: list[Any] = [InputVector(k) for k in range(len(layouts))]
    if layouts and layouts[-1] == "wrench":
        vectors[-1] = InputColumn(vectors[-1], "wrench")
    return vectors


def _store(rolled: LoopedTree, result: Any, first: int = 0) -> Callable[[Link], int]:
    """Let the steps write the result, from its place ``first`` on; returns where in it a body's share begins.

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
    """Which places of the work area are read by a step that matters; the others are dropped and the gaps closed.

    Places are told apart by where they are: in the records of a group, in the pool of a pass, among the totals.
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
        """Return how many numbers are kept there."""
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
        """Return what a step writes and somebody reads, with the node it comes from."""
        return [
            (target, node)
            for target, node in zip(trace.step.targets, trace.step.outputs, strict=True)
            if target[0].base == "out" or target[0].index in self.read[self._area(this, trace, target[0])]
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
    rolled: LoopedTree, layouts: Sequence[str], out_at: Callable[[Link], int], blanks: Sequence[int]
) -> Schedule:
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
    if blanks:
        once(_blank(rolled.nv), blanks)
    calls = np.tile(whole, (bodies, 1))
    calls[:, PARAMS] = np.cumsum([0, *map(len, varying)])[:-1]
    calls[:, RECORD], calls[:, OUT] = record_at[:-1], [out_at(link) for link in rolled.links]
    calls[:, FIRST_INPUT:] = _shares(rolled, layouts)
    parents = np.array(tree.parents, dtype=int)
    pools = 0
    for this in rolled.passes:
        if not any(trace.step.outputs for trace in this.traces):
            continue
        if this.whole is not None:
            once(this.whole.step)
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
    return Schedule(steps, np.concatenate(rows), np.array(params or [0.0]), start + pools)


def _shares(rolled: LoopedTree, layouts: Sequence[str]) -> np.ndarray:
    """Return where each body's share of each input begins, (bodies, inputs)."""
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
    """Return the step that lets sums begin at zero."""
    step = BodyStep()
    for k in range(n_totals):
        step.store(Slot("work", TOTAL, k), step.graph.const(0.0))
    return step


def _blank(nv: int) -> BodyStep:
    """Return the step that leaves a column of six zeros."""
    step = BodyStep()
    for k in range(6):
        step.store(Slot("out", OUT, k * nv), step.graph.const(0.0))
    return step


def _pool_places(tree: Model | Path, outward: bool) -> tuple[list[int], int]:
    """Return a place per body for what passes between it and its children, reused when all are done."""
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
