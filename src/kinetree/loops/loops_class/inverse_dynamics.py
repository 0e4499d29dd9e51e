"""The forces of a motion of a mechanism: those of its actuators, of its loops, and in its bearings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import loop_clusters
from ...errors import UnknownNameError
from ...evaluation.friction_on_arrays import friction_force
from ...evaluation.small_matrices import one_blas_thread
from ...evaluation.wrenches import Wrenches
from ...spatial.arrays import Array, as_array, batch_shape
from .. import dynamics, rank
from ..constraint_forces import SHARE, ConstraintForces, ForceNames, Undetermined, free_shares
from ..coordinates import Coordinates
from ..tolerances import NOTHING
from .prepared_dynamics import PreparedDynamics, Quick

if TYPE_CHECKING:
    from ..subsystems.order import SolutionOrder

INVERSE_METHODS = ("reduced", "f_matrix", "subsystems")

BY_ITSELF = 1e-6
"""Missing forces of a motion count as zero below this fraction of the forces of and in its joints."""


class InverseOfLoops:
    """Inverse dynamics of a mechanism.

    Parameters
    ----------
    prepared : PreparedDynamics
    """

    def __init__(self, prepared: PreparedDynamics) -> None:
        self.prepared, self.choice, self.geometry = prepared, prepared.choice, prepared.geometry
        self.model, self.evaluator, self.exact = prepared.model, prepared.evaluator, prepared.exact
        self.nv = prepared.nv
        self.quick: Quick | None = None

    # ---------------------------------------------------------------- actuator forces

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches = None, friction: bool = False, method: str | None = None,
        weights: Any = None, tolerance: float | None = None, parameters: Any = None, out: Array | None = None,
        threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the actuator forces for a motion; see :meth:`kinetree.Robot.inverse_dynamics`."""
        method, prepared = checked_method(method), self.prepared
        prepared.keep_geometry(parameters)
        if out is not None:
            prepared.check_rooms([out], [(self.nv,)], wrenches, parameters, **prepared.vectors(q, v, a=a))
        tau = None
        if method == "reduced" and weights is None:
            tau = self._at_once(q, v, a, wrenches, friction, tolerance, threads, parameters)
        if tau is None:
            tau = self.by_rank(q, v, a, wrenches, friction, method, weights, tolerance, parameters)[0]
        return prepared.handed_out(tau, out)

    def _at_once(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, friction: bool, tolerance: float | None, threads: int = 1,
        parameters: Any = None,
    ) -> Array | None:  # fmt: skip
        """Return forces in one pass with the prepared coordinates; None if that is impossible."""
        state, v, a = self.geometry.configuration(q), as_array(v, (self.nv,), "v"), as_array(a, (self.nv,), "a")
        known = self.choice.at(state)
        if known.independent != self.choice.suppliers:
            return None
        name: str = "closed_inverse_dynamics"
        options: dict[str, Any] = {"rows": known.rows, "dependent": known.dependent}
        least = self.prepared.least_quality(known)
        if self.choice.chosen is not None and (friction or len(known.rows) > dynamics.MOST_TOGETHER):
            name, options = "clustered_inverse_dynamics", {"pivots": known.pivots, "friction": friction}
            least = max(loop_clusters.LEAST_QUALITY_OF_CLUSTERS, least)
        elif friction:
            return None
        whole = self.prepared.at_once(name, options, wrenches, threads, parameters, q=state, v=v, a=a)
        if whole is None:
            return None
        self.geometry.checks.motion(whole[..., -3:], self.choice.granted(tolerance, known), state, v, a)
        if (whole[..., -4] < least).any():
            return None
        if parameters is None and not friction:
            self.quick = self.prepared.made(name, options, known)
        return np.asarray(whole[..., : self.nv])

    @one_blas_thread()
    def by_rank(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, friction: bool = False, method: str = "reduced",
        weights: Any = None, tolerance: float | None = None, parameters: Any = None, by_itself: bool = False,
    ) -> tuple[Array, SolutionOrder | None]:  # fmt: skip
        """Return the actuator forces and the order of solution, by a rank-revealing method.

        ``by_itself`` allows actuators that are too few for most motions if they suffice for this one.
        """
        prepared, supplied, size = self.prepared, self.choice.supplied, self.geometry.size
        cost, known = prepared.checked_weights(weights), self.choice.at(self.geometry.configuration(q))
        few = by_itself and method == "reduced" and int(supplied.sum()) < self.nv - known.rank
        if not few:
            prepared.enough_in_number(known)
        state, v, a = self.choice.closed_motion(q, v, a, tolerance)
        along = self.choice.motions(state)
        if not few:
            prepared.enough_hold(along, known)
        tau = self._tree_forces(state, v, a, wrenches, parameters)
        if friction:
            tau = tau + friction_force(self.evaluator, v, parameters, q)
        if few:
            carried = self._tree_wrenches(state, v, a, prepared.body_loads(wrenches, state))
            self._happens_by_itself(tau, carried, along[0], known)
        if method == "reduced":
            return dynamics.forces_along(tau[..., None], along[0], supplied, cost)[..., 0], None
        k = self.geometry.jacobian(state)
        k = np.broadcast_to(k, (*tau.shape[:-1], *k.shape[-2:]))
        if method == "subsystems":
            from ..subsystems import recursion

            noise = NOTHING if known.slack == 0.0 else known.least
            entries = np.where(np.abs(k) < noise * size, 0.0, k)
            solution = recursion.solve(self.model, tau, entries, supplied, cost)
            return solution.tau, solution.order
        return dynamics.forces_by_f_matrix(tau, k, known.rank, supplied, cost, size, known.least), None

    def _happens_by_itself(self, tau: Array, carried: Array, basis: Array, known: Coordinates) -> None:
        """Refuse a motion that its actuators, too few for most motions, cannot cause."""
        left = np.abs(dynamics.left_by_actuators(tau, basis, self.choice.supplied))
        allowed = BY_ITSELF * np.maximum(np.abs(tau).max(axis=-1), np.abs(carried).max(axis=(-1, -2)))
        if (left > allowed[..., None]).any():
            most = np.nanmax(left, axis=tuple(range(left.ndim - 1)))
            self.prepared.enough_in_number(known, most)

    # ---------------------------------------------------------------- reactions

    def constraint_forces(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches = None, *, friction: bool = False, method: str = "reduced",
        weights: Any = None, tolerance: float | None = None,
    ) -> ConstraintForces:  # fmt: skip
        """Return actuator forces, multipliers and reactions; see :meth:`kinetree.Mechanism.constraint_forces`."""
        method, model, order = checked_method(method), self.model, None
        plain = method == "reduced" and weights is None
        tau = self._at_once(q, v, a, wrenches, friction, tolerance) if plain else None
        if tau is None:
            tau, order = self.by_rank(q, v, a, wrenches, friction, method, weights, tolerance, by_itself=True)
        arrays = self.prepared.vectors(q, v, a=a, tau=tau)
        state = arrays["q"]
        if friction:
            arrays["tau"] = tau - friction_force(self.evaluator, arrays["v"], None, state)
        multipliers, own, world, reactions = self.loop_forces(wrenches, **arrays)
        return ConstraintForces(
            tau, multipliers, model.constraint_names, own, world, reactions, order, ForceNames(
                tuple(model.v_names), model.tau_units, model.constraint_units,
                tuple(loop.name for loop in model.loops), tuple(joint.name for joint in model.joints),
                tuple("motor" if on else "base" if at_base else "" for on, at_base in
                      zip(self.choice.driven, self.choice.supplied, strict=True)),
            ), partial(self._undetermined, state), partial(dynamics.along_world, model, state, reactions),
            partial(dynamics.spring_wrenches, model, state),
        )  # fmt: skip

    @one_blas_thread()
    def loop_forces(
        self, wrenches: Wrenches, q: Array, v: Array, a: Array, tau: Array, parameters: Any = None
    ) -> tuple[Array, Array, Array, Array]:
        """Return multipliers, forces of loop joints in their own and in world axes, and what tree joints transmit.

        They belong to a motion under joint forces that the loops allow, without friction.
        """
        model, count = self.model, self.geometry.n_constraints
        found = self._loop_forces_at_once(wrenches, parameters, q=q, v=v, a=a, tau=tau)
        if found is not None:
            ends = np.cumsum([count, 6 * len(model.loops), 6 * len(model.loops)])
            multipliers, *forces = np.split(found, ends, axis=-1)
            own, world, joints = (x.reshape(*x.shape[:-1], -1, 6) for x in forces)
            return multipliers, own, world, joints
        multipliers = self._multipliers_by_rank(wrenches, q, v, a, tau, parameters)
        loops = dynamics.loop_wrenches(model, q, multipliers)
        reactions = self._tree_wrenches(q, v, a, loops.on_bodies + self.prepared.body_loads(wrenches, q))
        return multipliers, loops.own, loops.world, reactions

    @one_blas_thread()
    def multipliers(
        self, wrenches: Wrenches, q: Array, v: Array, a: Array, tau: Array, parameters: Any = None
    ) -> Array:  # fmt: skip
        """Return the multipliers of :meth:`loop_forces` alone."""
        found = self._loop_forces_at_once(wrenches, parameters, q=q, v=v, a=a, tau=tau)
        if found is not None:
            return found[..., : self.geometry.n_constraints]
        return self._multipliers_by_rank(wrenches, q, v, a, tau, parameters)

    def _loop_forces_at_once(self, wrenches: Wrenches, parameters: Any, **arrays: Array) -> Array | None:
        """Return all that :meth:`loop_forces` returns from one kernel; None if there is none that serves."""
        if self.choice.chosen is None:
            return None
        return self.choice.at_once("closed_loop_forces", wrenches, parameters, **arrays)

    def _multipliers_by_rank(
        self, wrenches: Wrenches, q: Array, v: Array, a: Array, tau: Array, parameters: Any
    ) -> Array:  # fmt: skip
        known, left = self.choice.at(q), (self._tree_forces(q, v, a, wrenches, parameters) - tau)[..., None]
        across = np.swapaxes(self.geometry.jacobian(q), -1, -2)
        return np.asarray(rank.least_squares(across, left, known.rank, self.geometry.size, known.least)[..., 0])

    def _undetermined(self, q: Array) -> Undetermined:
        """Return which forces of a motion through ``q`` redundant constraints and actuators share arbitrarily."""
        known, still = self.choice.at(q), np.zeros(self.nv)
        tau, multipliers = free_shares(self.geometry.jacobian(q), self.choice.supplied)
        loops = dynamics.loop_wrenches(self.model, q, multipliers)
        loaded = self._tree_wrenches(q, still, still, loops.on_bodies)
        joints = loaded - self._tree_wrenches(q, still, still, np.zeros_like(loops.on_bodies[:1]))
        share = SHARE if known.slack == 0.0 else known.least
        return Undetermined(*((np.abs(x) > share).any(axis=0) for x in (tau, multipliers, loops.own, joints)))

    # ---------------------------------------------------------------- in independent coordinates

    @one_blas_thread()
    def reduced_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix in independent coordinates, G^T M G."""
        found = self.choice.at_once("closed_mass_matrix", q=self.geometry.configuration(q))
        if found is not None:
            return found.reshape(*found.shape[:-1], *[self.choice.coordinates.freedoms] * 2)
        g = self.choice.basis(q)
        return np.asarray(np.swapaxes(g, -1, -2) @ self.geometry.mass_matrix(q) @ g)

    @one_blas_thread()
    def reduced_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momentum that belongs to the independent coordinates, G^T M v."""
        state, v = self.geometry.configuration(q), as_array(v, (self.nv,), "v")
        batch_shape(q=(state, 1), v=(v, 1))
        found = self.choice.at_once("closed_momentum", q=state, v=v)
        if found is not None:
            return found
        momentum = self.geometry.mass_matrix(q) @ v[..., None]
        return np.asarray((np.swapaxes(self.choice.basis(q), -1, -2) @ momentum)[..., 0])

    @one_blas_thread()
    def reduced_bias_force(self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Return forces on the independent coordinates when their accelerations are zero."""
        a = self.choice.accelerations(q, v, np.zeros(self.choice.coordinates.freedoms))
        return self.reduced_inverse_dynamics(q, v, a, wrenches)

    def reduced_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, tolerance: float | None = None
    ) -> Array:
        """Return forces on the independent coordinates for a motion."""
        state, v, a = self.choice.closed_motion(q, v, a, tolerance)
        tau = self._tree_forces(state, v, a, wrenches)
        return np.asarray((np.swapaxes(self.choice.basis(state), -1, -2) @ tau[..., None])[..., 0])

    # ---------------------------------------------------------------- parameters

    @one_blas_thread()
    def regressor(
        self, q: Any, v: Any, a: Any, columns: Any, friction: bool = False, weights: Any = None,
        tolerance: float | None = None, out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the matrix that maps parameters, given by checked names, to the actuator forces."""
        cost, known = self.prepared.checked_weights(weights), self.choice.at(self.geometry.configuration(q))
        self.prepared.enough_in_number(known)
        state, v, a = self.choice.closed_motion(q, v, a, tolerance)
        along = self.choice.motions(state)
        self.prepared.enough_hold(along, known)
        whole = self.tree_regressor(state, v, a, columns, friction, threads)
        forces = dynamics.forces_along(whole, along[0], self.choice.supplied, cost)
        return self.prepared.handed_out(forces, out)

    @one_blas_thread()
    def reduced_regressor(
        self, q: Any, v: Any, a: Any, columns: Any, friction: bool, tolerance: float | None, threads: int
    ) -> Array:
        """Return the matrix that maps parameters to the forces on the independent coordinates, G^T Y."""
        state, v, a = self.choice.closed_motion(q, v, a, tolerance)
        whole = self.tree_regressor(state, v, a, columns, friction, threads)
        return np.asarray(np.swapaxes(self.choice.basis(state), -1, -2) @ whole)

    @one_blas_thread()
    def by_parameters(
        self, q: Any, v: Any, a: Any, parameters: Mapping[str, Any], wrenches: Wrenches, threads: int
    ) -> Array:
        """Return derivatives of a motion's actuator forces with respect to parameters."""
        self.prepared.keep_geometry(parameters)
        state = self.choice.check_closed(q)
        known = self.choice.at(state)
        self.prepared.enough_in_number(known)
        along = self.choice.motions(state)
        self.prepared.enough_hold(along, known)
        columns = self.tree_by_parameters(state, v, a, parameters, wrenches, threads)
        return dynamics.forces_along(columns, along[0], self.choice.supplied, np.ones(self.nv))

    # ---------------------------------------------------------------- what the spanning tree has, in double precision

    def tree_regressor(self, q: Array, v: Array, a: Array, columns: Any, friction: bool, threads: int) -> Array:
        """Return the regressor of the spanning tree."""
        options = {"parameters": columns, "friction": bool(friction)}
        return self.exact.run("regressor", options, threads=threads, q=q, v=v, a=a)

    def tree_by_parameters(
        self, q: Array, v: Any, a: Any, parameters: Mapping[str, Any], wrenches: Wrenches, threads: int
    ) -> Array:
        """Return derivatives of the spanning tree's joint forces with respect to parameters."""
        derive = self.exact.derivatives_by_parameters
        return derive("inverse_dynamics", {}, wrenches, parameters, threads, q=q, v=v, a=a)

    def _tree_forces(self, q: Array, v: Any, a: Any, wrenches: Wrenches, parameters: Any = None) -> Array:
        return self.exact.run("inverse_dynamics", wrenches=wrenches, parameters=parameters, q=q, v=v, a=a)

    def _tree_wrenches(self, q: Array, v: Any, a: Any, loads: Array) -> Array:
        return self.exact.run("joint_wrenches", wrenches=loads, q=q, v=v, a=a)


def checked_method(method: str | None) -> str:
    """Return a method of inverse dynamics, the default one if none is named."""
    chosen = INVERSE_METHODS[0] if method is None else method
    if chosen not in INVERSE_METHODS:
        raise UnknownNameError("method of inverse dynamics", chosen, INVERSE_METHODS)
    return chosen
