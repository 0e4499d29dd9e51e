"""A check in machine code for joints of a world that leave their ranges without stops, with one warning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...algorithms.acting_element import ActingElement
from ...errors import KinetreeWarning, callers_level
from ...robot.robot import Robot
from ...spatial import Scalar, where
from ...spatial.arrays import Array
from ..records.limits_in_words import NAMED, OUT_OF_RANGE
from ..records.record import STOPS_GIVE_WAY


class RangeWatch:
    """Watches for joints beyond their ranges, until one is found; does nothing if stops hold them.

    Parameters
    ----------
    robot : Robot
    elements : sequence of force elements
    """

    def __init__(self, robot: Robot, elements: Sequence[ActingElement]) -> None:
        self._names = robot.q_names
        lower, upper = robot.lower_limits, robot.upper_limits
        span = upper - lower
        slack = STOPS_GIVE_WAY * np.where(np.isfinite(span), span, 1.0)
        self._low, self._high = lower - slack, upper + slack
        held = any(e.STOPS_JOINTS for e in elements)
        limited = np.flatnonzero(np.isfinite(self._low) | np.isfinite(self._high))
        self._watched = [] if held else limited.tolist()
        self.is_watching = bool(self._watched)

    def flag(self, q: Sequence[Scalar]) -> Scalar:
        """Return a number that is negative if some joint is beyond its range, otherwise zero."""
        total: Any = 0.0
        for k in self._watched:
            for beyond in (self._low[k] - q[k], q[k] - self._high[k]):
                total = total - where(beyond > 0.0, 1.0, 0.0)
        return total

    def warn(self, q: Array) -> None:
        """Warn, once, which joints are beyond their ranges; ``q`` is (batch, nq)."""
        beyond = np.any((q < self._low) | (q > self._high), axis=0)
        names = [self._names[k] for k in self._watched if beyond[k]]
        self.is_watching = False
        more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
        warnings.warn(
            f"{OUT_OF_RANGE}: {', '.join(names[:NAMED])}{more}. A World goes past the limits of joints unless stops "
            "hold them: ground=kinetree.forces.JointStops(), in a list with a floor",
            KinetreeWarning,
            stacklevel=callers_level(),
        )
