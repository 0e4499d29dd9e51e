"""Friction of the joints, over any scalar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..model.tree import Joint, Link, Model
from ..spatial import Scalar, sqrt
from .passes import add, present
from .tendons import damping_force


class FrictionCoefficients(NamedTuple):
    """What each degree of freedom feels; what a follower loses is its leader's loss."""

    damping: list[Scalar]
    """Viscous."""
    coulomb: list[Scalar]
    offset: list[Scalar]
    """Constant."""


def coefficients(tree: Model) -> FrictionCoefficients:
    """Return the friction felt at each degree of freedom."""
    found = FrictionCoefficients(*([0.0] * tree.nv for _ in range(3)))
    for link, joint in zip(tree.links, tree.joints, strict=True):
        for total, own in zip(found, _of_joint(link, joint), strict=True):
            for k, value in enumerate(own):
                place = link.v_slice.start + k
                if present(value):
                    total[place] = add(total[place] if present(total[place]) else None, value)
    return found


def _of_joint(link: Link, joint: Joint) -> list[list[Scalar]]:
    """Return damping, Coulomb friction and offset of a joint, as they are felt where its coordinate is."""
    ratio = link.ratio
    factors = (ratio * ratio, abs(ratio), ratio) if link.follows else (1.0, 1.0, 1.0)
    given = (joint.damping, joint.friction, joint.friction_offset)
    return [[x if f == 1.0 or not present(x) else x * f for x in own] for own, f in zip(given, factors, strict=True)]


def friction_force(
    tree: Model, v: Sequence[Scalar], speed: float, q: Sequence[Scalar] | None = None,
    built_up: Mapping[int, Scalar] | None = None,
) -> list[Scalar]:  # fmt: skip
    """Return joint friction as it acts on the robot, smooth enough to integrate.

    Viscous as in the model; Coulomb friction is ``friction v / sqrt(v^2 + speed^2)``, which
    has all derivatives, 71 % of its full size at ``speed`` and 99.5 % at ten times that; an offset is constant.
    With ``q`` dampers along tendons are part of it.  ``built_up`` says of some freedoms which share of their Coulomb
    friction has built up, from -1 to 1; see :func:`building_up`.
    """
    force: list[Scalar] = []
    shares = built_up or {}
    for k, (d, c, o, rate) in enumerate(zip(*coefficients(tree), v, strict=True)):
        f: Scalar = -o if present(o) else 0.0
        if present(d):
            f = f - d * rate
        if present(c):
            f = f - c * (shares[k] if k in shares else rate / sqrt(rate * rate + speed * speed))
        force.append(f)
    if q is None or not any(t.damping for t in tree.tendons):
        return force
    return [f + d for f, d in zip(force, damping_force(tree, q, v), strict=True)]


def travels(tree: Model) -> dict[int, float]:
    """Return the freedoms whose Coulomb friction needs some way to build up, and which."""
    return {
        joint.v_slice.start + k: travel
        for joint in tree.joints
        if not joint.mimic
        for k, travel in enumerate(joint.friction_travel)
        if travel
    }


def building_up(share: Scalar, rate: Scalar, travel: float) -> Scalar:
    """Return how fast the share of Coulomb friction grows that has built up (Dahl, 1968).

    Over the way s it tends to the sign of the velocity as ``exp(-s / travel)``.
    """
    return (rate - abs(rate) * share) / travel
