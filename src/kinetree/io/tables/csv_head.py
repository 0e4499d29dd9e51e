"""The first lines of a text table: names, units, comments, the delimiter, and the form of numbers."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from ...errors import FileFormatError
from ..units import UNITS, plain
from .formats import RECORD_MARK
from .joints_in_rows import named_by_row

LINES = 60
"""How many lines are examined."""

DELIMITERS = ",;\t"
COMMENT = ("#", "%")
DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")
LONE_RETURN = re.compile(rb"\r(?!\n)")
EXCELS = re.compile(r"sep=(.)\s*", re.IGNORECASE)
"""The line that specifies the delimiter for Excel."""


@dataclass(frozen=True)
class CsvHead:
    """The properties of a table that follow from its first lines."""

    names: tuple[str, ...] | None
    """Names of the columns, followed by their units in brackets; None if there are none."""
    line: int
    """Line of the names, or of the first row if there are none."""
    skipped: int
    """Number of lines before the first row."""
    count: int
    """Number of columns."""
    delimiter: str
    """Delimiter; a space stands for any number of spaces and tabs."""
    decimal: str = "."
    """The decimal point, or comma."""
    rules: tuple[str, ...] = ()
    """Inferences that the user may want to check."""
    joints: Mapping[int, str] = field(default_factory=dict)
    """Columns of texts that name joints, with the name in the first row."""


def read_head(path: Path) -> CsvHead:
    """Read the first lines of a file."""
    with path.open("rb") as stream:
        lines = list(islice(stream, LINES))
    return _Lines(str(path), lines).head()


def split(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line; raise csv.Error if it cannot be split."""
    if delimiter == " ":
        return line.split()
    return next(csv.reader([line], delimiter=delimiter, strict=True), [])


def is_number(cell: str) -> bool:
    """Return whether a cell is a number with a decimal point."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _is_any_number(cell: str) -> bool:
    return is_number(cell) or DECIMAL_COMMA.fullmatch(cell) is not None


def refuse_lone_returns(file: str, block: bytes, line: int) -> None:
    """Refuse lone carriage returns, which only some readers take for line ends."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        before = LONE_RETURN.search(block)
        here = line + (block.count(b"\n", 0, before.start()) if before else 0)
        raise FileFormatError(
            "a lone carriage return may or may not end a line: end lines with \\n or \\r\\n", file, here
        )


