"""Robots with closed loops: four-bars, parallel robots, legs with pantographs.

A :class:`Mechanism` is a robot whose spanning tree carries loop joints.  ``q``, ``v`` and
``tau`` are laid out as those of the tree; a state is *closed* when every loop joint fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.algorithm import ALL
from ..algorithms.table import ALGORITHMS
from ..errors import (
    OptionError,
    SingularityWarning,
    UnknownNameError,
    UnsupportedError,
    callers_level,
)
from ..loops import dynamics, rank
from ..loops.checks import opening_rate
from ..loops.constraint_forces import SHARE, ConstraintForces, ForceNames, Undetermined, free_shares
from ..loops.coordinates import Coordinates
from ..model.changes.values import generic, symbols_of_geometry
from ..model.describe import counted
from ..model.tree import Model
from ..run.parameters import SYMBOLS
from ..run.wrenches import Wrenches, gather
from ..spatial.arrays import as_array, batch_shape, pack
from .closed_dynamics import MOST_TOGETHER
from .closed_methods import ClosedMethods
from .robot import Array, Robot

if TYPE_CHECKING:
    from ..export.c_code import Exported
    from ..export.cost import Count
    from ..loops.subsystems.order import SolutionOrder
    from .platform.platform import Platform

INVERSE_METHODS = ("reduced", "f_matrix", "subsystems")
FORWARD_METHODS = ("elimination", "block", "reduced", "handles")


class Mechanism(ClosedMethods):
    """A robot with closed loops. Made by :func:`kinetree.load` and :meth:`Builder.build` when there are any.

    In single precision the dynamics is computed in float32; what the loops need (gaps, their rates, closed
    configurations) in double.

    Parameters
    ----------
    model : Model
        With loops.
    independent : sequence of str, optional
        Names of the freedoms (as in :attr:`v_names`) that the others follow from; by default the
        actuated ones if they are enough, otherwise chosen by pivoting.
    near : array_like, shape (nq,), optional
        A configuration beside a closed one at which independent freedoms and constraints are chosen; see
        :attr:`coordinates` for the default.  Needed only where no closed one is found, or where the mechanism can be
        put together in several ways that leave it different numbers of freedoms.
    rounding : float, optional
        Constraints weaker than this, where the strongest is one, are rounding of the numbers in a file and do not
        count.  By default that is decided by the gap between those that count and those that do not, which
        :meth:`mobility` tells, and is an error where there is none.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("parallelogram")
    >>> rod = dict(mass=1, com=(0, 0, -0.5))
    >>> _ = b.body("rod0", "base", kt.Revolute("y"), **rod)
    >>> _ = b.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    >>> _ = b.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0.5, 0, 0), actuated=False)
    >>> _ = b.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    >>> b.build().mobility([0.3, 0.3, -0.3]).freedoms
    1
    """

    def __repr__(self) -> str:
        bodies = counted(len(self.model.bodies), "body", "bodies")
        loops = counted(len(self.model.loops), "loop", "loops")
        if self.model.couplings:
            loops += f", {counted(len(self.model.couplings), 'coupling', 'couplings')}"
        return f"<Mechanism {self.name!r}: {bodies}, {loops}, nq={self.nq}, nv={self.nv}>"

    def __reduce__(self) -> tuple[Any, ...]:
        names = None if self._wanted is None else [self.v_names[j] for j in self._wanted]
        return _restore, (self.model, self.backend, self.precision, names, self._near, self.cpu, self._rounding)

    @cached_property
    def _choice(self) -> Coordinates | None:
        """Coordinates chosen from the model; where dimensions are symbols, from one with numbers in their places."""
        if not symbols_of_geometry(self.model):
            return super()._choice
        return self._again(generic(self.model))._choice

    def cost(self, name: str, **options: Any) -> Count:
        """Return multiplications, additions, divisions, sines of an algorithm.

        Inverse and forward dynamics are counted with the loops closed, multipliers included, in the
        coordinates of :meth:`independent`; everything else is that of the tree, where it means the same.
        """
        if name in ALGORITHMS and ALGORITHMS[name].tree_only:
            self._need_tree(name)
        if name not in ("inverse_dynamics", "forward_dynamics"):
            return self.tree.cost(name, **options)
        if options:
            raise OptionError(f"{name} of a mechanism is counted without options, got {', '.join(options)}")
        from ..export.cost import count_algorithm

        whole, prepared = self._whole_algorithm(name)
        return count_algorithm(self.model, whole, prepared, self.nv + len(prepared["rows"]))

    def codegen(self, directory: Any = ".", algorithms: Sequence[Any] = (), **options: Any) -> Exported:
        """Write algorithms as C; see :meth:`Robot.codegen`.

        Inverse and forward dynamics are written with the loops closed.  Their result is a vector: forces (or
        accelerations), then multipliers of the independent constraints, a quality between 0 and 1 (below
        1e-8 the configuration is too near a singular one for the coordinates chosen), and the squared
        residuals of positions, velocities and accelerations.
        """
        from ..export import c_code

        wanted: list[Any] = [algorithms] if isinstance(algorithms, str) else list(algorithms)
        chosen = []
        for item in wanted or ["inverse_dynamics", "forward_dynamics"]:
            name, own = (item, {}) if isinstance(item, str) else item
            if name in ("inverse_dynamics", "forward_dynamics"):
                if own:
                    raise OptionError(f"{name} of a mechanism is written without options, got {', '.join(own)}")
                chosen.append(self._whole_algorithm(name))
            elif name in ALGORITHMS and ALGORITHMS[name].tree_only:
                self._need_tree(name)
            else:
                chosen.append(item)
        return c_code.codegen(self, directory, chosen, **options)

    def _whole_algorithm(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the algorithm that does a mechanism's inverse or forward dynamics at once, and its choices."""
        known = self.coordinates
        if name == "forward_dynamics":
            return "closed_forward_dynamics", {"rows": known.rows, "stabilisation": (0.0, 0.0)}
        if known.independent != self._suppliers:
            raise UnsupportedError(
                f"the actuated joints of {self.name!r} are not its independent freedoms, so its inverse dynamics is "
                "no fixed sequence of operations; count or export forward_dynamics, or the tree's"
            )
        return "closed_inverse_dynamics", {"rows": known.rows, "dependent": known.dependent}

    def closed_form(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the algorithm that does the same with loops closed and nothing else, and its choices.

        It holds in all configurations but those that are singular for these choices.
        """
        options = {"pivots": self.coordinates.pivots}
        if name == "forward_dynamics":
            return "independent_forward_dynamics", options
        self._whole_algorithm(name)  # refuses motors that are not at the independent freedoms
        return "independent_inverse_dynamics", options

    def _compiled_form(self, request: Any) -> tuple[str, dict[str, Any]]:
        """Return the inverse and forward dynamics run with the loops closed; everything else is that of the tree."""
        if request in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
            if request.startswith("inverse"):
                self._enough_in_number(self.coordinates)
            in_steps = request.startswith("forward") and not self._fits_at_once
            name = "closed_force_slopes" if in_steps else f"closed_{request}"
            return name, {"pivots": self.coordinates.pivots, "friction": False}
        if request in ("inverse_dynamics", "forward_dynamics"):
            with suppress(UnsupportedError):  # then it is done in several steps, of which this is one
                return self._whole_algorithm(request)
        return super()._compiled_form(request)

    def platform(
        self,
        frame: str,
        actuated: Sequence[str] | None = None,
        *,
        orientation: bool = True,
        length: float | None = None,
    ) -> Platform:
        """Return the mechanism as a parallel manipulator that moves ``frame``: kinematics, Jacobians, singularities.

        Parameters
        ----------
        frame : str
            The body or frame that is the platform.
        actuated : sequence of str, optional
            Names of the actuated joints; those marked as actuated in the model by default.
        orientation : bool
            Whether the frame's orientation matters, beside its position: not for a delta robot or a five-bar.
        length : float, optional
            What angles are multiplied with in margins and singularities; by default the length of the motors' links,
            or the platform's size where motors push: see :class:`kinetree.robot.platform.platform.Platform`.
        """
        from .platform.platform import Platform

        return Platform(self, frame, actuated, orientation=orientation, length=length)

    # ---------------------------------------------------------------- inverse dynamics

    def inverse_dynamics(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        method: str = "reduced",
        weights: ArrayLike | None = None,
        tolerance: float | None = None,
        parameters: Any = None,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the actuator forces for a motion, laid out like ``v``, zero at passive joints.

        A base that nothing drives and no loop holds (a floating one, or on any other passive joint) is treated as in
        trees: its entries are what would have to push it, zero for a motion that the robot can do by itself, see
        :meth:`floating_base_inverse_dynamics`.

        Parameters
        ----------
        q, v, a : array_like
            A motion that the loops allow: see :meth:`close`, :meth:`velocities`, :meth:`accelerations`.
        wrenches, friction, out, threads
            As for any robot.
        method : {"reduced", "f_matrix", "subsystems"}
            G^T tau of the tree (Khalil), all unknowns at once (Shah eq. 8.4), or subsystem by subsystem (Saha, Shah).
        weights : array_like, shape (nv,), optional
            With more actuators than freedoms: the forces that minimise ``sum(weights * tau**2)`` are
            returned; all weights 1 by default.
        tolerance : float
            How far from closed the motion may be: 1e-6 by default, or what rounding of the file's numbers leaves.
        parameters : mapping, optional
            As for any robot; places of joints stay, since they decide where loops close.
        """
        if (
            self._quick_inverse is not None and wrenches is None and tolerance is None and out is None
            and parameters is None
            and method == "reduced" and threads == 1 and weights is None and not friction
        ):  # fmt: skip
            quick = self._quick_inverse(q, v, a)
            if quick is not None:
                return quick
        if method not in INVERSE_METHODS:
            raise UnknownNameError("method of inverse dynamics", method, INVERSE_METHODS)
        self._keep_geometry(parameters)
        if out is not None:
            self._check_rooms([out], [(self.nv,)], wrenches, parameters, **self._vectors(q, v, a=a))
        tau = (
            self._prepared_inverse(q, v, a, wrenches, tolerance, threads, parameters)
            if method == "reduced" and not (friction or weights is not None)
            else None
        )
        if tau is None:
            tau = self._inverse(q, v, a, wrenches, friction, method, weights, tolerance, parameters)[0]
        return self._handed_out(tau, out)

    def _keep_geometry(self, parameters: Any) -> None:
        """Refuse parameters that would move the places where loops close."""
        given, symbols = self.evaluator.read_parameters(parameters), symbols_of_geometry(self.model)
        for place in (*given.of_geometry, *(p for p in given.places if p.table == SYMBOLS and p.key in symbols)):
            raise UnsupportedError(
                f"parameter {place} of {self.name!r} decides where its loops close, so it cannot vary from call to "
                "call: build the mechanism anew, or move many designs at once with driven_motion(...)"
            )

    def _prepared_inverse(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, tolerance: float | None, threads: int, parameters: Any
    ) -> Array | None:
        """Return one pass with the coordinates chosen beforehand; None where that cannot be."""
        state, v, a = self.evaluator.states.configuration(q), as_array(v, (self.nv,), "v"), as_array(a, (self.nv,), "a")
        known = self.coordinates_at(state)
        if known.independent != self._suppliers:
            return None
        options = {"rows": known.rows, "dependent": known.dependent}
        whole = self._at_once("closed_inverse_dynamics", options, wrenches, threads, parameters, q=state, v=v, a=a)
        if whole is None:
            return None
        self._checks.motion(whole[..., -3:], self._granted(tolerance, known), state, v, a)
        if (whole[..., -4] < self._least_quality(known)).any():
            return None
        if self.precision == "double" and parameters is None:
            self._quick_inverse = self._quick("closed_inverse_dynamics", options, known)
        return np.asarray(whole[..., : self.nv])

    def _inverse(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, friction: bool, method: str, weights: Any,
        tolerance: float | None, parameters: Any = None, by_itself: bool = False,
    ) -> tuple[Array, Array, SolutionOrder | None]:  # fmt: skip
        """Return the actuator forces, shortest multipliers, and the order of solution, by a rank-revealing method.

        ``by_itself`` lets actuators be too few for most motions, if they are enough for this one.
        """
        cost, known = self._checked_weights(weights), self.coordinates_at(self.evaluator.states.configuration(q))
        few = by_itself and method == "reduced" and int(self._supplied.sum()) < self.nv - known.rank
        if not few:
            self._enough_in_number(known)
        state, v, a = self._closed_motion(q, v, a, tolerance)
        k = self.loop_jacobian(state)
        if not few:
            self._enough_hold(k, known)
        tau = self._tree_inverse_dynamics(state, v, a, wrenches, parameters)
        if friction:
            tau = tau + self.friction_force(v, parameters, q)
        k = np.broadcast_to(k, (*tau.shape[:-1], *k.shape[-2:]))
        if few:
            carried = self._tree_joint_wrenches(state, v, a, self._body_loads(wrenches, state), False)
            self._happens_by_itself(tau, carried, k, known)
        order: SolutionOrder | None = None
        if method == "subsystems":
            from ..loops.subsystems import recursion

            noise = dynamics.NOISE if known.slack == 0.0 else known.least
            entries = np.where(np.abs(k) < noise * self._size, 0.0, k)
            solution = recursion.solve(self.model, tau, entries, self._supplied, cost)
            forces, order = solution.tau, solution.order
        else:
            how = dynamics.forces_by_f_matrix if method == "f_matrix" else dynamics.forces_by_null_space
            forces, order = how(tau, k, known.rank, self._supplied, cost, self._size, known.least), None
        left = (tau - forces)[..., None]
        multipliers = rank.least_squares(np.swapaxes(k, -1, -2), left, known.rank, self._size, known.least)[..., 0]
        return forces, multipliers, order

    def constraint_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        method: str = "reduced",
        weights: ArrayLike | None = None,
        tolerance: float | None = None,
    ) -> ConstraintForces:
        """Return the actuator forces, multipliers and the reactions at all joints, cut and uncut, of a motion.

        With fewer actuators than freedoms it takes motions that happen by themselves: accelerations from
        :meth:`forward_dynamics` or :meth:`hybrid_dynamics`, of a record, or zero at an equilibrium.

        Parameters
        ----------
        q, v, a, wrenches, friction, method, weights, tolerance
            As in :meth:`inverse_dynamics`.
        """
        if method not in INVERSE_METHODS:
            raise UnknownNameError("method of inverse dynamics", method, INVERSE_METHODS)
        tau, multipliers, order = self._inverse(q, v, a, wrenches, friction, method, weights, tolerance, by_itself=True)
        state = self.evaluator.states.configuration(q)
        loops = dynamics.loop_wrenches(self.model, state, multipliers)
        reactions = self._tree_joint_wrenches(state, v, a, loops.on_bodies + self._body_loads(wrenches, state), False)
        return ConstraintForces(
            tau, multipliers, self.constraint_names, loops.own, loops.world, reactions, order, ForceNames(
                tuple(self.v_names), self.model.tau_units, self.constraint_units, tuple(self.loop_names),
                tuple(joint.name for joint in self.model.joints), tuple(bool(on) for on in self._supplied),
            ), partial(self._undetermined, state), partial(dynamics.along_world, self.model, state, reactions),
        )  # fmt: skip

    def _undetermined(self, q: Array) -> Undetermined:
        """Return which forces of a motion through ``q`` redundant constraints and actuators share as they like."""
        known, still = self.coordinates_at(q), np.zeros(self.nv)
        tau, multipliers = free_shares(self.loop_jacobian(q), self._supplied)
        loops = dynamics.loop_wrenches(self.model, q, multipliers)
        loaded = self._tree_joint_wrenches(q, still, still, loops.on_bodies, False)
        joints = loaded - self._tree_joint_wrenches(q, still, still, np.zeros_like(loops.on_bodies[:1]), False)
        share = SHARE if known.slack == 0.0 else known.least
        return Undetermined(*((np.abs(x) > share).any(axis=0) for x in (tau, multipliers, loops.own, joints)))

    def _body_loads(self, wrenches: Wrenches, q: Array) -> Array:
        with np.errstate(all="ignore"):
            given = gather(self.model, wrenches)
            loads = self.evaluator.loads(given, q)
            batch = batch_shape(q=(q, 1), **({} if given.numbers is None else {"wrenches": (given.numbers, 1)}))
            return pack([[0.0] * 6 if f is None else list(f) for f in loads], batch)

    # ---------------------------------------------------------------- forward dynamics

    def forward_dynamics(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        method: str = "elimination",
        stabilisation: bool | tuple[float, float] = False,
        project: bool = False,
        tolerance: float | None = None,
        parameters: Any = None,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Return accelerations that joint forces cause while the loops stay closed.

        Parameters
        ----------
        q, v, tau : array_like
            A closed state; forces on all joints of the tree, passive ones included.
        wrenches, friction, out, threads
            As for any robot.
        method : {"elimination", "block", "reduced", "handles"}
            Multipliers first, by the tree's factors (Shah eq. 8.6-8.7); accelerations and multipliers at once
            (Shah eq. 8.5); the equations of the independent motions (Khalil eq. 10.46); or the spanning tree as an
            articulated body, with loop joints as its handles (Featherstone section 9.5; as the first where
            coordinates of joints are coupled). The answer is the same.
        stabilisation : bool or (alpha, beta)
            Baumgarte's terms, which pull a state that has drifted back to closure: K a = -drift - 2 alpha K v
            - beta**2 gap. True means alpha = beta = 10 1/s. The state may then be off by any amount.
        project : bool
            Replace ``v`` by the nearest velocity the loops allow instead of refusing it.
        tolerance : float
            How far from closed the state may be: 1e-6 by default, or what rounding of the file's numbers leaves.
        parameters : mapping, optional
            As in :meth:`inverse_dynamics`.
        """
        if (
            self._quick_forward is not None and wrenches is None and tolerance is None and out is None
            and parameters is None
            and method == "elimination" and threads == 1 and not (friction or stabilisation or project)
        ):  # fmt: skip
            quick = self._quick_forward(q, v, tau)
            if quick is not None:
                return quick
        if method not in FORWARD_METHODS:
            raise UnknownNameError("method of forward dynamics", method, FORWARD_METHODS)
        self._keep_geometry(parameters)
        if out is not None:
            self._check_rooms([out], [(self.nv,)], wrenches, parameters, **self._vectors(q, v, tau=tau))
        gains = dynamics.stabilisation_gains(stabilisation)
        if project:
            q, v = self.project(q, v)
        if any(gains):
            tolerance = np.inf
        a = self._forward(q, v, tau, wrenches, friction, method, gains, tolerance, threads, parameters)[0]
        return self._handed_out(a, out)

    def _forward(
        self, q: Any, v: Any, tau: Any, wrenches: Wrenches, friction: bool, method: str, gains: tuple[float, float],
        tolerance: float | None, threads: int = 1, parameters: Any = None,
    ) -> tuple[Array, Array | None]:  # fmt: skip
        """Return accelerations, and multipliers where they come with the method."""
        state, v, tau = (
            self.evaluator.states.configuration(q),
            as_array(v, (self.nv,), "v"),
            as_array(tau, (self.nv,), "tau"),
        )
        if friction:
            tau = tau - self.friction_force(v, parameters, q)
        known = self.coordinates_at(state)
        if method == "elimination" and not any(gains) and self._goes_by_clusters(known):
            found = self._by_clusters(state, v, tau, wrenches, tolerance, known, threads, parameters)
            if found is not None:
                return found, None
            if known.rank > MOST_TOGETHER:
                return self._by_rank(state, v, tau, wrenches, method, gains, tolerance, known, parameters)
        bound = self.model.has_followers or self.model.couplings  # coordinates that no handle holds together
        by_handles = "closed_forward_dynamics" if bound else "handled_forward_dynamics"
        name = {"elimination": "closed_forward_dynamics", "handles": by_handles}.get(method)
        if name is not None and self.has_inertia:
            options = {"rows": known.rows, "stabilisation": gains}
            whole = self._at_once(name, options, wrenches, threads, parameters, q=state, v=v, tau=tau)
            if whole is not None:
                self._checks.motion(whole[..., -3:], self._granted(tolerance, known), state, v)
                if not (whole[..., -4] < self._least_quality(known)).any():
                    plain = not any(gains) and self.precision == "double" and parameters is None
                    if plain and method == "elimination":
                        self._quick_forward = self._quick(name, options, known)
                    return np.asarray(whole[..., : self.nv]), None
        return self._by_rank(state, v, tau, wrenches, method, gains, tolerance, known, parameters)

    def accelerations_by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches = None, added_mass: Array | float = 0.0,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Return accelerations at any state, closed or nearly so, by the method that finds the rank where it is asked.

        Parameters
        ----------
        q, v, tau, wrenches
            As in :meth:`forward_dynamics`.
        added_mass : array_like, shape (..., nv, nv)
            What resists accelerations beside the mass matrix, such as heavier rotors on its diagonal.
        parameters
            As in :meth:`forward_dynamics`.
        """
        known = self.coordinates_at(q)
        return self._by_rank(q, v, tau, wrenches, "block", (0.0, 0.0), np.inf, known, parameters, added_mass)[0]

    def _by_rank(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches, method: str, gains: tuple[float, float],
        tolerance: float | None, known: Coordinates, parameters: Any, added_mass: Array | float = 0.0,
    ) -> tuple[Array, Array]:  # fmt: skip
        """By a rank-revealing method, for states in which the coordinates chosen beforehand do not serve."""
        run = self._exact.evaluator.run
        force = tau - run("bias_force", wrenches=wrenches, parameters=parameters, q=q, v=v)
        batch = force.shape[:-1]
        m = self._exact.mass_matrix(q, parameters=parameters) + added_mass
        m = np.broadcast_to(m, (*batch, self.nv, self.nv))
        k = np.broadcast_to(self.loop_jacobian(q), (*batch, self.n_constraints, self.nv))
        gaps, speeds = self.loop_gaps(q), (k @ v[..., None])[..., 0]
        squares = [(x * x).sum(axis=-1) for x in (gaps, speeds, np.zeros((1,)))]
        granted = self._granted(tolerance, known)
        self._checks.motion(np.stack(np.broadcast_arrays(*squares), axis=-1), granted, q, v)
        self._need_inertia(m, k, known, parameters is None)
        target = -(self.loop_drift(q, v) + 2.0 * gains[0] * speeds + gains[1] ** 2 * gaps)
        found = dynamics.accelerations(m, k, force, target, known.rank, self._size, known.least, method == "block")
        if not found.ordinary.all():
            self._say_singular(found.ordinary, found.left, v, granted)
        return found.a, found.multipliers

    def _say_singular(self, ordinary: Array, left: Array, v: Array, tolerance: float) -> None:
        """A singular configuration leaves more open than the equations can decide."""
        self._checks.refuse(
            np.where(ordinary, 0.0, opening_rate(left, v)), tolerance,
            "velocity in a singular configuration, where no acceleration keeps them closed", "relative to 1 + |v|^2",
            "take one along a branch that leads out of it",
        )  # fmt: skip
        first = np.unravel_index(int(np.argmin(ordinary)), ordinary.shape)
        where = f" (state {tuple(int(i) for i in first)})" if ordinary.ndim else ""
        warnings.warn(
            f"singular configuration of {self.name!r}{where}: its loops leave directions open that they hold nearby, "
            "and forces alone decide about the accelerations along these; see mobility(q)",
            SingularityWarning,
            stacklevel=callers_level(),
        )

    def multipliers(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None, *, friction: bool = False,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Return loop forces while joint forces ``tau`` act: the shortest ones where constraints are redundant."""
        found = self._forward(q, v, tau, wrenches, friction, "reduced", (0.0, 0.0), None, parameters=parameters)[1]
        assert found is not None
        return found

    # ---------------------------------------------------------------- in independent coordinates

    def reduced_mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix in independent coordinates, G^T M G."""
        g = self.basis(q)
        return np.asarray(np.swapaxes(g, -1, -2) @ self._tree_mass_matrix(q) @ g)

    def reduced_momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the momentum that belongs to the independent coordinates, G^T M v.

        Its rate is the force on them at rest.
        """
        momentum = self._tree_mass_matrix(q) @ as_array(v, (self.nv,), "v")[..., None]
        return np.asarray((np.swapaxes(self.basis(q), -1, -2) @ momentum)[..., 0])

    def reduced_bias_force(self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Return forces on the independent coordinates when their accelerations are zero."""
        state = self.check_closed(q)
        a = self.accelerations(state, v, np.zeros(self.coordinates.freedoms))
        tau = self._tree_inverse_dynamics(state, v, a, wrenches)
        return np.asarray((np.swapaxes(self.basis(state), -1, -2) @ tau[..., None])[..., 0])

    def regressor(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Sequence[str] | str = ALL,
        friction: bool = False,
        weights: ArrayLike | None = None,
        tolerance: float | None = None,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the matrix Y that maps the parameters to the actuator forces of a motion.

        Rows of passive joints are zero: ``Y @ parameters().values`` is ``inverse_dynamics(q, v, a)``.  For fitting
        measured forces see :meth:`reduced_regressor`, which does not ask who produces them.

        Parameters
        ----------
        q, v, a : array_like
            A motion that the loops allow.
        parameters, friction
            As for any robot.
        weights, tolerance, out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., nv, p)
        """
        cost, known = self._checked_weights(weights), self.coordinates_at(self.evaluator.states.configuration(q))
        self._enough_in_number(known)
        state, v, a = self._closed_motion(q, v, a, tolerance)
        k = self.loop_jacobian(state)
        self._enough_hold(k, known)
        whole = self._tree_regressor(state, v, a, parameters, friction, threads)
        k = np.broadcast_to(k, (*whole.shape[:-2], *k.shape[-2:]))
        forces = dynamics.columns_by_null_space(whole, k, known.rank, self._supplied, cost, self._size, known.least)
        return self._handed_out(forces, out)

    def reduced_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Sequence[str] | str = ALL,
        friction: bool = False,
        tolerance: float | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the matrix that maps the parameters to the forces on the independent coordinates, G^T Y (Khalil 10.3).

        It belongs to ``basis(q).T @ tau`` of measured joint forces, whichever joints have motors and however many.

        Returns
        -------
        ndarray, shape (..., freedoms, p)
        """
        state, v, a = self._closed_motion(q, v, a, tolerance)
        whole = self._tree_regressor(state, v, a, parameters, friction, threads)
        return np.asarray(np.swapaxes(self.basis(state), -1, -2) @ whole)

    def _tree_regressor(
        self, q: Array, v: Array, a: Array, parameters: Any, friction: bool, threads: int
    ) -> Array:  # fmt: skip
        options = {"parameters": self._columns(parameters), "friction": bool(friction)}
        return self._exact.evaluator.run("regressor", options, threads=threads, q=q, v=v, a=a)

    def inverse_mass_matrix(  # type: ignore[override]
        self, q: ArrayLike, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return accelerations per unit of each joint force while the loops stay closed; singular, as they must be."""
        state = self.check_closed(q)
        known = self.coordinates_at(state)
        k, mass = self.loop_jacobian(state), self._tree_mass_matrix(state)
        self._need_inertia(mass, k, known)
        along = rank.motions(k, known.rank, self._size, known.least)
        result = rank.solve_along(*along, mass, np.eye(self.nv))
        return self._handed_out(result, out)

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, bearings_only: bool = False
    ) -> Array:
        """Return what each joint of the tree transmits to its body, the loops' forces included."""
        forces = self.constraint_forces(q, v, a, wrenches)
        if not bearings_only:
            return forces.joint_wrenches
        state = self.evaluator.states.configuration(q)
        loads = dynamics.loop_wrenches(self.model, state, forces.multipliers).on_bodies
        return self._tree_joint_wrenches(state, v, a, loads + self._body_loads(wrenches, state), True)

    # ---------------------------------------------------------------- what the spanning tree has, in double precision

    def _tree_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches, parameters: Any = None
    ) -> Array:
        run = self._exact.evaluator.run
        return run("inverse_dynamics", wrenches=wrenches, parameters=parameters, q=q, v=v, a=a)

    def _tree_joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, loads: Array, bearings_only: bool
    ) -> Array:  # fmt: skip
        return Robot.joint_wrenches(self._exact, q, v, a, loads, bearings_only=bearings_only)


def _restore(
    model: Model, backend: str, precision: str, independent: Sequence[str] | None, near: Array | None, cpu: str,
    rounding: float | None = None,
) -> Mechanism:  # fmt: skip
    return Mechanism(
        model, backend=backend, precision=precision, independent=independent, near=near, cpu=cpu, rounding=rounding
    )
