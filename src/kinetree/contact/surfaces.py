"""Surfaces, the spots of a robot that touch them, and their relative motion.

A *surface* gives, over any scalar, the distance of a point above it and the normal
there.  A *spot* is a point, or a ball of some radius, on a body.  Both the compliant
ground (:mod:`.ground`) and rigid contact (:mod:`.rigid_contacts`) are made of spots on surfaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.kinematics import Posed, Twist
from ..errors import ModelError, OptionError, UnsupportedError
from ..model.joints.planar import in_plane_axes
from ..model.pose import floats
from ..model.tree import BASE, Model
from ..motion.piecewise import is_concrete
from ..spatial import IDENTITY, ZERO3, ZERO_MOTION, Motion, Scalar, Transform, Vec3, scalar, where
from ..spatial.dual import Dual
from ..spatial.numbers import real_number
from .roughness import Region, find_jump, sharpest_hollow

ROUNDS = 3
"""Number of iterations for the nearest point of a height field."""

REACH = 10.0
"""How far from the origin (m) a height function is checked for jumps and hollows."""

Triple = tuple[float, float, float]

MOST_COEFFICIENTS = 2**24
"""The most coefficients of a grid: single precision counts up to this."""

LARGEST_WITH_SYMBOLS = 4096
"""The most coefficients of a grid whose sum over all of them is allowed."""


class Surface(Protocol):
    """Something solid with an outside."""

    def height_at(self, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height as seen from straight above; None if there is none."""
        ...

    def gap(self, point: Vec3) -> tuple[Scalar, Vec3]:
        """Return the distance of a point above the surface (negative inside) and the outward unit normal there."""
        ...

    def tangents(self, normal: Vec3) -> tuple[Vec3, Vec3]:
        """Return two unit vectors that complete a normal of this surface to a right-handed frame."""
        ...


def triple(value: ArrayLike, what: str) -> Triple:
    """Return three finite numbers, or raise an error that names them."""
    numbers = floats(value, what)
    if numbers.shape != (3,) or not np.all(np.isfinite(numbers)):
        raise ModelError(f"{what} must be three finite numbers, got {value!r}")
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


# ------------------------------------------------------------------ surfaces


