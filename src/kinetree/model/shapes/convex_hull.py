"""The convex hull of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ModelError
from ..pose import floats
from .solid import Point, Solid, points

MOST_VERTICES = 64
"""The most vertices of a hull: each of them costs time in every step of a search."""

THINNEST = 1e-9
"""Thickness of points that count as flat, relative to their extent."""


@dataclass(frozen=True)
class ConvexHull(Solid):
    """The convex hull of points, at most 64 of which may be its vertices.

    Parameters
    ----------
    vertices : array_like, shape (n, 3)
        Points; those that are not vertices of their hull are dropped.

    Raises
    ------
    ModelError
        If the points are flat, or the hull has too many vertices: :meth:`of` takes the most important ones, and
        ``kinetree.shapes.decomposed`` divides a mesh into convex parts.
    """

    vertices: tuple[Point, ...]
    name = "convex_hull"

    def __post_init__(self) -> None:
        given = np.array(points(self.vertices, "the vertices of a convex hull"))
        hull = _hull(given)
        if len(hull.vertices) > MOST_VERTICES:
            raise ModelError(
                f"the convex hull of these points has {len(hull.vertices)} vertices, but only {MOST_VERTICES} are "
                "possible: kinetree.shapes.ConvexHull.of(points) keeps the most important ones"
            )
        kept = np.sort(hull.vertices)
        object.__setattr__(self, "vertices", points(given[kept], "vertices"))

    @classmethod
    def of(cls, points: Any, most: int = MOST_VERTICES, inform: Callable[[int, float], object] | None = None) -> Any:
        """Return the hull of many points with at most ``most`` vertices, those that stand out most.

        Parameters
        ----------
        points : array_like, shape (n, 3)
        most : int
        inform : callable, optional
            ``inform(count, distance)`` is called if vertices are left out: how many vertices the hull would have, and
            how far the farthest of them stands out of the hull that is returned, in meters.
        """
        if not 4 <= most <= MOST_VERTICES:
            raise ModelError(f"a hull has between 4 and {MOST_VERTICES} vertices, not {most}")
        given = floats(points, "the points of a hull")
        corners = given[_hull(given).vertices]
        if len(corners) <= most:
            return cls(corners)
        kept, distance = _most_important(corners, most)
        if inform is not None:
            inform(len(corners), distance)
        return cls(corners[kept])

    @cached_property
    def faces(self) -> tuple[tuple[int, ...], ...]:
        """The vertices of each face, counterclockwise as seen from outside; coplanar triangles are one face."""
        corners = np.array(self.vertices)
        hull, extent = _hull(corners), float(np.ptp(corners, axis=0).max())
        planes: list[np.ndarray] = []
        for plane in hull.equations:
            if not any(np.abs(plane[:3] - p[:3]).max() < 1e-7 and abs(plane[3] - p[3]) < 1e-9 * extent for p in planes):
                planes.append(plane)
        return tuple(_around(corners, plane, 1e-8 * extent) for plane in planes)

    @cached_property
    def normals(self) -> np.ndarray:
        """Outward unit normals of the faces, (n, 3)."""
        found = []
        for face in self.faces:
            ring = np.array([self.vertices[k] for k in face])
            area = np.cross(ring - ring[0], np.roll(ring, -1, axis=0) - ring[0]).sum(axis=0)
            found.append(area / np.linalg.norm(area))
        return np.array(found)

    @cached_property
    def edges(self) -> tuple[tuple[int, int, int, int], ...]:
        """Edges: from a vertex to a vertex, with the face on its left and that on its right, seen from outside."""
        sides = {
            (a, b): f for f, face in enumerate(self.faces) for a, b in zip(face, (*face[1:], face[0]), strict=True)
        }
        return tuple((a, b, f, sides[b, a]) for (a, b), f in sides.items() if a < b)

    def numbers(self) -> tuple[float, ...]:
        """Return the coordinates of the vertices."""
        return tuple(x for vertex in self.vertices for x in vertex)

    def ball(self) -> tuple[Point, float]:
        """Return a ball about the middle of the vertices."""
        corners = np.array(self.vertices)
        middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        x, y, z = middle.tolist()
        return (x, y, z), float(np.linalg.norm(corners - middle, axis=1).max())


def _hull(given: np.ndarray) -> Any:
    """Return Qhull's convex hull."""
    from scipy.spatial import ConvexHull as Hull  # importing takes a tenth of a second, and most robots have no hulls
    from scipy.spatial import QhullError

    extent = np.ptp(given, axis=0).max() if len(given) else 0.0
    thickness = np.linalg.svd(given - given.mean(axis=0), compute_uv=False)[-1] if len(given) > 3 else 0.0
    if thickness > THINNEST * extent:
        try:
            return Hull(given)
        except QhullError:
            pass
    raise ModelError(f"the {len(given)} points of a convex hull are flat: a hull needs a volume")


def _around(corners: np.ndarray, plane: np.ndarray, tolerance: float) -> tuple[int, ...]:
    """Return the vertices in a plane, counterclockwise about its normal."""
    on = np.flatnonzero(np.abs(corners @ plane[:3] + plane[3]) < tolerance)
    away = corners[on] - corners[on].mean(axis=0)
    first = away[0] / np.linalg.norm(away[0])
    angles = np.arctan2(away @ np.cross(plane[:3], first), away @ first)
    return tuple(int(k) for k in on[np.argsort(angles)])


def _most_important(corners: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """Choose vertices one by one, each the one that stands out most; return them, and how far the others stand out."""
    kept = list(dict.fromkeys([*corners.argmin(axis=0).tolist(), *corners.argmax(axis=0).tolist()]))
    spread = corners - corners.mean(axis=0)
    while len(kept) < 4 or np.linalg.svd(corners[kept] - corners[kept].mean(axis=0), compute_uv=False)[-1] < THINNEST:
        kept.append(
            int(np.delete(np.arange(len(corners)), kept)[np.argmax(np.linalg.norm(np.delete(spread, kept, 0), axis=1))])
        )
    while True:
        planes = _hull(corners[kept]).equations
        out = (corners @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        if len(kept) == most:
            return np.array(kept), float(out.max())
        kept.append(int(np.argmax(out)))
