"""Force elements in YAML files: a list of elements by kind, with their numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..contact.joint_stops import JointStops
from ..errors import UnknownNameError
from ..io.paths import as_path, whole_content
from ..io.units import Quantity, in_si
from ..model.formats import yaml_nodes
from ..model.formats.source import Source
from ..model.formats.yaml_nodes import Items, Node, NodeReader, Table
from ..model.tree import Model
from ..motion.splines import straight
from .characteristics import Characteristic
from .drag_and_gravity import Drag, GravityField
from .motors import Motor
from .pushes import JointPush, Push
from .springs import Bushing, JointSpring, PointSpring

MARK = "forces"

Read = Callable[[NodeReader, Node, str], Any]


def load(path: str | os.PathLike[str]) -> list[Any]:
    """Read force elements from a YAML file, which holds a list, perhaps under ``forces``.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    FileFormatError
        If the file cannot be understood; says which file and line.
    """
    place = as_path(path, "a file of forces")
    source = Source(place, whole_content(place, "file of forces"))
    root, reader = yaml_nodes.nodes(source), NodeReader(source.file)
    if isinstance(root, Items):
        return read_forces(reader, root)
    fields = reader.fields(root, "a file of forces", (MARK,), required=(MARK,))
    return read_forces(reader, fields[MARK])


def read_forces(reader: NodeReader, node: Node, tree: Model | None = None, q: Any = ()) -> list[Any]:
    """Read a list of force elements; with a robot, each is tried at a configuration, to check its names."""
    found = []
    for item in reader.items(node, "forces"):
        found.append(_read_force(reader, item))
        if tree is not None:
            with reader.at(item), np.errstate(all="ignore"):
                begin = max(0.0, found[-1].span[0])
                found[-1].loads(tree, begin, [float(x) for x in q], [0.0] * tree.nv)
    return found


def _read_force(reader: NodeReader, node: Node) -> Any:
    if not isinstance(node, Table) or "kind" not in node.entries:
        raise reader.error("a force needs a kind, such as 'kind: joint-spring'", node)
    kind = reader.text(node.entries["kind"], "kind of force")
    if kind not in KINDS:
        raise reader.error(str(UnknownNameError("kind of force", kind, KINDS)), node.entries["kind"])
    make, known, required = KINDS[kind]
    fields = reader.fields(node, f"a force of kind {kind!r}", ("kind", "name", *known), required=required)
    given = {key: known[key](reader, fields[key], key) for key in known if key in fields}
    if "name" in fields and kind != "joint-stops":
        given["name"] = reader.text(fields["name"], "name")
    with reader.at(node):
        return make(**given)


# ------------------------------------------------------------------ fields


def _word(reader: NodeReader, node: Node, what: str) -> str:
    return reader.text(node, what)


def _words(reader: NodeReader, node: Node, what: str) -> list[str]:
    return [reader.text(item, what) for item in reader.items(node, what)]


def _number(reader: NodeReader, node: Node, what: str) -> float:
    return reader.number(node, what)


def _place(reader: NodeReader, node: Node, what: str) -> float:
    """Return a position, perhaps with a unit: ``45 deg``, ``120 mm``."""
    found = reader.number(node, what, measured=True)
    if isinstance(found, Quantity) and found.unit not in ("rad", "m"):
        raise reader.error(f"{what}: {found.written!r} is neither an angle nor a length", node)
    return float(found)


def _whole(reader: NodeReader, node: Node, what: str) -> int:
    value = reader.number(node, what)
    if value != int(value):
        raise reader.error(f"{what} must be a whole number, not {value:g}", node)
    return int(value)


def _truth(reader: NodeReader, node: Node, what: str) -> bool:
    return reader.boolean(node, what)


def _three(reader: NodeReader, node: Node, what: str) -> Any:
    return reader.numbers(node, what, 3) if isinstance(node, Items) else reader.number(node, what)


def _point(reader: NodeReader, node: Node, what: str) -> Any:
    if not isinstance(node, Table):
        return reader.text(node, what)
    fields = reader.fields(node, what, ("frame", "point"), required=("frame",))
    point = reader.numbers(fields["point"], "point", 3, measured=True) if "point" in fields else (0.0, 0.0, 0.0)
    with reader.at(fields.get("point", node)):
        point = in_si(point, "m", "point")
    return reader.text(fields["frame"], "frame"), tuple(point)


def _curve(reader: NodeReader, node: Node, what: str) -> Any:
    """Return a number, or a table ``{x: [...], y: [...]}``, perhaps with a period."""
    if not isinstance(node, Table):
        return reader.number(node, what)
    fields = reader.fields(node, f"{what} as a table", ("x", "y", "period", "smooth"), required=("x", "y"))
    x = [_place(reader, item, "x") for item in reader.items(fields["x"], "x")]
    y = [reader.number(item, "y") for item in reader.items(fields["y"], "y")]
    period = _place(reader, fields["period"], "period") if "period" in fields else None
    smooth = "smooth" in fields and reader.boolean(fields["smooth"], "smooth")
    with reader.at(node):
        return Characteristic(x, y, period, smooth)


def _over_time_or_joint(reader: NodeReader, node: Node, what: str) -> Any:
    """Return a number, a table over time, or one ``{x: [...], y: [...]}`` over the coordinate of a joint."""
    is_curve = isinstance(node, Table) and "x" in node.entries
    return _curve(reader, node, what) if is_curve else _ONE(reader, node, what)


def _over_time(count: int) -> Read:
    """Return a reader of ``count`` numbers, or of rows ``{times: [...], values: [...]}``, linear between times."""

    def read(reader: NodeReader, node: Node, what: str) -> Any:
        if not isinstance(node, Table):
            return reader.number(node, what) if count == 1 else reader.numbers(node, what, count)
        keys = ("times", "values", "hold")
        fields = reader.fields(node, f"{what} over time", keys, required=keys[:2])
        times = [reader.number(item, "times") for item in reader.items(fields["times"], "times")]
        rows = [
            [reader.number(row, "values")] if count == 1 else reader.numbers(row, "a row of values", count)
            for row in reader.items(fields["values"], "values")
        ]
        hold = "hold" in fields and reader.boolean(fields["hold"], "hold")
        with reader.at(node):
            return straight(times, np.array(rows), hold=hold)

    return read


_ONE, _VECTOR = _over_time(1), _over_time(3)

KINDS: dict[str, tuple[Callable[..., Any], dict[str, Read], tuple[str, ...]]] = {
    "joint-spring": (
        JointSpring,
        {"joint": _word, "stiffness": _curve, "damping": _curve, "rest": _place, "coordinate": _whole},
        ("joint",),
    ),
    "point-spring": (
        PointSpring,
        {"a": _point, "b": _point, "stiffness": _curve, "damping": _curve, "length": _place, "pulls_only": _truth},
        ("a", "b"),
    ),
    "bushing": (
        Bushing,
        {"a": _word, "b": _word, **dict.fromkeys(Bushing.VARIES, _three)},
        ("a", "b"),
    ),
    "push": (Push, {"at": _point, "force": _VECTOR, "torque": _VECTOR, "axes": _word}, ("at",)),
    "joint-push": (
        JointPush,
        {"joint": _word, "force": _over_time_or_joint, "coordinate": _whole, "over": _word},
        ("joint", "force"),
    ),
    "drag": (
        Drag,
        {"at": _point, "linear": _number, "quadratic": _number, "turning": _number, "wind": _VECTOR},
        ("at",),
    ),
    "central-gravity": (GravityField.central, {"mu": _number, "center": _three}, ("mu",)),
    "motor": (
        Motor,
        {
            "joint": _word, "signal": _ONE, "curve": _curve, "coordinate": _whole,
            **dict.fromkeys(
                ("stall_torque", "no_load_speed", "ratio", "efficiency", "rubbing", "damping", "friction_speed"),
                _number,
            ),
        },
        ("joint", "signal"),
    ),
    "joint-stops": (JointStops, {"joints": _words}, ()),
}  # fmt: skip
"""Kinds of forces in files: how they are made, their fields, and which are required."""
