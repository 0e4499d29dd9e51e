"""Klann's leg."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..drawn_linkages import DrawnLinkage
from ..planar_geometry import Point, dyad, polar

AXLE, UPPER, LOWER = Point(0.1599, 0.075), Point(0.1366, 0.1366), Point(0.1009, 0.0574)


def places(turned: Scalar) -> dict[str, Point]:
    """Return all points, from the crank on, by intersecting circles."""
    crank = AXLE.plus(polar(0.0268, turned))
    elbow = dyad(crank, LOWER, 0.059, 0.03206, side=-1)
    knee = dyad(crank, elbow, 0.11051, 0.05221, side=-1)
    hip = dyad(knee, UPPER, 0.08966, 0.05177, side=1)
    foot = dyad(knee, hip, 0.08966, 0.1732, side=-1)
    return {"O": AXLE, "U": UPPER, "L": LOWER, "A": crank, "B": elbow, "knee": knee, "hip": hip, "foot": foot}


LEG = DrawnLinkage("klann", "crank", places)

SYSTEM = GallerySystem(
    About(
        "klann",
        "Klann's leg: six links with the ground, two loops, one crank",
        "Klann, US patent 6,260,862; bodies are ours",
        (
            "The example of the patent as it is commonly cited, with the stride as the unit: the axle at (1.599, "
            "0.750), the rockers' pivots at (1.366, 1.366) and (1.009, 0.574), and lengths that are rounded to four "
            "digits, as 0.268 for 2 - sqrt(3). Here the unit is 100 mm.",
            "Bodies are plates of acrylic (1190 kg/m^3), 8 mm wide with round ends and 3 mm thick. Gravity along -y; "
            "the frame stands still and the foot is in the air.",
        ),
    ),
    ("O",),
    (0.0, 1.0),
    "one turn of the crank in one second, from the angle 0",
    lambda t: LEG(2.0 * math.pi * t),
)
