"""A humanoid with twelve ball joints and four hinges on a free pelvis."""

from __future__ import annotations

from kinetree.spatial.scalar import Scalar, cos, sin
from kinetree.studies.system import About, GallerySystem

from ..motion_laws import there_and_back

DURATION = 2.0

STANDING = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.95)
"""The pelvis upright, soles on z = 0: quaternion (x, y, z, w), then the place."""

ARMS = {
    "left": {"sternum": (0.1, 0.1, 0.2), "shoulder": (-1.2, 0.4, 0.3), "elbow": (-1.0,), "wrist": (0.3, 0.2, -0.4)},
    "right": {"sternum": (-0.1, -0.1, 0.1), "shoulder": (0.6, -0.2, 0.1), "elbow": (-0.5,), "wrist": (-0.1, 0.1, 0.2)},
}

LEGS = {
    "left": {"hip": (-0.9, 0.2, 0.1), "knee": (1.2,), "ankle": (-0.3, -0.1, 0.1)},
    "right": {"hip": (0.3, -0.1, 0.0), "knee": (0.4,), "ankle": (-0.5, 0.1, 0.0)},
}

REACH: dict[str, tuple[float, ...]] = {
    "waist": (0.3, 0.1, 0.4),
    "neck": (-0.2, 0.1, -0.5),
    **{
        f"{side}_{name}": angles
        for limbs in (ARMS, LEGS)
        for side, limb in limbs.items()
        for name, angles in limb.items()
    },
}
"""How far the joints go, in the order of the model; radians about y, x and z, or about y."""


def bowing(t: Scalar) -> list[Scalar]:
    """Return the motion of the pelvis, which leans forward, moves down and ahead, and returns."""
    half = 0.5 * there_and_back(t, DURATION, 0.3)
    ahead, up = there_and_back(t, DURATION, 0.2), STANDING[-1] - there_and_back(t, DURATION, 0.15)
    return [0.0, sin(half), 0.0, cos(half), ahead, 0.0, up]


def posture(share: Scalar) -> list[Scalar]:
    """Return the joints' angles at a fraction of the whole motion."""
    return [share * angle for angles in REACH.values() for angle in angles]


SYSTEM = GallerySystem(
    About(
        "humanoid",
        "humanoid with 40 joint freedoms: 12 ball joints and 4 hinges on a free pelvis",
        "Shah section 7.5 has its joints; the data is ours",
        (
            "The book only counts: 12 ball joints and 4 hinges, 17 links, and 41 if every joint were a hinge. Which "
            "joints these are is ours: waist, neck, and on each side collar, shoulder, wrist, hip and ankle are balls, "
            "elbows and knees hinges.",
            "Sizes and masses are ours too: uniform boxes, cylinders and a ball, 63 kg and 1.72 m together.",
            "The pelvis is a free body with a quaternion, which no fall can lock; ball joints have Euler angles YXZ.",
        ),
    ),
    tuple(REACH),
    (0.0, DURATION),
    f"a stride, every joint there and back within {DURATION:g} s, while the pelvis leans and goes down; ours",
    lambda t: [*bowing(t), *posture(there_and_back(t, DURATION, 1.0))],
    {"free-fall": lambda: (*STANDING[:6], 2.0, *(float(x) for x in posture(0.5)))},
)
