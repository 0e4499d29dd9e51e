"""Numbers and formulas in files: ``-1.5``, ``d3``, ``sqrt(b**2 + d6**2)``, ``atan2(b, d6)``.

A small parser reads them: no code is executed, and the only names are symbols, ``pi`` and a few functions.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from ...errors import nearest
from ...spatial import Scalar
from ...spatial.formula import FUNCTIONS, OPERATIONS, PI, ScalarFormula, apply

LONGEST_EXPRESSION = 2000
"""The most characters of one expression."""

DEEPEST_EXPRESSION = 50
"""The deepest nesting of brackets and signs."""

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[-+*/^(),]))"
)

LEVELS = (("+", "-"), ("*", "/"))
"""Left-associative operators, from the lowest precedence to the highest."""


class ExpressionError(ValueError):
    """Raised for an invalid expression; says what is wrong with it."""


class Lexeme(NamedTuple):
    """A number, a name or a sign."""

    kind: str
    text: str


def parse(text: str) -> Scalar:
    """Return a float, or a :class:`ScalarFormula` if there are symbols.

    Raises
    ------
    ExpressionError
        If the text is not an expression, or its value is not finite.
    """
    if len(text) > LONGEST_EXPRESSION:
        raise ExpressionError(f"an expression of {len(text)} characters; at most {LONGEST_EXPRESSION} are read")
    reader = _FormulaReader(_tokens(text))
    try:
        found = reader.level(0, 0)
    except (ArithmeticError, OverflowError) as problem:
        raise ExpressionError(f"{text.strip()!r} has no value ({problem})") from None
    if reader.ahead.kind != "end":
        raise ExpressionError(f"{text.strip()!r}: {reader.ahead.text!r} is unexpected")
    if not isinstance(found, ScalarFormula) or not found.symbols:
        number = float(found)
        if not math.isfinite(number):
            raise ExpressionError(f"{text.strip()!r} is not a finite number")
        return found if isinstance(found, ScalarFormula) else number
    return found


def _tokens(text: str) -> list[Lexeme]:
    found, at = [], 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"{text.strip()!r}: {text[at:].strip()[0]!r} cannot be part of an expression")
        kind = str(match.lastgroup)
        found.append(Lexeme(kind, match[kind]))
        at = match.end()
    return found


class _FormulaReader:
    """Reads tokens from the left."""

    def __init__(self, tokens: list[Lexeme]) -> None:
        self.tokens, self.at = tokens, 0

    @property
    def ahead(self) -> Lexeme:
        return self.tokens[self.at] if self.at < len(self.tokens) else Lexeme("end", "the end")

    def take(self) -> Lexeme:
        token = self.ahead
        self.at += 1
        return token

    def expect(self, sign: str) -> None:
        token = self.take()
        if token.text != sign:
            raise ExpressionError(f"{sign!r} is expected in place of {token.text!r}")

    def level(self, k: int, depth: int) -> Scalar:
        """Read a sum, or a product."""
        if k == len(LEVELS):
            return self.signed(depth)
        left = self.level(k + 1, depth)
        while self.ahead.kind == "sign" and self.ahead.text in LEVELS[k]:
            sign = self.take().text
            left = OPERATIONS[sign](left, self.level(k + 1, depth))
        return left

    def signed(self, depth: int) -> Scalar:
        """Read a sign and the power after it: -x**2 is -(x**2)."""
        if depth > DEEPEST_EXPRESSION:
            raise ExpressionError(f"brackets and signs are nested more than {DEEPEST_EXPRESSION} deep")
        if self.ahead.text in ("+", "-"):
            turned = self.take().text == "-"
            found = self.signed(depth + 1)
            return -found if turned else found
        base = self.atom(depth)
        if self.ahead.text in ("**", "^"):
            self.take()
            return OPERATIONS["**"](base, self.signed(depth + 1))
        return base

    def atom(self, depth: int) -> Scalar:
        """Read a number, a symbol, a function or a bracket."""
        token = self.take()
        if token.kind == "number":
            return float(token.text)
        if token.text == "(":
            found = self.level(0, depth + 1)
            self.expect(")")
            return found
        if token.kind != "name":
            raise ExpressionError(f"a number, a symbol or a bracket is expected in place of {token.text!r}")
        if self.ahead.text == "(":
            return self.function(token.text, depth + 1)
        return ScalarFormula.symbol(PI if token.text == "Pi" else token.text)

    def function(self, name: str, depth: int) -> Scalar:
        """Read the arguments of a function."""
        if name.lower() not in FUNCTIONS:
            near = nearest(name, FUNCTIONS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(FUNCTIONS)}"
            raise ExpressionError(f"there is no function {name!r}{hint}")
        self.expect("(")
        parts = [self.level(0, depth)]
        while self.ahead.text == ",":
            self.take()
            parts.append(self.level(0, depth))
        self.expect(")")
        wanted = FUNCTIONS[name.lower()][0]
        if len(parts) != wanted:
            raise ExpressionError(f"{name} takes {wanted} argument{'s' if wanted > 1 else ''}, not {len(parts)}")
        return apply(name.lower(), *parts)
