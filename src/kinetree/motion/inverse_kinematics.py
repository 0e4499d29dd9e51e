"""Inverse kinematics of any frame: damped least squares with joint limits, for one pose or a batch.

A step is that of closing loops (:mod:`kinetree.algorithms.newton_closing_step`), with goals, within limits, and with
Levenberg-Marquardt damping.  All poses of a batch are stepped together, some steps per call of the machine code; poses
that are reached leave the batch, the others start again from elsewhere.  The result for a pose does not depend on the
others, since the additional starts are the same for all.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import loop_constraints
from ..algorithms.newton_closing_step import MOST_DAMPING, ClosingTask, FrameGoal
from ..errors import OptionError, ShapeError, StateError, UnknownNameError, UnreachableError
from ..evaluation.checks import check_threads
from ..evaluation.law_kernels import can_compile
from ..loops import blocks
from ..loops.closing_in_machine_code import Lanes, NewtonClosing
from ..loops.limits import PositionLimits
from ..model.limits_of_followers import bounded_by_followers, limits_in_words, range_left
from ..model.tree import Model
from ..robot.make import make
from ..robot.robot import Robot, require_robot
from ..spatial import Matrix3
from ..spatial.arrays import Array, as_array
from ..spatial.numbers import real_number, whole_number
from .clear_configurations import KeptApart, cleared, refuse_near

WHAT = ("pose", "position", "orientation")
"""The part of a frame's pose that has to match."""

FIRST_ROUND, ROUND = 6, 9
"""Steps before the first check of which poses are reached, and between later checks."""

FIRST_DAMPING = 0.3
"""Initial damping in units of the mean square of a row of J and of e.e / (1 + e.e), where e is the error."""

LEAST_PROGRESS = 0.99
"""An attempt is abandoned if its squared error has not shrunk to this fraction within a round."""

FAR = 1e6
"""Goals beyond this many meters are first replaced by goals at this distance: steps toward them would be millions of
turns, and the nearest configurations differ by a millionth of the robot's size."""

FARTHEST = 1e150
"""Squares of larger distances overflow: no goal beyond this is reached."""

TOGETHER = 256
"""If few poses were missed, each makes several further attempts at once, up to this many lanes in all."""


@dataclass(frozen=True, eq=False)
class IKSolution:
    """The result of inverse kinematics.

    Attributes
    ----------
    q : ndarray, shape (..., nq)
        Configurations within the joint limits, including those of joints that mimic others.
    reached : ndarray of bool, shape (...)
        Whether every frame is at its goal.
    position_error : ndarray, shape (..., frames)
        Distance from the goal in meters; zero if the position does not matter.
    angle_error : ndarray, shape (..., frames)
        Angle from the goal in radians; zero if the orientation does not matter.
    iterations : ndarray of int, shape (...)
        Number of steps of all attempts.
    clearance : ndarray, shape (...), or None
        The smallest distance of the pairs of shapes that count, if one was asked for; where it is less than that,
        ``reached`` is false.
    pairs : tuple of pairs of str, or None
        The shapes of the pairs that count, as :meth:`Robot.clearance` takes them.
    """

    q: Array
    reached: Array
    position_error: Array
    angle_error: Array
    iterations: Array
    clearance: Array | None = None
    pairs: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class _Goal:
    """The goal of one frame; None for what does not matter."""

    frame: str
    position: Array | None
    rotation: Array | None

    @property
    def aim(self) -> FrameGoal:
        """What has to match."""
        return FrameGoal(self.frame, self.rotation is not None, self.position is not None)

    def numbers(self, batch: tuple[int, ...]) -> Array:
        """Return the rows of rotation matrix and position, as far as they matter, for a batch."""
        parts = [] if self.rotation is None else [self.rotation]
        parts += [] if self.position is None else [self.position[..., None]]
        rows = [np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in parts]
        return np.concatenate(rows, axis=-1).reshape(-1, self.aim.size)


def _entries(matrices: Array) -> Matrix3:
    """Convert a batch of matrices to one matrix of batches."""
    return Matrix3.of([[matrices[..., i, j] for j in range(3)] for i in range(3)])


