"""What the machine itself can do: the time to merely write a result, and two processes side by side."""

from __future__ import annotations

import ctypes
import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.engine.llvm import host

_FILL = """
define void @kernel(ptr %from, ptr %to) {{
entry:
  br label %line
line:
  %at = phi ptr [ %from, %entry ], [ %next, %line ]
  store <{lanes} x double> zeroinitializer, ptr %at, align {size}, !nontemporal !0
  %next = getelementptr i8, ptr %at, i64 {size}
  %more = icmp ult ptr %next, %to
  br i1 %more, label %line, label %end
end:
  fence seq_cst
  ret void
}}
!0 = !{{i32 1}}
"""


def merely_write(array: np.ndarray) -> Callable[[], None]:
    """Zeros into an array in the fastest known way: whole vectors, in order, past the caches, one thread."""
    lanes = host.host().lanes
    size = 8 * lanes
    addresses, alive = host.load(host.assemble(_FILL.format(lanes=lanes, size=size)))
    fill = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(addresses["kernel"])
    start = array.ctypes.data
    first, last = -(-start // size) * size, (start + array.nbytes) // size * size

    def write(keep: Any = (array, alive)) -> None:
        fill(first, last)

    return write


class Twin:
    """A second process that does the same work at the same time.

    Parameters
    ----------
    make : callable
        Called with the arguments in the new process; returns what is to be called there.
    """

    def __init__(self, make: Callable[..., Callable[[], object]], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        self._pipe.recv()  # ready

    def together(self, call: Callable[[], object], window: float) -> float:
        """Calls per second of both processes, working through the same window of time."""
        start = time.perf_counter() + 2e-3  # one clock for all processes
        self._pipe.send((start, window))
        return rate(call, window, start) + float(self._pipe.recv())

    def close(self) -> None:
        """End it."""
        self._pipe.send(None)
        self._process.join()


def _serve(pipe: Any, make: Callable[..., Callable[[], object]], arguments: tuple[Any, ...]) -> None:
    call = make(*arguments)
    call()
    pipe.send("ready")
    while (order := pipe.recv()) is not None:
        start, window = order
        pipe.send(rate(call, window, start))


WARMING = 4e-3
"""Seconds of work before a window: a thread that was asleep needs a moment until it has a processor of its own."""


def rate(call: Callable[[], object], window: float, start: float = 0.0) -> float:
    """Calls per second through a window of time after warming up from ``start`` on, at least one call."""
    while time.perf_counter() < start:
        pass
    warm = time.perf_counter() + WARMING
    while time.perf_counter() < warm:
        call()
    begin, calls = time.perf_counter(), 0
    while True:
        call()
        calls += 1
        now = time.perf_counter()
        if now - begin > window:
            return calls / (now - begin)
