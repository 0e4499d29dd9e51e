"""Joints that carry mass, and yet nothing that resists their motion: files that forgot an inertia."""

from __future__ import annotations

import numpy as np

from ...spatial import Motion
from ..mass import MassProperties
from ..tree import Model

FELT = 1e-12
"""What resists, relative to what the same bodies would resist about a worse axis, counts as nothing below this."""


def idle_joints(model: Model) -> dict[str, float]:
    """Return joints of one freedom that nothing resists where the others are at zero, with the mass that each carries.

    Forward dynamics divides by this resistance, a diagonal entry of the mass matrix.  A rotor resists, and so does a
    follower; in a mechanism with loops the joints resist together, so none is named; nor is one
    where numbers are symbols.
    """
    if model.is_constrained or model.symbols:
        return {}
    carried = [body.mass_properties for body in model.bodies]
    for i in reversed(range(len(carried))):
        link = model.links[i]
        if link.parent >= 0:
            joint = model.joints[i]
            carried[link.parent] = carried[link.parent] + carried[i].moved(joint.placement)
    followed = {joint.mimic.leader for joint in model.joints if joint.mimic}
    return {
        joint.name: float(mass.mass)
        for joint, link, mass in zip(model.joints, model.links, carried, strict=True)
        if joint.nv == joint.nq == 1 and joint.name not in followed and not any(link.armature)
        if mass.mass > 0.0 and _is_free(mass, link.subspace([0.0])[0])
    }


def _is_free(mass: MassProperties, axis: Motion) -> bool:
    """Return whether the motion about or along an axis has no inertia."""
    carried = mass.spatial()
    resists = float(axis.dot(carried @ axis))
    worst = float(np.trace(mass.inertia_about_origin)) if any(map(float, axis.angular)) else mass.mass
    return resists <= FELT * worst
