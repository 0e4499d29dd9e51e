"""Two-link arm of ReDySim in the plane xy, gravity along -y."""

from __future__ import annotations

import math

from ..redysim_arms import redysim_arm

SYSTEM = redysim_arm(
    "two-link", "two-link arm, of ReDySim", "the hinges from zero to (60, 90) degrees",
    (0.0, 0.0), (math.pi / 3.0, math.pi / 2.0), 10.0,
)  # fmt: skip
