"""Closing loops in machine code: Newton's steps on all lanes of a batch, each for as long as it needs.

What is not closed by these, since guess or answer is singular or a redundant constraint contradicts the others by
rounding, is left to :mod:`.closing`, which finds ranks on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from ..algorithms import closing
from ..algorithms.closing import ClosingTask
from ..algorithms.constrained import LEAST_QUALITY
from ..model.tree import Model
from ..run.law_kernels import LawProgram, Sizes, StepProgram
from ..run.parameters import Place, put_in
from ..spatial import Scalar
from ..spatial.arrays import Array

Scalars = list[Scalar]

STEPS_BETWEEN_LOOKS = (6, 3, 4, 8, 16)
"""Steps before each look at which lanes are closed: most guesses take six to nine."""

SETTLED = 4e-15
"""Gaps below this part of the mechanism's size, in meters and radians, are rounding."""

TRUST = 0.3
"""A configuration farther from its prediction than this part of the step is not taken: it may be on another branch."""

NO_DISTANCE = 1e-7
"""Distances from the prediction that are none, in radians and meters."""

LEAST_PIVOT = 1e-6
"""Rows whose part that is independent of the others is smaller than this part of the largest are left out."""


class NewtonClosing:
    """One task of closing, as machine code.

    Parameters
    ----------
    model : Model
    task : ClosingTask
    cpu : str
        What machine code is made for.
    places : tuple of Place
        Numbers of the model that vary from lane to lane.
    compiled : bool
        Machine code, or the text as it is written.
    """

    def __init__(
        self, model: Model, task: ClosingTask, cpu: str, places: tuple[Place, ...] = (), compiled: bool = True
    ) -> None:
        self.model, self.task = model, task
        numbers = sum(place.size for place in places)

        def of(parameters: Scalars) -> Model:
            return put_in(model, places, parameters[:numbers]) if places else model

        def rate(q: Scalars, parameters: Scalars) -> Scalars:
            found = closing.judge(of(parameters), task, q, parameters[numbers:])
            return [*found.move, found.size, found.quality, found.worst]

        def advance(ask: closing.Ask, t: Scalar, state: Scalars, h: Scalar, parameters: Scalars) -> Scalars:
            return closing.next_guess(of(parameters), task, ask, state)

        nq, count = model.nq, len(task.free)
        sizes = Sizes(nq + task.state_size, nq, numbers + task.goal_size, count + 3)
        self.steps = StepProgram(f"closing of {model.name!r}", advance, rate, sizes, cpu, compiled=compiled)
        self._cpu, self._compiled, self._of, self._numbers = cpu, compiled, of, numbers
        self.settled = SETTLED * max(1.0, *task.reach)

    def __call__(self, q: Array, given: Array, tolerance: float, threads: int = 1) -> tuple[Array, Array]:
        """Return configurations (N, nq) from guesses, and which are closed: the others are where they came to.

        Parameters
        ----------
        q : ndarray, shape (N, nq)
        given : ndarray, shape (N, n) or (n,)
            Numbers of the model that vary, then those of the goal.
        tolerance : float
            Gaps below this, in meters and radians, are closed.
        threads : int
        """
        nq = self.model.nq
        state = np.empty((len(q), nq + self.task.state_size))
        state[:, :nq], state[:, nq:] = q, closing.start(self.task)
        whole, lanes, before = state, np.arange(len(q)), state[:, -1]
        for rounds in STEPS_BETWEEN_LOOKS:
            own = given if given.ndim == 1 else given[lanes]
            state = self.steps(0.0, state, 0.0, rounds, own, threads)
            whole = state if len(lanes) == len(whole) else _put(whole, lanes, state)
            going_on = (state[:, -1] > self.settled**2) & (state[:, -1] < before)
            if not going_on.any():
                break
            if not going_on.all():
                lanes, state = lanes[going_on], state[going_on]
            before = state[:, -1]
        return whole[:, :nq], (whole[:, -1] <= tolerance**2) & (whole[:, -2] > LEAST_QUALITY)

    def closed(
        self, q: Array, given: Array, tolerance: float, otherwise: Callable[[Array], tuple[Array, Array, Array]]
    ) -> tuple[Array, Array, Array]:
        """Return configurations (N, nq), the gaps left, and which are closed.

        ``otherwise`` returns the same of those lanes (numbers of them) that are not closed so.
        """
        found, done = self(q, given, tolerance)
        gaps, rest = np.zeros((len(q), len(self.task.weights))), np.flatnonzero(~done)
        if len(rest):
            found[rest], gaps[rest], done[rest] = otherwise(rest)
        return found, gaps, done

    @cached_property
    def _astray(self) -> LawProgram:
        """How far the next configuration of a path is from where the one before leads to, and how long the way is."""
        task, tree = self.task, self.model

        def law(q: Scalars, there: Scalars, rates: Scalars, numbers: Scalars) -> Scalars:
            return list(closing.astray(self._of(numbers), task, q, there, rates))

        held = tree.nv - len(task.free) + task.n_goal_rows
        lengths = {"q": tree.nq, "there": tree.nq, "rates": held, "numbers": self._numbers}
        return LawProgram(f"path of {tree.name!r}", law, lengths, self._compiled, cpu=self._cpu)

    def follows(self, q: Array, there: Array, rates: Array, numbers: Array | None = None) -> Array:
        """Return which configurations lie where the ones before lead to, not on another branch or a turn farther.

        Parameters
        ----------
        q, there : ndarray, shape (N, nq)
            Closed configurations.
        rates : ndarray, shape (N, n)
            See :func:`kinetree.algorithms.closing.astray`.
        numbers : ndarray, shape (N, p), optional
            Those of the model that vary.
        """
        given = {"q": q, "there": there, "rates": rates}
        off, way = np.sqrt(self._astray(given if numbers is None else {**given, "numbers": numbers}).T)
        return np.asarray(off <= TRUST * way + NO_DISTANCE)


def _put(whole: Array, lanes: Array, state: Array) -> Array:
    whole[lanes] = state
    return whole


def independent_rows(k: Array, candidates: Sequence[int]) -> tuple[int, ...]:
    """Return those of some rows of a matrix without units that are independent of one another, in their order."""
    _, r, order = qr(k[list(candidates)].T, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(r))
    count = int((sizes > LEAST_PIVOT * sizes[:1].max(initial=0.0)).sum())
    return tuple(sorted(int(candidates[i]) for i in order[:count]))
