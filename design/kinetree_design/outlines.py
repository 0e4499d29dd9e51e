"""Linkages as outlines to cut or print: bars with round ends and holes, as SVG or DXF, in millimeters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import OptionError, explains_arguments
from kinetree.io.atomic_files import beside
from kinetree.io.paths import as_path
from kinetree.io.units import in_si
from kinetree.model.linkages.drawing import drawing_of
from kinetree.model.linkages.plates import hull
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import real_number

from .planar_analysis import PlanarMechanism

MM = 1000.0


@explains_arguments
def save_outlines(
    robot: Robot, path: str | os.PathLike[str], q: ArrayLike | None = None, *, width: float | str | None = None,
    hole: float | str | None = None, curves: Sequence[ArrayLike] = (),
) -> None:  # fmt: skip
    """Write the outlines of all links of a planar linkage, each on a separate layer, in millimeters.

    Parameters
    ----------
    robot : Robot
    path : path-like
        ``.svg``, or ``.dxf``, which needs the package ezdxf: ``pip install 'kinetree[dxf]'``.
    q : array_like, shape (nq,), optional
        As drawn by default.
    width, hole : float or str, optional
        Width of the bars and diameter of the pin holes, in meters or with a unit.  The default width is that of the
        drawing, or a tenth of the shortest distance between distinct pins; the default hole is a third of it.
    curves : sequence of array_like, shape (n, 2) or (n, 3)
        Further lines, such as coupler curves, in meters.

    Examples
    --------
    ``kt.design.save_outlines(leg, "leg.dxf", width="10 mm", hole="4 mm")``
    """
    place = as_path(path, "a file of outlines")
    if place.suffix.lower() not in (".svg", ".dxf"):
        raise OptionError(f"outlines are written as .svg or .dxf, not {place.suffix or 'without ending'!r}")
    planar = PlanarMechanism(robot)
    state = planar.reference if q is None else np.asarray(q, dtype=float)
    points = _points(planar, state)
    drawn, lines = drawing_of(robot.model), [_flat(planar, curve) for curve in curves]
    apart = [float(np.linalg.norm(a - b)) for own in points.values() for a in own for b in own]
    usual = 0.1 * min((x for x in apart if x > 1e-9), default=0.01)
    given = _length(width, "width")
    widths = {
        link: given or (drawn.bars[link].width if drawn and link in drawn.bars else None) or usual for link in points
    }
    parts = {link: _outline(own, widths[link] / 2) for link, own in points.items()}
    hollow = _length(hole, "hole")
    holes = {link: [(x, y, (hollow or widths[link] / 3) / 2) for x, y in own] for link, own in points.items()}
    with beside(place) as other:
        (_write_svg if place.suffix.lower() == ".svg" else _write_dxf)(other, parts, holes, lines)


def _length(given: float | str | None, name: str) -> float | None:
    return None if given is None else real_number(in_si(given, "m", name), name, positive=True)


def _flat(planar: PlanarMechanism, curve: ArrayLike) -> Array:
    line = np.asarray(curve, dtype=float)
    if line.ndim != 2 or line.shape[1] not in (2, 3):
        raise OptionError(f"a curve is rows of two or three coordinates, not of shape {line.shape}")
    return line if line.shape[1] == 2 else line @ planar.plane.T


def _points(planar: PlanarMechanism, q: Array) -> dict[str, Array]:
    """Return, for each link except the ground, the points in the plane that it joins."""
    poses, found = planar.poses(q), dict[str, list[Array]]()
    for joint in planar.joints:
        for link, local in ((joint.first, joint.on_first), (joint.second, joint.on_second)):
            found.setdefault(planar.links[link], []).append(poses[link][:3, :3] @ local + poses[link][:3, 3])
    for frame in planar.model.frames:
        if frame.name not in planar.links:
            found.setdefault(planar.links[frame.body + 1], []).append(planar.robot.point_position(q, frame.name))
    flat = {
        link: np.round(np.array(own) @ planar.plane.T, 12) for link, own in found.items() if link != planar.links[0]
    }
    return {link: own[np.sort(np.unique(own, axis=0, return_index=True)[1])] for link, own in flat.items()}


def _outline(points: Array, r: float) -> list[tuple[Array, float]]:
    """Return vertices of a plate with round corners, counterclockwise, each with the angle of the following arc."""
    if len(points) == 1:
        side = np.array([r, 0.0])
        return [(points[0] + side, np.pi), (points[0] - side, np.pi)]
    corners = points[hull([(float(x), float(y)) for x, y in points])]
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([edges[:, 1], -edges[:, 0]], axis=-1) / np.linalg.norm(edges, axis=1)[:, None]
    found = []
    for k, (a, b) in enumerate(zip(corners, np.roll(corners, -1, axis=0), strict=True)):
        n, m = normals[k], normals[(k + 1) % len(normals)]
        angle = np.arctan2(n[0] * m[1] - n[1] * m[0], n @ m) % (2 * np.pi)
        found += [(a + r * n, 0.0), (b + r * n, float(angle))]
    return found


Parts = dict[str, list[tuple[Array, float]]]
Holes = dict[str, list[tuple[float, float, float]]]


def _write_svg(place: os.PathLike[str], parts: Parts, holes: Holes, lines: list[Array]) -> None:
    every = np.concatenate([[p for p, _ in own] for own in parts.values()] + lines) * MM
    low, high = every.min(axis=0) - 20.0, every.max(axis=0) + 20.0
    (x, y), (width, height) = (low[0], -high[1]), high - low
    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.3f}mm" height="{height:.3f}mm" '
        f'viewBox="{x:.3f} {y:.3f} {width:.3f} {height:.3f}" fill="none" stroke="black" stroke-width="0.3">'
    ]
    for link, own in parts.items():
        path, radii = [], []
        for k, (p, angle) in enumerate(own):
            there = own[(k + 1) % len(own)][0]
            if not k:
                path.append(f"M {p[0] * MM:.6f} {-p[1] * MM:.6f}")
            end = f"{there[0] * MM:.6f} {-there[1] * MM:.6f}"
            if angle:
                radii.append(float(np.linalg.norm(there - p) / 2 / np.sin(angle / 2)) * MM)
            path.append(f"A {radii[-1]:.6f} {radii[-1]:.6f} 0 {int(angle > np.pi)} 0 {end}" if angle else f"L {end}")
        circles = [f'<circle cx="{a * MM:.6f}" cy="{-b * MM:.6f}" r="{r * MM:.6f}"/>' for a, b, r in holes[link]]
        text.append(f'<g id="{link}"><path d="{" ".join(path)} Z"/>{"".join(circles)}</g>')
    for line in lines:
        joined = " ".join(f"{a * MM:.6f},{-b * MM:.6f}" for a, b in line)
        text.append(f'<polyline stroke="#c0392b" points="{joined}"/>')
    with open(place, "w", encoding="utf-8") as file:
        file.write("\n".join([*text, "</svg>\n"]))


def _write_dxf(place: os.PathLike[str], parts: Parts, holes: Holes, lines: list[Array]) -> None:
    document = new_dxf()
    space = document.modelspace()
    for link, own in parts.items():
        layer = "".join(c if c.isalnum() or c in "-_" else "_" for c in link)
        document.layers.add(layer)
        vertices = [(p[0] * MM, p[1] * MM, np.tan(angle / 4)) for p, angle in own]
        space.add_lwpolyline(vertices, format="xyb", close=True, dxfattribs={"layer": layer})
        for x, y, r in holes[link]:
            space.add_circle((x * MM, y * MM), r * MM, dxfattribs={"layer": layer})
    for line in lines:
        space.add_lwpolyline([(a * MM, b * MM) for a, b in line])
    document.saveas(place)


def new_dxf() -> Any:
    """Return an empty DXF document in millimeters; if ezdxf is missing, the error says how to install it."""
    try:
        from ezdxf.filemanagement import new  # only writing DXF needs it
    except ImportError:
        raise OptionError("DXF files need the package ezdxf: pip install 'kinetree[dxf]'") from None
    document = new("R2010")
    document.header["$INSUNITS"] = 4  # millimeters
    return document
