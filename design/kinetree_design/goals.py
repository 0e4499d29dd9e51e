"""Goals of a design: points to meet, and quantities of its motion to minimize or maximize.

Each is a goal or, with a bound, a limit: ``TransmissionAngle(at="B") >= "40 deg"``.  Quantities of a motion are
computed from measurements at its samples; their gradients with respect to the measurements are written by hand, and
those of the measurements are exact derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algorithms.driven_motion import (
    Angle,
    Direction,
    JointPlace,
    JointWrench,
    Measure,
    MotionVector,
    PointMotion,
    ShakingWrench,
)  # fmt: skip
from kinetree.errors import KinetreeError, OptionError, ShapeError, UnknownNameError, UnsupportedError, shown
from kinetree.io.units import in_si
from kinetree.spatial.arrays import Array

from .planar_analysis import PlanarMechanism

if TYPE_CHECKING:
    from kinetree.robot.robot import Robot

    from .problem import DesignProblem, DrivenSamples

TINY = 1e-300
KINDS = ("peak", "rms", "mean")

EXACT = 10.0
"""Weight of the input's angle in a function, so that what is missed is the output's angle, where points are missed."""


@dataclass(frozen=True, eq=False)
class Limit:
    """A goal that must be at least ``low`` and at most ``high``."""

    goal: DesignGoal
    low: Any = None
    high: Any = None


class DesignGoal:
    """A quantity to be made small, or large where larger is better; with a bound it becomes a limit."""

    unit: ClassVar[str] = ""
    larger: ClassVar[bool] = False
    most: ClassVar[float | None] = None
    """What it can be at most, if that is known."""

    def at_least(self, low: float | str) -> Limit:
        """Return this as a limit, the same as ``goal >= low``."""
        return Limit(self, low=low)

    def at_most(self, high: float | str) -> Limit:
        """Return this as a limit, the same as ``goal <= high``."""
        return Limit(self, high=high)

    __ge__, __le__ = at_least, at_most

    def __rmul__(self, weight: float) -> Self:
        return replace(self, weight=self.weight * float(weight))  # type: ignore[type-var]

    called: ClassVar[str] = ""
    weight: float

    @property
    def label(self) -> str:
        """The name of the goal in reports."""
        return self.called.format(**vars(self)).removesuffix(" of None").removesuffix(" at None")


# ---------------------------------------------------------------- numbers of a motion


class MotionGoal(DesignGoal):
    """A quantity of a motion."""

    def _drives(self, motion: DrivenSamples) -> Array | None:
        """Return the goal's own motion of the drives, (T, 3, n); None to use that of the search."""

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        """Return the measurements that the goal needs at each sample."""
        raise NotImplementedError

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        """Return the value, (...), and its derivatives with respect to the measurements x, (..., T, m).

        A smaller ``sharp`` makes maxima smoother; without it they are the true ones.
        """
        raise NotImplementedError


def extreme(s: Array, sharp: float | None, sign: float = 1.0) -> tuple[Array, Array]:
    """Return maxima (minima for sign -1) over the last axis and their derivatives; smooth unless sharp is None."""
    top = (sign * s).max(axis=-1, keepdims=True)
    if sharp is None:
        weights = (sign * s == top).astype(float)
        weights /= weights.sum(axis=-1, keepdims=True)
        return sign * top[..., 0], weights
    largest = np.abs(s).argmax(axis=-1)[..., None]
    scale = np.maximum(np.abs(np.take_along_axis(s, largest, axis=-1)), TINY) / sharp
    aside = (sign * s - top) / scale
    weights = np.exp(aside)
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / total
    by_scale = np.log(total) - (weights * aside).sum(axis=-1, keepdims=True)  # which picks the largest
    own = np.take_along_axis(weights, largest, axis=-1)
    own += by_scale * sign * np.sign(np.take_along_axis(s, largest, axis=-1)) / sharp
    np.put_along_axis(weights, largest, own, axis=-1)
    return sign * (top + scale * np.log(total))[..., 0], weights


