"""The equation of motion of a system on arrays: for one state or a batch, in machine code or in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ..algorithms import kinematics
from ..algorithms.acting_element import Scalars
from ..algorithms.table import find
from ..control.driven_joints import refuse_motorless
from ..errors import KinetreeError, SingularError
from ..evaluation.law_failures import Fault, blaming
from ..evaluation.law_kernels import LawProgram, TreeProgram, can_compile, has_machine_code, moves_in_loops, unrolls
from ..evaluation.parameters import GivenParameters
from ..model.tree import Model
from ..robot.kept_programs import programs_of
from ..spatial import Scalar, sqrt
from ..spatial.arrays import Array, pack, split
from .constrained.drift_correction import Partitioned
from .constrained.holding import CLOSED_AFTER_STEPS, Hold, Holding, refuse_large
from .elimination_order import LoopChoice
from .implicit_accelerations import Impedance
from .integrators.steps_on_arrays import Steps
from .system import FORCES, GROUND, LONGEST_AROUND_LOOPS, Acting, DynamicSystem, State

NOTHING = np.zeros(0)

STAGES = np.linspace(0.0, 1.0, 21)
"""Fractions of a step at which the cause of a failure is sought: all stages of all formulas are near one of them."""

JUST_AHEAD = (0.0, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""How far ahead (s) to look for the reason why an integrator could not continue."""


class Observed(NamedTuple):
    """Quantities that a record shows in addition to the state, all (..., n)."""

    a: Array
    tau: Array
    friction: Array
    contact_forces: Array
    constraint_forces: Array
    kinetic: Array
    potential: Array
    stored: Array
    """Energy stored in force elements."""
    in_ground: Array


