"""The appearance of a robot: simple shapes and meshes on its bodies, those from a URDF file, and those that may touch.

The model has no appearance, since that does not affect the motion; it is read here from the file when the robot is
viewed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull as Hull

from kinetree.errors import FileFormatError, KinetreeError, ModelError, ModelWarning, RobotFileNotFoundError
from kinetree.model.formats import xml
from kinetree.model.formats.mesh_addresses import find_mesh
from kinetree.model.formats.xml import Element
from kinetree.model.pose import Pose
from kinetree.model.shapes import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    HeightGrid,
    Mesh,
    Solid,
    Sphere,
)
from kinetree.model.tree import Model
from kinetree.spatial.arrays import Array

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Facets:
    """Triangles: corners (n, 3), and the indices of each triangle's corners (m, 3)."""

    vertices: Array
    faces: Array


@dataclass(frozen=True)
class MeshFile:
    """Triangles in a file, scaled along the axes."""

    path: Path
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


Shape = Box | Cylinder | Capsule | Sphere | Ellipsoid | Facets | MeshFile


@dataclass(frozen=True)
class Look:
    """A shape on a body.

    Attributes
    ----------
    body : int
        Index of the body, -1 for the base.
    shape : Shape
    pose : Pose
        Pose of the shape on the body.
    color : Color or None
        If None, the mesh's own color, or a default color for the body.
    role : {"link", "joint", "loop", "base"}
        What the shape represents.
    line : int or None
        Line of the file that defines it, 0 if unknown; None for shapes that are not from a file.
    """

    body: int
    shape: Shape
    pose: Pose = field(default_factory=Pose)
    color: Color | None = None
    role: str = "link"
    line: int | None = None


# ------------------------------------------------------------------ URDF


def format_of(path: Path) -> str:
    """Return ``"urdf"``, ``"mjcf"``, or None for a file without visual shapes."""
    if not path.is_file():
        raise RobotFileNotFoundError(f"no robot file {str(path)!r} to read shapes from")
    suffix = path.suffix.lower()
    if suffix in (".xml", ".mjcf"):
        return {"robot": "urdf", "mujoco": "mjcf"}.get(xml.parse(path.read_bytes(), str(path)).tag, "")
    return "urdf" if suffix == ".urdf" else ""


def read_visuals(path: Path, model: Model, package_dirs: Sequence[Path] = ()) -> tuple[list[Look], list[str]]:
    """Return the visual shapes of a URDF file's links, and a line for each one that cannot be drawn.

    Parameters
    ----------
    path : Path
        Path of the URDF file.
    model : Model
        The model read from this file, which defines the body and pose of each link.
    package_dirs : sequence of Path
        Folders that hold ROS packages, for ``package://`` addresses.
    """
    reader = _UrdfLooks(path, model, package_dirs)
    return list(reader.looks()), reader.problems


class _UrdfLooks:
    """Reads the visuals of one URDF file; a faulty one does not prevent the others from being drawn."""

    def __init__(self, path: Path, model: Model, package_dirs: Sequence[Path]) -> None:
        self.path, self.model, self.package_dirs = path, model, package_dirs
        self.root = xml.parse(path.read_bytes(), str(path))
        self.problems: list[str] = []
        self.visuals = [
            (link.attributes.get("name", ""), v) for link in self.root.all("link") for v in link.all("visual")
        ]
        # a material may be defined next to the links, or inside one of them for use by all
        owners = (*(visual for _, visual in self.visuals), self.root)
        named = [m for owner in owners for m in owner.all("material") if m.attributes.get("name")]
        self.colors = {m.attributes["name"]: color for m in named if (color := self.own_color(m)) is not None}

    def looks(self) -> Iterator[Look]:
        for link, visual in self.visuals:
            try:
                yield self.look(link, visual)
            except FileFormatError as problem:
                self.note(str(problem))

    def look(self, link: str, visual: Element) -> Look:
        frame = self.model.frame_table.get(link)
        if frame is None:
            raise FileFormatError(f"the robot has no link {link!r}", str(self.path), visual.line)
        geometry = next(visual.all("geometry"), None)
        if geometry is None or not geometry.children:
            raise FileFormatError(f"a visual of link {link!r} has no geometry", str(self.path), visual.line)
        made = geometry.children[0]
        try:
            shape = _shape(made, self.path, self.package_dirs)
        except FileFormatError:
            raise
        except ModelError as problem:
            raise FileFormatError(str(problem), str(self.path), made.line) from None
        return Look(frame.body, shape, frame.pose @ self.origin(visual), self.color(visual), line=visual.line)

    def origin(self, visual: Element) -> Pose:
        origin = next(visual.all("origin"), None)
        if origin is None:
            return Pose()
        xyz, rpy = (_numbers(origin, name, 3, self.path, (0.0, 0.0, 0.0)) for name in ("xyz", "rpy"))
        return Pose.of(xyz, rpy=rpy)

    def color(self, visual: Element) -> Color | None:
        material = next(visual.all("material"), None)
        if material is None:
            return None
        if any(material.all("color")):
            return self.own_color(material)
        return self.colors.get(material.attributes.get("name", ""))

    def own_color(self, material: Element) -> Color | None:
        element = next(material.all("color"), None)
        if element is None:
            return None
        try:
            r, g, b, a = _numbers(element, "rgba", 4, self.path)
        except FileFormatError as problem:
            self.note(str(problem))
            return None
        if not all(0.0 <= x <= 1.0 for x in (r, g, b, a)):
            self.note(
                str(FileFormatError(f"rgba must be from 0 to 1, not {r:g} {g:g} {b:g} {a:g}", None, element.line))
            )
            return None
        return (r, g, b, a)

    def note(self, problem: str) -> None:
        text = problem.removeprefix(f"{self.path}, ")
        if text not in self.problems:
            self.problems.append(text)


