"""A ball that rolls down a plane without slipping (Featherstone section 7.4.4)."""

from __future__ import annotations

from kinetree.spatial.scalar import Scalar, cos, sin
from kinetree.studies.system import About, GallerySystem

RADIUS, ALONG = 0.1, 5.886


def roll(t: Scalar) -> list[Scalar]:
    """Return position and quaternion of a ball that rolls down from rest: 5/7 of gravity along the plane."""
    way = 5.0 / 14.0 * ALONG * t * t
    half = 0.5 / RADIUS * way
    return [way, 0.0 * way, RADIUS + 0.0 * way, 0.0 * way, sin(half), 0.0 * way, cos(half)]


SYSTEM = GallerySystem(
    About(
        "rolling-ball",
        "a ball rolling down a plane without slipping",
        "Featherstone section 7.4.4; the data is ours",
        (
            "The text has no numbers: a solid ball of 2 kg and 0.1 m in radius, on a plane that falls by 3 on 5.",
            "The ball is carried by three slides and a ball joint; that it touches the plane and does not slip is a "
            "loop joint.",
        ),
    ),
    ("turn",),
    (0.0, 1.0),
    "from rest down the plane, as the ball rolls by itself",
    roll,
)
