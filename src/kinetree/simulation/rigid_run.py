"""``kt.simulate_rigid``: rigid contact from event to event.

Between events every contact keeps its mode: open, closed without friction, sticking or sliding.
The motion is then smooth and is integrated as such, with the closed contacts as equations
(:mod:`.rigid_phase`).  Events end a phase: a gap closes (an impact, then a new choice of
modes), a contact force would pull, a sticking contact exceeds its friction limit, a sliding contact
comes to rest.  At each of them the complementarity problem decides the next modes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import DOP853, RK45, Radau

from ..contact.impact import RULES, impact
from ..contact.rigid_contacts import Contact, RigidContacts
from ..contact.rigid_friction import Pace
from ..errors import KinetreeError, OptionError, UnknownNameError, explains_arguments, message_of
from ..evaluation.law_failures import Fault
from ..former_names import former_arguments
from ..io.progress import TimeBar
from ..robot.load import as_robot
from ..robot.robot import Robot
from ..spatial.arrays import Array
from ..spatial.numbers import real_number, whole_number
from .arguments import (
    common_batch,
    force_elements,
    initial_state,
    known_kinks,
    known_span,
    law_and_function,
    sample_times,
    time_span,
)
from .equation import Equation
from .events import Occurrence
from .options import STEPS_AT_MOST, SimulationOptions
from .records.record import Record
from .rigid_phase import DRIFT, RigidPhase
from .run import Run
from .sampling import sampling_of
from .step_budget import StepBudget
from .system import GROUND, DynamicSystem, State

SOLVERS = {"dop853": DOP853, "rk45": RK45, "radau": Radau}

MOST_AT_ONCE = 50
"""Number of events at one instant after which the modes count as undecidable."""


@explains_arguments
@former_arguments(output="samples")
def simulate_rigid(
    robot: Robot | str | os.PathLike[str],
    contacts: Contact | Sequence[Contact] | RigidContacts,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    time: float | tuple[float, float],
    controller: Any = None,
    ground: Any = (),
    forces: Any = (),
    integrator: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-11,
    largest_step: float = np.inf,
    samples: int | ArrayLike | None = None,
    rule: str = "simultaneous",
    rest_speed: float = 1e-3,
    friction: bool = True,
    friction_speed: float = 1e-2,
    most_events: int = 10_000,
    progress: bool = True,
    steps_at_most: int = STEPS_AT_MOST,
) -> Record:
    """Simulate a robot with rigid contacts, from event to event.

    Parameters
    ----------
    robot : Robot
        A robot with or without loops.
    contacts : Contact, sequence of Contact, or RigidContacts
    q0, v0, time, controller, ground, forces, rtol, atol, largest_step, samples, friction, friction_speed, progress
        As in :func:`kinetree.simulate`; ``ground`` contains further, compliant force elements.
    integrator : {"dop853", "rk45", "radau"}
        Integrator between events.  While a contact slides so slowly that the turning of its friction limits the steps
        of an explicit integrator, ``"radau"`` takes over.
    rule : {"simultaneous", "sequential"}
        Rule for impacts at several contacts, see :mod:`kinetree.contact.impact`.
    rest_speed : float
        Impacts in which no speed exceeds this (m/s) do not rebound.  A bouncing ball strikes infinitely often before it
        rests; this ends the series.
    most_events : int
        After this many events the simulation stops with an error.
    steps_at_most : int
        The same for steps; the run also stops as soon as it is clear that this many are not enough.

    Returns
    -------
    Record
        Contact forces are those of ``contacts``, in their order, then those of ``ground``.  Events are named
        ``"impact"``, ``"closed"``, ``"sticking"``, ``"sliding"`` or ``"open"``, followed by the contact; ``index`` is
        the contact's index.  The work of contacts, impacts included, is ``energy.ground``.

    Examples
    --------
    >>> import kinetree as kt
    >>> ball = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=1.0).build()
    >>> record = simulate_rigid(ball, [Contact("ball", restitution=0.5)], [1.0], time=1.0)
    >>> record.events[0].name
    'impact ball'
    """
    robot = as_robot(robot)
    begin, end = time_span(time)
    if not isinstance(integrator, str) or integrator not in SOLVERS:
        raise UnknownNameError("integrator for rigid contact", integrator, SOLVERS)
    if rule not in RULES:
        raise UnknownNameError("rule of impact", rule, RULES)
    options = SimulationOptions(
        controller=controller, ground=ground, forces=forces, integrator=integrator, rtol=rtol, atol=atol,
        largest_step=largest_step, friction=friction, friction_speed=friction_speed, steps_at_most=steps_at_most,
    )  # fmt: skip
    options.refuse_endless(begin, end)
    rest_speed = real_number(rest_speed, "rest_speed", positive=True)
    whole_number(most_events, "most_events", 1)
    law, function = law_and_function(controller, robot)
    grounds, others = force_elements(ground), force_elements(forces, "forces")
    q, v = initial_state(robot, q0, v0)
    system = DynamicSystem(robot, law, grounds, others, friction, options.friction_speed)
    if common_batch(system, q, v):
        raise OptionError("rigid contact is simulated one robot at a time; batches need compliant ground")
    rigid = contacts if isinstance(contacts, RigidContacts) else RigidContacts(robot, contacts)
    equation = Equation(system, function).prepared(q)
    run = RigidRun(
        rigid, rule, rest_speed, most_events, equation, options, (), begin, end,
        sample_times(samples, begin, end, options.steps_at_most), known_span((law, *others)),
        sampling_of(equation, begin, (), None), known_kinks(system, begin, end),
    )  # fmt: skip
    return run((q, v, system.initial_z()), progress)


class RigidRun(Run):
    """A simulation with rigid contacts, from event to event."""

    rounding: Array
    """Unavoidable rounding errors of the state; see :meth:`RigidPhase.rounding`."""
    stop: float
    """Time at which the integrator has to stop next."""

    def __init__(self, contacts: RigidContacts, rule: str, rest_speed: float, most_events: int, *rest: Any) -> None:
        super().__init__(*rest)
        self.contacts, self.rule, self.rest_speed, self.most_events = contacts, rule, rest_speed, most_events
        self.phase = RigidPhase(self.equation, contacts)
        self.kept: list[tuple[Array, Array, Array]] = []
        n = self.options
        self.tolerances: dict[str, Any] = {"rtol": max(n.rtol, 1e-13), "atol": n.atol, "max_step": n.largest_step}
        self.budget = StepBudget(n.steps_at_most, self.begin, self.end)
        self.pace = Pace()

    # ------------------------------------------------------------------ running

    def _go(self, state: State, progress: bool | Callable[[float], Any]) -> None:
        self._check_start(state)
        y = self._decide(self.begin, self._stopped(self.begin, np.concatenate(state)))
        self._sample(self.begin, y)
        t, first, at_once = self.begin, None, 0
        with TimeBar(self.begin, self.reach, progress) as bar:
            while t < self.reach:
                if not np.isfinite(self.phase.rates(t, y)).all():  # SciPy would search for a first step forever
                    lost = self.equation.lost_control_after(t, self.phase.split(y), self.reach)
                    raise lost or Fault("the forces or accelerations are not finite", t)
                solver = self._make_solver(t, y, first)
                t_event, y, first = self._phase(solver, bar)
                at_once = at_once + 1 if t_event is not None and t_event <= t else 0
                t = solver.t if t_event is None else t_event
                if t_event is None and self.stop <= t < self.reach:  # forces jump, so contacts may open or slip
                    y = self._decide(t, self._stopped(t, y))
                    self._sample(t, y)
                if t_event is None:
                    continue
                if at_once > MOST_AT_ONCE or len(self.happened) > self.most_events:
                    names = ", ".join(self.contacts.contacts[k].name for k in self.phase.mode.closed)
                    raise Fault(f"too many events follow one another (closed: {names or 'none'}); raise rest_speed", t)
                if self.wanted is None:
                    self._keep_all(t, y)
                y = self._decide(t, y)
                self._sample(t, y)

    def _stopped(self, t: float, y: Array) -> Array:
        """Return the state with the forces that a sampled controller applies from now on, and note the next stop."""
        y = np.concatenate(self._acted(t, self.phase.split(y)))
        self.stop = self._stop(t)
        return y

    def _check_start(self, state: State) -> None:
        q, v, _ = state
        gap = self.contacts.look(q, v).gap
        if np.min(gap) < -self.contacts.gap_tolerance:
            k = int(np.argmin(gap))
            raise Fault(
                f"contact {self.contacts.contacts[k].name!r} starts {-gap[k]:.3g} m inside the surface", self.begin
            )

    def _phase(self, solver: Any, bar: TimeBar) -> tuple[float | None, Array, float | None]:
        """Step until an event (its time and state), or until states must be corrected (None, the state)."""
        while solver.t < self.stop:
            t0 = solver.t
            try:
                message = solver.step()
            except UnknownNameError:
                raise
            except KinetreeError as problem:
                raise Fault(message_of(problem), t0) from problem
            if solver.status == "failed":
                lost = self.equation.lost_control_after(float(solver.t), self.phase.split(solver.y), self.reach)
                raise lost or Fault(f"the integrator cannot continue: {message}", solver.t, self._fastest(solver))
            if not np.all(np.isfinite(solver.y)):
                raise Fault("the motion grows without bound", solver.t)
            self.n_steps, self.now = self.n_steps + 1, float(solver.t)
            nq, nv = self.phase.robot.nq, self.phase.robot.nv
            self.budget.spend(self.n_steps, float(solver.t), self.integrator, self.equation, solver.y[nq : nq + nv])
            dense = solver.dense_output()
            event = self.phase.first_event(dense, t0, solver.t)
            self._samples_between(dense, solver.t if event is None else event)
            if event is not None:
                return event, self.phase.set_right(dense(event)), None
            bar.show_time(solver.t)
            self.phase.remember_directions(solver.y)
            held = self.phase.set_right(solver.y)
            if np.any(np.abs(held - solver.y) > DRIFT + self.rounding) or self._changes_pace(solver):
                return None, held, min(solver.h_abs, self.stop - solver.t) or None
        return None, self.phase.set_right(solver.y), None

    def _make_solver(self, t: float, y: Array, first: float | None) -> Any:
        """Return the integrator, starting here."""
        kind, slopes = self.integrator, {}
        if kind == "radau":
            slopes = {"jac": self.phase.slopes}
        elif self.pace.implicit:
            kind, slopes = "radau", {"jac": self.phase.friction_slopes}
        self.rounding = self.phase.rounding(t, y)
        tolerances = self.tolerances | {"atol": self.tolerances["atol"] + self.rounding}
        return SOLVERS[kind](self.phase.rates, t, y, self.stop, first_step=first, **tolerances, **slopes)

    def _changes_pace(self, solver: Any) -> bool:
        """Return whether to change integrators: slow sliding makes the equations stiff, or no longer does."""
        if self.integrator == "radau" or not self.phase.mode.sliding:
            return False
        slopes = self.phase.friction_slopes(solver.t, solver.y)
        if not np.all(np.isfinite(slopes)):
            return False  # the next step detects it
        return self.pace.changes(float(np.max(np.abs(np.linalg.eigvals(slopes)))) * float(solver.step_size))

    def _fastest(self, solver: Any) -> str | None:
        """Return the joint that moves fastest, where a problem is most likely."""
        names, v = self.robot.v_names, np.abs(self.phase.split(solver.y)[1])
        return names[int(np.argmax(np.where(np.isfinite(v), v, np.inf)))] if names else None

    # ------------------------------------------------------------------ what happens at an event

    def _decide(self, t: float, y: Array) -> Array:
        """Resolve an impact if something approaches, then choose the modes from here on."""
        rigid = self.contacts
        q, v, z = self.phase.split(y)
        before = self._kinetic(q, v)
        state = rigid.look(q, v)
        touching = (state.gap <= rigid.gap_tolerance) | np.isin(np.arange(len(state.gap)), self.phase.mode.closed)
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
            now = self.phase.instant(t, y)
            near = np.flatnonzero(touching & (now.state.velocity[:, 0] <= rigid.speed_tolerance))
            found = rigid.solve(now.state, now.mobility, near)
        except UnknownNameError:
            raise
        except KinetreeError as problem:
            raise Fault(message_of(problem), t) from problem
        previous, self.phase.mode = self.phase.mode, self.phase.modes(now, found, near)
        self.pace = Pace()
        for k in range(len(rigid.contacts)):
            if self.phase.mode.name(k) != previous.name(k):
                self._note(t, self.phase.mode.name(k), k, q, v)
        creeping = np.linalg.norm(now.state.velocity[:, 1:], axis=1) <= rigid.speed_tolerance
        starting = [k for k in self.phase.mode.sliding if creeping[k]]
        leaving = [k for k in near.tolist() if k not in self.phase.mode.closed]
        y = self.phase.set_right(y, starting, leaving)  # slips begin from rest, not from rounding
        self.phase.find_directions(t, y, starting)
        q, v, z = self.phase.split(y)
        z = z.copy()
        z[self.equation.system.place_of(GROUND)] += self._kinetic(q, v) - before
        return np.concatenate([q, v, z])

    def _note(self, t: float, what: str, k: int, q: Array, v: Array) -> None:
        self.happened.append(Occurrence(float(t), f"{what} {self.contacts.contacts[k].name}", k, q.copy(), v.copy()))

    def _kinetic(self, q: Array, v: Array) -> float:
        return float(self.robot.kinetic_energy(q, v))

    # ------------------------------------------------------------------ samples

    def _sample(self, t: float, y: Array) -> None:
        if self.wanted is None:
            self._keep_all(t, y)
            return
        while self._next < len(self.wanted) and self.wanted[self._next] <= t:
            self._keep_all(float(self.wanted[self._next]), y)
            self._next += 1

    def _samples_between(self, dense: Any, until: float) -> None:
        if self.wanted is None:
            if until == dense.t_max:
                self._keep_all(until, dense(until))
            return
        while self._next < len(self.wanted) and (
            self.wanted[self._next] < until or until == self.wanted[self._next] == self.reach
        ):
            t = float(self.wanted[self._next])
            self._keep_all(t, dense(t))
            self._next += 1

    def _keep_all(self, t: float, y: Array) -> None:
        """Keep a sample, with everything that depends on its mode: accelerations, contact forces, loop forces."""
        state = self.phase.split(y)
        now = self.phase.instant(t, np.concatenate(state))
        local, a, _ = self.phase.acting(now)
        self._keep(t, state)
        loop_forces = np.zeros(0)
        if self.robot.loops is not None:
            pushed = now.tau + np.einsum("ki,kij->j", local, now.state.jacobian)
            loop_forces = self.robot.multipliers(now.q, now.v, pushed, now.loads)
        self.kept.append((a, np.einsum("ki,kij->kj", local, now.state.axes), loop_forces))

    def _info(self) -> dict[str, Any]:
        named = self.contacts.contacts
        spots = [[c.frame, list(c.point)] for c in named]
        return super()._info() | {"contacts": [c.name for c in named], "contact_spots": spots}

    def _record(self, status: str) -> Record:
        record, n = super()._record(status), len(self.times)
        a, forces, loops = (np.array([k[i] for k in self.kept]) for i in range(3))
        contact_forces = np.concatenate(
            [forces.reshape(n, len(self.contacts.contacts), 3), record.contact_forces], axis=1
        )
        loop_forces = loops.reshape(n, record.constraint_forces.shape[-1] if n else 0)
        return replace(
            record, a=a.reshape(n, self.robot.nv), contact_forces=contact_forces, constraint_forces=loop_forces
        )
