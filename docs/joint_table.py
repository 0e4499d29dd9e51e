"""The table of what joints have, as the source has it: ``<!-- numbers of joints -->``."""

from __future__ import annotations

import re

from kinetree.model.joint_fields import FIELDS, JointField

PLACE = re.compile(r"^\*The site shows a table here, .* <!-- numbers of joints -->$", re.MULTILINE)
HEADINGS = "| name | unit | | URDF | SDF | MJCF |\n|---|---|---|---|---|---|"


def expanded(text: str) -> str:
    """The text with the table in its place."""
    return PLACE.sub(lambda _: table(), text)


def table() -> str:
    """A line per number: unit of hinges and slides, what it is, and its words in other formats."""
    return "\n".join([HEADINGS, *(_line(row) for row in FIELDS.values())])


def _line(row: JointField) -> str:
    words = " | ".join(f"`{word}`" if word else "" for word in (row.urdf, row.sdf, row.mjcf))
    per = " One per coordinate." if row.per == "q" else ""
    help = row.help.replace("*", r"\*")
    return f"| `{row.name}` | {' or '.join(dict.fromkeys(row.units))} | {help}{per} | {words} |"
