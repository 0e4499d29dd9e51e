"""A toggle clamp with a spring."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar, sqrt
from kinetree.studies.system import About, GallerySystem

from ..drawn_linkages import DrawnLinkage
from ..motion_laws import DEGREE, cycloid
from ..planar_geometry import Point, dyad, polar

PIVOT, SEAT = Point(0.040, 0.080), Point(0.100, 0.040)

STIFFNESS, REST = 2e5, 0.045

OPEN, BEYOND = -20.0 * DEGREE, 3.0 * DEGREE

DURATION = 1.0


def places(turned: Scalar) -> dict[str, Point]:
    """Return all points: the pin between link and arm by intersecting circles."""
    first = polar(0.030, turned + 0.5 * math.pi)
    second = dyad(first, PIVOT, 0.050, 0.040, side=1)
    pad = Point(PIVOT.x - 1.5 * (second.x - PIVOT.x), PIVOT.y - 1.5 * (second.y - PIVOT.y))
    grip = polar(math.hypot(0.140, 0.050), turned + math.atan2(0.050, -0.140))
    return {"O": Point(0.0, 0.0), "A": first, "B": second, "C": PIVOT, "pad": pad, "seat": SEAT, "grip": grip}


def length(turned: Scalar) -> Scalar:
    """Return the length of the spring."""
    way = places(turned)["pad"].minus(SEAT)
    return sqrt(way.x * way.x + way.y * way.y)


CLAMP = DrawnLinkage("toggle-clamp", "handle", places)

SYSTEM = GallerySystem(
    About(
        "toggle-clamp",
        "toggle clamp with a spring",
        "ours",
        (
            "Handle 30 mm to its pin, link 50 mm, arm 40 mm to the link and 60 mm to the pad. A spring of 200 N/mm "
            "stands for what is clamped; it is fastened at both ends, 45 mm long when relaxed and 40 mm in the toggle "
            "position.",
            "Bars of steel, 20 mm wide with round ends and 5 mm thick; the clamp lies flat. A stop would end the "
            "motion of the handle 3 degrees beyond the toggle position.",
        ),
    ),
    ("O",),
    (0.0, DURATION),
    "the handle by a cycloid in one second from 20 degrees before the toggle position to 3 degrees beyond it",
    lambda t: CLAMP(cycloid(t, DURATION, (OPEN,), (BEYOND,))[0]),
)
