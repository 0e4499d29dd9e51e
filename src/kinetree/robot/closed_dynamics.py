"""Dynamics of closed loops by fixed sequences of operations: compiled once, and called with as little ado as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import composite_body, constrained, loop_clusters
from ..algorithms.loop_clusters import Pivots
from ..algorithms.singular_joints import all_solid
from ..errors import OptionError, ShapeError, SingularError
from ..loops import dynamics, rank
from ..loops.coordinates import Coordinates
from ..model.describe import counted
from ..run.checks import check_out
from ..run.evaluator import Evaluator
from ..run.wrenches import Wrenches, gather
from ..spatial.arrays import as_array, batch_shape
from .closed_kinematics import ClosedKinematics
from .robot import Array

LEAST_QUALITY = constrained.LEAST_QUALITY
"""Where the prepared choice of coordinates serves worse than this (a squared sine), the general method steps in."""

LEAST_QUALITY_SINGLE = constrained.LEAST_QUALITY_SINGLE
"""As :data:`LEAST_QUALITY`, in single precision."""

LEAST_QUALITY_OF_CLUSTERS = loop_clusters.LEAST_QUALITY
"""As :data:`LEAST_QUALITY`, for the choice of independent freedoms within clusters of loops."""

CLUSTERED = 3
"""With so many independent constraints, loops are gone through cluster by cluster."""

MOST_TOGETHER = 16
"""Constraints up to which all are eliminated together where clusters do not serve: more take minutes to compile."""


class Quick:
    """An algorithm of a mechanism as machine code, whose results count where nothing is unusual.

    Parameters
    ----------
    function : callable
        Of vectors: what is wanted, multipliers, quality and the squares of three residuals.
    count : int
        How many numbers are wanted.
    limit : float
        Of the residuals' squares.
    least : float
        Of the quality.
    """

    __slots__ = ("count", "function", "least", "limit")

    def __init__(self, function: Callable[..., Array], count: int, limit: float, least: float) -> None:
        self.function, self.count, self.limit, self.least = function, count, limit, least

    def __call__(self, *vectors: Any) -> Array | None:
        """Return what is wanted; None where the state has to be looked at, or the choice of coordinates is poor."""
        whole = self.function(*vectors)
        limit = self.limit
        if whole.ndim == 1:
            quality, gap, speed, rate = whole[-4:].tolist()
            if quality < self.least or gap > limit or speed > limit or rate > limit:
                return None
            return np.asarray(whole[: self.count])
        if (whole[..., -4] < self.least).any() or (whole[..., -3:] > limit).any():
            return None
        return np.asarray(whole[..., : self.count])


class ClosedDynamics(ClosedKinematics):
    """What a :class:`kinetree.Mechanism` computes with choices that were made beforehand: its base class."""

    def _at_once(
        self, name: str, options: dict[str, Any], wrenches: Wrenches, threads: int, parameters: Any, **state: Any
    ) -> Array | None:
        """Return forces or accelerations, multipliers, quality and residuals, straight from machine code if possible.

        None where a pivot is exactly zero and the reference, which leaves out zeros, stops at it.
        """
        try:
            return self.evaluator.run(name, options, wrenches=wrenches, parameters=parameters, threads=threads, **state)
        except ZeroDivisionError:
            return None

    _quick_forward: Quick | None = None
    _quick_inverse: Quick | None = None

    def _quick(self, name: str, options: dict[str, Any], known: Coordinates) -> Quick | None:
        """Return an algorithm with its choices as machine code, for states in which nothing is unusual."""
        function = self.evaluator.entry_point(name, options) if self._choice is not None else None
        if function is None:
            return None
        least = self._least_quality(known)
        if name.startswith("clustered"):
            least = max(least, LEAST_QUALITY_OF_CLUSTERS)
        return Quick(function, self.nv, self._granted(None, known) ** 2, least)

    def _least_quality(self, known: Coordinates) -> float:
        return max(LEAST_QUALITY if self.precision == "double" else LEAST_QUALITY_SINGLE, known.least**2)

    def _goes_by_clusters(self, known: Coordinates) -> bool:
        """Return whether loops are many enough that going through them one after the other is less work."""
        return (
            known.rank >= CLUSTERED and self._choice is not None and not self.model.has_followers
            and self.has_inertia
        )  # fmt: skip

    @cached_property
    def has_inertia(self) -> bool:
        """Whether all that moves has inertia, with loops open and with loops closed: fixed operations divide by it."""
        if self.tree.evaluator.singular_joint() is not None:
            return False
        if self._all_solid or self._ordinary is None:
            return True
        q = self._ordinary[0]
        mass, k = np.array(composite_body.mass_matrix(self.model, q.tolist()), dtype=float), self.loop_jacobian(q)
        return not rank.massless(*self._without_units(mass, k), self.coordinates_at(q).least)

    def _need_inertia(self, mass: Array, k: Array, known: Coordinates, as_built: bool = True) -> None:
        """Refuse states in which a motion that the loops allow has no inertia; ``as_built`` are bodies of the model."""
        if not (as_built and self._all_solid) and rank.massless(*self._without_units(mass, k), known.least).any():
            raise rank.no_inertia()

    @cached_property
    def _all_solid(self) -> bool:
        return all_solid(self.model)

    def _without_units(self, mass: Array, k: Array) -> tuple[Array, Array]:
        rows, columns = self._clusters.scales(self.model)
        return mass * columns * columns[:, None], k * columns * rows[:, None]

    def elimination_order(self, q: Array) -> Pivots:
        """Return constraints, each with the freedom that it determines, by which loops are gone through in clusters.

        Nothing where they are few, or where that choice cannot be made: then all are taken together.
        """
        known = self.coordinates_at(np.asarray(q))
        return known.pivots if self._goes_by_clusters(known) else ()

    def _by_clusters(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches, tolerance: float | None, known: Coordinates,
        threads: int, parameters: Any,
    ) -> Array | None:  # fmt: skip
        """Return accelerations by articulated bodies through clusters of loops; None where their choice is poor."""
        options = {"pivots": known.pivots}
        whole = self._at_once("clustered_forward_dynamics", options, wrenches, threads, parameters, q=q, v=v, tau=tau)
        least = max(LEAST_QUALITY_OF_CLUSTERS, self._least_quality(known))
        if whole is None or (whole[..., -4] < least).any():
            return None
        self._checks.motion(whole[..., -3:], self._granted(tolerance, known), q, v)
        if self.precision == "double" and parameters is None:
            self._quick_forward = self._quick("clustered_forward_dynamics", options, known)
        return np.asarray(whole[..., : self.nv])

    @cached_property
    def _written(self) -> Evaluator:
        """The same mechanism as its laws are written, for other scalars than machine code has."""
        return Evaluator(self.model, "reference")

    # ---------------------------------------------------------------- what can be refused before anything is computed

    def _check_rooms(
        self, rooms: Sequence[Array], tails: Sequence[tuple[int, ...]], wrenches: Wrenches, parameters: Any = None,
        **vectors: Array,
    ) -> None:  # fmt: skip
        """Refuse arrays that results of certain shapes, the batch left out, cannot be written to."""
        varied = self.evaluator.read_parameters(parameters).numbers
        given = vectors | {"wrenches": gather(self.model, wrenches).numbers, "parameters": varied}
        shapes = {name: (x, 1) for name, x in given.items() if x is not None}
        for room, tail in zip(rooms, tails, strict=True):
            check_out(room, (*batch_shape(**shapes), *tail))

    def _vectors(self, q: ArrayLike, v: ArrayLike, **more: ArrayLike) -> dict[str, Array]:
        state = {"q": self.evaluator.states.configuration(q), "v": as_array(v, (self.nv,), "v", f"{self.nv} = nv")}
        return state | {name: as_array(x, (self.nv,), name, f"{self.nv} = nv") for name, x in more.items()}

    def _closed_motion(self, q: Any, v: Any, a: Any, tolerance: float | None) -> tuple[Array, Array, Array]:
        """Return a motion as arrays; refuse one that the loops do not allow."""
        state, v, a = self.evaluator.states.configuration(q), as_array(v, (self.nv,), "v"), as_array(a, (self.nv,), "a")
        self._allowed(state, v, a, self._granted(tolerance, self.coordinates_at(state)))
        return state, v, a

    def _allowed(self, q: Array, v: Array, a: Array | None, granted: float) -> None:
        """Refuse a state, or a motion, that the loops do not allow."""
        k = self.loop_jacobian(q)
        gaps, speeds = self.loop_gaps(q), (k @ v[..., None])[..., 0]
        left = np.zeros(1) if a is None else (k @ a[..., None])[..., 0] + self.loop_drift(q, v)
        sums = [(x * x).sum(axis=-1) for x in (gaps, speeds, left)]
        self._checks.motion(np.stack(np.broadcast_arrays(*sums), axis=-1), granted, q, v, a)

    def _checked_weights(self, weights: Any) -> Array:
        """Return what the force of each actuator costs, where there are more than freedoms."""
        cost = np.ones(self.nv) if weights is None else as_array(weights, (self.nv,), "weights")
        if cost.shape != (self.nv,):
            raise ShapeError(f"weights must have shape ({self.nv},), the same for all states, got {cost.shape}")
        if not (np.isfinite(cost[self._supplied]) & (cost[self._supplied] > 0.0)).all():
            raise OptionError("weights must be positive, finite numbers at every actuated joint")
        return cost

    def _enough_in_number(self, known: Coordinates, most: Array | None = None) -> None:
        """Refuse a mechanism with fewer actuators than freedoms; ``most`` are forces that are missing."""
        freedoms, count = self.nv - known.rank, int(self._supplied.sum())
        if count < freedoms:
            motors, left = int(self.driven.sum()), [j for j in known.independent if not self._supplied[j]]
            listed = ", ".join(self.v_names[j] for j in left[:6]) + (", ..." if len(left) > 6 else "")
            base = f" beside the {count - motors} of its base" if count > motors else ""
            said = "so not every motion that is asked for can be had"
            if most is not None:
                worst = int(np.argmax(most))
                unit = self.model.tau_units[worst]
                said = f"and this motion does not happen by itself: {most[worst]:.3g} {unit} are missing at " + repr(
                    self.v_names[worst]
                )
            raise SingularError(
                f"{self.name!r} has {freedoms} freedoms but {counted(motors, 'actuator', 'actuators')}{base}: nothing "
                f"drives {listed}, {said}. "
                "hybrid_dynamics(q, v, a={joint: ...}) takes the motion of "
                "driven joints and finds that of the others; or mark more joints as actuated"
            )

    def _enough_hold(self, k: Array, known: Coordinates) -> None:
        """Refuse states in which the actuators have no hold on one of the motions that loops allow."""
        bad = dynamics.without_hold(k, known.rank, self._supplied, self._size, known.least)
        if bad.any():
            lane = np.unravel_index(int(np.argmax(bad)), bad.shape)
            where = f" in state {tuple(int(i) for i in lane)}" if bad.ndim else ""
            listed = ", ".join(n for n, d in zip(self.v_names, self._supplied, strict=True) if d)
            raise SingularError(
                f"singular configuration of {self.name!r}{where}, or motors in the wrong places: the actuators "
                f"({listed}) have no hold on one of its motions (see mobility(q)), so their forces are not determined"
            )