def peak(s: Array, of: DesignProblem, sharp: float | None, sign: float = 1.0) -> tuple[Array, Array]:
    """Return maxima (minima for sign -1) over a motion and their derivatives; true ones may lie between samples.

    Between samples they are those of a parabola through three samples, where the samples are consecutive and smooth.
    """
    wraps = of.motion.wraps
    if sharp is not None or wraps is None or s.shape[-1] < 5:
        return extreme(s, sharp, sign)
    top = sign * s
    ahead, behind = np.roll(top, -1, axis=-1), np.roll(top, 1, axis=-1)
    rise, bend = ahead - behind, 2.0 * top - ahead - behind
    if not wraps:
        bend[..., [0, -1]] = bend[..., [1, -2]]
    uneven = np.maximum(*(np.abs(np.roll(bend, k, axis=-1) - bend) for k in (1, -1)))
    smooth = (bend > 0.0) & (np.abs(rise) <= 1.01 * bend) & (uneven < 0.5 * bend)
    if not wraps:
        smooth[..., [0, -1]] = False
    part = np.where(smooth, rise, 0.0) / np.where(smooth, bend, 1.0) / 4.0
    at = (top + part * rise / 2.0).argmax(axis=-1)[..., None]
    part, weights = np.take_along_axis(part, at, axis=-1), np.zeros_like(top)
    for k, weight in ((-1, 2.0 * part**2 - part), (0, 1.0 - 4.0 * part**2), (1, 2.0 * part**2 + part)):
        np.put_along_axis(weights, (at + k) % top.shape[-1], weight, axis=-1)
    return (weights * s).sum(axis=-1), weights


def _length(x: Array) -> tuple[Array, Array]:
    """Return the lengths and directions of vectors."""
    size = np.sqrt((x * x).sum(axis=-1))
    return size, x / np.maximum(size, TINY)[..., None]


