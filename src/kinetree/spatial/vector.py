"""Three-dimensional vectors and matrices over any scalar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .scalar import Scalar


class Vec3:
    """Three components. The exact zero vector is the object ``ZERO3``, whose arithmetic is skipped."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Scalar, y: Scalar, z: Scalar) -> None:
        self.x, self.y, self.z = x, y, z

    @classmethod
    def of(cls, components: Sequence[Scalar]) -> Vec3:
        """Build from a sequence; three exact float zeros give ``ZERO3``."""
        x, y, z = components
        if all(isinstance(c, (int, float)) and c == 0 for c in (x, y, z)):
            return ZERO3
        return cls(x, y, z)

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vec3) -> Vec3:
        if other is ZERO3:
            return self
        if self is ZERO3:
            return other
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        if other is ZERO3:
            return self
        if self is ZERO3:
            return -other
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return self if self is ZERO3 else Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Vec3:
        return self if self is ZERO3 else Vec3(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def dot(self, other: Vec3) -> Scalar:
        """Return the scalar product."""
        if self is ZERO3 or other is ZERO3:
            return 0.0
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        """Return the vector product."""
        if self is ZERO3 or other is ZERO3:
            return ZERO3
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def __repr__(self) -> str:
        return f"Vec3({self.x!r}, {self.y!r}, {self.z!r})"


ZERO3 = Vec3(0.0, 0.0, 0.0)
"""The zero vector. Always compare by identity: ``v is ZERO3``."""

BASIS = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
"""The unit vectors along x, y, z."""


class Matrix3:
    """A general 3x3 matrix, kept as three rows."""

    __slots__ = ("rows",)

    def __init__(self, row0: Vec3, row1: Vec3, row2: Vec3) -> None:
        self.rows = (row0, row1, row2)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> Matrix3:
        """Build from three rows of three."""
        return cls(*(Vec3(*row) for row in rows))

    @classmethod
    def from_columns(cls, c0: Vec3, c1: Vec3, c2: Vec3) -> Matrix3:
        """Build from three columns."""
        return cls(Vec3(c0.x, c1.x, c2.x), Vec3(c0.y, c1.y, c2.y), Vec3(c0.z, c1.z, c2.z))

    @classmethod
    def cross_of(cls, v: Vec3) -> Matrix3:
        """Return the matrix ``v x`` with ``cross_of(v) @ u == v.cross(u)``."""
        return cls(Vec3(0.0, -v.z, v.y), Vec3(v.z, 0.0, -v.x), Vec3(-v.y, v.x, 0.0))

    @property
    def T(self) -> Matrix3:
        """The transpose."""
        return Matrix3.from_columns(*self.rows)

    def __matmul__(self, other: Vec3) -> Vec3:
        a, b, c = self.rows
        return other if other is ZERO3 else Vec3(a.dot(other), b.dot(other), c.dot(other))

    def times(self, other: Matrix3) -> Matrix3:
        """Return the matrix product."""
        a, b, c = other.T.rows
        return Matrix3.from_columns(self @ a, self @ b, self @ c)

    def __add__(self, other: Matrix3) -> Matrix3:
        return Matrix3(*(a + b for a, b in zip(self.rows, other.rows, strict=True)))

    def __sub__(self, other: Matrix3) -> Matrix3:
        return Matrix3(*(a - b for a, b in zip(self.rows, other.rows, strict=True)))

    def __mul__(self, factor: Scalar) -> Matrix3:
        return Matrix3(*(row * factor for row in self.rows))

    def to_rows(self) -> list[list[Scalar]]:
        """Return plain nested lists."""
        return [list(row) for row in self.rows]


class Symmetric3:
    """A symmetric 3x3 matrix, kept as six numbers."""

    __slots__ = ("xx", "xy", "xz", "yy", "yz", "zz")

    def __init__(self, xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> None:
        self.xx, self.xy, self.xz, self.yy, self.yz, self.zz = xx, xy, xz, yy, yz, zz

    def __matmul__(self, v: Vec3) -> Vec3:
        if v is ZERO3:
            return v
        return Vec3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def __add__(self, other: Symmetric3) -> Symmetric3:
        return Symmetric3(
            self.xx + other.xx, self.xy + other.xy, self.xz + other.xz,
            self.yy + other.yy, self.yz + other.yz, self.zz + other.zz,
        )  # fmt: skip

    def __sub__(self, other: Symmetric3) -> Symmetric3:
        return Symmetric3(
            self.xx - other.xx, self.xy - other.xy, self.xz - other.xz,
            self.yy - other.yy, self.yz - other.yz, self.zz - other.zz,
        )  # fmt: skip

    def __mul__(self, factor: Scalar) -> Symmetric3:
        return Symmetric3(*(s * factor for s in (self.xx, self.xy, self.xz, self.yy, self.yz, self.zz)))

    @classmethod
    def diagonal(cls, value: Scalar) -> Symmetric3:
        """Return ``value`` times the identity."""
        return cls(value, 0.0, 0.0, value, 0.0, value)

    @classmethod
    def outer(cls, v: Vec3) -> Symmetric3:
        """Return the dyad ``v v^T``."""
        return cls(v.x * v.x, v.x * v.y, v.x * v.z, v.y * v.y, v.y * v.z, v.z * v.z)

    @classmethod
    def across(cls, unit: Vec3) -> Symmetric3:
        """Return ``1 - u u^T``: the inertia of a unit mass at the point ``u``, at distance 1 from the origin."""
        return cls.diagonal(1.0) - cls.outer(unit)

    def dense(self) -> Matrix3:
        """Return a general matrix."""
        return Matrix3(
            Vec3(self.xx, self.xy, self.xz), Vec3(self.xy, self.yy, self.yz), Vec3(self.xz, self.yz, self.zz)
        )
