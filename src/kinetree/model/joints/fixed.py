"""No freedom at all."""

from __future__ import annotations

from dataclasses import dataclass

from ...spatial import BASIS, IDENTITY, Motion, RigidInertia, Transform
from .constraints import Constraint, hold_point, hold_rotation
from .kind import POINT_MASS, TENSORS, Coordinates, JointKind


@dataclass(frozen=True)
class Fixed(JointKind):
    """A weld. Merged into the parent body when the model is built."""

    name = "fixed"

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return 0

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        return IDENTITY

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace."""
        return ()

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return all inertias: a weld distinguishes nothing."""
        return (POINT_MASS, *(RigidInertia(first=e) for e in BASIS), *TENSORS)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints on all six directions."""
        return [*hold_rotation(x), *hold_point(x)]
