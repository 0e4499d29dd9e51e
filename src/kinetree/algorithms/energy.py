"""Kinetic and potential energy, and the power of what acts on a robot."""

from __future__ import annotations

from ..model.tree import Link, Model
from ..spatial import Scalar, Vec3
from . import springs
from .centroidal import first_moment
from .kinematics import MovingBody, velocities
from .newton_euler import Wrenches
from .passes import Scalars, each, present, rates, total


def kinetic_energy(tree: Model, q: Scalars, v: Scalars) -> Scalar:
    """Return half the sum of v I v over the bodies, plus that of the rotors."""

    def twice(link: Link, m: MovingBody, rates: Scalars) -> Scalar:
        energy = m.velocity.dot(link.inertia @ m.velocity)
        for inertia, rate in zip(link.armature, rates, strict=True):
            if present(inertia):
                energy = energy + inertia * rate * rate
        return energy

    return 0.5 * total(tree, each(tree, twice, velocities(tree, q, v), rates(tree, v)), 0.0)


def power(tree: Model, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches) -> Scalar:
    """Return the power of joint forces and of wrenches along the velocities (Featherstone eq. 3.17)."""
    power: Scalar = 0.0
    for rate, force in zip(v, tau, strict=True):
        power = power + rate * force
    if any(load is not None for load in wrenches):
        for moving, load in zip(velocities(tree, q, v), wrenches, strict=True):
            if load is not None:
                power = power + moving.velocity.dot(load)
    return power


def potential_energy(tree: Model, q: Scalars, gravity: Scalars) -> Scalar:
    """Return minus the work of gravity from the world's origin (Shah appendix C.1, sign corrected) and of springs."""
    _, moment = first_moment(tree, q)
    weight = -Vec3.of(gravity).dot(moment)
    stored = springs.energy(tree, q)
    return weight + stored if present(stored) else weight
