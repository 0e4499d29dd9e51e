"""Time-optimal motion along paths, by limits of velocities, accelerations, torques and powers: reachability analysis.

Along a path q(s), with x the square of the speed of s and u its acceleration, velocities are ``q' sqrt(x)``,
accelerations ``q' u + q'' x``, and joint forces ``a u + b x + g``: all limits are straight lines in (u, x). On each
interval u is constant, so x changes linearly with s. A pass from the end finds the largest x at each point from which
the end can be reached, a pass from the start then goes as fast as it can below that (Pham and Pham, TOPP-RA). Limits
hold on all of each interval, see :mod:`.path_limits`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, TrajectoryError, UnsupportedError
from ..evaluation.chains import kept_arrays
from ..evaluation.law_kernels import has_machine_code
from ..robot.robot import Robot, require_robot
from ..spatial.arrays import Array, as_array
from ..spatial.numbers import real_number, whole_number
from ..spatial.taylor import Jet
from .path_limits import NO_BOUND, PathPasses
from .path_samples import (
    LEAST,
    PathCoefficients,
    PathPoints,
    Room,
    SplinePaths,
    as_splines,
    sampled,
    sampled_splines,
    through_points,
)  # fmt: skip
from .piecewise import IntervalTable
from .splines import Piecewise
from .trajectory_interface import AtOtherTimes, Trajectory, within

STILL = 1e-9
"""Rates of a path by its parameter below this part of the largest one mean that it stands still."""

PATHS_AT_ONCE = 16
"""Paths that are computed at once: twice as many as the lanes of a wide processor."""


BETWEEN = np.linspace(0.0, 1.0, 9)
"""Where limits are tried between the points of paths that are no splines, as parts of an interval."""

MOST_TIGHTENINGS = 20
"""How often limits are tightened there, at most."""

KEPT = 2e-7
"""By how much limits may be exceeded there, relative to them."""

HALVED = 1.5
"""What is exceeded tightens limits by this factor times it."""


@dataclass(frozen=True, eq=False)
class FastestMotion(AtOtherTimes):
    """The fastest motion along a path, see :func:`fastest`.

    Parameters
    ----------
    path : Trajectory
        The path, over its parameter s.
    s, times, speed : ndarray (points,)
        Points along the path, when they are reached, and how fast s changes there.
    """

    path: Trajectory
    s: Array
    times: Array
    speed: Array

    @property
    def other(self) -> Trajectory:
        """The path."""
        return self.path

    @property
    def end(self) -> float:
        """When it arrives."""
        return float(self.times[-1])

    @property
    def duration(self) -> float:
        """How long it takes, in seconds."""
        return self.end

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the times at which accelerations jump: all points of the path."""
        return within(self.times, begin, end)

    @cached_property
    def _rows(self) -> IntervalTable:
        length = np.diff(self.times)
        bend = 0.5 * np.diff(self.speed) / length
        return IntervalTable(self.times, np.stack([self.times[:-1], self.s[:-1], self.speed[:-1], bend], axis=1))

    def along(self, t: Jet) -> Jet:
        """Return the parameter of the path at a time."""
        begin, first, speed, bend = self._rows.at(t)
        since = t - begin
        return first + since * (speed + since * bend)


@dataclass(frozen=True, eq=False)
class FastestMotions:
    """The fastest motion along each of many paths; ``found[k]`` is that along path k, as a trajectory.

    Attributes
    ----------
    paths : sequence of Trajectory
    s, times, speed : ndarray (paths, points)
        As in :class:`FastestMotion`; NaN for paths that cannot be followed.
    reasons : dict of int to str
        Why these paths cannot be followed.
    """

    paths: Sequence[Trajectory]
    s: Array
    times: Array
    speed: Array
    reasons: dict[int, str] = field(default_factory=dict)

    @property
    def duration(self) -> Array:
        """How long each motion takes, in seconds, (batch,)."""
        return self.times[:, -1]

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, k: int) -> FastestMotion:
        k = range(len(self))[k]
        if k in self.reasons:
            raise TrajectoryError(self.reasons[k])
        return FastestMotion(self.paths[k], self.s[k], self.times[k], self.speed[k])


class _SplinesOnDemand(Sequence[Trajectory]):
    """Splines that become trajectories when somebody asks for them."""

    def __init__(self, splines: SplinePaths) -> None:
        self.splines = splines

    def __len__(self) -> int:
        return len(self.splines.knots)

    @overload
    def __getitem__(self, k: int) -> Trajectory: ...

    @overload
    def __getitem__(self, k: slice) -> Sequence[Trajectory]: ...

    def __getitem__(self, k: int | slice) -> Trajectory | Sequence[Trajectory]:
        if isinstance(k, slice):
            return _SplinesOnDemand(self.splines.at(k))
        return Piecewise(self.splines.knots[k], self.splines.coefficients[k])

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[k] for k in range(len(self)))


