"""A cuboid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .solid import Point, Solid, lengths


@dataclass(frozen=True)
class Box(Solid):
    """A box about the origin, with edges along the axes.

    Parameters
    ----------
    size : three floats
        Lengths of the edges.
    """

    size: Point
    name = "box"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", lengths(self.size, 3, "the size of a box"))

    def numbers(self) -> tuple[float, ...]:
        """Return half the edges."""
        return tuple(0.5 * x for x in self.size)

    def ball(self) -> tuple[Point, float]:
        """Return the ball through the corners."""
        return (0.0, 0.0, 0.0), 0.5 * math.hypot(*self.size)
