"""Denavit-Hartenberg tables in kinetree's YAML format: the bodies of a robot as rows, in the columns of a book."""

from __future__ import annotations

from typing import Any

from ...errors import ModelError
from .. import dh
from .yaml_nodes import Items, Node, Scalar, Table

TABLE_KEYS = ("convention", "degrees", "links", "rows")


def read_table(reader: Any, node: Node, base: str) -> None:
    """Add the rows of a table to the reader's builder."""
    fields = reader.fields(node, "a table", TABLE_KEYS, required=("rows",))
    convention = reader.text(fields["convention"], "convention") if "convention" in fields else "modified"
    degrees = "degrees" in fields and _degrees(reader, fields["degrees"])
    links = int(reader.number(fields["links"], "links")) if "links" in fields else None
    rows = [_row(reader, row) for row in reader.items(fields["rows"], "rows")]
    with reader.builder.at(node.line):
        dh.fill(reader.builder, rows, convention, base=base, degrees=degrees, links=links)


def _degrees(reader: Any, node: Node) -> bool | str:
    """Return whether angles are in degrees; ``all`` says that limits are, too."""
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
