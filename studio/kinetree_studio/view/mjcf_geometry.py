"""The visual shapes of an MJCF file's bodies: the geoms of the model that MuJoCo compiles from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.model.formats.mjcf_compile import import_mujoco
from kinetree.model.formats.mjcf_process import compiled
from kinetree.model.formats.source import Source
from kinetree.model.pose import Pose
from kinetree.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from kinetree.model.tree import Model

from .geometry import Color, Facets, Look, Shape

SHOWN_GROUPS = 3
"""MuJoCo's own viewer shows geoms of groups 0 to 2; by convention, others are for collisions."""


def read_geoms(path: Path, model: Model) -> tuple[list[Look], list[str]]:
    """Return the visual shapes of an MJCF file, and a line for each geom that cannot be drawn.

    Parameters
    ----------
    path : Path
    model : Model
        The model read from this file, which defines the body and pose of each of MuJoCo's bodies.
    """
    mujoco = import_mujoco(str(path))
    seen, missing, _ = compiled(mujoco, Source(path, path.read_bytes()))
    problems = [f"there is no file {name}" for name in missing]
    return list(_looks(mujoco, seen, model, problems)), problems


def _looks(mujoco: Any, m: Any, model: Model, problems: list[str]) -> Iterator[Look]:
    for i in range(m.ngeom):
        color = _color(m, i)
        if m.geom_group[i] >= SHOWN_GROUPS or color[3] == 0.0:
            continue
        body = int(m.geom_bodyid[i])
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_BODY, body) or f"body_{body}"
        frame = model.frame_table.get(name) if body else model.frame_table[model.base.name]
        shape = _shape(mujoco.mjtGeom, m, i)
        if frame is None:
            problems.append(f"geom {i}: the robot has no body {name!r}")
        elif shape is not None:
            w, x, y, z = (float(c) for c in m.geom_quat[i])
            pose = frame.pose @ Pose.of(m.geom_pos[i], quaternion=(x, y, z, w))
            yield Look(frame.body, shape, pose, color, line=0)
        elif m.geom_type[i] != mujoco.mjtGeom.mjGEOM_PLANE:  # planes are the ground, which the viewer draws itself
            problems.append(f"geom {i} of body {name!r} is of a type that cannot be drawn")


def _color(m: Any, i: int) -> Color:
    material = int(m.geom_matid[i])
    r, g, b, a = (float(x) for x in (m.mat_rgba[material] if material >= 0 else m.geom_rgba[i]))
    return (r, g, b, a)


def _shape(kinds: Any, m: Any, i: int) -> Shape | None:
    """Make a geom's shape; MuJoCo gives half lengths."""
    kind, (a, b, c) = m.geom_type[i], (float(x) for x in m.geom_size[i])
    if kind == kinds.mjGEOM_SPHERE:
        return Sphere(a)
    if kind == kinds.mjGEOM_CAPSULE:
        return Capsule(a, 2.0 * b)
    if kind == kinds.mjGEOM_CYLINDER:
        return Cylinder(a, 2.0 * b)
    if kind == kinds.mjGEOM_ELLIPSOID:
        return Ellipsoid((a, b, c))
    if kind == kinds.mjGEOM_BOX:
        return Box((2.0 * a, 2.0 * b, 2.0 * c))
    if kind == kinds.mjGEOM_MESH:
        mesh = int(m.geom_dataid[i])
        first, count = m.mesh_vertadr[mesh], m.mesh_vertnum[mesh]
        start, faces = m.mesh_faceadr[mesh], m.mesh_facenum[mesh]
        vertices = np.array(m.mesh_vert[first : first + count], dtype=float)
        return Facets(vertices, np.array(m.mesh_face[start : start + faces], dtype=int))
    return None
