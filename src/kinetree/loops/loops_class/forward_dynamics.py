"""Accelerations of a mechanism under forces while its loops stay closed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import loop_clusters
from ...errors import SingularityWarning, UnknownNameError, UnsupportedError, callers_level
from ...evaluation.friction_on_arrays import friction_force
from ...evaluation.given_joints import GivenAtJoints
from ...evaluation.small_matrices import one_blas_thread
from ...evaluation.wrenches import Wrenches
from ...model.tree import Joint
from ...spatial import Force
from ...spatial.arrays import Array, as_array, batch_shape
from .. import dynamics, rank
from ..checks import opening_rate
from ..coordinates import Coordinates
from .closed_configurations import LoopClosing
from .inverse_dynamics import InverseOfLoops
from .prepared_dynamics import PreparedDynamics, Quick

FORWARD_METHODS = ("elimination", "block", "reduced", "handles")


class ForwardOfLoops:
    """Forward dynamics of a mechanism.

    Parameters
    ----------
    prepared : PreparedDynamics
    closing : LoopClosing
    inverse : InverseOfLoops
    """

    def __init__(self, prepared: PreparedDynamics, closing: LoopClosing, inverse: InverseOfLoops) -> None:
        self.prepared, self.choice, self.geometry = prepared, prepared.choice, prepared.geometry
        self.closing, self.inverse = closing, inverse
        self.model, self.evaluator, self.exact, self.nv = (
            prepared.model,
            prepared.evaluator,
            prepared.exact,
            prepared.nv,
        )
        self.quick: Quick | None = None

    # ---------------------------------------------------------------- accelerations

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, wrenches: Wrenches = None, friction: bool = False, method: str | None = None,
        stabilization: bool | tuple[float, float] = False, project: bool = False, tolerance: float | None = None,
        parameters: Any = None, out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return accelerations while the loops stay closed; see :meth:`kinetree.Robot.forward_dynamics`."""
        method = FORWARD_METHODS[0] if method is None else method
        if method not in FORWARD_METHODS:
            raise UnknownNameError("method of forward dynamics", method, FORWARD_METHODS)
        prepared = self.prepared
        prepared.keep_geometry(parameters)
        if out is not None:
            prepared.check_rooms([out], [(self.nv,)], wrenches, parameters, **prepared.vectors(q, v, tau=tau))
        gains = dynamics.stabilization_gains(stabilization)
        if project:
            q, v = self.closing.project(q, v)
        if any(gains):
            tolerance = np.inf
        a = self.found(q, v, tau, wrenches, friction, method, gains, tolerance, threads, parameters)[0]
        return prepared.handed_out(a, out)

    def found(
        self, q: Any, v: Any, tau: Any, wrenches: Wrenches = None, friction: bool = False, method: str = "elimination",
        gains: tuple[float, float] = (0.0, 0.0), tolerance: float | None = None, threads: int = 1,
        parameters: Any = None,
    ) -> tuple[Array, Array | None]:  # fmt: skip
        """Return accelerations, and multipliers if the method provides them."""
        state = self.geometry.configuration(q)
        v, tau = as_array(v, (self.nv,), "v"), as_array(tau, (self.nv,), "tau")
        if friction:
            tau = tau - friction_force(self.evaluator, v, parameters, q)
        known, prepared = self.choice.at(state), self.prepared
        if method == "elimination" and not any(gains) and prepared.goes_by_clusters(known):
            found = self._by_clusters(state, v, tau, wrenches, tolerance, known, threads, parameters)
            if found is not None:
                return found, None
            if known.rank > dynamics.MOST_TOGETHER:
                return self._by_rank(state, v, tau, wrenches, method, gains, tolerance, known, parameters)
        bound = self.model.has_followers or self.model.couplings  # coordinates that are not part of one handle
        by_handles = "closed_forward_dynamics" if bound else "handled_forward_dynamics"
        name = {"elimination": "closed_forward_dynamics", "handles": by_handles}.get(method)
        if name is not None and prepared.has_inertia:
            options = {"rows": known.rows, "stabilization": gains}
            whole = prepared.at_once(name, options, wrenches, threads, parameters, q=state, v=v, tau=tau)
            if whole is not None:
                self.geometry.checks.motion(whole[..., -3:], self.choice.granted(tolerance, known), state, v)
                if not (whole[..., -4] < prepared.least_quality(known)).any():
                    if not any(gains) and parameters is None and method == "elimination":
                        self.quick = prepared.made(name, options, known)
                    return np.asarray(whole[..., : self.nv]), None
        return self._by_rank(state, v, tau, wrenches, method, gains, tolerance, known, parameters)

    def _by_clusters(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches, tolerance: float | None, known: Coordinates,
        threads: int, parameters: Any,
    ) -> Array | None:  # fmt: skip
        """Return accelerations by articulated bodies through clusters of loops; None if their choice is poor."""
        name, options, prepared = "clustered_forward_dynamics", {"pivots": known.pivots}, self.prepared
        whole = prepared.at_once(name, options, wrenches, threads, parameters, q=q, v=v, tau=tau)
        least = max(loop_clusters.LEAST_QUALITY_OF_CLUSTERS, prepared.least_quality(known))
        if whole is None or (whole[..., -4] < least).any():
            return None
        self.geometry.checks.motion(whole[..., -3:], self.choice.granted(tolerance, known), q, v)
        if parameters is None:
            self.quick = prepared.made(name, options, known)
        return np.asarray(whole[..., : self.nv])

    def by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches = None, added_mass: Array | float = 0.0,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Return accelerations at any state; see :meth:`kinetree.Mechanism.accelerations_by_rank`."""
        known, tau = self.choice.at(q), as_array(tau, (self.nv,), "tau")
        added_mass = as_array(added_mass, (self.nv, self.nv) if np.ndim(added_mass) else (), "added_mass")
        return self._by_rank(q, v, tau, wrenches, "block", (0.0, 0.0), np.inf, known, parameters, added_mass)[0]

    @one_blas_thread()
    def _by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches, method: str, gains: tuple[float, float],
        tolerance: float | None, known: Coordinates, parameters: Any, added_mass: Array | float = 0.0,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return accelerations by a rank-revealing method, for states in which the prepared coordinates do not work."""
        geometry = self.geometry
        force = tau - self.exact.run("bias_force", wrenches=wrenches, parameters=parameters, q=q, v=v)
        batch = force.shape[:-1]
        m = geometry.mass_matrix(q, parameters) + added_mass
        m = np.broadcast_to(m, (*batch, self.nv, self.nv))
        k = np.broadcast_to(geometry.jacobian(q), (*batch, geometry.n_constraints, self.nv))
        gaps, speeds = geometry.gaps(q), (k @ v[..., None])[..., 0]
        squares = [(x * x).sum(axis=-1) for x in (gaps, speeds, np.zeros((1,)))]
        granted = self.choice.granted(tolerance, known)
        geometry.checks.motion(np.stack(np.broadcast_arrays(*squares), axis=-1), granted, q, v)
        self.prepared.need_inertia(m, k, known, parameters is None)
        target = -(geometry.drift(q, v) + 2.0 * gains[0] * speeds + gains[1] ** 2 * gaps)
        found = dynamics.accelerations(m, k, force, target, known.rank, geometry.size, known.least, method == "block")
        if not found.ordinary.all():
            self._say_singular(found.ordinary, found.left, v, granted)
        return found.a, found.multipliers

    def _say_singular(self, ordinary: Array, left: Array, v: Array, tolerance: float) -> None:
        """Warn of a singular configuration, which leaves more open than the equations can determine."""
        self.geometry.checks.refuse(
            np.where(ordinary, 0.0, opening_rate(left, v)), tolerance,
            "velocity in a singular configuration, where no acceleration keeps them closed", "relative to 1 + |v|^2",
            "take one along a branch that leads out of it",
        )  # fmt: skip
        first = np.unravel_index(int(np.argmin(ordinary)), ordinary.shape)
        where = f" (state {tuple(int(i) for i in first)})" if ordinary.ndim else ""
        warnings.warn(
            f"singular configuration of {self.model.name!r}{where}: its loops leave directions open that they hold "
            "nearby, and forces alone determine the accelerations along these; see mobility(q)",
            SingularityWarning,
            stacklevel=callers_level(),
        )

    def multipliers(
        self, q: Any, v: Any, tau: Any, wrenches: Wrenches = None, *, friction: bool = False, parameters: Any = None
    ) -> Array:
        """Return loop forces under joint forces ``tau``: the shortest ones if constraints are redundant."""
        a = self.found(q, v, tau, wrenches, friction, parameters=parameters)[0]
        arrays = self.prepared.vectors(q, v, a=a, tau=tau)
        if friction:
            arrays["tau"] = arrays["tau"] - friction_force(self.evaluator, arrays["v"], parameters, q)
        return self.inverse.multipliers(wrenches, parameters=parameters, **arrays)

    # ---------------------------------------------------------------- what resists

    @one_blas_thread()
    def inverse_mass_matrix(self, q: ArrayLike, parameters: Any = None) -> Array:
        """Return accelerations per unit of each joint force while the loops stay closed, in double precision."""
        self.prepared.keep_geometry(parameters)
        state = self.choice.check_closed(q)
        known = self.choice.at(state)
        k, mass = self.geometry.jacobian(state), self.geometry.mass_matrix(state, parameters)
        self.prepared.need_inertia(mass, k, known, parameters is None)
        return rank.solve_along(*self.choice.motions(state), mass, np.eye(self.nv))

    @one_blas_thread()
    def compliance(self, q: ArrayLike, names: tuple[str, ...], axes: str) -> Array:
        """Return J M^-1 J^T at frames, M^-1 along the motions that loops allow."""
        rows = [self.exact.run("jacobian", {"frame": name, "axes": axes}, q=q) for name in names]
        jacobian = np.concatenate(rows, axis=-2)
        return np.asarray(jacobian @ self.inverse_mass_matrix(q) @ np.swapaxes(jacobian, -1, -2))

    @one_blas_thread()
    def by_parameters(
        self, q: Any, v: Any, tau: Any, parameters: Any, wrenches: Wrenches, friction: bool, threads: int
    ) -> Array:
        """Return derivatives of accelerations with respect to parameters: a mapping, or names of checked columns."""
        state = self.choice.check_closed(q)
        own = parameters if isinstance(parameters, Mapping) else None
        if own is not None:
            if friction:
                raise UnsupportedError(
                    "accelerations with friction are differentiated by parameters of the table only: give their names"
                )
            a = self.forward_dynamics(state, v, tau, wrenches, parameters=own, threads=threads)
            columns = self.inverse.tree_by_parameters(state, v, a, own, wrenches, threads)
        else:
            a = self.forward_dynamics(state, v, tau, wrenches, friction, threads=threads)
            rate = as_array(v, (self.nv,), "v")
            columns = self.inverse.tree_regressor(state, rate, a, parameters, friction, threads)
        mass = self.exact.run("mass_matrix", parameters=own, q=state)
        return -rank.solve_along(*self.choice.motions(state), mass, columns)

    # ---------------------------------------------------------------- some motions given, some forces

    def hybrid_dynamics(
        self, q: Any, v: Any, given: GivenAtJoints, wrenches: Wrenches = None, tolerance: float | None = None,
        out: Array | None = None, threads: int = 1,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return all accelerations and forces, given accelerations of some joints and forces of the others."""
        freedoms = given.freedoms(self.model)
        both = self._hybrid(q, v, given, freedoms, self.choice.including(freedoms), wrenches, tolerance, threads)
        if out is None:
            return both
        whole = self.prepared.handed_out(np.stack(both, axis=-2), out)
        return whole[..., 0, :], whole[..., 1, :]

    def _hybrid(
        self, q: Any, v: Any, given: GivenAtJoints, freedoms: tuple[int, ...], known: Coordinates,
        wrenches: Wrenches, tolerance: float | None, threads: int = 1,
    ) -> tuple[Array, Array]:  # fmt: skip
        if len(freedoms) < known.freedoms:
            held = [i for i, is_motion in enumerate(given.moved) if is_motion]
            self.evaluator.check_pivots(held=held)
        prepared = self.prepared
        arrays = prepared.vectors(q, v, tau=given.values)
        options = {"pivots": known.pivots, "known_freedoms": freedoms}
        whole = prepared.in_good_order("closed_hybrid_dynamics", options, known, wrenches, tolerance, threads, arrays)
        return prepared.handed_out(whole[..., : self.nv]), prepared.handed_out(whole[..., self.nv : -4])

    def floating_base(
        self, q: Any, v: Any, base: Joint, padded: Array, wrenches: Wrenches
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return the acceleration of a base that nothing drives, and the actuators' forces.

        Loops that do not touch the ground exert internal forces only, so the base moves as it would without them.
        ``padded`` are the joints' accelerations after zeros for the base.
        """
        n, known = base.nv, self.choice.coordinates
        if not self.choice.supplied[base.v_slice].all():
            raise UnsupportedError(
                f"loops of {self.model.name!r} go through its base's joint {base.name!r}, so it does not move freely: "
                "inverse_dynamics or hybrid_dynamics give the forces"
            )
        self.prepared.enough_in_number(known)
        freedoms = tuple(j for j in known.independent if j >= n)
        given = GivenAtJoints(
            np.where(np.isin(np.arange(self.nv), freedoms), padded, 0.0),
            (False,) + (True,) * (len(self.model.joints) - 1),
        )
        a, _ = self._hybrid(q, v, given, freedoms, known, wrenches, None)
        batch_shape(a_joints=(padded, 1), others=(a, 1))
        whole = np.concatenate([a[..., :n], np.broadcast_to(padded[..., n:], (*a.shape[:-1], self.nv - n))], axis=-1)
        tau = self.inverse.inverse_dynamics(q, v, whole, wrenches)  # refuses what the loops do not allow
        return a[..., :n], tau[..., n:]

    # ---------------------------------------------------------------- modules of the spanning tree

    def loop_loads(self, q: Array, v: Array, given: Array, is_motion: bool) -> list[Force]:
        """Return the loads of loops on each body of the spanning tree, during a motion or under joint forces."""
        if self.model.couplings:
            raise UnsupportedError(
                f"coupling {self.model.couplings[0].name!r} of {self.model.name!r} acts on joints, not on bodies, as "
                "the recursions between modules require; tree.module_quantities leaves out couplings and loops"
            )
        tau = self.inverse.by_rank(q, v, given, None)[0] if is_motion else given
        a = given if is_motion else self.found(q, v, given)[0]
        multipliers = self.inverse.loop_forces(None, q=q, v=v, a=a, tau=tau)[0]
        return [Force.of(f) for f in dynamics.loop_wrenches(self.model, q, multipliers).on_bodies]
