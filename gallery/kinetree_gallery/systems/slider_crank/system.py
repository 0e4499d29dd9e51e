"""A slider-crank mechanism, as in every piston engine."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar, arctan2, cos, sin, sqrt
from kinetree.studies.system import About, GallerySystem

CRANK, ROD = 0.1, 0.3


def close(crank: Scalar) -> list[Scalar]:
    """Return crank angle, rod angle relative to the crank, position of the slider."""
    high = CRANK * sin(crank)
    reach = sqrt(ROD * ROD - high * high)
    return [crank, arctan2(-high, reach) - crank, CRANK * cos(crank) + reach]


SYSTEM = GallerySystem(
    About(
        "slider-crank",
        "slider-crank mechanism",
        "an example of ReDySim; the data is ours",
        (
            "ReDySim's crank and rod are equally long, so that the slider passes over the crank's pivot, where the "
            "mechanism is singular. Here the rod is three times the crank: crank 0.1 m 1 kg, rod 0.3 m 1.5 kg, "
            "slender, slider 0.5 kg; the slider runs along x through the crank's pivot, gravity along -y.",
        ),
    ),
    ("crank_joint",),
    (0.0, 1.0),
    "one turn of the crank in one second, from the angle 0",
    lambda t: close(2.0 * math.pi * t),
)
