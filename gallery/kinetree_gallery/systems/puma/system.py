"""The PUMA of Saha."""

from __future__ import annotations

import math

from kinetree.studies.system import About, GallerySystem

from ..motion_laws import cycloid
from ..printed_arms import READING, SIX

SYSTEM = GallerySystem(
    About(
        "puma",
        "PUMA: an arm with six hinges",
        "Saha section 2.5.1, Table 3",
        (
            READING,
            "With this reading every mass center lies within its link (0.14 m along the upper arm of 0.432 m, 0.197 m "
            "along the forearm); with r_i as the mass center itself that of link 2 would lie 0.292 m beyond its end.",
            "Gravity along -z_1, which Saha does not say.",
        ),
    ),
    SIX,
    (0.0, 10.0),
    "all joints by the cycloid from 0 to pi within 10 s",
    lambda t: cycloid(t, 10.0, [0.0] * 6, [math.pi] * 6),
    {"free-fall": lambda: (0.0,) * 6},
)
