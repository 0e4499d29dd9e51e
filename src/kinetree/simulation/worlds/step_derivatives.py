"""Derivatives of the end of a world's period with respect to its beginning and the world's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...algorithms.acting_element import Scalars
from ...algorithms.closed_derivatives import state_basis
from ...algorithms.independent_motion import independent_freedoms
from ...algorithms.loop_clusters import Pivots
from ...errors import UnsupportedError
from ...evaluation.law_kernels import LawProgram, StepProgram, prepared_call
from ...evaluation.step_adjoints import StepText, SweepProgram
from ...spatial import Scalar
from ...spatial.arrays import Array
from ..equation import Equation
from ..integrators.fixed_step_methods import IMPLICIT
from ..rate_slopes import RateSlopes, tangents


class StepDerivatives:
    """Derivatives of periods of several steps, as matrices and as gradients.

    States are (q, v, z).  Their changes are along the freedoms (three for a quaternion), velocities and further states:
    ``count`` numbers in all.

    Parameters
    ----------
    equation : Equation
    integrator : str
    step : float
        Seconds of one step of the integrator.
    substeps : int
        Steps of a period.
    start : ndarray (..., nq)
        Closed configurations, for a mechanism.
    threads : int
    """

    def __init__(
        self, equation: Equation, integrator: str, step: float, substeps: int, start: Array, threads: int = 1
    ) -> None:
        if not equation.traceable:
            raise UnsupportedError(
                f"steps of {equation.robot.name!r} are not machine code, and only machine code is differentiated"
            )
        self._equation, self._integrator, self._start = equation, integrator, start
        self._step, self._substeps, self._threads = step, substeps, threads
        laws, tree = equation.steps.laws(integrator, equation.loops), equation.tree
        self._text = StepText(*laws, lambda q: tangents(tree, q), tree.nq, tree.nv, equation.system.nz)
        self.count = 2 * self._text.nv + self._text.nz
        self._laid_out: dict[tuple[int, ...], Any] = {}
        """Forward steps and backward sweeps, by the number of states that they have room for."""

    def _backwards(self, moved: Sequence[int], rows: int) -> SweepProgram:
        equation, tree = self._equation, self._equation.tree

        def make() -> SweepProgram:
            linear = None
            if not tree.is_constrained and not tree.has_followers:
                linear = RateSlopes(equation, moved, self._integrator == IMPLICIT)
            name = f"{self._integrator} steps of {equation.robot.name!r} backwards"
            return SweepProgram(name, self._text, moved, self._substeps, rows, linear, equation.robot.cpu)

        key = "backwards", self._integrator, equation.loops, self._substeps, equation.steps.closing_rounds, rows, *moved
        program: SweepProgram = equation.once(key, make)
        return program

    def _swept(
        self, moved: Sequence[int], rows: int, time: Array, state: Array, ends: Array, numbers: Array, weights: Array
    ) -> Array:
        """Return weights at the start of periods, from common weights at their ends or from those of each."""
        program, whole = self._backwards(moved, rows), self._whole(state)
        if not state.ndim == numbers.ndim == 2:
            found = program(time, self._step, whole, ends, numbers, weights, self._threads)
        else:
            key = len(state), rows, *moved
            if key not in self._laid_out:
                own = weights.ndim == 3
                self._laid_out[key] = program.prepared(self._step, len(state), own, self._threads)
            found = self._laid_out[key](time, whole, ends, numbers, weights)
        found[self._is_lost(ends)] = np.nan
        return found

    @cached_property
    def _forwards(self) -> StepProgram:
        equation, rounds = self._equation, self._equation.steps.closing_rounds
        key = "forwards", self._integrator, equation.loops, self._substeps, rounds
        program: StepProgram = equation.once(
            key, lambda: equation.steps.program(self._integrator, equation.loops, samples=self._substeps)
        )
        return program

    def programs(self, moved: Sequence[int]) -> tuple[StepProgram, SweepProgram]:
        """Return the program of all steps, and that of their derivatives for independent components."""
        return self._forwards, self._backwards(moved, len(self.independent))

    @property
    def times(self) -> tuple[float, int, int]:
        """Seconds of a step, steps of a period, and how many threads share the work."""
        return self._step, self._substeps, self._threads

    @property
    def n_state(self) -> int:
        """Length of a state, with the number for the quality of a mechanism's constraints."""
        return self._text.sizes.state

    def states(self, time: Array, state: Array, numbers: Array) -> Array:
        """Return the end of each step of a period, (..., substeps, n), from its beginning, (..., n)."""
        if state.ndim != 2 or numbers.ndim != 2:
            found = self._forwards(time, self._whole(state), self._step, 1, numbers, self._threads)
            return found.reshape(*found.shape[: state.ndim - 1], self._substeps, -1)
        count = len(state)
        if (count,) not in self._laid_out:
            arrays = [np.zeros((count, n)) for n in (1, self._text.sizes.state, numbers.shape[-1])]
            h, once = np.full((1, 1), self._step), np.ones((1, 1))
            run = self._forwards.prepared(arrays[0], arrays[1], h, once, arrays[2], self._threads)
            self._laid_out[count,] = *arrays, run
        times, states, own, run = self._laid_out[count,]
        times[:, 0], own[:] = time, numbers
        states[:, : state.shape[-1]], states[:, state.shape[-1] :] = state, np.inf
        return np.reshape(run(), (count, self._substeps, states.shape[-1]))

    def prepared(self, time: Array, state: Array, numbers: Array, moved: Sequence[int] = ()) -> PreparedPeriods:
        """Return the derivatives of periods whose beginnings stay in place, (count, n) each, with other numbers."""
        return PreparedPeriods(self, time, state, numbers, moved)

    def _is_lost(self, ends: Array) -> Array:
        """Return which periods these steps do not describe: mechanisms stepped in another way, see `Advance`."""
        if self._equation.loops is None:
            return np.zeros(ends.shape[:-2], dtype=bool)
        return np.asarray(~(ends[..., -1, -1] >= 1.0))

    def _whole(self, state: Array) -> Array:
        """Return a state with the additional number for the quality of a mechanism's constraints."""
        if self._text.sizes.state == state.shape[-1]:
            return state
        return np.concatenate([state, np.full((*state.shape[:-1], 1), np.inf)], axis=-1)

    def matrices(
        self, time: Array, state: Array, ends: Array, numbers: Array, moved: Sequence[int] = ()
    ) -> tuple[Array, Array]:
        """Return the derivatives of a period's end with respect to its beginning and some of its numbers.

        Parameters
        ----------
        time : ndarray (...)
        state : ndarray (..., n)
            States at the beginning of the period.
        ends : ndarray (..., substeps, n)
            See :meth:`states`.
        numbers : ndarray (..., p)
        moved : sequence of int
            Indices of the numbers to differentiate with respect to.

        Returns
        -------
        ndarray (..., count, count), ndarray (..., count, moved)
        """
        found = self.of_independent(time, state, ends, numbers, moved)
        if found.shape[-2] < self.count:
            found = self.basis(ends[..., -1, :]) @ found
        return found[..., : self.count], found[..., self.count :]

    def of_independent(
        self, time: Array, state: Array, ends: Array, numbers: Array, moved: Sequence[int] = ()
    ) -> Array:
        """Return the derivatives of the independent components only, (..., independent, count + moved).

        Parameters are as in :meth:`matrices`, which finds all components from these.
        """
        weights = np.eye(self.count, self.count + len(moved))[self.independent]
        return self._swept(moved, len(weights), time, state, ends, numbers, weights)

    @cached_property
    def _pivots(self) -> Pivots:
        """Constraints of a mechanism, each with the freedom that it determines."""
        return () if self._equation.loops is None else self._equation.robot.coordinates_at(self._start).pivots

    @cached_property
    def independent(self) -> list[int]:
        """Indices of the components of a state's change that determine all others; with loops, not all of them."""
        nv, free = self._text.nv, independent_freedoms(self._equation.tree, self._pivots)
        return [*free, *(nv + j for j in free), *range(2 * nv, self.count)]

    @cached_property
    def _basis(self) -> LawProgram:
        tree, pivots = self._equation.tree, self._pivots

        def law(q: Scalars, v: Scalars) -> list[Scalar]:
            return [x for matrix in state_basis(tree, q, v, pivots) for row in matrix for x in row]

        name = f"changes of closed states of {self._equation.robot.name!r}"
        return LawProgram(name, law, {"q": tree.nq, "v": tree.nv}, True, cpu=self._equation.robot.cpu)

    def basis(self, state: Array) -> Array:
        """Return derivatives of a closed state with respect to independent components, (..., count, independent)."""
        nq, nv, nz = self._text.nq, self._text.nv, self._text.nz
        n = (len(self.independent) - nz) // 2
        found = self._basis({"q": state[..., :nq], "v": state[..., nq : nq + nv]}, self._threads)
        places, rates = np.moveaxis(found.reshape(*state.shape[:-1], 2, nv, n), -3, 0)
        whole = np.zeros((*state.shape[:-1], self.count, len(self.independent)))
        whole[..., :nv, :n] = whole[..., nv : 2 * nv, n : 2 * n] = places
        whole[..., nv : 2 * nv, :n] = rates
        whole[..., 2 * nv :, 2 * n :] = np.eye(nz)
        return whole

    def gradient(
        self, time: Array, state: Array, ends: Array, numbers: Array, weights: Array, moved: Sequence[int] = ()
    ) -> tuple[Array, Array]:
        """Return the gradient of a weighted sum of a period's end, with respect to its beginning and some numbers.

        Parameters are as in :meth:`matrices`, plus ``weights``, (..., count).

        Returns
        -------
        ndarray (..., count), ndarray (..., moved)
        """
        rows = np.zeros((*weights.shape[:-1], 1, self.count + len(moved)))
        rows[..., 0, : self.count] = weights
        found = self._swept(moved, 1, time, state, ends, numbers, rows)[..., 0, :]
        return found[..., : self.count], found[..., self.count :]


