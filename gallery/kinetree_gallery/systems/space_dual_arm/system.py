"""A satellite with two arms of four joints."""

from __future__ import annotations

from ..space_robots import space_system

END = (0.3, -0.5, 1.0, -0.4, -0.5, 0.4, 0.8, 0.3)

JOINTS = tuple(f"{s}_{j}" for s in ("left", "right") for j in ("shoulder_yaw", "shoulder_pitch", "elbow", "wrist"))

SYSTEM = space_system("space-dual-arm", "satellite with two arms of four joints", JOINTS, END)
