"""Derivatives of a world's periods: of one, of the nodes of a plan, of rollouts; with respect to named numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...control.base import Sum
from ...control.commands import Commanded
from ...errors import OptionError, ShapeError, UnknownNameError, UnsupportedError
from ...robot.robot import Robot
from ...spatial.arrays import Array
from ...spatial.numbers import whole_number
from ..system import FORCES, DynamicSystem
from .actions import Actions
from .advance import Advance
from .randomized import GROUND, MOTOR_STRENGTH
from .rollout import MovedNumbers, Period, RewardGradient, Rollout
from .step_derivatives import StepDerivatives
from .step_result import Stepped, Transition

COMMANDS = ("command", "before", "given_at", "delay")
"""Numbers of motors that actions set, with their times of arrival, which fall on whole steps and have no derivative."""


def named_numbers(
    system: DynamicSystem, slices: Mapping[str, slice], pushes: bool
) -> tuple[dict[str, slice], dict[str, slice], list[slice]]:
    """Return the indices of the numbers of a world's motors, of all named numbers, and of the last pushes.

    Parameters
    ----------
    system : DynamicSystem
        A system whose controller is that of the motors, or a sum that begins with it.
    slices : mapping from str to slice
        Slices of the numbers of all parts.
    pushes : bool
        Whether the last of its forces are set from outside, as pushes are.
    """
    others = system.controller.parts[1:] if isinstance(system.controller, Sum) else ()
    motors = "0.0." if others else "0."
    at = {name: slices[motors + name] for name in Commanded.GAINS}
    given = system.varied
    found = {place.path: given.slice_of(place) for place in given.places}
    found |= {MOTOR_STRENGTH if name == "strength" else name: at[name] for name in at if name not in COMMANDS}
    first = 2 + len(system.ground)
    owners = {f"0.{k + 1}": _numbered("controller", k, others) for k in range(len(others))}
    owners |= {f"{k + 1}": _numbered(GROUND, k, system.ground) for k in range(len(system.ground))}
    owners |= {f"{k + first}": _numbered(FORCES, k, system.forces) for k in range(len(system.forces) - pushes)}
    for owner, name in owners.items():
        own = f"{owner}."
        found |= {f"{name}.{key.removeprefix(own)}": where for key, where in slices.items() if key.startswith(own)}
    last = f"{first + len(system.forces) - 1}."
    pushed = [where for key, where in slices.items() if pushes and key.startswith(last)]
    return at, found, pushed


def _numbered(name: str, k: int, all_of_them: Sequence[Any]) -> str:
    return name if len(all_of_them) == 1 else f"{name}[{k}]"


class WorldDerivatives:
    """Differentiates periods of a world.

    Parameters
    ----------
    robot : Robot
    steps : StepDerivatives
    advance : Advance
        States and times of the worlds.
    actions : Actions
    numbers : ndarray (batch, n)
        Numbers of the worlds.
    places, at : mappings from str to slice
        Slices of the named numbers, and of those of motors.
    pushed : sequence of slice
        Slices of the numbers that pushes set.
    reward : RewardGradient, optional
    """

    def __init__(
        self, robot: Robot, steps: StepDerivatives, advance: Advance, actions: Actions, numbers: Array,
        places: Mapping[str, slice], at: Mapping[str, slice], pushed: Sequence[slice], reward: RewardGradient | None,
    ) -> None:  # fmt: skip
        self.robot, self.steps, self.reward, self.period = robot, steps, reward, advance.period
        self._advance, self._actions, self._numbers, self._places = advance, actions, numbers, places
        self._command, self._before = _range(at["command"]), _range(at["before"]) if actions.is_late else []
        self.changing = [k for where in (*(at[name] for name in COMMANDS[:3]), *pushed) for k in _range(where)]
        """Numbers that change from period to period."""

    def moved(self, parameters: Sequence[str]) -> MovedNumbers:
        """Return the numbers to differentiate with respect to: commands, and parameters by name."""
        found, names = list[int](), dict[str, slice]()
        for name in (parameters,) if isinstance(parameters, str) else parameters:
            if name not in self._places:
                raise UnknownNameError("number of the world", name, self._places)
            own = _range(self._places[name])
            names[name] = slice(len(found), len(found) + len(own))
            found += own
        return MovedNumbers(self._command, self._before, found, names)

    def along_freedoms(self, state: Array, weights: Array) -> Array:
        """Return weights along the freedoms, from weights of coordinates or of freedoms, (..., n)."""
        nq, nv = self.robot.nq, self.robot.nv
        if nq == nv or weights.shape[-1] == self.steps.count:
            return weights
        moving = self.robot.configuration_rate(state[..., None, :nq], np.eye(nv))
        along = (moving @ weights[..., :nq, None])[..., 0]
        return np.concatenate([along, weights[..., nq:]], axis=-1)

    def here(self) -> tuple[Array, Array]:
        """Return times and states of the worlds."""
        return self._advance.time.copy(), self._advance.state.astype(float)

    def step(self, begin: tuple[Array, Array], moved: MovedNumbers) -> tuple[Array, Array, dict[str, Array], Array]:
        """Advance one period; return derivatives of its end for states, actions, parameters and earlier actions."""
        numbers = self._numbers.astype(float)
        ends = self.steps.states(*begin, numbers)
        self._advance(ends[:, -1])
        by_state, found = self.steps.matrices(*begin, ends, numbers, moved.all)
        by_action, before, others = moved.split(found)
        earlier = by_action[:, None][:, :0]
        if self._actions.is_late:
            ago = np.arange(int(self._actions.late.max()) + 2) - self._actions.late[:, None]
            shares = [np.where((ago == k)[..., None, None], x[:, None], 0.0) for k, x in enumerate((by_action, before))]
            by_action, earlier = (shares[0] + shares[1])[:, 0], (shares[0] + shares[1])[:, 1:]
        return by_state, by_action, moved.named(others), earlier

    def transition(self, state: ArrayLike, action: Array, time: ArrayLike, parameters: Sequence[str]) -> Transition:
        """Return the states after a period from any states, with the derivatives."""
        if self._actions.is_late:
            raise UnsupportedError("with a delay, the end of a period also depends on earlier actions: leave delay out")
        given, when, own = np.asarray(state, dtype=float), np.asarray(time, dtype=float), self._numbers.astype(float)
        n = self._advance.state.shape[-1]
        if given.shape[-1:] != (n,):
            raise ShapeError(f"state must have shape (..., {n}), q, v and further states, got {given.shape}")
        if len(own) == 1:
            own = own[0]
        try:
            batch = np.broadcast_shapes(given.shape[:-1], action.shape[:-1], when.shape, own.shape[:-1])
        except ValueError:
            raise ShapeError(
                f"states {given.shape}, actions {action.shape} and times {when.shape} do not fit together in "
                f"{len(self._numbers)} worlds"
            ) from None
        moved, numbers = self.moved(parameters), np.array(np.broadcast_to(own, (*batch, own.shape[-1])))
        numbers[..., self._command] = action
        begin = np.broadcast_to(when, batch), np.broadcast_to(given, (*batch, n))
        ends = self.steps.states(*begin, numbers)
        by_state, found = self.steps.matrices(*begin, ends, numbers, moved.all)
        by_action, _, others = moved.split(found)
        return Transition(ends[..., -1, :n], by_state, by_action, moved.named(others))

    def rollout(
        self, actions: Any, steps: int | None, keep: bool, take: Callable[[ArrayLike], None],
        stepped: Callable[[], Stepped],
    ) -> Rollout:  # fmt: skip
        """Advance by many periods; ``take`` takes actions, ``stepped`` evaluates the end of each period."""
        find: Callable[[int, Array], ArrayLike] = actions if callable(actions) else lambda k, _: given[k]
        given = np.zeros((0, 0)) if callable(actions) else np.asarray(actions)
        if callable(actions) and steps is None:
            raise OptionError("a policy does not say how long a rollout is: give steps=...")
        if not callable(actions) and (given.ndim not in (2, 3) or steps not in (None, len(given))):
            batch, motors = len(self._numbers), len(self._command)
            raise ShapeError(f"actions must have shape (steps, {batch}, {motors}), got {given.shape}")
        periods, states, outcomes, taken = list[Period](), [self.here()[1]], list[Stepped](), list[Array]()
        fixed, late = self._numbers.astype(float), self._actions.late.copy()
        for k in range(len(given) if steps is None else whole_number(steps, "steps", least=1)):
            begin = self.here()
            take(find(k, begin[1]))
            numbers = self._numbers.astype(float)
            ends = self.steps.states(*begin, numbers)
            self._advance(ends[:, -1])
            previous = self._actions.previous.astype(float)
            periods.append(Period(begin[0], numbers[:, self.changing], previous, ends if keep else None))
            outcomes.append(stepped())
            states.append(self.here()[1])
            taken.append(self._actions.given.astype(float))
        return Rollout(self, fixed, late, periods, np.array(states), np.array(taken), outcomes)


def _range(where: slice) -> list[int]:
    return list(range(where.start, where.stop))
