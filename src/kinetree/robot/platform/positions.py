"""Positions of a platform and its actuators: forward and inverse kinematics within joint limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.newton_closing_step import FrameGoal
from ...errors import ClosureError, ExplainsArguments, OptionError, ShapeError, UnsupportedError, refuse_unknown
from ...former_names import former_arguments
from ...loops import following
from ...loops.assemblies.search_all import Assemblies, AssemblyQuestion, marks_of
from ...loops.assemblies.upper_bounds import most_poses
from ...loops.goals import between, numbers_of, off
from ...loops.limits import PositionLimits
from ...loops.loops import Loops
from ...loops.loops_class.closed_configurations import NOTHING_GIVEN
from ...loops.loops_class.reached import NOT_FINITE, Reached, said_by
from ...model.joints import Revolute
from ...model.tree import BASE
from ...spatial.arrays import Array, as_array, finite_rows
from ...spatial.numbers import whole_number
from ..base_parameters import BaseParameterMethods
from .singularities import Counts

ELSEWHERE = 3
"""Random starts within limits for targets that are reached only beyond limits from the guess."""

FAR = 20.0
"""Targets missed by more than this many times the length of all links are probably in other units."""


class PlatformPositions(ExplainsArguments):
    """A mechanism, a frame on it and its actuators: the base class of :class:`Platform`."""

    def __init__(
        self, mechanism: BaseParameterMethods, frame: str, actuated: Sequence[str] | None = None, *,
        orientation: bool = True, length: float | None = None,
    ) -> None:  # fmt: skip
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
        """Indices of the actuated freedoms in ``v`` and ``tau``."""
        return list(self._dofs)

    @cached_property
    def _dofs(self) -> list[int]:
        return [k for j in self._joints for k in j.freedoms]

    @cached_property
    def _coordinates(self) -> list[int]:
        return [k for j in self._joints for k in range(j.q_slice.start, j.q_slice.stop)]

    @cached_property
    def _limits(self) -> PositionLimits:
        """Position limits of the joints."""
        return PositionLimits(self.mechanism.model)

    def _size(self) -> float:
        """Return the length for comparing angles with lengths, from the links of motors, the platform, or all links.

        Rotary motors move the platform in proportion to the length of their links; with linear motors, the only angles
        that count are those of the platform.
        """
        model = self.mechanism.model
        place = model.frame(self.frame)
        turning = [(i, j) for i, j in enumerate(model.joints) if j in self._joints and "rad" in j.kind.v_units]
        ends = [end for i, j in turning for end in ((i, np.zeros(3)), (j.parent, j.placement.position))]
        ways = (
            [self._farthest(body, point) for body, point in ends if body != BASE],  # so that cuts do not matter
            [np.linalg.norm(p - place.pose.position) for p in self._joints_on(place.body)],
            [self._farthest(body, p) for body in range(len(model.bodies)) for p in self._joints_on(body)],
        )
        return next((float(np.mean(lengths)) for lengths in ways if np.any(lengths)), 1.0)

    def _farthest(self, body: int, point: Array) -> float:
        """Return the distance from a point of a body to the farthest joint on it, or to the frame."""
        place = self.mechanism.model.frame(self.frame)
        points = self._joints_on(body) + ([place.pose.position] if place.body == body else [])
        return max((float(np.linalg.norm(p - point)) for p in points), default=0.0)

    def _joints_on(self, body: int) -> list[Array]:
        """Return the joints that hold a body; a joint with two or more translations does not hold it."""
        model = self.mechanism.model
        points = [] if model.joints[body].kind.v_units.count("m") > 1 else [np.zeros(3)]
        points += [j.placement.position for j in model.joints if j.parent == body]
        points += [loop.placement.position for loop in model.loops if loop.predecessor == body]
        return points + [loop.seat.position for loop in model.loops if loop.successor == body]

    # ---------------------------------------------------------------- positions

    def positions(self, q: ArrayLike) -> Array:
        """Return the positions of the actuated joints, (..., actuated), in a configuration."""
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
        """Solve the forward kinematics: return the closed configuration with the actuators at given positions.

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
        found = self.mechanism.close(q, fixed, limits=limits, must_close=must_reach)
        if must_reach:
            return found
        return Reached(found, finite_rows(found), lambda lane: self._why_open(q, fixed, limits, lane))

    def _why_open(self, q: Array, fixed: dict[str, Array], limits: bool, lane: tuple[int, ...]) -> str:
        held, _ = self._loops.closing.held(q, fixed)
        return str(self.mechanism.closing_reasons(held[lane], list(fixed), limits=limits)[()])

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
        """Solve the inverse kinematics: return the closed configuration with the platform at a given place.

        Parameters
        ----------
        target : array_like, shape (..., 4, 4) or (..., 3)
            Pose of the platform frame, or only its position (for platforms whose orientation cannot be chosen).
        q_guess : array_like, shape (..., nq)
            Decides which branch of each leg is found.
        limits : bool
            Whether all joints obey their position limits (default).  If the guess leads beyond
            them, hinges are turned by whole turns, or another branch within the limits is searched for.
        attempts : int
            Number of random starts for this search besides the guess; they are the same for all targets.
        must_reach : bool
            Whether to raise :class:`~kinetree.ClosureError` if a target is not reached within the limits (default);
            otherwise the result is a pair ``(q, reached)``, with NaN in q where ``reached`` is False; its ``reasons``,
            (...), say why.

        Returns
        -------
        ndarray, shape (..., nq)
            A closed configuration; :meth:`positions` gives those of the actuators.
        """
        goal, q, batch = self._start(target, self._guess(q_guess))
        m, free = self.mechanism, np.ones(self.mechanism.nv, dtype=bool)
        found, done = self._reach(goal, q, free)
        within = np.ones(len(done), dtype=bool)
        if limits:
            found, within = self._limits.kept(
                found,
                done,
                free,
                lambda q, lanes: self._reach(goal[lanes], q, free, bounded=True),
                q,
                *self._elsewhere(attempts),
            )
        missed = ~done
        if must_reach and missed.any():
            missed &= finite_rows(q) & finite_rows(goal)
        if must_reach and missed.any():
            raise ClosureError(self._unreached(found, goal, missed, batch))
        if must_reach and (done & ~within).any():
            how = f"the platform {self.frame!r} of {m.name!r} reaches its target{{where}} only beyond limits"
            raise ClosureError(self._limits.refusal(how, found, done & ~within, batch))
        if not (kept := done & within).all():
            found[~kept] = np.nan
        answer = np.ascontiguousarray(found).reshape(*batch, m.nq)
        if must_reach:
            return answer

        given = np.asarray(target, dtype=float)

        def why(lane: tuple[int, ...]) -> str:
            own = np.broadcast_to(given, (*batch, *given.shape[-1 if goal.shape[-1] == 3 else -2 :]))[lane]
            guess = q.reshape(*batch, m.nq)[lane]
            return said_by(lambda: self.inverse(own, guess, limits=limits, attempts=attempts), NOT_FINITE)

        return Reached(answer, finite_rows(answer), why)

    def _elsewhere(self, attempts: int) -> list[Array]:
        """Return random starts within the limits."""
        return list(self.mechanism.random_configuration(0, whole_number(attempts, "attempts", 0)))

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
        """Solve the inverse kinematics along a path, without jumps between branches or by whole turns.

        Points may be far apart: steps between them are as short as needed to stay on one branch.

        Parameters
        ----------
        targets : array_like, shape (T, 4, 4) or (T, 3)
        q_guess : array_like, shape (nq,)
            Where the search for the first point starts, as in :meth:`inverse`.
        limits, must_reach
            As in :meth:`inverse`; a path that leaves the limits is not continued on another branch.

        Returns
        -------
        ndarray, shape (T, nq)
        """
        goals = np.asarray(targets, dtype=float)
        if goals.ndim < 2 or goals.shape[1:] not in ((4, 4), (3,)):
            raise ShapeError(f"targets must be a path, shape (T, 4, 4) or (T, 3), got {goals.shape}")
        aim = self._aim(goals.ndim == 3)
        flat = numbers_of(aim, goals)
        m, q = self.mechanism, self._guess(q_guess)
        if q.ndim != 1:
            raise ShapeError(f"q_guess is where the first point is found from, shape ({m.nq},), not {q.shape}")
        path = self._path(aim, partial(following.of_one_path, flat))

        def nearest(k: int, near: Array) -> Array:
            return self.inverse(goals[k], near, limits=limits)

        within = self._limits if limits else None

        def said(goal: Array) -> str:
            x, y, z = goal.reshape(3, -1)[:, -1]
            return f"({x:.5g}, {y:.5g}, {z:.5g})"

        found, _ = following.followed(path, flat, q, nearest, within, must_reach, m.name, said=said)
        if must_reach:
            return found
        return Reached(
            found, finite_rows(found), lambda point: following.why_not_reached(point[0], flat, q, found, nearest)
        )

    def _path(self, aim: FrameGoal, goals: Callable[[Array, Array, int], Array]) -> following.PathProblem:
        free = np.ones(self.mechanism.nv, dtype=bool)
        return following.PathProblem(
            goals, lambda guesses, wanted: self._reach(wanted, guesses, free), lambda a, b: off(aim, b, a),
            partial(between, aim), *self._loops.closing.leading(free, (aim,)),
        )  # fmt: skip

    def straight(self, q: Array, targets: Array) -> Array:
        """Return configurations at targets, reached on straight ways that do not leave the branch.

        Parameters
        ----------
        q : ndarray, shape (n, nq)
            Closed configurations at the beginnings of the ways.
        targets : ndarray, shape (n, 3) or (n, 4, 4)
            Positions, or poses.

        Returns
        -------
        ndarray, shape (n, nq)
            NaN where a way ends before its target: at the edge of the workspace, or at a singular configuration.
        """
        aim, here = self._aim(targets.shape[-1] == 4), self.pose(q)
        ends = np.stack([numbers_of(aim, x) for x in (here if aim.orientation else here[:, :3, 3], targets)], axis=1)
        path = self._path(aim, lambda ways, points, width: ends[ways[:, None], points[:, None] + np.arange(width)])
        return path.follow(2, q, must_reach=False).q[:, 1]

    def assemblies(
        self, positions: ArrayLike | None = None, target: ArrayLike | None = None, *, distinct: str | None = None,
        starts: int | None = None, rng: np.random.Generator | int | None = 0, limits: bool = True,
    ) -> Assemblies:  # fmt: skip
        """Return all closed configurations within limits, and whether others can be ruled out.

        Give the actuators' ``positions`` for the branches of forward kinematics, the platform's
        ``target`` for those of inverse kinematics, or both.

        Parameters
        ----------
        positions : array_like, shape (actuated,), optional
        target : array_like, shape (4, 4) or (3,), optional
        distinct : {"platform", "actuators", "bodies"}, optional
            What two assemblies must differ in: by default the platform's pose if positions are given, the
            actuators if a target is given, any body if both are.
        starts : int, optional
            Number of random starts; by default as many as it takes to reach each assembly ten times, at most 8192.
        rng : Generator, int or None
            Source of randomness, or a seed.
        limits : bool
            Whether all joints obey their position limits (default).

        Returns
        -------
        Assemblies
            As :meth:`kinetree.Mechanism.assemblies` returns them; can be used like an array (k, nq).
        """
        if positions is None and target is None:
            raise OptionError("give positions of the actuators, a target of the platform, or both")
        usual = "bodies" if not (positions is None or target is None) else "platform" if target is None else "actuators"
        marks, m = self._marks(usual if distinct is None else distinct), self.mechanism
        q, free, goal = m.neutral(), np.ones(m.nv, dtype=bool), NOTHING_GIVEN
        goals: tuple[FrameGoal, ...] = ()
        if positions is not None:
            q = np.broadcast_to(q, (*self._given(positions).shape[:-1], m.nq)).copy()
            q[..., self._coordinates], free[self._dofs] = self._given(positions), False
        if target is not None:
            numbers, q, batch = self._start(target, q)
            goals, goal, q = (self._aim(numbers.shape[-1] > 3),), numbers[0], q.reshape(*batch, m.nq)
        if q.ndim != 1:
            raise ShapeError(f"assemblies are searched for one state at a time, got a batch {q.shape[:-1]}")
        by_pose = self.orientation and not goals and (distinct or usual) == "platform"
        most = most_poses(m.model, free, m.model.frame(self.frame).body) if by_pose else None
        return AssemblyQuestion(self._loops.closing, q, free, marks, goals, goal, most).answer(starts, rng, limits)

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
        """Return goals as numbers, and guesses, one per lane."""
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
        goal = goal.reshape(len(goal), 16)[:, :12] if last == 2 else goal  # no copy
        return goal, np.broadcast_to(q, (*batch, nq)).reshape(-1, nq), batch

    def _aim(self, orientation: bool) -> FrameGoal:
        return FrameGoal(self.frame, orientation)

    def _reach(self, goal: Array, q: Array, free: Array, bounded: bool = False) -> tuple[Array, Array]:
        """Close the loops with the platform at its goal, as if another joint welded it there."""
        aim = self._aim(goal.shape[-1] > 3)
        return self._loops.closing.closed_from(q, free, None, bounded, (aim,), goal)

    def _unreached(self, q: Array, goal: Array, bad: Array, batch: tuple[int, ...]) -> str:
        lane = int(np.flatnonzero(bad)[0])
        left = np.abs(self._loops.closing.gaps(q[lane], (self._aim(goal.shape[-1] > 3),), goal[lane]))
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
        """Return the sum of the lengths of all links."""
        model = self.mechanism.model
        poses = [j.placement for j in model.joints]
        poses += [pose for loop in model.loops for pose in (loop.placement, loop.seat)]
        lengths = [np.linalg.norm(p.position) for p in (*poses, model.frame(self.frame).pose)]
        return float(sum(lengths)) + self.length

    def _marks(self, what: str) -> Callable[[Array], Array]:
        """Return a function that gives the distinguishing numbers of assemblies."""
        m = self.mechanism
        hinges = [
            k for j in self._joints if isinstance(j.kind, Revolute) for k in range(j.q_slice.start, j.q_slice.stop)
        ]
        others = [k for k in self._coordinates if k not in hinges]

        def position(q: Array) -> Array:
            return self.pose(q)[:, :3, 3] / self.length

        def actuators(q: Array) -> Array:
            return np.concatenate([np.cos(q[:, hinges]), np.sin(q[:, hinges]), q[:, others] / self.length], axis=1)

        closing = self._loops.closing
        platform = marks_of(closing, [self.frame]) if self.orientation else position
        known = {"bodies": marks_of(closing, m.body_names), "platform": platform, "actuators": actuators}
        refuse_unknown("way to tell assemblies apart (distinct)", what, known)
        return known[what]
