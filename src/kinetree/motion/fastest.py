"""Time-optimal motion along paths, by limits of velocities, accelerations and torques: reachability analysis.

Along a path q(s), with x the square of the speed of s and u its acceleration, velocities are ``q' sqrt(x)``,
accelerations ``q' u + q'' x``, and joint forces ``a u + b x + g``: all limits are straight lines in (u, x). On each
interval u is constant, so x changes linearly with s. A pass from the end finds the largest x at each point from which
the end can be reached, a pass from the start then goes as fast as it can below that (Pham and Pham, TOPP-RA). Limits
hold at both ends of every interval with its own u; what is exceeded between them tightens the limits there, and the
passes run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, TrajectoryError, UnsupportedError
from ..evaluation.law_kernels import LawProgram, has_machine_code
from ..robot.robot import Robot, require_robot
from ..spatial import Scalar, maximum, minimum, where
from ..spatial.arrays import Array, as_array
from ..spatial.numbers import real_number, whole_number
from ..spatial.taylor import Jet
from .piecewise import IntervalTable
from .splines import spline
from .trajectory_interface import Motion, Trajectory, within

Scalars = Sequence[Scalar]

NO_BOUND = 1e30
"""Stands for no bound in machine code, where infinity times zero is not a number."""

LEVEL = 1e-9
"""Coefficients of u below this part of the largest one are zero: the limit is one of speed alone."""

NEWTON = 6
"""Newton steps toward the largest speed at which limits leave any acceleration; they come from above."""

STILL = 1e-9
"""Rates of a path by its parameter below this part of the largest one mean that it stands still."""

PARALLEL = 1e-13
"""Lines whose slopes differ by less than this part of them do not cross."""

CHUNK = 64
"""Intervals that a piece of machine code passes at once."""

PATHS_AT_ONCE = 8
"""Paths that are computed at once, so that their numbers stay in the caches."""

MOST_TIGHTENINGS = 16
"""The most rounds in which limits are tightened between points, and viscous friction follows the speed."""

KEPT = 1e-9
"""By how much limits may be exceeded at points between, relative to them."""

SPARED = 2e-6
"""What is left of limits on intervals on which their use changes, relative to them, for what is not looked at."""

STEADY = 1e-7
"""Changes of x below this part of the largest one mean that viscous friction has settled."""

BETWEEN = 4
"""Into how many parts intervals are divided to see whether limits hold on them."""

HALVED = 1.5
"""What is exceeded between points tightens limits by this factor times it."""


class PathLimits(NamedTuple):
    """What limits motions along paths; each (n,), infinite where there is no limit.

    Attributes
    ----------
    velocity, acceleration, torque : ndarray
    """

    velocity: Array
    acceleration: Array
    torque: Array


@dataclass(frozen=True, eq=False)
class FastestMotion(Trajectory):
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
    def n(self) -> int:
        """Number of degrees of freedom."""
        return self.path.n

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.path.nq

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

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        return self.path.motion(self.along(t))


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


class _PathSamples(NamedTuple):
    """Numbers at points of paths, (paths, points, n): derivatives of the path, and coefficients of joint forces."""

    first: Array
    second: Array
    a: Array
    b: Array
    g: Array
    viscous: Array
    """Friction per speed of the parameter."""

    def at(self, where_: slice) -> _PathSamples:
        """Return some of the points."""
        return _PathSamples(*(y[:, where_] for y in self))

    def forces(self, x: Array) -> Array:
        """Return forces that do not depend on u, but for those proportional to x; without Coulomb friction."""
        return self.g + self.viscous * np.sqrt(x)[..., None] if self.viscous.any() else self.g


@lru_cache(maxsize=64)
def _interval(n_torque: int, n_acceleration: int, n_velocity: int, cpu: str) -> LawProgram:
    """Return the program that finds bounds ``p x + r`` of x at the start and at the end of an interval, and a cap."""

    def law(
        a0: Scalars, b0: Scalars, g0: Scalars, a1: Scalars, b1: Scalars, g1: Scalars, v0: Scalars, w0: Scalars,
        v1: Scalars, w1: Scalars, fast: Scalars, velocity: Scalars, acceleration: Scalars, torque: Scalars,
        step: Scalars, margin: Scalars, rubbing: Scalars, either: Scalars,
    ) -> list[Scalar]:  # fmt: skip
        h2, room = 2.0 * step[0], 1.0 - margin[0]
        pairs: list[tuple[Scalar, Scalar, Scalar, Scalar]] = []
        for k in range(n_torque):
            t, left = torque[k], room - either[k] / torque[k]
            for a, b, g in ((a0[k], b0[k], g0[k] + rubbing[k]), (a1[k] + h2 * b1[k], b1[k], g1[k] + rubbing[k])):
                pairs.append((a / t, b / t, left - g / t, left + g / t))
        for k in range(n_acceleration):
            t = acceleration[k]
            for a, b in ((v0[k], w0[k]), (v1[k] + h2 * w1[k], w1[k])):
                pairs.append((a / t, b / t, room, room))
        cap: Scalar = NO_BOUND + 0.0 * step[0]
        for k in range(n_velocity):
            rate = fast[k] / velocity[k]
            cap = minimum(cap, room / maximum(rate * rate, 1.0 / NO_BOUND))
        size: Scalar = 1.0 / NO_BOUND + 0.0 * step[0]
        for a, *_ in pairs:
            size = maximum(size, abs(a))
        ahead, back = [], []
        lower: list[tuple[Scalar, Scalar]] = [(-1.0 / h2, 0.0)]  # bounds of u: coefficients of x, and constants
        upper: list[tuple[Scalar, Scalar]] = []
        for a, b, above, below in pairs:
            turned, level = a < 0.0, abs(a) < LEVEL * size
            bend, high, low = where(turned, -b, b), where(turned, below, above), where(turned, above, below)
            steep = where(level, 1.0, abs(a))
            cap = minimum(cap, where(level, minimum(_cap(bend, high), _cap(-bend, low)), NO_BOUND))
            upper.append((where(level, 0.0, -bend / steep), where(level, NO_BOUND, high / steep)))
            lower.append((where(level, 0.0, -bend / steep), where(level, -NO_BOUND, -low / steep)))
            ahead.append((where(level, 1.0, 1.0 - h2 * bend / steep), where(level, NO_BOUND, h2 * high / steep)))
            below_start = abs(a) - h2 * bend
            is_bound = (below_start > 1e-14 * (abs(a) + abs(h2 * bend))) & (below_start > 1.0 / NO_BOUND)
            safe = where(is_bound, below_start, 1.0)
            back.append((where(is_bound, abs(a) / safe, 0.0), where(is_bound, h2 * low / safe, NO_BOUND)))
        for _ in range(NEWTON if upper else 0):
            most, least = _extreme(lower, cap, 1.0), _extreme(upper, cap, -1.0)
            slope = most[0] - least[0]
            crosses = slope > PARALLEL * (abs(most[0]) + abs(least[0]))
            crossing = (least[1] - most[1]) / where(crosses, slope, 1.0)
            cap = where(crosses, minimum(cap, crossing), cap)
        return [*(x for row in back for x in row), *(x for row in ahead for x in row), maximum(cap, 0.0)]

    lengths = {
        "a0": n_torque, "b0": n_torque, "g0": n_torque, "a1": n_torque, "b1": n_torque, "g1": n_torque,
        "v0": n_acceleration, "w0": n_acceleration, "v1": n_acceleration, "w1": n_acceleration, "fast": n_velocity,
        "velocity": n_velocity, "acceleration": n_acceleration, "torque": n_torque, "step": 1, "margin": 1,
        "rubbing": n_torque, "either": n_torque,
    }  # fmt: skip
    return LawProgram("limits on an interval of a path", law, lengths, True, cpu=cpu)


@lru_cache(maxsize=64)
def _use(n_torque: int, n_acceleration: int, n_velocity: int, cpu: str) -> LawProgram:
    """Return the program that finds how much of its limits a point uses, at most."""

    def law(
        x: Scalars, u: Scalars, fast: Scalars, v: Scalars, w: Scalars, a: Scalars, b: Scalars, g: Scalars,
        rubbing: Scalars, either: Scalars, velocity: Scalars, acceleration: Scalars, torque: Scalars,
    ) -> list[Scalar]:  # fmt: skip
        most: Scalar = 0.0 * x[0]
        for k in range(n_velocity):
            rate = fast[k] / velocity[k]
            most = maximum(most, rate * rate * x[0])
        for k in range(n_acceleration):
            most = maximum(most, abs(v[k] * u[0] + w[k] * x[0]) / acceleration[k])
        for k in range(n_torque):
            most = maximum(most, (abs(a[k] * u[0] + b[k] * x[0] + g[k] + rubbing[k]) + either[k]) / torque[k])
        return [most]

    lengths = {
        "x": 1, "u": 1, "fast": n_velocity, "v": n_acceleration, "w": n_acceleration, "a": n_torque, "b": n_torque,
        "g": n_torque, "rubbing": n_torque, "either": n_torque, "velocity": n_velocity,
        "acceleration": n_acceleration, "torque": n_torque,
    }  # fmt: skip
    return LawProgram("use of limits on a path", law, lengths, True, cpu=cpu)


def _cap(bend: Scalar, room: Scalar) -> Scalar:
    """Return the largest x with ``bend x <= room``."""
    return where(bend > 1.0 / NO_BOUND, room / where(bend > 1.0 / NO_BOUND, bend, 1.0), NO_BOUND)


def _extreme(lines: list[tuple[Scalar, Scalar]], x: Scalar, sign: float) -> tuple[Scalar, Scalar]:
    """Return slope and constant of the line that is largest at x (least for sign -1)."""
    slope, constant = lines[0]
    value = slope * x + constant
    for other, own in lines[1:]:
        new = other * x + own
        better = sign * value < sign * new
        value, slope, constant = where(better, new, value), where(better, other, slope), where(better, own, constant)
    return slope, constant


@lru_cache(maxsize=64)
def _passed(rows: int, count: int, cpu: str) -> LawProgram:
    """Return the program that goes through intervals, one after the other: the least of bounds and caps."""

    def law(bounds: Scalars, caps: Scalars, x: Scalars) -> list[Scalar]:
        now, found = x[0], []
        for k in range(count):
            best = caps[k]
            for j in range(rows):
                p, r = bounds[2 * (k * rows + j)], bounds[2 * (k * rows + j) + 1]
                best = minimum(best, p * now + r)
            now = maximum(best, 0.0)
            found.append(now)
        return found

    return LawProgram("pass along a path", law, {"bounds": 2 * rows * count, "caps": count, "x": 1}, True, cpu=cpu)


def _chain(bounds: Array, caps: Array, x: Array, cpu: str) -> Array:
    """Return x after each interval, (paths, intervals), from bounds (paths, intervals, rows, 2) in their order."""
    paths, intervals, rows, _ = bounds.shape
    chunks = -(-intervals // CHUNK)
    whole, most = np.zeros((chunks, paths, CHUNK * 2 * rows)), np.full((chunks, paths, CHUNK), NO_BOUND)
    by_path = np.zeros((paths, chunks * CHUNK, 2 * rows)), np.full((paths, chunks * CHUNK), NO_BOUND)
    by_path[0][:, :intervals], by_path[1][:, :intervals] = bounds.reshape(paths, intervals, 2 * rows), caps
    whole[:] = np.swapaxes(by_path[0].reshape(paths, chunks, CHUNK * 2 * rows), 0, 1)
    most[:] = np.swapaxes(by_path[1].reshape(paths, chunks, CHUNK), 0, 1)
    program, found = _passed(rows, CHUNK, cpu), np.empty((chunks, paths, CHUNK))
    if paths == 1:
        whole, most, found, x = whole[:, 0], most[:, 0], found[:, 0], x[0]
    for k in range(chunks):
        found[k] = program({"bounds": whole[k], "caps": most[k], "x": x[..., None]})
        x = found[k, ..., -1]
    return np.swapaxes(found.reshape(chunks, paths, CHUNK), 0, 1).reshape(paths, -1)[:, :intervals]


class _PathSolver:
    """The search for the fastest motions along some paths with the same number of points."""

    def __init__(self, robot: Robot | None, limits: PathLimits, friction: bool, cpu: str, threads: int) -> None:
        self.robot, self.limits, self.friction, self.cpu, self.threads = robot, limits, friction, cpu, threads
        self.some = tuple(np.flatnonzero(np.isfinite(x)) for x in limits)
        n = len(limits.torque)
        self.entries = tuple(slice(None) if len(which) == n else which for which in self.some)
        """Entries of vectors that are limited; views where all are."""

    def samples(self, q: Array, first: Array, second: Array) -> _PathSamples:
        """Return coefficients of limits at points (paths, points, n)."""
        nothing = np.zeros_like(first)
        if self.robot is None or not len(self.some[2]):
            return _PathSamples(first, second, nothing, nothing, nothing, nothing)
        find, threads, rub = self.robot.inverse_dynamics, self.threads, self.robot.friction_force
        rest = find(q, nothing, nothing, threads=threads)
        a = find(q, nothing, first, threads=threads) - rest
        b = find(q, first, second, threads=threads) - rest
        if not self.friction:
            return _PathSamples(first, second, a, b, rest, nothing)
        viscous = rub(2.0 * first, q=q) - rub(first, q=q)  # what does not depend on the speed drops out
        return _PathSamples(first, second, a, b, rest + rub(nothing, q=q), viscous)

    def rubbing(self, first: Array) -> tuple[Array, Array]:
        """Return Coulomb friction on intervals, and how much of it may have either sign: where a joint turns back."""
        if self.robot is None or not self.friction:
            return np.zeros_like(first[:, 1:]), np.zeros_like(first[:, 1:])
        coulomb = np.asarray(self.robot.model.effective_friction[1], dtype=float)
        before, after = np.sign(first[:, :-1]), np.sign(first[:, 1:])
        steady = before * after > 0.0
        return np.where(steady, coulomb * before, 0.0), np.where(steady, 0.0, coulomb)

    def speeds(
        self, at: _PathSamples, rubbing: tuple[Array, Array], step: Array, margin: Array, x: Array,
        ends: tuple[Array, Array],
    ) -> Array:  # fmt: skip
        """Return the largest x at all points, (paths, points)."""
        fast, rapid, strong = self.entries
        g = at.forces(x)
        own = {"a": at.a[..., strong], "b": at.b[..., strong], "g": g[..., strong]}
        given = {f"{name}0": y[:, :-1] for name, y in own.items()} | {f"{name}1": y[:, 1:] for name, y in own.items()}
        for name, y in (("v", at.first[..., rapid]), ("w", at.second[..., rapid])):
            given[f"{name}0"], given[f"{name}1"] = y[:, :-1], y[:, 1:]
        speeds = np.abs(at.first[..., fast])
        given["fast"] = speeds[:, :-1]
        for name, limit, which in zip(PathLimits._fields, self.limits, self.some, strict=True):
            given[name] = np.broadcast_to(limit[which], (1, 1, len(which)))
        paths, points = x.shape
        given["rubbing"], given["either"] = (y[..., strong] for y in rubbing)
        given["step"], given["margin"] = step[..., None], margin[..., None]
        n_fast, n_rapid, n_strong = map(len, self.some)
        program = _interval(n_strong, n_rapid, n_fast, self.cpu)
        found = program(given, self.threads)
        rows = 2 * (n_strong + n_rapid)
        shape = paths, points - 1, rows, 2
        back, ahead = found[..., : 2 * rows].reshape(shape), found[..., 2 * rows : 4 * rows].reshape(shape)
        caps = found[..., -1]
        with np.errstate(divide="ignore"):
            last = ((self.limits.velocity[fast] / speeds[:, -1]) ** 2).min(axis=-1, initial=np.inf)
        begin, end = ends
        most = np.empty((paths, points))
        most[:, -1] = np.minimum(end, last)
        most[:, :-1] = _chain(back[:, ::-1], caps[:, ::-1], most[:, -1], self.cpu)[:, ::-1]
        found = np.empty((paths, points))
        found[:, 0] = np.where(begin <= most[:, 0] * (1.0 + 1e-12), begin, np.nan)
        found[:, 1:] = _chain(ahead, np.ascontiguousarray(most[:, 1:]), found[:, 0], self.cpu)
        return found

    def __call__(self, every: _PathSamples, step: Array, ends: tuple[Array, Array]) -> Array:
        """Return x at all points, with limits that also hold between them."""
        nodes = every.at(slice(None, None, BETWEEN))
        nodes = _PathSamples(*(np.ascontiguousarray(y) for y in nodes))
        paths, points = nodes.first.shape[:2]
        margin, lost = np.zeros((paths, points - 1)), self.rubbing(nodes.first)
        x = self.speeds(nodes, lost, step, margin, np.zeros((paths, points)), ends)
        settled = np.full(paths, not nodes.viscous.any())
        for _ in range(MOST_TIGHTENINGS):
            excess = self.excess(every, lost, x, step)
            tightened = np.where(excess > KEPT, HALVED * excess, 0.0)
            margin = margin + np.where(settled[:, None], tightened, 0.0)  # friction first: it depends on the speed
            done = settled & ~(excess > KEPT).any(axis=1)  # each path goes on until it is done itself
            if done.all():
                break
            new = self.speeds(nodes, lost, step, margin, x, ends)
            if nodes.viscous.any():
                settled = settled | (np.abs(new - x) <= STEADY * np.abs(x).max(axis=1)[:, None]).all(axis=1)
            x = np.where(done[:, None], x, new)
        return x

    def excess(self, every: _PathSamples, lost: tuple[Array, Array], x: Array, step: Array) -> Array:
        """Return by how much limits are exceeded on intervals, at their ends and at points between."""
        u, rise = np.diff(x, axis=1) / (2.0 * step), np.diff(x, axis=1)
        inside = x[:, :-1, None] + rise[..., None] * (np.arange(BETWEEN) / BETWEEN)
        paths, intervals = u.shape
        held = (np.repeat(y, BETWEEN, axis=1) for y in (u, *lost))
        first = self.used(every.at(slice(None, -1)), inside.reshape(paths, -1), *held).reshape(
            paths, intervals, BETWEEN
        )
        last = self.used(every.at(slice(BETWEEN, None, BETWEEN)), x[:, 1:], u, *lost)
        most, least = np.maximum(first.max(axis=-1), last), np.minimum(first.min(axis=-1), last)
        most += np.minimum(SPARED, most - least) - 1.0
        most[:, 1:] = np.maximum(most[:, 1:], most[:, :-1])  # limits of speed are those of points
        return most

    def used(self, at: _PathSamples, x: Array, u: Array, rubbing: Array, either: Array) -> Array:
        """Return the largest use of any limit at points, one where it is reached, (paths, points)."""
        fast, rapid, strong = self.entries
        x = np.maximum(x, 0.0)
        given = {"x": x[..., None], "u": u[..., None], "fast": at.first[..., fast], "v": at.first[..., rapid]}
        given |= {"w": at.second[..., rapid], "a": at.a[..., strong], "b": at.b[..., strong]}
        given |= {"g": at.forces(x)[..., strong], "rubbing": rubbing[..., strong], "either": either[..., strong]}
        for name, limit, which in zip(PathLimits._fields, self.limits, self.some, strict=True):
            given[name] = np.broadcast_to(limit[which], (1, 1, len(which)))
        n_fast, n_rapid, n_strong = map(len, self.some)
        return _use(n_strong, n_rapid, n_fast, self.cpu)(given, self.threads)[..., 0]


def _per_joint(given: Any, n: int, name: str, known: Array | None) -> Array:
    if given is None:
        return np.full(n, np.inf) if known is None else known
    numbers = as_array(given, (), name)
    if numbers.ndim > 1 or (numbers.ndim and len(numbers) != n) or not np.all(numbers > 0.0):
        raise ShapeError(f"{name} must be one positive number, or {n} of them, one per joint")
    return np.array(np.broadcast_to(numbers, (n,)))


def _as_path(given: Any) -> Trajectory:
    if isinstance(given, Trajectory):
        return given
    points = as_array(given, (), "the path")
    if points.ndim != 2 or len(points) < 2:
        raise ShapeError("a path is a trajectory, or at least two points (points, joints)")
    ways = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if np.any(ways == 0.0):
        raise OptionError(f"point {int(np.argmin(ways)) + 1} of the path is the same as the one before: leave it out")
    return spline(np.concatenate([[0.0], np.cumsum(ways)]), points, ends="natural")


def fastest(
    path: Any, robot: Robot | None = None, *, velocity: ArrayLike | None = None, acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None, points: int = 1001, friction: bool = True, begin_speed: float = 0.0,
    end_speed: float = 0.0, threads: int = 1,
) -> Any:  # fmt: skip
    """Return the fastest motion along a path that keeps limits of velocities, accelerations and torques.

    Parameters
    ----------
    path : Trajectory, array_like (points, joints), or a list of these
        Where joints go; times of a trajectory are only a parameter. Points are joined by a spline. For a mechanism, a
        path on which its loops are closed. For a list, all motions are found together.
    robot : Robot, optional
        Its own velocity and torque limits hold unless others are given; needed for torques.
    velocity, acceleration, torque : float or array_like (joints,), optional
        Largest magnitudes.
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
    paths = [_as_path(one) for one in path] if several else [_as_path(path)]
    n = paths[0].n
    if robot is not None:
        require_robot(robot)
        if n != robot.nv or paths[0].nq != robot.nq:
            raise ShapeError(f"the path moves {n} joints, the robot has {robot.nv}")
    elif torque is not None:
        raise OptionError("torques need the robot: fastest(path, robot, torque=...)")
    if any(one.n != n for one in paths):
        raise ShapeError("all paths must move the same joints")
    whole_number(points, "points", least=3)
    limits = PathLimits(
        _per_joint(velocity, n, "velocity", None if robot is None else np.asarray(robot.velocity_limits, dtype=float)),
        _per_joint(acceleration, n, "acceleration", None),
        _per_joint(torque, n, "torque", None if robot is None else np.asarray(robot.effort_limits, dtype=float)),
    )
    if not any(np.isfinite(x).any() for x in limits):
        raise OptionError("nothing limits the motion: give velocity=, acceleration= or, with a robot, torque=")
    cpu = "" if robot is None else robot.cpu
    if robot is not None and not has_machine_code(robot):
        raise OptionError(f"fastest needs machine code, and robot {robot.name!r} has backend='reference'")
    if robot is not None and friction and np.any(robot.model.joint_vector("stribeck")):
        raise UnsupportedError(
            "fastest knows viscous and Coulomb friction, not Stribeck's: friction=False leaves it out"
        )
    solver = _PathSolver(robot, limits, friction, cpu, threads)
    squares = [real_number(x, name) ** 2 for x, name in ((begin_speed, "begin_speed"), (end_speed, "end_speed"))]
    parts = [_some(solver, paths[k : k + PATHS_AT_ONCE], points, squares) for k in range(0, len(paths), PATHS_AT_ONCE)]
    s, x, stuck = (np.concatenate(part) for part in zip(*parts, strict=True))
    reasons = _reasons(solver, paths, s, x, stuck)
    if reasons and not several:
        raise TrajectoryError(reasons[0])
    for k in reasons:
        x[k] = np.nan
    speed = np.sqrt(np.maximum(x, 0.0))
    with np.errstate(all="ignore"):
        lengths = 2.0 * np.diff(s, axis=1) / (speed[:, 1:] + speed[:, :-1])
    times = np.concatenate([np.zeros((len(s), 1)), np.cumsum(lengths, axis=1)], axis=1)
    times[list(reasons)] = np.nan
    found = FastestMotions(paths, s, times, speed, reasons)
    return found if several else found[0]


