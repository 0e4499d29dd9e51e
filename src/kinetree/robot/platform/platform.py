"""Parallel manipulators: a platform that several legs carry together (001 section 3).

A :class:`Platform` is a mechanism and a frame on it, seen as a manipulator: from the
actuators' positions to the platform's pose and back, the same for velocities, and where
that breaks down.  It works for any mechanism; the DeNOC matrices are for serial legs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ...errors import (
    ClosureError,
    OptionError,
    ShapeError,
    SingularError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from ...loops import closing, rank
from ...loops.clusters import single
from ...model.joints import Revolute
from ...model.tree import BASE
from ...spatial.arrays import as_array
from ..closed_kinematics import CLOSED, closed_from
from ..mechanism import Mechanism
from .parallel_denoc import ParallelDeNOC
from .parallel_dynamics import ParallelDynamics
from .singularities import Counts, Maps, Singularity, analyse, classify, common, margins

Array = np.ndarray

SINGULAR = 1e-7
"""Singular values below this (dimensionless) make a configuration singular."""

NEARBY = 1e-3
"""How far the neighbours are that a configuration is compared with, as a fraction of the platform's size."""

SAME = 1e-6
"""Two assemblies are the same if nothing that tells them apart (entries of poses, positions) differs by more."""

UNREACHABLE = 1e-8
"""Velocities that the mechanism does not have are refused above this fraction of what was asked for."""


