"""Formulas as scalars, with symbols that have no value yet: ``d3``, ``sqrt(b**2 + d6**2)``, ``-pi/2``.

A robot may have such scalars in place of its numbers.  As much as possible is computed with symbols: a formula can be
evaluated on any other scalar (numbers, nodes of a graph, symbols of SymPy or CasADi). If a number is required, a symbol
without a value raises an error that names it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import NoValueError
from . import scalar
from .scalar import Scalar

PI = "pi"
"""The one symbol whose value is known; it stays a symbol so that angles stay exact."""

SIXTH = math.pi / 6
SIXTHS = (1.0, math.sqrt(3) / 2, 0.5, 0.0, -0.5, -math.sqrt(3) / 2, -1.0, -math.sqrt(3) / 2, -0.5, 0.0, 0.5,
          math.sqrt(3) / 2)  # fmt: skip
"""Cosines of multiples of 30 degrees, correctly rounded; ``cos`` of a rounded multiple of pi is slightly off."""

SAME_ANGLE = 1e-12
"""How far an angle may be from a multiple of 30 degrees to count as one, as a fraction of 30 degrees."""

_ATOM, _POWER, _PRODUCT, _SUM = 4, 3, 2, 1
"""Precedence of operators."""


class ScalarFormula:
    """A scalar made of symbols and numbers."""

    __slots__ = ("kind", "parts", "symbols")
    __array_ufunc__ = None  # makes NumPy leave the operation to this class, whose errors name the missing values

    kind: str
    """``"symbol"``, an operator (``+ - * / **``), ``"neg"``, or a function of :data:`FUNCTIONS`."""
    parts: tuple[Any, ...]
    """A symbol's name, or the operands: formulas and floats."""
    symbols: frozenset[str]
    """Names of the symbols in the formula that have no value."""

    def __init__(self, kind: str, *parts: Any) -> None:
        self.kind, self.parts = kind, parts
        if kind == "symbol":
            self.symbols = frozenset(name for name in parts if name != PI)
        else:
            self.symbols = frozenset[str]().union(*(p.symbols for p in parts if isinstance(p, ScalarFormula)))

    @classmethod
    def symbol(cls, name: str) -> ScalarFormula:
        """Make a symbol; ``pi`` stands for the number."""
        return cls("symbol", name)

    # ---------------------------------------------------------------- values

    def evaluate(self, values: Mapping[str, Scalar]) -> Scalar:
        """Return the formula with scalars substituted for some of its symbols; a plain number if no symbol is left."""
        found = _evaluated(self, values, {})
        return found if not isinstance(found, ScalarFormula) or found.symbols else float(found)

    def __float__(self) -> float:
        if self.symbols:
            raise NoValueError(self.symbols)
        return float(_evaluated(self, {PI: math.pi}, {}))

    def _sympy_(self) -> Any:
        """Return the SymPy expression, for ``sympify``: symbols are real, numbers equal their decimals."""
        sympy = importlib.import_module("sympy")
        values = {name: sympy.Symbol(name, real=True) for name in self.symbols} | {PI: sympy.pi}
        return _evaluated(self, values, {}, lambda x: sympy.Rational(repr(float(x))))

    # ---------------------------------------------------------------- arithmetic

    def _binary(self, operation: Callable[[Any, Any], Any], kind: str, other: Any, turned: bool) -> Any:
        """Apply an operation to this formula and another operand; other scalars only if this formula is a number."""
        if isinstance(other, ScalarFormula):
            return _made(kind, self, other)
        if isinstance(other, (int, float)):
            return _made(kind, float(other), self) if turned else _made(kind, self, float(other))
        number = float(self)
        return operation(other, number) if turned else operation(number, other)

    def __add__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a + b, "+", other, False)

    def __radd__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a + b, "+", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a - b, "-", other, False)

    def __rsub__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a - b, "-", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a * b, "*", other, False)

    def __rmul__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a * b, "*", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a / b, "/", other, False)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary(lambda a, b: a / b, "/", other, True)

    def __pow__(self, other: Any) -> Any:
        return self._binary(power, "**", other, False)

    def __rpow__(self, other: Any) -> Any:
        return self._binary(power, "**", other, True)

    def __neg__(self) -> Any:
        return self.parts[0] if self.kind == "neg" else ScalarFormula("neg", self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScalarFormula) and self.kind == other.kind and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((self.kind, self.parts))

    def __bool__(self) -> bool:
        return True  # a result of zero becomes a plain number

    def _undecided(self, _: object) -> Any:
        raise NoValueError(self.symbols or [str(self)])

    __lt__ = __gt__ = __le__ = __ge__ = _undecided

    def __reduce__(self) -> tuple[Any, ...]:
        return ScalarFormula, (self.kind, *self.parts)

    # ---------------------------------------------------------------- words

    def __str__(self) -> str:
        return _written(self, _SUM)

    def __format__(self, spec: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"ScalarFormula({str(self)!r})"

    class scalar_functions:
        """Elementary functions, found by :mod:`kinetree.spatial.scalar`."""

        @staticmethod
        def sin(x: ScalarFormula) -> Any:
            """Return the sine; exact at multiples of 30 degrees."""
            return ScalarFormula("sin", x) if x.symbols else exact_sine(float(x))

        @staticmethod
        def cos(x: ScalarFormula) -> Any:
            """Return the cosine; exact at multiples of 30 degrees."""
            return ScalarFormula("cos", x) if x.symbols else exact_cosine(float(x))

        @staticmethod
        def sqrt(x: ScalarFormula) -> Any:
            """Return the square root."""
            return ScalarFormula("sqrt", x)

        @staticmethod
        def exp(x: ScalarFormula) -> Any:
            """Return the exponential."""
            return ScalarFormula("exp", x)

        @staticmethod
        def log(x: ScalarFormula) -> Any:
            """Return the natural logarithm."""
            return ScalarFormula("log", x)

        @staticmethod
        def arctan2(y: Any, x: Any) -> Any:
            """Return the angle of the point (x, y)."""
            return ScalarFormula("atan2", y, x)


def symbols_among(scalars: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of symbols in scalars of any kind, each once, in order of appearance."""
    found = dict.fromkeys(name for x in scalars if isinstance(x, ScalarFormula) for name in sorted(x.symbols))
    return tuple(found)


def power(base: Scalar, exponent: Scalar) -> Scalar:
    """Return a power over any scalar: integer exponents by products, halves by roots, others by logarithms."""
    if isinstance(base, ScalarFormula) or isinstance(exponent, ScalarFormula):
        return base**exponent
    if isinstance(exponent, (int, float)):
        if float(2 * exponent).is_integer() and abs(exponent) <= 64:
            whole = _whole_power(base, int(abs(exponent)))
            found = whole if float(exponent).is_integer() else whole * scalar.sqrt(base)
            return 1.0 / found if exponent < 0 else found
        if isinstance(base, (int, float)):
            return math.pow(base, exponent)
    return scalar.exp(exponent * scalar.log(base))


def _whole_power(base: Scalar, exponent: int) -> Scalar:
    found: Scalar = 1.0
    while exponent:
        if exponent & 1:
            found = base if isinstance(found, float) and found == 1.0 else found * base
        base, exponent = (base * base if exponent > 1 else base), exponent >> 1
    return found


def _arc(x: Scalar, of_cosine: bool) -> Scalar:
    other = scalar.sqrt(1.0 - x * x)
    return scalar.arctan2(other, x) if of_cosine else scalar.arctan2(x, other)


FUNCTIONS: dict[str, tuple[int, Callable[..., Scalar]]] = {
    "sin": (1, scalar.sin),
    "cos": (1, scalar.cos),
    "tan": (1, lambda x: scalar.sin(x) / scalar.cos(x)),
    "asin": (1, lambda x: _arc(x, False)),
    "acos": (1, lambda x: _arc(x, True)),
    "atan": (1, lambda x: scalar.arctan2(x, 1.0)),
    "atan2": (2, scalar.arctan2),
    "sqrt": (1, scalar.sqrt),
    "exp": (1, scalar.exp),
    "log": (1, scalar.log),
    "abs": (1, abs),
}
"""Functions that a formula may apply, by name: how many arguments each takes, and how it is computed."""

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": power,
}


def apply(name: str, *parts: Scalar) -> Scalar:
    """Apply a function to formulas and numbers; the result is a formula if one of them is.

    Sines and cosines of numbers are numbers, exact at multiples of 30 degrees.
    """
    if name in ("sin", "cos"):
        x = parts[0]
        if isinstance(x, ScalarFormula):
            return scalar.sin(x) if name == "sin" else scalar.cos(x)
        return exact_sine(x) if name == "sin" else exact_cosine(x)
    if any(isinstance(p, ScalarFormula) for p in parts):
        return ScalarFormula(name, *parts)
    return _numeric(FUNCTIONS[name][1], parts)


def exact_cosine(angle: float) -> float:
    """Return the cosine of a number, free of the rounding of pi at multiples of 30 degrees."""
    sixths = angle / SIXTH
    if math.isfinite(sixths) and abs(sixths - round(sixths)) < SAME_ANGLE * max(1.0, abs(sixths)):
        return SIXTHS[round(sixths) % 12]
    return _numeric(math.cos, (angle,))


def exact_sine(angle: float) -> float:
    """Return the sine of a number, free of the rounding of pi at multiples of 30 degrees."""
    sixths = angle / SIXTH
    if math.isfinite(sixths) and abs(sixths - round(sixths)) < SAME_ANGLE * max(1.0, abs(sixths)):
        return SIXTHS[(round(sixths) - 3) % 12]
    return _numeric(math.sin, (angle,))


def _numeric(operation: Callable[..., Any], parts: Iterable[Any]) -> float:
    """Apply an operation to floats; a result that is not a real number is NaN."""
    try:
        with np.errstate(all="ignore"):
            return float(operation(*parts))
    except (ArithmeticError, ValueError, TypeError):
        return math.nan


def _made(kind: str, a: Any, b: Any) -> Any:
    """Return an operation, simplified where an operand is zero or one or both are equal, as the engine's graph does.

    Sums and products associate from the left, ``(a + b) + c``, so that a formula matches its text.
    """
    if kind == "+":
        if _is(a, 0.0):
            return b
        if _is(b, 0.0):
            return a
        if isinstance(b, ScalarFormula) and b.kind == "neg":
            return _made("-", a, b.parts[0])
        if isinstance(b, ScalarFormula) and b.kind in "+-":
            return _made(b.kind, _made("+", a, b.parts[0]), b.parts[1])
    elif kind == "-":
        if _is(b, 0.0):
            return a
        if _is(a, 0.0):
            return -b
        if a == b:
            return 0.0
        if isinstance(b, ScalarFormula) and b.kind == "neg":
            return _made("+", a, b.parts[0])
    if kind in "*/" and (_is_negated(a) or _is_negated(b)):
        sign = (-1.0 if _is_negated(a) else 1.0) * (-1.0 if _is_negated(b) else 1.0)
        plain = _made(kind, a.parts[0] if _is_negated(a) else a, b.parts[0] if _is_negated(b) else b)
        return plain if sign > 0.0 else -plain
    if kind == "*":
        a, b = (b, a) if isinstance(b, float) else (a, b)
        if isinstance(a, float):
            if a < 0.0:
                return -_made("*", -a, b)
            if a in (0.0, 1.0):
                return b if a else 0.0
            if isinstance(b, ScalarFormula) and b.kind == "*" and isinstance(b.parts[0], float):
                return _made("*", a * b.parts[0], b.parts[1])
        if isinstance(b, ScalarFormula) and b.kind in "*/":
            return _made(b.kind, _made("*", a, b.parts[0]), b.parts[1])
    elif kind == "/":
        if _is(a, 0.0):
            return 0.0
        if isinstance(b, float) and b in (1.0, -1.0):
            return a if b == 1.0 else -a
    elif kind == "**":
        if _is(b, 1.0):
            return a
        if _is(b, 0.0):
            return 1.0
    return ScalarFormula(kind, a, b)


def _is_negated(x: Any) -> bool:
    return isinstance(x, ScalarFormula) and x.kind == "neg"


def _is(x: Any, number: float) -> bool:
    return isinstance(x, float) and x == number


def _evaluated(
    x: Any, values: Mapping[str, Any], known: dict[int, Any], change: Callable[[float], Any] | None = None
) -> Any:
    """Return a formula or number with scalars substituted; a part that occurs several times is evaluated once."""
    if not isinstance(x, ScalarFormula):
        return x if change is None else change(x)
    if id(x) in known:
        return known[id(x)]
    if x.kind == "symbol":
        found = values.get(x.parts[0], x)
    else:
        parts = [_evaluated(p, values, known, change) for p in x.parts]
        if x.kind == "**" and isinstance(x.parts[1], float):
            parts[1] = x.parts[1]  # kept a float: this is how power() recognizes integer exponents
        if x.kind == "neg":
            found = -parts[0]
        elif all(isinstance(p, (int, float)) for p in parts):
            found = _numeric(OPERATIONS[x.kind] if x.kind in OPERATIONS else FUNCTIONS[x.kind][1], parts)
        elif x.kind in OPERATIONS:
            found = OPERATIONS[x.kind](*parts)
        elif any(isinstance(p, ScalarFormula) for p in parts):
            found = apply(x.kind, *parts)
        else:
            found = FUNCTIONS[x.kind][1](*parts)
    known[id(x)] = found
    return found


def _written(x: Any, outer: int) -> str:
    """Return a formula in the syntax of Python and of SYMORO files, with only the parentheses that are needed."""
    if not isinstance(x, ScalarFormula):
        text = repr(x)
        text = text[:-2] if text.endswith(".0") else text
        return f"({text})" if text.startswith("-") and outer > _SUM else text
    if x.kind == "symbol":
        return str(x.parts[0])
    if x.kind in FUNCTIONS:
        return f"{x.kind}({', '.join(_written(p, _SUM) for p in x.parts)})"
    if x.kind == "neg":
        text, own = f"-{_written(x.parts[0], _PRODUCT)}", _SUM
    elif x.kind in "+-":
        text, own = f"{_written(x.parts[0], _SUM)} {x.kind} {_written(x.parts[1], _SUM + (x.kind == '-'))}", _SUM
    elif x.kind in "*/":
        text, own = f"{_written(x.parts[0], _PRODUCT)}{x.kind}{_written(x.parts[1], _PRODUCT + (x.kind == '/'))}", 2
    else:
        text, own = f"{_written(x.parts[0], _ATOM)}**{_written(x.parts[1], _ATOM)}", _POWER
    return f"({text})" if own < outer else text
