"""The generalized-alpha method for constrained motion: second order, implicit; it damps motions too fast for a step.

With the joints' group (Arnold and Bruls 2007, Bruls and Cardona 2010), one step from n to n + 1 is

    q+ = q exp(h v + h^2 ((1/2 - beta) a + beta a+)),    v+ = v + h ((1 - gamma) a + gamma a+),
    (1 - alpha_m) a+ + alpha_m a = (1 - alpha_f) v'+ + alpha_f v',
    M(q+) v'+ + h(q+, v+) = tau + K^T lambda,    gap(q+) = s(t+),

solved for v'+ and lambda by Newton's method; a is not an acceleration but follows one.  Constraints on velocities
take the place of their gaps.  The coefficients are Chung and Hulbert's (1993), given by the spectral radius for
oscillations that are too fast for the steps: 1 keeps them, 0 removes them immediately.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...algorithms import constrained_dynamics, newton_euler
from ...algorithms.acting_element import Scalars
from ...algorithms.constrained_dynamics import inner
from ...errors import ClosureError
from ...evaluation.law_failures import Fault
from ...evaluation.law_kernels import LawProgram
from ...spatial import Scalar
from ...spatial.arrays import Array
from ..equation import Equation
from ..system import State
from .fixed_step_methods import GENERALIZED_ALPHA
from .stepper import FixedStepper

MOST_ROUNDS = 25

ALPHA_SETTLED = 1e-10
"""Iterations end when accelerations and forces change by less than this fraction."""

ASIDE = 1e-7
"""Displacement for derivatives of residuals, in radians and meters."""

SHORT = 1e-2
"""Fraction of the usual step below which a step is a Taylor polynomial.

Gaps are divided by the square of the step, which leaves no correct digits for a very short one.  At this length, the
error of a second-order polynomial is a millionth of that of a whole step.
"""


class Coefficients(NamedTuple):
    """Coefficients of the method."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


