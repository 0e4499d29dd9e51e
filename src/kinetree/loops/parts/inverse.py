"""The forces of a motion of a mechanism: those of its actuators, of its loops, in its bearings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import loop_clusters
from ...errors import UnknownNameError
from ...run.friction import friction_force
from ...run.wrenches import Wrenches
from ...spatial.arrays import Array, as_array
from .. import dynamics, rank
from ..constraint_forces import SHARE, ConstraintForces, ForceNames, Undetermined, free_shares
from ..coordinates import Coordinates
from .prepared import PreparedDynamics, Quick

if TYPE_CHECKING:
    from ..subsystems.order import SolutionOrder

INVERSE_METHODS = ("reduced", "f_matrix", "subsystems")

BY_ITSELF = 1e-6
"""Forces that a motion lacks below this part of those that it has (at joints and in them) are none."""


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
        tau = (
            self._at_once(q, v, a, wrenches, tolerance, threads, parameters)
            if method == "reduced" and not (friction or weights is not None)
            else None
        )
        if tau is None:
            tau = self.by_rank(q, v, a, wrenches, friction, method, weights, tolerance, parameters)[0]
        return prepared.handed_out(tau, out)

    def _at_once(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, tolerance: float | None, threads: int, parameters: Any
    ) -> Array | None:
        """Return one pass with the coordinates chosen beforehand; None where that cannot be."""
        state, v, a = self.geometry.configuration(q), as_array(v, (self.nv,), "v"), as_array(a, (self.nv,), "a")
        known = self.choice.at(state)
        if known.independent != self.choice.suppliers:
            return None
        by_clusters = len(known.rows) > dynamics.MOST_TOGETHER and self.choice.chosen is not None
        by_clusters &= not self.model.has_followers and {j for _, j in known.pivots} == set(known.dependent)
        name: str = "closed_inverse_dynamics"
        options: dict[str, Any] = {"rows": known.rows, "dependent": known.dependent}
        least = self.prepared.least_quality(known)
        if by_clusters:
            name, options = "clustered_inverse_dynamics", {"pivots": known.pivots}
            least = max(loop_clusters.LEAST_QUALITY_OF_CLUSTERS, least)
        whole = self.prepared.at_once(name, options, wrenches, threads, parameters, q=state, v=v, a=a)
        if whole is None:
            return None
        self.geometry.checks.motion(whole[..., -3:], self.choice.granted(tolerance, known), state, v, a)
        if (whole[..., -4] < least).any():
            return None
        if parameters is None:
            self.quick = self.prepared.made(name, options, known)
        return np.asarray(whole[..., : self.nv])

    def by_rank(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, friction: bool = False, method: str = "reduced",
        weights: Any = None, tolerance: float | None = None, parameters: Any = None, by_itself: bool = False,
    ) -> tuple[Array, Array, SolutionOrder | None]:  # fmt: skip
        """Return the actuator forces, shortest multipliers, and the order of solution, by a rank-revealing method.

        ``by_itself`` lets actuators be too few for most motions, if they are enough for this one.
        """
        prepared, supplied, size = self.prepared, self.choice.supplied, self.geometry.size
        cost, known = prepared.checked_weights(weights), self.choice.at(self.geometry.configuration(q))
        few = by_itself and method == "reduced" and int(supplied.sum()) < self.nv - known.rank
        if not few:
            prepared.enough_in_number(known)
        state, v, a = self.choice.closed_motion(q, v, a, tolerance)
        k = self.geometry.jacobian(state)
        if not few:
            prepared.enough_hold(k, known)
        tau = self._tree_forces(state, v, a, wrenches, parameters)
        if friction:
            tau = tau + friction_force(self.evaluator, v, parameters, q)
        k = np.broadcast_to(k, (*tau.shape[:-1], *k.shape[-2:]))
        if few:
            carried = self._tree_wrenches(state, v, a, prepared.body_loads(wrenches, state))
            self._happens_by_itself(tau, carried, k, known)
        order: SolutionOrder | None = None
        if method == "subsystems":
            from ..subsystems import recursion

            noise = dynamics.NOISE if known.slack == 0.0 else known.least
            entries = np.where(np.abs(k) < noise * size, 0.0, k)
            solution = recursion.solve(self.model, tau, entries, supplied, cost)
            forces, order = solution.tau, solution.order
        else:
            how = dynamics.forces_by_f_matrix if method == "f_matrix" else dynamics.forces_by_null_space
            forces = how(tau, k, known.rank, supplied, cost, size, known.least)
        left = (tau - forces)[..., None]
        multipliers = rank.least_squares(np.swapaxes(k, -1, -2), left, known.rank, size, known.least)[..., 0]
        return forces, multipliers, order

    def _happens_by_itself(self, tau: Array, carried: Array, k: Array, known: Coordinates) -> None:
        """Refuse a motion that its actuators, too few for most, cannot be the cause of."""
        supplied, size = self.choice.supplied, self.geometry.size
        left = np.abs(dynamics.left_by_actuators(tau, k, known.rank, supplied, size, known.least))
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
        method = checked_method(method)
        tau, multipliers, order = self.by_rank(
            q, v, a, wrenches, friction, method, weights, tolerance, by_itself=True
        )  # fmt: skip
        state, model = self.geometry.configuration(q), self.model
        loops = dynamics.loop_wrenches(model, state, multipliers)
        reactions = self._tree_wrenches(state, v, a, loops.on_bodies + self.prepared.body_loads(wrenches, state))
        return ConstraintForces(
            tau, multipliers, model.constraint_names, loops.own, loops.world, reactions, order, ForceNames(
                tuple(model.v_names), model.tau_units, model.constraint_units,
                tuple(loop.name for loop in model.loops), tuple(joint.name for joint in model.joints),
                tuple(bool(on) for on in self.choice.supplied),
            ), partial(self._undetermined, state), partial(dynamics.along_world, model, state, reactions),
        )  # fmt: skip

    def _undetermined(self, q: Array) -> Undetermined:
        """Return which forces of a motion through ``q`` redundant constraints and actuators share as they like."""
        known, still = self.choice.at(q), np.zeros(self.nv)
        tau, multipliers = free_shares(self.geometry.jacobian(q), self.choice.supplied)
        loops = dynamics.loop_wrenches(self.model, q, multipliers)
        loaded = self._tree_wrenches(q, still, still, loops.on_bodies)
        joints = loaded - self._tree_wrenches(q, still, still, np.zeros_like(loops.on_bodies[:1]))
        share = SHARE if known.slack == 0.0 else known.least
        return Undetermined(*((np.abs(x) > share).any(axis=0) for x in (tau, multipliers, loops.own, joints)))

    # ---------------------------------------------------------------- in independent coordinates

    def reduced_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix in independent coordinates, G^T M G."""
        g = self.choice.basis(q)
        return np.asarray(np.swapaxes(g, -1, -2) @ self.geometry.mass_matrix(q) @ g)

    def reduced_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momentum that belongs to the independent coordinates, G^T M v."""
        momentum = self.geometry.mass_matrix(q) @ as_array(v, (self.nv,), "v")[..., None]
        return np.asarray((np.swapaxes(self.choice.basis(q), -1, -2) @ momentum)[..., 0])

    def reduced_bias_force(self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Return forces on the independent coordinates when their accelerations are zero."""
        state = self.choice.check_closed(q)
        a = self.choice.accelerations(state, v, np.zeros(self.choice.coordinates.freedoms))
        tau = self._tree_forces(state, v, a, wrenches)
        return np.asarray((np.swapaxes(self.choice.basis(state), -1, -2) @ tau[..., None])[..., 0])

    # ---------------------------------------------------------------- parameters

    def regressor(
        self, q: Any, v: Any, a: Any, columns: Any, friction: bool = False, weights: Any = None,
        tolerance: float | None = None, out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the matrix that maps parameters, by names that have been checked, to the actuator forces."""
        cost, known = self.prepared.checked_weights(weights), self.choice.at(self.geometry.configuration(q))
        self.prepared.enough_in_number(known)
        state, v, a = self.choice.closed_motion(q, v, a, tolerance)
        k = self.geometry.jacobian(state)
        self.prepared.enough_hold(k, known)
        whole = self.tree_regressor(state, v, a, columns, friction, threads)
        return self.prepared.handed_out(self._at_actuators(whole, k, known, cost), out)

    def reduced_regressor(
        self, q: Any, v: Any, a: Any, columns: Any, friction: bool, tolerance: float | None, threads: int
    ) -> Array:
        """Return the matrix that maps parameters to the forces on the independent coordinates, G^T Y."""
        state, v, a = self.choice.closed_motion(q, v, a, tolerance)
        whole = self.tree_regressor(state, v, a, columns, friction, threads)
        return np.asarray(np.swapaxes(self.choice.basis(state), -1, -2) @ whole)

    def by_parameters(
        self, q: Any, v: Any, a: Any, parameters: Mapping[str, Any], wrenches: Wrenches, threads: int
    ) -> Array:
        """Return how the actuator forces of a motion change with parameters."""
        self.prepared.keep_geometry(parameters)
        state = self.choice.check_closed(q)
        k, known = self.geometry.jacobian(state), self.choice.at(state)
        self.prepared.enough_in_number(known)
        self.prepared.enough_hold(k, known)
        columns = self.tree_by_parameters(state, v, a, parameters, wrenches, threads)
        return self._at_actuators(columns, k, known, np.ones(self.nv))

    def _at_actuators(self, columns: Array, k: Array, known: Coordinates, cost: Array) -> Array:
        """Return the actuator forces that belong to joint forces of the tree, (..., nv, several)."""
        k = np.broadcast_to(k, (*columns.shape[:-2], *k.shape[-2:]))
        supplied, size = self.choice.supplied, self.geometry.size
        return dynamics.columns_by_null_space(columns, k, known.rank, supplied, cost, size, known.least)

    # ---------------------------------------------------------------- what the spanning tree has, in double precision

    def tree_regressor(self, q: Array, v: Array, a: Array, columns: Any, friction: bool, threads: int) -> Array:
        """Return the regressor of the spanning tree."""
        options = {"parameters": columns, "friction": bool(friction)}
        return self.exact.run("regressor", options, threads=threads, q=q, v=v, a=a)

    def tree_by_parameters(
        self, q: Array, v: Any, a: Any, parameters: Mapping[str, Any], wrenches: Wrenches, threads: int
    ) -> Array:
        """Return how the joint forces of the spanning tree change with parameters."""
        derive = self.exact.derivatives_by_parameters
        return derive("inverse_dynamics", {}, wrenches, parameters, threads, q=q, v=v, a=a)

    def _tree_forces(self, q: Array, v: Any, a: Any, wrenches: Wrenches, parameters: Any = None) -> Array:
        return self.exact.run("inverse_dynamics", wrenches=wrenches, parameters=parameters, q=q, v=v, a=a)

    def _tree_wrenches(self, q: Array, v: Any, a: Any, loads: Array) -> Array:
        return self.exact.run("joint_wrenches", wrenches=loads, q=q, v=v, a=a)


def checked_method(method: str | None) -> str:
    """Return a method of inverse dynamics, the usual one if none is named."""
    chosen = INVERSE_METHODS[0] if method is None else method
    if chosen not in INVERSE_METHODS:
        raise UnknownNameError("method of inverse dynamics", chosen, INVERSE_METHODS)
    return chosen
