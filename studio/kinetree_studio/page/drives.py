"""What moves the joints in a page: a constant torque, and a spring and damper that hold a pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kinetree.control.base import Controller, Outcome, gains
from kinetree.control.driven_joints import gathered, spread
from kinetree.model.tree import Joint, Model
from kinetree.spatial import Scalar

Scalars = Sequence[Scalar]


@dataclass(frozen=True, eq=False)
class PoseDrives(Controller):
    """A constant torque at each motor, plus a spring toward a goal and a damper: ``torque + kp (goal - q) - kd v``.

    Motors of joints with several coordinates, such as ball joints, have none of these.
    """

    torque: Any = 0.0
    kp: Any = 0.0
    kd: Any = 0.0
    goal: Any = 0.0

    GAINS: ClassVar[tuple[str, ...]] = ("torque", "kp", "kd", "goal")

    def joints(self, tree: Model) -> list[Joint]:
        """Return the joints with a motor and one coordinate."""
        return simple_motors(tree)

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        motors = self.joints(tree)
        each = [gains(getattr(self, name), len(motors), name) for name in self.GAINS]
        at, rate = [q[j.q_slice.start] for j in motors], gathered(motors, v)
        forces = [u + p * (r - x) - d * w for u, p, d, r, x, w in zip(*each, at, rate, strict=True)]
        return spread(tree, motors, forces), []


def simple_motors(tree: Model) -> list[Joint]:
    """Return the joints with a motor and one coordinate."""
    return [joint for joint in tree.driven_joints if joint.nq == joint.nv == 1]
