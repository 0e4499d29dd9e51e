"""The interface of integrators for the run loop, step by step: ``step()``, then ``state_at(t)`` within it.

This module has their common base and the integrator with a fixed step; :mod:`.adaptive` has those that choose their
steps.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ...errors import ClosureError, Message, Setting
from ...evaluation.law_failures import Fault
from ..equation import Equation
from ..system import State
from .fixed_step_methods import INSIDE
from .steps_on_arrays import SAMPLES_AT_ONCE, NoConvergence

LONGEST_LEAP = 10_000
"""The most steps in machine code between two checks of the keyboard."""

STEPS_PER_CALL = 2_000_000
"""The same for all simulations of a batch together."""

MOST_KEPT_AT_ONCE = 50_000_000
"""The most numbers, over all simulations of a batch, that one call of machine code keeps."""

MOST_BETWEEN_SAMPLES = 20
"""The most steps between samples of a batch that machine code keeps: an unfinished call wastes as many."""

FEWEST_SAMPLES = SAMPLES_AT_ONCE // 2
"""The fewest samples of a batch that are worth such a call."""

SAMPLES_OF_ONE = 1000
"""States of one simulation that machine code keeps in a call: enough to make the overhead of Python small."""

NO_KINKS = np.zeros(0)

SAME_TIME = 0.5 * INSIDE
"""Fraction of a step within which a kink of forces counts as at its end, where formulas evaluate it from inside."""

ENDLESS = 1e10
"""Velocities beyond this are not a robot's motion."""


def is_motion(state: State) -> bool:
    """Return whether a robot can be in a state: whether it is finite."""
    q, v, _ = state
    return bool(np.isfinite(q).all() and np.abs(v).max(initial=0.0) < ENDLESS)  # which is False for NaN


class Stepper:
    """The interface of an integrator for the run loop."""

    t: float
    t_old: float
    end: float
    state: State
    n_steps: int = 0
    interior: int = 0
    """How many points within a step are cheap to evaluate, for events."""
    snap: float = 0.0
    """Seconds within which a sample counts as at the end of a step."""
    near: float = 0.0
    """The same for states that machine code keeps."""

    def step(self) -> None:
        """Take one step."""
        raise NotImplementedError

    def leap(self, until: float) -> None:
        """Take one step; or several, not beyond ``until``, if the states in between are not needed."""
        self.step()

    def leap_by_samples(
        self, wanted: np.ndarray | None, first: int, most: int = SAMPLES_OF_ONE
    ) -> tuple[list[float], State] | None:
        """Take several steps, and return times and states of the samples passed; None if it takes one at a time.

        Parameters
        ----------
        wanted : ndarray, optional
            Times of samples; if not given, there is a sample after every step.
        first : int
            Index of the next sample.
        most : int
            The most samples to return.
        """
        return None

    def take_back(self, steps: int, t: float, state: State) -> None:
        """Undo the last of the steps that a leap by samples has taken, to continue from an earlier state."""
        raise NotImplementedError

    def state_at(self, t: float) -> State:
        """Return the state at a time within the last step."""
        raise NotImplementedError

    def states_at(self, times: list[float]) -> State:
        """Return the states at several times, along the first axis."""
        q, v, z = (np.stack(parts) for parts in zip(*map(self.state_at, times), strict=True))
        return q, v, z

    def restart(self, t: float, state: State) -> None:
        """Continue from another state."""
        raise NotImplementedError

    def carry_on(self, state: State, end: float) -> None:
        """Continue from the end that was reached to another one, with forces that may have jumped."""
        self.end = end
        self.restart(self.t, state)


def steps_cut(kinks: np.ndarray, start: float, h: float) -> np.ndarray:
    """Return the numbers of the steps, counted from a start, that have kinks of forces inside, not at their ends."""
    nearest = np.round((kinks - start) / h)
    off = kinks - (start + nearest * h)
    within = np.abs(off) > SAME_TIME * h
    return (nearest - (off < 0.0))[within].astype(int)


