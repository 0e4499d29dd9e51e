"""The document of the studio: a robot as YAML text, small named edits, undo and redo, and the runs made with it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinetree.errors import FileFormatError, KinetreeWarning, ModelError, OptionError, UnknownNameError, refuse_unknown
from kinetree.io.atomic_files import all_beside
from kinetree.io.gallery_files import gallery_names
from kinetree.model.formats import yaml as yaml_format
from kinetree.model.formats.source import Options, Source
from kinetree.robot.load import load
from kinetree.robot.make import make
from kinetree.robot.robot import Robot
from kinetree.studies import named_systems

from .renaming import ENDS, renamed
from .run_kinds import run_of
from .runs import StudioRun
from .script import script
from .yaml_edits import composed, drop, has_aliases, insert, node_at, plain, put

Step = str | int

SECTIONS = ("bodies", "joints", "loops", "frames", "tendons", "actuators", "couplings", "shapes")
"""Lists of a robot file to which something can be added."""

RUNS = ".runs.json"
"""The ending of the file with the runs, beside the robot file."""


@dataclass(frozen=True)
class Version:
    """The robot at some time.

    Attributes
    ----------
    text : str
        Its file.
    robot : Robot
    edit : str
        What the edit did that led to it.
    notes : tuple of str
        What is odd about it: warnings from reading it.
    """

    text: str
    robot: Robot
    edit: str = ""
    notes: tuple[str, ...] = ()


class Document:
    """A robot that is being built, as the text of its file.

    Every edit changes the text where it must and nowhere else, and is tried by loading the changed robot: if that is
    refused, the error says why and the document is as before.

    Parameters
    ----------
    text : str
        A robot in kinetree's YAML format.
    path : path, optional
        Where it is saved.
    origin : str
        What it was opened from: a name in the gallery, or a file in another format.

    Examples
    --------
    >>> document = Document.open("four-bar")
    >>> document.set("bodies", "crank", "mass", to="2 kg")
    >>> document.robot.body("crank").mass
    2.0
    >>> document.undo()
    'crank: mass = 2 kg'
    """

    def __init__(self, text: str, path: Path | None = None, origin: str = "") -> None:
        self.path, self.origin = path, origin
        self.versions = [self._read(text, "")]
        self.at = 0
        self.saved_at = 0 if path is not None else -1
        self.runs: list[StudioRun] = []
        self.geometry: Path | None = None
        """A URDF or MJCF file that it was read from, whose meshes are drawn."""
        self.holds: Any = None
        """What must last as long as the document: the folder of dropped files."""

    # ------------------------------------------------------------------ what it is

    @property
    def version(self) -> Version:
        """The robot as it is now."""
        return self.versions[self.at]

    @property
    def text(self) -> str:
        """Its file."""
        return self.version.text

    @property
    def robot(self) -> Robot:
        """The robot that the file describes."""
        return self.version.robot

    @property
    def is_saved(self) -> bool:
        """Whether the file on the disk is as the document is now."""
        return self.at == self.saved_at

    def value(self, *at: Step) -> Any:
        """Return what the file says at a place, with numbers as they are written; None if it says nothing there."""
        return plain(node_at(composed(self.text), at))

    # ------------------------------------------------------------------ opening and saving

    @classmethod
    def open(cls, robot: str | os.PathLike[str] | Robot) -> Document:
        """Open a system of the gallery, a robot file in any format, or a robot, with the runs saved beside its file."""
        if isinstance(robot, Robot):
            return cls(yaml_format.write(robot.model), origin=robot.name)
        if str(robot) in gallery_names() and not Path(robot).exists():
            return cls(named_systems.model_text(str(robot)), origin=str(robot))
        path = Path(robot)
        if path.suffix.lower() not in (".yaml", ".yml"):
            made = cls(yaml_format.write(load(path).model), origin=str(path))
            made.geometry = path
            return made
        loaded = load(path)  # refuses files that are not there or not robots, in the words of kt.load
        made = cls(path.read_bytes().decode("utf-8-sig"), path)
        made.runs = _read_runs(path, loaded)
        return made

    def save(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the robot and the runs, both or none; by default to where it was opened or saved before."""
        target = self.path if path is None else Path(path)
        if target is None:
            raise OptionError("say where to save the robot: it has no file yet")
        if target.suffix.lower() not in (".yaml", ".yml"):
            raise OptionError(f"a robot that is being built is saved as a .yaml file, which {target.name!r} is not")
        listed = json.dumps([run.content() for run in self.runs], indent=1)
        targets = [target, *([_runs_file(target)] if self.runs or _runs_file(target).exists() else [])]
        with all_beside(targets, f"{target} cannot be written") as places:
            for place, content in zip(places, (self.text, listed), strict=False):
                place.write_text(content, encoding="utf-8", newline="")
        self.path, self.saved_at = target, self.at
        return target

    # ------------------------------------------------------------------ edits

    def set(self, *at: Step, to: Any) -> None:
        """Write a value at a place: a number, a list of them, a word, or a number with a unit, ``"38 mm"``.

        None takes away what the file says there, so that it is as usual.
        """
        if to is None:
            self._edit(drop(self._plain_text, at), f"{_titled(at)} as usual")
        else:
            self._edit(
                put(self._plain_text, at, to), f"{_titled(at)} = {to if isinstance(to, str) else json.dumps(to)}"
            )

    def add(self, section: str, item: Mapping[str, Any]) -> None:
        """Add a body, joint, loop, frame, tendon (a spring or damper between points), actuator, coupling or shape."""
        refuse_unknown("list of a robot", section, SECTIONS)
        self._edit(insert(self._plain_text, (section,), dict(item)), f"added {item.get('name', section)}")

    def remove(self, section: str, name: str | int) -> list[str]:
        """Remove something, with what depends on it: a body's own bodies, loops, frames, springs and shapes.

        name: Its name, or its place in the list if it has none.

        Returns
        -------
        list of str
            Names of all that was removed.
        """
        text, gone = self._plain_text, list[str]()
        if isinstance(name, int):
            self._edit(drop(text, (section, name)), f"removed one of the {section}")
            return [f"one of the {section}"]
        if section not in SECTIONS:
            text, gone = drop(text, (section, name)), [name]
        waiting = [(section, name)] if section in SECTIONS else []
        while waiting:
            where, what = waiting.pop()
            if what in gone or self._item(text, where, what) is None:
                continue
            joint = self._joint_of(text, what) if where == "bodies" else what if where in ("joints", "loops") else ""
            text = drop(text, (where, what))
            gone.append(what)
            bodies = {what} if where in ("bodies", "frames") else set()
            joints = {joint} if joint else set()
            for other, key, names in _dependents(text, bodies, joints):
                if names is None:
                    text = drop(text, (other, key))
                else:
                    waiting.append((other, key))
        self._edit(text, f"removed {', '.join(gone) or name}")
        return gone

    def rename(self, section: str, old: str, new: str) -> None:
        """Give something another name, everywhere where it is named."""
        self._edit(renamed(self._plain_text, section, old, new), f"{old} is now {new}")

    def replace(self, text: str, title: str = "the file was edited") -> None:
        """Replace the whole file."""
        self._edit(text, title)

    def apply(self, edit: Mapping[str, Any]) -> Any:
        """Make an edit that is written as plain values: ``{"do": "set", "at": [...], "to": ...}``."""
        match edit:
            case {"do": "set", "at": [*at], "to": to}:
                return self.set(*at, to=to)
            case {"do": "add", "section": str(section), "item": Mapping() as item}:
                return self.add(section, item)
            case {"do": "remove", "section": str(section), "name": str() | int() as name}:
                return self.remove(section, name)
            case {"do": "rename", "section": str(section), "old": str(old), "new": str(new)}:
                return self.rename(section, old, new)
            case {"do": "replace", "text": str(text)}:
                return self.replace(text, str(edit.get("title") or "the file was edited"))
        raise OptionError(f"not an edit: {edit!r}")

    def undo(self) -> str:
        """Take back the last edit and return what it was; an empty string if there is none."""
        if not self.at:
            return ""
        self.at -= 1
        return self.versions[self.at + 1].edit

    def redo(self) -> str:
        """Make an edit that was taken back once more, and return what it is; an empty string if there is none."""
        if self.at + 1 == len(self.versions):
            return ""
        self.at += 1
        return self.version.edit

    @property
    def _plain_text(self) -> str:
        """The text to edit; one with aliases is written out, since a change of one place would be one of several."""
        return yaml_format.write(self.robot.model) if has_aliases(self.text) else self.text

    def _edit(self, text: str, title: str) -> None:
        if text == self.text:
            return
        made = self._read(text, title)
        if self.saved_at > self.at:
            self.saved_at = -1
        self.versions[self.at + 1 :] = [made]
        self.at += 1

    def _read(self, text: str, title: str) -> Version:
        place = self.path or Path(f"{Path(self.origin).stem or 'robot'}.yaml")
        with warnings.catch_warnings(record=True) as odd:
            warnings.simplefilter("always", KinetreeWarning)
            try:
                robot = make(yaml_format.read(Source(place, text.encode("utf-8")), Options()))
            except UnicodeEncodeError as problem:
                raise ModelError(f"the file has a character that is not text ({problem})") from None
        return Version(
            text, robot, title, tuple(str(w.message) for w in odd if issubclass(w.category, KinetreeWarning))
        )

    # ------------------------------------------------------------------ runs

    def add_run(self, content: Mapping[str, Any]) -> StudioRun:
        """Remember a run that was made with the robot as it is now.

        One that only changes the numbers of the last one takes its place, if its kind is one that is tuned.
        """
        made = run_of({**content, "text": self.text}, self.robot)
        last = self.runs[-1] if self.runs else None
        if last is not None and made.IS_TUNED and last.KIND == made.KIND and last.text == made.text:
            self.runs[-1] = made
        elif last != made:
            self.runs.append(made)
        return made

    def script(self) -> str:
        """Return Python code that loads the robot and repeats the runs made so far; it gives the same numbers."""
        known = [(self.origin, named_systems.model_text(self.origin))] if self.origin in gallery_names() else []
        if self.path is not None and self.saved_at >= 0:
            known.append((str(self.path.resolve()), self.versions[self.saved_at].text))
        return script(self.text, self.runs, {text: name for name, text in known})

    # ------------------------------------------------------------------ what depends on what

    @staticmethod
    def _item(text: str, section: str, name: str) -> Any:
        try:
            return node_at(composed(text), (section, name))
        except UnknownNameError:
            return None

    @staticmethod
    def _joint_of(text: str, body: str) -> str:
        joint = plain(node_at(composed(text), ("bodies", body, "joint")))
        return str(joint.get("name", f"{body}_joint")) if isinstance(joint, dict) else f"{body}_joint" if joint else ""


