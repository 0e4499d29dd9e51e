"""The run loop of one simulation: steps, events, samples, its record, and the message if it cannot continue."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.joint_friction import fading_friction
from ..errors import (
    KinetreeError,
    KinetreeWarning,
    Message,
    NoValueError,
    OptionError,
    Setting,
    ShapeError,
    SingularityWarning,
    UnknownNameError,
    callers_level,
    message_of,
)
from ..evaluation.law_failures import Fault, blaming
from ..io.interrupts import are_interrupts_passed_on
from ..io.progress import TimeBar
from ..spatial.arrays import Array
from .arguments import initial_state, whose
from .equation import Equation, Observed
from .events import Event, Occurrence
from .integrators.adaptive import ScipyStepper
from .integrators.fixed_step_methods import ADAPTIVE, GENERALIZED_ALPHA
from .integrators.stepper import FixedStepper, Stepper, is_motion
from .options import SimulationOptions
from .records.energy_balance import Energies
from .records.record import COMPLETE, FAILED, Record
from .step_budget import EXPLICIT, UNSTABLE_SAMPLES, StepBudget
from .system import WORKS, State
from .watched_events import ENDLESS_COUNT, ENDLESS_TIME, WatchedEvents

if TYPE_CHECKING:
    from .sampling import Sampling

SAME_INSTANT = 1e-9
"""Fraction of a step within which an event is not found again."""


STEPS_WATCHED = 50
"""Steps that are taken together while an event is waited for: those after it are taken in vain."""

MOST_STOPS = 100
"""The most kinks of forces at which an implicit integrator stops."""


def known_until(
    span: tuple[float, float], begin: float, end: float, forces: Sequence[Any] = ()
) -> tuple[float, Fault | None]:
    """Return the time until which controller and forces are defined, and the message if that is too early."""
    start, stop = span
    trajectory = whose(forces, span, begin)
    slack = 1e-9 * max(1.0, abs(end))
    if start > begin + slack:
        raise OptionError(
            f"{trajectory} starts at {start:g} s, after the simulation at {begin:g} s: let it hold "
            "its first position before that, trajectory.held()"
        )
    if stop >= end - slack:
        return end, None
    if stop <= begin:
        raise OptionError(f"{trajectory} ends at {stop:g} s, before the simulation begins at {begin:g} s")
    message = (
        f"{trajectory} ends here, but the simulation continues until {end:g} s: simulate no longer, "
        "or let it hold its last position, trajectory.held() (of a TorqueTable: hold=True)"
    )
    return stop, Fault(message, stop)


@contextmanager
def warning_once() -> Iterator[None]:
    """Limit warnings of singular configurations to one per run, instead of one per step near them."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", SingularityWarning)
        yield


INTERRUPTED = "interrupted"
"""How a run ended that was stopped from the keyboard."""


def interrupted(reached: float) -> str:
    """Warn that a run was stopped from the keyboard; return the status of its record."""
    if are_interrupts_passed_on():
        raise  # the interrupt that is being handled
    message = f"interrupted: the record ends at t = {reached:g} s"
    warnings.warn(message, KinetreeWarning, stacklevel=callers_level())
    return INTERRUPTED


def hang_on(problem: SystemExit, reached: float, record: Record) -> None:
    """Attach the record of a run to an exception that passes through to the user, with a note about it."""
    said = f"{type(problem).__name__} ends the run: its record up to t = {reached:g} s is the exception's 'record'"
    problem.record = record  # type: ignore[attr-defined]
    problem.add_note(said)
    with suppress(KinetreeWarning):  # even if warnings are errors, the exit is passed on
        warnings.warn(said, KinetreeWarning, stacklevel=callers_level())


