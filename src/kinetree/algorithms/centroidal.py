"""Center of mass, momentum, and the matrix that maps velocities to momentum.

All quantities are in world axes, and momentum is taken about the center of mass. The fixed base is not included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.tree import Link, Model
from ..spatial import ZERO3, ZERO_FORCE, Force, Motion, RigidInertia, Scalar, Transform, Vec3
from .composite_body import composite_inertias
from .derivatives import inertia_rate
from .kinematics import MovingBody, Posed, Twist, poses, twists, velocities
from .passes import Scalars, collect, each, everywhere, inward, part, positions, rates


def first_moment(tree: Model, q: Scalars) -> tuple[Scalar, Vec3]:
    """Return m and m c of all moving bodies: their mass, and the sum of masses times positions, tips to base."""

    def own(link: Link) -> tuple[Scalar, Vec3]:
        return link.inertia.mass, link.inertia.first

    def hand_on(link: Link, total: tuple[Scalar, Vec3], q: Scalars) -> tuple[None, tuple[Scalar, Vec3]]:
        return None, _moment_in_parent(link.transform(q), *total)

    _, everything = inward(tree, hand_on, each(tree, own), positions(tree, q))
    return everything or (0.0, ZERO3)


def center_of_mass(tree: Model, q: Scalars) -> Vec3:
    """Return the position of the center of mass."""
    mass, moment = first_moment(tree, q)
    return moment * (1.0 / mass)


def center_of_mass_velocity(tree: Model, q: Scalars, v: Scalars) -> Vec3:
    """Return the velocity of the center of mass."""
    return momentum(tree, q, v, "origin").force * (1.0 / total_mass(tree))


def total_mass(tree: Model) -> float:
    """Return the mass of all moving bodies."""
    return sum(body.mass for body in tree.bodies)


def momentum(tree: Model, q: Scalars, v: Scalars, about: str = "com") -> Force:
    """Return the angular and linear momentum, about the center of mass or the world's origin."""

    def own(link: Link, m: MovingBody) -> Force:
        return link.inertia @ m.velocity

    moving = velocities(tree, q, v)
    return _gathered(tree, each(tree, own, moving), part(moving, 0), about)


def _gathered(tree: Model, forces: Sequence[Force], transforms: Sequence[Transform], about: str) -> Force:
    """Return the sum of one force (or momentum) per body, each in body coordinates, seen from the world."""

    def own(link: Link, force: Force) -> tuple[Force, Scalar, Vec3]:
        return force, link.inertia.mass, link.inertia.first

    def hand_on(link: Link, total: tuple[Force, Scalar, Vec3], x: Transform) -> tuple[None, tuple[Force, Scalar, Vec3]]:
        force, mass, first = total
        return None, (x.force_to_parent(force), *_moment_in_parent(x, mass, first))

    _, everything = inward(tree, hand_on, each(tree, own, forces), transforms)
    force, mass, first = everything or (ZERO_FORCE, 0.0, ZERO3)
    return force if about == "origin" else _about(force, first * (1.0 / mass))


def _moment_in_parent(x: Transform, mass: Scalar, first: Vec3) -> tuple[Scalar, Vec3]:
    """Return the mass and first moment about the parent's origin, along the parent's axes."""
    return mass, x.rotate(first) + x.translation * mass


def centroidal_matrix(tree: Model, q: Scalars) -> list[Force]:
    """Return the columns of the centroidal momentum matrix: momentum per unit of each velocity."""

    def columns(link: Link, p: Posed, composite: RigidInertia, com: Vec3) -> list[Force]:
        return [_about(p.pose.force_to_parent(composite @ s), com) for s in p.subspace]

    posed = poses(tree, q)
    composites, everything = composite_inertias(tree, part(posed, 1))
    com = everywhere(tree, _com(everything))
    return collect(tree, each(tree, columns, posed, composites, com), ZERO_FORCE)


def centroidal_drift(tree: Model, q: Scalars, v: Scalars) -> Force:
    """Return the rate of the centroidal momentum when all accelerations are zero: A' v."""
    return momentum_rate(tree, q, v, None)


def momentum_rate(tree: Model, q: Scalars, v: Scalars, a: Scalars | None) -> Force:
    """Return the rate of the centroidal momentum: the sum of d(I v)/dt of the bodies (Featherstone eq. 3.10).

    About the moving center of mass the transport term vanishes, because the linear
    momentum is parallel to the center's velocity.
    """

    def own(link: Link, t: Twist) -> Force:
        return link.inertia @ t.acceleration + t.velocity.cross_force(link.inertia @ t.velocity)

    posed = poses(tree, q)
    return _gathered(tree, each(tree, own, twists(tree, q, v, a, posed)), part(posed, 1), "com")


def centroidal_matrix_rate(tree: Model, q: Scalars, v: Scalars) -> list[Force]:
    """Return the columns of the time derivative of the centroidal momentum matrix.

    A column is the momentum I s of everything that the joint carries when it moves along the joint's screw s. In space
    the screw changes as v x s, and the inertia also changes; taking moments about the moving center of mass c subtracts
    c' x (linear part) from the moment.
    """

    def own(link: Link, p: Posed, t: Twist) -> tuple[RigidInertia, RigidInertia]:
        inertia = p.pose.rigid_to_parent(link.inertia)
        return inertia, _rate(inertia, p.pose.motion_to_parent(t.velocity))

    def gather(link: Link, total: tuple[RigidInertia, RigidInertia]) -> tuple[Any, Any]:
        return total, total  # in world coordinates, nothing is transformed on the way to the base

    def columns(
        link: Link, p: Posed, t: Twist, carried: tuple[RigidInertia, RigidInertia], q: Scalars, v: Scalars,
        center: tuple[Vec3, Vec3],
    ) -> list[Force]:  # fmt: skip
        (inertia, rate), (com, com_rate), found = carried, center, []
        apparent = link.kind.subspace_rate(q, v)
        for k, local in enumerate(p.subspace):
            turned = t.velocity.cross(local) if apparent is None else t.velocity.cross(local) + apparent[k]
            s, s_rate = p.pose.motion_to_parent(local), p.pose.motion_to_parent(turned)
            held, held_rate = inertia @ s, inertia @ s_rate + rate @ s
            found.append(_about(held_rate, com) - Force(com_rate.cross(held.force), ZERO3))
        return found

    posed = poses(tree, q)
    moving = twists(tree, q, v, None, posed)
    carried, (everything, its_rate) = inward(tree, gather, each(tree, own, posed, moving))
    center = everywhere(tree, (_com(everything), its_rate.first * (1.0 / everything.mass)))
    joints = positions(tree, q), rates(tree, v)
    return collect(tree, each(tree, columns, posed, moving, carried, *joints, center), ZERO_FORCE)


def _rate(inertia: RigidInertia, v: Motion) -> RigidInertia:
    """Return the rate of an inertia seen from space: mass is constant, the rate of the first moment is momentum."""
    return RigidInertia(0.0, (inertia @ v).force, inertia_rate(inertia, v))


def _com(total: RigidInertia) -> Vec3:
    return total.first * (1.0 / total.mass)


def _about(f: Force, point: Vec3) -> Force:
    """Return a force with its moment about another point instead of the origin."""
    return Force(f.moment - point.cross(f.force), f.force)
