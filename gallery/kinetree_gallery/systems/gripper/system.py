"""The gripper of Shah."""

from __future__ import annotations

from kinetree.studies.system import About, GallerySystem

from ..motion_laws import DEGREE, cycloid

START = tuple(x * DEGREE for x in (0.0, 0.0, 0.0, 90.0))

END = tuple(x * DEGREE for x in (60.0, 80.0, 80.0, 120.0))

SYSTEM = GallerySystem(
    About(
        "gripper",
        "robotic gripper: a palm, a finger of two links and a thumb",
        "Shah sections 6.2.1 and 10.2, Tables 10.1, 10.2, 10.6",
        (
            "The text does not say where the thumb sits; Table 10.1 has it 0.05 m along the palm (a(4) = 0.05), and so "
            "does the authors' program.",
            "Figure 6.3 starts with the palm at -60 degrees (section 6.2.1), Table 10.6 at zero with one angle missing "
            "(section 10.2.2.1): the start 'free-fall' is the figure's.",
        ),
    ),
    ("palm_joint", "finger_joint", "finger_tip_joint", "thumb_joint"),
    (0.0, 1.0),
    "all joints by the cycloid from (0, 0, 0, 90) to (60, 80, 80, 120) degrees within 1 s",
    lambda t: cycloid(t, 1.0, START, END),
    {"free-fall": lambda: (-60.0 * DEGREE, 0.0, 0.0, 0.0)},
)
