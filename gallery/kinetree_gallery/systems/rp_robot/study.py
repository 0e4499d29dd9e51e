"""RP robot of ReDySim in the plane xy, gravity along -y."""

from __future__ import annotations

from ...analyses.redysim_arms import redysim_arm_study

STUDY = redysim_arm_study("rp-robot", (-0.5 * 9.81 * (0.3 - 0.15), 0.0), "N m, N", fall=0.5)
