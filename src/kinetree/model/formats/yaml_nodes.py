"""YAML files as nodes with line numbers, and functions that read text, numbers, lists and fields from them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from ...errors import FileFormatError, KinetreeError, OptionError, UnknownNameError
from ...io.units import quantity
from ..joint_fields import PerFreedom
from .source import Source

DEEPEST = 32
"""The deepest nesting; the format itself needs six levels."""

MOST_ALIASED = 100_000
"""The most values that the aliases of one file may stand for: nested aliases in a few lines could make billions."""

LOGICAL = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(slots=True)
class Scalar:
    """A single word; ``plain`` if it was not quoted."""

    line: int
    text: str
    plain: bool


@dataclass(slots=True)
class Items:
    """A list."""

    line: int
    items: list[Node]


@dataclass(slots=True)
class Table:
    """A mapping, with the line of every key."""

    line: int
    entries: dict[str, Node]
    lines: dict[str, int]


Node = Scalar | Items | Table

_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"[-+]?\.(inf|Inf|INF)")
_OTHER_THAN_TEXT = re.compile(r"|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|\.(nan|NaN|NAN)")


class _Composer:
    """Makes nodes from the events of a YAML parser, with lines, without tags, duplicate keys or deep nesting."""

    def __init__(self, source: Source) -> None:
        self.file = source.file
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.count, self.aliased = (
            0,
            0,
        )  # all values, with those of aliases counted each time; values from aliases alone
        self.text = self._decode(source.data)

    def document(self) -> Node:
        """Return the only document of the file."""
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        documents = []
        try:
            events = yaml.parse(self.text, Loader=loader)
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    documents.append(self._node(next(events), events, 0))
                    if len(documents) > 1:
                        self._fail("the file has more than one document; a robot file has one", event)
        except yaml.YAMLError as problem:
            raise self._malformed(problem) from None
        if not documents:
            raise FileFormatError("the file is empty", self.file)
        return documents[0]

    def _malformed(self, problem: yaml.YAMLError) -> FileFormatError:
        if isinstance(problem, yaml.reader.ReaderError):  # a character that YAML does not allow; the error has no line
            line = self.text.count("\n", 0, problem.position) + 1
            return FileFormatError(f"malformed YAML: {problem.reason}", self.file, line)
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or problem
        return FileFormatError(f"malformed YAML: {reason}", self.file, mark.line + 1 if mark else None)

    def _decode(self, data: bytes) -> str:
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            line = data[: problem.start].count(b"\n") + 1
            raise FileFormatError("the file is not text in UTF-8", self.file, line) from None

    def _fail(self, message: str, event: Any) -> NoReturn:
        raise FileFormatError(message, self.file, event.start_mark.line + 1)

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        line = event.start_mark.line + 1
        node: Node
        if depth > DEEPEST:
            self._fail(f"nested more than {DEEPEST} levels deep", event)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                self._fail(f"alias *{event.anchor} occurs before its anchor is complete", event)
            node, size = self.anchors[event.anchor]
            self.count, self.aliased = self.count + size, self.aliased + size
            if self.aliased > MOST_ALIASED:
                self._fail(f"with alias *{event.anchor}, aliases stand for more than {MOST_ALIASED} values", event)
            return node
        if event.tag not in (None, "!"):
            self._fail(f"tags such as {event.tag!r} are not used in robot files", event)
        before = self.count
        self.count += 1
        if isinstance(event, yaml.ScalarEvent):
            node = Scalar(line, event.value, not event.style)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = Items(line, [])
            while not isinstance(inner := next(events), yaml.SequenceEndEvent):
                node.items.append(self._node(inner, events, depth + 1))
        else:
            node = Table(line, {}, {})
            while not isinstance(inner := next(events), yaml.MappingEndEvent):
                self._entry(node, inner, events, depth + 1)
        if event.anchor:
            self.anchors[event.anchor] = node, self.count - before
        return node

    def _entry(self, table: Table, event: Any, events: Iterator[Any], depth: int) -> None:
        key = self._node(event, events, depth)
        if not isinstance(key, Scalar):
            self._fail("a key must be a word", event)
        if key.text in table.entries:
            self._fail(f"key {key.text!r} is given twice (the first on line {table.lines[key.text]})", event)
        table.lines[key.text] = event.start_mark.line + 1
        table.entries[key.text] = self._node(next(events), events, depth)


# From nodes to words and numbers


def nodes(source: Source) -> Node:
    """Return the only document of a YAML file, with lines, without tags and repeated keys."""
    return _Composer(source).document()


class NodeReader:
    """Reads words and numbers from nodes; errors name the file and the line."""

    def __init__(self, file: str) -> None:
        self.file = file

    def error(self, message: str, node: Node) -> FileFormatError:
        """Return an error that names the file and the line of a node."""
        return FileFormatError(message, self.file, node.line)

    @contextmanager
    def at(self, node: Node) -> Iterator[None]:
        """Make errors that are raised within name the file and the line."""
        try:
            yield
        except FileFormatError:
            raise
        except KinetreeError as problem:
            raise self.error(str(problem), node) from None

    def fields(self, node: Node, what: str, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Node]:
        """Return the entries of a mapping, which may have only these keys."""
        if not isinstance(node, Table):
            raise self.error(f"{what} must be a mapping with the keys {', '.join(known)}", node)
        for key in node.entries:
            if key not in known:
                unknown = UnknownNameError("key", key, known)
                raise FileFormatError(f"{what}: {unknown}", self.file, node.lines[key])
        for key in required:
            if key not in node.entries:
                raise self.error(f"{what} needs the key {key!r}", node)
        return node.entries

    def items(self, node: Node, what: str) -> list[Node]:
        """Return the entries of a list."""
        if not isinstance(node, Items):
            raise self.error(f"{what} must be a list", node)
        return node.items

    def scalar(self, node: Node, what: str) -> Scalar:
        """Return a single word."""
        if not isinstance(node, Scalar):
            raise self.error(f"{what} must be a single value", node)
        return node

    def text(self, node: Node, what: str) -> str:
        """Return a word; refuse a number."""
        scalar = self.scalar(node, what)
        if scalar.plain and is_not_text(scalar.text):
            raise self.error(f"{what} must be text, not {scalar.text or 'nothing'}; put it in quotes if it is", node)
        return scalar.text

    def number(self, node: Node, what: str, *, infinite: bool = False, measured: bool = False) -> float:
        """Return a number, which must be finite unless ``infinite``.

        With ``measured`` it may have a unit, ``45 deg``, and is then a :class:`Quantity`, which keeps the unit.
        """
        scalar = self.scalar(node, what)
        if scalar.plain:
            if _NUMBER.fullmatch(scalar.text):
                value = float(scalar.text)
                if math.isfinite(value):
                    return value
            if infinite and _INFINITY.fullmatch(scalar.text):
                return -math.inf if scalar.text.startswith("-") else math.inf
            if measured:
                try:
                    found = quantity(scalar.text, what)
                except OptionError as problem:
                    raise self.error(str(problem), node) from None
                if found is not None:
                    return found
        raise self.error(f"{what} must be a number, not {scalar.text!r}", node)

    def numbers(self, node: Node, what: str, count: int, *, measured: bool = False) -> list[float]:
        """Return a list of ``count`` numbers."""
        if not isinstance(node, Items) or len(node.items) != count:
            raise self.error(f"{what} must be a list of {count} numbers", node)
        return [self.number(item, what, measured=measured) for item in node.items]

    def matrix(self, node: Node, what: str) -> list[list[float]]:
        """Return a 3x3 matrix, row by row."""
        rows = self.items(node, what)
        if len(rows) != 3:
            raise self.error(f"{what} must be a 3x3 matrix, row by row", node)
        return [self.numbers(row, f"a row of {what}", 3) for row in rows]

    def per_freedom(self, node: Node, what: str, *, infinite: bool, measured: bool = False) -> PerFreedom:
        """Return one number, or a list."""
        if isinstance(node, Items):
            return [self.number(item, what, infinite=infinite, measured=measured) for item in node.items]
        return self.number(node, what, infinite=infinite, measured=measured)

    def plain(self, node: Node, what: str, *, logical: bool = False) -> Any:
        """Return mappings, lists, numbers and words as Python has them.

        With ``logical`` also true, false and null; whole numbers are then integers.
        """
        if isinstance(node, Table):
            return {key: self.plain(own, key, logical=logical) for key, own in node.entries.items()}
        if isinstance(node, Items):
            return [self.plain(item, what, logical=logical) for item in node.items]
        if logical and node.plain and node.text.lower() in LOGICAL:
            return LOGICAL[node.text.lower()]
        if not (node.plain and is_not_text(node.text)):
            return node.text
        number = self.number(node, what)
        return int(number) if logical and number.is_integer() else number

    def boolean(self, node: Node, what: str) -> bool:
        """Return a boolean."""
        scalar = self.scalar(node, what)
        if scalar.plain and scalar.text.lower() in ("true", "false"):
            return scalar.text.lower() == "true"
        raise self.error(f"{what} must be true or false, not {scalar.text!r}", node)


def is_not_text(word: str) -> bool:
    """Return whether YAML 1.2 takes an unquoted word for something other than text."""
    return any(pattern.fullmatch(word) for pattern in (_OTHER_THAN_TEXT, _NUMBER, _INFINITY))
