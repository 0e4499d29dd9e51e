"""The equation of motion on arrays: for one state or a batch, as machine code or as it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import kinematics
from ..arrays import pack, split
from ..compiled import LARGEST_UNROLLED
from ..engine import machine
from ..engine.kernel import Traced
from ..engine.repeated import RepeatedKernel, Stages, trace_stages
from ..errors import CompileError
from ..mechanism import Mechanism
from ..model.tree import Model
from ..spatial import Scalar, sqrt, where
from . import variational
from .equation import WORKS, Acting, Scalars, System
from .integrators import FIXED, VARIATIONAL, Step
from .program import Program, can_compile, once
from .variational import UNSOLVED, Guess, refine

Array = np.ndarray
State = tuple[Array, Array, Array]

NOTHING = np.zeros(0)


Advance = Callable[[float, State, float, int], State]
"""(t, state, h, n) to the state n steps of h later."""

Ask = Callable[[list[Scalar]], list[Scalar]]


def _never() -> Traced:
    raise AssertionError("made of stages, not of one graph")


class Fault(Exception):
    """Something went wrong inside a run; becomes a SimulationError with the record so far."""

    def __init__(self, message: str, time: float, joint: str | None = None) -> None:
        super().__init__(message)
        self.time, self.joint = time, joint


class NoConvergence(ArithmeticError):
    """The equations of an implicit step were not solved."""


class Observed(NamedTuple):
    """What a record shows beside the state, all (..., n)."""

    a: Array
    tau: Array
    friction: Array
    contact_forces: Array
    constraint_forces: Array
    kinetic: Array
    potential: Array


def unit_quaternions(tree: Model, q: Scalars) -> tuple[list[Scalar], list[Scalar | None]]:
    """A configuration with quaternions of unit length, and what each coordinate was divided by, if it was."""
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
    system : System
    function : callable, optional
        A controller ``f(t, q, v) -> tau`` in plain Python, asked outside of the machine code.
    threads : int
        For batches.
    """

    def __init__(self, system: System, function: Callable[..., Any] | None = None, threads: int = 1) -> None:
        self.system, self.function, self.threads = system, function, threads
        self.robot, self.tree = system.robot, system.tree
        self.compiled = can_compile(self.robot)
        self.by_robot = bool(self.tree.loops) or not unrolls(self.robot)
        self.n_calls = 0
        self._kernels: dict[str, RepeatedKernel] = {}
        self._steps: dict[str, Callable[[float, State, float], State]] = {}

    # ------------------------------------------------------------------ parameters

    @cached_property
    def numbers(self) -> Array:
        """All parameters one after the other, (..., n)."""
        values = list(self.system.parameters.values())
        if not values:
            return NOTHING
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in values))
        return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in values], axis=-1)

    def _with(self, p: Scalars) -> System:
        named: dict[str, Scalars] = {}
        first = 0
        for name, value in self.system.parameters.items():
            named[name] = p[first : first + value.shape[-1]]
            first += value.shape[-1]
        return self.system.with_parameters(named)

    def _program(self, name: str, law: Callable[..., list[Any]], **lengths: int) -> Program:
        tree, system = self.tree, self.system
        usual = {"t": 1, "q": tree.nq, "v": tree.nv, "z": system.nz, "p": self.numbers.shape[-1]}
        given = {"tau": tree.nv} if self.function is not None else {"tau": 0}
        return Program(f"{name} of {self.robot.name!r}", law, usual | given | lengths, self.compiled)

    # ------------------------------------------------------------------ rates

    @cached_property
    def _rate(self) -> Program:
        """q, v, z to their rates; quaternions may be of any length, which the rate is proportional to."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            system = self._with(p)
            unit, length = unit_quaternions(self.tree, q)
            a, z_rate = system.rate(t[0], unit, v, z, tau or None)
            moving = kinematics.configuration_rate(self.tree, unit, v)
            return [r if s is None else r * s for r, s in zip(moving, length, strict=True)] + a + z_rate

        return self._program("rates", law)

    @cached_property
    def _forces(self) -> Program:
        """For robots whose accelerations are found by their own method: what acts on them."""

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            system = self._with(p)
            acting = system.acting(t[0], q, v, z, tau or None)
            powers = system.powers(q, v, acting) if system.works else []
            six = [x for f in acting.loads for x in (f if f is not None else (0.0,) * 6)]
            return acting.total + six + acting.z_rate + powers

        return self._program("forces", law)

    def rates(self, t: float, q: Array, v: Array, z: Array) -> State:
        """Rates of q, v and z; of quaternions in proportion to their length."""
        self.n_calls += 1
        if self.by_robot:
            return self._rates_by_robot(t, q, v, z)
        out = self._rate(self._named(t, q, v, z), self.threads)
        nq, nv = self.tree.nq, self.tree.nv
        return out[..., :nq], out[..., nq : nq + nv], out[..., nq + nv :]

    def accelerations(self, t: float, q: Array, v: Array, z: Array) -> tuple[Array, Array]:
        """Rates of v and z."""
        _, a, z_rate = self.rates(t, q, v, z)
        return a, z_rate

    def _rates_by_robot(self, t: float, q: Array, v: Array, z: Array) -> State:
        unit = self.robot.normalize(q)
        forces = self._forces(self._named(t, unit, v, z))
        nv, nb = self.tree.nv, len(self.tree.bodies)
        loads = forces[..., nv : nv + 6 * nb].reshape(*forces.shape[:-1], nb, 6)
        wrenches = loads if self.system.elements else None
        a = self._accelerate(unit, v, forces[..., :nv], wrenches)
        moving = self.robot.configuration_rate(unit, v) * _lengths(self.robot, q)
        return moving, a, forces[..., nv + 6 * nb :]

    def _named(self, t: float, q: Array, v: Array, z: Array) -> dict[str, Array]:
        return {"t": np.array([t]), "q": q, "v": v, "z": z, "p": self.numbers, **self._asked(t, q, v)}

    def _asked(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        return {} if self.function is None else {"tau": self.ask(t, q, v)}

    def ask(self, t: float, q: Array, v: Array) -> Array:
        """What a controller in plain Python answers, checked."""
        assert self.function is not None
        answer = self.function(t, self.robot.normalize(q), v)
        try:
            tau = np.asarray(answer, dtype=float)
        except (TypeError, ValueError):
            raise Fault(f"the controller returned {answer!r}, which is no array of numbers", t) from None
        if tau.shape[-1:] != (self.tree.nv,):
            wanted = f"{self.tree.nv} forces, one per degree of freedom ({', '.join(self.robot.v_names[:4])}, ...)"
            missing = self.robot.v_names[tau.shape[-1]] if tau.ndim and tau.shape[-1] < self.tree.nv else None
            raise Fault(f"the controller returned an array of shape {tau.shape}; wanted are {wanted}", t, missing)
        if v.ndim == 1 and tau.ndim > 1:
            raise Fault(f"the controller returned an array of shape {tau.shape} for one state", t)
        lost = ~np.isfinite(tau) & np.isfinite(v).all(axis=-1, keepdims=True)
        if v.ndim == 1 and lost.any():
            name = self.robot.v_names[int(np.argmax(lost))]
            raise Fault(f"the controller returned {tau[np.argmax(lost)]} for joint {name!r}", t, name)
        return tau

    # ------------------------------------------------------------------ whole steps

    @property
    def traceable(self) -> bool:
        """Whether controller, ground and robot all become machine code together."""
        return self.compiled and self.function is None and not self.by_robot

    def many_steps(self, integrator: str) -> Advance:
        """A function that takes (t, (q, v, z), h, n) to the state n steps later, in machine code."""
        if integrator not in self._kernels:
            self._kernels[integrator] = self._step_kernel(integrator)
        kernel = self._kernels[integrator]
        nq, nv, nz = self.tree.nq, self.tree.nv, self.system.nz
        extra = [np.zeros((1,))] if integrator == VARIATIONAL else []

        def advance(t: float, state: State, h: float, n: int) -> State:
            numbers = [np.array([x], dtype=float) for x in (t, h, n)]
            parameters = [self.numbers] if self.numbers.shape[-1] else []
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*state, self.numbers)))
            parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (*state, *extra)]
            try:
                out = kernel(*numbers, np.concatenate(parts, axis=-1), *parameters, threads=self.threads)
            except machine.CompilationError as problem:
                raise CompileError(str(problem)) from None
            if extra and np.any(out[..., -1] > UNSOLVED):
                raise NoConvergence
            return out[..., :nq], out[..., nq : nq + nv], out[..., nq + nv : nq + nv + nz]

        return advance

    def _step_kernel(self, integrator: str) -> RepeatedKernel:
        stages = self._variational_stages() if integrator == VARIATIONAL else self._stages(FIXED[integrator])
        name, names = f"{integrator} steps of {self.robot.name!r}", ("t", "h", "n", "state", "parameters")

        def make(key: str) -> RepeatedKernel:
            return RepeatedKernel(
                name, _never, stages.lengths, (stages.n_state,), key, names, stages=lambda: stages
            )  # fmt: skip

        kernel: RepeatedKernel = once("repeated" + stages.content(), make)
        return kernel

    def _parts(self, x: Scalars) -> tuple[Scalars, Scalars, Scalars]:
        nq, nv = self.tree.nq, self.tree.nv
        return x[:nq], x[nq : nq + nv], x[nq + nv : nq + nv + self.system.nz]

    def _stages(self, formula: Step) -> Stages:
        """A step of an explicit formula, which asks for accelerations."""
        tree, nv = self.tree, self.tree.nv
        n = tree.nq + nv + self.system.nz

        def advance(ask: Ask, t: Scalar, state: Scalars, h: Scalar, p: Scalars) -> list[Scalar]:
            def rate(t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> tuple[list[Scalar], list[Scalar]]:
                answer = ask([t, *q, *v, *z])
                return answer[:nv], answer[nv:]

            new = formula(tree, rate, t, *self._parts(state), h)
            return [x for part in new for x in part]

        def rate(question: Scalars, p: Scalars) -> list[Scalar]:
            a, z_rate = self._with(p).rate(question[0], *self._parts(question[1:]))
            return a + z_rate

        return trace_stages(advance, rate, n, 1 + n, self.numbers.shape[-1], nv + self.system.nz)

    def _variational_stages(self) -> Stages:
        """A variational step, which asks for better guesses; its last state is the worst that was left unsolved."""
        tree, nv, nz = self.tree, self.tree.nv, self.system.nz
        lengths = [1, tree.nq, nv, nz, nv, nz, 1]
        ends = np.cumsum(lengths).tolist()

        def advance(ask: Ask, t: Scalar, state: Scalars, h: Scalar, p: Scalars) -> list[Scalar]:
            def question(t: Scalar, *rest: Any) -> Guess:
                *vectors, h = rest
                answer = ask([t, *(x for vector in vectors for x in vector), h])
                return Guess(
                    answer[:nv], answer[nv : nv + nz], answer[nv + nz : 2 * nv + nz], answer[2 * nv + nz :]
                )  # fmt: skip

            q, v, z, change = variational.advance(self._with(p).tree, question, t, *self._parts(state), h)
            return [*q, *v, *z, where(change > state[-1], change, state[-1])]

        def rate(question: Scalars, p: Scalars) -> list[Scalar]:
            t, q, m, z, u, zm, h = (question[b - n : b] for n, b in zip(lengths, ends, strict=True))
            guess = refine(self._with(p), t[0], q, m, z, u, zm, h[0])
            return [x for part in guess for x in part]

        n = tree.nq + nv + nz + 1
        return trace_stages(advance, rate, n, ends[-1], self.numbers.shape[-1], 2 * (nv + nz))

    def step(self, integrator: str) -> Callable[[float, State, float], State]:
        """A function that takes (t, (q, v, z), h) to the state at t + h."""
        if integrator not in self._steps:
            self._steps[integrator] = self._make_step(integrator)
        return self._steps[integrator]

    def _make_step(self, integrator: str) -> Callable[[float, State, float], State]:
        if self.traceable:
            many = self.many_steps(integrator)
            return lambda t, state, h: many(t, state, h, 1)
        return self._variational_step() if integrator == VARIATIONAL else self._step_as_written(integrator)

    def _step_as_written(self, integrator: str) -> Callable[[float, State, float], State]:
        """The integrator's text on arrays, rates from wherever they come."""
        advance = FIXED[integrator]

        def step(t: float, state: State, h: float) -> State:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*state, self.numbers)))

            def rate(t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> tuple[list[Scalar], list[Scalar]]:
                a, z_rate = self.accelerations(t, *(pack(list(x), batch) for x in (q, v, z)))
                return split(a), split(z_rate)

            with np.errstate(all="ignore"):
                q, v, z = (
                    pack(x, batch)
                    for x in advance(self.tree, rate, t, split(state[0]), split(state[1]), split(state[2]), h)
                )
            return q, v, z

        return step

    def _variational_step(self) -> Callable[[float, State, float], State]:
        """The variational integrator's text on arrays, with rounds until rounding is all that changes."""
        nv, nz = self.tree.nv, self.system.nz

        def law(
            t: Scalars, h: Scalars, q: Scalars, v: Scalars, z: Scalars, m: Scalars, zm: Scalars, p: Scalars,
            tau: Scalars,
        ) -> list[Scalar]:  # fmt: skip
            guess = refine(self._with(p), t[0], q, m, z, v, zm, h[0], tau or None)
            return [x for part in guess for x in part]

        program = self._program("variational step", law, h=1, m=nv, zm=nz)

        def step(t: float, state: State, h: float) -> State:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*state, self.numbers)))

            def ask(t: Scalar, *rest: Any) -> Guess:
                q, m, z, u, zm = (pack(list(x), batch) for x in rest[:-1])
                given = {"t": np.array([t]), "h": np.array([h]), "q": q, "v": u, "z": z, "m": m, "zm": zm}
                asked = {}
                if self.function is not None:
                    asked = self._asked(t + 0.5 * h, self.robot.integrate(q, 0.5 * h * u), u)
                g = program({**given, "p": self.numbers, **asked}, self.threads)
                parts = (g[..., :nv], g[..., nv : nv + nz], g[..., nv + nz : 2 * nv + nz], g[..., 2 * nv + nz :])
                return Guess(*(split(x) for x in parts))

            def enough(change: Scalar, u: Scalars) -> bool:
                return bool(np.all(change <= 1e-15 * (1.0 + sum(np.abs(x) for x in u))))

            with np.errstate(all="ignore"):
                varying = self._with(split(self.numbers)).tree
                q, v, z = (split(x) for x in state)
                q, v, z, change = variational.advance(varying, ask, t, q, v, z, h, 50, enough)
            if np.any(change > UNSOLVED):
                raise NoConvergence
            return pack(q, batch), pack(v, batch), pack(z, batch)

        return step

    # ------------------------------------------------------------------ for the record

    @cached_property
    def _observe(self) -> Program:
        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            system = self._with(p)
            acting: Acting = system.acting(t[0], q, v, z, tau or None)
            return acting.tau + acting.friction + system.energies(q, v) + system.contact_forces(t[0], q, v, z)

        return self._program("observation", law)

    def observe(self, t: Array, q: Array, v: Array, z: Array) -> Observed:
        """Forces and energies at many times: t is (T,), the others (T, ..., n)."""
        nv = self.tree.nv
        times = t.reshape(-1, *(1,) * (q.ndim - 1))
        tau: dict[str, Array] = {}
        if self.function is not None:
            rows = [self.ask(float(s), a, b) for s, a, b in zip(t, q, v, strict=True)]
            tau = {"tau": np.broadcast_to(np.array(rows), v.shape) if rows else np.zeros_like(v)}
        given = {"t": times, "q": q, "v": v, "z": z, "p": self.numbers}
        seen = self._observe(given | tau)
        constraint = np.zeros((*q.shape[:-1], 0))
        if self.by_robot:
            a, constraint = self._observe_by_robot(given | tau)
        else:
            a = self._rate(given | tau)[..., self.tree.nq : self.tree.nq + nv]
        n = 2 * nv
        return Observed(
            a, seen[..., :nv], seen[..., nv:n], seen[..., n + 2 :], constraint, seen[..., n], seen[..., n + 1]
        )

    def _observe_by_robot(self, given: Mapping[str, Array]) -> tuple[Array, Array]:
        forces = self._forces(given)
        nv, nb = self.tree.nv, len(self.tree.bodies)
        loads = forces[..., nv : nv + 6 * nb].reshape(*forces.shape[:-1], nb, 6) if self.system.elements else None
        q, v, tau = given["q"], given["v"], forces[..., :nv]
        a = self._accelerate(q, v, tau, loads)
        if isinstance(self.robot, Mechanism):
            return a, self.robot.multipliers(q, v, tau, loads)
        return a, np.zeros((*q.shape[:-1], 0))

    def _accelerate(self, q: Array, v: Array, tau: Array, loads: Array | None) -> Array:
        if isinstance(self.robot, Mechanism):  # stages of an integrator are off closure by their error
            return self.robot.forward_dynamics(q, v, tau, loads, tolerance=np.inf, threads=self.threads)
        return self.robot.forward_dynamics(q, v, tau, loads, threads=self.threads)

    @property
    def n_works(self) -> int:
        """How many of the last entries of z are works."""
        return len(WORKS) if self.system.works else 0


def unrolls(robot: Any) -> bool:
    """Whether a robot is small enough to become straight-line code."""
    return len(robot.model.bodies) <= LARGEST_UNROLLED


def _lengths(robot: Any, q: Array) -> Array:
    """Of the quaternion that each coordinate belongs to, one for others."""
    scale = np.ones_like(q)
    for _, place in robot._quaternions:
        scale[..., place] = np.linalg.norm(q[..., place], axis=-1, keepdims=True)
    return scale
