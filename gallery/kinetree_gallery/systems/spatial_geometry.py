"""Space geometry for assembling platforms in closed form, over any scalar."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinetree.spatial import Vec3
from kinetree.spatial.exponential import Quaternion, quaternion_product
from kinetree.spatial.scalar import Scalar, cos, sin


def axis_quaternion(axis: Sequence[float], angle: Scalar) -> Quaternion:
    """Return the rotation by an angle about a unit vector, as x, y, z, w."""
    half = 0.5 * angle
    s = sin(half)
    return axis[0] * s, axis[1] * s, axis[2] * s, cos(half)


def turned(q: Quaternion, v: Sequence[Scalar]) -> Vec3:
    """Return a vector turned by a unit quaternion."""
    axis, vector = Vec3(q[0], q[1], q[2]), Vec3(*v)
    twice = axis.cross(vector) * 2.0
    return vector + twice * q[3] + axis.cross(twice)


def seen_from(frame: Quaternion, q: Quaternion) -> Quaternion:
    """Return the rotation ``q`` as seen from a rotated frame."""
    x, y, z, w = frame
    return quaternion_product((-x, -y, -z, w), q)


def ring(radius: float, degrees: float, height: float = 0.0) -> tuple[float, float, float]:
    """Return a point on a circle about the z axis."""
    angle = math.radians(degrees)
    return radius * math.cos(angle), radius * math.sin(angle), height
