"""Three-link arm of ReDySim in the plane xy, gravity along -y."""

from __future__ import annotations

import math

from ..redysim_arms import redysim_arm

SYSTEM = redysim_arm(
    "three-link", "three-link arm, of ReDySim", "the hinges from zero to 180 degrees",
    (0.0,) * 3, (math.pi,) * 3, 10.0,
)  # fmt: skip
