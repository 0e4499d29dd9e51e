"""Predictive control: a problem that is solved again at every sample, from where the last solution left off."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import ExplainsArguments, OptionError, ShapeError
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import whole_number

from .plan import Plan
from .problem import MotionProblem
from .solver import Budget, MotionSearch


class Predictive(ExplainsArguments):
    """A controller that plans ahead at every sample, and does the first action of its plan.

    It is a function ``f(t, q, v)`` of joint forces for :class:`Sampled`, with the problem's step as period. At the
    first sample it plans thoroughly; at every other one it moves the plan on by the time that has passed, begins it at
    the measured state by the plan's own feedback, and improves it by a few iterations. For many robots at once,
    :meth:`actions` takes a batch of states.

    Parameters
    ----------
    problem : MotionProblem
        Its horizon is how far it looks ahead; targets that are trajectories move with time.
    iterations : int
        Iterations at a sample.
    first : int
        The most iterations at the first sample.

    Attributes
    ----------
    plan : Plan or None
        The plan of the last sample.

    Examples
    --------
    >>> import kinetree as kt
    >>> arm = kt.Builder("arm").body("link", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5)).build()
    >>> costs = [kt.optimize.Positions([1.0], weight=10.0, at="always"), kt.optimize.Effort(weight=0.01)]
    >>> problem = kt.optimize.MotionProblem(arm, horizon=0.5, step=0.02, costs=costs)
    >>> law = kt.control.Sampled(kt.control.Predictive(problem), period=problem.step)
    >>> record = kt.simulate(arm, time=1.0, controller=law)
    """

    def __init__(self, problem: MotionProblem, iterations: int = 1, first: int = 200) -> None:
        if not isinstance(problem, MotionProblem):
            raise OptionError(f"Predictive takes a kt.optimize.MotionProblem, not {problem!r}")
        self.problem = problem
        self.iterations = whole_number(iterations, "iterations", least=1)
        self.first = whole_number(first, "first", least=1)
        if problem.dynamics.command.mode != "torque":
            raise OptionError("Predictive gives joint forces: the problem's actions must be torques")
        if problem.dynamics.nz:
            raise OptionError("Predictive does not know states of force elements, which are not measured")
        self.reset()

    def reset(self) -> None:
        """Forget the last plan, as at the beginning of a run."""
        self._search: MotionSearch | None = None
        self._time = 0.0
        self._batch: tuple[int, ...] = ()

    @property
    def plan(self) -> Plan | None:
        """The plan of the last sample."""
        if self._search is None:
            return None
        return self.problem.plan_of(self._search.now(), self._batch)

    def actions(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return actions (..., motors) at measured states (..., nq) and (..., nv)."""
        x = np.concatenate(_same_batch(np.asarray(q, dtype=float), np.asarray(v, dtype=float)), axis=-1)
        batch = x.shape[:-1]
        if len(batch) > 1 or x.shape[-1] != self.problem.dynamics.nx:
            raise ShapeError(f"states must be (nq,) and (nv,), or rows of them, got {np.shape(q)} and {np.shape(v)}")
        start = x.reshape(-1, x.shape[-1])
        if self._search is None:
            plan = self.problem.solve(q, v, iterations=self.first)
            self._search, self._batch, self._time = self._made(plan), batch, t
            u = plan.found.u[0]
        else:
            if batch != self._batch:
                raise ShapeError(f"the first sample had a batch of {self._batch}, this one has {batch}")
            passed = round((t - self._time) / self.problem.step)
            self._time += passed * self.problem.step
            times = self.problem.times + self._time
            self._search.go_on(start, passed, times, self.problem.numbers_at(times, len(start)), self.iterations)
            u = self._search.passes.u[0].copy()
        return u.reshape(*batch, u.shape[-1])

    def _made(self, plan: Plan) -> MotionSearch:
        budget = Budget(self.iterations, np.inf, self.problem.tolerance)
        return self.problem.search(plan, budget)

    def __call__(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the forces on all freedoms."""
        return self.problem.dynamics.on_freedoms(self.actions(t, q, v))


def _same_batch(q: Array, v: Array) -> tuple[Array, Array]:
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return np.broadcast_to(q, (*batch, q.shape[-1])), np.broadcast_to(v, (*batch, v.shape[-1]))
