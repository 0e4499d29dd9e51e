"""Moving in a plane, and moving without turning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spatial import Transform
from .compound import Compound, Step
from .constraints import Constraint, hold_axis, hold_plane, hold_rotation
from .kind import AXES, unit_axis, vec


def in_plane_axes(normal: tuple[float, float, float]) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return two unit vectors that complete ``normal`` to a right-handed frame.

    Z gives x, y; x gives y, z; y gives z, x.
    """
    n = np.array(normal)
    k = int(np.argmax(np.abs(n)))
    first = np.zeros(3)
    first[(k + 1) % 3] = 1.0 if n[k] > 0 else -1.0
    first -= n * (n @ first)
    first /= np.linalg.norm(first)
    second = np.cross(n, first)
    as_tuple = [(float(a[0]) + 0.0, float(a[1]) + 0.0, float(a[2]) + 0.0) for a in (first, second)]
    return as_tuple[0], as_tuple[1]


@dataclass(frozen=True)
class Planar(Compound):
    """q = (angle, x, y) in the plane with the given ``normal``; v are their rates.

    The displacements are measured in the fixed frame.  002 section 8.2.2 pairs this transform
    with a constant subspace, which does not belong to it; the columns here are those
    that differentiating the transform gives.
    """

    normal: Any = "z"
    name = "planar"

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal"))

    def steps(self) -> tuple[Step, ...]:
        """Return the elementary motions: slides first, so that they stay along the fixed axes."""
        first, second = in_plane_axes(self.normal)
        return (Step(False, first, 1), Step(False, second, 2), Step(True, self.normal, 0))

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the plane and the direction of its normal."""
        return [*hold_axis(vec(self.normal), x), *hold_plane(vec(self.normal), x)]


@dataclass(frozen=True)
class Translation(Compound):
    """q = (x, y, z): three displacements, no rotation."""

    name = "translation"
    constant_subspace = True

    def steps(self) -> tuple[Step, ...]:
        """Return the elementary motions."""
        return tuple(Step(False, AXES[a], k) for k, a in enumerate("xyz"))

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the orientation."""
        return hold_rotation(x)
