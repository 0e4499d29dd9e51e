"""Geoms of MJCF that can touch, read from a compiled model and written.

MuJoCo gives half lengths.  Its parameters of contact solvers (solref, solimp, gap, priority) mean nothing to other
solvers and are not read.  Geoms on the world and on the bodies that joints connect to it may touch in MuJoCo, but not
here, unless they are planes or height fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..pose import Pose
from ..shapes.by_name import shape_kind
from ..shapes.contact_shape import ContactShape
from ..shapes.solid import Solid
from ..tree import BASE, Model
from . import xml
from .mjcf_words import numbers, pose_words
from .shape_words import is_mesh_file, not_written
from .source import FileBuilder

CONDIM_ROLLING, CONDIM_SPINNING, CONDIM_SLIDING = 6, 4, 3
"""How many directions of friction a contact of MuJoCo must have for each coefficient to count."""

BITS = 0xFFFFFFFF

MESH_FILES = (".stl", ".obj", ".msh")


def read_geoms(mujoco: Any, m: Any, body_names: Sequence[str], builder: FileBuilder) -> None:
    """Keep the geoms that can touch something, and what is excluded or paired by name."""
    if m.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return
    names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_GEOM, i) or "" for i in range(m.ngeom)]
    paired = {int(i) for pair in (m.pair_geom1, m.pair_geom2) for i in pair}
    at: dict[int, int] = {}
    for i in range(m.ngeom):
        if not (m.geom_contype[i] or m.geom_conaffinity[i] or i in paired):
            continue
        body = body_names[m.geom_bodyid[i]]
        with builder.or_left_out(f"geom {names[i] or i} of body {body!r}", None):
            shape = _shape(mujoco.mjtGeom, m, i)
            w, x, y, z = (float(c) for c in m.geom_quat[i])
            pose, condim = Pose.of(m.geom_pos[i], quaternion=(x, y, z, w)), int(m.geom_condim[i])
            sliding, spinning, rolling = (float(c) for c in m.geom_friction[i])
            at[i] = len(at)
            builder.add_shape(
                ContactShape(
                    body, shape, pose, names[i], int(m.geom_contype[i]) & BITS, int(m.geom_conaffinity[i]) & BITS,
                    max(float(m.geom_margin[i]), 0.0), sliding if condim >= CONDIM_SLIDING else 0.0,
                    spinning if condim >= CONDIM_SPINNING else 0.0, rolling if condim >= CONDIM_ROLLING else 0.0,
                )
            )  # fmt: skip
    for signature in m.exclude_signature:  # (body1 << 16) + body2
        builder.exclude_contact(body_names[int(signature) >> 16], body_names[int(signature) & 0xFFFF])
    for one, two in zip(m.pair_geom1, m.pair_geom2, strict=True):
        if names[one] and names[two]:
            builder.allow_contact(names[one], names[two])


def _shape(kinds: Any, m: Any, i: int) -> Solid:
    kind, (a, b, c) = int(m.geom_type[i]), (float(x) for x in m.geom_size[i])
    words = ("plane", "sphere", "capsule", "cylinder", "ellipsoid", "box", "mesh", "hfield")
    word = {int(getattr(kinds, f"mjGEOM_{word.upper()}")): word for word in words}.get(kind, f"type {kind}")
    data = int(m.geom_dataid[i])
    arguments: dict[str, Any] = {}
    if word == "hfield":
        x, y, z, _ = (float(s) for s in m.hfield_size[data])
        rows, columns, first = (int(k[data]) for k in (m.hfield_nrow, m.hfield_ncol, m.hfield_adr))
        heights = np.array(m.hfield_data[first : first + rows * columns], dtype=float).reshape(rows, columns)
        word, arguments = "height_field", {"size": (2.0 * x, 2.0 * y), "heights": z * heights.T}
    elif word == "mesh":
        first, count = int(m.mesh_vertadr[data]), int(m.mesh_vertnum[data])
        vertices = np.array(m.mesh_vert[first : first + count], dtype=float)
        arguments = {"file": f"mesh {data}", "vertices": vertices, "where": f"geom {i}"}
    elif word in ("capsule", "cylinder"):
        arguments = {"radius": a, "length": 2.0 * b}
    else:
        by_size: dict[str, dict[str, Any]] = {
            "sphere": {"radius": a},
            "ellipsoid": {"radii": (a, b, c)},
            "box": {"size": (2.0 * a, 2.0 * b, 2.0 * c)},
        }
        arguments = by_size.get(word, {})
    made: Solid = shape_kind(word)(**arguments)
    return made


# Writing


class GeomWriter:
    """Writes the shapes of one model as geoms; ``assets`` collects their meshes and height fields."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.assets: list[str] = []
        written = [shape for shape in model.shapes if _is_known(shape.shape)]
        self.lost = [not_written(shape) for shape in model.shapes if shape not in written]
        bodies = [model.frame(shape.frame).body for shape in written]
        self.of_body = {b: [s for s, on in zip(written, bodies, strict=True) if on == b] for b in {*bodies}}

    def of(self, body: int, own: Pose) -> Iterator[str]:
        """Yield the geoms of a body, whose frame in the file is at ``own``."""
        for shape in self.of_body.get(body, ()):
            pose = own.inverse() @ self.model.frame(shape.frame).pose @ shape.pose
            words, pose = self._kind(shape, pose)
            yield f"<geom name={xml.quoted(shape.name)} {words}{pose_words(pose)}{_surface(shape)} group='3' mass='0'/>"

    def contacts(self) -> list[str]:
        """Return the elements of <contact>: MuJoCo excludes bodies, not single shapes."""
        found = []
        for pair in self.model.contact_exclusions:
            one, two = (self._bodies_named(name) for name in pair)
            found += [f"<exclude body1={xml.quoted(a)} body2={xml.quoted(b)}/>" for a in one for b in two if a != b]
        return list(dict.fromkeys(found))

    def _bodies_named(self, name: str) -> list[str]:
        model = self.model
        frames = {s.frame for s in model.shapes if s.name == name} or {name} & model.frame_table.keys()
        on = dict.fromkeys(model.frame(frame).body for frame in sorted(frames))
        return ["world" if b == BASE else model.bodies[b].name for b in on]

    def _kind(self, shape: ContactShape, pose: Pose) -> tuple[str, Pose]:
        solid, name = shape.shape, xml.quoted(shape.name)
        own = solid.parameters()
        if shape.kind == "plane":
            return 'type="plane" size="0 0 1"', pose
        if shape.kind == "height_field":
            heights = np.array(own["heights"]).T[::-1]  # files begin with the last row
            low, range_ = float(heights.min()), float(np.ptp(heights))
            size = (0.5 * own["size"][0], 0.5 * own["size"][1], range_ or 1.0, 1.0)
            rows, columns = heights.shape
            self.assets.append(
                f'<hfield name={name} nrow="{rows}" ncol="{columns}" size={numbers(size)} '
                f"elevation={numbers(heights.ravel())}/>"
            )
            return f'type="hfield" hfield={name}', pose @ Pose.of((0.0, 0.0, low))
        if is_mesh_file(solid):
            file = xml.quoted(own["file"])
            self.assets.append(f"<mesh name={name} file={file} scale={numbers(own['scale'])}/>")
        elif shape.kind in ("mesh", "convex_hull"):
            self.assets.append(f"<mesh name={name} vertex={numbers(solid.numbers())}/>")
        else:
            return f'type="{shape.kind}" size={numbers(solid.numbers())}', pose
        return f'type="mesh" mesh={name}', pose


def _is_known(shape: Solid) -> bool:
    """Return whether MuJoCo can have a shape: it reads few kinds of mesh files."""
    if not is_mesh_file(shape):
        return True
    path = Path(shape.parameters()["file"])
    return path.suffix.lower() in MESH_FILES and path.is_file()


def _surface(shape: ContactShape) -> str:
    """Return the attributes that say which geoms touch, and how."""
    three = (shape.friction, shape.torsional_friction, shape.rolling_friction)
    condim = 6 if three[2] else 4 if three[1] else 3 if three[0] else 1
    words = f' contype="{shape.group}"' * (shape.group != 1) + f' conaffinity="{shape.mask}"' * (shape.mask != 1)
    words += f' condim="{condim}"' * (condim != CONDIM_SLIDING) + f' margin="{shape.margin!r}"' * (shape.margin > 0.0)
    return words + f" friction={numbers(three)}" * (three != (1.0, 0.0, 0.0))
