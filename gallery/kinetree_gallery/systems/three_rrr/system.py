"""The planar 3-RRR parallel manipulator of Shah, section 8.5."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar, cos, sin
from kinetree.studies.system import About, GallerySystem

from ..planar_geometry import Point, dyad, near, polar

ARM, FOREARM, SIDE = 0.4, 0.6, 0.4

SIXTY = math.pi / 3.0

PIVOTS = (Point(0.0, 0.0), Point(1.0, 0.0), Point(0.5, math.sin(SIXTY)))

CENTER, RADIUS, SPEED = Point(0.5, math.sin(SIXTY) / 3.0), math.sin(SIXTY) / 8.0, 4.0

FREE_FALL = (1.0472, -0.8727, 3.7525, 1.3090, 2.9322, 4.1888, 5.7596)
"""Table 8.4: whole degrees, which miss the base's corners by some 17 mm."""


def close(corner: Point, heading: Scalar, elbows: tuple[int, int, int], guess: tuple[float, ...]) -> list[Scalar]:
    """Return all seven angles from the platform's first corner and heading; each within half a turn of its guess.

    ``elbows`` says on which side of the way from pivot to corner each elbow lies: 1 is left.
    """
    corners = (corner, corner.plus(polar(SIDE, heading)), corner.plus(polar(SIDE, heading + SIXTY)))
    legs = zip(PIVOTS, corners, elbows, strict=True)
    joints = [dyad(pivot, end, ARM, FOREARM, side) for pivot, end, side in legs]
    arms = [elbow.minus(pivot).angle for elbow, pivot in zip(joints, PIVOTS, strict=True)]
    forearm = corner.minus(joints[0]).angle
    # forearms 2 and 3 hang on the platform, the third one's angle counts from the platform's second side
    back = [joints[k].minus(corners[k]).angle for k in (1, 2)]
    angles = [
        arms[0], forearm - arms[0], heading - forearm, back[0] - heading, back[1] - heading - SIXTY, arms[1], arms[2],
    ]  # fmt: skip
    return [near(angle, reference) for angle, reference in zip(angles, guess, strict=True)]


def on_the_circle(t: Scalar) -> list[Scalar]:
    """Return all angles with the platform's center on a circle, heading 0; elbows to the left (sin(theta2) < 0)."""
    middle = Point(CENTER.x + RADIUS * cos(SPEED * t), CENTER.y + RADIUS * sin(SPEED * t))
    corner = Point(middle.x - SIDE / 2.0, middle.y - SIDE / 2.0 * math.tan(math.pi / 6.0))
    return close(corner, 0.0 * t, (1, 1, 1), (2.0, -2.3, 0.3, -1.3, 0.1, -1.6, 0.5))


def free_fall() -> list[Scalar]:
    """Return the state of Table 8.4: the first leg and the platform as printed, the other legs closed on the base."""
    first, second, third = FREE_FALL[:3]
    corner = polar(ARM, first).plus(polar(FOREARM, first + second))
    return close(corner, first + second + third, (1, 1, 1), FREE_FALL)


SYSTEM = GallerySystem(
    About(
        "3-rrr",
        "planar 3-RRR parallel manipulator",
        "Shah section 8.5, Tables 8.3 and 8.4",
        (
            "Base and circle are not in the book. As in ReDySim's own example: base an equilateral triangle of side "
            "1 m; the platform's middle on a circle about the base's, radius sqrt(3)/16 m, 4 rad/s, heading 0, "
            "elbows with sin(theta2) < 0; platform with Izz = 0.16 kg m^2 about its middle. Gravity along -y.",
            "Table 8.4 fits this base when the platform's corners are read counterclockwise and the angle of 1^3 from "
            "the platform's second side (60 degrees on): its ground pivots are then 17 mm off at most, for it is "
            "rounded to whole degrees. The start 'free-fall' keeps the first leg and the platform as printed and "
            "closes the two other legs.",
        ),
    ),
    ("arm_1_joint", "arm_2_joint", "arm_3_joint"),
    (0.0, math.pi / 2.0),
    "the platform's middle once round a circle at 4 rad/s, heading 0",
    on_the_circle,
    {"free-fall": free_fall},
)
