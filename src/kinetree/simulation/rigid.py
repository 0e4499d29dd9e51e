"""Simulating rigid contact from event to event.

Between events every contact keeps its mode: open, closed without friction, sticking or sliding.
The motion is then smooth and is integrated as such, with the closed contacts as equations.  Events
end a phase: a gap closes (an impact, then a new choice of modes), a contact force would pull, a
sticking contact exceeds its friction limit, a sliding contact comes to rest.  At each of them the
complementarity problem decides which modes go on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import DOP853, RK45, Radau
from scipy.optimize import brentq

from ..contact.complementarity import NoSolutionError
from ..contact.impact import RULES, impact
from ..contact.rigid_contacts import Contact, ContactForces, ContactState, Mobility, RigidContacts
from ..contact.slow_sliding import FAST, Pace, direction_of_sliding
from ..errors import KinetreeError, KinetreeWarning, OptionError, SingularityWarning, UnknownNameError
from ..io.progress import TimeBar
from ..robot.mechanism import Mechanism
from ..robot.robot import Robot
from ..run.failure import Fault
from .arguments import (
    check_numbers,
    common_batch,
    force_elements,
    initial_state,
    law_and_function,
    output_times,
    time_span,
)
from .equation import Equation
from .events import Occurrence
from .records.record import COMPLETE, Record
from .run import known_until, make_record
from .system import System

Array = np.ndarray

SOLVERS = {"dop853": DOP853, "rk45": RK45, "radau": Radau}

DRIFT = 1e-9
"""Gaps (m), speeds (m/s) and quaternion lengths that closed contacts may be off by before they are set right."""

NUDGE = 1e-8
"""Change of positions (rad, m) and velocities (rad/s, m/s) from which derivatives are found, relative where large."""

SAMPLES = 4
"""Pieces of a step in which gaps are watched."""

MOST_AT_ONCE = 50
"""Events at one instant after which the modes are held to be undecidable."""


@dataclass(frozen=True)
class Mode:
    """What every contact does between two events.

    Attributes
    ----------
    closed : tuple of int
        Contacts that stay closed.
    sticking : frozenset of int
        Those that also do not slide.
    sliding : dict
        Direction (world) of those that slide against friction.
    """

    closed: tuple[int, ...] = ()
    sticking: frozenset[int] = frozenset()
    sliding: dict[int, Array] = field(default_factory=dict)

    def name(self, k: int) -> str:
        """What contact ``k`` does."""
        if k not in self.closed:
            return "open"
        return "sticking" if k in self.sticking else "sliding" if k in self.sliding else "closed"


def simulate_rigid(
    robot: Robot,
    contacts: Contact | Sequence[Contact] | RigidContacts,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    time: float | tuple[float, float],
    controller: Any = None,
    ground: Any = (),
    integrator: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-11,
    largest_step: float = np.inf,
    output: int | ArrayLike | None = None,
    rule: str = "simultaneous",
    rest_speed: float = 1e-3,
    friction: bool = True,
    friction_speed: float = 1e-2,
    most_events: int = 10_000,
    progress: bool = True,
) -> Record:
    """Let a robot move with rigid contacts, from event to event.

    Parameters
    ----------
    robot : Robot
        With or without loops.
    contacts : Contact, sequence of Contact, or RigidContacts
    q0, v0, time, controller, ground, rtol, atol, largest_step, output, friction, friction_speed, progress
        As in :func:`kinetree.simulate`; ``ground`` are further, compliant, force elements.
    integrator : {"dop853", "rk45", "radau"}
        Between events.  While something slides so slowly that the turning of its friction limits the steps of an
        explicit one, ``"radau"`` goes on in its place.
    rule : {"simultaneous", "sequential"}
        Of impacts at several contacts, see :mod:`kinetree.contact.impact`.
    rest_speed : float
        Blows that are nowhere faster than this (m/s) do not rebound.  A bouncing ball strikes infinitely
        often before it rests; this ends the series.
    most_events : int
        After so many the simulation stops with an error.

    Returns
    -------
    Record
        Contact forces are those of ``contacts``, in their order, then those of ``ground``.  Events are
        named ``"impact"``, ``"closed"``, ``"sticking"``, ``"sliding"`` or ``"open"`` and the contact; ``index``
        is the contact's.  The work of contacts, impacts included, is ``energy.ground``.

    Examples
    --------
    >>> import kinetree as kt
    >>> ball = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=1.0).build()
    >>> record = simulate_rigid(ball, [Contact("ball", restitution=0.5)], [1.0], time=1.0)
    >>> record.events[0].name
    'impact ball'
    """
    begin, end = time_span(time)
    if integrator not in SOLVERS:
        raise UnknownNameError("integrator for rigid contact", integrator, SOLVERS)
    if rule not in RULES:
        raise UnknownNameError("rule of impact", rule, RULES)
    check_numbers(integrator, rtol, atol, None, largest_step, friction_speed)
    if not rest_speed > 0.0:
        raise OptionError(f"rest_speed must be positive, not {rest_speed!r}")
    law, function = law_and_function(controller, robot)
    elements = force_elements(ground)
    q, v = initial_state(robot, q0, v0)
    system = System(robot, law, elements, friction, friction_speed, True)
    if common_batch(system, q, v):
        raise OptionError("rigid contact is simulated one robot at a time; batches need compliant ground")
    reach, ending = known_until(getattr(controller, "span", (-np.inf, np.inf)), begin, end)
    rigid = contacts if isinstance(contacts, RigidContacts) else RigidContacts(robot, contacts)
    run = RigidRun(Equation(system, function), rigid, begin, reach, rule, rest_speed, most_events)
    run.tolerances = {"rtol": max(rtol, 1e-13), "atol": atol, "max_step": largest_step}
    run.wanted = output_times(output, begin, end)
    run.integrator = integrator
    run.ending = ending
    return run(np.concatenate([q, v, system.initial_z()]), progress)


@dataclass(frozen=True)
class Instant:
    """Everything known about one instant."""

    time: float
    q: Array
    v: Array
    z: Array
    state: ContactState
    mobility: Mobility
    z_rate: Array
    tau: Array
    loads: Array | None


class RigidRun:
    """One simulation under way."""

    tolerances: dict[str, float]
    wanted: Array | None = None
    integrator = "dop853"
    ending: Fault | None = None
    """What to say when the end is reached before it was to be, if so."""

    def __init__(
        self, equation: Equation, contacts: RigidContacts, begin: float, end: float, rule: str, rest_speed: float,
        most_events: int,
    ) -> None:  # fmt: skip
        self.equation, self.contacts, self.robot = equation, contacts, equation.robot
        self.begin, self.end, self.rule, self.rest_speed = begin, end, rule, rest_speed
        self.most_events = most_events
        self.mode = Mode()
        self.times: list[float] = []
        self.states: list[Array] = []
        self.kept: list[tuple[Array, Array, Array]] = []
        self.happened: list[Occurrence] = []
        self.n_steps = 0
        self.pace = Pace()

    # ------------------------------------------------------------------ the equations within a phase

    def split(self, y: Array) -> tuple[Array, Array, Array]:
        """Positions (with quaternions of unit length), velocities, other states."""
        nq, nv = self.robot.nq, self.robot.nv
        return self.robot.normalize(y[:nq]), y[nq : nq + nv], y[nq + nv :]

    def instant(self, t: float, y: Array) -> Instant:
        """Where the contacts are, and how the robot would move without them."""
        q, v, z = self.split(y)
        equation = self.equation
        tau, loads, z_rate = equation.forces(equation._named(t, q, v, z))
        equation.n_calls += 1
        mobility = self.contacts.mobility(q, v, tau, loads)
        return Instant(t, q, v, z, self.contacts.look(q, v), mobility, z_rate, tau, loads)

    def rates(self, t: float, y: Array) -> Array:
        """Rate of the whole state while the modes last."""
        now = self.instant(t, y)
        local, a, _ = self.acting(now)
        z_rate = now.z_rate.copy()
        z_rate[-1] += float(np.sum(local * now.state.velocity))  # work of the contacts
        return np.concatenate([self.robot.configuration_rate(now.q, now.v), a, z_rate])

    def slopes(self, t: float, y: Array) -> Array:
        """Derivatives of :meth:`rates`, for an implicit integrator that was asked for."""
        rates, slopes = self.rates(t, y), np.zeros((y.size, y.size))
        for i in range(y.size):
            ahead = y.copy()
            ahead[i] += NUDGE * max(1.0, abs(y[i]))
            slopes[:, i] = (self.rates(t, ahead) - rates) / (ahead[i] - y[i])
        return slopes

    def friction_slopes(self, t: float, y: Array) -> Array:
        """The part of :meth:`slopes` that grows without bound as sliding gets slow: friction turns with its direction.

        Friction ``-mu N d(u)`` changes by ``-mu N d'(u) du`` with the velocity u along the tangents; the forces
        that keep contacts closed answer that.
        """
        now, nq, nv = self.instant(t, y), self.robot.nq, self.robot.nv
        slopes, turned = np.zeros((y.size, y.size)), np.zeros((nv, nv))
        if self.mode.sliding:
            local = self.acting(now)[0]
            for k in self.mode.sliding:
                rows = now.state.jacobian[k, 1:]
                turned -= self.contacts.mu[k] * local[k, 0] * rows.T @ self.slides(now.state, k)[1] @ rows
            felt, _, _, _, answer = self.equations(now)
            pulled = now.mobility.inverse @ turned
            held = np.linalg.lstsq(felt @ answer, felt @ pulled, rcond=1e-11)[0]
            slopes[nq : nq + nv, nq : nq + nv] = pulled - answer @ held
        return slopes

    def slides(self, state: ContactState, k: int) -> tuple[Array, Array]:
        """What friction is straight against, along the tangents, and how it changes with the velocity along them."""
        sides = self.contacts.sides if self.contacts.shape == "pyramid" else 0
        return direction_of_sliding(state.velocity[k, 1:], state.axes[k, 1:] @ self.mode.sliding[k], sides)

    def held(self, now: Instant) -> tuple[Array, Array]:
        """Forces along the contacts' axes that keep closed ones closed and sticking ones at rest, and accelerations.

        Where contacts are redundant, the forces of equal contacts that give way ever so little (as in
        :mod:`kinetree.contact.cones`): they are proportional to how far each spot would sink in, and that
        is a motion which the robot can make.
        """
        local = np.zeros((len(self.contacts.contacts), 3))
        if not self.mode.closed:
            return local, now.mobility.free
        felt, spot, axis, pressed, answer = self.equations(now)
        sinks = felt @ now.mobility.inverse
        if not (np.all(np.isfinite(sinks)) and np.all(np.isfinite(answer))):
            return np.full_like(local, np.nan), np.full_like(now.mobility.free, np.nan)
        sides, sizes, _ = np.linalg.svd(sinks, full_matrices=False)
        sides = sides[:, sizes > 1e-11 * sizes[0]]
        rest = felt @ now.mobility.free + now.state.bias[spot, axis]
        matrix = sides.T @ felt @ answer @ sides
        x = sides @ np.linalg.lstsq(matrix, -sides.T @ rest, rcond=1e-11)[0]
        np.add.at(local, spot, x[:, None] * pressed)
        return local, now.mobility.free + answer @ x

    def equations(self, now: Instant) -> tuple[Array, Array, Array, Array, Array]:
        """The conditions of the modes, one row each, and what fulfils them.

        Rows of the accelerations that must be zero; contact and axis of each; the force along that contact's axes
        per unit of what is unknown (with the friction of sliding); and the accelerations per unit (as columns).
        """
        state, mode = now.state, self.mode
        places = [(k, i) for k in mode.closed for i in ((0, 1, 2) if k in mode.sticking else (0,))]
        spot, axis = np.array(places).T
        felt, pressed = state.jacobian[spot, axis], np.eye(3)[axis]
        for k in mode.sliding:
            pressed[(spot == k) & (axis == 0), 1:] = -self.contacts.mu[k] * self.slides(state, k)[0]
        answer = now.mobility.inverse @ np.einsum("pi,pij->jp", pressed, state.jacobian[spot])
        return felt, spot, axis, pressed, answer

    def acting(self, now: Instant) -> tuple[Array, Array, bool]:
        """Forces and accelerations while the modes last, and whether they do.

        Mostly these are the forces that equations give.  Where one of those would pull or exceeds its
        friction limit, other contacts may be able to take over, which the complementarity problem
        decides; the modes last as long as nothing opens and nothing that sticks begins to slide.
        """
        local, a = self.held(now)
        closed, mu = np.array(self.mode.closed, dtype=int), self.contacts.mu
        size = -1e-9 * max(float(np.max(np.abs(local))), 1e-9)
        sticking = np.array(sorted(self.mode.sticking), dtype=int)
        spare = mu[sticking] * local[sticking, 0] - self.contacts.reach(local[sticking, 1:])
        feasible = np.all(local[closed, 0] >= size) and np.all(spare >= size)
        if feasible or not np.all(np.isfinite(a)):  # what is not finite is found out by the integrator
            return local, a, True
        sliding = np.full((closed.size, 2), np.nan)
        for i, k in enumerate(self.mode.closed):
            if k in self.mode.sliding:
                sliding[i] = self.slides(now.state, k)[0]
        try:
            found = self.contacts.solve(now.state, now.mobility, closed, sliding)
        except NoSolutionError as problem:
            raise Fault(str(problem), now.time) from problem
        rates = now.state.jacobian @ found.acceleration + now.state.bias
        still = self.still(now, closed)
        lasts = np.all(np.abs(rates[closed, 0]) <= still) and np.all(np.abs(rates[sticking, 1:]) <= still)
        return (found.local, found.acceleration, True) if lasts else (local, a, False)

    def still(self, now: Instant, closed: Array) -> float:
        """Accelerations of spots (m/s^2) with which they still count as closed, and as sticking.

        The same for modes that are chosen and for those that last: a slip which begins so slowly would be
        lost in the integrator's errors, and begin and end for ever.
        """
        return 10.0 * self.contacts.resolution(now.state, now.mobility, closed)

    def lasts(self, now: Instant) -> bool:
        """Whether the modes are consistent: nothing pulls, and friction is within its limit."""
        return not self.mode.closed or self.acting(now)[2]

    # ------------------------------------------------------------------ running

    def __call__(self, y: Array, progress: bool) -> Record:
        """Run to the end, or as far as it goes."""
        status = COMPLETE
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("once", SingularityWarning)
                self._go(y, progress)
            if self.ending is not None:
                raise self.ending
        except Fault as fault:
            if isinstance(fault.__cause__, UnknownNameError):
                raise fault.__cause__ from None  # a slip in what was set up, not in how it moves
            reached = self.times[-1] if self.times else self.begin
            raise fault.error(reached, self._record("failed")) from fault.__cause__
        except KeyboardInterrupt:
            status = "interrupted"
            warnings.warn("interrupted: the record ends early", KinetreeWarning, stacklevel=3)
        return self._record(status)

    def _go(self, y: Array, progress: bool) -> None:
        self._next, self._t = 0, self.begin
        self._check_start(y)
        y = self._decide(self.begin, y)
        self._sample(self.begin, y)
        t, first, at_once = self.begin, None, 0
        with TimeBar(self.begin, self.end, progress) as bar:
            while t < self.end:
                if not np.isfinite(self.rates(t, y)).all():  # SciPy would look for a first step for ever
                    lost = self.equation.lost_control_after(t, self.split(y), self.end)
                    raise lost or Fault("the forces or accelerations are not finite", t)
                solver = self._make_solver(t, y, first)
                t_event, y, first = self._phase(solver, bar)
                at_once = at_once + 1 if t_event is not None and t_event <= t else 0
                t = solver.t if t_event is None else t_event
                if t_event is None:
                    continue
                if at_once > MOST_AT_ONCE or len(self.happened) > self.most_events:
                    names = ", ".join(self.contacts.contacts[k].name for k in self.mode.closed)
                    raise Fault(f"too many events follow one another (closed: {names or 'none'}); raise rest_speed", t)
                if self.wanted is None:
                    self._keep(t, y)
                y = self._decide(t, y)
                self._sample(t, y)

    def _check_start(self, y: Array) -> None:
        q, v, _ = self.split(y)
        gap = self.contacts.look(q, v).gap
        if np.min(gap) < -self.contacts.gap_tolerance:
            k = int(np.argmin(gap))
            raise Fault(
                f"contact {self.contacts.contacts[k].name!r} starts {-gap[k]:.3g} m inside the surface", self.begin
            )

    def _phase(self, solver: Any, bar: TimeBar) -> tuple[float | None, Array, float | None]:
        """Step until an event (its time and state), or until states must be set right (None, the state)."""
        while solver.t < self.end:
            t0 = solver.t
            try:
                message = solver.step()
            except KinetreeError as problem:
                raise Fault(str(problem), t0) from problem
            if solver.status == "failed":
                lost = self.equation.lost_control_after(float(solver.t), self.split(solver.y), self.end)
                raise lost or Fault(f"the integrator cannot go on: {message}", solver.t, self._fastest(solver))
            if not np.all(np.isfinite(solver.y)):
                raise Fault("the motion grows without bound", solver.t)
            self.n_steps += 1
            dense = solver.dense_output()
            event = self._first_event(dense, t0, solver.t)
            self._samples_between(dense, solver.t if event is None else event)
            if event is not None:
                return event, self._set_right(dense(event)), None
            bar.show_time(solver.t)
            self._remember_directions(solver.y)
            held = self._set_right(solver.y)
            if float(np.max(np.abs(held - solver.y))) > DRIFT or self._changes_pace(solver):
                return None, held, min(solver.h_abs, self.end - solver.t) or None
        return None, self._set_right(solver.y), None

    def _make_solver(self, t: float, y: Array, first: float | None) -> Any:
        """The integrator, on its way from here."""
        kind, slopes = self.integrator, {}
        if kind == "radau":
            slopes = {"jac": self.slopes}
        elif self.pace.implicit:
            kind, slopes = "radau", {"jac": self.friction_slopes}
        return SOLVERS[kind](self.rates, t, y, self.end, first_step=first, **self.tolerances, **slopes)

    def _changes_pace(self, solver: Any) -> bool:
        """Whether another integrator should go on, as slow sliding makes the equations stiff, or no longer does."""
        if self.integrator == "radau" or not self.mode.sliding:
            return False
        slopes = self.friction_slopes(solver.t, solver.y)
        if not np.all(np.isfinite(slopes)):
            return False  # found out by the next step
        return self.pace.changes(float(np.max(np.abs(np.linalg.eigvals(slopes)))) * float(solver.step_size))

    def _fastest(self, solver: Any) -> str | None:
        """The joint that moves fastest, where a problem most likely is."""
        names, v = self.robot.v_names, np.abs(self.split(solver.y)[1])
        return names[int(np.argmax(np.where(np.isfinite(v), v, np.inf)))] if names else None

    def _remember_directions(self, y: Array) -> None:
        if not self.mode.sliding:
            return
        q, v, _ = self.split(y)
        state = self.contacts.look(q, v)
        for k in list(self.mode.sliding):
            along = state.velocity[k, 1:]
            if np.linalg.norm(along) > FAST:
                self.mode.sliding[k] = along @ state.axes[k, 1:] / np.linalg.norm(along)

    # ------------------------------------------------------------------ events

    def _first_event(self, dense: Any, t0: float, t1: float) -> float | None:
        """The earliest of: a gap that closes, a mode that ends, a contact that comes to rest."""
        found = [self._first_closing(dense, t0, t1)]
        late = min((t for t in found if t is not None), default=t1)

        def lasts(t: float) -> bool:
            return self.lasts(self.instant(t, dense(t)))

        try:
            if not lasts(late):
                found.append(_bisect(lasts, t0, late))
        except KinetreeError as problem:
            raise Fault(str(problem), late) from problem
        for k in self.mode.sliding:

            def speed(t: float, k: int = k) -> float:
                q, v, _ = self.split(dense(t))
                state = self.contacts.look(q, v)
                return float(state.velocity[k, 1:] @ (state.axes[k, 1:] @ self.mode.sliding[k]))

            if speed(late) < -DRIFT:  # less is the integrator's error, from which a slip that begins recovers
                found.append(t0 if speed(t0) <= 0.0 else float(brentq(speed, t0, late, xtol=1e-15, rtol=1e-15)))
        happened = [t for t in found if t is not None]
        return min(happened) if happened else None

    def _first_closing(self, dense: Any, t0: float, t1: float) -> float | None:
        """The first time at which an open contact's gap goes through zero."""
        watched = [k for k in range(len(self.contacts.contacts)) if k not in self.mode.closed]
        if not watched:
            return None

        def look(t: float) -> tuple[Array, Array]:
            q, v, _ = self.split(dense(t))
            state = self.contacts.look(q, v)
            return state.gap, state.velocity[:, 0]

        times = np.linspace(t0, t1, SAMPLES + 1)
        seen = [look(float(t)) for t in times]
        for i in range(SAMPLES):
            found = [_closing(look, k, times[i : i + 2], seen[i : i + 2]) for k in watched]
            if any(t is not None for t in found):
                return min(t for t in found if t is not None)
        return None

    # ------------------------------------------------------------------ what happens at an event

    def _decide(self, t: float, y: Array) -> Array:
        """Impact if something approaches, then the modes that go on from here."""
        rigid = self.contacts
        q, v, z = self.split(y)
        before = self._kinetic(q, v)
        state = rigid.look(q, v)
        touching = (state.gap <= rigid.gap_tolerance) | np.isin(np.arange(len(state.gap)), self.mode.closed)
        approach = -state.velocity[:, 0]
        struck = touching & (approach > DRIFT)
        try:
            if np.any(struck):
                slow = float(np.max(approach[struck])) < self.rest_speed
                e = np.array([0.0 if slow else c.restitution for c in rigid.contacts])
                for hit in np.flatnonzero(struck).tolist():
                    self._note(t, "impact", hit, q, v)
                v = impact(rigid, q, v, restitution=e, rule=self.rule, closed=touching).velocity
            y = np.concatenate([q, v, z])
            now = self.instant(t, y)
            near = np.flatnonzero(touching & (now.state.velocity[:, 0] <= rigid.speed_tolerance))
            found = rigid.solve(now.state, now.mobility, near)
        except KinetreeError as problem:
            raise Fault(str(problem), t) from problem
        previous, self.mode = self.mode, self._modes(now, found, near)
        self.pace = Pace()
        for k in range(len(rigid.contacts)):
            if self.mode.name(k) != previous.name(k):
                self._note(t, self.mode.name(k), k, q, v)
        creeping = np.linalg.norm(now.state.velocity[:, 1:], axis=1) <= rigid.speed_tolerance
        starting = [k for k in self.mode.sliding if creeping[k]]
        leaving = [k for k in near.tolist() if k not in self.mode.closed]
        y = self._set_right(y, starting, leaving)  # slips begin from rest, not from rounding
        self._find_directions(t, y, starting)
        q, v, z = self.split(y)
        z = z.copy()
        z[-1] += self._kinetic(q, v) - before
        return np.concatenate([q, v, z])

    def _modes(self, now: Instant, found: ContactForces, near: Array) -> Mode:
        closed, sticking, sliding = [], set(), {}
        rates = now.state.jacobian @ found.acceleration + now.state.bias
        still = self.still(now, near)
        for k in near.tolist():
            if found.mode[k] == "breaking":
                continue
            closed.append(k)
            if found.mode[k] == "closed":
                continue
            along, moves = now.state.velocity[k, 1:], True
            if np.linalg.norm(along) <= self.contacts.speed_tolerance:
                along = rates[k, 1:]
                moves = bool(np.max(np.abs(along)) > still)
            if found.mode[k] == "sticking" or not moves:
                sticking.add(k)
            else:
                sliding[k] = along @ now.state.axes[k, 1:] / np.linalg.norm(along)
        return Mode(tuple(closed), frozenset(sticking), sliding)

    def _find_directions(self, t: float, y: Array, starting: Sequence[int]) -> None:
        """Let slips begin in the direction in which the contacts then accelerate.

        Where contacts are redundant, forces (and with friction accelerations) are not unique, and those
        of the complementarity problem need not be the ones that this phase is integrated with.
        """
        for tries in range(60 if starting else 0):
            now = self.instant(t, y)
            rates = now.state.jacobian @ self.acting(now)[1] + now.state.bias
            size = 1e-6 * (1.0 + float(np.max(np.abs(now.mobility.free))))
            ahead = [float(rates[k, 1:] @ now.state.axes[k, 1:] @ self.mode.sliding[k]) for k in starting]
            if tries == 0 and min(ahead) > -size:
                return  # as the complementarity problem has it
            change = 0.0
            for k in starting:
                along, old = rates[k, 1:] @ now.state.axes[k, 1:], self.mode.sliding[k]
                size = float(np.linalg.norm(along))
                mixed = old + along / size if size > 0.0 else old
                new = mixed / np.linalg.norm(mixed) if np.linalg.norm(mixed) > 1e-6 else along / size
                change = max(change, float(np.max(np.abs(new - old))))
                self.mode.sliding[k] = new
            if change < 1e-11:
                return
        if starting:  # no direction goes on by itself: with these forces the contacts stay at rest, if they can
            sliding, trial = self.mode, replace(self.mode, sticking=self.mode.sticking | set(starting))
            self.mode = replace(trial, sliding={k: d for k, d in sliding.sliding.items() if k not in starting})
            if not self.lasts(self.instant(t, y)):
                self.mode = sliding

    def _note(self, t: float, what: str, k: int, q: Array, v: Array) -> None:
        self.happened.append(Occurrence(t, f"{what} {self.contacts.contacts[k].name}", k, q.copy(), v.copy()))

    def _kinetic(self, q: Array, v: Array) -> float:
        return float(self.robot.kinetic_energy(q, v))

    def _set_right(self, y: Array, resting: Sequence[int] = (), leaving: Sequence[int] = ()) -> Array:
        """Put closed contacts (and loops) exactly where they belong, moving as little mass as possible.

        Sticking contacts and those in ``resting`` come to rest.  Those in ``leaving`` may only open: what
        rounding has left them inside, or approaching, is taken away.
        """
        q, v, z = self.split(y)
        mode, rigid = self.mode, self.contacts
        if not mode.closed and not isinstance(self.robot, Mechanism):
            return np.concatenate([q, v, z])
        if isinstance(self.robot, Mechanism):
            q, v = self.robot.project(q, v)
        inverse = rigid.mobility(q, v).inverse
        for _ in range(3 if mode.closed else 0):
            state = rigid.look(q, v)
            chosen = [*mode.closed, *(k for k in leaving if state.gap[k] < 0.0)]
            if float(np.max(np.abs(state.gap[chosen]))) <= 1e-14:
                break
            normals = state.jacobian[chosen, 0]
            q = self.robot.normalize(self.robot.integrate(q, -_least(normals, inverse, state.gap[chosen])))
        state, still = rigid.look(q, v), [*mode.sticking, *resting]
        normal, approaching = list(mode.closed), list(leaving)
        while normal:  # stopping one spot may make another approach
            rows = [state.jacobian[k, 0] for k in normal] + [state.jacobian[k, i] for k in still for i in (1, 2)]
            v = v - _least(np.array(rows), inverse, np.array(rows) @ v)
            hit = [k for k in approaching if state.jacobian[k, 0] @ v < 0.0]
            if not hit:
                break
            normal, approaching = [*normal, *hit], [k for k in approaching if k not in hit]
        return np.concatenate([q, v, z])

    # ------------------------------------------------------------------ samples

    def _sample(self, t: float, y: Array) -> None:
        if self.wanted is None:
            self._keep(t, y)
            return
        while self._next < len(self.wanted) and self.wanted[self._next] <= t:
            self._keep(float(self.wanted[self._next]), y)
            self._next += 1

    def _samples_between(self, dense: Any, until: float) -> None:
        if self.wanted is None:
            if until == dense.t_max:
                self._keep(until, dense(until))
            return
        while self._next < len(self.wanted) and (
            self.wanted[self._next] < until or until == self.wanted[self._next] == self.end
        ):
            t = float(self.wanted[self._next])
            self._keep(t, dense(t))
            self._next += 1

    def _keep(self, t: float, y: Array) -> None:
        q, v, z = self.split(y)
        y = np.concatenate([q, v, z])
        now = self.instant(t, y)
        local, a, _ = self.acting(now)
        self.times.append(t)
        self.states.append(y)
        loop_forces = np.zeros(0)
        if isinstance(self.robot, Mechanism):
            pushed = now.tau + np.einsum("ki,kij->j", local, now.state.jacobian)
            loop_forces = self.robot.multipliers(now.q, now.v, pushed, now.loads)
        self.kept.append((a, np.einsum("ki,kij->kj", local, now.state.axes), loop_forces))

    def _record(self, status: str) -> Record:
        n, nq, nv = len(self.times), self.robot.nq, self.robot.nv
        y = np.array(self.states).reshape(n, -1) if n else np.zeros((0, nq + nv + self.equation.system.nz))
        info = {
            "steps": self.n_steps,
            "evaluations": self.equation.n_calls,
            "contacts": [c.name for c in self.contacts.contacts],
            "contact_spots": [[c.frame, list(c.point)] for c in self.contacts.contacts],
        }
        record = make_record(
            self.equation, np.array(self.times), y[:, :nq], y[:, nq : nq + nv], y[:, nq + nv :], tuple(self.happened),
            status, self.integrator, info,
        )  # fmt: skip
        a, forces, loops = (np.array([k[i] for k in self.kept]) for i in range(3))
        contact_forces = np.concatenate(
            [forces.reshape(n, len(self.contacts.contacts), 3), record.contact_forces], axis=1
        )
        loop_forces = loops.reshape(n, record.constraint_forces.shape[-1] if n else 0)
        return replace(record, a=a.reshape(n, nv), contact_forces=contact_forces, constraint_forces=loop_forces)


