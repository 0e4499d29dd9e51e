"""A mechanism, its free numbers, and the quantities measured over the motions of such designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.interpolate import make_interp_spline

from kinetree.algorithms.driven_motion import DriveQuality, JointTurn, LineDirection, Measure, PointMotion
from kinetree.errors import KinetreeError, OptionError, ShapeError, UnknownNameError, UnsupportedError
from kinetree.io.units import LENGTHS
from kinetree.loops.mobility import planar_count
from kinetree.loops.moved_designs import MeasuredMotion, MovedDesigns
from kinetree.model.joints import Continuous, Revolute
from kinetree.motion.trajectory_interface import Trajectory, span_of
from kinetree.robot.mechanism import Mechanism
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array, time_shares

from .free_numbers import FreeNumbers, refuse_other_unit
from .goals import MotionGoal, OwnGoal, extreme
from .planar_analysis import PlanarMechanism

TIMES_FINER, MOST_SAMPLES, FEW = 2, 5000, 16
"""How often the samples are quadrupled for true values of a few designs; a fixed number, so that they compare."""


@dataclass(frozen=True, eq=False)
class DrivenSamples:
    """A motion of the drives, sampled.

    Attributes
    ----------
    given : ndarray, shape (T, 3, n)
        Positions, rates and second rates of the independent freedoms.
    shares : ndarray, shape (T,)
        The fraction of the time that each sample stands for; they sum to one.
    duration : float
    """

    given: Array
    shares: Array
    duration: float
    said: str
    wraps: bool | None = None
    """Whether the first sample follows the last; None if nothing is known between samples."""
    tool: Array | None = None
    """Position, velocity and acceleration of the tool, (T, 3, n), if each design's drives follow from them."""


@dataclass(frozen=True, eq=False)
class LedPoint:
    """A prescribed motion of a point, such as a platform's tool over a pick cycle; the drives follow from it.

    Parameters
    ----------
    point : str
        A body or frame of a mechanism that has as many freedoms as the point: three, or two in a plane.
    positions : array_like, shape (T, 3) or (T, 2)
    times : array_like, shape (T,)
        Velocities and accelerations are those of a smooth curve through the positions.
    """

    point: str
    positions: Any
    times: Any


