"""Triangles of shapes and of mesh files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileFormatError
from kinetree.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from kinetree.spatial.arrays import Array

from .geometry import Color, Facets, MeshFile, Shape

ROUND = 24
"""Number of facets around a cylinder."""

MESHES = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf", ".3mf")
"""Extensions of mesh files: a robot file may name any file, and other kinds are not opened."""

CREASE = 0.6
"""Edges sharper than this angle are visible; others are smoothed by shading."""

MOST_SHADED = 20_000
"""Larger meshes are drawn without smooth shading: their facets are too small to be seen, and shading would take
long."""


@dataclass(frozen=True)
class ColoredMesh:
    """Triangles of one color; None if the shape has no color."""

    vertices: Array
    faces: Array
    color: Color | None = None
    flat: bool = False
    """Whether every facet is visible."""


def triangles(shape: Shape) -> list[ColoredMesh]:
    """Divide a shape into triangles, in its own coordinates.

    Raises
    ------
    FileFormatError
        If it is a mesh file that cannot be read.
    """
    import trimesh
    from trimesh import creation

    if isinstance(shape, MeshFile):
        return [ColoredMesh(p.vertices * np.array(shape.scale), _outward(p.faces, shape.scale), p.color, p.flat)
                for p in _file(shape.path)]  # fmt: skip
    if isinstance(shape, Box):
        mesh = creation.box(extents=shape.size)
    elif isinstance(shape, Cylinder):
        mesh = creation.cylinder(radius=shape.radius, height=shape.length, sections=ROUND)
    elif isinstance(shape, Capsule):
        mesh = creation.capsule(radius=shape.radius, height=shape.length, count=(ROUND, ROUND // 2))
        mesh.apply_translation((0.0, 0.0, -mesh.bounds.mean(axis=0)[2]))
    elif isinstance(shape, Sphere):
        mesh = creation.icosphere(subdivisions=2, radius=shape.radius)
    elif isinstance(shape, Ellipsoid):
        mesh = creation.icosphere(subdivisions=2)
        mesh.apply_scale(shape.radii)
    elif isinstance(shape, Facets):
        mesh = trimesh.Trimesh(shape.vertices, shape.faces, process=False)
    return [_part(mesh, None)]


def _part(mesh: Any, color: Color | None) -> ColoredMesh:
    """Split the corners of a mesh at visible edges."""
    from trimesh import graph

    if len(mesh.faces) > MOST_SHADED:
        return ColoredMesh(np.asarray(mesh.vertices), np.asarray(mesh.faces), color, flat=True)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    shaded = graph.smooth_shade(mesh, angle=CREASE)
    return ColoredMesh(np.asarray(shaded.vertices), np.asarray(shaded.faces), color)


def _outward(faces: Array, scale: tuple[float, float, float]) -> Array:
    """Reverse the order of corners of a mirrored mesh, which is inside out."""
    return faces[:, ::-1] if np.prod(scale) < 0 else faces


@lru_cache(maxsize=256)
def _file(path: Path) -> tuple[ColoredMesh, ...]:
    import trimesh

    if path.suffix.lower() not in MESHES:
        raise FileFormatError(f"meshes are read from files ending in {', '.join(MESHES)}", str(path))
    try:
        loaded: Any = trimesh.load(path, process=False)
        parts = tuple(_merged(list(_parts(loaded))))
    except Exception as problem:  # readers of eight formats fail in many ways
        raise FileFormatError(f"this mesh cannot be read ({type(problem).__name__}: {problem})", str(path)) from None
    if not parts:
        raise FileFormatError("this mesh has no triangles", str(path))
    return parts


def _parts(loaded: Any) -> Iterator[ColoredMesh]:
    if hasattr(loaded, "graph"):  # a scene: each geometry may appear in several places
        for node in loaded.graph.nodes_geometry:
            pose, name = loaded.graph[node]
            yield from _parts(loaded.geometry[name].copy().apply_transform(pose))
    elif hasattr(loaded, "faces") and len(loaded.faces):
        yield _part(loaded, _color(loaded.visual))


def _merged(parts: list[ColoredMesh]) -> Iterator[ColoredMesh]:
    """Yield parts merged by color, so that there is less to draw."""
    for color, flat in dict.fromkeys((p.color, p.flat) for p in parts):
        same = [p for p in parts if (p.color, p.flat) == (color, flat)]
        starts = np.cumsum([0, *(len(p.vertices) for p in same)])
        faces = np.concatenate([p.faces + start for p, start in zip(same, starts, strict=False)])
        yield ColoredMesh(np.concatenate([p.vertices for p in same]), faces, color, flat)


def _color(visual: Any) -> Color | None:
    """Return the color of a mesh: that of its material, the average of its texture, or that of its faces."""
    if not visual.defined:
        return None
    material = getattr(visual, "material", None)
    if material is None:
        return _rgba(np.asarray(visual.face_colors, dtype=float).mean(axis=0))
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is not None:
        return _rgba(np.asarray(image.convert("RGBA"), dtype=float).mean(axis=(0, 1)))
    return _rgba(np.asarray(material.main_color, dtype=float))


def _rgba(bytes_: Array) -> Color:
    r, g, b, a = (round(float(x) / 255.0, 4) for x in bytes_)
    return (r, g, b, a)
