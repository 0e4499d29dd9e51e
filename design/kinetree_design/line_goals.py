"""The goal that a line, such as a rocker, swings between two directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kinetree.algorithms.driven_motion import LineDirection, Measure
from kinetree.errors import OptionError
from kinetree.io.units import in_si
from kinetree.spatial.arrays import Array

from .goals import MotionGoal, extreme, peak

if TYPE_CHECKING:
    from .problem import DesignProblem


@dataclass(frozen=True, eq=False)
class SwingBetween(MotionGoal):
    """How far a line misses the two directions between which it should swing: the larger miss of both ends.

    Parameters
    ----------
    line : str
        Two points, ``"C B"``: the direction from the first to the second counts.
    start, end : float or str
        Directions in the plane of the mechanism, counted from its x axis, such as ``"60 deg"`` and ``"125 deg"``; the
        line swings from ``start`` to ``end`` counterclockwise, by less than a turn.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.design.SwingBetween("C B", "60 deg", "125 deg").label
    'limit positions of C B'
    """

    line: str
    start: float | str
    end: float | str
    weight: float = 1.0
    called: ClassVar[str] = "limit positions of {line}"
    unit: ClassVar[str] = "rad"

    @property
    def _ends(self) -> tuple[float, float]:
        """The middle of the range, and half its width."""
        low, high = (float(in_si(x, "rad", f"an end of {self.label}")) for x in (self.start, self.end))
        if not 0.0 < high - low < 2.0 * np.pi:
            raise OptionError(
                f"{self.label}: from {self.start!r} to {self.end!r} is no range: the second end is larger, by less "
                "than a turn"
            )
        return 0.5 * (low + high), 0.5 * (high - low)

    def _measures(self, of: DesignProblem) -> tuple[Measure, ...]:
        found = of.angle_law(self.line)
        if not isinstance(found, LineDirection):
            raise OptionError(f"{self.label}: a line is two points with a space between them, such as 'C B'")
        return (found,)

    def _value(self, x: Array, of: DesignProblem, sharp: float | None) -> tuple[Array, Array]:
        middle, half = self._ends
        c, s = np.cos(middle), np.sin(middle)
        along, across = c * x[..., 0] + s * x[..., 1], c * x[..., 1] - s * x[..., 0]
        angle = np.arctan2(across, along)  # from the middle
        (high, up), (low, down) = (peak(angle, of, sharp, sign) for sign in (1.0, -1.0))
        past = np.stack([high - half, half - high, low + half, -half - low], axis=-1)
        value, share = extreme(past, sharp)
        by_angle = (share[..., 0] - share[..., 1])[..., None] * up + (share[..., 2] - share[..., 3])[..., None] * down
        size = np.maximum(along**2 + across**2, 1e-300)
        by_along, by_across = -across / size * by_angle, along / size * by_angle
        slopes = np.zeros_like(x)
        slopes[..., 0], slopes[..., 1] = c * by_along - s * by_across, s * by_along + c * by_across
        return value, slopes
