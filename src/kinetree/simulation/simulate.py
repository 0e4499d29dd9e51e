"""``kt.simulate``: a robot moves, and a record of it is kept."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import as_array, batch_shape
from ..errors import (
    KinetreeWarning,
    OptionError,
    SimulationError,
    SingularityWarning,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from ..robot import Robot, _check_threads
from .batch import run_batch
from .energy import Energies
from .equation import System
from .events import Event, Occurrence, as_events, crosses, locate
from .integrators import ADAPTIVE, FIXED, INTEGRATORS, VARIATIONAL
from .numeric import Array, Equation, Fault, State
from .record import COMPLETE, Record
from .stepping import ENDLESS, FixedStepper, ScipyStepper, Stepper

CLOSED = 1e-6
"""How far loops may be open at the beginning, in metres, radians and their rates."""

BATCH_SAMPLES = 101
"""Samples of a batch of simulations if not said otherwise."""


def simulate(
    robot: Robot,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    time: float | tuple[float, float],
    controller: Any = None,
    ground: Any = (),
    integrator: str = "dop853",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    step: float | None = None,
    largest_step: float = np.inf,
    output: int | ArrayLike | None = None,
    events: Any = (),
    friction: bool = True,
    friction_speed: float = 1e-2,
    works: bool | None = None,
    progress: bool = True,
    threads: int = 1,
) -> Record:
    """Let a robot move.

    Parameters
    ----------
    robot : Robot
        A tree, on a fixed or floating base, with or without loops.
    q0, v0 : array_like, shapes (..., nq) and (..., nv)
        Where it starts; the neutral configuration, at rest, by default.  With a batch in
        front (or a batch of gains in the controller) all are simulated at once, with a
        fixed step.
    time : float or pair of floats
        Until when, from zero; or from when until when.
    controller : controller or callable, optional
        One of :mod:`kinetree.simulation.control`, or any function ``f(t, q, v) -> tau`` on
        arrays, which must depend on nothing else.
    ground : force element or sequence of them
        What pushes on the robot: ground, stops, springs.
    integrator : str
        ``"dop853"`` or ``"rk45"`` (adaptive); ``"radau"``, ``"bdf"`` or ``"sundials"`` (adaptive,
        for stiff problems); ``"euler"``, ``"semi_implicit_euler"``, ``"rk4"``, ``"dopri5"`` (fixed
        step of first, first, fourth and fifth order); ``"variational"`` (fixed step, second
        order, keeps the energy bounded however long it runs).
    rtol, atol : float
        Relative and absolute tolerance of adaptive integrators.
    step : float
        Of fixed-step integrators, in seconds.
    largest_step : float
        Limit for adaptive integrators; events shorter than a quarter of a step may be missed.
    output : int or array_like, optional
        So many samples, evenly spaced, or at these times; by default at every step (of a batch
        of simulations: 101 samples).
    events : Event, callable or sequence of them
        Functions ``f(t, q, v)`` whose zeros are to be found, see
        :class:`kinetree.simulation.events.Event`; as in SciPy they may have attributes
        ``terminal`` and ``direction``.
    friction : bool
        Whether the joints' damping and friction act.
    friction_speed : float
        Coulomb friction is smoothed to ``v / sqrt(v^2 + friction_speed^2)``.
    works : bool, optional
        Whether the works of actuators, friction and ground are integrated too, so that the energy
        balance can be checked; by default for single simulations but not for batches.
    progress : bool
        Show a bar on the terminal once it has taken longer than a second.
    threads : int
        For batches.

    Returns
    -------
    Record
        Interrupted from the keyboard, it holds what was computed until then.

    Raises
    ------
    SimulationError
        When the motion cannot be followed any further; ``error.record`` is what there was
        until then, ``error.time`` and ``error.joint`` say when and where.

    Examples
    --------
    >>> import kinetree as kt
    >>> pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> record = kt.simulate(pendulum, [0.5], time=2.0)
    >>> bool(record.energy.relative_error < 1e-7)
    True
    """
    begin, end = _span(time)
    if integrator not in INTEGRATORS:
        raise UnknownNameError("integrator", integrator, INTEGRATORS)
    _check_numbers(integrator, rtol, atol, step, largest_step, friction_speed)
    _check_threads(threads)
    law, function = _controller(controller)
    elements = tuple(ground) if isinstance(ground, Sequence) else (ground,)
    q, v = _initial(robot, q0, v0)
    system = System(robot, law, elements, friction, friction_speed, True)
    batch = _batch(system, q, v)
    system = System(robot, law, elements, friction, friction_speed, not batch if works is None else works)
    _check_integrator(robot, integrator, bool(batch))
    equation = Equation(system, function, threads)
    watched = as_events(events)
    if batch:
        if watched:
            raise UnsupportedError("events are for one simulation at a time, not for a batch")
        times = _output_times(BATCH_SAMPLES if output is None else output, begin, end)
        state = (np.broadcast_to(q, (*batch, robot.nq)), np.broadcast_to(v, (*batch, robot.nv)))
        z = np.broadcast_to(system.initial_z(), (*batch, system.nz))
        assert step is not None and times is not None
        samples, status = run_batch(equation, integrator, (*state, z), begin, end, step, times, progress)
        return make_record(equation, *samples, (), status, integrator, {})
    run = Run(equation, integrator, begin, end, rtol, atol, step, largest_step, watched)
    run.samples_at(_output_times(output, begin, end))
    return run((np.array(q), np.array(v), system.initial_z()), progress)


class Run:
    """One simulation under way."""

    def __init__(
        self, equation: Equation, integrator: str, begin: float, end: float, rtol: float, atol: float,
        step: float | None, largest_step: float, events: tuple[Event, ...],
    ) -> None:  # fmt: skip
        self.equation, self.robot = equation, equation.robot
        self.integrator, self.begin, self.end = integrator, begin, end
        self.numbers = (rtol, atol, step, largest_step)
        self.events = events
        self.wanted: Array | None = None
        self.times: list[float] = []
        self.states: list[State] = []
        self.happened: list[Occurrence] = []
        self.n_steps = 0

    def samples_at(self, times: Array | None) -> None:
        """When to take samples; None for every step."""
        self.wanted = times

    def __call__(self, state: State, progress: bool) -> Record:
        """Run to the end, or as far as it goes."""
        status = COMPLETE
        reach, ending = self._reach()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("once", SingularityWarning)
                stopped = self._go(state, reach, progress)
            if stopped is not None:
                status = f"stopped by {stopped}"
            elif ending is not None:
                raise Fault(*ending)
        except Fault as fault:
            record = self._record("failed")
            raise SimulationError(str(fault), fault.time, fault.joint, record) from None
        except KeyboardInterrupt:
            status = "interrupted"
            warnings.warn(
                f"interrupted: the record ends at t = {self.times[-1] if self.times else self.begin:g} s",
                KinetreeWarning,
                stacklevel=3,
            )
        return self._record(status)

    def _reach(self) -> tuple[float, tuple[str, float, str | None] | None]:
        """How far the controller's trajectory leads, and what to say at its end if that is too early."""
        trajectory = getattr(self.equation.system.controller, "trajectory", None)
        end = float(np.min(getattr(trajectory, "end", np.inf)))
        if end >= self.end - 1e-12 * max(1.0, abs(self.end)):
            return self.end, None
        name = self.robot.v_names[0] if self.robot.v_names else None
        message = f"the controller's trajectory ends here, but the simulation was to go on until {self.end:g} s"
        if end <= self.begin:
            raise OptionError(f"the controller's trajectory ends at {end:g} s, before the simulation begins")
        return end, (message, end, name)

    def _stepper(self, state: State, reach: float) -> Stepper:
        rtol, atol, step, largest_step = self.numbers
        if self.integrator in ADAPTIVE:
            return ScipyStepper(self.equation, self.integrator, self.begin, state, reach, rtol, atol, largest_step)
        assert step is not None
        return FixedStepper(self.equation, self.integrator, self.begin, state, reach, step)

    def _go(self, state: State, reach: float, progress: bool) -> str | None:
        """Step until the end; the name of the event that stopped it, if one did."""
        self._next = 0
        self._sample_start(state)
        if self.begin == reach:
            return None
        self._check(self.begin, state)
        stepper = self._stepper(state, reach)
        values = [self._value(e, self.begin, state) for e in self.events]
        with Progress(self.begin, self.end, progress) as bar:
            while stepper.t < reach:
                stepper.step()
                self.n_steps = stepper.n_steps
                self._check(stepper.t, stepper.state)
                if not self._pass_events(stepper, values):
                    return self.happened[-1].name
                self._sample(stepper, stepper.t, stepper.state)
                bar.show(stepper.t)
        return None

    # ------------------------------------------------------------------ events

    def _value(self, event: Event, t: float, state: State) -> float:
        value = event.function(t, state[0], state[1])
        try:
            return float(value)
        except (TypeError, ValueError):
            raise Fault(f"event {event.name!r} returned {value!r}, which is no number", t) from None

    def _pass_events(self, stepper: Stepper, values: list[float]) -> bool:
        """Note the events in the last step, in order; false if one of them ends the simulation."""
        since = stepper.t_old
        while self.events and (found := self._first_event(stepper, values, since)) is not None:
            since, which = found
            event, state = self.events[which], stepper.state_at(since)
            self._sample(stepper, since, state)
            name = event.name or f"event {which}"
            self.happened.append(Occurrence(since, name, which, state[0].copy(), state[1].copy()))
            if event.terminal:
                if self.times[-1:] != [since]:
                    self._keep(since, state)
                return False
            if event.reset is not None:
                state = self._reset(event, since, state)
                self._keep(since, state)
                stepper.restart(since, state)
            values[:] = [self._value(e, since, state) for e in self.events]
            values[which] = 0.0  # this one is over
            if event.reset is not None:
                break
        return True

    def _first_event(self, stepper: Stepper, values: list[float], since: float) -> tuple[float, int] | None:
        """The earliest event in the rest of the last step; brings the functions' values to its end if there is none."""
        inner = np.linspace(stepper.t_old, stepper.t, stepper.interior + 2)[1:-1]
        before, previous = since, list(values)
        for t in [*inner[inner > since].tolist(), stepper.t]:
            state = stepper.state if t == stepper.t else stepper.state_at(t)
            now = [self._value(e, t, state) for e in self.events]
            passed = [k for k, e in enumerate(self.events) if crosses(e, previous[k], now[k])]
            if passed:
                return min((self._locate(stepper, self.events[k], before, t), k) for k in passed)
            before, previous = t, now
        values[:] = previous
        return None

    def _locate(self, stepper: Stepper, event: Event, low: float, high: float) -> float:
        return locate(lambda t: self._value(event, t, stepper.state_at(t)), low, high)

    def _reset(self, event: Event, t: float, state: State) -> State:
        assert event.reset is not None
        try:
            q, v = event.reset(t, state[0].copy(), state[1].copy())
            return self.robot._q(q, "q"), as_array(v, (self.robot.nv,), "v"), state[2]
        except (TypeError, ValueError) as problem:
            raise Fault(f"the reset of event {event.name!r} returned no state: {problem}", t) from None

    # ------------------------------------------------------------------ samples

    def _sample_start(self, state: State) -> None:
        if self.wanted is None or (len(self.wanted) and self.wanted[0] == self.begin):
            self._keep(self.begin, state)
            self._next = 1

    def _sample(self, stepper: Stepper, until: float, state: State) -> None:
        if self.wanted is None:
            if not self.times or self.times[-1] < until:
                self._keep(until, state)
            return
        while self._next < len(self.wanted) and self.wanted[self._next] <= until:
            t = float(self.wanted[self._next])
            self._keep(t, state if t == until else stepper.state_at(t))
            self._next += 1

    def _keep(self, t: float, state: State) -> None:
        self.times.append(t)
        self.states.append(state)

    def _check(self, t: float, state: State) -> None:
        """Stop when the motion has no bound, and say why."""
        q, v, _ = state
        if np.isfinite(v).all() and np.isfinite(q).all() and (not v.size or np.max(np.abs(v)) < ENDLESS):
            return
        raise self._why(t, state)

    def _why(self, t: float, state: State) -> Fault:
        before_t, before = (self.times[-1], self.states[-1]) if self.times else (t, state)
        names = self.robot.v_names
        if self.equation.function is None and self.equation.system.controller is not None:
            tau = self.equation.observe(np.array([before_t]), *(x[None] for x in before)).tau[0]
            if not np.isfinite(tau).all():
                name = names[int(np.argmax(~np.isfinite(tau)))]
                return Fault(f"the controller returned {tau[~np.isfinite(tau)][0]} for joint {name!r}", before_t, name)
        v = state[1]
        name = names[int(np.argmax(np.where(np.isfinite(v), np.abs(v), np.inf)))] if names else None
        if self.integrator in ADAPTIVE:
            return Fault("the motion grows without bound", t, name)
        return Fault(
            f"the motion grows without bound: a step of {self.numbers[2]:g} s is too large for {self.integrator} to be "
            "stable here; take a smaller one, or an integrator for stiff problems ('radau')",
            t,
            name,
        )

    def _record(self, status: str) -> Record:
        equation = self.equation
        widths = (self.robot.nq, self.robot.nv, equation.system.nz)
        states = [np.array([s[k] for s in self.states]).reshape(len(self.states), n) for k, n in enumerate(widths)]
        info = {"steps": self.n_steps, "evaluations": equation.n_calls}
        return make_record(
            equation, np.array(self.times), *states, tuple(self.happened), status, self.integrator, info
        )  # fmt: skip


