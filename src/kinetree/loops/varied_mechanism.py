"""Mechanisms whose dimensions vary: thousands of designs move at once, each with its loops closed.

The places of joints determine how loops close, so every design moves differently under the same drives.  Two laws are
traced with the dimensions as inputs: a Newton step along the constraints that count, and the motion with its forces and
measures (:mod:`kinetree.algorithms.driven_motion`), with derivatives with respect to the same dimensions.

Starting from the drawing, dimensions change gradually to those of each design at the beginning of the motion, so that
each stays on its branch; designs are then moved from sample to sample.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms import constrained_dynamics, kinematics, loop_constraints
from ..algorithms.driven_motion import DriveChoice, DrivenState, Measure, settled
from ..algorithms.newton_closing_step import ClosingTask
from ..errors import UnsupportedError
from ..evaluation.law_kernels import Law, LawProgram, Runnable, SlopeProgram, can_compile
from ..evaluation.parameters import Place, own_numbers, put_in
from ..model.tree import Model
from ..spatial import Scalar, Vec3, sqrt
from ..spatial.arrays import Array
from . import blocks
from .closing_in_machine_code import NewtonClosing
from .coordinates import Coordinates
from .following import Followed, PathProblem
from .limits import PositionLimits
from .moved_designs import MovedDesigns
from .tolerances import CLOSED

Scalars = list[Scalar]

LITTLE_BY_LITTLE = 8
"""Number of points over which dimensions change from the drawn ones to those of the designs, and drives to the first
sample."""

OPEN = 1e-6
"""Loops that are open by more than this fraction of the mechanism's size have no derivatives."""

DEAD_CENTER = 1e-10
"""A design is at a dead center if its independent freedoms determine the others worse than this squared sine."""


