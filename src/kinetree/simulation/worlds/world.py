"""``kt.World``: many copies of a robot, stepped together by actions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ...control.base import Controller, Sum
from ...control.commands import Commanded
from ...control.sampled import find_sampled
from ...errors import (
    ExplainsArguments,
    KinetreeError,
    OptionError,
    ReadOnlyError,
    ShapeError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)  # fmt: skip
from ...forces.pushes import Push
from ...former_names import former_arguments
from ...robot.load import as_robot
from ...robot.robot import Robot
from ...run.law_kernels import LawProgram, is_condition, refuse_nested
from ...spatial import Scalar, where
from ...spatial.arrays import Array
from ...spatial.numbers import whole_number
from ..arguments import check_integrator, force_elements, initial_state, law_and_function, varied_parameters
from ..equation import Equation
from ..integrators.fixed_step_methods import FIXED
from ..loop_choice import LoopChoice
from ..oddities.long_steps import warn_of_long_steps
from ..oddities.unheld import warn_of_falling_world
from ..options import SimulationOptions
from ..system import DynamicSystem
from .actions import Actions
from .advance import Advance
from .goals import Goals
from .live_view import LiveView
from .moment import Moment
from .random_pushes import PushForces, RandomPushes, checked_pushes
from .random_start import RandomStart
from .randomized import DELAY, GROUND, MOTOR_STRENGTH, STATES, Drawn, checked_mapping, other_number, robot_numbers
from .range_watch import RangeWatch
from .sensors import Sensor, check_sensors
from .step_derivatives import StepDerivatives
from .stepped import DifferentiatedStep, Stepped

Scalars = Sequence[Scalar]
Law = Callable[[Moment], Any]

RETURNED = {
    "observe": "it returns a list of numbers, such as [*m.q, *m.v]",
    "reward": "it returns one number",
    "ended": "it returns a condition, or a list of conditions any of which ends the episode",
}
"""What functions of a moment return."""

NO_NUMBER = "a comparison is not a number: choose with kinetree.where(m.q[0] > 1.0, 1.0, 0.0)"
"""What is said of a condition where a number is wanted."""

OF_VECTORS = "a vector has .x, .y and .z; [*vector] is the list of them, and vector.dot(vector) its length squared"
"""What is said to those who take a vector for an array."""


class World(ExplainsArguments):
    """Many copies of a robot, each with its own state, actions and numbers, stepped together in machine code.

    Everything is set up once; then :meth:`step` costs some microseconds beside the physics.

    Parameters
    ----------
    robot : Robot, or path-like
        A robot, its file, or its name in the gallery; with or without loops.
    batch : int
        How many worlds.
    action : {"torque", "position", "velocity", "signal"} or Commanded
        What actions are: forces of the motors; targets of servos, whose gains a :class:`kinetree.control.Commanded`
        has, ``Commanded("position", kp=40, kd=1)``; or signals of the robot's own actuators, as MJCF files have them.
    controller : controller, optional
        What acts beside the action, which is a residual then.
    ground, forces : force elements
        As in :func:`kinetree.simulate`.
    parameters : mapping, optional
        Numbers of the robot that replace the model's, one or one per world.
    random : mapping, optional
        Distributions that are drawn from at every reset: by the names of ``robot.parameters()``; under ``"bodies"`` and
        ``"joints"``, ``{"trunk": {"mass": kt.Uniform(0.8, 1.2, relative=True)}}``; and ``"gravity"``,
        ``"motor_strength"``, ``"delay"`` (seconds from an action to its effect), ``"ground"`` (by the names of the
        ground's laws, ``{"friction": kt.Uniform(0.4, 1.0)}``); and ``"q"``, ``"v"``: what is added to the start along
        each freedom, or along those of joints, ``{"q": {"elbow": kt.Uniform(-0.1, 0.1)}}``; loops are closed again.
    goal : mapping, optional
        Numbers of your own that functions of a moment see as ``m.goal["target"]``: distributions that are drawn from at
        every reset, or numbers, one set or one per world; :meth:`set_goal` changes them.
    pushes : RandomPushes, optional
    integrator : str
        An explicit one with a fixed step, or ``"implicit_euler"``, which is implicit in springs, damping, servos,
        ground and stops.
    step : float
        Seconds of one step of the integrator.
    substeps : int
        Steps of the integrator between two actions.
    q0, v0 : array_like, optional
        Where episodes begin, and how fast, unless :meth:`reset` says otherwise; arrays with or without a batch.
    observe, reward, ended : callable, optional
        Functions of a :class:`Moment` over any scalar, compiled: a list of numbers; one number; a condition, a number
        that is positive at the end, or several of these.  Choices are made with ``kt.where``.
    sensors : sequence of Sensor
        Read by :meth:`sense`.
    friction : bool
        Whether the joints' own damping and friction act.
    precision : {"double", "single"}
    threads : int
    seed : int
        What world k draws in its n-th episode depends on the seed, k and n only.
    first : int
        The number k of the first world: where several processes share one large batch.

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
            raise UnsupportedError("closed loops are not held closed in single precision: take double")
        self.robot = robot
        self.batch = whole_number(batch, "batch", least=1)
        self.substeps = whole_number(substeps, "substeps", least=1)
        self.step_size = cast("float", options.step)
        self.threads, self.integrator, self.precision = threads, integrator, precision
        self.seed = whole_number(seed, "seed", least=0)
        self.first = whole_number(first, "first", least=0)
        self._command = _without_gains(action) if isinstance(action, str) else action
        if not isinstance(self._command, Commanded):
            raise OptionError(f"action must be a kind of command or a kinetree.control.Commanded, not {action!r}")
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
        self._ranges = RangeWatch(robot, self._system.elements)
        self._goal = goal
        self._laws = {"observe": observe, "reward": reward, "ended": ended}
        self._lay_out()
        self._outcome = self._trace_outcome()
        self._look = self._outcome.prepared(self._seen(), threads)
        self._sensing: LawProgram | None = None
        self._derivatives: StepDerivatives | None = None
        self.reset()
        self._frozen = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to change what machine code was made for."""
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
        self._grounds = range(1, 1 + len(grounds))  # their numbers among the parts, behind the controller
        if self._pushes is not None:
            others += (Push(self._pushes.at),)
        motors, of_ground = (random.pop(name, None) for name in (MOTOR_STRENGTH, GROUND))
        late = random.pop(DELAY, None)
        self._drawn_of_robot, room = robot_numbers(self.robot, random)
        given = _merged(dict(parameters or {}), room)
        varied = varied_parameters(self.robot, given or None, self.integrator)
        if varied.numbers is not None and varied.numbers.ndim > 1 and varied.numbers.shape[:-1] != (self.batch,):
            raise ShapeError(f"parameters have a batch of {varied.numbers.shape[:-1]}, the world has ({self.batch},)")
        self._random_of_parts = {MOTOR_STRENGTH: motors, DELAY: late, GROUND: of_ground}
        return DynamicSystem(self.robot, law, grounds, others, friction, friction_speed, False, varied)

    def _lay_out(self) -> None:
        """Make room for states and numbers, and note which are which."""
        system = self._system
        dtype = np.float32 if self.precision == "single" else np.float64
        self._slices: dict[str, slice] = {}
        first = 0
        for name, value in system.parameters.items():
            self._slices[name] = slice(first, first + value.shape[-1])
            first += value.shape[-1]
        self._numbers = np.empty((self.batch, first), dtype=dtype)
        self._numbers[:] = self._equation.numbers
        if self._equation.numbers.dtype == dtype:
            self._equation.read_numbers_from(self._numbers)  # so that every way of stepping reads them
        part = "0.0." if isinstance(system.controller, Sum) else "0."
        self._at = {name: self._slices[part + name] for name in Commanded.GAINS}
        self._drawn: list[tuple[slice, Drawn]] = [*self._places_of_robot(), *self._places_of_parts()]
        is_late = self._random_of_parts[DELAY] is not None or bool(self._numbers[:, self._at["delay"]].any())
        self._actions = Actions(self._numbers, self._at, self.period, is_late)
        self._push: PushForces | None = None
        if self._pushes is not None:
            place = self._slices[next(name for name in reversed(self._slices) if name.endswith(".force"))]
            self._push = PushForces(self._pushes, self._numbers[:, place], self.period, self.first)
        self._goals = Goals(self._goal, self.batch, dtype)
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
        wanted = checked_mapping(given[GROUND], GROUND)
        known = [(int(name.partition(".")[0]), name) for name in self._slices if name[0].isdigit()]
        of_ground = [(k, name) for k, name in known if k in self._grounds]
        for key, distribution in wanted.items():
            named = [(k, name) for k, name in of_ground if name.rpartition(".")[2] == key]
            if not named:
                raise UnknownNameError("number of the ground", key, [name.rpartition(".")[2] for _, name in of_ground])
            for k, name in named:
                called = f"{GROUND}.{key}" if len(named) == 1 else f"{GROUND}[{k - 1}].{key}"
                nominal = self._numbers[0, self._slices[name]].astype(float)
                found.append((self._slices[name], other_number(called, distribution, nominal, stream)))
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
        lengths = {
            "t": 1, "state": self._state.shape[-1], "p": self._numbers.shape[-1], "action": self.action_size,
            "previous": self.action_size, "goal": self._goals.numbers.shape[-1],
        }  # fmt: skip
        title = f"{name} of {self.robot.name!r}"
        return LawProgram(
            title, law, lengths, self._equation.compiled, cpu=self.robot.cpu, single=self.precision == "single"
        )

    def _trace_outcome(self) -> LawProgram:
        """Make one kernel of observation, reward and end, and of what became NaN."""
        self._observed = 0
        largest = float(np.finfo(self._numbers.dtype).max)
        read: dict[str, Callable[[Any], list[Any]]] = {"observe": list, "reward": _one, "ended": _ends}

        def law(state: Scalars, action: Scalars, **others: Scalars) -> list[Any]:
            moment, found = self._moment(state=state, action=action, **others), []
            for name, function in self._laws.items():
                if function is None:
                    continue
                try:
                    answer = function(moment)
                    numbers = read[name](answer)
                    refuse_nested(numbers, "[*m.q, *m.v]")
                    if any(map(is_condition, numbers)):
                        raise TypeError(NO_NUMBER)
                    found += [x + 0.0 * state[0] if isinstance(x, (int, float)) else x for x in numbers]
                except KinetreeError:
                    raise
                except Exception as problem:
                    why = OF_VECTORS if "'Vec3'" in str(problem) else repr(problem)
                    raise OptionError(
                        f"{name} of the World cannot be traced into machine code ({why}); "
                        f"{RETURNED[name]}, written with arithmetic, < and >, kinetree.where, sin, cos, exp, ..., "
                        "without if; or compute it from world.q and world.v in Python"
                    ) from problem
                if name == "observe":
                    self._observed = len(found)
            size: Any = 0.0
            for x in (*state, *action):
                size = size + abs(x)
            return [*found, where(size < largest, self._ranges.flag(state) + 0.0 * size, 1.0)]

        return self._law("outcome", law)

    # ------------------------------------------------------------------ resets

    def reset(
        self, mask: ArrayLike | None = None, q: ArrayLike | None = None, v: ArrayLike | None = None,
        *, seed: int | None = None, observed: bool = True,
    ) -> Array | None:  # fmt: skip
        """Begin new episodes.

        Parameters
        ----------
        mask : array_like of bool (batch,), or of int, optional
            Which worlds; all by default.
        q, v : array_like, shapes (..., nq), (..., nv), optional
            Where they start, one state or one for each of them; as the world's :attr:`start` by default, with what is
            random about that.
        seed : int, optional
            Begin the count of episodes anew with this seed; for all worlds only.
        observed : bool
            Whether observations are wanted; of some worlds only they are to be had from :meth:`observe`.

        Returns
        -------
        ndarray (batch, n) or None
            Observations of all worlds, if there is a function for that.
        """
        if seed is not None:
            if mask is not None:
                raise OptionError("a seed is for all worlds: reset without a mask")
            object.__setattr__(self, "seed", whole_number(seed, "seed", least=0))
            self._episode[:] = -1
        lanes = self._chosen(mask)
        if lanes.size:
            episodes = self._episode[lanes] + 1
            self._advance.begin(lanes, *self._begin(lanes, episodes, q, v))
            self._lost[lanes], self._episode[lanes] = False, episodes
            self._redraw(lanes)
        return self.observation if observed else None

    def _chosen(self, mask: ArrayLike | None) -> Array:
        if mask is None:
            return self._lanes
        given = np.asarray(mask)
        if given.dtype == bool:
            if given.shape != (self.batch,):
                raise ShapeError(f"mask must have shape ({self.batch},), one per world, got {given.shape}")
            return np.flatnonzero(given)
        if given.dtype.kind not in "iu" or given.ndim != 1:
            raise ShapeError("mask must be booleans, one per world, or numbers of worlds")
        if np.any((given < 0) | (given >= self.batch)) or len(set(given.tolist())) != given.size:
            raise ShapeError(f"mask names worlds from 0 to {self.batch - 1}, each once")
        return given

    def _begin(self, lanes: Array, episodes: Array, q: Any, v: Any) -> tuple[Array, Array]:
        """Return checked states for some worlds."""
        given_q, given_v = self._start[0][lanes], self._start[1][lanes]
        if q is None:
            given_q = self._random_start.of_q(self.seed, self.first + lanes, episodes, given_q)
        else:
            given_q = self._one_for_each(lanes, "q", initial_state(self.robot, q, None, ("q", "v"))[0])
        if v is None:
            return given_q, self._random_start.of_v(self.seed, self.first + lanes, episodes, given_q, given_v)
        return given_q, self._one_for_each(lanes, "v", initial_state(self.robot, given_q, v, ("q", "v"))[1])

    def _one_for_each(self, lanes: Array, name: str, x: Array) -> Array:
        if x.ndim > 2 or (x.ndim == 2 and x.shape[0] not in (1, lanes.size)):
            raise ShapeError(f"{name} must be one state or one for each of {lanes.size} worlds, got {x.shape}")
        if not np.isfinite(x).all():
            raise StateError(f"{name} has entries that are not numbers: an episode cannot start there")
        return np.broadcast_to(x, (lanes.size, x.shape[-1]))

    def _redraw(self, lanes: Array) -> None:
        """Give worlds new numbers for a new episode."""
        episodes = self._episode[lanes]
        self._actions.before_draws(lanes)
        for where_, drawn in self._drawn:
            self._numbers[lanes, where_] = drawn.draw(self.seed, self.first + lanes, episodes)
        self._goals.draw(self.seed, lanes, self.first + lanes, episodes)
        q = self._state[lanes, : self.robot.nq]
        self._actions.begin(lanes, self._command.resting(self.robot.model, q))
        if self._push is not None:
            self._push.begin(lanes)

    def set_goal(self, name: str, value: ArrayLike, mask: ArrayLike | None = None) -> None:
        """Set numbers of the world's ``goal`` in some worlds, until they are reset.

        Parameters
        ----------
        name : str
        value : array_like, shape (n,) or (worlds, n)
        mask : array_like of bool (batch,), or of int, optional
            Which worlds; all by default.
        """
        self._goals.set(name, value, self._chosen(mask))

    # ------------------------------------------------------------------ steps

    @cached_property
    def period(self) -> float:
        """Seconds between two actions."""
        return self.substeps * self.step_size

    def step(self, action: ArrayLike = ()) -> Stepped:
        """Let all worlds move for one period under actions.

        Parameters
        ----------
        action : array_like, shape (batch, n) or (n,)
            One number per motor (``action_names``); those that are no numbers end their world.  Where there are no
            motors, there is nothing to give.

        Returns
        -------
        Stepped
            Observation, reward, and which worlds ended.
        """
        given = np.asarray(action)
        if given.dtype.kind not in "fiu" or given.shape[-1:] != (len(self.action_names),) or given.ndim > 2:
            shown = ", ".join(self.action_names[:4]) + (", ..." if len(self.action_names) > 4 else "")
            each = f"one number per motor ({shown})" if self.action_names else "since the robot has no motors"
            raise ShapeError(
                f"action must have shape ({self.batch}, {len(self.action_names)}), {each}, got {given.dtype} "
                f"{given.shape}"
            )
        if given.ndim == 2 and given.shape[0] != self.batch:
            raise ShapeError(f"action is for {given.shape[0]} worlds, there are {self.batch}")
        self._actions.take(given, self._time)
        if self._push is not None:
            self._push.set(self.seed, self._episode)
        self._advance()
        return self._stepped()

    def step_with_derivatives(self, action: ArrayLike) -> DifferentiatedStep:
        """Let all worlds move as :meth:`step` does, and tell how where they come to changes with state and action.

        Derivatives are exact, of the very steps that are taken: by positions along the freedoms (three for a ball, six
        for a free body, as :meth:`kinetree.Robot.integrate` moves), then by velocities.  Where something touches down
        or sticks they are those of the side it is on.

        Parameters
        ----------
        action : array_like, shape (batch, n) or (n,)

        Returns
        -------
        DifferentiatedStep
            What :meth:`step` gives, ``by_state`` (batch, 2 nv, 2 nv) and ``by_action`` (batch, 2 nv, n).
        """
        if self._derivatives is None:
            if self._actions.is_late:
                raise UnsupportedError(
                    "with a delay, the end of a step also depends on earlier actions: leave delay out"
                )
            self._derivatives = StepDerivatives(
                self._equation, self.integrator, self.step_size, self.substeps, self._at["command"], self.threads
            )
        time, state = self._time.copy(), self._state.astype(float)
        stepped = self.step(action)
        return DifferentiatedStep(stepped, *self._derivatives(time, state, self._numbers.astype(float)))

    def _stepped(self) -> Stepped:
        found, n = self._look(), self._observed
        self._lost |= ~(found[:, -1] <= 0.0)  # those that are no numbers, too
        self._ranges.look(found[:, -1], self._state[:, : self.robot.nq])
        ended = self._lost.copy()
        if self._laws["ended"]:
            ended |= found[:, -2] > 0.0
        observation = found[:, :n] if self._laws["observe"] else None
        reward = found[:, n] if self._laws["reward"] else None
        return Stepped(observation, reward, ended, self._lost.copy())

    def _seen(self, lanes: Any = slice(None)) -> dict[str, Array]:
        """Return what laws take, of some worlds."""
        parts = {
            "t": self._advance.clock, "state": self._state, "p": self._numbers, "action": self._actions.given,
            "previous": self._actions.previous, "goal": self._goals.numbers,
        }  # fmt: skip
        return {name: x[lanes] for name, x in parts.items() if x.shape[-1]}

    # ------------------------------------------------------------------ to look at

    def observe(self, mask: ArrayLike | None = None) -> Array:
        """Return what is observed now, (n, observation_size), in all worlds or in n of them.

        Parameters
        ----------
        mask : array_like of bool (batch,), or of int, optional
            Which worlds; all by default.
        """
        if self._laws["observe"] is None:
            raise OptionError("this World observes nothing: give observe=..., such as observe=lambda m: [*m.q, *m.v]")
        if mask is None:
            return self._look()[:, : self._observed]
        lanes = self._chosen(mask)
        return self._outcome(self._seen(lanes), self.threads)[:, : self._observed]

    @property
    def observation(self) -> Array | None:
        """What is observed now, (batch, n); None if no function was given for that."""
        return None if self._laws["observe"] is None else self.observe()

    def sense(self) -> dict[str, Array]:
        """Return what sensors show now, each (batch,), by the names in ``sensor_names``."""
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
        """Configurations, (batch, nq): a view that every step writes to, to be read or copied."""
        return self._part(0, self.robot.nq)

    @property
    def v(self) -> Array:
        """Velocities, (batch, nv), a view as ``q`` is."""
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
        """Which episode of each world this is, from 0, (batch,)."""
        return self._episode.copy()

    @property
    def start(self) -> tuple[Array, Array]:
        """Where episodes begin before anything random is added, (batch, nq) and (batch, nv)."""
        q, v = (x.copy() for x in self._start)
        return q, v

    @property
    def has_reward(self) -> bool:
        """Whether steps give a reward."""
        return self._laws["reward"] is not None

    @property
    def observation_size(self) -> int:
        """Numbers in the observation of one world."""
        return self._observed

    @property
    def action_size(self) -> int:
        """Numbers in the action of one world."""
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
        """What was drawn for each world's present episode, (batch, n) by name."""
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


def _without_gains(action: str) -> Commanded:
    """Return commands of a kind that needs no gains."""
    if action in ("position", "velocity"):
        gain = "kp=40.0, kd=1.0" if action == "position" else "kd=1.0"
        raise OptionError(f"a servo needs gains: action=kinetree.control.Commanded({action!r}, {gain}), not {action!r}")
    return Commanded(action)


def _one(answer: Any) -> list[Any]:
    """Return one number; refuse several."""
    if isinstance(answer, (list, tuple)) or (isinstance(answer, np.ndarray) and answer.dtype == object):
        raise TypeError(f"it must return one number, not {len(answer)}")
    return [answer]


def _ends(answer: Any) -> list[Any]:
    """Return a number that is positive if any of some conditions holds, or any of some numbers is positive."""
    total: Any = 0.0
    for reason in answer if isinstance(answer, (list, tuple)) else (answer,):
        total = total + where(reason if is_condition(reason) else reason > 0.0, 1.0, 0.0)
    return [total]


def _merged(parameters: dict[str, Any], room: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with room for what is drawn; nothing may be both."""
    found = dict(parameters)
    for name, content in room.items():
        if isinstance(content, dict):
            found[name] = _merged(dict(found.get(name, {})), content)
        elif name in found:
            raise OptionError(f"{name} is given both as a parameter and as a random one")
        else:
            found[name] = content
    return found
