"""Events: times at which a function of the state passes through zero, found to rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import OptionError, UnknownNameError
from ..spatial.arrays import Array

ENDINGS = ("error", "stop", "rest")
"""What can be done if resets never end."""


@dataclass(frozen=True)
class Event:
    """An event to watch for.

    Parameters
    ----------
    function : callable
        ``function(t, q, v)`` returns a number; its zeros are the events.  NaN would hide them and is an error.
    terminal : bool
        Whether the simulation stops there.
    direction : int
        1 for zeros passed upwards, -1 for those passed downwards, 0 for both.
    name : str
        Name in the record; by default ``event 0``, ``event 1``, ... in order.
    reset : callable, optional
        ``reset(t, q, v) -> (q, v)``: the state from which the motion continues, as after an impact.
    endless : {"error", "stop", "rest"}
        What to do if resets follow one another without end, like the hops of a ball that loses half its speed at each:
        raise an error that says when; end the run; or keep the whole robot at rest from there on.
    """

    function: Callable[[float, Array, Array], float]
    terminal: bool = False
    direction: int = 0
    name: str = ""
    reset: Callable[[float, Array, Array], tuple[Any, Any]] | None = None
    endless: str = "error"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise OptionError(f"an event is a function of (t, q, v), not {self.function!r}")
        if self.direction not in (-1, 0, 1):
            raise OptionError(f"the direction of an event is -1, 0 or 1, not {self.direction!r}")
        if self.reset is not None and not callable(self.reset):
            raise OptionError(f"the reset of an event is a function of (t, q, v), not {self.reset!r}")
        if self.endless not in ENDINGS:
            raise UnknownNameError("ending of endless events", self.endless, ENDINGS)


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An event that happened: when, which one, and the state just before it."""

    time: float
    name: str
    index: int
    q: Array
    v: Array


def as_events(given: Any) -> tuple[Event, ...]:
    """Make events from functions (which may carry ``terminal`` and ``direction``, as SciPy's do)."""
    listed: Iterable[Any] = (given,) if callable(given) or isinstance(given, Event) else given
    if not isinstance(listed, Iterable) or (isinstance(listed, np.ndarray) and not listed.ndim):
        raise OptionError(f"events are functions of (t, q, v), Event objects or a list of them, not {given!r}")
    found = []
    for k, item in enumerate(listed):
        if not isinstance(item, Event):
            item = Event(
                item,
                bool(getattr(item, "terminal", False)),
                int(np.sign(getattr(item, "direction", 0))),
                getattr(item, "__name__", ""),
            )
        found.append(item if item.name else replace(item, name=f"event {k}"))
    return tuple(found)


def in_direction(event: Event, side: float) -> bool:
    """Return whether a function that leaves zero to the positive or negative side goes in the event's direction."""
    return event.direction == 0 or side * event.direction > 0


def crosses(event: Event, before: float, after: float) -> bool:
    """Return whether there is an event between two values of its function.

    An event at the first time does not count.
    """
    rising, falling = before < 0.0 <= after, before > 0.0 >= after
    return (rising and event.direction >= 0) or (falling and event.direction <= 0)


def locate(function: Callable[[float], float], low: float, high: float) -> float:
    """Find the zero between two times, to rounding of the time."""
    if function(high) == 0.0:
        return high
    from scipy.optimize import brentq  # slow to import, and few need it

    return float(brentq(function, low, high, xtol=4e-16 * max(abs(low), abs(high)) + 1e-300, rtol=8.9e-16))
