"""Numbers from MATLAB files: assignments of expressions and matrices, read and never run.

What is understood: ``name = expression``, ``name(i) = expression``, ``name(i, j) = expression`` with numbers, matrices,
``pi``, sums, products, powers (with and without dots), transposes, indices, ranges and a few functions (``zeros``,
``sum``, ``sqrt``, ``sin``, ...).  Loops, conditions and calls of other files are not numbers: they are listed, what
they would set counts as unknown, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...errors import FileFormatError

Array = np.ndarray

MOST_ENTRIES = 100_000
"""Of one matrix; files of robots have hundreds."""

DEEPEST = 60
"""Brackets within brackets."""

FUNCTIONS: dict[str, Callable[..., Array]] = {
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "abs": np.abs,
    "exp": np.exp,
    "deg2rad": np.radians,
    "rad2deg": np.degrees,
    "sum": lambda x: _matrix(x.sum() if 1 in x.shape else x.sum(axis=0)),
    "max": lambda x: _matrix(x.max()),
    "min": lambda x: _matrix(x.min()),
    "length": lambda x: _matrix(float(max(x.shape) if x.size else 0)),
    "numel": lambda x: _matrix(float(x.size)),
    "diag": lambda x: np.diag(x.ravel()) if 1 in x.shape else np.diag(x)[:, None],
    "zeros": lambda *n: np.zeros(_sizes(*n)),
    "ones": lambda *n: np.ones(_sizes(*n)),
    "eye": lambda *n: np.eye(*_sizes(*n)),
}
CONSTANTS = {"pi": np.pi, "inf": np.inf, "Inf": np.inf, "eps": float(np.finfo(float).eps)}

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?)|(?P<name>[A-Za-z]\w*)|(?P<sign>\.\*|\./|\.\^|\.'|[-+*/^'()\[\],;:=\n])"
)
_BLOCKS = re.compile(r"\s*(for|while|if|switch|try|parfor)\b")
_TARGET = re.compile(r"\s*+(?:(?:for|while|if)\b)?\s*+(\[[^\]=]*\]|[A-Za-z]\w*+)\s*+(?:\([^()=]*\)\s*+)?=(?!=)")
_IGNORED = re.compile(r"\s*(end|clear|clc|close|format|global|return|hold|disp|fprintf|warning)\b|\s*$")


class Token(NamedTuple):
    """One word of a file."""

    kind: str
    text: str
    line: int
    space: bool
    """Whether white space stands before it."""


@dataclass
class Assignments:
    """The numbers of a file.

    Attributes
    ----------
    file : str
    values : dict of str to ndarray
        Matrices, as MATLAB has them: one number is (1, 1).
    lines : dict of str to int
        Where each was assigned last.
    left_out : list of (int, str)
        Statements that are no numbers, with their lines.
    """

    file: str
    values: dict[str, Array] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    left_out: list[tuple[int, str]] = field(default_factory=list)

    def vector(self, name: str, count: int | None = None) -> Array:
        """Return a row or column as a vector; a name that is not there, or another length, is an error."""
        if name not in self.values:
            raise FileFormatError(f"there is no {name!r}{self._why(name)}", self.file)
        value = self.values[name].ravel(order="F")
        if count is not None and value.size != count:
            raise FileFormatError(f"{name!r} needs {count} numbers, it has {value.size}", self.file, self.lines[name])
        if not np.isfinite(value).all():
            raise FileFormatError(f"{name!r} has an entry that is no finite number", self.file, self.lines[name])
        return value

    def number(self, name: str) -> float:
        """Return a single number."""
        return float(self.vector(name, 1)[0])

    def _why(self, name: str) -> str:
        said = [(line, text) for line, text in self.left_out if re.search(rf"\b{re.escape(name)}\b", text)]
        return f" (line {said[0][0]} is no plain assignment: {said[0][1]!r})" if said else ""


def read(text: str, file: str) -> Assignments:
    """Read the assignments of a file, in order."""
    found, depth = Assignments(file), 0
    for line, statement in _statements(text):
        if _BLOCKS.match(statement):
            depth += 1
            _leave_out(found, line, statement)
        elif depth:
            depth -= bool(re.match(r"\s*end\b", statement))
            _leave_out(found, line, statement)
        elif not _IGNORED.match(statement):
            _assign(found, line, statement)
    return found


def _leave_out(found: Assignments, line: int, statement: str) -> None:
    """List a statement that is no number, and forget what it would have set: never an older value in its place."""
    found.left_out.append((line, _short(statement)))
    target = _TARGET.match(statement)
    for name in re.findall(r"[A-Za-z]\w*", target.group(1)) if target else ():
        found.values.pop(name, None)


def _short(statement: str) -> str:
    return " ".join(statement.split())[:60]


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Cut a file into statements; brackets go over line ends, and so do function headers."""
    whole, line, start, depth = "", 1, 1, 0
    for number, raw in enumerate(text.split("\n"), start=1):
        code = re.split(r"%|\.\.\.", raw, maxsplit=1)[0]
        continued = "..." in raw.split("%", 1)[0]
        line = number
        for character in code:
            depth += (character in "[(") - (character in "])")
            if character in ";," and depth <= 0:
                if whole.strip():
                    yield start, whole
                whole = ""
                continue
            if not whole.strip():
                start = line
            whole += character
        header = whole.lstrip().startswith("function") and not whole.rstrip().endswith(")")
        if depth > 0:
            whole += "\n"  # a line end within brackets begins a row
        elif not continued and not header:
            if whole.strip():
                yield start, whole
            whole, depth = "", 0
        else:
            whole += " "
    if whole.strip():
        yield start, whole


