"""Where two solids press on one another: points with their depths, a fixed number for each two kinds.

A solid on a plane presses with points of its surface that are known beforehand, or that are the lowest ones: corners
of a box, the ends of a capsule, four points of either rim of a cylinder.  The depth of such a point changes exactly as
fast as the point moves, so that springs at these points store what is put into them, and nothing jumps when a solid
tips from a face to an edge to a corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import UnsupportedError
from ...spatial import BASIS, IDENTITY, ZERO3, Scalar, Transform, Vec3, maximum, sqrt, where
from .balls_capsules_boxes import brick_of
from .face_on_face import (
    FlatFace,
    deep_part,
    face_toward,
    leaning_on_face,
    patch_between,
    patch_of,
    plane_axes,
    polygon,
    within_face,
)
from .on_heights import UNEVEN, ball_on_heights, point_on_heights
from .pairs import GROUND, ORDER, separation
from .placed_solids import PlacedSolid, Scalars, Separation, called, chosen, smallest
from .supports import farthest

FLAT, STEEP = 0.01, 0.09
"""Squares of slopes of a capsule's nearest way to a face: of one that lies on the face, and of one beside an edge."""

UPRIGHT = 1e-24
"""Square of the sine of an angle below which an axis counts as upright, so that no point of a rim is the lowest."""


class TouchingPoint(NamedTuple):
    """A point in the world, and how deep it is inside the other solid; negative outside."""

    depth: Scalar
    place: Vec3
    carriers: tuple[Vec3, Vec3]
    """A point that is fixed to each solid and moves along the normal as its surface does there: where a solid is round,
    the middle of its roundness, as what rolls neither sinks nor rises; elsewhere the place itself."""


class TouchingArea(NamedTuple):
    """Where two solids touch."""

    normal: Vec3
    """Unit vector from the first solid to the second."""

    points: list[TouchingPoint]

    shares: list[float]
    """How much of the stiffness of a whole face each point has."""

    end: Vec3 | None = None
    """Where the area ends because the depth is zero there, if it may end so."""

    growth: Scalar = 0.0
    """How fast the area grows there with the depth, in relation to itself, in 1/m."""

    def swapped(self) -> TouchingArea:
        """Return the same for the two solids in reverse order."""
        points = [p._replace(carriers=p.carriers[::-1]) for p in self.points]
        return self._replace(normal=-self.normal, points=points)

    def repeated(self, count: int) -> TouchingArea:
        """Return the same with a given number of points: each of them is there several times."""
        times = count // len(self.points)
        points = [point for point in self.points for _ in range(times)]
        shares = [share / times for share in self.shares for _ in range(times)]
        end = self.end if count == 1 or self.end is not None else self.points[0].place
        return TouchingArea(self.normal, points, shares, end, self.growth)

    def chosen_where(self, condition: Scalar, other: TouchingArea) -> TouchingArea:
        """Return this or another area with as many points."""
        own = zip(self.numbers(), other.numbers(), strict=True)
        return TouchingArea.read([where(condition, x, y) for x, y in own], len(self.points))

    def numbers(self) -> list[Scalar]:
        """Return all numbers but the shares."""
        found = [*self.normal]
        for point in self.points:
            found += [point.depth, *point.place, *point.carriers[0], *point.carriers[1]]
        return found if self.end is None else [*found, *self.end, self.growth]

    @classmethod
    def read(cls, numbers: Scalars, count: int) -> TouchingArea:
        """Return an area of some points with equal shares from its numbers."""
        points = []
        for k in range(count):
            depth, *rest = numbers[3 + 10 * k : 13 + 10 * k]
            place, one, other = (Vec3(*rest[i : i + 3]) for i in (0, 3, 6))
            points.append(TouchingPoint(depth, place, (one, other)))
        last = numbers[3 + 10 * count :]
        end, growth = (Vec3(*last[:3]), last[3]) if last else (None, 0.0)
        return cls(Vec3(*numbers[:3]), points, [1.0 / count] * count, end, growth)

    def placed(self, pose: Transform) -> TouchingArea:
        """Return the same in the frame in which ``pose`` is given."""
        points = [
            TouchingPoint(p.depth, pose.point(p.place), (pose.point(p.carriers[0]), pose.point(p.carriers[1])))
            for p in self.points
        ]
        end = None if self.end is None else pose.point(self.end)
        return self._replace(normal=pose.rotate(self.normal), points=points, end=end)


