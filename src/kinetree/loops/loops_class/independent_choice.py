"""Which freedoms of a mechanism are independent, how all others follow, and which states count as closed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import independent_motion, loop_clusters, loop_constraints
from ...errors import ClosureError, RoundingWarning, callers_level
from ...evaluation.evaluator import Evaluator
from ...evaluation.wrenches import Wrenches
from ...model.changes.values import generic, symbols_of_geometry
from ...spatial.arrays import Array, as_array, batch_shape
from .. import closing_on_arrays, coordinates, rank
from ..assemblies.search_one import is_closed
from ..coordinates import ByName, Coordinates
from ..tolerances import ACCEPTED, CLOSED, WIDEST
from .assembling import Assembling
from .geometry import LoopGeometry

ASSEMBLIES = 8
"""If none of this many closed configurations is ordinary, coordinates are chosen at the first."""

BESIDE = 30.0
"""Redundant constraints may be violated by this many times their error near the configuration they were found at."""


class CoordinateChoice:
    """The coordinates of a mechanism, chosen once from its model.

    Parameters
    ----------
    assembling : Assembling
    wanted : sequence of int, optional
        The independent freedoms, if they were named.
    q_guess : ndarray, shape (nq,), optional
        A configuration near a closed one to choose at.
    """

    def __init__(
        self, assembling: Assembling, wanted: Sequence[int] | None = None, q_guess: Array | None = None
    ) -> None:  # fmt: skip
        self.assembling, self.geometry, self.model = assembling, assembling.geometry, assembling.model
        self.wanted, self.q_guess = wanted, q_guess

    @cached_property
    def driven(self) -> Array:
        """Which entries of ``tau`` have an actuator."""
        return np.array([j.actuated for j in self.model.joints if not j.mimic for _ in range(j.nv)], dtype=bool)

    @cached_property
    def supplied(self) -> Array:
        """Which entries of ``tau`` inverse dynamics may fill: driven ones, and those of a base that nothing drives.

        As for trees, the force on such a base is what would have to move it as requested; if a loop passes through its
        joint and so holds it, the joint counts like any other passive one.
        """
        around = np.zeros(self.model.nv, dtype=bool)
        around[[j for _, j in loop_constraints.pattern(self.model)]] = True
        root = np.zeros(self.model.nv, dtype=bool)
        for i in self.model.roots:
            joint = self.model.joints[i]
            if not joint.actuated and not joint.mimic:
                root[joint.v_slice] = not around[joint.v_slice].any()
        return np.asarray(self.driven | root)

    @cached_property
    def suppliers(self) -> tuple[int, ...]:
        """The entries of :attr:`supplied`; if they are the independent ones, fixed operations give them."""
        return tuple(int(j) for j in np.flatnonzero(self.supplied))

    # ---------------------------------------------------------------- choosing

    @property
    def coordinates(self) -> Coordinates:
        """Rank, independent constraints and independent freedoms; see :attr:`kinetree.Mechanism.coordinates`."""
        if self.chosen is None:
            raise ClosureError(
                f"the independent freedoms of {self.model.name!r} are chosen at a closed configuration, but none was "
                "found from random guesses: name one near it, kinetree.Mechanism(robot.model, q_guess=q)"
            )
        return self.chosen

    @cached_property
    def chosen(self) -> Coordinates | None:
        """Coordinates chosen from the model; None if no closed configuration is found.

        If dimensions are symbols, they are chosen from a model with numbers in their places.
        """
        if symbols_of_geometry(self.model):
            return self._with_numbers.chosen
        if self.ordinary is None:
            return None
        _, samples, gaps = self.ordinary
        found = self._choose(samples, gaps)
        if said := found.rounding_in_words(self.model.name):
            warnings.warn(said, RoundingWarning, stacklevel=callers_level())
        return found

    @property
    def _with_numbers(self) -> CoordinateChoice:
        own = self.geometry.evaluator
        there = Evaluator(generic(self.model), own.backend, own.precision, own.cpu)
        return CoordinateChoice(Assembling(LoopGeometry(there), self.assembling.rounding), self.wanted, self.q_guess)

    @cached_property
    def ordinary(self) -> tuple[Array, Array, Array] | None:
        """A closed configuration far from singular ones, if there is one, and K and gaps there and at its neighbors."""
        search, neighbors = self.assembling.search, self.assembling.neighbors
        if self.q_guess is not None:
            near = search({"q_guess": self.q_guess}, np.random.default_rng(0), 0)
            for closed in near:
                for q in closed:
                    return q, *neighbors.samples(q)
            raise ClosureError(f"the configuration given as q_guess leaves loops open: {near.how_far()}")
        first: tuple[Array, Array, Array] | None = None
        count = 0
        for closed in search(self.assembling.starts, np.random.default_rng(0), 200):
            for q in closed:
                found = q, *neighbors.samples(q)
                if neighbors.is_ordinary(*found[1:]):
                    return found
                first, count = (found if first is None else first), count + 1
            if count >= ASSEMBLIES:
                break
        return first

    def at(self, q: Array) -> Coordinates:
        """Return the coordinates; if no closed configuration is known to choose them at, those found at ``q``.

        Use this only for computations whose results do not depend on the choice.
        """
        if self.chosen is not None:
            return self.chosen
        finite = q.reshape(-1, self.geometry.nq)
        finite = finite[np.isfinite(finite).all(axis=-1)]
        neighbors = self.assembling.neighbors
        if not len(finite):  # all NaN, but of the right shape
            finite = self.assembling.starts["the neutral configuration"][None]
        # constraints that depend on one another where the loops are closed need not do so nearby
        near = closing_on_arrays.close_wherever_it_can_be(self.assembling.problem(), finite[:1], CLOSED)
        if is_closed(near)[0] and (near.done[0] or not neighbors.is_stretched(near.q[0])):
            return self._choose(*neighbors.samples(near.q[0]))
        return self._choose(self.geometry.jacobian(finite[:1]), np.zeros((1, self.geometry.n_constraints)))

    def _choose(self, samples: Array, gaps: Array) -> Coordinates:
        assembling = self.assembling
        found = coordinates.choose(
            samples, gaps, self.supplied, self.wanted, self.model, assembling.clusters, assembling.rounding
        )
        pairs = zip(found.decisions, assembling.clusters.all, strict=True)
        rounded = [(d, cluster.length) for d, cluster in pairs if d.by_rounding]
        seen = float(np.abs(gaps).max(initial=0.0))
        if not rounded and not (seen > CLOSED and any(d.redundant for d in found.decisions)):
            return found
        weak = max((d.dropped * length for d, length in rounded), default=0.0)  # zero if axes are exactly parallel
        return replace(found, slack=min(WIDEST, BESIDE * max(seen, 0.1 * weak)), remaining=seen)

    @cached_property
    def _others(self) -> dict[tuple[int, ...], Coordinates]:
        return {}

    def including(self, freedoms: tuple[int, ...]) -> Coordinates:
        """Return coordinates in which some freedoms are independent; cached."""
        known = self.coordinates
        if set(freedoms) <= set(known.independent):
            return known
        if freedoms not in self._others:
            self._others[freedoms] = coordinates.including(known, freedoms, self.supplied, self.geometry.v_names)
        return self._others[freedoms]

    # ---------------------------------------------------------------- what is closed

    def granted(self, tolerance: float | None, known: Coordinates) -> float:
        """Return the largest error that a state may have."""
        return self.geometry.checks.granted(max(ACCEPTED, known.slack) if tolerance is None else tolerance)

    def check_closed(self, q: ArrayLike, tolerance: float | None = None) -> Array:
        """Return ``q`` as an array; refuse configurations whose loops are open by more than ``tolerance``."""
        geometry = self.geometry
        array = geometry.configuration(q)
        error = geometry.closure_error(array)
        granted = geometry.checks.granted(ACCEPTED if tolerance is None else tolerance)
        if tolerance is None and (error > granted).any():
            granted = max(granted, self.at(array).slack)
        geometry.checks.closed(array, error, granted)
        return array

    def check_motion(self, q: Array, v: Array, a: Array | None, granted: float) -> None:
        """Refuse a state, or a motion, that the loops do not allow."""
        left = self.geometry.exact.run("loop_residuals", q=q, v=v, a=np.zeros(self.model.nv) if a is None else a)
        if a is None:
            left[..., 2] = 0.0
        self.geometry.checks.motion(left, granted, q, v, a)

    def closed_motion(self, q: Any, v: Any, a: Any, tolerance: float | None) -> tuple[Array, Array, Array]:
        """Return a motion as arrays; refuse one that the loops do not allow."""
        nv = self.geometry.nv
        state, v, a = self.geometry.configuration(q), as_array(v, (nv,), "v"), as_array(a, (nv,), "a")
        self.check_motion(state, v, a, self.granted(tolerance, self.at(state)))
        return state, v, a

    # ---------------------------------------------------------------- how the others follow

    def independent(self, q: ArrayLike | None = None) -> list[str]:
        """Return the names of the freedoms that the others follow from."""
        if q is not None:
            self.check_closed(q)
        return [self.geometry.v_names[j] for j in self.coordinates.independent]

    def basis(self, q: ArrayLike) -> Array:
        """Return the matrix G of ``v = G v_independent`` at closed configurations, (..., nv, freedoms)."""
        found = self._quick_basis(self.geometry.configuration(q))
        return self.basis_of(self.geometry.jacobian(self.check_closed(q))) if found is None else found

    def basis_of(self, k: Array) -> Array:
        """Return G from K."""
        return coordinates.basis(k, self.coordinates, self.geometry.v_names, self.geometry.size)

    def _quick_basis(self, q: Array) -> Array | None:
        """Return G by fixed operations; None if a state needs a closer look."""
        found = None if self.chosen is None else self.at_once("closed_basis", q=q)
        if found is None:
            return None
        known = self.coordinates
        g = np.zeros((*found.shape[:-1], self.model.nv, known.freedoms))
        g[..., list(known.independent), range(known.freedoms)] = 1.0
        g[..., self._places_in_basis[0], self._places_in_basis[1]] = found
        return g

    @cached_property
    def _places_in_basis(self) -> tuple[list[int], list[int]]:
        """Rows and columns of G that are neither zero nor one."""
        column = {j: n for n, j in enumerate(self.coordinates.independent)}
        places = independent_motion.pattern(self.model, self.coordinates.pivots)
        return [j for j, _ in places], [column[i] for _, i in places]

    def motions(self, q: Array) -> tuple[Array, Array]:
        """Return the motions that loops allow at closed configurations as columns, and which of these count."""
        found = self._quick_basis(q)
        if found is not None:
            return found, np.ones((*found.shape[:-2], found.shape[-1]), dtype=bool)
        known = self.at(self.check_closed(q))
        return rank.motions(self.geometry.jacobian(q), known.rank, self.geometry.size, known.least)

    def velocities(self, q: ArrayLike, v_independent: ByName) -> Array:
        """Return all velocities from the independent ones."""
        given = coordinates.by_name(v_independent, self.independent(), "v_independent")
        state = self.geometry.configuration(q)
        batch_shape(q=(state, 1), v_independent=(given, 1))
        found = self.at_once("closed_velocities", q=state, v=self._laid_out(given))
        if found is not None:
            return found
        state = self.check_closed(q)
        return np.asarray((self.basis_of(self.geometry.jacobian(state)) @ given[..., None])[..., 0])

    def accelerations(self, q: ArrayLike, v: ArrayLike, a_independent: ByName) -> Array:
        """Return all accelerations from the independent ones, at a closed state."""
        geometry, known = self.geometry, self.coordinates
        given = coordinates.by_name(a_independent, self.independent(), "a_independent")
        state, v = geometry.configuration(q), as_array(v, (geometry.nv,), "v")
        batch_shape(q=(state, 1), v=(v, 1), a_independent=(given, 1))
        found = self.at_once("closed_accelerations", q=state, v=v, a=self._laid_out(given))
        if found is not None:
            return found
        state = self.check_closed(q)
        k, bias = geometry.jacobian(state), geometry.drift(state, v)
        geometry.checks.velocity((k @ v[..., None])[..., 0], v, self.granted(None, known))
        moved = (self.basis_of(k) @ given[..., None])[..., 0]
        batch = np.broadcast_shapes(moved.shape[:-1], bias.shape[:-1])
        a = np.array(np.broadcast_to(moved, (*batch, geometry.nv)))
        if known.dependent:
            rest = coordinates.follow(k, -bias[..., None], known, geometry.v_names, geometry.size)
            a[..., list(known.dependent)] += rest[..., 0]
        return a

    def _laid_out(self, given: Array) -> Array:
        """Return numbers of the independent freedoms placed among zeros for the others, (..., nv)."""
        whole = np.zeros((*given.shape[:-1], self.model.nv))
        whole[..., list(self.coordinates.independent)] = given
        return whole

    def at_once(self, name: str, wrenches: Wrenches = None, parameters: Any = None, **arrays: Any) -> Array | None:
        """Return the result of an algorithm in independent coordinates by fixed operations, (..., n).

        None if a state needs a closer look: the loops do not allow it, or pivots work badly.  Also None if redundant
        constraints contradict one another because of rounding, so that it matters which of them count.
        """
        known, exact = self.coordinates, self.geometry.exact
        if any(d.by_rounding for d in known.decisions):
            return None
        try:
            whole = exact.run(name, {"pivots": known.pivots}, wrenches=wrenches, parameters=parameters, **arrays)
        except ZeroDivisionError:  # the reference skips zeros, and stops at a zero pivot
            return None
        least = loop_clusters.LEAST_QUALITY_OF_CLUSTERS
        if name in ("closed_velocities", "closed_accelerations"):
            least = independent_motion.least_quality_of_rates(known.pivots)
        limit = self.granted(None, known) ** 2
        if (whole[..., -4] < max(least, known.least**2)).any() or (whole[..., -3:] > limit).any():
            return None
        return np.asarray(whole[..., :-4])
