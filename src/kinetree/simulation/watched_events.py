"""The next events of a run: on which side of zero their functions are, even right after a reset.

A function that changes sign between two evaluations has passed through zero.  Right at a zero the sign is not known,
and there it matters most: for a ball that lies on the floor, or that a reset has just launched on a hop shorter than a
step.  In that case the rate of the function along the motion gives the side or, if that is zero as well, the motion
itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..evaluation.law_failures import Fault, blaming
from .equation import Equation
from .events import Event, crosses, in_direction, locate
from .integrators.stepper import Stepper
from .system import State

ENDLESS_COUNT, ENDLESS_TIME = 50, 1e-9
"""This many resets of one event within this time (s, or fraction of a run shorter than a second) count as endless."""

AHEAD = 1e-6
"""How far a state is moved along its motion to find the direction of an event's function (rad, m, rad/s, m/s)."""

STILL_ZERO = 1e-10
"""After a reset, a function counts as still zero up to this fraction of its earlier values plus ten times its value
there."""

BARELY = 1e-300
"""A value whose only meaning is its sign."""


class WatchedEvents:
    """The events of one run, and the values of their functions.

    Parameters
    ----------
    events : sequence of Event
    equation : Equation
        The equation of motion.
    span : float
        Duration of the run.
    """

    def __init__(self, events: Sequence[Event], equation: Equation, span: float) -> None:
        self.events, self.equation = tuple(events), equation
        self.window = ENDLESS_TIME * min(1.0, span)
        self.values = [0.0] * len(self.events)
        """Last values of the functions; 0 for one that was just passing zero, whichever sign rounding gives it."""
        self.leaving: dict[int, int] = {}
        """Side to which functions at zero are about to leave it; 0 if only the motion will show."""
        self._way: dict[int, int] = {}
        """Side to which the functions found last have passed zero."""
        self._sent_off: dict[int, tuple[float, float, float]] = {}
        """Functions that have just left zero: the time, their value then, and their rate."""
        self._size = [0.0] * len(self.events)
        self._step: tuple[float, float] | None = None
        self._states: dict[float, State] = {}
        self._looks: dict[float, list[float]] = {}
        """Values of the functions at times within that step."""
        self._resets: dict[int, list[float]] = {}

    def __bool__(self) -> bool:
        return bool(self.events)

    def value(self, k: int, t: float, state: State) -> float:
        """Return the value of an event's function, checked."""
        event = self.events[k]
        try:
            value = event.function(t, state[0].copy(), state[1].copy())  # copies, whatever the function does to them
        except Exception:
            with blaming(f"event {event.name!r}", t):
                raise
        if isinstance(value, (bool, np.bool_)):
            message = (
                f"event {event.name!r} returned {value}, which does not pass through zero: return a number that does"
            )
            raise Fault(message, t)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise Fault(f"event {event.name!r} returned {value!r}, which is not a number", t) from None
        if math.isnan(number):
            raise Fault(f"event {event.name!r} returned NaN, so a zero crossing cannot be detected", t)
        return number

    def _values(self, t: float, state: State) -> list[float]:
        return [self.value(k, t, state) for k in range(len(self.events))]

    # ------------------------------------------------------------------ at zero

    def start(self, t: float, state: State) -> None:
        """Evaluate the functions at the start of a run: one that leaves zero in its direction has its event there."""
        self.values = self._values(t, state)
        for k, value in enumerate(self.values):
            if value == 0.0:
                self._leave(k, t, state)

    def _leave(self, k: int, t: float, state: State, way: int = 0, before: State | None = None) -> None:
        """Find the side to which a function at zero leaves; ``way`` is the one it was passing to ``before`` a reset."""
        rate = self._rate(k, t, state)
        side = int(np.sign(rate))
        self.values[k], value = 0.0, self.values[k]
        if side and (side == -way if way else not in_direction(self.events[k], side)):
            self._sent_off[k] = t, value, rate
            self.values[k] = side * BARELY
        elif side == 0 or before is None or np.sign(self._rate(k, t, before)) != way:
            self.leaving[k] = side  # otherwise the reset does not stop it

    def _rate(self, k: int, t: float, state: State) -> float:
        """Return the rate of a function along the motion; zero if it is lost in rounding."""
        q, v, z = state
        a = self.equation.accelerations(t, q, v, z)[0]
        a = np.where(np.isfinite(a), a, 0.0)
        h = AHEAD / max(1.0, float(np.max(np.abs(v), initial=0.0)), float(np.max(np.abs(a), initial=0.0)))
        here = self.value(k, t, state)
        one, two = (
            self.value(k, t + x, (self.equation.robot.integrate(q, x * v), v + x * a, z)) - here for x in (h, 2.0 * h)
        )
        steady = one * two > 0.0 and 1.5 < two / one < 2.5  # rounding and curvature do not grow in proportion
        return one / h if steady else 0.0

    # ------------------------------------------------------------------ between two looks

    def first(self, stepper: Stepper, since: float) -> tuple[float, int] | None:
        """Return the earliest event in the rest of the last step.

        If there is none, the stored values are advanced to the end of the step.
        """
        for k, side in self.leaving.items():
            if side:
                self._way[k] = side
                return since, k
        if self._step != (stepper.t_old, stepper.t):
            self._step, self._looks = (stepper.t_old, stepper.t), {}
            apart = (stepper.t - stepper.t_old) / (stepper.interior + 1)
            inner = [k * apart + stepper.t_old for k in range(1, stepper.interior + 1)]
            self._states = dict(zip(inner, zip(*stepper.states_at(inner), strict=True), strict=True)) if inner else {}
            self._states[stepper.t] = stepper.state
        before, previous = since, self.values
        for t in [t for t in self._states if t > since or t == stepper.t]:
            now = self._look(t)
            self._size = [max(abs(x), abs(y)) for x, y in zip(previous, now, strict=True)]
            found = [(before, k) for k in self._gone(now)]
            passed = [k for k, e in enumerate(self.events) if crosses(e, previous[k], now[k])]
            found += [(self._locate(stepper, k, before, t), k) for k in passed]
            if found:
                self._way |= {k: int(np.sign(now[k]) or -np.sign(previous[k])) for _, k in found}
                return min(found)
            before, previous = t, now
        self.values = list(previous)
        return None

    def quiet(self, times: Sequence[float], states: State) -> int:
        """Return how many of these ends of steps come before the next event; the stored values are advanced to there.

        A step in which a function fails counts as one with an event: taking it raises the error.
        """
        if self.leaving:
            return 0
        for done, (t, *state) in enumerate(zip(times, *states, strict=True)):
            try:
                now = self._values(t, (state[0], state[1], state[2]))
            except Exception:
                return done
            if any(crosses(e, self.values[k], now[k]) for k, e in enumerate(self.events)):
                return done
            self._size = [max(abs(x), abs(y)) for x, y in zip(self.values, now, strict=True)]
            self.values = now
        return len(times)

    def _look(self, t: float) -> list[float]:
        """Return the functions' values at a time within the last step, which several events may need."""
        if t not in self._looks:
            self._looks[t] = self._values(t, self._states[t])
        return self._looks[t]

    def _gone(self, now: list[float]) -> list[int]:
        """Return functions that have left zero in their direction; those that left in the other are dropped."""
        gone = [k for k in self.leaving if now[k] != 0.0]
        found = [k for k in gone if in_direction(self.events[k], now[k])]
        for k in gone:
            if k not in found:
                del self.leaving[k]
        return found

    def _locate(self, stepper: Stepper, k: int, low: float, high: float) -> float:
        def function(t: float) -> float:
            return self._looks[t][k] if t in self._looks else self.value(k, t, stepper.state_at(t))

        start, zero, rate = self._sent_off.get(k, (np.nan, 0.0, 0.0))
        if low != start:
            return locate(function, low, high)

        def without_the_first(t: float) -> float:  # the zero at the beginning is not the one to find
            return rate if t == start else (function(t) - zero) / (t - start)

        return locate(without_the_first, low, high) if without_the_first(high) * rate < 0.0 else high

    def due(self, which: int, t: float, state: State, over: dict[int, float]) -> list[int]:
        """Return the event found just before a time, and others that have passed zero by then.

        Those that end the run come last.

        At the exact time that was found, rounding decides on which side of zero functions are, even if they are equal.
        """
        now = self._values(t, state)
        also = [k for k, e in enumerate(self.events) if k not in over and crosses(e, self.values[k], now[k])]
        self._way |= {k: int(-np.sign(self.values[k])) for k in also if k != which}
        return sorted({which, *also}, key=lambda k: (self.events[k].terminal, k))

    # ------------------------------------------------------------------ after an event

    def go_on(self, t: float, before: State, state: State, over: Sequence[int], jumped: bool) -> None:
        """Evaluate the functions again after events, and perhaps a reset that changed the state."""
        zeros = {k: 10.0 * abs(self.value(k, t, before)) + STILL_ZERO * self._size[k] for k in over}
        pending = [k for k in self.leaving if k not in over]
        self.values = self._values(t, state)
        self._sent_off.clear()
        self.leaving.clear()
        if jumped:  # steps start again
            self._step = None
        for k in over:
            if not jumped:
                self.values[k] = 0.0  # this one is over, whatever side rounding puts it on
            elif abs(self.values[k]) <= zeros[k]:
                self._leave(k, t, state, self._way.get(k, 0), before)
        for k in pending:
            if self.values[k] == 0.0:
                self._leave(k, t, state)

    def endless(self, k: int, t: float) -> bool:
        """Note a reset; return whether the resets of this event never end."""
        times = [*self._resets.get(k, [])[1 - ENDLESS_COUNT :], t]
        self._resets[k] = times
        shortest = 64.0 * float(np.spacing(abs(t)))
        return len(times) == ENDLESS_COUNT and times[-1] - times[0] <= max(self.window, shortest)
