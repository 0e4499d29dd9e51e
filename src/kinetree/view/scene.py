"""The three-dimensional scene: bodies, ground, trails, arrows, light and camera, as viser's nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FileFormatError
from ..model.joints import JointKind
from ..model.pose import Pose
from ..model.tree import BASE, Model
from . import skeleton
from .geometry import Color, Look
from .motion import BodyPoint, Poses, quaternions, rotate
from .triangles import ColoredMesh, triangles

if TYPE_CHECKING:
    import viser

Array = np.ndarray
Bytes = tuple[int, int, int]

FIELD_OF_VIEW = np.deg2rad(40.0)
TRAIL_COLORS: tuple[Bytes, ...] = ((214, 60, 60), (50, 110, 200), (40, 150, 90), (150, 80, 180))
FORCE_COLOR: Bytes = (200, 40, 90)
LONGEST_ARROW = 0.35
"""Length of the largest contact force, as a part of the robot's size."""


class Scene:
    """What is drawn of one robot.

    Parameters
    ----------
    server : viser.ViserServer
    model : Model
    looks : sequence of Look
        Shapes on the bodies.
    size : float
        Extent of the robot, in metres.

    Attributes
    ----------
    problems : list of str
        A line for each shape that could not be drawn.
    """

    def __init__(self, server: viser.ViserServer, model: Model, looks: Sequence[Look], size: float) -> None:
        self.server, self.model, self.size = server, model, size
        self.up = skeleton.up_direction(model)
        self.problems: list[str] = []
        self.corners: list[tuple[int, Array]] = []
        self.marks: dict[str, list[Any]] = {}
        self._trails: dict[str, Any] = {}
        self._light()
        self.base = server.scene.add_frame("/robot/base", show_axes=False)
        names = _node_names(model)
        self.bodies = [server.scene.add_frame(f"/robot/{name}", show_axes=False) for name in names]
        for k, look in enumerate(looks):
            self._draw(look, f"/robot/{'base' if look.body == BASE else names[look.body]}/{look.role}{k}")
        self._connectors = list(connectors(model))
        radius = skeleton.thickness(model, size)
        self._slides: Any = None
        if self._connectors:
            colors = np.array([[c, c] for _, _, c in self._connectors], dtype=np.uint8)
            nowhere = np.zeros((len(self._connectors), 2, 3))
            self._slides = server.scene.add_line_segments("/slides", nowhere, colors, thickness=0.8 * radius)
        self._arrows = server.scene.add_arrows(
            "/contact forces", np.zeros((1, 2, 3)), FORCE_COLOR, shaft_radius=0.5 * radius, head_radius=1.2 * radius,
            head_length=2.4 * radius, visible=False,
        )  # fmt: skip
        self.show_forces = True
        self.grid: Any = None

    # ------------------------------------------------------------------ building

    def _light(self) -> None:
        # An environment map looks nice but takes software rendering from a tenth of a second to several per picture.
        scene = self.server.scene
        scene.configure_environment_map(hdri=None)
        scene.configure_default_lights(enabled=True, cast_shadow=False)
        scene.add_light_ambient("/light/everywhere", intensity=0.5)
        scene.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(170, 170, 175), intensity=1.1)
        scene.set_up_direction(tuple(float(x) for x in self.up))  # type: ignore[arg-type]

    def _draw(self, look: Look, name: str) -> None:
        try:
            parts = triangles(look.shape)
        except FileFormatError as problem:
            place = f"line {look.line}: " if look.line else ""
            self.problems.append(place + str(problem))
            return
        pose = look.pose
        for k, part in enumerate(parts):
            color = part.color or look.color or skeleton.link_color(look.body)
            handle = self.server.scene.add_mesh_simple(
                f"{name}/{k}", part.vertices, part.faces, color=_bytes(color), flat_shading=part.flat,
                opacity=None if color[3] >= 1.0 else color[3], side="double",
                wxyz=quaternions(pose.rotation), position=pose.position,
            )  # fmt: skip
            self.marks.setdefault(look.role, []).append(handle)
            self.corners.append((look.body, _corners(part, pose)))

    def add_grid(self, poses: Poses) -> None:
        """Draw a ground plane that suits the motion; see :func:`ground_height`."""
        center, radius = self.bounds(poses)
        height, visible = ground_height(self.model, self.points(poses) @ self.up, self.size)
        cell = _round_number(radius / 4.0)
        across = 2.0 * cell * np.ceil(2.5 * radius / cell)
        middle = center + (height - center @ self.up) * self.up
        self.grid = self.server.scene.add_grid(
            "/ground", width=float(across), height=float(across), cell_size=cell, section_size=5.0 * cell,
            cell_color=(222, 224, 228), section_color=(190, 193, 198), wxyz=quaternions(skeleton.turn_z_to(self.up)),
            position=middle, visible=visible,
        )  # fmt: skip

    def aim(self, poses: Poses, view: Sequence[float] | None = None) -> None:
        """Point the camera at the whole motion.

        Parameters
        ----------
        poses : Poses
            One or many.
        view : three floats, optional
            Direction from the robot to the camera, in world axes.
        """
        center, radius = self.bounds(poses)
        away = np.array(view, dtype=float) if view is not None else self.best_side(poses)
        distance = radius / np.sin(0.5 * FIELD_OF_VIEW)
        camera = self.server.initial_camera
        camera.up = self.up
        camera.look_at = center
        camera.position = center + distance * away / np.linalg.norm(away)
        camera.fov = float(FIELD_OF_VIEW)
        camera.near = 0.01 * distance
        camera.far = 100.0 * distance

    def best_side(self, poses: Poses) -> Array:
        """Choose a side: a planar mechanism is seen nearly from the front, everything else from a corner."""
        normal = plane_normal(self.model, poses)
        if normal is None or abs(normal @ self.up) > 0.5:
            return skeleton.turn_z_to(self.up) @ _DIAGONAL
        if normal @ (skeleton.turn_z_to(self.up) @ _DIAGONAL) < 0.0:
            normal = -normal
        return 0.86 * normal + 0.36 * np.cross(self.up, normal) + 0.36 * self.up

    def points(self, poses: Poses) -> Array:
        """Return points that span everything drawn, over all poses; (n, 3)."""
        marks = [(body, local) for body, local in (*skeleton.landmarks(self.model), *self.corners)]
        flat = [poses.point(body, p).reshape(-1, 3) for body, local in marks for p in local]
        points = np.concatenate(flat) if flat else np.zeros((0, 3))
        points = points[np.isfinite(points).all(axis=1)]
        return points if len(points) else np.zeros((1, 3))

    def bounds(self, poses: Poses) -> tuple[Array, float]:
        """Return center and radius of a ball around everything drawn."""
        points = self.points(poses)
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        return center, max(float(np.linalg.norm(points - center, axis=1).max()), 0.5 * self.size)

    # ------------------------------------------------------------------ moving

    def place(self, poses: Poses) -> None:
        """Put the bodies where they are; a body whose place is not a number is not shown."""
        for body, wxyz, position in zip(self.bodies, poses.wxyz, poses.position, strict=True):
            known = bool(np.isfinite(wxyz).all() and np.isfinite(position).all())
            if known:
                body.wxyz, body.position = wxyz, position
            if body.visible != known:
                body.visible = known
        if self._slides is not None:
            ends = [(poses.point(a.body, a.point), poses.point(b.body, b.point)) for a, b, _ in self._connectors]
            self._slides.points = np.nan_to_num(np.array(ends, dtype=np.float32))

    def arrows(self, points: Array, forces: Array, largest: float) -> None:
        """Draw contact forces at points, the longest arrow for the largest force of the whole motion."""
        length = np.linalg.norm(forces, axis=-1)
        shown = np.isfinite(points).all(axis=-1) & (length > 1e-3 * largest)
        if self.show_forces and largest > 0.0 and shown.any():
            scale = LONGEST_ARROW * self.size / largest
            starts = points[shown]
            self._arrows.points = np.stack([starts, starts + scale * forces[shown]], axis=1).astype(np.float32)
            self._arrows.visible = True
        elif self._arrows.visible:
            self._arrows.visible = False

    def trail(self, name: str, points: Array) -> None:
        """Draw the path of a point so far, (n, 3)."""
        segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        segments = segments[np.isfinite(segments).all(axis=(1, 2))]
        if not len(segments):
            if name in self._trails:
                self._trails[name].visible = False
            return
        if name in self._trails:
            self._trails[name].points = segments
            self._trails[name].visible = True
            return
        color = TRAIL_COLORS[len(self._trails) % len(TRAIL_COLORS)]
        thickness = 0.5 * skeleton.thickness(self.model, self.size)
        node = f"/trails/{len(self._trails)}"
        self._trails[name] = self.server.scene.add_line_segments(node, segments, color, thickness=thickness)

    def clear_trails(self) -> None:
        """Remove all paths."""
        for handle in self._trails.values():
            handle.remove()
        self._trails.clear()

    def show_marks(self, role: str, visible: bool) -> None:
        """Show or hide all shapes of a role."""
        for handle in self.marks.get(role, ()):
            handle.visible = visible


