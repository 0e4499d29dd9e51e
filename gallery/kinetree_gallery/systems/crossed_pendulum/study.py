"""The pendulum of ReDySim: two point masses on crossed axes, gravity along -x."""

from __future__ import annotations

import math

from ...analyses.redysim_arms import redysim_arm_study

G, UP, DOWN, LENGTH, M1, M2 = 9.81, 0.19, 0.17, 0.18, 1.0, 1.1176
COS, SIN = math.cos(math.pi / 3.0), math.sin(math.pi / 3.0)
# heights, along x: M1 at -UP sin(q1); M2 at DOWN sin(q1) - LENGTH cos(q1) cos(q2)
FIRST = G * (-M1 * UP * COS + M2 * (DOWN * COS + LENGTH * SIN * COS))
SECOND = G * M2 * LENGTH * COS * SIN

STUDY = redysim_arm_study("crossed-pendulum", (FIRST, SECOND))
