"""How far a long run is, on the terminal."""

from __future__ import annotations

import time as clock
from typing import Any


class Progress:
    """A bar on the terminal, shown once a run has taken a second."""

    def __init__(self, begin: float, end: float, wanted: bool) -> None:
        self.begin, self.end, self.wanted = begin, end, wanted
        self.started = clock.monotonic()
        self.shown = 0.0
        self.bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, t: float) -> None:
        """Say how far the simulation is, ten times a second at most."""
        now = clock.monotonic()
        if not self.wanted or now - self.started < 1.0 or now - self.shown < 0.1:
            return
        self.shown = now
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            console = Console(stderr=True)
            if not (console.is_terminal or console.is_jupyter):  # nobody is looking
                self.wanted = False
                return
            self.bar = Bar(transient=True, console=console)
            self.task = self.bar.add_task("simulating", total=self.end - self.begin)
            self.bar.start()
        self.bar.update(self.task, completed=t - self.begin, description=f"simulating, t = {t:.4g} s")
