"""What URDF and SDF call shapes: from the numbers of a file to a shape, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import UnknownNameError
from ..shapes.by_name import shape_kind
from ..shapes.contact_shape import NUMBERS, ContactShape
from ..shapes.solid import Solid

ROUND = {"radius": 1, "length": 1}

PARTS: dict[str, dict[str, int]] = {
    "sphere": {"radius": 1}, "capsule": ROUND, "cylinder": ROUND, "box": {"size": 3}, "ellipsoid": {"radii": 3},
    "plane": {},
}  # fmt: skip
"""The elements or attributes that describe a shape, by its kind, each with how many numbers it has."""

SURFACE = ("group", "mask", *NUMBERS)
"""Fields of a shape's surface."""


def made(kind: str, numbers: Callable[[str, int], Sequence[float]]) -> Solid:
    """Return a shape; ``numbers(name, count)`` returns the numbers of one element or attribute that describes it."""
    if kind not in PARTS:
        raise UnknownNameError("shape", kind, (*PARTS, "mesh"))
    given = {name: numbers(name, count) for name, count in PARTS[kind].items()}
    found: Solid = shape_kind(kind)(**{name: x[0] if PARTS[kind][name] == 1 else x for name, x in given.items()})
    return found


def parts_of(shape: ContactShape) -> list[tuple[str, str]]:
    """Return the parts of a shape of these kinds as text: ``[("radius", "0.1")]``."""
    own = [(name, getattr(shape.shape, name)) for name in PARTS[shape.kind]]
    return [(name, " ".join(map(repr, x)) if isinstance(x, tuple) else repr(x)) for name, x in own]


def is_mesh_file(shape: Solid) -> bool:
    """Return whether a shape is a mesh in a file."""
    return shape.name == "mesh" and getattr(shape, "vertices", None) is None


def not_written(shape: ContactShape) -> str:
    """Return what is lost if a shape is not written."""
    return f"the {shape.kind.replace('_', ' ')} {shape.name!r}"


def surface_not_written(shape: ContactShape, written: Sequence[str]) -> list[str]:
    """Return what is lost of a shape's surface if only some of its fields are written."""
    lost = [key.replace("_", " ") for key in shape.surface() if key not in written]
    return [f"{' and '.join(lost)} of shape {shape.name!r}"] if lost else []
