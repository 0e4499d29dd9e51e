"""A sampled controller in a run: it measures at its instants, decides, and applies forces when they arrive.

Integrators stop exactly at these instants.  Between them the robot simply moves under constant forces: this is the
same for one simulation and for batches, for trees and for mechanisms, and for every integrator.
"""

from __future__ import annotations

import math
import warnings
from collections import deque

import numpy as np

from ..algorithms.acting_element import Scalars
from ..control.driven_joints import refuse_motorless
from ..control.sampled import DIFFERENCES, Sampled, SampledPart, find_sampled
from ..errors import KinetreeWarning, Message, OptionError, Setting, callers_level
from ..evaluation.law_failures import Fault
from ..evaluation.law_kernels import LawProgram
from ..spatial import Scalar
from ..spatial.arrays import Array, pack, split
from .equation import Equation
from .records.samples import Samples
from .system import State
from .worlds.draws import gaussian

SAME = 1e-9
"""Fraction of a period within which two instants are the same."""

DRAWN_AT_ONCE = 4096
"""Number of samples, over all simulations, for which noise is drawn at once."""

POSITIONS, VELOCITIES = 20_001, 20_002
"""Streams of random numbers, apart from those of worlds."""


class Sampling:
    """A sampled controller in one run.

    Parameters
    ----------
    equation : Equation
    found : SampledPart
        The controller's sampled part.
    begin : float
        Beginning of the run, which is the time of the first sample.
    batch : tuple of int
        Shape of the batch; empty for one simulation.
    step : float, optional
        Step of an integrator with a fixed step, which must divide the period.
    """

    def __init__(
        self, equation: Equation, found: SampledPart, begin: float, batch: tuple[int, ...], step: float | None
    ) -> None:
        self.equation, self.found, self.part = equation, found, found.part
        self.begin, self.batch, self.tree = begin, batch, equation.tree
        part, tree = self.part, self.tree
        if step is not None:
            refuse_between(part, step)
        assert equation.system.controller is not None
        first = found.first_state(equation.system.controller, tree)
        self.driven = part.driven(tree)
        self.place = slice(first, first + len(self.driven))
        self.count, self.arrived, self.counted_until = 0, 0, begin
        self.waiting: deque[Array] = deque()
        self.impulse = np.zeros((*batch, len(self.driven)))
        self.encoded, self.limits = part.encoders(tree), part.limits(tree)
        self.deviations, self.share = part.noise(tree), part.filtered()
        self.lanes = np.arange(int(np.prod(batch, dtype=int)))
        self.memory: Array | None = None
        self.before: tuple[Array, Array] | None = None
        self.noise: tuple[int, Array, Array] = (0, np.zeros(0), np.zeros(0))
        self.keeps = (not batch) if part.keep is None else part.keep
        self.rows: list[tuple[Array, ...]] = []
        reset = getattr(part.function, "reset", None)
        if callable(reset):
            reset()

    # ------------------------------------------------------------------ instants

    def sample_time(self, k: int) -> float:
        """Return the time of the k-th sample."""
        return self.begin + k * self.part.period

    def arrival_time(self, k: int) -> float:
        """Return the time at which the k-th sample's forces begin to act."""
        return self.sample_time(k) + self.part.delay

    @property
    def next_stop(self) -> float:
        """The next time at which there is something to do."""
        return min(self.sample_time(self.count), self.arrival_time(self.arrived))

    def stop_before(self, end: float) -> float:
        """Return the next time at which there is something to do, if it is before the end of the run."""
        stop = self.next_stop
        return stop if stop < end - SAME * self.part.period else end

    def is_due(self, t: float) -> bool:
        """Return whether there is something to do at a time."""
        return self.next_stop <= t + SAME * self.part.period

    def act(self, t: float, state: State) -> State:
        """Do what is due at a time; return the state with the forces that act from then on."""
        soon = t + SAME * self.part.period
        q, v, z = state
        z = np.array(np.broadcast_to(z, (*self.batch, z.shape[-1])))
        held = z[..., self.place]  # a view
        self.impulse += (t - self.counted_until) * held
        self.counted_until = t
        while self.next_stop <= soon:
            if self.sample_time(self.count) <= soon:
                self.waiting.append(self._sample(self.sample_time(self.count), q, v))
                self.count += 1
            if self.arrived < self.count and self.arrival_time(self.arrived) <= soon:
                held[...] = self.waiting.popleft()
                self.arrived += 1
        return q, v, z

    # ------------------------------------------------------------------ a sample

    def _sample(self, t: float, q: Array, v: Array) -> Array:
        """Measure, decide, and return the forces to apply at the freedoms with motors."""
        seen_q, seen_v = self._measured(q, v)
        nq, nv = self.tree.nq, self.tree.nv
        if self.memory is None:
            self.memory = self._first_memory(seen_q, seen_v)
        force = np.zeros((*self.batch, nv))
        if self.count:
            force[..., self.driven] = self.impulse / self.part.period
        self.impulse[...] = 0.0
        program = self._program()
        named = {"t": np.array([t]), "q": seen_q, "v": seen_v, "p": self.equation.numbers}
        out = program(named | {"memory": self.memory, "force": force}, self.equation.threads)
        tau, believed_q, believed_v = out[..., :nv], out[..., nv : nv + nq], out[..., nv + nq : 2 * nv + nq]
        n_load = out.shape[-1] - 2 * nv - nq - self.memory.shape[-1]
        load = out[..., 2 * nv + nq : 2 * nv + nq + n_load]
        self.memory = out[..., 2 * nv + nq + n_load :]
        if self.part.function is not None:
            tau = tau + self.equation.ask(t, believed_q, believed_v, self.part.function)
        self._check(t, tau, v)
        tau = self._converted(tau)
        if self.keeps:
            row = (np.array(t), seen_q, seen_v, believed_q, believed_v, load, tau, np.array(t + self.part.delay))
            self.rows.append(tuple(np.array(x) for x in row))
        return tau[..., self.driven]

    def _program(self) -> LawProgram:
        """Return the program of a decision, whose results come one after the other."""
        assert self.memory is not None
        equation, found = self.equation, self.found  # and not this run, since the program outlives it

        def law(
            t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars, memory: Scalars, force: Scalars
        ) -> list[Scalar]:
            system = equation.with_numbers(p)
            assert system.controller is not None
            decided = found.within(system.controller).decide(system.tree, t[0], q, v, force, memory)
            return [*decided.tau, *decided.q, *decided.v, *decided.load, *decided.memory]

        lengths = {"z": 0, "tau": 0, "memory": self.memory.shape[-1], "force": self.tree.nv}
        return equation.kept_program("samples", law, None, True, **lengths)

    def _first_memory(self, q: Array, v: Array) -> Array:
        with np.errstate(all="ignore"):
            found = self.part.first_memory(self.tree, split(q), split(v))
        return pack(found, self.batch) if found else np.zeros((*self.batch, 0))

    # ------------------------------------------------------------------ sensors

    def _measured(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return a state as measured by the sensors."""
        part, robot = self.part, self.equation.robot
        q, v = (np.array(np.broadcast_to(x, (*self.batch, x.shape[-1]))) for x in (q, v))
        at, by = self._drawn()
        if at is not None:
            q = robot.integrate(q, at)
        if self.encoded is not None:
            places, length = self.encoded
            q[..., places] = np.round(q[..., places] / length) * length
        if part.velocity == DIFFERENCES:
            v = np.zeros_like(v) if self.before is None else robot.difference(self.before[0], q) / part.period
        elif by is not None:
            v = v + by
        if self.share and self.before is not None:
            v = self.share * self.before[1] + (1.0 - self.share) * v
        self.before = q, v
        return q, v

    def _drawn(self) -> tuple[Array | None, Array | None]:
        """Return the noise of positions and velocities at this sample."""
        if not any(np.any(x) for x in self.deviations):
            return None, None
        first, *drawn = self.noise
        if not self.count - first < len(drawn[0]):
            many = max(1, DRAWN_AT_ONCE // max(1, len(self.lanes)))
            looks = np.arange(self.count, self.count + many)
            lanes, which = np.tile(self.lanes, many), np.repeat(looks, len(self.lanes))
            shape = (many, *self.batch, self.tree.nv)
            drawn = [
                (gaussian(self.part.seed, lanes, which, stream, self.tree.nv) * size).reshape(shape)
                if np.any(size) else np.full((many, 0), np.nan)
                for stream, size in zip((POSITIONS, VELOCITIES), self.deviations, strict=True)
            ]  # fmt: skip
            first = self.count
            self.noise = first, drawn[0], drawn[1]
        now = [x[self.count - first] for x in drawn]
        return (now[0] if now[0].size else None), (now[1] if now[1].size else None)

    # ------------------------------------------------------------------ motors

    def _check(self, t: float, tau: Array, v: Array) -> None:
        """Refuse forces that are not finite, or at joints without a motor."""
        lost = ~np.isfinite(tau)
        if v.ndim == 1 and lost.any():
            name = self.equation.robot.v_names[int(np.argmax(lost))]
            raise Fault(f"the controller returned {tau[lost][0]} for joint {name!r}", t, name)
        idle = self.equation.motorless
        if idle.size and np.any(np.nan_to_num(tau[..., idle])):
            refuse_motorless(self.equation.system.motorless, split(tau), t)

    def _converted(self, tau: Array) -> Array:
        """Return forces as quantized by a converter."""
        if self.limits is None:
            return tau
        tau = np.clip(tau, -self.limits, self.limits)
        if self.part.bits is None:
            return tau
        level = self.limits / (2 ** (self.part.bits - 1) - 1)
        with np.errstate(all="ignore"):
            return np.where(level > 0.0, np.round(tau / level) * level, 0.0 * tau)

    # ------------------------------------------------------------------ for the record

    @property
    def samples(self) -> Samples | None:
        """Measurements and commands, if they are kept."""
        if not self.keeps:
            return None
        if self.rows:
            return Samples(*(np.array(column) for column in zip(*self.rows, strict=True)))
        widths = [(), (self.tree.nq,), (self.tree.nv,), (self.tree.nq,), (self.tree.nv,), (0,), (self.tree.nv,), ()]
        return Samples(*(np.zeros((0, *(self.batch if w else ()), *w)) for w in widths))


def sampling_of(
    equation: Equation, begin: float, batch: tuple[int, ...], step: float | None
) -> Sampling | None:  # fmt: skip
    """Return the sampled part of a run; None if there is none."""
    found = find_sampled(equation.system.controller)
    return None if found is None else Sampling(equation, found, begin, batch, step)


def warn_of_one_look(found: Sampling | None, begin: float, end: float) -> None:
    """Warn of a period that is longer than the run and looks like a frequency."""
    if found is not None and found.part.period > end - begin and found.part.period >= 1.0:
        period = found.part.period
        warnings.warn(
            f"the sampled controller samples once in {period:g} s, and the run takes {end - begin:g} s; if "
            f"the period is in hertz: period={1.0 / period:g}",
            KinetreeWarning,
            stacklevel=callers_level(),
        )


def refuse_between(part: Sampled, step: float) -> None:
    """Refuse a fixed step that does not divide the period and the delay."""
    for name, length in (("period", part.period), ("delay", part.delay)):
        count = length / step
        if length > 0.0 and (round(count) < 1 or abs(count - round(count)) > 1e-6):
            raise OptionError(
                Message(
                    f"the {name} of the sampled controller, {length:g} s, is not a whole number of steps of {step:g} "
                    "s: take ", Setting("step", dividing_step(part, step)), ", or an integrator that chooses its own",
                )
            )  # fmt: skip


def dividing_step(part: Sampled, step: float) -> float:
    """Return the largest step up to a given one that divides period and delay within a millionth, or None."""
    period, delay = part.period, part.delay
    for n in range(max(1, math.ceil(period / step - 1e-9)), 100_000):
        there = delay * n / period
        if abs(there - round(there)) <= 1e-6:
            return float(f"{period / n:.12g}")
    return float(f"{period:.12g}")
