"""A satellite with an arm of seven joints."""

from __future__ import annotations

from ..space_robots import space_system

END = (0.6, -0.5, 0.4, 1.0, -0.5, 0.6, 0.3)

JOINTS = (
    "shoulder_yaw", "shoulder_pitch", "shoulder_roll", "elbow", "wrist_roll", "wrist_pitch", "wrist_twist",
)  # fmt: skip

SYSTEM = space_system("space-7-link", "satellite with an arm of seven joints", JOINTS, END)
