"""Two turns about intersecting axes."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ModelError
from ...spatial import ZERO3, ZERO_FORCE, Force, Motion, RigidInertia, Transform, Vec3
from .compound import Compound, Step
from .constraints import Constraint, hold_point
from .kind import AXES, POINT_MASS, vec

TWO_AXIS_SEQUENCES = ("XY", "XZ", "YX", "YZ", "ZX", "ZY")


@dataclass(frozen=True)
class Universal(Compound):
    """A Cardan joint: two angles about two different axes, ``"XY"`` meaning x first, then the new y."""

    sequence: str = "XY"
    name = "universal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sequence", str(self.sequence).upper())
        if self.sequence not in TWO_AXIS_SEQUENCES:
            raise ModelError(
                f"a universal joint's sequence is one of {', '.join(TWO_AXIS_SEQUENCES)}, not {self.sequence!r}"
            )

    def steps(self) -> tuple[Step, ...]:
        """Return the elementary motions."""
        return tuple(Step(True, AXES[a.lower()], k) for k, a in enumerate(self.sequence))

    def cannot_tell(self) -> tuple[RigidInertia, ...]:
        """Return the mass where the axes meet."""
        return (POINT_MASS,)

    def constraints(self, x: Transform) -> list[Constraint]:
        """Return the constraints of a shared point, and of the right angle between the two pins."""
        first, second = self._pins(x)
        normal = Force(first.cross(second), ZERO3)
        square = Constraint(-first.dot(second), normal, "moment about both pins' normal", "rad")
        return [square, *hold_point(x)]

    def constraint_rates(self, x: Transform, twist: Motion) -> list[Force] | None:
        """Return the rates of the forces: the first pin, which is fixed in A, turns as seen from B."""
        first, second = self._pins(x)
        turning = first.cross(twist.angular)
        return [Force(turning.cross(second), ZERO3), *[ZERO_FORCE] * 3]

    def _pins(self, x: Transform) -> tuple[Vec3, Vec3]:
        """Return both axes in B: the first is fixed in A, the second in B."""
        first, second = (vec(AXES[a.lower()]) for a in self.sequence)
        return x.unrotate(first), second
