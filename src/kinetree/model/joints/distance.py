"""A massless rod with ball joints at both ends: it only closes loops."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...errors import ModelError
from ...io.units import in_si
from ...spatial import ZERO3, Force, Motion, Transform, sqrt
from ...spatial.numbers import real_number
from .constraints import Constraint
from .kind import OnlyCloses


@dataclass(frozen=True)
class Distance(OnlyCloses):
    """Keeps two points ``length`` meters apart. It has no coordinates, so it cannot carry a body."""

    length: float = math.nan
    name = "distance"

    def __post_init__(self) -> None:
        length = real_number(
            in_si(self.length, "m", "the length of a rod"),
            "the length of a rod",
            positive=True,
            unit="meters",
            error=ModelError,
        )
        object.__setattr__(self, "length", length)

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 5

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraint on the length, whose force is the rod's tension or thrust."""
        reach = x.shift()
        length = sqrt(reach.dot(reach))
        return [Constraint(length - self.length, Force(ZERO3, reach * (1.0 / length)), "force along the rod", "m")]

    def constraint_rates(self, x: Transform, twist: Motion) -> list[Force] | None:
        """Return the rate of the force: the rod's direction turns."""
        reach = x.shift()
        scale = 1.0 / sqrt(reach.dot(reach))
        along = reach * scale
        rate = twist.linear - twist.angular.cross(reach)
        return [Force(ZERO3, (rate - along * along.dot(rate)) * scale)]
