"""The content of a ``.par`` file: keys with a word or a list of words, and their lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kinetree.errors import FileFormatError
from kinetree.model.formats.formulas import ExpressionError, parse
from kinetree.spatial import Scalar
from kinetree.spatial.formula import ScalarFormula

OF_FRAMES = ("ant", "sigma", "b", "d", "r", "gamma", "alpha", "mu", "theta")
"""One entry for each frame, those of cut joints included."""

OF_LINKS = (
    "XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M",
    "IA", "FV", "FS", "FX", "FY", "FZ", "CX", "CY", "CZ",
)  # fmt: skip
"""One entry for each link, and one more in front for a moving base."""

OF_JOINTS = ("eta", "k", "QP", "QDP", "GAM")
"""One entry for each joint, cut ones included."""

OF_BASE = {"W0": 3, "WP0": 3, "V0": 3, "VP0": 3, "G": 3, "Z": 16}
COUNTS = ("NL", "NJ", "NF", "Type")
CHOICES = ("is_floating", "is_mobile")
YES_OR_NO = {"true": True, "false": False, "1": True, "0": False}

OLD_NAMES = {
    "Ant": "ant", "Mu": "mu", "Sigma": "sigma", "B": "b", "Alpha": "alpha", "Theta": "theta", "R": "r",
    "Gamma": "gamma", "D": "d",
}  # fmt: skip
"""Keys of the program's first versions."""

KEYS = (*COUNTS, *CHOICES, *OF_FRAMES, *OF_LINKS, *OF_JOINTS, *OF_BASE)

COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
NAME = re.compile(r"Robotname\s*=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\")")
STATEMENT = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\{|[^\s{][^\n]*)")
BLANK = re.compile(r"[\s;]*")


class Word(NamedTuple):
    """A word and its line."""

    text: str
    line: int


@dataclass(frozen=True)
class Sections:
    """A ``.par`` file: its words by keys.

    Attributes
    ----------
    file : str
    name : str
        Name of the robot; empty if the file does not give it.
    single : dict of key to Word
    lists : dict of key to list of Word
    lines : dict of key to int
    unknown : list of Word
        Keys that are not understood.
    """

    file: str
    name: str
    single: Mapping[str, Word]
    lists: Mapping[str, list[Word]]
    lines: Mapping[str, int]
    unknown: list[Word]

    def error(self, message: str, line: int | None = None) -> FileFormatError:
        """Return an error that names file and line."""
        return FileFormatError(message, self.file, line)

    def count(self, key: str) -> int:
        """Return an integer that the file must have."""
        word = self.single.get(key)
        if word is None:
            raise self.error(f"there is no {key}: a .par file must state how many links ({key} = 6) and joints it has")
        return self.whole(word, key)

    def choice(self, key: str) -> bool:
        """Return a boolean; False if the file does not have it."""
        word = self.single.get(key)
        if word is None:
            return False
        if word.text.lower() not in YES_OR_NO:
            raise self.error(f"{key} must be True or False, 1 or 0, not {word.text!r}", word.line)
        return YES_OR_NO[word.text.lower()]

    def whole(self, word: Word, what: str) -> int:
        """Return a word as an integer."""
        try:
            number = parse(word.text)
            if isinstance(number, ScalarFormula) or number != int(number):
                raise ExpressionError
            return int(number)
        except ExpressionError:
            raise self.error(f"{what} must be a whole number, not {word.text!r}", word.line) from None

    def scalar(self, word: Word, what: str) -> Scalar:
        """Return a word as a number or formula."""
        try:
            return parse(word.text)
        except ExpressionError as problem:
            raise self.error(f"{what}: {problem}", word.line) from None

    def words(self, key: str, count: int, meaning: str) -> list[Word] | None:
        """Return the words of a list, which must have ``count`` of them; None if the file does not have it."""
        found = self.lists.get(key)
        if found is not None and len(found) != count:
            raise self.error(
                f"{key} has {len(found)} entries, where {count} are needed: one for each {meaning}", self.lines[key]
            )
        return found


def read_sections(file: str, data: bytes) -> Sections:
    """Split a file into its sections.

    Raises
    ------
    FileFormatError
        If it is not a ``.par`` file; names the line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    named = NAME.search(text)
    bare = COMMENT.sub(lambda found: "\n" * found[0].count("\n") or " ", text)
    single: dict[str, Word] = {}
    lists: dict[str, list[Word]] = {}
    lines: dict[str, int] = {}
    unknown: list[Word] = []
    at, line = 0, 1
    while True:
        begin = BLANK.match(bare, at).end()  # type: ignore[union-attr]
        line += bare.count("\n", at, begin)
        if begin == len(bare):
            break
        match = STATEMENT.match(bare, begin)
        if match is None:
            shown = bare[begin : begin + 40].split("\n")[0].strip()
            raise FileFormatError(f"'key = value' or 'key = {{...}}' is expected, not {shown!r}", file, line)
        key = OLD_NAMES.get(match[1], match[1])
        if key in lines:
            raise FileFormatError(f"{key} occurs twice; the first is on line {lines[key]}", file, line)
        lines[key] = line
        if key not in KEYS:
            unknown.append(Word(key, line))
        if match[2] == "{":
            at = bare.find("}", match.end()) + 1
            if not at or "{" in bare[match.end() : at]:
                raise FileFormatError(f"the list of {key} does not end: '}}' is missing", file, line)
            if key in (*COUNTS, *CHOICES):
                raise FileFormatError(f"{key} must be one word, not a list", file, line)
            first = line + bare.count("\n", begin, match.end())
            lists[key] = _split(bare[match.end() : at - 1], first)
        else:
            at = match.end()
            if key in KEYS and key not in (*COUNTS, *CHOICES):
                raise FileFormatError(f"{key} must be a list, {key} = {{...}}", file, line)
            single[key] = Word(match[2].strip().rstrip(";").rstrip(), line)
        line += bare.count("\n", begin, at)
    name = (named[1] or named[2] or "").strip() if named else ""
    return Sections(file, name, single, lists, lines, unknown)


def _split(text: str, line: int) -> list[Word]:
    """Return the words between commas that are not in brackets, each with its line."""
    found, depth, begin = [], 0, 0
    for at, letter in enumerate(f"{text},"):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and (depth <= 0 or at == len(text)):
            word = text[begin:at]
            before = begin + len(word) - len(word.lstrip())
            found.append(Word(word.strip(), line + text.count("\n", 0, before)))
            begin = at + 1
    return [] if len(found) == 1 and not found[0].text else found
