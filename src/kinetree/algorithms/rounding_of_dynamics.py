"""How many digits of accelerations are accurate, given the parameters of a robot.

Rounding in forward dynamics grows with a condition number: not that of the mass matrix M itself, which is large for any
robot with a light tip and means nothing, but that of D M D, D = diag(M)^-1/2, whose rows are scaled to one size (van
der Sluis).  It is large if light bodies carry heavy ones, one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model import configurations
from ..model.tree import Model
from .composite_body import mass_matrix
from .singular_joints import all_solid

POOR = 1e13
"""Condition numbers beyond which accelerations can be wrong by 0.1 % and more."""

LARGEST_LOOKED_AT = 300
"""The mass matrix is examined up to this many degrees of freedom; computing a larger one just for this check takes too
long."""


class Conditioning(NamedTuple):
    """How well forward dynamics is conditioned at one fixed random configuration."""

    number: float
    """The condition number of the scaled mass matrix."""

    joint: int
    """The joint that accelerates most easily, compared with what it carries."""


def conditioning(tree: Model) -> Conditioning | None:
    """Return how poorly forward dynamics is conditioned; None if it is fine, or if the tree is too large to check."""
    if not 0 < tree.nv <= LARGEST_LOOKED_AT or plainly_fine(tree):
        return None
    q = configurations.random(tree, np.random.default_rng(0))
    with np.errstate(all="ignore"):
        m = np.array(mass_matrix(tree, q.tolist()), dtype=float)
        d = np.sqrt(np.diag(m))
        scaled = m / d / d[:, None]
    if not np.isfinite(scaled).all():
        return None  # a pivot vanishes, which is reported elsewhere
    sizes, modes = np.linalg.eigh(scaled)
    number = float(sizes[-1] / sizes[0]) if sizes[0] > 0.0 else np.inf
    if number < POOR:
        return None
    owner = [i for i, joint in enumerate(tree.joints) if not joint.mimic for _ in range(joint.nv)]
    return Conditioning(number, owner[int(np.argmax(np.abs(modes[:, 0])))])


def plainly_fine(tree: Model) -> bool:
    """Return whether masses and lengths are so similar that no condition number can be poor; a quick check.

    With n freedoms, bodies of at least mass m and radius of gyration r, and a mass M that reaches as far as R, no
    eigenvalue of the mass matrix is above n M R^2 or below m r^2 / 8, and scaling gains or loses another n at most.
    """
    if not all_solid(tree):
        return False
    masses = np.array([body.mass for body in tree.bodies])
    moments = np.array([body.mass_properties.inertia_matrix for body in tree.bodies])
    radius = float(np.sqrt(np.min(np.linalg.eigvalsh(moments)[:, 0] / masses)))
    steps = [joint.placement.translation for joint in tree.joints]
    steps += [body.mass_properties.com for body in tree.bodies]
    reach = float(np.sum(np.linalg.norm(steps, axis=-1)))
    size = max(1.0, reach) / min(1.0, radius)  # for sliding joints, masses matter and not moments of inertia
    return bool(8.0 * tree.nv**2 * float(masses.sum() / masses.min()) * size**2 < POOR)
