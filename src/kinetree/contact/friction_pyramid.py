"""The friction polygon: what a pyramid leaves of Coulomb's circle, at rest and when sliding.

A pyramid with n sides limits the friction of one contact to a regular polygon whose corners lie on the circle of
radius ``mu N``.  At rest any force within holds.  What slides is pulled by the force of the polygon that takes the most
power (maximal dissipation): the corner most against the sliding, or, where it goes straight against a side, a point
of that side which the motion decides.  Then a contact lets go exactly where sliding friction would no longer hold it.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray


def polygon_reach(along: Array, sides: int) -> Array:
    """How large a polygon with corners at that distance must be to hold a force (..., 2): its norm, from polygons."""
    size = np.hypot(along[..., 0], along[..., 1])
    within = np.mod(np.arctan2(along[..., 1], along[..., 0]), 2.0 * math.pi / sides) - math.pi / sides
    return np.asarray(size * np.cos(within) / math.cos(math.pi / sides))


def nearest_in_polygon(outside: Array, sides: int) -> tuple[Array, Array]:
    """The point of the polygon with corners on the unit circle that is nearest to one outside, and its derivatives.

    It lies on the side through which the ray to that point goes.
    """
    step = 2.0 * math.pi / sides
    first = math.floor(math.atan2(outside[1], outside[0]) / step) * step
    corner = np.array([math.cos(first), math.sin(first)])
    side = np.array([math.cos(first + step), math.sin(first + step)]) - corner
    length = float(side @ side)
    part = float((outside - corner) @ side) / length
    if not 0.0 < part < 1.0:
        return (corner if part <= 0.0 else corner + side), np.zeros((2, 2))
    return corner + part * side, np.outer(side, side) / length