def _least(rows: Array, inverse: Array, rest: Array) -> Array:
    """The change of v with the least kinetic energy that changes ``rows @ v`` by ``rest``."""
    answer = inverse @ rows.T
    return np.asarray(answer @ np.linalg.lstsq(rows @ answer, rest, rcond=1e-11)[0])


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The last time at which something holds; it does not at ``high``."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def _closing(
    look: Callable[[float], tuple[Array, Array]], k: int, times: Array, seen: Sequence[tuple[Array, Array]]
) -> float | None:
    """When a gap goes through zero between two times, also if it opens and closes again, or dips in between."""

    def root(which: int, low: float, high: float) -> float:
        return float(brentq(lambda t: float(look(t)[which][k]), low, high, xtol=1e-15, rtol=1e-15))

    a, b = float(times[0]), float(times[1])
    (gap_a, rate_a), (gap_b, rate_b) = ((float(gap[k]), float(rate[k])) for gap, rate in seen)
    if gap_b < -1e-13:
        if gap_a > 1e-13:
            return root(0, a, b)
        if rate_a <= 0.0:
            return a  # it comes back at once
        if rate_b >= 0.0:
            return None  # it is on its way out, from within the tolerance
        top = root(1, a, b)
        return root(0, top, b) if look(top)[0][k] > 0.0 else top
    if rate_a < 0.0 < rate_b and gap_a > 0.0:
        bottom = root(1, a, b)
        if look(bottom)[0][k] < -1e-13:
            return root(0, a, bottom)
    return None
