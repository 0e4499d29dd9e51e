"""Whether Ctrl-C ends one simulation, of which the record is kept, or all that is being computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PASSED_ON: ContextVar[bool] = ContextVar("interrupts are passed on", default=False)


@contextmanager
def interrupts_passed_on() -> Iterator[None]:
    """Let Ctrl-C end what calls runs, too: where they make one result, a part of a run must not pass for a whole."""
    before = _PASSED_ON.set(True)
    try:
        yield
    finally:
        _PASSED_ON.reset(before)


def are_interrupts_passed_on() -> bool:
    """Return whether an interrupt is to be raised again."""
    return _PASSED_ON.get()
