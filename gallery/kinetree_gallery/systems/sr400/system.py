"""The Acma SR400 of Khalil: an arm of six axes, two of which act through a parallelogram."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from ..motion_laws import cycloid

START = (0.0, -math.pi / 2.0, 0.0, 0.0, 0.0, -math.pi)

END = (0.8, -1.1, 0.6, -0.7, 0.9, -2.7)

DURATION = 2.0


def close(t1: Scalar, t2: Scalar, t4: Scalar, t5: Scalar, t6: Scalar, t7: Scalar) -> list[Scalar]:
    """Return all eight angles from the six active ones (Khalil example 7.1, quoted in example 10.1)."""
    t3 = math.pi / 2.0 - t2 + t7
    t8 = t2 - t7
    return [t1, t2, t3, t4, t5, t6, t7, t8]


SYSTEM = GallerySystem(
    About(
        "sr400",
        "Acma SR400: six axes, the third driven through a parallelogram",
        "Khalil examples 10.1 and 10.2",
        (
            "Khalil gives the geometry in symbols and no masses. Sizes taken: d2 = 0.15, d3 = 0.8, d4 = 0.1, RL4 = 1.0 "
            "and d8 = 0.4 m; masses from 60 kg for the turret down to 1.5 kg for the flange, links as boxes and rods "
            "of that size. They are an arm of about that robot's class, not that robot.",
            "The motion is ours: the upper arm starts upright and the forearm level (theta2 = -pi/2, theta7 = -pi).",
        ),
    ),
    tuple(f"joint_{k}" for k in (1, 2, 4, 5, 6, 7)),
    (0.0, DURATION),
    "cycloid in 2 s of all six active axes, upper arm upright and forearm level at the start",
    lambda t: close(*cycloid(t, DURATION, START, END)),
)
