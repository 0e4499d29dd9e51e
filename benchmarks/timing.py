"""Fair timing on a noisy machine: contenders alternate, the best of several counts, ratios are reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

IN_A_ROW = 3
"""Calls per turn: the first finds the caches full of the other contender's data."""


def alternate(contenders: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Seconds per call of each contender: the best of ``rounds``, taken in turn, a few calls in a row each.

    Processor time of this thread, all contenders being of one thread: on a busy machine the slower contender,
    whose calls take longer, would otherwise be interrupted more often.
    """
    best = dict.fromkeys(contenders, float("inf"))
    for call in contenders.values():
        call()  # compile, warm caches
    for _ in range(rounds):
        for name, call in contenders.items():
            for _ in range(IN_A_ROW):
                begin = time.thread_time()
                call()
                best[name] = min(best[name], time.thread_time() - begin)
    return best


def repeated(call: Callable[[], object], times: int) -> Callable[[], None]:
    """A call that is too short to time, many times over."""

    def loop() -> None:
        for _ in range(times):
            call()

    return loop


@dataclass
class Table:
    """Rows to print: what, the figures, the ratio that matters and what was asked for."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(tuple(c if isinstance(c, str) else f"{c:,.3g}" for c in cells))

    def __str__(self) -> str:
        table = [self.columns, *self.rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        return "\n".join([f"\n{self.title}", "-" * len(lines[0]), lines[0], "-" * len(lines[0]), *lines[1:]])
