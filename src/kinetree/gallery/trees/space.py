"""Robots that float in space: ReDySim has examples of these kinds; the data are ours."""

from __future__ import annotations

from collections.abc import Sequence

from ...spatial.scalar import Scalar
from ..laws import cycloid
from ..system import About, System

DURATION = 10.0

OURS = (
    "ReDySim has a manipulator of 3 links, one of 7 and one with two arms on a free base; their data are not in the "
    "book. Sizes and masses are ours, those of a small servicing satellite.",
    "Nothing holds the satellite and nothing pulls on it. The prescribed motion is that of the arm's joints; where the "
    "satellite goes follows from the momentum, which is zero. States of the motion have it at rest where it starts.",
)


def reaching(end: Sequence[float], t: Scalar) -> list[Scalar]:
    """The satellite where it starts; the arm's joints by the cycloid from zero."""
    return [0.0] * 6 + cycloid(t, DURATION, [0.0] * len(end), end)


THREE_END = (0.8, -1.2, 0.6)
SEVEN_END = (0.6, -0.5, 0.4, 1.0, -0.5, 0.6, 0.3)
DUAL_END = (0.3, -0.5, 1.0, -0.4, -0.5, 0.4, 0.8, 0.3)

SEVEN_JOINTS = (
    "shoulder_yaw", "shoulder_pitch", "shoulder_roll", "elbow", "wrist_roll", "wrist_pitch", "wrist_twist",
)  # fmt: skip
DUAL_JOINTS = tuple(f"{s}_{j}" for s in ("left", "right") for j in ("shoulder_yaw", "shoulder_pitch", "elbow", "wrist"))


def _system(name: str, title: str, joints: tuple[str, ...], end: tuple[float, ...]) -> System:
    listed = ", ".join(f"{x:g}" for x in end)
    return System(
        About(name, title, "an example of ReDySim; data ours", OURS),
        joints,
        (0.0, DURATION),
        f"the joints by the cycloid from zero to ({listed}) rad within {DURATION:g} s",
        lambda t: reaching(end, t),
    )


THREE_LINK = _system(
    "space-3-link", "satellite with an arm of three links", tuple(f"joint_{k}" for k in (1, 2, 3)), THREE_END
)
SEVEN_LINK = _system("space-7-link", "satellite with an arm of seven joints", SEVEN_JOINTS, SEVEN_END)
DUAL_ARM = _system("space-dual-arm", "satellite with two arms of four joints", DUAL_JOINTS, DUAL_END)
