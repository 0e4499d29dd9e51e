"""The linkage of two windscreen wipers."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar, cos, sin
from kinetree.studies.system import About, GallerySystem

from ..drawn_linkages import DrawnLinkage
from ..planar_geometry import Point, dyad, polar

SWEEP = 0.5 * math.pi

LEVER, GROUND = 0.060, 0.250

CRANK = LEVER * math.sin(0.5 * SWEEP)

ROD = math.sqrt(CRANK**2 + GROUND**2 - LEVER**2)
"""Length at which the lever's pin is in line with the axle in both end positions, so that each stroke takes half a
turn."""

AXLE = Point(ROD, -LEVER * math.cos(0.5 * SWEEP))

DRAWN = float(dyad(AXLE, Point(0.0, -LEVER), CRANK, ROD, side=-1).minus(AXLE).angle)
"""Direction of the crank in the drawing."""

TIE, APART, BLADE = 0.045, 0.450, (0.150, 0.600)

DURATION = 4.0 / 3.0


def places(turned: Scalar) -> dict[str, Point]:
    """Return all points: the lever's pin by intersecting circles, and those that turn with it."""
    crank = AXLE.plus(polar(CRANK, turned + DRAWN))
    pin = dyad(crank, Point(0.0, 0.0), ROD, LEVER, side=1)
    swung = pin.angle + 0.5 * math.pi
    out = Point(-sin(swung), cos(swung))
    found = {"O": AXLE, "A": crank, "B": pin, "C": Point(0.0, 0.0), "D": Point(APART, 0.0)}
    for side, x in (("left", 0.0), ("right", APART)):
        for which, far in zip(("heel", "tip"), BLADE, strict=True):
            found[f"{side}_{which}"] = Point(x + far * out.x, far * out.y)
    return found | {"K": Point(-TIE * out.x, -TIE * out.y), "L": Point(APART - TIE * out.x, -TIE * out.y)}


LINKAGE = DrawnLinkage("wiper", "crank", places)

SYSTEM = GallerySystem(
    About(
        "wiper",
        "two windscreen wipers: a four-bar and a parallelogram",
        "ours; textbook formulas for crank and rocker",
        (
            "A sweep of 90 degrees in equal times both ways, with a lever c = 60 mm and d = 250 mm between the axles: "
            "the crank is a = c sin 45 degrees and the rod b = sqrt(a^2 + d^2 - c^2).",
            "Bars of steel, 15 mm wide with round ends and 3 mm thick; blades from 150 to 600 mm. The windscreen "
            "leans by 35 degrees from level, and it is wet: rubber without friction.",
        ),
    ),
    ("O",),
    (0.0, DURATION),
    "one turn of the crank at 45 rpm, from both blades upright",
    lambda t: LINKAGE(2.0 * math.pi / DURATION * t),
)
