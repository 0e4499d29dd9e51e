"""Everything below a plane."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .solid import Point, Solid


@dataclass(frozen=True)
class HalfSpace(Solid):
    """Everything below the plane z = 0 of its frame: flat ground without end."""

    name = "plane"
    is_ground = True

    def numbers(self) -> tuple[float, ...]:
        """Return nothing: all planes are alike."""
        return ()

    def ball(self) -> tuple[Point, float]:
        """Return a ball without end."""
        return (0.0, 0.0, 0.0), math.inf
