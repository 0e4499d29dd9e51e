"""A coin that rolls in a circle, leaning inward: the steady motion of a disk on a rough table."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar, cos, sin
from kinetree.studies.system import About, GallerySystem

MASS, RADIUS, ACROSS, ALONG = 1.3, 0.25, 0.0203125, 0.040625
TILT, TURN, GRAVITY = 1.1, 3.0, 9.81


def spin() -> float:
    """Return the angular velocity about the coin's axis, for the steady motion.

    (C + m r^2) spin turn sin - A turn^2 sin cos + m g r cos = 0, of the angle between axis and vertical.
    """
    s, c = math.sin(TILT), math.cos(TILT)
    return (ACROSS * TURN**2 * s * c - MASS * GRAVITY * RADIUS * c) / ((ALONG + MASS * RADIUS**2) * TURN * s)


def circle(t: Scalar) -> list[Scalar]:
    """Return position and quaternion: turned about the vertical, by the tilt about x, and about the coin's axis."""
    about_vertical, own = 0.5 * TURN * t, 0.5 * (spin() - TURN * math.cos(TILT)) * t
    lean = math.sin(0.5 * TILT), math.cos(0.5 * TILT)
    way = RADIUS * spin() / TURN
    return [
        way * -sin(TURN * t),
        way * (cos(TURN * t) - 1.0),
        RADIUS * math.sin(TILT) + 0.0 * t,
        lean[0] * cos(about_vertical - own),
        lean[0] * sin(about_vertical - own),
        lean[1] * sin(about_vertical + own),
        lean[1] * cos(about_vertical + own),
    ]


SYSTEM = GallerySystem(
    About(
        "rolling-coin",
        "a coin rolling in a circle without slipping",
        "Featherstone section 7.4.4 names rolling; steady motion of a disk, the data is ours",
        ("A thin disk of 1.3 kg and 0.25 m in radius leans by 63 degrees and goes round three times in 2 pi seconds.",),
    ),
    ("turn",),
    (0.0, 2.0 * math.pi / TURN),
    "once round the circle in the steady motion",
    circle,
)