class Run:
    """A running simulation, or a batch of them, with its samples, stops, record and ending.

    Parameters
    ----------
    equation : Equation
        Equation of motion of this run.
    options : SimulationOptions
    batch : tuple of int
        Shape of the batch; empty for one simulation.
    begin, end : float
    wanted : ndarray, optional
        Times of the samples; if not given, all steps are kept.
    span : pair of floats
        The time span for which controller and forces are defined.
    sampling : Sampling, optional
        The sampled controller, if any.
    kinks : ndarray
        Times at which forces have a kink or jump.
    """

    def __init__(
        self, equation: Equation, options: SimulationOptions, batch: tuple[int, ...], begin: float, end: float,
        wanted: Array | None, span: tuple[float, float], sampling: Sampling | None, kinks: Array,
    ) -> None:  # fmt: skip
        self.equation, self.robot, self.batch = equation, equation.robot, batch
        self.options, self.integrator, self.begin, self.end = options, options.integrator, begin, end
        self.wanted, self.sampling, self.kinks = wanted, sampling, kinks
        self.reach, self.ending = known_until(span, begin, end, equation.system.elements)
        self.times: list[float] = []
        self.states: list[State] = []
        """States at these times, in pieces, each with its samples along the first axis."""
        self.happened: list[Occurrence] = []
        self.n_steps, self.now = 0, begin
        """Number of steps taken, and the time that they have reached."""
        self._next = 0
        """Index of the next sample to be kept."""

    def _go(self, state: State, progress: bool | Callable[[float], Any]) -> str | None:
        """Step until the end; return the name of the event that stopped it, if one did."""
        raise NotImplementedError

    def __call__(self, state: State, progress: bool | Callable[[float], Any]) -> Record:
        """Run to the end, or as far as possible, and return the record."""
        try:
            status = self._through(state, progress)
        except Fault as fault:
            raise fault.error(self.now, self._record(FAILED)) from fault.__cause__
        except UnknownNameError:
            raise  # a mistake in the setup, not in the motion
        except NoValueError:
            raise NoValueError(self.robot.symbols) from None
        except KinetreeError as problem:
            raise Fault(message_of(problem)).error(self.now, self._record(FAILED)) from problem
        except SystemExit as problem:
            hang_on(problem, self._reached, self._record(INTERRUPTED))
            raise
        return self._record(status)

    def _through(self, state: State, progress: bool | Callable[[float], Any]) -> str:
        """Run, and return how it ended."""
        try:
            with warning_once():
                stopped = self._go(state, progress)
        except KeyboardInterrupt:
            return interrupted(self._reached)
        if stopped is not None:
            return f"stopped by {stopped}"
        if self.ending is not None:
            raise self.ending
        return COMPLETE

    @property
    def _reached(self) -> float:
        """The time of the last sample."""
        return self.times[-1] if self.times else self.begin

    def _stop(self, t: float) -> float:
        """Return the time at which the integrator has to stop next."""
        stop = self.reach if self.sampling is None else self.sampling.stop_before(self.reach)
        later = int(np.searchsorted(self.kinks, t, side="right"))
        return min(stop, float(self.kinks[later])) if later < len(self.kinks) else stop

    def _acted(self, t: float, state: State) -> State:
        """Return the state after everything due at a stop has been done."""
        is_due = self.sampling is not None and self.sampling.is_due(t)
        return self.sampling.act(t, state) if is_due else state  # type: ignore[union-attr]

    def _keep(self, t: float, state: State) -> None:
        q, v, z = state
        self.times.append(t)
        self.states.append((q[None], v[None], z[None]))

    def _info(self) -> dict[str, Any]:
        """Return the record's information about the run."""
        return {"steps": self.n_steps, "evaluations": self.equation.n_calls}

    def _record(self, status: str) -> Record:
        equation = self.equation
        widths = (self.robot.nq, self.robot.nv, equation.system.nz)
        none = tuple(np.zeros((0, *self.batch, n)) for n in widths)
        q, v, z = (np.concatenate(parts) for parts in zip(none, *self.states, strict=True))
        self.states = [(q, v, z)]  # the pieces are no longer needed
        record = make_record(
            equation, np.array(self.times), q, v, z, tuple(self.happened), status, self.integrator, self._info()
        )  # fmt: skip
        return record if self.sampling is None else replace(record, sampled=self.sampling.samples)


