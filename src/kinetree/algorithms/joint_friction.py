"""Friction of the joints, over any scalar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..model.tree import Joint, Link, Model
from ..spatial import Scalar, exp, sqrt, where
from .passes import add, present
from .tendons import damping_force

KINDS = ("damping", "friction", "friction_offset", "stribeck")
"""Numbers of a joint that are friction."""

PARAMETERS = (*KINDS, "offset")
"""Parameters that matter only where friction is included; the table of parameters has its own name for one."""


class FrictionCoefficients(NamedTuple):
    """The friction felt at each degree of freedom; the losses of a follower are included at its leader."""

    damping: list[Scalar]
    """Viscous."""
    coulomb: list[Scalar]
    offset: list[Scalar]
    """Constant."""


def coefficients(tree: Model, of_followers: bool | None = None) -> FrictionCoefficients:
    """Return the friction felt at each degree of freedom: all of it, only that of followers, or only that of others."""
    found = FrictionCoefficients(*([0.0] * tree.nv for _ in range(3)))
    for link, joint in zip(tree.links, tree.joints, strict=True):
        if of_followers not in (None, link.follows):
            continue
        for total, own in zip(found, _of_joint(link, joint), strict=True):
            for k, value in enumerate(own):
                place = link.v_slice.start + k
                if present(value):
                    total[place] = add(total[place] if present(total[place]) else None, value)
    return found


def _of_joint(link: Link, joint: Joint) -> list[list[Scalar]]:
    """Return damping, Coulomb friction and offset of a joint, as felt at its coordinate."""
    ratio = link.ratio
    factors = (ratio * ratio, abs(ratio), ratio) if link.follows else (1.0, 1.0, 1.0)
    given = (joint.damping, joint.friction, joint.friction_offset)
    return [[x if f == 1.0 or not present(x) else x * f for x in own] for own, f in zip(given, factors, strict=True)]


def rubbing_names(tree: Model) -> list[str]:
    """Return the names of joints that have friction of any kind, and of tendons that have dampers."""
    joints = [j.name for j in tree.joints if any(present(x) for kind in KINDS for x in getattr(j, kind))]
    return joints + [t.name for t in tree.tendons if t.damping]


class Fading(NamedTuple):
    """Additional Coulomb friction at low speed, and the speed with which it fades (Stribeck, 1902)."""

    amount: Scalar
    speed: float

    def at(self, rate: Scalar) -> Scalar:
        """Return the additional Coulomb friction at a speed of either sign."""
        return self.amount * fading(rate, self.speed)


def fading(rate: Scalar, speed: float) -> Scalar:
    """Return the fraction of Stribeck friction that is left at a speed: ``exp(-(rate / speed)^2)``."""
    over = rate * (1.0 / speed)
    return exp(-(over * over))


def fading_friction(tree: Model) -> dict[int, Fading]:
    """Return the freedoms that have Stribeck friction, each with its numbers."""
    return {
        joint.v_slice.start + k: Fading(amount, speed)
        for joint in tree.joints
        for k, (amount, speed) in enumerate(zip(joint.stribeck, joint.stribeck_speed, strict=True))
        if present(amount)
    }


def sign(x: Scalar) -> Scalar:
    """Return 1, -1, or 0 at rest; NaN stays NaN."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, x))


def spent(tree: Model, v: Sequence[Scalar], ways: Sequence[Scalar] | None = None) -> list[Scalar]:
    """Return joint forces lost to friction while joints slide: viscous, Coulomb with Stribeck, and offsets.

    ``ways`` are the directions in which they slide, 1, -1 or 0, if they are not to be taken from velocities.
    """
    forces: list[Scalar] = []
    more = fading_friction(tree)
    for k, (damping, coulomb, offset, rate) in enumerate(zip(*coefficients(tree), v, strict=True)):
        force = offset
        if present(damping):
            force = force + damping * rate
        if k in more:
            coulomb = coulomb + more[k].at(rate)
        if present(coulomb):
            force = force + coulomb * (sign(rate) if ways is None else ways[k])
        forces.append(force)
    return forces


