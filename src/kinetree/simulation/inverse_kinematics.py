"""Inverse kinematics of any frame: damped least squares with joint limits, for one pose or a batch.

Each step solves (J^T J + damping 1) dq = J^T e with the damping of Levenberg and Marquardt:
less after a step that helped, more after one that did not.  A joint at its limit that would
move on is left out of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ..arrays import as_array
from ..errors import OptionError, ShapeError, StateError, UnknownNameError, UnreachableError, UnsupportedError
from ..robot import Robot

Array = np.ndarray

WHAT = ("pose", "position", "orientation")
"""What of a frame is to be reached."""

_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-12, 1e8


@dataclass(frozen=True, eq=False)
class Solution:
    """What inverse kinematics found.

    Attributes
    ----------
    q : ndarray, shape (..., nq)
        Configurations, within the joint limits.
    reached : ndarray of bool, shape (...)
        Whether every frame is where it was asked to be.
    position_error : ndarray, shape (..., frames)
        Distance from the goal in metres; zero where the position did not matter.
    angle_error : ndarray, shape (..., frames)
        Angle from the goal in radians; zero where the orientation did not matter.
    iterations : ndarray of int, shape (...)
        Steps taken, those of all attempts together.
    """

    q: Array
    reached: Array
    position_error: Array
    angle_error: Array
    iterations: Array


@dataclass(frozen=True)
class _Goal:
    """One frame's target, flattened over the batch; None for what does not matter."""

    frame: str
    position: Array | None
    rotation: Array | None

    def error(self, robot: Robot, q: Array, lanes: Array) -> tuple[Array, Array, Array]:
        """Error along world axes (rotation first), and its two sizes."""
        pose = robot.pose(q, self.frame)
        parts, count = [], len(q)
        angle, distance = np.zeros(count), np.zeros(count)
        if self.rotation is not None:
            here = pose[:, :3, :3]
            turn = _rotation_vector(np.swapaxes(here, -1, -2) @ self.rotation[lanes])
            parts.append(np.einsum("nij,nj->ni", here, turn))
            angle = np.linalg.norm(turn, axis=-1)
        if self.position is not None:
            parts.append(self.position[lanes] - pose[:, :3, 3])
            distance = np.linalg.norm(parts[-1], axis=-1)
        return np.concatenate(parts, axis=-1), distance, angle

    def jacobian(self, robot: Robot, q: Array) -> Array:
        """How the frame moves along world axes, the rows that matter."""
        rows = slice(0 if self.rotation is not None else 3, 6 if self.position is not None else 3)
        return robot.jacobian(q, self.frame, "aligned")[:, rows]


def _rotation_vector(matrices: Array) -> Array:
    """Axis times angle; NaN where the matrix has one."""
    bad = ~np.isfinite(matrices).all(axis=(-1, -2))
    vectors = Rotation.from_matrix(np.where(bad[:, None, None], np.eye(3), matrices)).as_rotvec()
    return np.where(bad[:, None], np.nan, vectors)