def inverse_kinematics(
    robot: Robot, frame: str | Sequence[str], pose: Any, q_guess: ArrayLike | None = None, *,
    what: str | Sequence[str] = "pose", joints: Sequence[str] | None = None, tolerance: float = 1e-9,
    iterations: int = 200, attempts: int = 30, rng: np.random.Generator | int = 0, must_reach: bool = True,
    threads: int = 1, clearance: float | None = None, pairs: Sequence[tuple[str, str]] | None = None,
) -> IKSolution:  # fmt: skip
    """Find configurations that bring frames to poses.

    Parameters
    ----------
    robot : Robot
        Solutions for robots with loops are closed; :meth:`kinetree.Mechanism.platform` offers more for parallel
        manipulators: paths, assemblies, singularities.
    frame : str or sequence of str
        One body or frame, or several at once.
    pose : array_like, shape (..., 4, 4), (..., 3) for a position, (..., 3, 3) for an orientation
        Goal in the world; one for each of several frames.
    q_guess : array_like, shape (..., nq), optional
        Where to start; the solution found is one nearby.  By default the neutral configuration, or the middle of
        the limits if that is outside of them.  The limits of a joint that mimics another apply to that one, through
        ratio and offset.
    what : {"pose", "position", "orientation"} or one for each frame
        What has to match.
    joints : sequence of str, optional
        Joints that may move; all by default, including a floating base.  Those that do not move any of the frames,
        directly or through loops, stay as in the guess: so the things of a scene stay where they are.  Other loops
        are closed if the guess leaves them open.
    tolerance : float
        Tolerance in meters and radians.
    iterations : int
        Steps per attempt; an attempt that makes no progress ends sooner.
    attempts : int
        Number of starts in all; those after the guess are random within the limits.  If none of them reaches the goal,
        the nearest configuration found is improved as far as possible, with as many steps again.
    rng : Generator or int
        Source of the random starts, which are the same for all poses: the same seed gives the same answer for a pose,
        whatever else is in the batch.
    must_reach : bool
        Whether to raise an error if a pose is not reached; otherwise check ``reached``.
    threads : int
        Threads that share the batch.
    clearance : float, optional
        Smallest distance, in meters, that pairs of shapes keep; ``reached`` is false where no such configuration was
        found.  Zero means that nothing overlaps.
    pairs : sequence of pairs of str, optional
        The pairs that keep it: names of shapes, or of bodies for all of their shapes.  By default all pairs that may
        touch and whose distance the moving joints can change: a box that lies on a table does not count.

    Returns
    -------
    IKSolution

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("two links")
    >>> _ = b.body("upper", "base", kt.Revolute("y"), mass=1.0)
    >>> _ = b.body("lower", "upper", kt.Revolute("y"), position=(1, 0, 0), mass=1.0)
    >>> robot = b.frame("tip", "lower", (1, 0, 0)).build()
    >>> found = kt.inverse_kinematics(robot, "tip", [1.0, 0.0, -1.0], [0.3, 0.3], what="position")
    >>> abs(robot.pose(found.q, "tip")[:3, 3] - [1, 0, -1]).max() < 1e-9
    np.True_
    """
    require_robot(robot)
    if pairs is not None and clearance is None:
        raise OptionError("pairs= are those that keep a distance: say which, clearance=0.01")
    goals, batch = goals_of(robot, frame, pose, what)
    _check_numbers(tolerance, iterations, attempts)
    check_threads(threads)
    steps = goal_steps(robot, tuple(goal.aim for goal in goals), moving_freedoms(robot, joints))
    start = _start(robot, q_guess, steps)
    batch = _common_batch(batch, start.shape[:-1])
    first = np.broadcast_to(start, (*batch, robot.nq)).reshape(-1, robot.nq)
    numbers = np.concatenate([goal.numbers(batch) for goal in goals], axis=-1)
    best, distance = _Search(steps, numbers, tolerance, iterations, threads).found(first, attempts, rng)
    if robot.loops is not None:
        _close_to_the_last_digit(robot, best, tolerance, steps)
    per_frame = (*batch, len(goals))
    solution = IKSolution(
        np.array(best.q).reshape(*batch, robot.nq), best.reached(tolerance).reshape(batch),
        distance.reshape(per_frame), np.sqrt(best.angle).reshape(per_frame),
        best.steps.astype(int).reshape(batch),
    )  # fmt: skip
    if must_reach:
        _refuse(solution, [goal.frame for goal in goals], attempts)
    if clearance is None:
        return solution
    kept = KeptApart.of(robot, pairs, steps.movers, steps.moving, real_number(clearance, "clearance"))
    starts = make(steps.tree).random_configuration(rng, attempts - 1)

    def solve(lanes: Array, guesses: Array) -> tuple[Array, Array]:
        here = np.clip(guesses, steps.low, steps.high)
        found, _ = _Search(steps, numbers[lanes], tolerance, iterations, threads).found(here, 1, rng)
        return np.array(found.q), found.reached(tolerance)

    held = [
        (goal.frame, slice(0 if goal.rotation is not None else 3, 6 if goal.position is not None else 3))
        for goal in goals
    ]
    flat, before = solution.q.reshape(-1, robot.nq), solution.reached.reshape(-1)
    q, clear, least = cleared(kept, solve, flat, before, held, starts)
    if must_reach:
        refuse_near(kept, q, clear, before)
    return replace(
        solution, q=q.reshape(solution.q.shape), reached=clear.reshape(batch), clearance=least.reshape(batch),
        pairs=kept.pairs,
    )  # fmt: skip