def _per_joint(given: Any, n: int, name: str, known: Array | None = None) -> Array:
    if given is None:
        return np.full(n, np.inf) if known is None else known
    numbers = as_array(given, (), name)
    if numbers.ndim > 1 or (numbers.ndim and len(numbers) != n) or not np.all(numbers > 0.0):
        raise ShapeError(f"{name} must be one positive number, or {n} of them, one per joint")
    return np.array(np.broadcast_to(numbers, (n,)))


def _as_points(given: Any) -> Array:
    points = as_array(given, (), "the path")
    if points.ndim != 2 or len(points) < 2:
        raise ShapeError("a path is a trajectory, or at least two points (points, joints)")
    same = ~(np.diff(points, axis=0) != 0.0).any(axis=1)
    if np.any(same):
        raise OptionError(f"point {int(np.argmax(same)) + 1} of the path is the same as the one before: leave it out")
    if not np.isfinite(points).all():
        raise OptionError(f"point {int(np.argwhere(~np.isfinite(points))[0][0])} of the path is not finite")
    return np.asarray(points, dtype=float)


def _as_paths(given: Sequence[Any]) -> Sequence[Trajectory]:
    """Return paths as trajectories; points become splines."""
    if any(isinstance(one, Trajectory) for one in given):
        return [one if isinstance(one, Trajectory) else _as_paths([one])[0] for one in given]
    points = [_as_points(one) for one in given]
    if len({x.shape for x in points}) == 1:
        return _SplinesOnDemand(through_points(np.stack(points)))
    return [_SplinesOnDemand(through_points(x[None]))[0] for x in points]


def fastest(
    path: Any, robot: Robot | None = None, *, velocity: ArrayLike | None = None, acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None, power: ArrayLike | None = None, total_power: float | None = None,
    points: int = 1001, friction: bool = True, begin_speed: float = 0.0, end_speed: float = 0.0, threads: int = 1,
) -> Any:  # fmt: skip
    """Return the fastest motion along a path that keeps limits of velocities, accelerations, torques and powers.

    Parameters
    ----------
    path : Trajectory, array_like (points, joints), or a list of these
        Where joints go; times of a trajectory are only a parameter. Points are joined by a spline. For a mechanism, a
        path on which its loops are closed. For a list, all motions are found together.
    robot : Robot, optional
        Its own velocity and torque limits hold unless others are given; needed for torques and powers.
    velocity, acceleration, torque : float or array_like (joints,), optional
        Largest magnitudes.
    power : float or array_like (joints,), optional
        The most mechanical power of each joint, its torque times its velocity, whether it drives or brakes.
    total_power : float, optional
        The most for the sum of the powers of all joints, whether they drive or brake together.
    points : int
        Points along the path at which speeds are found; the acceleration along the path is constant between them.
    friction : bool
        Whether torques include the friction of the joints.
    begin_speed, end_speed : float
        How fast the parameter of the path changes at its ends.
    threads : int

    Returns
    -------
    FastestMotion, or FastestMotions for a list

    Raises
    ------
    TrajectoryError
        If the robot cannot stand still somewhere on the path, or no limit holds the motion back.

    Examples
    --------
    >>> import kinetree as kt
    >>> motion = kt.trajectories.fastest([[0.0, 0.0], [1.0, 0.5], [1.0, 1.5]], velocity=2.0, acceleration=5.0)
    >>> round(motion.duration, 2)
    1.48
    """
    listed = isinstance(path, (list, tuple)) and len(path) > 0
    several = np.ndim(path) == 3 if not listed else isinstance(path[0], Trajectory) or np.ndim(path[0]) == 2
    paths = _as_paths(path if several else [path])
    first = paths[0]
    n = first.n
    if robot is not None:
        require_robot(robot)
        if n != robot.nv or first.nq != robot.nq:
            raise ShapeError(f"the path moves {n} joints, the robot has {robot.nv}")
    elif not (torque is None and power is None and total_power is None):
        raise OptionError("torques need the robot, and so do powers: fastest(path, robot, torque=...)")
    if not isinstance(paths, _SplinesOnDemand) and any(one.n != n for one in paths):
        raise ShapeError("all paths must move the same joints")
    whole_number(points, "points", least=3)
    limits = {
        "torque": _per_joint(torque, n, "torque", None if robot is None else np.asarray(robot.effort_limits, float)),
        "acceleration": _per_joint(acceleration, n, "acceleration"),
        "velocity": _per_joint(
            velocity, n, "velocity", None if robot is None else np.asarray(robot.velocity_limits, float)
        ),
        "power": np.append(_per_joint(power, n, "power"), _per_joint(total_power, 1, "total_power")),
    }
    if not any(np.isfinite(x).any() for x in limits.values()):
        raise OptionError("nothing limits the motion: give velocity=, acceleration= or, with a robot, torque=")
    if robot is not None and not has_machine_code(robot):
        raise OptionError(f"fastest needs machine code, and robot {robot.name!r} has backend='reference'")
    if robot is not None and friction and np.any(robot.model.joint_vector("stribeck")):
        raise UnsupportedError(
            "fastest knows viscous and Coulomb friction, not Stribeck's: friction=False leaves it out"
        )
    squares = [real_number(x, name) ** 2 for x, name in ((begin_speed, "begin_speed"), (end_speed, "end_speed"))]
    search = _FastestSearch(
        PathCoefficients(robot, limits, friction, "" if robot is None else robot.cpu, threads), points - 1, paths
    )
    parts = [search.some(paths[k : k + PATHS_AT_ONCE], squares) for k in range(0, len(paths), PATHS_AT_ONCE)]
    s, x = (np.concatenate([part[k] for part in parts]) for k in range(2))
    names = robot.v_names if robot is not None else [f"joint {k}" for k in range(n)]
    stuck = [one for part in parts for one in part[2]]
    reasons = _reasons([names[k] for k in search.find.which.torque], s, x, stuck)
    if reasons and not several:
        raise TrajectoryError(reasons[0])
    x[list(reasons)] = np.nan
    speed = np.sqrt(np.maximum(x, 0.0))
    with np.errstate(all="ignore"):
        lengths = 2.0 * np.diff(s, axis=1) / (speed[:, 1:] + speed[:, :-1])
    times = np.concatenate([np.zeros((len(s), 1)), np.cumsum(lengths, axis=1)], axis=1)
    found = FastestMotions(paths, s, times, speed, reasons)
    return found if several else found[0]


