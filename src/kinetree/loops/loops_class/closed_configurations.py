"""Closed configurations: the one nearest to a guess, an arbitrary one, those along a path; and matching velocities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.newton_closing_step import ClosingTask, FrameGoal
from ...errors import (
    ClosureError,
    OptionError,
    ShapeError,
    SingularityWarning,
    SpeedWarning,
    StateError,
    UnsupportedError,
    callers_level,
)
from ...evaluation.law_kernels import has_machine_code, unrolls
from ...evaluation.parameters import Place
from ...evaluation.small_matrices import one_blas_thread
from ...model import configurations
from ...spatial.arrays import Array, as_array, finite_rows
from ...spatial.numbers import random_source, whole_number
from .. import blocks, closing_on_arrays, dynamics, following, rank
from ..assemblies.search_one import AssemblySearch
from ..checks import opening_rate
from ..closing_in_machine_code import (
    LEAST_PIVOT,
    NO_DISTANCE,
    TRUST,
    Lanes,
    NewtonClosing,
    QuickClosing,
    independent_rows,
)
from ..clusters import single
from ..coordinates import Coordinates
from ..goals import numbers_of, off
from ..mobility import Mobility, planar_count, position_rank, singular_directions
from ..neighbors import ORDINARY
from ..tolerances import CLOSED, LEAST, NEARLY_CLOSED
from .independent_choice import ASSEMBLIES, CoordinateChoice
from .reached import NOT_FINITE, Reached, reasons_of, said_by

NOTHING_GIVEN = np.zeros(0)

NEWTON, PATIENT, BOUNDED = "newton", "patient", "bounded"
"""Kernels that use independent rows only, all rows, or all rows within limits."""

MANY = 200
"""From this many guesses on, finding their ranks takes so long that a warning is given."""

STEPS_TO_GOALS = 60
"""Steps toward goals by rank: a map of a workspace has thousands of targets that cannot be reached."""


class LoopClosing:
    """Closes the loops of a mechanism.

    Parameters
    ----------
    choice : CoordinateChoice
    """

    def __init__(self, choice: CoordinateChoice) -> None:
        self.choice, self.assembling, self.geometry = choice, choice.assembling, choice.geometry
        self.model = choice.model
        self._quick: dict[tuple[str, ...] | None, QuickClosing] = {}
        self._kernels: dict[tuple[Any, ...], NewtonClosing | None] = {}

    # ---------------------------------------------------------------- nearest to a guess

    def close(
        self, q_guess: ArrayLike | Mapping[str, Any], fixed: Sequence[str] | Mapping[str, Any] | None = None, *,
        tolerance: float | None = None, must_close: bool = True, limits: bool = True,
    ) -> Array:  # fmt: skip
        """Return the closed configuration nearest to a guess; see :meth:`kinetree.Mechanism.close`."""
        if tolerance is None and (quick := self._quick.get(None if fixed is None else tuple(fixed))) is not None:
            found = quick(q_guess, fixed, limits)
            if found is not None:
                return found
        return self._close(q_guess, fixed, tolerance, must_close, limits)

    @one_blas_thread()
    def _close(
        self, q_guess: Any, fixed: Sequence[str] | Mapping[str, Any] | None, tolerance: float | None, must_close: bool,
        limits: bool,
    ) -> Array:  # fmt: skip
        """Return closed states of one guess or a batch, whatever the options."""
        if tolerance is not None and not tolerance > 0.0:
            raise OptionError(f"tolerance must be positive, not {tolerance!r}: rounding leaves gaps of some 1e-16")
        geometry = self.geometry
        if isinstance(q_guess, Mapping):
            q_guess = configurations.by_joint(self.model, q_guess, configurations.neutral(self.model), "q_guess")
        guess = geometry.configuration(q_guess, "q_guess", of_places=True)
        q, free = self.held(np.asarray(guess, dtype=float), fixed)
        batch = q.shape[:-1]
        guesses = q.reshape(-1, geometry.nq)
        found, done = self.closed_from(guesses, free, tolerance)
        if limits:
            found, within = self._kept_within_limits(found, done, free, guesses, tolerance)
            if must_close and (done & ~within).any():
                held = f" with {', '.join(fixed)} held" if fixed else ""
                how = f"the loops of {self.model.name!r} are closed{{where}}{held} only beyond limits"
                raise ClosureError(geometry.limits.refusal(how, found, done & ~within, batch))
        if must_close and len(bad := _given_but_open(done, guesses)):
            raise ClosureError(geometry.checks.still_open(geometry.gaps(found), int(bad[0]), batch, list(fixed or ())))
        kept = done & within if limits else done
        if not kept.all():
            found[~kept] = np.nan
        elif not batch:
            self._let_go_quickly(free, fixed)
        return np.ascontiguousarray(found).reshape(*batch, geometry.nq)

    def reasons(
        self, q_guess: Any, fixed: Sequence[str] | Mapping[str, Any] | None, tolerance: float | None, limits: bool
    ) -> Array:  # fmt: skip
        """Return why guesses cannot be closed, in words; see :meth:`kinetree.Mechanism.closing_reasons`."""
        if isinstance(q_guess, Mapping):
            q_guess = configurations.by_joint(self.model, q_guess, configurations.neutral(self.model), "q_guess")
        guess = self.geometry.configuration(q_guess, "q_guess", of_places=True)
        held, _ = self.held(np.asarray(guess, dtype=float), fixed)
        names = list(fixed or ())
        q = self.close(held, names, tolerance=tolerance, must_close=False, limits=limits)

        def why(lane: tuple[int, ...]) -> str:
            return said_by(lambda: self.close(held[lane], names, tolerance=tolerance, limits=limits), NOT_FINITE)

        return reasons_of(np.isfinite(q).all(axis=-1), why)

    def _let_go_quickly(self, free: Array, fixed: Sequence[str] | Mapping[str, Any] | None) -> None:
        """After a first state was closed with some joints held, let others go directly to machine code."""
        kernel, key = self.kernel(free), None if fixed is None else tuple(fixed)
        if kernel is None or key in self._quick or not kernel.is_exact:
            return
        joints = [self.model.joint(name) for name in key or ()]
        places = {joint.name: joint.q_slice.start for joint in joints if joint.nq == 1}
        function = kernel.program.direct(lambda *given: None)
        if function is not None and len(places) == len(joints):
            self._quick[key] = QuickClosing(function, kernel.end, self.model.nq, places)

    def closed_from(
        self, guesses: Array, free: Array, tolerance: float | None = None, bounded: bool = False,
        goals: tuple[FrameGoal, ...] = (), given: Array = NOTHING_GIVEN, places: tuple[Place, ...] = (),
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return configurations (N, nq) moved along ``free`` velocities, and which are closed.

        Parameters
        ----------
        guesses : ndarray, shape (N, nq)
        free : ndarray of bool, shape (nv,)
        tolerance : float, optional
            See :meth:`kinetree.Mechanism.close`.
        bounded : bool
            Whether joints stay within their limits during the search.
        goals : tuple of FrameGoal
            Frames that must be at given poses, as if one more joint welded each of them there.
        given : ndarray, shape (N, n) or (n,)
            Numbers of the model that vary, then those of the goals.
        places : tuple of Place
            Which numbers vary.
        """
        kernel = self.kernel(free, goals, BOUNDED if bounded else NEWTON, places)
        if kernel is None:
            return self._by_rank(guesses, free, tolerance, bounded, goals, given)
        found, done = kernel(guesses, given, tolerance)
        if not bounded and len(rest := _given_but_open(done, guesses)):
            own = given if given.ndim == 1 else given[rest]
            found[rest], done[rest] = self._patiently(guesses[rest], free, tolerance, goals, own, places)
        return found, done

    def _patiently(
        self, guesses: Array, free: Array, tolerance: float | None, goals: tuple[FrameGoal, ...], given: Array,
        places: tuple[Place, ...],
    ) -> tuple[Array, Array]:  # fmt: skip
        """Close what Newton steps leave open because rows are dependent there or the gap cannot be closed.

        Half a turn off, or all in one line, steps may stall although there is a way forward nearby.  The rank is
        determined only for configurations that are nearly closed.
        """
        kernel = self.kernel(free, goals, PATIENT, places)
        if kernel is None:  # the code would be too long
            return self._by_rank(guesses, free, tolerance, False, goals, given)
        lanes = kernel.search(guesses, given, most=closing_on_arrays.MOST_STEPS)
        lost = np.flatnonzero(~kernel.is_closed(lanes, tolerance))
        if len(lost):
            own = given if given.ndim == 1 else given[lost]
            nudged = self.geometry.moved(guesses[lost], closing_on_arrays.nudge(free, self._scales[1]))
            again = kernel.search(nudged, own, most=closing_on_arrays.MOST_STEPS)
            lanes[lost] = Lanes(np.where((again.worst < lanes.worst[lost])[:, None], again.state, lanes.state[lost]), 0)
        found, done = np.array(lanes.q), kernel.is_closed(lanes, tolerance)
        unsure = np.flatnonzero(~done & (lanes.worst < max(NEARLY_CLOSED, kernel.slack) ** 2))
        if len(unsure) and not places:
            if len(unsure) > MANY:
                said = f"{len(unsure)} guesses of {self.model.name!r} end near singular configurations, where which "
                said += "constraints count is determined one by one: this takes some milliseconds each"
                warnings.warn(said, SpeedWarning, stacklevel=callers_level())
            own = given if given.ndim == 1 else given[unsure]
            found[unsure], done[unsure] = self._by_rank(found[unsure], free, tolerance, False, goals, own)
        return found, done

    def kernel(
        self, free: Array, goals: tuple[FrameGoal, ...] = (), how: str = NEWTON, places: tuple[Place, ...] = ()
    ) -> NewtonClosing | None:
        """Return the kernel that closes along ``free`` velocities, with frames at goals; None if ranks are needed.

        Parameters
        ----------
        free : ndarray of bool, shape (nv,)
        goals : tuple of FrameGoal
        how : {"newton", "patient", "bounded"}
            Whether to use independent rows only, all rows, or all rows within limits.
        places : tuple of Place
            Numbers of the model that vary.
        """
        key = free.tobytes(), goals, how, places
        if key not in self._kernels:
            task, exact, made = self._task(free, goals, how), self.geometry.exact, None
            if task is not None:
                slack = self.choice.coordinates.slack
                made = NewtonClosing(self.model, task, exact.cpu, places, has_machine_code(exact), slack)
                made = None if made.program.is_too_long else made
            self._kernels[key] = made
        return self._kernels[key]

    def _task(self, free: Array, goals: tuple[FrameGoal, ...], how: str) -> ClosingTask | None:
        """Return the closing task; None if it is not known which constraints count."""
        geometry, rolling = self.geometry, self.model.velocity_constraints
        quick = unrolls(geometry.exact) or has_machine_code(geometry.exact)
        known = self.choice.chosen if quick and not self.model.symbols else None
        if known is None or self.choice.ordinary is None:
            return None
        columns, (weights, reach) = np.flatnonzero(free), self._scales
        of_goals = sum(goal.rows for goal in goals)
        weights = np.concatenate([weights, np.ones(of_goals)])
        moving, sizes = tuple(columns.tolist()), tuple(reach[columns].tolist())
        pattern = blocks.pattern(self.model, goals, moving)
        spare: list[int] = []
        if how == PATIENT:
            rows = tuple(i for i in pattern if i not in rolling)
        else:
            k = self.matrix(self._ordinary, goals) * weights[:, None] * reach
            every = range(geometry.n_constraints, len(weights))
            rows = independent_rows(k[..., columns], [*(i for i in known.rows if i not in rolling), *every])
            seen = np.abs(k[..., columns]).max(axis=(0, 2), initial=0.0) > LEAST_PIVOT
            spare = [i for i in every if seen[i] and i not in rows]  # which rows are better changes along the way
            rows = tuple(sorted([*rows, *spare]))
        if not rows:
            return None
        contradicting = self._contradicting(known, rows)
        if how == NEWTON and not spare:
            found = blocks.find(pattern, rows, contradicting)
        else:
            found = blocks.together(pattern, rows)
        bounds = geometry.limits.bounds(moving) if how == BOUNDED else ()
        scales = tuple(weights.tolist()), sizes, geometry.size
        placed = None
        if how == NEWTON and not spare and not contradicting:
            placed = blocks.placed(self.model, goals, moving, rows)
        return ClosingTask(
            found, moving, *scales, goals, geometry.limits.ranges, bounds, adapts=how != NEWTON, placed=placed
        )

    @cached_property
    def _ordinary(self) -> Array:
        """Closed configurations (N, nq), some of which are ordinary whatever is held."""
        assert self.choice.ordinary is not None
        q = self.choice.ordinary[0]
        return np.concatenate([q[None], self.assembling.neighbors.of(q)])

    @cached_property
    def _scales(self) -> tuple[Array, Array]:
        """Factors that turn every gap into a length, and how far a step may go along each freedom."""
        weights, reach = np.ones(self.geometry.n_constraints), np.ones(self.geometry.nv)
        for cluster in self.assembling.clusters.all:
            weights[cluster.rows], reach[cluster.columns] = cluster.row_scale, cluster.reach
        return weights, reach

    def matrix(self, q: Array, goals: tuple[FrameGoal, ...]) -> Array:
        """Return K of the loops' positions with the rows of goals below it, (..., rows, nv)."""
        parts = [self.geometry.position_jacobian(q)]
        for goal in goals:
            whole = self.geometry.frame_jacobian(q, goal.frame)
            parts.append(whole[..., 0 if goal.orientation else 3 : 6 if goal.position else 3, :])
        return np.concatenate(parts, axis=-2)

    def gaps(self, q: Array, goals: tuple[FrameGoal, ...] = (), given: Array = NOTHING_GIVEN) -> Array:
        """Return how far loops are open, and frames from their goals, (..., rows)."""
        parts, used = [self.geometry.gaps(q)], 0
        for goal in goals:
            pose = numbers_of(goal, self.geometry.exact.run("pose", {"frame": goal.frame}, q=q))
            parts.append(off(goal, pose, given[..., used : used + goal.size]))
            used += goal.size
        return np.concatenate(parts, axis=-1)

    def _contradicting(self, known: Coordinates, rows: Sequence[int]) -> list[int]:
        """Return redundant constraints that contradict others by rounding: no configuration satisfies all of them."""
        if known.slack == 0.0:
            return []
        pairs = zip(known.decisions, self.assembling.clusters.all, strict=True)
        every = {int(i) for decision, cluster in pairs if decision.redundant for i in cluster.rows}
        return sorted(every - set(rows) - set(self.model.velocity_constraints))

    def _by_rank(
        self, guesses: Array, free: Array, tolerance: float | None, bounded: bool,
        goals: tuple[FrameGoal, ...] = (), given: Array = NOTHING_GIVEN,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Close the loops by steps that determine which constraints count."""
        if goals:
            return self._reached_by_rank(guesses, free, bounded, goals, given)
        problem = self.assembling.problem(free, bounded)
        found = closing_on_arrays.close(problem, guesses, CLOSED if tolerance is None else tolerance)
        q, gaps, done = found.q, found.gaps, found.done
        unsure = np.flatnonzero(~done & (np.abs(gaps).max(axis=-1, initial=0.0) < closing_on_arrays.NUDGE))
        if len(unsure):
            known = self.choice.at(q[unsure])
            again = closing_on_arrays.polish(
                problem, q[unsure], CLOSED, closing_on_arrays.Counting(known.ranks, known.least)
            )
            q[unsure] = again.q
            largest = np.abs(again.gaps).max(axis=-1, initial=0.0)
            if tolerance is None:
                done[unsure] = again.done | (again.held & (largest <= known.slack))
            else:
                done[unsure] = largest <= tolerance
        return q, done

    def _reached_by_rank(
        self, guesses: Array, free: Array, bounded: bool, goals: tuple[FrameGoal, ...], given: Array
    ) -> tuple[Array, Array]:
        """Reach goals in the same way; each lane carries its goals along."""
        geometry, nq = self.geometry, self.geometry.nq
        state = np.concatenate([guesses, np.broadcast_to(given, (len(guesses), given.shape[-1]))], axis=-1)

        def moved(state: Array, v: Array) -> Array:
            return np.concatenate([geometry.moved(state[:, :nq], v), state[:, nq:]], axis=-1)

        count = geometry.n_constraints + sum(goal.rows for goal in goals)
        problem = closing_on_arrays.ClosingProblem(
            lambda x: self.gaps(x[:, :nq], goals, x[:, nq:]), lambda x: self.matrix(x[:, :nq], goals), moved,
            single(count, geometry.nv), free, geometry.limits if bounded else None,
        )  # fmt: skip
        counting = closing_on_arrays.Counting((min(count, geometry.nv),), LEAST)
        found = closing_on_arrays.close(problem, state, CLOSED, counting, most_steps=STEPS_TO_GOALS)
        return found.q[:, :nq], found.done

    def _kept_within_limits(
        self, found: Array, done: Array, free: Array, guesses: Array, tolerance: float | None = None
    ) -> tuple[Array, Array]:
        """Return configurations within limits, if there are any near the guesses, and which these are."""

        def again(q: Array, _: Array) -> tuple[Array, Array]:
            return self.closed_from(q, free, tolerance, bounded=True)

        return self.geometry.limits.kept(found, done, free, again, guesses)

    def held(self, q: Array, fixed: Sequence[str] | Mapping[str, Any] | None) -> tuple[Array, Array]:
        """Return configurations with the held joints in place, and which freedoms remain free."""
        if isinstance(fixed, str):
            raise OptionError(f"fixed is a list of names of joints; for a single one, write [{fixed!r}]")
        free = np.ones(self.geometry.nv, dtype=bool)
        for name in fixed or ():
            joint = self.model.joint(name)
            if joint.mimic:
                raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r} and cannot be held: hold that one")
            free[joint.v_slice] = False
        if isinstance(fixed, Mapping):
            q = configurations.by_joint(self.model, fixed, q, "q_guess")
        return q, free

    # ---------------------------------------------------------------- velocities

    def project(
        self, q: ArrayLike, v: ArrayLike | None = None, fixed: Sequence[str] | None = None, *,
        tolerance: float | None = None,
    ) -> Any:  # fmt: skip
        """Return the nearest closed configuration; with ``v``, also the nearest velocity the loops allow."""
        closed = self.close(q, fixed, tolerance=tolerance, limits=False)
        if v is None:
            return closed
        nearest, ordinary = self.nearest_velocity(closed, v, LEAST)
        if not ordinary.all():
            self._warn_between_branches(closed, nearest, ordinary)
        return closed, nearest

    def _warn_between_branches(self, q: Array, v: Array, ordinary: Array) -> None:
        """Warn of velocities at which no acceleration keeps the loops closed."""
        geometry, known = self.geometry, self.choice.at(q)
        left = dynamics.kept_open(geometry.jacobian(q), geometry.drift(q, v), known.rank, geometry.size, known.least)
        rates = np.where(ordinary, 0.0, opening_rate(left, v))
        if said := geometry.checks.between_branches(rates, self.choice.granted(None, known)):
            warnings.warn(said, SingularityWarning, stacklevel=callers_level())

    def nearest_velocity(self, q: Array, v: ArrayLike, least: float) -> tuple[Array, Array]:
        """Return the nearest velocity, in energy, that loops allow, and whether the configuration is not singular."""
        geometry, known = self.geometry, self.choice.at(q)
        v, k, m = as_array(v, (geometry.nv,), "v"), geometry.jacobian(q), geometry.mass_matrix(q)
        return dynamics.nearest_velocity(m, k, v, known.rank, geometry.size, max(least, known.least))

    # ---------------------------------------------------------------- some closed configuration

    @one_blas_thread()
    def assembled(self, rng: np.random.Generator | int | None = 0, tries: int = 200, *, limits: bool = True) -> Array:
        """Return an arbitrary closed configuration; see :meth:`kinetree.Mechanism.assembled`."""
        found, beyond, search = self._assembled(random_source(rng, "rng"), whole_number(tries, "tries", 1), limits)
        if found is not None:
            return found
        name = self.model.name
        if beyond is not None:
            how = f"closed configurations of {name!r} were found, but none of them within the limits of all joints"
            what = self.geometry.limits.refusal(how, beyond[None], np.array([True]), ())
            raise ClosureError(f"{what}; more tries= look further")
        raise ClosureError(
            f"no closed configuration of {name!r} was found: {search.how_far()}. {self.assembling.at_odds()}Give "
            "close() a nearer guess, or look for a loop that cannot be closed at all"
        )

    def _some_closed(self) -> Array:
        """Return a closed configuration, within limits if possible, for questions that do not depend on limits."""
        found, beyond, _ = self._assembled(np.random.default_rng(0), 20, True)
        nearest = beyond if found is None else found
        return self.assembled(limits=False) if nearest is None else nearest

    def _assembled(
        self, generator: np.random.Generator, tries: int, limits: bool
    ) -> tuple[Array | None, Array | None, AssemblySearch]:
        """Return a closed configuration, or else the one nearest to being within limits, and the search."""
        search = self.assembling.search(self.assembling.starts, generator, tries)
        for drawn in self.assembling.brought_within_limits() if limits else ():
            with suppress(ClosureError):
                regular = self._beside_singular(self.close(drawn), limits)
                if regular is not None:
                    return regular, None, search
        beyond, singular = np.zeros((0, self.geometry.nq)), list[Array]()
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
        nearest = beyond[np.argmin(self.geometry.limits.excess(beyond))] if len(beyond) else None
        return None, nearest, search

    def _split_by_limits(self, closed: Array) -> tuple[Array, Array]:
        """Return closed configurations, brought within limits if possible, and those that stay beyond them."""
        if not self.geometry.limits.any:
            return closed, closed[:0]
        everything = np.ones(len(closed), dtype=bool), np.ones(self.geometry.nv, dtype=bool)
        found, within = self._kept_within_limits(closed, *everything, closed)
        return found[within], found[~within]

    def _beside_singular(self, q: Array, limits: bool) -> Array | None:
        """Return ``q`` if it is far enough from singular configurations, else the neighbor that is farthest from them.

        None if all neighbors are too close. The distance is the weakest constraint that counts, relative to the
        strongest.
        """
        if self.choice.chosen is None:  # singular configurations are not known
            return q
        beside, ranks = self.assembling.neighbors, self.choice.chosen.ranks
        if beside.margins(q[None], ranks)[0] > ORDINARY:
            return q
        near = beside.of(q)
        if limits and len(near):
            near, _ = self._split_by_limits(near)
        margins = beside.margins(near, ranks)
        return near[int(np.argmax(margins))] if margins.max(initial=0.0) > ORDINARY else None

    def ways_to_assemble(self, q_guess: ArrayLike | None) -> Array:
        """Return closed configurations: those nearest to some given ones, or several found from random ones."""
        given = self.choice.q_guess if q_guess is None else q_guess
        if given is not None:
            return np.atleast_2d(self.close(as_array(given, (self.geometry.nq,), "q_guess"), limits=False))
        search = self.assembling.search(self.assembling.starts, np.random.default_rng(0), 60)
        found = [q for part in search for q in part]
        return np.array(found[:20]) if found else self.assembled(limits=False)[None]

    @one_blas_thread()
    def mobility(self, q: ArrayLike | None = None) -> Mobility:
        """Return degrees of freedom by rank, redundant constraints by name, and whether ``q`` is singular."""
        state = self._some_closed() if q is None else self.choice.check_closed(q)
        if state.ndim != 1:
            raise OptionError("mobility handles one configuration at a time: give q of shape (nq,)")
        if not np.isfinite(state).all():
            raise StateError("the configuration contains NaN or infinity: its mobility is undefined")
        geometry, known = self.geometry, self.choice.at(state)
        k = geometry.jacobian(state[None])[0]
        here, opening, still = singular_directions(k, known.rank, geometry.size, known.least)
        names, count = geometry.v_names, geometry.n_constraints
        redundant = tuple(n for i, n in enumerate(self.model.constraint_names) if i not in known.rows)
        return Mobility(
            geometry.nv - known.rank, geometry.nv - count, count, known.rank, redundant,
            tuple(names[j] for j in known.independent), here < known.rank, opening, tuple(names[j] for j in still),
            known.decisions, known.slack, *self._of_velocity(state), tuple(names),
            planar_count(self.model, state),
        )  # fmt: skip

    def _of_velocity(self, q: Array) -> tuple[tuple[str, ...], int]:
        """Return the names of constraints on velocities only, and how many freedoms are left without them."""
        rolling, geometry, assembling = self.model.velocity_constraints, self.geometry, self.assembling
        if not rolling:
            return (), -1
        near = np.concatenate([q[None], assembling.neighbors.of(q)])
        k, gaps = geometry.position_jacobian(near), geometry.gaps(near)
        left = geometry.nv - position_rank(assembling.clusters, k, gaps, assembling.rounding)
        return tuple(self.model.constraint_names[i] for i in rolling), left

    # ---------------------------------------------------------------- along a path

    def follow(
        self, path: Mapping[str, ArrayLike], q_guess: ArrayLike | None = None, *, limits: bool = True,
        must_reach: bool = True, lead_in: bool = False,
    ) -> Any:  # fmt: skip
        """Return closed configurations along a path of some joints; see :meth:`kinetree.Mechanism.follow`."""
        if not isinstance(path, Mapping):
            example = self.choice.independent()[0]
            raise OptionError(f"path is a mapping from joints to positions, {{{example!r}: [...]}}, not {type(path)}")
        columns, places, rates = [], list[int](), list[int]()
        for name, given in path.items():
            joint = self.model.joint(name)
            if joint.mimic or joint.nq != joint.nv:
                why = f"mimics {joint.mimic.leader!r}" if joint.mimic else "has quaternions"
                raise UnsupportedError(f"joint {name!r} {why} and cannot be led along a path: lead others")
            what = f"the path of {name!r}"
            column = as_array(given, (), what)
            columns.append(as_array(column[:, None] if column.ndim == 1 else column, (joint.nq,), what))
            places += range(joint.q_slice.start, joint.q_slice.stop)
            rates += range(joint.v_slice.start, joint.v_slice.stop)
        if not columns or any(x.ndim != 2 or len(x) != len(columns[0]) for x in columns):
            raise ShapeError(
                "path must name at least one joint, and give the same number of positions for each: "
                + (", ".join(f"{n!r} {x.shape}" for n, x in zip(path, columns, strict=True)) or "nothing is given")
            )
        start = self.assembled() if q_guess is None else as_array(q_guess, (self.geometry.nq,), "q_guess")
        if lead_in:
            columns = [
                np.concatenate([start[None, self.model.joint(name).q_slice], x])
                for name, x in zip(path, columns, strict=True)
            ]
        goals = np.concatenate(columns, axis=-1) if len(columns) > 1 else columns[0]
        free = np.ones(self.geometry.nv, dtype=bool)
        free[rates] = False

        def close(guesses: Array, wanted: Array) -> tuple[Array, Array]:
            guesses = guesses if guesses.flags.writeable else guesses.copy()
            guesses[:, places] = wanted
            return self.closed_from(guesses, free)

        def nearest(k: int, q: Array) -> Array:
            wanted = {name: x[k] for name, x in zip(path, columns, strict=True)}
            return self.close(q, {name: float(x[0]) if len(x) == 1 else x for name, x in wanted.items()}, limits=limits)

        order = np.argsort(rates) if len(rates) > 1 else slice(None)
        problem = following.PathProblem(
            partial(following.of_one_path, goals), close, lambda a, b: (b - a)[:, order],
            lambda a, b, share: a + share[:, None] * (b - a), *self.leading(free),
        )  # fmt: skip
        within = self.geometry.limits if limits else None
        before = int(lead_in)
        names = [self.model.q_names[k] for k in places]

        def said(goal: Array) -> str:
            return ", ".join(f"{name} = {x:.6g}" for name, x in zip(names, goal, strict=True))

        name = self.model.name
        q, reached = following.followed(problem, goals, start, nearest, within, must_reach, name, -before, said)
        if must_reach:
            return q[before:]
        return Reached(
            q[before:], reached[before:],
            lambda point: following.why_not_reached(point[0] + before, goals, start, q, nearest),
        )  # fmt: skip

    def leading(self, free: Array, goals: tuple[FrameGoal, ...] = ()) -> tuple[Callable[..., Array], ...]:
        """Return functions that predict configurations along a path, and check them.

        Both take rates of the freedoms that are not free, in their order, and then of the goals.
        """
        kernel = self.kernel(free, goals)
        if kernel is not None:
            return lambda q, way, _: kernel.predicted(q, way), lambda q, there, way, _: kernel.follows(q, there, way)
        geometry, held = self.geometry, np.eye(self.geometry.nv)[~free]

        def velocities(q: Array, way: Array) -> Array:
            k, found = self.matrix(q, goals), []
            for loops, of_goals, rate in zip(*np.split(k, [geometry.n_constraints], axis=1), way, strict=True):
                wanted = np.concatenate([held, of_goals])
                allowed = rank.null_space(loops, int(rank.numerical_rank(loops)))
                found.append(allowed @ np.linalg.lstsq(wanted @ allowed, rate, rcond=1e-9)[0])
            return np.array(found).reshape(len(q), geometry.nv)

        def predicted(q: Array, way: Array, _: Array) -> Array:
            return geometry.moved(q, velocities(q, way))

        def follows(q: Array, there: Array, way: Array, _: Array) -> Array:
            v = velocities(q, way)
            off = geometry.evaluator.run("difference", q0=geometry.moved(q, v), q1=there)
            return np.asarray(np.linalg.norm(off, axis=-1) <= TRUST * np.linalg.norm(v, axis=-1) + NO_DISTANCE)

        return predicted, follows


def _given_but_open(done: Array, guesses: Array) -> Array:
    """Return the lanes whose guesses (N, nq) are finite, but that are not closed: usually none, which is quick."""
    return np.flatnonzero(~done & finite_rows(guesses)) if not done.all() else np.zeros(0, dtype=int)
