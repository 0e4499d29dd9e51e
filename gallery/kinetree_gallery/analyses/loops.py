"""Statements of the sources about closed loops: sizes of systems solved, joints cut, blocks of the loop Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinetree.model.tree import BASE
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.named_systems import load

from .prescribed import PrescribedMechanism


def groups(along: PrescribedMechanism) -> tuple[int, ...]:
    """Return sizes of the systems of equations that the subsystem recursion solves, one after the other."""
    order = along.mechanism.constraint_forces(*along.motion.states(along.time[1:2]), method="subsystems").order
    assert order is not None
    return order.sizes


def cuts_by_rule(mechanism: Robot) -> str:
    """Return the joints that are cut if every body is on the path with the fewest freedoms (Shah section 8.4)."""
    other = mechanism.with_cuts(rule="minimum_dof")
    return ", ".join(other.loop_names)


def sizes(mechanism: Robot) -> tuple[int, int, int]:
    """Return the numbers of moving links, joints and loops."""
    loops = len(mechanism.model.loops)
    return len(mechanism.model.bodies), len(mechanism.model.joints) + loops, loops


class Recut(NamedTuple):
    """A planar mechanism with its loops cut elsewhere, along the same motion."""

    groups: tuple[int, ...]
    """Sizes of the systems of equations of its subsystem recursion."""
    difference: float
    """Largest difference of the driving torques."""


def recut(along: PrescribedMechanism, cuts: Sequence[str], count: int = 21) -> Recut:
    """Compute inverse dynamics with other joints cut; joint angles of the new tree follow from the bodies' poses."""
    mechanism, driven = along.mechanism, along.motion.joints
    times = along.motion.grid(count)
    q, rates, accelerations = along.motion.states(times).q, *along.motion(times)[1:]
    same = load(along.name)
    other = same.with_cuts(cuts)
    other = other.with_independent(driven)
    q_other = np.stack([_angle(mechanism, q, other, k) for k in range(len(other.joint_names))], axis=-1)
    v_other = other.velocities(q_other, rates)
    a_other = other.accelerations(q_other, v_other, accelerations)
    forces = other.constraint_forces(q_other, v_other, a_other, method="subsystems")
    tau = forces.tau[:, [other.joint(name).v_slice.start for name in driven]]
    assert forces.order is not None
    return Recut(forces.order.sizes, float(np.abs(tau - along.torque_at(times)).max()))


def _angle(mechanism: Robot, q: Array, other: Robot, k: int) -> Array:
    """Return the angle of a joint of another tree of the same mechanism, in a configuration of the first."""
    joint = other.model.joints[k]
    parent = np.eye(3) if joint.parent == BASE else mechanism.pose(q, other.body_names[joint.parent])[:, :3, :3]
    seen = np.swapaxes(parent @ joint.placement.rotation, -1, -2) @ mechanism.pose(q, other.body_names[k])[:, :3, :3]
    return np.asarray(np.arctan2(seen[:, 1, 0], seen[:, 0, 0]))


def block(along: PrescribedMechanism, loop: str, joints: Sequence[str]) -> float:
    """Return the largest entry, along the motion, of the loop Jacobian between a loop and some joints."""
    mechanism = along.mechanism
    rows = [k for k, name in enumerate(mechanism.constraint_names) if name.startswith(f"{loop}:")]
    entries = [k for name in joints for k in range(*mechanism.model.joint(name).v_slice.indices(mechanism.nv))]
    return float(np.abs(mechanism.loop_jacobian(along.states.q)[:, rows][..., entries]).max())


def point(mechanism: Robot, q: Array, body: str, place: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """Return the position in space of a point of a body (or of a frame's origin)."""
    return np.asarray(mechanism.pose(q, body)[..., :3, :] @ np.array([*place, 1.0]))
