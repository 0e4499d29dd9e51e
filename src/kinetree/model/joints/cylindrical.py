"""Turning about and sliding along the same axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...spatial import ZERO3, Motion, RigidInertia, Symmetric3, Transform, axis_turn
from .constraints import Constraint, hold_axis, hold_line
from .kind import Coordinates, JointKind, unit_axis, vec


@dataclass(frozen=True)
class Cylindrical(JointKind):
    """A sleeve: q = (angle, displacement) about and along ``axis``."""

    axis: Any = "z"
    name = "cylindrical"
    coordinate_units = ("rad", "m")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 2

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        axis = vec(self.axis)
        return Transform((axis_turn(axis, q[0]),), axis * q[1])

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace, which are constant: the turn does not move its own axis."""
        axis = vec(self.axis)
        return (Motion(axis, ZERO3), Motion(ZERO3, axis))

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the second moment along the axis."""
        return (RigidInertia(second=Symmetric3.across(vec(self.axis))),)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the direction and the line of the axis."""
        return [*hold_axis(vec(self.axis), x), *hold_line(vec(self.axis), x)]
