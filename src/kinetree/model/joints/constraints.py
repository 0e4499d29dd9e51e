"""What a joint forbids, so that it can close a loop.

A loop joint sits between a frame A on one body and a frame B on another.  The pose of B
in A is ``x``; the velocity of B relative to A, in B's coordinates, is the joint's twist.
Each :class:`Constraint` is a force (in B's coordinates, from the first body on the
second) that does no work along the joint's freedom, with a gap that is zero when the
joint fits and whose rate, there, is the power of that force along the twist (002 eq. 9.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...spatial import BASIS, ZERO3, Force, Scalar, Transform, Vec3


class Constraint(NamedTuple):
    """One forbidden direction: how far off it is, and the force that keeps it."""

    gap: Scalar
    force: Force
    label: str
    unit: str
    """Of the gap: ``m`` where a force keeps it, ``rad`` where a moment does."""


def across(axis: Vec3) -> tuple[Vec3, Vec3]:
    """Return two constant unit vectors perpendicular to a constant axis; unit vectors where the axis is one."""
    a = np.array(list(axis))
    k = int(np.argmax(np.abs(a)))
    first = np.zeros(3)
    first[(k + 1) % 3] = 1.0
    first -= a * (a @ first)
    first /= np.linalg.norm(first)
    second = np.cross(a, first)
    return Vec3(*(float(c) + 0.0 for c in first)), Vec3(*(float(c) + 0.0 for c in second))


def hold_point(x: Transform) -> list[Constraint]:
    """Return both origins in one place."""
    shift = x.unrotate(x.translation)
    return [
        Constraint(gap, Force(ZERO3, e), f"force along {name}", "m")
        for gap, e, name in zip(shift, BASIS, "xyz", strict=True)
    ]


def hold_axis(axis: Vec3, x: Transform) -> list[Constraint]:
    """Return an axis fixed in A parallel to the same axis fixed in B, and pointing the same way."""
    seen = x.unrotate(axis)
    # the tangent of half the angle: unlike the sine it is not zero again when the axis is turned over
    scale = 2.0 / (1.0 + axis.dot(seen))
    tilt = seen.cross(axis)
    return [Constraint(t.dot(tilt) * scale, Force(t, ZERO3), f"moment about {_name(t)}", "rad") for t in across(axis)]


def hold_line(axis: Vec3, x: Transform) -> list[Constraint]:
    """Return the origin of B on the axis through A."""
    off = x.unrotate(x.translation - axis * axis.dot(x.translation))
    return [Constraint(t.dot(off), Force(ZERO3, t), f"force along {_name(t)}", "m") for t in across(axis)]


def hold_plane(normal: Vec3, x: Transform) -> list[Constraint]:
    """Return the origin of B in the plane through A."""
    return [Constraint(normal.dot(x.translation), Force(ZERO3, normal), f"force along {_name(normal)}", "m")]


def hold_rotation(x: Transform) -> list[Constraint]:
    """Return equal orientation: twice the Gibbs vector (the tangent of half the angle along the axis)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = x.matrix().to_rows()
    scale = 2.0 / (1.0 + xx + yy + zz)
    turn = Vec3(zy - yz, xz - zx, yx - xy) * scale
    return [
        Constraint(gap, Force(e, ZERO3), f"moment about {name}", "rad")
        for gap, e, name in zip(turn, BASIS, "xyz", strict=True)
    ]


def _name(direction: Vec3) -> str:
    for e, name in zip(BASIS, "xyz", strict=True):
        d = direction.dot(e)
        if abs(d) == 1.0:
            return name if d > 0 else f"-{name}"
    return "(" + ", ".join(f"{c:.4g}" for c in direction) + ")"
