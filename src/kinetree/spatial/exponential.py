"""Exponential and logarithm of rotations (as quaternions) and rigid displacements, over any scalar.

Used to step quaternion joints along a constant velocity and to find the velocity
between two configurations.  Near zero angle each function switches to its Taylor
series, lane by lane.
"""

from __future__ import annotations

from .scalar import Scalar, arctan2, cos, sin, sqrt, where
from .vector import Vec3

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]

_SMALL = 1e-4  # squared angle below which the series to third order are exact in double precision


def _series(x: Scalar, *coefficients: float) -> Scalar:
    """Return c0 + c1 x + c2 x^2 + ..., by products alone: a division takes as long as ten of them."""
    total: Scalar = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product of two quaternions (x, y, z, w): rotation ``b`` followed by rotation ``a``."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quaternion_exp(w: Vec3) -> Quaternion:
    """Return the quaternion of a rotation vector ``w`` (axis times angle)."""
    t2 = w.dot(w)
    small = t2 < _SMALL
    half = 0.5 * sqrt(where(small, 1.0, t2))
    s = where(small, _series(t2, 0.5, -1.0 / 48.0, 1.0 / 3840.0, -1.0 / 645120.0), 0.5 * sin(half) / half)
    c = where(small, _series(t2, 1.0, -1.0 / 8.0, 1.0 / 384.0, -1.0 / 46080.0), cos(half))
    return w.x * s, w.y * s, w.z * s, c


def quaternion_log(q: Quaternion) -> Vec3:
    """Return the shortest rotation vector of a unit quaternion; both signs give the same rotation."""
    x, y, z, w = q
    sign = where(w < 0.0, -1.0, 1.0)
    v = Vec3(x * sign, y * sign, z * sign)
    w = w * sign
    s2 = v.dot(v)
    small = s2 < _SMALL
    s = sqrt(where(small, 1.0, s2))
    # 2 asin(s)/s for a unit quaternion with w > 0
    series = _series(s2, 2.0, 1.0 / 3.0, 3.0 / 20.0, 5.0 / 56.0, 35.0 / 576.0)
    factor = where(small, series, 2.0 * arctan2(s, w) / s)
    return v * factor


def _translation_coefficients(t2: Scalar) -> tuple[Scalar, Scalar]:
    """Return ``(1 - cos t)/t^2`` and ``(t - sin t)/t^3``."""
    small = t2 < _SMALL
    safe = where(small, 1.0, t2)
    t = sqrt(safe)
    half_sine = sin(0.5 * t)
    b = where(small, _series(t2, 0.5, -1.0 / 24.0, 1.0 / 720.0, -1.0 / 40320.0), 2.0 * half_sine * half_sine / safe)
    series = _series(t2, 1.0 / 6.0, -1.0 / 120.0, 1.0 / 5040.0, -1.0 / 362880.0)
    return b, where(small, series, (t - sin(t)) / (safe * t))


def displacement_exp(w: Vec3, v: Vec3) -> tuple[Quaternion, Vec3]:
    """Return the rotation and translation reached by moving for unit time with constant body velocity ``(w, v)``."""
    b, c = _translation_coefficients(w.dot(w))
    wv = w.cross(v)
    return quaternion_exp(w), v + wv * b + w.cross(wv) * c


def displacement_log(q: Quaternion, p: Vec3) -> tuple[Vec3, Vec3]:
    """Return the constant body velocity that reaches rotation ``q`` and translation ``p`` in unit time."""
    w = quaternion_log(q)
    return w, log_slope_transposed(w, p)


def log_slope_transposed(w: Vec3, p: Vec3) -> Vec3:
    """Return J^T p, where J maps angular velocity in body axes to the rate of the rotation vector ``w``."""
    t2 = w.dot(w)
    small = t2 < _SMALL
    safe = where(small, 1.0, t2)
    half = 0.5 * sqrt(safe)
    # (1 - (t/2) cot(t/2)) / t^2
    series = _series(t2, 1.0 / 12.0, 1.0 / 720.0, 1.0 / 30240.0)
    d = where(small, series, (1.0 - half * cos(half) / sin(half)) / safe)
    wp = w.cross(p)
    return p - wp * 0.5 + w.cross(wp) * d
