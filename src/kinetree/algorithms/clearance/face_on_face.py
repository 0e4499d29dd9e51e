"""Where two solids with flat faces press on one another: the common part of two faces, as four points.

The faces are those that look along the normal of least overlap.  Seen along it they are polygons, and how deep one is
in the other is a linear function over the plane.  Where both faces are and the depth is positive is a polygon; its
border consists of pieces of the edges of both faces and of the line of depth zero.
Four points with the area, center and second moments of this polygon stand for it: the force and moment of a pressure
that grows linearly with the depth are exact, and nothing jumps as the polygon gains or loses a corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...spatial import Scalar, Vec3, maximum, minimum, sign, sqrt, where
from .balls_capsules_boxes import Brick, brick_of, least_overlap
from .placed_solids import PlacedSolid, across, smallest

Plane2 = tuple[Scalar, Scalar]
"""A point or direction of the plane across the normal."""

BAND = 1e-12
"""Half the width (m) of a band in which one of two edges counts that lie on one another, and the other does not."""

BESIDE = 1e-6
"""How far (m) beside a face a line still counts as above it, so that one that lies along an edge does."""

ALONGSIDE = 1e-13
"""An edge that comes nearer to another by less than this (m) over its length is parallel to it."""

LEVEL = 1e-20
"""Square of the slope of two faces to one another below which they count as parallel."""

NOTHING = 1e-26
"""Area (m²) below which faces do not touch."""

OUTSIDE = -1e30

POINT = 1e-24
"""Square of a length (m²) below which a side of a polygon is a point."""

STEEPEST = 1e-3
"""Cosine of an angle between a face and the normal below which the face counts as seen from its edge."""


class Slab(NamedTuple):
    """What lies between two parallel lines."""

    across: Plane2
    middle: Scalar
    half: Scalar


class Depth(NamedTuple):
    """A linear function of the plane."""

    at_origin: Scalar
    slope: Plane2

    def at(self, x: Plane2) -> Scalar:
        """Return the depth at a point."""
        return self.at_origin + _dot(self.slope, x)


class Face(NamedTuple):
    """A face of a box as seen along the normal: a parallelogram, and its height over the plane."""

    center: Plane2
    edges: tuple[Plane2, Plane2]
    """From the center to the middles of two sides."""
    height: Depth

    def slabs(self) -> list[Slab]:
        """Return the two slabs of which the face is the common part."""
        found = []
        for (x, y), half in zip(self.edges, self.edges[::-1], strict=True):
            scale = 1.0 / sqrt(x * x + y * y)
            normal = (-y * scale, x * scale)
            found.append(Slab(normal, _dot(normal, self.center), abs(_dot(normal, half))))
        return found

    def sides(self) -> list[tuple[Plane2, Plane2]]:
        """Return the start and the way of each side, counterclockwise."""
        (ux, uy), v = self.edges
        turn = sign(_cross((ux, uy), v))
        u = ux * turn, uy * turn
        around = [(u, v, -1.0, -1.0), (v, u, -1.0, 1.0), (u, v, 1.0, 1.0), (v, u, 1.0, -1.0)]
        found = []
        for way, other, forward, aside in around:
            way = (way[0] * -forward, way[1] * -forward)
            start = tuple(c - w + aside * o for c, w, o in zip(self.center, way, other, strict=True))
            found.append(((start[0], start[1]), (2.0 * way[0], 2.0 * way[1])))
        return found


class Polygon(NamedTuple):
    """Any flat convex face, as seen along the normal."""

    corners: list[Plane2]
    """Counterclockwise; some may be equal."""
    height: Depth

    def sides(self) -> list[tuple[Plane2, Plane2]]:
        """Return the start and the way of each side, counterclockwise."""
        around = zip(self.corners, [*self.corners[1:], self.corners[0]], strict=True)
        return [((x, y), (u - x, v - y)) for (x, y), (u, v) in around]

    def slabs(self) -> list[Slab]:
        """Return slabs of which the face is the common part: each begins at a side and is wider than the face."""
        sides = self.sides()
        wide = sum((abs(u) + abs(v) for _, (u, v) in sides), 0.0)
        found = []
        for begin, (u, v) in sides:
            square = u * u + v * v
            known = square > POINT
            scale = where(known, 1.0 / sqrt(where(known, square, 1.0)), 0.0)
            inward = (-v * scale, u * scale)
            found.append(Slab(inward, _dot(inward, begin) + where(known, wide, 0.0), wide))
        return found


FlatFace = Face | Polygon


class BorderPiece(NamedTuple):
    """A piece of the border of a polygon, with the inside on its left; ``counts`` is false if there is none."""

    begin: Plane2
    end: Plane2
    length: Scalar
    counts: Scalar


class Patch(NamedTuple):
    """Where two boxes touch, in the world."""

    normal: Vec3
    """From the first to the second."""
    points: list[tuple[Scalar, Vec3]]
    """Depth and place of four points."""
    end: Vec3
    """The middle of the line where the depth is zero."""
    growth: Scalar
    """How fast the patch grows there with the depth, in relation to its area, in 1/m."""


def patch_of(a: PlacedSolid, b: PlacedSolid) -> Patch:
    """Return where two boxes touch."""
    first, second = (brick_of(x, a.pose, a.pose.translation) for x in (a, b))
    _, normal = least_overlap(first, second)
    axes = plane_axes(normal)
    return patch_between(a, normal, face_toward(first, normal, axes), face_toward(second, -normal, axes))


def patch_between(a: PlacedSolid, normal: Vec3, lower: FlatFace, upper: FlatFace) -> Patch:
    """Return where two faces touch, which are seen in the frame of the first solid along a normal."""
    one, other, _ = plane_axes(normal)
    depth = Depth(
        lower.height.at_origin - upper.height.at_origin,
        (lower.height.slope[0] - upper.height.slope[0], lower.height.slope[1] - upper.height.slope[1]),
    )
    border = _border(lower, upper, depth)
    touches, area, points = _middle_points(border)

    def place(x: Plane2) -> Vec3:
        height = lower.height.at(x) - 0.5 * depth.at(x)
        return a.pose.point(one * x[0] + other * x[1] + normal * height)

    found = [(where(touches, depth.at(x), -1.0), place(x)) for x in points]
    (x, y), (u, v) = border[-1].begin, border[-1].end
    long, (gx, gy) = sqrt((u - x) * (u - x) + (v - y) * (v - y)), depth.slope
    counts = border[-1].counts & touches
    growth = where(counts, long / where(counts, sqrt(gx * gx + gy * gy) * area, 1.0), 0.0)
    return Patch(a.pose.rotate(normal), found, place((0.5 * (x + u), 0.5 * (y + v))), growth)


def plane_axes(normal: Vec3) -> tuple[Vec3, Vec3, Vec3]:
    """Return two axes across a normal, and the normal itself."""
    one = across(normal)
    return one, normal.cross(one), normal


def leaning_on_face(face: FlatFace, toward: Vec3, flat: float, steep: float) -> Vec3:
    """Return the normal of a face that looks in a direction, if both are nearly the same, else the direction.

    flat, steep: Squares of slopes between which one becomes the other.
    """
    one, other, _ = plane_axes(toward)
    x, y = face.height.slope
    square = x * x + y * y
    share = minimum(maximum((steep - square) / (steep - flat), 0.0), 1.0)
    share = share * share * (3.0 - 2.0 * share)
    outward = (toward - one * x - other * y) * (1.0 / sqrt(1.0 + square))
    leaning = toward + (outward - toward) * share
    return leaning * (1.0 / sqrt(leaning.dot(leaning)))


def face_toward(brick: Brick, toward: Vec3, axes: tuple[Vec3, Vec3, Vec3]) -> Face:
    """Return the face of a box that looks most in a direction."""
    candidates = []
    for k in range(3):
        facing = brick.axes[k].dot(toward)
        u, v = (brick.axes[(k + i) % 3] * brick.halves[(k + i) % 3] for i in (1, 2))
        outward = brick.axes[k] * where(facing < 0.0, -1.0, 1.0)
        candidates.append((-abs(facing), outward, brick.center + outward * brick.halves[k], u, v))
    _, outward, center, u, v = smallest(candidates)
    one, other, up = axes
    seen = [(x.dot(one), x.dot(other)) for x in (center, u, v)]
    steep = 1.0 / outward.dot(up)
    slope = (-outward.dot(one) * steep, -outward.dot(other) * steep)
    return Face(seen[0], (seen[1], seen[2]), Depth(center.dot(up) - _dot(slope, seen[0]), slope))


def polygon(corners: Sequence[Vec3], outward: Vec3, axes: tuple[Vec3, Vec3, Vec3], is_upper: bool) -> Polygon:
    """Return a face as seen along a normal: that of the upper solid looks down.

    corners: Counterclockwise as seen from outside.
    outward: The face's unit normal.
    """
    one, other, up = axes
    seen = [(x.dot(one), x.dot(other)) for x in (reversed(corners) if is_upper else corners)]
    facing = outward.dot(up)
    steep = 1.0 / where(abs(facing) > STEEPEST, facing, where(facing < 0.0, -STEEPEST, STEEPEST))
    slope = (-outward.dot(one) * steep, -outward.dot(other) * steep)
    middle = sum((x.dot(up) for x in corners), 0.0) * (1.0 / len(corners))
    x, y = (sum((p[k] for p in seen), 0.0) * (1.0 / len(corners)) for k in (0, 1))
    return Polygon(seen, Depth(middle - _dot(slope, (x, y)), slope))


def within_face(face: FlatFace, begin: Plane2, way: Plane2) -> tuple[Scalar, Scalar]:
    """Return which part of a way is above a face, or just beside it."""
    since: Scalar = 0.0
    until: Scalar = 1.0
    for slab in face.slabs():
        since, until = _within(slab, BESIDE, begin, way, since, until)
    return since, until


def deep_part(first: Scalar, last: Scalar, since: Scalar, until: Scalar) -> tuple[Scalar, Scalar]:
    """Return on which of this part a depth is positive that is linear from the first to the last number."""
    return _above(first, last - first, since, until)


def _border(lower: FlatFace, upper: FlatFace, depth: Depth) -> list[BorderPiece]:
    """Return the border of the common part of two faces where the depth is positive."""
    gx, gy = depth.slope
    square = gx * gx + gy * gy
    sloping = square > LEVEL
    steep = sqrt(where(sloping, square, 1.0))
    inside = [face.slabs() for face in (lower, upper)]
    found = []
    for face, others, band in ((lower, inside[1], BAND), (upper, inside[0], -BAND)):
        for begin, way in face.sides():
            since, until = 0.0, 1.0
            for slab in others:
                since, until = _within(slab, band, begin, way, since, until)
            since, until = _above(
                depth.at(begin) + BAND * where(sloping, steep, 0.0), _dot(depth.slope, way), since, until
            )
            found.append(_piece(begin, way, since, until))
    scale = 1.0 / steep
    way = (gy * scale, -gx * scale)
    off = -depth.at_origin * scale * scale
    begin = (gx * off, gy * off)
    since, until = OUTSIDE, where(sloping, -OUTSIDE, OUTSIDE)
    for slab in (*inside[0], *inside[1]):
        since, until = _within(slab, -BAND, begin, way, since, until)
    return [*found, _piece(begin, way, since, until)]


def _within(
    slab: Slab, band: float, begin: Plane2, way: Plane2, since: Scalar, until: Scalar
) -> tuple[Scalar, Scalar]:  # fmt: skip
    """Return which part of a way lies in a slab that is wider by a band."""
    here, speed, half = _dot(slab.across, begin) - slab.middle, _dot(slab.across, way), slab.half + band
    parallel = abs(speed) < ALONGSIDE
    inverse = 1.0 / where(parallel, 1.0, speed)
    one, other = (-half - here) * inverse, (half - here) * inverse
    out = parallel & (abs(here) > half)
    since = where(parallel, since, maximum(since, minimum(one, other)))
    until = where(parallel, where(out, OUTSIDE, until), minimum(until, maximum(one, other)))
    return since, until


def _above(here: Scalar, speed: Scalar, since: Scalar, until: Scalar) -> tuple[Scalar, Scalar]:
    """Return on which part of a way a linear function is positive."""
    rises, falls = speed > 0.0, speed < 0.0
    at = -here / where(rises | falls, speed, 1.0)
    since = where(rises, maximum(since, at), since)
    until = where(falls, minimum(until, at), until)
    return since, where(rises | falls, until, where(here > 0.0, until, OUTSIDE))


def _piece(begin: Plane2, way: Plane2, since: Scalar, until: Scalar) -> BorderPiece:
    counts = until > since
    since, until = where(counts, since, 0.0), where(counts, until, 0.0)
    ends = [(begin[0] + way[0] * t, begin[1] + way[1] * t) for t in (since, until)]
    return BorderPiece(ends[0], ends[1], (until - since) * (abs(way[0]) + abs(way[1])), counts)


def _middle_points(border: Sequence[BorderPiece]) -> tuple[Scalar, Scalar, list[Plane2]]:
    """Return whether there is a polygon, its area, and four points with its center and second moments."""
    whole: Scalar = 0.0
    near: list[Scalar] = [0.0, 0.0]
    for piece in border:
        whole = whole + piece.length
        near = [n + piece.length * 0.5 * (p + q) for n, p, q in zip(near, piece.begin, piece.end, strict=True)]
    scale = 1.0 / where(whole > 0.0, whole, 1.0)
    near = [n * scale for n in near]
    area, x_first, y_first, xx, xy, yy = (0.0,) * 6
    for piece in border:
        px, py, qx, qy = (x - n for x, n in zip((*piece.begin, *piece.end), (*near, *near), strict=True))
        turn = where(piece.counts, px * qy - py * qx, 0.0)
        area = area + turn
        x_first, y_first = x_first + turn * (px + qx), y_first + turn * (py + qy)
        xx = xx + turn * (px * px + px * qx + qx * qx)
        yy = yy + turn * (py * py + py * qy + qy * qy)
        xy = xy + turn * (2.0 * (px * py + qx * qy) + px * qy + qx * py)
    touches = area > 2.0 * NOTHING
    scale = 1.0 / where(touches, area, 1.0)
    x, y = x_first * scale / 3.0, y_first * scale / 3.0
    xx, xy, yy = (m * scale / n for m, n in ((xx, 6.0), (xy, 12.0), (yy, 6.0)))
    wide = sqrt(maximum(2.0 * (xx - x * x), 0.0))
    lean = where(wide > 0.0, 2.0 * (xy - x * y) / where(wide > 0.0, wide, 1.0), 0.0)
    deep = sqrt(maximum(2.0 * (yy - y * y) - lean * lean, 0.0))
    x, y = near[0] + x, near[1] + y
    return touches, 0.5 * area, [(x - wide, y - lean), (x + wide, y + lean), (x, y - deep), (x, y + deep)]


def _dot(a: Plane2, b: Plane2) -> Scalar:
    return a[0] * b[0] + a[1] * b[1]


def _cross(a: Plane2, b: Plane2) -> Scalar:
    return a[0] * b[1] - a[1] * b[0]
