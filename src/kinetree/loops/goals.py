"""Goals of frames on arrays: how far poses are from them, and the way from one goal to another."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from ..algorithms.newton_closing_step import FrameGoal
from ..spatial import Matrix3, MatrixRotation, Transform, Vec3
from ..spatial.arrays import Array, pack, split


def numbers_of(goal: FrameGoal, poses: Array) -> Array:
    """Return poses (..., 4, 4), or positions (..., 3) if only these count, as numbers of a goal (..., n)."""
    if poses.shape[-1] == 3:
        return poses
    rows = poses[..., :3, 0 if goal.orientation else 3 : 4 if goal.position else 3]
    return rows.reshape(*poses.shape[:-2], goal.size)


def off(goal: FrameGoal, pose: Array, wanted: Array) -> Array:
    """Return errors from poses to goals, flat arrays (..., n): rotation vector and displacement in world axes."""
    numbers = split(pose)
    rows = [numbers[k : k + len(numbers) // 3] for k in range(0, len(numbers), len(numbers) // 3)]
    turned = [MatrixRotation(Matrix3.of([row[:3] for row in rows]))] if goal.orientation else []
    place = Vec3(*(row[-1] for row in rows)) if goal.position else Vec3(0.0, 0.0, 0.0)
    with np.errstate(all="ignore"):
        found = goal.off(Transform(turned, place), split(wanted))
    return pack(found, np.broadcast_shapes(pose.shape[:-1], wanted.shape[:-1]))


def between(goal: FrameGoal, first: Array, second: Array, share: Array) -> Array:
    """Return the goals at fractions (N,) of the way from some (N, n) to others, each turning about one axis."""
    there = np.array(first + share[:, None] * (second - first))
    if goal.orientation:
        turn = Rotation.from_rotvec(share[:, None] * off(goal, second, first)[:, :3]).as_matrix()
        there.reshape(len(there), 3, -1)[..., :3] = turn @ first.reshape(len(first), 3, -1)[..., :3]
    return there
