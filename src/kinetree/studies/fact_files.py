"""Facts as data: files with statements, their sources and tolerances, and the names of measured values.

A file has a list of facts for each analysis; the analysis computes what they name::

    kinetree-facts: 1
    inverse:
      - fact: driving torque at t = 0, 1/3, 2/3, 1 s
        measured: torque
        is: [2.009999, -0.018579, -1.679998, -0.069872]
        within: 5.01e-7
        unit: N m
        source: Shah section 8.3

Names in braces stand for values that the analysis computes: ``{seconds:g}`` within a text is formatted as in Python,
and ``"{planned}"`` alone, in place of a number, is that number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileFormatError, UnknownNameError
from ..io.gallery_files import gallery_file
from ..io.paths import whole_content
from ..model.formats import yaml_nodes
from ..model.formats.source import Source
from ..model.formats.yaml_nodes import Items, Node, NodeReader, Scalar, Table
from .facts import Fact

MARK, VERSION = "kinetree-facts", 1

READINGS: dict[str, Callable[[Any], Any]] = {
    "measured": lambda x: x,
    "largest": lambda x: float(np.abs(x).max()),
    "most": lambda x: float(np.max(x)),
    "least": lambda x: float(np.min(x)),
    "range": lambda x: float(np.ptp(x)),
    "first": lambda x: np.asarray(x)[0],
    "last": lambda x: np.asarray(x)[-1],
}
"""The part of a measured value that is compared: all of it, its largest absolute value, its maximum, ..."""

RELATIONS = {"is": "=", "below": "<", "above": ">"}

FACT_KEYS = ("fact", *READINGS, *RELATIONS, "within", "unit", "source", "reason")

Values = Mapping[str, Any]
"""The measured values of an analysis by name, or functions that compute a value when a fact needs it."""

_PLACE = re.compile(r"\{([A-Za-z_][\w.]*)(?::([^{}]*))?\}")
_WHOLE = re.compile(r"[-+]?[0-9]+")


@dataclass(frozen=True)
class StatedFact:
    """A fact before anything is measured."""

    given: Mapping[str, Any]
    """Entries of the file: ``fact``, ``unit``, ``source``, ``reason`` and ``within``."""
    reading: str
    measure: str
    """One of :data:`READINGS`, and the name of the value it is applied to."""
    relation: str
    """One of :data:`RELATIONS`."""
    stated: Any
    file: str
    line: int
    """Its location."""

    def beside(self, values: Values) -> Fact:
        """Return the fact with the measured value."""

        def value(name: str) -> Any:
            if name not in values:
                raise FileFormatError(str(UnknownNameError("measure", name, values)), self.file, self.line)
            found = values[name]
            return found() if callable(found) else found

        def filled(text: Any) -> Any:
            if not isinstance(text, str):
                return text
            whole = _PLACE.fullmatch(text)
            if whole and whole[2] is None:
                return value(whole[1])
            return _PLACE.sub(lambda place: format(value(place[1]), place[2] or ""), text)

        words = {key: filled(text) for key, text in self.given.items()}
        measured = READINGS[self.reading](value(self.measure))
        return Fact(words.pop("fact"), filled(self.stated), measured, relation=RELATIONS[self.relation],
                    tolerance=words.pop("within", 0.0), **words)  # fmt: skip


class FactReader(NodeReader):
    """Reads facts; errors name the file and the line."""

    def sections(self, node: Node, what: str) -> dict[str, list[StatedFact]]:
        """Read facts by analysis."""
        if not isinstance(node, Table):
            raise self.error(f"{what} is a mapping from analyses to lists of facts", node)
        return {key: [self.fact(item) for item in self.items(rows, key)] for key, rows in node.entries.items()}

    def fact(self, node: Node) -> StatedFact:
        """Read a single fact."""
        fields = self.fields(node, "a fact", FACT_KEYS, required=("fact",))
        reading = self._one_of(fields, READINGS, "what is measured", node)
        relation = self._one_of(fields, RELATIONS, "what is stated", node)
        given: dict[str, Any] = {
            key: self.text(fields[key], key) for key in ("fact", "unit", "source", "reason") if key in fields
        }
        if "within" in fields:
            if relation != "is":
                raise self.error(f"'within' is for 'is', not for {relation!r}, which is a bound", fields["within"])
            given["within"] = self.value(fields["within"])
        measure = self.text(fields[reading], reading)
        return StatedFact(given, reading, measure, relation, self.value(fields[relation]), self.file, node.line)

    def _one_of(self, fields: Mapping[str, Node], known: Mapping[str, Any], what: str, node: Node) -> str:
        found = [key for key in known if key in fields]
        if len(found) != 1:
            raise self.error(f"a fact says {what} by one of the keys {', '.join(known)}; not {len(found)}", node)
        return found[0]

    def value(self, node: Node) -> Any:
        """Read a whole number, a number, true or false, a list of those, or words."""
        if isinstance(node, Items):
            return [self.value(item) for item in node.items]
        scalar = self.scalar(node, "what is stated")
        if not scalar.plain or not yaml_nodes.is_not_text(scalar.text):
            return scalar.text
        if _WHOLE.fullmatch(scalar.text):
            return int(scalar.text)
        truth = scalar.text.lower() in ("true", "false")
        return self.boolean(scalar, "what is stated") if truth else self.number(scalar, "what is stated")


@dataclass(frozen=True)
class FactFile:
    """Facts by analysis, read when they are first needed."""

    path: Path

    @classmethod
    def beside(cls, file: str) -> FactFile:
        """Return ``facts.yaml`` in the folder of a Python file."""
        return cls(Path(file).with_name("facts.yaml"))

    @cached_property
    def sections(self) -> dict[str, list[StatedFact]]:
        """All facts, by analysis."""
        source = Source(self.path, whole_content(self.path, "file of facts"))
        reader, root = FactReader(source.file), yaml_nodes.nodes(source)
        if not isinstance(root, Table) or MARK not in root.entries:
            raise reader.error(f"this is not a file of facts: it must begin with '{MARK}: {VERSION}'", root)
        mark = root.entries.pop(MARK)
        if not isinstance(mark, Scalar) or mark.text != str(VERSION):
            raise reader.error(f"only version {VERSION} of files of facts is understood", mark)
        return reader.sections(root, "a file of facts")

    def __call__(self, section: str, values: Values | None = None, /, **more: Any) -> list[Fact]:
        """Return the facts of a section, which must exist, with the measured values."""
        if section not in self.sections:
            raise FileFormatError(str(UnknownNameError("section", section, self.sections)), str(self.path))
        return [fact.beside({**(values or {}), **more}) for fact in self.sections[section]]


@cache
def facts_of(system: str) -> FactFile:
    """Return the facts of a system of the gallery, which are in the folder of its model."""
    return FactFile(Path(str(gallery_file(system, "facts.yaml"))))


def stated(system: str, section: str, values: Values | None = None, /, **more: Any) -> list[Fact]:
    """Return the facts about a system of the gallery, with the measured values.

    section: The analysis.
    values: Measured values by name; more of them as keywords.
    """
    return facts_of(system)(section, values, **more)


def stated_if_any(system: str, section: str, values: Values) -> list[Fact]:
    """Return the same as :func:`stated` if there are such facts; used for analyses that every system has."""
    facts = facts_of(system)
    return facts(section, values) if facts.path.exists() and section in facts.sections else []