def _dependents(text: str, bodies: set[str], joints: set[str]) -> list[tuple[str, str, Any]]:
    """List what names a body or joint that is gone: section, name, and the item; None for an entry of a mapping."""
    content = plain(composed(text)) or {}
    found: list[tuple[str, str, Any]] = []
    for section in SECTIONS:
        for item in content.get(section) or ():
            if isinstance(item, dict) and _mentions(item, bodies, joints) and "name" in item:
                found.append((section, item["name"], item))
    for key in content.get("loads") or ():
        if key in bodies:
            found.append(("loads", key, None))
    return found


def _mentions(item: Mapping[str, Any], bodies: set[str], joints: set[str]) -> bool:
    ends = {item[key] for key in ENDS if isinstance(item.get(key), str)}
    for point in item.get("points") or ():
        ends.add(point if isinstance(point, str) else point.get("body", "") if isinstance(point, dict) else "")
    own = item.get("joint")
    mimic = own.get("mimic") if isinstance(own, dict) else item.get("mimic")
    leader = mimic.get("leader") if isinstance(mimic, dict) else None
    named = {leader, own if isinstance(own, str) and "parent" not in item else None}
    for key in ("joints", "follows"):
        given = item.get(key)
        named |= {given} if isinstance(given, str) else set(given or ())
    return bool(ends & bodies or named & joints)


def _titled(at: Sequence[Step]) -> str:
    steps = [str(step) for step in at if step not in (*SECTIONS, "joint", "placement")]
    return ": ".join([steps[0], " ".join(steps[1:])]) if len(steps) > 1 else "".join(steps)


def _runs_file(path: Path) -> Path:
    return path.with_name(path.stem + RUNS)


def _read_runs(path: Path, robot: Robot) -> list[StudioRun]:
    file = _runs_file(path)
    if not file.exists():
        return []
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))
        return [run_of(content, robot) for content in listed]
    except (ValueError, TypeError, KeyError, OSError) as problem:
        raise FileFormatError(f"these are not the runs of a robot: {problem}", str(file)) from None
