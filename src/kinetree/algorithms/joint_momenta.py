"""Momenta of the joints and the slope of the kinetic energy, both from the momenta of whole branches.

With H_j the momentum of everything that joint j carries, in the coordinates of its body,

    p_j = S_j . H_j + rotor v_j,        (C^T v)_j = (v_j x S_j + S'_j) . H_j,

where v_j is the velocity of the body and S'_j the rate of the subspace in the body's coordinates. The second equation
follows from C = sum J^T (I J' + B J) with the columns of J' = X (v_j x S_j + S'_j) - v_i x (X S_j) and B + B^T = 0, B
v_i = v_i x* I v_i: the last term of J' and the term of B^T cancel. So C^T v takes two sweeps, O(n), and needs no
matrix.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.tree import Link, Model
from ..spatial import IDENTITY, ZERO_MOTION, Force, Motion, Scalar, Transform, combine
from .newton_euler import felt_by_joint
from .passes import Scalars, each, inward, outward, positions, rates, table


class MovingJoint(NamedTuple):
    """A body's pose in its parent, its subspace, and its spatial velocity in its own frame."""

    transform: Transform
    subspace: tuple[Motion, ...]
    velocity: Motion


def momenta(tree: Model, q: Scalars, v: Scalars) -> list[list[Scalar]]:
    """Return momentum (M v) and the slope C^T v for each degree of freedom of a tree without followers."""

    def move(link: Link, parent: MovingJoint, q: Scalars, v: Scalars) -> MovingJoint:
        x, s = link.transform(q), link.subspace(q)
        return MovingJoint(x, s, x.motion_to_child(parent.velocity) + combine(s, v))

    def own(link: Link, m: MovingJoint) -> Force:
        return link.inertia @ m.velocity

    def hand_on(link: Link, total: Force, m: MovingJoint, q: Scalars, v: Scalars) -> tuple[list[list[Scalar]], Force]:
        p = felt_by_joint(link, m.subspace, total, v)  # as forces, of momenta
        turned = m.velocity.cross_force(total)
        slope: list[Scalar] = [-s.dot(turned) for s in m.subspace]  # (v x S) . H = -S . (v x* H)
        changing = link.kind.subspace_rate(q, v)
        if changing is not None:
            slope = [a + s.dot(total) for a, s in zip(slope, changing, strict=True)]
        return [[a, b] for a, b in zip(p, slope, strict=True)], m.transform.force_to_parent(total)

    here, going = positions(tree, q), rates(tree, v)
    moving = outward(tree, move, MovingJoint(IDENTITY, (), ZERO_MOTION), here, going)
    results, _ = inward(tree, hand_on, each(tree, own, moving), moving, here, going)
    return table(tree, results, 2)
