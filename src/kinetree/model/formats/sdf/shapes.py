"""Collision shapes of SDF, read and written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...pose import Pose
from ...shapes.contact_shape import ContactShape
from ...shapes.solid import Solid
from ..mesh_addresses import mesh_named
from ..shape_words import PARTS, is_mesh_file, made, not_written, parts_of, surface_not_written
from ..source import FileBuilder
from ..xml import Element
from .elements import Elements

SURFACE = {
    "friction": ("friction", "ode", "mu"), "restitution": ("bounce", "restitution_coefficient"),
    "group": ("contact", "collide_bitmask"),
}  # fmt: skip
"""Fields of a shape's surface: the elements within <surface>. The bit mask of SDF is both group and mask."""


def read_shape(elements: Elements, collision: Element, link: str, builder: FileBuilder) -> None:
    """Keep the shape of a collision; one that cannot be understood is left out, with a warning."""
    for shape in [x for geometry in collision.all("geometry") for x in geometry.children][:1]:
        with builder.or_left_out(f"a collision shape of link {link!r}", shape.line):
            place = elements.only(collision, "pose")
            if elements.relative_to(place):
                raise elements.error("the frame of a collision's <pose> is not read", collision)
            pose = elements.pose(place) @ _upright(elements, shape)
            solid, surface = _shape(elements, shape), dict(_surface(elements, collision))
            name = collision.attributes.get("name", "")
            builder.add_shape(ContactShape(link, solid, pose, name, **surface))


def _shape(elements: Elements, shape: Element) -> Solid:
    if shape.tag == "mesh":
        scale = elements.only(shape, "scale")
        factors = (1.0, 1.0, 1.0) if scale is None else elements.numbers(scale, 3, infinite=False)
        return mesh_named(elements.word(shape, "uri"), Path(elements.file), shape.line, factors)

    def numbers(name: str, count: int) -> list[float]:
        part = elements.only(shape, name)
        if part is None:
            raise elements.error(f"<{shape.tag}> has no <{name}>", shape)
        return elements.numbers(part, count, infinite=False)

    return made(shape.tag, numbers)


def _surface(elements: Elements, collision: Element) -> Iterator[tuple[str, Any]]:
    for key, path in SURFACE.items():
        inner = elements.only(collision, "surface")
        for tag in path:
            inner = None if inner is None else elements.only(inner, tag)
        if inner is None:
            continue
        if key == "group":
            yield from (("group", _bits(elements, inner)), ("mask", _bits(elements, inner)))
        else:
            yield key, elements.numbers(inner, 1, infinite=False)[0]


def _bits(elements: Elements, element: Element) -> int:
    try:
        return int(element.text.strip(), 0)
    except ValueError:
        raise elements.error(f"<{element.tag}> must be an integer, not {element.text.strip()!r}", element) from None


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
    if (x, y) == (0.0, 0.0):
        return Pose()
    turn = np.array([-y, x, 0.0, 1.0 + z])
    return Pose.of(quaternion=turn / np.linalg.norm(turn))


def written(shape: ContactShape, pose: str, quoted: str, lost: list[str]) -> Iterator[str]:
    """Yield the lines of a <collision>; what SDF has no word for is added to ``lost``.

    pose, quoted: Its <pose>, and its name in quotation marks.
    """
    if is_mesh_file(shape.shape):
        mesh = shape.shape.parameters()
        inside = f"<mesh><uri>{mesh['file']}</uri><scale>{' '.join(map(repr, mesh['scale']))}</scale></mesh>"
    elif shape.kind in PARTS:
        parts = "".join(f"<{key}>{text}</{key}>" for key, text in parts_of(shape))
        inside = f"<{shape.kind}>{parts or '<normal>0 0 1</normal>'}</{shape.kind}>"
    else:
        lost.append(not_written(shape))
        return
    words = []
    for key, path in SURFACE.items():
        both = shape.group == shape.mask
        if key in shape.surface() and (key != "group" or both):
            start, end = "".join(f"<{tag}>" for tag in path), "".join(f"</{tag}>" for tag in reversed(path))
            words.append(f"{start}{getattr(shape, key)!r}{end}")
    known = (*SURFACE, "mask") if shape.group == shape.mask else ("friction", "restitution")
    lost += surface_not_written(shape, known)
    yield f"      <collision name={quoted}>{pose}<geometry>{inside}</geometry>"
    yield f"        <surface>{''.join(words)}</surface></collision>" if words else "      </collision>"
