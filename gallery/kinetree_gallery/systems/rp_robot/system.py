"""RP robot of ReDySim in the plane xy, gravity along -y."""

from __future__ import annotations

import math

from ..redysim_arms import redysim_arm

SYSTEM = redysim_arm(
    "rp-robot",
    "arm with a hinge and a slide, of ReDySim",
    "the hinge from zero to 90 degrees, the slide from 0.15 m to 0.3 m",
    (0.0, 0.15),
    (math.pi / 2.0, 0.3),
    10.0,
)
