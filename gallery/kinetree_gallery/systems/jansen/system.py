"""Theo Jansen's leg."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..drawn_linkages import DrawnLinkage
from ..planar_geometry import Point, dyad, polar

MM = 1e-3

PIVOT = Point(-38.0 * MM, -7.8 * MM)


def places(turned: Scalar) -> dict[str, Point]:
    """Return all points, from the crank on, by intersecting circles."""
    crank = polar(15.0 * MM, turned)
    upper = dyad(crank, PIVOT, 50.0 * MM, 41.5 * MM, side=-1)
    outer = dyad(upper, PIVOT, 55.8 * MM, 40.1 * MM, side=-1)
    lower = dyad(crank, PIVOT, 61.9 * MM, 39.3 * MM, side=1)
    knee = dyad(outer, lower, 39.4 * MM, 36.7 * MM, side=-1)
    foot = dyad(lower, knee, 49.0 * MM, 65.7 * MM, side=1)
    return {"O": Point(0.0, 0.0), "B": PIVOT, "A": crank, "C": upper, "D": outer, "E": lower, "F": knee, "foot": foot}


LEG = DrawnLinkage("jansen", "crank", places)

SYSTEM = GallerySystem(
    About(
        "jansen",
        "Theo Jansen's leg: eight links with the ground, three loops, one crank",
        "Jansen's published lengths; bodies are ours",
        (
            "The thirteen numbers are 38, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49, 50, 61.9, 7.8 and 15; only "
            "their ratios matter. Here they are millimeters: a leg for a table.",
            "Jansen builds of tubes; here bars and both triangles are plates of acrylic (1190 kg/m^3), 8 mm wide with "
            "round ends and 3 mm thick. Gravity along -y; the frame stands still and the foot is in the air.",
        ),
    ),
    ("O",),
    (0.0, 1.0),
    "one turn of the crank in one second, from the angle 0",
    lambda t: LEG(2.0 * math.pi * t),
)
