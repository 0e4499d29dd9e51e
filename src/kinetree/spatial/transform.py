"""Rigid displacements between a parent frame and a child frame, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

from .inertia import ArticulatedInertia, RigidInertia
from .motion import Force, Motion
from .rotation import MatrixRotation, RotationLike
from .scalar import Scalar
from .vector import BASIS, ZERO3, Matrix3, Symmetric3, Vec3


class Transform:
    """The pose of a child frame in its parent: ``x_parent = R x_child + p``.

    ``R`` is a product of rotations, kept as factors with the outermost first.
    """

    __slots__ = ("rotations", "translation")

    def __init__(self, rotations: Sequence[RotationLike] = (), translation: Vec3 = ZERO3) -> None:
        self.rotations, self.translation = tuple(rotations), translation

    def __matmul__(self, inner: Transform) -> Transform:
        """Return the chained transform: first ``inner``'s child to its parent, then on to ours."""
        return Transform(self.rotations + inner.rotations, self.translation + self.rotate(inner.translation))

    def rotate(self, v: Vec3) -> Vec3:
        """Return a free vector's child components as parent components."""
        for rotation in reversed(self.rotations):
            v = rotation.apply(v)
        return v

    def unrotate(self, v: Vec3) -> Vec3:
        """Return a free vector's parent components as child components."""
        for rotation in self.rotations:
            v = rotation.unapply(v)
        return v

    def point(self, x: Vec3) -> Vec3:
        """Return the parent coordinates of a point given in child coordinates."""
        return self.rotate(x) + self.translation

    def matrix(self) -> Matrix3:
        """Return the rotation as nine numbers."""
        if not self.rotations:
            return Matrix3(*BASIS)
        product = self.rotations[0].matrix()
        for rotation in self.rotations[1:]:
            product = product.times(rotation.matrix())
        return product

    def collapsed(self) -> Transform:
        """Return the same displacement with its rotation multiplied out."""
        if not self.rotations:
            return self
        return Transform((MatrixRotation(self.matrix()),), self.translation)

    def inverse(self) -> Transform:
        """Return the inverse, with parent and child swapped."""
        inverse = MatrixRotation(self.matrix().T)
        return Transform((inverse,), -inverse.apply(self.translation))

    def shift(self) -> Vec3:
        """Return the translation in child components."""
        return self.unrotate(self.translation)

    def motion_to_child(self, m: Motion) -> Motion:
        """Return the same motion seen from the child frame (Featherstone eq. 2.18)."""
        return Motion(self.unrotate(m.angular), self.unrotate(m.linear + m.angular.cross(self.translation)))

    def motion_to_parent(self, m: Motion) -> Motion:
        """Return the same motion seen from the parent frame."""
        angular = self.rotate(m.angular)
        return Motion(angular, self.rotate(m.linear) + self.translation.cross(angular))

    def force_to_parent(self, f: Force) -> Force:
        """Return the same force seen from the parent frame."""
        force = self.rotate(f.force)
        return Force(self.rotate(f.moment) + self.translation.cross(force), force)

    def force_to_child(self, f: Force) -> Force:
        """Return the same force seen from the child frame."""
        return Force(self.unrotate(f.moment - self.translation.cross(f.force)), self.unrotate(f.force))

    def _conjugate_symmetric(self, s: Symmetric3) -> Symmetric3:
        for rotation in reversed(self.rotations):
            s = rotation.conjugate_symmetric(s)
        return s

    def rigid_to_parent(self, inertia: RigidInertia) -> RigidInertia:
        """Return the inertia of a rigid body seen from the parent frame (Featherstone section 8.3.2)."""
        first, second = self.rotate(inertia.first), self._conjugate_symmetric(inertia.second)
        p = self.translation
        if p is ZERO3:
            return RigidInertia(inertia.mass, first, second)
        # with h' = h + m p: I' = I + (h + h').p 1 - (h p^T + p h'^T), the latter symmetric
        h, moved = first, first + p * inertia.mass
        both = h + moved
        xx, yy, zz = both.x * p.x, both.y * p.y, both.z * p.z
        shift = Symmetric3(
            yy + zz, -(h.x * p.y + p.x * moved.y), -(h.x * p.z + p.x * moved.z),
            xx + zz, -(h.y * p.z + p.y * moved.z), xx + yy,
        )  # fmt: skip
        return RigidInertia(inertia.mass, moved, second + shift)

    def articulated_to_parent(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """Return the inertia of an articulated body seen from the parent frame (Featherstone section 8.3.2)."""
        a = self._conjugate_symmetric(inertia.angular)
        c = inertia.coupling
        for rotation in reversed(self.rotations):
            c = rotation.conjugate(c)
        m = self._conjugate_symmetric(inertia.linear)
        p = self.translation
        if p is ZERO3:
            return ArticulatedInertia(a, c, m)
        # With P = p x: C' = C + P L and A' = A + P C^T - C' P, symmetric as it must be.
        shifted = c + Matrix3.from_columns(*(p.cross(column) for column in m.dense().rows))
        # column j of P C^T is p x row j of C; row i of -C' P is p x row i of C'
        before, after = [p.cross(row) for row in c.rows], [p.cross(row) for row in shifted.rows]
        x, y, z = (u + w for u, w in zip(c.rows, shifted.rows, strict=True))  # both terms meet on the diagonal
        shift = Symmetric3(
            p.y * x.z - p.z * x.y, before[1].x + after[0].y, before[2].x + after[0].z,
            p.z * y.x - p.x * y.z, before[2].y + after[1].z, p.x * z.y - p.y * z.x,
        )  # fmt: skip
        return ArticulatedInertia(a + shift, shifted, m)

    def homogeneous(self) -> list[list[Scalar]]:
        """Return the 4x4 matrix, by rows."""
        rows, p = self.matrix().to_rows(), list(self.translation)
        return [[*row, x] for row, x in zip(rows, p, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]


IDENTITY = Transform()


class RelativePose(Transform):
    """The pose of one frame in another, both of which are given in the same third frame."""

    __slots__ = ("_shift",)

    def __init__(self, parent: Transform, child: Transform) -> None:
        turn, apart = MatrixRotation(parent.matrix().T), child.translation - parent.translation
        both = Transform((turn, *child.rotations)).collapsed()
        super().__init__(both.rotations, turn.apply(apart))
        self._shift = child.unrotate(apart)

    def shift(self) -> Vec3:
        """Return the translation in child components, without the product of both rotations."""
        return self._shift