class Stuck(NamedTuple):
    """Where a joint cannot stand still on its path, and the share of its torque that it needs."""

    s: float
    joint: int
    share: float


class _FastestSearch:
    """The search for the fastest motions along some paths, with as many intervals each."""

    def __init__(self, find: PathCoefficients, intervals: int, paths: Sequence[Trajectory]) -> None:
        self.find, self.intervals = find, intervals
        count, n, rows = min(len(paths), PATHS_AT_ONCE), paths[0].n, intervals + 3
        degree = paths.splines.coefficients.shape[2] if isinstance(paths, _SplinesOnDemand) else 1
        sizes = degree * n, 3 * n, find.layout.at_point
        self.room = Room(*kept_arrays(*((count, rows, size) for size in sizes)))

    def some(self, paths: Sequence[Trajectory], squares: Sequence[float]) -> tuple[Array, Array, list[Stuck | None]]:
        """Return points along some paths, x there, and where they cannot be followed even at rest."""
        find, layout = self.find, self.find.layout
        at = self.sampled(paths)
        self.refuse_rests(at)
        numbers = self.room.limits[: len(paths)]
        find(at, numbers)
        points = numbers[:, 1:-1]
        begin, end = (np.full(len(paths), square) for square in squares)
        if layout.velocity:
            with np.errstate(divide="ignore"):
                end = np.minimum(end, 1.0 / points[:, -1, layout.velocities].max(axis=-1))
        passes = PathPasses(
            layout, at.s, numbers, find.rubbing(at.first[:, 1:-1]), (begin, end), find.cpu, find.threads
        )
        x = passes()
        if not self.is_exact(paths):
            x = self.tightened(paths, passes, x)
        stuck: list[Stuck | None] = [None] * len(paths)
        for k in np.flatnonzero(~(x[:, 1:-1] > 0.0).all(axis=1)) if layout.torque else ():
            rest = np.abs(points[k, :, 2 * layout.torque : 3 * layout.torque])
            if (rest >= 1.0).any():
                place, joint = np.unravel_index(rest.argmax(), rest.shape)
                stuck[k] = Stuck(float(at.s[k, place]), int(joint), float(rest[place, joint]))
        return at.s, x, stuck

    def is_exact(self, paths: Sequence[Trajectory]) -> bool:
        """Return whether all that bends is a point of the path: then nothing happens between points."""
        splines = paths.splines if isinstance(paths, _SplinesOnDemand) else as_splines(paths, self.intervals)
        return splines is not None and LEAST * splines.coefficients.shape[1] <= self.intervals

    def tightened(self, paths: Sequence[Trajectory], passes: PathPasses, x: Array) -> Array:
        """Return x with limits that also hold at points between, of paths that may bend anywhere."""
        step = np.diff(passes.s, axis=1)
        tried = [self.between(path, own) for path, own in zip(paths, passes.s, strict=True)]
        for _ in range(MOST_TIGHTENINGS):
            held = True
            for k, (part, share, points) in enumerate(tried):
                u = np.diff(x[k]) / (2.0 * step[k])
                inside = x[k, :-1][part] + share * np.diff(x[k])[part]
                used = passes.used(points[None], inside[None], u[part][None], passes.lost[k, part][None])[0]
                excess = np.zeros(len(u))
                np.maximum.at(excess, part, used - 1.0)
                even = used[: len(u) * len(BETWEEN)].reshape(len(u), -1)
                excess = np.maximum(excess, _peaks(even).max(axis=1) - 1.0)
                passes.room[k] -= np.where(excess > KEPT, HALVED * excess, 0.0)
                held = held and not (excess > KEPT).any()
            if held:
                break
            x = passes(x)
        return x

    def between(self, path: Trajectory, s: Array) -> tuple[Array, Array, Array]:
        """Return the intervals of points to try between points of a path, where they are there, and coefficients."""
        every = (s[:-1, None] + np.diff(s)[:, None] * BETWEEN).ravel()
        if isinstance(path, Piecewise):
            knots = np.asarray(path.knots)
            every = np.concatenate([every, knots[(knots > s[0]) & (knots < s[-1])]])
        part = np.clip(np.searchsorted(s, every, side="right") - 1, 0, len(s) - 2)
        part[: len(BETWEEN) * (len(s) - 1)] = np.repeat(np.arange(len(s) - 1), len(BETWEEN))
        points = np.empty((1, len(every), self.find.layout.at_point))
        self.find(PathPoints(every[None], *(y[None] for y in path.states(every))), points)
        return part, (every - s[part]) / np.diff(s)[part], points[0]

    def sampled(self, paths: Sequence[Trajectory]) -> PathPoints:
        """Return points of paths."""
        splines = paths.splines if isinstance(paths, _SplinesOnDemand) else as_splines(paths, self.intervals)
        if splines is None or LEAST * splines.coefficients.shape[1] > self.intervals:
            return sampled(list(paths), self.intervals)
        size = splines.coefficients.shape[2] * paths[0].n
        room = self.room
        if room.table.shape[-1] != size:
            room = room._replace(table=kept_arrays((len(paths), self.intervals + 3, size))[0])
        return sampled_splines(splines, self.intervals, room, self.find.cpu, self.find.threads)

    def refuse_rests(self, at: PathPoints) -> None:
        """Refuse paths that stand still somewhere."""
        first = at.first[:, 1:-1]
        rate = np.sqrt(np.einsum("ijk,ijk->ij", first, first))
        still = np.asarray(rate <= STILL * rate.max(axis=-1, keepdims=True))
        if still.any():
            which, point = np.argwhere(still)[0]
            raise TrajectoryError(
                f"the path stands still at its parameter {at.s[which, point]:.4g}, as a trajectory from rest to rest "
                "does: give its points, fastest(trajectory.states(times)[0], ...), or a path without rests"
            )


