"""Plane geometry for assembling linkages in closed form, over any scalar.

Evaluated at times, these formulas give positions; evaluated at jets, they also give velocities and accelerations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kinetree.spatial.scalar import Scalar, arctan2, cos, sin, sqrt
from kinetree.spatial.taylor import value_of


class Point(NamedTuple):
    """A point or vector of the plane."""

    x: Scalar
    y: Scalar

    def plus(self, other: Point) -> Point:
        """Return the sum of two vectors."""
        return Point(self.x + other.x, self.y + other.y)

    def minus(self, other: Point) -> Point:
        """Return the vector from the other point to this one."""
        return Point(self.x - other.x, self.y - other.y)

    @property
    def angle(self) -> Scalar:
        """Direction of the vector, from the x axis."""
        return arctan2(self.y, self.x)


def polar(length: float, angle: Scalar) -> Point:
    """Return the vector of this length and direction."""
    return Point(length * cos(angle), length * sin(angle))


def dyad(start: Point, end: Point, first: Scalar, second: Scalar, side: int) -> Point:
    """Return the point where two bars from two given points meet: the elbow of a dyad.

    Parameters
    ----------
    start, end : Point
        Points to which the bars are attached.
    first, second : scalar
        Length of the bar at ``start`` and of the one at ``end``.
    side : {1, -1}
        On which side of the line from ``start`` to ``end`` the elbow is: 1 is left.

    Returns
    -------
    Point
        The elbow; NaN if the bars are too short or too long to meet.
    """
    way = end.minus(start)
    square = way.x * way.x + way.y * way.y
    along = (first * first - second * second + square) / (2.0 * square)
    across = side * sqrt(first * first / square - along * along)
    return Point(start.x + along * way.x - across * way.y, start.y + along * way.y + across * way.x)


def near(angle: Scalar, reference: float) -> Scalar:
    """Return the angle of the same direction that is within half a turn of the reference."""
    turns = np.round((reference - value_of(angle)) / (2.0 * math.pi))
    return angle + 2.0 * math.pi * turns
