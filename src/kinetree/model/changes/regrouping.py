"""The same dynamics with fewer numbers: inertia that a joint cannot distinguish moves to the body that carries it.

The forces of a hinge do not depend on whether mass at its origin, a first moment along its axis or a second moment of
mass along it (``s = tr(I)/2 - I``) belongs to the body that it moves or to the one that carries it (Khalil section
10.2.4, eq. 10.14 to 10.20); see :meth:`kinetree.model.joints.JointKind.cannot_tell` for other joints. So, from the tips
to the base, each body passes on as much as it can. Inertia that reaches the ground disappears; a floating base collects
it. Exact zeros are left along coordinate axes of the body, and algorithms skip zeros.

This holds for any gravity, base and motion: the two robots have the same mass matrix and the same bias force in every
state, and so are all quantities derived from these, for trees with followers and for the trees of closed loops,
regardless of external forces. Quantities of single bodies do change: potential energy, centers of mass, momenta, forces
in bearings. :mod:`kinetree.parameters` goes further (particular directions, loops), and determines which parameters
remain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...spatial import RigidInertia, Symmetric3, Vec3
from ..mass import GroupedMass
from ..tree import BASE, Body, Model

DIAGONAL = (0, 3, 5)
"""Indices of xx, yy and zz among the six second moments."""

SPARE_BITS = 51
"""How many of 53 bits are kept, so that sums of three second moments are exact in any order."""


def regrouped(model: Model) -> Model:
    """Return the model with its inertial parameters moved toward the base, as far as joints cannot distinguish them."""
    inertias = [link.inertia for link in model.links]
    for link in reversed(model.links):
        kept, handed = divided(inertias[link.index], link.kind.cannot_tell())
        inertias[link.index] = kept
        if link.parent != BASE:
            inertias[link.parent] = inertias[link.parent] + link.placement.rigid_to_parent(handed)
    bodies = zip(model.bodies, inertias, strict=True)
    return replace(model, bodies=tuple(Body(body.name, GroupedMass.exactly(inertia)) for body, inertia in bodies))


def divided(inertia: RigidInertia, parts: Sequence[RigidInertia]) -> tuple[RigidInertia, RigidInertia]:
    """Split an inertia into a remainder and a removed part, a sum of multiples of parts chosen to leave zeros."""
    left, taken = _moments(inertia), [0.0] * 10
    for part in parts:
        unit = _moments(part)
        largest = max(range(10), key=lambda k: abs(unit[k]))
        share = left[largest] / unit[largest]
        if share != 0.0:
            left = [x - share * u for x, u in zip(left, unit, strict=True)]
            taken = [x + share * u for x, u in zip(taken, unit, strict=True)]
            left[largest] = 0.0
    return (_inertia(_with_exact_sums(left)), _inertia(taken)) if any(taken) else (inertia, _inertia(taken))


def _moments(inertia: RigidInertia) -> list[float]:
    """Return second moments of mass, first moments and mass."""
    i = inertia.second
    second = (0.5 * (i.yy + i.zz - i.xx), -i.xy, -i.xz, 0.5 * (i.xx + i.zz - i.yy), -i.yz, 0.5 * (i.xx + i.yy - i.zz))
    return [float(x) for x in (*second, *inertia.first, inertia.mass)]


def _inertia(moments: Sequence[float]) -> RigidInertia:
    """Return the inertia that has these moments."""
    xx, xy, xz, yy, yz, zz, *first, mass = moments
    return RigidInertia(mass, Vec3.of(first), Symmetric3(yy + zz, -xy, -xz, xx + zz, -yz, xx + yy))


def _with_exact_sums(moments: list[float]) -> list[float]:
    """Round moments so that zero moments, when computed from the inertia, are exactly zero and can be skipped."""
    diagonal = [abs(moments[k]) for k in DIAGONAL]
    if not any(diagonal) or all(diagonal):
        return moments
    unit = 2.0 ** (math.frexp(max(diagonal))[1] - SPARE_BITS)
    return [unit * round(x / unit) if k in DIAGONAL else x for k, x in enumerate(moments)]