def _assign(found: Assignments, line: int, statement: str) -> None:
    """Take one statement; what is no assignment of numbers is left out and listed."""
    if statement.lstrip().startswith("function"):
        return
    match = re.match(r"\s*+([A-Za-z]\w*+)\s*+(?:(\([^()=]*\))\s*+)?=(?!=)(.*)$", statement, re.DOTALL)
    if match is None:
        _leave_out(found, line, statement)
        return
    name, index, expression = match.group(1), match.group(2), match.group(3)
    try:
        value = _ExpressionReader(expression, found, line).whole()
        if index is not None:
            value = _placed(found, name, _ExpressionReader(index[1:-1], found, line).arguments(), value)
    except _NoNumber:
        _leave_out(found, line, statement)
        return
    if value.size > MOST_ENTRIES:
        raise FileFormatError(f"{name!r} has {value.size} entries, more than {MOST_ENTRIES}", found.file, line)
    found.values[name], found.lines[name] = value, line


def _placed(found: Assignments, name: str, index: list[Array], value: Array) -> Array:
    """Return a matrix with one entry set, grown where it must be."""
    places = [_whole_numbers(i)[0] - 1 for i in index if i.size == 1]
    if len(places) != len(index) or not 1 <= len(places) <= 2 or min(places) < 0 or value.size != 1:
        raise _NoNumber
    old = found.values.get(name, np.zeros((0, 0)))
    if len(places) == 1:
        k = places[0]
        if k >= MOST_ENTRIES:
            raise _NoNumber
        column = old.shape[1] == 1 and old.shape[0] > 1
        flat = np.zeros(max(old.size, k + 1))
        flat[: old.size] = old.ravel(order="F")
        flat[k] = value.ravel()[0]
        if old.size > k:
            return flat.reshape(old.shape, order="F")
        return flat[:, None] if column else flat[None, :]
    rows, columns = max(old.shape[0], places[0] + 1), max(old.shape[1], places[1] + 1)
    if rows * columns > MOST_ENTRIES:
        raise _NoNumber
    grown = np.zeros((rows, columns))
    grown[: old.shape[0], : old.shape[1]] = old
    grown[places[0], places[1]] = value.ravel()[0]
    return grown


