"""Two-link arm of ReDySim in the plane xy, gravity along -y."""

from __future__ import annotations

import math

from ...analyses.redysim_arms import redysim_arm_study

L1, L2, M1, M2, G = 0.3, 0.25, 0.5, 0.4, 9.81
FIRST = math.cos(math.pi / 3.0)
BOTH = math.cos(math.pi / 3.0 + math.pi / 2.0)
SECOND_WEIGHT = M2 * G * L2 / 2.0 * BOTH

STUDY = redysim_arm_study("two-link", ((M1 / 2.0 + M2) * G * L1 * FIRST + SECOND_WEIGHT, SECOND_WEIGHT))
