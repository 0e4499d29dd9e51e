"""The KUKA KR5 Arc of Shah."""

from __future__ import annotations

from kinetree.studies.system import About, GallerySystem

from ..motion_laws import DEGREE, cycloid

SYSTEM = GallerySystem(
    About(
        "kuka-kr5",
        "KUKA KR5 Arc: an industrial arm with six hinges",
        "Shah section 6.2.2, Table 6.6",
        (
            "Mass centers, direction of gravity and duration are not in the book. As in the authors' program: gravity "
            "along -z, 1 s, mass centers as in the model file; its inertias have more digits than Table 6.6, which "
            "cuts them off.",
        ),
    ),
    tuple(f"joint_{k}" for k in range(1, 7)),
    (0.0, 1.0),
    "all joints by the cycloid from 0 to 60 degrees within 1 s",
    lambda t: cycloid(t, 1.0, [0.0] * 6, [60.0 * DEGREE] * 6),
    {"free-fall": lambda: (0.0,) * 6},
)
