"""An ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

from .solid import Point, Solid, lengths


@dataclass(frozen=True)
class Ellipsoid(Solid):
    """An ellipsoid about the origin, with its radii along the axes.

    Parameters
    ----------
    radii : three floats
    """

    radii: Point
    name = "ellipsoid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", lengths(self.radii, 3, "the radii of an ellipsoid"))

    def numbers(self) -> tuple[float, ...]:
        """Return the radii."""
        return self.radii

    def ball(self) -> tuple[Point, float]:
        """Return the ball with the largest radius."""
        return (0.0, 0.0, 0.0), max(self.radii)