def decoded(file: str, data: bytes, line: int) -> str:
    """Return lines as text; refuse what is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        here = line + data[: problem.start].count(b"\n")
        raise FileFormatError(
            "the file is not text in UTF-8: save it so ('CSV UTF-8' in Excel, encoding='utf-8' in Python)", file, here
        ) from None


class _Lines:
    """The first lines of a file, and the position in them."""

    def __init__(self, file: str, lines: list[bytes]) -> None:
        self.file, self.lines, self.at = file, lines, 0
        self.delimiter: str | None = None
        self.rules: list[str] = []

    def head(self) -> CsvHead:
        comment = self._pass_over_comments()
        line, first = self.at + 1, self._text(self.at)
        if not first.strip():
            raise FileFormatError("the file is empty, or its first line is", self.file, line)
        refuse_lone_returns(self.file, self.lines[self.at], line)
        delimiter = self.delimiter or self._delimiter(self.at)
        cells = self._cells(self.at, delimiter)
        numbers = [_is_any_number(cell) for cell in cells]
        if comment and any(numbers):
            names = self._split_or_nothing(comment.lstrip("".join(COMMENT) + " "), delimiter)
            if len(names) == len(cells) and not any(map(_is_any_number, names)):
                return self._finished(CsvHead(tuple(names), line - 1, line - 1, len(cells), delimiter))
        if any(numbers) and not all(numbers):
            odd = cells[numbers.index(False)]
            raise FileFormatError(
                f"the first line must be names or numbers, and not both: {odd.strip()!r} is not a number",
                self.file,
                line,
            )
        if any(numbers):
            return self._finished(CsvHead(None, line, line - 1, len(cells), delimiter))
        self._refuse_lines_above_names(len(cells))
        return self._finished(CsvHead(tuple(cells), line, line, len(cells), delimiter))

    def _pass_over_comments(self) -> str:
        """Go to the first line that is not a comment; return the last comment, which may hold names."""
        comment = ""
        if self.lines and self.lines[0].startswith(RECORD_MARK.encode()):
            self.at = 1
        excels = EXCELS.fullmatch(self._text(self.at, "replace").strip())
        if excels:
            self.delimiter = excels[1]
            self.at += 1
        while (text := self._text(self.at, "replace")).startswith(COMMENT):
            comment = text
            self.at += 1
        return comment.strip()

    def _text(self, at: int, errors: str = "") -> str:
        """Return a line; an empty string after the last one."""
        data = self.lines[at] if at < len(self.lines) else b""
        text = data.decode("utf-8", errors) if errors else decoded(self.file, data, at + 1)
        return text.lstrip("\ufeff") if at == 0 else text

    def _cells(self, at: int, delimiter: str) -> list[str]:
        try:
            return split(self._text(at), delimiter)
        except csv.Error as problem:
            words = f"the line cannot be split into columns ({problem})"
            raise FileFormatError(words, self.file, at + 1) from None

    def _split_or_nothing(self, text: str, delimiter: str) -> list[str]:
        try:
            return [cell.strip() for cell in split(text.strip(), delimiter)]
        except csv.Error:
            return []

    def _delimiter(self, at: int) -> str:
        """Return the delimiter: the most frequent one, unless commas are decimal commas; otherwise spaces."""
        first, second = self._text(at, "replace"), self._text(at + 1, "replace")
        for one in ";\t":
            if one in first and all(map(_is_any_number, self._split_or_nothing(first, one))):
                return one
        spaced = first.split()
        if len(spaced) > 1 and not re.search("[;\t]", first.strip()):
            same = len(second.split()) == len(spaced) and any(map(_is_any_number, second.split()))
            if all(map(_is_any_number, spaced)) or ("," not in first and same):
                return " "
        if "\t" in first.strip() and not re.search("[;,]", first):
            return "\t"
        return max(DELIMITERS, key=first.count)

    def _refuse_lines_above_names(self, count: int) -> None:
        """Raise an error that says where the names are, if they seem to be below other lines."""
        if len(self._split_or_nothing(self._text(self.at + 1, "replace"), self._delimiter(self.at))) == count > 1:
            return
        for at in range(self.at + 1, len(self.lines) - 1):
            delimiter = self._delimiter(at)
            names, row = (self._split_or_nothing(self._text(k, "replace"), delimiter) for k in (at, at + 1))
            if 1 < len(names) == len(row) != count and any(map(is_number, row)) and not any(map(is_number, names)):
                raise FileFormatError(
                    f"the names of columns seem to be in line {at + 1}: leave out the lines above them, or begin "
                    "these with '#'",
                    self.file,
                    self.at + 1,
                )

    def _finished(self, head: CsvHead) -> CsvHead:
        """Examine the lines between names and numbers, and the form of the numbers."""
        rows = [self._split_or_nothing(self._text(k, "replace"), head.delimiter)
                for k in range(head.skipped, len(self.lines))]  # fmt: skip
        if head.names is not None and rows and len(rows[0]) == head.count and not any(map(_is_any_number, rows[0])):
            units = [cell.strip("[]() ") for cell in rows[0]]
            if any(units) and all(not unit or plain(unit) in UNITS for unit in units):
                named = (f"{n.strip()} [{u}]" if u else n for n, u in zip(head.names, units, strict=True))
                head, rows = replace(head, names=tuple(named), skipped=head.skipped + 1), rows[1:]
        if head.names is not None and rows and len(rows[0]) == head.count:
            texts = {k: cell.strip() for k, cell in enumerate(rows[0]) if not _is_any_number(cell)}
            names, joints = named_by_row(head.names, texts)
            head = replace(head, names=names, joints=joints)
        commas = any(DECIMAL_COMMA.fullmatch(cell) for row in rows if len(row) == head.count for cell in row)
        rules = ("numbers have decimal commas",) if commas else ()
        return replace(head, decimal="," if commas else ".", rules=rules)
