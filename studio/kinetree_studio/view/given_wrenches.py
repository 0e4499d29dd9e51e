"""External wrenches on a robot, prepared to be drawn as arrows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.errors import OptionError, ShapeError, UnsupportedError
from kinetree.evaluation.wrenches import Wrench
from kinetree.model.tree import BASE
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from .motion import BodyPoint, Track, quaternions, rotate


def with_wrenches(robot: Robot, track: Track, wrenches: Any) -> Track:
    """Add wrenches to the contact forces of a motion.

    Parameters
    ----------
    robot : Robot
    track : Track
    wrenches : mapping from frame to Wrench or array_like
        Arrays are forces (3,), or moments and forces (6,), at the frame's origin along world axes; with a leading axis
        for the samples if they change.
    """
    if not wrenches:
        return track
    if not isinstance(wrenches, Mapping):
        raise OptionError(f"wrenches are given by frame, {{'hand': (0, 0, -10)}}, not as {type(wrenches).__name__}")
    found = [_one(robot, track, str(frame), given) for frame, given in wrenches.items()]
    known = bool(track.spots)
    forces = [track.forces] if known else []
    moments = [track.moments if len(track.moments) else np.zeros_like(track.forces)] if known else []
    return replace(
        track,
        spots=(*track.spots, *(spot for spot, _, _ in found)),
        forces=np.concatenate([*forces, *(force[:, None] for _, force, _ in found)], axis=1),
        moments=np.concatenate([*moments, *(moment[:, None] for _, _, moment in found)], axis=1),
    )


def _one(robot: Robot, track: Track, frame: str, given: Any) -> tuple[BodyPoint, Array, Array]:
    """Return the point at which a wrench acts, and its force and moment at each sample, along world axes."""
    count = len(track)
    if not isinstance(given, Wrench):
        array = np.asarray(given, dtype=float)
        if array.shape[-1:] not in ((3,), (6,)) or array.ndim > 2 or (array.ndim == 2 and len(array) != count):
            raise ShapeError(
                f"the wrench on {frame!r} is a force (3,), or moment and force (6,), or ({count}, 3) and ({count}, 6) "
                f"where it changes, not an array {array.shape}"
            )
        samples = np.broadcast_to(array, (count, array.shape[-1]))
        moment = samples[:, :3] if samples.shape[1] == 6 else np.zeros((count, 3))
        return BodyPoint.of(robot.model, frame), samples[:, -3:], moment
    if given.point_axes == "world" and np.any(np.asarray(given.point)):
        raise UnsupportedError(f"the wrench on {frame!r} acts at a point of the world: give the point in the frame")
    point = np.asarray(given.point, dtype=float)
    if point.ndim != 1:
        raise UnsupportedError(f"the wrench on {frame!r} acts at many points: give one")
    force, moment = (np.broadcast_to(np.asarray(x, dtype=float), (count, 3)) for x in (given.force, given.moment))
    if given.axes == "body":
        force, moment = _turned(robot, track, frame, force), _turned(robot, track, frame, moment)
    return BodyPoint.of(robot.model, frame, [float(x) for x in point]), force, moment


def _turned(robot: Robot, track: Track, frame: str, vectors: Array) -> Array:
    """Turn vectors from a frame's axes to those of the world."""
    at = robot.model.frame(frame)
    along = rotate(quaternions(at.pose.rotation), vectors)
    return along if at.body == BASE else rotate(track.poses.wxyz[:, at.body], along)
