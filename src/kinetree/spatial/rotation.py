"""Rotations over any scalar.

A rotation maps components in the rotated (child) frame to components in the fixed
(parent) frame: ``x_parent = R x_child``.  Rotations about a coordinate axis are kept as a sine and a cosine, because
applying one costs 4 multiplications and 2 additions, while a general matrix costs 9 and 6; a product of rotations is
kept as its factors until the matrix is needed.
"""

from __future__ import annotations

from typing import Protocol

from . import scalar
from .scalar import Scalar
from .vector import BASIS, ZERO3, Matrix3, Symmetric3, Vec3


class RotationLike(Protocol):
    """The interface of all rotations."""

    def apply(self, v: Vec3) -> Vec3:
        """Return child components as parent components."""
        ...

    def unapply(self, v: Vec3) -> Vec3:
        """Return parent components as child components."""
        ...

    def conjugate_symmetric(self, s: Symmetric3) -> Symmetric3:
        """Return ``R S R^T``."""
        ...

    def conjugate(self, m: Matrix3) -> Matrix3:
        """Return ``R M R^T``."""
        ...

    def matrix(self) -> Matrix3:
        """Return the nine numbers."""
        ...


class AxisRotation:
    """A turn about coordinate axis 0, 1 or 2, given by its cosine and sine."""

    __slots__ = ("axis", "c", "s")

    def __init__(self, axis: int, c: Scalar, s: Scalar) -> None:
        self.axis, self.c, self.s = axis, c, s

    @classmethod
    def by_angle(cls, axis: int, angle: Scalar) -> AxisRotation:
        """Make a turn by an angle in radians."""
        return cls(axis, scalar.cos(angle), scalar.sin(angle))

    def _turn(self, v: Vec3, s: Scalar) -> Vec3:
        if v is ZERO3:
            return v
        c = self.c
        if self.axis == 0:
            return Vec3(v.x, c * v.y - s * v.z, c * v.z + s * v.y)
        if self.axis == 1:
            return Vec3(c * v.x + s * v.z, v.y, c * v.z - s * v.x)
        return Vec3(c * v.x - s * v.y, c * v.y + s * v.x, v.z)

    def apply(self, v: Vec3) -> Vec3:
        """Return child components as parent components."""
        return self._turn(v, self.s)

    def unapply(self, v: Vec3) -> Vec3:
        """Return parent components as child components."""
        return self._turn(v, -self.s)

    def conjugate_symmetric(self, m: Symmetric3) -> Symmetric3:
        """Return ``R S R^T`` with 8 multiplications: the 2x2 block across the axis needs only 4."""
        c, s = self.c, self.s

        def block(a: Scalar, b: Scalar, d: Scalar) -> tuple[Scalar, Scalar, Scalar]:
            k = c * (a - d) - s * (b + b)
            ck = c * k
            return d + ck, b + s * k, a - ck

        if self.axis == 0:
            yy, yz, zz = block(m.yy, m.yz, m.zz)
            return Symmetric3(m.xx, c * m.xy - s * m.xz, c * m.xz + s * m.xy, yy, yz, zz)
        if self.axis == 1:
            zz, xz, xx = block(m.zz, m.xz, m.xx)
            return Symmetric3(xx, c * m.xy + s * m.yz, xz, m.yy, c * m.yz - s * m.xy, zz)
        xx, xy, yy = block(m.xx, m.xy, m.yy)
        return Symmetric3(xx, xy, c * m.xz - s * m.yz, yy, c * m.yz + s * m.xz, m.zz)

    def conjugate(self, m: Matrix3) -> Matrix3:
        """Return ``R M R^T`` with 12 multiplications: the 2x2 block across the axis needs only 4 (Shah eq. A.7)."""
        c, s, o = self.c, self.s, self.axis
        i, j = (o + 1) % 3, (o + 2) % 3
        rows = [list(row) for row in m.rows]
        a, b, e, d = rows[i][i], rows[i][j], rows[j][i], rows[j][j]
        k = c * (a - d) - s * (b + e)
        ck, sk = c * k, s * k
        turned = [list(row) for row in rows]
        turned[i][i], turned[i][j], turned[j][i], turned[j][j] = d + ck, b + sk, e + sk, a - ck
        turned[i][o], turned[j][o] = c * rows[i][o] - s * rows[j][o], c * rows[j][o] + s * rows[i][o]
        turned[o][i], turned[o][j] = c * rows[o][i] - s * rows[o][j], c * rows[o][j] + s * rows[o][i]
        return Matrix3.of(turned)

    def matrix(self) -> Matrix3:
        """Return the nine numbers."""
        return Matrix3.from_columns(*(self.apply(e) for e in BASIS))


