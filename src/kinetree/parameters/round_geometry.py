"""Geometry without the rounding errors of files: 1.5708 counts as a right angle if that matters."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..model.changes.over_any_scalar import FormulaPose, KhalilStep
from ..model.joints import JointKind
from ..model.pose import Pose
from ..model.tree import Model
from ..spatial.arrays import Array

RIGHT = math.pi / 2


class Rounded(NamedTuple):
    """A model, and how much entries of its rotations, axes and positions (in its own lengths) were changed."""

    model: Model
    largest: float


def rounded(model: Model, tolerance: float, length: float) -> Rounded:
    """Return the model with small entries of rotations, axes and positions set to zero.

    tolerance: Entries below this are set to zero; entries of positions are divided by ``length`` first.
    length: A length of the size of the robot.
    """
    changes = [0.0]

    def noted(before: Array, after: Array, size: float = 1.0) -> None:
        changes.append(float(np.abs(before - after).max()) / size)

    def angle(x: Any) -> Any:
        if not isinstance(x, float) or abs(x - (right := round(x / RIGHT) * RIGHT)) >= tolerance:
            return x
        changes.append(abs(x - right))
        return right

    def distance(x: Any) -> Any:
        if not isinstance(x, float) or not 0.0 < abs(x) < tolerance * length:
            return x
        changes.append(abs(x) / length)
        return 0.0

    def step(given: KhalilStep) -> KhalilStep:
        return KhalilStep(
            angle(given.gamma), distance(given.b), angle(given.alpha), distance(given.d), angle(given.theta),
            distance(given.r),
        )  # fmt: skip

    def pose(given: Pose) -> Pose:
        if isinstance(given, FormulaPose):
            return FormulaPose(tuple(map(step, given.steps)))  # type: ignore[return-value]
        rotation, position = _round_rotation(given.rotation, tolerance), _cut(given.position, tolerance * length)
        if np.array_equal(rotation, given.rotation) and np.array_equal(position, given.position):
            return given
        noted(given.rotation, rotation)
        noted(given.position, position, length)
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = rotation, position
        return Pose.from_matrix(matrix)

    def kind(given: JointKind) -> JointKind:
        if not hasattr(given, "axis"):
            return given
        axis = np.array(given.axis)
        cut = _cut(axis, tolerance)
        if np.array_equal(cut, axis):
            return given
        noted(axis, cut / np.linalg.norm(cut))
        return replace(given, axis=tuple((cut / math.hypot(*cut)).tolist()))  # type: ignore[type-var, call-arg]

    joints = tuple(replace(j, placement=pose(j.placement), kind=kind(j.kind)) for j in model.joints)
    loops = tuple(replace(x, placement=pose(x.placement), seat=pose(x.seat), kind=kind(x.kind)) for x in model.loops)
    largest = max(changes)
    return Rounded(replace(model, joints=joints, loops=loops) if largest or changes[1:] else model, largest)


def _cut(entries: Array, least: float) -> Array:
    return np.where(np.abs(entries) < least, 0.0, entries)


def _round_rotation(matrix: Array, tolerance: float) -> Array:
    """Return the rotation nearest to the matrix without its small entries, exact for right angles."""
    cut = _cut(matrix, tolerance)
    if np.array_equal(cut, matrix) and not _nearly_one(matrix, tolerance):
        return matrix
    u, _, vt = np.linalg.svd(cut)
    nearest = _cut(u @ vt, 1e-15)
    return np.asarray(np.where(np.abs(np.abs(nearest) - 1.0) < tolerance**2, np.round(nearest), nearest))


def _nearly_one(matrix: Array, tolerance: float) -> bool:
    off = np.abs(np.abs(matrix) - 1.0)
    return bool(((off > 0.0) & (off < tolerance**2)).any())