def _peaks(y: Array) -> Array:
    """Return the largest values of parabolas through three even samples each, (..., n), where they have one inside."""
    before, at, after = y[..., :-2], y[..., 1:-1], y[..., 2:]
    bent, slope = 2.0 * at - before - after, 0.5 * (after - before)
    inside = (at >= before) & (at >= after) & (bent > 0.0)
    return np.where(inside, at + 0.5 * slope * slope / np.where(inside, bent, 1.0), at)


def _reasons(names: Sequence[str], s: Array, x: Array, stuck: Sequence[Stuck | None]) -> dict[int, str]:
    """Return why some paths cannot be followed."""
    reasons = {
        k: f"{names[one.joint]} cannot stand still on the path at s = {one.s:.4g}: it takes "
        f"{100 * one.share:.3g} % of its torque limit"
        for k, one in enumerate(stuck)
        if one is not None
    }
    for k in np.flatnonzero(~np.isfinite(x).all(axis=1)):
        reasons.setdefault(int(k), "the speed at the start is more than limits allow: lower begin_speed")
    with np.errstate(all="ignore"):
        rests = (x[:, 1:-1] <= 0.0).any(axis=1)
    for k in np.flatnonzero(rests):
        point = int(np.argmax(x[k, 1:-1] <= 0.0)) + 1
        reasons.setdefault(int(k), f"no motion passes s = {s[k, point]:.4g} within the limits")
    for k in np.flatnonzero((x > 0.1 * NO_BOUND).any(axis=1)):
        reasons.setdefault(int(k), "nothing limits the speed along part of the path: give velocity=")
    return reasons