def inverse_kinematics(
    robot: Robot,
    frame: str | Sequence[str],
    pose: Any,
    q_guess: ArrayLike | None = None,
    *,
    what: str | Sequence[str] = "pose",
    joints: Sequence[str] | None = None,
    tolerance: float = 1e-9,
    iterations: int = 200,
    attempts: int = 10,
    rng: np.random.Generator | int = 0,
    must_reach: bool = True,
) -> Solution:
    """Configurations that bring frames to poses.

    Parameters
    ----------
    robot : Robot
        Without closed loops; :meth:`kinetree.Mechanism.platform` is for those.
    frame : str or sequence of str
        One body or frame, or several at once.
    pose : array_like, shape (..., 4, 4), (..., 3) for a position, (..., 3, 3) for an orientation
        Where to, in the world; one for each of several frames.
    q_guess : array_like, shape (..., nq), optional
        Where to start; the solution found is one nearby.  By default the neutral configuration, or the
        middle of the limits where that lies outside of them.
    what : {"pose", "position", "orientation"} or one for each frame
        What has to match.
    joints : sequence of str, optional
        Joints that may move; all by default, a floating base among them.
    tolerance : float
        In metres and radians.
    iterations : int
        Steps per attempt.
    attempts : int
        Where the guess leads nowhere, so many starts in all are tried, the others at random within the limits.
    rng : Generator or int
        For those; the same seed gives the same answer.
    must_reach : bool
        Raise an error if a pose is not reached; otherwise look at ``reached``.

    Returns
    -------
    Solution

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
    if robot.model.loops:
        raise UnsupportedError(
            f"robot {robot.name!r} has closed loops, which inverse_kinematics does not keep closed: "
            "use robot.platform(frame).inverse(pose, guess)"
        )
    goals, batch = _goals(robot, frame, pose, what)
    _check_numbers(tolerance, iterations, attempts)
    moving = _moving(robot, joints)
    start = _start(robot, q_guess)
    batch = np.broadcast_shapes(batch, start.shape[:-1])
    count = int(np.prod(batch))
    goals = [_flat(goal, batch) for goal in goals]
    first = np.broadcast_to(start, (*batch, robot.nq)).reshape(count, robot.nq)
    generator = np.random.default_rng(rng)

    best = _Search(robot, goals, moving, np.array(first), np.arange(count), tolerance)
    best.run(iterations)
    for _ in range(attempts - 1):
        missing = np.flatnonzero(~best.reached & np.isfinite(best.size))
        if not len(missing):
            break
        guess = robot.random_configuration(generator, (len(missing),))
        again = _Search(robot, goals, moving, _held(robot, guess, first[missing], joints), missing, tolerance)
        again.run(iterations)
        best.improve(again, missing)
    solution = Solution(
        best.q.reshape(*batch, robot.nq), best.reached.reshape(batch), best.distance.reshape(*batch, len(goals)),
        best.angle.reshape(*batch, len(goals)), best.steps.reshape(batch),
    )  # fmt: skip
    if must_reach:
        _refuse(solution, [goal.frame for goal in goals], attempts)
    return solution


class _Search:
    """One attempt for a number of lanes of the batch."""

    def __init__(
        self, robot: Robot, goals: list[_Goal], moving: Array, q: Array, lanes: Array, tolerance: float
    ) -> None:
        self.robot, self.goals, self.moving, self.q, self.lanes = robot, goals, moving, q, lanes
        self.tolerance = tolerance
        self.low, self.high = robot.lower_limits, robot.upper_limits
        self.damping = np.full(len(q), _FIRST_DAMPING)
        self.steps = np.zeros(len(q), dtype=int)
        self.error, self.distance, self.angle = self._errors(q, lanes)
        self.size = np.einsum("ni,ni->n", self.error, self.error)
        self.q[~np.isfinite(self.size)] = np.nan  # NaN in, NaN out

    @property
    def reached(self) -> Array:
        """Which lanes are there."""
        return np.all((self.distance <= self.tolerance) & (self.angle <= self.tolerance), axis=-1)

    def _errors(self, q: Array, lanes: Array) -> tuple[Array, Array, Array]:
        found = [goal.error(self.robot, q, lanes) for goal in self.goals]
        error, distance, angle = zip(*found, strict=True)
        return np.concatenate(error, axis=-1), np.stack(distance, axis=-1), np.stack(angle, axis=-1)

    def run(self, iterations: int) -> None:
        """Step until all lanes are there or stuck."""
        for _ in range(iterations):
            active = np.flatnonzero(~self.reached & np.isfinite(self.size) & (self.damping < _MOST_DAMPING))
            if not len(active):
                return
            self._step(active)

    def _step(self, k: Array) -> None:
        q, error = self.q[k], self.error[k]
        matrix = np.concatenate([goal.jacobian(self.robot, q) for goal in self.goals], axis=1) * self.moving
        pull = np.einsum("nij,ni->nj", matrix, error)
        free = ~self._blocked(q, pull)
        matrix, pull = matrix * free[:, None], pull * free
        normal = np.swapaxes(matrix, -1, -2) @ matrix + self.damping[k, None, None] * np.eye(self.robot.nv)
        way = np.linalg.solve(normal, pull[..., None])[..., 0]
        tried = self._within(self.robot.integrate(q, way))
        new, distance, angle = self._errors(tried, self.lanes[k])
        size = np.einsum("ni,ni->n", new, new)
        better = size < self.size[k]
        good = k[better]
        self.q[good], self.error[good], self.size[good] = tried[better], new[better], size[better]
        self.distance[good], self.angle[good] = distance[better], angle[better]
        self.damping[k] = np.where(better, np.maximum(self.damping[k] * 0.2, _LEAST_DAMPING), self.damping[k] * 5.0)
        self.steps[k] += 1

    def _blocked(self, q: Array, pull: Array) -> Array:
        """Degrees of freedom at a limit and pulled further out."""
        blocked = np.zeros(pull.shape, dtype=bool)
        for joint in self.robot.model.joints:
            if joint.mimic or joint.nq != joint.nv:
                continue
            own, out = q[:, joint.q_slice], pull[:, joint.v_slice]
            below = (own <= self.low[joint.q_slice]) & (out < 0)
            blocked[:, joint.v_slice] = below | ((own >= self.high[joint.q_slice]) & (out > 0))
        return blocked

    def _within(self, q: Array) -> Array:
        return np.clip(q, self.low, self.high)

    def improve(self, other: _Search, lanes: Array) -> None:
        """Take over what another attempt for some lanes did better."""
        self.steps[lanes] += other.steps
        better = other.size < self.size[lanes]
        chosen = lanes[better]
        for name in ("q", "error", "size", "distance", "angle"):
            getattr(self, name)[chosen] = getattr(other, name)[better]


# ---------------------------------------------------------------- arguments


def _goals(robot: Robot, frame: Any, pose: Any, what: Any) -> tuple[list[_Goal], tuple[int, ...]]:
    frames = [frame] if isinstance(frame, str) else list(frame)
    poses = [pose] if isinstance(frame, str) else list(pose)
    kinds = [what] * len(frames) if isinstance(what, str) else list(what)
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


def _goal(robot: Robot, frame: str, pose: Any, what: str) -> _Goal:
    robot.model.frame(frame)
    if what not in WHAT:
        raise UnknownNameError("kind of goal", what, WHAT)
    array = np.asarray(pose, dtype=float)
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
    finite = rotation[np.isfinite(rotation).all(axis=(-1, -2))]
    product = finite @ np.swapaxes(finite, -1, -2)
    if finite.size and (not np.allclose(product, np.eye(3), atol=1e-6) or np.any(np.linalg.det(finite) < 0)):
        raise StateError(f"the orientation asked of {frame!r} is not a rotation matrix: its rows must be orthonormal")


def _flat(goal: _Goal, batch: tuple[int, ...]) -> _Goal:
    position = None if goal.position is None else np.broadcast_to(goal.position, (*batch, 3)).reshape(-1, 3)
    rotation = None if goal.rotation is None else np.broadcast_to(goal.rotation, (*batch, 3, 3)).reshape(-1, 3, 3)
    return _Goal(goal.frame, position, rotation)


def _check_numbers(tolerance: float, iterations: int, attempts: int) -> None:
    if not tolerance > 0:
        raise OptionError(f"tolerance must be positive, not {tolerance!r}")
    for name, value in (("iterations", iterations), ("attempts", attempts)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise OptionError(f"{name} must be a whole number from 1, not {value!r}")


def _moving(robot: Robot, joints: Sequence[str] | None) -> Array:
    """One per degree of freedom that may move, zero for the others."""
    if joints is None:
        return np.ones(robot.nv)
    if isinstance(joints, str):
        raise OptionError(f"joints must be a list of names, such as [{joints!r}]")
    mask = np.zeros(robot.nv)
    for name in joints:
        mask[robot.joint(name).v_slice] = 1.0
    return mask


def _held(robot: Robot, guess: Array, first: Array, joints: Sequence[str] | None) -> Array:
    """A random guess with the joints that may not move where they were."""
    if joints is None:
        return guess
    result = np.array(first)
    for name in joints:
        where = robot.joint(name).q_slice
        result[:, where] = guess[:, where]
    return result


def _start(robot: Robot, guess: ArrayLike | None) -> Array:
    low, high = robot.lower_limits, robot.upper_limits
    if guess is None:
        start = robot.neutral()
        outside = (start < low) | (start > high)
        start[outside] = 0.5 * (np.maximum(low, -np.pi) + np.minimum(high, np.pi))[outside]
        return np.clip(start, low, high)
    start = robot._q(guess, "q_guess")
    outside = (start < low - 1e-12) | (start > high + 1e-12)
    if np.any(outside):
        k = int(np.argwhere(outside)[0][-1])
        raise StateError(
            f"q_guess: joint {robot.q_names[k]!r} is outside its limits, {low[k]:g} to {high[k]:g}: start within them"
        )
    return np.clip(start, low, high)


def _refuse(solution: Solution, frames: list[str], attempts: int) -> None:
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
        "reach or against joint limits: give another q_guess, more attempts, or must_reach=False and look at .reached"
    )
