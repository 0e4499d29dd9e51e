"""The constraints of a joint that closes a loop.

A loop joint sits between a frame A on one body and a frame B on another.  The pose of B
in A is ``x``; the velocity of B relative to A, in B's coordinates, is the joint's twist.
Each :class:`Constraint` is a force (in B's coordinates, from the first body on the second) that does no work along the
joint's freedoms, and a gap that is zero when the joint fits. At that point, the rate of the gap is the power of the
force along the twist (Featherstone eq. 9.2). Gaps of directions are angles, which are finite everywhere and grow up to
half a turn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...spatial import BASIS, ZERO3, Force, Scalar, Transform, Vec3, arctan2, sqrt, where
from ...spatial.exponential import Quaternion, quaternion_log

PARALLEL = 1e-16
"""The square of a sine below which the directions of two axes count as the same, or as opposite."""


class Constraint(NamedTuple):
    """One constrained direction: its gap, and the force that maintains it."""

    gap: Scalar
    force: Force
    label: str
    unit: str
    """Unit of the gap: ``m`` if a force maintains it, ``rad`` if a moment does."""
    holonomic: bool = True
    """Whether it constrains the position; rolling constrains only the velocity, and its gap is zero."""


def across(axis: Vec3) -> tuple[Vec3, Vec3]:
    """Return two constant unit vectors perpendicular to a constant axis; coordinate axes if the axis is one."""
    a = np.array(list(axis))
    k = int(np.argmax(np.abs(a)))
    first = np.zeros(3)
    first[(k + 1) % 3] = 1.0
    first -= a * (a @ first)
    first /= np.linalg.norm(first)
    second = np.cross(a, first)
    return Vec3(*(float(c) + 0.0 for c in first)), Vec3(*(float(c) + 0.0 for c in second))


def hold_point(x: Transform) -> list[Constraint]:
    """Return the constraints that keep both origins in one place."""
    shift = x.shift()
    return [
        Constraint(gap, Force(ZERO3, e), f"force along {name}", "m")
        for gap, e, name in zip(shift, BASIS, "xyz", strict=True)
    ]


def hold_axis(axis: Vec3, x: Transform) -> list[Constraint]:
    """Return the constraints that keep an axis fixed in A parallel to the same axis in B, pointing the same way."""
    seen = x.unrotate(axis)
    first, second = across(axis)
    # the angle between both, times the axis to turn about: it grows up to half a turn, where any axis will do
    tilt, cosine = seen.cross(axis), axis.dot(seen)
    square = tilt.dot(tilt)
    straight = square < PARALLEL
    sine = sqrt(where(straight, 1.0, square))
    scale = where(straight, 1.0, arctan2(sine, cosine) / sine)
    over = where(straight, where(cosine < 0.0, math.pi, 0.0), 0.0)
    gaps = first.dot(tilt) * scale + over, second.dot(tilt) * scale
    return [
        Constraint(gap, Force(t, ZERO3), f"moment about {direction_name(t)}", "rad")
        for gap, t in zip(gaps, (first, second), strict=True)
    ]


def hold_line(axis: Vec3, x: Transform) -> list[Constraint]:
    """Return the constraints that keep the origin of B on the axis through A."""
    off = x.unrotate(x.translation - axis * axis.dot(x.translation))
    return [Constraint(t.dot(off), Force(ZERO3, t), f"force along {direction_name(t)}", "m") for t in across(axis)]


def hold_plane(normal: Vec3, x: Transform) -> list[Constraint]:
    """Return the constraint that keeps the origin of B in the plane through A."""
    return [Constraint(normal.dot(x.translation), Force(ZERO3, normal), f"force along {direction_name(normal)}", "m")]


def hold_rotation(x: Transform) -> list[Constraint]:
    """Return the constraints that keep the orientations equal; the gap is the rotation vector."""
    return [
        Constraint(gap, Force(e, ZERO3), f"moment about {name}", "rad")
        for gap, e, name in zip(rotation_vector(x), BASIS, "xyz", strict=True)
    ]


def rotation_vector(x: Transform) -> Vec3:
    """Return the axis of a rotation times its angle, which is at most half a turn."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = x.matrix().to_rows()
    skew = (zy - yz, xz - zx, yx - xy)
    trace = xx + yy + zz
    # the quaternion from the largest of its squares (Shepperd 1978), so that no divisor is small
    near = trace > 0.0
    s = 2.0 * sqrt(where(near, 1.0 + trace, 1.0))
    found = [(skew[0] / s, skew[1] / s, skew[2] / s, 0.25 * s)]
    for k, square in enumerate((1.0 + xx - yy - zz, 1.0 + yy - zz - xx, 1.0 + zz - xx - yy)):
        s = 2.0 * sqrt(where(square > 0.5, square, 1.0))
        sums = {(0, 1): xy + yx, (1, 2): yz + zy, (0, 2): xz + zx}
        part = [0.25 * s if i == k else sums[min(i, k), max(i, k)] / s for i in range(3)]
        found.append((part[0], part[1], part[2], skew[k] / s))
    by_y_or_z = _chosen(yy > zz, found[2], found[3])
    by_any = _chosen(xx > where(yy > zz, yy, zz), found[1], by_y_or_z)
    return quaternion_log(_chosen(near, found[0], by_any))


def _chosen(condition: Any, yes: Quaternion, no: Quaternion) -> Quaternion:
    x, y, z, w = (where(condition, a, b) for a, b in zip(yes, no, strict=True))
    return x, y, z, w


def direction_name(direction: Vec3) -> str:
    """Return a constant direction in words: an axis, or three numbers."""
    for e, name in zip(BASIS, "xyz", strict=True):
        d = direction.dot(e)
        if abs(d) == 1.0:
            return name if d > 0 else f"-{name}"
    return "(" + ", ".join(f"{c:.4g}" for c in direction) + ")"
