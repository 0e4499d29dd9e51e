"""Dynamics of a robot: inverse and forward dynamics, matrices, derivatives, energy.

Each method is one call into an algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.table import FORWARD_METHODS, INVERSE_METHODS, MASS_MATRIX_METHODS
from ..errors import ModelError, OptionError, ShapeError, UnknownNameError, UnsupportedError, refuse_unknown
from ..evaluation.direct_methods import direct, direct_or_by_loops
from ..evaluation.friction_on_arrays import friction_force, friction_slope
from ..evaluation.given_joints import read_given
from ..evaluation.three_matrices import three_matrices
from ..evaluation.wrench_derivatives import world_stiffness
from ..evaluation.wrenches import Wrenches
from ..former_names import former_arguments
from ..spatial.arrays import Array, as_array, batch_shape
from .kinematics import Kinematics

if TYPE_CHECKING:
    from kinetree_books.module_steps import ModuleQuantities

    from ..loops.loops import Loops
    from ..model.tree import Joint


class Dynamics(Kinematics):
    """The part of :class:`kinetree.Robot` that computes with forces."""

    loops: Loops | None = None
    """The closed loops; None if there are none."""

    # ---------------------------------------------------------------- inverse dynamics

    @direct_or_by_loops
    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False, method:
        str | None = None, weights: ArrayLike | None = None, tolerance: float | None = None, parameters: Any = None,
        out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return joint forces that produce the accelerations ``a``.

        With closed loops these are the forces of the actuators, zero at passive joints.  A base that nothing drives and
        no loop holds (a floating one, or on any other passive joint) is treated as in trees: its entries are the forces
        that would have to act on it, zero for a motion that the robot can perform by itself, see
        :meth:`floating_base_inverse_dynamics`.

        Parameters
        ----------
        q, v, a : array_like, shapes (..., nq), (..., nv), (..., nv)
            With closed loops, a motion that they allow: see :meth:`kinetree.Mechanism.close`,
            :meth:`~kinetree.Mechanism.velocities`, :meth:`~kinetree.Mechanism.accelerations`.
        wrenches : mapping, optional
            External loads: ``{frame: (..., 6) moment and force in the frame's axes at its
            origin}`` or ``{frame: Wrench(...)}``; or an array (..., bodies, 6) for all bodies.
        friction : bool
            Whether to add the joints' viscous and Coulomb friction.
        method : str
            ``"newton_euler"`` (default, link by link), ``"modules"`` (between the kinematic modules of the robot, and
            within each) or ``"absolute_newton_euler"`` (link by link, in world coordinates).  With closed loops
            ``"reduced"`` (default, G^T tau of the tree, Khalil), ``"f_matrix"`` (all unknowns at once, Shah eq. 8.4) or
            ``"subsystems"`` (one after the other, Saha, Shah).
        weights : array_like, shape (nv,), optional
            With closed loops and more actuators than freedoms: the forces that minimize ``sum(weights * tau**2)`` are
            returned; all weights 1 by default.
        tolerance : float, optional
            How far the loops may be open: 1e-6 by default, or more if the file's numbers are rounded.
        parameters : mapping, optional
            Other numbers in place of the robot's own, with a batch in front if they vary from state to state: by the
            names of :meth:`parameters`, ``{"link_3.M": masses}`` (the other nine of that body stay), or as
            ``{"bodies": {"link_3": {"mass": masses}}, "joints": {"elbow": {"position": places}}, "gravity": g}`` (the
            center of mass and the inertia about it stay); an array (..., p) replaces the whole table.  With closed
            loops, placements of joints cannot vary, since they decide where loops close.
        out : ndarray, optional
            Array for the result.
        threads : int
            Number of threads that share a batch; the result does not depend on it.

        Returns
        -------
        ndarray, shape (..., nv)
        """
        if self.loops is not None:
            find = self.loops.inverse.inverse_dynamics
            return find(q, v, a, wrenches, friction, method, weights, tolerance, parameters, out, threads)
        if weights is not None or tolerance is not None:
            self._only_with_loops(weights=weights, tolerance=tolerance)
        if method is not None and method not in INVERSE_METHODS:
            raise UnknownNameError("method of inverse dynamics", method, INVERSE_METHODS)
        lost = self.friction_force(v, parameters, q) if friction else None  # before the result, which may overwrite v
        options = {"method": INVERSE_METHODS[0] if method is None else method}
        tau = self.evaluator.run(
            "inverse_dynamics", options, wrenches=wrenches, parameters=parameters, out=out, threads=threads, q=q, v=v,
            a=a,
        )  # fmt: skip
        if lost is not None:
            tau += lost
        return tau

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, bearings_only: bool = False
    ) -> Array:
        """Return the wrench that each joint transmits to its body: moment and force in body axes at the body's origin.

        Forces of closed loops are included; :meth:`kinetree.Mechanism.constraint_forces` has those of the joints that
        close them.

        Parameters
        ----------
        q, v, a, wrenches
            As in :meth:`inverse_dynamics`.
        bearings_only : bool
            Whether to leave out the motor's force along the joint's freedom, so that what the
            bearings carry remains (Featherstone eq. 7.15, with the motor's force along the freedom).

        Returns
        -------
        ndarray, shape (..., bodies, 6)
        """
        if self.loops is None:
            run = self.evaluator.run
            total = run("joint_wrenches", wrenches=wrenches, q=q, v=v, a=a)
        else:
            run = self.loops.geometry.exact.run
            total = self.loops.inverse.constraint_forces(q, v, a, wrenches).joint_wrenches
        if not bearings_only:
            return total
        bearing = np.array(total)
        subspaces = run("joint_subspaces", q=q)
        freedoms = np.array([link.kind.nv for link in self.model.links])
        first = np.cumsum(freedoms) - freedoms
        for n in set(freedoms.tolist()):  # joints with the same number of freedoms together
            bodies = np.nonzero(freedoms == n)[0]
            columns = subspaces[..., first[bodies, None] + np.arange(n), :]
            bearing[..., bodies, :] -= _part_along(np.swapaxes(columns, -1, -2), total[..., bodies, :])
        return bearing

    def floating_base_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a_joints: ArrayLike | Mapping[str, ArrayLike], wrenches: Wrenches = None
    ) -> tuple[Array, Array]:
        """Return the base acceleration and joint forces when only the joints' accelerations are given.

        Nothing drives the base: its acceleration follows from the balance of the whole
        robot, then the joint forces (Shah chapter 7).  The base is the body on the world: on a free joint,
        or on any other passive joint (``actuated=False``), such as a planar one.

        Parameters
        ----------
        q, v : array_like
        a_joints : array_like, shape (..., nv - n), or mapping of joint name to acceleration
            Accelerations of the joints after the base, whose joint has n freedoms (six if it floats), as loops allow
            them.  Joints that a mapping leaves out do not accelerate.

        Returns
        -------
        base_acceleration : ndarray, shape (..., n)
            Rate of the base joint's velocities.
        tau : ndarray, shape (..., nv - n)
            With closed loops the forces of the actuators, zero at passive joints.
        """
        base = self._undriven_base()
        n = base.nv
        padded = self._behind_the_base(a_joints, base)
        if self.loops is not None:
            return self.loops.forward.floating_base(q, v, base, padded, wrenches)
        if self.is_floating:
            self.evaluator.check_pivots(held=range(1, len(self.model.joints)))
            both = self.evaluator.run("floating_base_inverse_dynamics", wrenches=wrenches, q=q, v=v, a=padded)
            return both[..., :n], both[..., n:]
        known = (False,) + (True,) * (len(self.model.joints) - 1)
        self.evaluator.check_pivots(held=range(1, len(self.model.joints)))
        both = self.evaluator.run("hybrid_dynamics", {"known": known}, wrenches=wrenches, q=q, v=v, tau=padded)
        return both[..., 0, :n], both[..., 1, n:]

    def _undriven_base(self) -> Joint:
        """Return the joint of a base that nothing drives."""
        roots = self.model.roots
        if len(roots) == 1 and (self.is_floating or not self.model.joints[roots[0]].actuated):
            return self.model.joints[roots[0]]
        raise ModelError(
            f"robot {self.name!r} has no floating base; load it with floating_base=True, or connect one body "
            "to the world by a passive joint (actuated=False)"
        )

    def _behind_the_base(self, a_joints: ArrayLike | Mapping[str, ArrayLike], base: Joint) -> Array:
        if isinstance(a_joints, Mapping):
            if base.name in a_joints:
                raise OptionError(f"nothing drives the base {base.name!r}: its acceleration is computed, leave it out")
            return read_given(self.model, a_joints, None).values
        n = base.nv
        count = self.nv - n
        given = as_array(a_joints, (count,), "a_joints", f"{count} joint accelerations, the base's {n} left out")
        return np.concatenate([np.zeros((*given.shape[:-1], n)), given], axis=-1)

    @direct
    def bias_force(
        self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None, *, parameters: Any = None, out: Array | None =
        None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return joint forces at zero acceleration: velocity terms, gravity, springs and external wrenches."""
        return self.evaluator.run(
            "bias_force", wrenches=wrenches, parameters=parameters, out=out, threads=threads, q=q, v=v
        )

    @direct
    def gravity_force(
        self, q: ArrayLike, *, parameters: Any = None, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return joint forces that hold a tree still against gravity and springs: the gradient of potential energy.

        For a mechanism these are the forces at all joints of its open tree; the motor forces that hold it still are
        ``inverse_dynamics(q, v, a)`` with v and a zero.
        """
        return self.evaluator.run("gravity_force", parameters=parameters, out=out, threads=threads, q=q)

    def friction_force(self, v: ArrayLike, parameters: Any = None, q: ArrayLike | None = None) -> Array:
        """Return joint forces of friction: ``damping * v + friction * sign(v)`` (Khalil eq. 10.12), plus any offset.

        If a joint has Stribeck friction, ``stribeck * exp(-(v / stribeck_speed)**2)`` adds to ``friction``.

        The friction of a joint that mimics another is carried by its leader.  There is no
        stiction: at rest Coulomb friction is zero.

        Parameters
        ----------
        v : array_like, shape (..., nv)
        parameters : mapping, optional
            As in :meth:`inverse_dynamics`.
        q : array_like, shape (..., nq), optional
            Needed if there are dampers along tendons.

        Returns
        -------
        ndarray, shape (..., nv)
        """
        return friction_force(self.evaluator, v, parameters, q)

    # ---------------------------------------------------------------- forward dynamics

    @direct_or_by_loops
    @former_arguments(stabilisation="stabilization")
    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False, method:
        str | None = None, stabilization: bool | tuple[float, float] = False, project: bool = False, tolerance: float |
        None = None, parameters: Any = None, out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the accelerations that joint forces ``tau`` cause.

        Parameters
        ----------
        q, v, tau : array_like, shapes (..., nq), (..., nv), (..., nv)
            With closed loops, a closed state and forces on all joints of the tree, including passive ones.
        wrenches : mapping, optional
            As in :meth:`inverse_dynamics`.
        friction : bool
            Whether to subtract the joints' viscous and Coulomb friction from ``tau``.
        method : str
            ``"articulated_body"`` (default, O(n)), ``"composite_body"`` (mass matrix and
            branch-sparse factors), ``"udu"`` (the sources' three sweeps),
            ``"modules"`` (the same, the freedoms of each kinematic module together), or
            ``"walker_orin_1"``, ``"_2"``, ``"_4"`` (through inverse dynamics), ``"absolute_articulated_body"`` and
            ``"absolute_composite_body"`` (as the first two, in world coordinates).  With closed loops
            ``"elimination"`` (default, multipliers first, by the tree's factors, Shah eq. 8.6-8.7), ``"block"``
            (accelerations and multipliers at once, Shah eq. 8.5), ``"reduced"`` (the equations of the independent
            motions, Khalil eq. 10.46) or ``"handles"`` (the spanning tree as an articulated body, with loop joints as
            its handles, Featherstone section 9.5; as the first if coordinates of joints are coupled).  The result is
            the same.
        stabilization : bool or (alpha, beta)
            Baumgarte's terms, which pull loops that have drifted back to closure: K a = -drift - 2 alpha K v
            - beta**2 gap. True means alpha = beta = 10 1/s. The loops may then be open by any amount.
        project : bool
            Whether to replace ``v`` by the nearest velocity that closed loops allow instead of refusing it.
        tolerance : float, optional
            How far the loops may be open: 1e-6 by default, or more if the file's numbers are rounded.
        parameters, out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., nv)
        """
        if self.loops is not None:
            return self.loops.forward.forward_dynamics(
                q, v, tau, wrenches, friction, method, stabilization, project, tolerance, parameters, out, threads
            )
        if stabilization or project or tolerance is not None:
            self._only_with_loops(stabilization=stabilization, project=project, tolerance=tolerance)
        chosen = FORWARD_METHODS[0] if method is None else method
        refuse_unknown("method of forward dynamics", chosen, FORWARD_METHODS)
        if parameters is not None:
            parameters = self.evaluator.read_parameters(parameters)
        self.evaluator.check_pivots(parameters=parameters)
        if friction:
            forces, rate = as_array(tau, (self.nv,), "tau"), as_array(v, (self.nv,), "v")
            batch_shape(tau=(forces, 1), v=(rate, 1))
            tau = forces - self.friction_force(rate, parameters, q)
        options = {"method": self.evaluator.forward_method(chosen)}
        return self.evaluator.run(
            "forward_dynamics", options, wrenches=wrenches, parameters=parameters, out=out, threads=threads, q=q, v=v,
            tau=tau,
        )  # fmt: skip

    def hybrid_dynamics(
        self, q: ArrayLike, v: ArrayLike, *, a: Mapping[str, ArrayLike] | None = None, tau: Mapping[str, ArrayLike] |
        None = None, wrenches: Wrenches = None, tolerance: float | None = None, out: Array | None = None, threads: int =
        1,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return all accelerations and forces, where some joints are given accelerations, the others forces.

        Parameters
        ----------
        q, v : array_like
            With closed loops, a closed state.
        a : mapping of joint name to acceleration
            Accelerations of joints with prescribed motion; with closed loops at most as many as there are freedoms,
            and none that follows from the others.
        tau : mapping of joint name to force
            Forces of the other joints, with or without a motor; those left out are zero.
        tolerance : float, optional
            As in :meth:`forward_dynamics`.
        out : ndarray, shape (..., 2, nv), optional
            Array for accelerations and forces.
        wrenches, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        a, tau : ndarray, shape (..., nv)
            The forces at prescribed joints are those that produce their accelerations.

        Examples
        --------
        ``a, tau = robot.hybrid_dynamics(q, v, a={"shoulder": 1.0}, tau={"elbow": 0.2})``
        """
        given = read_given(self.model, a, tau)
        if self.loops is not None:
            return self.loops.forward.hybrid_dynamics(q, v, given, wrenches, tolerance, out, threads)
        if tolerance is not None:
            self._only_with_loops(tolerance=tolerance)
        self.evaluator.check_pivots(held=[i for i, is_motion in enumerate(given.moved) if is_motion])
        result = self.evaluator.run(
            "hybrid_dynamics", {"known": given.moved}, wrenches=wrenches, out=out, threads=threads, q=q, v=v,
            tau=given.values,
        )  # fmt: skip
        return result[..., 0, :], result[..., 1, :]

    # ---------------------------------------------------------------- derivatives

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False, weights:
        ArrayLike | None = None, tolerance: float | None = None, out: Any = None, threads: int = 1,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return the derivatives of a motion's joint forces with respect to q, v and a.

        If q is not a vector space (quaternions), the derivative with respect to q is
        along the motion of one unit of each v: ``d/de tau(integrate(q, e * unit))``, so that it
        has nv columns.  Wrenches along body axes at points of the body are constant there; a
        :class:`Wrench` along world axes, or at a point of the world, is constant in the world.

        With closed loops a single coordinate cannot change alone, so derivatives are along the motions that they allow:
        one independent freedom (in the order of :meth:`kinetree.Mechanism.independent`) moves by a unit, or its rate or
        acceleration changes by one, while the other independent ones are kept, and everything else follows.

        Parameters
        ----------
        q, v, a, wrenches, weights, tolerance
            As in :meth:`inverse_dynamics`.
        friction : bool
            Whether to include the joints' friction; refused if a joint with Coulomb friction is at rest, since
            its force jumps there.
        out : ndarray, shape (..., 3, nv, nv), optional
            Array for the three matrices, or three arrays, such as those of an earlier call; with closed loops
            always three.
        threads : int
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        dtau_dq, dtau_dv, dtau_da : ndarray, shape (..., nv, nv)
            The last one is the mass matrix.  With closed loops (..., nv, freedoms), with zero rows for passive joints.
        """
        if self.loops is not None:
            derive = self.loops.derivatives.of_inverse_dynamics
            return derive(q, v, a, wrenches, friction, weights, tolerance, out, threads)
        if weights is not None or tolerance is not None:
            self._only_with_loops(weights=weights, tolerance=tolerance)
        slope = friction_slope(self.model, v) if friction else None
        turning = world_stiffness(self.evaluator, q, wrenches)  # before the result, which may overwrite q
        by_q, by_v, by_a = three_matrices(
            self.evaluator, "inverse_dynamics_derivatives", wrenches, out, threads, q=q, v=v, a=a
        )
        if slope is not None:
            by_v[..., range(self.nv), range(self.nv)] += slope
        if turning is not None:
            with np.errstate(all="ignore"):
                by_q -= turning
        return by_q, by_v, by_a

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False,
        tolerance: float | None = None, out: Any = None, threads: int = 1,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return the derivatives of the accelerations that joint forces cause, with respect to q, v and tau.

        See :meth:`inverse_dynamics_derivatives` for the options, for wrenches and for the meaning of the derivative
        with respect to q.

        Returns
        -------
        da_dq, da_dv, da_dtau : ndarray, shape (..., nv, nv)
            The last one is :meth:`inverse_mass_matrix`.  With closed loops the first two are (..., nv, freedoms):
            derivatives of all accelerations with respect to the independent positions and velocities.
        """
        if self.loops is not None:
            derive = self.loops.derivatives.of_forward_dynamics
            return derive(q, v, tau, wrenches, friction, tolerance, out, threads)
        if tolerance is not None:
            self._only_with_loops(tolerance=tolerance)
        self.evaluator.check_pivots()
        slope = friction_slope(self.model, v) if friction else None
        if friction:
            forces, rate = as_array(tau, (self.nv,), "tau"), as_array(v, (self.nv,), "v")
            batch_shape(tau=(forces, 1), v=(rate, 1))
            tau = forces - self.friction_force(rate, q=q)
        turning = world_stiffness(self.evaluator, q, wrenches)  # before the result, which may overwrite q
        by_q, by_v, by_tau = three_matrices(
            self.evaluator, "forward_dynamics_derivatives", wrenches, out, threads, q=q, v=v, tau=tau
        )
        with np.errstate(all="ignore"):
            if slope is not None:
                by_v -= by_tau * slope[..., None, :]
            if turning is not None:
                by_q += by_tau @ turning
        return by_q, by_v, by_tau

    # ---------------------------------------------------------------- matrices

    @direct
    def mass_matrix(
        self, q: ArrayLike, *, method: str = "composite_body", parameters: Any = None, out: Array | None = None,
        threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the joint-space inertia matrix, rotor inertias included.

        Parameters
        ----------
        q : array_like, shape (..., nq)
        method : str
            ``"composite_body"`` (default, each body in its own frame) or ``"absolute_composite_body"`` (in world
            coordinates: fewer operations on long chains, fewer digits far from the world's origin).
        parameters, out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., nv, nv)
        """
        refuse_unknown("method of the mass matrix", method, MASS_MATRIX_METHODS)
        options = {"method": method}
        return self.evaluator.run("mass_matrix", options, parameters=parameters, out=out, threads=threads, q=q)

    @direct_or_by_loops
    def inverse_mass_matrix(
        self, q: ArrayLike, *, parameters: Any = None, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return the inverse of :meth:`mass_matrix`, found in O(n^2) without inverting it.

        With closed loops it contains the accelerations per unit of each joint force while the loops stay closed, and is
        singular.
        """
        if self.loops is not None:
            return self.loops.prepared.handed_out(self.loops.forward.inverse_mass_matrix(q, parameters), out)
        self.evaluator.check_pivots(parameters=parameters)
        return self.evaluator.run("inverse_mass_matrix", parameters=parameters, out=out, threads=threads, q=q)

    def mass_matrix_factors(self, q: ArrayLike, form: str = "LTDL") -> tuple[Array, ...]:
        """Return the factors of the mass matrix that keep the zeros between branches.

        Parameters
        ----------
        form : {"LTDL", "LTL"}

        Returns
        -------
        L (..., nv, nv) and d (..., nv) with ``M = L.T @ diag(d) @ L``, or L alone with ``M = L.T @ L``
        """
        self.evaluator.check_pivots()
        refuse_unknown("factorization", form, ("LTDL", "LTL"))
        rows = self.evaluator.run("mass_matrix_factors", {"form": form}, q=q)
        return (rows,) if form == "LTL" else (rows[..., :-1, :], rows[..., -1, :])

    @direct
    def coriolis_matrix(
        self, q: ArrayLike, v: ArrayLike, *, parameters: Any = None, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return the matrix C with ``C v`` the velocity forces and ``M' - 2 C`` skew-symmetric."""
        return self.evaluator.run("coriolis_matrix", parameters=parameters, out=out, threads=threads, q=q, v=v)

    # ---------------------------------------------------------------- energy

    @direct
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, *, parameters: Any = None) -> Array:
        """Return the kinetic energy in joules, rotors included."""
        return self.evaluator.run("kinetic_energy", parameters=parameters, q=q, v=v)

    @direct
    def potential_energy(self, q: ArrayLike, *, parameters: Any = None) -> Array:
        """Return the potential energy in joules: of gravity, zero at the world's origin, and of springs."""
        return self.evaluator.run("potential_energy", parameters=parameters, q=q)

    def power(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Return the power of joint forces and external wrenches, (...): the rate of kinetic plus potential energy."""
        return self.evaluator.run("power", wrenches=wrenches, q=q, v=v, tau=tau)

    # ---------------------------------------------------------------- DeNOC

    def denoc(
        self, q: ArrayLike, v: ArrayLike | None = None, modules: Sequence[Sequence[str]] | str | None = None
    ) -> Any:
        """Return the decoupled natural orthogonal complement matrices, labeled, for reading and teaching.

        Parameters
        ----------
        q, v : array_like
            One state.
        modules : None, "auto", "links" or a partition
            None works link by link; otherwise module by module, see :meth:`modules`.

        Returns
        -------
        kinetree_books.denoc.Denoc
        """
        state = self.evaluator.states.configuration(q)
        rate = np.zeros(self.nv) if v is None else as_array(v, (self.nv,), "v")
        if state.ndim != 1 or rate.ndim != 1:
            raise ShapeError("the DeNOC matrices are for one state at a time, not for a batch")
        parts = None if modules is None else self.modules(modules)
        return _module_of_the_books("denoc").build(self.model, state, rate, parts)

    def module_quantities(
        self, q: ArrayLike, v: ArrayLike, *, a: ArrayLike | None = None, tau: ArrayLike | None = None, modules:
        Sequence[Sequence[str]] | str | None = None,
    ) -> list[ModuleQuantities]:  # fmt: skip
        """Return intermediate quantities of recursions over kinematic modules (Shah tables 6.1, 6.2), for one state.

        Parameters
        ----------
        q, v : array_like
            One state.
        a : array_like, optional
            Accelerations, for inverse dynamics.
        tau : array_like, optional
            Joint forces, for forward dynamics; give one of the two.
        modules : None, "auto", "links" or a partition
            See :meth:`modules`.

        Returns
        -------
        list of ModuleQuantities
            One per module: wrenches w* and w~ of its links, joint forces; in forward dynamics the pivot with its
            factors, phi^, phi~, eta~ and the accelerations.  For a mechanism, modules are those of its spanning tree,
            and loops act on them as external forces.

        Examples
        --------
        ``robot.module_quantities(q, v, tau=tau)[1].phi_hat``
        """
        if (a is None) == (tau is None):
            raise OptionError("give either accelerations a=... (inverse dynamics) or forces tau=... (forward dynamics)")
        if self.model.has_followers:
            raise UnsupportedError("modules of a robot with followers: load it with mimic='independent'")
        module_steps = _module_of_the_books("module_steps")
        rate = as_array(v, (self.nv,), "v")
        given = as_array(a, (self.nv,), "a") if tau is None else as_array(tau, (self.nv,), "tau")
        state = self.evaluator.states.configuration(q)
        if any(x.ndim != 1 for x in (state, rate, given)):
            raise ShapeError("the quantities of modules are for one state at a time, not for a batch")
        if a is None:
            self.evaluator.check_pivots()
        compute = module_steps.inverse if tau is None else module_steps.forward
        loads = None if self.loops is None else self.loops.forward.loop_loads(state, rate, given, tau is None)
        return compute(self.model, self.modules(modules), state, rate, given, loads)

    def execution_order(
        self, dynamics: str = "inverse_dynamics", modules: Sequence[Sequence[str]] | str | None = None
    ) -> str:
        """Return the steps of inverse or forward dynamics in words, between modules and within (Shah tables 6.3, 6.4).

        Parameters
        ----------
        dynamics : {"inverse_dynamics", "forward_dynamics"}
        modules : None, "auto", "links" or a partition
            See :meth:`modules`.

        Examples
        --------
        ``print(kt.gallery.load("gripper").execution_order("forward_dynamics"))``
        """
        steps = _module_of_the_books("module_steps")
        return steps.execution_order(self.model, self.modules(modules), dynamics)

    def _only_with_loops(self, **options: Any) -> None:
        """Refuse options that apply only to robots with closed loops."""
        for name, value in options.items():
            if value is not None and value is not False:
                raise OptionError(
                    f"{name}= is for mechanisms, and robot {self.name!r} has no closed loops: leave it out. Loops come "
                    "from the file, from load(..., loops=...) or from Builder.loop"
                )


def _part_along(s: Array, f: Array) -> Array:
    """Return the part of a force along a joint's freedom: S (S^T S)^-1 S^T f, with F = S for the motor's forces.

    In gimbal lock two columns of S coincide; the pseudo-inverse then counts them once.
    """
    st = np.swapaxes(s, -1, -2)
    gram = st @ s
    finite = np.isfinite(gram).all(axis=(-1, -2), keepdims=True)
    inverse = np.linalg.pinv(np.where(finite, gram, 0.0), rcond=1e-12, hermitian=True)
    return np.asarray((s @ (inverse @ (st @ f[..., None])))[..., 0])


def _module_of_the_books(name: str) -> Any:
    """Return a module of the package that writes out the books' matrices and steps."""
    from ..io.packages_above import module_above

    return module_above(f"kinetree_books.{name}")
