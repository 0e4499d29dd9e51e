"""The section ``design`` of a study file: what may change, what is wanted, and within which limits.

Goals are those of Python, by the same names in small letters: ``transmission_angle: {at: B, at_least: 42 deg}`` is
``TransmissionAngle("B") >= "42 deg"``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import design as designs
from ...errors import UnknownNameError
from ...io.packages_above import module_above
from ...model.formats.yaml_nodes import Items, Node, NodeReader, Scalar, Table
from ...robot.robot import Robot
from ..study import Outcome

GOALS = {
    "path": "Path", "straight_line": "straight_line", "pose": "Pose", "function": "Function", "reach": "Reach",
    "torque": "Torque", "energy": "Energy", "pin_force": "PinForce", "shaking_force": "ShakingForce",
    "shaking_moment": "ShakingMoment", "transmission_angle": "TransmissionAngle", "swing": "Swing", "dwell": "Dwell",
    "swing_between": "SwingBetween",
    "condition_number": "ConditionNumber", "natural_frequency": "NaturalFrequency",
}  # fmt: skip
"""Goals by their names in files, and those in :mod:`kinetree.design`."""

BOUNDS = ("at_least", "at_most")
OPTIONS = ("motion", "speed", "samples", "starts", "seed", "pareto", "shortest", "method", "searches", "threads")
DESIGN_KEYS = ("free", "wanted", "subject_to", *OPTIONS)


@dataclass(frozen=True)
class DesignTask:
    """A mechanism, and how :func:`kinetree.design` is called for it."""

    robot: Robot
    asked: dict[str, Any]

    def run(self, **options: Any) -> designs.FoundDesign:
        """Search."""
        return designs.design(self.robot, **self.asked, **options)

    def __call__(self, quick: bool) -> Outcome:
        """Search, as an analysis of a study."""
        found = self.run(progress=False)
        pictures = module_above("kinetree_design.pictures")
        figures: dict[str, Any] = {"before-and-after": lambda figure: pictures.before_and_after(figure, found, [])}
        tables = {"numbers": found.columns}
        if found.front:
            tables["front"] = found.front_columns
            figures["front"] = lambda figure: pictures.front(figure, found.front)
        return Outcome((), tables, {}, figures, [f"```\n{found}\n```"])


def read_design(reader: NodeReader, node: Node, robot: Robot) -> DesignTask:
    """Read the section."""
    fields = reader.fields(node, "design", DESIGN_KEYS, required=("free", "wanted"))
    asked = _values(reader, {key: fields[key] for key in ("free", *OPTIONS) if key in fields})
    asked["wanted"] = [_goal(reader, one, ()) for one in _several(fields["wanted"])]
    if "subject_to" in fields:
        asked["subject_to"] = [_goal(reader, one, BOUNDS) for one in _several(fields["subject_to"])]
    if isinstance(asked.get("motion"), dict):
        given = reader.fields(
            fields["motion"], "motion of a design", ("point", "positions", "times"), ("point", "positions", "times")
        )
        asked["motion"] = designs.LedPoint(**_values(reader, given))
    return DesignTask(robot, asked)


def _values(reader: NodeReader, fields: Mapping[str, Node]) -> dict[str, Any]:
    return {key: reader.plain(node, key, logical=True) for key, node in fields.items()}


def _several(node: Node) -> list[Node]:
    """Return goals one by one: of a list, or of a mapping from names to arguments."""
    if isinstance(node, Items):
        return node.items
    if isinstance(node, Table):
        return [Table(node.lines[key], {key: value}, {key: node.lines[key]}) for key, value in node.entries.items()]
    return [node]


def _in_words_of_python(name: str, given: Node | None) -> Node | None:
    """Return the arguments of a swing with ``start`` and ``end`` in place of ``from`` and ``to``."""
    if name not in ("swing", "swing_between") or not isinstance(given, Table):
        return given
    words = {"from": "start", "to": "end"}
    entries = {words.get(key, key): value for key, value in given.entries.items()}
    return Table(given.line, entries, {words.get(key, key): line for key, line in given.lines.items()})


def _goal(reader: NodeReader, node: Node, bounds: tuple[str, ...]) -> Any:
    """Make a goal from ``torque`` or ``torque: {kind: rms}``; with a bound a limit."""
    if isinstance(node, Table) and len(node.entries) != 1:
        raise reader.error("a goal is a name with its arguments, such as 'torque: {kind: rms}'", node)
    name, given = (
        (node.text, None) if isinstance(node, Scalar) else next(iter(getattr(node, "entries", {"": None}).items()))
    )
    if name not in GOALS:
        raise reader.error(str(UnknownNameError("goal of a design", name, GOALS)), node)
    given = _in_words_of_python(name, given)
    if name == "swing" and isinstance(given, Table) and "line" in given.entries:
        name = "swing_between"
    made = getattr(designs, GOALS[name])
    taken = inspect.signature(made).parameters
    known = [key for key in taken if key != "timed" or name in ("path", "pose", "reach")]
    with reader.at(node):
        if isinstance(given, Scalar) and given.text:
            arguments = _values(reader, {known[0]: given})  # its first argument alone: 'swing: P'
        else:
            fields = reader.fields(given, name, (*known, *bounds)) if isinstance(given, Table) else {}
            arguments = _values(reader, fields)
        limits = {key: arguments.pop(key) for key in bounds if key in arguments}
        needed = [
            k for k, p in inspect.signature(made).parameters.items() if p.default is p.empty and k not in arguments
        ]
        if needed:
            raise reader.error(f"{name} needs the key {needed[0]!r}", node)
        goal = made(**arguments)
        return (
            module_above("kinetree_design.goals").Limit(goal, limits.get("at_least"), limits.get("at_most"))
            if limits
            else goal
        )
