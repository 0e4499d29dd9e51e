"""Where forward dynamics has no unique answer: joints that move nothing that has inertia.

The elimination of the articulated-body method is repeated from the tips at given configurations, and each pivot is
checked before dividing by it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..errors import SingularError
from ..model import configurations
from ..model.changes.values import exemplary
from ..model.joints import Custom
from ..model.tree import BASE, Model
from ..spatial.arrays import pack, split
from .articulated_body import eliminate, freed
from .composite_body import mass_matrix
from .passes import Scalars, positions

TOLERANCE = 1e-13
"""A pivot counts as zero if it is this small compared with the numbers whose difference it is."""

BY_ELIMINATION = ("articulated_body", "udu", "modules", "absolute_articulated_body")
"""Methods of forward dynamics that divide by the inertia of each joint alone."""


def check(tree: Model, held: Collection[int] = ()) -> None:
    """Refuse forward dynamics where a joint that is not ``held`` moves nothing that has inertia."""
    refuse(tree, singular_joint(tree, held))


def refuse(tree: Model, joint: int | None) -> None:
    """Raise the error about a joint that moves nothing that has inertia, if there is one."""
    if joint is not None:
        raise SingularError(
            f"joint {tree.joints[joint].name!r} moves body {tree.bodies[joint].name!r} and what it carries, which have "
            "no inertia along the joint's freedom: forward dynamics has no unique answer. Give the body mass, "
            "the joint rotor inertia (armature), or make the joint fixed"
        )


def possible_method(tree: Model, method: str) -> str:
    """Return the requested method of forward dynamics, or composite bodies if that method would fail.

    This is needed for massless followers, which move only because their leaders drive them.
    """
    alone = tree.has_followers and method in BY_ELIMINATION
    return "composite_body" if alone and singular_joint(tree.independent) is not None else method


def singular_joint(tree: Model, held: Collection[int] = ()) -> int | None:
    """Return the first joint without inertia at two fixed random configurations; None if there is none."""
    if all_solid(tree):
        return None
    tree = exemplary(tree)
    batch = (2,)
    q = configurations.random(tree, np.random.default_rng(0), batch)
    return first_singular(tree, split(q), batch, frozenset(held))


def all_solid(tree: Model) -> bool:
    """Return whether every body has mass and inertia about every axis, so that no pivot can vanish.

    This is quick to check and true of most robots. It is not sufficient for user-defined joints, which may lose a
    freedom at some configuration regardless of the bodies.
    """
    if tree.symbols or any(isinstance(joint.kind, Custom) for joint in tree.joints):
        return False
    if any(body.mass <= 0.0 for body in tree.bodies):
        return False
    xx, yy, zz, xy, xz, yz = np.array([body.mass_properties.inertia for body in tree.bodies]).reshape(-1, 6).T
    rows = np.stack([np.stack(r, -1) for r in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    moments = np.linalg.eigvalsh(rows)
    return bool(np.all(moments[:, 0] > 1e-9 * moments[:, 2]))


def first_singular(tree: Model, q: Scalars, batch: tuple[int, ...], held: Collection[int] = ()) -> int | None:
    """Return the index of the first joint, from the tips, whose pivot vanishes; None if there is none.

    Joints in ``held`` follow a given motion and do not yield.
    """
    if tree.has_followers:
        return _first_in_matrix(tree, q, batch, held)
    totals = [link.inertia.articulated() for link in tree.links]
    own = positions(tree, q)
    for link in reversed(tree.links):
        total, subspace = totals[link.index], link.subspace(own[link.index])
        if link.index not in held and subspace:
            if _vanishes(total.to_rows(), subspace, link.armature, batch):
                return link.index
            total = freed(total, eliminate(total, subspace, link.armature))
        if link.parent != BASE:
            handed = link.transform(own[link.index]).articulated_to_parent(total)
            totals[link.parent] = totals[link.parent] + handed
    return None


def _vanishes(inertia: object, subspace: object, armature: Collection[float], batch: tuple[int, ...]) -> bool:
    """Return whether S^T I S plus rotor inertia has no inverse."""
    matrix, s = pack(inertia, batch), pack(subspace, batch)
    d = s @ matrix @ np.swapaxes(s, -1, -2) + np.diag(list(armature))
    size = np.maximum(np.abs(matrix).max(axis=(-1, -2)), max(armature))
    return bool(np.any(np.linalg.eigvalsh(d)[..., 0] <= TOLERANCE * size))


def _first_in_matrix(tree: Model, q: Scalars, batch: tuple[int, ...], held: Collection[int]) -> int | None:
    """Find the first singular joint in the mass matrix, in which leaders carry their followers."""
    owner = [i for i, joint in enumerate(tree.joints) for _ in range(joint.nv)]
    free = [k for k, i in enumerate(owner) if i not in held]
    h = pack(mass_matrix(tree, q), batch)[..., free, :][..., :, free]
    own = np.diagonal(h, axis1=-2, axis2=-1)
    for k in reversed(range(len(free))):
        if np.any(h[..., k, k] <= TOLERANCE * own[..., k]):
            return owner[free[k]]
        h = h[..., :k, :k] - h[..., :k, k, None] * h[..., k, None, :k] / h[..., k, k, None, None]
    return None
