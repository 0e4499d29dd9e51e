"""The carpet scraper of Saha, section 4.4: a Hoeken linkage and a pantograph."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..planar_geometry import Point, dyad, near, polar

CRANK, ROCKER, HALF_COUPLER = 0.038, 0.115, 0.115

ROCKER_PIVOT, BOOM_PIVOT = Point(-0.089, 0.0), Point(0.038, 0.410)

BOOM_TO_BAR, BAR = 0.096, 0.239


def close(crank: Scalar) -> list[Scalar]:
    """Return all seven angles, in the order crank, rocker, coupler, boom, upper bar, arm, lower bar."""
    pin = polar(CRANK, crank)
    middle = dyad(ROCKER_PIVOT, pin, ROCKER, HALF_COUPLER, side=1)
    rocker, coupler = middle.minus(ROCKER_PIVOT).angle, pin.minus(middle).angle
    drawn = middle.plus(middle).minus(pin)  # the coupler's other end, point B of the source
    hinge = dyad(BOOM_PIVOT, drawn, BOOM_TO_BAR, BAR, side=1)
    boom, upper = hinge.minus(BOOM_PIVOT).angle, drawn.minus(hinge).angle
    bent = near(upper - boom, -1.5)
    return [
        crank,
        near(rocker, 1.2),
        near(coupler - rocker, -2.2),
        near(boom, -0.7),
        bent,
        bent,  # rhombus: the arm is parallel to the upper bar,
        -math.pi - bent,  # and the lower bar to the boom, the other way
    ]


SYSTEM = GallerySystem(
    About(
        "carpet-scraper",
        "carpet scraper: Hoeken linkage and pantograph, seven links and three loops",
        "Saha section 4.4, Table 5",
        (
            "Mass centers are not in Table 5. Its inertias about link origins are m L^2 / 3 of uniform bars (m L^2 / "
            "12 for the coupler, whose origin is its middle), so mass centers are put mid-length; the arm 2^0 "
            "follows from its 2.449 kg m^2 with 10.5 kg: 0.8365 m, which is 3.5 times 0.239 m, the pantograph's "
            "ratio.",
            "On which sides the elbows lie is in a lost figure. Rocker and coupler meet above the base, as in "
            "four-bar; the pantograph's elbow lies to the right, boom pointing right and down, as in the robotic leg, "
            "which has the same structure. To the left it assembles, too, and the driving torque is then between -45 "
            "and 65 N m instead of -69 and 100 N m.",
            "Gravity along -y, as in the source's companion systems; the crank starts at the angle 0.",
        ),
    ),
    ("crank_joint",),
    (0.0, 4.0 / 3.0),
    "one turn of the crank at 45 rpm (3 pi/2 rad/s), from the angle 0",
    lambda t: close(1.5 * math.pi * t),
)
