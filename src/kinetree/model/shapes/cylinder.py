"""A cylinder with flat ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .solid import Point, Solid, lengths


@dataclass(frozen=True)
class Cylinder(Solid):
    """A cylinder about the origin, along z.

    Parameters
    ----------
    radius, length : float
    """

    radius: float
    length: float
    name = "cylinder"

    def __post_init__(self) -> None:
        radius = lengths(self.radius, 1, "the radius of a cylinder")[0]
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "length", lengths(self.length, 1, "the length of a cylinder")[0])

    def numbers(self) -> tuple[float, ...]:
        """Return the radius and half the length."""
        return self.radius, 0.5 * self.length

    def ball(self) -> tuple[Point, float]:
        """Return the ball through both rims."""
        return (0.0, 0.0, 0.0), math.hypot(self.radius, 0.5 * self.length)