class VariedMechanism:
    """The two laws of a mechanism in which these parameters vary.

    Parameters
    ----------
    mechanism : Runnable
        Provides the model, and runs laws built on it.
    known : Coordinates
        Which constraints count, and which freedoms are independent.
    places : tuple of Place
        The numbers that vary.
    cpu : str
        The processor to make machine code for.
    """

    def __init__(self, mechanism: Runnable, known: Coordinates, places: tuple[Place, ...], cpu: str) -> None:
        if mechanism.model.velocity_constraints:
            raise UnsupportedError(
                f"{mechanism.model.name!r} rolls, so its configuration does not follow from its drives"
            )
        self.mechanism, self.model, self.places, self.cpu = mechanism, mechanism.model, places, cpu
        self.rows, self.independent, self.dependent = known.rows, known.independent, known.dependent
        self.size = loop_constraints.usual_size(self.model)
        self.entries = self._entries()
        self.choice = DriveChoice(self.rows, self.dependent, tuple(self.entries), self.size)
        self._made: dict[tuple[Any, ...], Any] = {}

    def _entries(self) -> list[int]:
        """Return the indices of the independent freedoms in q."""
        found = []
        for freedom in self.independent:
            joint = next(j for j in self.model.joints if not j.mimic and freedom in range(*j.v_slice.indices(10**9)))
            if joint.nq != joint.nv:
                raise UnsupportedError(
                    f"joint {joint.name!r} drives {self.model.name!r} and has a quaternion, whose motion is not a list "
                    "of numbers: choose other independent freedoms with with_independent([...]), or, if this one is an "
                    "idle spin, use a universal joint, which removes it"
                )
            found.append(joint.q_slice.start + freedom - joint.v_slice.start)
        return found

    def _tree(self, numbers: Scalars) -> Model:
        return put_in(self.model, self.places, numbers)

    @cached_property
    def _closing(self) -> NewtonClosing:
        """The kernel that closes the loops with the independent freedoms held."""
        weights, reach = (1.0,) * self.model.n_constraints, (1.0,) * len(self.dependent)
        found = blocks.find(blocks.pattern(self.model, (), self.dependent), self.rows)
        task = ClosingTask(found, self.dependent, weights, reach, self.size)
        return NewtonClosing(self.model, task, self.cpu, self.places, self._compiled)

    @cached_property
    def _moving(self) -> LawProgram:
        """Velocities, accelerations, forces, gaps and quality from the independent rates."""

        def law(q: Scalars, rate: Scalars, second: Scalars, numbers: Scalars) -> Scalars:
            state = DrivenState(self._tree(numbers), self.choice, q, rate, second)
            return [*state.v, *state.a, *state.tau, sqrt(state.left.gap), state.quality]

        n = len(self.independent)
        lengths = {"q": self.model.nq, "rate": n, "second": n, "numbers": self.count}
        return LawProgram(self.name, law, lengths, self._compiled, cpu=self.cpu)

    # ---------------------------------------------------------------- measures and their derivatives

    @property
    def name(self) -> str:
        """The name of the mechanism, for messages."""
        return f"a varied mechanism, {self.model.name!r}"

    @property
    def count(self) -> int:
        """How many numbers vary."""
        return sum(place.size for place in self.places)

    @property
    def number_names(self) -> tuple[str, ...]:
        """Names of the numbers that vary."""
        places = self.places
        return tuple(p.path if p.alone else f"{p.path}[{k}]" for p in places for k in range(p.size))

    @property
    def _compiled(self) -> bool:
        return can_compile(self.mechanism)

    def _measuring(self, laws: tuple[Measure, ...], settles: bool) -> tuple[Law, dict[str, int]]:
        """Return measures as a law, and the lengths of its vectors."""

        def law(q: Scalars, position: Scalars, rate: Scalars, second: Scalars, numbers: Scalars) -> Scalars:
            tree = self._tree(numbers)
            there = settled(tree, self.choice, q, position) if settles else q
            state = DrivenState(tree, self.choice, there, rate, second)
            return [x for measure in laws for x in measure(state)]

        n = len(self.independent)
        return law, {"q": self.model.nq, "position": n, "rate": n, "second": n, "numbers": self.count}

    def values(self, laws: tuple[Measure, ...]) -> LawProgram:
        """Return the program that computes measures."""
        if laws not in self._made:
            law, lengths = self._measuring(laws, False)
            self._made[laws] = LawProgram(self.name, law, lengths, self._compiled, cpu=self.cpu)
        program: LawProgram = self._made[laws]
        return program

    def slopes(self, laws: tuple[Measure, ...], by: tuple[str, ...]) -> SlopeProgram:
        """Return the program for derivatives of measures with respect to drives, their rates, or varying numbers."""
        if (laws, by) not in self._made:
            law, lengths = self._measuring(laws, True)
            self._made[laws, by] = SlopeProgram(self.name, law, lengths, by, self._compiled, self.cpu)
        program: SlopeProgram = self._made[laws, by]
        return program

    def closed_slopes(self, order: int) -> SlopeProgram:
        """Return derivatives of closed configurations with respect to drives and then varying numbers."""

        def law(q: Scalars, position: Scalars, numbers: Scalars) -> Scalars:
            tree = self._tree(numbers)
            for _ in range(order):  # each Newton step doubles the order of correct derivatives
                q = settled(tree, self.choice, q, position)
            return list(q)

        if (order,) not in self._made:
            lengths = {"q": self.model.nq, "position": len(self.entries), "numbers": self.count}
            by = "position", "numbers"
            self._made[(order,)] = SlopeProgram(self.name, law, lengths, by, self._compiled, self.cpu, order)
        program: SlopeProgram = self._made[(order,)]
        return program

    @cached_property
    def _openness(self) -> LawProgram:
        """How far loops are open, and how well the drives determine the other freedoms."""

        def law(q: Scalars, numbers: Scalars) -> Scalars:
            tree = self._tree(numbers)
            k, gaps = loop_constraints.constraint_matrix(tree, q), loop_constraints.gaps(tree, q)
            still = [0.0] * len(self.entries)
            quality = constrained_dynamics.allowed(k, still, gaps, self.rows, self.dependent, self.size)[1]
            return [sqrt(constrained_dynamics.inner(gaps, gaps)), quality]

        return LawProgram(self.name, law, {"q": self.model.nq, "numbers": self.count}, self._compiled, cpu=self.cpu)

    def closed_derivatives(self, q: Array, numbers: Array, order: int, threads: int) -> tuple[Array, ...]:
        """Return derivatives of closed configurations up to an order; NaN at dead centers and where loops are open."""
        batch = np.broadcast_shapes(q.shape[:-1], numbers.shape[:-1])
        q, numbers = (np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, numbers))
        gap, quality = np.moveaxis(self._openness({"q": q, "numbers": numbers}, threads), -1, 0)
        usable = (gap <= OPEN * self.size) & (quality > DEAD_CENTER)
        vectors = {"q": q, "position": q[..., self.entries], "numbers": numbers}
        found = [self.closed_slopes(k).jacobian(vectors, threads) for k in range(1, order + 1)]
        return tuple(np.where(usable.reshape(*batch, *(1,) * (k + 1)), x, np.nan) for k, x in enumerate(found, 1))

    # ---------------------------------------------------------------- running

    def run(self, given: Array, numbers: Array, start: Array, threads: int) -> MovedDesigns:
        """Move all designs (..., p) from a start along samples of the independent freedoms, (..., T, 3, n).

        The start is one configuration of the mechanism as drawn, (nq,), or one of each design, (..., nq).
        """
        batch = np.broadcast_shapes(numbers.shape[:-1], given.shape[:-3], start.shape[:-1])
        samples, n, nv, nq = given.shape[-3], given.shape[-1], self.model.nv, self.model.nq
        numbers = np.broadcast_to(numbers, (*batch, numbers.shape[-1])).reshape(-1, numbers.shape[-1])
        given = np.broadcast_to(given, (*batch, *given.shape[-3:])).reshape(-1, samples, 3, n)
        own = start.ndim > 1
        start = np.broadcast_to(start, (*batch, nq)).reshape(-1, nq)
        went = self._followed(start, given[:, :, 0], numbers, own, threads)
        q = went.q[:, LITTLE_BY_LITTLE:].reshape(-1, nq)
        position, rate, second = (given[:, :, i].reshape(-1, n) for i in range(3))
        each = np.broadcast_to(numbers[:, None], (len(numbers), samples, numbers.shape[-1]))
        every = {"rate": rate, "second": second, "numbers": each.reshape(-1, numbers.shape[-1])}
        found = self._moving({"q": q, **every}, threads)
        usable = (found[:, -2] <= CLOSED * self.size) & (found[:, -1] > DEAD_CENTER)
        usable = np.logical_and.accumulate(usable.reshape(-1, samples), axis=-1)  # there is no way back
        led = np.where(went.missed < 0, samples, went.missed - LITTLE_BY_LITTLE)
        ends = np.where(led > 0, usable.sum(axis=-1), -1).reshape(batch)
        usable = usable.reshape(-1, 1)
        parts = (q, *(found[:, k * nv : (k + 1) * nv] for k in range(3)))
        every["position"] = position
        of_samples = {name: x.reshape(*batch, samples, x.shape[-1]) for name, x in every.items()}
        if not usable.all():
            parts = tuple(np.where(usable, x, np.nan) for x in parts)
        q, v, a, tau = (np.ascontiguousarray(x).reshape(*batch, samples, x.shape[-1]) for x in parts)
        return MovedDesigns(q, v, a, tau, ends, self, of_samples)

    def led(
        self, frame: str, aim: NewtonClosing, path: Array, numbers: Array, start: Array, begin: Array, threads: int
    ) -> Array:
        """Return configurations (L, T, nq) of designs (L, p) with a frame led along positions (T, 3); NaN beyond reach.

        Parameters
        ----------
        frame : str
        aim : NewtonClosing
            What closes loops with the frame at a position, every freedom free.
        path : ndarray, shape (T, 3)
        numbers : ndarray, shape (L, p)
        start : ndarray, shape (nq,)
            A configuration of the mechanism as it is drawn, with the frame at ``begin``, (3,).
        begin : ndarray, shape (3,)
        threads : int
        """
        shape = len(numbers), *path.shape
        start, begin = (np.broadcast_to(x, (len(numbers), len(x))).copy() for x in (start, begin))
        led = aim, begin, self._place_of(frame)
        went = self._followed(start, np.broadcast_to(path, shape), numbers, False, threads, led)
        return went.q[:, LITTLE_BY_LITTLE:]

    def _place_of(self, frame: str) -> LawProgram:
        """Return the law of a frame's position."""

        def law(q: Scalars, numbers: Scalars) -> Scalars:
            tree = self._tree(numbers)
            return list(kinematics.of_frame(tree, frame, kinematics.poses(tree, q))[2].point(Vec3(0.0, 0.0, 0.0)))

        if (frame,) not in self._made:
            lengths = {"q": self.model.nq, "numbers": self.count}
            self._made[(frame,)] = LawProgram(self.name, law, lengths, self._compiled, cpu=self.cpu)
        program: LawProgram = self._made[(frame,)]
        return program

    def _followed(
        self, start: Array, path: Array, numbers: Array, own: bool, threads: int,
        led: tuple[NewtonClosing, Array, LawProgram] | None = None,
    ) -> Followed:  # fmt: skip
        """Move designs (L, p) to the start of paths (L, T, n) of the independent freedoms or a frame, and along them.

        They start from configurations (L, nq) of the drawn mechanism, or from their own.  Goals are the positions of
        these freedoms, then the numbers of a design.
        """
        n, count = path.shape[-1], LITTLE_BY_LITTLE + path.shape[1]
        kernel, order = (self._closing, self._order) if led is None else (led[0], list(range(n)))
        drawn = np.concatenate([own_numbers(self.model, place) for place in self.places])
        first = self._turned(start, path[:, 0]) if led is None else start
        begin, shares = first[:, self.entries], np.linspace(0.0, 1.0, LITTLE_BY_LITTLE + 1)[:-1]
        begin = begin if led is None else led[1]

        def goals(paths: Array, points: Array, width: int) -> Array:
            if len(paths) == 1 and LITTLE_BY_LITTLE <= points[0] <= count - width:
                rows = path[paths[0], points[0] - LITTLE_BY_LITTLE :][None, :width]
                each = np.broadcast_to(numbers[paths[0]], (1, width, numbers.shape[-1]))
                return np.concatenate([rows, each], axis=-1) if numbers.shape[-1] else rows
            wanted = points[:, None] + np.arange(width)
            every = np.minimum(wanted, count - 1)
            found = np.empty((*every.shape, n + numbers.shape[-1]))
            found[..., :n] = path[paths[:, None], np.maximum(every - LITTLE_BY_LITTLE, 0)]
            early = np.nonzero(every < LITTLE_BY_LITTLE)
            here = begin[paths[early[0]]]
            found[..., :n][early] = here + shares[every[early]][:, None] * (found[..., :n][early] - here)
            found[..., n:] = numbers[paths][:, None]
            if not own:
                found[..., n:][early] = drawn + shares[every[early]][:, None] * (numbers[paths[early[0]]] - drawn)
            found[wanted >= count] = np.nan
            return found

        def close(guesses: Array, wanted: Array) -> tuple[Array, Array]:
            if led is not None:
                return kernel(guesses, np.roll(wanted, -n, axis=-1), CLOSED * self.size, threads)
            return kernel(self._placed(guesses, wanted[:, :n]), wanted[:, n:], CLOSED * self.size, threads)

        def rates(q: Array, way: Array, wanted: Array) -> Array:
            """Return the way of the drives, or of a frame, which also moves as the design changes and joints do not."""
            return way if led is None else wanted[:, :n] - led[2]({"q": q, "numbers": wanted[:, n:]}, threads)

        problem = PathProblem(
            goals, close, lambda a, b: (b - a)[:, :n][:, order], lambda a, b, share: a + share[:, None] * (b - a),
            lambda q, way, wanted: kernel.predicted(q, rates(q, way, wanted), wanted[:, n:]),
            lambda q, there, way, wanted: kernel.follows(q, there, rates(q, way, wanted), wanted[:, n:]),
        )  # fmt: skip
        first[~np.isfinite(numbers).all(axis=-1)] = np.nan
        return problem.follow(count, first, True)

    def _turned(self, q: Array, position: Array) -> Array:
        """Return configurations whose hinges among the independent freedoms are within half a turn of positions."""
        q = q.copy()
        hinges = {joint.q_slice.start for joint in PositionLimits(self.model).idle_turns}
        for k, i in enumerate(self.entries):
            if i in hinges:
                q[:, i] += 2.0 * np.pi * np.round((position[:, k] - q[:, i]) / (2.0 * np.pi))
        return q

    @cached_property
    def _order(self) -> list[int]:
        """The order of the independent freedoms, by their indices in v."""
        return [int(i) for i in np.argsort(self.independent)]

    def _placed(self, q: Array, position: Array) -> Array:
        q = q.copy()
        q[:, self.entries] = position
        return q
