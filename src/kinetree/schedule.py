"""What a rolled kernel runs: which step for which body, and where its numbers are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .arrays import flatten
from .engine.graph import INPUT
from .engine.rolled import Place, Step
from .model.tree import BASE, Link, Model
from .rolled import (
    FIRST_INPUT,
    OUT,
    RECORD,
    TOTAL,
    InputColumn,
    InputVector,
    Laid,
    Pass,
    PerBody,
    RolledTree,
    Trace,
    constants_of,
)


@dataclass
class Schedule:
    """Everything a rolled kernel needs: steps, entries (without addresses), parameters, sizes."""

    steps: list[Step]
    entries: np.ndarray
    """One row per call: step number, then offsets."""
    params: np.ndarray
    work_vectors: int


def roll(function: Callable[..., Any], tree: Model, layouts: Sequence[str], options: dict[str, Any]) -> Schedule:
    """Trace ``function(tree, *vectors, **options)`` into a schedule; a vector's layout is "q", "v" or "wrench"."""
    rolled = RolledTree(tree)
    vectors: list[Any] = [InputVector(k) for k in range(len(layouts))]
    if layouts and layouts[-1] == "wrench":
        vectors[-1] = InputColumn(vectors[-1], "wrench")
    out_at = _store(rolled, function(rolled, *vectors, **options))
    return _schedule(rolled, layouts, out_at)


def _store(rolled: RolledTree, result: Any) -> Callable[[Link], int]:
    """Let the steps write the result; returns where in it a body's share begins."""
    if isinstance(result, (Laid, PerBody)):
        per_body = result.per_body if isinstance(result, Laid) else result
        shares = [list(_leaves(flatten(value))) for value in per_body.values]
        for trace, share in zip(per_body.made_in.traces, shares, strict=True):
            for k, x in enumerate(share):
                trace.put("out", OUT, k, x)
        if isinstance(result, PerBody):
            return lambda link: len(shares[0]) * link.index
        return lambda link: (link.q_slice if result.layout == "q" else link.v_slice).start * result.width
    for k, x in enumerate(_leaves(flatten(result))):
        rolled.last.put("out", OUT, k, x)
    return lambda link: 0


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list):
        for x in nested:
            yield from _leaves(x)
    else:
        yield nested


class _Read:
    """Which places of the work area are read by a step that matters; the others are dropped and the gaps closed.

    Places are told apart by where they are: in the records of a group, in the pool of a pass, among the totals.
    """

    def __init__(self, rolled: RolledTree) -> None:
        self.rolled = rolled
        self.read: dict[Any, set[int]] = defaultdict(set)
        stages = [*rolled.passes, None]
        for this in reversed(stages):
            while self._reads_more(this):  # what a body reads its neighbour must write, for which it reads more
                pass
        self.number = {area: {k: i for i, k in enumerate(sorted(read))} for area, read in self.read.items()}
        for this in stages:
            for trace in self._traces(this):
                self._tidy(this, trace)

    def size(self, area: Any) -> int:
        """How many numbers are kept there."""
        return len(self.read[area])

    def _traces(self, this: Pass | None) -> list[Trace]:
        return [self.rolled.last] if this is None else this.traces

    def _area(self, this: Pass | None, trace: Trace, place: Place) -> Any:
        if place.base != "work":
            return None
        if place.word in (RECORD, TOTAL):
            return (place.word, trace.group if place.word == RECORD else None)
        return this

    def _wanted(self, this: Pass | None, trace: Trace) -> list[tuple[tuple[Place, bool], int]]:
        """What a step writes and somebody reads, with the node it comes from."""
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
        def moved(place: Place) -> Place:
            area = self._area(this, trace, place)
            if area is None:
                return place
            return replace(place, index=self.number.get(area, {}).get(place.index, -1))  # -1: never read

        kept = self._wanted(this, trace)
        trace.step.targets = [(moved(place), accumulate) for (place, accumulate), _ in kept]
        trace.step.outputs = [node for _, node in kept]
        trace.step.sources = [moved(place) for place in trace.step.sources]


def _schedule(rolled: RolledTree, layouts: Sequence[str], out_at: Callable[[Link], int]) -> Schedule:
    read = _Read(rolled)
    tree, bodies = rolled.tree, len(rolled.tree.links)
    params: list[float] = []
    params_at = []
    for link in tree.links:
        params_at.append(len(params))
        constants = constants_of(link)
        params += [constants[k] for k in rolled.groups[rolled.group_of[link.index]].varying]
    records = [read.size((RECORD, g)) for g in rolled.group_of]
    record_at = np.concatenate([[0], np.cumsum(records)])
    total_at = int(record_at[-1])
    n_totals = read.size((TOTAL, None))
    sizes = {"q": tree.nq, "v": tree.nv, "wrench": 6 * bodies}
    starts = [sum(sizes[layout] for layout in layouts[:k]) for k in range(len(layouts))]
    whole = [0] * (FIRST_INPUT + len(layouts))
    whole[TOTAL] = total_at
    steps: list[Step] = [_cleared(n_totals)] if n_totals else []
    rows: list[list[int]] = [[0, *whole[1:]]] if n_totals else []
    pools = 0
    for this in rolled.passes:
        if not any(trace.step.outputs for trace in this.traces):
            continue
        first, size = len(steps), read.size(this)
        steps += [t.step for t in this.traces]
        places, used = _pool_places(tree, this.outward)
        order = range(bodies) if this.outward else reversed(range(bodies))
        start = total_at + n_totals
        pools = max(pools, used * size)
        for i in order:
            link = tree.links[i]
            own = start + places[i] * size
            parent = start + (places[link.parent] if link.parent != BASE else 0) * size
            within = {"q": link.q_slice.start, "v": link.v_slice.start, "wrench": 6 * i}
            shares = [start_of + within[layout] for start_of, layout in zip(starts, layouts, strict=True)]
            head = (first + rolled.group_of[i], params_at[i], int(record_at[i]), own, parent, own, parent)
            rows.append([*head, total_at, out_at(link), *shares])
    if rolled.last.step.outputs:
        rows.append([len(steps), *whole[1:]])
        steps.append(rolled.last.step)
    return Schedule(steps, np.array(rows, dtype=np.int64), np.array(params or [0.0]), total_at + n_totals + pools)


def _cleared(n_totals: int) -> Step:
    """The step that lets sums begin at zero."""
    step = Step()
    for k in range(n_totals):
        step.store(Place("work", TOTAL, k), step.graph.const(0.0))
    return step


def _pool_places(tree: Model, outward: bool) -> tuple[list[int], int]:
    """A place per body for what passes between it and its children, reused when all are done."""
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
