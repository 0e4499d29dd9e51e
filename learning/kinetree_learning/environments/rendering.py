"""Small pictures of robots, drawn from their joints: for videos of learned behavior, without a browser."""

from __future__ import annotations

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

SIZE = 240
"""Width and height in pixels."""

MARGIN = 1.6
"""Half the width of a picture, in units of the robot's reach."""

DEPTH = np.array([0.35, 0.2])
"""Displacement to the right and up at which a point one meter farther from the viewer is drawn."""

SHEET, LINE = np.array([250.0, 250.0, 247.0]), np.array([58.0, 84.0, 122.0])
DOT, FLOOR = np.array([200.0, 80.0, 50.0]), np.array([180.0, 178.0, 170.0])


class Painter:
    """Draws a robot as lines between its joints, seen from the side, with gravity pointing down.

    Parameters
    ----------
    robot : Robot
    q : ndarray (nq,)
        The initial configuration, which determines the scale.
    """

    def __init__(self, robot: Robot, q: Array) -> None:
        self._robot, tree = robot, robot.model
        gravity = np.array(tree.gravity, dtype=float)
        length = np.linalg.norm(gravity)
        up = -gravity / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
        right = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
        self._axes = np.stack([right, up, np.cross(up, right)])
        names = [body.name for body in tree.bodies]
        self._lines = [(names[p], name) for p, name in zip(tree.parents, names, strict=True) if p >= 0]
        self._lines += [(names[f.body], f.name) for f in tree.frames if f.body >= 0]
        self._roots = [name for p, name in zip(tree.parents, names, strict=True) if p < 0]
        self._pins = [  # the points where loops are closed, on both bodies
            (names[body], np.array(pose.position, dtype=float))
            for loop in tree.loops
            for body, pose in ((loop.predecessor, loop.placement), (loop.successor, loop.seat))
            if body >= 0
        ]
        self._first = names[0]
        points = np.array(list(self._points(q).values()))
        self._reach = max(float(np.linalg.norm(points - points[0], axis=-1).max(initial=0.0)), 0.1)
        self._half = SIZE / (2.0 * MARGIN * self._reach)

    def _points(self, q: Array) -> dict[str, Array]:
        names = dict.fromkeys([self._first, *self._roots, *(name for line in self._lines for name in line)])
        return {name: self._flat(self._robot.pose(q, name)[:3, 3]) for name in names}

    def _flat(self, point: Array) -> Array:
        x, y, away = self._axes @ point
        return np.array([x, y]) + away * DEPTH

    def picture(self, q: Array) -> Array:
        """Return a picture of a configuration, (height, width, 3); the camera follows the robot."""
        picture = np.tile(SHEET, (SIZE, SIZE, 1))
        if not np.isfinite(q).all():
            return picture.astype(np.uint8)
        points = self._points(np.array(q, dtype=float))
        shift = np.array([points[self._first][0], 0.5 * self._reach])
        place = {name: SIZE / 2 + self._half * (p - shift) * [1, -1] for name, p in points.items()}
        floor = float(np.clip(SIZE / 2 + self._half * shift[1], 0, SIZE - 1))
        _stroke(picture, np.array([0.0, floor]), np.array([SIZE - 1.0, floor]), 1.0, FLOOR)
        for start, end in self._lines:
            _stroke(picture, place[start], place[end], 2.0, LINE)
        for body, pin in self._pins:
            pose = self._robot.pose(q, body)
            end = SIZE / 2 + self._half * (self._flat(pose[:3, :3] @ pin + pose[:3, 3]) - shift) * [1, -1]
            _stroke(picture, place[body], end, 2.0, LINE)
        for name in place:
            _stroke(picture, place[name], place[name], 3.0, DOT)
        return np.rint(picture).astype(np.uint8)


def _stroke(picture: Array, start: Array, end: Array, width: float, color: Array) -> None:
    """Draw a line with round ends and soft edges into a picture."""
    reach = width + 1.0
    low = np.clip(np.floor(np.minimum(start, end) - reach), 0, SIZE).astype(int)
    high = np.clip(np.ceil(np.maximum(start, end) + reach) + 1, 0, SIZE).astype(int)
    if np.any(low >= high):
        return
    x, y = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
    along = end - start
    share = ((x - start[0]) * along[0] + (y - start[1]) * along[1]) / max(float(along @ along), 1e-12)
    share = np.clip(share, 0.0, 1.0)
    distance = np.hypot(x - start[0] - share * along[0], y - start[1] - share * along[1])
    cover = np.clip(width + 0.5 - distance, 0.0, 1.0)[..., None]
    part = picture[low[1] : high[1], low[0] : high[0]]
    part += cover * (color - part)
