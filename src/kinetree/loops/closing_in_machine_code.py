"""Closing loops and reaching goals in machine code: Newton steps on all lanes, each for as long as it needs.

Configurations that cannot be closed this way, because guess or solution is singular, are left to
:mod:`.closing_on_arrays`, which determines ranks on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import qr

from ..algorithms import kinematics, newton_closing_step
from ..algorithms.constrained_dynamics import LEAST_QUALITY
from ..algorithms.newton_closing_step import ClosingTask
from ..evaluation.law_kernels import LawProgram, SearchProgram
from ..evaluation.parameters import Place, put_in
from ..model.tree import Model
from ..spatial import Scalar, sqrt, where
from ..spatial.arrays import Array
from .limits import SLACK
from .tolerances import CLOSED, SETTLED

Scalars = list[Scalar]

CLOSED_SQUARED = CLOSED * CLOSED

MOST_GUESSES = 40
"""The most Newton steps; most guesses take six to nine."""

FIRST_DAMPING = 1.0
"""Damping per squared gap, as lengths, so that wide gaps do not cause long steps along weak constraints."""

TRUST = 0.3
"""A configuration farther from its prediction than this fraction of the step is rejected: it may be on another
branch."""

NO_DISTANCE = 1e-7
"""Distances from the prediction that count as zero, in radians and meters."""

LEAST_PIVOT = 1e-6
"""Rows whose independent part is smaller than this fraction of the largest are left out."""


@dataclass(frozen=True)
class Lanes:
    """The final states of searches and their quality: views of one array (..., n).

    Attributes
    ----------
    state : ndarray
        As searches return it, see :func:`kinetree.algorithms.newton_closing_step.returned`.
    nq : int
    """

    state: Array
    nq: int

    @property
    def q(self) -> Array:
        """Configurations."""
        return self.state[..., : self.nq]

    @property
    def damping(self) -> Array:
        """Damping of the next step."""
        return self.state[..., self.nq]

    @property
    def steps(self) -> Array:
        """Number of steps taken."""
        return self.state[..., self.nq + 1]

    @property
    def size(self) -> Array:
        """Sum of the squares of everything that must vanish, as lengths."""
        return self.state[..., self.nq + 2]

    @property
    def quality(self) -> Array:
        """Independence of the rows at that state: 0 if they are dependent, 1 at best."""
        return self.state[..., self.nq + 3]

    @property
    def worst(self) -> Array:
        """Sum of the squares of all gaps, in meters and radians."""
        return self.state[..., self.nq + 4]

    @property
    def beyond(self) -> Array:
        """By how much the joint that is farthest out exceeds its limits."""
        return self.state[..., self.nq + 5]

    @property
    def angle(self) -> Array:
        """Remaining angle to each goal, squared, (..., goals)."""
        return self.state[..., self.nq + 7 :: 2]

    @property
    def distance(self) -> Array:
        """Remaining distance to each goal, squared, (..., goals)."""
        return self.state[..., self.nq + 8 :: 2]

    def reached(self, tolerance: float) -> Array:
        """Return which lanes have all loops closed and all frames at their goals, in meters and radians."""
        return np.all(self.state[..., self.nq + 6 :] < tolerance * tolerance, axis=-1)

    def __getitem__(self, which: Array) -> Lanes:
        return Lanes(self.state[which], self.nq)

    def __setitem__(self, which: Array, new: Lanes) -> None:
        self.state[which] = new.state

    def __len__(self) -> int:
        return len(self.state)


class QuickClosing:
    """Closes one state in machine code, with as little overhead as possible; unusual cases are left to other code.

    Parameters
    ----------
    function : callable
        Takes steps, a guess, and the gap to end at with the first damping; returns None for arguments that it does not
        support.
    end : ndarray, shape (2,)
    nq : int
    places : dict of str to int
        Indices in q of the joints that are held.
    """

    __slots__ = ("_end", "_function", "_most", "_nq", "_places")

    def __init__(self, function: Callable[..., Any], end: Array, nq: int, places: dict[str, int]) -> None:
        self._function, self._end, self._nq, self._places = function, end, nq, places
        self._most = np.array([float(MOST_GUESSES)])

    def __call__(self, q: Any, fixed: Any, limits: bool) -> Array | None:
        """Return the closed configuration; None if it needs a closer look."""
        if type(fixed) is dict:
            q = np.array(q)
            if q.shape != (self._nq,):
                return None
            for name, position in fixed.items():
                if type(position) is not float:
                    return None
                q[self._places[name]] = position
        found = self._function(self._most, q, self._end)
        if found is None:
            return None
        quality, worst, beyond = found[self._nq + 3 : self._nq + 6].tolist()
        if not (worst <= CLOSED_SQUARED and quality > LEAST_QUALITY) or (limits and beyond > SLACK):
            return None
        return np.asarray(found[: self._nq])


class NewtonClosing:
    """One closing task, as machine code.

    Parameters
    ----------
    model : Model
    task : ClosingTask
    cpu : str
        The processor to make machine code for.
    places : tuple of Place
        Numbers of the model that vary from lane to lane.
    compiled : bool
        Whether to use machine code rather than plain Python.
    slack : float
        How far redundant constraints that contradict others may be off, in meters and radians.
    """

    def __init__(
        self, model: Model, task: ClosingTask, cpu: str, places: tuple[Place, ...] = (), compiled: bool = True,
        slack: float = 0.0,
    ) -> None:  # fmt: skip
        self.model, self.task, self.slack = model, task, slack
        numbers = sum(place.size for place in places)

        def of(parameters: Scalars) -> Model:
            return put_in(model, places, parameters[:numbers]) if places else model

        def begin(q: Scalars, parameters: Scalars) -> Scalars:
            return newton_closing_step.begin(task, q, parameters[numbers:])

        def step(state: Scalars, parameters: Scalars) -> Scalars:
            return newton_closing_step.step(of(parameters), task, state, parameters[numbers:])

        sizes = model.nq, numbers + task.goal_size, 2
        returned = newton_closing_step.returned(model, task)
        self.program = SearchProgram(
            f"closing of {model.name!r}", begin, step, sizes, model.nq + 4, returned, cpu, compiled
        )
        self._cpu, self._compiled, self._of, self._numbers = cpu, compiled, of, numbers
        self.settled = SETTLED * max([1.0, *task.reach])
        self.end = np.array([self.settled, FIRST_DAMPING])
        """The gap to end at, and the first damping."""
        self.is_exact = slack <= CLOSED and not numbers + task.goal_size
        """Whether nothing is given besides a guess, and the default tolerance applies."""

    def search(
        self, q: Array, given: Array, settled: float | None = None, most: int = MOST_GUESSES,
        damping: float | Array = FIRST_DAMPING, threads: int = 1,
    ) -> Lanes:  # fmt: skip
        """Return where searches from guesses (..., nq) end.

        Parameters
        ----------
        q : ndarray, shape (..., nq)
        given : ndarray, shape (..., n)
            Numbers of the model that vary, then those of the goals.
        settled : float, optional
            Gaps at which a search ends, in meters and radians: rounding by default.
        most : int
            The most steps.
        damping : float or ndarray (..., )
            Damping of the first step.
        threads : int
        """
        end = self.end
        if settled is not None or damping is not FIRST_DAMPING:
            end = np.empty((*np.shape(damping), 2))
            end[..., 0], end[..., 1] = self.settled if settled is None else settled, damping
        return Lanes(self.program(q, (given, end), most, threads), self.model.nq)

    def __call__(self, q: Array, given: Array, tolerance: float | None, threads: int = 1) -> tuple[Array, Array]:
        """Return configurations (N, nq), views, from guesses, and which are closed: the others are where they ended.

        Parameters
        ----------
        q : ndarray, shape (N, nq)
        given : ndarray, shape (N, n) or (n,)
            Numbers of the model that vary, then those of the goal.
        tolerance : float, optional
            Gaps below this, in meters and radians, are closed; by default :data:`CLOSED`, and what contradicting
            constraints leave.
        threads : int
        """
        found = self.search(q, given, threads=threads)
        return found.q, self.is_closed(found, tolerance)

    def is_closed(self, found: Lanes, tolerance: float | None) -> Array:
        """Return which lanes are closed to a tolerance, in meters and radians."""
        least = CLOSED if tolerance is None else tolerance
        done = found.worst <= least**2
        if not self.task.adapts:
            done &= found.quality > LEAST_QUALITY
        if tolerance is None and self.slack > CLOSED:
            left = (found.size <= CLOSED**2) & (found.worst <= self.slack**2)
            done |= left & (found.quality > LEAST_QUALITY)
        return np.asarray(done)

    @cached_property
    def _astray(self) -> LawProgram:
        """Whether a path's next configuration is near its prediction, for the length of the step: 1 or 0."""
        task, tree = self.task, self.model

        def law(q: Scalars, there: Scalars, rates: Scalars, numbers: Scalars) -> Scalars:
            off, length = newton_closing_step.astray(self._of(numbers), task, q, there, rates)
            return [where(sqrt(off) < TRUST * sqrt(length) + NO_DISTANCE, 1.0, 0.0)]

        return LawProgram(f"path of {tree.name!r}", law, self._astray_lengths, self._compiled, cpu=self._cpu)

    @property
    def _astray_lengths(self) -> dict[str, int]:
        nq, task = self.model.nq, self.task
        held = self.model.nv - len(task.free) + sum(goal.rows for goal in task.goals)
        return {"q": nq, "there": nq, "rates": held, "numbers": self._numbers}

    @cached_property
    def _way_on(self) -> LawProgram:
        """The prediction of the next configurations."""
        task, tree = self.task, self.model

        def law(q: Scalars, rates: Scalars, numbers: Scalars) -> Scalars:
            model = self._of(numbers)
            return kinematics.integrate(model, q, newton_closing_step.way_on(model, task, q, rates))

        lengths = {name: n for name, n in self._astray_lengths.items() if name != "there"}
        return LawProgram(f"path of {tree.name!r}", law, lengths, self._compiled, cpu=self._cpu)

    def predicted(self, q: Array, rates: Array, numbers: Array | None = None) -> Array:
        """Return the predictions from configurations (N, nq) after unit time; see :meth:`follows`."""
        given = {"q": q, "rates": rates}
        return self._way_on(given if numbers is None else {**given, "numbers": numbers})

    def follows(self, q: Array, there: Array, rates: Array, numbers: Array | None = None) -> Array:
        """Return which configurations lie near their predictions, not on another branch or a turn away.

        Parameters
        ----------
        q, there : ndarray, shape (N, nq)
            Closed configurations.
        rates : ndarray, shape (N, n)
            Rates of the freedoms that are held, in their order, then of the goals.
        numbers : ndarray, shape (N, p), optional
            Numbers of the model that vary, as they are at the next configurations.
        """
        given = {"q": q, "there": there, "rates": rates}
        found = self._astray(given if numbers is None else {**given, "numbers": numbers})
        return np.asarray(found[:, 0] > 0.0)


def independent_rows(samples: Array, candidates: Sequence[int]) -> tuple[int, ...]:
    """Return rows of a dimensionless matrix that are independent of one another, in their order.

    Parameters
    ----------
    samples : ndarray, shape (N, m, n)
        The matrix at several configurations: with joints held, an otherwise ordinary one may be a dead point.
    candidates : sequence of int
        The rows to choose from.
    """
    best: tuple[int, float, Sequence[int]] = (0, 0.0, ())
    for k in samples:
        _, r, order = qr(k[list(candidates)].T, mode="economic", pivoting=True)
        sizes = np.abs(np.diagonal(r)) / max(float(np.abs(r[:1, :1]).max(initial=0.0)), 1e-300)
        count = int((sizes > LEAST_PIVOT).sum())
        best = max(best, (count, float(sizes[:count].min(initial=1.0)), order[:count].tolist()))
    return tuple(sorted(candidates[i] for i in best[2]))