@dataclass(frozen=True)
class Plane:
    """A half-space, anywhere and at any slope.

    Parameters
    ----------
    point : three floats
        Any point of the plane.
    normal : three floats
        Outward normal; scaled to unit length.

    Examples
    --------
    >>> slope = Plane(normal=(-0.5, 0, 1))  # rises along x
    """

    point: Triple = (0.0, 0.0, 0.0)
    normal: Triple = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        n = np.array(triple(self.normal, "the normal of a plane"))
        length = float(np.linalg.norm(n))
        if length == 0.0:
            raise ModelError("the normal of a plane must not be zero")
        object.__setattr__(self, "point", triple(self.point, "a point of a plane"))
        object.__setattr__(self, "normal", tuple(float(x) + 0.0 for x in n / length))

    @classmethod
    def inclined(cls, angle: float, *, axis: ArrayLike = (0.0, 1.0, 0.0), point: ArrayLike = (0.0, 0.0, 0.0)) -> Plane:
        """Return the horizontal plane turned by ``angle`` (radians) about a horizontal axis through ``point``.

        With the default axis y, a positive angle makes the plane descend along +x.
        """
        angle, a = real_number(angle, "the angle of an inclined plane"), np.array(triple(axis, "its axis"))
        a /= np.linalg.norm(a)
        up = np.array([0.0, 0.0, 1.0])
        turned = up * math.cos(angle) + np.cross(a, up) * math.sin(angle) + a * (a @ up) * (1.0 - math.cos(angle))
        return cls(triple(point, "a point of a plane"), triple(turned, "the normal of a plane"))

    def height_at(self, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height as seen from straight above; None for a wall."""
        nx, ny, nz = self.normal
        offset = sum(a * b for a, b in zip(self.normal, self.point, strict=True))
        return (offset - nx * x - ny * y) * (1.0 / nz) if nz > 0.0 else None

    def gap(self, point: Vec3) -> tuple[Scalar, Vec3]:
        """Return the distance along the normal."""
        n = Vec3.of(self.normal)
        offset = sum(a * b for a, b in zip(self.normal, self.point, strict=True))
        return n.x * point.x + n.y * point.y + n.z * point.z - offset, n

    def tangents(self, normal: Vec3) -> tuple[Vec3, Vec3]:
        """Return constant directions; x and y for a horizontal plane."""
        first, second = in_plane_axes(self.normal)
        return Vec3.of(first), Vec3.of(second)


@dataclass(frozen=True)
class Ball:
    """A solid sphere, touched from outside.

    Parameters
    ----------
    radius : float
    center : three floats
        Center in the world or, if a body carries the surface, in that body's frame.
    """

    radius: float
    center: Triple = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if real_number(self.radius, "the radius of a ball", error=ModelError) <= 0.0:
            raise ModelError(f"the radius of a ball must be positive, not {self.radius!r}")
        object.__setattr__(self, "center", triple(self.center, "the center of a ball"))

    def height_at(self, x: Scalar, y: Scalar) -> Scalar | None:
        """Return None: a ball is no ground."""
        return None

    def gap(self, point: Vec3) -> tuple[Scalar, Vec3]:
        """Return the distance from the ball; NaN at its center."""
        away = point - Vec3.of(self.center)
        distance = scalar.sqrt(away.dot(away))
        return distance - self.radius, away * (1.0 / distance)

    def tangents(self, normal: Vec3) -> tuple[Vec3, Vec3]:
        """Return east and north, with the poles on z; near the poles, with the poles on x."""
        return _tangents_of(normal)


@dataclass(frozen=True)
class HeightField:
    """Ground whose height is a function of x and y.

    The distance is that to the nearest point of the surface, found by a search from straight below: it is exact for
    planes, and accurate to some thousandths if the radius of a ball, or the depth of a point, is well below the radius
    of curvature.

    Heights that jump are refused: a spot that meets a step from below would suddenly be deep inside, and be thrown out
    with energy from nowhere.  :class:`Ground` also refuses a ball that is larger than the hollows.  The field is
    checked within 10 m of the origin.

    Parameters
    ----------
    height : callable
        ``height(x, y)``, written with ``+ - * /`` and :func:`kinetree.sin`, ``cos``, ``sqrt``,
        ``where``, so that it can be compiled along with everything else.  It must not jump: make a step with a ramp.
    slope : callable, optional
        ``slope(x, y)`` returning both partial derivatives; by default they are taken exactly
        from ``height`` by automatic differentiation.

    Examples
    --------
    >>> import kinetree as kt
    >>> waves = HeightField(lambda x, y: 0.05 * kt.sin(3.0 * x))
    """

    height: Callable[[Scalar, Scalar], Scalar]
    slope: Callable[[Scalar, Scalar], tuple[Scalar, Scalar]] | None = None

    def __post_init__(self) -> None:
        if not callable(self.height):
            raise OptionError("a height field needs a function height(x, y); for numbers on a grid use Grid")
        try:
            value, dx, dy = (float(s) for s in self._sample(0.1, 0.2))
            jump = find_jump(self.heights_at, self.region)
        except (TypeError, ValueError, AttributeError) as problem:
            raise OptionError(
                f"the height function cannot be evaluated ({problem}); write it with + - * / and kinetree's sin, cos, "
                "sqrt and where, or give slope= as well"
            ) from problem
        if not all(math.isfinite(s) for s in (value, dx, dy)):
            raise OptionError(f"the height function is not finite at (0.1, 0.2): {value}, slopes {dx}, {dy}")
        if jump is not None:
            raise OptionError(
                f"the height jumps by {jump.size:.3g} m at ({jump.x:.3g}, {jump.y:.3g}): what meets such a step from "
                "below would suddenly be inside of it, and be thrown out. Let the height rise over some distance, as a "
                "ramp does (from 0 to 1 over a width w: s = (x - edge) / w, s * s * (3 - 2 * s) between 0 and 1)"
            )

    @property
    def region(self) -> Region:
        """The region that is checked for jumps and hollows."""
        return (-REACH, REACH), (-REACH, REACH)

    def heights_at(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the heights over arrays of x and y, in their shape."""
        return np.asarray(self.height(x, y), dtype=float)

    def _sample(self, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        if self.slope is not None:
            return (self.height(x, y), *self.slope(x, y))
        # Both coordinates are lifted together, so that duals of duals do not mix levels.
        along_x = self.height(Dual(x, 1.0), Dual(y, 0.0))
        along_y = self.height(Dual(x, 0.0), Dual(y, 1.0))
        return _value(along_x), _rate(along_x), _rate(along_y)

    def height_at(self, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height as seen from straight above."""
        return self._sample(x, y)[0]

    def gap(self, point: Vec3) -> tuple[Scalar, Vec3]:
        """Return the distance to the nearest point of the surface, searched from straight below."""
        return _above(point, self._sample)

    def tangents(self, normal: Vec3) -> tuple[Vec3, Vec3]:
        """Return the x axis projected onto the slope, and the direction across."""
        return _tangents_on_slope(normal)


@dataclass(frozen=True)
class Grid:
    """Ground given by heights on a regular grid, made smooth by a bicubic spline through all of them.

    Slopes and their rates of change are continuous.  Beyond the border, the height is that of the
    nearest border point.  In machine code the numbers are data, so a grid may have millions of them.

    Parameters
    ----------
    x, y : array_like
        Coordinates of the grid lines, evenly spaced, at least two each.
    heights : array_like, shape (len(x), len(y))
    """

    x: Any
    y: Any
    heights: Any
    _coefficients: np.ndarray = field(init=False, repr=False, compare=False)
    _tables: tuple[np.ndarray, np.ndarray, np.ndarray] = field(init=False, repr=False, compare=False)
    """Tables for machine code: all coefficients row by row, and whole numbers up to the last bump along x and y."""

    def __post_init__(self) -> None:
        x, y, h = floats(self.x, "x"), floats(self.y, "y"), floats(self.heights, "heights")
        for name, lines in (("x", x), ("y", y)):
            if lines.ndim != 1 or len(lines) < 2 or not np.all(np.isfinite(lines)):
                raise ModelError(f"the grid lines {name} must be a list of at least two finite numbers")
            steps = np.diff(lines)
            if steps[0] <= 0.0 or np.max(np.abs(steps - steps.mean())) > 1e-6 * steps.mean():
                raise ModelError(f"the grid lines {name} must rise in even steps; resample the field first")
        if h.shape != (len(x), len(y)) or not np.all(np.isfinite(h)):
            raise ModelError(f"heights must be finite numbers of shape {(len(x), len(y))}, got shape {h.shape}")
        if (len(x) + 2) * (len(y) + 2) > MOST_COEFFICIENTS:
            raise ModelError(f"a grid has at most {MOST_COEFFICIENTS} heights, not {len(x)} x {len(y)}: thin it out")
        for name, value in (("x", x), ("y", y), ("heights", h)):
            # plain tuples: comparable, hashable and written out in full by repr
            plain = tuple(value.tolist()) if value.ndim == 1 else tuple(map(tuple, value.tolist()))
            object.__setattr__(self, name, plain)
        coefficients = np.ascontiguousarray(_spline_coefficients(_spline_coefficients(h).T).T)
        object.__setattr__(self, "_coefficients", coefficients)
        whole = (np.arange(count - 3, dtype=float)[:, None] for count in coefficients.shape)
        object.__setattr__(self, "_tables", (coefficients.reshape(-1, 1), *whole))

    def _sample(self, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return the height and slopes: a sum of products of bumps, of which at most 4 x 4 are not zero."""
        (sx, x_scale), (sy, y_scale) = _grid_coordinate(x, self.x), _grid_coordinate(y, self.y)
        _, whole_x, whole_y = self._tables
        i0, j0 = _first_bump(sx, whole_x), _first_bump(sy, whole_y)
        rows, columns = self._coefficients.shape
        if i0 is None or j0 is None:  # symbols: which bumps reach here is not known, so all of them are summed
            if rows * columns > LARGEST_WITH_SYMBOLS:
                raise UnsupportedError(
                    f"a grid of {rows - 2} x {columns - 2} heights is too large for symbols, JAX and CasADi; thin it "
                    "out, or describe the ground by a function (HeightField)"
                )
            i0, j0 = 0, 0
        else:
            rows, columns = 4, 4
        across, along = [_bump(sx, i0 + i) for i in range(rows)], [_bump(sy, j0 + j) for j in range(columns)]
        terms = [
            (across[i], along[j], self._coefficient(i0, j0, i, j)) for i in range(rows) for j in range(columns)
        ]  # fmt: skip
        return _sum_of_bumps(terms, x_scale, y_scale)

    def _coefficient(self, i0: Any, j0: Any, i: int, j: int) -> Scalar:
        """Return the weight of a bump, counted from the first one."""
        if is_concrete(i0) and is_concrete(j0):
            return self._coefficients[i0 + i, j0 + j]
        columns = self._coefficients.shape[1]
        return scalar.gather(self._tables[0], 0, i0 * columns + j0 + float(i * columns + j))

    def height_at(self, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height as seen from straight above."""
        return self._sample(x, y)[0]

    def gap(self, point: Vec3) -> tuple[Scalar, Vec3]:
        """Return the distance to the nearest point of the surface, searched from straight below."""
        return _above(point, self._sample)

    def tangents(self, normal: Vec3) -> tuple[Vec3, Vec3]:
        """Return the x axis projected onto the slope, and the direction across."""
        return _tangents_on_slope(normal)

    @property
    def region(self) -> Region:
        """The region with given heights."""
        return (self.x[0], self.x[-1]), (self.y[0], self.y[-1])

    def heights_at(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the heights over arrays of x and y, in their shape."""
        return np.asarray(self._sample(x, y)[0], dtype=float)


@lru_cache(maxsize=64)
def refuse_hollows(surface: HeightField | Grid, radius: float) -> None:
    """Refuse a ball in hollows narrower than itself: it touches in two places, and penetrates before one is found."""
    hollow = sharpest_hollow(surface.heights_at, surface.region, 0.5 * radius)
    if hollow.size > 0.5:  # as in a hollow of the ball's own radius
        raise OptionError(
            f"a ball with a radius of {radius:g} m does not fit into this ground at ({hollow.x:.3g}, {hollow.y:.3g}), "
            f"where its slope grows by {hollow.size:.3g} within half of that: it would be inside before it is noticed, "
            "and be thrown out. Take a smaller ball or points, or let the ground bend less"
        )


def _above(point: Vec3, sample: Callable[[Scalar, Scalar], tuple[Scalar, Scalar, Scalar]]) -> tuple[Scalar, Vec3]:
    """Return distance and normal of the nearest point of a height field.

    From straight below, the foot moves to where the perpendicular meets the tangent plane (Gauss-Newton method), which
    is exact for planes.  If that does not converge, far above rough ground, the first plane counts.
    """
    x, y = point.x, point.y
    height, dx, dy = sample(x, y)
    first = _plane(point, x, y, height, dx, dy)
    last = first
    for _ in range(ROUNDS):
        away, below = last
        # the foot of the perpendicular in the plane: the point minus its distance along the normal
        x, y = point.x - below.x * away, point.y - below.y * away
        height, dx, dy = sample(x, y)
        last = _plane(point, x, y, height, dx, dy)
    gap, normal = last
    ex, ey, ez = point.x - x, point.y - y, point.z - height
    square = ex * ex + ey * ey + ez * ez
    aside = square - gap * gap  # deviation of the point from the normal at its foot
    strays, turned = aside > 0.25 * square, gap * first[0] < 0.0
    chosen = [where(strays, a, where(turned, a, b)) for a, b in zip((first[0], *first[1]), (gap, *normal), strict=True)]
    return chosen[0], Vec3(*chosen[1:])


def _plane(point: Vec3, x: Scalar, y: Scalar, height: Scalar, dx: Scalar, dy: Scalar) -> tuple[Scalar, Vec3]:
    """Return the distance to, and normal of, the plane that touches the ground at (x, y)."""
    steepness = 1.0 / scalar.sqrt(1.0 + dx * dx + dy * dy)
    rise = (point.z - height) - (dx * (point.x - x) + dy * (point.y - y))
    return rise * steepness, Vec3(-dx * steepness, -dy * steepness, steepness)


def _tangents_on_slope(normal: Vec3) -> tuple[Vec3, Vec3]:
    length = 1.0 / scalar.sqrt(normal.x * normal.x + normal.z * normal.z)
    first = Vec3(normal.z * length, 0.0, -normal.x * length)
    return first, normal.cross(first)


def _tangents_of(normal: Vec3) -> tuple[Vec3, Vec3]:
    level = normal.z * normal.z < 0.8
    first = Vec3(where(level, -normal.y, 0.0), where(level, normal.x, -normal.z), where(level, 0.0, normal.y))
    first = first * (1.0 / scalar.sqrt(first.dot(first)))
    return first, normal.cross(first)


def _value(x: Any) -> Scalar:
    return x.value if isinstance(x, Dual) else x


def _rate(x: Any) -> Scalar:
    return x.rate if isinstance(x, Dual) else 0.0


def _spline_coefficients(heights: np.ndarray) -> np.ndarray:
    """Return the weights of the bumps along the first axis for which the curve passes through all heights.

    At a grid line three bumps overlap with weights 1/6, 4/6, 1/6; one more bump beyond either
    end is chosen so that the curvature vanishes there (natural ends).
    """
    n = len(heights)
    found = np.zeros((n + 2, *heights.shape[1:]))
    found[1], found[n] = heights[0], heights[-1]  # no curvature: 1, -2, 1 in addition to 1/6, 4/6, 1/6
    pivots = np.zeros(n + 1)
    for k in range(2, n):  # three diagonals, eliminated downward, then upward
        pivots[k] = 1.0 / (4.0 - pivots[k - 1])
        found[k] = (6.0 * heights[k - 1] - found[k - 1]) * pivots[k]
    for k in range(n - 1, 1, -1):
        found[k] -= pivots[k] * found[k + 1]
    found[0], found[n + 1] = 2.0 * found[1] - found[2], 2.0 * found[n] - found[n - 1]
    return found


def _grid_coordinate(x: Scalar, lines: Sequence[float]) -> tuple[Scalar, Scalar]:
    """Return the position in units of the grid's step, counted from the first bump, and the factor of slopes.

    The position is held at the border; slopes across the border are zero beyond it.
    """
    step = (lines[-1] - lines[0]) / (len(lines) - 1)
    s = (x - lines[0]) / step
    last = float(len(lines) - 1)
    before, after = s < 0.0, s > last
    held = where(after, last, where(before, 0.0, s))
    scale = where(after, 0.0, where(before, 0.0, 1.0 / step))
    return held + 1.0, scale


def _first_bump(s: Scalar, whole: np.ndarray) -> Any:
    """Return the index of the first of the four bumps that reach a position; None if it is not known yet.

    Machine code has no floor: it looks up whole numbers in a table, which cuts off fractions.
    """
    while isinstance(s, Dual):
        s = s.value
    if is_concrete(s):
        return np.clip(np.floor(np.nan_to_num(s)).astype(int) - 1, 0, len(whole) - 1)
    return scalar.gather(whole, 0, s - 1.0) if scalar.can_gather(s) else None


def _bump(s: Scalar, k: Any) -> tuple[Scalar, Scalar]:
    """Return the cubic B-spline centered at ``k`` and its slope."""
    x = s - k
    positive = x > 0.0
    r = where(positive, x, -x)
    near, reach = r < 1.0, r < 2.0
    far = 2.0 - r
    value = where(near, (4.0 - 6.0 * r * r + 3.0 * r * r * r) / 6.0, where(reach, far * far * far / 6.0, 0.0))
    slope = where(near, 1.5 * r * r - 2.0 * r, where(reach, -0.5 * far * far, 0.0))
    return value, where(positive, slope, -slope)


def _sum_of_bumps(
    terms: Sequence[tuple[tuple[Scalar, Scalar], tuple[Scalar, Scalar], Any]], x_scale: Scalar, y_scale: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    height: Scalar = 0.0
    dx: Scalar = 0.0
    dy: Scalar = 0.0
    for (bx, bx_slope), (by, by_slope), weight in terms:
        height = height + bx * by * weight
        dx = dx + bx_slope * by * weight
        dy = dy + bx * by_slope * weight
    return height, dx * x_scale, dy * y_scale


# ------------------------------------------------------------------ spots


@dataclass(frozen=True)
class Spot:
    """A place on a robot that can touch something.

    Parameters
    ----------
    frame : str
        Body or frame it is fixed to.
    point : three floats
        Point in that frame's coordinates.
    radius : float
        Radius of a ball around the point; 0 for the point itself.
    """

    frame: str
    point: Triple = (0.0, 0.0, 0.0)
    radius: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str):
            raise OptionError(f"a spot is on a body or frame given by name, not {self.frame!r}")
        object.__setattr__(self, "point", triple(self.point, f"the point on {self.frame!r}"))
        if real_number(self.radius, "the radius of a contact", error=ModelError) < 0.0:
            raise ModelError(f"the radius of the spot on {self.frame!r} must not be negative, got {self.radius!r}")

    @property
    def label(self) -> str:
        """The frame's name, and the point if it is not the frame's origin."""
        if not any(self.point):
            return self.frame
        return f"{self.frame}({', '.join(f'{x:g}' for x in self.point)})"


def spot(value: Any) -> Spot:
    """Return a spot from a spot or the name of a frame."""
    return value if isinstance(value, Spot) else Spot(value)


def line(frame: str, length: float, *, axis: ArrayLike = (1.0, 0.0, 0.0), center: ArrayLike = (0, 0, 0)) -> list[Spot]:
    """Return two spots at the ends of an edge: the foot of a planar biped (Shah fig. D.3b)."""
    c, a = np.array(triple(center, "center")), np.array(triple(axis, "axis"))
    half = 0.5 * length * a / np.linalg.norm(a)
    return [Spot(frame, triple(c + sign * half, "a point")) for sign in (-1.0, 1.0)]


def rectangle(frame: str, length: float, width: float, *, center: ArrayLike = (0, 0, 0)) -> list[Spot]:
    """Return four spots at the corners of a sole in the frame's x-y plane: a spatial biped's foot (Shah fig. D.3c)."""
    c = np.array(triple(center, "center"))
    corners = [(sx * 0.5 * length, sy * 0.5 * width, 0.0) for sx in (-1.0, 1.0) for sy in (-1.0, 1.0)]
    return [Spot(frame, triple(c + np.array(k), "a point")) for k in corners]


def box(frame: str, size: ArrayLike, *, center: ArrayLike = (0, 0, 0)) -> list[Spot]:
    """Return eight spots at the corners of a box."""
    c, half = np.array(triple(center, "center")), 0.5 * np.array(triple(size, "size"))
    signs = [(sx, sy, sz) for sx in (-1.0, 1.0) for sy in (-1.0, 1.0) for sz in (-1.0, 1.0)]
    return [Spot(frame, triple(c + half * np.array(s), "a point")) for s in signs]


def whole_body(tree: Any) -> list[Spot]:
    """Return a spot at every joint, every body's origin and every named frame (Shah section D.2).

    Parameters
    ----------
    tree : Robot or Model

    Returns
    -------
    list of Spot
        Coinciding points on the same body are listed once.
    """
    model: Model = getattr(tree, "model", tree)
    found: dict[tuple[int, Triple], Spot] = {}
    for i, body in enumerate(model.bodies):
        found.setdefault((i, (0.0, 0.0, 0.0)), Spot(body.name))
    for joint in model.joints:
        if joint.parent != BASE:
            at = triple(joint.placement.translation, "a joint's place")
            found.setdefault((joint.parent, at), Spot(model.bodies[joint.parent].name, at))
    for named in model.frames:
        if named.body != BASE:
            found.setdefault((named.body, named.pose.translation), Spot(named.name))
    return list(found.values())


# ------------------------------------------------------------------ meeting


class Touch(NamedTuple):
    """The relation of a spot to a surface; vectors along world axes."""

    gap: Scalar
    normal: Vec3
    """Unit vector from the surface toward the spot."""
    point: Vec3
    """The point where spot and surface meet, or would meet."""
    velocity: Vec3
    """Velocity of the spot's body relative to the surface's at that point; its normal part is the rate of the gap."""
    tangents: tuple[Vec3, Vec3]
    """Two directions along the surface, perpendicular to the normal and to each other."""
    arm: Vec3
    """The point in coordinates of the spot's body."""
    host_arm: Vec3
    """The point in coordinates of the body that carries the surface."""


class FramePlace(NamedTuple):
    """A body index, the body's pose and velocity, and a frame on it."""

    body: int
    pose: Transform
    velocity: Motion
    frame: Transform


def place(tree: Model, name: str | None, posed: Sequence[Posed], moving: Sequence[Twist]) -> FramePlace:
    """Find a frame; None is the world."""
    if name is None:
        return FramePlace(BASE, IDENTITY, ZERO_MOTION, IDENTITY)
    frame = tree.frame(name)
    local = frame.pose.spatial()
    if frame.body == BASE:
        return FramePlace(BASE, IDENTITY, ZERO_MOTION, local)
    return FramePlace(frame.body, posed[frame.body].pose, moving[frame.body].velocity, local)


def touch(
    tree: Model, posed: Sequence[Posed], moving: Sequence[Twist], at: Spot, surface: Surface, on: str | None = None
) -> Touch:
    """Return gap, normal, point and relative velocity of a spot and a surface carried by ``on`` (or the world)."""
    own, host = place(tree, at.frame, posed, moving), place(tree, on, posed, moving)
    arm = own.frame.point(Vec3.of(at.point))
    center = own.pose.point(arm)
    if on is None:
        gap, normal = surface.gap(center)
        first, second = surface.tangents(normal)
    else:
        world = host.pose @ host.frame
        gap, local_normal = surface.gap(world.unrotate(center - world.translation))
        normal = world.rotate(local_normal)
        first, second = (world.rotate(t) for t in surface.tangents(local_normal))
    point = center
    if at.radius:
        gap, point = gap - at.radius, center - normal * at.radius
        arm = arm - own.pose.unrotate(normal) * at.radius
    velocity = own.pose.rotate(own.velocity.linear + own.velocity.angular.cross(arm))
    host_arm = ZERO3
    if host.body != BASE:
        host_arm = host.pose.unrotate(point - host.pose.translation)
        velocity = velocity - host.pose.rotate(host.velocity.linear + host.velocity.angular.cross(host_arm))
    return Touch(gap, normal, point, velocity, (first, second), arm, host_arm)
