"""Shapes in kinetree's YAML format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..pose import Pose
from ..shapes.by_name import shape_kind
from ..shapes.solid import Solid
from ..tree import Model
from .mesh_addresses import mesh_named
from .shape_words import SURFACE, is_mesh_file

SHAPE_KEYS = ("name", "body", "kind", "placement", *SURFACE)
KIND_KEYS = ("radius", "length", "size", "radii", "heights", "vertices", "file", "scale")
"""Keys of all kinds of shapes."""


def read_shape(reader: Any, node: Any) -> None:
    """Add a shape to the reader's builder."""
    fields = reader.fields(node, "a shape", (*SHAPE_KEYS, *KIND_KEYS), required=("body", "kind"))
    word, body = reader.text(fields["kind"], "kind of a shape"), reader.text(fields["body"], "body of a shape")
    with reader.at(fields["kind"]):
        known = shape_kind(word).__dataclass_fields__
    reader.fields(node, f"a {word}", (*SHAPE_KEYS, *(key for key in KIND_KEYS if key in known)))
    surface = {key: reader.number(fields[key], f"{key} of a shape") for key in SURFACE if key in fields}
    surface |= {key: _bits(reader, fields[key], key) for key in ("group", "mask") if key in fields}
    name = reader.text(fields["name"], "name of a shape") if "name" in fields else ""
    if name and name in reader.builder.shape_names:
        raise reader.error(f"two shapes are named {name!r}", node)
    with reader.builder.at(node.line):
        solid = _solid(reader, word, {key: fields[key] for key in KIND_KEYS if key in fields}, node)
        reader.builder.shape(body, solid, pose=reader.placement(fields), name=name, **surface)


def read_pair(reader: Any, node: Any, add: Callable[[str, str], object], what: str) -> None:
    """Add a pair of names of shapes or bodies."""
    names = [reader.text(item, f"a name of {what}") for item in reader.items(node, what)]
    if len(names) != 2:
        raise reader.error(f"{what} is two names of shapes or bodies", node)
    with reader.builder.at(node.line):
        add(names[0], names[1])


def _bits(reader: Any, node: Any, key: str) -> int:
    value = reader.number(node, f"{key} of a shape")
    if value != int(value):
        raise reader.error(f"{key} of a shape must be an integer, not {value:g}", node)
    return int(value)


def _solid(reader: Any, word: str, fields: dict[str, Any], node: Any) -> Solid:
    if word == "mesh" and "file" in fields:
        file = reader.text(fields["file"], "file of a mesh")
        scale = reader.numbers(fields["scale"], "scale of a mesh", 3) if "scale" in fields else (1.0, 1.0, 1.0)
        return mesh_named(file, reader.builder.path, fields["file"].line, scale)
    kind, arguments = shape_kind(word), dict[str, Any]()
    for key, own in fields.items():
        if key in ("heights", "vertices"):
            rows = reader.items(own, key)
            arguments[key] = [[reader.number(x, key) for x in reader.items(row, f"a row of {key}")] for row in rows]
            if len({len(row) for row in arguments[key]}) > 1:
                raise reader.error(f"the rows of {key} have different lengths", own)
        elif key in ("radius", "length"):
            arguments[key] = reader.number(own, key, measured=True)
        else:
            arguments[key] = reader.numbers(own, key, 2 if word == "height_field" else 3, measured=True)
    missing = [key for key in KIND_KEYS if key in kind.__dataclass_fields__ and key not in arguments]
    if missing:
        raise reader.error(f"a {word} needs {missing[0]!r}", node)
    made: Solid = kind(**arguments)
    return made


def written(
    model: Model, word: Callable[[str], str], listed: Callable[[Sequence[float]], str],
    number: Callable[[float], str], placement: Callable[[Pose], list[str]],
) -> Iterator[list[str]]:  # fmt: skip
    """Yield the lines of each shape."""
    for shape in model.shapes:
        solid = shape.shape
        if solid.name == "mesh" and not is_mesh_file(solid):
            solid = solid.hull  # type: ignore[attr-defined]
        lines = [f"name: {word(shape.name)}", f"body: {word(shape.frame)}", f"kind: {solid.name}"]
        for key, value in solid.parameters().items():
            if key in ("heights", "vertices"):
                lines += [f"{key}:", *(f"  - {listed(row)}" for row in value)]
            elif isinstance(value, str):
                lines.append(f"{key}: {word(value)}")
            elif key != "scale" or value != (1.0, 1.0, 1.0):
                lines.append(f"{key}: {number(value) if isinstance(value, float) else listed(value)}")
        surface = [f"{k}: {x if isinstance(x, int) else number(x)}" for k, x in shape.surface().items()]
        yield [*lines, *placement(shape.pose), *surface]