FLAT_FACED = ("box", "convex_hull", "cylinder")
"""Kinds that lie on faces."""

LINES = ("capsule", "cylinder")
"""Kinds that lie on a line of their surface."""

UPRIGHT_ENOUGH = 0.5
"""Square of the cosine of the angle between a cylinder's axis and the normal from which it touches with a flat end."""

RIM = 8
"""Points of a rim that stand for it."""


def touching_area(a: PlacedSolid, b: PlacedSolid) -> TouchingArea:
    """Return the points at which two solids touch, or are nearest to doing so."""
    if a.kind == GROUND:
        return _on_plane(a, b)
    if a.kind == UNEVEN:
        return _on_heights(a, b)
    if b.kind in (GROUND, UNEVEN) or ORDER[a.kind] < ORDER[b.kind]:
        return touching_area(b, a).swapped()
    if {a.kind, b.kind} <= {"sphere", "capsule"} or "sphere" in (a.kind, b.kind):
        return _nearest_point(a, b, separation(a, b))
    count = count_of_points(a.kind, b.kind)
    far = TouchingArea(BASIS[2], [TouchingPoint(-1.0, ZERO3, (ZERO3, ZERO3))], [1.0]).repeated(count).numbers()
    off = b.pose.translation - a.pose.translation
    reach = _ball(a) + _ball(b)
    found = called(
        ("touching", a.data, b.data), lambda x, y: _convex(x, y).numbers(), a, b, (off.dot(off) < reach * reach, far)
    )
    return TouchingArea.read(found, count).placed(a.pose)


def _ball(x: PlacedSolid) -> Scalar:
    """Return the radius of a ball about the origin of a solid, which contains it, and a little more."""
    if x.kind == "convex_hull":
        own: Scalar = 0.0
        for k in range(0, len(x.numbers), 3):
            corner = Vec3(*x.numbers[k : k + 3])
            own = maximum(own, corner.dot(corner))
        return sqrt(own) * LITTLE_MORE
    if x.kind == "ellipsoid":
        return maximum(maximum(x.numbers[0], x.numbers[1]), x.numbers[2]) * LITTLE_MORE
    if x.kind in ("sphere", "capsule"):
        return sum(x.numbers, 0.0) * LITTLE_MORE
    return sqrt(sum((e * e for e in x.numbers), 0.0)) * LITTLE_MORE


LITTLE_MORE = 1.001
"""By how much balls around solids are larger than they must be."""


def count_of_points(first: str, second: str) -> int:
    """Return at how many points two kinds of solids touch that are no planes."""
    kinds = {first, second}
    if kinds & {"sphere", "ellipsoid"} or kinds == {"capsule"}:
        return 1
    return 2 if "capsule" in kinds else 4