def unit_quaternions(tree: Model, q: Scalars) -> tuple[list[Scalar], list[Scalar | None]]:
    """Return a configuration with unit quaternions, and the divisor of each coordinate if there are quaternions."""
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
        A controller ``f(t, q, v) -> tau`` in plain Python, called outside the machine code.
    threads : int
        Threads that share a batch.
    holding : Holding
        How constraints are maintained.
    """

    def __init__(
        self, system: DynamicSystem, function: Callable[..., Any] | None = None, threads: int = 1,
        holding: Holding = CLOSED_AFTER_STEPS,
    ) -> None:  # fmt: skip
        self.system, self.function, self.threads, self.holding = system, function, threads, holding
        self.robot, self.tree = system.robot, system.tree
        self.compiled = can_compile(self.robot)
        self.large = not unrolls(self.robot) and not self.tree.is_constrained
        self.holds_itself = not holding.is_usual
        """Whether constraints are maintained in a chosen way, around the machine code of rates."""
        if self.holds_itself:
            refuse_large(self.robot)
        constrained = self.tree.is_constrained or self.holds_itself
        self.by_robot = (constrained or self.large) and system.prescribed is None
        self.motorless = np.array(list(system.motorless), dtype=int)
        self.n_calls = 0
        self.n_prepared = 0
        """How many of these evaluations used constraints chosen beforehand."""
        self.hold: Hold | None = None
        """The constraints of this run; see :meth:`prepared`."""
        self.steps = Steps(self)
        """Steps of fixed length."""
        acting = [part.element for part in system.parts]
        self._kept = programs_of(self.robot, acting, system.content, holding.content, function is None, threads)
        self._kept_of_constraints = programs_of(self.robot, (), holding.content)
        self._heavy: dict[float, tuple[Any, Array]] = {}

    def prepared(self, q: Array, t: float | None = None) -> Self:
        """Return the equation for one run that begins at a closed configuration; all runs share the machine code.

        Anything that changes during the run, such as which constraints count, belongs to that run.
        """
        made = copy(self)
        made.n_calls = made.n_prepared = 0
        made.steps = Steps(made)
        if self.tree.is_constrained or self.holds_itself:
            made.hold = Hold(self.robot, self.holding, q, t, self._kept_of_constraints)
        return made

    @property
    def loops(self) -> LoopChoice | None:
        """The constraints of a mechanism that count, if whole steps become machine code."""
        return None if self.hold is None or self.holds_itself else self.hold.choice

    def held(self, t: Any, state: State) -> State:
        """Return a state after the correction of constraints that follows a step; unchanged if there are none."""
        return state if self.hold is None else (*self.hold.held(t, *state[:2]), state[2])

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
        """The current numbers of the robot that replace those of the model; None if there are none."""
        given = self.system.varied
        if given.numbers is None:
            return None
        return GivenParameters(given.places, self.numbers[..., : given.numbers.shape[-1]])  # they come first

    def read_numbers_from(self, numbers: Array) -> None:
        """From now on, read all parameters from an array (..., n), which may change between steps."""
        self.__dict__["numbers"] = numbers

    @contextmanager
    def reading(self, numbers: Array) -> Iterator[None]:
        """Read all parameters from another array (..., n), such as those of some lanes, within a ``with`` block."""
        before = self.numbers
        self.read_numbers_from(numbers)
        try:
            yield
        finally:
            self.read_numbers_from(before)

    def numbers_at(self, t: Array | float) -> Array:
        """Return all parameters at given times; those of a tabulated motion depend on the time."""
        motion = self.system.prescribed
        if motion is None or not self.system.looks_up:
            return self.numbers
        looked_up = motion.numbers(t)
        fixed = self.numbers[..., : self.numbers.shape[-1] - looked_up.shape[-1]]
        batch = np.broadcast_shapes(fixed.shape[:-1], looked_up.shape[:-1])
        return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in (fixed, looked_up)], axis=-1)

    def with_numbers(self, p: Scalars) -> DynamicSystem:
        """Return the system with parameters of any scalar put in."""
        return self.system.with_parameters({name: p[where] for name, where in self.places_of_numbers.items()})

    @cached_property
    def places_of_numbers(self) -> dict[str, slice]:
        """The slice of each parameter among all of them."""
        found, first = {}, 0
        for name, value in self.system.parameters.items():
            found[name] = slice(first, first + value.shape[-1])
            first += value.shape[-1]
        return found

    def program(
        self, name: str, law: Callable[..., list[Any]], beside_loops: bool = False, **lengths: int
    ) -> LawProgram:
        """Return a law of the usual vectors (t, q, v, z, p, tau) and of further ones, on arrays.

        Large trees move in loops of machine code; a law ``beside_loops`` does not include that motion and can be
        straight-line code even then, if it is not too long.
        """
        tree, system = self.tree, self.system
        usual = {"t": 1, "q": tree.nq, "v": tree.nv, "z": system.nz, "p": self.numbers.shape[-1]}
        given = {"tau": tree.nv} if self.function is not None else {"tau": 0}
        title, sizes = f"{name} of {self.robot.name!r}", usual | given | lengths
        if self.large and beside_loops:
            return LawProgram(title, law, sizes, has_machine_code(self.robot), LONGEST_AROUND_LOOPS, self.robot.cpu)
        return LawProgram(title, law, sizes, self.compiled, cpu=self.robot.cpu)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result of ``make``, made once and kept for all runs and for simulations with the same setup."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return found

    def kept_program(
        self, name: str, law: Callable[..., list[Any]], choice: LoopChoice | None = None,
        beside_loops: bool = False, **lengths: int,
    ) -> LawProgram:  # fmt: skip
        """Return the program of this name and choice of constraints, made at the first call."""
        made: LawProgram = self.once(
            (name, choice and choice.key), lambda: self.program(name, law, beside_loops, **lengths)
        )
        return made

    # ------------------------------------------------------------------ rates

    @cached_property
    def _rate(self) -> LawProgram:
        """The map from q, v, z to their rates; rates of quaternions are proportional to their length."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            return self.rates_of_scalars(t[0], q, v, z, p, tau)

        return self.kept_program("rates", law)

    def rates_of_scalars(
        self, t: Scalar, q: Scalars, v: Scalars, z: Scalars, p: Scalars, tau: Scalars = (),
        choice: LoopChoice | None = None, ahead: Scalar | None = None,
    ) -> list[Scalar]:  # fmt: skip
        """Return the rates of q, v and z, of any scalar; for a mechanism also the quality of a choice of constraints.

        Parameters
        ----------
        t, q, v, z
            The state; rates of quaternions are proportional to their length.
        p : sequence of scalars
            All parameters.
        tau : sequence of scalars, optional
            Joint forces that replace those of the controller.
        choice : LoopChoice, optional
            The constraints that count, for a mechanism.
        ahead : scalar, optional
            Length of a step that is implicit in springs and dampers.
        """
        system = self.with_numbers(p)
        unit, length = unit_quaternions(self.tree, q)
        placed: Scalars = unit
        if choice is None:
            placed, v = system.placed(t, unit, v)
            a, z_rate = system.rate(t, placed, v, z, tau or None)
            served: list[Scalar] = []
        else:
            a, z_rate, quality = system.closed_rate(t, unit, v, z, choice, tau or None, ahead)
            served = [quality]
        moving = kinematics.configuration_rate(self.tree, placed, v)
        q_rate = [r if s is None else r * s for r, s in zip(moving, length, strict=True)]
        return [*q_rate, *a, *z_rate, *served]

    @cached_property
    def _forces(self) -> LawProgram:
        """The forces on robots whose accelerations are found by their own method."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            return self.with_numbers(p).all_forces(t[0], q, v, z, tau or None)

        return self.kept_program("forces", law, beside_loops=True)

    def rates(self, t: float, q: Array, v: Array, z: Array) -> State:
        """Return the rates of q, v and z; those of quaternions are proportional to their length."""
        self.n_calls += 1
        if self.hold is not None and isinstance(self.hold.drift, Partitioned):
            q, v = self.hold.completed(t, self.robot.normalize(q), v)
        try:
            if self.by_robot:
                found = self._prepared_rates(t, q, v, z) if self.holds_itself else None
                return found or self._rates_by_robot(t, q, v, z)
            out = self._rate(self.named(t, q, v, z), self.threads)
        except Fault as fault:
            fault.time = t if np.isnan(fault.time) else fault.time
            raise
        return self.parts(out)

    def rates_of_whole(self) -> Callable[[float, Array], Array] | None:
        """Return a function that computes the rates of a state in one array directly in machine code, for one thread.

        The result is None if more has to be done: tabulated motions, constraints, Python functions.
        """
        if self.by_robot or self.function is not None or self.system.looks_up or self.hold is not None:
            return None
        one, nq, n = self._rate.of_one_state(), self.tree.nq, self.tree.nq + self.tree.nv
        if one is None:
            return None
        if self.numbers.size:
            one.inputs[-1][:] = self.numbers

        def rates(t: float, y: Array) -> Array:
            self.n_calls += 1
            return one(t, y[:nq], y[nq:n], y[n:]) if len(y) > n else one(t, y[:nq], y[nq:])

        return rates

    def quick_rates(self, t: float, q: Array, v: Array, z: Array) -> State:
        """Return the same rates, for a mechanism in one call of machine code, for integrators that evaluate them often.

        Where the constraints chosen beforehand fail, near a singular configuration, the rank is determined.
        """
        if self.compiled and self.loops is not None and self.loops.is_small:
            found = self._prepared_rates(t, q, v, z)
            if found is not None:
                self.n_calls += 1
                self.n_prepared += 1
                return found
        return self.rates(t, q, v, z)

    def _prepared_rates(self, t: float, q: Array, v: Array, z: Array, ahead: float | None = None) -> State | None:
        """Return rates with constraints chosen beforehand; None where that choice fails."""
        assert self.hold is not None
        assert self.hold.choice is not None
        given = self.named(t, q, v, z) | ({} if ahead is None else {"h": np.array([ahead])})
        for way in self.hold.choice.ways:
            out = self._rates_with(way, ahead is not None)(given, self.threads)
            if not (out[..., -1] < 1.0).any():
                return self.parts(out)
        return None

    def _rates_with(self, choice: LoopChoice, implicit: bool) -> LawProgram:
        """Return the law of rates with some constraints, and the quality of that choice."""

        def law(
            t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars, h: Scalars = ()
        ) -> list[Scalar]:
            return self.rates_of_scalars(t[0], q, v, z, p, tau, choice, h[0] if h else None)

        if implicit:
            return self.kept_program("constrained rates ahead", law, choice, h=1)
        return self.kept_program("constrained rates", law, choice)

    def accelerations(
        self, t: float, q: Array, v: Array, z: Array, ahead: float | None = None
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return the rates of v and z; for a step of length ``ahead``, implicit in springs and dampers."""
        if ahead is None:
            _, a, z_rate = self.rates(t, q, v, z)
            return a, z_rate
        self.n_calls += 1
        if self.holds_itself:
            found = self._prepared_rates(t, q, v, z, ahead)
            if found is None:
                raise SingularError(
                    "the constraints depend on one another here, so an implicit step cannot determine "
                    "their forces: use an explicit integrator"
                )
            return found[1:]
        unit = self.robot.normalize(q)
        if self.loops is not None:
            return self._by_rank(t, unit, v, z, ahead)
        if not self.by_robot:
            return self._as_written(t, unit, v, z, ahead)
        tau, loads, z_rate = self.forces(self.named(t, unit, v, z))
        heavy, stiffness = self._heavier(ahead)
        return self._accelerate(unit, v, tau - ahead * stiffness * v, loads, heavy), z_rate

    def _as_written(self, t: float, q: Array, v: Array, z: Array, ahead: float) -> tuple[Array, Array]:
        """Return accelerations for a step, and rates of z, by evaluating the laws on arrays in Python."""
        system, asked = self.with_numbers(split(self.numbers)), self.asked(t, q, v)
        tau = split(asked["tau"]) if asked else None
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in (q, v, z, self.numbers)))
        state = split(q), split(v), split(z)
        with np.errstate(all="ignore"):
            a, z_rate = system.rate(t, *state, tau, ahead)
        return pack(a, batch), pack(z_rate, batch)

    def _by_rank(self, t: float, q: Array, v: Array, z: Array, ahead: float) -> tuple[Array, Array]:
        """Return the same for a mechanism if no choice of constraints is suitable, or there is no machine code."""
        given = self.named(t, q, v, z)
        plain = self.with_numbers(split(self.numbers))
        system = plain.within_step(split(v), split(z), ahead)
        looks_ahead = system is not plain
        if looks_ahead:
            shape = np.broadcast_shapes(*(x.shape[:-1] for x in (q, v, z, self.numbers)))
            asked = split(given["tau"]) if "tau" in given else None
            with np.errstate(all="ignore"):
                found = pack(system.all_forces(t, split(q), split(v), split(z), asked), shape)
            tau, loads, z_rate = self._divided(found)
        else:
            tau, loads, z_rate = self.forces(given)
        batch = np.broadcast_shapes(tau.shape[:-1], z_rate.shape[:-1])
        with np.errstate(all="ignore"):
            gives = system.impedance(t, split(q), split(v))
            more, push = gives.added_mass(ahead, split(q)), gives.push(ahead, split(q), split(v))
        added = np.stack([pack(row, batch) for row in more], axis=-2)
        a = self.robot.accelerations_by_rank(q, v, tau + pack(push, batch), loads, added, self.varied)
        if looks_ahead:
            state = split(q), split(v), split(z)
            with np.errstate(all="ignore"):
                z_rate = pack(system.rates_of_states(split(z_rate), t, *state, split(a), ahead), batch)
        return a, z_rate

    def _heavier(self, h: float) -> tuple[Any, Array]:
        """Return the robot with rotors heavier by the compliance within a step, and the stiffness of its freedoms.

        This covers what does not depend on the state: springs and viscous damping of the joints.
        """
        if h not in self._heavy:
            gives = Impedance(self.tree)
            gives.add_joints(None, self.system.friction, self.system.friction_speed)
            robot = type(self.robot)(gives.heavier(h), backend=self.robot.backend)
            self._heavy.clear()
            self._heavy[h] = robot, np.array(gives.stiffness, dtype=float)
        return self._heavy[h]

    def _rates_by_robot(self, t: float, q: Array, v: Array, z: Array) -> State:
        unit = self.robot.normalize(q)
        tau, loads, z_rate = self.forces(self.named(t, unit, v, z))
        if self.holds_itself and self.hold is not None:
            found = self.hold.by_rank(np.array([t]), unit, v, tau, loads)
            a, z_rate = found.a, z_rate.copy()
            if self.n_works:
                z_rate[..., -self.n_works] += found.power
        else:
            a = self._accelerate(unit, v, tau, loads)
        moving = self.robot.configuration_rate(unit, v) * _lengths(self.robot, q)
        return moving, a, z_rate

    def forces(self, given: Mapping[str, Array]) -> tuple[Array, Array | None, Array]:
        """Return the joint forces, wrenches on the bodies (..., bodies, 6) if there are force elements, rates of z."""
        return self._divided(self._forces(given))

    def _divided(self, found: Array) -> tuple[Array, Array | None, Array]:
        nv, nb = self.tree.nv, len(self.tree.bodies)
        if not self.system.elements:
            return found[..., :nv], None, found[..., nv:]
        loads = found[..., nv : nv + 6 * nb].reshape(*found.shape[:-1], nb, 6)
        return found[..., :nv], loads, found[..., nv + 6 * nb :]

    def named(self, t: float, q: Array, v: Array, z: Array) -> dict[str, Array]:
        """Return the vectors of a state by the names under which laws take them."""
        times = np.asarray(t, dtype=float)[..., None]  # each lane of a batch may have its own
        return {"t": times, "q": q, "v": v, "z": z, "p": self.numbers_at(t), **self.asked(t, q, v)}

    def asked(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return the forces of a controller in plain Python, by name; an empty mapping if there is none."""
        return {} if self.function is None else {"tau": self.ask(t, q, v)}

    def ask(self, t: float, q: Array, v: Array, function: Callable[..., Any] | None = None) -> Array:
        """Return the forces of a controller in plain Python, checked."""
        asked = self.function if function is None else function
        assert asked is not None
        with blaming("the controller", t):
            answer = asked(t, np.array(self.robot.normalize(q)), v.copy())  # copies, whatever the function does to them
        try:
            if answer is None:
                raise TypeError
            tau = np.asarray(answer, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise Fault(f"the controller returned {answer!r}, which is not an array of numbers", t) from None
        if tau.shape[-1:] != (self.tree.nv,):
            shown = ", ".join(self.robot.v_names[:4]) + (", ..." if self.tree.nv > 4 else "")
            wanted = f"{self.tree.nv} forces, one per degree of freedom ({shown})"
            raise Fault(f"the controller returned an array of shape {tau.shape}; expected {wanted}", t)
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
        """Return a message if a controller's law is NaN at any of some times and states (T, n)."""
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
        """Return the same for a step that failed: near the states of its stages, and at their times from its start."""
        later = (end - t) * STAGES
        standing = (np.repeat(x[None], len(later), axis=0) for x in state)
        return self._lost_control_ahead(t, state, later) or self.lost_control(t + later, *standing)

    def lost_control_after(self, t: float, state: State, end: float) -> Fault | None:
        """Return the same where an integrator is stuck: at that state, and just ahead along the motion."""
        return self._lost_control_ahead(t, state, np.minimum(JUST_AHEAD, end - t))

    def _lost_control_ahead(self, t: float, state: State, ahead: Array) -> Fault | None:
        q, v, z = (np.repeat(x[None], len(ahead), axis=0) for x in state)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return None
        return self.lost_control(t + ahead, self.robot.integrate(q, ahead[:, None] * v), v, z)

    # ------------------------------------------------------------------ whole steps

    @property
    def is_driven(self) -> bool:
        """Whether motions are prescribed as constraints, whose forces do work."""
        return bool(self.holding.prescribed)

    @property
    def traceable(self) -> bool:
        """Whether controller, ground and robot all become machine code together."""
        if self.system.looks_up or self.holds_itself:
            return False
        return self.compiled and self.function is None and (not self.by_robot or self.loops is not None)

    @property
    def moves_in_loops(self) -> bool:
        """Whether a large tree's accelerations come from a loop over bodies that compiled steps can call."""
        system = self.system
        if not self.large or self.function is not None or system.varied.places or system.prescribed is not None:
            return False
        return moves_in_loops(self.robot, system.method)

    @property
    def accelerations_in_loops(self) -> TreeProgram:
        """That loop, which maps q, v, joint forces and perhaps wrenches on the bodies to accelerations."""
        system, tree = self.system, self.tree
        layouts = ("q", "v", "v", *(("wrench",) if system.elements else ()))

        def law(tree: Model, *given: Any) -> Any:
            return find("forward_dynamics").function(tree, *given, method=system.method)

        found: TreeProgram = self.once(
            "loops", lambda: TreeProgram("steps", law, tree, layouts, (tree.nv,), self.threads, self.robot.cpu)
        )
        return found

    @property
    def knows_what_gives_way(self) -> bool:
        """Whether an implicit step includes ground, stops and other forces; it does not for trees computed by loops."""
        return self.holds_itself or (not self.large and (not self.tree.is_constrained or self.loops is not None))

    def parts(self, x: Any) -> tuple[Any, Any, Any]:
        """Return q, v and z from one list, or from an array (..., n)."""
        nq, nv = self.tree.nq, self.tree.nv
        places = slice(nq), slice(nq, nq + nv), slice(nq + nv, nq + nv + self.system.nz)
        q, v, z = (x[..., place] if isinstance(x, np.ndarray) else x[place] for place in places)
        return q, v, z

    # ------------------------------------------------------------------ for the record

    @cached_property
    def _place(self) -> LawProgram:
        """The law that puts prescribed joints where they have to be, on the same side of jumps as in the rates."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            placed = self.with_numbers(p).placed(t[0], q, v)
            return [*placed[0], *placed[1]]

        return self.kept_program("placement", law)

    def on_motion(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return states at times (T,) without integration errors at joints whose motion is prescribed."""
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

        return self.kept_program("observation", law, beside_loops=True)

    def contact_forces(self, t: Array, q: Array, v: Array, z: Array) -> Array:
        """Return forces on the spots that can touch something, along world axes, (..., spots, 3)."""
        seen = self._observe({"t": t[..., None], "q": q, "v": v, "z": z, "p": self.numbers})
        count = len(self.system.spots)
        return seen[..., seen.shape[-1] - 3 * count :].reshape(*q.shape[:-1], count, 3)

    def observe(self, t: Array, q: Array, v: Array, z: Array, forgiving: bool = False) -> Observed:
        """Return the forces and energies at many times: t is (T,), the others (T, ..., n).

        If ``forgiving``, the forces are NaN where a controller in plain Python fails.
        """
        nv = self.tree.nv
        times = t.reshape(-1, *(1,) * (q.ndim - 1))
        tau: dict[str, Array] = {}
        if self.function is not None:
            rows = [self._ask_again(float(s), a, b, forgiving) for s, a, b in zip(t, q, v, strict=True)]
            tau = {"tau": np.broadcast_to(np.array(rows), v.shape) if rows else np.zeros_like(v)}
        given = {"t": times, "q": q, "v": v, "z": z, "p": self.numbers_at(times[..., 0])}
        seen = self._observe(given | tau)
        tau_seen, friction, rest = seen[..., :nv], seen[..., nv : 2 * nv], seen[..., 2 * nv :]
        if self.by_robot:
            a, constraint, driving = self._observe_by_robot(given | tau)
            tau_seen = tau_seen if driving is None else tau_seen + driving
        else:
            a = self.parts(self._rate(given | tau))[1].copy()  # so that the other rates need not be kept
            constraint = np.zeros((*q.shape[:-1], 0))
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

    def _observe_by_robot(self, given: Mapping[str, Array]) -> tuple[Array, Array, Array | None]:
        """Return accelerations, constraint forces, and the forces that drive joints, if any are driven."""
        q, v = given["q"], given["v"]
        tau, loads, _ = self.forces(given)
        if self.holds_itself and self.hold is not None:
            found = self.hold.by_rank(given["t"], q, v, tau, loads)
            return found.a, *self.hold.forces(q, found)
        a = self._accelerate(q, v, tau, loads)
        if self.robot.loops is not None:
            return a, self.robot.multipliers(q, v, tau, loads, parameters=self.varied), None
        return a, np.zeros((*q.shape[:-1], 0)), None

    def _accelerate(self, q: Array, v: Array, tau: Array, loads: Array | None, robot: Any = None) -> Array:
        robot = robot or self.robot
        if robot.loops is not None:  # stages of an integrator are open by their error
            return robot.forward_dynamics(
                q, v, tau, loads, tolerance=np.inf, threads=self.threads, parameters=self.varied
            )
        return robot.forward_dynamics(
            q, v, tau, loads, method=self.system.method, threads=self.threads, parameters=self.varied
        )

    @property
    def n_works(self) -> int:
        """The number of works at the end of z."""
        return self.system.n_works


def _lengths(robot: Any, q: Array) -> Array:
    """Return the length of the quaternion that each coordinate belongs to; 1 for other coordinates."""
    scale, places = np.ones_like(q), robot.evaluator.states.quaternion_places
    scale[..., places] = np.linalg.norm(q[..., places], axis=-1, keepdims=True)
    return scale
