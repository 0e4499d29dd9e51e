"""``kt.optimize``: the best motion of a robot, from costs and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.control.commands import SIGNAL, Commanded
from kinetree.control.driven_joints import gathered
from kinetree.errors import (
    ExplainsArguments,
    OptionError,
    ShapeError,
    StateError,
    UnknownNameError,
    UnsupportedError,
    explains_arguments,
)
from kinetree.evaluation.planning.second_derivatives import Bend
from kinetree.motion.trajectory_interface import Trajectory
from kinetree.robot.load import as_robot
from kinetree.robot.robot import Robot
from kinetree.simulation.arguments import initial_state
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import real_number, whole_number

from .node_costs import NodeCosts, Wanted, checked_goal
from .nodes import NodeDynamics
from .plan import Plan, plan_of
from .riccati import RiccatiProgram
from .solver import Budget, FoundPlans, MotionSearch, Progress
from .sweeps import Inputs, Passes, Texts
from .terms import Bounded, Term, refuse_not_a_term

RANGES = ("positions", "velocities", "torques")
"""Limits of the model itself, from its file."""

LARGEST = 1e300
"""Stands for infinite limits of actions in machine code, where infinity times zero is not a number."""

FEW_DIRECTIONS = 16
"""Trees with more directions of states and actions have no second derivatives of the dynamics unless asked for."""

SHORT = 3_000
"""Second derivatives that take at most as many operations count unless told otherwise."""

LONGEST_BEND = 60_000
"""Second derivatives that take more operations are not compiled."""

MOST_KEPT = 16
"""The memory of searches for up to so many plans is kept for the next ones."""

ROUND = 1e-9
"""How far a horizon may be from a whole number of steps, relative."""


@explains_arguments
@dataclass(frozen=True, eq=False)
class MotionProblem(ExplainsArguments):
    """What a motion should do: horizon, costs, limits, and what acts on the robot; plain data.

    Parameters
    ----------
    robot : Robot, or path-like
        A tree or a mechanism, its file, or its name in the gallery.
    horizon : float
        Seconds.
    step : float
        Seconds between nodes; actions are constant between them.
    costs : sequence of terms
        What should be small: :class:`Effort`, :class:`Positions`, :class:`Velocities`, :class:`FramePosition`,
        :class:`FrameRotation`, :class:`FrameVelocity`, or :class:`Residual` with a function of your own.
    limits : sequence of str, terms, or Bounded
        ``"positions"``, ``"velocities"`` and ``"torques"`` are the limits in the robot's file; a term must be zero
        (such as ``kt.optimize.Velocities(at="end")``); a :class:`Bounded` stays within its limits.
    action : str or Commanded
        What motors are told, as in :class:`kinetree.World`: ``"torque"``, or targets of servos.
    action_limits : (array_like, array_like), optional
        Least and largest actions; by default, the torque limits of the robot if ``"torques"`` is among the limits.
    ground, forces : force elements
        As in :func:`kinetree.simulate`.
    integrator : str
        An integrator with a fixed step.
    substeps : int
        Steps of the integrator between nodes.
    friction, friction_speed
        As in :func:`kinetree.simulate`.
    goal : mapping, optional
        Numbers that functions of a :class:`Residual` find as ``m.goal["name"]``, one set or one per motion.
    tolerance : float
        How close to an optimum, and how well limits are kept, relative to their ranges.
    threads : int
    second_order : bool, optional
        Whether the second derivatives of the dynamics count, so that far fewer iterations are needed where the motion
        is far from linear, as in a swing-up; by default they do for small trees, for which they cost little.
    """

    robot: Any
    _: KW_ONLY
    horizon: float
    step: float = 0.01
    costs: Any = ()
    limits: Any = RANGES
    action: str | Commanded = "torque"
    action_limits: tuple[ArrayLike, ArrayLike] | None = None
    ground: Any = ()
    forces: Any = ()
    integrator: str = "semi_implicit_euler"
    substeps: int = 1
    friction: bool = True
    friction_speed: float = 1e-2
    goal: Mapping[str, ArrayLike] | None = None
    tolerance: float = 1e-6
    threads: int = 1
    second_order: bool | None = None

    def __post_init__(self) -> None:
        made = object.__setattr__
        if self.horizon is None or isinstance(self.horizon, (tuple, list)):
            raise OptionError(
                "the horizon is one number of seconds: for the shortest time, halve an interval until plan.success "
                "turns False; along a path that is given, kt.trajectories.fastest finds it at once"
            )
        made(self, "robot", as_robot(self.robot))
        made(self, "horizon", real_number(self.horizon, "horizon"))
        made(self, "step", real_number(self.step, "step"))
        made(self, "tolerance", real_number(self.tolerance, "tolerance"))
        if self.second_order not in (None, True, False):
            raise OptionError(f"second_order is True, False or None, not {self.second_order!r}")
        made(self, "substeps", whole_number(self.substeps, "substeps", least=1))
        if not self.step > 0.0 or not self.horizon > 0.0 or not self.tolerance > 0.0:
            raise OptionError("horizon, step and tolerance must be positive")
        nodes = self.horizon / self.step
        if abs(nodes - round(nodes)) > ROUND * nodes or round(nodes) < 1:
            raise OptionError(
                f"the horizon of {self.horizon:g} s is not a whole number of steps of {self.step:g} s: take "
                f"step={self.horizon / max(round(nodes), 1):.6g}"
            )
        for name, kinds in (("costs", Term), ("limits", (str, Term, Bounded))):
            given = getattr(self, name)
            made(self, name, (given,) if isinstance(given, kinds) else tuple(given))
        for term in self.costs:
            refuse_not_a_term(term, "costs")
        if not self.costs:
            raise OptionError(
                "a plan needs costs, such as costs=[kt.optimize.Effort()]: otherwise every motion is best"
            )
        for limit in self.limits:
            if isinstance(limit, str) and limit not in RANGES:
                raise UnknownNameError("limit", limit, RANGES)
            if not isinstance(limit, (str, Bounded)):
                refuse_not_a_term(limit, "limits")

    # ------------------------------------------------------------------ set-up

    @property
    def nodes(self) -> int:
        """The number of actions, one after the other."""
        return round(self.horizon / self.step)

    @property
    def times(self) -> Array:
        """Times of the nodes, the last one included, (nodes + 1,)."""
        return np.arange(self.nodes + 1) * self.step

    @cached_property
    def _made(self) -> dict[Any, Any]:
        return {}

    @property
    def dynamics(self) -> NodeDynamics:
        """The dynamics between nodes."""
        if "dynamics" not in self._made:
            self._prepare(self._start(None, None)[0][:1])
        found: NodeDynamics = self._made["dynamics"]
        return found

    @property
    def texts(self) -> Texts:
        """What is the same for all motions of this problem."""
        _ = self.dynamics
        found: Texts = self._made["texts"]
        return found

    def costs_alone(self, at_end: bool) -> list[tuple[Term, NodeCosts]]:
        """Return each term that counts on the way, or at the end, as the only cost; those of limits, too."""
        wanted: Wanted = self._made["wanted"]
        terms = [*wanted.costs, *(x.term if isinstance(x, Bounded) else x for x in wanted.limits)]
        found = []
        for term, own in zip(terms, wanted.numbers, strict=True):
            if term.counts(at_end):
                alone = replace(wanted, costs=[term], limits=[], ranges=frozenset[str](), numbers=[own])
                found.append((term, NodeCosts(self.dynamics, alone, at_end)))
        return found

    @property
    def action_names(self) -> list[str]:
        """Names of the actions."""
        return self.dynamics.action_names

    def _prepare(self, start: Array) -> None:
        """Make the machine code, for a mechanism with the coordinates that suit its start."""
        dynamics = NodeDynamics(
            self.robot, self.action, self.ground, self.forces, self.integrator, self.step / self.substeps,
            self.substeps, self.friction, self.friction_speed, start, self.threads,
        )  # fmt: skip
        terms = [x for x in self.limits if not isinstance(x, str)]
        goal = checked_goal(self.goal, [*self.costs, *terms])
        numbers = self._wanted_at(self.times)
        ranges = frozenset(x for x in self.limits if isinstance(x, str))
        wanted = Wanted(self.costs, terms, ranges, goal, numbers)
        bend = self._bend(dynamics)
        run, end = (NodeCosts(dynamics, wanted, at_end, bend is not None) for at_end in (False, True))
        texts = Texts(dynamics, run, end, self.threads, bend)
        lower, upper = self._action_limits(dynamics)
        limited = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        riccati = RiccatiProgram(texts.layout, limited, self.robot.cpu, texts.bend)
        self._made.update(
            dynamics=dynamics, texts=texts, riccati=riccati, wanted=wanted, bounds=(lower, upper), idle=[]
        )

    def _bend(self, dynamics: NodeDynamics) -> Bend | None:
        """Return the second derivatives of the dynamics if they count."""
        if self.second_order is False or (self.second_order is None and dynamics.nd + dynamics.nu > FEW_DIRECTIONS):
            return None
        if not dynamics.can_jump:
            if self.second_order:
                raise UnsupportedError("second derivatives of the dynamics are for trees: leave second_order out")
            return None
        bend = dynamics.bend
        if self.second_order and (bend.looks_up or bend.operations > LONGEST_BEND):
            raise UnsupportedError(
                f"second derivatives of the dynamics of {self.robot.name!r} "
                + ("look up data" if bend.looks_up else f"take {bend.operations:,} operations at every node")
                + ", for which there is no machine code: leave second_order out"
            )
        return bend if self.second_order or (bend.operations <= SHORT and not bend.looks_up) else None

    def _action_limits(self, dynamics: NodeDynamics) -> tuple[Array, Array]:
        n, robot = dynamics.nu, self.robot
        if self.action_limits is not None:
            try:
                lower, upper = (np.asarray(x, dtype=float) for x in self.action_limits)
                lower, upper = (np.broadcast_to(x, np.broadcast_shapes(x.shape, (n,))) for x in (lower, upper))
            except (ValueError, TypeError):
                raise ShapeError(
                    f"action_limits are the least and the largest actions, one number or {n} each: "
                    f"{', '.join(dynamics.action_names)}"
                ) from None
            if np.any(~(lower <= upper)):
                raise OptionError("action_limits: the least actions are above the largest ones")
            return lower, upper
        free = np.full(n, np.inf)
        if "torques" not in self.limits:
            return -free, free
        if dynamics.command.mode == SIGNAL:
            ranges = np.array([actuator.control_range for actuator in robot.model.actuators], dtype=float)
            return ranges[:, 0], ranges[:, 1]
        if dynamics.command.mode != "torque":
            return -free, free
        most = np.array(gathered(dynamics.command.motors(robot.model), robot.effort_limits.tolist()), dtype=float)
        return -most, most

    def action_limits_of(self, batch: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the least and largest actions, (..., actions) each, which broadcast with those of a plan."""
        _ = self.dynamics
        lower, upper = self._made["bounds"]
        return lower, upper

    # ------------------------------------------------------------------ solving

    def _start(self, q0: Any, v0: Any) -> tuple[Array, Array, tuple[int, ...]]:
        q, v = initial_state(self.robot, q0, v0)
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        if len(batch) > 1:
            raise ShapeError(f"starts must be one state or a row of them, (batch, n); not a batch of shape {batch}")
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise StateError("a start has entries that are not numbers: a motion cannot begin there")
        return q, v, batch

    def solve(
        self, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, initial_guess: Any = None,
        iterations: int = 500, seconds: float = 60.0, callback: Callable[[Progress], object] | None = None,
    ) -> Plan:  # fmt: skip
        """Find the best motion from a start, or one from each start of a batch.

        Parameters
        ----------
        q0, v0 : array_like, shapes (..., nq), (..., nv), optional
            Where motions begin: neutral, or as drawn, and at rest by default.
        initial_guess : Plan, Trajectory or array_like, optional
            Where the search begins: an earlier plan; a motion, whose states need not follow from any actions; or
            actions (nodes, motors) or (nodes, batch, motors).  By default motors hold the start.
        iterations : int
            The most iterations.
        seconds : float
            The longest time for the search.
        callback : callable, optional
            Called with a :class:`Progress` after each iteration; if it returns True, the search stops.

        Returns
        -------
        Plan
        """
        budget = Budget(
            whole_number(iterations, "iterations", least=1), real_number(seconds, "seconds"), self.tolerance, callback
        )
        q, v, batch = self._start(q0, v0)
        if "dynamics" not in self._made or self.robot.loops is not None:
            self._prepare(np.atleast_2d(q)[:1])
        wanted: Wanted = self._made["wanted"]
        sizes = [*(x.shape[-2] for x in (*wanted.numbers, *wanted.goal.values()) if x.ndim > 1), *batch]
        own = self._made["bounds"][0].shape[:-1]
        count = np.broadcast_shapes(*((n,) for n in sizes), own)
        batch = count if count != () and (batch or any(n > 1 for n in sizes) or own) else ()
        size = batch[0] if batch else 1
        d = self.dynamics
        start = np.empty((size, d.nx))
        start[:, : d.nq], start[:, d.nq : d.nq + d.nv], start[:, d.nq + d.nv :] = q, v, self._initial_z
        passes = self._passes(size)
        x, u = self._guess(initial_guess, start, passes)
        penalty = None
        if isinstance(initial_guess, Plan):
            penalty = np.broadcast_to(initial_guess.found.penalty, (size,))
        found = MotionSearch(passes, x, u, budget, penalty).run()
        if size <= MOST_KEPT:
            self._made["idle"].append(passes)
        return plan_of(self, self.times, found, batch)

    def _passes(self, size: int) -> Passes:
        """Return passes over so many plans, with fresh inputs: those of an earlier search if nobody uses them."""
        given, idle = self._inputs(size), self._made["idle"]
        texts = self.texts
        while idle:
            passes: Passes = idle.pop()  # other threads do not get it
            if passes.given.y.shape[1] == size:
                for own, x in zip(passes.given, given, strict=True):
                    own[...] = x
                return passes
        return Passes(texts, self._made["riccati"], given)

    @property
    def _initial_z(self) -> Array:
        return np.asarray(self.dynamics.system.initial_z(), dtype=float)

    def _wanted_at(self, times: Array) -> list[Array]:
        """Return what each cost and then each limit wants at some times."""
        terms = [x for x in (*self.costs, *self.limits) if not isinstance(x, str)]
        each = (x.term if isinstance(x, Bounded) else x for x in terms)
        return [np.asarray(term.numbers(self.robot.model, times), dtype=float) for term in each]

    def numbers_at(self, times: Array, size: int) -> Array | None:
        """Return what terms want at other times, (nodes + 1, size, n); None if that never changes."""
        wanted: Wanted = self._made["wanted"]
        if not any(x.ndim == 3 for x in wanted.numbers):
            return None
        return replace(wanted, numbers=self._wanted_at(times)).vector(len(times), size)

    def search(self, plan: Plan, budget: Budget) -> MotionSearch:
        """Return a search that goes on from a plan."""
        found, size = plan.found, plan.found.x.shape[1]
        given = self._inputs(size)
        given.y[:], given.y_end[:] = found.y, found.y_end
        return MotionSearch(Passes(self.texts, self._made["riccati"], given), found.x, found.u, budget, found.penalty)

    def plan_of(self, found: FoundPlans, batch: tuple[int, ...]) -> Plan:
        """Return a plan from what a search found."""
        return plan_of(self, self.times, found, batch)

    def _inputs(self, size: int) -> Inputs:
        texts, nodes = self.texts, self.nodes
        lower, upper = self._made["bounds"]
        both = np.clip(np.concatenate([lower, upper], axis=-1), -LARGEST, LARGEST)
        bounds = _repeated(both, (size, 2 * texts.dynamics.nu))
        return Inputs(
            _repeated(self.times[:, None, None], (nodes + 1, size, 1)),
            self._made["wanted"].vector(nodes + 1, size), np.zeros((nodes, size, len(texts.run.named))),
            np.zeros((size, len(texts.end.named))), np.ones((size, 1)), bounds,
        )  # fmt: skip

    def _guess(self, guess: Any, start: Array, passes: Passes) -> tuple[Array, Array]:
        d, nodes, size, given = self.dynamics, self.nodes, len(start), passes.given
        if isinstance(guess, Plan):
            found: FoundPlans = guess.found
            if found.u.shape[0] != nodes or found.u.shape[-1] != d.nu or found.x.shape[-1] != d.nx:
                raise ShapeError(f"the guess has {len(found.u)} nodes of another problem, this one has {nodes}")
            u = _repeated(found.u, (nodes, size, d.nu))
            if found.y.shape[-1] == given.y.shape[-1] and found.y_end.shape[-1] == given.y_end.shape[-1]:
                given.y[:], given.y_end[:] = found.y, found.y_end
            if d.can_jump:
                x = _repeated(found.x, (nodes + 1, size, d.nx))
                x[0] = start
                return x, u
            return self._rolled_out(start, u, passes)
        if isinstance(guess, Trajectory):
            return self._along(guess, start)
        if guess is not None:
            actions = np.asarray(guess, dtype=float)
            if actions.ndim == 2:
                actions = actions[:, None]
            if actions.ndim != 3 or actions.shape[0] != nodes or actions.shape[-1] != d.nu:
                raise ShapeError(f"a guess of actions must have shape ({nodes}, {d.nu}) or ({nodes}, batch, {d.nu})")
            return self._rolled_out(start, _repeated(actions, (nodes, size, d.nu)), passes)
        return self._rolled_out(start, np.tile(self._holding(start), (nodes, 1, 1)), passes)

    def _holding(self, start: Array) -> Array:
        """Return actions that hold motors where they start, as far as they can."""
        d, robot = self.dynamics, self.robot
        q = start[:, : d.nq]
        rest = d.command.resting(robot.model)(q)
        if d.command.mode == "torque":
            still = np.zeros((len(q), d.nv))
            tau = robot.gravity_force(q) if robot.loops is None else robot.inverse_dynamics(q, still, still)
            rest = tau[:, d.motor_freedoms]
        lower, upper = self._made["bounds"]
        return np.clip(rest, lower, upper)

    def _rolled_out(self, start: Array, u: Array, passes: Passes) -> tuple[Array, Array]:
        """Return the motion that follows from actions; where it is lost, the robot rests at its start instead."""
        x, u = passes.rolled_out(start, u)
        if self.dynamics.can_jump:
            lost = ~(np.abs(x).max(axis=(0, 2)) < 1e6)
            x[:, lost] = start[lost]
        return x, u

    def _along(self, guess: Trajectory, start: Array) -> tuple[Array, Array]:
        d, robot = self.dynamics, self.robot
        if not d.can_jump:
            raise OptionError(
                "the guess for a mechanism is made of actions (nodes, motors): its motion follows from them"
            )
        motion = [guess.at(float(min(t, guess.end))) for t in self.times]
        q, v, a = (np.array([m[k] for m in motion], dtype=float) for k in range(3))
        if q.shape[-1] != d.nq or v.shape[-1] != d.nv:
            raise ShapeError(f"the guess has {q.shape[-1]} coordinates, the robot {d.nq}")
        x = np.zeros((self.nodes + 1, len(start), d.nx))
        x[..., : d.nq], x[..., d.nq : d.nq + d.nv], x[..., d.nq + d.nv :] = q[:, None], v[:, None], self._initial_z
        x[0] = start
        u = self._holding(start) + np.zeros((self.nodes, 1, 1))
        if d.command.mode == "torque":
            u = _repeated(robot.inverse_dynamics(q, v, a)[:-1, None, d.motor_freedoms], u.shape)
        elif d.command.mode == "position":
            u = _repeated(d.command.resting(robot.model)(q)[1:, None], u.shape)
        lower, upper = self._made["bounds"]
        return x, np.clip(u, lower, upper)

    def with_goal(self, **goal: ArrayLike) -> MotionProblem:
        """Return the problem with other numbers for functions of a :class:`Residual`."""
        return replace(self, goal={**(self.goal or {}), **goal})


