"""The same robot in Pinocchio, so that both can be timed and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.tree import BASE
from ..spatial.arrays import Array

if TYPE_CHECKING:
    from ..robot.robot import Robot


KINDS = {"revolute": "R", "continuous": "R", "prismatic": "P"}
"""Joints with the same coordinate in both libraries, and Pinocchio's abbreviations of them."""
NAMES = {"inverse_dynamics": "rnea", "forward_dynamics": "aba"}


@dataclass(frozen=True)
class Beside:
    """Pinocchio with the same robot."""

    library: Any
    model: Any
    order: Array
    """Index in kinetree of each of Pinocchio's freedoms."""

    def batch(self, algorithm: str, *state: Array) -> tuple[Callable[[], object], Array]:
        """Return a call on all states, with one thread, and the array that it fills, a column per state."""
        columns = [np.asfortranarray(x[:, self.order].T) for x in state]
        result = np.asfortranarray(np.zeros_like(columns[1]))
        pool = self.library.ModelPool(self.model, 1)
        call = getattr(self.library, f"{NAMES[algorithm]}InParallel")
        return lambda: call(1, pool, *columns, result), result

    def single(self, algorithm: str, times: int, *state: Array) -> Callable[[], object]:
        """Return a call on one state, repeated many times."""
        call, data = getattr(self.library, NAMES[algorithm]), self.model.createData()
        own = [np.ascontiguousarray(x[self.order]) for x in state]

        def repeated() -> None:
            for _ in range(times):
                call(self.model, data, *own)

        return repeated


def beside(robot: Robot, states: int) -> Beside | str:
    """Return the same robot in Pinocchio, or a text on why there is none."""
    try:
        import pinocchio  # type: ignore[import-untyped]
    except ImportError:
        return "it is not installed"
    if not hasattr(pinocchio, "rneaInParallel"):
        return "it was built without its batch calls"
    if robot.model.is_constrained:
        return "the robot has closed loops or couplings"
    if any(joint.kind.name not in KINDS or joint.mimic for joint in robot.model.joints):
        return "only robots of hinges and slides are compared"
    if robot.nv < 2 or states < 2:
        # a matrix with one row or column is taken for a transposed vector, and Pinocchio then writes out of bounds
        return "its batch calls need two joints and two states at least"
    return _built(pinocchio, robot)


def _built(library: Any, robot: Robot) -> Beside:
    tree, model = robot.model, library.Model()
    model.gravity = library.Motion(np.asarray(robot.gravity, dtype=float), np.zeros(3))
    numbers = {BASE: 0}
    waiting = list(reversed(tree.roots))
    while waiting:  # depth first, as Pinocchio requires
        k = waiting.pop()
        joint, body = tree.joints[k], tree.bodies[k].mass_properties
        place = library.SE3(np.array(joint.placement.rotation), np.array(joint.placement.position))
        numbers[k] = model.addJoint(numbers[joint.parent], _joint(library, joint.kind), place, joint.name)
        xx, yy, zz, xy, xz, yz = body.inertia
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(
            numbers[k], library.Inertia(body.mass, np.array(body.com), inertia), library.SE3.Identity()
        )
        waiting.extend(reversed(tree.children[k]))
    order, rotors = np.empty(tree.nv, dtype=int), np.zeros(tree.nv)
    for k, joint in enumerate(tree.joints):
        place_there = model.joints[numbers[k]].idx_v
        order[place_there], rotors[place_there] = joint.v_slice.start, joint.armature[0]
    model.armature = rotors
    return Beside(library, model, order)


def _joint(library: Any, kind: Any) -> Any:
    """Make a joint, along a coordinate axis if possible, since that is faster."""
    axis = np.asarray(kind.axis, dtype=float)
    letter = KINDS[kind.name]
    for name, unit in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, unit):
            return getattr(library, f"JointModel{letter}{name}")()
    unaligned = library.JointModelRevoluteUnaligned if letter == "R" else library.JointModelPrismaticUnaligned
    return unaligned(axis)
