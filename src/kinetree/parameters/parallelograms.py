"""Parallelograms among the closed loops of a mechanism: which of their bodies turn alike (Khalil section 10.3.5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.joints import Revolute
from ..model.tree import BASE, Loop, Model
from ..spatial import Matrix3, MatrixRotation
from ..spatial.arrays import Array

FLAT = 1e-9
"""Tolerance of sides, in lengths of the mechanism, and of axes, in radians."""


class Alike(NamedTuple):
    """Two bodies that always turn in the same way."""

    first: int
    """The body that takes over the other's inertia: the earlier one, or the base."""
    second: int
    rotation: MatrixRotation
    """Rotation of the second body relative to the first."""


class Parallelogram(NamedTuple):
    """A loop whose opposite sides are equal and parallel."""

    loop: str
    alike: tuple[Alike, Alike]
    hinges: tuple[int, ...]
    """Joints between two sides, which turn at the same speed in the same or the opposite direction."""


class Side(NamedTuple):
    """A body of a loop, and the vector from one of its two joints to the other, in the plane of the loop."""

    body: int
    way: Array
    joint: int | None
    """The first of the two joints; None if it is the cut joint."""


def parallelograms(model: Model, poses: Array, length: float) -> list[Parallelogram]:
    """Return the loops that are parallelograms.

    poses: (bodies, 4, 4). Poses of all bodies in the base, at a closed configuration of the assembly mode in question.
    length: A length of the size of the mechanism.
    """
    found = []
    for loop in model.loops:
        sides = _sides(model, loop, poses)
        if sides is None:
            continue
        long = [bool(np.linalg.norm(s.way) > FLAT * length) for s in sides]
        if sum(long) != 4:
            continue
        a, b, c, d = (s for s, counts in zip(sides, long, strict=True) if counts)
        if np.linalg.norm(a.way + c.way) < FLAT * length and np.linalg.norm(b.way + d.way) < FLAT * length:
            corners = [s.joint for k, s in enumerate(sides) if long[k] and long[k - 1]]
            hinges = tuple(sorted(j for j in corners if j is not None))
            found.append(Parallelogram(loop.name, (_alike(a, c, poses), _alike(b, d, poses)), hinges))
    return found


def _sides(model: Model, loop: Loop, poses: Array) -> list[Side] | None:
    """Return the sides of a loop of parallel hinges, one after the other around it; None for other loops."""
    there, back = model.support(loop.predecessor), model.support(loop.successor)
    while there and back and there[0] == back[0]:
        root, there, back = there[0], there[1:], back[1:]
    root = model.joints[(there or back)[0]].parent if there or back else BASE
    joints = [model.joints[i] for i in (*there, *back)]
    kinds = [*(j.kind for j in joints), loop.kind]
    if not all(isinstance(kind, Revolute) for kind in kinds):
        return None
    end = _pose(loop.predecessor, poses) @ loop.placement.matrix
    places = [poses[i] for i in there] + [end] + [poses[i] for i in reversed(back)]
    order = [*(model.joints[i].kind for i in there), loop.kind, *(model.joints[i].kind for i in reversed(back))]
    axes = [pose[:3, :3] @ np.array(kind.axis) for pose, kind in zip(places, order, strict=True)]  # type: ignore[attr-defined]
    if any(np.linalg.norm(np.cross(axis, axes[0])) > FLAT for axis in axes[1:]):
        return None
    flat = np.eye(3) - np.outer(axes[0], axes[0])
    points = [flat @ pose[:3, 3] for pose in places]
    bodies = [*there, *reversed(back), root]  # between point k and k + 1 lies body k
    first = [*there, None, *reversed(back)]
    return [Side(body, points[(k + 1) % len(points)] - points[k], first[k]) for k, body in enumerate(bodies)]


def _alike(a: Side, b: Side, poses: Array) -> Alike:
    first, second = sorted((a.body, b.body))
    turn = _pose(first, poses)[:3, :3].T @ _pose(second, poses)[:3, :3]
    turn = np.where(np.abs(turn - np.round(turn)) < FLAT, np.round(turn), turn)
    return Alike(first, second, MatrixRotation(Matrix3.of(turn.tolist())))


def _pose(body: int, poses: Array) -> Array:
    return np.eye(4) if body == BASE else np.asarray(poses[body])
