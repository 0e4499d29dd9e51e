"""A bar on the terminal for work that takes longer than a second."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

PATIENCE = 1.0
"""Seconds that pass before anything is shown."""

T = TypeVar("T")


def in_steps(steps: Sequence[tuple[str, Callable[[], T]]], show: bool) -> list[T]:
    """Do one step after the other; after a second, show which one it is and how many are done.

    The bar comes from another thread, so that it appears in the middle of a long step, too.  It goes to standard
    error, and only to a terminal or a notebook.
    """
    bar = _LateBar(len(steps)) if show else None
    try:
        results = []
        for done, (what, step) in enumerate(steps):
            if bar is not None:
                bar.tell(done, what)
            results.append(step())
        return results
    finally:
        if bar is not None:
            bar.close()


class _LateBar:
    def __init__(self, total: int) -> None:
        self._total, self._done, self._what = total, 0, ""
        self._bar: Any = None
        self._closed = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        with suppress(RuntimeError):  # no more threads here: the work goes on without a bar
            # a Timer would wait for its own beginning, for ever if memory is short
            _thread.start_new_thread(self._open_late, ())

    def _open_late(self) -> None:
        if not self._over.wait(PATIENCE):
            self._open()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            return
        with self._lock:
            if self._closed:
                return
            columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
            self._bar = Progress(*columns, TextColumn("{task.description}"), console=console, transient=True)
            self._bar.add_task(self._what, total=self._total, completed=self._done)
            self._bar.start()

    def tell(self, done: int, what: str) -> None:
        with self._lock:
            self._done, self._what = done, what
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=done, description=what)

    def close(self) -> None:
        self._over.set()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()
