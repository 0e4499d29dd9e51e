"""A screw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...errors import ModelError
from ...spatial import Force, Motion, RigidInertia, Scalar, Symmetric3, Transform, Vec3, arctan2, axis_turn, cos, sin
from ...spatial.numbers import real_number
from .constraints import Constraint, hold_axis, hold_line
from .kind import Coordinates, JointKind, unit_axis, vec


@dataclass(frozen=True)
class Helical(JointKind):
    """A screw: turns about ``axis`` and advances ``pitch`` meters per radian (Featherstone section 2.3.2)."""

    axis: Any = "z"
    pitch: float = math.nan
    name = "helical"
    coordinate_units = ("rad",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        pitch = real_number(self.pitch, "the pitch of a helical joint", unit="meters per radian", error=ModelError)
        object.__setattr__(self, "pitch", pitch)

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 1

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        axis = vec(self.axis)
        return Transform((axis_turn(axis, q[0]),), axis * (self.pitch * q[0]))

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace."""
        axis = vec(self.axis)
        return (Motion(axis, axis * self.pitch),)

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the second moment along the axis."""
        return (RigidInertia(second=Symmetric3.across(vec(self.axis))),)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the direction and line of the axis, and on the advance per turn."""
        axis = vec(self.axis)
        lead = Constraint(self._lead_gap(x), Force(axis * -self.pitch, axis), "force along the screw", "m")
        return [*hold_axis(axis, x), *hold_line(axis, x), lead]

    def _lead_gap(self, x: Transform) -> Scalar:
        axis = vec(self.axis)
        advance = axis.dot(x.translation)
        if self.pitch == 0.0:
            return advance
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = x.matrix().to_rows()
        s, c = axis.dot(Vec3(zy - yz, xz - zx, yx - xy)) * 0.5, (xx + yy + zz - 1.0) * 0.5
        # the angle is known only up to whole turns: compare it with the angle that belongs to the advance
        turn = advance * (1.0 / self.pitch)
        ahead_s, ahead_c = s * cos(turn) - c * sin(turn), c * cos(turn) + s * sin(turn)
        return arctan2(ahead_s, ahead_c) * -self.pitch
