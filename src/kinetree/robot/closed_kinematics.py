"""The kinematics of closed loops: closing them, independent coordinates, mobility, velocities that fit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import constraints
from ..errors import (
    ClosureError,
    OptionError,
    RoundingWarning,
    ShapeError,
    SingularityWarning,
    StateError,
    callers_level,
)
from ..loops import closing, clusters, coordinates, dynamics, rank
from ..loops.assembly import WIDEST, AssemblySearch, contradicting, is_closed
from ..loops.checks import Checks, opening_rate
from ..loops.coordinates import ByName, Coordinates
from ..loops.limits import PositionLimits
from ..loops.mobility import Mobility, position_rank, singular_directions
from ..loops.neighbours import ORDINARY, Neighbours
from ..model import configurations
from ..model.spanning import respan
from ..model.tree import Model
from ..spatial.arrays import as_array
from .robot import Array, Robot

if TYPE_CHECKING:
    from ..parameters.find_base import Assembled

TOLERANCE = 1e-6
"""How far a state may be from closed (meters, radians, and their rates relative to 1 + |v|) before it is refused."""

CLOSED = 1e-10
"""Gaps below this are closed, for :meth:`ClosedKinematics.close`."""

ASSEMBLIES = 8
"""If none of so many closed configurations is ordinary, coordinates are chosen at the first."""

BESIDE = 30.0
"""Redundant constraints may be off by so many times what they are off beside the configuration they were found at."""

MOST_AT_ODDS, FEW_GUESSES = 12, 20
"""Loops that are left out one by one to find what contradicts, and random guesses for each."""


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
        rounding: float | None = None,
    ) -> None:
        super().__init__(model, backend=backend, precision=precision, cpu=cpu)
        if rounding is not None and not 0.0 <= rounding < 1.0:
            raise OptionError(f"rounding is a part of the strongest constraint, between 0 and 1, not {rounding!r}")
        self._rounding = rounding
        self._wanted = None if independent is None else tuple(self.entry_index(n) for n in independent)
        self._near = None if near is None else as_array(near, (model.nq,), "near")
        if self._near is not None and self._near.ndim != 1:
            raise ShapeError(f"near must be one configuration, shape ({model.nq},), not {self._near.shape}")

    @property
    def _settings(self) -> tuple[Any, ...]:
        return *super()._settings, self._wanted, self._near if self._near is None else tuple(self._near), self._rounding

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
        opened = self.model.opened()
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
    def _supplied(self) -> Array:
        """Which entries of ``tau`` inverse dynamics may fill: driven ones, and those of a base that nothing drives.

        As of trees, the force on such a base is what would have to move it as asked for; a loop that passes through
        its joint holds it, and then it counts like any other passive joint.
        """
        around = np.zeros(self.nv, dtype=bool)
        around[[j for _, j in constraints.pattern(self.model)]] = True
        root = np.zeros(self.nv, dtype=bool)
        for i in self.model.roots:
            joint = self.model.joints[i]
            if not joint.actuated and not joint.mimic:
                root[joint.v_slice] = not around[joint.v_slice].any()
        return np.asarray(self.driven | root)

    @cached_property
    def _suppliers(self) -> tuple[int, ...]:
        """The entries of :attr:`_supplied`; if they are the independent ones, fixed operations give them."""
        return tuple(int(j) for j in np.flatnonzero(self._supplied))

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
            Fewest freedoms between the base and every body (Shah), or branches as short as can be (Khalil).
        """
        return self._with(respan(self.model, cuts, rule))

    def _rebuilt(self, model: Model, backend: str, precision: str, cpu: str) -> Robot:
        return self._again(model, backend=backend, precision=precision, cpu=cpu)

    def _again(self, model: Model, **others: Any) -> Self:
        """Make another mechanism like this one; what was chosen stays, as far as the model still has it."""
        own: dict[str, Any] = {
            "backend": self.backend, "precision": self.precision, "cpu": self.cpu, "rounding": self._rounding,
        }  # fmt: skip
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
        q_guess: ArrayLike | Mapping[str, Any],
        fixed: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        tolerance: float | None = None,
        must_close: bool = True,
        limits: bool = True,
    ) -> Array:
        """Return the closed configuration nearest to a guess, on the branch the guess belongs to.

        Where that is beyond limits of the joints, hinges are turned by whole turns, or another one within the limits is
        searched from the guess.

        Where numbers in the file are rounded and redundant constraints contradict one another, what remains is least in
        the sense of least squares; a :class:`~kinetree.errors.RoundingWarning` says once how much.

        Parameters
        ----------
        q_guess : array_like, shape (..., nq), or mapping from joint name to position
            Where to begin; joints that a mapping leaves out begin at their zeros.
        fixed : sequence of joint names, or mapping from joint name to position
            Joints that keep their place (or the given one); all others may move. Positions may have a batch's
            shape, for joints with one coordinate with or without a last axis of length one.
        tolerance : float, optional
            Largest gap allowed. By default 1e-10, or what the file's rounded numbers leave.
        must_close : bool
            Raise :class:`ClosureError` where a loop cannot be closed (default), or return NaN there.
        limits : bool
            Whether the position limits of all joints hold (default), or are ignored.

        Examples
        --------
        ``q = four_bar.close(guess, fixed={"crank_joint": 0.3})``
        """
        if tolerance is not None and not tolerance > 0.0:
            raise OptionError(f"tolerance must be positive, not {tolerance!r}: rounding leaves gaps of some 1e-16")
        if isinstance(q_guess, Mapping):
            q_guess = configurations.by_joint(self.model, q_guess, self.neutral(), "q_guess")
        guess = self.evaluator.states.configuration(q_guess, "q_guess", of_places=True)
        q, free = self._held(np.array(guess, dtype=float), fixed)
        batch = q.shape[:-1]
        guesses = q.reshape(-1, self.nq)
        found, gaps, done = closed_from(self, guesses, free, tolerance)
        if limits:
            found, within = self._kept_within_limits(found, done, free, guesses, tolerance)
            if must_close and (done & ~within).any():
                held = f" with {', '.join(fixed)} held" if fixed else ""
                how = f"the loops of {self.name!r} are closed{{where}}{held} only beyond limits"
                raise ClosureError(self._position_limits.refusal(how, found, done & ~within, batch))
        bad = ~done & np.isfinite(guesses).all(axis=-1)
        if must_close and bad.any():
            raise ClosureError(self._checks.still_open(gaps, bad, batch, list(fixed or ())))
        kept = done & within if limits else done
        return np.where(kept[:, None], found, np.nan).reshape(*batch, self.nq)

    @cached_property
    def _position_limits(self) -> PositionLimits:
        """Where the joints may be."""
        return PositionLimits(self.model)

    def _kept_within_limits(
        self, found: Array, done: Array, free: Array, guesses: Array, tolerance: float | None = None
    ) -> tuple[Array, Array]:
        """Return configurations within limits, where there are any beside the guesses, and where that is."""

        def again(q: Array, _: Array) -> tuple[Array, Array]:
            return closed_from(self, q, free, tolerance, bounded=True)[::2]

        return self._position_limits.kept(found, done, free, again, guesses)

    def _problem(self, free: Array | None = None, bounded: bool = False) -> closing.ClosingProblem:
        everything = np.ones(self.nv, dtype=bool) if free is None else free
        within = self._position_limits if bounded else None
        gaps, matrix = self.loop_gaps, self._position_jacobian
        return closing.ClosingProblem(gaps, matrix, self.moved, self._clusters, everything, within)

    def _position_jacobian(self, q: ArrayLike) -> Array:
        """Return K without what holds velocities only: rolling is no obstacle on the way to a closed configuration."""
        k = self.loop_jacobian(q)
        k[..., list(self.model.velocity_constraints), :] = 0.0
        return k

    @cached_property
    def _clusters(self) -> clusters.Clusters:
        """Loops that share joints; how long their levers are is seen as they are drawn."""
        starts = np.stack(list(self._starts.values()))
        return clusters.Clusters(clusters.find(self.model, starts, self.loop_jacobian(starts), self.loop_gaps(starts)))

    def _held(self, q: Array, fixed: Sequence[str] | Mapping[str, Any] | None) -> tuple[Array, Array]:
        """Put joints where they are to stay, and say which freedoms are left."""
        if isinstance(fixed, str):
            raise OptionError(f"fixed is a list of names of joints; for a single one write [{fixed!r}]")
        free = np.ones(self.nv, dtype=bool)
        for name in fixed or ():
            joint = self.model.joint(name)
            if joint.mimic:
                raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r} and cannot be held itself: hold that")
            free[joint.v_slice] = False
        if isinstance(fixed, Mapping):
            q = configurations.by_joint(self.model, fixed, q, "q_guess")
        return q, free

    def moved(self, q: Array, v: Array) -> Array:
        """Move configurations along velocities for unit time, whether the loops allow these or not."""
        return self.normalize(self._exact.integrate(q, v))

    def project(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        fixed: Sequence[str] | None = None,
        *,
        tolerance: float | None = None,
    ) -> Any:
        """Return the nearest closed configuration; with ``v``, also the nearest velocity the loops allow (in energy).

        Limits of joints are not looked at: a simulation may carry joints beyond them.

        At a change point (a singular configuration where branches meet) the nearest velocity may lie between the
        branches, and no acceleration keeps the loops closed then: a :class:`~kinetree.errors.SingularityWarning` says
        so, and :meth:`forward_dynamics` refuses that velocity.

        Parameters
        ----------
        q, v : array_like
        fixed, tolerance
            As in :meth:`close`.

        Returns
        -------
        q, or (q, v)
        """
        closed = self.close(q, fixed, tolerance=tolerance, limits=False)
        if v is None:
            return closed
        nearest, ordinary = self._nearest_velocity(closed, v, rank.RELATIVE_TOLERANCE)
        if not ordinary.all():
            self._warn_between_branches(closed, nearest, ordinary)
        return closed, nearest

    def _warn_between_branches(self, q: Array, v: Array, ordinary: Array) -> None:
        """Warn of velocities at which no acceleration keeps the loops closed."""
        known = self.coordinates_at(q)
        left = dynamics.kept_open(self.loop_jacobian(q), self.loop_drift(q, v), known.rank, self._size, known.least)
        rates = np.where(ordinary, 0.0, opening_rate(left, v))
        if said := self._checks.between_branches(rates, self._granted(None, known)):
            warnings.warn(said, SingularityWarning, stacklevel=callers_level())

    def nearest_velocity(self, q: Array, v: ArrayLike, least: float = rank.RELATIVE_TOLERANCE) -> Array:
        """Return the nearest velocity, in energy, that loops allow.

        By constraints weaker than ``least`` it is not changed.
        """
        return self._nearest_velocity(q, v, least)[0]

    def _nearest_velocity(self, q: Array, v: ArrayLike, least: float) -> tuple[Array, Array]:
        """Return that velocity, and where the configuration is not singular."""
        v, k, m = as_array(v, (self.nv,), "v"), self.loop_jacobian(q), self._tree_mass_matrix(q)
        known = self.coordinates_at(q)
        return dynamics.nearest_velocity(m, k, v, known.rank, self._size, max(least, known.least))

    def _tree_mass_matrix(self, q: ArrayLike) -> Array:
        return self._exact.mass_matrix(q)

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
        if self._ordinary is None:
            return None
        _, samples, gaps = self._ordinary
        return self._said(self._chosen(samples, gaps))

    @cached_property
    def _ordinary(self) -> tuple[Array, Array, Array] | None:
        """A closed configuration far from singular ones, if there is one, and K and gaps there and beside it."""
        if self._near is not None:
            near = self._search({"near": self._near}, np.random.default_rng(0), 0)
            for closed in near:
                for q in closed:
                    return q, *self._neighbours.samples(q)
            raise ClosureError(f"the configuration given as near leaves loops open: {near.how_far()}")
        first: tuple[Array, Array, Array] | None = None
        count = 0
        for closed in self._search(self._starts, np.random.default_rng(0), 200):
            for q in closed:
                found = q, *self._neighbours.samples(q)
                if self._neighbours.is_ordinary(*found[1:]):
                    return found
                first, count = (found if first is None else first), count + 1
            if count >= ASSEMBLIES:
                break
        return first

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours(self._problem(), self.loop_jacobian, CLOSED, self._rounding)

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
        near = closing.close_wherever_it_can_be(self._problem(), finite[:1], CLOSED)
        if is_closed(near)[0] and (near.done[0] or not self._neighbours.is_stretched(near.q[0])):
            return self._chosen(*self._neighbours.samples(near.q[0]))
        return self._chosen(self.loop_jacobian(finite[:1]), np.zeros((1, self.n_constraints)))

    def _chosen(self, samples: Array, gaps: Array) -> Coordinates:
        found = coordinates.choose(
            samples, gaps, self._supplied, self._wanted, self.model, self._clusters, self._rounding
        )
        rounded = [
            (d, cluster.length) for d, cluster in zip(found.decisions, self._clusters.all, strict=True) if d.by_rounding
        ]
        seen = float(np.abs(gaps).max(initial=0.0))
        if not rounded and not (seen > CLOSED and any(d.redundant for d in found.decisions)):
            return found
        weak = max((d.dropped * length for d, length in rounded), default=0.0)  # none where axes are exactly parallel
        return replace(found, slack=min(WIDEST, BESIDE * max(seen, 0.1 * weak)), remaining=seen)

    def _said(self, chosen: Coordinates) -> Coordinates:
        """Say once what was decided by taking weak constraints for rounding."""
        if said := chosen.rounding_in_words(self.name):
            warnings.warn(said, RoundingWarning, stacklevel=callers_level())
        return chosen

    @cached_property
    def _size(self) -> float:
        return constraints.usual_size(self.model)

    # ---------------------------------------------------------------- putting it together

    @property
    def _starts(self) -> dict[str, Array]:
        """Configurations to start closing from: those that the file names, and the neutral one."""
        named = {f"configuration {name!r} of the file": self.configuration(name) for name in self.configuration_names}
        return named | {"the neutral configuration": self.neutral()}

    def assembled(self, rng: np.random.Generator | int | None = 0, tries: int = 200, *, limits: bool = True) -> Array:
        """Return some closed configuration within the limits of all joints, not a singular one if there are others.

        It is searched from the configurations that the file names (keyframes, the pose as drawn), from the neutral one,
        and then from random ones.  Where one of these is a change point, as linkages are that are drawn folded up or
        stretched out, a closed configuration beside it is taken.

        Parameters
        ----------
        rng : numpy Generator, int or None
            For the random ones.
        tries : int
            How many random ones are tried.
        limits : bool
            Whether limits hold (default), or are ignored.
        """
        found, beyond, search = self._assembled(np.random.default_rng(rng), tries, limits)
        if found is not None:
            return found
        if beyond is not None:
            how = f"closed configurations of {self.name!r} were found, none of them within the limits of all joints"
            what = self._position_limits.refusal(how, beyond[None], np.array([True]), ())
            raise ClosureError(f"{what}; more tries= look further")
        raise ClosureError(
            f"no closed configuration of {self.name!r} was found: {search.how_far()}. {self._at_odds()}Give a guess "
            "that is nearer to close(), or look for a loop that cannot be closed at all"
        )

    def _some_closed(self) -> Array:
        """Return a closed configuration, within limits if one is found there: what is asked does not depend on them."""
        found, beyond, _ = self._assembled(np.random.default_rng(0), 20, True)
        nearest = beyond if found is None else found
        return self.assembled(limits=False) if nearest is None else nearest

    def _assembled(
        self, generator: np.random.Generator, tries: int, limits: bool
    ) -> tuple[Array | None, Array | None, AssemblySearch]:
        """Return a closed configuration, else the one nearest to being within limits, and the search."""
        search = self._search(self._starts, generator, tries)
        beyond, singular = np.zeros((0, self.nq)), list[Array]()
        for closed in search:
            kept = closed
            if limits and len(closed):
                kept, outside = self._split_by_limits(closed)
                beyond = np.concatenate([beyond, outside])
            for q in kept:
                regular = self._beside_singular(q, limits)
                if regular is not None:
                    return regular, None, search
                singular.append(q)
            if len(singular) >= ASSEMBLIES:
                break
        if singular:
            return singular[0], None, search
        nearest = beyond[np.argmin(self._position_limits.excess(beyond))] if len(beyond) else None
        return None, nearest, search

    def _split_by_limits(self, closed: Array) -> tuple[Array, Array]:
        """Return closed configurations, brought within limits where that can be, and those that stay beyond them."""
        if not self._position_limits.any:
            return closed, closed[:0]
        everything = np.ones(len(closed), dtype=bool), np.ones(self.nv, dtype=bool)
        found, within = self._kept_within_limits(closed, *everything, closed)
        return found[within], found[~within]

    def _beside_singular(self, q: Array, limits: bool) -> Array | None:
        """Return a closed configuration if it is far from singular ones, else the farthest beside it that is; or None.

        How far is told by the weakest constraint that counts, beside the strongest.
        """
        if self._choice is None:  # what is singular is not known
            return q
        beside, ranks = self._neighbours, self._choice.ranks
        if beside.margins(q[None], ranks)[0] > ORDINARY:
            return q
        near = beside.of(q)
        if limits and len(near):
            near, _ = self._split_by_limits(near)
        margins = beside.margins(near, ranks)
        return near[int(np.argmax(margins))] if margins.max(initial=0.0) > ORDINARY else None

    def _at_odds(self) -> str:
        """Say which loops would have to go for the others to close: those that contradict one another."""
        names, counts = self.loop_names, [loop.count for loop in self.model.loops]
        if not 1 < len(names) <= MOST_AT_ODDS:
            return ""
        starts = np.stack(list(self._starts.values()))
        guesses = np.concatenate([starts, self.random_configuration(np.random.default_rng(0), FEW_GUESSES)])
        guilty = [repr(name) for name in contradicting(self._problem(), names, counts, guesses, CLOSED)]
        one = f"It closes without {' or without '.join(guilty)}" if guilty else ""
        return one and f"{one}{': these contradict one another' if len(guilty) > 1 else ''}. "

    def _search(self, starts: dict[str, Array], generator: np.random.Generator, tries: int) -> AssemblySearch:
        guesses = self.random_configuration(generator, tries) if tries else np.zeros((0, self.nq))
        problem, stretched = self._problem(), self._neighbours.is_stretched
        return AssemblySearch(problem, CLOSED, self._checks.widest, starts, guesses, stretched)

    def _assembly(self, model: Model, near: ArrayLike | None) -> Assembled:
        """Return how the mechanism is put together: as near a given configuration, or as parallelograms if it can."""
        from ..parameters.closed_motions import assembled

        meant = self._again(model, precision="double")
        if near is None:
            near = self._near
        if near is not None:
            candidates = np.atleast_2d(meant.close(as_array(near, (self.nq,), "near"), limits=False))
        else:
            found = [q for part in meant._search(meant._starts, np.random.default_rng(0), 60) for q in part]
            candidates = np.array(found[:20]) if found else meant.assembled(limits=False)[None]
        return assembled(meant, candidates, meant.coordinates.rank)

    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Return degrees of freedom by rank, redundant constraints by name, and whether ``q`` is singular.

        Parameters
        ----------
        q : array_like, shape (nq,), optional
            A closed configuration; one is searched for when left out.
        """
        state = self._some_closed() if q is None else self.check_closed(q)
        if state.ndim != 1:
            raise OptionError("mobility looks at one configuration at a time: give q of shape (nq,)")
        if not np.isfinite(state).all():
            raise StateError("the configuration holds NaN or infinity: nothing can be said about it")
        known = self.coordinates_at(state)
        k = self.loop_jacobian(state[None])[0]
        here, opening, still = singular_directions(k, known.rank, self._size, known.least)
        names = self.v_names
        redundant = tuple(n for i, n in enumerate(self.constraint_names) if i not in known.rows)
        return Mobility(
            self.nv - known.rank, self.nv - self.n_constraints, self.n_constraints, known.rank, redundant,
            tuple(names[j] for j in known.independent), here < known.rank, opening, tuple(names[j] for j in still),
            known.decisions, known.slack, *self._of_velocity(state), tuple(names),
        )  # fmt: skip

    def _allowed_motions(self, q: Array) -> tuple[Array, Array]:
        """Return the motions that loops leave at closed configurations as columns, and which of these count."""
        known = self.coordinates_at(self.check_closed(q))
        return rank.motions(self.loop_jacobian(q), known.rank, self._size, known.least)

    def _of_velocity(self, q: Array) -> tuple[tuple[str, ...], int]:
        """Return the names of constraints that hold velocities only, and how many freedoms are left without them."""
        rolling = self.model.velocity_constraints
        if not rolling:
            return (), -1
        near = np.concatenate([q[None], self._neighbours.of(q)])
        rank_there = position_rank(self._clusters, self._position_jacobian(near), self.loop_gaps(near), self._rounding)
        return tuple(self.constraint_names[i] for i in rolling), self.nv - rank_there

    def check_closed(self, q: ArrayLike, tolerance: float | None = None) -> Array:
        """Return ``q`` as an array; refuse configurations whose loops are open by more than ``tolerance``.

        By default that is 1e-6, or what rounding of the file's numbers leaves.
        """
        array = self.evaluator.states.configuration(q)
        error = self.closure_error(array)
        granted = self._checks.granted(TOLERANCE if tolerance is None else tolerance)
        if tolerance is None and (error > granted).any():
            granted = max(granted, self.coordinates_at(array).slack)
        self._checks.closed(array, error, granted)
        return array

    def _granted(self, tolerance: float | None, known: Coordinates) -> float:
        """Return how far a state may be off."""
        return self._checks.granted(max(TOLERANCE, known.slack) if tolerance is None else tolerance)

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
        """Return the matrix G of ``v = G v_independent``, (..., nv, freedoms) (Khalil eq. 10.36)."""
        return self._basis(self.loop_jacobian(self.check_closed(q)))

    def _basis(self, k: Array) -> Array:
        return coordinates.basis(k, self.coordinates, self.v_names, self._size)

    def velocities(self, q: ArrayLike, v_independent: ByName) -> Array:
        """Return all velocities from the independent ones: in the order of :meth:`independent`, or by their names."""
        state = self.check_closed(q)
        given = coordinates.by_name(v_independent, self.independent(), "v_independent")
        return np.asarray((self._basis(self.loop_jacobian(state)) @ given[..., None])[..., 0])

    def accelerations(self, q: ArrayLike, v: ArrayLike, a_independent: ByName) -> Array:
        """Return all accelerations from the independent ones (as in :meth:`velocities`), at a closed state."""
        state, v = self.check_closed(q), as_array(v, (self.nv,), "v")
        known = self.coordinates
        given = coordinates.by_name(a_independent, self.independent(), "a_independent")
        k, bias = self.loop_jacobian(state), self.loop_drift(state, v)
        self._checks.velocity((k @ v[..., None])[..., 0], v, self._granted(None, known))
        moved = (self._basis(k) @ given[..., None])[..., 0]
        batch = np.broadcast_shapes(moved.shape[:-1], bias.shape[:-1])
        a = np.array(np.broadcast_to(moved, (*batch, self.nv)))
        if known.dependent:
            rest = coordinates.follow(k, -bias[..., None], known, self.v_names, self._size)
            a[..., list(known.dependent)] += rest[..., 0]
        return a


def closed_from(
    mechanism: ClosedKinematics, guesses: Array, free: Array, tolerance: float | None = None, bounded: bool = False
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return configurations (N, nq) moved along ``free`` velocities, the gaps left, and which are closed.

    Where ``bounded``, joints stay within their limits on the way.
    """
    problem = mechanism._problem(free, bounded)
    found = closing.close(problem, guesses, CLOSED if tolerance is None else tolerance)
    q, gaps, done = found.q, found.gaps, found.done
    unsure = np.flatnonzero(~done & (np.abs(gaps).max(axis=-1, initial=0.0) < closing.NUDGE))
    if len(unsure):
        known = mechanism.coordinates_at(q[unsure])
        again = closing.polish(problem, q[unsure], CLOSED, closing.Counting(known.ranks, known.least))
        q[unsure], gaps[unsure] = again.q, again.gaps
        largest = np.abs(again.gaps).max(axis=-1, initial=0.0)
        if tolerance is None:
            done[unsure] = again.done | (again.held & (largest <= known.slack))
        else:
            done[unsure] = largest <= tolerance
    return q, gaps, done