def _convex(a: PlacedSolid, b: PlacedSolid) -> TouchingArea:
    """Return where two convex solids touch, as seen in the frame of the first one."""
    if a.kind == b.kind == "box":
        patch = patch_of(a, b)
        points = [TouchingPoint(depth, place, (place, place)) for depth, place in patch.points]
        return TouchingArea(patch.normal, points, [0.25] * len(points), patch.end, patch.growth)
    found = separation(a, b)
    nearest = _nearest_point(a, b, found)
    count = count_of_points(a.kind, b.kind)
    best = nearest.repeated(count)
    if count == 1:
        return best
    sides = (_TouchingSide(a, found.normal, found.first), _TouchingSide(b, -found.normal, found.second))
    for k, (line, face) in enumerate((sides, sides[::-1])):
        if line.solid.kind in LINES and face.solid.kind in FLAT_FACED:
            lying = _lying(face, line, nearest.points[0], nearest.points[0].carriers[k])
            lying = (lying.swapped() if k == 0 else lying).repeated(count)
            best = lying.chosen_where(line.is_line & face.is_face, best)
    if a.kind in FLAT_FACED and b.kind in FLAT_FACED:
        axes = plane_axes(found.normal)
        patch = patch_between(a, found.normal, sides[0].face(axes, False), sides[1].face(axes, True))
        points = [TouchingPoint(depth, place, (place, place)) for depth, place in patch.points]
        flat = TouchingArea(patch.normal, points, [0.25] * 4, patch.end, patch.growth)
        best = flat.chosen_where(sides[0].is_face & sides[1].is_face, best)
    return best


def _nearest_point(a: PlacedSolid, b: PlacedSolid, found: Separation) -> TouchingArea:
    place = (found.first + found.second) * 0.5
    carriers = (
        _carrier(a, place, found.first, found.normal), _carrier(b, place, found.second, -found.normal)
    )  # fmt: skip
    return TouchingArea(found.normal, [TouchingPoint(-found.distance, place, carriers)], [1.0])


def _carrier(solid: PlacedSolid, place: Vec3, point: Vec3, outward: Vec3) -> Vec3:
    """Return the middle of the roundness of a solid at a point of its surface, or the place where it touches."""
    if solid.kind in ("sphere", "capsule"):
        return point - outward * solid.numbers[0]
    if solid.kind == "ellipsoid":
        return solid.pose.translation
    if solid.kind == "cylinder":
        axis = solid.pose.rotate(BASIS[2])
        along = axis.dot(outward)
        return chosen(along * along < ON_THE_SIDE, point - outward * solid.numbers[0], place)
    return place


ON_THE_SIDE = 1e-12
"""Square of the cosine of the angle between a cylinder's axis and the normal where it touches with its side."""


class _TouchingSide:
    """One of two solids that touch: the face or the line of its surface that it turns to the other."""

    def __init__(self, solid: PlacedSolid, outward: Vec3, nearest: Vec3) -> None:
        self.solid, self.outward, self.nearest = solid, outward, nearest
        self.axis = solid.pose.rotate(BASIS[2])
        along = self.axis.dot(outward)
        self.is_face: Any = solid.kind != "capsule"
        if solid.kind == "cylinder":
            self.is_face = along * along > UPRIGHT_ENOUGH
        self.is_line: Any = solid.kind == "capsule"
        if solid.kind == "cylinder":
            self.is_line = along * along < UPRIGHT_ENOUGH

    def face(self, axes: tuple[Vec3, Vec3, Vec3], is_upper: bool) -> FlatFace:
        """Return the face that looks most outward."""
        solid = self.solid
        if solid.kind == "box":
            return face_toward(brick_of(solid, IDENTITY, ZERO3), self.outward, axes)
        if solid.kind == "cylinder":
            return polygon(*self._end(), axes, is_upper)
        candidates = []
        for ring, normal in _rings(solid):
            out = solid.pose.rotate(normal)
            candidates.append((-out.dot(self.outward), normal, *ring))
        _, normal, *ring = smallest(candidates)
        return polygon([solid.pose.point(x) for x in ring], solid.pose.rotate(normal), axes, is_upper)

    def _end(self) -> tuple[list[Vec3], Vec3]:
        """Return points of a cylinder's rim, the first one where it touches, and the normal of that end."""
        radius, half = self.solid.numbers
        up = self.axis * where(self.axis.dot(self.outward) < 0.0, -1.0, 1.0)
        middle = self.solid.pose.translation + up * half
        off = self.nearest - middle
        off = off - up * off.dot(up)
        square = off.dot(off)
        known = square > UPRIGHT * radius * radius
        toward = chosen(known, off * (1.0 / sqrt(where(known, square, 1.0))), self.solid.pose.rotate(BASIS[0]))
        beside = up.cross(toward)
        turns = [2.0 * math.pi * k / RIM for k in range(RIM)]
        return [middle + toward * (radius * math.cos(turn)) + beside * (radius * math.sin(turn)) for turn in turns], up

    def line(self, outward: Vec3) -> tuple[list[Vec3], Vec3]:
        """Return both ends of the line of the surface that is farthest in a direction, and its way from the axis."""
        radius, half = self.solid.numbers
        away = outward
        if self.solid.kind == "cylinder":
            away = outward - self.axis * self.axis.dot(outward)
            away = away * (1.0 / sqrt(maximum(away.dot(away), UPRIGHT)))
        middle = self.solid.pose.translation + away * radius
        return [middle - self.axis * half, middle + self.axis * half], away * radius


