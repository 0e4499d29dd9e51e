"""Three-link arm of ReDySim in the plane xy, gravity along -y."""

from __future__ import annotations

import math

from ...analyses.redysim_arms import redysim_arm_study

G = 9.81
REACH = [length * math.cos((k + 1) * math.pi) for k, length in enumerate((0.3, 0.25, 0.22))]
MASSES = (0.5, 0.4, 0.3)
"""Links are at 180, 360 and 540 degrees; each joint carries those beyond it."""


def _held(joint: int) -> float:
    return sum(m * G * (sum(REACH[joint:k]) + REACH[k] / 2.0) for k, m in enumerate(MASSES) if k >= joint)


STUDY = redysim_arm_study("three-link", [_held(k) for k in range(3)])
