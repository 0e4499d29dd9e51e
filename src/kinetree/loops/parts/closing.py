"""Closed configurations: the one nearest to a guess, some one, those along a path; and velocities that fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.closing import ClosingTask
from ...errors import (
    ClosureError,
    OptionError,
    ShapeError,
    SingularityWarning,
    StateError,
    UnsupportedError,
    callers_level,
)
from ...model import configurations
from ...run.law_kernels import can_compile, unrolls
from ...run.small_matrices import one_blas_thread
from ...spatial.arrays import Array, as_array
from ...spatial.numbers import random_source, whole_number
from .. import closing, dynamics, following, rank
from ..assembly import AssemblySearch
from ..checks import opening_rate
from ..closing import CLOSED
from ..mobility import Mobility, position_rank, singular_directions
from ..neighbors import ORDINARY
from ..newton import NewtonClosing, independent_rows
from .choice import ASSEMBLIES, CoordinateChoice

NOTHING_GIVEN = np.zeros(0)


class LoopClosing:
    """Closes the loops of a mechanism.

    Parameters
    ----------
    choice : CoordinateChoice
    """

    def __init__(self, choice: CoordinateChoice) -> None:
        self.choice, self.assembling, self.geometry = choice, choice.assembling, choice.geometry
        self.model = choice.model
        self._kernels: dict[tuple[bytes, str, int], NewtonClosing | None] = {}

    # ---------------------------------------------------------------- nearest to a guess

    @one_blas_thread()
    def close(
        self,
        q_guess: ArrayLike | Mapping[str, Any],
        fixed: Sequence[str] | Mapping[str, Any] | None = None,
        *,
        tolerance: float | None = None,
        must_close: bool = True,
        limits: bool = True,
    ) -> Array:
        """Return the closed configuration nearest to a guess; see :meth:`kinetree.Mechanism.close`."""
        if tolerance is not None and not tolerance > 0.0:
            raise OptionError(f"tolerance must be positive, not {tolerance!r}: rounding leaves gaps of some 1e-16")
        geometry = self.geometry
        if isinstance(q_guess, Mapping):
            q_guess = configurations.by_joint(self.model, q_guess, configurations.neutral(self.model), "q_guess")
        guess = geometry.configuration(q_guess, "q_guess", of_places=True)
        q, free = self._held(np.array(guess, dtype=float), fixed)
        batch = q.shape[:-1]
        guesses = q.reshape(-1, geometry.nq)
        found, gaps, done = self.closed_from(guesses, free, tolerance)
        if limits:
            found, within = self._kept_within_limits(found, done, free, guesses, tolerance)
            if must_close and (done & ~within).any():
                held = f" with {', '.join(fixed)} held" if fixed else ""
                how = f"the loops of {self.model.name!r} are closed{{where}}{held} only beyond limits"
                raise ClosureError(geometry.limits.refusal(how, found, done & ~within, batch))
        bad = ~done & np.isfinite(guesses).all(axis=-1)
        if must_close and bad.any():
            raise ClosureError(geometry.checks.still_open(gaps, bad, batch, list(fixed or ())))
        kept = done & within if limits else done
        return np.where(kept[:, None], found, np.nan).reshape(*batch, geometry.nq)

    def closed_from(
        self, guesses: Array, free: Array, tolerance: float | None = None, bounded: bool = False
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return configurations (N, nq) moved along ``free`` velocities, the gaps left, and which are closed.

        Where ``bounded``, joints stay within their limits on the way.
        """
        kernel = None if bounded else self.kernel(free)
        if kernel is None:
            return self._closed_by_rank(guesses, free, tolerance, bounded)
        return kernel.closed(
            guesses, NOTHING_GIVEN, CLOSED if tolerance is None else tolerance,
            lambda rest: self._closed_by_rank(guesses[rest], free, tolerance, False),
        )  # fmt: skip

    def kernel(self, free: Array, frame: str = "", goal_size: int = 0) -> NewtonClosing | None:
        """Return what closes along ``free`` velocities, with a frame at a goal; None where ranks have to be found.

        Parameters
        ----------
        free : ndarray of bool, shape (nv,)
        frame : str
            That has a goal.
        goal_size : int
            See :class:`kinetree.algorithms.closing.ClosingTask`.
        """
        key = free.tobytes(), frame, goal_size
        if key not in self._kernels:
            task = self._task(free, frame, goal_size)
            exact = self.geometry.exact
            made = None if task is None else NewtonClosing(self.model, task, exact.cpu, (), can_compile(exact))
            self._kernels[key] = made
        return self._kernels[key]

    def _task(self, free: Array, frame: str, goal_size: int) -> ClosingTask | None:
        """Return what is to be closed; None where it is not known which constraints count."""
        geometry, rolling = self.geometry, self.model.velocity_constraints
        known = self.choice.chosen if unrolls(geometry.exact) and not self.model.symbols else None
        if known is None or self.choice.ordinary is None:
            return None
        q, columns = self.choice.ordinary[0], np.flatnonzero(free)
        weights, reach = np.ones(geometry.n_constraints), np.ones(geometry.nv)
        for cluster in self.assembling.clusters.all:
            weights[cluster.rows], reach[cluster.columns] = cluster.row_scale, cluster.reach
        k = geometry.position_jacobian(q) * weights[:, None]
        candidates = [i for i in known.rows if i not in rolling]
        if frame:
            of_goal = geometry.frame_jacobian(q, frame)[-(6 if goal_size > 3 else 3) :]
            candidates += range(len(k), len(k) + len(of_goal))
            k, weights = np.concatenate([k, of_goal]), np.concatenate([weights, np.ones(len(of_goal))])
        rows = independent_rows((k * reach)[:, columns], candidates)
        if not rows:
            return None
        moving, sizes = tuple(columns.tolist()), tuple(reach[columns].tolist())
        return ClosingTask(rows, moving, tuple(weights.tolist()), sizes, geometry.size, frame, goal_size)

    def _closed_by_rank(
        self, guesses: Array, free: Array, tolerance: float | None, bounded: bool
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Close the loops by steps that find out which constraints count."""
        problem = self.assembling.problem(free, bounded)
        found = closing.close(problem, guesses, CLOSED if tolerance is None else tolerance)
        q, gaps, done = found.q, found.gaps, found.done
        unsure = np.flatnonzero(~done & (np.abs(gaps).max(axis=-1, initial=0.0) < closing.NUDGE))
        if len(unsure):
            known = self.choice.at(q[unsure])
            again = closing.polish(problem, q[unsure], CLOSED, closing.Counting(known.ranks, known.least))
            q[unsure], gaps[unsure] = again.q, again.gaps
            largest = np.abs(again.gaps).max(axis=-1, initial=0.0)
            if tolerance is None:
                done[unsure] = again.done | (again.held & (largest <= known.slack))
            else:
                done[unsure] = largest <= tolerance
        return q, gaps, done

    def _kept_within_limits(
        self, found: Array, done: Array, free: Array, guesses: Array, tolerance: float | None = None
    ) -> tuple[Array, Array]:
        """Return configurations within limits, where there are any beside the guesses, and where that is."""

        def again(q: Array, _: Array) -> tuple[Array, Array]:
            return self.closed_from(q, free, tolerance, bounded=True)[::2]

        return self.geometry.limits.kept(found, done, free, again, guesses)

    def _held(self, q: Array, fixed: Sequence[str] | Mapping[str, Any] | None) -> tuple[Array, Array]:
        """Put joints where they are to stay, and say which freedoms are left."""
        if isinstance(fixed, str):
            raise OptionError(f"fixed is a list of names of joints; for a single one write [{fixed!r}]")
        free = np.ones(self.geometry.nv, dtype=bool)
        for name in fixed or ():
            joint = self.model.joint(name)
            if joint.mimic:
                raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r} and cannot be held itself: hold that")
            free[joint.v_slice] = False
        if isinstance(fixed, Mapping):
            q = configurations.by_joint(self.model, fixed, q, "q_guess")
        return q, free

    # ---------------------------------------------------------------- velocities

    def project(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        fixed: Sequence[str] | None = None,
        *,
        tolerance: float | None = None,
    ) -> Any:
        """Return the nearest closed configuration; with ``v``, also the nearest velocity the loops allow."""
        closed = self.close(q, fixed, tolerance=tolerance, limits=False)
        if v is None:
            return closed
        nearest, ordinary = self.nearest_velocity(closed, v, rank.RELATIVE_TOLERANCE)
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
        """Return the nearest velocity, in energy, that loops allow, and where the configuration is not singular."""
        geometry, known = self.geometry, self.choice.at(q)
        v, k, m = as_array(v, (geometry.nv,), "v"), geometry.jacobian(q), geometry.mass_matrix(q)
        return dynamics.nearest_velocity(m, k, v, known.rank, geometry.size, max(least, known.least))

    # ---------------------------------------------------------------- some closed configuration

    @one_blas_thread()
    def assembled(self, rng: np.random.Generator | int | None = 0, tries: int = 200, *, limits: bool = True) -> Array:
        """Return some closed configuration; see :meth:`kinetree.Mechanism.assembled`."""
        found, beyond, search = self._assembled(random_source(rng, "rng"), whole_number(tries, "tries", 1), limits)
        if found is not None:
            return found
        name = self.model.name
        if beyond is not None:
            how = f"closed configurations of {name!r} were found, none of them within the limits of all joints"
            what = self.geometry.limits.refusal(how, beyond[None], np.array([True]), ())
            raise ClosureError(f"{what}; more tries= look further")
        raise ClosureError(
            f"no closed configuration of {name!r} was found: {search.how_far()}. {self.assembling.at_odds()}Give a "
            "guess that is nearer to close(), or look for a loop that cannot be closed at all"
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
        search = self.assembling.search(self.assembling.starts, generator, tries)
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
        """Return closed configurations, brought within limits where that can be, and those that stay beyond them."""
        if not self.geometry.limits.any:
            return closed, closed[:0]
        everything = np.ones(len(closed), dtype=bool), np.ones(self.geometry.nv, dtype=bool)
        found, within = self._kept_within_limits(closed, *everything, closed)
        return found[within], found[~within]

    def _beside_singular(self, q: Array, limits: bool) -> Array | None:
        """Return a closed configuration if it is far from singular ones, else the farthest beside it that is; or None.

        How far is told by the weakest constraint that counts, beside the strongest.
        """
        if self.choice.chosen is None:  # what is singular is not known
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
        """Return closed configurations: nearest to some given, else several that are found from random ones."""
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
            raise OptionError("mobility looks at one configuration at a time: give q of shape (nq,)")
        if not np.isfinite(state).all():
            raise StateError("the configuration holds NaN or infinity: nothing can be said about it")
        geometry, known = self.geometry, self.choice.at(state)
        k = geometry.jacobian(state[None])[0]
        here, opening, still = singular_directions(k, known.rank, geometry.size, known.least)
        names, count = geometry.v_names, geometry.n_constraints
        redundant = tuple(n for i, n in enumerate(self.model.constraint_names) if i not in known.rows)
        return Mobility(
            geometry.nv - known.rank, geometry.nv - count, count, known.rank, redundant,
            tuple(names[j] for j in known.independent), here < known.rank, opening, tuple(names[j] for j in still),
            known.decisions, known.slack, *self._of_velocity(state), tuple(names),
        )  # fmt: skip

    def _of_velocity(self, q: Array) -> tuple[tuple[str, ...], int]:
        """Return the names of constraints that hold velocities only, and how many freedoms are left without them."""
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
                "path must name at least one joint, and give as many positions of each: "
                + (", ".join(f"{n!r} {x.shape}" for n, x in zip(path, columns, strict=True)) or "nothing is given")
            )
        start = self.assembled() if q_guess is None else as_array(q_guess, (self.geometry.nq,), "q_guess")
        if lead_in:
            columns = [
                np.concatenate([start[None, self.model.joint(name).q_slice], x])
                for name, x in zip(path, columns, strict=True)
            ]
        goals = np.concatenate(columns, axis=-1)
        free = np.ones(self.geometry.nv, dtype=bool)
        free[rates] = False

        def close(guesses: Array, wanted: Array) -> tuple[Array, Array]:
            guesses = np.array(guesses)
            guesses[:, places] = wanted
            found, _, done = self.closed_from(guesses, free)
            return found, done

        def nearest(k: int, q: Array) -> Array:
            return self.close(q, {name: x[k] for name, x in zip(path, columns, strict=True)}, limits=limits)

        def difference(q0: Array, q1: Array) -> Array:
            return self.geometry.evaluator.run("difference", q0=q0, q1=q1)

        selected = np.eye(self.geometry.nv)[rates]
        problem = following.PathProblem(
            close, lambda q: (self.geometry.position_jacobian(q), selected), lambda a, b: b - a,
            lambda a, b, share: a + share * (b - a), self.geometry.moved, difference, self._follows(free, rates),
        )  # fmt: skip
        within = self.geometry.limits if limits else None
        before = int(lead_in)
        names = [self.model.q_names[k] for k in places]

        def said(goal: Array) -> str:
            return ", ".join(f"{name} = {x:.6g}" for name, x in zip(names, goal, strict=True))

        name = self.model.name
        q, reached = following.followed(problem, goals, start, nearest, within, must_reach, name, -before, said)
        return q[before:] if must_reach else (q[before:], reached[before:])

    def _follows(self, free: Array, rates: list[int]) -> Callable[[Array, Array, Array], Array] | None:
        """Return what judges configurations along a path of some freedoms; None if there is none."""
        kernel = self.kernel(free)
        if kernel is None:
            return None
        order = np.argsort(rates)
        return lambda q, there, way: kernel.follows(q, there, way[:, order])