class Platform:
    """A mechanism seen as a parallel manipulator.

    Parameters
    ----------
    mechanism : Mechanism
    frame : str
        The frame whose pose matters: a body, or a named frame on it.
    actuated : sequence of str, optional
        Names of the actuated joints; those marked as actuated in the model by default.
    orientation : bool
        Whether the frame's orientation matters, beside its position: not for the tip of a five-bar or of
        a delta robot.  Velocities of the platform then have three components instead of six.
    length : float, optional
        What angles are multiplied with where they are compared with lengths (singularities only); the
        mean distance of the platform's joints from the frame by default.

    Examples
    --------
    ``Platform(hexapod, "top").inverse(pose, q_guess)`` gives a closed configuration with the frame there.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        frame: str,
        actuated: Sequence[str] | None = None,
        *,
        orientation: bool = True,
        length: float | None = None,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise UnsupportedError(f"a platform needs a mechanism with closed loops, not {type(mechanism).__name__}")
        self.mechanism = mechanism
        self.frame = frame
        self.orientation = bool(orientation)
        place = mechanism.model.frame(frame)
        if place.body == BASE:
            raise UnsupportedError(f"frame {frame!r} is fixed to the ground: a platform must move")
        named = [j.name for j in mechanism.model.joints if j.actuated and not j.mimic] if actuated is None else actuated
        self._joints = [mechanism.model.joint(name) for name in named]
        for joint in self._joints:
            if joint.mimic:
                raise OptionError(f"joint {joint.name!r} mimics {joint.mimic.leader!r} and cannot be actuated itself")
        if not self._joints:
            raise OptionError(f"{mechanism.name!r} has no actuated joint: name some with actuated=[...]")
        if length is not None and not (np.isfinite(length) and length > 0.0):
            raise OptionError(f"length must be positive, not {length!r}")
        self.length = self._size() if length is None else float(length)
        self._counts: Counts | None = None

    @property
    def actuated(self) -> list[str]:
        """Names of the actuated joints; positions and rates are laid out in this order."""
        return [j.name for j in self._joints]

    @cached_property
    def _dofs(self) -> list[int]:
        return [k for j in self._joints for k in range(j.v_slice.start, j.v_slice.stop)]

    @cached_property
    def _coordinates(self) -> list[int]:
        return [k for j in self._joints for k in range(j.q_slice.start, j.q_slice.stop)]

    def _size(self) -> float:
        """Return the mean distance of the platform's joints from the frame."""
        model = self.mechanism.model
        place = model.frame(self.frame)
        points = [np.zeros(3)]
        points += [j.placement.position for j in model.joints if j.parent == place.body]
        points += [loop.placement.position for loop in model.loops if loop.predecessor == place.body]
        points += [loop.seat.position for loop in model.loops if loop.successor == place.body]
        mean = float(np.mean([np.linalg.norm(p - place.pose.position) for p in points]))
        return mean or 1.0

    # ---------------------------------------------------------------- positions

    def positions(self, q: ArrayLike) -> Array:
        """Return positions of the actuated joints out of a configuration."""
        return np.asarray(as_array(q, (self.mechanism.nq,), "q")[..., self._coordinates])

    def pose(self, q: ArrayLike) -> Array:
        """Return the pose of the platform, (..., 4, 4)."""
        return self.mechanism.pose(q, self.frame)

    def forward(
        self, positions: ArrayLike, q_guess: ArrayLike | None = None, *, guess: ArrayLike | None = None
    ) -> Array:
        """Return forward kinematics: the closed configuration with the actuators at given positions.

        Parameters
        ----------
        positions : array_like, shape (..., actuated)
        q_guess : array_like, shape (..., nq)
            Decides which of the assemblies is found; :meth:`assemblies` finds all.
        guess : array_like
            Another name for ``q_guess``.

        Returns
        -------
        ndarray, shape (..., nq)
            A closed configuration; :meth:`pose` gives the platform's pose there.
        """
        given = self._given(positions)
        q = self._guess(q_guess, guess)
        fixed, used = {}, 0
        for joint in self._joints:
            part = given[..., used : used + joint.nq]
            fixed[joint.name] = part if joint.nq > 1 else part[..., 0]
            used += joint.nq
        return self.mechanism.close(q, fixed)

    def inverse(self, target: ArrayLike, q_guess: ArrayLike | None = None, *, guess: ArrayLike | None = None) -> Array:
        """Return the inverse kinematics: the closed configuration with the platform at a given place.

        Parameters
        ----------
        target : array_like, shape (..., 4, 4) or (..., 3)
            Pose of the platform frame, or only its position (for platforms that cannot be turned at will).
        q_guess : array_like, shape (..., nq)
            Decides which branch of each leg is found.
        guess : array_like
            Another name for ``q_guess``.

        Returns
        -------
        ndarray, shape (..., nq)
            A closed configuration; :meth:`positions` gives those of the actuators.
        """
        goal, q, batch = self._start(target, self._guess(q_guess, guess))
        found, gaps, done = self._reach(goal, q, np.ones(self.mechanism.nv, dtype=bool))
        bad = ~done & np.isfinite(q).all(axis=-1) & np.isfinite(goal).reshape(len(goal), -1).all(axis=-1)
        if bad.any():
            raise ClosureError(self._unreached(gaps, bad, batch))
        return np.where(done[:, None], found, np.nan).reshape(*batch, self.mechanism.nq)

    def follow(self, targets: ArrayLike, q_guess: ArrayLike | None = None, *, guess: ArrayLike | None = None) -> Array:
        """Return inverse kinematics along a path (T, 4, 4) or (T, 3): each configuration starts from the one before.

        Parameters
        ----------
        targets : array_like, shape (T, 4, 4) or (T, 3)
        q_guess : array_like, shape (nq,)
            From which the first one is found.
        guess : array_like
            Another name for ``q_guess``.

        Returns
        -------
        ndarray, shape (T, nq)
        """
        found, q = [], self._guess(q_guess, guess)
        for k, target in enumerate(np.asarray(targets, dtype=float)):
            try:
                q = self.inverse(target, q)
            except ClosureError as problem:
                raise ClosureError(f"at point {k} of the path: {problem}") from None
            found.append(q)
        return np.array(found).reshape(-1, self.mechanism.nq)

    def assemblies(
        self,
        positions: ArrayLike | None = None,
        target: ArrayLike | None = None,
        *,
        distinct: str | None = None,
        starts: int = 100,
        rng: np.random.Generator | int | None = 0,
    ) -> Array:
        """Return all closed configurations that are found from random starts.

        Give the actuators' ``positions`` for the branches of forward kinematics, the platform's
        ``target`` for those of inverse kinematics, or both.  Joint limits are not looked at.

        Parameters
        ----------
        positions : array_like, shape (actuated,), optional
        target : array_like, shape (4, 4) or (3,), optional
        distinct : {"platform", "actuators", "bodies"}, optional
            What two assemblies must differ in: by default the platform's pose where positions are given, the
            actuators where a target is given, any body where both are.
        starts : int
            Number of random configurations to start from.
        rng : Generator, int or None
            Source of randomness, or a seed.

        Returns
        -------
        ndarray, shape (found, nq)
            Distinct assemblies; hinge angles that were not given lie between -pi and pi.
            Nothing proves that there are no more.
        """
        if positions is None and target is None:
            raise OptionError("give positions of the actuators, a target of the platform, or both")
        usual = "bodies" if not (positions is None or target is None) else "platform" if target is None else "actuators"
        marks = self._marks(usual if distinct is None else distinct)
        m = self.mechanism
        q = m.random_configuration(rng, starts)
        free = np.ones(m.nv, dtype=bool)
        if positions is not None:
            given = self._given(positions)
            if given.ndim != 1:
                raise ShapeError(f"assemblies are searched for one set of positions at a time, got {given.shape}")
            q[:, self._coordinates] = given
            free[self._dofs] = False
        if target is None:
            found, _, done = closed_from(m, q, free)
        else:
            goal, q, _ = self._start(target, q)
            found, _, done = self._reach(goal, q, free)
        return _distinct(self._wrapped(found[done], free), marks)

    def _given(self, positions: ArrayLike) -> Array:
        return as_array(
            positions, (len(self._coordinates),), "positions", f"one per actuator: {', '.join(self.actuated)}"
        )

    def _guess(self, q_guess: ArrayLike | None, guess: ArrayLike | None) -> Array:
        """Return the guess, under the name that closing and inverse kinematics use or the short one."""
        given = [x for x in (q_guess, guess) if x is not None]
        if len(given) != 1:
            why = (
                "it decides which branch is found" if not given else "guess is another name for it, so give one of them"
            )
            raise OptionError(f"q_guess, a configuration (..., {self.mechanism.nq}), is needed once: {why}")
        return as_array(given[0], (self.mechanism.nq,), "q_guess")

    def _start(self, target: ArrayLike, q: Array) -> tuple[Array, Array, tuple[int, ...]]:
        """Return goals and guesses, one per lane."""
        goal = np.asarray(target, dtype=float)
        last = 2 if goal.shape[-2:] == (4, 4) else 1
        if last == 1 and goal.shape[-1:] != (3,):
            raise ShapeError(f"target must have shape (..., 4, 4) or (..., 3), got {goal.shape}")
        nq = self.mechanism.nq
        try:
            batch = np.broadcast_shapes(goal.shape[:-last], q.shape[:-1])
        except ValueError:
            raise ShapeError(f"target {goal.shape} and q_guess {q.shape} do not fit together") from None
        goal = np.broadcast_to(goal, (*batch, *goal.shape[-last:])).reshape(-1, *goal.shape[-last:])
        return goal, np.array(np.broadcast_to(q, (*batch, nq)).reshape(-1, nq)), batch

    def _reach(self, goal: Array, q: Array, free: Array) -> tuple[Array, Array, Array]:
        """Close the loops with the platform at its goal, as if one more joint welded it there."""
        m, nq = self.mechanism, self.mechanism.nq
        shape, rows = goal.shape[1:], slice(0, 6) if goal.ndim == 3 else slice(3, 6)

        def gaps(state: Array) -> Array:
            off = _off(self.pose(state[:, :nq]), state[:, nq:].reshape(-1, *shape))
            return np.concatenate([m.loop_gaps(state[:, :nq]), off], axis=-1)

        def matrix(state: Array) -> Array:
            jacobian = m.jacobian(state[:, :nq], self.frame, "aligned")[..., rows, :]
            return np.concatenate([m.loop_jacobian(state[:, :nq]), jacobian], axis=-2)

        def moved(state: Array, v: Array) -> Array:
            return np.concatenate([m.moved(state[:, :nq], v), state[:, nq:]], axis=-1)

        # each lane carries its goal along
        state = np.concatenate([q, goal.reshape(len(goal), -1)], axis=-1)
        count = m.n_constraints + rows.stop - rows.start
        problem = closing.ClosingProblem(gaps, matrix, moved, single(count, m.nv), free)
        counting = closing.Counting((min(count, m.nv),), rank.RELATIVE_TOLERANCE)
        found = closing.close(problem, state, CLOSED, counting)
        return found.q[:, :nq], found.gaps, found.done

    def _unreached(self, gaps: Array, bad: Array, batch: tuple[int, ...]) -> str:
        lane = int(np.flatnonzero(bad)[0])
        left = np.abs(gaps[lane])
        nc = self.mechanism.n_constraints
        where = f" in state {tuple(int(i) for i in np.unravel_index(lane, batch))}" if batch else ""
        open_loops, off = left[:nc].max(initial=0.0), left[nc:]
        parts = [f"{np.linalg.norm(off[-3:]):.3g} m"]
        if len(off) == 6:
            parts.append(f"{np.linalg.norm(off[:3]):.3g} rad")
        return (
            f"the platform {self.frame!r} of {self.mechanism.name!r} does not reach its target{where}: it stays "
            f"{' and '.join(parts)} off, with loops open by {open_loops:.3g} m or rad. The target may be out of reach, "
            "ask for an orientation the platform cannot take (give a position only), or need a nearer guess"
        )

    def _wrapped(self, q: Array, free: Array) -> Array:
        """Return hinge angles that were not given, between -pi and pi."""
        q = q.copy()
        for joint in self.mechanism.model.joints:
            if isinstance(joint.kind, Revolute) and free[joint.v_slice].any():
                angle = q[:, joint.q_slice]
                q[:, joint.q_slice] = angle - 2 * np.pi * np.round(angle / (2 * np.pi))
        return q

    def _marks(self, what: str) -> Callable[[Array], Array]:
        """Return numbers that tell assemblies apart."""
        m = self.mechanism
        hinges = [
            k for j in self._joints if isinstance(j.kind, Revolute) for k in range(j.q_slice.start, j.q_slice.stop)
        ]
        others = [k for k in self._coordinates if k not in hinges]

        def bodies(q: Array) -> Array:
            return np.concatenate([m.pose(q, name)[:, :3].reshape(len(q), -1) for name in m.body_names], axis=1)

        def platform(q: Array) -> Array:
            return self.pose(q)[:, :3].reshape(len(q), -1) if self.orientation else self.pose(q)[:, :3, 3]

        def actuators(q: Array) -> Array:
            return np.concatenate([np.cos(q[:, hinges]), np.sin(q[:, hinges]), q[:, others]], axis=1)

        known = {"bodies": bodies, "platform": platform, "actuators": actuators}
        if what not in known:
            raise UnknownNameError("way to tell assemblies apart (distinct)", what, known)
        return known[what]

    # ---------------------------------------------------------------- velocities

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the matrix J with platform twist = J rates, (..., 6, actuated) (001 eq. 29b).

        The twist is the platform's angular velocity and the velocity of the frame's origin, along
        world axes; only the latter, (..., 3, actuated), where orientation does not matter.  With more
        actuators than freedoms it holds for rates that fit together.
        """
        state = self._closed(q)
        return np.asarray(self._frame_jacobian(state) @ self._per_rate(state))

    def _frame_jacobian(self, q: Array) -> Array:
        """Return the tree's Jacobian of what the platform puts out."""
        return np.asarray(self.mechanism.jacobian(q, self.frame, "aligned")[..., 0 if self.orientation else 3 :, :])

    def velocities(self, q: ArrayLike, rates: ArrayLike) -> Array:
        """Return velocities of all joints, (..., nv), from the actuators' rates."""
        state = self._closed(q)
        given = as_array(rates, (len(self._dofs),), "rates", f"one per actuated freedom of {', '.join(self.actuated)}")
        v = (self._per_rate(state) @ given[..., None])[..., 0]
        self._refuse(v[..., self._dofs] - given, given, "the actuators' rates do not fit together")
        return np.asarray(v)

    def velocities_for(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return velocities of all joints, (..., nv), from the platform's twist.

        Angular velocity, then velocity of the origin, along world axes; only the latter where orientation
        does not matter.  The smallest ones where the twist leaves a choice.
        """
        state = self._closed(q)
        meaning = "angular velocity, then velocity of the origin" if self.orientation else "velocity of the origin"
        given = as_array(twist, (6 if self.orientation else 3,), "twist", meaning)
        n = self._allowed(state)
        jacobian = self._frame_jacobian(state)
        reach = jacobian @ n
        usual = self._usual(state).platform
        size = float(np.nanmax(np.abs(jacobian), initial=0.0))
        short = rank.numerical_rank(reach, size) < usual
        self._refuse_singular(state, short & np.isfinite(reach).all(axis=(-1, -2)), "its platform has lost a freedom")
        v = (n @ rank.least_squares(reach, given[..., None]))[..., 0]
        self._refuse(
            (jacobian @ v[..., None])[..., 0] - given,
            given,
            f"the platform has {usual} freedoms and cannot move along this twist",
        )
        return np.asarray(v)

    def rates(self, q: ArrayLike, twist: ArrayLike) -> Array:
        """Return rates of the actuators, (..., actuated), from the platform's twist."""
        return np.asarray(self.velocities_for(q, twist)[..., self._dofs])

    def _per_rate(self, q: Array) -> Array:
        """Return the matrix that takes the actuators' rates to all velocities."""
        n = self._allowed(q)
        driven = n[..., self._dofs, :]
        usual = self._usual(q)
        if usual.held > usual.idle:
            raise SingularError(
                f"{self.mechanism.name!r} has {usual.freedoms} freedoms and its {len(self._dofs)} actuated ones "
                f"({', '.join(self.actuated)}) do not determine the platform's motion; actuate more joints"
            )
        short = rank.numerical_rank(driven, 1.0) < usual.freedoms - usual.held
        self._refuse_singular(
            q, short & np.isfinite(driven).all(axis=(-1, -2)), "its actuators do not hold the platform"
        )
        eye = np.broadcast_to(np.eye(len(self._dofs)), (*driven.shape[:-2], len(self._dofs), len(self._dofs)))
        return np.asarray(n @ rank.least_squares(driven, eye))

    def _closed(self, q: ArrayLike) -> Array:
        return self.mechanism.check_closed(q)

    def _allowed(self, q: Array) -> Array:
        """Return motions that the loops allow, (..., nv, freedoms)."""
        k = self.mechanism.loop_jacobian(q)
        known = self.mechanism.coordinates_at(q)
        usual = known.rank
        short = (rank.numerical_rank(k, self.mechanism._size, known.least) < usual) & np.isfinite(k).all(axis=(-1, -2))
        self._refuse_singular(q, short, "its loops allow more motions than usual")
        return rank.null_space(k, usual)

    def _refuse_singular(self, q: Array, bad: Array, what: str) -> None:
        if bad.any():
            lane = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
            where = f" in state {tuple(int(i) for i in lane)}" if lane else ""
            report = self.singularities(q[lane])
            raise SingularError(f"{self.mechanism.name!r} is in a singular configuration{where}: {what}. {report}")

    def _refuse(self, off: Array, given: Array, message: str) -> None:
        bad = np.linalg.norm(off, axis=-1) > UNREACHABLE * (np.linalg.norm(given, axis=-1) + 1e-300)
        if bad.any():
            lane = np.unravel_index(int(np.argmax(bad)), bad.shape)
            where = f" in state {tuple(int(i) for i in lane)}" if bad.ndim else ""
            raise StateError(f"{message}{where}: {np.linalg.norm(off[lane]):.3g} of it remain")

    # ---------------------------------------------------------------- singularities

    def singularities(self, q: ArrayLike, *, tolerance: float = SINGULAR) -> Singularity:
        """Return whether a configuration is singular, how, and which motions are lost or gained there.

        Parameters
        ----------
        q : array_like, shape (nq,)
            A closed configuration.
        tolerance : float
            Margins below this count as zero.

        Returns
        -------
        Singularity
            ``print`` it; ``.type`` is Gosselin and Angeles' 1, 2 or 3, ``.distance`` a measure of how far
            the nearest singularity is.
        """
        state = self._closed(q)
        if state.ndim != 1:
            raise OptionError("singularities looks at one configuration at a time: give q of shape (nq,)")
        if not np.isfinite(state).all():
            raise StateError("the configuration holds NaN or infinity: nothing can be said about it")
        maps = self._maps(state)
        here = analyse(maps, tolerance)
        near = [self._maps(x) for x in self._nearby(state, here.allowed)]
        around = [analyse(m, tolerance) for m in near]
        usual = common([here.counts, *(a.counts for a in around)])
        found = classify(here, usual, maps, around, near)
        gained = (maps.platform @ found.gained).T
        gained = gained / np.linalg.norm(gained, axis=1, keepdims=True)
        return Singularity(
            found.kinds, self._in_radians(found.lost), self._in_radians(gained), found.gained.T / self._scale,
            found.still.T / self._scale, found.idle.T / self._scale, found.margins, here.counts.freedoms,
            usual.freedoms, here.counts.platform, usual.platform, self.length,
        )  # fmt: skip

    def margins(self, q: ArrayLike) -> dict[str, Array]:
        """Return distances from singularities for a batch of configurations, for maps of a workspace.

        Returns
        -------
        dict
            ``"inverse"``, ``"forward"`` and ``"constraint"``, each of the batch's shape, from 0 at a singularity
            to 1; see :class:`Singularity`.  Where the last is 0 the others mean little.
        """
        state = self._closed(q)
        return margins(self._maps(state), self._usual(state))

    def _in_radians(self, twists: Array) -> Array:
        """Return whole twists from what the platform puts out, in metres."""
        whole = np.zeros((len(twists), 6))
        whole[:, 0 if self.orientation else 3 :] = twists
        return whole / np.repeat([self.length, 1.0], 3)

    @cached_property
    def _scale(self) -> Array:
        """Per velocity: the length for angles, 1 for lengths."""
        return np.array([self.length if unit == "rad" else 1.0 for unit in self.mechanism.v_units])

    def _maps(self, q: Array) -> Maps:
        """Return everything in metres."""
        m = self.mechanism
        rows = np.array([self.length if unit == "rad" else 1.0 for unit in m.constraint_units])
        twist = np.repeat([self.length, 1.0], 3)[0 if self.orientation else 3 :]
        return Maps(
            rows[:, None] * m.loop_jacobian(q) / self._scale,
            np.eye(m.nv)[self._dofs],
            twist[:, None] * self._frame_jacobian(q) / self._scale,
        )

    def _nearby(self, q: Array, allowed: Array) -> list[Array]:
        """Return closed configurations a little way off, to both sides along a few motions."""
        generator = np.random.default_rng(0)
        found = []
        for _ in range(3):
            move = allowed @ generator.standard_normal(allowed.shape[1])
            move *= NEARBY * self.length / (np.linalg.norm(move) or 1.0) / self._scale
            for sign in (1.0, -1.0):
                near = self.mechanism.close(self.mechanism.moved(q, sign * move), must_close=False)
                if np.isfinite(near).all():
                    found.append(near)
        return found

    def _usual(self, q: Array) -> Counts:
        """Return what motions there are in general, found near the first configuration that comes along."""
        if self._counts is not None:
            return self._counts
        lanes = q.reshape(-1, self.mechanism.nq)
        lanes = lanes[np.isfinite(lanes).all(axis=1)]
        if not len(lanes):
            return Counts(0, 0, 0, 0)
        here = analyse(self._maps(lanes[0]), SINGULAR)
        near = [analyse(self._maps(x), SINGULAR).counts for x in self._nearby(lanes[0], here.allowed)]
        counts = common([here.counts, *near])
        if near:  # a configuration without neighbours says nothing about others
            self._counts = counts
        return counts

    # ---------------------------------------------------------------- matrices

    def denoc(self, q: ArrayLike) -> ParallelDeNOC:
        """Return the three DeNOC matrices of a platform on serial legs at one configuration (001 eq. 32)."""
        state = self._closed(q)
        if state.ndim != 1:
            raise OptionError("the DeNOC matrices are made for one configuration: give q of shape (nq,)")
        driven = np.zeros(self.mechanism.nv, dtype=bool)
        driven[self._dofs] = True
        return ParallelDeNOC(self.mechanism.model, state.tolist(), self.frame, driven)

    def dynamics(self, q: ArrayLike, rates: ArrayLike) -> ParallelDynamics:
        """Return the equations of motion from the three DeNOC matrices, at one state (001 section 3.4).

        Parameters
        ----------
        q : array_like, shape (nq,)
            A closed configuration.
        rates : array_like, shape (n,)
            Of the actuated freedoms, in the order of ``denoc(q).dofs``, as all forces and accelerations here.

        Examples
        --------
        ``platform.dynamics(q, rates).inverse_dynamics(accelerations)`` gives the forces of the actuators.
        """
        here, state = self.denoc(q), self._closed(q)
        given = as_array(rates, (len(here.dofs),), "rates", "one per actuated freedom, in the order of denoc(q).dofs")
        if given.ndim != 1:
            raise OptionError("the equations are made for one state: give rates of shape (n,)")
        v = self.velocities(state, given[[here.dofs.index(k) for k in self._dofs]])
        return ParallelDynamics(here, v.tolist(), given)


def _distinct(q: Array, marks: Callable[[Array], Array]) -> Array:
    """Return one configuration of each sort, in a fixed order."""
    values = marks(q)
    kept: list[int] = []
    for k in np.lexsort(np.round(values, 5).T[::-1]) if len(q) else ():
        if all(np.abs(values[k] - values[other]).max() > SAME for other in kept):
            kept.append(int(k))
    return np.asarray(q[kept])


def _off(pose: Array, goal: Array) -> Array:
    """Return how far poses are from their goals: rotation vector and displacement, along world axes."""
    if goal.shape[-1] == 3:
        return np.asarray(pose[..., :3, 3] - goal)
    r = pose[..., :3, :3] @ np.swapaxes(goal[..., :3, :3], -1, -2)
    twice_sine = np.stack(
        [r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]], axis=-1
    )
    turn = twice_sine * _angle_by_twice_sine(twice_sine, np.trace(r, axis1=-2, axis2=-1))[..., None]
    return np.concatenate([turn, pose[..., :3, 3] - goal[..., :3, 3]], axis=-1)


def _angle_by_twice_sine(twice_sine: Array, trace: Array) -> Array:
    """Return infinity half a turn off, where there is no telling which way, so that nobody takes it for none."""
    sine, cosine = 0.5 * np.linalg.norm(twice_sine, axis=-1), 0.5 * (trace - 1.0)
    small = sine < 1e-8
    factor = 0.5 * np.arctan2(sine, cosine) / np.where(small, 1.0, sine)
    return np.where(small, np.where(cosine < 0.0, np.inf, 0.5), factor)
