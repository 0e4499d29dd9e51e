"""The drawing of one robot, and the view of it: triangles, ground, camera and light, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.errors import FileFormatError, OptionError
from kinetree.model.attachments import is_held_at_origin, sliding_freedoms
from kinetree.model.pose import Pose
from kinetree.model.tree import Model
from kinetree.spatial.arrays import Array

from . import skeleton
from .geometry import Color, Look
from .motion import BodyPoint, Poses, Track, rotate
from .triangles import ColoredMesh, triangles

FIELD_OF_VIEW = float(np.deg2rad(36.0))
ROOM = 0.86
"""How much of the picture the robot may fill."""

WALKS = 0.5
"""The camera follows a robot that moves farther than this multiple of its size; from a smaller multiple on, it can
follow."""

SMOOTH = 0.35
"""Seconds over which the path of the camera is smoothed, so that it does not nod with every step."""

_DIAGONAL = np.array([0.62, -0.62, 0.48])


@dataclass(frozen=True)
class DrawnPart:
    """Triangles on a body, in its coordinates, of one color and for one purpose."""

    body: int
    role: str
    color: Color
    vertices: Array
    faces: Array
    flat: bool
    closed: bool
    """Whether it is drawn only from the outside; meshes from files may have holes."""


@dataclass(frozen=True)
class Sight:
    """The view of a robot: the direction to the camera, and its distance."""

    target: Array
    away: Array
    vertical: float
    """Distance at which the robot's height fits into the picture."""
    horizontal: float
    """The same for its width, in a square picture."""
    radius: float
    """Radius of a ball around everything that is drawn."""


class Scene:
    """The drawing of one robot.

    Parameters
    ----------
    model : Model
    looks : sequence of Look
        Shapes on the bodies.
    size : float
        Extent of the robot, in meters.

    Attributes
    ----------
    parts : list of DrawnPart
    problems : list of str
        A line for each shape that could not be drawn.
    """

    def __init__(self, model: Model, looks: Sequence[Look], size: float) -> None:
        self.model, self.size = model, size
        self.up = skeleton.up_direction(model)
        self.thickness = skeleton.thickness(model, size)
        self.problems: list[str] = []
        self.corners: list[tuple[int, Array]] = []
        self.parts = _merged([part for look in looks for part in self._parts(look)])
        self.connectors = list(connectors(model))

    def _parts(self, look: Look) -> Iterator[DrawnPart]:
        try:
            meshes = triangles(look.shape)
        except FileFormatError as problem:
            place = f"line {look.line}: " if look.line else ""
            self.problems.append(place + str(problem))
            return
        for mesh in meshes:
            color = mesh.color or look.color or skeleton.link_color(look.body)
            if look.role != "shape":
                self.corners.append((look.body, _corners(mesh, look.pose)))
            vertices = mesh.vertices @ look.pose.rotation.T + look.pose.position
            yield DrawnPart(look.body, look.role, color, vertices, mesh.faces, mesh.flat, look.line is None)

    def add_posts(self, height: float) -> None:
        """Add posts that hold the base above the ground."""
        looks = list(skeleton.posts(self.model, self.size, height))
        self.parts = [*self.parts, *_merged([part for look in looks for part in self._parts(look)])]

    def points(self, poses: Poses) -> Array:
        """Return points that span everything drawn, over all poses; (n, 3)."""
        marks = [(body, local) for body, local in (*skeleton.landmarks(self.model), *self.corners)]
        flat = [poses.point(body, p).reshape(-1, 3) for body, local in marks for p in local]
        points = np.concatenate(flat) if flat else np.zeros((0, 3))
        points = points[np.isfinite(points).all(axis=1)]
        return points if len(points) else np.zeros((1, 3))

    def sight(self, poses: Poses, points: Array, view: Any = None) -> Sight:
        """Choose the view so that all points are visible.

        Parameters
        ----------
        poses : Poses
        points : ndarray (n, 3)
        view : three floats, optional
            Direction from the robot to the camera, in world axes.
        """
        away = self.best_side(poses) if view is None else _direction(view)
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        radius = max(float(np.linalg.norm(points - center, axis=1).max()), 0.25 * self.size)
        right = np.cross(self.up, away)
        right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-6 else skeleton.turn_z_to(away)[:, 0]
        above = np.cross(away, right)
        seen = (points - center) @ np.column_stack([right, above, away])
        slope = ROOM * np.tan(0.5 * FIELD_OF_VIEW)
        depth = seen[:, 2]
        least = 0.3 * radius / slope
        vertical = max(float((depth + np.abs(seen[:, 1]) / slope).max()), least)
        horizontal = max(float((depth + np.abs(seen[:, 0]) / slope).max()), least)
        return Sight(center, away / np.linalg.norm(away), vertical, horizontal, radius)

    def best_side(self, poses: Poses) -> Array:
        """Choose a side: a planar mechanism is seen nearly from the front, everything else from a corner."""
        normal = plane_normal(self.model, poses)
        if normal is None or abs(normal @ self.up) > 0.5:
            return skeleton.turn_z_to(self.up) @ _DIAGONAL
        if normal @ (skeleton.turn_z_to(self.up) @ _DIAGONAL) < 0.0:
            normal = -normal
        return 0.86 * normal + 0.36 * np.cross(self.up, normal) + 0.36 * self.up

    def sun(self, away: Array) -> Array:
        """Choose the direction of the light: from above, and over the viewer's shoulder."""
        right = np.cross(self.up, away)
        sun = 1.0 * self.up + 0.55 * right + 0.35 * away
        return sun / np.linalg.norm(sun)


