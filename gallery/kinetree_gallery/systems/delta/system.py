"""A delta robot: three arms, each with two parallel rods, hold a platform level (our own data)."""

from __future__ import annotations

import math
from typing import NamedTuple

from kinetree.spatial import Vec3
from kinetree.spatial.exponential import quaternion_product
from kinetree.spatial.scalar import Scalar, arctan2, cos, sin, sqrt
from kinetree.studies.system import About, GallerySystem

from ..motion_laws import there_and_back
from ..planar_geometry import Point, dyad, near
from ..spatial_geometry import axis_quaternion, seen_from

BASE, PLATFORM = 0.20, 0.06

ARM, ROD = 0.25, 0.60

CORNERS = (0.0, 2.0 * math.pi / 3.0, -2.0 * math.pi / 3.0)

RADIUS, HEIGHT, DURATION = 0.12, -0.55, 2.0


class DeltaSizes(NamedTuple):
    """Radii of the circles of arms and of platform joints, and lengths of arms and rods."""

    base: float
    platform: float
    arm: float
    rod: float


DELTA = DeltaSizes(BASE, PLATFORM, ARM, ROD)


def leg_angles(middle: Vec3, corner: float, sizes: DeltaSizes = DELTA) -> tuple[Scalar, Scalar, Scalar]:
    """Return how far an arm is lowered, and how far its rods swing and lean, from the platform's position."""
    c, s = math.cos(corner), math.sin(corner)
    # the rods' lower end relative to the arm's joint, in the leg's own axes: outward, along the joint, down
    out = c * middle.x + s * middle.y + sizes.platform - sizes.base
    side, down = c * middle.y - s * middle.x, -middle.z
    rod = sizes.rod
    elbow = dyad(Point(0.0, 0.0), Point(out, down), sizes.arm, sqrt(rod * rod - side * side), side=-1)
    way = Vec3(out - elbow.x, side, elbow.y - down)
    swing, lean = arctan2(-way.x, -way.z), arctan2(way.y, sqrt(way.x * way.x + way.z * way.z))
    return elbow.angle, swing, lean


def close(middle: Vec3) -> list[Scalar]:
    """Return all coordinates from the platform's position: an arm and two pairs of rod angles per leg.

    The platform's quaternion, on its ball joint with the first rod, comes after the first leg's first rod.
    """
    q: list[Scalar] = []
    for corner in CORNERS:
        arm, swing, lean = leg_angles(middle, corner)
        pair = [near(swing - arm, 0.0), lean]
        q += [arm, *pair]
        if len(q) == 3:
            hung = quaternion_product(axis_quaternion((0, 1, 0), swing), axis_quaternion((1, 0, 0), lean))
            q += seen_from(hung, (0.0, 0.0, 0.0, 1.0))
        q += pair
    return q


def along_the_motion(t: Scalar) -> list[Scalar]:
    """Return all coordinates at a time: once around a level circle, while dipping and rising again."""
    turn = 2.0 * math.pi / DURATION * t
    return close(Vec3(RADIUS * cos(turn), RADIUS * sin(turn), HEIGHT - there_and_back(t, DURATION, 0.08)))


SYSTEM = GallerySystem(
    About(
        "delta",
        "spatial delta robot with two parallel rods per arm",
        "ours",
        (
            "Arms of 0.25 m on a circle of 0.2 m, six rods of 0.6 m in pairs 0.12 m apart, platform joints on a "
            "circle of 0.06 m; arms 0.8 kg, rods 0.1 kg each (tubes), platform 0.4 kg.",
            "A rod has a universal joint at the arm and a ball joint at the platform: with two balls it could spin, "
            "a freedom of no use. So nothing is redundant and nothing idle: 18 freedoms of the tree, 15 constraints, "
            "three freedoms. Cut are five of the six ball joints (three constraints each); the first rod carries the "
            "platform.",
        ),
    ),
    tuple(f"shoulder_{k}" for k in (1, 2, 3)),
    (0.0, DURATION),
    "the platform once round a level circle of 0.12 m in 2 s, dipping 0.08 m",
    along_the_motion,
)
