"""PPPR robot of ReDySim; all slides are level, gravity is along -x."""

from __future__ import annotations

import math

from ..redysim_arms import redysim_arm

SYSTEM = redysim_arm(
    "pppr-robot",
    "three slides and a hinge, of ReDySim",
    "the slides from 0.05 m to 0.1 m, the hinge from zero to 90 degrees",
    (0.05, 0.05, 0.05, 0.0),
    (0.1, 0.1, 0.1, math.pi / 2.0),
    1.0,
    "ReDySim's table makes the first and the third slide parallel: it turns the frame of the third by a right angle, "
    "where a turn of the second would make three directions. It is kept as it is.",
)