def followed_path(model: Model, track: Track, up: Array, size: float) -> tuple[Array | None, bool]:
    """Return the path of a camera that follows a walking robot, and whether it should follow from the beginning.

    Returns
    -------
    path : ndarray (T, 3) or None
        Horizontal, smoothed displacement at each sample; None for a robot that does not walk.
    walks : bool
    """
    center = mass_center(model, track.poses)
    can_go = any(sliding_freedoms(model.joints[i].kind) for i in model.roots)
    if not can_go or center is None or not np.isfinite(center).all():
        return None, False
    way = center - center[0]
    if any(model.gravity):
        way = way - (way @ up)[:, None] * up
    gone = float(np.linalg.norm(way, axis=1).max())
    if gone < 0.15 * size:
        return None, False
    return _smoothed(track.time, way), gone > WALKS * size


def _smoothed(time: Array, path: Array) -> Array:
    """Smooth with a Gaussian filter on an even grid; beyond the ends, the motion is extrapolated."""
    if len(time) < 3 or time[-1] <= time[0]:
        return path
    grid = np.linspace(time[0], time[-1], min(4000, max(50, int((time[-1] - time[0]) / 0.02))))
    step = grid[1] - grid[0]
    even = np.column_stack([np.interp(grid, time, path[:, k]) for k in range(3)])
    reach = int(np.ceil(3.0 * SMOOTH / step))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / SMOOTH) ** 2)
    weights /= weights.sum()
    kept = min(reach, len(grid) - 1)
    before = 2.0 * even[0] - even[kept:0:-1]
    after = 2.0 * even[-1] - even[-2 : -kept - 2 : -1]
    longer = np.concatenate(
        [np.repeat(before[:1], reach - kept, 0), before, even, after, np.repeat(after[-1:], reach - kept, 0)]
    )
    smooth = np.column_stack([np.convolve(longer[:, k], weights, "valid") for k in range(3)])
    return np.column_stack([np.interp(time, grid, smooth[:, k]) for k in range(3)])


def mass_center(model: Model, poses: Poses) -> Array | None:
    """Compute the center of mass, (..., 3); None for a robot without mass."""
    total = sum(body.mass for body in model.bodies)
    if not total > 0.0:
        return None
    places = [
        body.mass * poses.point(i, np.array(body.mass_properties.com))
        for i, body in enumerate(model.bodies)
        if body.mass
    ]
    return np.sum(places, axis=0) / total