def _rings(hull: PlacedSolid) -> list[tuple[list[Vec3], Vec3]]:
    """Return the corners of each face of a hull, as many for each, and the face's normal."""
    faces, most = hull.data.faces, max(len(face) for face in hull.data.faces)
    corners = [Vec3(*hull.numbers[k : k + 3]) for k in range(0, len(hull.numbers), 3)]
    found = []
    for face in faces:
        first, second, *_, last = (corners[k] for k in face)
        across = (second - first).cross(last - first)
        ring = [corners[k] for k in (*face, *[face[-1]] * (most - len(face)))]
        found.append((ring, across * (1.0 / sqrt(across.dot(across)))))
    return found


def _lying(face: _TouchingSide, line: _TouchingSide, nearest: TouchingPoint, carrier: Vec3) -> TouchingArea:
    """Return two points of the part of a line that is above a face and deep enough, or the nearest point.

    They have the middle and the second moment of that part.  ``carrier`` is that of the line's solid there.
    """
    axes = plane_axes(face.outward)
    normal = leaning_on_face(face.face(axes, False), face.outward, FLAT, STEEP)
    axes = plane_axes(normal)
    below = face.face(axes, False)
    (start, stop), off_axis = line.line(-normal)
    way = stop - start
    begin, ahead = ((x.dot(axes[0]), x.dot(axes[1])) for x in (start, way))

    def depth(share: Scalar) -> Scalar:
        here = begin[0] + ahead[0] * share, begin[1] + ahead[1] * share
        return below.height.at(here) - (start.dot(normal) + way.dot(normal) * share)

    low, high = within_face(below, begin, ahead)
    since, until = deep_part(depth(0.0), depth(1.0), low, high)
    lies = until > since
    middle, off = 0.5 * (since + until), (until - since) * (0.5 / math.sqrt(3.0))
    points = []
    for share in (middle - off, middle + off):
        here = where(lies, depth(share), nearest.depth)
        on = start + way * share
        place = chosen(lies, on + normal * (0.5 * here), nearest.place)
        points.append(TouchingPoint(here, place, (place, chosen(lies, on - off_axis, carrier))))
    last, ends = where(since > low, since, until), lies & ((since > low) | (until < high))
    slope = abs(depth(1.0) - depth(0.0)) * (until - since)
    growth = where(ends, 1.0 / where(ends, slope, 1.0), 0.0)
    return TouchingArea(normal, points, [0.5] * 2, start + way * last, growth)


def check_kinds(first: str, second: str) -> None:
    """Raise an error if contact of these kinds of solids is not known."""
    known = set(ORDER) - {GROUND}
    if len({first, second} - known) > (first != second) or {first, second} == {UNEVEN, "ellipsoid"}:
        raise UnsupportedError(
            f"contact between a {first} and a {second}: there is none yet. Leave such pairs out, "
            "robot.without_contacts(pairs), or name others, pairs=..."
        )


