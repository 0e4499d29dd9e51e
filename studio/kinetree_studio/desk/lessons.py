"""Lessons: a system, with steps, questions whose answers the page checks, and things to do; written in Markdown."""

from __future__ import annotations

import re
from importlib.resources import files as packaged
from pathlib import Path
from typing import Any

from kinetree.errors import FileFormatError, KinetreeError, MissingFileError, nearest
from kinetree.io.units import UNITS, Quantity, factor, plain, quantity
from kinetree.robot.robot import Robot

from ..page.drives import simple_motors
from ..project.document import Document
from .opening import inside

ENDING = ".lesson.md"

QUESTION = re.compile(r"\? (?P<text>.+?) \[(?P<unit>[^\]]+)\] = (?P<of>.+?) ± (?P<within>[\d.]+) ?%")
TASK = re.compile(r"! (?P<text>.+): (?P<of>.+?) (?P<sign>[<>]) (?P<value>-?[\d.]+.*)")
MEASURE = re.compile(
    r"(?:(?:peak|rms) (?P<curve>torque|force|position|velocity)|(?P<mass>mass)) of (?P<name>.+)|(?P<number>-?[\d.]+)"
)

EXAMPLES = "N m, N, kg, g, rad, deg, m, mm, rad/s, deg/s, rpm, m/s, mm/s"


def lessons(folder: Path) -> dict[str, str]:
    """Return the texts of all lessons by name: those of kinetree, and the files ``*.lesson.md`` of a folder."""
    own = [(file.name, file) for file in (packaged(__package__) / "lessons").iterdir() if file.name.endswith(ENDING)]
    found = sorted(own) + [(path.name, path) for path in sorted(folder.glob(f"*{ENDING}"))]
    return {name: file.read_text(encoding="utf-8") for name, file in found}


def listed(folder: Path) -> list[dict[str, str]]:
    """Return name and title of every lesson, and what is wrong with its text, if anything."""
    return [
        {"name": name, "title": text.partition("\n")[0].lstrip("# ") or name, "problem": _problem(text, name)}
        for name, text in lessons(folder).items()
    ]


def _problem(text: str, name: str) -> str:
    try:
        read(text, name)
    except KinetreeError as problem:
        return str(problem)
    return ""


def lesson(folder: Path, name: str) -> dict[str, Any]:
    """Read a lesson of kinetree or of a folder."""
    known = lessons(folder)
    if name not in known:
        raise MissingFileError(f"there is no lesson {name!r}")
    return read(known[name], name)


def read(text: str, name: str) -> dict[str, Any]:
    """Read the text of a lesson: its title, its system, its steps, and units in which answers may be typed.

    A step begins with ``## title``.  In it are paragraphs, questions, ``? text [unit] = measure ± 3 %``, and tasks,
    ``! text: measure < number``.  A measure is ``peak torque of JOINT`` (or rms; force, position, velocity), ``mass of
    BODY``, or a number in the unit of the answer.  The number of a task is in SI, or has a unit.

    name: Of the file, for messages.
    """
    title, system, steps = "", "", list[dict[str, Any]]()
    for number, line in enumerate(text.splitlines(), 1):
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
            steps[-1]["parts"].append(_part(line, name, number))
    if not (title and system and steps):
        raise FileFormatError("a lesson needs '# title', 'system: NAME' and steps, '## title'", name)
    return {"title": title, "system": system, "steps": steps, "units": UNITS}


def _part(line: str, file: str, number: int) -> dict[str, Any]:
    if line[0] not in "?!":
        return {"kind": "text", "text": line}
    asks = line[0] == "?"
    found = (QUESTION if asks else TASK).fullmatch(line)
    if found is None:
        form = "'? text [unit] = measure ± 3 %'" if asks else "'! text: measure < number'"
        raise FileFormatError(f"this is not of the form {form}", file, number)
    measure = MEASURE.fullmatch(found["of"])
    if measure is None:
        raise FileFormatError(
            f"{found['of']!r} is none of 'peak torque of JOINT', 'mass of BODY', a number", file, number
        )
    part = {"line": number, "curve": measure["curve"] or measure["mass"], "name": measure["name"], "number": None}
    part |= found.groupdict()
    if not asks:
        return {"kind": "task", **part, **_limit(found["value"], file, number)}
    times = factor(found["unit"], None)
    if isinstance(times, str):
        raise FileFormatError(f"{times}; an answer is in {EXAMPLES} and the like", file, number)
    if measure["number"]:
        part["number"] = float(measure["number"]) * times
    return {"kind": "question", **part, "si": UNITS[plain(found["unit"])][0], "factor": times}


def _limit(text: str, file: str, number: int) -> dict[str, Any]:
    """Return the limit of a task in SI, and the unit that it is written in, if there is one."""
    try:
        found = quantity(text)
        value = float(text) if found is None else float(found)
    except (KinetreeError, ValueError) as problem:
        raise FileFormatError(
            f"the limit {text!r} is not a number, or one with a unit: {problem}", file, number
        ) from None
    if not isinstance(found, Quantity):
        return {"value": value, "unit": "", "si": "", "factor": 1.0}
    unit = re.sub(r"^[-+\d.]+\s*", "", text)
    return {"value": value, "unit": unit, "si": found.unit, "factor": UNITS[plain(unit)][1]}


def fitted(found: dict[str, Any], robot: Robot, file: str) -> None:
    """Refuse a lesson that measures what the robot does not have, or in units of something else.

    A task whose limit has no unit is shown in that of what it measures.
    """
    for part in (part for step in found["steps"] for part in step["parts"] if part["kind"] != "text"):
        if part["curve"] is None:
            continue
        units = _measurable(robot)[part["curve"]]
        if part["name"] not in units:
            near = nearest(part["name"], units, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(units) or 'none'}"
            raise FileFormatError(
                f"{robot.name!r} has no {part['curve']} of {part['name']!r}; {hint}", file, part["line"]
            )
        unit = units[part["name"]]
        if part["si"] not in ("", plain(unit)):
            raise FileFormatError(
                f"the {part['curve']} of {part['name']!r} is in {unit} or a unit of that kind, not in {part['unit']!r}",
                file, part["line"],
            )  # fmt: skip
        part["unit"] = part["unit"] or unit


def checked(path: Path) -> dict[str, Any]:
    """Read a lesson from a file, and hold it against its robot; an error says what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise MissingFileError(f"cannot read the lesson {str(path)!r}: {problem}") from None
    found = read(text, path.name)
    fitted(found, opened(path.parent, found["system"]).robot, path.name)
    return found


def opened(folder: Path, system: str) -> Document:
    """Return what a lesson opens: a file of its folder, or a system of the gallery."""
    file = inside(folder, system)
    return Document.open(file if file.is_file() else system)


def _measurable(robot: Robot) -> dict[str, dict[str, str]]:
    """Return what can be measured of a robot, by kind and name, with its unit in SI."""
    model = robot.model
    simple = [joint for joint in model.joints if not joint.mimic and joint.nq == joint.nv == 1]
    carrying = [*(joint.name for joint in model.joints if joint.nv < 6), *(loop.name for loop in model.loops)]
    return {
        "position": {joint.name: joint.kind.q_units[0] for joint in simple},
        "velocity": {joint.name: f"{joint.kind.v_units[0]}/s" for joint in simple},
        "torque": {joint.name: robot.tau_units[joint.v_slice.start] for joint in simple_motors(model)},
        "force": dict.fromkeys(carrying, "N"),
        "mass": dict.fromkeys(robot.body_names, "kg"),
    }
