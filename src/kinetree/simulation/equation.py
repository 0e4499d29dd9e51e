"""The equation of motion of a system on arrays: for one state or a batch, as machine code or as it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import kinematics
from ..algorithms.acting import Scalars
from ..control.driven_joints import refuse_motorless
from ..errors import KinetreeError
from ..model.tree import Model
from ..robot.robot import Robot
from ..run.failure import Fault, blaming
from ..run.law_kernels import LawProgram, can_compile, has_machine_code, unrolls
from ..run.parameters import GivenParameters
from ..spatial import Scalar, sqrt
from ..spatial.arrays import pack, split
from .integrators.steps_on_arrays import Steps
from .loop_choice import LoopChoice, choice_at
from .system import FORCES, GROUND, Acting, DynamicSystem, State
from .yielding import Impedance

Array = np.ndarray

NOTHING = np.zeros(0)

LONGEST_AROUND_LOOPS = 100_000
"""Operations up to which controller and force elements of a large tree become straight-line code beside its loops.

Some seconds of compiling at most, which a hundred evaluations in plain Python would take, too.
"""

STAGES = np.linspace(0.0, 1.0, 21)
"""Parts of a step at which one looks for why it failed: all stages of all formulas are near one of them."""

JUST_AHEAD = (0.0, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""How far ahead (s) one looks for why an integrator could not go on."""


class Observed(NamedTuple):
    """What a record shows beside the state, all (..., n)."""

    a: Array
    tau: Array
    friction: Array
    contact_forces: Array
    constraint_forces: Array
    kinetic: Array
    potential: Array
    stored: Array
    """In forces."""
    in_ground: Array


def unit_quaternions(tree: Model, q: Scalars) -> tuple[list[Scalar], list[Scalar | None]]:
    """Return a configuration with quaternions of unit length, and what each coordinate was divided by, if it was."""
    unit: list[Scalar] = list(q)
    length: list[Scalar | None] = [None] * len(q)
    for joint in tree.joints:
        if joint.kind.quaternion is not None and not joint.mimic:
            first = joint.q_slice.start
            where = range(first + joint.kind.quaternion.start, first + joint.kind.quaternion.stop)
            norm = sqrt(sum((q[k] * q[k] for k in where), 0.0))
            for k in where:
                unit[k], length[k] = q[k] / norm, norm
    return unit, length


