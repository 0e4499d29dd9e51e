"""Contributions to derivatives of external wrenches along world axes or at points of the world.

Seen from the body, such a wrench changes when the body moves: with the frame's velocity (w, u) in its own axes, force
and moment along world axes turn by f' = f x w, m' = m x w, and a point of the world moves by p' = p x w - u.  The
moment about the frame's origin is m + p x f, so its change is m' + p' x f + p x f'.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..spatial.arrays import Array, as_array, cross_matrix
from .evaluator import Evaluator
from .wrenches import Wrench, Wrenches, each_wrench


def world_stiffness(evaluator: Evaluator, q: Any, wrenches: Wrenches) -> Array | None:
    """Return the sum of J^T dF/dq over wrenches fixed in the world, where F = (moment, force) in body axes.

    evaluator: The evaluator of the robot.
    q: array_like
    wrenches: See the methods of :class:`kinetree.Robot`.

    Returns
    -------
    ndarray, shape (..., nv, nv), or None if none is fixed in the world
        The matrix to be subtracted from the derivative of inverse dynamics.
    """
    every = each_wrench(evaluator.model, wrenches) if isinstance(wrenches, Mapping) else []
    total: Array | None = None
    for frame, wrench in every:
        if not (isinstance(wrench, Wrench) and wrench.is_held_by_the_world):
            continue
        jacobian = evaluator.run("jacobian", {"frame": frame, "axes": "body"}, q=q)
        pose = evaluator.run("pose", {"frame": frame}, q=q)
        with np.errstate(all="ignore"):  # NaN and infinity pass silently
            change = _change(wrench, frame, pose[..., :3, :3], pose[..., :3, 3])
            total = (0.0 if total is None else total) + np.swapaxes(jacobian, -1, -2) @ change @ jacobian
    return total


def _change(wrench: Any, frame: str, rotation: Array, origin: Array) -> Array:
    """Return how moment and force in a frame's axes change with its velocity: a matrix (..., 6, 6)."""
    force, moment, point = (
        as_array(getattr(wrench, p), (3,), f"{p} on {frame!r}") for p in ("force", "moment", "point")
    )
    turns, stays = wrench.axes == "world", wrench.point_axes == "world"
    to_body = np.swapaxes(rotation, -1, -2)
    if turns:
        force, moment = _turned(to_body, force), _turned(to_body, moment)
    if stays:
        point = _turned(to_body, point - origin)
    f, m, p = cross_matrix(force), cross_matrix(moment), cross_matrix(point)
    by_w, by_u = np.zeros_like(m + p @ f), np.zeros_like(f)
    if turns:
        by_w = by_w + m + p @ f
    if stays:
        by_w, by_u = by_w - f @ p, f
    shape = np.broadcast_shapes(by_w.shape[:-2], f.shape[:-2], rotation.shape[:-2])
    change = np.zeros((*shape, 6, 6), dtype=np.result_type(by_w, f))
    change[..., :3, :3], change[..., :3, 3:] = by_w, by_u
    if turns:
        change[..., 3:, :3] = f
    return change


def _turned(rotation: Array, vector: Array) -> Array:
    return np.asarray((rotation @ vector[..., None])[..., 0])
