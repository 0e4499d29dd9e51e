"""What the machine itself can do: the time to merely write a result, and two processes side by side."""

from __future__ import annotations

import ctypes
import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.engine.llvm import host

_REPEAT = """
define void @kernel(ptr %pattern, i64 %bytes, ptr %from, ptr %to) {{
entry:
  br label %line
line:
  %at = phi ptr [ %from, %entry ], [ %next, %line ]
  %read = phi i64 [ 0, %entry ], [ %read_next, %line ]
  %source = getelementptr i8, ptr %pattern, i64 %read
  %numbers = load <{lanes} x double>, ptr %source, align {size}
  store <{lanes} x double> %numbers, ptr %at, align {size}, !nontemporal !0
  %read_on = add i64 %read, {size}
  %over = icmp uge i64 %read_on, %bytes
  %read_next = select i1 %over, i64 0, i64 %read_on
  %next = getelementptr i8, ptr %at, i64 {size}
  %more = icmp ult ptr %next, %to
  br i1 %more, label %line, label %end
end:
  fence seq_cst
  ret void
}}
!0 = !{{i32 1}}
"""
LINE = 64


def merely_write(array: np.ndarray) -> Callable[[], None]:
    """What the first states have, again and again in the fastest known way: whole vectors, in order, past the caches.

    The array must hold results when this is first called.  Of these, not zeros: memory may take lines of zeros several
    times as fast as others (Zen 4: 88 and 28 GB/s).
    """
    lanes = host.host().lanes
    size = 8 * lanes
    addresses, alive = host.load(host.assemble(_REPEAT.format(lanes=lanes, size=size)))
    words = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    fill = ctypes.CFUNCTYPE(None, *words)(addresses["kernel"])
    start, states = array.ctypes.data, next(k for k in range(1, LINE + 1) if k * array[0].nbytes % LINE == 0)
    first, last = -(-start // LINE) * LINE, (start + array.nbytes) // LINE * LINE
    room = np.empty(states * array[0].nbytes + LINE, dtype=np.uint8)
    place = -(-room.ctypes.data // LINE) * LINE - room.ctypes.data
    pattern = room[place : place + states * array[0].nbytes].view(array.dtype)
    taken: list[bool] = []

    def write(keep: Any = (array, alive)) -> None:
        if not taken:
            pattern[:] = array.reshape(-1)[(first - start) // array.itemsize :][: pattern.size]
            taken.append(True)
        fill(pattern.ctypes.data, pattern.nbytes, first, last)

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
