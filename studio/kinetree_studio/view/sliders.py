"""Sliders of joints: their values and their effect; loops stay closed when a slider is moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from kinetree.errors import ClosureError
from kinetree.model.joints.kind import random_bounds
from kinetree.model.tree import Joint
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

STEP = 0.1
"""Radians or meters by which a joint moves in each step while loops are kept closed."""

MOST_STEPS = 200


@dataclass(frozen=True)
class Coordinate:
    """A slider's variable: a coordinate of a joint, or a component of a ball joint's rotation vector."""

    label: str
    low: float
    high: float
    unit: str


def coordinates(robot: Robot, joint: Joint, size: float) -> list[Coordinate]:
    """List the sliders of a joint, with its limits; without limits, plus or minus a turn, or the robot's size."""
    kind = joint.kind
    names = robot.q_names[joint.q_slice]
    low, high = random_bounds(kind.q_units, joint.lower, joint.upper)
    reach = max(1.0, size)
    plain = []
    for k, unit in enumerate(kind.q_units):
        free = unit == "m" and not (np.isfinite(joint.lower[k]) or np.isfinite(joint.upper[k]))
        bounds = (-reach, reach) if free else (float(low[k]), float(high[k]))
        plain.append(Coordinate(names[k], *bounds, unit))
    where = kind.quaternion
    if where is None:
        return plain
    turns = [Coordinate(f"{joint.name} turn {axis}", -np.pi, np.pi, "rad") for axis in "xyz"]
    return [*plain[: where.start], *turns, *plain[where.stop :]]


def to_sliders(joint: Joint, part: Array) -> Array:
    """Compute slider values from a joint's configurations, (..., nq)."""
    where = joint.kind.quaternion
    if where is None:
        return part
    turn = Rotation.from_quat(part[..., where]).as_rotvec()
    return np.concatenate([part[..., : where.start], turn, part[..., where.stop :]], axis=-1)


def from_sliders(joint: Joint, values: Array) -> Array:
    """Compute a joint's configuration from slider values."""
    where = joint.kind.quaternion
    if where is None:
        return values
    end = where.start + 3
    quaternion = Rotation.from_rotvec(values[where.start : end]).as_quat()
    return np.concatenate([values[: where.start], quaternion, values[end:]])


def slider_values(robot: Robot, q: Array) -> Array:
    """Compute the values of all sliders from configurations, (T, nq); NaN where a joint's coordinates are NaN."""
    columns = [np.zeros((len(q), 0))]
    for joint in robot.model.joints:
        if not joint.nq:
            continue
        part = q[:, joint.q_slice]
        if joint.kind.quaternion is None:
            columns.append(part)
            continue
        known = np.isfinite(part).all(axis=1)
        values = np.full((len(q), joint.nq - 1), np.nan)
        values[known] = to_sliders(joint, part[known])
        columns.append(values)
    return np.concatenate(columns, axis=1)


def moved_closed(robot: Robot, q: Array, joint: Joint, part: Array) -> tuple[Array, str]:
    """Move one joint of a mechanism as far as its loops let it.

    The joint moves in small steps, so that the mechanism stays on its branch; the other actuated joints are held if the
    loops allow it.

    Returns
    -------
    q : ndarray (nq,)
        A closed configuration.
    message : str
        Why the joint could not move all the way; empty if it could.
    """
    way = np.abs(part - q[joint.q_slice]).max(initial=0.0)
    count = int(np.clip(np.ceil(way / STEP), 1, MOST_STEPS))
    start = q[joint.q_slice].copy()
    for k in range(1, count + 1):
        guess = q.copy()
        guess[joint.q_slice] = start + (k / count) * (part - start)
        try:
            q = _closed(robot, robot.normalize(guess), joint)
        except ClosureError as problem:
            return q, str(problem)
    return q, ""


def _closed(robot: Robot, guess: Array, joint: Joint) -> Array:
    others = [j.name for j in robot.model.joints if j.actuated and j.nv and j.name != joint.name]
    held = robot.close(guess, fixed=[joint.name, *others], must_close=False, limits=False)
    return held if np.isfinite(held).all() else robot.close(guess, fixed=[joint.name], limits=False)
