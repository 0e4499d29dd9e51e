"""Kinetic and potential energy, and the power of what acts on a robot."""

from __future__ import annotations

from ..model.tree import Model
from ..spatial import Scalar, Vec3
from .kinematics import poses, twists
from .newton_euler import Wrenches
from .passes import Scalars, present, rates


def kinetic_energy(tree: Model, q: Scalars, v: Scalars) -> Scalar:
    """Half v I v over the bodies, plus that of the rotors."""
    total: Scalar = 0.0
    for link, twist, own in zip(tree.links, twists(tree, q, v), rates(tree, v), strict=True):
        total = total + 0.5 * twist.velocity.dot(link.inertia @ twist.velocity)
        for inertia, rate in zip(link.armature, own, strict=True):
            if present(inertia):
                total = total + 0.5 * inertia * rate * rate
    return total


def power(tree: Model, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches) -> Scalar:
    """Of joint forces along the joints' velocities and of wrenches along the bodies' (002 eq. 3.17)."""
    total: Scalar = 0.0
    for rate, force in zip(v, tau, strict=True):
        total = total + rate * force
    if any(load is not None for load in wrenches):
        for twist, load in zip(twists(tree, q, v), wrenches, strict=True):
            if load is not None:
                total = total + twist.velocity.dot(load)
    return total


def potential_energy(tree: Model, q: Scalars, gravity: Scalars) -> Scalar:
    """Minus the work of gravity from the world's origin (000 L4321, sign corrected)."""
    g = Vec3.of(gravity)
    total: Scalar = 0.0
    for link, posed in zip(tree.links, poses(tree, q), strict=True):
        moment = posed.pose.rotate(link.inertia.first) + posed.pose.translation * link.inertia.mass
        total = total - g.dot(moment)
    return total