def make_record(
    equation: Equation, t: Array, q: Array, v: Array, z: Array, events: tuple[Occurrence, ...], status: str,
    integrator: str, info: dict[str, Any],
) -> Record:  # fmt: skip
    """Work out forces and energies at the samples."""
    robot = equation.robot
    try:
        seen = equation.observe(t, q, v, z)
    except Fault:  # the very sample that the controller failed at
        t, q, v, z = t[:-1], q[:-1], v[:-1], z[:-1]
        seen = equation.observe(t, q, v, z)
    n = z.shape[-1] - equation.n_works
    works = [z[..., n + k] if equation.n_works else np.zeros(z.shape[:-1]) for k in range(3)]
    contact = seen.contact_forces.reshape(*q.shape[:-1], -1, 3)
    info = info | {
        "robot": robot.name, "integrator": integrator, "q_names": robot.q_names, "v_names": robot.v_names,
        "q_units": _q_units(robot), "v_units": _v_units(robot),
    }  # fmt: skip
    energy = Energies(seen.kinetic, seen.potential, *works)
    return Record(
        t, q, v, seen.a, seen.tau, seen.friction, contact, seen.constraint_forces, z[..., :n], energy, events, robot,
        status, info,
    )  # fmt: skip


def _q_units(robot: Robot) -> list[str]:
    return [u for j in robot.model.joints if not j.mimic for u in j.kind.units()]


