"""Converting tables row by row: parts are read, computed and written in order, a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import KinetreeError
from ..progress import Bar
from .parts import Part, Rows
from .times import lost_digits, not_increasing, repeated, words_about_repeated
from .writing import Sink

Array = np.ndarray
Law = Callable[..., Array]


@dataclass(frozen=True)
class Computed:
    """A part that has been computed."""

    part: Part
    rows: int
    encoded: Any
    left_out: int = 0
    """Number of rows that repeat the previous one."""
    first: tuple[float, tuple[Array, ...]] = (np.inf, ())
    last: tuple[float, tuple[Array, ...]] = (-np.inf, ())
    """Last time and state; without times, every part counts as later than the previous one."""
    without_first: Callable[[], Any] | None = None


def convert(
    parts: Iterable[Part],
    law: Law,
    sink: Sink,
    threads: int,
    bar: Bar | None = None,
    share: float = 1.0,
    tell: Callable[[str], None] | None = None,
) -> int:
    """Compute every row and write the results in order; return the number of rows.

    Rows that repeat the previous one, including its time, are left out.

    law: Computes some rows.
    sink: The table to which results are written.
    threads: Number of parts that are computed at the same time.
    share: Share of this table in what the bar shows.
    tell: Called with a message about rows that were left out.
    """
    rows, left_out = 0, 0
    last: tuple[float, tuple[Array, ...]] = (-np.inf, ())
    for done in _in_order(parts, lambda part: _compute(part, law, sink), threads):
        if not done.rows:
            continue
        rows, left_out, encoded = rows + done.rows, left_out + done.left_out, done.encoded
        if not done.first[0] > last[0]:
            if done.without_first is None or not _are_same(last, done.first):
                raise done.part.fault(0, not_increasing(last[0], done.first[0]))
            rows, left_out, encoded = rows - 1, left_out + 1, done.without_first()
        last = done.last
        sink.write(encoded)
        if bar is not None:
            bar.show(bar.done + share * done.part.share)
    if left_out and tell is not None:
        tell(words_about_repeated(left_out, rows + left_out))
    return rows


def _are_same(one: tuple[float, tuple[Array, ...]], other: tuple[float, tuple[Array, ...]]) -> bool:
    return one[0] == other[0] and all(
        np.array_equal(x, y, equal_nan=True) for x, y in zip(one[1], other[1], strict=True)
    )  # fmt: skip


def _in_order(parts: Iterable[Part], work: Callable[[Part], Computed], threads: int) -> Iterator[Computed]:
    """Yield computed parts, a few at a time; the first one alone, since it makes the machine code for all."""
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
        return Computed(part, 0, None)
    times, left_out = rows.time, 0
    if times is not None:
        again = repeated(times, rows.arrays)
        steps = np.diff(times, prepend=-np.inf)
        if not ((steps > 0.0) | again).all():
            bad = int(np.argmin((steps > 0.0) | again))
            before = times[bad - 1] if bad else -np.inf
            lost = lost_digits(times[~again]) if times[bad] == before else ""
            raise part.fault(bad, lost or not_increasing(before, times[bad]))
        left_out = int(again.sum())
        if left_out:
            kept = np.flatnonzero(~again)
            times, rows = times[kept], Rows(times[kept], tuple(x[kept] for x in rows.arrays))
            original = part
            part = replace(original, fault=lambda row, message: original.fault(int(kept[row]), message))
    try:
        answer = law(*rows.arrays)
    except KinetreeError as problem:
        bad = first_fault(rows.arrays, law)
        raise part.fault(bad, _of_one_row(rows.arrays, bad, law, problem)) from None
    encoded = sink.encode(times, answer)
    if times is None:
        return Computed(part, len(rows), encoded)
    first, last = ((float(times[k]), tuple(x[k] for x in rows.arrays)) for k in (0, -1))
    return Computed(part, len(rows), encoded, left_out, first, last, lambda: sink.encode(times[1:], answer[1:]))


def first_fault(arrays: tuple[Array, ...], law: Law) -> int:
    """Return the first row that a law refuses, by bisection."""
    begin, end = 0, len(arrays[0])  # the fault is in this part, and everything before it is fine
    while end - begin > 1:
        middle = (begin + end) // 2
        try:
            law(*(x[begin:middle] for x in arrays))
            begin = middle
        except KinetreeError:
            end = middle
    return begin


def _of_one_row(arrays: tuple[Array, ...], row: int, law: Law, problem: KinetreeError) -> str:
    """Return the law's message about that row alone, without its index in a batch."""
    try:
        law(*(x[row] for x in arrays))
    except KinetreeError as alone:
        return str(alone)
    return str(problem)
