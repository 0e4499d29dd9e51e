"""Points of bodies at which something is attached: further joints, loop joints, named frames."""

from __future__ import annotations

import math

import numpy as np

from .tree import BASE, Model


def attachments(model: Model, frames_below: float = math.inf) -> dict[int, np.ndarray]:
    """Return, for each body, the base included, the points in its coordinates where something is attached.

    Parameters
    ----------
    model : Model
    frames_below : float
        Named frames count only while a body has fewer points than this.

    Returns
    -------
    dict from int to ndarray (points, 3)
        In the order of joints, loops and frames; a body's own joint, at its origin, is not among them.
    """
    found: dict[int, list[np.ndarray]] = {i: [] for i in range(BASE, len(model.bodies))}
    for joint in model.joints:
        found[joint.parent].append(joint.placement.position)
    for loop in model.loops:
        found[loop.predecessor].append(loop.placement.position)
        found[loop.successor].append(loop.seat.position)
    for frame in model.frames:
        if frame.body != BASE and len(found[frame.body]) < frames_below:
            found[frame.body].append(frame.pose.position)
    return {body: np.array(points, dtype=float).reshape(-1, 3) for body, points in found.items()}
