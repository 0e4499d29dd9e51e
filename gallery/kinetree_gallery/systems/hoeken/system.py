"""Hoeken's straight-line linkage."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..four_bar_linkage import BarLengths, directions
from ..planar_geometry import Point, near

BARS = BarLengths(0.1, 0.25, 0.25, Point(0.2, 0.0))


def close_hoeken(crank: Scalar) -> list[Scalar]:
    """Return crank, rocker and coupler angle: the elbow above the base."""
    rocker, coupler = directions(BARS, crank, side=-1)
    return [crank, near(rocker, 1.5), near(coupler - rocker, 1.5)]


SYSTEM = GallerySystem(
    About(
        "hoeken",
        "Hoeken's straight-line linkage",
        "an example of ReDySim; its proportions are Hoeken's own",
        (
            "ReDySim's example of this name has the data of four-bar. Here the bars are in Hoeken's proportions 1 : "
            "2 : 2.5 : 5 (crank, base, rocker and half coupler, whole coupler), for which the pen at the coupler's "
            "free end draws a straight line through half a turn of the crank. Size 0.1 m for 1; bars of 1 kg per "
            "meter, slender, and a pen of 0.1 kg: ours.",
        ),
    ),
    ("crank_joint",),
    (0.0, 2.0),
    "one turn of the crank at pi rad/s, from the angle 0",
    lambda t: close_hoeken(math.pi * t),
)
