"""Paths of a tool in space: lines, arcs and turns at a speed, as trajectories of a point or of a pose."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, UnknownNameError
from ..model.joints import Spherical
from ..spatial import MatrixRotation, Vec3
from ..spatial.arrays import Array, quaternions_of
from ..spatial.numbers import real_number
from ..spatial.scalar import cos, sin
from ..spatial.taylor import Jet, as_jet
from .point_to_point import PROFILES, trapezoid
from .trajectory_interface import Motion, Timed, Trajectory, seconds, within

ORTHOGONAL = 1e-9
"""How far a rotation matrix may be from an orthogonal one."""

STRAIGHT = 1e-18
"""Three points are on a line if the squared sine of the angle at the first one is not above this."""


class Shape(NamedTuple):
    """The shape of a path: o + s d + cos(angle s) x + sin(angle s) y, for s from 0 to 1, with a turn about one axis."""

    length: float
    """Length in meters; for a turn, in radians."""
    origin: Array
    along: Array
    arm: Array
    ahead: Array
    angle: float
    rotation: tuple[Array, Array] | None
    """The quaternion at the beginning and the rotation vector from there, in the tool's own axes; None for a point."""


@dataclass(frozen=True, eq=False)
class ToolPath(Timed):
    """Base of :class:`Line`, :class:`Arc` and :class:`Turn`: where they go, and how fast.

    For points, the coordinates are x, y, z in the world.  For poses, they are those of a :class:`~kinetree.Free` joint:
    the quaternion x, y, z, w and the position, with velocities in the tool's own axes; :func:`poses` returns matrices
    and velocities along world axes.

    Parameters
    ----------
    speed : float, optional
        Speed along the path in m/s, or in rad/s for a :class:`Turn`.  Without an acceleration it is constant from
        beginning to end.
    acceleration : float, optional
        If given, the path begins and ends at rest: constant acceleration, constant speed, constant deceleration.
    duration : float, optional
        Duration in seconds, instead of a speed: from rest to rest with the ``profile``.
    profile : {"quintic", "cycloid", "cubic", "trapezoid"}
    """

    speed: float | None = field(default=None, kw_only=True)
    acceleration: float | None = field(default=None, kw_only=True)
    duration: float = field(default=0.0, kw_only=True)
    profile: str = field(default="quintic", kw_only=True)
    shape: Shape = field(init=False, repr=False)
    ramp: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.speed is None and (not self.duration or self.acceleration is not None):
            raise self._unpaced()
        if self.profile not in PROFILES:
            raise UnknownNameError("profile", self.profile, PROFILES)
        shape, ramp = self._shape(), 0.0
        if self.speed is None:
            duration, ramp = seconds(self.duration), 0.25 if self.profile == "trapezoid" else 0.0
        else:
            duration = shape.length / real_number(self.speed, "speed", positive=True)
            if self.acceleration is not None:
                growth = real_number(self.acceleration, "acceleration", positive=True)
                time = min(self.speed / growth, math.sqrt(shape.length / growth))  # a short path is slower
                duration = time + shape.length / (growth * time)
                ramp = min(time / duration, 0.5)
            if self.duration and not math.isclose(self.duration, duration):
                raise self._unpaced()
        for name, value in {"duration": duration, "ramp": ramp, "shape": shape}.items():
            object.__setattr__(self, name, value)

    def _unpaced(self) -> OptionError:
        name = type(self).__name__
        return OptionError(f"a {name} needs a speed, perhaps with an acceleration, or else a duration")

    def _shape(self) -> Shape:
        """Return the shape of the path."""
        raise NotImplementedError

    @property
    def n(self) -> int:
        """Number of degrees of freedom: 3 for a point, 6 for a pose."""
        return 3 if self.shape.rotation is None else 6

    @property
    def nq(self) -> int:
        """Number of position coordinates: 3 for a point, 7 for a pose."""
        return 3 if self.shape.rotation is None else 7

    def is_batched(self) -> bool:
        """Return False: matrices are poses."""
        return False

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the ends of the path and of its ramps."""
        late = self.ramp * self.duration
        return within([self.start, self.start + late, self.end - late, self.end], begin, end)

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        u: Any = (t - self.begin) / self.duration
        if self.ramp or self.speed is None:
            u = trapezoid(u, self.ramp) if self.ramp else PROFILES[self.profile](u)
        s, shape = as_jet(u), self.shape
        c, d = cos(shape.angle * s), sin(shape.angle * s)
        columns = zip(*(x.tolist() for x in shape[1:5]), strict=True)
        place = [as_jet(o + s * w + c * x + d * y) for o, w, x, y in columns]
        p, v, a = [x.value for x in place], [x.first for x in place], [x.second for x in place]
        if shape.rotation is None:
            return p, v, a
        first, way = (x.tolist() for x in shape.rotation)
        quaternion = Spherical().integrate(first, [w * s.value for w in way])
        turn, spin, faster = MatrixRotation.from_quaternion(*quaternion), [w * s.first for w in way], Vec3(*a)
        along = turn.unapply(Vec3(*v))
        return (
            [*quaternion, *p], [*spin, *along],
            [*(w * s.second for w in way), *(turn.unapply(faster) - Vec3(*spin).cross(along))],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Line(ToolPath):
    """A straight line from one point or pose to another, turning about one axis on the way.

    Parameters
    ----------
    first, last : array_like, shape (3,) or (4, 4)
        Points, or poses.  If ``first`` is a pose and ``last`` a point, the orientation does not change.

    Examples
    --------
    >>> line = Line([0.5, 0.0, 0.2], [0.5, 0.3, 0.2], speed=0.1, acceleration=0.5)
    >>> line.duration
    3.2
    """

    first: ArrayLike
    last: ArrayLike

    def _shape(self) -> Shape:
        begin, nowhere = _place(self.first, "first"), np.zeros(3)
        way = _place(self.last, "last") - begin
        if not way.any():
            raise OptionError("first and last are at the same place: Turn(first, axis, angle) turns on the spot")
        length = float(np.linalg.norm(way))
        return Shape(length, begin, way, nowhere, nowhere, 0.0, _between(self.first, self.last))


@dataclass(frozen=True, eq=False)
class Arc(ToolPath):
    """An arc of a circle through three points, turning about one axis from the first pose to the last.

    Parameters
    ----------
    first, via, last : array_like, shape (3,) or (4, 4)
        Points, or poses; only the position of ``via`` matters.  If ``first`` is a pose and
        ``last`` a point, the orientation does not change.

    Examples
    --------
    >>> half = Arc([1, 0, 0], [0, 1, 0], [-1, 0, 0], speed=0.5)
    >>> half(half.end / 2)[0].round(12) + 0.0
    array([0., 1., 0.])
    """

    first: ArrayLike
    via: ArrayLike
    last: ArrayLike

    def _shape(self) -> Shape:
        begin = _place(self.first, "first")
        a, b = _place(self.via, "via") - begin, _place(self.last, "last") - begin
        normal = np.cross(a, b)
        square = float(normal @ normal)
        if square <= STRAIGHT * float(a @ a) * float(b @ b):
            raise OptionError("the three points of an Arc are on one line: use Line, or Turn for a whole circle")
        arm = np.cross(normal, (a @ a) * b - (b @ b) * a) / (2.0 * square)  # from the center to the first point
        ahead = np.cross(normal, arm) / math.sqrt(square)
        angle = math.atan2(float((b + arm) @ ahead), float((b + arm) @ arm)) % (2.0 * math.pi)
        length = float(np.linalg.norm(arm)) * angle
        return Shape(length, begin - arm, np.zeros(3), arm, ahead, angle, _between(self.first, self.last))


@dataclass(frozen=True, eq=False)
class Turn(ToolPath):
    """A turn about an axis: of a pose in place or, with a ``center``, of a pose or point about it.

    Parameters
    ----------
    first : array_like, shape (4, 4) or (3,)
        A pose, or a point, which needs a center.
    axis : array_like, shape (3,)
        Direction in the world, of any length.
    angle : float
        Angle in radians; 2 pi is a whole circle, and negative angles turn the other way.  ``speed`` and
        ``acceleration`` are in rad/s and rad/s^2.
    center : array_like, shape (3,), optional
        A point on the axis; by default the position of the pose.

    Examples
    --------
    >>> circle = Turn([0.6, 0, 0.2], axis=[0, 0, 1], angle=2 * math.pi, center=[0.5, 0, 0.2], speed=1.0)
    >>> circle(math.pi)[0].round(12) + 0.0
    array([0.4, 0. , 0.2])
    """

    first: ArrayLike
    axis: ArrayLike
    angle: float
    center: ArrayLike | None = None

    def _shape(self) -> Shape:
        begin, axis, matrix = _place(self.first, "first"), _place(self.axis, "axis"), _turned(self.first)
        angle = real_number(self.angle, "angle")
        if not axis.any() or not angle:
            raise OptionError("a Turn needs an axis, not [0, 0, 0], and an angle that is not zero; Constant stays")
        if self.center is None and matrix is None:
            raise OptionError("a point that turns needs a center; a pose turns on the spot")
        axis = axis / np.linalg.norm(axis)
        arm = begin - (begin if self.center is None else _place(self.center, "center"))
        arm = arm - (arm @ axis) * axis
        rotation = None if matrix is None else (quaternions_of(matrix), angle * (matrix.T @ axis))
        return Shape(abs(angle), begin - arm, np.zeros(3), arm, np.cross(axis, arm), angle, rotation)


def _place(given: Any, name: str) -> Array:
    """Return the position of a point or pose."""
    numbers = np.asarray(given, dtype=float)
    if numbers.shape not in ((3,), (4, 4)) or not np.isfinite(numbers).all():
        raise ShapeError(f"{name} must be a point x, y, z or a pose, a 4x4 matrix of finite numbers, got {given!r}")
    return numbers if numbers.ndim == 1 else numbers[:3, 3]


def _turned(given: Any) -> Array | None:
    """Return the rotation matrix of a pose; None for a point."""
    if np.ndim(given) == 1:
        return None
    matrix = np.asarray(given, dtype=float)[:3, :3]
    if np.abs(matrix @ matrix.T - np.eye(3)).max() > ORTHOGONAL or np.linalg.det(matrix) < 0.0:
        raise OptionError(f"the upper left 3x3 part of a pose must be a rotation matrix, got {matrix.tolist()}")
    return matrix


def _between(first: Any, last: Any) -> tuple[Array, Array] | None:
    """Return the quaternion of the first pose and the rotation vector to the last, which may be a point."""
    begin, end = _turned(first), _turned(last)
    if begin is None:
        if end is not None:
            raise ShapeError("the path begins at a point and ends at a pose: give the first pose, too")
        return None
    start = quaternions_of(begin)
    way = [0.0] * 3 if end is None else Spherical().difference(start.tolist(), quaternions_of(end).tolist())
    return start, np.asarray(way, dtype=float)


def poses(path: Trajectory, t: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the poses, velocities and accelerations of a tool on a path.

    Parameters
    ----------
    path : Trajectory
        A trajectory of poses, such as a :class:`Line` between them, or several joined.
    t : array_like, shape (...)

    Returns
    -------
    tuple of ndarray, shapes (..., 4, 4), (..., 6), (..., 6)
        Poses, velocities and accelerations of the tool's origin along world axes, angular parts first, as
        ``robot.velocity(q, v, frame, "aligned")`` and ``robot.acceleration(q, v, a, frame, "aligned", classical=True)``
        give them.
    """
    if (path.nq, path.n) != (7, 6):
        raise ShapeError(f"this path has {path.nq} coordinates, not a pose: path(t) gives them with their rates")
    q, v, a = path(t)
    pose = np.zeros((*q.shape[:-1], 4, 4))
    rows = [[*row] for row in MatrixRotation.from_quaternion(*np.moveaxis(q[..., :4], -1, 0)).m.rows]
    pose[..., :3, :3] = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
    pose[..., :3, 3], pose[..., 3, 3] = q[..., 4:], 1.0
    classical = a.copy()
    classical[..., 3:] += np.cross(v[..., :3], v[..., 3:])
    back = np.swapaxes(pose[..., :3, :3], -1, -2)
    velocity, acceleration = ((x.reshape(*x.shape[:-1], 2, 3) @ back).reshape(x.shape) for x in (v, classical))
    return pose, velocity, acceleration
