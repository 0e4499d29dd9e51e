"""Sliding along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...spatial import ZERO3, Motion, RigidInertia, Transform
from .constraints import Constraint, hold_line, hold_rotation
from .kind import TENSORS, Coordinates, JointKind, unit_axis, vec


@dataclass(frozen=True)
class Prismatic(JointKind):
    """A slider: one displacement along ``axis``."""

    axis: Any = "z"
    name = "prismatic"
    coordinate_units = ("m",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 1

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        return Transform((), vec(self.axis) * q[0])

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace."""
        return (Motion(ZERO3, vec(self.axis)),)

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return all second moments, since the joint does not turn (Khalil eq. 10.20)."""
        return TENSORS

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on the orientation and on a line."""
        return [*hold_rotation(x), *hold_line(vec(self.axis), x)]
