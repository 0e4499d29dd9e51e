"""The Coriolis matrix whose C v are the velocity forces and for which M' - 2 C is skew.

Each body contributes through the matrix B with 2 B = v x* I - I v x + (I v) x^, the
choice that makes B + B^T the rate of the body's inertia; it is gathered over subtrees
like the inertia itself.
"""

from __future__ import annotations

from ..model.tree import BASE, Link, Model
from ..spatial import Force, Matrix3, Motion, RigidInertia, Scalar, Symmetric3, Transform
from .kinematics import Posed, Twist, poses, twists
from .passes import Scalars, add, inward, positions, rates


class VelocityInertia:
    """A general 6x6 matrix in blocks, acting on motions: ``[[A, C], [E, F]]``."""

    __slots__ = ("a", "c", "e", "f")

    def __init__(self, a: Matrix3, c: Matrix3, e: Matrix3, f: Matrix3) -> None:
        self.a, self.c, self.e, self.f = a, c, e, f

    def __add__(self, other: VelocityInertia) -> VelocityInertia:
        return VelocityInertia(self.a + other.a, self.c + other.c, self.e + other.e, self.f + other.f)

    def __matmul__(self, m: Motion) -> Force:
        return Force(self.a @ m.angular + self.c @ m.linear, self.e @ m.angular + self.f @ m.linear)

    def transposed(self) -> VelocityInertia:
        """Ordinary transpose."""
        return VelocityInertia(self.a.T, self.e.T, self.c.T, self.f.T)

    @classmethod
    def of_body(cls, inertia: RigidInertia, velocity: Motion) -> VelocityInertia:
        """B of one body moving with ``velocity``, in its own coordinates."""
        w, u = velocity.angular, velocity.linear
        h, m = inertia.first, inertia.mass
        i = inertia.second.dense()
        wx, ux, hx = Matrix3.cross_of(w), Matrix3.cross_of(u), Matrix3.cross_of(h)
        momentum = inertia @ velocity
        lx, kx = Matrix3.cross_of(momentum.force), Matrix3.cross_of(momentum.moment)
        # v x* I - I v x, block by block; then (I v) x^ = [[-k x, -l x], [-l x, 0]]
        a = wx.times(i) - ux.times(hx) - i.times(wx) - hx.times(ux) - kx
        c = wx.times(hx) + ux * m - hx.times(wx) - lx
        e = hx.times(wx) - wx.times(hx) - ux * m - lx
        zero = Symmetric3.diagonal(0.0).dense()
        return cls(a * 0.5, c * 0.5, e * 0.5, zero)

    def to_parent(self, x: Transform) -> VelocityInertia:
        """X^T B X: the same map seen from the parent frame."""

        def turned(block: Matrix3) -> Matrix3:
            for rotation in reversed(x.rotations):
                block = rotation.conjugate(block)
            return block

        a, c, e, f = turned(self.a), turned(self.c), turned(self.e), turned(self.f)
        p = Matrix3.cross_of(x.translation)
        c_up, e_up = c + p.times(f), e - f.times(p)
        return VelocityInertia(a + p.times(e) - c_up.times(p), c_up, e_up, f)


def coriolis_matrix(tree: Model, q: Scalars, v: Scalars) -> list[list[Scalar]]:
    """C by rows."""
    posed = poses(tree, q)
    moving = twists(tree, q, v, None, posed)
    bodies = [
        (link.inertia, VelocityInertia.of_body(link.inertia, t.velocity))
        for link, t in zip(tree.links, moving, strict=True)
    ]

    def gather(
        link: Link, total: tuple[RigidInertia, VelocityInertia], p: Posed
    ) -> tuple[tuple[RigidInertia, VelocityInertia], tuple[RigidInertia, VelocityInertia]]:
        inertia, b = total
        return total, (p.transform.rigid_to_parent(inertia), b.to_parent(p.transform))

    subtrees, _ = inward(tree, gather, bodies, posed)
    subspace_rates = [
        _total_rate(link, p, t, own_q, own_v)
        for link, p, t, own_q, own_v in zip(tree.links, posed, moving, positions(tree, q), rates(tree, v), strict=True)
    ]
    matrix: list[list[Scalar | None]] = [[None] * tree.nv for _ in range(tree.nv)]
    for link in tree.links:
        inertia, b = subtrees[link.index]
        bt = b.transposed()
        # per column of this joint: I S' + B S, I S and B^T S
        triples = [
            (inertia @ ds + b @ s, inertia @ s, bt @ s)
            for s, ds in zip(posed[link.index].subspace, subspace_rates[link.index], strict=True)
        ]
        carrier = link
        while True:
            for k, (full, plain, mirrored) in enumerate(triples):
                column = link.v_slice.start + k
                for j, (s, ds) in enumerate(
                    zip(posed[carrier.index].subspace, subspace_rates[carrier.index], strict=True)
                ):
                    row = carrier.v_slice.start + j
                    ratio = link.ratio * carrier.ratio
                    matrix[row][column] = add(matrix[row][column], s.dot(full) * ratio)
                    if carrier is not link:
                        below = ds.dot(plain) + s.dot(mirrored)
                        matrix[column][row] = add(matrix[column][row], below * ratio)
            if carrier.parent == BASE:
                break
            x = posed[carrier.index].transform
            triples = [tuple(x.force_to_parent(f) for f in triple) for triple in triples]  # type: ignore[misc]
            carrier = tree.links[carrier.parent]
    return [[0.0 if x is None else x for x in row] for row in matrix]


def _total_rate(link: Link, p: Posed, t: Twist, q: Scalars, v: Scalars) -> list[Motion]:
    """Rate of a joint's screws as vectors in space, in body coordinates."""
    apparent = link.kind.subspace_rate(q, v)
    columns = [t.velocity.cross(s) for s in p.subspace]
    if apparent is None:
        return columns
    return [c + extra for c, extra in zip(columns, apparent, strict=True)]