def _on_heights(ground: PlacedSolid, solid: PlacedSolid) -> TouchingArea:
    """Return the points of a solid that may touch uneven ground; they have one normal, the mean by their depths."""
    found, total = [], ZERO3
    for place, carrier in _ON_PLANE[solid.kind](solid, -ground.pose.rotate(BASIS[2])):
        if solid.kind in ("sphere", "capsule"):
            depth, place, normal = ball_on_heights(ground, carrier, solid.numbers[0])
        else:
            depth, normal = point_on_heights(ground, place)
        found.append(TouchingPoint(depth, place, (place, carrier)))
        total = total + normal * (where(depth > 0.0, depth, 0.0) + NO_DEPTH)
    normal = total * (1.0 / sqrt(total.dot(total)))
    return TouchingArea(normal, found, [SHARES[solid.kind]] * len(found))


NO_DEPTH = 1e-15
"""Depth (m) that every point has in addition, so that there is a normal where nothing touches."""


def _on_plane(plane: PlacedSolid, solid: PlacedSolid) -> TouchingArea:
    up = plane.pose.rotate(BASIS[2])
    lowest = _ON_PLANE[solid.kind](solid, -up)
    origin = plane.pose.translation
    points = [TouchingPoint((origin - place).dot(up), place, (place, carrier)) for place, carrier in lowest]
    return TouchingArea(up, points, [SHARES[solid.kind]] * len(points))


Carried = tuple[Vec3, Vec3]
"""A point of a surface, and the point of the solid that moves as far toward the plane."""


def _lowest(solid: PlacedSolid, down: Vec3) -> list[Carried]:
    return [(farthest(solid, down), solid.pose.translation)]


def _ends(solid: PlacedSolid, down: Vec3) -> list[Carried]:
    radius, half = solid.numbers
    along = solid.pose.rotate(BASIS[2]) * half
    return [(end + down * radius, end) for end in (solid.pose.translation - along, solid.pose.translation + along)]


def _corners(solid: PlacedSolid, down: Vec3) -> list[Carried]:
    edges = [solid.pose.rotate(axis) * half for axis, half in zip(BASIS, solid.numbers, strict=True)]
    found = [solid.pose.translation]
    for edge in edges:
        found = [place + side for place in found for side in (-edge, edge)]
    return [(place, place) for place in found]


def _rims(solid: PlacedSolid, down: Vec3) -> list[Carried]:
    """Return the lowest, the highest and the two middle points of both rims."""
    radius, half = solid.numbers
    axis, any_direction = solid.pose.rotate(BASIS[2]), solid.pose.rotate(BASIS[0])
    steepest = down - axis * axis.dot(down)
    square = steepest.dot(steepest)
    known = square > UPRIGHT
    scale = radius / sqrt(where(known, square, 1.0))
    toward = Vec3(*(where(known, x * scale, y * radius) for x, y in zip(steepest, any_direction, strict=True)))
    beside = axis.cross(toward)
    ends = [solid.pose.translation + axis * side for side in (-half, half)]
    return [(end + off, end) for end in ends for off in (toward, beside, -toward, -beside)]


def _vertices(solid: PlacedSolid, down: Vec3) -> list[Carried]:
    places = [solid.pose.point(Vec3(*solid.numbers[k : k + 3])) for k in range(0, len(solid.numbers), 3)]
    return [(place, place) for place in places]


_ON_PLANE: dict[str, Callable[[PlacedSolid, Vec3], list[Carried]]] = {
    "sphere": _lowest, "ellipsoid": _lowest, "capsule": _ends, "box": _corners, "cylinder": _rims,
    "convex_hull": _vertices,
}  # fmt: skip
"""Points of a solid that may touch a plane, the direction into the plane given."""

SHARES = {"sphere": 1.0, "ellipsoid": 1.0, "capsule": 0.5, "box": 0.25, "cylinder": 0.25, "convex_hull": 0.25}
