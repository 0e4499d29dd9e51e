"""Four-bar linkages: the book's in its two data variants, and Hoeken's straight-line linkage."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...spatial.scalar import Scalar
from ..planar import Point, dyad, near, polar
from ..system import About, System

SPEED = 1.5 * math.pi
"""Of the crank: 45 rpm (000 L2817, L3439)."""


class Bars(NamedTuple):
    """Lengths, and where the rocker's pivot sits beside the crank's at the origin."""

    crank: float
    rocker: float
    coupler: float
    pivot: Point


BOOK = Bars(0.038, 0.1152, 0.1152, Point(-0.0895, 0.0))
HOEKEN_BARS = Bars(0.1, 0.25, 0.25, Point(0.2, 0.0))


def close_book(crank: Scalar) -> list[Scalar]:
    """Crank, rocker and coupler angle: the elbow above the base, as ``al2`` of 000 Table 10.5.

    The book's coupler angle is ``2 pi + al3 - theta2`` (000 L3485), within half a turn of 4.
    """
    rocker, coupler = _angles(BOOK, crank, side=1)
    return [crank, rocker, near(coupler - rocker, 4.0)]


def close_hoeken(crank: Scalar) -> list[Scalar]:
    """Crank, rocker and coupler angle: the elbow above the base."""
    rocker, coupler = _angles(HOEKEN_BARS, crank, side=-1)
    return [crank, near(rocker, 1.5), near(coupler - rocker, 1.5)]


def _angles(bars: Bars, crank: Scalar, side: int) -> tuple[Scalar, Scalar]:
    """Directions of the rocker from its pivot, and of the coupler from the rocker to the crank."""
    pin = polar(bars.crank, crank)
    elbow = dyad(bars.pivot, pin, bars.rocker, bars.coupler, side)
    return elbow.minus(bars.pivot).angle, pin.minus(elbow).angle


def _book_at(t: Scalar) -> list[Scalar]:
    return close_book(SPEED * t)


_TURN = "one turn of the crank at 45 rpm (3 pi/2 rad/s), from the angle 0"

TABLE_10_3 = System(
    About(
        "four-bar",
        "four-bar mechanism, crank and rocker",
        "000 section 8.3 and Tables 10.3-10.5",
        (
            "Table 10.3 puts the rocker's pivot at the origin (a(2) = 0); it belongs at (-0.0895, 0), where the loop "
            "closure of Table 10.5 has it. Torque and multipliers do not depend on it, energy does.",
            "Table 10.5 prints a minus before the root of al2, which does not close the loop; a plus does, and gives "
            "the initial state of Table 10.8.",
            "The coupler is the half bar of 0.1152 m with its mass centre in the middle, as Table 10.3 has it; "
            "four-bar-table-8-1 is the whole bar.",
        ),
    ),
    ("crank_joint",),
    (0.0, 4.0 / 3.0),
    _TURN,
    _book_at,
)

TABLE_8_1 = System(
    About(
        "four-bar-table-8-1",
        "four-bar mechanism with the coupler as long as Table 8.1 says",
        "000 section 8.3 and Table 8.1",
        (
            "Table 8.1 gives the coupler 0.2304 m, Table 10.3 only 0.1152 m: it is taken as a bar of 0.2304 m with "
            "the rocker at its middle and the crank at one end (Hoeken's form, as in the robotic leg), its mass "
            "centre on the joint with the rocker.",
        ),
    ),
    ("crank_joint",),
    (0.0, 4.0 / 3.0),
    _TURN,
    _book_at,
)

HOEKEN = System(
    About(
        "hoeken",
        "Hoeken's straight-line linkage",
        "an example of ReDySim; its proportions are Hoeken's own",
        (
            "ReDySim's example of this name has the data of four-bar. Here the bars are in Hoeken's proportions 1 : "
            "2 : 2.5 : 5 (crank, base, rocker and half coupler, whole coupler), for which the pen at the coupler's "
            "free end draws a straight line through half a turn of the crank. Size 0.1 m for 1; bars of 1 kg per "
            "metre, slender, and a pen of 0.1 kg: ours.",
        ),
    ),
    ("crank_joint",),
    (0.0, 2.0),
    "one turn of the crank at pi rad/s, from the angle 0",
    lambda t: close_hoeken(math.pi * t),
)
