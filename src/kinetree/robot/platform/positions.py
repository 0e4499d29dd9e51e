"""Where a platform and its actuators are: forward and inverse kinematics of positions, within joint limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ...errors import ClosureError, ExplainsArguments, OptionError, ShapeError, UnknownNameError, UnsupportedError
from ...former_names import former_arguments
from ...loops import closing, following, rank
from ...loops.closing import CLOSED
from ...loops.clusters import single
from ...loops.limits import PositionLimits
from ...loops.loops import Loops
from ...model.joints import Revolute
from ...model.tree import BASE
from ...spatial.arrays import Array, as_array
from ...spatial.numbers import whole_number
from ..base_parameters import BaseParameterMethods
from .singularities import Counts

SAME = 1e-6
"""Two assemblies are the same if nothing that tells them apart (entries of poses, positions) differs by more."""

ELSEWHERE = 3
"""Random starts within limits for targets that are reached beyond limits only from the guess."""

FEW_STEPS = 60
"""Steps of each of these starts: a map of a workspace has thousands of targets that cannot be reached."""

FAR = 20.0
"""Times the length of all links by which only targets in other units are missed."""


class Reached(NamedTuple):
    """Closed configurations (..., nq), NaN where there is none, and where there is one (...)."""

    q: Array
    reached: Array


class PlatformPositions(ExplainsArguments):
    """A mechanism, a frame on it and its actuators: the base of :class:`Platform`, never made alone."""

    def __init__(
        self,
        mechanism: BaseParameterMethods,
        frame: str,
        actuated: Sequence[str] | None = None,
        *,
        orientation: bool = True,
        length: float | None = None,
    ) -> None:
        loops = getattr(mechanism, "loops", None)
        if loops is None:
            raise UnsupportedError(f"a platform needs a mechanism with closed loops, not {type(mechanism).__name__}")
        self.mechanism: Any = mechanism
        self._loops: Loops = loops
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

    @property
    def actuated_freedoms(self) -> list[int]:
        """Where the actuated freedoms are in ``v`` and ``tau``."""
        return list(self._dofs)

    @cached_property
    def _dofs(self) -> list[int]:
        return [k for j in self._joints for k in range(j.v_slice.start, j.v_slice.stop)]

    @cached_property
    def _coordinates(self) -> list[int]:
        return [k for j in self._joints for k in range(j.q_slice.start, j.q_slice.stop)]

    @cached_property
    def _limits(self) -> PositionLimits:
        """Where the joints may be."""
        return PositionLimits(self.mechanism.model)

    def _size(self) -> float:
        """Return the length that compares angles with lengths, by the links of motors, the platform, or all links.

        Motors that turn move the platform by as much as their links are long; where motors push, the only angles
        that count are those of the platform.
        """
        model = self.mechanism.model
        place = model.frame(self.frame)
        turning = [(i, j) for i, j in enumerate(model.joints) if j in self._joints and "rad" in j.kind.v_units]
        ends = [end for i, j in turning for end in ((i, np.zeros(3)), (j.parent, j.placement.position))]
        ways = (
            [self._farthest(body, point) for body, point in ends if body != BASE],  # of both, so that no cut matters
            [np.linalg.norm(p - place.pose.position) for p in self._joints_on(place.body)],
            [self._farthest(body, p) for body in range(len(model.bodies)) for p in self._joints_on(body)],
        )
        return next((float(np.mean(lengths)) for lengths in ways if np.any(lengths)), 1.0)

    def _farthest(self, body: int, point: Array) -> float:
        """Return how far the farthest joint on a body is from a point of it, or the frame."""
        place = self.mechanism.model.frame(self.frame)
        points = self._joints_on(body) + ([place.pose.position] if place.body == body else [])
        return max((float(np.linalg.norm(p - point)) for p in points), default=0.0)

    def _joints_on(self, body: int) -> list[Array]:
        """Return the joints that hold a body; two translations or more are its coordinates, and hold it nowhere."""
        model = self.mechanism.model
        points = [] if model.joints[body].kind.v_units.count("m") > 1 else [np.zeros(3)]
        points += [j.placement.position for j in model.joints if j.parent == body]
        points += [loop.placement.position for loop in model.loops if loop.predecessor == body]
        return points + [loop.seat.position for loop in model.loops if loop.successor == body]

    # ---------------------------------------------------------------- positions

    def positions(self, q: ArrayLike) -> Array:
        """Return positions of the actuated joints out of a configuration."""
        return np.asarray(as_array(q, (self.mechanism.nq,), "q")[..., self._coordinates])

    def pose(self, q: ArrayLike) -> Array:
        """Return the pose of the platform, (..., 4, 4)."""
        return self.mechanism.pose(q, self.frame)

    @overload
    def forward(
        self, positions: ArrayLike, q_guess: ArrayLike | None = ..., *,
        limits: bool = ..., must_reach: Literal[True] = ...,
    ) -> Array: ...  # fmt: skip

    @overload
    def forward(
        self, positions: ArrayLike, q_guess: ArrayLike | None = ..., *,
        limits: bool = ..., must_reach: Literal[False],
    ) -> Reached: ...  # fmt: skip

    @former_arguments(guess="q_guess")
    def forward(
        self, positions: ArrayLike, q_guess: ArrayLike | None = None, *,
        limits: bool = True, must_reach: bool = True,
    ) -> Array | Reached:  # fmt: skip
        """Return forward kinematics: the closed configuration with the actuators at given positions.

        Parameters
        ----------
        positions : array_like, shape (..., actuated)
        q_guess : array_like, shape (..., nq)
            Decides which of the assemblies is found; :meth:`assemblies` finds all.
        limits, must_reach
            As in :meth:`inverse`.

        Returns
        -------
        ndarray, shape (..., nq)
            A closed configuration; :meth:`pose` gives the platform's pose there.
        """
        given = self._given(positions)
        q = self._guess(q_guess)
        fixed, used = {}, 0
        for joint in self._joints:
            part = given[..., used : used + joint.nq]
            fixed[joint.name] = part if joint.nq > 1 else part[..., 0]
            used += joint.nq
        return _answer(self.mechanism.close(q, fixed, limits=limits, must_close=must_reach), must_reach)

    @overload
    def inverse(
        self, target: ArrayLike, q_guess: ArrayLike | None = ..., *,
        limits: bool = ..., attempts: int = ..., must_reach: Literal[True] = ...,
    ) -> Array: ...  # fmt: skip

    @overload
    def inverse(
        self, target: ArrayLike, q_guess: ArrayLike | None = ..., *,
        limits: bool = ..., attempts: int = ..., must_reach: Literal[False],
    ) -> Reached: ...  # fmt: skip

    @former_arguments(guess="q_guess")
    def inverse(
        self, target: ArrayLike, q_guess: ArrayLike | None = None, *,
        limits: bool = True, attempts: int = ELSEWHERE, must_reach: bool = True,
    ) -> Array | Reached:  # fmt: skip
        """Return the inverse kinematics: the closed configuration with the platform at a given place.

        Parameters
        ----------
        target : array_like, shape (..., 4, 4) or (..., 3)
            Pose of the platform frame, or only its position (for platforms that cannot be turned at will).
        q_guess : array_like, shape (..., nq)
            Decides which branch of each leg is found.
        limits : bool
            Whether the position limits of all joints hold (default), or are ignored.  Where the guess leads beyond
            them, hinges are turned by whole turns, or another branch within the limits is searched.
        attempts : int
            So many starts at random are tried for that beside the guess; the same for all targets.
        must_reach : bool
            Raise :class:`~kinetree.ClosureError` where a target is not reached within the limits (default); otherwise
            the answer is a pair ``(q, reached)``, with NaN in q where ``reached`` is False.

        Returns
        -------
        ndarray, shape (..., nq)
            A closed configuration; :meth:`positions` gives those of the actuators.
        """
        goal, q, batch = self._start(target, self._guess(q_guess))
        m, free = self.mechanism, np.ones(self.mechanism.nv, dtype=bool)
        found, gaps, done = self._reach(goal, q, free)
        within = np.ones(len(done), dtype=bool)
        if limits:
            found, within = self._limits.kept(
                found,
                done,
                free,
                lambda q, lanes: self._reach_within(goal[lanes], q, free),
                q,
                *self._elsewhere(attempts),
            )
        given = np.isfinite(q).all(axis=-1) & np.isfinite(goal).reshape(len(goal), -1).all(axis=-1)
        if must_reach and (~done & given).any():
            raise ClosureError(self._unreached(gaps, ~done & given, batch))
        if must_reach and (done & ~within).any():
            how = f"the platform {self.frame!r} of {m.name!r} reaches its target{{where}} only beyond limits"
            raise ClosureError(self._limits.refusal(how, found, done & ~within, batch))
        return _answer(np.where((done & within)[:, None], found, np.nan).reshape(*batch, m.nq), must_reach)

    def _elsewhere(self, attempts: int) -> list[Array]:
        """Return starts at random within the limits."""
        return list(self.mechanism.random_configuration(0, whole_number(attempts, "attempts", 0)))

    def _reach_within(self, goal: Array, q: Array, free: Array) -> tuple[Array, Array]:
        found, _, done = self._reach(goal, q, free, bounded=True)
        return found, done

    @overload
    def follow(
        self, targets: ArrayLike, q_guess: ArrayLike | None = ..., *,
        limits: bool = ..., must_reach: Literal[True] = ...,
    ) -> Array: ...  # fmt: skip

    @overload
    def follow(
        self, targets: ArrayLike, q_guess: ArrayLike | None = ..., *,
        limits: bool = ..., must_reach: Literal[False],
    ) -> Reached: ...  # fmt: skip

    @former_arguments(guess="q_guess")
    def follow(
        self, targets: ArrayLike, q_guess: ArrayLike | None = None, *,
        limits: bool = True, must_reach: bool = True,
    ) -> Array | Reached:  # fmt: skip
        """Return inverse kinematics along a path (T, 4, 4) or (T, 3), without jumps by branches or whole turns.

        Points may be far apart: between them it goes in steps as short as it takes to stay on one branch.

        Parameters
        ----------
        targets : array_like, shape (T, 4, 4) or (T, 3)
        q_guess : array_like, shape (nq,)
            From which the first one is found, as by :meth:`inverse`.
        limits, must_reach
            As in :meth:`inverse`; a path that leaves the limits is not continued on another branch.

        Returns
        -------
        ndarray, shape (T, nq)
        """
        goals = np.asarray(targets, dtype=float)
        if goals.ndim < 2 or goals.shape[1:] not in ((4, 4), (3,)):
            raise ShapeError(f"targets must be a path, shape (T, 4, 4) or (T, 3), got {goals.shape}")
        shape = goals.shape[1:]
        flat = goals.reshape(len(goals), -1)
        m, free, q = self.mechanism, np.ones(self.mechanism.nv, dtype=bool), self._guess(q_guess)
        if q.ndim != 1:
            raise ShapeError(f"q_guess is where the first point is found from, shape ({m.nq},), not {q.shape}")
        rows = slice(0, 6) if len(shape) == 2 else slice(3, 6)
        kernel = self._loops.closing.kernel(free, self.frame, 12 if len(shape) == 2 else 3)

        def close(guesses: Array, wanted: Array) -> tuple[Array, Array]:
            found, _, done = self._reach(wanted.reshape(-1, *shape), guesses, free, few=True)
            return found, done

        def matrix(at: Array) -> tuple[Array, Array]:
            return m.loop_jacobian(at), m.jacobian(at, self.frame, "aligned")[rows]

        def way(a: Array, b: Array) -> Array:
            return b - a if len(shape) == 1 else _off(b.reshape(-1, *shape), a.reshape(-1, *shape))

        def between(a: Array, b: Array, share: float) -> Array:
            return _between(a.reshape(shape), b.reshape(shape), share).ravel()

        judge = None if kernel is None else kernel.follows
        path = following.PathProblem(close, matrix, way, between, m.moved, m.difference, judge)

        def nearest(k: int, near: Array) -> Array:
            return self.inverse(goals[k], near, limits=limits)

        within = self._limits if limits else None

        def said(goal: Array) -> str:
            x, y, z = goal.reshape(shape)[:3, 3] if len(shape) == 2 else goal
            return f"({x:.5g}, {y:.5g}, {z:.5g})"

        found, _ = following.followed(path, flat, q, nearest, within, must_reach, m.name, said=said)
        return _answer(found, must_reach)

    def assemblies(
        self,
        positions: ArrayLike | None = None,
        target: ArrayLike | None = None,
        *,
        distinct: str | None = None,
        starts: int = 100,
        rng: np.random.Generator | int | None = 0,
        limits: bool = True,
    ) -> Array:
        """Return all closed configurations within limits that are found from random starts.

        Give the actuators' ``positions`` for the branches of forward kinematics, the platform's
        ``target`` for those of inverse kinematics, or both.

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
        limits : bool
            Whether the position limits of all joints hold (default), or are ignored.

        Returns
        -------
        ndarray, shape (found, nq)
            Distinct assemblies; hinge angles that were not given lie between -pi and pi, or, where that is not within
            their limits, there.  Nothing proves that there are no more.
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
            found, _, done = self._loops.closing.closed_from(q, free)
        else:
            goal, q, _ = self._start(target, q)
            found, _, done = self._reach(goal, q, free)
        found = self._wrapped(found[done], free)
        if limits:
            found = self._limits.turned(found, free)
            found = found[self._limits.hold(found)]
            inside = self._found_within(q, free, target)  # what lies beyond limits draws starts away from the others
            found = np.concatenate([found, self._limits.turned(self._wrapped(inside, free), free)])
            found = found[self._limits.hold(found)]
        return _distinct(found, marks)

    def _found_within(self, q: Array, free: Array, target: ArrayLike | None) -> Array:
        """Return closed configurations that are found without leaving the limits; none where there are no limits."""
        if not self._limits.any:
            return q[:0]
        if target is None:
            found, _, done = self._loops.closing.closed_from(q, free, bounded=True)
        else:
            goal, q, _ = self._start(target, q)
            found, done = self._reach_within(goal, q, free)
        return np.asarray(found[done])

    def _given(self, positions: ArrayLike) -> Array:
        return as_array(
            positions, (len(self._coordinates),), "positions", f"one per actuator: {', '.join(self.actuated)}"
        )

    def _guess(self, q_guess: ArrayLike | None) -> Array:
        if q_guess is None:
            why = "it decides which branch is found, and mechanism.assembled() is one"
            raise OptionError(f"q_guess, a configuration (..., {self.mechanism.nq}), is needed: {why}")
        return as_array(q_guess, (self.mechanism.nq,), "q_guess")

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

    def _reach(
        self, goal: Array, q: Array, free: Array, bounded: bool = False, few: bool = False
    ) -> tuple[Array, Array, Array]:
        """Close the loops with the platform at its goal, as if one more joint welded it there."""
        flat = goal.reshape(len(goal), 16)[:, :12] if goal.ndim == 3 else goal
        kernel = None if bounded else self._loops.closing.kernel(free, self.frame, flat.shape[1])
        if kernel is None:
            return self._reach_by_rank(goal, q, free, bounded, few)
        return kernel.closed(
            q, flat, CLOSED, lambda rest: self._reach_by_rank(goal[rest], q[rest], free, False, few)
        )  # fmt: skip

    def _reach_by_rank(
        self, goal: Array, q: Array, free: Array, bounded: bool, few: bool
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Reach goals by steps that find out which constraints count."""
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
        limits = self._limits if bounded else None
        problem = closing.ClosingProblem(gaps, matrix, moved, single(count, m.nv), free, limits)
        counting = closing.Counting((min(count, m.nv),), rank.RELATIVE_TOLERANCE)
        found = closing.close(
            problem, state, CLOSED, counting, most_steps=FEW_STEPS if bounded or few else closing.MOST_STEPS
        )
        return found.q[:, :nq], found.gaps, found.done

    def _unreached(self, gaps: Array, bad: Array, batch: tuple[int, ...]) -> str:
        lane = int(np.flatnonzero(bad)[0])
        left = np.abs(gaps[lane])
        nc = self.mechanism.n_constraints
        where = f" in state {tuple(int(i) for i in np.unravel_index(lane, batch))}" if batch else ""
        open_loops, off = left[:nc].max(initial=0.0), left[nc:]
        far, size = np.linalg.norm(off[-3:]), self._extent()
        parts = [f"{far:.3g} m"]
        if len(off) == 6:
            parts.append(f"{np.linalg.norm(off[:3]):.3g} rad")
        if far > FAR * size:
            hint = f"All links in one line are {size:.2g} m long: is the target in millimeters? It is given in meters"
        else:
            hint = (
                "The target may be out of reach, ask for an orientation the platform cannot take (give a position "
                "only), or need a nearer guess"
            )
        return (
            f"the platform {self.frame!r} of {self.mechanism.name!r} does not reach its target{where}: it stays "
            f"{' and '.join(parts)} off, with loops open by {open_loops:.3g} m or rad. {hint}"
        )

    def _extent(self) -> float:
        """Return how long the mechanism would be with all lengths of its links in one line."""
        model = self.mechanism.model
        poses = [j.placement for j in model.joints]
        poses += [pose for loop in model.loops for pose in (loop.placement, loop.seat)]
        lengths = [np.linalg.norm(p.position) for p in (*poses, model.frame(self.frame).pose)]
        return float(sum(lengths)) + self.length

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


def _answer(q: Array, must_reach: bool) -> Array | Reached:
    return q if must_reach else Reached(q, np.isfinite(q).all(axis=-1))


def _between(a: Array, b: Array, share: float) -> Array:
    """Return the goal at a share of the way from one to another, turned about one axis."""
    if a.ndim == 1:
        return np.asarray(a + share * (b - a))
    there = a + share * (b - a)
    turn = Rotation.from_rotvec(share * _off(b, a)[:3]).as_matrix()
    there[:3, :3] = turn @ a[:3, :3]
    return there


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
    """Return half an angle over its sine; infinity half a turn off, where the axis is undefined, not zero."""
    sine, cosine = 0.5 * np.linalg.norm(twice_sine, axis=-1), 0.5 * (trace - 1.0)
    small = sine < 1e-8
    factor = 0.5 * np.arctan2(sine, cosine) / np.where(small, 1.0, sine)
    return np.where(small, np.where(cosine < 0.0, np.inf, 0.5), factor)