class SmoothRun(Run):
    """A simulation of a tree or a mechanism, with or without compliant ground; with events, unless it is a batch."""

    def __init__(self, events: tuple[Event, ...], *rest: Any) -> None:
        super().__init__(*rest)
        self.watched = WatchedEvents(events, self.equation, self.end - self.begin)
        self.between_steps = self.kinks
        """Kinks of forces, for integrators with a fixed step, which divide a step at kinks within it."""
        self.kinks = self._worth_stopping(self.kinks)
        self.resting_from: int | None = None
        """The first sample from which an event keeps the robot at rest, if any."""
        self._alone = 0
        """Single steps to take before trying several at once again: as many as the last attempt wasted."""

    def _stepper(self, state: State, reach: float) -> Stepper:
        n = self.options
        if self.integrator in ADAPTIVE:
            by_loops = self.equation.tree.is_constrained and not self.equation.holds_itself
            kind = ScipyStepper
            if by_loops:
                from .integrators.adaptive_of_loops import LoopStepper as kind
            return kind(
                self.equation, self.integrator, self.begin, state, reach, n.rtol, n.atol, n.largest_step
            )  # fmt: skip
        assert n.step is not None
        if self.integrator == GENERALIZED_ALPHA:
            from .integrators.generalized_alpha import AlphaStepper

            return AlphaStepper(self.equation, self.begin, state, reach, n.step)
        acts = not self.batch or self.sampling is not None
        return FixedStepper(self.equation, self.integrator, self.begin, state, reach, n.step, self.between_steps, acts)

    def _go(self, state: State, progress: bool | Callable[[float], Any]) -> str | None:
        reach = self.reach
        if self.sampling is not None:
            state = self.sampling.act(self.begin, state)
        self._sample_start(state)
        if self.begin == reach:
            return None
        before = self.begin, state
        self._check(*before, before)
        if self.equation.function is not None and not self.batch:
            self.equation.ask(self.begin, state[0], state[1])
        stepper = self._stepper(state, self._stop(self.begin))
        budget = StepBudget(self.options.steps_at_most, self.begin, reach)
        self.watched.start(self.begin, state)
        with TimeBar(self.begin, self.end, progress) as bar:
            while stepper.t < reach and not (self.batch and self._has_all_samples):
                before = stepper.t, stepper.state
                if self._pass_samples(stepper):
                    pass
                elif self.watched or self.wanted is None or self._has_all_samples:
                    stepper.step()
                else:
                    stepper.leap(float(self.wanted[self._next]))
                self.n_steps, self.now = stepper.n_steps, stepper.t
                self._check(stepper.t, stepper.state, before)
                if not self._pass_events(stepper):
                    return self.happened[-1].name if self.resting_from is None else None
                stopped = stepper.end <= stepper.t < reach
                after = self._acted(stepper.t, stepper.state) if stopped else stepper.state
                self._sample(stepper, stepper.t, after)
                if stopped:
                    stepper.carry_on(after, self._stop(stepper.t))
                if not self.batch:
                    budget.spend(self.n_steps, stepper.t, self.integrator, self.equation, stepper.state[1])
                bar.show_time(stepper.t)
        return None

    def _worth_stopping(self, kinks: Array) -> Array:
        """Return the kinks of forces at which to stop: all for explicit formulas, for which a stop costs nothing.

        Other formulas pay tens of steps for each stop, so if there are many kinks they stop only at those after the
        longest intervals, which they might miss entirely; rows of noise they notice anyway.
        """
        if self.integrator not in ADAPTIVE:
            return kinks[:0]
        if self.integrator in EXPLICIT or len(kinks) <= MOST_STOPS:
            return kinks
        waits = np.diff(kinks, prepend=self.begin)
        return kinks[np.sort(np.argsort(-waits, kind="stable")[:MOST_STOPS])]

    # ------------------------------------------------------------------ events

    def _pass_events(self, stepper: Stepper) -> bool:
        """Note the events in the last step, in order; return False if one of them ends the simulation."""
        since, over, watched = stepper.t_old, dict[int, float](), self.watched
        while watched and (found := watched.first(stepper, since)) is not None:
            since, which = found
            before = state = stepper.state_at(since)
            self._sample(stepper, since, state)
            soon = SAME_INSTANT * (stepper.t - stepper.t_old)
            just_after = min(since + soon, stepper.t)
            due, jumped = watched.due(which, just_after, stepper.state_at(just_after), over), False
            for k in due:
                event = watched.events[k]
                self.happened.append(Occurrence(since, event.name, k, state[0].copy(), state[1].copy()))
                if event.terminal:
                    if jumped or self.times[-1:] != [since]:
                        self._keep(since, state)
                    return False
                if event.reset is not None:
                    state, jumped = self._reset(event, since, state), True
                    if watched.endless(k, since):
                        return self._end_endless(event, since, state)
            over |= dict.fromkeys(due, since)
            watched.go_on(since, before, state, [k for k, moment in over.items() if since - moment <= soon], jumped)
            if jumped:
                if self.wanted is None:
                    self._keep(since, state)
                stepper.restart(since, state)
                break
        return True

    def _end_endless(self, event: Event, t: float, state: State) -> bool:
        """End a run whose events never stop, in the way that the event specifies."""
        if event.endless == "error":
            raise Fault(
                f"event {event.name!r} repeats without end: {ENDLESS_COUNT} resets within {ENDLESS_TIME:g} "
                "s lead to no lasting motion. End the run there, Event(..., endless='stop'), let the robot stay as "
                "it is there, endless='rest', or simulate contact that lasts with kinetree.simulate_rigid",
                t,
            )
        if event.endless == "rest":
            self._rest(event, t, state)
        elif self.times[-1:] != [t]:
            self._keep(t, state)
        return False

    def _rest(self, event: Event, t: float, state: State) -> None:
        """Keep the robot at rest until the end."""
        q, v, z = state
        still = q, np.zeros_like(v), z
        self.happened.append(Occurrence(t, f"rest {event.name}", self.watched.events.index(event), q.copy(), v.copy()))
        self.resting_from = len(self.times)
        if self.wanted is None:
            self._keep(t, still)
        for later in [self.end] if self.wanted is None else self.wanted[self._next :].tolist():
            self._keep(later, still)

    def _reset(self, event: Event, t: float, state: State) -> State:
        assert event.reset is not None
        with blaming(f"the reset of event {event.name!r}", t):
            after = event.reset(t, state[0].copy(), state[1].copy())
        try:
            q, v = after
            if q is None or v is None:
                raise TypeError("q and v are needed, one of them is None")
            q, v = initial_state(self.robot, q, v, called=("q", "v"))
            if q.ndim > 1 or v.ndim > 1:
                raise ShapeError(f"one q and one v are needed, got shapes {q.shape} and {v.shape}")
            return q, v, state[2]
        except (TypeError, ValueError, KinetreeError) as problem:
            raise Fault(f"the reset of event {event.name!r} returned no state: {problem}", t) from None

    # ------------------------------------------------------------------ samples

    @property
    def _has_all_samples(self) -> bool:
        return self.wanted is not None and self._next == len(self.wanted)

    def _sample_start(self, state: State) -> None:
        if self.wanted is None or (len(self.wanted) and self.wanted[0] == self.begin):
            self._keep(self.begin, state)
            self._next = 1

    def _pass_samples(self, stepper: Stepper) -> bool:
        """Take steps whose states machine code keeps; return False if it cannot, or if the states are not needed."""
        if self.watched:
            return self._pass_quiet_steps(stepper)
        passed = stepper.leap_by_samples(self.wanted, self._next)
        if passed is None:
            return False
        times, (q, v, z) = passed
        kept = len(times) - (self.wanted is None)  # if every step is a sample, the last one is treated like the others
        self.times += times[:kept]
        self.states.append((q[:kept], v[:kept], z[:kept]))
        self._next += kept
        return True

    def _pass_quiet_steps(self, stepper: Stepper) -> bool:
        """Continue by steps without an event or a sample between their ends; return False if there are none."""
        self._alone -= 1
        before = stepper.t, stepper.state
        passed = None if self._alone > 0 else stepper.leap_by_samples(None, 0, STEPS_WATCHED)
        if passed is None:
            return False
        times, (q, v, z) = passed
        ends, wanted, quiet = np.array(times), np.array(times), len(times)
        if self.wanted is not None:
            last = np.searchsorted(self.wanted, times[-1] + stepper.near, "right")
            wanted = self.wanted[self._next : last]
        at = np.searchsorted(ends, wanted - stepper.near)
        inside = ends[at] - wanted > stepper.near
        if inside.any():
            quiet = int(at[np.argmax(inside)])
        quiet = self.watched.quiet(times[:quiet], (q[:quiet], v[:quiet], z[:quiet]))
        if quiet < len(times):
            self._alone = len(times) - quiet
            t, state = (times[quiet - 1], (q[quiet - 1], v[quiet - 1], z[quiet - 1])) if quiet else before
            stepper.take_back(self._alone, t, state)
        kept = at[at < quiet]
        self._next += len(kept)
        self.times += wanted[: len(kept)].tolist()
        self.states.append((q[kept], v[kept], z[kept]))
        return quiet > 0

    def _sample(self, stepper: Stepper, until: float, state: State) -> None:
        if self.wanted is None:
            if not self.times or self.times[-1] < until:
                self._keep(until, state)
            return
        last = int(np.searchsorted(self.wanted, until + stepper.snap, side="right"))
        first, self._next = self._next, max(self._next, last)
        times = self.wanted[first : self._next].tolist()
        within = [t for t in times if abs(t - until) > stepper.snap]
        if within:
            self.times += within
            self.states.append(stepper.states_at(within))
        for t in times[len(within) :]:
            self._keep(t, state)

    def _check(self, t: float, state: State, before: tuple[float, State]) -> None:
        """Stop when the motion is no longer finite, and explain why; simulations of a batch may become NaN."""
        if not self.batch and not is_motion(state):
            raise self._why(t, state, *before)

    def _why(self, t: float, state: State, since: float, before: State) -> Fault:
        """Return an explanation of what went wrong in the step that began at ``since``.

        The reason is a controller that failed at one of its stages, or growth without bound.
        """
        names = self.robot.v_names
        lost = self.equation.lost_control_within(since, before, t)
        if lost is not None:
            return lost
        speed = np.abs(state[1])
        name = names[int(np.argmax(np.where(np.isfinite(speed), speed, np.inf)))] if names else None
        if self.sampling is not None:
            return Fault(Message("the motion grows without bound: ", UNSTABLE_SAMPLES), t, name)
        if self.integrator in ADAPTIVE:
            return Fault("the motion grows without bound", t, name)
        return Fault(
            Message(
                f"the motion grows without bound: a step of {self.options.step:g} s is too large for "
                f"{self.integrator} to be stable here; take a smaller step, or an integrator for stiff problems, ",
                Setting("integrator", "radau"),
            ),
            t,
            name,
        )

    def _record(self, status: str) -> Record:
        record = super()._record(status)
        if self.resting_from is not None:  # held by something unknown
            record.a[self.resting_from :], record.constraint_forces[self.resting_from :] = 0.0, np.nan
        return record


