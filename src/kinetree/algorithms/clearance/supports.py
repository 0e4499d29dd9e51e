"""The farthest point of a solid in a direction, and what follows from it alone: its distance from a half space."""

from __future__ import annotations

from ...spatial import Scalar, Vec3, sign, sqrt, where
from .placed_solids import PlacedSolid, Scalars, Separation, smallest

SMALL = 1e-150
"""Lengths below this one have no direction."""


def _sphere(numbers: Scalars, d: Vec3) -> Vec3:
    return d * numbers[0]


def _capsule(numbers: Scalars, d: Vec3) -> Vec3:
    radius, half = numbers
    return Vec3(d.x * radius, d.y * radius, d.z * radius + sign(d.z) * half)


def _box(numbers: Scalars, d: Vec3) -> Vec3:
    return Vec3(*(sign(x) * half for x, half in zip(d, numbers, strict=True)))


def _cylinder(numbers: Scalars, d: Vec3) -> Vec3:
    radius, half = numbers
    across = sqrt(d.x * d.x + d.y * d.y)
    known = across > SMALL
    share = where(known, radius / where(known, across, 1.0), 0.0)
    return Vec3(d.x * share, d.y * share, sign(d.z) * half)


def _ellipsoid(numbers: Scalars, d: Vec3) -> Vec3:
    scaled = Vec3(*(x * r for x, r in zip(d, numbers, strict=True)))
    share = 1.0 / sqrt(scaled.dot(scaled))
    return Vec3(*(x * r * share for x, r in zip(scaled, numbers, strict=True)))


def _convex_hull(numbers: Scalars, d: Vec3) -> Vec3:
    corners = [Vec3(*numbers[k : k + 3]) for k in range(0, len(numbers), 3)]
    found: Vec3 = smallest([(-d.dot(corner), corner) for corner in corners])[1]
    return found


_FARTHEST = {
    "sphere": _sphere, "capsule": _capsule, "box": _box, "cylinder": _cylinder, "ellipsoid": _ellipsoid,
    "convex_hull": _convex_hull,
}  # fmt: skip


def farthest(solid: PlacedSolid, direction: Vec3) -> Vec3:
    """Return the point of a solid that is farthest in the direction of a unit vector, in the world.

    If a whole edge or face is, its middle is returned.
    """
    here = _FARTHEST[solid.kind](solid.numbers, solid.pose.unrotate(direction))
    return solid.pose.point(here)


def reach(solid: PlacedSolid, direction: Vec3) -> Scalar:
    """Return how far a solid reaches in the direction of a unit vector, from the world's origin."""
    return direction.dot(farthest(solid, direction))


def above_plane(plane: PlacedSolid, solid: PlacedSolid) -> Separation:
    """Return the separation of a half space and a solid."""
    up = plane.pose.rotate(Vec3(0.0, 0.0, 1.0))
    lowest = farthest(solid, -up)
    distance = (lowest - plane.pose.translation).dot(up)
    return Separation(distance, lowest - up * distance, lowest, up)
