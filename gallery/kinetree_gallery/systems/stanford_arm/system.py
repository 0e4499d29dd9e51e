"""The Stanford arm of Saha."""

from __future__ import annotations

import math

from kinetree.studies.system import About, GallerySystem

from ..motion_laws import cycloid
from ..printed_arms import READING, SIX

START = (0.0, math.pi / 2.0, 0.0, 0.0, 0.0, 0.0)

END = (math.pi / 3.0, math.pi / 3.0, 0.1, math.pi / 3.0, math.pi / 3.0, math.pi / 3.0)

SYSTEM = GallerySystem(
    About(
        "stanford-arm",
        "Stanford arm: five hinges and a slide",
        "Saha section 2.5.2, Table 4",
        (
            READING,
            "Here that puts the mass center of link 4 0.1 m beyond its end and that of the hand 0.2 m behind the "
            "wrist; with r_i as the mass center itself both would look more natural. We keep to what Saha says; the "
            "study shows what the other reading would change.",
            "Gravity along -z_1, which Saha does not say; so the slide hangs horizontally at the start of the motion.",
            "Free fall starts from the initial values of Table 4(a), all zero, where the slide points straight down.",
        ),
    ),
    SIX,
    (0.0, 10.0),
    "hinges by the cycloid from (0, 90, -, 0, 0, 0) to 60 degrees, the slide from 0 to 0.1 m, within 10 s",
    lambda t: cycloid(t, 10.0, START, END),
    {"free-fall": lambda: (0.0,) * 6},
)