def _grid(path: Trajectory, points: int) -> Array:
    """Return the points of a path, kinks among them, and points between them."""
    begin, end = path.start, path.end
    if not (np.isfinite(begin) and np.isfinite(end)):
        raise OptionError("a path must have a beginning and an end")
    s = np.linspace(begin, end, points)
    kinks = path.kinks(begin, end)
    places = 1 + np.clip(np.searchsorted(s, kinks) - 1, 0, points - 2)  # the nearest inner points move onto kinks
    places = np.where(np.abs(s[places] - kinks) < np.abs(s[places - 1] - kinks), places, places - 1)
    fits = (places > 0) & (places < points - 1)
    if len(np.unique(places[fits])) == np.count_nonzero(fits):
        s[places[fits]] = kinks[fits]
    inner = s[:-1, None] + np.diff(s)[:, None] * np.arange(BETWEEN) / BETWEEN
    return np.append(inner.ravel(), end)


def _some(
    solver: _PathSolver, paths: Sequence[Trajectory], points: int, squares: Sequence[float]
) -> tuple[Array, Array, Array]:
    """Return points along some paths, x there, and the share of its torque that each joint needs at rest."""
    s = np.array([_grid(path, points) for path in paths])
    known = [
        np.stack(part) for part in zip(*(path.states(own) for path, own in zip(paths, s, strict=True)), strict=True)
    ]
    rate = np.abs(known[1]).max(axis=-1)
    still = np.asarray(rate <= STILL * rate.max(axis=-1, keepdims=True))
    if still.any():
        which, point = np.argwhere(still)[0]
        raise TrajectoryError(
            f"the path stands still at its parameter {s[which, point]:.4g}, as a trajectory from rest to rest does: "
            "give its points, fastest(trajectory.states(times)[0], ...), or a path without rests"
        )
    every = solver.samples(*known)
    s = np.ascontiguousarray(s[:, ::BETWEEN])
    with np.errstate(all="ignore"):
        needed = np.abs(every.g[:, ::BETWEEN]) / solver.limits.torque
        begin, end = (np.full(len(paths), square) for square in squares)
        x = solver(every, np.diff(s, axis=1), (begin, end))
    return s, x, needed