def _v_units(robot: Robot) -> list[str]:
    found: list[str] = []
    for j in robot.model.joints:
        if not j.mimic:
            found += (["rad"] * 3 + ["m"] * 3)[: j.kind.nv] if j.kind.quaternion is not None else list(j.kind.units())
    return found


class Progress:
    """A bar on the terminal, shown once a run has taken a second."""

    def __init__(self, begin: float, end: float, wanted: bool) -> None:
        self.begin, self.end, self.wanted = begin, end, wanted
        self.started = clock.monotonic()
        self.shown = 0.0
        self.bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, t: float) -> None:
        """Say how far the simulation is, ten times a second at most."""
        now = clock.monotonic()
        if not self.wanted or now - self.started < 1.0 or now - self.shown < 0.1:
            return
        self.shown = now
        if self.bar is None:
            from rich.progress import Progress as Bar

            self.bar = Bar(transient=True)
            self.task = self.bar.add_task("simulating", total=self.end - self.begin)
            self.bar.start()
        self.bar.update(self.task, completed=t - self.begin, description=f"simulating, t = {t:.4g} s")


# ------------------------------------------------------------------ what was given


def _span(time: Any) -> tuple[float, float]:
    pair = np.asarray(time, dtype=float).ravel()
    begin, end = (0.0, float(pair[0])) if pair.size == 1 else tuple(map(float, pair)) if pair.size == 2 else (0.0, -1.0)
    if not (np.isfinite(begin) and np.isfinite(end) and end >= begin):
        raise OptionError(f"time must be how long to simulate, or (from, until), in seconds; not {time!r}")
    return begin, end


