"""The spatial double pendulum of Shah."""

from __future__ import annotations

from kinetree.studies.system import About, GallerySystem

from ..motion_laws import there_and_back

SYSTEM = GallerySystem(
    About(
        "spatial-double-pendulum",
        "spatial double pendulum: a ball joint, then a hinge",
        "Shah figure 4.5",
        (
            "The book has no numbers: cylinders of 1 m, 1 kg and 0.05 m in radius, the hinge about y.",
            "Motion and start of the free fall are ours; the middle Euler angle stays far from 90 degrees, where the "
            "sequence YXZ is singular (Shah section 3.6).",
        ),
    ),
    ("shoulder", "elbow"),
    (0.0, 2.0),
    "ball joint by (0.8, 0.5, -0.4) rad about y, x, z and the hinge by 1 rad, and back within 2 s; ours",
    lambda t: [there_and_back(t, 2.0, reach) for reach in (0.8, 0.5, -0.4, 1.0)],
    {"free-fall": lambda: (0.6, 0.4, 0.0, 0.5)},
)