def coefficients(spectral_radius: float) -> Coefficients:
    """Return Chung and Hulbert's choice."""
    alpha_m = (2.0 * spectral_radius - 1.0) / (spectral_radius + 1.0)
    alpha_f = spectral_radius / (spectral_radius + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    return Coefficients(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)


class Memory(NamedTuple):
    """The quantities that a step passes on to the next one in addition to the state."""

    a: Array
    """The method's a, which follows the accelerations."""
    rate: Array
    """Accelerations."""
    forces: Array
    """Multipliers."""
    z_rate: Array


class AlphaSteps:
    """Steps of one equation of motion, for one state or a batch.

    Parameters
    ----------
    equation : Equation
        The equation of a run.
    step : float
        Usual length of a step.
    """

    def __init__(self, equation: Equation, step: float) -> None:
        self.equation, self.usual_step = equation, step
        radius = equation.holding.spectral_radius
        self.coefficients = coefficients(1.0 if radius is None else radius)
        assert equation.hold is not None
        assert equation.hold.choice is not None
        self.hold, self.choice = equation.hold, equation.hold.choice
        velocity_only = set(equation.tree.velocity_constraints)
        self.of_velocity = np.array(
            [r in velocity_only for r in self.hold.kept] + [False] * len(self.hold.prescribed.joints), dtype=bool
        )

    # ------------------------------------------------------------------ the equations

    def _program(self) -> LawProgram:
        equation, choice = self.equation, self.choice
        tree, rows = equation.tree, choice.rows

        def law(
            t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars, a: Scalars, f: Scalars = ()
        ) -> list[Scalar]:
            system, schedule = equation.with_numbers(p), choice.targets(t[0])
            acting = system.acting(t[0], q, v, z, tau or None)
            needed, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, acting.loads)
            k = constrained_dynamics.matrix(tree, q, rows, schedule)
            push = [inner([row[j] for row in k], f) for j in range(tree.nv)]
            left = [x - y - w for x, y, w in zip(needed, acting.total, push, strict=True)]
            gaps, slips = (
                constrained_dynamics.gaps(tree, q, rows, schedule),
                constrained_dynamics.slips(k, v, rows, schedule),
            )
            powers = system.powers(q, v, acting) if system.works else []
            if powers:
                powers[0] = powers[0] + inner(f, constrained_dynamics.wanted_rates(rows, schedule))
            return [*left, *gaps, *slips, *acting.z_rate, *powers]

        return equation.kept_program("generalized-alpha step", law, choice, a=tree.nv, f=len(self.of_velocity))

    def _residual(self, t: float, state: State, a: Array, f: Array, h: float) -> tuple[Array, Array]:
        """Return the residuals of the equations, those of positions as accelerations, and the rates of z."""
        equation, c = self.equation, self.coefficients
        equation.n_calls += 1
        out = self._program()({**equation.named(t, *state), "a": a, "f": f}, equation.threads)
        nv, n = equation.tree.nv, f.shape[-1]
        gaps, slips = out[..., nv : nv + n], out[..., nv + n : nv + 2 * n]
        held = np.where(self.of_velocity, slips / (h * c.gamma), gaps / (h * h * c.beta))
        return np.concatenate([out[..., :nv], held], axis=-1), out[..., nv + 2 * n :]

    # ------------------------------------------------------------------ one step

    def begin(self, t: float, state: State) -> Memory:
        """Return the memory that the first step needs: consistent accelerations."""
        _, a, z_rate = self.equation.rates(t, *state)
        n = len(self.of_velocity)
        return Memory(a, a, np.zeros((*a.shape[:-1], n)), z_rate)

    def advance(self, t: float, state: State, h: float, memory: Memory) -> tuple[State, Memory]:
        """Return the state a step later."""
        c, robot = self.coefficients, self.equation.robot
        q, v, z = state
        if h < SHORT * self.usual_step:
            there = robot.normalize(robot.integrate(q, h * v + 0.5 * h * h * memory.rate))
            return (there, v + h * memory.rate, z + h * memory.z_rate), memory
        share = (1.0 - c.alpha_f) / (1.0 - c.alpha_m)
        nv = v.shape[-1]

        def at(rate: Array) -> tuple[State, Array]:
            a = share * rate + (c.alpha_f * memory.rate - c.alpha_m * memory.a) / (1.0 - c.alpha_m)
            move = h * v + h * h * ((0.5 - c.beta) * memory.a + c.beta * a)
            faster = v + h * ((1.0 - c.gamma) * memory.a + c.gamma * a)
            begin = np.broadcast_to(q, (*move.shape[:-1], q.shape[-1]))
            return (robot.normalize(robot.integrate(begin, move)), faster, z_new), a

        z_new = z + h * memory.z_rate
        unknown = np.concatenate([memory.rate, memory.forces], axis=-1)
        inverse, last = None, np.inf
        for count in range(MOST_ROUNDS):
            new, a = at(unknown[..., :nv])
            left, z_rate = self._residual(t + h, new, unknown[..., :nv], unknown[..., nv:], h)
            z_new = z + 0.5 * h * (memory.z_rate + z_rate)
            if inverse is None or count % 8 == 7:
                inverse = self._inverse(t + h, at, unknown, left, h, share)
            change = -(inverse @ left[..., None])[..., 0]
            unknown = unknown + change
            size = np.abs(unknown).max(axis=-1, initial=1.0)
            part = np.abs(change).max(axis=-1, initial=0.0) / size
            worst = float(np.max(part, initial=0.0, where=np.isfinite(part)))
            if worst < ALPHA_SETTLED or (worst < 1e-6 and worst > 0.3 * last):
                break
            last = worst
        else:
            raise ClosureError(f"the equations of a step of {h:g} s were not solved ({worst:.2g} remain)")
        new, a = at(unknown[..., :nv])
        _, z_rate = self._residual(t + h, new, unknown[..., :nv], unknown[..., nv:], h)
        z_new = z + 0.5 * h * (memory.z_rate + z_rate)
        return (new[0], new[1], z_new), Memory(a, unknown[..., :nv], unknown[..., nv:], z_rate)

    def _inverse(
        self, t: float, at: Callable[[Array], tuple[State, Array]], unknown: Array, left: Array, h: float, share: float
    ) -> Array:
        """Return the inverse of the residuals' derivatives with respect to the unknowns, all evaluated at once."""
        c, nv, n = self.coefficients, self.equation.tree.nv, unknown.shape[-1]
        aside = np.ones(n)
        aside[:nv] = ASIDE / (h * h * c.beta * share)
        moved = unknown + np.diag(aside).reshape(n, *(1,) * (unknown.ndim - 1), n)
        state, _ = at(moved[..., :nv])
        z = np.broadcast_to(state[2], (*moved.shape[:-1], state[2].shape[-1]))
        there, _ = self._residual(t, (state[0], state[1], z), moved[..., :nv], moved[..., nv:], h)
        slopes = (there - left) / aside.reshape(n, *(1,) * unknown.ndim)
        matrix = np.moveaxis(slopes, 0, -1)
        finite = np.isfinite(matrix).all(axis=(-1, -2), keepdims=True)
        try:
            return np.where(finite, np.linalg.inv(np.where(finite, matrix, np.eye(n))), np.nan)
        except np.linalg.LinAlgError:
            return np.asarray(np.linalg.pinv(np.where(finite, matrix, np.eye(n))))


class AlphaStepper(FixedStepper):
    """The generalized-alpha method one step at a time; states within a step are those of shorter ones."""

    def __init__(self, equation: Equation, t: float, state: State, end: float, step: float) -> None:
        self.steps = AlphaSteps(equation, step)
        super().__init__(equation, GENERALIZED_ALPHA, t, state, end, step)

    def restart(self, t: float, state: State) -> None:
        """Continue from another state."""
        super().restart(t, state)
        self.memory = self.old_memory = self.reached = self.steps.begin(t, state)

    def step(self) -> None:
        """Take one step."""
        self.old_memory = self.memory
        super().step()
        self.memory = self.reached

    def _from(self, t: float, state: State, h: float) -> State:
        try:
            with np.errstate(all="ignore"):
                new, self.reached = self.steps.advance(t, state, h, self.old_memory)
                return new
        except (ClosureError, np.linalg.LinAlgError) as problem:
            raise Fault(f"{problem}: the step is too large, or the constraints depend on one another", t) from None
