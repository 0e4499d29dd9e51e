"""Turning about an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...spatial import ZERO3, Motion, RigidInertia, Symmetric3, Transform, axis_turn
from .constraints import Constraint, hold_axis, hold_point
from .kind import POINT_MASS, Coordinates, JointKind, unit_axis, vec


@dataclass(frozen=True)
class Revolute(JointKind):
    """A hinge: one angle about ``axis`` (``"x"``, ``"-z"`` or three numbers, normalized)."""

    axis: Any = "z"
    name = "revolute"
    coordinate_units = ("rad",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 1

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        return Transform((axis_turn(vec(self.axis), q[0]),))

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace."""
        return (Motion(vec(self.axis), ZERO3),)

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the mass, and the first and second moments along the axis (Khalil eq. 10.14-10.19)."""
        return (POINT_MASS, RigidInertia(first=vec(self.axis)), RigidInertia(second=Symmetric3.across(vec(self.axis))))

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints of a shared point and of the direction of the axis."""
        return [*hold_axis(vec(self.axis), x), *hold_point(x)]


@dataclass(frozen=True)
class Continuous(Revolute):
    """A hinge without stops. One coordinate, the angle, which is never wrapped."""

    name = "continuous"
