"""Kinetic and potential energy, and the power of what acts on a robot."""

from __future__ import annotations

from ..model.tree import Model
from ..spatial import Scalar, Vec3
from .kinematics import poses, twists
from .passes import Scalars, rates


def kinetic_energy(tree: Model, q: Scalars, v: Scalars) -> Scalar:
    """Half v I v over the bodies, plus that of the rotors."""
    total: Scalar = 0.0
    for link, twist, own in zip(tree.links, twists(tree, q, v), rates(tree, v), strict=True):
        total = total + 0.5 * twist.velocity.dot(link.inertia @ twist.velocity)
        for inertia, rate in zip(link.armature, own, strict=True):
            if inertia:
                total = total + 0.5 * inertia * rate * rate
    return total


def potential_energy(tree: Model, q: Scalars, gravity: Scalars) -> Scalar:
    """Minus the work of gravity from the world's origin (000 L4321, sign corrected)."""
    g = Vec3.of(gravity)
    total: Scalar = 0.0
    for link, posed in zip(tree.links, poses(tree, q), strict=True):
        moment = posed.pose.rotate(link.inertia.first) + posed.pose.translation * link.inertia.mass
        total = total - g.dot(moment)
    return total
