"""Joints that constrain only a point or a direction; they can only close loops.

Examples are a sphere in a tube, a tip on a table, and an axle that stays level. The constrained directions are fixed in
frame A on the predecessor, and so turn relative to the moving frame B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...spatial import ZERO3, Force, Motion, Transform, Vec3
from .constraints import Constraint, across, direction_name, hold_axis
from .kind import OnlyCloses, unit_axis, vec


class _GuidedPoint(OnlyCloses):
    """A joint that keeps the origin of B from moving along some directions that are fixed in A."""

    def _held(self) -> tuple[Vec3, ...]:
        raise NotImplementedError

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 6 - len(self._held())

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the point along each direction."""
        return [
            Constraint(d.dot(x.translation), Force(ZERO3, x.unrotate(d)), f"force along {direction_name(d)}", "m")
            for d in self._held()
        ]

    def constraint_rates(self, x: Transform, twist: Motion) -> list[Force]:
        """Return the rates of the forces: directions fixed in A turn relative to B."""
        return [Force(ZERO3, x.unrotate(d).cross(twist.angular)) for d in self._held()]


@dataclass(frozen=True)
class PointOnLine(_GuidedPoint):
    """A sphere in a tube: the origin of the moving frame stays on the ``axis`` through the fixed one."""

    axis: Any = "z"
    name = "point_on_line"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def _held(self) -> tuple[Vec3, ...]:
        return across(vec(self.axis))


@dataclass(frozen=True)
class PointOnPlane(_GuidedPoint):
    """A tip that slips on a table: the origin of the moving frame stays in the plane through the fixed one."""

    normal: Any = "z"
    name = "point_on_plane"

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "normal"))

    def _held(self) -> tuple[Vec3, ...]:
        return (vec(self.normal),)


@dataclass(frozen=True)
class ParallelAxes(OnlyCloses):
    """An axis of the moving frame stays parallel to the same ``axis`` of the fixed one, wherever it is."""

    axis: Any = "z"
    name = "parallel_axes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @property
    def nv(self) -> int:
        """Degrees of freedom: all translations, and the turn about the axis."""
        return 4

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the direction of the axis."""
        return hold_axis(vec(self.axis), x)
