"""Where forward dynamics has no unique answer: joints that move nothing that has inertia.

The elimination of the articulated-body method is walked from the tips at given
configurations, looking at each pivot before dividing by it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..model.joints import Custom
from ..model.tree import BASE, Model
from ..spatial.arrays import pack
from .articulated_body import eliminate, freed
from .composite_body import mass_matrix
from .passes import Scalars, positions

TOLERANCE = 1e-13
"""A pivot is zero when it is this small compared with the numbers it is left over from."""


def all_solid(tree: Model) -> bool:
    """Whether every body has mass and inertia about every axis, so that no pivot can vanish.

    Quick to see and true of most robots.  A user's own joint may lose a freedom at some
    configuration whatever the bodies are, so then it is not enough.
    """
    if any(isinstance(joint.kind, Custom) for joint in tree.joints) or any(body.mass <= 0.0 for body in tree.bodies):
        return False
    xx, yy, zz, xy, xz, yz = np.array([body.mass_properties.inertia for body in tree.bodies]).reshape(-1, 6).T
    rows = np.stack([np.stack(r, -1) for r in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    moments = np.linalg.eigvalsh(rows)
    return bool(np.all(moments[:, 0] > 1e-9 * moments[:, 2]))


def first_singular(tree: Model, q: Scalars, batch: tuple[int, ...], held: Collection[int] = ()) -> int | None:
    """Index of the first joint, from the tips, whose pivot vanishes; None if there is none.

    Joints in ``held`` are driven along a given motion and do not give way.
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
    """Whether S^T I S plus rotor inertia has no inverse."""
    matrix, s = pack(inertia, batch), pack(subspace, batch)
    d = s @ matrix @ np.swapaxes(s, -1, -2) + np.diag(list(armature))
    size = np.maximum(np.abs(matrix).max(axis=(-1, -2)), max(armature))
    return bool(np.any(np.linalg.eigvalsh(d)[..., 0] <= TOLERANCE * size))


def _first_in_matrix(tree: Model, q: Scalars, batch: tuple[int, ...], held: Collection[int]) -> int | None:
    """The same from the mass matrix, in which followers are carried by their leaders."""
    owner = [i for i, joint in enumerate(tree.joints) for _ in range(joint.nv)]
    free = [k for k, i in enumerate(owner) if i not in held]
    h = pack(mass_matrix(tree, q), batch)[..., free, :][..., :, free]
    own = np.diagonal(h, axis1=-2, axis2=-1)
    for k in reversed(range(len(free))):
        if np.any(h[..., k, k] <= TOLERANCE * own[..., k]):
            return owner[free[k]]
        h = h[..., :k, :k] - h[..., :k, k, None] * h[..., k, None, :k] / h[..., k, k, None, None]
    return None