_DIAGONAL = np.array([0.62, -0.62, 0.48])


def connectors(model: Model) -> Iterator[tuple[BodyPoint, BodyPoint, Bytes]]:
    """List lines that join bodies which slide along one another, and the two sides of every loop joint."""
    for i, joint in enumerate(model.joints):
        if _slides(joint.kind) and joint.kind.nv != 6 and not (joint.parent == BASE and _slides(joint.kind) >= 2):
            yield (
                BodyPoint(joint.parent, joint.placement.position),
                BodyPoint(i, np.zeros(3)),
                _bytes(skeleton.JOINT_COLOR),
            )
    for loop in model.loops:
        yield (
            BodyPoint(loop.predecessor, loop.placement.position),
            BodyPoint(loop.successor, loop.seat.position),
            _bytes(skeleton.LOOP_COLOR),
        )


def _slides(kind: JointKind) -> int:
    """Count the freedoms of a joint that move the body's origin."""
    columns = kind.subspace(kind.neutral())
    return sum(any(abs(float(x)) > 0.0 for x in column.linear) for column in columns)


def plane_normal(model: Model, poses: Poses) -> Array | None:
    """Find the common axis of all hinges where they are parallel in the first pose; None where they are not.

    A free base is no hinge: a planar biped is often carried by one.
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
    """Find where the ground is drawn, and whether at all.

    A robot that can go anywhere stands on the height zero; so does a fixed one that is above it.  Below one that
    reaches lower, the ground is drawn lower; under one that hangs high above, or where there is no
    gravity, not at all.
    """
    lowest = float(heights.min())
    if not any(model.gravity):
        return lowest, False
    if all(_slides(model.joints[i].kind) >= 2 for i in model.roots):
        return 0.0, True
    if lowest < -0.02 * size:
        return lowest - 0.02 * size, True
    return 0.0, lowest <= size


def _node_names(model: Model) -> list[str]:
    """Make names for the scene tree, in which a slash would mean a level."""
    return [f"{i} {body.name.replace('/', '_')}" for i, body in enumerate(model.bodies)]


def _corners(part: ColoredMesh, pose: Pose) -> Array:
    """Return the corners of the box around a part, in body coordinates."""
    low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
    box = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    return box @ pose.rotation.T + pose.position


def _bytes(color: Color) -> Bytes:
    r, g, b = (round(255 * x) for x in color[:3])
    return (r, g, b)


def _round_number(x: float) -> float:
    """Round down to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(max(k for k in (1.0, 2.0, 5.0) if k * power <= x * (1 + 1e-12)) * power)
