"""Several searches with different seeds, in this process, in others, or on a Dask cluster: the best design of all."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import KinetreeError, Setting
from kinetree.io.cluster import AHEAD, ended_its_processes, executor_of, most_processes
from kinetree.io.interrupts import are_interrupts_passed_on
from kinetree.io.pickled_calls import pickled
from kinetree.spatial.numbers import whole_number

from .found_design import FoundDesign
from .goals import DesignGoal, Limit, MotionGoal, OwnGoal
from .problem import DesignProblem
from .search import INTERRUPTED, BestSoFar, DesignSearch
from .search_progress import SearchProgress


@dataclass(frozen=True)
class SearchTask:
    """What every search is told but for its seed."""

    problem: DesignProblem
    goals: Sequence[DesignGoal]
    limits: Sequence[Limit]
    shortest: float
    starts: int | None
    method: str | None

    def search(self, seed: int, progress: SearchProgress) -> DesignSearch:
        """Return the search with a seed."""
        rng = np.random.default_rng(seed)
        return DesignSearch(
            self.problem, self.goals, self.limits, self.shortest, rng, self.starts, progress, self.method
        )

    def outcome(self, seed: int) -> SearchOutcome:
        """Search without a word."""
        search = self.search(seed, SearchProgress(self.problem.free, False))
        best = search.best()
        return SearchOutcome(seed, best, search.notes, search.interrupted)


class SearchOutcome(NamedTuple):
    """What one search found, in a form that is sent between processes."""

    seed: int
    best: BestSoFar
    notes: list[str]
    interrupted: bool


def best_of(
    task: SearchTask, seed: int, count: int, workers: int | None, cluster: Any, progress: SearchProgress
) -> FoundDesign:  # fmt: skip
    """Return the best design of several searches, with seeds from ``seed`` on; Ctrl-C keeps the best so far."""
    if workers is not None:
        workers = whole_number(workers, Setting("workers"), 0, most_processes())
    functions = [goal.function for goal in _own_goals(task)]
    alone = cluster is None and workers == 0
    blob = None if alone else pickled(task, "the design", functions)
    search = task.search(seed, progress)
    found: dict[int, FoundDesign] = {}
    stopped = False
    try:
        with progress.of(count):
            for outcome in _outcomes(task, blob, range(seed, seed + count), workers, cluster):
                search.notes = outcome.notes
                one = search.reported(outcome.best)
                found[outcome.seed] = one
                progress.step(len(found))
                value = _rank(task, found, outcome.seed)
                progress.tell(one.unknowns, sum(value[:2]), f"{len(found)} of {count} searches are done")
                if outcome.interrupted:
                    stopped = True
                    break
    except KeyboardInterrupt:
        if not found or are_interrupts_passed_on():
            raise
        stopped = True
    first = min(found, key=lambda k: (*_rank(task, found, k), k))
    said = f"the best of {len(found)} searches is that with the seed {first}"
    notes = [note for note in found[first].notes if note != INTERRUPTED]
    return replace(found[first], notes=(*notes, said, *([INTERRUPTED] if stopped else [])))


def _own_goals(task: SearchTask) -> list[OwnGoal]:
    every = [*task.goals, *(limit.goal for limit in task.limits)]
    return [goal for goal in every if isinstance(goal, OwnGoal)]


def _rank(task: SearchTask, found: dict[int, FoundDesign], seed: int) -> tuple[float, float]:
    """Return by how much a design misses what it must do, relative to that, and what its goals come to: less is better.

    Goals count in parts of what the design of the smallest seed comes to.
    """
    one, first, size = found[seed], found[min(found)], task.problem.free.size
    missed, value = (0.0 if one.solved else 1e-3), 0.0
    weights = iter([goal.weight for goal in task.goals if isinstance(goal, MotionGoal)])
    for row, other in zip(one.goals, first.goals, strict=True):
        if np.isnan(row.after):
            return float("inf"), float("inf")
        if row.bound is None:
            sign = -1.0 if row.wanted == "larger" else 1.0
            value += sign * next(weights) * row.after / max(abs(other.after), 1e-300)
        elif not row.is_met:
            missed += abs(row.after - row.bound) / (abs(row.bound) or size)
    return missed, value


def _outcomes(
    task: SearchTask, blob: bytes | None, seeds: Sequence[int], workers: int | None, cluster: Any
) -> Iterator[SearchOutcome]:  # fmt: skip
    """Yield what searches find, as they end."""
    if blob is None:
        yield from (task.outcome(seed) for seed in seeds)
        return
    workers = min(len(seeds), workers or os.cpu_count() or 1)
    with executor_of(cluster, workers) as (executor, at_once):
        waiting: set[Future[SearchOutcome]] = set()
        left = iter(seeds)
        while True:
            room = AHEAD * at_once - len(waiting)
            waiting |= {
                executor.submit(search_elsewhere, blob, seed) for seed, _ in zip(left, range(room), strict=False)
            }
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (_result(future) for future in done)


def _result(future: Future[SearchOutcome]) -> SearchOutcome:
    try:
        return future.result()
    except KinetreeError:
        raise
    except Exception as problem:
        died = ended_its_processes(problem)
        why = "every process that tried it ended" if died else f"{type(problem).__name__}: {problem}"
        raise KinetreeError(
            f"other processes cannot make this search ({why}): they need kinetree and whatever else your functions "
            "import, in the same versions; workers=0 searches in this one"
        ) from problem


def search_elsewhere(blob: bytes, seed: int) -> SearchOutcome:
    """Make one search in another process."""
    return _task_of(blob).outcome(seed)


@lru_cache(maxsize=2)
def _task_of(blob: bytes) -> SearchTask:
    found: SearchTask = pickle.loads(blob)
    return found
