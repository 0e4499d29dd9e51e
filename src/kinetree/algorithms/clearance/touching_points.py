"""Where two solids press on one another: points with their depths, a fixed number for each two kinds.

A solid on a plane presses with points of its surface that are known beforehand, or that are the lowest ones: corners
of a box, the ends of a capsule, four points of either rim of a cylinder.  The depth of such a point changes exactly as
fast as the point moves, so that springs at these points store what is put into them, and nothing jumps when a solid
tips from a face to an edge to a corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ...errors import UnsupportedError
from ...spatial import BASIS, Scalar, Vec3, sqrt, where
from . import balls_capsules_boxes
from .balls_capsules_boxes import brick_of
from .face_on_face import deep_part, face_toward, leaning_on_face, patch_of, plane_axes, within_face
from .pairs import GROUND, separation
from .placed_solids import PlacedSolid, chosen
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


def touching_area(a: PlacedSolid, b: PlacedSolid) -> TouchingArea:
    """Return the points at which two solids touch, or are nearest to doing so."""
    if a.kind == GROUND:
        return _on_plane(a, b)
    if b.kind == GROUND:
        normal, points, *others = _on_plane(b, a)
        return TouchingArea(-normal, [p._replace(carriers=p.carriers[::-1]) for p in points], *others)
    if a.kind == b.kind == "box":
        patch = patch_of(a, b)
        points = [TouchingPoint(depth, place, (place, place)) for depth, place in patch.points]
        return TouchingArea(patch.normal, points, [0.25] * len(points), patch.end, patch.growth)
    if a.kind == "box" and b.kind == "capsule":
        return _lying_on_box(a, b)
    if a.kind == "capsule" and b.kind == "box":
        normal, points, *others = _lying_on_box(b, a)
        return TouchingArea(-normal, [p._replace(carriers=p.carriers[::-1]) for p in points], *others)
    found = separation(a, b)
    place = (found.first + found.second) * 0.5
    carriers = (
        place if a.kind == "box" else found.first - found.normal * a.numbers[0],
        place if b.kind == "box" else found.second + found.normal * b.numbers[0],
    )
    return TouchingArea(found.normal, [TouchingPoint(-found.distance, place, carriers)], [1.0])


def _lying_on_box(box: PlacedSolid, capsule: PlacedSolid) -> TouchingArea:
    """Return two points of the part of a capsule's line that is above a face and deep enough, or the nearest point.

    They have the middle and the second moment of that part.
    """
    found, (radius, half) = separation(box, capsule), capsule.numbers
    along = capsule.pose.rotate(BASIS[2]) * half
    brick = brick_of(box, box.pose, box.pose.translation)
    toward = leaning_on_face(brick, box.pose.unrotate(found.normal), FLAT, STEEP)
    normal = box.pose.rotate(toward)
    axes = plane_axes(toward)
    below = face_toward(brick, toward, axes)
    start, way = (box.pose.unrotate(x) for x in (capsule.pose.translation - along - box.pose.translation, along * 2.0))
    begin, ahead = ((x.dot(axes[0]), x.dot(axes[1])) for x in (start, way))

    def depth(share: Scalar) -> Scalar:
        here = begin[0] + ahead[0] * share, begin[1] + ahead[1] * share
        return below.height.at(here) - (start.dot(toward) + way.dot(toward) * share) + radius

    low, high = within_face(below, begin, ahead)
    since, until = deep_part(depth(0.0), depth(1.0), low, high)
    lies = until > since
    middle, off = 0.5 * (since + until), (until - since) * (0.5 / math.sqrt(3.0))
    nearest = (found.first + found.second) * 0.5
    points = []
    for share in (middle - off, middle + off):
        here = where(lies, depth(share), -found.distance)
        center = capsule.pose.translation + along * (2.0 * share - 1.0)
        place = chosen(lies, center - normal * (radius - 0.5 * here), nearest)
        points.append(TouchingPoint(here, place, (place, chosen(lies, center, found.second + normal * radius))))
    last, ends = where(since > low, since, until), lies & ((since > low) | (until < high))
    slope = abs(depth(1.0) - depth(0.0)) * (until - since)
    growth = where(ends, 1.0 / where(ends, slope, 1.0), 0.0)
    end = capsule.pose.translation + along * (2.0 * last - 1.0) - normal * radius
    return TouchingArea(normal, points, [SHARES["capsule"]] * 2, end, growth)


def check_kinds(first: str, second: str) -> None:
    """Raise an error if contact of these kinds of solids is not known."""
    solid = second if first == GROUND else first
    known = solid in _ON_PLANE if GROUND in (first, second) else {first, second} <= set(balls_capsules_boxes.BRICKS)
    if not known:
        raise UnsupportedError(
            f"contact between a {first} and a {second}: there is none yet. Leave such pairs out, "
            "robot.without_contacts(pairs), or name others, pairs=..."
        )


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