def reduced(kind: str, s: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
    """Return the peak, rms or mean of magnitudes (..., T) over a motion, and its derivatives."""
    if kind not in KINDS:
        raise UnknownNameError("kind of a goal", kind, KINDS)
    if kind == "peak":
        return peak(s, of, sharp)
    share = of.motion.shares
    if kind == "mean":
        return (share * s).sum(axis=-1), np.broadcast_to(share, s.shape)
    value = np.sqrt((share * s * s).sum(axis=-1))
    return value, share * s / np.maximum(value, TINY)[..., None]


@dataclass(frozen=True, eq=False)
class Torque(MotionGoal):
    """Torque or force of a drive over the motion: its ``"peak"``, ``"rms"`` or ``"mean"`` absolute value.

    Parameters
    ----------
    drive : str, optional
        A joint; by default, the largest value over all drives counts.
    kind : {"peak", "rms", "mean"}
    """

    drive: str | None = None
    kind: str = "peak"
    weight: float = 1.0
    called: ClassVar[str] = "{kind} torque of {drive}"
    unit: ClassVar[str] = "N m"

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        return (MotionVector(of.forces),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        """Return the value and its derivatives."""
        which = [of.motor(self.drive)] if self.drive else list(of.motors)
        tau, slopes = x[..., which], np.zeros_like(x)
        each = [reduced(self.kind, np.abs(tau[..., j]), of, sharp) for j in range(len(which))]
        value, share = extreme(np.stack([one for one, _ in each], axis=-1), sharp)
        for j, k in enumerate(which):
            slopes[..., k] = share[..., j, None] * each[j][1] * np.sign(tau[..., j])
        return value, slopes


@dataclass(frozen=True, eq=False)
class Energy(MotionGoal):
    """Work that the drives do over the motion, which is a turn by default; energy that flows back is lost.

    Parameters
    ----------
    recovered : float
        The fraction of the energy flowing back that is recovered, 0 to 1.
    """

    recovered: float = 0.0
    weight: float = 1.0
    unit: ClassVar[str] = "J"
    called: ClassVar[str] = "energy"

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        return MotionVector(of.forces), MotionVector("v")

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        if not 0.0 <= self.recovered <= 1.0:
            raise OptionError(f"recovered of Energy is a fraction from 0 to 1, not {self.recovered!r}")
        which, nv = list(of.motors), of.robot.nv
        tau, v = x[..., which], x[..., [nv + k for k in which]]
        power = tau * v
        used = np.where(power > 0.0, 1.0, self.recovered) * (of.motion.shares * of.motion.duration)[:, None]
        slopes = np.zeros_like(x)
        slopes[..., which], slopes[..., [nv + k for k in which]] = used * v, used * tau
        return (used * power).sum(axis=(-1, -2)), slopes


@dataclass(frozen=True, eq=False)
class PinForce(MotionGoal):
    """Force that a pin, slide or bearing carries over the motion.

    Parameters
    ----------
    joint : str
    kind : {"peak", "rms", "mean"}
    """

    joint: str
    kind: str = "peak"
    weight: float = 1.0
    called: ClassVar[str] = "{kind} force at {joint}"
    unit: ClassVar[str] = "N"

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        names = [*of.model.joint_index, *(loop.name for loop in of.model.loops)]
        if self.joint not in names:
            raise UnknownNameError("joint", self.joint, names)
        return (JointWrench(self.joint),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        return _of_vector(self.kind, x, slice(3, 6), of, sharp)


@dataclass(frozen=True, eq=False)
class ShakingForce(MotionGoal):
    """Force of the motion on the ground, without the weight.

    Parameters
    ----------
    kind : {"rms", "peak", "mean"}
    """

    kind: str = "rms"
    weight: float = 1.0
    called: ClassVar[str] = "{kind} shaking force"
    unit: ClassVar[str] = "N"
    part: ClassVar[slice] = slice(3, 6)

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        return (ShakingWrench(),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        return _of_vector(self.kind, x, self.part, of, sharp)


class ShakingMoment(ShakingForce):
    """Moment of the motion on the ground about the world's origin, without that of the weight."""

    unit: ClassVar[str] = "N m"
    called: ClassVar[str] = "{kind} shaking moment"
    part: ClassVar[slice] = slice(0, 3)


def _of_vector(kind: str, x: Array, part: slice, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
    size, way = _length(x[..., part])
    value, share = reduced(kind, size, of, sharp)
    slopes = np.zeros_like(x)
    slopes[..., part] = share[..., None] * way
    return value, slopes


@dataclass(frozen=True, eq=False)
class TransmissionAngle(MotionGoal):
    """Least transmission angle over the motion: how far coupler and output link are from being in line, at most 90 deg.

    Parameters
    ----------
    at : str, optional
        The pin between them; it may be left out where there is one four-bar on the ground.
    """

    at: str | None = None
    weight: float = 1.0
    called: ClassVar[str] = "least transmission angle at {at}"
    unit: ClassVar[str] = "rad"
    most: ClassVar[float | None] = np.pi / 2
    larger: ClassVar[bool] = True

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        planar = PlanarMechanism(of.robot)
        pins = planar.driven_pins
        if self.at is None and len(pins) != 1:
            raise OptionError(f"TransmissionAngle(at=...) must say at which pin: {', '.join(pins) or 'there is none'}")
        name = next(iter(pins)) if self.at is None else self.at
        if name not in pins:
            raise UnknownNameError("pin at which a coupler drives a link on the ground", name, pins)
        (a, _), (b, _), (c, _) = pins[name].path[1:]
        if not c.slides:
            return (Angle(JointPlace(a.name), JointPlace(b.name), JointPlace(c.name)),)
        x, y, z = (float(t) for t in np.cross(np.cross(*planar.plane), c.along) * of.free.size)
        return (Angle(JointPlace(a.name), JointPlace(b.name), JointPlace(b.name, (x, y, z))),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        folded = np.minimum(x[..., 0], np.pi - x[..., 0])
        value, share = peak(folded, of, sharp, -1.0)
        return value, (share * np.where(x[..., 0] < np.pi / 2, 1.0, -1.0))[..., None]


@dataclass(frozen=True, eq=False)
class Swing(MotionGoal):
    """How far a joint swings over the motion, from one end to the other: larger is better.

    Parameters
    ----------
    joint : str
        For example, the pin of a rocker on the ground.
    """

    joint: str
    weight: float = 1.0
    called: ClassVar[str] = "swing of {joint}"
    unit: ClassVar[str] = "rad"
    larger: ClassVar[bool] = True

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        if self.joint not in of.model.joint_index:
            raise UnknownNameError("joint", self.joint, of.model.joint_index)
        return (MotionVector("q"),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        k, slopes = of.model.joint(self.joint).q_slice.start, np.zeros_like(x)
        (high, up), (low, down) = (peak(x[..., k], of, sharp, sign) for sign in (1.0, -1.0))
        slopes[..., k] = up - down
        return high - low, slopes


@dataclass(frozen=True, eq=False)
class Dwell(MotionGoal):
    """How far a point or joint moves over a range of the drive in which it should stand still.

    Parameters
    ----------
    of : str
        A point, body or joint.
    over : pair of float or str
        Range of the drive, counted from the drawing, such as ``("30 deg", "120 deg")``.
    samples : int
    """

    of: str
    over: tuple[float | str, float | str]
    samples: int = 24
    weight: float = 1.0
    called: ClassVar[str] = "motion of {of} in its dwell"
    unit: ClassVar[str] = "m"

    def _drives(self, motion: DrivenSamples) -> Array:
        if motion.given.shape[-1] != 1:
            raise UnsupportedError(f"{self.label}: a dwell is over a range of one drive, and there are several")
        begin, end = (float(in_si(x, "rad", "over of Dwell")) for x in self.over)
        found = np.zeros((self.samples, 3, 1))
        found[:, 0, 0] = np.linspace(begin, end, self.samples)
        return found

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        joint = self.of in of.model.joint_index and self.of not in [f.name for f in of.model.frames]
        return (MotionVector("q"),) if joint else (PointMotion(of.model.frame(self.of).name),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        only = np.ones(x.shape[-1])
        if x.shape[-1] == of.robot.nq and self.of in of.model.joint_index:
            only = np.eye(x.shape[-1])[of.model.joint(self.of).q_slice.start]
        mean = x.mean(axis=-2, keepdims=True)
        size, way = _length((x - mean) * only)
        value, share = extreme(size, sharp)
        slopes = share[..., None] * way * only
        return value, slopes - slopes.mean(axis=-2, keepdims=True)


@dataclass(frozen=True, eq=False)
class ConditionNumber(MotionGoal):
    """Largest condition number, over the motion, of the Jacobian from the drives to a point: 1 is best.

    Parameters
    ----------
    point : str
        A body or frame.  The mechanism must have two or three freedoms.
    """

    point: str
    weight: float = 1.0
    called: ClassVar[str] = "condition number"

    def _drives(self, motion: DrivenSamples) -> Array:
        y = motion.given[:, 0]
        n = y.shape[-1]
        found = np.zeros((len(y) * n, 3, n))
        found[:, 0], found[:, 1] = np.repeat(y, n, axis=0), np.tile(np.eye(n), (len(y), 1))
        return found

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        if not 2 <= len(of.independent) <= 3:
            raise UnsupportedError("ConditionNumber is of mechanisms with two freedoms or three")
        return (PointMotion(of.model.frame(self.point).name, order=1),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        n = len(of.independent)
        matrix = x.reshape(*x.shape[:-2], -1, n, 3)  # rows are drives
        u, s, v = np.linalg.svd(matrix, full_matrices=False)
        low = np.maximum(s[..., -1], TINY)
        value, share = peak(s[..., 0] / low, of, sharp)
        top, bottom = (u[..., :, k, None] * v[..., None, k, :] for k in (0, n - 1))
        slope = top / low[..., None, None] - (s[..., 0] / low**2)[..., None, None] * bottom
        return value, (share[..., None, None] * slope).reshape(x.shape)


@dataclass(frozen=True, eq=False)
class NaturalFrequency(MotionGoal):
    """Lowest natural frequency of small vibrations about the start of the motion, with free drives, in Hz.

    Zero or negative where springs and weight do not hold the mechanism there.
    """

    weight: float = 1.0
    unit: ClassVar[str] = "Hz"
    larger: ClassVar[bool] = True
    called: ClassVar[str] = "lowest natural frequency"
    step: ClassVar[float] = 2e-3

    def _drives(self, motion: DrivenSamples) -> Array:
        y = motion.given[0, 0]
        n, h = len(y), self.step
        moved = [y + s * h * e for e in np.eye(n) for s in (-2, -1, 1, 2)]
        found = np.zeros((5 * n + 1, 3, n))
        found[:, 0], found[: 4 * n, 0], found[4 * n : 5 * n, 2] = y, moved, np.eye(n)
        return found

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        return (MotionVector("tau"),)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        which, n, h = list(of.independent), len(of.independent), self.step
        tau = x[..., which]
        weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * h)
        k = np.einsum("...jsi,s->...ij", tau[..., : 4 * n, :].reshape(*x.shape[:-2], n, 4, n), weights)
        m = np.swapaxes(tau[..., 4 * n : 5 * n, :] - tau[..., 5 * n :, :], -1, -2)
        lowest, shapes = np.linalg.eig(np.linalg.solve(m, (k + np.swapaxes(k, -1, -2)) / 2.0))
        at = np.argmin(lowest.real, axis=-1)[..., None]
        square = np.take_along_axis(lowest.real, at, axis=-1)[..., 0]
        phi = np.take_along_axis(shapes.real, at[..., None, :], axis=-1)[..., 0]
        phi = phi / np.sqrt(np.einsum("...i,...ij,...j->...", phi, m, phi))[..., None]
        slopes = np.zeros_like(x)
        both = phi[..., :, None] * phi[..., None, :]
        by_k = np.einsum("...ji,s->...jsi", both, weights).reshape(*x.shape[:-2], 4 * n, n)
        for i, column in enumerate(which):
            slopes[..., : 4 * n, column] = by_k[..., i]
            slopes[..., 4 * n : 5 * n, column] = -square[..., None] * both[..., i]
            slopes[..., 5 * n, column] = square * both[..., i].sum(axis=-1)
        rate = np.sqrt(np.abs(square))
        scale = 1.0 / (4.0 * np.pi * np.maximum(rate, 1e-9))
        return np.sign(square) * rate / (2.0 * np.pi), slopes * scale[..., None, None]


# ---------------------------------------------------------------- goals of users


@dataclass(frozen=True, eq=False)
class OwnGoal(MotionGoal):
    """A number that your own function computes from the mechanism; the search has no gradient of it.

    Parameters
    ----------
    function : callable
        Takes a design as a robot, and returns a number.  NaN, or a :class:`kinetree.KinetreeError` that it raises,
        means that the design is of no use.
    name : str, optional
        For reports; that of the function by default.
    unit : str
    larger : bool
        Whether larger is better.

    Examples
    --------
    >>> import kinetree as kt
    >>> def bars(robot):
    ...     return sum(body.mass for body in robot.model.bodies)
    >>> kt.design.Own(bars, unit="kg").label
    'bars'
    """

    function: Callable[[Robot], float]
    name: str = ""
    unit: str = ""  # type: ignore[misc]
    larger: bool = False  # type: ignore[misc]
    weight: float = 1.0

    @property
    def label(self) -> str:
        """The name of the goal in reports."""
        return self.name or getattr(self.function, "__name__", type(self.function).__name__)

    def of_robot(self, robot: Robot) -> float:
        """Return the number of a design; NaN if it is of no use."""
        try:
            found = self.function(robot)
        except KinetreeError:
            return float("nan")
        if np.shape(found) != () or np.asarray(found).dtype.kind not in "fiub":
            raise OptionError(f"{self.label!r} returned {shown(found)}: a goal is one number")
        return float(found)


# ---------------------------------------------------------------- points to be met


class PointGoal(DesignGoal):
    """Places to be reached one after the other; the search finds the positions of the drives there."""

    unit: ClassVar[str] = "m"
    ordered: bool
    within: float | str | None = None

    def _wanted(self, of: DesignProblem) -> tuple[tuple[Measure, ...], Array, Array]:
        """Return what is measured, its desired values, (N, m), and their weights in meters, (N, m)."""
        raise NotImplementedError

    def _drive_at(self, of: DesignProblem) -> Array | None:
        """Return the position of the drive at each point, (N,), if it is given."""


@dataclass(frozen=True, eq=False)
class PathGoal(PointGoal):
    """A path through points, in their order: how far it misses them.

    Parameters
    ----------
    point : str
        The point, body or frame that has to meet them.
    points : array_like, shape (N, 2) or (N, 3)
        In the plane of the mechanism, or in the world; plain numbers are in the unit of the drawing.
    timed : sequence of float or str, optional
        Position of the drive at each point, counted from the drawing: ``["0 deg", "40 deg", ...]``.
    ordered : bool
        Whether the points must be met in their order.
    within : float or str, optional
        How far the points may be missed, such as ``"0.1 mm"``; the same as a limit ``goal <= "0.1 mm"``.
    """

    point: str
    points: ArrayLike
    timed: Sequence[float | str] | None = None
    ordered: bool = True
    weight: float = 1.0
    within: float | str | None = None
    called: ClassVar[str] = "path of {point}"

    def _wanted(self, of: DesignProblem) -> tuple[tuple[Measure, ...], Array, Array]:
        name = of.model.frame(self.point).name
        points = of.places(self.points, self.label)
        return (PointMotion(name),), points, np.broadcast_to(np.abs(of.directions(points)), points.shape)

    def _drive_at(self, of: DesignProblem) -> Array | None:
        if self.timed is None:
            return None
        if len(self.timed) != np.shape(self.points)[0]:
            raise ShapeError(f"{self.label}: timed needs one angle per point, {np.shape(self.points)[0]} in all")
        return np.array([float(in_si(x, "rad", "timed")) for x in self.timed])


def straight_line(
    point: str, start: Sequence[float | str], end: Sequence[float | str], *, points: int = 9, weight: float = 1.0,
    within: float | str | None = None,
) -> PathGoal:  # fmt: skip
    """Return the goal that a point moves along a straight line from start to end."""
    ends: list[list[Any]] = [[x if isinstance(x, str) else float(x) for x in one] for one in (start, end)]
    if len(ends[0]) != len(ends[1]):
        raise ShapeError(
            f"a line goes from (x, y) to (x, y), or from (x, y, z) to (x, y, z), not from {start} to {end}"
        )
    if any(isinstance(x, str) for one in ends for x in one):
        first, last = ([float(in_si(x, "m", "an end of the line")) for x in one] for one in ends)
        return PathGoal(point, _Meters(np.linspace(first, last, points)), weight=weight, within=within)
    return PathGoal(point, np.linspace(ends[0], ends[1], points), weight=weight, within=within)


class _Meters(np.ndarray):
    """Points that are in meters, whatever the drawing is in."""

    def __new__(cls, points: Array) -> Self:
        """Mark an array."""
        return np.asarray(points).view(cls)  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class ReachGoal(PathGoal):
    """Places that a point must be able to reach, in any order: the largest distance by which one is missed."""

    ordered: bool = False
    called: ClassVar[str] = "reach of {point}"


@dataclass(frozen=True, eq=False)
class PoseGoal(PointGoal):
    """Positions and angles that a body or frame of a planar mechanism must reach, in their order.

    Parameters
    ----------
    frame : str
    poses : sequence of (x, y, angle)
        Angles are counted from the drawing, in radians or with a unit.
    timed : sequence, optional
        As in :class:`PathGoal`.
    ordered : bool
    """

    frame: str
    poses: Sequence[Sequence[Any]]
    timed: Sequence[float | str] | None = None
    ordered: bool = True
    weight: float = 1.0
    called: ClassVar[str] = "poses of {frame}"

    def _wanted(self, of: DesignProblem) -> tuple[tuple[Measure, ...], Array, Array]:
        if any(len(one) != 3 for one in self.poses):
            raise ShapeError(f"{self.label}: each pose is (x, y, angle)")
        points = of.places([[x, y] for x, y, _ in self.poses], self.label)
        angle = np.array([float(in_si(a, "rad", "angle of a pose")) for *_, a in self.poses])
        right, up = of.plane
        name = of.model.frame(self.frame).name
        own = of.reference_axis(name, right)
        axis = np.cos(angle)[:, None] * right + np.sin(angle)[:, None] * up
        counts = np.abs(of.directions(points)) * np.ones(points.shape)
        x, y, z = own
        return (
            (PointMotion(name), Direction(name, (x, y, z))), np.hstack([points, axis]),
            np.hstack([counts, counts * of.free.size]),
        )  # fmt: skip

    _drive_at = PathGoal._drive_at

    @property
    def points(self) -> Any:
        """The poses; there is one for each point."""
        return self.poses


@dataclass(frozen=True, eq=False)
class FunctionGoal(PointGoal):
    """Desired angles of an output for given angles of an input.

    Parameters
    ----------
    input, output : str
        Joints, whose angles are counted from the drawing; or two points, ``"O A"``, for the direction of their line,
        counted from the x axis.
    pairs : sequence of (float or str, float or str)
        ``[("30 deg", "45 deg"), ...]``.
    """

    input: str
    output: str
    pairs: Sequence[tuple[float | str, float | str]]
    ordered: bool = True
    weight: float = 1.0
    called: ClassVar[str] = "angle of {output} by that of {input}"
    unit: ClassVar[str] = "rad"
    timed: None = field(default=None, init=False)

    def _wanted(self, of: DesignProblem) -> tuple[tuple[Measure, ...], Array, Array]:
        angles = np.array([[float(in_si(x, "rad", "an angle")) for x in pair] for pair in self.pairs])
        laws = of.angle_law(self.input), of.angle_law(self.output)
        goal = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(len(angles), 4)
        return laws, goal, np.broadcast_to(of.free.size * np.array([EXACT, EXACT, 1.0, 1.0]), goal.shape)


Path, Pose, Function, Reach, Own = PathGoal, PoseGoal, FunctionGoal, ReachGoal, OwnGoal
