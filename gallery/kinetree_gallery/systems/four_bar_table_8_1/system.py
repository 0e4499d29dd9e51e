"""The book's four-bar mechanism with the coupler of Table 8.1."""

from __future__ import annotations

from kinetree.studies.system import About, GallerySystem

from ..four_bar_linkage import ONE_TURN, book_motion

SYSTEM = GallerySystem(
    About(
        "four-bar-table-8-1",
        "four-bar mechanism with the coupler as long as Table 8.1 says",
        "Shah section 8.3 and Table 8.1",
        (
            "Table 8.1 gives the coupler 0.2304 m, Table 10.3 only 0.1152 m: it is taken as a bar of 0.2304 m with "
            "the rocker at its middle and the crank at one end (Hoeken's form, as in the robotic leg), its mass "
            "center on the joint with the rocker.",
        ),
    ),
    ("crank_joint",),
    (0.0, 4.0 / 3.0),
    ONE_TURN,
    book_motion,
)
