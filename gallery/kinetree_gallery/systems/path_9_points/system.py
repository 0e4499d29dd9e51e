"""A four-bar through nine points."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..drawn_linkages import DrawnLinkage
from ..planar_geometry import Point, dyad, polar

CRANK, COUPLER, ROCKER = 0.035, 0.090, 0.075

PIVOT, PEN = Point(0.100, 0.020), (0.060, 0.055)


def places(turned: Scalar) -> dict[str, Point]:
    """Return all points, from the crank on, by intersecting circles."""
    pin = polar(CRANK, turned + 0.5 * math.pi)
    elbow = dyad(pin, PIVOT, COUPLER, ROCKER, side=1)
    return {"O": Point(0.0, 0.0), "C": PIVOT, "A": pin, "B": elbow, "P": dyad(pin, elbow, *PEN, side=1)}


LINKAGE = DrawnLinkage("path-9-points", "crank", places)

SYSTEM = GallerySystem(
    About(
        "path-9-points",
        "four-bar whose coupler curve goes through nine points",
        "ours; nine points as Burmester, Roth and Freudenstein ask for",
        (
            "Crank 35 mm, coupler 90 mm, rocker 75 mm, ground pivots at (0, 0) and (100, 20) mm, the coupler point 60 "
            "mm and 55 mm from the coupler's pins. The nine points are where that point is after every 40 degrees of "
            "the crank, to full precision.",
            "Bars of steel, 10 mm wide with round ends and 3 mm thick, the coupler a plate; gravity along -y.",
        ),
    ),
    ("O",),
    (0.0, 1.0),
    "one turn of the crank in one second, from the drawing",
    lambda t: LINKAGE(2.0 * math.pi * t),
)
