"""PPPR robot of ReDySim; all slides are level, gravity is along -x."""

from __future__ import annotations

from ...analyses.redysim_arms import redysim_arm_study

STUDY = redysim_arm_study("pppr-robot", (0.0, 0.0, 0.0, 0.0), "N, N m", fall=None)