class PreparedPeriods:
    """Periods and their derivatives, for the same arrays again and again.

    Attributes
    ----------
    ends : ndarray (count, substeps, n)
        States at the ends of all steps.
    found : ndarray (count, independent, StepDerivatives.count + moved)
        Derivatives of independent components at the end, with respect to all components at the beginning and to the
        moved numbers.
    in_rows : ndarray (count, independent * (StepDerivatives.count + moved))
        The same numbers, in the same memory.

    Parameters
    ----------
    steps : StepDerivatives
    time, state, numbers : ndarrays (count, 1), (count, n), (count, p)
        Their rows are consecutive numbers.
    moved : sequence of int
        Indices of the numbers to differentiate with respect to.
    """

    def __init__(self, steps: StepDerivatives, time: Array, state: Array, numbers: Array, moved: Sequence[int]) -> None:
        forwards, backwards = steps.programs(moved)
        h, substeps, threads = steps.times
        count, rows = len(state), len(steps.independent)
        self._given, self._state = state, state
        if state.shape[-1] < steps.n_state:
            self._state = np.full((count, steps.n_state), np.inf)
        length, once = np.full((1, 1), h), np.ones((1, 1))
        parameters = [numbers] if numbers.shape[-1] else []
        self.ends = np.zeros((count, substeps, steps.n_state))
        whole = np.zeros((count + 1, *backwards.kernel.shape))  # one more, for those who read whole vectors
        self.found = whole[:count, :rows]
        self.in_rows = whole.reshape(count + 1, -1)[:count, : rows * whole.shape[-1]]
        weights = np.zeros((1, *backwards.kernel.shape))
        weights[0, :rows, : steps.count] = np.eye(steps.count)[steps.independent]
        ends = self.ends.reshape(count, -1)
        forward = prepared_call(forwards.kernel, [time, length, once, self._state, *parameters], threads)
        sweep = [time, length, self._state, ends, *parameters, weights.reshape(1, -1)]
        backward = prepared_call(backwards.kernel, sweep, threads)
        self._calls = forward.into(self.ends.reshape(count, *forwards.kernel.shape)), backward.into(whole[:count])
        self._closes = self._state is not state

    def __call__(self) -> None:
        """Compute all of it anew; periods that end otherwise than these steps say, see `Advance`, have NaN."""
        if self._closes:
            self._state[:, : self._given.shape[-1]] = self._given
        for call in self._calls:
            call()
        if self._closes:
            self.found[~(self.ends[:, -1, -1] >= 1.0)] = np.nan