def make_record(
    equation: Equation, t: Array, q: Array, v: Array, z: Array, events: tuple[Occurrence, ...], status: str,
    integrator: str, info: dict[str, Any],
) -> Record:  # fmt: skip
    """Make the record with forces and energies at the samples; if that fails, NaN and an error unless there is one."""
    robot = equation.robot
    q, v = equation.on_motion(t, q, v)
    try:
        forgiven = status in (FAILED, INTERRUPTED)
        seen = _forgiven(equation, t, q, v, z) if forgiven else equation.observe(t, q, v, z)
    except (Fault, KinetreeError) as problem:
        fault = problem if isinstance(problem, Fault) else Fault(message_of(problem))
        record = make_record(equation, t, q, v, z, events, FAILED, integrator, info)
        raise fault.error(float(t[-1]), record) from (problem.__cause__ if fault is problem else problem)
    n = z.shape[-1] - equation.n_works
    integrated = [z[..., n + k] for k in range(equation.n_works)]
    works = integrated or _unknown_works(equation, z.shape[:-1])
    contact = seen.contact_forces.reshape(*q.shape[:-1], seen.contact_forces.shape[-1] // 3, 3)
    info = info | {
        "robot": robot.name, "integrator": integrator, "q_names": robot.q_names, "v_names": robot.v_names,
        "q_units": robot.q_units, "v_units": robot.v_units,
        "contact_spots": info.get("contact_spots", []) + [[x.frame, list(x.point)] for x in equation.system.spots],
        "forces": [element.label for element in equation.system.forces],
        "constraint_names": list(robot.model.constraint_names),
    }  # fmt: skip
    info |= {} if equation.hold is None else equation.hold.told(t, q)
    done = dict(zip(WORKS, works, strict=False))
    energy = Energies(seen.kinetic, seen.potential, **done, stored=seen.stored, in_ground=seen.in_ground)
    return Record(
        t, q, v, seen.a, seen.tau, seen.friction, contact, seen.constraint_forces, z[..., :n], energy, events, robot,
        status, info,
    )  # fmt: skip


def _unknown_works(equation: Equation, shape: tuple[int, ...]) -> list[Array]:
    """Return works that were not integrated: zero for what does not act, otherwise NaN."""
    system = equation.system
    model = system.tree
    rubs = system.friction and (
        any(np.any(x) for x in (*model.effective_friction, model.effective_offset))
        or fading_friction(model)
        or system.varied.of_friction
    )
    driven = system.controller is not None or equation.function is not None or equation.is_driven
    acts = [driven, rubs, bool(system.ground), *[True] * bool(system.forces)]
    return [np.full(shape, np.nan if acting else 0.0) for acting in acts]


def _forgiven(equation: Equation, t: Array, q: Array, v: Array, z: Array) -> Observed:
    """Return what can be observed; NaN where the controller or a force element fails, as it may in a failed run."""
    try:
        return equation.observe(t, q, v, z, forgiving=True)
    except (Fault, KinetreeError):
        halve = len(t) > 1
    except (KeyboardInterrupt, SystemExit):
        halve = False  # once more: the motion is kept, whatever else fails
    if halve:
        middle = len(t) // 2
        halves = (_forgiven(equation, *(x[k] for x in (t, q, v, z))) for k in (slice(middle), slice(middle, None)))
        return Observed(*(np.concatenate(both) for both in zip(*halves, strict=True)))
    n_contact = 3 * len(equation.system.spots)
    n_constraint = equation.robot.model.n_constraints
    vector, (contact, constraint) = (
        np.full_like(v, np.nan),
        (np.full((*v.shape[:-1], n), np.nan) for n in (n_contact, n_constraint)),
    )
    number = np.full(v.shape[:-1], np.nan)
    return Observed(vector, vector, vector, contact, constraint, number, number, number, number)
