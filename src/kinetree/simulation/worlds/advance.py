"""Advancing the states of all worlds by one period, in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ClosureError, SingularError, UnsupportedError
from ...evaluation.law_failures import Fault
from ...spatial.arrays import Array, aligned_zeros
from ..equation import Equation


class Advance:
    """States and clocks of a batch, and the steps that advance them.

    Parameters
    ----------
    equation : Equation
        The equation of motion; prepared, for a mechanism.
    integrator : str
    step : float
        Seconds of one step of the integrator.
    substeps : int
        Steps of a period.
    numbers : ndarray (batch, n)
        Numbers of the worlds, which may change between periods.
    threads : int

    Attributes
    ----------
    state : ndarray (batch, nq + nv + nz)
        Current states, written in place by every period.
    time : ndarray (batch,)
        Seconds since each episode began.
    """

    def __init__(
        self, equation: Equation, integrator: str, step: float, substeps: int, numbers: Array, threads: int
    ) -> None:
        self._equation, self._integrator, self._numbers = equation, integrator, numbers
        self.step, self.substeps, self.period = step, substeps, step * substeps
        batch, dtype, single = len(numbers), numbers.dtype, numbers.dtype == np.float32
        tree, steps = equation.tree, equation.steps
        count = tree.nq + tree.nv + equation.system.nz
        self._closes_loops = equation.loops is not None
        watched = int(self._closes_loops)  # quality of the choice of constraints
        self.state = aligned_zeros((batch, count), dtype)
        self._whole = np.zeros((batch, count + watched), dtype) if watched else self.state
        self._further = equation.system.initial_z()
        self.time = np.zeros(batch)
        self._periods = np.zeros(batch)
        self._clock = np.zeros((batch, 1), dtype=dtype)
        self._run: Callable[[Array], Array] | None = None
        if equation.traceable:
            program = steps.program(integrator, equation.loops, single)
            h, n = np.full((1, 1), step, dtype=dtype), np.full((1, 1), substeps, dtype=dtype)
            self._run = program.prepared(self._clock, self._whole, h, n, numbers, threads)
            self._new = np.empty_like(self._whole)
        elif single:
            raise UnsupportedError(
                f"robot {equation.robot.name!r} is not stepped in machine code, so single precision is not available"
            )

    @property
    def clock(self) -> Array:
        """The time in the shape that machine code reads, (batch, 1)."""
        return self._clock

    def begin(self, lanes: Array, q: Array, v: Array) -> None:
        """Put some worlds at the beginning of an episode."""
        nq, nv = self._equation.tree.nq, self._equation.tree.nv
        self.state[lanes, :nq], self.state[lanes, nq : nq + nv] = q, v
        if self._further.size:
            self.state[lanes, nq + nv :] = self._further
        self._periods[lanes] = self.time[lanes] = self._clock[lanes] = 0.0

    def __call__(self, new: Array | None = None) -> None:
        """Advance by one period, or to a new state that machine code has already computed."""
        if self._run is None:
            self._step_parts(slice(None))
        elif not self._closes_loops:
            np.copyto(self.state, self._run(self._new) if new is None else new)
        else:
            if new is None:
                self._whole[:, :-1], self._whole[:, -1] = self.state, np.inf
                new = self._run(self._new)
            poor = new[:, -1] < 1.0
            if poor.any():  # the choice of constraints fails there: another way, for those lanes only
                self._step_parts(poor)
                new[poor, :-1] = self.state[poor]
            np.copyto(self.state, new[:, :-1])
        self._periods += 1.0
        np.multiply(self._periods, self.period, out=self.time)  # not summed
        self._clock[:, 0] = self.time

    def _step_parts(self, lanes: Any) -> None:
        """Take the steps of some worlds as :func:`kinetree.simulate` does."""
        try:
            self.state[lanes] = self._stepped(lanes)
        except (ClosureError, SingularError, Fault):
            each = np.arange(len(self.state))[lanes]
            if len(each) == 1:
                self.state[each] = np.nan  # this world is lost, the others are not
                return
            for lane in each:
                self._step_parts(slice(lane, lane + 1))

    def _stepped(self, lanes: Any) -> Array:
        nq, nv = self._equation.tree.nq, self._equation.tree.nv
        state = self.state[lanes]
        parts = state[:, :nq], state[:, nq : nq + nv], state[:, nq + nv :]
        with self._equation.reading(self._numbers[lanes]):
            new = self._steps(self.time[lanes], parts, self.step, self.substeps)
        return np.concatenate(new, axis=-1)

    @cached_property
    def _steps(self) -> Any:
        return self._equation.steps.many(self._integrator)
