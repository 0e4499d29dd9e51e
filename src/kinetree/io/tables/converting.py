"""Tables turned into others row by row: parts are read, computed and written in order, a few of them at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import KinetreeError
from ..progress import Bar
from .parts import Part
from .writing import Sink

Array = np.ndarray
Law = Callable[..., Array]


@dataclass(frozen=True)
class Computed:
    """A part that is through."""

    part: Part
    rows: int
    first: float
    last: float
    encoded: Any


def convert(
    parts: Iterable[Part], law: Law, sink: Sink, threads: int, bar: Bar | None = None, share: float = 1.0
) -> int:
    """Compute every row and write the answers in order; return how many there were.

    ``share`` is that of this table in all that the bar shows.
    """
    rows, last = 0, -np.inf
    for done in _in_order(parts, lambda part: _compute(part, law, sink), threads):
        if not done.rows:
            continue
        if not done.first > last:
            raise done.part.fault(0, not_increasing(last, done.first))
        rows, last = rows + done.rows, done.last
        sink.write(done.encoded)
        if bar is not None:
            bar.show(bar.done + share * done.part.share)
    return rows


def _in_order(parts: Iterable[Part], work: Callable[[Part], Computed], threads: int) -> Iterator[Computed]:
    """Work on a few parts at once; the first alone, since it makes the machine code for all."""
    waiting: deque[Future[Computed]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for k, part in enumerate(parts):
                if k == 0:
                    yield work(part)
                    continue
                waiting.append(pool.submit(work, part))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _compute(part: Part, law: Law, sink: Sink) -> Computed:
    rows = part.read()
    if not len(rows):
        return Computed(part, 0, np.nan, np.nan, None)
    times = rows.time
    if times is not None:
        steps = np.diff(times, prepend=-np.inf)
        if not (steps > 0.0).all():
            bad = int(np.argmin(steps > 0.0))
            raise part.fault(bad, not_increasing(times[bad - 1] if bad else -np.inf, times[bad]))
    try:
        answer = law(*rows.arrays)
    except KinetreeError as problem:
        bad = first_fault(rows.arrays, law)
        raise part.fault(bad, _of_one_row(rows.arrays, bad, law, problem)) from None
    # without times every part seems to come later than the one before
    first, last = (np.inf, -np.inf) if times is None else (float(times[0]), float(times[-1]))
    return Computed(part, len(rows), first, last, sink.encode(times, answer))


def first_fault(arrays: tuple[Array, ...], law: Law) -> int:
    """Find the first row that a law refuses, by halving."""
    begin, end = 0, len(arrays[0])  # it is in here, and everything before is good
    while end - begin > 1:
        middle = (begin + end) // 2
        try:
            law(*(x[begin:middle] for x in arrays))
            begin = middle
        except KinetreeError:
            end = middle
    return begin


def _of_one_row(arrays: tuple[Array, ...], row: int, law: Law, problem: KinetreeError) -> str:
    """Return what the law says about that row alone, without its place in a batch."""
    try:
        law(*(x[row] for x in arrays))
    except KinetreeError as alone:
        return str(alone)
    return str(problem)


def not_increasing(before: float, now: float) -> str:
    """Say what is wrong with a time that is not later than the one before."""
    if np.isnan(now):
        return "time is not a number"
    return f"time does not increase: {now:.10g} s after {before:.10g} s"
