"""The dynamics between the nodes of a plan: one period under a constant action, with its derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algorithms import kinematics
from kinetree.control.commands import Commanded
from kinetree.errors import OptionError, UnknownNameError, UnsupportedError
from kinetree.evaluation.law_kernels import LawProgram
from kinetree.evaluation.planning.second_derivatives import Bend
from kinetree.robot.robot import Robot
from kinetree.simulation.arguments import check_integrator, force_elements, varied_parameters
from kinetree.simulation.elimination_order import LoopChoice
from kinetree.simulation.equation import Equation
from kinetree.simulation.integrators.fixed_step_methods import FIXED
from kinetree.simulation.rate_slopes import tangents
from kinetree.simulation.system import DynamicSystem
from kinetree.simulation.worlds.actions import commanded
from kinetree.simulation.worlds.derivative_methods import named_numbers
from kinetree.simulation.worlds.instant import Moment
from kinetree.simulation.worlds.step_derivatives import StepDerivatives
from kinetree.spatial import Scalar, clip, where
from kinetree.spatial.arrays import Array

Scalars = Sequence[Scalar]

CLOSING_ROUNDS = 6
"""How often a mechanism is closed after a step: the first motions of a search may be fast."""


class NodeDynamics:
    """What happens to a robot in one period, from any state, under an action that stays the same meanwhile.

    Parameters
    ----------
    robot : Robot
    action : str or Commanded
        What actions are, as in :class:`kinetree.World`.
    ground, forces : force elements
    integrator : str
    step : float
        Seconds of one step of the integrator.
    substeps : int
        Steps of a period.
    friction : bool
    friction_speed : float
    start : ndarray (..., nq)
        Closed configurations.
    threads : int
    """

    def __init__(
        self, robot: Robot, action: str | Commanded, ground: Any, forces: Any, integrator: str, step: float,
        substeps: int, friction: bool, friction_speed: float, start: Array, threads: int,
    ) -> None:  # fmt: skip
        if not isinstance(integrator, str) or integrator not in FIXED:
            raise UnknownNameError("integrator with a fixed step", integrator, FIXED)
        check_integrator(robot, integrator)
        self.robot, self.integrator, self.step, self.substeps, self.threads = robot, integrator, step, substeps, threads
        self.period = step * substeps
        self.command = commanded(action)
        if np.any(np.asarray(self.command.delay, dtype=float)):
            raise OptionError("a plan acts at once: commands without a delay")
        self.action_names = self.command.names(robot.model)
        if not self.action_names:
            raise OptionError(f"no joint of {robot.name!r} has a motor: there is nothing to plan")
        grounds, others = force_elements(ground), force_elements(forces, "forces")
        varied = varied_parameters(robot, None, integrator)
        self.system = DynamicSystem(robot, self.command, grounds, others, friction, friction_speed, False, varied)
        self.equation = Equation(self.system, None, threads).prepared(start)
        self.equation.steps.closing_rounds = CLOSING_ROUNDS
        if not self.equation.compiled:
            raise UnsupportedError(
                f"plans need machine code, which {robot.name!r} has not: it has more than 110 bodies, or "
                "backend='reference'"
            )
        self.places, first = dict[str, slice](), 0
        for name, value in self.system.parameters.items():
            self.places[name] = slice(first, first + value.shape[-1])
            first += value.shape[-1]
        at, _, _ = named_numbers(self.system, self.places, False)
        self.command_slice = at["command"]
        """The place of the action among the numbers of the equation."""
        self.commands = list(range(self.command_slice.start, self.command_slice.stop))
        self.numbers = np.array(self.equation.numbers, dtype=float)
        self.steps = StepDerivatives(self.equation, integrator, step, substeps, start, threads)
        self.nq, self.nv, self.nz = robot.nq, robot.nv, self.system.nz
        self.nx, self.nu = self.nq + self.nv + self.nz, len(self.action_names)

    @property
    def watched(self) -> int:
        """How many numbers say how a step of a mechanism went, after those of the state."""
        return int(self.equation.loops is not None)

    @cached_property
    def directions(self) -> list[int]:
        """The components of a change of state that determine all others."""
        return self.steps.independent

    @property
    def nd(self) -> int:
        """In how many directions a state can change."""
        return len(self.directions)

    @property
    def can_jump(self) -> bool:
        """Whether nodes may begin apart from where the one before ended."""
        return self.equation.loops is None

    def numbers_with(self, u: Array) -> Array:
        """Return the numbers of the equation with these actions, (..., n)."""
        found = np.empty((*u.shape[:-1], self.numbers.shape[-1]))
        found[:] = self.numbers
        found[..., self.command_slice] = u
        return found

    @cached_property
    def motor_freedoms(self) -> list[int]:
        """The freedoms of the motors, for actions that are joint forces."""
        joints = self.command.motors(self.robot.model)
        return [k for joint in joints for k in range(*joint.v_slice.indices(self.nv))]

    def on_freedoms(self, u: Array) -> Array:
        """Return joint forces of all freedoms (..., nv) from those of the motors."""
        found = np.zeros((*u.shape[:-1], self.nv))
        found[..., self.motor_freedoms] = u
        return found

    def scalars_with(self, u: Scalars) -> list[Scalar]:
        """Return the numbers of the equation with these actions, over any scalar."""
        found: list[Scalar] = self.numbers.tolist()
        for k, x in zip(self.commands, u, strict=True):
            found[k] = x
        return found

    def after(self, t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        """Return the state after a period, over any scalar; that of a mechanism is NaN if it cannot be closed."""
        advance, rate, _ = self.equation.steps.laws(self.integrator, self.equation.loops)
        p = self.scalars_with(u)
        state: list[Scalar] = [*x, *[math.inf] * self.watched]
        for k in range(self.substeps):
            state = advance(lambda question: rate(question, p), t + k * self.step, state, self.step, p)
        if self.watched:
            lost = where(state[-1] < 1.0, math.nan, 0.0)
            return [y + lost for y in state[: self.nx]]
        return state

    def ends(self, times: Array, x: Array, u: Array) -> Array:
        """Return the states at the ends of all steps of periods, (n, substeps, n)."""
        return self.steps.states(times, x, self.numbers_with(u))

    def slopes(self, times: Array, x: Array, ends: Array, u: Array) -> Array:
        """Return derivatives of where periods end, (n, nd, nd + nu)."""
        found = self.steps.of_independent(times, x, ends, self.numbers_with(u), self.commands)
        if self.nd == self.steps.count:
            return found
        count = self.steps.count  # of components, which a mechanism cannot change one by one
        return np.concatenate([found[..., :count] @ self.steps.basis(x), found[..., count:]], axis=-1)

    def basis(self, x: Array) -> Array | None:
        """Return how all components of a state change with its directions; None if there are no others."""
        return None if self.nd == self.steps.count else self.steps.basis(x)

    def apart(self, x: Scalars, other: Scalars) -> list[Scalar]:
        """Return the way from one state to another, along all directions."""
        nq, tree = self.nq, self.robot.model
        whole = [*kinematics.difference(tree, x[:nq], other[:nq])]
        whole += [b - a for a, b in zip(x[nq:], other[nq:], strict=True)]
        return [whole[k] for k in self.directions]

    def moved(self, x: Scalars, way: Scalars) -> list[Scalar]:
        """Return the state at the end of a way, for trees."""
        nq, nv = self.nq, self.nv
        q = kinematics.integrate(self.robot.model, x[:nq], way[:nv])
        return [*q, *(a + b for a, b in zip(x[nq:], way[nv:], strict=True))]

    def directions_of(self, x: Scalars, u: Scalars) -> list[list[tuple[Scalar, Scalar]]]:
        """Return which scalars each component of a state's change and each action moves, and how fast."""
        q = x[: self.nq]
        found = [list(zip(q, column, strict=True)) for column in tangents(self.robot.model, q)]
        return found + [[(y, 1.0)] for y in (*x[self.nq :], *u)]

    @cached_property
    def bend(self) -> Bend:
        """Second derivatives of where a period ends, for trees."""
        return Bend(
            lambda t, x, u: self.after(t[0], x, u), self.apart, (1, self.nx, self.nu),
            lambda t, x, u: self.directions_of(x, u),
        )  # fmt: skip

    def moment(self, t: Scalar, x: Scalars, u: Scalars, goal: Any) -> Moment:
        """Return the moment at a node, over any scalar."""
        system = self.equation.with_numbers(self.scalars_with(u))
        choice = None if self.equation.loops is None else LoopChoice(self.equation.loops.rows)
        return Moment(system, t, *self.equation.parts([*x, *[1.0] * self.watched]), u, choice, goal)

    @cached_property
    def apart_program(self) -> LawProgram:
        """The way from ``a`` to ``b``, for arrays."""
        return LawProgram(
            f"way between states of {self.robot.name!r}", lambda a, b: self.apart(a, b), {"a": self.nx, "b": self.nx},
            True, cpu=self.robot.cpu,
        )  # fmt: skip

    @cached_property
    def follow(self) -> LawProgram:
        """One period of a new motion near an old one, by the feedback that a backward pass found."""

        def law(
            t: Scalars, x: Scalars, old: Scalars, u: Scalars, forward: Scalars, gains: Scalars, share: Scalars,
            gap: Scalars, bounds: Scalars,
        ) -> list[Scalar]:  # fmt: skip
            nd, nu, s = self.nd, self.nu, share[0]
            way = self.apart(old, x)
            new: list[Scalar] = []
            for i in range(nu):
                total = u[i] + s * forward[i]
                for j in range(nd):
                    total = total + gains[i * nd + j] * way[j]
                new.append(clip(total, bounds[i], bounds[nu + i]))
            end = self.after(t[0], x, new)
            if self.can_jump:
                end = self.moved(end, [(s - 1.0) * g for g in gap])
            return [*end, *new]

        nd, nu = self.nd, self.nu
        lengths = {
            "t": 1, "x": self.nx, "old": self.nx, "u": nu, "forward": nu, "gains": nu * nd, "share": 1,
            "gap": nd, "bounds": 2 * nu,
        }  # fmt: skip
        return LawProgram(f"planned period of {self.robot.name!r}", law, lengths, True, cpu=self.robot.cpu)


