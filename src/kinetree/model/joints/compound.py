"""Several one-DOF steps through one point, as a single joint.

Universal, Euler-angle, planar and translation joints are all of this kind: a sequence of turns and slides along
constant axes, each in the frame that the previous step has reached. The columns of the motion subspace are the step
axes transformed to the child frame. Seen from the child, a column that is fixed in frame k changes because the child
moves relative to frame k: dS_k/dt = S_k x (sum of S_l v_l over the later steps).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from ...spatial import IDENTITY, ZERO3, ZERO_MOTION, Motion, Transform, axis_turn
from .kind import Coordinates, JointKind, vec


class Step(NamedTuple):
    """One elementary motion; ``coordinate`` is the index of the entries of q and v that drive it."""

    turns: bool
    axis: tuple[float, float, float]
    coordinate: int

    def transform(self, q: Coordinates) -> Transform:
        """Return the displacement of this step."""
        x = q[self.coordinate]
        if self.turns:
            return Transform((axis_turn(vec(self.axis), x),))
        return Transform((), vec(self.axis) * x)

    def screw(self) -> Motion:
        """Return the velocity per unit rate."""
        return Motion(vec(self.axis), ZERO3) if self.turns else Motion(ZERO3, vec(self.axis))


class Compound(JointKind):
    """Base of the joints made of steps."""

    constant_subspace: ClassVar[bool] = False

    def steps(self) -> Sequence[Step]:
        """Return the elementary motions, from the fixed frame to the child."""
        raise NotImplementedError

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return len(self.steps())

    @property
    def q_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``q``."""
        by_coordinate = sorted(self.steps(), key=lambda s: s.coordinate)
        return tuple("rad" if s.turns else "m" for s in by_coordinate)

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        total = IDENTITY
        for step in self.steps():
            total = total @ step.transform(q)
        return total

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace."""
        steps = self.steps()
        columns = [ZERO_MOTION] * len(steps)
        after = IDENTITY  # from this step's frame to the child
        for step in reversed(steps):
            columns[step.coordinate] = after.motion_to_child(step.screw())
            after = step.transform(q) @ after
        return tuple(columns)

    def subspace_rate(self, q: Coordinates, v: Coordinates) -> tuple[Motion, ...] | None:
        """Return the columns of the apparent derivative of ``S``."""
        if self.constant_subspace:
            return None
        columns = self.subspace(q)
        rates = [ZERO_MOTION] * len(columns)
        later = ZERO_MOTION
        for step in reversed(self.steps()):
            k = step.coordinate
            rates[k] = columns[k].cross(later)
            later = later + columns[k] * v[k]
        return tuple(rates)
