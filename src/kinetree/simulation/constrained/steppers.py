"""Steps of systems that hold their constraints themselves: adaptive ones, fixed ones, and those of batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ClosureError, Message, Setting, UnsupportedError
from ...run.failure import Fault
from ..integrators.adaptive import ScipyStepper
from ..integrators.fixed_step_methods import ADAPTIVE, GENERALIZED_ALPHA
from ..integrators.stepper import NO_KINKS, FixedStepper, Stepper
from ..integrators.steps_on_arrays import ManySteps
from ..system import State
from .drift import Partitioned, Projection
from .equation import ConstrainedEquation
from .generalized_alpha import AlphaStepper, AlphaSteps

MULTISTEP = ("bdf", "sundials")


class HoldingScipyStepper(ScipyStepper):
    """An adaptive integrator that holds constraints after every step, in the way that was chosen."""

    equation: ConstrainedEquation

    def __init__(self, equation: ConstrainedEquation, name: str, *rest: Any) -> None:
        if name in MULTISTEP and isinstance(equation.drift, (Projection, Partitioned)):
            several = f"{name} remembers several steps, between which constraints cannot be held by "
            raise UnsupportedError(
                Message(several, Setting("drift", equation.drift.name), ": use ", Setting("integrator", "radau"))
            )
        super().__init__(equation, name, *rest)

    def restart(self, t: float, state: State) -> None:
        """Go on from another state."""
        super().restart(t, self._held(t, state))

    def carry_on(self, state: State, end: float) -> None:
        """Go on to another end."""
        Stepper.carry_on(self, state, end)

    def _held(self, t: float, state: State) -> State:
        try:
            return self.equation.held(t, state)
        except ClosureError as problem:
            raise Fault(str(problem), t) from problem

    def step(self) -> None:
        """Go one step on, and hold the constraints there."""
        super().step()
        if isinstance(self.equation.drift, (Projection, Partitioned)):
            self.dense = self.solver.dense_output()  # made from what the step has left
            self.state = self._held(self.t, self.state)
            self.solver.y = np.concatenate(self.state)
            self.solver.f = self._rate(self.t, self.solver.y)

    def state_at(self, t: float) -> State:
        """Return the state at a time within the last step."""
        return self._held(t, super().state_at(t))


class HoldingFixedStepper(FixedStepper):
    """Steps of equal length, after each of which constraints are held."""

    equation: ConstrainedEquation

    def _from(self, t: float, state: State, h: float) -> State:
        try:
            return self.equation.held(t + h, super()._from(t, state, h))
        except ClosureError as problem:
            raise Fault(f"{problem}: a step of {h:g} s may be too large", t) from problem


def stepper_of(
    equation: ConstrainedEquation, integrator: str, begin: float, state: State, end: float, numbers: Any,
    kinks: np.ndarray = NO_KINKS,
) -> Stepper:  # fmt: skip
    """Return what steps such a system."""
    if integrator in ADAPTIVE:
        return HoldingScipyStepper(
            equation, integrator, begin, state, end, numbers.rtol, numbers.atol, numbers.largest_step
        )
    assert numbers.step is not None
    if integrator == GENERALIZED_ALPHA:
        return AlphaStepper(equation, begin, state, end, numbers.step)
    return HoldingFixedStepper(equation, integrator, begin, state, end, numbers.step, kinks)


def held_steps(equation: ConstrainedEquation, integrator: str, step: float) -> ManySteps:
    """Return many steps of a batch, usually of length ``step``."""
    if integrator == GENERALIZED_ALPHA:
        return AlphaSteps(equation, step).many
    one = equation.steps.one(integrator)

    def advance(t: float, state: State, h: float, n: int) -> State:
        with np.errstate(all="ignore"):
            for k in range(n):
                state = equation.held(t + (k + 1) * h, one(t + k * h, state, h))
        return state

    return advance