@dataclass(frozen=True)
class GoalSteps:
    """Steps of a robot toward goals of its frames.

    Attributes
    ----------
    tree : Model
        The model, with limits of followers applied to their leaders.
    goals : tuple of FrameGoal
    movers : frozenset of int
        Degrees of freedom that may move and move a frame; others may only close loops.
    kernel : NewtonClosing
    """

    tree: Model
    goals: tuple[FrameGoal, ...]
    movers: frozenset[int]
    kernel: NewtonClosing

    @cached_property
    def low(self) -> Array:
        """Lower limits of all coordinates."""
        return self.tree.joint_vector("lower")

    @cached_property
    def high(self) -> Array:
        """Upper limits."""
        return self.tree.joint_vector("upper")

    @cached_property
    def moving(self) -> Array:
        """The coordinates that can change: those of joints that move a frame and are allowed to."""
        mask = np.zeros(self.tree.nq, dtype=bool)
        for link in self.tree.links:
            if link.v_slice.start in self.movers:
                mask[link.q_slice] = True
        return mask

    @cached_property
    def free(self) -> Array:
        """The freedoms that may move at all."""
        return np.isin(np.arange(self.tree.nv), self.kernel.task.free)

    @cached_property
    def places(self) -> list[list[int]]:
        """The places of the goals' positions among their numbers."""
        found, at = [], 0
        for goal in self.goals:
            width = goal.size // 3
            found += [[at + width * i + width - 1 for i in range(3)]] if goal.position else []
            at += goal.size
        return found

    def begin(self, q: Array) -> Lanes:
        """Return the lanes before the first step; the error is not known yet."""
        lanes = Lanes(np.full((len(q), self.tree.nq + 2 + self.kernel.task.told_count), np.inf), self.tree.nq)
        lanes.q[:], lanes.damping[:], lanes.steps[:] = q, FIRST_DAMPING, 0.0
        return lanes

    def __call__(self, lanes: Lanes, goals: Array, tolerance: float, n: int, threads: int) -> Lanes:
        """Take up to n steps in each lane."""
        found = self.kernel.search(lanes.q, goals, tolerance, n + 1, lanes.damping, threads)
        found.steps[:] += lanes.steps
        return found


_KNOWN: weakref.WeakKeyDictionary[Robot, dict[tuple[object, ...], GoalSteps]] = weakref.WeakKeyDictionary()
"""Steps of existing robots, since a controller needs the same ones again and again."""


def goal_steps(robot: Robot, goals: tuple[FrameGoal, ...], columns: frozenset[int]) -> GoalSteps:
    """Return the steps of a robot toward some goals, made once."""
    known = _KNOWN.setdefault(robot, {})
    key = (robot.backend, robot.cpu, goals, columns)
    if key not in known:
        movers = columns_moved(robot.model, goals, columns)
        moved = movers | frozenset(k for _, k in _ties(robot.model) if k in columns)
        tree, free = bounded_by_followers(robot.model, moved), tuple(sorted(moved))
        rolling, count = tree.velocity_constraints, tree.n_constraints + sum(goal.rows for goal in goals)
        rows = blocks.together(blocks.pattern(tree, goals, free), [i for i in range(count) if i not in rolling])
        ones = (1.0,) * len(free)
        bounds = PositionLimits(tree).bounds(free)
        task = ClosingTask(rows, free, (1.0,) * count, ones, 0.0, goals, (), bounds, np.inf, True)
        known[key] = GoalSteps(tree, goals, movers, NewtonClosing(tree, task, robot.cpu, (), can_compile(robot)))
    return known[key]


