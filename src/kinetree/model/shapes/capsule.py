"""A cylinder with round ends."""

from __future__ import annotations

from dataclasses import dataclass

from .solid import Point, Solid, lengths


@dataclass(frozen=True)
class Capsule(Solid):
    """A cylinder about the origin, along z, with half a ball beyond either end.

    Parameters
    ----------
    radius : float
    length : float
        Length of the straight part.
    """

    radius: float
    length: float
    name = "capsule"

    def __post_init__(self) -> None:
        radius = lengths(self.radius, 1, "the radius of a capsule")[0]
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "length", lengths(self.length, 1, "the length of a capsule", zero=True)[0])

    def numbers(self) -> tuple[float, ...]:
        """Return the radius and half the length."""
        return self.radius, 0.5 * self.length

    def ball(self) -> tuple[Point, float]:
        """Return the ball through both ends."""
        return (0.0, 0.0, 0.0), 0.5 * self.length + self.radius
