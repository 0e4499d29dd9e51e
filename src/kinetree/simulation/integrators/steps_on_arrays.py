"""Whole steps of fixed length on arrays: in machine code if everything can be traced, otherwise in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.acting_element import Scalars
from ...algorithms.loop_constraints import UNCLOSED
from ...algorithms.projection import ROUNDS
from ...evaluation.law_kernels import Ask, Sizes, StepProgram, has_machine_code
from ...spatial import Scalar, where
from ...spatial.arrays import pack, split
from ..elimination_order import LoopChoice
from ..system import LONGEST_AROUND_LOOPS, State
from . import variational
from .fixed_step_methods import FIXED, IMPLICIT, VARIATIONAL
from .variational import UNSOLVED, Guess, Pushed, StepDynamics, Written, acting, refine

if TYPE_CHECKING:
    from ..equation import Equation

ManySteps = Callable[[Any, State, float, int], State]
"""Maps (t, state, h, n) to the state n steps of h later; each state of a batch may have its own time."""

OneStep = Callable[[Any, State, float], State]
"""The same, one step of h later."""

WatchedSteps = Callable[[Any, State, float, int, int], tuple[State, np.ndarray]]
"""Many steps, repeated a number of times, and a number per lane (and sample) that measures success."""

SampledSteps = Callable[[Any, State, float, int, int], State | None]
"""Maps (t, state, h, every, count) to states (..., count, n), one after each ``every`` steps; None where that fails."""

SAMPLES_AT_ONCE = 50
"""States of a batch that machine code keeps on the way: the default record is twice as many, plus the start."""

StepLaws = tuple[Callable[..., list[Scalar]], Callable[..., list[Scalar]], Sizes]
"""The parts of a :class:`StepProgram`: the step, the rates that it calls, and the number of these rates."""

SETTLED = 1e-11
"""A round that changes velocities by less than this fraction, and no less than the last round, is only rounding."""

MEMORY = 5
"""Earlier rounds that each round uses if rounds can end early: each captures one more mode of a large or fast tree."""

PATIENCE = 50
"""Most rounds of solving a variational step if rounds can end early."""

NEARLY_SOLVED = 1e-2
"""A last change of the mean velocity (rad/s, m/s, all joints together) below which more rounds will converge."""

SHORT_MEMORY = 3
"""The same as ``MEMORY`` if rounds are few and cannot end early."""

FORESEEN = 1.0
"""Allowed relative difference between a hard step's change of velocity and that of its initial accelerations."""


class NoConvergence(ArithmeticError):
    """The equations of an implicit step were not solved; ``left`` is the change in the last round."""

    def __init__(self, left: float) -> None:
        super().__init__(left)
        self.left = left


def _solved(state: State, change: np.ndarray) -> State:
    """Return a state whose step was solved.

    Unsolved lanes of a batch become NaN and do not affect the others.
    """
    lost = np.asarray(change > UNSOLVED)
    if not lost.any():
        return state
    if lost.ndim == 0:
        raise NoConvergence(float(change))
    q, v, z = (np.where(lost[..., None], np.nan, x) for x in state)
    return q, v, z


def _lanes(state: State, chosen: np.ndarray) -> State:
    """Return some lanes of a batch; what is the same for all lanes has no batch axis."""
    q, v, z = (np.broadcast_to(x, (*chosen.shape, x.shape[-1]))[chosen] for x in state)
    return q, v, z