class Equation:
    """A system's laws on arrays.

    Parameters
    ----------
    system : DynamicSystem
    function : callable, optional
        A controller ``f(t, q, v) -> tau`` in plain Python, asked outside of the machine code.
    threads : int
        For batches.
    """

    holds_itself = False
    """Whether constraints are held by the equation's own ``held``, and not by projecting onto closed loops."""

    def __init__(self, system: DynamicSystem, function: Callable[..., Any] | None = None, threads: int = 1) -> None:
        self.system, self.function, self.threads = system, function, threads
        self.robot, self.tree = system.robot, system.tree
        self.compiled = can_compile(self.robot)
        self.large = not unrolls(self.robot) and not self.tree.is_constrained
        self.by_robot = (self.tree.is_constrained or self.large) and system.prescribed is None
        self.motorless = np.array(list(system.motorless), dtype=int)
        self.n_calls = 0
        self.n_prepared = 0
        """How many of these were answered with constraints chosen beforehand, see :mod:`.closed_rates`."""
        self.loops: LoopChoice | None = None
        """Constraints of a mechanism that count, where its steps become machine code; see :meth:`prepare`."""
        self._programs: dict[tuple[str, LoopChoice | None], LawProgram] = {}
        self._heavy: dict[float, tuple[Any, Array]] = {}

    # ------------------------------------------------------------------ parameters

    @cached_property
    def numbers(self) -> Array:
        """All parameters one after the other, (..., n)."""
        values = list(self.system.parameters.values())
        if not values:
            return NOTHING
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in values))
        return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in values], axis=-1)

    @property
    def varied(self) -> GivenParameters | None:
        """Numbers of the robot that take the place of the model's, as they are now; None if there are none."""
        given = self.system.varied
        if given.numbers is None:
            return None
        return GivenParameters(given.places, self.numbers[..., : given.numbers.shape[-1]])  # they come first

    def read_numbers_from(self, numbers: Array) -> None:
        """Take all parameters from an array (..., n) from now on, which may change between steps."""
        self.__dict__["numbers"] = numbers

    @contextmanager
    def reading(self, numbers: Array) -> Iterator[None]:
        """Take all parameters from another array (..., n) for a while, such as those of some lanes."""
        before = self.numbers
        self.read_numbers_from(numbers)
        try:
            yield
        finally:
            self.read_numbers_from(before)

    def numbers_at(self, t: Array | float) -> Array:
        """Return all parameters at times: those of a motion that is looked up are those of the time."""
        motion = self.system.prescribed
        if motion is None or not self.system.looks_up:
            return self.numbers
        looked_up = motion.numbers(self.tree, t)
        fixed = self.numbers[..., : self.numbers.shape[-1] - looked_up.shape[-1]]
        batch = np.broadcast_shapes(fixed.shape[:-1], looked_up.shape[:-1])
        return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in (fixed, looked_up)], axis=-1)

    def with_numbers(self, p: Scalars) -> DynamicSystem:
        """Return the system with parameters of any scalar put in."""
        named: dict[str, Scalars] = {}
        first = 0
        for name, value in self.system.parameters.items():
            named[name] = p[first : first + value.shape[-1]]
            first += value.shape[-1]
        return self.system.with_parameters(named)

    def program(
        self, name: str, law: Callable[..., list[Any]], beside_loops: bool = False, **lengths: int
    ) -> LawProgram:
        """Return a law of the usual vectors (t, q, v, z, p, tau) and of further ones, on arrays.

        Large trees move in loops of machine code; a law ``beside_loops`` leaves that motion aside and can be
        straight-line code even then, if it is not too long.
        """
        tree, system = self.tree, self.system
        usual = {"t": 1, "q": tree.nq, "v": tree.nv, "z": system.nz, "p": self.numbers.shape[-1]}
        given = {"tau": tree.nv} if self.function is not None else {"tau": 0}
        title, sizes = f"{name} of {self.robot.name!r}", usual | given | lengths
        if self.large and beside_loops:
            return LawProgram(title, law, sizes, has_machine_code(self.robot), LONGEST_AROUND_LOOPS, self.robot.cpu)
        return LawProgram(title, law, sizes, self.compiled, cpu=self.robot.cpu)

    def kept_program(
        self, name: str, law: Callable[..., list[Any]], choice: LoopChoice | None = None,
        beside_loops: bool = False, **lengths: int,
    ) -> LawProgram:  # fmt: skip
        """Return the program of this name and choice of constraints, made at the first call: a simulator runs often."""
        if (name, choice) not in self._programs:
            self._programs[name, choice] = self.program(name, law, beside_loops, **lengths)
        return self._programs[name, choice]

    # ------------------------------------------------------------------ rates

    @cached_property
    def _rate(self) -> LawProgram:
        """q, v, z to their rates; quaternions may be of any length, which the rate is proportional to."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            system = self.with_numbers(p)
            unit, length = unit_quaternions(self.tree, q)
            placed, v = system.placed(t[0], unit, v)
            a, z_rate = system.rate(t[0], placed, v, z, tau or None)
            moving = kinematics.configuration_rate(self.tree, placed, v)
            return [r if s is None else r * s for r, s in zip(moving, length, strict=True)] + a + z_rate

        return self.program("rates", law)

    @cached_property
    def _forces(self) -> LawProgram:
        """For robots whose accelerations are found by their own method: what acts on them."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            system = self.with_numbers(p)
            acting = system.acting(t[0], q, v, z, tau or None)
            powers = system.powers(q, v, acting) if system.works else []
            six = [x for f in acting.loads for x in (f if f is not None else (0.0,) * 6)] if system.elements else []
            return acting.total + six + acting.z_rate + powers

        return self.program("forces", law, beside_loops=True)

    def rates(self, t: float, q: Array, v: Array, z: Array) -> State:
        """Return the rates of q, v and z; of quaternions in proportion to their length."""
        self.n_calls += 1
        try:
            if self.by_robot:
                return self._rates_by_robot(t, q, v, z)
            out = self._rate(self.named(t, q, v, z), self.threads)
        except Fault as fault:
            fault.time = t if np.isnan(fault.time) else fault.time
            raise
        nq, nv = self.tree.nq, self.tree.nv
        return out[..., :nq], out[..., nq : nq + nv], out[..., nq + nv :]

    def accelerations(
        self, t: float, q: Array, v: Array, z: Array, ahead: float | None = None
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return the rates of v and z; those for a step of ``ahead``, implicit in springs and dampers."""
        if ahead is None:
            _, a, z_rate = self.rates(t, q, v, z)
            return a, z_rate
        self.n_calls += 1
        unit = self.robot.normalize(q)
        if self.robot.loops is not None and self.loops:
            return self._by_rank(self.robot, t, unit, v, z, ahead)
        if not self.large and not self.tree.is_constrained:
            return self._as_written(t, unit, v, z, ahead)
        tau, loads, z_rate = self.forces(self.named(t, unit, v, z))
        heavy, stiffness = self._heavier(ahead)
        return self._accelerate(unit, v, tau - ahead * stiffness * v, loads, heavy), z_rate

    def _as_written(self, t: float, q: Array, v: Array, z: Array, ahead: float) -> tuple[Array, Array]:
        """Return accelerations for a step, and rates of z, by the text of the laws on arrays."""
        system, asked = self.with_numbers(split(self.numbers)), self.asked(t, q, v)
        tau = split(asked["tau"]) if asked else None
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in (q, v, z, self.numbers)))
        state = split(q), split(v), split(z)
        with np.errstate(all="ignore"):
            a, z_rate = system.rate(t, *state, tau, ahead)
        return pack(a, batch), pack(z_rate, batch)

    def _by_rank(self, robot: Robot, t: float, q: Array, v: Array, z: Array, ahead: float) -> tuple[Array, Array]:
        """Return the same for a mechanism where no choice of constraints serves, or there is no machine code."""
        tau, loads, z_rate = self.forces(self.named(t, q, v, z))
        batch = np.broadcast_shapes(tau.shape[:-1], z_rate.shape[:-1])
        with np.errstate(all="ignore"):
            gives = self.with_numbers(split(self.numbers)).impedance(t, split(q), split(v))
            more, push = gives.added_mass(ahead, split(q)), gives.push(ahead, split(q), split(v))
        added = np.stack([pack(row, batch) for row in more], axis=-2)
        return robot.accelerations_by_rank(q, v, tau + pack(push, batch), loads, added, self.varied), z_rate

    def _heavier(self, h: float) -> tuple[Any, Array]:
        """Return the robot with rotors heavier by what gives way within a step, and the stiffness of its freedoms.

        Of what is the same at all states: springs and viscous damping of the joints.
        """
        if h not in self._heavy:
            gives = Impedance(self.tree)
            gives.add_joints(None, self.system.friction, self.system.friction_speed)
            robot = type(self.robot)(gives.heavier(h), backend=self.robot.backend)
            self._heavy = {h: (robot, np.array(gives.stiffness, dtype=float))}
        return self._heavy[h]

    def _rates_by_robot(self, t: float, q: Array, v: Array, z: Array) -> State:
        unit = self.robot.normalize(q)
        tau, loads, z_rate = self.forces(self.named(t, unit, v, z))
        a = self._accelerate(unit, v, tau, loads)
        moving = self.robot.configuration_rate(unit, v) * _lengths(self.robot, q)
        return moving, a, z_rate

    def forces(self, given: Mapping[str, Array]) -> tuple[Array, Array | None, Array]:
        """Return the joint forces, wrenches on the bodies (..., bodies, 6) if there are force elements, rates of z."""
        found, nv, nb = self._forces(given), self.tree.nv, len(self.tree.bodies)
        if not self.system.elements:
            return found[..., :nv], None, found[..., nv:]
        loads = found[..., nv : nv + 6 * nb].reshape(*found.shape[:-1], nb, 6)
        return found[..., :nv], loads, found[..., nv + 6 * nb :]

    def named(self, t: float, q: Array, v: Array, z: Array) -> dict[str, Array]:
        """Return the vectors of a state by the names that laws take them by."""
        times = np.asarray(t, dtype=float)[..., None]  # each lane of a batch may have its own
        return {"t": times, "q": q, "v": v, "z": z, "p": self.numbers_at(t), **self.asked(t, q, v)}

    def asked(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return what a controller in plain Python says, by name; nothing if there is none."""
        return {} if self.function is None else {"tau": self.ask(t, q, v)}

    def ask(self, t: float, q: Array, v: Array, function: Callable[..., Any] | None = None) -> Array:
        """Return what a controller in plain Python answers, checked."""
        asked = self.function if function is None else function
        assert asked is not None
        with blaming("the controller", t):
            answer = asked(t, np.array(self.robot.normalize(q)), v.copy())  # whatever it does to them
        try:
            if answer is None:
                raise TypeError
            tau = np.asarray(answer, dtype=float)
        except (TypeError, ValueError):
            raise Fault(f"the controller returned {answer!r}, which is not an array of numbers", t) from None
        if tau.shape[-1:] != (self.tree.nv,):
            shown = ", ".join(self.robot.v_names[:4]) + (", ..." if self.tree.nv > 4 else "")
            wanted = f"{self.tree.nv} forces, one per degree of freedom ({shown})"
            raise Fault(f"the controller returned an array of shape {tau.shape}; wanted are {wanted}", t)
        if v.ndim == 1 and tau.ndim > 1:
            raise Fault(f"the controller returned an array of shape {tau.shape} for one state", t)
        lost = ~np.isfinite(tau) & np.isfinite(v).all(axis=-1, keepdims=True)
        if v.ndim == 1 and lost.any():
            name = self.robot.v_names[int(np.argmax(lost))]
            raise Fault(f"the controller returned {tau[np.argmax(lost)]} for joint {name!r}", t, name)
        if self.motorless.size and np.any(tau[..., self.motorless]):
            refuse_motorless(self.system.motorless, split(tau), t)
        return tau

    def lost_control(self, times: Array, q: Array, v: Array, z: Array) -> Fault | None:
        """Return what to say if a controller's law is no number at one of some times and states (T, n)."""
        if self.function is not None or self.system.controller is None:
            return None  # a function's answers are checked when they are given
        try:
            forces = self.observe(times, q, v, z).tau
        except KinetreeError:
            return None
        for t, tau in zip(times.tolist(), forces, strict=True):
            lost = ~np.isfinite(tau)
            if lost.any():
                name = self.robot.v_names[int(np.argmax(lost))]
                return Fault(f"the controller returned {tau[lost][0]} for joint {name!r}", t, name)
        return None

    def lost_control_within(self, t: float, state: State, end: float) -> Fault | None:
        """Return the same in a step that failed: about where its stages were, and at their times where it began."""
        later = (end - t) * STAGES
        standing = (np.repeat(x[None], len(later), axis=0) for x in state)
        return self._lost_control_ahead(t, state, later) or self.lost_control(t + later, *standing)

    def lost_control_after(self, t: float, state: State, end: float) -> Fault | None:
        """Return the same where an integrator has come to a stand: there and just ahead, as the motion goes on."""
        return self._lost_control_ahead(t, state, np.minimum(JUST_AHEAD, end - t))

    def _lost_control_ahead(self, t: float, state: State, ahead: Array) -> Fault | None:
        q, v, z = (np.repeat(x[None], len(ahead), axis=0) for x in state)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return None
        return self.lost_control(t + ahead, self.robot.integrate(q, ahead[:, None] * v), v, z)

    # ------------------------------------------------------------------ whole steps

    @cached_property
    def steps(self) -> Steps:
        """Steps of fixed length."""
        return Steps(self)

    @property
    def is_driven(self) -> bool:
        """Whether motions are prescribed, so that constraint forces do work."""
        return False

    @property
    def traceable(self) -> bool:
        """Whether controller, ground and robot all become machine code together."""
        if self.system.looks_up:
            return False
        return self.compiled and self.function is None and (not self.by_robot or self.loops is not None)

    @property
    def knows_what_gives_way(self) -> bool:
        """Whether an implicit step knows the ground, the stops and other forces: not of trees moved by loops."""
        return not self.large and (not self.tree.is_constrained or self.loops is not None)

    def prepare(self, q: Array) -> None:
        """Find out at a closed configuration which of a mechanism's constraints are independent."""
        robot = self.robot
        if robot.loops is not None and unrolls(robot):
            solid = robot.has_inertia
            choice = choice_at(robot, q) if solid else LoopChoice(())
            self.loops = choice if choice.rows else None

    def parts(self, x: Scalars) -> tuple[Scalars, Scalars, Scalars]:
        """Return q, v and z out of one list."""
        nq, nv = self.tree.nq, self.tree.nv
        return x[:nq], x[nq : nq + nv], x[nq + nv : nq + nv + self.system.nz]

    # ------------------------------------------------------------------ for the record

    @cached_property
    def _place(self) -> LawProgram:
        """Joints whose motion is prescribed where they have to be; on the same side of its breaks as in the rates."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            placed = self.with_numbers(p).placed(t[0], q, v)
            return [*placed[0], *placed[1]]

        return self.program("placement", law)

    def on_motion(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return states at times (T,) without what integration is off by at joints whose motion is prescribed."""
        if self.system.prescribed is None:
            return q, v
        times = t.reshape(-1, *(1,) * (q.ndim - 1))
        z = np.zeros((*q.shape[:-1], self.system.nz))
        placed = self._place({"t": times, "q": q, "v": v, "z": z, "p": self.numbers_at(times[..., 0])})
        return placed[..., : self.tree.nq], placed[..., self.tree.nq :]

    @cached_property
    def _observe(self) -> LawProgram:
        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            system = self.with_numbers(p)
            q, v = system.placed(t[0], q, v)
            acting: Acting = system.acting(t[0], q, v, z, tau or None)
            energies = system.stored(FORCES, t[0], q, v, z) + system.stored(GROUND, t[0], q, v, z)
            energies += [] if self.large else system.energies(q, v)
            return acting.tau + acting.friction + energies + system.contact_forces(t[0], q, v, z)

        return self.program("observation", law, beside_loops=True)

    def contact_forces(self, t: Array, q: Array, v: Array, z: Array) -> Array:
        """Return forces on the spots that can touch something, along world axes, (..., spots, 3)."""
        seen = self._observe({"t": t[..., None], "q": q, "v": v, "z": z, "p": self.numbers})
        count = len(self.system.spots)
        return seen[..., seen.shape[-1] - 3 * count :].reshape(*q.shape[:-1], count, 3)

    def observe(self, t: Array, q: Array, v: Array, z: Array, forgiving: bool = False) -> Observed:
        """Return the forces and energies at many times: t is (T,), the others (T, ..., n).

        Where a controller in plain Python fails its forces are NaN if that is to be forgiven.
        """
        nv = self.tree.nv
        times = t.reshape(-1, *(1,) * (q.ndim - 1))
        tau: dict[str, Array] = {}
        if self.function is not None:
            rows = [self._ask_again(float(s), a, b, forgiving) for s, a, b in zip(t, q, v, strict=True)]
            tau = {"tau": np.broadcast_to(np.array(rows), v.shape) if rows else np.zeros_like(v)}
        given = {"t": times, "q": q, "v": v, "z": z, "p": self.numbers_at(times[..., 0])}
        seen = self._observe(given | tau)
        constraint = np.zeros((*q.shape[:-1], 0))
        if self.by_robot:
            a, constraint = self._observe_by_robot(given | tau)
        else:
            a = self._rate(given | tau)[..., self.tree.nq : self.tree.nq + nv]
        tau_seen, friction, rest = seen[..., :nv], seen[..., nv : 2 * nv], seen[..., 2 * nv :]
        stored = in_ground = np.zeros(q.shape[:-1])
        if self.system.forces:
            stored, rest = rest[..., 0], rest[..., 1:]
        if self.system.ground:
            in_ground, rest = rest[..., 0], rest[..., 1:]
        if self.large:
            return Observed(a, tau_seen, friction, rest, constraint, *self._energies_by_robot(q, v), stored, in_ground)
        kinetic, potential, rest = rest[..., 0], rest[..., 1], rest[..., 2:]
        return Observed(a, tau_seen, friction, rest, constraint, kinetic, potential, stored, in_ground)

    def _energies_by_robot(self, q: Array, v: Array) -> tuple[Array, Array]:
        own = self.varied
        return self.robot.kinetic_energy(q, v, parameters=own), self.robot.potential_energy(q, parameters=own)

    def _ask_again(self, t: float, q: Array, v: Array, forgiving: bool) -> Array:
        try:
            return np.broadcast_to(self.ask(t, q, v), v.shape)
        except (Fault, SystemExit):
            if not forgiving:
                raise
            return np.full_like(v, np.nan)

    def _observe_by_robot(self, given: Mapping[str, Array]) -> tuple[Array, Array]:
        q, v = given["q"], given["v"]
        tau, loads, _ = self.forces(given)
        a = self._accelerate(q, v, tau, loads)
        if self.robot.loops is not None:
            return a, self.robot.multipliers(q, v, tau, loads, parameters=self.varied)
        return a, np.zeros((*q.shape[:-1], 0))

    def _accelerate(self, q: Array, v: Array, tau: Array, loads: Array | None, robot: Any = None) -> Array:
        robot = robot or self.robot
        if robot.loops is not None:  # stages of an integrator are off closure by their error
            return robot.forward_dynamics(
                q, v, tau, loads, tolerance=np.inf, threads=self.threads, parameters=self.varied
            )
        return robot.forward_dynamics(
            q, v, tau, loads, method=self.system.method, threads=self.threads, parameters=self.varied
        )

    @property
    def n_works(self) -> int:
        """How many of the last entries of z are works."""
        return self.system.n_works


def _lengths(robot: Any, q: Array) -> Array:
    """Of the quaternion that each coordinate belongs to, one for others."""
    scale, places = np.ones_like(q), robot.evaluator.states.quaternion_places
    scale[..., places] = np.linalg.norm(q[..., places], axis=-1, keepdims=True)
    return scale
