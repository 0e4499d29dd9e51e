"""A ball."""

from __future__ import annotations

from dataclasses import dataclass

from .solid import Point, Solid, lengths


@dataclass(frozen=True)
class Sphere(Solid):
    """A ball about the origin; one without a radius is a point.

    Parameters
    ----------
    radius : float
    """

    radius: float
    name = "sphere"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", lengths(self.radius, 1, "the radius of a sphere", zero=True)[0])

    def numbers(self) -> tuple[float, ...]:
        """Return the radius."""
        return (self.radius,)

    def ball(self) -> tuple[Point, float]:
        """Return the ball itself."""
        return (0.0, 0.0, 0.0), self.radius