def pieces(t: float, h: float, kinks: np.ndarray) -> list[tuple[float, float]]:
    """Return starts and lengths of the parts into which kinks of forces cut a step: one part if there are none."""
    same = SAME_TIME * h
    within = kinks[np.searchsorted(kinks, t + same, "right") : np.searchsorted(kinks, t + h - same, "left")]
    if not len(within):
        return [(t, h)]
    edges = [t, *within.tolist(), t + h]
    return [(a, b - a) for a, b in pairwise(edges)]


def samples_ahead(
    wanted: np.ndarray, start: float, h: float, done: int, most: int, most_between: int = MOST_BETWEEN_SAMPLES
) -> tuple[int, int]:
    """Return how many of the next samples are the same number of steps apart, and that number.

    Parameters
    ----------
    wanted : ndarray
        Times of the next samples.
    start, h : float
        Time of the first step, and length of the steps.
    done, most : int
        Number of steps taken, and the most that all samples together may take.
    most_between : int
        The most steps between two samples.
    """
    steps = (wanted - start) / h
    numbers = np.round(steps)
    every = int(numbers[0]) - done if len(numbers) else 0
    if not 0 < every <= most_between:
        return 0, 1
    regular = (numbers == done + every * np.arange(1, len(numbers) + 1)) & (np.abs(steps - numbers) <= SAME_TIME)
    regular &= numbers - done <= most
    return (len(regular) if regular.all() else int(np.argmin(regular))), every


