"""The index of names that people bring along, made from what the errors know: ``<!-- names from elsewhere -->``.

``src/kinetree/robot/names_elsewhere.yaml`` has the names without capitals and lines; ``names.yaml`` spells them and
says whose they are.  A name that is not in ``names.yaml`` is listed as it is.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import yaml

DOCS = Path(__file__).resolve().parent
PLACE = re.compile(r"^\*The site shows a table here, .* <!-- names from elsewhere -->$", re.MULTILINE)
CALL = re.compile(r"(?P<owner>kinetree|robot|record)\.(?P<name>\w+)(\([^)]*\))?")


def known() -> dict[str, dict[str, str]]:
    """The tables of names, from their file: building the documentation does not import kinetree."""
    file = DOCS.parent / "src" / "kinetree" / "robot" / "names_elsewhere.yaml"
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))


def expanded(text: str) -> str:
    """The text with the table in its place."""
    return PLACE.sub(lambda _: table(), text)


def table() -> str:
    """All names in the order of the alphabet, with what they are called here."""
    spelled: dict[str, list[str]] = yaml.safe_load((DOCS / "names.yaml").read_text(encoding="utf-8"))
    names = known()
    found: dict[str, str] = {key: f"robot.{call}" for key, call in names["METHODS"].items()}
    found = {key: call.replace("robot.kinetree.", "kinetree.") for key, call in found.items()} | names["FUNCTIONS"]
    rows = {key: _linked(call) for key, call in found.items()}
    for key, integrator in names["INTEGRATORS"].items():
        rows.setdefault(key, f'`kt.simulate(..., integrator="{integrator}")`')
    lines = []
    for key in sorted(rows, key=lambda key: spelled.get(key, [key])[0].strip("`").lower()):
        name, whose = spelled.get(key, [f"`{key}`", ""])
        lines.append(f"| {name} | {whose} | {rows[key]} |")
    return "\n".join(["| you look for | of | here |", "|---|---|---|", *lines])


def _linked(call: str) -> str:
    """Words with every call in them linked to where the reference describes its function."""
    return CALL.sub(_link, call)


def _link(found: re.Match[str]) -> str:
    owner = {"robot": "kinetree.Robot", "record": "kinetree.Record"}.get(found["owner"], found["owner"])
    name = "view.view" if (owner, found["name"]) == ("kinetree", "view") else found["name"]
    shown = html.escape(found[0].replace("kinetree.", "kt."))
    return f'<autoref identifier="{owner}.{name}" optional><code>{shown}</code></autoref>'
