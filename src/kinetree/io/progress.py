"""A bar on the terminal for work that takes longer than a second; in a log, one line after five seconds."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

PATIENCE = 1.0
"""Seconds that pass before a bar is shown."""

PATIENCE_OF_LOGS = 5.0
"""Seconds that pass before a line is written where there is no terminal."""

T = TypeVar("T")


def in_steps(steps: Sequence[tuple[str, Callable[[], T]]], show: bool) -> list[T]:
    """Do one step after the other; after a second, show which one it is and how many are done.

    The bar comes from another thread, so that it appears in the middle of a long step, too.  It goes to standard
    error if that is a terminal or a notebook; elsewhere one line says after five seconds what is being waited for.
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
            self._say_once()
            return
        with self._lock:
            if self._closed:
                return
            columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
            self._bar = Progress(*columns, TextColumn("{task.description}"), console=console, transient=True)
            self._bar.add_task(self._what, total=self._total, completed=self._done)
            self._bar.start()

    def _say_once(self) -> None:
        if self._over.wait(PATIENCE_OF_LOGS - PATIENCE):
            return
        with self._lock:
            which = f" ({self._done + 1} of {self._total})" if self._total > 1 else ""
            if not self._closed and sys.stderr is not None:
                sys.stderr.write(f"kinetree is compiling {self._what}{which}, once: the code is kept\n")
                sys.stderr.flush()

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
