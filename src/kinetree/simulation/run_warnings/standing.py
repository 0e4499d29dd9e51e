"""Whether a robot that stands on ground still stands in the end, or has fallen or sunk."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...algorithms.acting_element import ActingElement
from ...contact.ground import Ground
from ...contact.surfaces import whole_body
from ...robot.robot import Robot
from ...spatial import Vec3
from ...spatial.arrays import Array, pack, split
from ..records.record import Record
from .unheld import can_fall

LOOKS = 50
"""At most so many samples are looked at, evenly spaced."""


def height_left(robot: Robot, elements: Sequence[ActingElement], q: Array) -> Array:
    """Return the height of the center of mass above the ground for states (T, nq), divided by the first one's.

    Without ground, it is the height above the initial position of the robot's lowest frame.
    """
    center = robot.center_of_mass(q)
    grounds = [e for e in elements if isinstance(e, Ground) and e.on is None]
    if grounds:
        place = Vec3(*split(center))
        with np.errstate(all="ignore"):
            gaps = [pack([e.surface.gap(place)[0]], q.shape[:-1])[..., 0] for e in grounds]
        above = np.min(gaps, axis=0)
    else:
        up = -np.array(robot.model.gravity) / math.hypot(*robot.model.gravity)
        lowest = min(float(robot.pose(q[0], s.frame)[:3, 3] @ up) for s in whole_body(robot))
        above = center @ up - lowest
    return above / above[0]


def note_of_standing(robot: Robot, elements: Sequence[ActingElement], record: Record) -> None:
    """Note in a record of a robot on ground how low it comes, as a share of the first height: ``height_left``."""
    if len(record) < 2 or not any(isinstance(e, Ground) and e.on is None for e in elements):
        return
    slow = robot if robot.backend == "reference" else robot.with_backend("reference")  # no machine code for a note
    places = np.unique(np.linspace(0, len(record) - 1, min(len(record), LOOKS)).astype(int))
    q = record.q[places].reshape(len(places), -1, robot.nq)
    q = q[:, np.isfinite(q).all(axis=(0, 2))]
    if not q.shape[1] or not can_fall(slow, q[0, 0]):
        return
    left = [float(height_left(slow, elements, lane).min()) for lane in np.swapaxes(q, 0, 1)]
    record.info["height_left"] = min(left)
