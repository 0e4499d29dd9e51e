"""Small arms of ReDySim, which follow a cycloid or fall freely, with the numbers of its examples."""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.studies.system import About, GallerySystem

from .motion_laws import cycloid

NUMBERS = "Lengths, masses and the motion are those of ReDySim's example; links are as there."


def redysim_arm(
    name: str, title: str, what: str, start: Sequence[float], end: Sequence[float], seconds: float, *remarks: str
) -> GallerySystem:
    """Return an arm whose joints move from one position to another along the cycloid.

    Parameters
    ----------
    name, title : str
    what : str
        The motion in words, without its time.
    start, end : sequence of float
    seconds : float
    *remarks : str
        Remarks on its numbers.
    """
    return GallerySystem(
        About(name, title, "an example of ReDySim", (NUMBERS, *remarks)),
        tuple(f"joint_{k + 1}" for k in range(len(end))),
        (0.0, seconds),
        f"{what}, by the cycloid within {seconds:g} s",
        lambda t: cycloid(t, seconds, start, end),
        {"free-fall": lambda: tuple(start)},
    )
