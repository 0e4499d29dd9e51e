"""Laws of robots that were made before: a robot that differs from one of them in numbers alone needs no other code."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import replace
from itertools import count

from kinetree.errors import OptionError
from kinetree.export.webassembly import WebAssembly

from .kernels import Kernels

MOST_KEPT = 12
"""So many structures are remembered: undo goes back to them without making their code again."""

AT_ONCE = 0.25
"""Seconds for which new code is waited for; a robot whose code takes longer is shown without it at first."""


class KeptKernels:
    """The laws of the robots that a studio has shown lately; their code is made in a thread of its own.

    Code is known by a name, by which the page asks for it and remembers it.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Kernels] = {}
        self._making: dict[str, Future[WebAssembly]] = {}
        self._count = count(1)
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="laws")

    def like(self, kernels: Kernels) -> tuple[str, Kernels]:
        """Return laws of the same robot, with code that was made before if there is such, and the name of the code."""
        with self._lock:
            for name, known in reversed(self._kept.items()):
                if known.structure == kernels.structure and known.is_good_at(kernels.varied, kernels.q):
                    self._kept[name] = self._kept.pop(name)
                    self._begin(name)
                    return name, replace(kernels, made_before=known)
            name = str(next(self._count))
            self._kept[name] = kernels
            while len(self._kept) > MOST_KEPT:
                oldest = next(iter(self._kept))
                del self._kept[oldest], self._making[oldest]
            self._begin(name)
            return name, kernels

    def _begin(self, name: str) -> None:
        """Make code, unless that was begun; what waits to be made is no longer shown, and can wait until it is."""
        for other, work in self._making.items():
            if other != name:
                work.cancel()
        if name not in self._making or self._making[name].cancelled():
            kernels = self._kept[name]
            self._making[name] = self._worker.submit(lambda: kernels.module)

    def code(self, name: str, seconds: float | None = None) -> WebAssembly | None:
        """Return code, or None if it is not made within some seconds; without a number, wait for it."""
        with self._lock:
            if name not in self._kept:
                raise OptionError(f"there are no laws named {name!r} any more")
            self._begin(name)
            work = self._making[name]
        try:
            return work.result(seconds)
        except NotYet:
            return None

    def close(self) -> None:
        """End the thread."""
        self._worker.shutdown(wait=False, cancel_futures=True)
