"""Lessons: a system, with steps, questions whose answers the page checks, and things to do; written in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files as packaged
from pathlib import Path
from typing import Any

from kinetree.errors import FileFormatError, MissingFileError

ENDING = ".lesson.md"

QUESTION = re.compile(r"\? (?P<text>.+?) \[(?P<unit>[^\]]+)\] = (?P<of>.+?) ± (?P<within>[\d.]+) ?%")
TASK = re.compile(r"! (?P<text>.+): (?P<of>.+?) (?P<sign>[<>]) (?P<value>-?[\d.]+)")
MEASURE = re.compile(
    r"(?P<what>peak|rms) (?P<curve>torque|force|position|velocity) of (?P<name>.+)|mass of .+|-?[\d.]+"
)

UNITS = ("N m", "N", "kg", "rad", "deg", "m", "mm", "rad/s", "rpm", "m/s")


def lessons(folder: Path) -> dict[str, str]:
    """Return the texts of all lessons by name: those of kinetree, and the files ``*.lesson.md`` of a folder."""
    own = [(file.name, file) for file in (packaged(__package__) / "lessons").iterdir() if file.name.endswith(ENDING)]
    found = sorted(own) + [(path.name, path) for path in sorted(folder.glob(f"*{ENDING}"))]
    return {name: file.read_text(encoding="utf-8") for name, file in found}


def listed(folder: Path) -> list[dict[str, str]]:
    """Return name and title of every lesson."""
    return [{"name": name, "title": text.partition("\n")[0].lstrip("# ")} for name, text in lessons(folder).items()]


def lesson(folder: Path, name: str) -> dict[str, Any]:
    """Read a lesson: its title, its system, and its steps.

    A step begins with ``## title``.  In it are paragraphs, questions, ``? text [unit] = measure ± 3 %``, and tasks,
    ``! text: measure < number``.  A measure is ``peak torque of JOINT`` (or rms; force, position, velocity), ``mass of
    BODY``, or a number.
    """
    known = lessons(folder)
    if name not in known:
        raise MissingFileError(f"there is no lesson {name!r}")
    title, system, steps = "", "", list[dict[str, Any]]()
    for number, line in enumerate(known[name].splitlines(), 1):
        line = line.strip()
        if line.startswith("## "):
            steps.append({"title": line[3:], "parts": []})
        elif line.startswith("# "):
            title = line[2:]
        elif line.startswith("system:") and not steps:
            system = line.partition(":")[2].strip()
        elif line:
            if not steps:
                raise FileFormatError(
                    "a lesson begins with '# title', 'system: NAME' and a step, '## title'", name, number
                )
            steps[-1]["parts"] += _part(line, name, number)
    if not (title and system and steps):
        raise FileFormatError("a lesson needs '# title', 'system: NAME' and steps, '## title'", name)
    return {"title": title, "system": system, "steps": steps}


def _part(line: str, file: str, number: int) -> Iterator[dict[str, Any]]:
    if line[0] not in "?!":
        yield {"kind": "text", "text": line}
        return
    found = (QUESTION if line[0] == "?" else TASK).fullmatch(line)
    if found is None:
        form = "'? text [unit] = measure ± 3 %'" if line[0] == "?" else "'! text: measure < number'"
        raise FileFormatError(f"this is not of the form {form}", file, number)
    if MEASURE.fullmatch(found["of"]) is None:
        raise FileFormatError(
            f"{found['of']!r} is none of 'peak torque of JOINT', 'mass of BODY', a number", file, number
        )
    if line[0] == "?" and found["unit"] not in UNITS:
        raise FileFormatError(f"an answer is in one of {', '.join(UNITS)}, not in {found['unit']!r}", file, number)
    yield {"kind": "question" if line[0] == "?" else "task", **found.groupdict()}
