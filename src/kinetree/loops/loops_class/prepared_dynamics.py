"""Dynamics of closed loops by fixed sequences of operations: compiled once, and called with little overhead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, update_wrapper
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import composite_body, constrained_dynamics, loop_clusters
from ...algorithms.loop_clusters import Pivots
from ...algorithms.singular_joints import all_solid
from ...algorithms.table import find
from ...errors import OptionError, ShapeError, SingularError, UnsupportedError
from ...evaluation.checks import check_out
from ...evaluation.evaluator import Evaluator
from ...evaluation.parameters import SYMBOLS
from ...evaluation.wrenches import Wrenches, gather
from ...model.changes.values import exemplary, symbols_of_geometry
from ...model.describe import counted
from ...spatial.arrays import Array, as_array, batch_shape, pack
from .. import dynamics, rank
from ..coordinates import Coordinates
from .independent_choice import CoordinateChoice

CLUSTERED = 3
"""Number of independent constraints from which loops are processed cluster by cluster."""

OTHER_ORDERS = 4
"""Number of other orders of elimination that are tried if the usual one works badly."""


class Quick:
    """An algorithm of a mechanism as machine code, whose results are valid if nothing is unusual.

    Parameters
    ----------
    function : callable
        Takes vectors; returns the result, multipliers, quality and the squares of three residuals.
    count : int
        Length of the result.
    limit : float
        Limit of the residuals' squares.
    least : float
        Least acceptable quality.
    """

    __slots__ = ("count", "function", "least", "limit")

    def __init__(self, function: Callable[..., Array], count: int, limit: float, least: float) -> None:
        self.function, self.count, self.limit, self.least = function, count, limit, least

    def __call__(self, *vectors: Any) -> Array | None:
        """Return the result; None if the state needs a closer look, or the choice of coordinates is poor."""
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


class QuickMethod:
    """A method of a mechanism whose plain form, vectors and no options, goes directly to machine code once it can.

    Parameters
    ----------
    method : callable
        The method itself, bound to its robot.
    inputs : sequence of str
        Names of the vectors.
    of : object
        Object whose ``quick`` is the machine code, None before there is any.
    """

    def __init__(self, method: Callable[..., Any], inputs: Sequence[str], of: HasQuick) -> None:
        self.method, self.inputs, self.of = method, tuple(inputs), of
        update_wrapper(self, method)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call machine code if it exists and only vectors are given, otherwise the method."""
        quick, vectors = self.of.quick, given
        if named:
            try:
                vectors = (*given, *map(named.__getitem__, self.inputs[len(given) :]))
            except KeyError:
                vectors = ()
        if quick is not None and len(vectors) == len(self.inputs) == len(given) + len(named):
            found = quick(*vectors)
            if found is not None:
                return found
        return self.method(*given, **named)


class HasQuick(Protocol):
    """An object that keeps an algorithm as machine code."""

    quick: Quick | None


