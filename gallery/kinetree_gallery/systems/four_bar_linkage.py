"""Four-bar linkages: closure of crank, rocker and coupler, and the book's linkage in two data variants."""

from __future__ import annotations

import math
from typing import NamedTuple

from kinetree.spatial.scalar import Scalar

from .planar_geometry import Point, dyad, near, polar

SPEED = 1.5 * math.pi
"""Speed of the crank: 45 rpm (Shah sections 8.3, 10.2.2)."""


class BarLengths(NamedTuple):
    """Lengths, and the position of the rocker's pivot relative to the crank's at the origin."""

    crank: float
    rocker: float
    coupler: float
    pivot: Point


BOOK = BarLengths(0.038, 0.1152, 0.1152, Point(-0.0895, 0.0))


def close_book(crank: Scalar) -> list[Scalar]:
    """Return crank, rocker and coupler angle: the elbow above the base, as ``al2`` of Shah Table 10.5.

    The book's coupler angle is ``2 pi + al3 - theta2`` (Shah section 10.2.2.1), within half a turn of 4.
    """
    rocker, coupler = directions(BOOK, crank, side=1)
    return [crank, rocker, near(coupler - rocker, 4.0)]


def directions(bars: BarLengths, crank: Scalar, side: int) -> tuple[Scalar, Scalar]:
    """Return directions of the rocker from its pivot, and of the coupler from the rocker to the crank."""
    pin = polar(bars.crank, crank)
    elbow = dyad(bars.pivot, pin, bars.rocker, bars.coupler, side)
    return elbow.minus(bars.pivot).angle, pin.minus(elbow).angle


def book_motion(t: Scalar) -> list[Scalar]:
    """Return all angles at a time of the book's motion."""
    return close_book(SPEED * t)


ONE_TURN = "one turn of the crank at 45 rpm (3 pi/2 rad/s), from the angle 0"