def _check_numbers(
    integrator: str, rtol: float, atol: float, step: float | None, largest_step: float, friction_speed: float
) -> None:
    for name, value in (("rtol", rtol), ("atol", atol), ("largest_step", largest_step), ("friction_speed", friction_speed)):
        if not value > 0.0:
            raise OptionError(f"{name} must be positive, not {value!r}")
    fixed = integrator in FIXED or integrator == VARIATIONAL
    if fixed and (step is None or not (step > 0.0 and np.isfinite(step))):
        raise OptionError(f"integrator {integrator!r} needs a step in seconds, such as step=1e-3; got {step!r}")
    if not fixed and step is not None:
        raise OptionError(f"integrator {integrator!r} chooses its own steps: use rtol, atol and largest_step, not step")


def _check_integrator(robot: Robot, integrator: str, batch: bool) -> None:
    model = robot.model
    if batch and integrator in ADAPTIVE:
        raise OptionError(f"a batch is simulated with a fixed step ({', '.join(FIXED)}, ...), not with {integrator!r}")
    if batch and model.loops:
        raise UnsupportedError("mechanisms with loops are simulated one at a time, not in a batch")
    if integrator == VARIATIONAL and (model.loops or model.has_followers):
        raise UnsupportedError("the variational integrator is for trees without loops and mimicking joints: use rk4")