class PreparedNodes:
    """The derivatives of all nodes of some plans, whose arrays stay in place.

    Attributes
    ----------
    ends : ndarray (n, nx)
        Where periods end.
    steps : ndarray (n, nd * (nd + nu))
        Derivatives of that, row after row.

    Parameters
    ----------
    dynamics : NodeDynamics
    times, x, u : ndarrays (n, 1), (n, nx), (n, nu)
    """

    def __init__(self, dynamics: NodeDynamics, times: Array, x: Array, u: Array) -> None:
        self._dynamics, self._x, self._u = dynamics, x, u
        self._numbers = dynamics.numbers_with(u)
        self._periods = dynamics.steps.prepared(times, x, self._numbers, dynamics.commands)
        self.ends = self._periods.ends[:, -1, : dynamics.nx]
        self.steps = self._periods.in_rows
        if dynamics.nd < dynamics.steps.count:
            self.steps = np.zeros((len(x), dynamics.nd * (dynamics.nd + dynamics.nu)))

    def __call__(self) -> None:
        """Compute them anew."""
        d, found = self._dynamics, self._periods.found
        self._numbers[:, d.command_slice] = self._u
        self._periods()
        count = d.steps.count  # of components, which a mechanism cannot change one by one
        if d.nd < count:
            steps = self.steps.reshape(len(found), d.nd, d.nd + d.nu)
            steps[..., : d.nd], steps[..., d.nd :] = found[..., :count] @ d.steps.basis(self._x), found[..., count:]
