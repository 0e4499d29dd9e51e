"""Denavit-Hartenberg tables in kinetree's YAML format, with one row per body and the columns of the books."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ModelError
from ..dh import rows as dh
from ..dh.table import DHTable
from ..pose import Pose
from ..tree import BASE, Frame, Model
from .yaml_nodes import Items, Node, Scalar, Table

NO_TABLE = (
    "# It was made from a Denavit-Hartenberg table, but is written body by body: its geometry has changed since, or a\n"
    "# table would round its numbers. robot.dh_table() has a table that describes it."
)
"""Why a file has no table, in words."""

TABLE_KEYS = ("convention", "degrees", "links", "floating_base", "rows")


def read_table(reader: Any, node: Node, base: str) -> DHTable:
    """Add the rows of a table to the reader's builder, and return it."""
    fields = reader.fields(node, "a table", TABLE_KEYS, required=("rows",))
    convention = reader.text(fields["convention"], "convention") if "convention" in fields else "modified"
    degrees = "degrees" in fields and _degrees(reader, fields["degrees"])
    links = int(reader.number(fields["links"], "links")) if "links" in fields else None
    rows = [_row(reader, row) for row in reader.items(fields["rows"], "rows")]
    floats = "floating_base" in fields and bool(reader.boolean(fields["floating_base"], "floating_base"))
    with reader.builder.at(node.line):
        given = dh.fill(reader.builder, rows, convention, base=base, degrees=degrees, links=links)
    return DHTable(convention, given, bool(degrees), links, floats)


def table_of(model: Model) -> tuple[DHTable, tuple[Frame, ...]] | None:
    """Return the table that a model was made from, as a file writes it, and the frames that it does not name.

    Masses and numbers of the joints may have changed since.  The result is None if a file cannot express the table, if
    the geometry has changed, or if a number would be rounded: in standard tables, frames and masses are described
    relative to the far ends of links.
    """
    table = model.table
    if not isinstance(table, DHTable) or not all(isinstance(getattr(row, "joint", ""), str) for row in table.rows):
        return None
    if not table.describes(model):
        changed = table.with_numbers_of(model)
        if changed is None or not _made(changed, model).describes(model):
            return None
        table = changed
    named, others = {f.name: f.pose for f in model.frames if f.name in table.names}, []
    for frame in model.frames:
        if frame.name not in table.names:
            seen_from = named.get((model.base if frame.body == BASE else model.bodies[frame.body]).name, Pose())
            pose = seen_from.inverse() @ frame.pose
            if seen_from @ pose != frame.pose:
                return None
            others.append(replace(frame, pose=pose))
    return table, tuple(others)


def _made(table: DHTable, model: Model) -> DHTable:
    """Return a table that knows the robot that a file of it would be read as."""
    base = model.bodies[model.roots[0]] if table.floating_base else model.base
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same as when the robot was made
        builder, _ = dh.build(
            table.rows, table.convention, name=model.name, base=base.name, gravity=model.gravity,
            degrees=table.degrees, links=table.links, base_mass_properties=base.mass_properties,
        )  # fmt: skip
        return replace(table, made=builder.model(floating_base=table.floating_base))


def written(table: DHTable, number: Callable[[float], str], word: Callable[[str], str]) -> list[str]:
    """Return the lines of a table, without their indentation."""
    lines = [f"convention: {table.convention}", *(["degrees: true"] if table.degrees else [])]
    lines += [] if table.links is None else [f"links: {table.links}"]
    lines += ["floating_base: true"] if table.floating_base else []

    def entry(value: Any) -> str:
        if isinstance(value, str):
            return word(value)
        if isinstance(value, (bool, np.bool_)):
            return str(bool(value)).lower()
        if isinstance(value, (int, np.integer)):
            return str(int(value))
        return f"[{', '.join(map(entry, value))}]" if isinstance(value, Iterable) else number(float(value))

    for row in table.rows:
        first = ["name", "joint_name", *type(row).__annotations__]  # columns of this convention before common ones
        given = {key: getattr(row, key) for key in dict.fromkeys([*first, *(f.name for f in fields_of(row))])}
        mass = given.pop("mass_properties")
        if mass is not None:
            given |= {"mass": mass.mass, "com": mass.com, "inertia": mass.inertia}
        usual = {f.name: f.default for f in fields_of(row)}
        kept = {key: x for key, x in given.items() if not (isinstance(x, str) or np.ndim(x) == 0) or x != usual[key]}
        kept = {key: x for key, x in kept.items() if not (isinstance(x, tuple) and not x)}
        lines.append(f"  - {{{', '.join(f'{key}: {entry(x)}' for key, x in kept.items())}}}")
    at = len(lines) - len(table.rows)
    return [*lines[:at], "rows:", *lines[at:]]


def _degrees(reader: Any, node: Node) -> bool | str:
    """Return whether angles are in degrees; ``all`` means that limits are also in degrees."""
    return "all" if isinstance(node, Scalar) and node.text == "all" else bool(reader.boolean(node, "degrees"))


def _row(reader: Any, node: Node) -> dict[str, Any]:
    if not isinstance(node, Table):
        raise reader.error("a row of a table is a mapping from columns to numbers", node)
    return {key: _value(reader, value, key) for key, value in node.entries.items()}


def _value(reader: Any, node: Node, key: str) -> Any:
    """Return a number, a list of numbers or of such lists, or a word."""
    if isinstance(node, Items):
        return [_value(reader, item, key) for item in node.items]
    if isinstance(node, Scalar):
        number = _number(reader, node, key)
        return reader.text(node, key) if number is None else number
    raise reader.error(f"column {key!r} is a number, a list of numbers or a word", node)


def _number(reader: Any, node: Scalar, key: str) -> float | int | None:
    if key in ("name", "joint_name", "about", "joint"):
        return None
    try:
        number = float(reader.number(node, key))
    except ModelError:
        return None
    return (
        int(number)
        if number.is_integer() and key in ("a", "a(j)", "j", "antecedent", "parent", "sigma", "mu")
        else number
    )
