"""Inertias over any scalar: of one rigid body, and of an articulated body."""

from __future__ import annotations

from .motion import Force, Motion
from .scalar import Scalar
from .vector import ZERO3, Matrix3, Symmetric3, Vec3

NO_SECOND = Symmetric3.diagonal(0.0)
"""The second moment of a point mass at the frame's origin."""


class RigidInertia:
    """Mass, first moment ``h = m c`` and second moment about the frame's origin.

    As a 6x6 matrix, angular part first: ``[[I, h x], [-h x, m 1]]`` (Shah eq. 5.6).
    """

    __slots__ = ("first", "mass", "second")

    def __init__(self, mass: Scalar = 0.0, first: Vec3 = ZERO3, second: Symmetric3 = NO_SECOND) -> None:
        self.mass, self.first, self.second = mass, first, second

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def __matmul__(self, m: Motion) -> Force:
        """Return the momentum of a body moving with ``m``."""
        return Force(
            self.second @ m.angular + self.first.cross(m.linear), m.linear * self.mass - self.first.cross(m.angular)
        )

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia in the form that articulated bodies need."""
        coupling = Matrix3.cross_of(self.first)
        return ArticulatedInertia(self.second, coupling, Symmetric3.diagonal(self.mass))


class ArticulatedInertia:
    """A symmetric 6x6 matrix in blocks ``[[A, C], [C^T, L]]``: moment and force per acceleration."""

    __slots__ = ("angular", "coupling", "linear")

    def __init__(self, angular: Symmetric3, coupling: Matrix3, linear: Symmetric3) -> None:
        self.angular, self.coupling, self.linear = angular, coupling, linear

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(
            self.angular + other.angular, self.coupling + other.coupling, self.linear + other.linear
        )

    def __sub__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(
            self.angular - other.angular, self.coupling - other.coupling, self.linear - other.linear
        )

    def __matmul__(self, m: Motion) -> Force:
        if m.linear is ZERO3:
            return Force(self.angular @ m.angular, self.coupling.T @ m.angular)
        return Force(
            self.angular @ m.angular + self.coupling @ m.linear, self.coupling.T @ m.angular + self.linear @ m.linear
        )

    @classmethod
    def dyad(cls, a: Force, b: Force) -> ArticulatedInertia:
        """Return the dyad ``a b^T``, which must be symmetric: pass ``a`` proportional to ``b``."""
        n, f, m, g = a.moment, a.force, b.moment, b.force
        return cls(
            Symmetric3(n.x * m.x, n.x * m.y, n.x * m.z, n.y * m.y, n.y * m.z, n.z * m.z),
            Matrix3(g * n.x, g * n.y, g * n.z),
            Symmetric3(f.x * g.x, f.x * g.y, f.x * g.z, f.y * g.y, f.y * g.z, f.z * g.z),
        )

    def to_rows(self) -> list[list[Scalar]]:
        """Return the 36 numbers, by rows."""
        a, c, ct, m = (b.to_rows() for b in (self.angular.dense(), self.coupling, self.coupling.T, self.linear.dense()))
        return [a[i] + c[i] for i in range(3)] + [ct[i] + m[i] for i in range(3)]
