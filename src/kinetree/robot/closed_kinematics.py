"""The kinematics of closed loops: closing them, independent coordinates, mobility, velocities that fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import constraints
from ..errors import ClosureError, OptionError, ShapeError, StateError
from ..loops import closing, coordinates, dynamics, rank
from ..loops.checks import Checks
from ..loops.coordinates import Coordinates
from ..loops.mobility import Mobility, singular_directions
from ..model.spanning import respan
from ..model.tree import Model
from ..spatial.arrays import as_array, batch_shape
from .robot import Array, Robot

if TYPE_CHECKING:
    from ..parameters.find_base import Assembled

TOLERANCE = 1e-6
"""How far a state may be from closed (meters, radians, and their rates relative to 1 + |v|) before it is refused."""

CLOSED = 1e-10
"""Gaps below this are closed, for :meth:`ClosedKinematics.close`."""

ASSEMBLIES = 8
"""If none of so many closed configurations is ordinary, coordinates are chosen at the first."""

FEW_STEPS = 40
"""Steps for the neutral configuration to close in, before others are tried."""

ORDINARY = 1e-3
"""Coordinates are chosen where the least singular value of K that counts is at least this part of the largest."""


class ClosedKinematics(Robot):
    """What a :class:`kinetree.Mechanism` knows of its loops without forces: its base class, never made alone."""

    closes_loops = True

    def __init__(
        self,
        model: Model,
        *,
        backend: str | None = None,
        precision: str = "double",
        independent: Sequence[str] | None = None,
        near: ArrayLike | None = None,
        cpu: str | None = None,
    ) -> None:
        super().__init__(model, backend=backend, precision=precision, cpu=cpu)
        self._wanted = None if independent is None else tuple(self.entry_index(n) for n in independent)
        self._near = None if near is None else as_array(near, (model.nq,), "near")
        if self._near is not None and self._near.ndim != 1:
            raise ShapeError(f"near must be one configuration, shape ({model.nq},), not {self._near.shape}")

    # ---------------------------------------------------------------- what it is

    @property
    def loop_names(self) -> list[str]:
        """The joints that close loops."""
        return [loop.name for loop in self.model.loops]

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """One name per constraint: the loop joint and the direction it holds."""
        return self.model.constraint_names

    @property
    def constraint_units(self) -> tuple[str, ...]:
        """Unit of each constraint's gap: ``"m"`` where a force keeps it, ``"rad"`` where a moment does."""
        return self.model.constraint_units

    @property
    def n_constraints(self) -> int:
        """Number of loop constraints, redundant ones included."""
        return self.model.n_constraints

    @cached_property
    def tree(self) -> Robot:
        """The spanning tree: the same robot with all loops open; where a cut joint sat, there is a frame."""
        opened = replace(self.model, loops=())
        names = [loop.name for loop in self.model.loops if loop.name not in opened.frame_table]
        frames = (*opened.frames, *(self.model.frame(name) for name in names))
        return Robot(replace(opened, frames=frames), backend=self.backend, precision=self.precision, cpu=self.cpu)

    @cached_property
    def _exact(self) -> Self:
        """The same in double precision: closing loops and telling ranks takes more digits than float32 has."""
        return self if self.precision == "double" else self._again(self.model, precision="double")

    @cached_property
    def driven(self) -> Array:
        """Which entries of ``tau`` have an actuator."""
        return np.array([j.actuated for j in self.model.joints if not j.mimic for _ in range(j.nv)], dtype=bool)

    @cached_property
    def _motors(self) -> tuple[int, ...]:
        """The entries of ``tau`` that have one; if they are the independent ones, fixed operations give them."""
        return tuple(int(j) for j in np.flatnonzero(self.driven))

    def with_independent(self, names: Sequence[str]) -> Self:
        """Return the same mechanism with other independent freedoms."""
        return self._again(self.model, independent=names)

    def with_cuts(self, cuts: Sequence[str] | None = None, rule: str = "minimum_dof") -> Robot:
        """Return the same mechanism with its loops cut at other joints.

        Parameters
        ----------
        cuts : sequence of str, optional
            Joints to cut; chosen by ``rule`` when left out.
        rule : {"minimum_dof", "shortest"}
            Fewest freedoms between the base and every body (000), or branches as short as can be (004).
        """
        return self._with(respan(self.model, cuts, rule))

    def _rebuilt(self, model: Model, backend: str, precision: str, cpu: str) -> Robot:
        return self._again(model, backend=backend, precision=precision, cpu=cpu)

    def _again(self, model: Model, **others: Any) -> Self:
        """Make another mechanism like this one; what was chosen stays, as far as the model still has it."""
        own: dict[str, Any] = {"backend": self.backend, "precision": self.precision, "cpu": self.cpu}
        if self._wanted is not None and {self.v_names[j] for j in self._wanted} <= set(model.v_names):
            own["independent"] = [self.v_names[j] for j in self._wanted]
        if self._near is not None and model.q_names == self.model.q_names:
            own["near"] = self._near
        return type(self)(model, **(own | others))

    # ---------------------------------------------------------------- closing the loops

    def loop_gaps(self, q: ArrayLike) -> Array:
        """Return how far each constraint is from being met: metres or radians, (..., constraints)."""
        return self._exact.evaluator.run("loop_gaps", q=q)

    def loop_jacobian(self, q: ArrayLike) -> Array:
        """Return the matrix K of ``K v = 0``, (..., constraints, nv)."""
        entries = self._exact.evaluator.run("loop_jacobian_entries", q=q)
        k = np.zeros((*entries.shape[:-1], self.n_constraints * self.nv), dtype=entries.dtype)
        k[..., self._places] = entries
        return k.reshape(*entries.shape[:-1], self.n_constraints, self.nv)

    @cached_property
    def _places(self) -> Array:
        """Where in K its entries that are not always zero sit."""
        return np.array([i * self.nv + j for i, j in constraints.pattern(self.model)], dtype=int)

    def loop_drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return ``dK/dt v``, so that accelerations obey ``K a + drift = 0``."""
        return self._exact.evaluator.run("loop_drift", q=q, v=v)

    def closure_error(self, q: ArrayLike) -> Array:
        """Return the largest gap of each state."""
        return np.abs(self.loop_gaps(q)).max(axis=-1, initial=0.0)

    def close(
        self,
        q_guess: ArrayLike,
        fixed: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        tolerance: float = CLOSED,
        must_close: bool = True,
    ) -> Array:
        """Return the closed configuration nearest to a guess, on the branch the guess belongs to.

        Parameters
        ----------
        q_guess : array_like, shape (..., nq)
        fixed : sequence of joint names, or mapping from joint name to position
            Joints that keep their place (or the given one); all others may move. Positions may have a batch's
            shape, for joints with one coordinate with or without a last axis of length one.
        tolerance : float
            Largest gap allowed.
        must_close : bool
            Raise :class:`ClosureError` where a loop cannot be closed (default), or return NaN there.

        Examples
        --------
        ``q = four_bar.close(guess, fixed={"crank_joint": 0.3})``
        """
        if not tolerance > 0.0:
            raise OptionError(f"tolerance must be positive, not {tolerance!r}: rounding leaves gaps of some 1e-16")
        q, free = self._held(np.array(self.evaluator.states.configuration(q_guess, "q_guess"), dtype=float), fixed)
        batch = q.shape[:-1]
        guesses = q.reshape(-1, self.nq)
        result = closing.close(guesses, free, self.loop_gaps, self.loop_jacobian, self.moved, tolerance)
        bad = ~result.done & np.isfinite(guesses).all(axis=-1)
        if must_close and bad.any():
            raise ClosureError(self._checks.still_open(result.gaps, bad, batch, list(fixed or ())))
        closed = np.where(result.done[:, None], result.q, np.nan)
        return closed.reshape(*batch, self.nq)

    def _held(self, q: Array, fixed: Sequence[str] | Mapping[str, Any] | None) -> tuple[Array, Array]:
        """Put joints where they are to stay, and say which freedoms are left."""
        if isinstance(fixed, str):
            raise OptionError(f"fixed is a list of names of joints; for a single one write [{fixed!r}]")
        free = np.ones(self.nv, dtype=bool)
        values = {}
        for name in fixed or ():
            joint = self.model.joint(name)
            if joint.mimic:
                raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r} and cannot be held itself: hold that")
            free[joint.v_slice] = False
            if isinstance(fixed, Mapping):
                value = as_array(fixed[name], (), f"the position of {name!r}")
                value = value[..., None] if joint.nq == 1 and value.shape[-1:] != (1,) else value
                values[name] = as_array(value, (joint.nq,), f"the position of {name!r}")
        batch = batch_shape(q_guess=(q, 1), **{f"the position of {name!r}": (x, 1) for name, x in values.items()})
        q = np.broadcast_to(q, (*batch, self.nq)).copy()
        for name, value in values.items():
            q[..., self.model.joint(name).q_slice] = value
        return q, free

    def moved(self, q: Array, v: Array) -> Array:
        """Move configurations along velocities for unit time, whether the loops allow these or not."""
        return self.normalize(self._exact.integrate(q, v))

    def project(self, q: ArrayLike, v: ArrayLike | None = None, fixed: Sequence[str] | None = None) -> Any:
        """Return the nearest closed configuration; with ``v``, also the nearest velocity the loops allow (in energy).

        Returns
        -------
        q, or (q, v)
        """
        closed = self.close(q, fixed)
        return closed if v is None else (closed, self.nearest_velocity(closed, v))

    def nearest_velocity(self, q: Array, v: ArrayLike, least: float = rank.RELATIVE_TOLERANCE) -> Array:
        """Return the nearest velocity, in energy, that loops allow.

        By constraints weaker than ``least`` it is not changed.
        """
        v, k, m = as_array(v, (self.nv,), "v"), self.loop_jacobian(q), self._tree_mass_matrix(q)
        return dynamics.nearest_velocity(m, k, v, self.coordinates_at(q).rank, self._size, least)

    def _tree_mass_matrix(self, q: ArrayLike) -> Array:
        return self._exact.evaluator.run("mass_matrix", q=q)

    @cached_property
    def _checks(self) -> Checks:
        return Checks(self.model, self.loop_gaps, self.precision == "single")

    # ---------------------------------------------------------------- mobility

    @cached_property
    def coordinates(self) -> Coordinates:
        """Rank, independent constraints and independent freedoms: chosen once, from the model.

        They are chosen beside ``near`` if that was given, else at the first closed configuration, searched from the
        neutral and from random ones, that is far from singular; so they do not depend on what is asked later.
        Where they are a poor choice, at a singular configuration, dynamics is computed by a method that finds the
        rank there; :meth:`basis`, :meth:`velocities` and whatever else is in independent
        coordinates raises :class:`~kinetree.errors.SingularError`.
        """
        if self._choice is None:
            raise ClosureError(
                f"the independent freedoms of {self.name!r} are chosen at a closed configuration, and none was found "
                "from random guesses: name one beside it, kinetree.Mechanism(robot.model, near=q)"
            )
        return self._choice

    @cached_property
    def _choice(self) -> Coordinates | None:
        """Coordinates chosen from the model; None where no closed configuration is found."""
        if self._near is not None:
            return self._chosen(self._samples(self.close(self._near)))
        first: Array | None = None
        count = 0
        for closed in self._closed_guesses(np.random.default_rng(0), 200):
            for q in closed:
                samples = self._samples(q)
                if self._is_ordinary(samples):
                    return self._chosen(samples)
                first, count = (samples if first is None else first), count + 1
            if count >= ASSEMBLIES:
                break
        return None if first is None else self._chosen(first)

    def _is_ordinary(self, samples: Array) -> bool:
        """Return whether the first of some neighbours is far from singular.

        Those in line are, and may be rigid beside it.
        """
        singular_values = rank.decompose(samples[0])[1]
        general = int(rank.numerical_rank(samples, self._size).max(initial=0))
        return general == 0 or bool(singular_values[general - 1] > ORDINARY * singular_values[0])

    def coordinates_at(self, q: Array) -> Coordinates:
        """Return :attr:`coordinates`; where no closed configuration is known to choose them at, some found at ``q``.

        For computations whose results mean the same whatever the choice.
        """
        if self._choice is not None:
            return self._choice
        finite = q.reshape(-1, self.nq)
        finite = finite[np.isfinite(finite).all(axis=-1)]
        if not len(finite):  # NaN for all, but as many as there would be
            finite = self.neutral()[None]
        # constraints that depend on one another where the loops are closed need not do so beside it
        first = self.close(finite[0], must_close=False)
        return self._chosen(self.loop_jacobian(finite[:1]) if np.isnan(first).any() else self._samples(first))

    def _chosen(self, samples: Array) -> Coordinates:
        return coordinates.choose(samples, self.driven, self._wanted, self.v_names, self._size)

    def _samples(self, q: Array) -> Array:
        """Return K at a closed configuration, and at those beside it."""
        return self.loop_jacobian(np.concatenate([q[None], self._neighbours(q)]))

    @cached_property
    def _size(self) -> float:
        return constraints.usual_size(self.model)

    def _neighbours(self, q: Array) -> Array:
        """Return closed configurations a little way off: a singular one must not decide the rank."""
        generator = np.random.default_rng(0)
        k = self.loop_jacobian(q[None])[0]
        basis = rank.null_space(k, int(rank.numerical_rank(k, self._size)))
        sizes = np.array([0.02, 0.05, 0.1, 0.2, 0.3])
        moves = sizes[:, None] * generator.standard_normal((len(sizes), basis.shape[1])) @ basis.T
        near = self.close(self.moved(q, moves), must_close=False)
        return np.asarray(near[np.isfinite(near).all(axis=-1)])

    def assembled(self, rng: np.random.Generator | int | None = 0, tries: int = 200) -> Array:
        """Return some closed configuration, searched from the neutral one and then from random ones."""
        for closed in self._closed_guesses(np.random.default_rng(rng), tries):
            if len(closed):
                return np.asarray(closed[0])
        raise ClosureError(
            f"no closed configuration of {self.name!r} was found from {tries} random guesses: give a guess to close()"
        )

    def _closed_guesses(self, generator: np.random.Generator, tries: int) -> Iterator[Array]:
        """Return closed configurations, some at a time, from the neutral one and then from random ones."""
        guesses = self.random_configuration(generator, tries)
        free = np.ones(self.nv, dtype=bool)
        for part in (self.neutral()[None], *np.array_split(guesses, max(1, tries // 20))):
            # a guess may creep for long to where it cannot be closed: the next one is not kept waiting
            steps = FEW_STEPS if len(part) == 1 else closing.MOST_STEPS
            result = closing.close(
                part, free, self.loop_gaps, self.loop_jacobian, self.moved, CLOSED, any_will_do=True, most_steps=steps
            )
            yield result.q[result.done]

    def _assembly(self, model: Model, near: ArrayLike | None) -> Assembled:
        """Return how the mechanism is put together: as near a given configuration, or as parallelograms if it can."""
        from ..parameters.closed_motions import assembled

        meant = self._again(model, precision="double")
        if near is None:
            near = self._near
        if near is not None:
            candidates = meant.close(as_array(near, (self.nq,), "near"))[None]
        else:
            found = [q for part in meant._closed_guesses(np.random.default_rng(0), 60) for q in part]
            candidates = np.array(found[:20]) if found else meant.assembled()[None]
        return assembled(meant, candidates, meant.coordinates.rank)

    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Return degrees of freedom by rank, redundant constraints by name, and whether ``q`` is singular.

        Parameters
        ----------
        q : array_like, shape (nq,), optional
            A closed configuration; one is searched for when left out.
        """
        state = self.assembled() if q is None else self.check_closed(q)
        if state.ndim != 1:
            raise OptionError("mobility looks at one configuration at a time: give q of shape (nq,)")
        if not np.isfinite(state).all():
            raise StateError("the configuration holds NaN or infinity: nothing can be said about it")
        known = self.coordinates_at(state)
        here, opening, still = singular_directions(self.loop_jacobian(state[None])[0], known.rank, self._size)
        names = self.v_names
        redundant = tuple(n for i, n in enumerate(self.constraint_names) if i not in known.rows)
        return Mobility(
            self.nv - known.rank, self.nv - self.n_constraints, self.n_constraints, known.rank, redundant,
            tuple(names[j] for j in known.independent), here < known.rank, opening, tuple(names[j] for j in still),
        )  # fmt: skip

    def check_closed(self, q: ArrayLike, tolerance: float = TOLERANCE) -> Array:
        """Return ``q`` as an array; refuse configurations whose loops are open by more than ``tolerance``."""
        array = self.evaluator.states.configuration(q)
        self._checks.closed(array, self.closure_error(array), self._checks.granted(tolerance))
        return array

    def independent(self, q: ArrayLike | None = None) -> list[str]:
        """Return names of the freedoms that the others follow from: the same at every configuration.

        Parameters
        ----------
        q : array_like, shape (..., nq), optional
            Refused where it is not closed; the answer does not depend on it.
        """
        if q is not None:
            self.check_closed(q)
        return [self.v_names[j] for j in self.coordinates.independent]

    def basis(self, q: ArrayLike) -> Array:
        """Return the matrix G of ``v = G v_independent``, (..., nv, freedoms) (004 eq. 10.36)."""
        return self._basis(self.loop_jacobian(self.check_closed(q)))

    def _basis(self, k: Array) -> Array:
        return coordinates.basis(k, self.coordinates, self.v_names, self._size)

    def velocities(self, q: ArrayLike, v_independent: ArrayLike) -> Array:
        """Return all velocities from the independent ones (in the order of :meth:`independent`)."""
        state = self.check_closed(q)
        known = self.coordinates
        given = as_array(v_independent, (len(known.independent),), "v_independent", "one per independent freedom")
        return np.asarray((self._basis(self.loop_jacobian(state)) @ given[..., None])[..., 0])

    def accelerations(self, q: ArrayLike, v: ArrayLike, a_independent: ArrayLike) -> Array:
        """Return all accelerations from the independent ones, at a closed state."""
        state = self.check_closed(q)
        known = self.coordinates
        given = as_array(a_independent, (len(known.independent),), "a_independent", "one per independent freedom")
        k, bias = self.loop_jacobian(state), self.loop_drift(state, v)
        moved = (self._basis(k) @ given[..., None])[..., 0]
        batch = np.broadcast_shapes(moved.shape[:-1], bias.shape[:-1])
        a = np.array(np.broadcast_to(moved, (*batch, self.nv)))
        if known.dependent:
            rest = coordinates.follow(k, -bias[..., None], known, self.v_names, self._size)
            a[..., list(known.dependent)] += rest[..., 0]
        return a