class PreparedDynamics:
    """Dynamics with choices made in advance, and checks that refuse arguments before anything is computed.

    Parameters
    ----------
    choice : CoordinateChoice
    """

    def __init__(self, choice: CoordinateChoice) -> None:
        self.choice, self.geometry, self.model = choice, choice.geometry, choice.model
        self.evaluator, self.exact = choice.geometry.evaluator, choice.geometry.exact
        self.nv, self.v_names, self.is_single = self.geometry.nv, self.geometry.v_names, self.geometry.is_single

    def at_once(
        self, name: str, options: dict[str, Any], wrenches: Wrenches, threads: int, parameters: Any, **state: Any
    ) -> Array | None:
        """Return forces or accelerations, multipliers, quality and residuals, directly from machine code if possible.

        None if the reference, which skips zeros, meets an exactly zero pivot.
        """
        try:
            return self.evaluator.run(name, options, wrenches=wrenches, parameters=parameters, threads=threads, **state)
        except ZeroDivisionError:
            return None

    def made(self, name: str, options: dict[str, Any], known: Coordinates) -> Quick | None:
        """Return an algorithm with its choices as machine code, for states in which nothing is unusual."""
        if self.is_single or self.choice.chosen is None:
            return None
        function = self.evaluator.entry_point(name, options)
        if function is None:
            return None
        least = self.least_quality(known)
        if name.startswith("clustered"):
            least = max(least, loop_clusters.LEAST_QUALITY_OF_CLUSTERS)
        return Quick(function, self.nv, self.choice.granted(None, known) ** 2, least)

    def least_quality(self, known: Coordinates) -> float:
        """Return the quality (a squared sine) below which the general method replaces the prepared choice."""
        usual = constrained_dynamics.LEAST_QUALITY_SINGLE if self.is_single else constrained_dynamics.LEAST_QUALITY
        return max(usual, known.least**2)

    def goes_by_clusters(self, known: Coordinates) -> bool:
        """Return whether there are so many loops that processing them one after the other is less work."""
        many = known.rank >= CLUSTERED and self.choice.chosen is not None
        return many and not self.model.has_followers and self.has_inertia

    def elimination_order(self, q: Array) -> Pivots:
        """Return constraints, each with the freedom that it determines, in the order of processing clusters."""
        known = self.choice.at(np.asarray(q))
        return known.pivots if self.goes_by_clusters(known) else ()

    # ---------------------------------------------------------------- inertia

    @cached_property
    def has_inertia(self) -> bool:
        """Whether everything that moves has inertia, with loops open and closed: fixed operations divide by it."""
        if self.evaluator.singular_joint() is not None:
            return False
        if self._all_solid or self.choice.ordinary is None:
            return True
        q = self.choice.ordinary[0]
        mass = np.array(composite_body.mass_matrix(exemplary(self.model), q.tolist()), dtype=float)
        k = self.geometry.jacobian(q)
        return not rank.massless(*self._without_units(mass, k), self.choice.at(q).least)

    def need_inertia(self, mass: Array, k: Array, known: Coordinates, as_built: bool = True) -> None:
        """Refuse states in which a motion has no inertia; ``as_built`` if bodies have the model's own masses."""
        if not (as_built and self._all_solid) and rank.massless(*self._without_units(mass, k), known.least).any():
            raise rank.no_inertia()

    @cached_property
    def _all_solid(self) -> bool:
        return all_solid(self.model)

    def _without_units(self, mass: Array, k: Array) -> tuple[Array, Array]:
        rows, columns = self.choice.assembling.clusters.scales(self.model)
        return mass * columns * columns[:, None], k * columns * rows[:, None]

    # ---------------------------------------------------------------- a choice of pivots that works everywhere

    def in_good_order(
        self, name: str, options: dict[str, Any], known: Coordinates, wrenches: Wrenches, tolerance: float | None,
        threads: int, arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Return results in which every pivot is good, for states that the loops allow; others are refused.

        A singular configuration raises an error.  States are checked with existing code before machine code is made,
        which may take long.
        """
        granted, q = self.choice.granted(tolerance, known), arrays["q"]
        state = q, arrays["v"], arrays.get("a")
        if not self.exact.is_made(name, options):
            self.choice.check_motion(*state, granted)
            if self._is_singular(self.geometry.jacobian(q), known).any():
                raise self._singular(known)
        whole = self._eliminated(name, options, known, wrenches, threads, arrays)
        self.geometry.checks.motion(whole[..., -3:], granted, *state)
        return whole

    def _is_singular(self, k: Array, known: Coordinates) -> Array:
        """Return in which states the dependent freedoms do not follow from the others."""
        columns = k[..., list(known.rows), :][..., list(known.dependent)]
        few = rank.numerical_rank(columns, self.geometry.size, known.least) < known.rank
        return np.asarray(few & np.isfinite(columns).all(axis=(-1, -2)))

    def _singular(self, known: Coordinates) -> SingularError:
        listed = ", ".join(self.v_names[j] for j in known.independent)
        return SingularError(
            f"singular configuration: the motion of {self.model.name!r} does not follow from {listed} here, so there "
            "is no answer in terms of these; see mobility(q), or choose others with with_independent([...])"
        )

    def _eliminated(
        self, name: str, options: dict[str, Any], known: Coordinates, wrenches: Wrenches, threads: int,
        arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Return results in which every pivot is good, trying other orders of elimination if necessary."""
        least = max(loop_clusters.LEAST_QUALITY_OF_CLUSTERS, self.least_quality(known))
        whole = self._tried(self.exact, name, options, wrenches, threads, arrays)
        for _ in range(OTHER_ORDERS):
            poor = whole[..., -4] < least
            if not poor.any():
                return whole
            states = np.broadcast_to(arrays["q"], (*poor.shape, self.geometry.nq))[poor]
            k = self.geometry.jacobian(states[0])
            if self._is_singular(k, known):
                break
            k = k[list(known.rows)]
            # another order of elimination, not worth separate machine code
            other = {**options, "pivots": replace(known, sample=k).pivots}
            again = self._tried(self._written, name, other, wrenches, threads, arrays)
            whole = np.where((poor & (again[..., -4] > whole[..., -4]))[..., None], again, whole)
        raise self._singular(known)

    def _tried(
        self, evaluator: Evaluator, name: str, options: dict[str, Any], wrenches: Wrenches, threads: int,
        arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Return an algorithm's results; with zero quality if the reference, which skips zeros, stops at one."""
        try:
            return evaluator.run(name, options, wrenches=wrenches, threads=threads, **arrays)
        except ZeroDivisionError:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
            return np.zeros((*batch, *find(name).shape(self.model, options)))

    @cached_property
    def _written(self) -> Evaluator:
        """The same mechanism without machine code, for scalars of other types."""
        return Evaluator(self.model, "reference")

    # ---------------------------------------------------------------- arguments and results

    def vectors(self, q: ArrayLike, v: ArrayLike, **more: ArrayLike) -> dict[str, Array]:
        """Return a state, and other vectors laid out like ``v``, as arrays."""
        wanted = f"{self.nv} = nv"
        state = {"q": self.geometry.configuration(q), "v": as_array(v, (self.nv,), "v", wanted)}
        return state | {name: as_array(x, (self.nv,), name, wanted) for name, x in more.items()}

    def check_rooms(
        self, rooms: Sequence[Array], tails: Sequence[tuple[int, ...]], wrenches: Wrenches, parameters: Any = None,
        **vectors: Array,
    ) -> None:  # fmt: skip
        """Refuse arrays to which results of certain shapes (without the batch) cannot be written."""
        varied = self.evaluator.read_parameters(parameters).numbers
        given = vectors | {"wrenches": gather(self.model, wrenches).numbers, "parameters": varied}
        shapes = {name: (x, 1) for name, x in given.items() if x is not None}
        for room, tail in zip(rooms, tails, strict=True):
            check_out(room, (*batch_shape(**shapes), *tail))

    def handed_out(self, result: Array, out: Array | None = None) -> Array:
        """Return a result in the robot's precision, written to ``out`` if given."""
        if out is None:
            return result.astype(np.float32, copy=False) if self.is_single else result
        check_out(out, result.shape)
        out[...] = result
        return out

    def keep_geometry(self, parameters: Any) -> None:
        """Refuse parameters that would move the places where loops close."""
        given, symbols = self.evaluator.read_parameters(parameters), symbols_of_geometry(self.model)
        for place in (*given.of_geometry, *(p for p in given.places if p.table == SYMBOLS and p.key in symbols)):
            raise UnsupportedError(
                f"parameter {place} of {self.model.name!r} determines where its loops close, so it cannot vary from "
                "call to call: build the mechanism again, or move many designs at once with driven_motion(...)"
            )

    def body_loads(self, wrenches: Wrenches, q: Array) -> Array:
        """Return the loads of wrenches on each body, (..., bodies, 6)."""
        with np.errstate(all="ignore"):
            given = gather(self.model, wrenches)
            loads = self.evaluator.loads(given, q)
            batch = batch_shape(q=(q, 1), **({} if given.numbers is None else {"wrenches": (given.numbers, 1)}))
            return pack([[0.0] * 6 if f is None else list(f) for f in loads], batch)

    # ---------------------------------------------------------------- whether actuators are enough

    def checked_weights(self, weights: Any) -> Array:
        """Return the weight of each actuator's force, used if there are more actuators than freedoms."""
        cost = np.ones(self.nv) if weights is None else as_array(weights, (self.nv,), "weights")
        if cost.shape != (self.nv,):
            raise ShapeError(f"weights must have shape ({self.nv},), the same for all states, got {cost.shape}")
        paid = cost[self.choice.supplied]
        if not (np.isfinite(paid) & (paid > 0.0)).all():
            raise OptionError("weights must be positive, finite numbers at every actuated joint")
        return cost

    def enough_in_number(self, known: Coordinates, most: Array | None = None) -> None:
        """Refuse a mechanism with fewer actuators than freedoms; ``most`` are the missing forces."""
        supplied = self.choice.supplied
        freedoms, count = self.nv - known.rank, int(supplied.sum())
        if count < freedoms:
            motors, left = int(self.choice.driven.sum()), [j for j in known.independent if not supplied[j]]
            listed = ", ".join(self.v_names[j] for j in left[:6]) + (", ..." if len(left) > 6 else "")
            base = f" beside the {count - motors} of its base" if count > motors else ""
            said = "so not every requested motion is possible"
            if most is not None:
                worst = int(np.argmax(most))
                unit = self.model.tau_units[worst]
                said = f"and this motion needs a force: {most[worst]:.3g} {unit} are missing at " + repr(
                    self.v_names[worst]
                )
            raise SingularError(
                f"{self.model.name!r} has {freedoms} freedoms but {counted(motors, 'actuator', 'actuators')}{base}: "
                f"nothing drives {listed}, {said}. "
                "hybrid_dynamics(q, v, a={joint: ...}) takes the motion of "
                "driven joints and finds that of the others; or mark more joints as actuated"
            )

    def enough_hold(self, along: tuple[Array, Array], known: Coordinates) -> None:
        """Refuse states in which the actuators do not control one of the motions that loops allow."""
        bad = dynamics.without_hold(*along, self.choice.supplied, known.least)
        if bad.any():
            lane = np.unravel_index(int(np.argmax(bad)), bad.shape)
            where = f" in state {tuple(int(i) for i in lane)}" if bad.ndim else ""
            listed = ", ".join(n for n, d in zip(self.v_names, self.choice.supplied, strict=True) if d)
            raise SingularError(
                f"singular configuration of {self.model.name!r}{where}, or motors in the wrong places: the actuators "
                f"({listed}) do not control one of its motions (see mobility(q)), so their forces are not determined"
            )