class DesignProblem:
    """The problem that goals are evaluated on.

    Parameters
    ----------
    robot : Robot
    free : FreeNumbers
    motion : object
        As for :func:`kinetree.design`.
    speed : float
        Speed of the drive, in rad/s or m/s.
    samples : int
    threads : int
    """

    def __init__(self, robot: Robot, free: FreeNumbers, motion: Any, speed: float, samples: int, threads: int) -> None:
        if robot.loops is None:
            raise UnsupportedError(
                f"{robot.name!r} has no loops, and kt.design closes loops: for an open chain give an optimizer what "
                "methods of the robot return for parameters=..., such as inverse_dynamics(q, v, a, parameters=...)"
            )
        self.robot, self.model, self.free, self.threads = cast("Mechanism", robot), robot.model, free, threads
        self.independent = self.robot.coordinates.independent
        neutral = robot.neutral()
        drawn = self.robot.closure_error(neutral).max(initial=0.0) < 1e-9
        self.start: Array = neutral if drawn else self.robot.assembled()
        self._given_motion, self._speed, self._samples = motion, float(speed), samples
        self._tool_laws: tuple[Measure, ...] = ()
        self._tool = ""

    # ---------------------------------------------------------------- what it moves like

    @cached_property
    def entries(self) -> list[int]:
        """The indices of the independent freedoms in q."""
        return [self.robot.q_names.index(self.robot.v_names[k]) for k in self.independent]

    @property
    def drive_hinge(self) -> bool:
        """Whether there is one drive and it is a revolute joint."""
        joint = next((j for j in self.model.joints if j.q_slice.start == self.entries[0]), None)
        return len(self.entries) == 1 and joint is not None and isinstance(joint.kind, (Revolute, Continuous))

    @cached_property
    def half_turns(self) -> Array:
        """How far a search moves each drive at a point, (n,): half a turn, or along a slide the mechanism's size."""
        return np.array([np.pi if self.model.v_units[k] == "rad" else self.free.size for k in self.independent])

    @cached_property
    def motion(self) -> DrivenSamples:
        """The motion that goals are measured over."""
        given, n, count = self._given_motion, len(self.entries), self._samples
        begin = self.start[self.entries]
        if given is None or given == "turn":
            if not self.drive_hinge:
                raise OptionError(
                    f"{self.robot.name!r} has no single drive that turns: say over which motion of "
                    f"{', '.join(self.robot.independent())} it is designed, motion=(q, v, a) or a trajectory"
                )
            angle = begin + np.linspace(0.0, 2 * np.pi, count, endpoint=False)[:, None]
            made = np.stack([angle, np.full_like(angle, self._speed), np.zeros_like(angle)], axis=1)
            return DrivenSamples(made, np.full(count, 1.0 / count), 2 * np.pi / abs(self._speed), "a turn", True)
        if isinstance(given, LedPoint):
            return self._of_tool(given)
        if isinstance(given, Trajectory):
            first, last = span_of(given)
            times = np.linspace(first, last, count)
            parts = [np.asarray(x) for x in given.states(times)]
            if parts[0].shape[-1] == self.robot.nq and self.robot.nq != n:
                parts = [parts[0][:, self.entries], *(x[:, list(self.independent)] for x in parts[1:])]
            return replace(self._sampled(times, parts), wraps=False)
        if isinstance(given, Sequence) and len(given) == 2 and n == 1:
            unit = "rad" if self.drive_hinge else "m"
            low, high = (self.free.in_si(x, unit, "motion") for x in given)
            if not np.isfinite([low, high]).all() or low == high:
                raise OptionError(f"motion is from one position of the drive to another, not {given!r}")
            way = np.linspace(low, high, count)[:, None]
            rate = np.full_like(way, self._speed * np.sign(high - low))
            times = np.linspace(0.0, abs(high - low) / abs(self._speed), count)
            return replace(self._sampled(times, [way, rate, 0.0 * way]), wraps=False)
        if isinstance(given, Sequence) and len(given) in (3, 4):
            parts = [self._by_name(x) for x in given[-3:]]
            t = np.asarray(given[0], dtype=float) if len(given) == 4 else np.linspace(0.0, 1.0, len(parts[0]))
            return self._sampled(t, parts)
        raise OptionError(
            "motion is 'turn', (start, end) of the drive, arrays (q, v, a) or (t, q, v, a), or a trajectory"
        )

    def _of_tool(self, given: LedPoint) -> DrivenSamples:
        """Return samples of a tool's motion, with the drives that the mechanism as drawn needs."""
        places, times = self.places(given.positions, "positions of a tool"), np.asarray(given.times, dtype=float)
        if len(self.entries) != len(self.tool_axes):
            raise OptionError(
                f"a point has {len(self.tool_axes)} freedoms, and {self.robot.name!r} {len(self.entries)} drives"
            )
        curve = make_interp_spline(times, places @ self.tool_axes.T, k=min(5, len(times) - 1))
        even = np.linspace(times[0], times[-1], self._samples)
        tool = np.stack([curve(even), curve.derivative()(even), curve.derivative(2)(even)], axis=1)
        self._tool_laws = tuple(PointMotion(self.model.frame(given.point).name, order=k) for k in range(3))
        self._tool = given.point
        drives = self._tool_drives(self.free.start[None], tool)[0]
        if not np.isfinite(drives).all():
            raise OptionError(f"{self.robot.name!r} as drawn does not reach all positions of {given.point!r}")
        made = self._sampled(even, [drives[:, k] for k in range(3)])
        return replace(made, said=f"the motion of {given.point}", wraps=False, tool=tool)

    @cached_property
    def tool_axes(self) -> Array:
        """Directions that a tool moves along, (n, 3)."""
        return np.eye(3) if self._planar is None else self.plane

    def _tool_drives(self, u: Array, tool: Array) -> Array:
        """Return drives (L, T, 3, n) that lead the tool as wanted; NaN where they do not."""
        parameters, axes = self.free.parameters(u), self.tool_axes
        first, frame = self.robot.point_position(self.start, self._tool), self.model.frame(self._tool).name
        path = tool[:, 0] @ axes + (first - first @ axes.T @ axes)
        led = self.robot.loops.led_designs(frame, path, parameters, self.start, first, self.threads)  # type: ignore[union-attr]
        y = led[..., self.entries]
        place = self._moved(y, 0.0 * y, 0.0 * y, parameters).measure(PointMotion(frame))
        slope = axes @ place.jacobian("q")
        rate = _solved(slope, np.broadcast_to(tool[:, 1], y.shape))
        bias = self._moved(y, rate, 0.0 * y, parameters).measure(PointMotion(frame, order=2)).values @ axes.T
        second, off = _solved(slope, tool[:, 2] - bias), place.values @ axes.T - tool[:, 0]
        with np.errstate(invalid="ignore"):  # what these drives lead to from the drawing may be another assembly
            y = np.where((np.abs(off) < 1e-9 * self.free.size).all(axis=-1, keepdims=True), y, np.nan)
        return np.stack([y, rate, second], axis=-2)

    def _moved(self, q: Array, v: Array, a: Array, parameters: Any) -> MovedDesigns:
        return self.robot.driven_motion(q, v, a, parameters, q_guess=self.start, threads=self.threads)

    def _by_name(self, given: Any) -> Array:
        if isinstance(given, Mapping):
            names = self.robot.independent()
            for name in given:
                if name not in names:
                    raise UnknownNameError("independent freedom", name, names)
            return np.stack([np.asarray(given[name], dtype=float) for name in names], axis=-1)
        found = np.asarray(given, dtype=float)
        return found[:, None] if found.ndim == 1 else found

    def _sampled(self, times: Array, parts: Sequence[Array]) -> DrivenSamples:
        n = len(self.entries)
        if any(x.shape != (len(times), n) for x in parts) or len(times) < 2:
            shapes = ", ".join(str(x.shape) for x in parts)
            raise ShapeError(f"a motion has samples (T, {n}) of q, v and a at T times, two or more; got {shapes}")
        return DrivenSamples(np.stack(parts, axis=1), time_shares(times), float(times[-1] - times[0]), "the motion")

    # ---------------------------------------------------------------- words of goals

    @cached_property
    def _planar(self) -> PlanarMechanism | None:
        return None if planar_count(self.model, self.start) is None else PlanarMechanism(self.robot)

    @property
    def plane(self) -> Array:
        """Two unit vectors of the plane, (2, 3)."""
        if self._planar is None:
            raise OptionError(f"{self.robot.name!r} does not move in a plane: give points (N, 3)")
        return np.eye(3)[:2] if self.free.drawn else self._planar.plane

    def places(self, points: Any, what: str) -> Array:
        """Return points in the world, (N, 3), in meters."""
        texts = isinstance(points, Sequence) and any(isinstance(x, str) for one in points for x in one)
        if texts:
            points = [[self.free.in_si(x, "m", what) for x in one] for one in points]
        found = np.asarray(points, dtype=float)
        if found.ndim != 2 or found.shape[1] not in (2, 3) or not len(found) or not np.isfinite(found).all():
            raise ShapeError(f"{what}: points are finite numbers (N, 2) or (N, 3), not of shape {found.shape}")
        if self.free.drawn and not texts and not type(points).__name__.startswith("_"):
            found = found * LENGTHS[self.free.drawn.units]
        refuse_other_unit(float(np.abs(found).max()), self.free.size, what)
        return found @ self.plane if found.shape[1] == 2 else found

    def directions(self, points: Array) -> Array:
        """Return which coordinates of points the mechanism can reach, (3,)."""
        return np.ones(3) if self._planar is None else np.abs(self.plane).max(axis=0)

    def reference_axis(self, frame: str, way: Array) -> list[float]:
        """Return a direction of the world in a frame's own coordinates, at the initial configuration."""
        return [float(x) for x in self.robot.pose(self.start, frame)[:3, :3].T @ way]

    def angle_law(self, name: str) -> Measure:
        """Return the law that measures the angle of a joint, or of a line ``"O A"``."""
        if name in self.model.joint_index:
            return JointTurn(self.model.joint(name).q_slice.start)
        points = name.split()
        if len(points) != 2:
            raise UnknownNameError("joint or line between two points", name, self.model.joint_index)
        first, second = (PointMotion(self.model.frame(p).name) for p in points)
        right, up = ((float(x), float(y), float(z)) for x, y, z in self.plane)
        return LineDirection(first, second, right, up)

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """Indices in v of what supplies the forces: motors if there are as many as drives, else the drives."""
        found = tuple(int(k) for k in np.flatnonzero(self.robot.driven))
        return found if len(found) == len(self.independent) else self.independent

    @property
    def forces(self) -> str:
        """The name of the motors' forces among the vectors of a motion."""
        return "tau" if set(self.motors) == {*self.independent} else "motor_forces"

    def motor(self, name: str) -> int:
        """Return the index in v of a motor."""
        names = [self.robot.v_names[k] for k in self.motors]
        if name not in names:
            raise UnknownNameError("drive", name, names)
        return self.motors[names.index(name)]

    # ---------------------------------------------------------------- numbers of motions

    def evaluate(self, u: Array, goals: Sequence[MotionGoal], sharp: float | None) -> MeasuredGoals:
        """Return quantities of the motions of designs (L, n); NaN where a design cannot follow.

        The last quantity is the distance from dead points, a squared sine.  True values, without ``sharp``, are taken
        from a more finely sampled motion, unless only samples are given or there are many designs to choose from.
        """
        own = [k for k, goal in enumerate(goals) if isinstance(goal, OwnGoal)]
        if own:
            return self._with_own(u, goals, own, sharp)
        finer: DesignProblem = self
        for _ in range(TIMES_FINER if sharp is None and len(u) <= FEW else 0):
            finer = finer._finer or finer
        return finer._evaluated(u, goals, sharp)

    def _with_own(
        self, u: Array, goals: Sequence[MotionGoal], own: list[int], sharp: float | None
    ) -> MeasuredGoals:  # fmt: skip
        """Return quantities, of which some are numbers of users' functions; they have no derivatives."""
        rest = [k for k in range(len(goals)) if k not in own]
        values, follows = np.full((len(u), len(goals) + 1), np.nan), np.ones(len(u), dtype=bool)
        values[:, -1] = 1.0  # without a motion there are no dead points
        if rest:
            found = self.evaluate(u, [goals[k] for k in rest], sharp)
            values[:, [*rest, -1]], follows = found.values, found.follows.copy()
        for lane in np.flatnonzero(follows):
            values[lane, own] = self._own_values(u[lane], [goals[k] for k in own])
        follows &= np.isfinite(values).all(axis=-1)
        values[~follows] = np.nan
        return MeasuredGoals(self, u, values, follows, [])

    def _own_values(self, u: Array, goals: Sequence[MotionGoal]) -> list[float]:
        """Return the numbers of users' functions for one design; NaN if it cannot be drawn."""
        try:
            robot = self.free.built(u)
        except KinetreeError:
            return [float("nan")] * len(goals)
        return [goal.of_robot(robot) for goal in goals if isinstance(goal, OwnGoal)]

    @cached_property
    def _finer(self) -> DesignProblem | None:
        """The same problem with four times as many samples; None if that is impossible or unnecessary."""
        if self.motion.wraps is None or 4 * self._samples > MOST_SAMPLES:
            return None
        return DesignProblem(self.robot, self.free, self._given_motion, self._speed, 4 * self._samples, self.threads)

    def _evaluated(self, u: Array, goals: Sequence[MotionGoal], sharp: float | None) -> MeasuredGoals:
        """Return the goals measured at the samples of the motion, for several designs."""
        every = [*goals, QUALITY]
        values, follows, parts = np.full((len(u), len(every)), np.nan), np.ones(len(u), dtype=bool), []
        for given, which in self._groups(every):
            laws, tool = [self._laws(every[k]) for k in which], None
            if self.motion.tool is not None:
                if given is not self.motion.given:
                    raise UnsupportedError("goals with drives of their own are not measured over a tool's motion")
                given = self._tool_drives(u, self.motion.tool)
            moved = self._moved(given[..., 0, :], given[..., 1, :], given[..., 2, :], self.free.parameters(u))
            if self.motion.tool is not None:
                tool = moved.measure(*self._tool_laws)
            good = np.flatnonzero(moved.closed)
            follows &= moved.closed
            if not len(good):
                continue
            measured = moved.measure(*(law for own in laws for law in own))
            first = 0
            for k, own in zip(which, laws, strict=True):
                part = slice(first, first := first + self._width(moved, own))
                values[good, k], weights = every[k]._value(measured.values[good][..., part], self, sharp)
                parts.append((k, measured, good, part, weights, tool))
        values[~follows] = np.nan
        return MeasuredGoals(self, u, values, follows, parts)

    def _laws(self, goal: MotionGoal) -> tuple[Measure, ...]:
        if goal not in self._known_laws:
            self._known_laws[goal] = goal._measures(self)
        return self._known_laws[goal]

    @cached_property
    def _known_laws(self) -> dict[MotionGoal, tuple[Measure, ...]]:
        return {}

    def _groups(self, goals: Sequence[MotionGoal]) -> list[tuple[Array, list[int]]]:
        """Return motions of the drives, and the goals that are measured over each."""
        found: list[tuple[Array, list[int]]] = []
        common: list[int] = []
        for k, goal in enumerate(goals):
            own = goal._drives(self.motion)
            if own is None:
                common.append(k)
            else:
                found.append((own, [k]))
        return [(self.motion.given, common), *found]

    def _width(self, moved: MovedDesigns, laws: tuple[Measure, ...]) -> int:
        """Return how many numbers the measurements comprise."""
        if laws not in self._widths:
            self._widths[laws] = moved.measure(*laws).values.shape[-1]
        return self._widths[laws]

    @cached_property
    def _widths(self) -> dict[tuple[Measure, ...], int]:
        return {}


