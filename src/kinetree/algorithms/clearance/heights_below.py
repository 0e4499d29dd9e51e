"""How high a solid is at a place, as seen from straight above: where a vertical line leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...spatial import Scalar, Vec3, maximum, minimum, scalar, sqrt, where
from .placed_solids import PlacedSolid

NOWHERE = -1e6
"""The height where there is nothing, in meters."""

NO_SLOPE = 1e-12
"""Components of a direction that count as this small, so that nothing is divided by zero."""


def height_at(solid: PlacedSolid, x: Scalar, y: Scalar, data: Any = None) -> Scalar:
    """Return the height of a solid's highest point on the vertical line through a place; :data:`NOWHERE` beside it.

    data: The solid itself, for kinds with more than numbers.
    """
    start = solid.pose.unrotate(Vec3(x, y, 0.0) - solid.pose.translation)
    up = solid.pose.unrotate(Vec3(0.0, 0.0, 1.0))
    if solid.kind == "height_field":
        return _of_grid(solid, start, up, data)
    if solid.kind == "convex_hull":
        return _of_hull(solid.numbers, start, up, data)
    if solid.kind not in _LEAVES:
        raise UnsupportedError(f"the height of a {solid.kind} from above")
    return _LEAVES[solid.kind](solid.numbers, start, up)


def highest(found: Sequence[Scalar]) -> Scalar:
    """Return the largest of some heights."""
    best = found[0]
    for other in found[1:]:
        best = maximum(best, other)
    return best


def _steep(x: Scalar) -> Scalar:
    return where(abs(x) < NO_SLOPE, NO_SLOPE, x)


def _of_plane(numbers: Sequence[Scalar], start: Vec3, up: Vec3) -> Scalar:
    return where(up.z > NO_SLOPE, -start.z / _steep(up.z), NOWHERE)


def _of_box(numbers: Sequence[Scalar], start: Vec3, up: Vec3) -> Scalar:
    enter: Scalar = NOWHERE
    leave: Scalar = -NOWHERE
    for half, begin, rate in zip(numbers, start, up, strict=True):
        slope = 1.0 / _steep(rate)
        one, other = (-half - begin) * slope, (half - begin) * slope
        enter, leave = maximum(enter, minimum(one, other)), minimum(leave, maximum(one, other))
    return where(enter <= leave, leave, NOWHERE)


def _of_ellipsoid(radii: Sequence[Scalar], start: Vec3, up: Vec3) -> Scalar:
    begin, rate = (Vec3(*(c / r for c, r in zip(v, radii, strict=True))) for v in (start, up))
    return _root(rate.dot(rate), begin.dot(rate), begin.dot(begin) - 1.0)[1]


def _of_sphere(numbers: Sequence[Scalar], start: Vec3, up: Vec3) -> Scalar:
    return _root(1.0, start.dot(up), start.dot(start) - numbers[0] * numbers[0])[1]


def _root(a: Scalar, b: Scalar, c: Scalar) -> tuple[Scalar, Scalar]:
    """Return both roots of a t^2 + 2 b t + c, or :data:`NOWHERE` twice, the first one from above, if there are none."""
    square = b * b - a * c
    hits = square > 0.0
    off = sqrt(where(hits, square, 1.0))
    return where(hits, (-b - off) / a, -NOWHERE), where(hits, (off - b) / a, NOWHERE)


def _of_cylinder(numbers: Sequence[Scalar], start: Vec3, up: Vec3) -> Scalar:
    radius, half = numbers
    a = up.x * up.x + up.y * up.y
    lean = a > NO_SLOPE
    c = start.x * start.x + start.y * start.y - radius * radius
    enter, leave = _root(where(lean, a, 1.0), start.x * up.x + start.y * up.y, c)
    enter, leave = where(lean, enter, NOWHERE), where(lean, leave, where(c < 0.0, -NOWHERE, NOWHERE))
    slope = 1.0 / _steep(up.z)
    one, other = (-half - start.z) * slope, (half - start.z) * slope
    enter, leave = maximum(enter, minimum(one, other)), minimum(leave, maximum(one, other))
    return where(enter <= leave, leave, NOWHERE)


def _of_capsule(numbers: Sequence[Scalar], start: Vec3, up: Vec3) -> Scalar:
    radius, half = numbers
    along = Vec3(0.0, 0.0, 1.0) * half
    balls = [_of_sphere((radius,), start + end, up) for end in (along, -along)]
    return highest([_of_cylinder(numbers, start, up), *balls])


def _of_hull(numbers: Sequence[Scalar], start: Vec3, up: Vec3, hull: Any) -> Scalar:
    enter: Scalar = NOWHERE
    leave: Scalar = -NOWHERE
    corners = np.array(hull.vertices)
    for normal, face in zip(hull.normals, hull.faces, strict=True):
        n = Vec3(*(float(c) for c in normal))
        rate, gap = n.dot(up), float(normal @ corners[face[0]]) - n.dot(start)
        at = gap / _steep(rate)
        beside = (abs(rate) <= NO_SLOPE) & (gap < 0.0)
        leave = minimum(leave, where(rate > NO_SLOPE, at, where(beside, NOWHERE, -NOWHERE)))
        enter = maximum(enter, where(rate < -NO_SLOPE, at, NOWHERE))
    return where(enter <= leave, leave, NOWHERE)


_LEAVES = {
    "plane": _of_plane, "box": _of_box, "sphere": _of_sphere, "ellipsoid": _of_ellipsoid, "cylinder": _of_cylinder,
    "capsule": _of_capsule,
}  # fmt: skip


def _of_grid(solid: PlacedSolid, start: Vec3, up: Vec3, grid: Any) -> Scalar:
    """Return the height on the triangles of a grid that stands upright."""
    if isinstance(up.z, float) and abs(up.z - 1.0) > 1e-9:
        raise UnsupportedError("the height of a height field that is tilted")
    inside, height, _ = triangle_at(grid, solid.numbers, start.x, start.y)
    return where(inside, height + solid.pose.translation.z, NOWHERE)


def triangle_at(
    grid: Any, size: Sequence[Scalar], x: Scalar, y: Scalar
) -> tuple[Scalar, Scalar, tuple[Scalar, Scalar]]:
    """Return whether a place is on a grid, and the height and slopes of the triangle there, in the grid's frame.

    size: Of the grid along x and y.
    """
    (rows, columns), (long, wide) = grid.shape, size
    s, t = (x / long + 0.5) * (rows - 1.0), (y / wide + 0.5) * (columns - 1.0)
    inside = (s >= 0.0) & (s <= rows - 1.0) & (t >= 0.0) & (t <= columns - 1.0)
    i, j = whole(s, rows - 2), whole(t, columns - 2)

    def corner(a: int, b: int) -> Scalar:
        return looked_up(grid.table, (i + a) * float(columns) + (j + b))

    u, w = s - i, t - j
    h00, h10, h01, h11 = corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)
    first = u > w
    along_s, along_t = where(first, h10 - h00, h11 - h01), where(first, h11 - h10, h01 - h00)
    slopes = along_s * ((rows - 1.0) / long), along_t * ((columns - 1.0) / wide)
    return inside, h00 + u * along_s + w * along_t, slopes


@cache
def _counted(count: int) -> np.ndarray:
    return np.arange(count, dtype=float)[:, None]


def whole(s: Scalar, last: int) -> Scalar:
    """Return the number of a grid line at or before a place, up to the last but one."""
    return looked_up(_counted(last + 1), s)


def looked_up(table: np.ndarray, row: Scalar) -> Scalar:
    """Return an entry of a table of one column; fractions are cut off, rows beyond the ends are the first or last."""
    if scalar.can_gather(row):
        return scalar.gather(table, 0, row)
    index = np.clip(np.floor(np.nan_to_num(np.asarray(row, dtype=float))), 0, len(table) - 1).astype(int)
    return table[index, 0] + 0.0 * np.asarray(row, dtype=float)
