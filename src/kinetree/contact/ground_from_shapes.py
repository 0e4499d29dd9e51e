"""Ground from a robot's file: spots from its collision shapes, and the floor."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError, ModelWarning, UnknownNameError, callers_level
from ..model.shapes.contact_shape import ContactShape
from ..model.shapes.solid import corners
from ..model.tree import BASE, Model
from .surfaces import Plane, Spot, triple

if TYPE_CHECKING:
    from ..robot.robot import Robot

SPOTTED = ("sphere", "capsule", "box")
"""Kinds of shapes that become spots."""


PLURALS = {"box": "boxes", "mesh": "meshes", "convex_hull": "convex hulls", "height_field": "height fields"}


def counted_kinds(shapes: Iterable[ContactShape]) -> str:
    """Return the number of shapes of each kind in words: ``4 spheres, 1 mesh``."""
    counts = Counter(shape.kind for shape in shapes)
    return ", ".join(f"{n} {kind if n == 1 else PLURALS.get(kind, f'{kind}s')}" for kind, n in counts.items())


def _sorted(tree: Model) -> tuple[list[ContactShape], list[ContactShape]]:
    """Return the shapes on moving bodies, and those fixed in the world."""
    placed = [(s, tree.frame_table[s.frame].body) for s in tree.shapes if s.frame in tree.frame_table]
    return [s for s, body in placed if body != BASE], [s for s, body in placed if body == BASE]


def collision_spots(robot: Robot, bodies: Sequence[str] | None = None) -> list[Spot]:
    """Return spots from the collision shapes that a robot's file (MJCF, URDF, SDF) gives its bodies.

    A sphere becomes a ball, a capsule a ball at either end, a box its eight corners.  Other shapes on these bodies are
    left out, with a warning that names them.

    Parameters
    ----------
    robot : Robot
    bodies : sequence of str, optional
        Use only shapes on these bodies, by their names in the file; by default on all that move.

    Examples
    --------
    ``Ground(collision_spots(robot), HuntCrossley(1e5, 0.5), surface=collision_floor(robot))``
    """
    tree: Model = robot.model
    moving, _ = _sorted(tree)
    if bodies is not None:
        names = (bodies,) if isinstance(bodies, str) else tuple(bodies)
        known = list(dict.fromkeys(shape.frame for shape in moving))
        for name in names:
            if name not in known:
                raise UnknownNameError("body with a collision shape", name, known)
        moving = [shape for shape in moving if shape.frame in names]
    found = [spot for shape in moving for spot in _spots(shape)]
    others = [shape for shape in moving if shape.kind not in SPOTTED]
    if not found:
        has = f" but {counted_kinds(others)}" if others else ""
        raise ModelError(
            f"the file of robot {tree.name!r} gives its bodies no spheres, capsules or boxes{has}: name spots, such as "
            "ground.Spot('foot', (0, 0, -0.1), radius=0.02)"
        )
    if others:
        warnings.warn(
            f"collision shapes of robot {tree.name!r} are left out, as they are not spheres, capsules or boxes: "
            f"{counted_kinds(others)}, on {', '.join(dict.fromkeys(s.frame for s in others))}",
            ModelWarning,
            stacklevel=callers_level(),
        )
    return found


def _spots(shape: ContactShape) -> list[Spot]:
    radius, points, solid = 0.0, np.zeros((0, 3)), shape.shape
    if shape.kind == "sphere":
        radius, points = solid.numbers()[0], np.zeros((1, 3))
    elif shape.kind == "capsule":
        radius, half = solid.numbers()
        points = np.outer([-half, half], [0.0, 0.0, 1.0])
    elif shape.kind == "box":
        points = np.array(corners(solid.numbers()))
    placed = points @ shape.pose.rotation.T + shape.pose.translation
    return [Spot(shape.frame, triple(p, "a collision shape"), radius) for p in placed]


def collision_floor(robot: Robot) -> Plane:
    """Return the (first) plane that a robot's file has in the world; raise an error if there is none.

    Parameters
    ----------
    robot : Robot
    """
    tree: Model = robot.model
    for shape in _sorted(tree)[1]:
        if shape.kind == "plane":
            pose = tree.frame(shape.frame).pose @ shape.pose
            up = np.asarray(pose.rotation)[:, 2]
            return Plane(triple(pose.translation, "a point of the floor"), triple(up, "the normal of the floor"))
    raise ModelError(f"the file of robot {tree.name!r} has no plane to stand on: take ground.Plane()")


def unused_shapes(tree: Model) -> str:
    """Return in words the collision shapes of a file that are not used; an empty string if there are none."""
    moving, fixed = _sorted(tree)
    if not moving:
        return ""
    floor = f" and {counted_kinds(fixed)} in the world" if fixed else ""
    return f"its file has {counted_kinds(moving)} on its bodies{floor} that nothing uses"
