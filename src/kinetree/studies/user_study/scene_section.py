"""The section ``scene`` of a study: robots, things and terrain in one world."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import refuse_unknown
from ...model.formats.yaml_nodes import Node, NodeReader, Scalar, Table
from ...model.shapes import terrain
from ...model.shapes.by_name import shape_kind
from ...model.shapes.contact_shape import ContactShape
from ...model.shapes.kinds import SHAPE_KINDS
from ...model.shapes.solid import Solid
from ...model.shapes.thing import Thing
from ...robot.robot import Robot
from ...robot.scene import Placed, scene

KEYS = ("name", "robots", "things", "terrain", "gravity")

PLACE_KEYS = ("position", "rpy", "quaternion", "q", "floating")
"""Keys of a robot in a scene, besides those of a robot."""

POSE_KEYS = ("position", "rpy", "quaternion")

SURFACE_KEYS = ("friction", "torsional_friction", "rolling_friction", "restitution", "group", "mask")

FILE_KEYS = ("file", "scale")


def read_scene(reader: Any, node: Node) -> Robot:
    """Make the robot of a scene; ``reader`` is the reader of the study, which loads robots."""
    fields = reader.fields(node, "scene", KEYS)
    robots = {name: _robot(reader, own, name) for name, own in _named(reader, fields, "robots")}
    things = {name: _thing(reader, own, name) for name, own in _named(reader, fields, "things")}
    ground: list[ContactShape] = []
    for item in reader.items(fields["terrain"], "terrain") if "terrain" in fields else ():
        ground += _terrain(reader, item, len(ground))
    gravity = reader.numbers(fields["gravity"], "gravity", 3) if "gravity" in fields else None
    name = reader.text(fields["name"], "name of the scene") if "name" in fields else "scene"
    with reader.at(node):
        return scene(robots, things, ground, name=name, gravity=gravity)


def _named(reader: NodeReader, fields: dict[str, Node], key: str) -> list[tuple[str, Node]]:
    if key not in fields:
        return []
    node = fields[key]
    if not isinstance(node, Table):
        raise reader.error(f"{key} of a scene have names: '{key}: {{left: ...}}'", node)
    return list(node.entries.items())


def _robot(reader: Any, node: Node, name: str) -> Placed:
    if isinstance(node, Scalar):
        return Placed(reader.read_robot(node)[0])
    entries = node.entries if isinstance(node, Table) else {}
    place = {key: entries[key] for key in PLACE_KEYS if key in entries}
    rest = {key: x for key, x in entries.items() if key not in place}
    robot = reader.read_robot(Table(node.line, rest, getattr(node, "lines", {})))[0]
    given: dict[str, Any] = {
        key: reader.plain(x, f"{key} of {name!r}") for key, x in place.items() if key != "floating"
    }
    if "floating" in place:
        given["floating"] = reader.boolean(place["floating"], "floating")
    with reader.at(node):
        placed = Placed(robot, **given)
        placed.pose  # noqa: B018 - an error in it names this line
    return placed


def _thing(reader: Any, node: Node, name: str) -> Thing:
    entries = node.entries if isinstance(node, Table) else {}
    own: tuple[str, ...]
    if "shapes" in entries:
        own = ("shapes", "mass", "density", "fixed", *POSE_KEYS, *SURFACE_KEYS)
        fields = reader.fields(node, f"thing {name!r}", own)
        shape: Any = [_shape(reader, item, f"a shape of {name!r}") for item in reader.items(fields["shapes"], "shapes")]
    else:
        word, parameters = _kind(reader, node, f"thing {name!r}")
        own = ("kind", *parameters, "mass", "density", "fixed", *POSE_KEYS, *SURFACE_KEYS)
        fields = reader.fields(node, f"thing {name!r}, a {word},", own)
        shape = _solid(reader, node, word, parameters, fields)
    given = {key: _value(reader, fields[key], key) for key in own if key in fields and key not in ("shapes", "kind")}
    given = {key: x for key, x in given.items() if key in (*POSE_KEYS, *SURFACE_KEYS, "mass", "density")}
    if "fixed" in fields:
        given["fixed"] = reader.boolean(fields["fixed"], "fixed")
    with reader.at(node):
        thing = Thing(shape, **given)
        thing.shapes(name)
        if not thing.fixed:
            thing.model(name)
    return thing


def _terrain(reader: Any, node: Node, count: int) -> list[ContactShape]:
    """Return the shapes of one part of the terrain: a function of :mod:`kinetree.terrain`, or any shape."""
    if isinstance(node, Scalar):
        node = Table(node.line, {"kind": node}, {"kind": node.line})
    if not isinstance(node, Table) or "kind" not in node.entries:
        raise reader.error("a part of the terrain needs a kind, such as 'kind: stairs'", node)
    word = reader.text(node.entries["kind"], "kind of terrain")
    functions = {key: getattr(terrain, key) for key in terrain.__all__ if key != "turned"}
    if word not in functions:
        with reader.at(node.entries["kind"]):
            refuse_unknown("kind of terrain", word, (*functions, *SHAPE_KINDS))
        made = _shape(reader, node, "terrain")
        return [made if made.name else replace(made, name=f"terrain_{count + 1}")]
    make: Callable[..., list[ContactShape]] = functions[word]
    known = tuple(inspect.signature(make).parameters)
    fields = reader.fields(node, f"terrain {word!r}", ("kind", *known, "position", "angle"))
    given = {key: _value(reader, fields[key], key) for key in known if key in fields}
    if "down" in given:
        given["down"] = reader.boolean(fields["down"], "down")
    with reader.at(node):
        found = make(**given)
        if word != "slope" and ("position" in fields or "angle" in fields):
            place = {key: _value(reader, fields[key], key) for key in ("angle", "position") if key in fields}
            return terrain.turned(found, **place)
    return found


def _shape(reader: Any, node: Node, what: str) -> ContactShape:
    """Read a shape with its pose and its surface."""
    word, parameters = _kind(reader, node, what)
    fields = reader.fields(node, f"{what}, a {word},", ("name", "kind", *parameters, *POSE_KEYS, *SURFACE_KEYS))
    name = reader.text(fields["name"], "name of a shape") if "name" in fields else ""
    surface = {key: _value(reader, fields[key], key) for key in SURFACE_KEYS if key in fields}
    solid = _solid(reader, node, word, parameters, fields)
    with reader.at(node):
        pose = Placed(None, **{key: _value(reader, fields[key], key) for key in POSE_KEYS if key in fields}).pose
        return ContactShape("base", solid, pose, name, **surface)


def _kind(reader: Any, node: Node, what: str) -> tuple[str, tuple[str, ...]]:
    if not isinstance(node, Table) or "kind" not in node.entries:
        raise reader.error(f"{what} needs a kind, such as 'kind: box'", node)
    word = reader.text(node.entries["kind"], "kind of a shape")
    with reader.at(node.entries["kind"]):
        kind = shape_kind(word)
    names = FILE_KEYS if word == "mesh" else tuple(key for key in kind.__dataclass_fields__ if not key.startswith("_"))
    return word, names


def _solid(reader: Any, node: Node, word: str, parameters: tuple[str, ...], fields: dict[str, Node]) -> Solid:
    given = {key: _value(reader, fields[key], key) for key in parameters if key in fields}
    if "file" in given:
        given["file"] = reader.beside(given["file"])
    missing = [key for key in parameters if key not in given and key not in FILE_KEYS[1:]]
    if missing:
        raise reader.error(f"a {word} needs {missing[0]!r}", node)
    with reader.at(node):
        made: Solid = shape_kind(word)(**given)
    return made


def _value(reader: NodeReader, node: Node, key: str) -> Any:
    """Read numbers, which may have units, or words; whole numbers are integers."""
    found = reader.plain(node, key)
    if key in ("count", "seed", "group", "mask") and isinstance(found, float) and found.is_integer():
        return int(found)
    return found
