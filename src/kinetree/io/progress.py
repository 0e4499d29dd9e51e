"""Progress bars on the terminal for long work, updated by the work itself or by another thread."""

from __future__ import annotations

import _thread
import sys
import threading
import time as clock
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

BEFORE_BAR = 1.0
"""Seconds that pass before a bar is shown."""

BEFORE_LOG = 5.0
"""Seconds that pass before a line is written if there is no terminal."""

PAUSE = 0.1
"""Seconds between two updates of a simulation's bar."""

T = TypeVar("T")


class Bar:
    """A bar for work that reports its own progress; it is shown on terminals only, and disappears at the end.

    total: The value of :meth:`show` when all is done.
    text: Initial text.
    counted: Whether to show the count and the elapsed time instead of the percentage and the time left.
    wanted: Whether to show anything at all.
    """

    def __init__(self, total: float, text: str, *, counted: bool = False, wanted: bool = True) -> None:
        self.total, self.text, self.counted, self.wanted = total, text, counted, wanted
        self.done = 0.0
        self._bar: Any = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *problem: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def open(self) -> None:
        """Show the bar; without a terminal, never show anything."""
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

        if not self.wanted:
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = _drawn(*columns if self.counted else ())
        self.wanted = self._bar is not None
        if self.wanted:
            self._bar.add_task(escape(self.text), total=self.total, completed=self.done)
            self._bar.start()

    def show(self, done: float, text: str | None = None) -> None:
        """Update what is done, and the text."""
        self.done, self.text = done, self.text if text is None else text
        if self._bar is not None:
            from rich.markup import escape

            self._bar.update(self._bar.task_ids[0], completed=done, description=escape(self.text))


class TimeBar(Bar):
    """A bar for simulated time, shown once a run has taken a second.

    begin, end: Start and end of the simulation, in seconds.
    wanted: Whether to show anything at all; or a function that gets the simulated time instead.
    """

    def __init__(self, begin: float, end: float, wanted: bool | Callable[[float], Any]) -> None:
        super().__init__(end - begin, "simulating", wanted=bool(wanted))
        self._tell = wanted if callable(wanted) else None
        self._begin, self._next = begin, clock.monotonic() + (PAUSE if callable(wanted) else BEFORE_BAR)

    def __enter__(self) -> Self:
        return self

    def show_time(self, t: float) -> None:
        """Show the simulated time, at most ten times a second."""
        if not self.wanted or (now := clock.monotonic()) < self._next:
            return
        self._next = now + PAUSE
        if self._tell is not None:
            self._tell(t)
            return
        if self._bar is None:
            self.open()
        self.show(t - self._begin, f"simulating, t = {t:.4g} s")


def in_steps(steps: Sequence[tuple[str, Callable[[], T]]], show: bool) -> list[T]:
    """Run one step after the other; after a second, show the current one and how many are done.

    The bar is drawn by another thread, so that it also appears in the middle of a long step.  It goes to standard error
    if that is a terminal or a notebook; otherwise, after five seconds, one line says what takes so long.
    """
    bar = _LateBar(len(steps)) if show else None
    try:
        results = []
        for done, (what, step) in enumerate(steps):
            if bar is not None:
                bar.show(done, what)
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
        with suppress(RuntimeError):  # no more threads: the work continues without a bar
            # a Timer would wait for its own start, forever if memory is low
            _thread.start_new_thread(self._open_late, ())

    def _open_late(self) -> None:
        if not self._over.wait(BEFORE_BAR):
            self._open()

    def _open(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

        columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        bar = _drawn(*columns, TextColumn("{task.description}"))
        if bar is None:
            self._write_once()
            return
        with self._lock:
            if self._closed:
                return
            self._bar = bar
            self._bar.add_task(self._what, total=self._total, completed=self._done)
            self._bar.start()

    def _write_once(self) -> None:
        if self._over.wait(BEFORE_LOG - BEFORE_BAR):
            return
        with self._lock:
            which = f" ({self._done + 1} of {self._total})" if self._total > 1 else ""
            if not self._closed and sys.stderr is not None:
                sys.stderr.write(f"kinetree is compiling {self._what}{which}, once: the code is kept\n")
                sys.stderr.flush()

    def show(self, done: int, what: str) -> None:
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


def _drawn(*columns: Any) -> Any:
    """Return a Rich progress bar on standard error that disappears at its end; None without a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        return None
    return Progress(*columns, console=console, transient=True)