class MatrixRotation:
    """A rotation given by its matrix."""

    __slots__ = ("m",)

    def __init__(self, m: Matrix3) -> None:
        self.m = m

    @classmethod
    def about(cls, axis: Vec3, angle: Scalar) -> MatrixRotation:
        """Make a turn about any unit vector (Rodrigues)."""
        return cls.turned(axis, scalar.cos(angle), scalar.sin(angle))

    @classmethod
    def turned(cls, axis: Vec3, c: Scalar, s: Scalar) -> MatrixRotation:
        """Make a turn about any unit vector by the angle that has this cosine and sine."""
        t = 1.0 - c
        x, y, z = axis
        return cls(
            Matrix3(
                Vec3(c + x * x * t, x * y * t - z * s, x * z * t + y * s),
                Vec3(x * y * t + z * s, c + y * y * t, y * z * t - x * s),
                Vec3(x * z * t - y * s, y * z * t + x * s, c + z * z * t),
            )
        )

    @classmethod
    def from_quaternion(cls, x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> MatrixRotation:
        """Make one from a unit quaternion x, y, z, w (transpose of Featherstone eq. 8.2: maps child to parent)."""
        x2, y2, z2 = x + x, y + y, z + z
        xx, xy, xz, xw = x * x2, x * y2, x * z2, w * x2
        yy, yz, yw = y * y2, y * z2, w * y2
        zz, zw = z * z2, w * z2
        return cls(
            Matrix3(
                Vec3(1.0 - (yy + zz), xy - zw, xz + yw),
                Vec3(xy + zw, 1.0 - (xx + zz), yz - xw),
                Vec3(xz - yw, yz + xw, 1.0 - (xx + yy)),
            )
        )

    def apply(self, v: Vec3) -> Vec3:
        """Return child components as parent components."""
        return self.m @ v

    def unapply(self, v: Vec3) -> Vec3:
        """Return parent components as child components."""
        return self.m.T @ v

    def conjugate_symmetric(self, s: Symmetric3) -> Symmetric3:
        """Return ``R S R^T``; only the upper triangle is computed."""
        r0, r1, r2 = self.m.rows
        s0, s1, s2 = s @ r0, s @ r1, s @ r2
        return Symmetric3(r0.dot(s0), r0.dot(s1), r0.dot(s2), r1.dot(s1), r1.dot(s2), r2.dot(s2))

    def conjugate(self, m: Matrix3) -> Matrix3:
        """Return ``R M R^T``."""
        return self.m.times(m).times(self.m.T)

    def matrix(self) -> Matrix3:
        """Return the nine numbers."""
        return self.m


def axis_turn(axis: Vec3, angle: Scalar) -> RotationLike:
    """Return a turn about a constant unit axis, in the cheaper form if it is a coordinate axis."""
    for index, unit in enumerate(BASIS):
        if tuple(axis) == tuple(unit):
            return AxisRotation.by_angle(index, angle)
        if tuple(axis) == tuple(-unit):
            return AxisRotation(index, scalar.cos(angle), -scalar.sin(angle))
    return MatrixRotation.about(axis, angle)


def quaternion_of(matrix: Matrix3) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Return the unit quaternion x, y, z, w of a rotation matrix, without cancellation."""
    (a, b, c), (d, e, f), (g, h, i) = matrix.rows
    # For each component: the quaternion times four times that component.
    by_w, by_x = (h - f, c - g, d - b, 1.0 + a + e + i), (1.0 + a - e - i, b + d, c + g, h - f)
    by_y, by_z = (b + d, 1.0 - a + e - i, f + h, c - g), (c + g, f + h, 1.0 - a - e + i, d - b)
    best, most = by_w, by_w[3]
    for product, square in ((by_x, by_x[0]), (by_y, by_y[1]), (by_z, by_z[2])):
        larger = most < square
        best = tuple(scalar.where(larger, new, old) for new, old in zip(product, best, strict=True))  # type: ignore[assignment]
        most = scalar.where(larger, square, most)
    scale = 0.5 / scalar.sqrt(most)
    x, y, z, w = best
    return x * scale, y * scale, z * scale, w * scale
