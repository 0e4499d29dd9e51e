"""Springs of the joints: forces that depend only on the configuration, and the energy they store.

A spring has the energy sum k d^2 / 2, where d is the joint's displacement from the rest position of the spring. For
most joints d is q - rest; for a ball joint it is the rotation vector from the rest orientation; a free joint adds
displacements along the axes of its fixed frame.  The joint force that holds the spring is the slope of that energy
along v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.tree import Link, Model
from ..spatial import Scalar
from ..spatial.dual import Dual
from . import tendons
from .passes import Scalars, collect, each, nothing, positions, present, total


def is_sprung(link: Link) -> bool:
    """Return whether a joint has a spring."""
    return any(present(k) for k in link.stiffness)


def pull_of(link: Link, q: Scalars) -> list[Scalar] | None:
    """Return the force that holds one joint's spring; None if there is none."""
    return link.kind.spring_force(link.spring_rest, q, link.stiffness) if is_sprung(link) else None


def pull_per_stiffness(link: Link, q: Scalars, freedom: int) -> list[Scalar]:
    """Return the force that holds one joint's spring, per unit of one of its stiffnesses."""
    only = [1.0 if k == freedom else 0.0 for k in range(link.kind.nv)]
    return link.kind.spring_force(link.spring_rest, q, only)


def energy_of(link: Link, q: Scalars) -> Scalar:
    """Return the energy of one joint's spring."""
    if not is_sprung(link):
        return 0.0
    stretch = link.kind.spring_stretch(link.spring_rest, q)
    energy: Scalar = 0.0
    for k, d in zip(link.stiffness, stretch, strict=True):
        if present(k):
            energy = energy + k * d * d
    return 0.5 * energy


def slopes_of(link: Link, q: Scalars) -> Sequence[Sequence[Scalar]] | None:
    """Return how the force that holds one joint's spring changes along each ``v_k``, one row per force."""
    if not is_sprung(link):
        return None
    freedoms = range(link.kind.nv)
    if link.kind.quaternion is None:
        return [[link.stiffness[i] if i == j else 0.0 for j in freedoms] for i in freedoms]
    columns = []
    for j in freedoms:
        rate = link.kind.rate(q, [1.0 if i == j else 0.0 for i in freedoms])
        moving = [Dual(x, r) for x, r in zip(q, rate, strict=True)]
        columns.append([f.rate for f in link.kind.spring_force(link.spring_rest, moving, link.stiffness)])
    return [[column[i] for column in columns] for i in freedoms]


def are_in(tree: Model) -> bool:
    """Return whether any joint of a tree has a spring."""
    return any(is_sprung(link) for link in tree.links)


def pull_at_all(tree: Model) -> bool:
    """Return whether there are springs, in joints or along tendons."""
    return are_in(tree) or bool(tendons.sprung(tree))


def pulls(tree: Model, q: Scalars) -> Sequence[Any]:
    """Return, for every joint, the force that holds its spring, or None."""
    return each(tree, pull_of, positions(tree, q)) if are_in(tree) else nothing(tree)


def slopes(tree: Model, q: Scalars) -> Sequence[Any]:
    """Return, for every joint, how the force that holds its spring changes with its coordinates, or None."""
    return each(tree, slopes_of, positions(tree, q)) if are_in(tree) else nothing(tree)


def left_for_bodies(tree: Model, q: Scalars, tau: Scalars) -> Scalars:
    """Return the joint forces that remain to move the bodies after holding the springs."""
    pulled = tendons.pulls(tree, q)
    if pulled is not None:
        tau = [t - p for t, p in zip(tau, pulled, strict=True)]
    if not are_in(tree):
        return tau
    held = [[0.0] * link.kind.nv if own is None else own for link, own in zip(tree.links, pulls(tree, q), strict=True)]
    return [t - f for t, f in zip(tau, collect(tree, held), strict=True)]


def held_too(tree: Model, q: Scalars, tau: Scalars) -> Scalars:
    """Return the joint forces that move the bodies as ``tau`` does and also hold the springs."""
    if not pull_at_all(tree):
        return tau
    return [t - rest for t, rest in zip(tau, left_for_bodies(tree, q, [0.0] * tree.nv), strict=True)]


def energy(tree: Model, q: Scalars) -> Scalar:
    """Return the energy of all springs, in joints and along tendons."""
    in_joints: Scalar = total(tree, each(tree, energy_of, positions(tree, q)), 0.0) if are_in(tree) else 0.0
    return in_joints + tendons.energy(tree, q) if tendons.sprung(tree) else in_joints