def _reasons(solver: _PathSolver, paths: Sequence[Trajectory], s: Array, x: Array, needed: Array) -> dict[int, str]:
    """Return why some paths cannot be followed."""
    names = solver.robot.v_names if solver.robot is not None else [f"joint {k}" for k in range(needed.shape[-1])]
    reasons = {}
    for k in np.flatnonzero((needed >= 1.0).any(axis=(1, 2))):
        point, joint = np.unravel_index(needed[k].argmax(), needed[k].shape)
        reasons[int(k)] = (
            f"{names[joint]} cannot stand still on the path at s = {s[k, point]:.4g}: it takes "
            f"{100 * needed[k, point, joint]:.3g} % of its torque limit"
        )
    for k in np.flatnonzero(~np.isfinite(x).all(axis=1)):
        reasons.setdefault(int(k), "the speed at the start is more than limits allow: lower begin_speed")
    with np.errstate(all="ignore"):
        rests = (x[:, 1:-1] <= 0.0).any(axis=1) if x.shape[1] > 2 else np.zeros(len(x), dtype=bool)
    for k in np.flatnonzero(rests):
        point = int(np.argmax(x[k, 1:-1] <= 0.0)) + 1
        reasons.setdefault(int(k), f"no motion passes s = {s[k, point]:.4g} within the limits")
    for k in np.flatnonzero((x > 0.1 * NO_BOUND).any(axis=1)):
        reasons.setdefault(int(k), "nothing limits the speed along part of the path: give velocity=")
    return reasons
