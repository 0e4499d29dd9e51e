"""Arms on the ground: the gripper and the KUKA of 000, the PUMA and the Stanford arm of 001."""

from __future__ import annotations

import math

from ..laws import DEGREE, cycloid
from ..system import About, System

GRIPPER_START = tuple(x * DEGREE for x in (0.0, 0.0, 0.0, 90.0))
GRIPPER_END = tuple(x * DEGREE for x in (60.0, 80.0, 80.0, 120.0))

GRIPPER = System(
    About(
        "gripper",
        "robotic gripper: a palm, a finger of two links and a thumb",
        "000 sections 6.2.1 and 10.2, Tables 10.1, 10.2, 10.6",
        (
            "The text does not say where the thumb sits; Table 10.1 has it 0.05 m along the palm (a(4) = 0.05), and so "
            "does the authors' program.",
            "Figure 6.3 starts with the palm at -60 degrees (L1891), Table 10.6 at zero with one angle missing "
            "(L3554): the start 'free-fall' is the figure's.",
        ),
    ),
    ("palm_joint", "finger_joint", "finger_tip_joint", "thumb_joint"),
    (0.0, 1.0),
    "all joints by the cycloid from (0, 0, 0, 90) to (60, 80, 80, 120) degrees within 1 s",
    lambda t: cycloid(t, 1.0, GRIPPER_START, GRIPPER_END),
    {"free-fall": lambda: (-60.0 * DEGREE, 0.0, 0.0, 0.0)},
)

SIX = tuple(f"joint_{k}" for k in range(1, 7))

KUKA = System(
    About(
        "kuka-kr5",
        "KUKA KR5 Arc: an industrial arm with six hinges",
        "000 section 6.2.2, Table 6.6",
        (
            "Mass centres, direction of gravity and duration are not in the book. As in the authors' program: gravity "
            "along -z, 1 s, mass centres as in the model file; its inertias have more digits than Table 6.6, which "
            "cuts them off.",
        ),
    ),
    SIX,
    (0.0, 1.0),
    "all joints by the cycloid from 0 to 60 degrees within 1 s",
    lambda t: cycloid(t, 1.0, [0.0] * 6, [60.0 * DEGREE] * 6),
    {"free-fall": lambda: (0.0,) * 6},
)

READING = (
    "The table is read as Saha (1999) has it: frame i + 1 sits on link i, at its far end (a standard "
    "Denavit-Hartenberg table), and joint i acts along z_i. r_i leads from the mass centre to the origin of frame "
    "i + 1 (001 L238), so that the mass centre is at -r_i in that frame; the inertia is about it."
)

PUMA = System(
    About(
        "puma",
        "PUMA: an arm with six hinges",
        "001 section 2.5.1, Table 3",
        (
            READING,
            "With this reading every mass centre lies within its link (0.14 m along the upper arm of 0.432 m, 0.197 m "
            "along the forearm); with r_i as the mass centre itself that of link 2 would lie 0.292 m beyond its end.",
            "Gravity along -z_1, which 001 does not say.",
        ),
    ),
    SIX,
    (0.0, 10.0),
    "all joints by the cycloid from 0 to pi within 10 s",
    lambda t: cycloid(t, 10.0, [0.0] * 6, [math.pi] * 6),
    {"free-fall": lambda: (0.0,) * 6},
)

STANFORD_START = (0.0, math.pi / 2.0, 0.0, 0.0, 0.0, 0.0)
STANFORD_END = (math.pi / 3.0, math.pi / 3.0, 0.1, math.pi / 3.0, math.pi / 3.0, math.pi / 3.0)

STANFORD_ARM = System(
    About(
        "stanford-arm",
        "Stanford arm: five hinges and a slide",
        "001 section 2.5.2, Table 4",
        (
            READING,
            "Here that puts the mass centre of link 4 0.1 m beyond its end and that of the hand 0.2 m behind the "
            "wrist; with r_i as the mass centre itself both would look more natural. We keep to what 001 says; the "
            "study shows what the other reading would change.",
            "Gravity along -z_1, which 001 does not say; so the slide hangs horizontally at the start of the motion.",
            "Free fall starts from the initial values of Table 4(a), all zero, where the slide points straight down.",
        ),
    ),
    SIX,
    (0.0, 10.0),
    "hinges by the cycloid from (0, 90, -, 0, 0, 0) to 60 degrees, the slide from 0 to 0.1 m, within 10 s",
    lambda t: cycloid(t, 10.0, STANFORD_START, STANFORD_END),
    {"free-fall": lambda: (0.0,) * 6},
)