class _NoNumber(Exception):
    """Something that is not a number: a call of another file, a text, an unknown name."""


def _matrix(x: object) -> Array:
    return np.atleast_2d(np.asarray(x, dtype=float))


def _whole_numbers(x: Array) -> list[int]:
    """Return counts or places; fractions, infinite ones and those that no memory holds are none."""
    numbers = np.ravel(x)
    if not all(abs(n) <= MOST_ENTRIES and n == int(n) for n in numbers.tolist()):
        raise _NoNumber
    return [int(n) for n in numbers]


def _sizes(*given: Array) -> tuple[int, int]:
    counts = [n for x in given for n in _whole_numbers(x)]
    if not 1 <= len(counts) <= 2 or any(n < 0 for n in counts):
        raise _NoNumber
    sizes = (counts[0], counts[-1])
    if sizes[0] * sizes[1] > MOST_ENTRIES:
        raise _NoNumber
    return sizes


class _ExpressionReader:
    """Evaluates one expression, by descent through its rules."""

    def __init__(self, text: str, found: Assignments, line: int) -> None:
        self.found, self.line = found, line
        self.tokens = list(self._split(text))
        self.place, self.depth = 0, 0

    def _split(self, text: str) -> Iterator[Token]:
        place, space, line = 0, False, self.line
        while place < len(text):
            if text[place] in " \t\r":
                place, space = place + 1, True
                continue
            match = _TOKEN.match(text, place)
            if match is None:
                raise _NoNumber
            assert match.lastgroup is not None
            yield Token(match.lastgroup, match.group(), line, space)
            line += match.group() == "\n"
            place, space = match.end(), False

    def _peek(self) -> Token:
        return self.tokens[self.place] if self.place < len(self.tokens) else Token("end", "", self.line, False)

    def _take(self, *texts: str) -> Token | None:
        token = self._peek()
        if token.kind != "sign" or token.text not in texts:
            return None
        self.place += 1
        return token

    def whole(self) -> Array:
        value = self._range(False)
        while self._take("\n"):
            pass
        if self._peek().kind != "end":
            raise _NoNumber
        return value

    def arguments(self) -> list[Array]:
        found = [self._range(False)]
        while self._take(","):
            found.append(self._range(False))
        if self._peek().kind != "end":
            raise _NoNumber
        return found

    def _range(self, inside: bool) -> Array:
        first = self._sum(inside)
        if not self._take(":"):
            return first
        second = self._sum(inside)
        step, last = (second, self._sum(inside)) if self._take(":") else (_matrix(1.0), second)
        low, by, high = (float(x.ravel()[0]) if x.size == 1 else np.nan for x in (first, step, last))
        if not np.isfinite([low, by, high]).all() or by == 0.0 or (high - low) / by > MOST_ENTRIES:
            raise _NoNumber
        return _matrix(low + by * np.arange(max(0, int(np.floor((high - low) / by + 1e-10)) + 1)))

    def _sum(self, inside: bool) -> Array:
        value = self._product(inside)
        while (token := self._peek()).kind == "sign" and token.text in "+-":
            following = self.tokens[self.place + 1] if self.place + 1 < len(self.tokens) else token
            if inside and token.space and not following.space:
                break  # [1 -2] has two entries
            self.place += 1
            other = self._product(inside)
            value = self._together(np.add if token.text == "+" else np.subtract, value, other)
        return value

    def _product(self, inside: bool) -> Array:
        value = self._signed(inside)
        while token := self._take("*", "/", ".*", "./"):
            other = self._signed(inside)
            if token.text == "*" and value.size > 1 and other.size > 1:
                if value.shape[1] != other.shape[0]:
                    raise self._wrong(f"a {_shape(value)} and a {_shape(other)} matrix cannot be multiplied")
                value = value @ other
            elif token.text == "/" and other.size > 1:
                raise _NoNumber
            else:
                value = self._together(np.multiply if "*" in token.text else np.divide, value, other)
        return value

    def _signed(self, inside: bool) -> Array:
        negative = False
        while sign := self._take("-", "+"):
            negative ^= sign.text == "-"
        value = self._power(inside)
        return -value if negative else value

    def _power(self, inside: bool) -> Array:
        value = self._atom()
        while True:
            token = self._peek()
            if token.kind == "sign" and token.text in ("'", ".'") and not (inside and token.space):
                self.place, value = self.place + 1, value.T
            elif (power := self._take("^", ".^")) is not None:
                minus = bool(self._take("-"))
                other = self._atom() * (-1.0 if minus else 1.0)
                if power.text == "^" and (value.size > 1 or other.size > 1):
                    raise _NoNumber
                value = self._together(np.power, value, other)
            else:
                return value

    def _atom(self) -> Array:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"more than {DEEPEST} brackets within one another")
        try:
            token = self._peek()
            if token.kind == "number":
                self.place += 1
                return _matrix(float(re.sub("[dD]", "e", token.text)))
            if token.kind == "name":
                self.place += 1
                return self._named(token)
            if self._take("("):
                value = self._range(False)
                if not self._take(")"):
                    raise _NoNumber
                return value
            if self._take("["):
                return self._literal()
            raise _NoNumber
        finally:
            self.depth -= 1

    def _named(self, token: Token) -> Array:
        known = self.found.values.get(token.text)
        called = self._peek().text == "(" and self._peek().kind == "sign" and not self._peek().space
        if not called:
            if known is not None:
                return known
            if token.text in CONSTANTS:
                return _matrix(CONSTANTS[token.text])
            raise _NoNumber
        self._take("(")
        given = [self._range(False)]
        while self._take(","):
            given.append(self._range(False))
        if not self._take(")"):
            raise _NoNumber
        if known is not None:
            return self._entry(token, known, given)
        if token.text not in FUNCTIONS:
            raise _NoNumber
        try:
            with np.errstate(all="ignore"):
                return _matrix(FUNCTIONS[token.text](*given))
        except (TypeError, ValueError):
            raise _NoNumber from None

    def _entry(self, token: Token, known: Array, index: list[Array]) -> Array:
        places = [np.array(_whole_numbers(i), dtype=int) - 1 for i in index]
        try:
            if any(p.min(initial=0) < 0 for p in places):
                raise IndexError
            if len(places) == 1:
                taken = known.ravel(order="F")[places[0]]
                return taken[:, None] if known.shape[1] == 1 else taken[None, :]
            return known[np.ix_(*places)]
        except (IndexError, ValueError):
            shown = ", ".join(str(int(p[0]) + 1) if p.size == 1 else "..." for p in places)
            raise self._wrong(f"{token.text}({shown}) is outside of a {_shape(known)} matrix") from None

    def _literal(self) -> Array:
        rows: list[list[Array]] = [[]]
        entries = 0
        while not self._take("]"):
            if self._take(";", "\n"):
                rows.append([])
            elif not self._take(","):
                if self._peek().kind == "end":
                    raise _NoNumber
                rows[-1].append(self._range(True))
                entries += rows[-1][-1].size
                if entries > MOST_ENTRIES:
                    raise self._wrong(f"a matrix of more than {MOST_ENTRIES} entries")
        try:
            filled = [np.hstack(row) for row in rows if row]
            return np.vstack(filled) if filled else np.zeros((0, 0))
        except ValueError:
            raise self._wrong("rows of a matrix have different lengths") from None

    def _together(self, operation: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
        if a.size != 1 and b.size != 1 and a.shape != b.shape:
            raise self._wrong(f"a {_shape(a)} and a {_shape(b)} matrix do not go together")
        with np.errstate(all="ignore"):
            return _matrix(operation(a, b))

    def _wrong(self, what: str) -> FileFormatError:
        return FileFormatError(what, self.found.file, self.line)


def _shape(x: Array) -> str:
    return f"{x.shape[0]}x{x.shape[1]}"