def lost(tree: Model, q: Sequence[Scalar], v: Sequence[Scalar], ways: Sequence[Scalar] | None = None) -> list[Scalar]:
    """Return joint forces lost to friction (see :func:`spent`), and to dampers along tendons."""
    rubbing = spent(tree, v, ways)
    if not any(t.damping for t in tree.tendons):
        return rubbing
    return [f - d for f, d in zip(rubbing, damping_force(tree, q, v), strict=True)]


def spent_slopes(tree: Model, v: Sequence[Scalar]) -> list[Scalar]:
    """Return how these forces grow with their velocities, away from rest."""
    slopes = list(coefficients(tree).damping)
    for k, fades in fading_friction(tree).items():
        slopes[k] = slopes[k] - fades.at(v[k]) * abs(v[k]) * (2.0 / fades.speed**2)
    return slopes


def friction_force(
    tree: Model, v: Sequence[Scalar], speed: float, q: Sequence[Scalar] | None = None,
    built_up: Mapping[int, Scalar] | None = None, followed: Mapping[int, Scalar] | None = None,
) -> list[Scalar]:  # fmt: skip
    """Return joint friction as it acts on the robot, smoothed for integration.

    Viscous friction is as in the model; Coulomb friction is ``friction v / sqrt(v^2 + speed^2)``, which has all
    derivatives and reaches 71 % of its full size at ``speed`` and 99.5 % at ten times that speed; an offset is
    constant. With ``q``, dampers along tendons are included. For some freedoms, ``built_up`` gives the share of Coulomb
    friction that has built up, from -1 to 1 (see :func:`building_up`), and ``followed`` gives the delayed velocity of
    the damper (see :func:`following`). Friction of followers, which is felt at the same freedom, builds up at once.
    """
    shares, behind, more = built_up or {}, followed or {}, fading_friction(tree)
    parts = [(coefficients(tree, False if shares or behind else None), shares, behind, more)]
    if shares or behind:
        parts.append((coefficients(tree, True), {}, {}, {}))
    force: list[Scalar] = [0.0] * tree.nv
    for own, shares, behind, more in parts:
        for k, (d, c, o, rate) in enumerate(zip(*own, v, strict=True)):
            f = force[k]
            if present(o):
                f = f - o
            if present(d):
                f = f - d * behind.get(k, rate)
            if k in more:
                c = c + more[k].at(rate)
            if present(c):
                f = f - c * (shares[k] if k in shares else rate / sqrt(rate * rate + speed * speed))
            force[k] = f
    if q is None or not any(t.damping for t in tree.tendons):
        return force
    return [f + d for f, d in zip(force, damping_force(tree, q, v), strict=True)]


def travels(tree: Model) -> dict[int, float]:
    """Return the freedoms whose Coulomb friction needs some travel to build up (Dahl), each with that travel."""
    return _where_any(tree, "friction_travel")


def times(tree: Model) -> dict[int, float]:
    """Return the freedoms whose viscous friction lags behind their motion (Maxwell), each with its time constant."""
    return _where_any(tree, "damping_time")


def _where_any(tree: Model, attribute: str) -> dict[int, float]:
    return {
        joint.v_slice.start + k: value
        for joint in tree.joints
        if not joint.mimic
        for k, value in enumerate(getattr(joint, attribute))
        if value
    }


def building_up(share: Scalar, rate: Scalar, travel: float) -> Scalar:
    """Return the rate at which the share of Coulomb friction builds up (Dahl, 1968).

    The share approaches the sign of the velocity; the difference decays with the distance s as ``exp(-s / travel)``.
    """
    return (rate - abs(rate) * share) / travel


def following(behind: Scalar, rate: Scalar, time: float) -> Scalar:
    """Return the rate at which a damper's velocity follows that of its joint through a spring (Maxwell, 1867)."""
    return (rate - behind) / time
