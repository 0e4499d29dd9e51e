"""Faults while laws run, before a record of the simulation can be attached to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import KinetreeError, OptionError, SimulationError, message_of


class Fault(Exception):
    """An error inside a run; it becomes a SimulationError with the record so far.

    time: The time at which it happened; NaN if unknown, in which case the current time of the run is used.
    """

    def __init__(self, message: str, time: float = math.nan, joint: str | None = None) -> None:
        super().__init__(message)
        self.time, self.joint = time, joint

    def error(self, reached: float, record: object) -> SimulationError:
        """Return the error that the user sees; to be raised from the fault's cause."""
        return SimulationError(message_of(self), reached if math.isnan(self.time) else self.time, self.joint, record)


def asked_with_lists(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a user's function of lists of scalars; explain the error if it treats these as arrays."""
    try:
        return function(*arguments)
    except TypeError as problem:
        said = str(problem)
        if "sequence" in said or "'list'" in said or "list (not" in said:
            raise OptionError(
                f"q and v are lists of numbers here, one per freedom, not arrays ({said}): write "
                "[-0.1 * x for x in v] rather than -0.1 * v, or take numpy.array(v)"
            ) from problem
        if problem.__traceback__ is not None and problem.__traceback__.tb_next is None:
            raise OptionError(f"a function is called with {len(arguments)} arguments here, but {said}") from problem
        raise


@contextmanager
def blaming(what: str, t: Any, even_ours: bool = True) -> Iterator[None]:
    """Turn an exception of a user's function into a fault that names the function and keeps the exception as its cause.

    what: The function, in words.
    t: scalar. The time of the call; if it is not a number but a node or a batch of times, it counts as unknown.
    even_ours: Whether kinetree's own errors are also converted; those from a law already explain themselves.
    """
    try:
        yield
    except Fault:
        raise
    except Exception as problem:
        if isinstance(problem, KinetreeError) and not even_ours:
            raise
        reason = f": {problem}" if str(problem) else ""
        when = float(t) if isinstance(t, (int, float)) else math.nan  # np.float64 is a float
        raise Fault(f"{what} raised {type(problem).__name__}{reason}", when) from problem