def _repeated(x: Array, shape: tuple[int, ...]) -> Array:
    """Return a broadcast array with memory of its own, row after row."""
    return np.array(np.broadcast_to(x, shape), order="C")


def optimize(
    robot: Robot | Any, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, horizon: float,
    step: float = 0.01, costs: Sequence[Term] | Term = (), limits: Any = RANGES, initial_guess: Any = None,
    iterations: int = 500, seconds: float = 60.0, callback: Callable[[Progress], object] | None = None,
    **options: Any,
) -> Plan:  # fmt: skip
    """Find the best motion of a robot: the one with the least cost that keeps all limits.

    Parameters
    ----------
    robot : Robot, or path-like
    q0, v0 : array_like, optional
        Where the motion begins; with a batch in front, a motion is found for each.
    horizon : float
        Seconds.
    step : float
        Seconds between nodes.
    costs, limits : sequences
        See :class:`MotionProblem`, which also lists the further ``options``.
    initial_guess, iterations, seconds, callback
        See :meth:`MotionProblem.solve`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import kinetree as kt
    >>> arm = kt.Builder("arm").body("link", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5)).build()
    >>> end = [kt.optimize.Positions([3.0], at="end"), kt.optimize.Velocities(at="end")]
    >>> plan = kt.optimize(arm, horizon=1.0, step=0.02, costs=[kt.optimize.Effort()], limits=end)
    >>> plan.status
    'optimal'
    """
    problem = MotionProblem(robot, horizon=horizon, step=step, costs=costs, limits=limits, **options)
    return problem.solve(q0, v0, initial_guess=initial_guess, iterations=iterations, seconds=seconds, callback=callback)
