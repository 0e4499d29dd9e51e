"""Periods of a world one after the other, and the gradient of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import OptionError, ShapeError
from ...evaluation.law_kernels import SlopeProgram
from ...robot.robot import Robot
from ...spatial.arrays import Array
from .goals import Goals
from .outcome import OutcomeLaw
from .step_result import Stepped

if TYPE_CHECKING:
    from .derivative_methods import WorldDerivatives


class MovedNumbers(NamedTuple):
    """The numbers of a world to differentiate with respect to: commands, earlier ones if needed, and parameters."""

    command: list[int]
    before: list[int]
    parameters: list[int]
    names: dict[str, slice]
    """Slice of each parameter among these."""

    @property
    def all(self) -> list[int]:
        """Commands, earlier commands and parameters, one after another."""
        return self.command + self.before + self.parameters

    def split(self, found: Array) -> tuple[Array, Array, Array]:
        """Return derivatives (..., n) with respect to commands, earlier commands, and parameters."""
        a, b = len(self.command), len(self.command) + len(self.before)
        return found[..., :a], found[..., a:b], found[..., b:]

    def named(self, found: Array) -> dict[str, Array]:
        """Return derivatives (..., n) with respect to parameters, as a mapping from their names."""
        return {name: found[..., where] for name, where in self.names.items()}


class RewardGradient:
    """The gradient of a world's reward.

    Parameters
    ----------
    outcome : OutcomeLaw
    lengths : mapping from str to int
        Lengths of its vectors.
    goals : Goals
    robot : Robot
    threads : int
    """

    BY = ("state", "p", "action", "previous")

    def __init__(
        self, outcome: OutcomeLaw, lengths: Mapping[str, int], goals: Goals, robot: Robot, threads: int
    ) -> None:
        self._outcome, self._lengths, self._goals, self._threads = outcome, lengths, goals, threads
        self._robot = robot

    @cached_property
    def _slopes(self) -> SlopeProgram:
        def law(**vectors: Any) -> list[Any]:
            return self._outcome(**vectors)[self._outcome.observed :][:1]

        return SlopeProgram(f"reward of {self._robot.name!r}", law, self._lengths, self.BY, True, self._robot.cpu)

    def __call__(self, time: Array, weights: Array, *vectors: Array) -> list[Array]:
        """Return the gradient of weighted rewards with respect to states, numbers, actions and earlier actions."""
        named = dict(zip(self.BY, vectors, strict=True)) | {
            "t": time[:, None],
            "goal": self._goals.numbers.astype(float),
        }
        found = self._slopes.gradient(named, weights[:, None], self._threads)
        return np.split(found, np.cumsum([x.shape[-1] for x in vectors])[:-1], axis=-1)


class Period(NamedTuple):
    """One period: its initial state and numbers, and the ends of its steps."""

    time: Array
    changing: Array
    """Numbers that change from period to period, (batch, n)."""
    previous: Array
    """The action before this one."""
    ends: Array | None
    """Ends of its steps; None if they have to be computed again."""


class RolloutGradient(NamedTuple):
    """The gradient of a result of a rollout, separately for each world."""

    start: Array
    """With respect to the initial state, (batch, 2 nv): positions along the freedoms, velocities, further states."""
    actions: Array
    """With respect to the actions, (steps, batch, n)."""
    parameters: dict[str, Array]
    """With respect to numbers of the world, (batch, n) by name."""


class Rollout:
    """Periods of a world, see :meth:`kinetree.World.rollout`.

    Attributes
    ----------
    states : ndarray (steps + 1, batch, n)
        Configurations, velocities and further states at the beginning of each period and at the end of the last one.
    actions : ndarray (steps, batch, n)
    rewards : ndarray (steps, batch)
        Empty if the world has no reward.
    ended, lost : ndarray of bool (steps, batch)
    """

    def __init__(
        self, made_by: WorldDerivatives, numbers: Array, late: Array, periods: Sequence[Period], states: Array,
        actions: Array, outcomes: Sequence[Stepped],
    ) -> None:  # fmt: skip
        self._by, self._numbers, self._late, self._periods = made_by, numbers, late, periods
        self.states, self.actions = states, actions
        self.rewards = np.array([x.reward for x in outcomes if x.reward is not None], dtype=float)
        self.ended, self.lost = np.array([x.ended for x in outcomes]), np.array([x.lost for x in outcomes])

    def __len__(self) -> int:
        return len(self._periods)

    def gradient(
        self, states: ArrayLike | None = None, rewards: ArrayLike | None = None, *, parameters: Sequence[str] = (),
        policy: Callable[[int, Array], ArrayLike] | None = None,
    ) -> RolloutGradient:  # fmt: skip
        """Return the gradient of a sum over states and rewards, by one backward sweep through all steps.

        Parameters
        ----------
        states : array_like, shape (steps + 1, batch, n) or (batch, n)
            The gradient of the objective with respect to each state, or to the last one: coordinates, velocities and
            further states, or freedoms instead of coordinates, (..., 2 nv).
        rewards : array_like, shape (steps, batch) or less
            The derivative of the objective with respect to each reward; ``1.0`` for their sum.
        parameters : sequence of str
            Numbers of the world, by the names of :attr:`kinetree.World.numbers`, for which the gradient is also
            computed.
        policy : callable, optional
            If actions depend on states, ``policy(k, by_action)`` converts the gradient with respect to the action of
            period k to that with respect to the state at its beginning, both (batch, n).  It is called from the last
            period to the first.

        Returns
        -------
        RolloutGradient
            NaN in worlds that were lost on the way.
        """
        by = self._by
        if rewards is not None and by.reward is None:
            raise OptionError("this World has no reward: give reward=... when it is made, or weights of states")
        count, batch = len(self), self.states.shape[1]
        of_rewards = None if rewards is None else np.broadcast_to(np.asarray(rewards, dtype=float), (count, batch))
        weights = self._weights(states)
        moved = by.moved(parameters)
        actions, total = np.zeros_like(self.actions), np.zeros((batch, len(moved.parameters)))
        here = weights[count]
        for k in reversed(range(count)):
            period, numbers = self._periods[k], self._numbers_of(k)
            if of_rewards is not None and by.reward is not None:
                given = self.states[k + 1], numbers, self.actions[k], period.previous
                of_state, of_numbers, of_action, of_previous = by.reward(period.time + by.period, of_rewards[k], *given)
                here = here + by.along_freedoms(self.states[k + 1], of_state)
                total += of_numbers[:, moved.parameters]
                actions[k] += of_action
                if k:
                    actions[k - 1] += of_previous
            ends = period.ends if period.ends is not None else by.steps.states(period.time, self.states[k], numbers)
            here, found = by.steps.gradient(period.time, self.states[k], ends, numbers, here, moved.all)
            arrived, before, of_parameters = moved.split(found)
            total += of_parameters
            _add_late(actions, arrived, k - self._late)
            if before.shape[-1]:
                _add_late(actions, before, k - 1 - self._late)
            if policy is not None:
                here = here + by.along_freedoms(self.states[k], np.asarray(policy(k, actions[k]), dtype=float))
            here = here + weights[k]
        return RolloutGradient(here, actions, moved.named(total))

    def _numbers_of(self, k: int) -> Array:
        numbers = self._numbers.copy()
        numbers[:, self._by.changing] = self._periods[k].changing
        return numbers

    def _weights(self, given: ArrayLike | None) -> Array:
        """Return weights of all states along their freedoms."""
        count, batch, n = self.states.shape
        weights = np.zeros((count, batch, self._by.steps.count))
        if given is None:
            return weights
        array = np.asarray(given, dtype=float)
        if array.ndim < 1 or array.shape[-1] not in (n, weights.shape[-1]):
            raise ShapeError(
                f"weights of states have {n} numbers each, or {weights.shape[-1]} along the freedoms, got {array.shape}"
            )
        try:
            if array.ndim < 3:
                weights[-1] = self._by.along_freedoms(self.states[-1], np.broadcast_to(array, (batch, array.shape[-1])))
            else:
                weights[:] = self._by.along_freedoms(self.states, array)
        except ValueError:
            raise ShapeError(
                f"weights of states must have shape {(count, batch, n)}, or {(batch, n)} for the last one, not "
                f"{array.shape}"
            ) from None
        return weights


def _add_late(actions: Array, found: Array, given_at: Array) -> None:
    """Add gradients of commands to those of their actions, lane by lane; older actions are ignored."""
    known = np.flatnonzero(given_at >= 0)
    actions[given_at[known], known] += found[known]
