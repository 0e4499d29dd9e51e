"""Whether Ctrl-C ends only the current simulation, whose record is kept, or everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PASSED_ON: ContextVar[bool] = ContextVar("interrupts are passed on", default=False)


@contextmanager
def interrupts_passed_on() -> Iterator[None]:
    """Let Ctrl-C also end the caller of runs, which must not mistake an incomplete run for a complete one."""
    before = _PASSED_ON.set(True)
    try:
        yield
    finally:
        _PASSED_ON.reset(before)


def are_interrupts_passed_on() -> bool:
    """Return whether an interrupt is to be raised again."""
    return _PASSED_ON.get()