def columns_moved(tree: Model, goals: tuple[FrameGoal, ...], columns: frozenset[int]) -> frozenset[int]:
    """Return the degrees of freedom that may move and move a frame, directly or through loops."""
    carriers = {body for goal in goals for body in tree.support(tree.frame(goal.frame).body)}
    found = {k for i in carriers for k in range(tree.nv)[tree.links[i].v_slice]} & columns
    rows: dict[int, set[int]] = {}
    for i, k in _ties(tree):
        rows.setdefault(i, set()).update({k} & columns)
    left = list(rows.values())
    while met := [row for row in left if row & found]:
        left = [row for row in left if not row & found]
        found = found.union(*met)
    return frozenset(found)


def _ties(tree: Model) -> list[tuple[int, int]]:
    """Return which rows of loops tie which freedoms to one another; rolling ties no positions."""
    rolling = set(tree.velocity_constraints)
    return [(i, k) for i, k in loop_constraints.pattern(tree) if i not in rolling] if tree.is_constrained else []


@dataclass(frozen=True)
class _Search:
    """Attempts for the goals of a batch, (count, n)."""

    step: GoalSteps
    goals: Array
    tolerance: float
    iterations: int
    threads: int

    def found(self, first: Array, attempts: int, rng: np.random.Generator | int) -> tuple[Lanes, Array]:
        """Return the configuration nearest to each goal, however far away, and the distance (count, goals).

        They are NaN if goal or guess is NaN.
        """
        starts = cache(lambda: make(self.step.tree).random_configuration(rng, attempts - 1))
        best = self.step.begin(np.array(first))
        known = np.isfinite(first).all(axis=-1) & np.isfinite(self.goals).all(axis=-1)
        best.q[~known], best.angle[~known], best.distance[~known] = np.nan, np.nan, np.nan
        near, far = np.flatnonzero(known & (self._farthest <= FAR)), np.flatnonzero(known & (self._farthest > FAR))
        best[near] = self._only(near).best(first[near], attempts, starts)
        if len(far):
            started = self._only(far)._within(FAR).best(first[far], attempts, starts)
            best[far] = self._only(far)._within(FARTHEST).best(started.q, attempts, starts)
            best.steps[far] += started.steps
        distance = np.sqrt(best.distance)
        if len(beyond := far[self._farthest[far] > FARTHEST]):
            distance[beyond], best.distance[beyond] = self._only(beyond)._distances(best.q[beyond]), np.inf
        return best, distance

    def best(self, first: Array, attempts: int, starts: Callable[[], Array]) -> Lanes:
        """Return the configuration nearest to each goal, from the guess or from further starts."""
        best = self._attempt(first, np.arange(len(first)), patient=attempts == 1)
        if attempts > 1 and len(lanes := self._missing(best)):
            left = starts()
            while len(left) and len(lanes):
                several = max(1, TOGETHER // len(lanes))
                self._start_again(best, first, left[:several], lanes)
                left, lanes = left[several:], self._missing(best)
            # the nearest configuration found is improved as far as possible
            _improve(best, lanes, self._attempt(best.q[lanes], lanes, patient=True))
        return best

    @cached_property
    def _farthest(self) -> Array:
        """The largest coordinate of each lane's goal positions."""
        places = [np.abs(self.goals[:, place]).max(axis=-1) for place in self.step.places]
        return np.max([np.zeros(len(self.goals)), *places], axis=0)

    def _only(self, lanes: Array) -> _Search:
        return replace(self, goals=self.goals[lanes])

    def _within(self, distance: float) -> _Search:
        """Return this search with each lane's goal positions scaled down to within this distance."""
        goals, share = np.array(self.goals), np.minimum(1.0, distance / np.maximum(self._farthest, distance))
        for place in self.step.places:
            goals[:, place] *= share[:, None]
        return replace(self, goals=goals)

    def _distances(self, q: Array) -> Array:
        """Return the distance of each frame to its goal, without squares that would overflow."""
        tree, places, found = self.step.tree, iter(self.step.places), []
        for goal in self.step.goals:
            if goal.position:
                at = make(tree, backend="reference").pose(q, goal.frame)[:, :3, 3]
                found.append(np.hypot.reduce(self.goals[:, next(places)] - at, axis=-1))
            else:
                found.append(np.zeros(len(q)))
        return np.stack(found, axis=-1)

    def _missing(self, best: Lanes) -> Array:
        return np.flatnonzero(~best.reached(self.tolerance))

    def _start_again(self, best: Lanes, first: Array, starts: Array, lanes: Array) -> None:
        """Make several attempts at once for some lanes, with the same result as one after the other."""
        q = np.where(self.step.moving, starts[:, None], first[lanes])
        found = self._attempt(q.reshape(-1, q.shape[-1]), np.tile(lanes, len(starts)), patient=False)
        for part in np.split(np.arange(len(found)), len(starts)):
            waiting = ~best[lanes].reached(self.tolerance)
            _improve(best, lanes[waiting], found[part[waiting]])

    def _attempt(self, q: Array, which: Array, patient: bool) -> Lanes:
        """Step some lanes until each has arrived or is stuck; if ``patient``, as long as there is any progress."""
        result = self.step.begin(q)
        lanes, goals, here = result, self.goals[which], np.arange(len(q))
        left, several = self.iterations, FIRST_ROUND
        while left > 0 and len(here):
            before = lanes.size
            lanes = self.step(lanes, goals, self.tolerance, min(several, left), self.threads)
            left, several = left - several, ROUND
            on = ~lanes.reached(self.tolerance) & (lanes.damping < MOST_DAMPING)
            on &= np.isfinite(lanes.size) if patient else lanes.size < LEAST_PROGRESS * before
            result[here] = lanes
            lanes, goals, here = lanes[on], goals[on], here[on]
        return result


def _close_to_the_last_digit(robot: Robot, best: Lanes, tolerance: float, steps: GoalSteps) -> None:
    """Close loops that are open by less than the tolerance; frames move by no more than that."""
    assert robot.loops is not None
    lanes = np.flatnonzero(best.reached(tolerance))
    closed, done = robot.loops.closing.closed_from(best.q[lanes], steps.free)
    best.q[lanes[done]] = closed[done]


def _improve(best: Lanes, which: Array, other: Lanes) -> None:
    """Take over the better results of another attempt for some lanes; its steps count in any case."""
    other.steps[:] += best.steps[which]
    best.steps[which] = other.steps
    better = other.size < best.size[which]
    best[which[better]] = other[better]


# ---------------------------------------------------------------- arguments


def goals_of(robot: Robot, frame: Any, pose: Any, what: Any) -> tuple[list[_Goal], tuple[int, ...]]:
    """Return the goals of frames, and their batch."""
    frames = [frame] if isinstance(frame, str) else _listed(frame, "frame", "a name or a list of names")
    poses = [pose] if isinstance(frame, str) else _listed(pose, "pose", "a list, one for each of the frames")
    kinds = [what] * len(frames) if isinstance(what, str) else _listed(what, "what", f"one of {WHAT} or a list of them")
    if not frames:
        raise OptionError("inverse kinematics needs at least one frame")
    if not len(frames) == len(poses) == len(kinds):
        raise ShapeError(f"{len(frames)} frames need as many poses and kinds, got {len(poses)} and {len(kinds)}")
    goals = [_goal(robot, *three) for three in zip(frames, poses, kinds, strict=True)]
    shapes = [x.shape[:-k] for g in goals for x, k in ((g.position, 1), (g.rotation, 2)) if x is not None]
    try:
        return goals, np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"the batches of the poses do not fit together: {', '.join(map(str, shapes))}") from None


