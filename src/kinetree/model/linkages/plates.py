"""Mass, center and second moments of flat bars and plates, over any scalar, since they change with the points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...spatial import Scalar, arctan2, sqrt

Point = tuple[Scalar, Scalar]
Moments = tuple[Scalar, Scalar, Scalar]
"""Second moments: xx, xy and yy."""


class Lump(NamedTuple):
    """A mass in the plane: its center, and its second moments about the center."""

    mass: Scalar = 0.0
    center: Point = (0.0, 0.0)
    second: Moments = (0.0, 0.0, 0.0)


def together(lumps: Sequence[Lump]) -> Lump:
    """Return several masses as one body."""
    if len(lumps) < 2:
        return lumps[0] if lumps else Lump()
    mass = sum(lump.mass for lump in lumps)
    x, y = (sum(lump.mass * lump.center[k] for lump in lumps) / mass for k in (0, 1))
    xx, xy, yy = 0.0, 0.0, 0.0
    for m, (cx, cy), (sxx, sxy, syy) in lumps:
        dx, dy = cx - x, cy - y
        xx, xy, yy = xx + sxx + m * dx * dx, xy + sxy + m * dx * dy, yy + syy + m * dy * dy
    return Lump(mass, (x, y), (xx, xy, yy))


class Region(NamedTuple):
    """A region of the plane: the integrals of 1, of (x, y) and of their products, about the origin."""

    area: Scalar = 0.0
    first: Point = (0.0, 0.0)
    second: Moments = (0.0, 0.0, 0.0)

    def __add__(self, other: Region) -> Region:  # type: ignore[override]
        first = tuple(a + b for a, b in zip(self.first, other.first, strict=True))
        second = tuple(a + b for a, b in zip(self.second, other.second, strict=True))
        return Region(self.area + other.area, first, second)  # type: ignore[arg-type]

    def lump(self, mass: Scalar) -> Lump:
        """Return a mass that is distributed evenly over the region."""
        x, y = self.first[0] / self.area, self.first[1] / self.area
        (hx, hy), (xx, xy, yy), each = self.first, self.second, mass / self.area
        return Lump(mass, (x, y), (each * (xx - x * hx), each * (xy - x * hy), each * (yy - y * hy)))


def _of_triangles(corners: Sequence[Point]) -> Region:
    """Return a counterclockwise polygon as triangles from the origin to its edges; clockwise ones are subtracted."""
    found = Region()
    for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
        twice = ax * by - ay * bx
        xx, yy = ax * ax + ax * bx + bx * bx, ay * ay + ay * by + by * by
        xy = ax * ay + bx * by + 0.5 * (ax * by + bx * ay)
        moments = twice * xx / 12.0, twice * xy / 12.0, twice * yy / 12.0
        found = found + Region(twice / 2.0, (twice * (ax + bx) / 6.0, twice * (ay + by) / 6.0), moments)
    return found


def _corner(p: Point, n: Point, m: Point, angle: Scalar, r: Scalar) -> Region:
    """Return the sector of a disk around ``p`` from the direction of one unit vector to that of another."""
    area, third, fourth = r * r * angle / 2.0, r * r * r / 3.0, r * r * r * r / 8.0
    (x, y), hx, hy = p, third * (m[1] - n[1]), third * (n[0] - m[0])
    even, odd = m[0] * m[1] - n[0] * n[1], 0.5 * (n[0] * n[0] - n[1] * n[1] - m[0] * m[0] + m[1] * m[1])
    xx, xy, yy = fourth * (angle + even), fourth * odd, fourth * (angle - even)  # about p
    moved = (
        xx + 2.0 * x * hx + area * x * x, xy + x * hy + y * hx + area * x * y, yy + 2.0 * y * hy + area * y * y,
    )  # fmt: skip
    return Region(area, (hx + area * x, hy + area * y), moved)


def rounded_plate(corners: Sequence[Point], width: Scalar) -> Region:
    """Return the region within half a width of a segment, or of a convex polygon whose corners go counterclockwise."""
    r, normals = width / 2.0, []
    found = _of_triangles(corners) if len(corners) > 2 else Region()
    for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
        length = sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay))
        nx, ny = (by - ay) / length, (ax - bx) / length
        normals.append((nx, ny))
        outer = (ax + r * nx, ay + r * ny), (bx + r * nx, by + r * ny)
        found = found + _of_triangles([(ax, ay), *outer, (bx, by)])
    for k, p in enumerate(corners):
        n, m = normals[k - 1], normals[k]
        # at the end of a segment, the angle is plus or minus half a turn, depending on rounding
        turn = arctan2(n[0] * m[1] - n[1] * m[0], n[0] * m[0] + n[1] * m[1]) if len(corners) > 2 else math.pi
        found = found + _corner(p, n, m, turn, r)
    return found


def spread(corners: Sequence[Point], mass: Scalar | None, width: Scalar | None, per_area: Scalar | None) -> Lump:
    """Return a uniform bar or plate between corners, from its mass, or from its mass per area.

    Without a width, bars are lines, and plates end at their corners.
    """
    ox, oy = corners[0]  # moments about one of its corners lose no digits
    near = [(x - ox, y - oy) for x, y in corners]
    if width is None and len(corners) == 2:
        dx, dy = near[1]
        lump = Lump(mass, (dx / 2.0, dy / 2.0), (mass * dx * dx / 12.0, mass * dx * dy / 12.0, mass * dy * dy / 12.0))
    else:
        region = _of_triangles(near) if width is None else rounded_plate(near, width)
        lump = region.lump(per_area * region.area if mass is None else mass)
    return lump._replace(center=(lump.center[0] + ox, lump.center[1] + oy))


def hull(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the corners of the convex hull, counterclockwise; two if all points are on one line."""
    order = sorted(range(len(points)), key=lambda k: points[k])

    def chain(rest: Sequence[int]) -> list[int]:
        found: list[int] = []
        for k in rest:
            while len(found) > 1 and _turn(points[found[-2]], points[found[-1]], points[k]) <= 0.0:
                found.pop()
            found.append(k)
        return found

    return [*chain(order)[:-1], *chain(order[::-1])[:-1]]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Return twice the area of a triangle; zero for points on a line, within rounding."""
    (ux, uy), (vx, vy) = (b[0] - a[0], b[1] - a[1]), (c[0] - a[0], c[1] - a[1])
    twice = ux * vy - uy * vx
    return 0.0 if abs(twice) <= 1e-9 * (ux * ux + uy * uy + vx * vx + vy * vy) else twice
