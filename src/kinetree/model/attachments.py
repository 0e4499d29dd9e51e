"""Points of bodies at which something is attached: their own joint, further joints, loop joints, named frames."""

from __future__ import annotations

import math

import numpy as np

from .joints import JointKind
from .tree import BASE, Joint, Model


def sliding_freedoms(kind: JointKind) -> int:
    """Count the freedoms of a joint that move the body's origin."""
    columns = kind.subspace(kind.neutral())
    return sum(any(abs(float(x)) > 0.0 for x in column.linear) for column in columns)


def is_held_at_origin(joint: Joint) -> bool:
    """Return whether a joint holds its body at the body's origin; a free joint does not hold it anywhere."""
    return sliding_freedoms(joint.kind) < (2 if joint.parent == BASE else 3)


def attachments(model: Model, frames_below: float = math.inf) -> dict[int, np.ndarray]:
    """Return, for each body including the base, the points where something is attached, in the body's coordinates.

    A body's origin counts only if the joint that carries the body is there; the frame named after the body only defines
    its coordinates.

    frames_below: Named frames are added only while a body has fewer points than this.

    Returns
    -------
    dict from int to ndarray (points, 3)
        Points in this order: the body's own joint, other joints, loops, frames.
    """
    found: dict[int, list[np.ndarray]] = {i: [] for i in range(BASE, len(model.bodies))}
    for i, joint in enumerate(model.joints):
        found[joint.parent].append(joint.placement.position)
        if is_held_at_origin(joint):
            found[i].insert(0, np.zeros(3))
    for loop in model.loops:
        found[loop.predecessor].append(loop.placement.position)
        found[loop.successor].append(loop.seat.position)
    for frame in model.frames:
        own = frame.body != BASE and frame.name != model.bodies[frame.body].name
        if own and len({tuple(np.round(point, 9)) for point in found[frame.body]}) < frames_below:
            found[frame.body].append(frame.pose.position)
    return {body: np.array(points, dtype=float).reshape(-1, 3) for body, points in found.items()}
