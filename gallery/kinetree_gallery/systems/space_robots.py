"""Robots that float in space: ReDySim has examples of these kinds; the data are ours."""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from .motion_laws import cycloid

DURATION = 10.0

OURS = (
    "ReDySim has a manipulator of 3 links, one of 7 and one with two arms on a free base; their data are not in the "
    "book. Sizes and masses are ours, those of a small servicing satellite.",
    "Nothing holds the satellite and nothing pulls on it. The prescribed motion is that of the arm's joints; where the "
    "satellite goes follows from the momentum, which is zero. States of the motion have it at rest where it starts.",
)


def reaching(end: Sequence[float], t: Scalar) -> list[Scalar]:
    """Return the coordinates: the satellite at its start, the arm's joints along the cycloid from zero."""
    return [0.0] * 6 + cycloid(t, DURATION, [0.0] * len(end), end)


def space_system(name: str, title: str, joints: tuple[str, ...], end: tuple[float, ...]) -> GallerySystem:
    """Return the system of a satellite whose arm reaches from zero to ``end``."""
    listed = ", ".join(f"{x:g}" for x in end)
    return GallerySystem(
        About(name, title, "an example of ReDySim; data ours", OURS),
        joints,
        (0.0, DURATION),
        f"the joints by the cycloid from zero to ({listed}) rad within {DURATION:g} s",
        lambda t: reaching(end, t),
    )
