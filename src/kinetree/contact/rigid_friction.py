"""Friction of rigid contacts: its direction, the polygon of a friction pyramid, and slow sliding.

A pyramid with n sides limits the friction of one contact to a regular polygon whose corners lie on the circle of
radius ``mu N``.  At rest any force within it is possible.  A sliding contact gets the force of the polygon with the
most dissipation: the corner most opposed to the sliding, or, if the sliding is perpendicular to a side, a point
of that side determined by the motion.  A contact therefore starts to slide exactly when sliding friction no longer
holds it.

Friction is opposite to the sliding, so its direction turns at a rate of about ``mu g / speed``.  If a
contact slides slowly for long, like a block on a slope that friction can almost hold, that is fast compared
with the motion: an explicit integrator is stable only with steps of a few ``speed / (mu g)``, an implicit one can take
the steps that the motion allows.  The equations are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..spatial.arrays import Array

CREEP = 1e-6
"""Sliding slower than this (m/s) keeps its previous or initial direction.

At rest there is no direction, and close to rest rounding would decide it.
"""

FAST = 10.0 * CREEP
"""Sliding faster than this (m/s) has no memory: friction is exactly opposite to the velocity."""

LIMITED = (2.0, 12.0)
"""Range of turning per step (rate times step) in which stability, not accuracy, limits an explicit integrator.

The limits of stability of the explicit integrators are about 3.3 and 6.  Steps with far more turning that are accurate
nevertheless need no other integrator: their direction is constant.
"""

WORTHWHILE = 4.0
"""Turning per step below which an explicit integrator would take steps as long as those of the implicit one."""

STEPS_TO_SWITCH = 4
"""How many steps in a row must show this before the integrator is switched."""


# ------------------------------------------------------------------ the polygon of a pyramid


def polygon_reach(along: Array, sides: int) -> Array:
    """Return the radius of the corners of the smallest polygon that contains a force (..., 2)."""
    size = np.hypot(along[..., 0], along[..., 1])
    within = np.mod(np.arctan2(along[..., 1], along[..., 0]), 2.0 * math.pi / sides) - math.pi / sides
    return np.asarray(size * np.cos(within) / math.cos(math.pi / sides))


def nearest_in_polygon(outside: Array, sides: int) -> tuple[Array, Array]:
    """Find the point of the polygon with corners on the unit circle nearest to one outside, and its derivatives.

    It is on the side that the ray to that point crosses.
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


# ------------------------------------------------------------------ sliding


def direction_of_sliding(along: Array, before: Array, sides: int = 0) -> tuple[Array, Array]:
    """Return the direction opposite to friction (2,), and its derivatives (2, 2) with respect to the sliding velocity.

    For very slow sliding it tends toward ``before``, the previous or initial direction, and equals it at rest.

    With a pyramid of ``sides`` it is the corner of the polygon most opposed to the sliding, or a point
    of a side if the velocity is along that side's normal up to ``CREEP``.
    """
    slow = 1.0 - float(along @ along) / FAST**2
    past = slow > 0.0 and float(along @ before) <= 0.0
    if slow > 0.0:
        lean = CREEP * slow**3  # smooth, and zero from FAST on
        along = before if past else along + (2.0 * lean if sides else lean) * before
    if sides:
        point, slope = nearest_in_polygon(2.0 * before if past else along / CREEP, sides)
        return point, (np.zeros((2, 2)) if past else slope / CREEP)
    if past:
        return before, np.zeros((2, 2))
    speed = math.sqrt(along @ along)
    direction = along / speed
    return direction, (np.eye(2) - np.outer(direction, direction)) / speed


@dataclass
class Pace:
    """Decides from step to step whether to integrate implicitly.

    Attributes
    ----------
    implicit : bool
    count : int
        Number of steps in a row that indicated a change.
    """

    implicit: bool = False
    count: int = 0

    def changes(self, turning: float) -> bool:
        """Return whether to change integrators after a step with this turning (rate times step)."""
        asks = turning < WORTHWHILE if self.implicit else LIMITED[0] < turning < LIMITED[1]
        self.count = self.count + 1 if asks else 0
        if self.count < STEPS_TO_SWITCH:
            return False
        self.implicit, self.count = not self.implicit, 0
        return True