def _solved(matrix: Array, right: Array) -> Array:
    """Solve systems (..., n, n); NaN where they are singular or contain NaN."""
    good = np.isfinite(matrix).all(axis=(-1, -2)) & np.isfinite(right).all(axis=-1)
    with np.errstate(invalid="ignore"):
        good &= np.abs(np.linalg.det(np.where(good[..., None, None], matrix, 0.0))) > 0.0
    found = np.linalg.solve(np.where(good[..., None, None], matrix, np.eye(matrix.shape[-1])), right[..., None])[..., 0]
    return np.where(good[..., None], found, np.nan)


@dataclass(frozen=True, eq=False)
class MeasuredGoals:
    """Quantities of the motions of designs, (L, G), and which designs can follow, (L,)."""

    of: DesignProblem
    u: Array
    values: Array
    follows: Array
    parts: list[tuple[int, MeasuredMotion, Array, slice, Array, MeasuredMotion | None]]

    @cached_property
    def slopes(self) -> Array:
        """Their exact derivatives with respect to the unknowns, (L, G, n)."""
        found = np.full((*self.values.shape, self.u.shape[-1]), np.nan)
        chain = self.of.free.slope(self.u)
        for k, measured, good, part, weights, tool in self.parts:
            full = np.zeros_like(measured.values)
            full[good, :, part] = weights
            by_numbers = measured.gradient(full, threads=self.of.threads)
            if tool is not None:  # drives change so that the tool's motion does not: the adjoint of that motion
                axes = np.kron(np.eye(3), self.of.tool_axes)
                by_drives = measured.gradient(full, "q", "v", "a")
                adjoint = _solved(np.swapaxes(axes @ tool.jacobian("q", "v", "a"), -1, -2), by_drives)
                by_numbers = by_numbers - tool.gradient(np.nan_to_num(adjoint) @ axes)
            found[good, k] = np.einsum("lp,lpn->ln", by_numbers[good], chain[good])
        found[~self.follows] = np.nan
        return found


class DeadPointGoal(MotionGoal):
    """How far the motion stays from dead points."""

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        return (DriveQuality(),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        value, share = extreme(x[..., 0], sharp, -1.0)
        return value, share[..., None]


QUALITY = DeadPointGoal()
