"""The run loop of a batch of simulations: one robot many times over, stepped together with a fixed step.

The equation of motion, controller, ground and integrator are one traced law; its machine
code takes many steps at a time for as many simulations as a vector has lanes, so that the
states hardly leave the processor between two samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import KinetreeError, UnknownNameError, message_of
from ..io.progress import TimeBar
from ..run.failure import Fault
from ..spatial.arrays import Array
from .constrained.generalized_alpha import AlphaSteps
from .equation import Equation
from .integrators.fixed_step_methods import GENERALIZED_ALPHA
from .integrators.stepper import FEWEST_SAMPLES, NO_KINKS, pieces, samples_ahead, steps_cut
from .integrators.steps_on_arrays import SAMPLES_AT_ONCE, ManySteps, SampledSteps
from .records.record import COMPLETE
from .run import INTERRUPTED, interrupted
from .system import State

if TYPE_CHECKING:
    from .sampling import Sampling

STEPS_PER_CALL = 2_000_000
"""Steps of all simulations together between two looks at the keyboard and the progress bar."""

MOST_KEPT_AT_ONCE = 50_000_000
"""Numbers of all simulations that one call of machine code keeps."""


def run_batch(
    equation: Equation, integrator: str, state: State, begin: float, end: float, step: float, times: Array,
    progress: bool, sampling: Sampling | None = None, kinks: Array = NO_KINKS,
) -> tuple[tuple[Array, Array, Array, Array], str, Fault | SystemExit | None]:  # fmt: skip
    """Step a batch through time; samples (t, q, v, z) with time first, how it ended, and what ended it before."""
    grid = _StepTimes(begin, end, step, kinks)
    taken: list[State] = []  # in pieces, each with an axis for its samples in front
    status = COMPLETE
    fault: Fault | SystemExit | None = None
    batch = state[0].shape[:-1]
    largest = max(1, STEPS_PER_CALL // max(1, int(np.prod(batch))))
    at = 0
    advance = None
    try:
        advance = many_steps(equation, integrator, step)
        stop = grid.steps if sampling is None else 0
        sampled = sampled_steps(equation, integrator, state) if sampling is None else None
        done = 0
        with TimeBar(begin, end, progress) as bar:
            while done < len(times):
                if sampled is not None:
                    count, every = grid.samples_ahead(times[done : done + SAMPLES_AT_ONCE], at)
                    passed = sampled(grid.time(at), state, step, every, count) if count >= FEWEST_SAMPLES else None
                    if passed is not None:
                        q, v, z = passed
                        state = q[..., -1, :], v[..., -1, :], z[..., -1, :]
                        taken.append((np.moveaxis(q, -2, 0), np.moveaxis(v, -2, 0), np.moveaxis(z, -2, 0)))
                        at, done = at + count * every, done + count
                        bar.show_time(grid.time(at))
                        continue
                whole, rest = grid.before(times[done])
                done += 1
                while at < whole or (sampling is not None and at == stop < grid.steps):
                    if sampling is not None and at == stop:
                        state = sampling.act(grid.time(at), state)
                        stop = grid.nearest(sampling.next_stop)
                        continue
                    n = min(largest, whole - at, stop - at, max(1, grid.next_cut(at) - at))
                    state = grid.step(advance, at, state, step) if n == 1 else advance(grid.time(at), state, step, n)
                    at += n
                    bar.show_time(grid.time(at))
                q, v, z = grid.step(advance, at, state, rest) if rest else state
                taken.append((q[None], v[None], z[None]))
    except KeyboardInterrupt:
        status = interrupted(grid.time(at))
    except SystemExit as problem:
        status, fault = INTERRUPTED, problem
    except Fault as problem:
        problem.time = grid.time(at) if np.isnan(problem.time) else problem.time
        fault = problem
    except KinetreeError as problem:
        if advance is None or isinstance(problem, UnknownNameError):
            raise  # a law or a robot that cannot be stepped at all
        fault = Fault(message_of(problem), grid.time(at))
        fault.__cause__ = problem
    none = tuple(np.zeros((0, *batch, x.shape[-1])) for x in state)
    q, v, z = (np.concatenate(parts) for parts in zip(none, *taken, strict=True))
    return (times[: len(q)], q, v, z), status, fault


class _StepTimes:
    """Times of steps: begin + k step, exactly; and steps that forces bend or jump within, which are taken in parts."""

    def __init__(self, begin: float, end: float, step: float, kinks: Array) -> None:
        self.begin, self.length, self.kinks = begin, step, kinks
        self.steps = int(np.ceil((end - begin) / step - 1e-9))
        self.cut = steps_cut(kinks, begin, step)

    def next_cut(self, k: int) -> int:
        """Return the next step, from the k-th on, that is taken in parts; the end if there is none."""
        later = int(np.searchsorted(self.cut, k))
        return int(self.cut[later]) if later < len(self.cut) else self.steps

    def step(self, advance: ManySteps, k: int, state: State, h: float) -> State:
        """Take a step of h from the beginning of the k-th on, in parts where forces bend or jump within it."""
        for begin, length in pieces(self.time(k), h, self.kinks):
            state = advance(begin, state, length, 1)
        return state

    def samples_ahead(self, times: Array, k: int) -> tuple[int, int]:
        """Return how many samples are the same number of steps apart after the k-th, and that number."""
        return samples_ahead(times, self.begin, self.length, k, min(self.next_cut(k), self.steps) - k)

    def nearest(self, t: float) -> int:
        return round((t - self.begin) / self.length)

    def time(self, k: int) -> float:
        return self.begin + k * self.length

    def before(self, t: float) -> tuple[int, float]:
        """Return whole steps before a time, and what remains of it; nothing remains within rounding of the time."""
        k = int(np.floor((t - self.begin) / self.length + 1e-9))
        rest = t - self.time(k)
        return k, (rest if rest > 1e-9 * self.length else 0.0)


def sampled_steps(equation: Equation, integrator: str, state: State) -> SampledSteps | None:
    """Return steps whose states machine code keeps on the way; None where there is none, or states are too many."""
    numbers = int(np.prod(state[0].shape[:-1])) * sum(x.shape[-1] for x in state)
    if integrator == GENERALIZED_ALPHA or not equation.traceable or SAMPLES_AT_ONCE * numbers > MOST_KEPT_AT_ONCE:
        return None
    return equation.steps.sampled(integrator)


def many_steps(equation: Equation, integrator: str, step: float) -> ManySteps:
    """Return many steps, usually of length ``step``, in machine code where everything can be traced."""
    if integrator == GENERALIZED_ALPHA:
        return AlphaSteps(equation, step).many
    if equation.traceable:
        return equation.steps.many(integrator)
    one = equation.steps.one(integrator)

    def advance(t: float, state: State, h: float, n: int) -> State:
        with np.errstate(all="ignore"):
            for k in range(n):
                state = equation.held(t + (k + 1) * h, one(t + k * h, state, h))
        return state

    return advance
