"""A screw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...errors import ModelError
from ...spatial import Motion, Transform, axis_turn
from .kind import Coordinates, JointKind, unit_axis, vec


@dataclass(frozen=True)
class Helical(JointKind):
    """A screw: turns about ``axis`` and advances ``pitch`` metres per radian (002 L368)."""

    axis: Any = "z"
    pitch: float = math.nan
    name = "helical"
    coordinate_units = ("rad",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "pitch", float(self.pitch))
        if not math.isfinite(self.pitch):
            raise ModelError("a helical joint needs its pitch, in metres per radian, as a finite number")

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 1

    def transform(self, q: Coordinates) -> Transform:
        """Pose of the child frame in the joint's fixed frame."""
        axis = vec(self.axis)
        return Transform((axis_turn(axis, q[0]),), axis * (self.pitch * q[0]))

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Columns of the motion subspace."""
        axis = vec(self.axis)
        return (Motion(axis, axis * self.pitch),)