def _listed(value: Any, name: str, meaning: str) -> list[Any]:
    """Return the items of an argument that may be a list."""
    try:
        return list(value)
    except TypeError:
        raise OptionError(f"{name} must be {meaning}, not {value!r}") from None


def _common_batch(poses: tuple[int, ...], guesses: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(poses, guesses)
    except ValueError:
        raise ShapeError(f"batches do not fit together: pose: {poses}, q_guess: {guesses}") from None


def _real(array: Array, name: str) -> Array:
    """Return a real array; refuse complex ones, since a search has no derivative along imaginary steps."""
    if np.iscomplexobj(array):
        raise ShapeError(f"{name} has complex numbers in it: inverse kinematics takes real ones")
    return array


def _goal(robot: Robot, frame: str, pose: Any, what: str) -> _Goal:
    robot.model.frame(frame)
    if what not in WHAT:
        raise UnknownNameError("kind of goal", what, WHAT)
    array = _real(as_array(pose, (), f"the {what} of {frame!r}"), f"the {what} of {frame!r}")
    position: Array | None = None
    rotation: Array | None = None
    if array.shape[-2:] == (4, 4):
        position, rotation = array[..., :3, 3], array[..., :3, :3]
    elif what == "position":
        position = as_array(array, (3,), f"the position of {frame!r}", "or a 4x4 matrix")
    elif what == "orientation":
        rotation = as_array(array, (3, 3), f"the orientation of {frame!r}", "or a 4x4 matrix")
    else:
        raise ShapeError(
            f"the pose of {frame!r} must have shape (..., 4, 4), got {array.shape}; or say what='position'"
        )
    if rotation is not None:
        _check_rotation(rotation, frame)
    return _Goal(frame, None if what == "orientation" else position, None if what == "position" else rotation)


def _check_rotation(rotation: Array, frame: str) -> None:
    x, y, z = _entries(rotation[np.isfinite(rotation).all(axis=(-1, -2))]).rows
    lengths, angles = [row.dot(row) for row in (x, y, z)], [x.dot(y), y.dot(z), z.dot(x)]
    off = [np.any(np.abs(n - 1.0) > 1e-5) for n in lengths] + [np.any(np.abs(c) > 1e-6) for c in angles]
    if any(off) or np.any(x.cross(y).dot(z) < 0.0):
        raise StateError(f"the orientation asked of {frame!r} is not a rotation matrix: its rows must be orthonormal")


def _check_numbers(tolerance: float, iterations: int, attempts: int) -> None:
    real_number(tolerance, "tolerance", positive=True)
    for name, value in (("iterations", iterations), ("attempts", attempts)):
        whole_number(value, name, 1)


def moving_freedoms(robot: Robot, joints: Sequence[str] | None) -> frozenset[int]:
    """Return the degrees of freedom that may move."""
    if joints is None:
        return frozenset(range(robot.nv))
    if isinstance(joints, str):
        raise OptionError(f"joints must be a list of names, such as [{joints!r}]")
    places = [robot.joint(name).v_slice for name in _listed(joints, "joints", "a list of names")]
    return frozenset(k for place in places for k in range(place.start, place.stop))


def _start(robot: Robot, guess: ArrayLike | None, steps: GoalSteps) -> Array:
    low, high = steps.low, steps.high
    if guess is None:
        start = robot.neutral()
        outside = (start < low) | (start > high)
        start[outside] = 0.5 * (np.maximum(low, -np.pi) + np.minimum(high, np.pi))[outside]
        return np.clip(start, low, high)
    start = _real(robot.evaluator.states.configuration(guess, "q_guess", of_places=True), "q_guess")
    outside = (start < low - 1e-12) | (start > high + 1e-12)
    if np.any(outside):
        k = int(np.argwhere(outside)[0][-1])
        raise StateError(
            f"q_guess: joint {robot.q_names[k]!r} is outside its limits, {low[k]:g} to {high[k]:g}"
            f"{_because(robot, k)}: start within them"
        )
    return np.clip(start, low, high)


def _because(robot: Robot, k: int) -> str:
    """Name, for messages, the followers that narrow the limits of a coordinate."""
    leader = next(j for j in robot.model.joints if j.nq and k in range(robot.nq)[j.q_slice])
    if leader.nq != 1:
        return ""
    left = range_left(robot.model, leader)
    followers = dict.fromkeys(name for name in (left.lower_of, left.upper_of) if name != leader.name)
    words = " and ".join(limits_in_words(robot.model.joint(name)) for name in followers)
    return f" ({words})" if words else ""


def _refuse(solution: IKSolution, frames: list[str], attempts: int) -> None:
    known = np.isfinite(solution.q).all(axis=-1)
    missed = ~solution.reached & known
    if not np.any(missed):
        return
    index = tuple(int(i) for i in np.argwhere(missed)[0])
    distance, angle = solution.position_error[index], solution.angle_error[index]
    worst = int(np.argmax(np.maximum(distance, angle)))
    place = f", batch index {index[0] if len(index) == 1 else index}" if index else ""
    others = f" ({int(missed.sum())} of {missed.size} were missed)" if missed.size > 1 else ""
    raise UnreachableError(
        f"frame {frames[worst]!r}{place} was not reached: {distance[worst]:.3g} m and {angle[worst]:.3g} rad remain "
        f"after {int(solution.iterations[index])} steps in up to {attempts} attempts{others}; it may be out of "
        "reach or against joint limits: give another q_guess, more attempts, or must_reach=False and check .reached"
    )
