"""Balls, capsules and boxes: points, lines and cuboids with round surfaces at a distance from them.

Between two cuboids the shortest way is from a corner of one to the other, or from an edge to an edge.  The nearest
point of a cuboid to a corner is known, and of the parallel edges only those come into question that are farthest
along the common perpendicular.  So the smallest distance of all these candidates is the distance; each of them is a
distance of points that belong to the two solids, however nearly parallel edges may be.

If they overlap, they are moved apart along the axis on which they overlap least: a normal of a face, or a perpendicular
of two edges (the separating axes of Gottschalk, Lin and Manocha, 1996).  The nearest points of the solids moved apart
are the deepest points.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from ...spatial import BASIS, IDENTITY, ZERO3, Scalar, Transform, Vec3, sqrt, where
from .placed_solids import PlacedSolid, Scalars, Separation, across, chosen, limited, smallest

BRICKS = ("sphere", "capsule", "box")

APART = 1.0
"""How far overlapping solids are moved apart, in meters: any length would do."""

COINCIDENT = 1e-28
"""Square of the distance, in m², below which two points have no direction to one another."""

TOUCHING, ALONG_AXIS = 1e-8, 1e-13
"""Distance in meters below which a separating axis is the better normal, if the solids are as far apart along it as
they are at all, but for this much."""

PARALLEL = 1e-24
"""Square of the sine of an angle between parallel edges."""


class Brick(NamedTuple):
    """A point, line or cuboid about a center."""

    center: Vec3
    axes: tuple[Vec3, ...]
    """Unit vectors: none of a point, one of a line, three of a cuboid."""
    halves: Scalars
    """Half the length along each axis."""

    def at(self, coordinates: Scalars) -> Vec3:
        """Return the point with these coordinates along the axes."""
        point = self.center
        for axis, x in zip(self.axes, coordinates, strict=True):
            point = point + axis * x
        return point

    def corners(self) -> list[tuple[Scalar, ...]]:
        """Return the coordinates of all corners."""
        return list(product(*((-h, h) for h in self.halves)))

    def nearest(self, coordinates: Scalars, to: Vec3) -> tuple[Scalar, tuple[Scalar, ...]]:
        """Return the square of the distance of a point, and the nearest point's coordinates.

        ``coordinates`` are those of the point, ``to`` is the point itself as seen from the center.
        """
        found = tuple(limited(x, h) for x, h in zip(coordinates, self.halves, strict=True))
        if len(self.axes) == 3:
            off = Vec3(*(x - y for x, y in zip(coordinates, found, strict=True)))
        else:
            off = to
            for axis, x in zip(self.axes, found, strict=True):
                off = off - axis * x
        return off.dot(off), found


def separation(a: PlacedSolid, b: PlacedSolid) -> Separation:
    """Return the separation of two balls, capsules or boxes."""
    if b.kind == "box" and a.kind != "box":
        return separation(b, a).swapped()
    frame = a.pose if a.kind == "box" else IDENTITY
    first, second = (brick_of(x, frame, a.pose.translation) for x in (a, b))
    radii = (None if x.kind == "box" else x.numbers[0] for x in (a, b))
    found = _of_bricks(first, second).rounded(*radii)
    return found.placed(Transform(frame.rotations, a.pose.translation))


def brick_of(x: PlacedSolid, frame: Transform, origin: Vec3) -> Brick:
    """Return a shape without its rounding, as seen from a point, in the axes of a frame."""
    center = frame.unrotate(x.pose.translation - origin)
    if x.pose is frame:
        return Brick(ZERO3, BASIS, x.numbers)
    if x.kind == "sphere":
        return Brick(center, (), ())
    axes = BASIS if x.kind == "box" else BASIS[2:]
    halves = x.numbers if x.kind == "box" else x.numbers[1:]
    return Brick(center, tuple(frame.unrotate(x.pose.rotate(axis)) for axis in axes), halves)


def _of_bricks(a: Brick, b: Brick) -> Separation:
    if len(a.axes) < 3:
        return _apart(a, b, _perpendicular(a, b))
    overlap, axis = least_overlap(a, b)
    moved = where(overlap > 0.0, overlap + APART, 0.0)
    found = _apart(a, b._replace(center=b.center + axis * moved), axis, where(overlap > 0.0, APART, -overlap))
    inside = overlap > 0.0
    distance = where(inside, -overlap, found.distance)
    second = chosen(inside, found.first + axis * distance, found.second)
    return Separation(distance, found.first, second, chosen(inside, axis, found.normal))


def _perpendicular(a: Brick, b: Brick) -> Vec3:
    """Return a unit vector across lines that meet, or across one line; any unit vector for points."""
    if not a.axes or not b.axes:
        lines = a.axes or b.axes
        return across(lines[0]) if lines else Vec3(0.0, 0.0, 1.0)
    cross = a.axes[0].cross(b.axes[0])
    square = cross.dot(cross)
    crossing = square > PARALLEL
    return chosen(crossing, cross * (1.0 / sqrt(where(crossing, square, 1.0))), across(a.axes[0]))


def _apart(a: Brick, b: Brick, otherwise: Vec3, along: Scalar = None) -> Separation:
    """Return the separation of solids that do not overlap; the normal is ``otherwise`` where they touch.

    ``along`` is how far they are apart along that axis.
    """
    square, *rest = smallest(_candidates(a, b))
    one, other = rest[: len(a.axes)], rest[len(a.axes) :]
    first, second = a.at(one), b.at(other)
    distance = sqrt(square)
    known = square > COINCIDENT
    if along is not None:
        known = known & ((distance > TOUCHING) | (distance > along + ALONG_AXIS))
    normal = chosen(known, (second - first) * (1.0 / where(known, distance, 1.0)), otherwise)
    return Separation(distance, first, second, normal)


def _candidates(a: Brick, b: Brick) -> list[tuple[Scalar, ...]]:
    """Return squares of distances with the coordinates of the two points."""
    to = b.center - a.center
    cosines = [[x.dot(y) for y in b.axes] for x in a.axes]
    of_b, of_a = [x.dot(to) for x in a.axes], [-y.dot(to) for y in b.axes]
    found = []
    for corner in a.corners() if b.axes or not a.axes else ():
        seen = [x0 + sum((c[j] * x for c, x in zip(cosines, corner, strict=True)), 0.0) for j, x0 in enumerate(of_a)]
        square, nearest = b.nearest(seen, ZERO3 if len(b.axes) == 3 else a.at(corner) - b.center)
        found.append((square, *corner, *nearest))
    for corner in b.corners() if a.axes else ():
        seen = [
            x0 + sum((x * c for c, x in zip(row, corner, strict=True)), 0.0)
            for row, x0 in zip(cosines, of_b, strict=True)
        ]
        square, nearest = a.nearest(seen, ZERO3 if len(a.axes) == 3 else b.at(corner) - a.center)
        found.append((square, *nearest, *corner))
    return found + [_of_edges(a, b, i, j, to, cosines[i][j]) for i in range(len(a.axes)) for j in range(len(b.axes))]


def _of_edges(a: Brick, b: Brick, i: int, j: int, to: Vec3, cosine: Scalar) -> tuple[Scalar, ...]:
    """Return the candidate of the edges along axis i of one solid and axis j of the other that face one another."""
    across = a.axes[i].cross(b.axes[j])
    away = across.dot(to) < 0.0

    def facing(axis: Vec3, half: Scalar, sign: float) -> Scalar:
        backward = axis.dot(across) * sign < 0.0
        toward = where(backward, -half, half)
        return where(away, -toward, toward)

    one = [0.0 if k == i else facing(x, h, 1.0) for k, (x, h) in enumerate(zip(a.axes, a.halves, strict=True))]
    other = [0.0 if k == j else facing(y, h, -1.0) for k, (y, h) in enumerate(zip(b.axes, b.halves, strict=True))]
    between = b.at(other) - a.at(one)
    along, back = between.dot(a.axes[i]), between.dot(b.axes[j])
    square = across.dot(across)
    s = limited((along - cosine * back) / where(square > PARALLEL, square, 1.0), a.halves[i])
    t = limited(s * cosine - back, b.halves[j])
    s = limited(along + t * cosine, a.halves[i])
    one[i], other[j] = s, t
    off = between + b.axes[j] * t - a.axes[i] * s
    return (off.dot(off), *one, *other)


def least_overlap(a: Brick, b: Brick) -> tuple[Scalar, Vec3]:
    """Return how far solids overlap along the axis along which they overlap least, and that axis; a is a cuboid.

    The overlap is negative if they are apart along some axis.
    """
    to = b.center - a.center

    def overlap(axis: Vec3, of_a: bool = False, of_b: bool = False) -> tuple[Scalar, Scalar]:
        reach: Scalar = 0.0
        for x, h in zip(a.axes, a.halves, strict=True):
            reach = reach + (h if of_a and x is axis else 0.0 if of_a else h * abs(axis.dot(x)))
        for y, h in zip(b.axes, b.halves, strict=True):
            reach = reach + (h if of_b and y is axis else 0.0 if of_b else h * abs(axis.dot(y)))
        along = axis.dot(to)
        return reach - abs(along), along

    faces = [(*overlap(axis, of_a=True), axis) for axis in a.axes]
    if len(b.axes) == 3:
        faces += [(*overlap(axis, of_b=True), axis) for axis in b.axes]
    best = smallest(faces)
    if not b.axes:
        return best[0], chosen(best[1] < 0.0, -best[2], best[2])
    # across two edges the axis is no unit vector: overlaps over lengths are compared by their squares, with their signs
    least, along, axis, square = *best, 1.0
    for x in a.axes:
        for y in b.axes:
            cross = x.cross(y)
            here, moved = overlap(cross)
            size = cross.dot(cross)
            closer = where(size > PARALLEL, here * abs(here) * square, float("inf")) < least * abs(least) * size
            least, along = where(closer, here, least), where(closer, moved, along)
            axis, square = chosen(closer, cross, axis), where(closer, size, square)
    scale = 1.0 / sqrt(square)
    return least * scale, axis * where(along < 0.0, -scale, scale)
