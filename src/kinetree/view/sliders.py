"""A slider for every coordinate of every joint; loops stay closed when one is moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..errors import ClosureError
from ..model.joints.kind import random_bounds
from ..model.tree import Joint
from ..robot.mechanism import Mechanism
from ..robot.robot import Robot

Array = np.ndarray

STEP = 0.1
"""Radians or metres by which a joint is moved at a time while loops are kept closed."""

MOST_STEPS = 200


@dataclass(frozen=True)
class Coordinate:
    """What a slider moves: a coordinate of a joint, or a component of a ball joint's rotation vector."""

    label: str
    low: float
    high: float


def coordinates(robot: Robot, joint: Joint, size: float) -> list[Coordinate]:
    """List the sliders of a joint, with its limits; a turn, or the robot's size, either way where it has none."""
    kind = joint.kind
    names = robot.q_names[joint.q_slice]
    low, high = random_bounds(kind.q_units, joint.lower, joint.upper)
    reach = max(1.0, size)
    plain = []
    for k, unit in enumerate(kind.q_units):
        free = unit == "m" and not (np.isfinite(joint.lower[k]) or np.isfinite(joint.upper[k]))
        bounds = (-reach, reach) if free else (float(low[k]), float(high[k]))
        plain.append(Coordinate(names[k], *bounds))
    where = kind.quaternion
    if where is None:
        return plain
    turns = [Coordinate(f"{joint.name} turn {axis}", -np.pi, np.pi) for axis in "xyz"]
    return [*plain[: where.start], *turns, *plain[where.stop :]]


def to_sliders(joint: Joint, part: Array) -> Array:
    """Compute slider values from a joint's configuration."""
    where = joint.kind.quaternion
    if where is None:
        return part
    return np.concatenate([part[: where.start], Rotation.from_quat(part[where]).as_rotvec(), part[where.stop :]])


def from_sliders(joint: Joint, values: Array) -> Array:
    """Compute a joint's configuration from slider values."""
    where = joint.kind.quaternion
    if where is None:
        return values
    end = where.start + 3
    quaternion = Rotation.from_rotvec(values[where.start : end]).as_quat()
    return np.concatenate([values[: where.start], quaternion, values[end:]])


class JointSliders:
    """The sliders of all joints that have coordinates of their own.

    Parameters
    ----------
    gui : viser.GuiApi
    robot : Robot
    q : ndarray (nq,)
        Where they begin.
    size : float
        Of the robot.
    moved : callable
        Called with the joint and its new configuration when a slider is moved.

    Attributes
    ----------
    handles : dict from joint name to list of viser sliders
    """

    def __init__(self, gui: Any, robot: Robot, q: Array, size: float, moved: Callable[[Joint, Array], None]) -> None:
        self.robot, self.moved = robot, moved
        self.handles: dict[str, list[Any]] = {}
        self._following = False
        for joint in robot.model.joints:
            if joint.nq:
                self.handles[joint.name] = self._sliders(gui, joint, q, size)

    def _sliders(self, gui: Any, joint: Joint, q: Array, size: float) -> list[Any]:
        handles = []
        values = to_sliders(joint, q[joint.q_slice])
        for coordinate, value in zip(coordinates(self.robot, joint, size), values, strict=True):
            low, high = min(coordinate.low, float(value)), max(coordinate.high, float(value))
            high = high if high > low else low + 1e-6
            handle = gui.add_slider(
                coordinate.label, min=low, max=high, step=(high - low) / 1000.0, initial_value=float(value)
            )
            handle.on_update(lambda _, joint=joint: self._moved(joint))
            handles.append(handle)
        return handles

    def _moved(self, joint: Joint) -> None:
        if not self._following:
            values = np.array([handle.value for handle in self.handles[joint.name]], dtype=float)
            self.moved(joint, from_sliders(joint, values))

    def follow(self, q: Array) -> None:
        """Show a configuration; one beyond a slider's range widens it."""
        self._following = True
        try:
            for name, handles in self.handles.items():
                joint = self.robot.joint(name)
                part = q[joint.q_slice]
                if not np.isfinite(part).all():
                    continue
                for handle, value in zip(handles, to_sliders(joint, part), strict=True):
                    if value > handle.max:
                        handle.max = float(value)
                    if value < handle.min:
                        handle.min = float(value)
                    handle.value = float(value)
        finally:
            self._following = False


def moved_closed(robot: Mechanism, q: Array, joint: Joint, part: Array) -> tuple[Array, str]:
    """Move one joint of a mechanism as far as its loops let it.

    The way is gone in small steps, so that the mechanism stays on its branch; the other actuated joints
    are held if the loops allow that.

    Returns
    -------
    q : ndarray (nq,)
        Closed.
    message : str
        Why it could not go all the way; empty if it could.
    """
    way = np.abs(part - q[joint.q_slice]).max(initial=0.0)
    count = int(np.clip(np.ceil(way / STEP), 1, MOST_STEPS))
    start = q[joint.q_slice].copy()
    for k in range(1, count + 1):
        guess = q.copy()
        guess[joint.q_slice] = start + (k / count) * (part - start)
        try:
            q = _closed(robot, robot.normalize(guess), joint)
        except ClosureError as problem:
            return q, str(problem)
    return q, ""


def _closed(robot: Mechanism, guess: Array, joint: Joint) -> Array:
    others = [j.name for j in robot.model.joints if j.actuated and j.nv and j.name != joint.name]
    held = robot.close(guess, fixed=[joint.name, *others], must_close=False, limits=False)
    return held if np.isfinite(held).all() else robot.close(guess, fixed=[joint.name], limits=False)
