"""Recursive Newton-Euler: inverse dynamics in two sweeps (Shah table 6.1, Saha eq. 17).

The outward sweep follows the sources in using the ordinary acceleration of each body's
origin and never the origin's velocity: with W = [w'] x + [w] x [w] x the acceleration of
any point p of the body is o'' + W p, and the same W gives the inertia force.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model.tree import Link, Model
from ..spatial import ZERO3, Force, Matrix3, Motion, Scalar, Symmetric3, Transform, Vec3, combine
from . import springs as joint_springs
from . import tendons
from .passes import Scalars, bias_motion, collect, each, inward, nothing, outward, part, positions, present, rates

Wrenches = Sequence[Force | None]


class Moving(NamedTuple):
    """The motion of a body as the outward sweep computes it, in the body's coordinates."""

    transform: Transform
    subspace: tuple[Motion, ...]
    w: Vec3
    w_dot: Vec3
    o_ddot: Vec3
    turning: Matrix3
    """W, which maps a point of the body to its acceleration relative to the origin."""


def turning_matrix(w: Vec3, w_dot: Vec3) -> Matrix3:
    """Return W = [w'] x + [w] x [w] x, from six products of the components of w (Shah table 6.8)."""
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Matrix3(
        Vec3(-(yy + zz), xy - w_dot.z, xz + w_dot.y),
        Vec3(xy + w_dot.z, -(xx + zz), yz - w_dot.x),
        Vec3(xz - w_dot.y, yz + w_dot.x, -(xx + yy)),
    )


def turning_moment(turning: Matrix3, second: Symmetric3) -> Vec3:
    """Return I w' + w x I w as the moment of the accelerations W x of the body's points (15 products, Shah table 6.8).

    The sum of m x (W x) needs the second moments of mass, s_xx = (I_yy + I_zz - I_xx)/2 and s_xy = -I_xy.
    """
    half = 0.5 * (second.xx + second.yy + second.zz)
    sxx, syy, szz = half - second.xx, half - second.yy, half - second.zz
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = turning.rows
    return Vec3(
        zy * syy - yz * szz + yx * second.xz - zx * second.xy - (zz - yy) * second.yz,
        xz * szz - zx * sxx + zy * second.xy - xy * second.yz - (xx - zz) * second.xz,
        yx * sxx - xy * syy + xz * second.yz - yz * second.xz - (yy - xx) * second.xy,
    )


def principal_moment(w: Vec3, w_dot: Vec3, second: Symmetric3) -> Vec3:
    """Return I w' + w x I w along principal axes, by Euler's equations: the same number of products, without W."""
    return Vec3(
        second.xx * w_dot.x + (second.zz - second.yy) * (w.y * w.z),
        second.yy * w_dot.y + (second.xx - second.zz) * (w.x * w.z),
        second.zz * w_dot.z + (second.yy - second.xx) * (w.x * w.y),
    )


def along_principal_axes(second: Symmetric3) -> bool:
    """Return whether Euler's equations apply and are shorter: for a flat body W saves two products."""
    if any(present(x) for x in (second.xy, second.xz, second.yz)):
        return False
    half = 0.5 * (second.xx + second.yy + second.zz)
    return all(present(half - x) for x in (second.xx, second.yy, second.zz))


def base_at_rest(gravity: Sequence[Scalar]) -> Moving:
    """Return the base, accelerating upward at -g so that gravity needs no further mention (Shah section 6.1.2)."""
    zero = Matrix3(ZERO3, ZERO3, ZERO3)
    return Moving(Transform(), (), ZERO3, ZERO3, -Vec3.of(gravity), zero)


def move(link: Link, parent: Moving, q: Scalars, v: Scalars, a: Scalars | None) -> Moving:
    """Return the motion of a body from that of its parent: the outward step (Shah eq. 6.2, any joint).

    If ``a`` is None, the joint acceleration is zero. The joint's relative velocity is (wj, u) in child coordinates; for
    rotary joints u vanishes, and so does the Coriolis term (w + w_parent) x u of sliding joints.
    """
    x = link.transform(q)
    s = link.subspace(q)
    relative = combine(s, v)
    bias = bias_motion(link, q, v)
    apparent = None if a is None else combine(s, a)
    if bias is not None:
        apparent = bias if apparent is None else apparent + bias
    w_parent = x.unrotate(parent.w)
    w = w_parent + relative.angular
    w_dot = x.unrotate(parent.w_dot) + w.cross(relative.angular)
    o_ddot = x.unrotate(parent.o_ddot + parent.turning @ x.translation) + (w + w_parent).cross(relative.linear)
    if apparent is not None:
        w_dot, o_ddot = w_dot + apparent.angular, o_ddot + apparent.linear
    return Moving(x, s, w, w_dot, o_ddot, turning_matrix(w, w_dot))


def inertia_force(link: Link, m: Moving, external: Force | None) -> Force:
    """Return force and moment about the origin that the motion requires, less the external ones (Shah eq. 5.4)."""
    body = link.inertia
    force = m.o_ddot * body.mass + m.turning @ body.first
    if along_principal_axes(body.second):
        moment = principal_moment(m.w, m.w_dot, body.second)
    else:
        moment = turning_moment(m.turning, body.second)
    required = Force(moment + body.first.cross(m.o_ddot), force)
    return required if external is None else required - external


def felt_by_joint(
    link: Link, axes: Sequence[Motion], carried: Force, a: Scalars | None, pull: Scalars | None = None
) -> list[Scalar]:
    """Return the force of a joint that carries a wrench, turns its own rotors, and holds its springs."""
    tau: list[Scalar] = [s.dot(carried) for s in axes]  # Shah eq. 6.6
    if a is not None and any(present(x) for x in link.armature):
        tau = [t + rotor * x for t, rotor, x in zip(tau, link.armature, a, strict=True)]  # Khalil eq. 10.12
    return tau if pull is None else [t + p for t, p in zip(tau, pull, strict=True)]


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars | None, gravity: Scalars, wrenches: Wrenches | None = None,
    springs: bool = True,
) -> tuple[list[Scalar], Sequence[Force]]:  # fmt: skip
    """Return joint forces for a motion, and the wrench each joint transmits to its body, in body coordinates.

    Without ``springs``, the springs of joints and tendons are ignored.
    """
    accelerations = nothing(tree) if a is None else rates(tree, a)
    moving = outward(tree, move, base_at_rest(gravity), positions(tree, q), rates(tree, v), accelerations)
    own = each(tree, inertia_force, moving, wrenches or nothing(tree))
    pulls = joint_springs.pulls(tree, q) if springs else nothing(tree)

    def hand_on(
        link: Link, total: Force, m: Moving, a: Scalars | None, pull: Scalars | None
    ) -> tuple[tuple[list[Scalar], Force], Force]:
        tau = felt_by_joint(link, m.subspace, total, a, pull)
        return (tau, total), m.transform.force_to_parent(total)

    results, _ = inward(tree, hand_on, own, moving, accelerations, pulls)
    tau = collect(tree, part(results, 0))
    pulled = tendons.pulls(tree, q) if springs else None
    return tau if pulled is None else [t + p for t, p in zip(tau, pulled, strict=True)], part(results, 1)
