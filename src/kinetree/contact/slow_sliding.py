"""Slow sliding: which way friction points, and when its turning asks for an implicit integrator.

Friction pulls straight against the sliding, so its direction turns at a rate of about ``mu g / speed``.  Where a
contact slides slowly for long, as a block on a slope whose friction just about holds it, that is fast compared
with the motion: an explicit integrator is stable only with steps of a few ``speed / (mu g)``, an implicit one goes on
with those that the motion asks for.  The equations are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .friction_pyramid import nearest_in_polygon

Array = np.ndarray

CREEP = 1e-6
"""Sliding slower than this (m/s) is taken to go on in the direction it began or had.

At rest there is no direction, and next to it one that rounding decides.
"""

FAST = 10.0 * CREEP
"""Sliding faster than this (m/s) has no memory: friction is straight against it."""

LIMITED = (2.0, 12.0)
"""Turning in one step (rate times step) that tells that stability, not accuracy, limits an explicit integrator.

The limits of stability of the explicit integrators are about 3.3 and 6.  Steps with far more turning that were
found accurate all the same have no need of another integrator: the direction is constant.
"""

WORTHWHILE = 4.0
"""Turning in one step below which an explicit integrator would take steps as long as the implicit one does."""

STEPS_TO_SWITCH = 4
"""Steps in a row that must tell so."""


def direction_of_sliding(along: Array, before: Array, sides: int = 0) -> tuple[Array, Array]:
    """What friction is straight against (2,), and its derivatives (2, 2) by the velocity along the tangents.

    Very slow sliding leans towards ``before``, the direction it had or began with; past a stop it is that.

    With a pyramid of so many ``sides`` it is the corner of the polygon that is most against the sliding, or a point
    of a side: where the velocity is along that side's normal but for ``CREEP``.
    """
    slow = 1.0 - float(along @ along) / FAST**2
    past = slow > 0.0 and float(along @ before) <= 0.0
    if slow > 0.0:
        lean = CREEP * slow**3  # smooth, and nothing from FAST on
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
    """Whether to integrate implicitly, decided anew from step to step.

    Attributes
    ----------
    implicit : bool
    telling : int
        Steps in a row that told to change.
    """

    implicit: bool = False
    telling: int = 0

    def changes(self, turning: float) -> bool:
        """Whether to change integrators after a step with so much turning (rate times step)."""
        tells = turning < WORTHWHILE if self.implicit else LIMITED[0] < turning < LIMITED[1]
        self.telling = self.telling + 1 if tells else 0
        if self.telling < STEPS_TO_SWITCH:
            return False
        self.implicit, self.telling = not self.implicit, 0
        return True