def _shape(element: Element, path: Path, package_dirs: Sequence[Path]) -> Shape:
    def one(name: str) -> float:
        return _numbers(element, name, 1, path)[0]

    if element.tag == "box":
        x, y, z = _numbers(element, "size", 3, path)
        return Box((x, y, z))
    if element.tag in ("cylinder", "capsule"):
        return (Cylinder if element.tag == "cylinder" else Capsule)(one("radius"), one("length"))
    if element.tag == "sphere":
        return Sphere(one("radius"))
    if element.tag == "mesh":
        x, y, z = _numbers(element, "scale", 3, path, (1.0, 1.0, 1.0))
        address = element.attributes.get("filename", "")
        return MeshFile(find_mesh(address, path, element.line, package_dirs), (x, y, z))
    raise FileFormatError(f"<{element.tag}> is not a shape that can be drawn", str(path), element.line)


def _numbers(
    element: Element, name: str, count: int, path: Path, default: Sequence[float] | None = None
) -> Sequence[float]:
    text = element.attributes.get(name)
    if text is None and default is not None:
        return default
    try:
        values = [float(word) for word in (text or "").split()]
    except ValueError:
        values = []
    if len(values) != count or not all(map(math.isfinite, values)):
        what = "a number" if count == 1 else f"{count} numbers"
        raise FileFormatError(f"<{element.tag}> needs {what} for {name}, not {text!r}", str(path), element.line)
    return values


# ------------------------------------------------------------------ shapes that may touch

CONTACT_COLOR = (0.05, 0.62, 0.62, 0.4)
PLANE = 1.5
"""Half the edge of the square that stands for a plane without end, in sizes of the robot."""


def contact_looks(model: Model, size: float) -> tuple[list[Look], list[str]]:
    """Return looks of a model's shapes, and a line for each one that cannot be drawn."""
    looks, problems = list[Look](), list[str]()
    for own in model.shapes:
        place = model.frame_table[own.frame]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)  # what a hull leaves out matters to contact alone
                solids = list(drawn(own.shape, size))
            looks += [Look(place.body, s, place.pose @ own.pose, CONTACT_COLOR, "shape") for s in solids]
        except KinetreeError as problem:  # a mesh whose file is not there
            problems.append(str(problem))
    return looks, problems


def drawn(solid: Solid, size: float) -> Iterator[Shape]:
    """Yield a solid as the viewer draws it."""
    if isinstance(solid, Box | Capsule | Cylinder | Ellipsoid | Sphere):
        yield solid
    elif isinstance(solid, HalfSpace):
        edge = PLANE * size
        yield Facets(
            edge * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])
        )
    elif isinstance(solid, HeightGrid):
        yield grid_facets(solid)
    elif isinstance(solid, ConvexHull | Mesh):
        corners = np.array((solid.hull if isinstance(solid, Mesh) else solid).vertices)
        hull = Hull(corners)
        faces, middle = hull.simplices.copy(), corners.mean(axis=0)
        a, b, c = (corners[faces[:, k]] for k in range(3))
        inward = np.einsum("fi,fi->f", np.cross(b - a, c - a), a - middle) < 0.0
        faces[inward] = faces[inward][:, ::-1]
        yield Facets(corners, faces)


def grid_facets(grid: HeightGrid) -> Facets:
    """Return the surface of a height grid: two triangles a cell."""
    nx, ny = grid.shape
    x, y = (np.linspace(-0.5 * length, 0.5 * length, n) for length, n in zip(grid.size, (nx, ny), strict=True))
    corners: Array = np.stack([*np.meshgrid(x, y, indexing="ij"), np.array(grid.heights)], axis=-1).reshape(-1, 3)
    first = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    low = np.stack([first, first + ny, first + ny + 1], axis=-1)
    high = np.stack([first, first + ny + 1, first + 1], axis=-1)
    return Facets(corners, np.concatenate([low, high]))
