"""Meshes in files, which touch as their convex hulls or as convex parts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileFormatError, MissingFileError, ModelError, ModelWarning, UnsupportedError, warn
from ...io.atomic_files import beside
from ...io.cache_folder import cache_folder
from ..pose import floats
from .convex_hull import MOST_VERTICES, ConvexHull
from .solid import Point, Solid, points

KINDS_OF_MESHES = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")
"""Endings of files that are read."""


@dataclass(frozen=True)
class Mesh(Solid):
    """The convex hull of a mesh, which is read from its file and computed when it is first needed.

    Parameters
    ----------
    file : path-like
        ``.stl``, ``.obj``, ``.dae``, ``.ply``, ``.off``, ``.glb``, read by trimesh (``pip install kinetree[shapes]``).
    scale : three floats
        Factors along the axes.
    vertices : array_like, shape (n, 3), optional
        Given instead of a file, which is then only a name.
    where : str
        The place that names the file, for messages: ``robot.urdf, line 12``.
    """

    file: str
    scale: Point = (1.0, 1.0, 1.0)
    vertices: Any = field(default=None, compare=False, repr=False)
    where: str = field(default="", compare=False, repr=False)
    name = "mesh"

    def __post_init__(self) -> None:
        scale = floats(self.scale, "the scale of a mesh")
        if scale.shape != (3,) or not np.isfinite(scale).all() or not scale.all():
            raise ModelError(f"the scale of a mesh must be three numbers that are not zero, not {self.scale!r}")
        object.__setattr__(self, "file", os.fspath(self.file))
        object.__setattr__(self, "scale", points([scale], "scale")[0])

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)

    @cached_property
    def hull(self) -> ConvexHull:
        """The convex hull of the mesh, with 64 vertices at most; a warning says what is lost if it has more."""

        def inform(count: int, distance: float) -> None:
            warn(
                f"{self._place}the convex hull of {self.file} has {count} vertices: the {MOST_VERTICES} that stand out "
                f"most are kept, the others stand out by up to {1e3 * distance:.2g} mm. kinetree.shapes.decomposed "
                "divides a mesh into convex parts",
                ModelWarning,
            )

        try:
            corners = self.triangles().vertices if self.vertices is None else floats(self.vertices, "vertices")
            found: ConvexHull = ConvexHull.of(corners * np.array(self.scale), inform=inform)
        except ModelError as problem:
            raise FileFormatError(f"{self._place}{problem}", self.file) from None
        return found

    def numbers(self) -> tuple[float, ...]:
        """Return the coordinates of the hull's vertices."""
        return self.hull.numbers()

    def ball(self) -> tuple[Point, float]:
        """Return a ball about the middle of the hull."""
        return self.hull.ball()

    @property
    def _place(self) -> str:
        return f"{self.where}: " if self.where else ""

    def triangles(self) -> Any:
        """Return the mesh of the file as trimesh has it, before it is scaled.

        Raises
        ------
        MissingFileError
            If there is no such file.
        FileFormatError
            If it cannot be read, or is empty.
        """
        trimesh = _library("trimesh", "meshes are read by")
        if not self.path.is_file():
            raise MissingFileError(f"{self._place}there is no mesh file {self.file!r}")
        if self.path.suffix.lower() not in KINDS_OF_MESHES:
            raise FileFormatError(f"{self._place}a mesh is a file {', '.join(KINDS_OF_MESHES)}", self.file)
        try:
            mesh = trimesh.load(self.file, force="mesh")
        except Exception as problem:  # its readers raise whatever they meet
            raise FileFormatError(f"{self._place}the mesh cannot be read: {problem}", self.file) from None
        if not len(getattr(mesh, "faces", ())):
            raise FileFormatError(f"{self._place}the mesh has no triangles", self.file)
        return mesh


def decomposed(mesh: Mesh | str | os.PathLike[str], *, threshold: float = 0.05, most: int = 64) -> list[ConvexHull]:
    """Divide a mesh into convex parts, by CoACD (``pip install kinetree[shapes]``), which takes seconds to minutes.

    The result is kept in the folder of the cache, see ``KINETREE_CACHE``.

    Parameters
    ----------
    mesh : Mesh or path-like
        A closed mesh.
    threshold : float
        How concave parts may be, from 0.01 (many parts) to 1 (few).
    most : int
        The most vertices of a part.

    Raises
    ------
    FileFormatError
        If the mesh is open, inside out or flat.

    Examples
    --------
    ``for part in kt.shapes.decomposed("bowl.stl"): b.shape("bowl", part)``
    """
    mesh = mesh if isinstance(mesh, Mesh) else Mesh(os.fspath(mesh))
    found = mesh.triangles()
    _refuse_defects(mesh, found)
    corners = np.asarray(found.vertices, dtype=float) * np.array(mesh.scale)
    faces = np.asarray(found.faces, dtype=np.int64)[:, :: int(np.sign(np.prod(mesh.scale)))]
    words = f"{threshold!r} {most!r}".encode()
    key = hashlib.sha256(corners.tobytes() + faces.tobytes() + words).hexdigest()[:40]
    parts = _kept(key, lambda: _divided(corners, faces, threshold, most))
    return [ConvexHull.of(part, most) for part in parts]


def _refuse_defects(mesh: Mesh, found: Any) -> None:
    found.merge_vertices(merge_tex=True, merge_norm=True)
    place = mesh._place
    if not found.is_watertight:
        raise FileFormatError(
            f"{place}the mesh is open: it has edges with only one triangle, and so no inside", mesh.file
        )
    if not found.is_winding_consistent:
        raise FileFormatError(f"{place}some triangles of the mesh face inwards and some outwards", mesh.file)
    if found.volume < 0.0:
        raise FileFormatError(f"{place}the mesh is inside out: its triangles face inwards", mesh.file)


def _divided(corners: np.ndarray, faces: np.ndarray, threshold: float, most: int) -> list[np.ndarray]:
    coacd = _library("coacd", "meshes are divided into convex parts by")
    coacd.set_log_level("error")
    parts = coacd.run_coacd(
        coacd.Mesh(corners, faces), threshold=threshold, decimate=True, max_ch_vertex=most, seed=0, merge=True
    )
    return [np.asarray(vertices, dtype=float) for vertices, _ in parts]


def _kept(key: str, make: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
    """Return arrays of points from the folder of the cache, or make them and keep them there."""
    folder = cache_folder("convex-parts")
    file = None if folder is None else folder / f"{key}.npz"
    if file is not None and file.is_file():
        with suppress(OSError, ValueError, KeyError), np.load(file, allow_pickle=False) as held:
            return [held[name] for name in sorted(held.files)]
    parts = make()
    if file is not None:
        with suppress(OSError, ModelError), beside(file) as place, place.open("wb") as stream:
            np.savez(stream, **{f"{k:04d}": part for k, part in enumerate(parts)})  # type: ignore[arg-type]
    return parts


def _library(name: str, what: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise UnsupportedError(f"{what} the package {name!r}: pip install kinetree[shapes]") from None
