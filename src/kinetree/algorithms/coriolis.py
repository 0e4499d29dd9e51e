"""The Coriolis matrix C: C v are the velocity forces, and M' - 2 C is skew-symmetric.

Each body contributes through the matrix B with 2 B = v x* I - I v x + (I v) x^, the
choice that makes B + B^T the rate of the body's inertia; B is summed over subtrees like the inertia itself. Multiplied
out, with the velocity (w, u), the first and second moments h and J, and the linear momentum l, half of its blocks
vanish:

    B = [[A, 0], [-l x, 0]],    A = w x (J - tr(J)/2) - h x u x

because u x m - h x w x + w x h x = l x and J w x + w x J + (J w) x = tr(J) w x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.tree import Link, Model
from ..spatial import ZERO3, Force, Matrix3, Motion, RigidInertia, Scalar, Symmetric3, Transform, Vec3
from .kinematics import Posed, Twist, poses, twists
from .passes import Coupling, Scalars, each, inward, pairs, positions, rates


class VelocityInertia:
    """B, which maps motions to forces: the block A and the linear momentum l."""

    __slots__ = ("a", "momentum")

    def __init__(self, a: Matrix3, momentum: Vec3) -> None:
        self.a, self.momentum = a, momentum

    def __add__(self, other: VelocityInertia) -> VelocityInertia:
        return VelocityInertia(self.a + other.a, self.momentum + other.momentum)

    def __matmul__(self, m: Motion) -> Force:
        return Force(self.a @ m.angular, m.angular.cross(self.momentum))

    def transposed_times(self, m: Motion) -> Force:
        """Return B^T m."""
        return Force(self.a.T @ m.angular + self.momentum.cross(m.linear), ZERO3)

    @classmethod
    def of_body(cls, inertia: RigidInertia, velocity: Motion) -> VelocityInertia:
        """Return B of one body moving with ``velocity``, in its own coordinates."""
        w, u = velocity.angular, velocity.linear
        j = inertia.second - Symmetric3.diagonal(0.5 * (inertia.second.xx + inertia.second.yy + inertia.second.zz))
        turning = Matrix3.from_columns(*(w.cross(column) for column in j.dense().rows))
        return cls(turning - _double_cross(inertia.first, u), (inertia @ velocity).force)

    def to_parent(self, x: Transform) -> VelocityInertia:
        """Return X^T B X: the same map seen from the parent frame."""
        a, momentum = self.a, x.rotate(self.momentum)
        for rotation in reversed(x.rotations):
            a = rotation.conjugate(a)
        return VelocityInertia(a - _double_cross(x.translation, momentum), momentum)


def _double_cross(a: Vec3, b: Vec3) -> Matrix3:
    """Return ``a x b x`` = b a^T - (a.b) 1."""
    return Matrix3(a * b.x, a * b.y, a * b.z) - Symmetric3.diagonal(a.dot(b)).dense()


class Gathered(NamedTuple):
    """The contributions of one joint, in body coordinates."""

    subspace: tuple[Motion, ...]
    rates: list[Motion]
    """Rates of the screws as vectors in space."""
    forces: list[tuple[Force, Force, Force]]
    """For each screw S, with I and B summed over everything that the joint carries: I S' + B S, I S and B^T S."""


def gathered(tree: Model, q: Scalars, v: Scalars) -> tuple[Sequence[Posed], Sequence[Gathered]]:
    """Return poses, and what every joint contributes to the matrix."""
    posed = poses(tree, q)
    moving = twists(tree, q, v, None, posed)

    def own(link: Link, t: Twist) -> tuple[RigidInertia, VelocityInertia]:
        return link.inertia, VelocityInertia.of_body(link.inertia, t.velocity)

    def gather(
        link: Link, total: tuple[RigidInertia, VelocityInertia], p: Posed, t: Twist, q: Scalars, v: Scalars
    ) -> tuple[Gathered, tuple[RigidInertia, VelocityInertia]]:
        inertia, b = total
        changes = _total_rate(link, p, t, q, v)
        forces = [
            (inertia @ ds + b @ s, inertia @ s, b.transposed_times(s))
            for s, ds in zip(p.subspace, changes, strict=True)
        ]
        handed = p.transform.rigid_to_parent(inertia), b.to_parent(p.transform)
        return Gathered(p.subspace, changes, forces), handed

    bodies = each(tree, own, moving)
    parts, _ = inward(tree, gather, bodies, posed, moving, positions(tree, q), rates(tree, v))
    return posed, parts


def coriolis_matrix(tree: Model, q: Scalars, v: Scalars) -> list[list[Scalar]]:
    """Return C by rows."""
    posed, parts = gathered(tree, q, v)

    def block(link: Link, i: int, j: int, own: Any) -> Scalar:
        return own.part.subspace[i].dot(own.part.forces[j][0])

    def above(forces: tuple[Force], m: int, own: Any) -> Scalar:
        return own.part.subspace[m].dot(forces[0])

    def below(forces: tuple[Force, Force], m: int, own: Any) -> Scalar:
        plain, mirrored = forces
        return own.part.rates[m].dot(plain) + own.part.subspace[m].dot(mirrored)

    def carry(forces: tuple[Force, ...], own: Any) -> tuple[Force, ...]:
        return tuple(own.posed.transform.force_to_parent(f) for f in forces)

    coupling = Coupling(
        block, lambda k, own: own.part.forces[k][:1], above, lambda k, own: own.part.forces[k][1:], below
    )
    (matrix,) = pairs(tree, [coupling], carry, posed=posed, part=parts)
    return matrix  # type: ignore[no-any-return]


def _total_rate(link: Link, p: Posed, t: Twist, q: Scalars, v: Scalars) -> list[Motion]:
    """Return the rate of a joint's screws as vectors in space, in body coordinates."""
    apparent = link.kind.subspace_rate(q, v)
    columns = [t.velocity.cross(s) for s in p.subspace]
    if apparent is None:
        return columns
    return [c + extra for c, extra in zip(columns, apparent, strict=True)]
