"""Collision shapes of SDF."""

from __future__ import annotations

import numpy as np

from ....errors import ModelError
from ...pose import Pose
from ...tree import ContactShape
from ..source import SIZES
from ..xml import Element
from .elements import Elements

PARTS = {"box": ("size",), "ellipsoid": ("radii",)}
"""Elements that give the size of a shape, for shapes described by something other than radius and length."""


def read_shapes(elements: Elements, collision: Element, link: str) -> list[ContactShape]:
    """Return the shape of a collision; one that cannot be read is noted, since other readers may understand it."""
    for shape in [x for geometry in collision.all("geometry") for x in geometry.children][:1]:
        try:
            return [_shape(elements, shape, collision, link)]
        except ModelError:
            return [ContactShape(link, f"unreadable {shape.tag}")]
    return []


def _shape(elements: Elements, shape: Element, collision: Element, link: str) -> ContactShape:
    place = elements.only(collision, "pose")
    if elements.relative_to(place):
        raise elements.error("the frame of a collision's <pose> is not read", collision)
    pose, count = elements.pose(place), SIZES.get(shape.tag, 0)
    words = PARTS.get(shape.tag, ("radius", "length")[:count])
    parts = [elements.only(shape, word) for word in words]
    size = [x for part in parts if part is not None for x in elements.numbers(part, count // len(words), False)]
    if len(size) != count:
        raise elements.error(f"<{shape.tag}> has no size", shape)
    if shape.tag == "plane":
        pose = pose @ _upright(elements, shape)
    return ContactShape(link, shape.tag, tuple(size), pose)


def _upright(elements: Elements, plane: Element) -> Pose:
    """Return the rotation that takes z to a plane's normal."""
    child = elements.only(plane, "normal")
    normal = np.array([0.0, 0.0, 1.0] if child is None else elements.numbers(child, 3, infinite=False))
    length = float(np.linalg.norm(normal))
    if length == 0.0:
        raise elements.error("the normal of a plane has zero length", child or plane)
    x, y, z = normal / length
    if z < -1.0 + 1e-12:
        return Pose.of(quaternion=(1.0, 0.0, 0.0, 0.0))
    turn = np.array([-y, x, 0.0, 1.0 + z])
    return Pose.of(quaternion=turn / np.linalg.norm(turn))
