"""Satellites that carry a closed loop, from ReDySim: a four-bar, a five-bar and a six-bar on a base that floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinetree.spatial.scalar import Scalar
from kinetree.studies.system import About, GallerySystem

from .motion_laws import cycloid
from .planar_geometry import Point, dyad, near, polar

DURATION = 20.0

REMARKS = (
    "Sizes, masses and where the motors begin and end are those of ReDySim's example; its states have four digits, and "
    "here the loop is closed exactly.",
    "Nothing holds the satellite and nothing pulls on it. States of the prescribed motion have it where it starts; "
    "where it goes follows from the momentum, which is zero.",
)

Closed = Callable[[Sequence[Scalar]], list[Scalar]]
"""All joints of the loop, from those with motors."""


def pair(start: Point, end: Point, lengths: tuple[float, float], side: int) -> tuple[Scalar, Scalar]:
    """Return the directions of two bars from one point to another."""
    elbow = dyad(start, end, *lengths, side)
    return elbow.minus(start).angle, end.minus(elbow).angle


def arm(pivot: float, length: float, *angles: Scalar) -> Point:
    """Return the end of several bars of one length in series, from a pivot on the satellite."""
    place, turned = Point(pivot, 0.0), 0.0 * angles[0]
    for angle in angles:
        turned = turned + angle
        place = place.plus(polar(length, turned))
    return place


def space_loop(
    name: str, title: str, motors: tuple[str, ...], start: Sequence[float], end: Sequence[float], closed: Closed
) -> GallerySystem:
    """Return a satellite with a loop, whose motors move from one position to another along the cycloid."""
    return GallerySystem(
        About(name, title, "an example of ReDySim", REMARKS),
        motors,
        (0.0, DURATION),
        f"the motors by the cycloid from ({', '.join(f'{x:g}' for x in start)}) to ({', '.join(f'{x:g}' for x in end)})"
        f" rad within {DURATION:g} s",
        lambda t: [0.0] * 6 + closed(cycloid(t, DURATION, start, end)),
    )


def settled(angles: Sequence[Scalar], references: Sequence[float]) -> list[Scalar]:
    """Return angles within half a turn of references."""
    return [near(angle, reference) for angle, reference in zip(angles, references, strict=True)]
