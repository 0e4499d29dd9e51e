"""How many assemblies a platform can have at most: where so many are found, there are no others."""

from __future__ import annotations

from ...model.joints import Spherical, Universal
from ...model.tree import BASE, Model
from ...spatial.arrays import Array

MOST_OF_SIX_LEGS = 40
"""Poses of a platform on six legs of given lengths, real and complex (Ronga and Vust 1992; Lazard 1992); Dietmaier
(1998) gives a platform with 40 real ones."""


def most_poses(model: Model, free: Array, body: int) -> int | None:
    """Return how many poses a body can have with the other freedoms held; None where no bound is known.

    It is known for a body on six legs, each of which is held by a point of the base and by a point of the body.  Bodies
    whose joints are held are one body.

    Parameters
    ----------
    model : Model
    free : ndarray of bool, shape (nv,)
        Freedoms that may move.
    body : int
    """
    if model.couplings or any(joint.mimic for joint in model.joints):
        return None
    same = {BASE: BASE}
    held = [not free[joint.v_slice].any() for joint in model.joints]
    for k, joint in enumerate(model.joints):
        if not held[k] and not free[joint.v_slice].all():
            return None
        same[k] = same[joint.parent] if held[k] else k
    joints = [(joint.kind, same[joint.parent], same[k]) for k, joint in enumerate(model.joints) if not held[k]]
    joints += [(loop.kind, same[loop.predecessor], same[loop.successor]) for loop in model.loops]
    legs = set(same.values()) - {BASE, same[body]}
    for leg in legs:
        own = [(kind, {a, b} - {leg}) for kind, a, b in joints if leg in (a, b)]
        ends = [other for _, others in own for other in others]
        points = all(isinstance(kind, (Spherical, Universal)) for kind, _ in own)
        points &= any(isinstance(kind, Spherical) for kind, _ in own)  # two universal joints also forbid a turn
        if not points or sorted(ends) != sorted([BASE, same[body]]):
            return None
    return MOST_OF_SIX_LEGS if len(legs) == 6 and len(joints) == 12 else None
