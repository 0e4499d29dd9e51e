"""What every robot can do, as mechanisms with closed loops do it: hybrid dynamics, an undriven base, felt inertia."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.algorithm import ALL
from ..errors import OptionError, ShapeError, UnsupportedError
from ..loops import coordinates, dynamics, following, rank
from ..loops.coordinates import ByName, Coordinates
from ..loops.varied_mechanism import MovedDesigns, VariedMechanism
from ..run.given_joints import GivenAtJoints, read_given
from ..run.parameters import Place
from ..run.wrenches import Wrenches
from ..spatial import Force
from ..spatial.arrays import as_array, batch_shape
from .closed_derivatives import ClosedDerivatives
from .closed_kinematics import closed_from
from .robot import Array

BY_ITSELF = 1e-6
"""Forces that a motion lacks below this part of those that it has (at joints and in them) are none."""


class ClosedMethods(ClosedDerivatives):
    """Methods of any robot, for a :class:`kinetree.Mechanism`: its base class."""

    # ---------------------------------------------------------------- paths

    def follow(
        self, path: Mapping[str, ArrayLike], q_guess: ArrayLike | None = None, *, limits: bool = True,
        must_reach: bool = True, lead_in: bool = False,
    ) -> Any:  # fmt: skip
        """Return closed configurations along a path of some joints, without jumps by branches or whole turns.

        Points may be far apart: between them it goes in steps as short as it takes to stay on one branch.

        Parameters
        ----------
        path : mapping from joint name to positions, shape (T,)
            Of the motors, or of other joints that the rest follows from; joints of several coordinates (T, n).
        q_guess : array_like, shape (nq,), optional
            From which the first point is closed: it decides about the branch.  :meth:`assembled` by default.
        limits : bool
            Whether the position limits of all joints hold (default), or are ignored.
        must_reach : bool
            Raise :class:`~kinetree.errors.PathError` at the first point that the mechanism cannot come to (default);
            otherwise the answer is a pair: configurations, NaN where there are none, and where there are some, (T,).
        lead_in : bool
            Whether the way from ``q_guess`` to the first point is followed, too: where that is far, the branch is then
            still that of the guess.

        Returns
        -------
        ndarray, shape (T, nq)

        Examples
        --------
        ``q = four_bar.follow({"crank_joint": np.linspace(0, 2 * np.pi, 200)})``
        """
        if not isinstance(path, Mapping):
            example = self.independent()[0]
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
        start = self.assembled() if q_guess is None else as_array(q_guess, (self.nq,), "q_guess")
        if lead_in:
            columns = [
                np.concatenate([start[None, self.model.joint(name).q_slice], x])
                for name, x in zip(path, columns, strict=True)
            ]
        goals = np.concatenate(columns, axis=-1)
        free = np.ones(self.nv, dtype=bool)
        free[rates] = False

        def close(guesses: Array, wanted: Array) -> tuple[Array, Array]:
            guesses = np.array(guesses)
            guesses[:, places] = wanted
            found, _, done = closed_from(self, guesses, free)
            return found, done

        def nearest(k: int, q: Array) -> Array:
            return self.close(q, {name: x[k] for name, x in zip(path, columns, strict=True)}, limits=limits)

        selected = np.eye(self.nv)[rates]
        problem = following.PathProblem(
            close, lambda q: (self._position_jacobian(q), selected), lambda a, b: b - a,
            lambda a, b, share: a + share * (b - a), self.moved, self.difference,
        )  # fmt: skip
        within = self._position_limits if limits else None
        before = int(lead_in)
        names = [self.model.q_names[k] for k in places]

        def said(goal: Array) -> str:
            return ", ".join(f"{name} = {x:.6g}" for name, x in zip(names, goal, strict=True))

        q, reached = following.followed(problem, goals, start, nearest, within, must_reach, self.name, -before, said)
        return q[before:] if must_reach else (q[before:], reached[before:])

    # ---------------------------------------------------------------- dimensions that vary

    def driven_motion(
        self,
        q: ByName,
        v: ByName,
        a: ByName,
        parameters: Any = None,
        *,
        q_guess: ArrayLike | None = None,
        near: ArrayLike | None = None,
        threads: int = 1,
    ) -> MovedDesigns:
        """Move this mechanism, or many designs of it, under given drives, loops closed; return the forces it takes.

        Here dimensions may vary, too: where joints sit, and where loops close.  All is machine code that is made once.

        Parameters
        ----------
        q, v, a : array_like, shape (T, freedoms), or mapping from freedom to samples (T,)
            Samples of the independent freedoms, in the order of :meth:`independent` or by name; from one sample to the
            next a design must find its way, so they are to be close together.
        parameters : mapping, optional
            What varies; the mechanism as it is when left out.  As for :meth:`inverse_dynamics`, with a batch in front:
            ``{"joints": {"knee": {"position": places}}}``,
            ``{"loops": {"pin": {"position": places, "seat": seats}}}``, ``{"bodies": {"coupler": {"mass": masses}}}``.
        q_guess : array_like, shape (nq,), optional
            A configuration of the mechanism as it is drawn, on the branch that is meant and beside the first sample;
            :meth:`assembled` by default.
        near : array_like
            Another name for ``q_guess``.
        threads : int

        Returns
        -------
        MovedDesigns
            ``q``, ``v``, ``a``, ``tau``, each (..., T, n), NaN from where on a design cannot follow.

        Examples
        --------
        >>> import numpy as np, kinetree as kt
        >>> four_bar = kt.load("four-bar")
        >>> crank = np.linspace(0, 2 * np.pi, 50)[:, None]
        >>> pins = np.array([[0.038, 0, 0], [0.03, 0, 0], [0.5, 0, 0]])
        >>> moved = four_bar.driven_motion(
        ...     crank, np.ones_like(crank), np.zeros_like(crank), {"loops": {"crank_pin": {"position": pins}}},
        ...     q_guess=kt.gallery.start("four-bar"))
        >>> moved.closed  # a crank of half a metre does not turn
        array([ True,  True, False])
        """
        given = self.evaluator.read_parameters(
            parameters or {"gravity": self.model.gravity}
        )  # as it is, if nothing varies
        assert given.numbers is not None
        n, named = len(self.coordinates.independent), self.independent()
        samples = [np.atleast_2d(coordinates.by_name(x, named, name)) for name, x in (("q", q), ("v", v), ("a", a))]
        longest = max(len(x) for x in samples)
        samples = [np.broadcast_to(x, (longest, n)) if len(x) == 1 else x for x in samples]
        if any(x.ndim != 2 for x in samples) or len({len(x) for x in samples}) > 1:
            shown = ", ".join(f"{name} {x.shape}" for name, x in zip("qva", samples, strict=True))
            raise ShapeError(
                f"samples of the independent freedoms are arrays (T, {n}) with the same T for all; got {shown}"
            )
        if q_guess is not None and near is not None:
            raise OptionError("near is another name for q_guess: give one of them")
        guess = near if q_guess is None else q_guess
        start = self.close(self.assembled() if guess is None else as_array(guess, (self.nq,), "q_guess"), limits=False)
        if start.ndim != 1:
            raise ShapeError(f"q_guess is one configuration, shape ({self.nq},), not {start.shape}")
        if given.places not in self._varied:
            self._varied[given.places] = VariedMechanism(self, self.coordinates, given.places, self.cpu)
        return self._varied[given.places].run(np.stack(samples, axis=1), given.numbers, start, threads)

    @cached_property
    def _varied(self) -> dict[tuple[Place, ...], VariedMechanism]:
        """The laws with some parameters as inputs, by these."""
        return {}

    # ---------------------------------------------------------------- some motions given, some forces

    def hybrid_dynamics(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        a: Mapping[str, ArrayLike] | None = None,
        tau: Mapping[str, ArrayLike] | None = None,
        wrenches: Wrenches = None,
        tolerance: float | None = None,
        out: Array | None = None,
        threads: int = 1,
    ) -> tuple[Array, Array]:
        """Return all accelerations and forces, where some joints are given accelerations, the others forces.

        Parameters
        ----------
        q, v : array_like
            A closed state.
        a : mapping of joint name to acceleration
            Joints whose motion is prescribed: no more than there are freedoms, and none that follows from the others.
        tau : mapping of joint name to force
            Forces of the other joints, with or without a motor; those left out are zero.
        wrenches, tolerance, threads
            As in :meth:`forward_dynamics`.
        out : ndarray, shape (..., 2, nv), optional
            Where to put accelerations and forces.

        Returns
        -------
        a, tau : ndarray, shape (..., nv)
            The forces at prescribed joints are those that make them move so.
        """
        given = read_given(self.model, a, tau)
        freedoms = given.freedoms(self.model)
        both = self._hybrid(q, v, given, freedoms, self._with_given(freedoms), wrenches, tolerance, threads)
        if out is None:
            return both
        whole = self._handed_out(np.stack(both, axis=-2), out)
        return whole[..., 0, :], whole[..., 1, :]

    @cached_property
    def _other_coordinates(self) -> dict[tuple[int, ...], Coordinates]:
        return {}

    def _with_given(self, freedoms: tuple[int, ...]) -> Coordinates:
        """Return coordinates in which some freedoms are independent; remembered."""
        known = self.coordinates
        if set(freedoms) <= set(known.independent):
            return known
        if freedoms not in self._other_coordinates:
            chosen = coordinates.including(known, freedoms, self._supplied, self.v_names)
            self._other_coordinates[freedoms] = chosen
        return self._other_coordinates[freedoms]

    def _hybrid(
        self, q: ArrayLike, v: ArrayLike, given: GivenAtJoints, freedoms: tuple[int, ...], known: Coordinates,
        wrenches: Wrenches, tolerance: float | None, threads: int = 1,
    ) -> tuple[Array, Array]:  # fmt: skip
        if len(freedoms) < known.freedoms:
            held = [i for i, is_motion in enumerate(given.moved) if is_motion]
            self.tree.evaluator.check_pivots(held=held)
        arrays = self._vectors(q, v, tau=given.values)
        options = {"pivots": known.pivots, "known_freedoms": freedoms}
        whole = self._in_good_order("closed_hybrid_dynamics", options, known, wrenches, tolerance, threads, arrays)
        return self._handed_out(whole[..., : self.nv], None), self._handed_out(whole[..., self.nv : -4], None)

    def floating_base_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a_joints: ArrayLike, wrenches: Wrenches = None
    ) -> tuple[Array, Array]:
        """Return the base acceleration and joint forces when only the joints' accelerations are given.

        Loops that do not touch the ground push on the robot only from inside, so that its base moves as it would
        without them; the forces are those of the actuators, zero at passive joints.

        Parameters
        ----------
        q, v : array_like
            A closed state.
        a_joints : array_like, shape (..., nv - n)
            Accelerations of the joints after the base, as the loops allow them.

        Returns
        -------
        base_acceleration : ndarray, shape (..., n)
        tau : ndarray, shape (..., nv - n)
        """
        base = self._undriven_base()
        n, known = base.nv, self.coordinates
        if not self._supplied[base.v_slice].all():
            raise UnsupportedError(
                f"loops of {self.name!r} go through its base's joint {base.name!r}, so it does not move freely: "
                "inverse_dynamics or hybrid_dynamics give the forces"
            )
        self._enough_in_number(known)
        padded = self._behind_the_base(a_joints, n)
        freedoms = tuple(j for j in known.independent if j >= n)
        given = GivenAtJoints(
            np.where(np.isin(np.arange(self.nv), freedoms), padded, 0.0),
            (False,) + (True,) * (len(self.model.joints) - 1),
        )
        a, _ = self._hybrid(q, v, given, freedoms, known, wrenches, None)
        batch_shape(a_joints=(padded, 1), others=(a, 1))
        whole = np.concatenate([a[..., :n], np.broadcast_to(padded[..., n:], (*a.shape[:-1], self.nv - n))], axis=-1)
        tau = self.inverse_dynamics(q, v, whole, wrenches)  # refuses accelerations that the loops do not allow
        return a[..., :n], tau[..., n:]

    # ---------------------------------------------------------------- modules of the spanning tree

    def _loop_loads(self, q: Array, v: Array, given: Array, is_motion: bool) -> list[Force]:
        """Return what loops do to each body of the spanning tree."""
        if self.model.couplings:
            raise UnsupportedError(
                f"coupling {self.model.couplings[0].name!r} of {self.name!r} pushes on joints and not on bodies, as "
                "the recursions between modules have it; tree.module_quantities leaves couplings and loops out"
            )
        if is_motion:
            multipliers = self._inverse(q, v, given, None, False, "reduced", None, None)[1]
        else:
            multipliers = self.multipliers(q, v, given)
        return [Force.of(f) for f in dynamics.loop_wrenches(self.model, q, multipliers).on_bodies]

    # ---------------------------------------------------------------- what frames feel

    @property
    def _freedoms(self) -> int:
        return self.coordinates.freedoms

    def _compliance(self, q: ArrayLike, names: tuple[str, ...], axes: str, method: str) -> Array:
        """Return J M^-1 J^T, M^-1 along the motions that loops allow."""
        jacobian = np.concatenate([self._exact.jacobian(q, name, axes) for name in names], axis=-2)
        return np.asarray(jacobian @ self._exact.inverse_mass_matrix(q) @ np.swapaxes(jacobian, -1, -2))

    def _felt_inertia(
        self, q: ArrayLike, names: tuple[str, ...], axes: str, method: str, compliance: Array
    ) -> Array:  # fmt: skip
        finite = np.isfinite(compliance).all(axis=(-1, -2), keepdims=True)
        inverse = np.linalg.inv(np.where(finite, compliance, np.eye(compliance.shape[-1])))
        return self._handed_out(np.where(finite, inverse, np.nan), None)

    # ---------------------------------------------------------------- derivatives by parameters

    def inverse_dynamics_by_parameters(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        parameters: Sequence[str] | Mapping[str, Any] | str = ALL,
        *,
        wrenches: Wrenches = None,
        threads: int = 1,
    ) -> Array:
        """Return how the actuator forces of a motion change with parameters, friction left out.

        As for any robot, but for places of joints: they decide where loops close.
        """
        if not isinstance(parameters, Mapping):
            return self.regressor(q, v, a, parameters=parameters, threads=threads)
        self._keep_geometry(parameters)
        state = self.check_closed(q)
        k, known = self.loop_jacobian(state), self.coordinates_at(state)
        self._enough_in_number(known)
        self._enough_hold(k, known)
        columns = self._exact._by_parameters("inverse_dynamics", {}, parameters, wrenches, threads, q=state, v=v, a=a)
        k = np.broadcast_to(k, (*columns.shape[:-2], *k.shape[-2:]))
        cost = np.ones(self.nv)
        return dynamics.columns_by_null_space(columns, k, known.rank, self._supplied, cost, self._size, known.least)

    def forward_dynamics_by_parameters(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        parameters: Sequence[str] | Mapping[str, Any] | str = ALL,
        *,
        wrenches: Wrenches = None,
        friction: bool = False,
        threads: int = 1,
    ) -> Array:
        """Return how the accelerations that joint forces cause change with parameters, loops closed.

        As for any robot, but for places of joints: they decide where loops close.
        """
        exact, state, own = self._exact, self.check_closed(q), None
        if isinstance(parameters, Mapping):
            if friction:
                raise UnsupportedError(
                    "accelerations with friction are differentiated by parameters of the table only: give their names"
                )
            self._keep_geometry(parameters)
            own = parameters
            a = exact.forward_dynamics(state, v, tau, wrenches, parameters=own, threads=threads)
            columns = exact._by_parameters("inverse_dynamics", {}, own, wrenches, threads, q=state, v=v, a=a)
        else:
            a = exact.forward_dynamics(state, v, tau, wrenches, friction=friction, threads=threads)
            columns = exact._tree_regressor(state, as_array(v, (self.nv,), "v"), a, parameters, friction, threads)
        known = self.coordinates_at(state)
        mass = exact.evaluator.run("mass_matrix", parameters=own, q=state)
        along = rank.motions(self.loop_jacobian(state), known.rank, self._size, known.least)
        return self._handed_out(-rank.solve_along(*along, mass, columns), None)

    # ---------------------------------------------------------------- whether actuators are enough

    def _happens_by_itself(self, tau: Array, carried: Array, k: Array, known: Coordinates) -> None:
        """Refuse a motion that its actuators, too few for most, cannot be the cause of."""
        left = np.abs(dynamics.left_by_actuators(tau, k, known.rank, self._supplied, self._size, known.least))
        allowed = BY_ITSELF * np.maximum(np.abs(tau).max(axis=-1), np.abs(carried).max(axis=(-1, -2)))
        if (left > allowed[..., None]).any():
            most = np.nanmax(left, axis=tuple(range(left.ndim - 1)))
            self._enough_in_number(known, most)

    # what Mechanism brings
    def _keep_geometry(self, parameters: Any) -> None:
        raise NotImplementedError

    def _tree_regressor(self, q: Array, v: Array, a: Array, parameters: Any, friction: bool, threads: int) -> Array:
        raise NotImplementedError