def _controller(given: Any) -> tuple[Any, Callable[..., Any] | None]:
    """A controller with a law; or a stand-in that asks nothing, and the function to ask."""
    if given is None:
        return None, None
    function = getattr(given, "python_function", None)
    if function is not None:
        return None, function
    if hasattr(given, "law"):
        return given, None
    if callable(given):
        return None, given
    raise OptionError(f"a controller has a law, or is a function of (t, q, v), not {given!r}")


def _initial(robot: Robot, q0: Any, v0: Any) -> tuple[Array, Array]:
    """Check where the motion starts."""
    q = robot.neutral() if q0 is None else robot._q(q0, "q0")
    v = np.zeros(robot.nv) if v0 is None else as_array(v0, (robot.nv,), "v0", f"{robot.nv} = nv")
    batch_shape(q0=(q, 1), v0=(v, 1))
    for array, what, names in ((q, "q0", robot.q_names), (v, "v0", robot.v_names)):
        if np.iscomplexobj(array):
            raise StateError(f"{what} is complex")
        bad = ~np.isfinite(array)
        if array.ndim == 1 and bad.any():
            name = names[int(np.argmax(bad))]
            raise StateError(f"{what} is {array[np.argmax(bad)]} at joint {name!r}: a motion cannot start there")
    if robot.model.loops:
        _check_closed(robot, q, v)
    return q, v


def _check_closed(robot: Any, q: Array, v: Array) -> None:
    """Refuse states in which loops are open or being torn open."""
    gap = float(np.max(np.abs(robot.closure_error(q)), initial=0.0))
    if gap > CLOSED:
        raise StateError(f"q0 leaves loops open by {gap:.3g} (m, rad): start from robot.project(q0, v0)")
    held_q, held_v = robot.project(q, v)
    torn = float(np.max(np.abs(np.asarray(held_v) - v), initial=0.0))
    if torn > CLOSED * (1.0 + float(np.max(np.abs(v), initial=0.0))):
        worst = robot.v_names[int(np.argmax(np.abs(np.asarray(held_v) - v)))]
        raise StateError(
            f"v0 tears loops open, at joint {worst!r} by {torn:.3g}: start from robot.project(q0, v0)"
        )  # fmt: skip


def _batch(system: System, q: Array, v: Array) -> tuple[int, ...]:
    shapes = [q.shape[:-1], v.shape[:-1], *(x.shape[:-1] for x in system.parameters.values())]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise OptionError(f"the batches of q0, v0 and of the controller's and ground's parameters differ: {listed}") from None


def _output_times(output: Any, begin: float, end: float) -> Array | None:
    if output is None:
        return None
    if isinstance(output, (int, np.integer)) and not isinstance(output, bool):
        if output < 2:
            raise OptionError(f"output must be at least two samples, or times; not {output!r}")
        return np.linspace(begin, end, int(output))
    times = np.asarray(output, dtype=float)
    if times.ndim != 1 or not np.isfinite(times).all() or np.any(np.diff(times) <= 0.0):
        raise OptionError("output must be a number of samples or increasing times")
    if times.size and (times[0] < begin or times[-1] > end):
        raise OptionError(f"output times must lie between {begin:g} and {end:g} s, the time that is simulated")
    return times
