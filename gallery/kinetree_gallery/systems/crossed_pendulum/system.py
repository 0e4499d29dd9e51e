"""The pendulum of ReDySim: two point masses on crossed axes, gravity along -x."""

from __future__ import annotations

import math

from ..redysim_arms import redysim_arm

SYSTEM = redysim_arm(
    "crossed-pendulum",
    "pendulum on a pendulum, axes crossed, of ReDySim",
    "the hinges from (0, 30) degrees to 60 degrees",
    (0.0, math.pi / 6.0),
    (math.pi / 3.0, math.pi / 3.0),
    1.0,
    "ReDySim calls it the Merioitt-Lebnitz pendulum. Masses are points, without inertia.",
    "ReDySim lets it fall from (0, 30) degrees; there is no example of its inverse dynamics, so that the end of the "
    "motion is ours.",
)