def connectors(model: Model) -> Iterator[tuple[BodyPoint, BodyPoint, Color]]:
    """Yield lines that join bodies that slide along one another, and the two sides of every loop joint.

    Loop joints that roll, or that guide a point along a line or plane, are left out, since their sides are far apart.
    """
    for i, joint in enumerate(model.joints):
        if sliding_freedoms(joint.kind) and is_held_at_origin(joint):
            yield (BodyPoint(joint.parent, joint.placement.position), BodyPoint(i, np.zeros(3)), skeleton.JOINT_COLOR)
    for loop in model.loops:
        if loop.kind.only_closes and loop.kind.name != "distance":
            continue
        yield (
            BodyPoint(loop.predecessor, loop.placement.position),
            BodyPoint(loop.successor, loop.seat.position),
            skeleton.LOOP_COLOR,
        )


def plane_normal(model: Model, poses: Poses) -> Array | None:
    """Return the common axis of all hinges if they are parallel in the first pose, otherwise None.

    A free base does not count as a hinge: a planar biped often has one.
    """
    first = Poses(poses.position.reshape(-1, len(model.bodies), 3)[0], poses.wxyz.reshape(-1, len(model.bodies), 4)[0])
    normal = None
    for i, joint in enumerate(model.joints):
        for column in joint.kind.subspace(joint.kind.neutral()) if joint.kind.nv != 6 else ():
            axis = rotate(first.wxyz[i], np.array([float(x) for x in column.angular]))
            if normal is None and np.linalg.norm(axis) > 0.0:
                normal = axis / np.linalg.norm(axis)
            if normal is not None and not np.linalg.norm(np.cross(axis, normal)) < 1e-6:
                return None
    return normal


def ground_height(model: Model, heights: Array, size: float) -> tuple[float, bool]:
    """Return the height at which the ground is drawn, or None.

    For a robot that can move anywhere, the ground is at height zero, as for a fixed one above it. For a robot that
    reaches lower, the ground is drawn lower; for one that hangs high above, or without gravity, it is not drawn.
    """
    lowest = float(heights.min())
    if not any(model.gravity):
        return lowest, False
    if all(sliding_freedoms(model.joints[i].kind) >= 2 for i in model.roots):
        return 0.0, True
    if lowest < -0.02 * size:
        return lowest - 0.02 * size, True
    return 0.0, lowest <= size


def round_number(x: float) -> float:
    """Round down to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(max(k for k in (1.0, 2.0, 5.0) if k * power <= x * (1 + 1e-12)) * power)


def _direction(view: Any) -> Array:
    try:
        away = np.array(view, dtype=float)
    except (TypeError, ValueError, OverflowError):
        away = np.zeros(0)
    if away.shape != (3,) or not np.isfinite(away).all() or not np.any(away):
        raise OptionError(f"view is a direction from the robot to the camera, such as (1, -1, 0.5), not {view!r}")
    return away / np.linalg.norm(away)


def _corners(part: ColoredMesh, pose: Pose) -> Array:
    """Return the corners of the box around a part, in body coordinates."""
    low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
    box = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    return box @ pose.rotation.T + pose.position


def _merged(parts: list[DrawnPart]) -> list[DrawnPart]:
    """Merge parts with the same body, purpose and color, so that there is less to draw."""
    groups: dict[tuple[Any, ...], list[DrawnPart]] = {}
    for part in parts:
        groups.setdefault((part.body, part.role, part.color, part.flat, part.closed), []).append(part)
    merged = []
    for (body, role, color, flat, closed), same in groups.items():
        starts = np.cumsum([0, *(len(p.vertices) for p in same)])
        faces = np.concatenate([p.faces + start for p, start in zip(same, starts, strict=False)])
        merged.append(DrawnPart(body, role, color, np.concatenate([p.vertices for p in same]), faces, flat, closed))
    return merged
