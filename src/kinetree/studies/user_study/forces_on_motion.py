"""The forces of a study file on a given motion, as external loads that inverse dynamics takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...algorithms.acting_element import ActingElement, Loads, sum_of_loads
from ...algorithms.kinematics import poses
from ...errors import OptionError
from ...model.tree import BASE, Model
from ...spatial import Force
from ...spatial.arrays import Array, pack, split
from ..system import States


def loads_on(tree: Model, elements: Sequence[ActingElement], time: Array, motion: States) -> Array:
    """Return the loads of force elements on all bodies, (times, bodies, 6), in body axes at the bodies' origins.

    A force along a joint becomes a wrench on its body and the opposite one on the parent body, whose power is that of
    the force.  Loads therefore enter mechanisms at passive joints, too, and the bearings carry what they cause.
    """
    q, v, shape = split(motion.q), split(motion.v), motion.q.shape[:-1]
    total: Loads = [None] * len(tree.bodies)
    along = np.zeros((*shape, tree.nv))
    for element in elements:
        _refuse_beyond_span(element, float(time[0]), float(time[-1]))
        with np.errstate(all="ignore"):
            on_bodies, on_joints, _ = element.loads(tree, time, q, v, [])
        if on_bodies is not None:
            total = sum_of_loads(total, on_bodies)
        if on_joints is not None:
            along += pack(on_joints, shape)
    total = sum_of_loads(total, _pairs(tree, q, along))
    return pack([x for load in total for x in (load or (0.0,) * 6)], shape).reshape(*shape, len(tree.bodies), 6)


def _pairs(tree: Model, q: Sequence[Array], along: Array) -> Loads:
    """Return wrenches on the bodies of joints and on their parents that do the work of forces along the joints."""
    found: Loads = [None] * len(tree.bodies)
    posed, shape = poses(tree, q), along.shape[:-1]
    for body, (joint, at) in enumerate(zip(tree.joints, posed, strict=True)):
        forces = along[..., joint.v_slice]
        if joint.mimic or not np.any(forces):  # the freedom of a follower is its leader's
            continue
        s = pack([x for column in at.subspace for x in column], shape).reshape(*shape, -1, 6)
        shares = np.linalg.solve(s @ np.swapaxes(s, -1, -2), forces[..., None])
        load = Force.of(split((np.swapaxes(s, -1, -2) @ shares)[..., 0]))
        own = {body: load}
        if joint.parent != BASE:
            own[joint.parent] = -at.transform.force_to_parent(load)
        for place, more in own.items():
            present = found[place]
            found[place] = more if present is None else present + more
    return found


def _refuse_beyond_span(element: ActingElement, begin: float, end: float) -> None:
    first, last = element.span
    if first > begin or last < end:
        raise OptionError(
            f"the trajectory of {element.label} covers {first:g} to {last:g} s, but the motion takes {begin:g} to "
            f"{end:g} s: shorten the motion, or give the force for all of it (with hold: true, its last value stays)"
        )
