"""The five-bar parallel manipulator of Saha, section 3.5."""

from __future__ import annotations

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..motion_laws import DEGREE, cycloid
from ..planar_geometry import Point, dyad, near, polar

ARMS, FOREARMS = (0.6, 0.7), (1.1, 1.2)

BASE = 1.2

DURATION = 20.0

FREE_FALL = (80.0 * DEGREE, 70.0 * DEGREE)


def close(first: Scalar, second: Scalar) -> list[Scalar]:
    """Return arm and forearm of leg 1, arm and forearm of leg 2; the tip below the elbows."""
    elbows = polar(ARMS[0], first), Point(BASE, 0.0).plus(polar(ARMS[1], second))
    tip = dyad(*elbows, *FOREARMS, side=-1)
    forearms = [tip.minus(elbow).angle for elbow in elbows]
    return [first, near(forearms[0] - first, -1.5), second, near(forearms[1] - second, -3.0)]


def along_the_trajectory(t: Scalar) -> list[Scalar]:
    """Return all angles at a time: both arms follow the cycloid of Saha eq. 22a and 35."""
    return close(*cycloid(t, DURATION, (30.0 * DEGREE, 30.0 * DEGREE), (90.0 * DEGREE, 70.3 * DEGREE)))


SYSTEM = GallerySystem(
    About(
        "five-bar",
        "five-bar planar parallel manipulator",
        "Saha section 3.5, eq. 34-36",
        (
            "The length of the base a_0, the sense of leg 2's angle and the side of the tip are in a lost figure. "
            "They were searched: base from 0.1 m in steps of 0.1 m (all other lengths have one decimal) up to where "
            "nothing assembles any more, leg 2 counted like leg 1 or mirrored, tip above or below the elbows. The "
            "trajectory must assemble all the way, and the free fall from 80 and 70 degrees meet its first singular "
            "position (forearms in line) at a time that rounds to the stated 1.4 s. Of the 68 readings that "
            "assemble, one does: a_0 = 1.2 m, both angles counterclockwise from the x axis, tip below the elbows; it "
            "gets there at 1.37 s (along this branch the time falls smoothly from 1.49 s at 1.1 m to 1.33 s at 1.3 "
            "m).",
            "Slender uniform bars; x along the base, gravity along -y.",
        ),
    ),
    ("arm_1_joint", "arm_2_joint"),
    (0.0, DURATION),
    "cycloid in 20 s: arm 1 from 30 to 90 degrees, arm 2 from 30 to 70.3 degrees",
    along_the_trajectory,
    {"free-fall": lambda: close(*FREE_FALL)},
)