class FixedStepper(Stepper):
    """Steps of equal length; the last one ends at the end of the run.

    States within a step are found by a shorter step from its beginning, so they are as accurate as any other.  A step
    in which forces have a kink or jump is taken in parts that end there.  Simulations of a batch that diverge do not
    affect the others.

    Parameters
    ----------
    equation : Equation
    name : str
        Name of the integrator.
    t, end : float
    state : State
        State of one simulation or a batch.
    step : float
    kinks : ndarray
        Times at which forces have a kink or jump.
    acts_at_end : bool
        Whether something may change the state at the end, so that the step to it is taken alone.
    """

    def __init__(
        self, equation: Equation, name: str, t: float, state: State, end: float, step: float,
        kinks: np.ndarray = NO_KINKS, acts_at_end: bool = True,
    ) -> None:  # fmt: skip
        self.equation, self.name, self.end, self.h, self.kinks = equation, name, end, step, kinks
        self.careful = False
        self.acts_at_end = acts_at_end
        batch = state[0].shape[:-1]
        self.count_in_batch = math.prod(batch)
        self.is_batch = batch != ()
        self.snap, self.near = 1e-9 * step if batch else 0.0, SAME_TIME * step
        self.longest_leap = max(1, STEPS_PER_CALL // max(1, self.count_in_batch)) if batch else LONGEST_LEAP
        self.restart(t, state)

    def restart(self, t: float, state: State) -> None:
        """Continue from another state; steps are counted from there."""
        self.t = self.t_old = self.start = t
        self.state = self.old = state
        self.count = 0
        self.cut = steps_cut(self.kinks, t, self.h)

    def step(self) -> None:
        """Take one step."""
        self.t_old, self.old = self.t, self.state
        self.count += 1
        self.n_steps += 1
        after = self.start + self.count * self.h
        # a last step shorter than the rounding of the time is skipped
        self.t = self.end if after > self.end - 1e-9 * self.h else after
        short = after > self.end + 1e-9 * self.h
        self.state = self._from(self.t_old, self.old, self.end - self.t_old if short else self.h)

    def _whole_steps(self, until: float, slack: float) -> int:
        """Count the whole steps from here until a time, or until a step in which forces have a kink or jump."""
        steps = (until - self.start) / self.h
        later = int(np.searchsorted(self.cut, self.count))
        if later < len(self.cut):
            steps = min(steps, self.cut[later] + 0.5)
        return int(steps + slack) - self.count

    def leap_by_samples(
        self, wanted: np.ndarray | None, first: int, most: int = SAMPLES_OF_ONE
    ) -> tuple[list[float], State] | None:
        """Take as many whole steps as one call of machine code can store states for."""
        at_once, between = (SAMPLES_AT_ONCE, MOST_BETWEEN_SAMPLES) if self.is_batch else (most, LONGEST_LEAP)
        numbers = self.count_in_batch * sum(x.shape[-1] for x in self.state) * at_once
        if self.careful or not self._in_machine_code or numbers > MOST_KEPT_AT_ONCE:
            return None
        whole = min(self._whole_steps(self.end, 1e-9), self.longest_leap)
        count, every = min(whole, at_once), 1
        if wanted is not None:
            within = whole - 1 if self.acts_at_end else whole
            ahead = wanted[first : first + at_once]
            count, every = samples_ahead(ahead, self.start, self.h, self.count, within, between)
        if count < (FEWEST_SAMPLES if self.is_batch else 1):
            return None
        passed = self.equation.steps.sampled(self.name)(self.t, self.state, self.h, every, count)
        if passed is None or not self._goes_on(passed):  # repeat it step by step, to find where it diverges
            self.careful = not self.is_batch
            return None
        self.count += count * every
        self.n_steps += count * every
        times = [self.start + k * self.h for k in range(self.count - (count - 1) * every, self.count + 1, every)]
        if times[-1] > self.end - 1e-9 * self.h:
            times[-1] = self.end
        q, v, z = (np.moveaxis(x, -2, 0) for x in passed) if self.is_batch else passed
        self.t = self.t_old = times[-1]
        self.state = self.old = q[-1], v[-1], z[-1]
        return (times if wanted is None else wanted[first : first + count].tolist()), (q, v, z)

    def take_back(self, steps: int, t: float, state: State) -> None:
        """Undo the last of the steps that a leap by samples has taken."""
        self.count -= steps
        self.n_steps -= steps
        self.t, self.state = self.t_old, self.old = t, state

    def leap(self, until: float) -> None:
        """Continue in machine code to the last whole step before a time, or to an end that is a whole step."""
        to_end = self.end <= until
        slack = 1e-9 if to_end or self.is_batch else -1e-9
        whole = min(self._whole_steps(min(until, self.end), slack), self.longest_leap)
        if whole < 2 or self.careful or not self._in_machine_code:
            self.step()
            return
        try:
            state = self.equation.steps.many(self.name)(self.t, self.state, self.h, whole)
        except (NoConvergence, ClosureError):
            state = self.state
            self.careful = True
        if self.careful or not self._goes_on(state):  # repeat it step by step, to find where it diverges
            self.careful = True
            self.step()
            return
        self.state = self.old = state
        self.count += whole
        self.n_steps += whole
        self.t = self.start + self.count * self.h
        if to_end and self.t > self.end - 1e-9 * self.h:
            self.t = self.end
        self.t_old = self.t

    @property
    def _in_machine_code(self) -> bool:
        return self.equation.steps.in_machine_code(self.name)

    def _goes_on(self, state: State) -> bool:
        """Return whether a motion is still finite; a batch always counts as such."""
        return self.is_batch or is_motion(state)

    def _unsolved(self, t: float, h: float) -> Fault:
        names, v = self.equation.robot.v_names, np.abs(self.state[1])
        joint = names[int(np.argmax(v))] if names else None
        return Fault(f"the equations of a step of {h:g} s cannot be solved: the step is too large", t, joint)

    def _from(self, t: float, state: State, h: float) -> State:
        try:
            for begin, length in pieces(t, h, self.kinks):
                state = self.equation.steps.many(self.name)(begin, state, length, 1)
            return state
        except NoConvergence:
            raise self._unsolved(t, h) from None
        except ClosureError as problem:
            raise Fault(
                Message(
                    f"the constraints of {self.equation.robot.name!r} cannot be restored after this step "
                    f"({problem}): {h:g} s is too long for {self.name} to be stable here; take a smaller step, or an "
                    "integrator for stiff problems, ",
                    Setting("integrator", "radau"),
                ),
                t,
            ) from problem

    def state_at(self, t: float) -> State:
        """Return the state at a time within the last step."""
        if t == self.t:
            return self.state
        return self.old if t == self.t_old else self._from(self.t_old, self.old, t - self.t_old)