class Steps:
    """Steps of one equation of motion, made on first use.

    Parameters
    ----------
    equation : Equation
    """

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.closing_rounds = ROUNDS
        """How often a mechanism is closed after a step; more for plans, whose first motions may be fast."""
        self._made: dict[Any, Any] = {}

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def many(self, integrator: str) -> ManySteps:
        """Return a function that takes many steps, in machine code if possible, and corrects constraints after each."""
        found: ManySteps = self._once(integrator, lambda: self._many(integrator))
        return found

    def in_machine_code(self, integrator: str) -> bool:
        """Return whether whole steps are machine code: if everything can be traced, or loops over bodies be called."""
        return self.equation.traceable or self._once(("loops", integrator), lambda: self._call_loops(integrator))

    def _call_loops(self, integrator: str) -> bool:
        equation = self.equation
        explicit = integrator in FIXED and integrator != IMPLICIT
        return explicit and equation.moves_in_loops and not self._program(integrator).is_too_long

    def _many(self, integrator: str) -> ManySteps:
        equation = self.equation
        if not self.in_machine_code(integrator):
            return self._one_by_one(self._written(integrator))
        if integrator == VARIATIONAL:
            return self._or_patiently(self._solved_steps())
        if equation.loops is not None:
            return self._closed_steps(integrator, equation.loops)
        run = self._run(integrator)
        return lambda t, state, h, n: run(t, state, h, n, 1)[0]

    def _one_by_one(self, one: OneStep) -> ManySteps:
        """Return a function that takes many steps, each followed by a correction of constraints."""
        equation = self.equation

        def advance(t: Any, state: State, h: float, n: int) -> State:
            with np.errstate(all="ignore"):
                for k in range(n):
                    state = equation.held(t + (k + 1) * h, one(t + k * h, state, h))
            return state

        return advance

    def _solved_steps(self) -> ManySteps:
        """Return a function that takes variational steps in machine code."""
        run = self._run(VARIATIONAL)
        return lambda t, state, h, n: _solved(*run(t, state, h, n, 1))

    def sampled(self, integrator: str) -> SampledSteps:
        """Return steps in machine code that keep states on the way."""
        found: SampledSteps = self._once((integrator, SAMPLES_AT_ONCE), lambda: self._sampled(integrator))
        return found

    def _sampled(self, integrator: str) -> SampledSteps:
        choice = None if integrator == VARIATIONAL else self.equation.loops
        run = self._run(integrator, choice, SAMPLES_AT_ONCE)

        def advance(t: Any, state: State, h: float, every: int, count: int) -> State | None:
            (q, v, z), watched = run(t, state, h, every, count)
            last = watched[..., count - 1]
            if choice is not None and not (last >= 1.0).all():
                return None
            if integrator == VARIATIONAL and (last > UNSOLVED).any():
                return None
            return q[..., :count, :], v[..., :count, :], z[..., :count, :]

        return advance

    def _run(self, integrator: str, choice: LoopChoice | None = None, samples: int = 1) -> WatchedSteps:
        """Return a function that takes many steps in machine code, and the last of the numbers carried along.

        A batch goes through code that keeps ``samples`` states, whatever count is asked for; one state keeps the count.
        """
        watched = [np.full(1, np.inf)] if choice is not None else [np.zeros(1)] if integrator == VARIATIONAL else []
        key = "one state", integrator, choice and choice.key

        def run(t: Any, state: State, h: float, n: int, count: int) -> tuple[State, np.ndarray]:
            parts = (*state, *watched)
            if all(x.ndim == 1 for x in (*state, self.equation.numbers)):
                one = self._once(key, lambda: self._program(integrator, choice).of_one_state())
                out = one(t, parts, h, n, self.equation.numbers, count)
                out = out if samples > 1 else out[0]
                return self.equation.parts(out), out[..., -1]
            program = self._program(integrator, choice, samples)
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*parts, self.equation.numbers)))
            whole = np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], axis=-1)
            out = program(t, whole, h, n, self.equation.numbers, threads=self.equation.threads)
            return self.equation.parts(out), out[..., -1]

        return run

    def _program(self, integrator: str, choice: LoopChoice | None = None, samples: int = 1) -> StepProgram:
        key = "steps", integrator, choice and choice.key, samples, self.closing_rounds
        found: StepProgram = self.equation.once(key, lambda: self.program(integrator, choice, samples=samples))
        return found

    def _closed_steps(self, integrator: str, choice: LoopChoice) -> ManySteps:
        """Return steps of a mechanism in machine code; lanes in which the choice of freedoms fails go another way.

        In those lanes all constraints are eliminated together, whichever freedoms depend on others.  If that fails as
        well, the steps that need the rank are located by bisection.
        """
        run = self._run(integrator, choice)

        def advance(t: Any, state: State, h: float, n: int) -> State:
            new, served = run(t, state, h, n, 1)
            poor = np.asarray(served < 1.0)
            if poor.ndim == 0 and np.isnan(new[0]).any():  # diverged lanes stay so; one state gets a reason
                poor = np.asarray(np.isfinite(state[0]).all())
            if not poor.any():
                return new
            if poor.ndim == 0 or poor.all():
                return again(t, state, h, n)
            numbers = self.equation.numbers  # these and times may differ from lane to lane
            some_numbers = np.broadcast_to(numbers, (*poor.shape, numbers.shape[-1]))[poor]
            with self.equation.reading(some_numbers):
                some = again(np.broadcast_to(t, poor.shape)[poor], _lanes(state, poor), h, n)
            for x, y in zip(new, some, strict=True):
                x[poor] = y
            return new

        def again(t: Any, state: State, h: float, n: int) -> State:
            together = choice.together
            if together is not None:
                return self._closed_steps(integrator, together)(t, state, h, n)
            if n > 1:
                return advance(t + (n // 2) * h, advance(t, state, h, n // 2), h, n - n // 2)
            q, v, z = self._step_as_written(integrator)(t, state, h)  # near a singular configuration, by rank
            return (*self.equation.robot.project(q, v), z)

        return advance

    def program(
        self, integrator: str, choice: LoopChoice | None, single: bool = False, samples: int = 1
    ) -> StepProgram:
        """Return the kernel of many steps itself, for callers that keep states and numbers in one array each.

        If constraints of a mechanism are chosen, a last state is the quality of that choice.
        """
        laws = self._variational_laws() if integrator == VARIATIONAL else self.laws(integrator, choice)
        name, cpu = f"{integrator} steps of {self.equation.robot.name!r}", self.equation.robot.cpu
        if not self.equation.large:
            return StepProgram(name, *laws, cpu, single, samples=samples)
        inside = self.equation.accelerations_in_loops
        return StepProgram(name, *laws, cpu, samples=samples, inside=inside, longest=LONGEST_AROUND_LOOPS)

    def laws(self, integrator: str, choice: LoopChoice | None) -> StepLaws:
        """Return a step of a formula that uses accelerations; a mechanism is closed again after it.

        Implicit formulas look ahead by the step.  The last state of a mechanism is the worst quality of the choice of
        constraints, or zero if the loops did not close.
        """
        equation, formula, ahead = self.equation, FIXED[integrator], int(integrator == IMPLICIT)
        tree, nv, watched = equation.tree, equation.tree.nv, int(choice is not None)

        def advance(ask: Ask, t: Scalar, state: Scalars, h: Scalar, p: Scalars) -> list[Scalar]:
            least = state[-1]

            def rate(t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> tuple[list[Scalar], list[Scalar]]:
                nonlocal least
                answer = ask([t, *q, *v, *z, *[h] * ahead])
                if choice is not None:
                    least = where(answer[-1] < least, answer[-1], least)
                return answer[:nv], answer[nv : len(answer) - watched]

            q, v, z = formula(tree, rate, t, *equation.parts(state), h)
            if choice is None:
                return [*q, *v, *z]
            q, v, left = choice.closed(
                equation.with_numbers(p).tree, q, v, self.closing_rounds + ahead
            )  # its numbers may vary
            return [*q, *v, *z, where(left > UNCLOSED * UNCLOSED, 0.0, least)]

        def rate(question: Scalars, p: Scalars) -> list[Scalar]:
            system, h = equation.with_numbers(p), question[-1] if ahead else None
            asked = question[0], *equation.parts(question[1:])
            if equation.large:  # the arguments of the loops, and the rest
                return [*asked[1], *asked[2], *system.all_forces(*asked)]
            if choice is None:
                a, z_rate = system.rate(*asked, ahead=h)
                return a + z_rate
            a, z_rate, served = system.closed_rate(*asked, choice, ahead=h)
            return [*a, *z_rate, served]

        n, nz = tree.nq + nv + equation.system.nz, equation.system.nz
        return advance, rate, Sizes(n + watched, 1 + n + ahead, equation.numbers.shape[-1], nv + nz + watched)

    def _variational_laws(self) -> StepLaws:
        """Return a variational step, which improves its guesses iteratively.

        Its last state is the largest remaining change.
        """
        tree, nv, nz = self.equation.tree, self.equation.tree.nv, self.equation.system.nz
        lengths = [1, tree.nq, nv, nz, nv, nz, 1]
        ends = np.cumsum(lengths).tolist()

        def advance(ask: Ask, t: Scalar, state: Scalars, h: Scalar, p: Scalars) -> list[Scalar]:
            def question(t: Scalar, *rest: Any) -> Guess:
                *vectors, h = rest
                answer = ask([t, *(x for vector in vectors for x in vector), h])
                return Guess(
                    answer[:nv], answer[nv : nv + nz], answer[nv + nz : 2 * nv + nz], answer[2 * nv + nz :]
                )  # fmt: skip

            dynamics = Written(self.equation.with_numbers(p).tree)
            q, v, z, change = variational.advance(
                dynamics, question, t, *self.equation.parts(state), h, memory=SHORT_MEMORY
            )
            return [*q, *v, *z, where(change > state[-1], change, state[-1])]

        def rate(question: Scalars, p: Scalars) -> list[Scalar]:
            t, q, m, z, u, zm, h = (question[b - n : b] for n, b in zip(lengths, ends, strict=True))
            system = self.equation.with_numbers(p)
            guess = refine(Written(system.tree), acting(system), t[0], q, m, z, u, zm, h[0])
            return [x for part in guess for x in part]

        n = tree.nq + nv + nz + 1
        return advance, rate, Sizes(n, ends[-1], self.equation.numbers.shape[-1], 2 * (nv + nz))

    def _written(self, integrator: str) -> OneStep:
        """Return one step that is not machine code as a whole."""
        if integrator != VARIATIONAL:
            return self._step_as_written(integrator)
        if self.equation.large and has_machine_code(self.equation.robot):
            return self._variational_step_of_large()
        quick = self._variational_step()
        patient = self._or_patiently(lambda t, state, h, n: quick(t, state, h))
        return lambda t, state, h: patient(t, state, h, 1)

    def _or_patiently(self, quick: ManySteps) -> ManySteps:
        """Return variational steps that use as many rounds as needed where the few compiled rounds are not enough."""
        patient: list[OneStep] = []

        def advance(t: Any, state: State, h: float, n: int) -> State:
            try:
                return quick(t, state, h, n)
            except NoConvergence as problem:
                if n > 1:
                    raise
                if not patient:
                    patient.append(self._variational_step(MEMORY))
                new = patient[0](t, state, h)
                if problem.left < NEARLY_SOLVED or self._is_foreseen(t, state, new, h):
                    return new
                raise  # with so large a step there may be several solutions

        return advance

    def _is_foreseen(self, t: float, state: State, new: State, h: float) -> bool:
        """Return whether a step changes velocities roughly as the accelerations at its beginning would."""
        change = h * self.equation.accelerations(t, *state)[0]
        off = new[1] - state[1] - change
        return bool(np.linalg.norm(off) <= FORESEEN * np.linalg.norm(change))

    def _step_as_written(self, integrator: str) -> OneStep:
        """Return the integrator on arrays in Python, with rates from any source."""
        from .joints_by_kind import ByKind

        advance, kinds = FIXED[integrator], ByKind(self.equation.tree)

        def step(t: float, state: State, h: float) -> State:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*state, self.equation.numbers)))

            def rate(t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> tuple[list[Scalar], list[Scalar]]:
                asked = kinds.join_q(q, batch), kinds.join_v(v, batch), pack(list(z), batch)
                a, z_rate = self.equation.accelerations(t, *asked, ahead=h if integrator == IMPLICIT else None)
                return kinds.split_v(a), split(z_rate)

            with np.errstate(all="ignore"):
                begin = kinds.split_q(state[0]), kinds.split_v(state[1]), split(state[2])
                q, v, z = advance(kinds.tree, rate, t, *begin, h)
            return kinds.join_q(q, batch), kinds.join_v(v, batch), pack(z, batch)

        return step

    def _variational_step(self, memory: int = 1) -> OneStep:
        """Return the variational integrator on arrays in Python, with rounds until only rounding changes."""
        nv, nz = self.equation.tree.nv, self.equation.system.nz

        def law(
            t: Scalars, h: Scalars, q: Scalars, v: Scalars, z: Scalars, m: Scalars, zm: Scalars, p: Scalars,
            tau: Scalars,
        ) -> list[Scalar]:  # fmt: skip
            system = self.equation.with_numbers(p)
            guess = refine(Written(system.tree), acting(system, tau or None), t[0], q, m, z, v, zm, h[0])
            return [x for part in guess for x in part]

        program = self.equation.kept_program("variational step", law, h=1, m=nv, zm=nz)

        def step(t: float, state: State, h: float) -> State:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*state, self.equation.numbers)))

            def ask(t: Scalar, *rest: Any) -> Guess:
                q, m, z, u, zm = (pack(list(x), batch) for x in rest[:-1])
                given = {"t": np.array([t]), "h": np.array([h]), "q": q, "v": u, "z": z, "m": m, "zm": zm}
                asked = {}
                if self.equation.function is not None:
                    asked = self.equation.asked(t + 0.5 * h, self.equation.robot.integrate(q, 0.5 * h * u), u)
                g = program({**given, "p": self.equation.numbers, **asked}, self.equation.threads)
                parts = (g[..., :nv], g[..., nv : nv + nz], g[..., nv + nz : 2 * nv + nz], g[..., 2 * nv + nz :])
                return Guess(*(split(x) for x in parts))

            with np.errstate(all="ignore"):
                dynamics = Written(self.equation.with_numbers(split(self.equation.numbers)).tree)
                q, v, z = (split(x) for x in state)
                q, v, z, change = variational.advance(dynamics, ask, t, q, v, z, h, PATIENCE, _enough(dynamics), memory)
            return _solved((pack(q, batch), pack(v, batch), pack(z, batch)), np.broadcast_to(change, batch))

        return step

    def _variational_step_of_large(self) -> OneStep:
        """Return the same for a large tree.

        Its own motion is computed in loops of machine code, all joints of a kind at once.
        """
        from .joints_by_kind import ByKind
        from .large_trees import LargeTreeDynamics

        kinds, equation = ByKind(self.equation.tree), self.equation
        dynamics = equation.once(
            "large tree", lambda: LargeTreeDynamics(kinds, equation.tree, equation.threads, equation.robot.cpu)
        )

        def step(t: float, state: State, h: float) -> State:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*state, self.equation.numbers)))

            def acts(t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Pushed:
                asked = kinds.join_q(q, batch), kinds.join_v(v, batch), pack([x[..., 0] for x in z], batch)
                tau, loads, z_rate = self.equation.forces(self.equation.named(t, *asked))
                return Pushed(kinds.split_v(tau), loads, _columns(z_rate))

            def ask(*question: Any) -> Guess:
                return refine(dynamics, acts, *question)

            with np.errstate(all="ignore"):
                begin = kinds.split_q(state[0]), kinds.split_v(state[1]), _columns(state[2])
                # far from the solution a long chain amplifies errors, so begin as close as is cheap
                first = kinds.split_v(state[1] + 0.5 * h * self.equation.accelerations(t, *state)[0])
                q, v, z, change = variational.advance(
                    dynamics, ask, t, *begin, h, PATIENCE, _enough(dynamics), MEMORY, first
                )
            new = kinds.join_q(q, batch), kinds.join_v(v, batch), pack([x[..., 0] for x in z], batch)
            # many joints have a larger rounding error than a few
            return _solved(new, np.broadcast_to((change / (1.0 + dynamics.total([abs(x) for x in v])))[..., 0], batch))

        return step


def _columns(z: np.ndarray) -> list[Scalar]:
    """Return further states as scalars compatible with those of joints by kind, which have an axis for the joints."""
    return [z[..., k : k + 1] for k in range(z.shape[-1])]


def _enough(dynamics: StepDynamics) -> Callable[[Scalar, Scalars], bool]:
    """Return a function that decides whether only rounding changes.

    The change is tiny, or it is small and has stopped shrinking from round to round.
    """
    before: Any = np.inf

    def enough(change: Scalar, u: Scalars) -> bool:
        nonlocal before
        part = np.asarray(change / (1.0 + dynamics.total([abs(x) for x in u])))
        done = (part <= 1e-15) | ((part <= SETTLED) & (part >= 0.5 * before)) | np.isnan(part)
        before = part
        return bool(np.all(done))

    return enough
