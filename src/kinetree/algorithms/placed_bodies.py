"""Mechanisms in which some bodies stand at given poses, whatever the joints that carry them do.

A loop through such a body falls apart: what moves one side of it no longer moves the other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ..model.joints import JointKind
from ..model.joints.kind import Coordinates
from ..model.pose import Pose
from ..model.tree import BASE, Loop, Model
from ..spatial import BASIS, ZERO3, Motion, Transform


@dataclass(frozen=True)
class StandingJoint(JointKind):
    """What stands for the joint of a body at a given pose: its coordinates stay in ``q``, and have no effect."""

    joint: JointKind
    pose: Transform
    """The pose of the body in the world."""

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.joint.nq

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.joint.nv

    def transform(self, q: Coordinates) -> Transform:
        """Return the given pose."""
        return self.pose

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return no columns: nothing moves the body."""
        return ()


def placed(tree: Model, body: int, pose: Transform) -> Model:
    """Return the mechanism with a body at a given pose in the world; it carries others as before.

    The places of all coordinates in ``q`` and ``v`` are kept.
    """
    joints = list(tree.joints)
    own, none = joints[body], slice(0, 0)
    joints[body] = replace(
        own, kind=StandingJoint(own.kind, pose), parent=BASE, placement=Pose(), mimic=None, q_slice=none, v_slice=none
    )
    return replace(tree, joints=tuple(joints))


def turned(tree: Model, loops: Collection[int]) -> Model:
    """Return the mechanism with some loop joints described from their other end, along whose axes their rows then are.

    Which end is the cheaper one depends on how many freedoms move it. The joints must only hold a point.
    """
    found = list(tree.loops)
    for i in loops:
        own = found[i]
        found[i] = replace(
            own, predecessor=own.successor, successor=own.predecessor, placement=own.seat, seat=own.placement
        )
    return replace(tree, loops=tuple(found))


def holds_a_point(loop: Loop) -> bool:
    """Return whether a loop joint only keeps two points together."""
    found = [(c.force.moment, list(c.force.force)) for c in loop.constraints_somewhere()]
    return found == [(ZERO3, list(e)) for e in BASIS]
