"""Numeric poses in Khalil's six parameters, frames along the axes of joints, and angles without rounded decimals."""

from __future__ import annotations

import math

import numpy as np

from ..changes.over_any_scalar import KhalilStep
from ..joints import JointKind
from ..pose import Pose

TWELFTH = math.pi / 12

MOST = 100.0
"""Tolerance in radians within which an angle counts as a multiple of a right angle."""

FLAT = 1e-12
"""Sine below which two axes are parallel."""


def meant_angle(x: float) -> float:
    """Return the exact multiple of 15 degrees if an angle equals one to twelve digits.

    SYMORO writes numbers as Python 2 prints them, with twelve digits: pi/2 as 1.57079632679.
    """
    if abs(x) > MOST:
        return x
    count = round(x / TWELFTH)
    meant = count * TWELFTH
    return meant if count and f"{meant:.12g}" == f"{x:.12g}" else x


def step_of(pose: Pose) -> KhalilStep:
    """Return the six parameters of a pose: ``Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r)``.

    If there are several solutions, theta is smallest, then gamma; for parallel axes ``b`` is zero.
    """
    m, p = pose.rotation, pose.position
    sine = math.hypot(m[0, 2], m[1, 2])
    if sine < FLAT:
        return _of_parallel(m, p)
    choices = []
    for sign in (1.0, -1.0):
        gamma = math.atan2(sign * m[0, 2], -sign * m[1, 2])
        theta = math.atan2(sign * m[2, 0], sign * m[2, 1])
        alpha = math.atan2(sign * sine, m[2, 2])
        choices.append((abs(theta) + abs(gamma), sign, gamma, theta, alpha))
    _, sign, gamma, theta, alpha = min(choices)
    x, y, z = _turned(p, gamma)
    r = -y / (sign * sine)
    return KhalilStep(gamma, z - r * float(m[2, 2]), alpha, x, theta, r)


def to_axis(kind: JointKind) -> np.ndarray:
    """Return the rotation that takes z to a joint's axis."""
    axis = np.array(getattr(kind, "axis", (0.0, 0.0, 1.0)), dtype=float)
    if np.array_equal(axis, (0.0, 0.0, 1.0)):
        return np.eye(3)
    x = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    x = x - axis * (axis @ x)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def _of_parallel(m: np.ndarray, p: np.ndarray) -> KhalilStep:
    alpha = 0.0 if m[2, 2] > 0.0 else math.pi
    total = math.atan2(m[1, 0], m[0, 0])  # gamma + theta, or gamma - theta if z is reversed
    along = math.hypot(p[0], p[1])
    candidates = [total]
    if along > 0.0:
        away = math.atan2(p[1], p[0])
        candidates = [away, math.atan2(-p[1], -p[0])]
    angles = [(_wrapped(total - g) if alpha == 0.0 else _wrapped(g - total), g) for g in candidates]
    theta, gamma = min(angles, key=lambda both: (abs(both[0]), abs(both[1])))
    x, _, z = _turned(p, gamma)
    return KhalilStep(gamma, 0.0, alpha, x, theta, z * float(m[2, 2]))


def _turned(p: np.ndarray, gamma: float) -> tuple[float, float, float]:
    """Return a position in axes that are rotated by gamma about z."""
    c, s = math.cos(gamma), math.sin(gamma)
    if abs(c) < FLAT or abs(s) < FLAT:
        c, s = round(c), round(s)
    return c * float(p[0]) + s * float(p[1]), c * float(p[1]) - s * float(p[0]), float(p[2])


def _wrapped(angle: float) -> float:
    return math.remainder(angle, 2.0 * math.pi)
