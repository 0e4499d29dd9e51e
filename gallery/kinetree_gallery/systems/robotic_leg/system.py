"""The robotic leg of Shah, section 8.4: a Hoeken linkage draws a line, a pantograph magnifies it."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..planar_geometry import Point, dyad, near, polar

CRANK, ROCKER, HALF_COUPLER = 0.025, 0.0625, 0.0625

ROCKER_PIVOT, THIGH_PIVOT = Point(0.05, 0.0), Point(0.07, -0.03)

THIGH_TO_BAR, UPPER_BAR = 0.05, 0.075


def close(crank: Scalar) -> list[Scalar]:
    """Return all seven angles, in the order crank, rocker, coupler, thigh, upper bar, shank, lower bar."""
    pin = polar(CRANK, crank)
    middle = dyad(ROCKER_PIVOT, pin, ROCKER, HALF_COUPLER, side=1)
    rocker, coupler = middle.minus(ROCKER_PIVOT).angle, pin.minus(middle).angle
    drawn = middle.plus(middle).minus(pin)  # the coupler's other end
    hinge = dyad(THIGH_PIVOT, drawn, THIGH_TO_BAR, UPPER_BAR, side=1)
    thigh, upper = hinge.minus(THIGH_PIVOT).angle, drawn.minus(hinge).angle
    bent = near(upper - thigh, -1.46)
    return [
        crank,
        near(rocker, 4.5),
        near(coupler - rocker, -2.7),
        near(thigh, -0.9),
        bent,
        bent,  # parallelogram: the shank is parallel to the upper bar,
        -math.pi - bent,  # and the lower bar to the thigh, the other way
    ]


SYSTEM = GallerySystem(
    About(
        "robotic-leg",
        "robotic leg: Hoeken linkage and pantograph, seven links and three loops",
        "Shah section 8.4, Table 8.2",
        (
            "Pivots and attachments are in a lost figure. Those of ReDySim's own example close all loops and give "
            "the Jacobian the zeros of eq. 8.11: crank at (0, 0), rocker at (0.050, 0), thigh at (0.070, -0.030) m; "
            "upper bar 0.050 m along the thigh, shank at its end, lower bar 0.075 m along the shank.",
            "Mass centers: the coupler's on its joint with the rocker, all others mid-length; slender bars. Gravity "
            "along -y.",
        ),
    ),
    ("crank_joint",),
    (0.0, 4.0 / 3.0),
    "one turn of the crank at 45 rpm (3 pi/2 rad/s), from the angle 0",
    lambda t: close(1.5 * math.pi * t),
)
