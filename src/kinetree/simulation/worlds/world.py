"""``kt.World``: many copies of a robot, stepped together by actions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ...contact.start_check import warn_sunken
from ...control.base import Controller, Sum
from ...control.commands import Commanded
from ...control.sampled import find_sampled
from ...errors import (
    ExplainsArguments,
    OptionError,
    ReadOnlyError,
    ShapeError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)  # fmt: skip
from ...evaluation.law_kernels import LawProgram
from ...forces.pushes import Push
from ...former_names import former_arguments
from ...robot.load import as_robot
from ...robot.robot import Robot
from ...spatial import Scalar
from ...spatial.arrays import Array
from ...spatial.numbers import whole_number
from ..arguments import check_integrator, force_elements, initial_state, law_and_function, varied_parameters
from ..elimination_order import LoopChoice
from ..equation import Equation
from ..integrators.fixed_step_methods import FIXED
from ..options import SimulationOptions
from ..run_warnings.long_steps import warn_of_long_steps
from ..run_warnings.unheld import warn_of_falling_world
from ..system import DynamicSystem
from .actions import Actions, commanded
from .advance import Advance
from .derivative_methods import WorldDerivatives, named_numbers
from .draws import Drawn, EpisodeDraws
from .goals import Goals
from .instant import Moment
from .masks import chosen_worlds
from .outcome import OutcomeLaw
from .random_pushes import PushForces, RandomPushes, checked_pushes
from .random_start import RandomStart
from .randomized import DELAY, GROUND, MOTOR_STRENGTH, STATES, checked_mapping, merged, other_number, robot_numbers
from .range_watch import RangeWatch
from .rollout import RewardGradient, Rollout
from .sensors import Sensor, check_sensors
from .shared_arrays import LiveView
from .step_derivatives import StepDerivatives
from .step_result import DifferentiatedStep, Stepped, Transition

Scalars = Sequence[Scalar]
Law = Callable[[Moment], Any]

FEW = 8
"""Up to this many selected worlds are gathered first, to fill one vector of lanes."""


class World(ExplainsArguments):
    """Many copies of a robot, each with its own state, actions and numbers, stepped together in machine code.

    Everything is set up once; after that, the overhead of :meth:`step` is a few microseconds.

    Parameters
    ----------
    robot : Robot, or path-like
        A robot, its file, or its name in the gallery; with or without loops.
    batch : int
        Number of worlds.
    action : {"torque", "position", "velocity", "signal"} or Commanded
        Meaning of actions: forces of the motors; targets of servos, with the gains of a
        :class:`kinetree.control.Commanded` such as ``Commanded("position", kp=40, kd=1)``; or signals of the robot's
        own actuators, as in MJCF files.
    controller : controller, optional
        A controller that acts along with the action, which is then a residual.
    ground, forces : force elements
        As in :func:`kinetree.simulate`.
    parameters : mapping, optional
        Numbers of the robot that replace the model's: one value, or one per world.
    random : mapping, optional
        Distributions that are drawn from at every reset: by the names of ``robot.parameters()``; under ``"bodies"`` and
        ``"joints"``, ``{"trunk": {"mass": kt.Uniform(0.8, 1.2, relative=True)}}``; and ``"gravity"``,
        ``"motor_strength"``, ``"delay"`` (seconds from an action to its effect), ``"ground"`` (by the names of the
        ground's laws, ``{"friction": kt.Uniform(0.4, 1.0)}``); and ``"q"``, ``"v"``: offsets of the start along each
        freedom, or along those of some joints, ``{"q": {"elbow": kt.Uniform(-0.1, 0.1)}}``; loops are closed again.
    goal : mapping, optional
        Numbers of your own, available to functions of a moment as ``m.goal["target"]``: distributions that are drawn
        from at every reset, or numbers, one set or one per world; :meth:`set_goal` changes them.
    pushes : RandomPushes, optional
    integrator : str
        An explicit integrator with a fixed step, or ``"implicit_euler"``, which is implicit in springs, damping,
        servos, ground and stops.
    step : float
        Seconds of one step of the integrator.
    substeps : int
        Steps of the integrator between two actions.
    q0, v0 : array_like, optional
        Initial positions and velocities of episodes, unless :meth:`reset` specifies others; with or without a batch.
    observe, reward, ended : callable, optional
        Functions of a :class:`Moment` over any scalar, which are compiled.  They return a list of numbers; one number;
        and a condition, a number that is positive at the end, or several of these.  Choices are made with ``kt.where``.
    sensors : sequence of Sensor
        Sensors that :meth:`sense` reads.
    friction : bool
        Whether the joints' own damping and friction act.
    precision : {"double", "single"}
    threads : int
    seed : int
        Seed: the draws of world k in its n-th episode depend only on the seed, k and n.
    first : int
        The number k of the first world, for several processes that share one large batch.

    Examples
    --------
    >>> import kinetree as kt
    >>> world = kt.World("kuka-kr5", batch=4, substeps=10)
    >>> stepped = world.step([[10.0, 0, 0, 0, 0, 0]] * 4)
    >>> world.q.shape, float(world.time[0])
    ((4, 6), 0.01)
    """

    @former_arguments(start=("q0", "v0"))
    def __init__(
        self,
        robot: Robot | str | os.PathLike[str],
        *,
        batch: int = 1,
        action: str | Commanded = "torque",
        controller: Controller | None = None,
        ground: Any = (),
        forces: Any = (),
        parameters: Mapping[str, Any] | None = None,
        random: Mapping[str, Any] | None = None,
        goal: Mapping[str, Any] | None = None,
        pushes: RandomPushes | None = None,
        integrator: str = "semi_implicit_euler",
        step: float = 1e-3,
        substeps: int = 1,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        observe: Law | None = None,
        reward: Law | None = None,
        ended: Law | None = None,
        sensors: Sequence[Sensor] = (),
        friction: bool = True,
        friction_speed: float = 1e-2,
        precision: str = "double",
        threads: int = 1,
        seed: int = 0,
        first: int = 0,
    ) -> None:
        robot = as_robot(robot)
        if not isinstance(integrator, str) or integrator not in FIXED:
            raise UnknownNameError("integrator with a fixed step", integrator, FIXED)
        options = SimulationOptions(
            integrator=integrator, step=step, friction=friction, friction_speed=friction_speed, threads=threads,
        )  # fmt: skip
        check_integrator(robot, integrator)
        if precision not in ("double", "single"):
            raise UnknownNameError("precision", precision, ("double", "single"))
        if precision == "single" and robot.model.is_constrained:
            raise UnsupportedError("single precision does not keep loops closed: use double")
        self.robot = robot
        self.batch = whole_number(batch, "batch", least=1)
        self.substeps = whole_number(substeps, "substeps", least=1)
        self.step_size = cast("float", options.step)
        self.threads, self.integrator, self.precision = threads, integrator, precision
        self.seed = whole_number(seed, "seed", least=0)
        self.first = whole_number(first, "first", least=0)
        self._command = commanded(action)
        self.action_names = self._command.names(robot.model)
        listed = (sensors,) if isinstance(sensors, Sensor) else tuple(sensors)
        self.sensors, self.sensor_names = listed, check_sensors(robot.model, listed)
        self._pushes = checked_pushes(pushes)
        drawn = checked_mapping(random, "numbers")
        self._random_start = RandomStart(robot, **{name: drawn.pop(name, None) for name in STATES})
        self._system = self._make_system(controller, ground, forces, parameters, drawn, friction, friction_speed)
        q, v = initial_state(robot, q0, v0)
        self._start = tuple(np.array(np.broadcast_to(x, (self.batch, x.shape[-1]))) for x in (q, v))
        self._equation = Equation(self._system, None, self.threads).prepared(self._start[0])
        knows = self._equation.knows_what_gives_way
        warn_of_long_steps(robot, self._system.around, self._start[0], integrator, self.step_size, knows)
        warn_of_falling_world(robot, self._system.elements, self._start[0][0])
        warn_sunken(robot, [e for e in self._system.ground if e.contact_pairs()], self._start[0])
        self._ranges = RangeWatch(robot, self._system.elements)
        self._goal = goal
        self._laws = {"observe": observe, "reward": reward, "ended": ended}
        self._lay_out()
        largest = float(np.finfo(self._numbers.dtype).max)
        self._shown = OutcomeLaw(self._laws, self._moment, self._ranges.flag, largest)
        self._outcome = self._law("outcome", self._shown)
        self._look = self._outcome.prepared(self._seen(), threads)
        self._few = self._seen(np.zeros(min(FEW, self.batch), dtype=int))
        self._look_at_few = self._outcome.prepared(self._few)
        self._sensing: LawProgram | None = None
        self.reset()
        self._frozen = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to change attributes that machine code was made for."""
        if getattr(self, "_frozen", False) and not name.startswith("_"):
            raise ReadOnlyError(
                f"{name} of a World is set when it is made; reset(mask, q, v) sets states, step(action) takes actions"
            )
        object.__setattr__(self, name, value)

    # ------------------------------------------------------------------ setting up

    def _make_system(
        self, controller: Any, ground: Any, forces: Any, parameters: Any, random: dict[str, Any], friction: bool,
        friction_speed: float,
    ) -> DynamicSystem:  # fmt: skip
        law: Controller = self._command
        if controller is not None:
            made, function = law_and_function(controller, self.robot)
            if function is not None or made is None:
                raise OptionError("a controller of a World must be one of kinetree.control: plain functions go in step")
            if find_sampled(made) is not None:
                raise OptionError(
                    "a World is sampled already, at every step(action): give the controller as it is, or compute the "
                    "actions from world.q and world.v"
                )
            law = Sum((self._command, made))
        grounds, others = force_elements(ground), force_elements(forces, "forces")
        if self._pushes is not None:
            others += (Push(self._pushes.at),)
        motors, of_ground = (random.pop(name, None) for name in (MOTOR_STRENGTH, GROUND))
        late = random.pop(DELAY, None)
        self._drawn_of_robot, room = robot_numbers(self.robot, random)
        given = merged(dict(parameters or {}), room)
        varied = varied_parameters(self.robot, given or None, self.integrator)
        if varied.numbers is not None and varied.numbers.ndim > 1 and varied.numbers.shape[:-1] != (self.batch,):
            raise ShapeError(f"parameters have a batch of {varied.numbers.shape[:-1]}, the world has ({self.batch},)")
        self._random_of_parts = {MOTOR_STRENGTH: motors, DELAY: late, GROUND: of_ground}
        return DynamicSystem(self.robot, law, grounds, others, friction, friction_speed, False, varied)

    def _lay_out(self) -> None:
        """Allocate states and numbers, and note which are which."""
        system = self._system
        dtype = np.float32 if self.precision == "single" else np.float64
        self._slices = self._equation.places_of_numbers
        self._numbers = np.empty((self.batch, self._equation.numbers.shape[-1]), dtype=dtype)
        self._numbers[:] = self._equation.numbers
        if self._equation.numbers.dtype == dtype:
            self._equation.read_numbers_from(self._numbers)  # so that every method of stepping reads them
        self._at, self._named, self._pushed = named_numbers(system, self._slices, self._pushes is not None)
        self._drawn: list[tuple[slice, Drawn]] = [*self._places_of_robot(), *self._places_of_parts()]
        is_late = self._random_of_parts[DELAY] is not None or bool(self._numbers[:, self._at["delay"]].any())
        self._actions = Actions(self._numbers, self._at, self.period, is_late)
        self._push: PushForces | None = None
        if self._pushes is not None:
            self._push = PushForces(self._pushes, self._numbers[:, self._pushed[0]], self.period, self.first)
        self._goals = Goals(self._goal, self.batch, dtype)
        groups = [drawn for _, drawn in self._drawn], self._goals.drawn, self._random_start.drawn
        self._draws = EpisodeDraws(groups, self.batch, self.first)
        self._drawn_places = np.array(
            [k for where_, _ in self._drawn for k in range(where_.start, where_.stop)], dtype=int
        )
        self._resting = self._command.resting(self.robot.model)
        self._advance = Advance(
            self._equation, self.integrator, self.step_size, self.substeps, self._numbers, self.threads
        )
        self._state, self._time = self._advance.state, self._advance.time
        self._episode = np.full(self.batch, -1)
        self._lost = np.zeros(self.batch, dtype=bool)
        self._lanes = np.arange(self.batch)

    def _places_of_robot(self) -> list[tuple[slice, Drawn]]:
        given = self._system.varied  # whose numbers come first
        where_ = {place.path: given.slice_of(place) for place in given.places}
        return [(where_[drawn.name], drawn) for drawn in self._drawn_of_robot]

    def _places_of_parts(self) -> list[tuple[slice, Drawn]]:
        given, found = self._random_of_parts, []
        stream = len(self._drawn_of_robot)
        for name, key in ((MOTOR_STRENGTH, "strength"), (DELAY, "delay")):
            if given[name] is not None:
                where_ = self._at[key]
                found.append((where_, other_number(name, given[name], self._numbers[0, where_].astype(float), stream)))
                stream += 1
        for key, distribution in checked_mapping(given[GROUND], GROUND).items():
            of_ground = [name for name in self._named if name.startswith(GROUND)]
            named = [name for name in of_ground if name.rpartition(".")[2] == key]
            if not named:
                raise UnknownNameError("number of the ground", key, [name.rpartition(".")[2] for name in of_ground])
            for name in named:
                where_ = self._named[name]
                found.append((where_, other_number(name, distribution, self._numbers[0, where_].astype(float), stream)))
                stream += 1
        return found

    # ------------------------------------------------------------------ what laws see

    def _moment(
        self, t: Scalars, state: Scalars, p: Scalars, action: Scalars, previous: Scalars, goal: Scalars
    ) -> Moment:
        system = self._equation.with_numbers(p)
        q, v, z = self._equation.parts(state)
        loops = self._equation.loops
        choice = None if loops is None else LoopChoice(loops.rows)
        return Moment(system, t[0], q, v, z, action, choice, self._goals.named(goal), previous)

    def _law(self, name: str, law: Callable[..., list[Any]]) -> LawProgram:
        title, single = f"{name} of {self.robot.name!r}", self.precision == "single"
        return LawProgram(title, law, self._lengths, self._equation.compiled, cpu=self.robot.cpu, single=single)

    @property
    def _lengths(self) -> dict[str, int]:
        """The lengths of the vectors that laws take."""
        return {
            "t": 1, "state": self._state.shape[-1], "p": self._numbers.shape[-1], "action": self.action_size,
            "previous": self.action_size, "goal": self._goals.numbers.shape[-1],
        }  # fmt: skip

    # ------------------------------------------------------------------ resets

    def reset(
        self, mask: ArrayLike | None = None, q: ArrayLike | None = None, v: ArrayLike | None = None,
        *, seed: int | None = None, observed: bool = True,
    ) -> Array | None:  # fmt: skip
        """Begin new episodes.

        Parameters
        ----------
        mask : array_like of bool (batch,), or of int, optional
            Worlds to select; all by default.
        q, v : array_like, shapes (..., nq), (..., nv), optional
            Initial states, one for all or one for each; by default the world's :attr:`start` plus its random offsets.
        seed : int, optional
            Restart the count of episodes with this seed; only for all worlds together.
        observed : bool
            Whether to compute observations.

        Returns
        -------
        ndarray (worlds, n) or None
            Observations of the worlds that were reset, if there is a function for them.
        """
        if seed is not None:
            if mask is not None:
                raise OptionError("a seed is for all worlds: reset without a mask")
            object.__setattr__(self, "seed", whole_number(seed, "seed", least=0))
            self._episode[:] = -1
        lanes = self._chosen(mask)
        if lanes.size:
            episodes = self._episode[lanes] + 1
            numbers, goals, start = self._draws(self.seed, lanes, episodes)
            self._advance.begin(lanes, *self._begin(lanes, episodes, q, v, start))
            self._lost[lanes], self._episode[lanes] = False, episodes
            self._actions.before_draws(lanes)
            if numbers.size:
                self._numbers[lanes[:, None], self._drawn_places] = numbers
            self._goals.begin(lanes, goals)
            self._actions.begin(lanes, self._resting(self._state[lanes, : self.robot.nq]))
            if self._push is not None:
                self._push.begin(lanes)
        if not observed or self._laws["observe"] is None:
            return None
        return self.observe() if mask is None else self._observed(lanes)

    def _chosen(self, mask: ArrayLike | None) -> Array:
        return self._lanes if mask is None else chosen_worlds(mask, self.batch)

    def _begin(self, lanes: Array, episodes: Array, q: Any, v: Any, drawn: Array) -> tuple[Array, Array]:
        """Return checked states for some worlds."""
        given_q, given_v = self._start[0][lanes], self._start[1][lanes]
        if q is None:
            given_q = self._random_start.of_q(self.first + lanes, episodes, given_q, drawn)
        else:
            given_q = self._one_for_each(lanes, "q", initial_state(self.robot, q, None, ("q", "v"))[0])
        if v is None:
            return given_q, self._random_start.of_v(given_q, given_v, drawn)
        return given_q, self._one_for_each(lanes, "v", initial_state(self.robot, given_q, v, ("q", "v"))[1])

    def _one_for_each(self, lanes: Array, name: str, x: Array) -> Array:
        if x.ndim > 2 or (x.ndim == 2 and x.shape[0] not in (1, lanes.size)):
            raise ShapeError(f"{name} must be one state or one for each of {lanes.size} worlds, got {x.shape}")
        if not np.isfinite(x).all():
            raise StateError(f"{name} has entries that are not numbers: an episode cannot start there")
        return np.broadcast_to(x, (lanes.size, x.shape[-1]))

    def set_goal(self, name: str, value: ArrayLike, mask: ArrayLike | None = None) -> None:
        """Set numbers of the world's ``goal`` in some worlds, until they are reset.

        Parameters
        ----------
        name : str
        value : array_like, shape (n,) or (worlds, n)
        mask : array_like of bool (batch,), or of int, optional
            Worlds to select; all by default.
        """
        self._goals.set(name, value, self._chosen(mask))

    # ------------------------------------------------------------------ steps

    @cached_property
    def period(self) -> float:
        """Seconds between two actions."""
        return self.substeps * self.step_size

    def step(self, action: ArrayLike = ()) -> Stepped:
        """Advance all worlds by one period under actions.

        Parameters
        ----------
        action : array_like, shape (batch, n) or (n,)
            One number per motor (``action_names``); NaN ends its world.  Without motors, no action is needed.

        Returns
        -------
        Stepped
            Observation, reward, and which worlds ended.
        """
        self._take(action)
        self._advance()
        return self._stepped()

    def _take(self, action: ArrayLike) -> None:
        """Set the actions and pushes of the period that begins."""
        self._actions.take(self._checked(action), self._time)
        if self._push is not None:
            self._push.set(self.seed, self._episode)

    def _checked(self, action: ArrayLike, elsewhere: bool = False) -> Array:
        """Return checked actions, one for all worlds or one for each; for other states, of any batch."""
        given = np.asarray(action)
        if (
            given.dtype.kind not in "fiu"
            or given.shape[-1:] != (self.action_size,)
            or (given.ndim > 2 and not elsewhere)
        ):
            shown = ", ".join(self.action_names[:4]) + (", ..." if self.action_size > 4 else "")
            each = f"one number per motor ({shown})" if self.action_names else "since the robot has no motors"
            raise ShapeError(
                f"action must have shape ({'...' if elsewhere else self.batch}, {self.action_size}), {each}, got "
                f"{given.dtype} {given.shape}"
            )
        if given.ndim == 2 and given.shape[0] != self.batch and not elsewhere:
            raise ShapeError(f"action is for {given.shape[0]} worlds, there are {self.batch}")
        return given

    # ------------------------------------------------------------------ derivatives

    @property
    def numbers(self) -> dict[str, Array]:
        """The current numbers of the worlds, (batch, n) by name.

        They are the gains of motors and controller, numbers of ground and forces, and the robot's numbers that
        ``parameters`` and ``random`` name.
        """
        return {name: self._numbers[:, where_].astype(float) for name, where_ in self._named.items()}

    @cached_property
    def _derivatives(self) -> WorldDerivatives:
        steps = StepDerivatives(
            self._equation, self.integrator, self.step_size, self.substeps, self._start[0], self.threads
        )
        reward = RewardGradient(self._shown, self._lengths, self._goals, self.robot, self.threads)
        return WorldDerivatives(
            self.robot, steps, self._advance, self._actions, self._numbers, self._named, self._at, self._pushed,
            reward if self.has_reward else None,
        )  # fmt: skip

    def step_with_derivatives(self, action: ArrayLike, parameters: Sequence[str] = ()) -> DifferentiatedStep:
        """Advance all worlds as :meth:`step` does, and return the derivatives of their new states.

        Derivatives are exact, for the very steps that are taken: with respect to positions along the freedoms (three
        for a ball, six for a free body, as :meth:`kinetree.Robot.integrate` moves), then velocities.  At touchdown or
        sticking they are one-sided, those of the current side.

        Parameters
        ----------
        action : array_like, shape (batch, n) or (n,)
        parameters : sequence of str
            Names of :attr:`numbers` for which derivatives are computed as well.

        Returns
        -------
        DifferentiatedStep
            The result of :meth:`step`, ``by_state`` (batch, 2 nv, 2 nv) and ``by_action`` (batch, 2 nv, n); with the
            attributes ``by_parameters`` and, if actions arrive late, ``by_earlier``.  NaN in worlds that are lost.
        """
        moved, begin = self._derivatives.moved(parameters), self._derivatives.here()
        self._take(action)
        found = self._derivatives.step(begin, moved)
        return DifferentiatedStep(self._stepped(), *found)

    def transition(
        self, state: ArrayLike, action: ArrayLike, time: ArrayLike = 0.0, parameters: Sequence[str] = ()
    ) -> Transition:
        """Return the states after a period from any states, with the derivatives; the world itself does not move.

        All nodes of a plan fit in one call, whatever the batch of the world; if that is more than one, it must be the
        last batch axis of the states.

        Parameters
        ----------
        state : array_like, shape (..., n)
            Configurations, velocities and further states, as in :attr:`state`.
        action : array_like, shape (..., motors)
        time : array_like, shape (...)
            Seconds since the episode began.
        parameters : sequence of str
            Names of :attr:`numbers` for which derivatives are computed as well.

        Returns
        -------
        Transition
        """
        return self._derivatives.transition(state, self._checked(action, True), time, parameters)

    def rollout(
        self, actions: ArrayLike | Callable[[int, Array], ArrayLike], steps: int | None = None, *, keep: bool = True
    ) -> Rollout:
        """Advance all worlds by many periods, to be differentiated afterwards as a whole.

        Nothing is reset on the way, and the world stays at the end of the last period.

        Parameters
        ----------
        actions : array_like, shape (steps, batch, n) or (steps, n); or callable
            Actions of all periods, or a policy ``f(k, state)`` that returns those of period k from its initial states.
        steps : int, optional
            Number of periods, for a policy.
        keep : bool
            Whether the states of all substeps are kept for the gradient.  Otherwise they are computed again from those
            of whole periods, which costs a second rollout but less memory.

        Returns
        -------
        Rollout
            Its :meth:`~Rollout.gradient` is with respect to start, actions and numbers of the world.

        Examples
        --------
        >>> import numpy as np
        >>> import kinetree as kt
        >>> world = kt.World("kuka-kr5", substeps=10)
        >>> rollout = world.rollout(np.zeros((20, 6)))
        >>> rollout.gradient(states=[0, 0, 0, 0, 0, 1.0] + [0.0] * 6).actions.shape   # of where the last joint ends
        (20, 1, 6)
        """
        return self._derivatives.rollout(actions, steps, keep, self._take, self._stepped)

    def _stepped(self) -> Stepped:
        found, n = self._look(), self._shown.observed
        np.logical_or(self._lost, ~(found[:, -1] <= 0.0), out=self._lost)  # including NaN
        if self._ranges.is_watching and (found[:, -1] < 0.0).any():
            self._ranges.warn(self._state[:, : self.robot.nq])
        ended = self._lost.copy()
        if self._laws["ended"]:
            ended |= found[:, -2] > 0.0
        observation = found[:, :n] if self._laws["observe"] else None
        reward = found[:, n] if self._laws["reward"] else None
        return Stepped(observation, reward, ended, self._lost.copy())

    def _seen(self, lanes: Any = slice(None)) -> dict[str, Array]:
        """Return the vectors that laws take, for some worlds."""
        parts = {
            "t": self._advance.clock, "state": self._state, "p": self._numbers, "action": self._actions.given,
            "previous": self._actions.previous, "goal": self._goals.numbers,
        }  # fmt: skip
        return {name: x[lanes] for name, x in parts.items() if x.shape[-1]}

    # ------------------------------------------------------------------ to look at

    def observe(self, mask: ArrayLike | None = None) -> Array:
        """Return the current observation, (n, observation_size), of all worlds or of n of them.

        Parameters
        ----------
        mask : array_like of bool (batch,), or of int, optional
            Worlds to select; all by default.
        """
        if self._laws["observe"] is None:
            raise OptionError("this World observes nothing: give observe=..., such as observe=lambda m: [*m.q, *m.v]")
        return self._look()[:, : self._shown.observed] if mask is None else self._observed(self._chosen(mask))

    def _observed(self, lanes: Array) -> Array:
        if lanes.size > FEW:
            return self._outcome(self._seen(lanes), self.threads)[:, : self._shown.observed]
        for name, some in self._seen(lanes).items():
            self._few[name][: lanes.size] = some
        return self._look_at_few()[: lanes.size, : self._shown.observed]

    @property
    def observation(self) -> Array | None:
        """The current observation, (batch, n); None without a function for it."""
        return None if self._laws["observe"] is None else self.observe()

    def sense(self) -> dict[str, Array]:
        """Return the current sensor readings, each (batch,), by the names in ``sensor_names``."""
        if not self.sensors:
            raise OptionError(
                "this World has no sensors: give some, such as sensors=[kinetree.sensors.Gyroscope('trunk')]"
            )
        if self._sensing is None:

            def law(state: Scalars, **others: Scalars) -> list[Any]:
                moment = self._moment(state=state, **others)
                return [x + 0.0 * state[0] for sensor in self.sensors for x in sensor.read(moment)]

            self._sensing = self._law("sensors", law)
        found = self._sensing(self._seen(), self.threads)
        return {name: found[:, k] for k, name in enumerate(self.sensor_names)}

    def _part(self, first: int, last: int) -> Array:
        return LiveView.of(self._state[:, first:last])

    @property
    def q(self) -> Array:
        """Configurations, (batch, nq): a view that every step overwrites, to be read or copied."""
        return self._part(0, self.robot.nq)

    @property
    def v(self) -> Array:
        """Velocities, (batch, nv): a view like ``q``."""
        return self._part(self.robot.nq, self.robot.nq + self.robot.nv)

    @property
    def state(self) -> Array:
        """Configurations, velocities and further states, (batch, nq + nv + nz): what ``q`` and ``v`` are views of."""
        return self._part(0, self._state.shape[-1])

    @property
    def time(self) -> Array:
        """Seconds since each episode began, (batch,)."""
        return self._time.copy()

    @property
    def episode(self) -> Array:
        """The number of each world's current episode, from 0, (batch,)."""
        return self._episode.copy()

    @property
    def start(self) -> tuple[Array, Array]:
        """Initial states of episodes before anything random is added, (batch, nq) and (batch, nv)."""
        q, v = (x.copy() for x in self._start)
        return q, v

    @property
    def has_reward(self) -> bool:
        """Whether steps give a reward."""
        return self._laws["reward"] is not None

    @property
    def observation_size(self) -> int:
        """The number of entries in the observation of one world."""
        return self._shown.observed

    @cached_property
    def action_size(self) -> int:
        """The number of entries in the action of one world."""
        return len(self.action_names)

    @property
    def contact_forces(self) -> Array:
        """Forces on the spots that can touch the ground, along world axes, (batch, spots, 3)."""
        nq, nv = self.robot.nq, self.robot.nv
        state = self._state.astype(float)
        parts = state[:, :nq], state[:, nq : nq + nv], state[:, nq + nv :]
        with self._equation.reading(self._numbers.astype(float)):
            return self._equation.contact_forces(self._time, *parts)

    @property
    def goal(self) -> dict[str, Array]:
        """Numbers of the world's ``goal``, (batch, n) by name."""
        return {name: numbers.astype(float) for name, numbers in self._goals}

    @property
    def drawn(self) -> dict[str, Array]:
        """Numbers drawn for each world's current episode, (batch, n) by name."""
        found = {drawn.name: self._numbers[:, place].astype(float) for place, drawn in self._drawn}
        if DELAY in found:
            found[DELAY] = self._actions.delay[:, None].copy()
        return found

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "a World holds machine code and cannot be copied or pickled: make another one with the same arguments, in "
            "another process too, and put it where this one is with reset(q=world.q, v=world.v)"
        )

    def __repr__(self) -> str:
        return (
            f"<World of {self.batch} {self.robot.name!r}: {self.substeps} steps of {self.step_size:g} s by "
            f"{self.integrator}, {self.action_size} motors>"
        )
