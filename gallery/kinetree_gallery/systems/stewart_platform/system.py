"""A Stewart platform: six legs, each with a universal, a prismatic and a ball joint (our own data)."""

from __future__ import annotations

import math

from kinetree.spatial import Vec3
from kinetree.spatial.exponential import Quaternion, quaternion_product
from kinetree.spatial.scalar import Scalar, arctan2, sin, sqrt
from kinetree.studies.system import About, GallerySystem

from ..motion_laws import there_and_back
from ..spatial_geometry import axis_quaternion, ring, seen_from, turned

FEET = tuple(ring(0.6, degrees) for degrees in (10.0, 110.0, 130.0, 230.0, 250.0, 350.0))

HEADS = tuple(ring(0.35, degrees) for degrees in (50.0, 70.0, 170.0, 190.0, 290.0, 310.0))

HEIGHT, DURATION = 0.7, 2.0

TILT_AXIS = (0.6, 0.8, 0.0)


def close(middle: Vec3, heading: Quaternion) -> list[Scalar]:
    """Return coordinates from the platform's pose: two angles and a length per leg, a quaternion after the first."""
    q: list[Scalar] = []
    for foot, head in zip(FEET, HEADS, strict=True):
        leg = middle + turned(heading, head) - Vec3(*foot)
        above = sqrt(leg.y * leg.y + leg.z * leg.z)
        tilt, lean = arctan2(-leg.y, leg.z), arctan2(leg.x, above)
        q += [tilt, lean, sqrt(leg.dot(leg))]
        if len(q) == 3:
            pitched = quaternion_product(axis_quaternion((1, 0, 0), tilt), axis_quaternion((0, 1, 0), lean))
            q += seen_from(pitched, heading)
    return q


def along_the_motion(t: Scalar) -> list[Scalar]:
    """Return all coordinates: up and back, sideways, tilting about a level axis, turning about the vertical."""
    wave = sin(2.0 * math.pi / DURATION * t)
    middle = Vec3(0.08 * wave, -0.05 * wave, HEIGHT + there_and_back(t, DURATION, 0.1))
    tilt = axis_quaternion(TILT_AXIS, 0.2 * wave)
    return close(middle, quaternion_product(tilt, axis_quaternion((0, 0, 1), there_and_back(t, DURATION, 0.3))))


SYSTEM = GallerySystem(
    About(
        "stewart-platform",
        "Stewart platform with universal-prismatic-spherical legs",
        "ours",
        (
            "Feet on a circle of 0.6 m and heads on one of 0.35 m, at angles that make six triangles; a "
            "leg is a cylinder of 3 kg and a rod of 1.5 kg, the platform a disc of 20 kg.",
            "Cut are the ball joints of legs 2 to 6: a ball is three constraints, a universal joint four. The first "
            "leg carries the platform, so that no coordinates are invented. The coordinate of a prismatic joint is "
            "the length of its leg.",
        ),
    ),
    tuple(f"stroke_{k}" for k in range(1, 7)),
    (0.0, DURATION),
    "the platform heaves 0.1 m, sways, tilts 0.2 rad and turns 0.3 rad within 2 s",
    along_the_motion,
)
