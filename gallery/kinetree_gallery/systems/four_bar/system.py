"""The book's four-bar mechanism with the data of Tables 10.3 to 10.5."""

from __future__ import annotations

from kinetree.studies.system import About, GallerySystem

from ..four_bar_linkage import ONE_TURN, book_motion

SYSTEM = GallerySystem(
    About(
        "four-bar",
        "four-bar mechanism, crank and rocker",
        "Shah section 8.3 and Tables 10.3-10.5",
        (
            "Table 10.3 puts the rocker's pivot at the origin (a(2) = 0); it belongs at (-0.0895, 0), where the loop "
            "closure of Table 10.5 has it. Torque and multipliers do not depend on it, energy does.",
            "Table 10.5 prints a minus before the root of al2, which does not close the loop; a plus does, and gives "
            "the initial state of Table 10.8.",
            "The coupler is the half bar of 0.1152 m with its mass center in the middle, as Table 10.3 has it; "
            "four-bar-table-8-1 is the whole bar.",
        ),
    ),
    ("crank_joint",),
    (0.0, 4.0 / 3.0),
    ONE_TURN,
    book_motion,
)
