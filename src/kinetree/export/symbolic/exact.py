"""SymPy expressions as scalars; a float that is combined with them is taken as the exact value of its decimals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import sympy as sp

from ...spatial.formula import PI

Number = Callable[[float], Any]


MOST_DIGITS = 15
"""So many digits of a decimal survive in a float; one with more was computed, not typed."""

LARGEST_DENOMINATOR = 1000


def as_written(x: float) -> Any:
    """Return the fraction equal to a float's shortest decimal form: 0.1 is 1/10.

    Floats that need more than 15 digits are small fractions, such as 1/3, if these have the same float.
    """
    if not math.isfinite(x):
        return sp.Float(x)
    decimal = Decimal(repr(float(x)))
    if len(decimal.as_tuple().digits) > MOST_DIGITS:
        small = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
        if float(small) == x:
            return sp.Rational(small)
    return sp.Rational(str(decimal))


def exact(x: Any, number: Number = as_written) -> Exact:
    """Return numbers and expressions as :class:`Exact` scalars; those that already are scalars are unchanged."""
    if isinstance(x, Exact):
        return x
    return Exact(number(float(x)) if isinstance(x, (int, float)) else sp.sympify(x), number)


def symbol_values(names: Iterable[str], number: Number = as_written) -> dict[str, Exact]:
    """Return real SymPy symbols for those of a robot that have no value; pi is SymPy's pi."""
    return {name: Exact(sp.Symbol(name, real=True), number) for name in names} | {PI: Exact(sp.pi, number)}


class Exact:
    """A SymPy expression that behaves like a number.

    Plain SymPy symbols also work in the recursions, but floats stay floats: ``1.0*q1``, and ``0.1 + 0.2`` is not
    ``0.3``.  Here the numbers of the recursions and of the robot are converted to fractions before anything is computed
    with them.

    expression: sympy.Expr
    number: Converts a float to a SymPy number.
    """

    __slots__ = ("expression", "number")

    def __init__(self, expression: Any, number: Number = as_written) -> None:
        self.expression, self.number = expression, number

    def _of(self, other: Any) -> Any:
        if isinstance(other, Exact):
            return other.expression
        if isinstance(other, (int, float)):
            return self.number(float(other))
        return sp.sympify(other)

    def _new(self, expression: Any) -> Exact:
        return Exact(expression, self.number)

    def __add__(self, other: Any) -> Exact:
        return self._new(self.expression + self._of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Exact:
        return self._new(self.expression - self._of(other))

    def __rsub__(self, other: Any) -> Exact:
        return self._new(self._of(other) - self.expression)

    def __mul__(self, other: Any) -> Exact:
        factor = self._of(other)
        if factor is sp.S.Zero or self.expression is sp.S.Zero:
            return self._new(sp.S.Zero)  # SymPy would first check whether the other factor is finite
        return self._new(self.expression * factor)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Exact:
        return self._new(self.expression / self._of(other))

    def __rtruediv__(self, other: Any) -> Exact:
        return self._new(self._of(other) / self.expression)

    def __pow__(self, exponent: Any) -> Exact:
        return self._new(self.expression ** self._of(exponent))

    def __neg__(self) -> Exact:
        return self._new(-self.expression)

    def __abs__(self) -> Exact:
        return self._new(sp.Abs(self.expression))

    def __lt__(self, other: Any) -> Exact:
        return self._new(sp.Lt(self.expression, self._of(other)))

    def __gt__(self, other: Any) -> Exact:
        return self._new(sp.Gt(self.expression, self._of(other)))

    def __le__(self, other: Any) -> Exact:
        return self._new(sp.Le(self.expression, self._of(other)))

    def __ge__(self, other: Any) -> Exact:
        return self._new(sp.Ge(self.expression, self._of(other)))

    def __bool__(self) -> bool:
        raise TypeError("a symbol has no value yet: use kinetree's where() instead of if")

    def __repr__(self) -> str:
        return f"Exact({self.expression})"

    class scalar_functions:
        """Elementary functions, found by :mod:`kinetree.spatial.scalar`."""

        @staticmethod
        def sin(x: Exact) -> Exact:
            """Return the sine."""
            return x._new(sp.sin(x.expression))

        @staticmethod
        def cos(x: Exact) -> Exact:
            """Return the cosine."""
            return x._new(sp.cos(x.expression))

        @staticmethod
        def sqrt(x: Exact) -> Exact:
            """Return the square root."""
            return x._new(sp.sqrt(x.expression))

        @staticmethod
        def exp(x: Exact) -> Exact:
            """Return the exponential."""
            return x._new(sp.exp(x.expression))

        @staticmethod
        def log(x: Exact) -> Exact:
            """Return the natural logarithm."""
            return x._new(sp.log(x.expression))

        @staticmethod
        def arctan2(y: Any, x: Any) -> Exact:
            """Return the angle of the point (x, y)."""
            anchor = y if isinstance(y, Exact) else x
            return anchor._new(sp.atan2(anchor._of(y), anchor._of(x)))  # type: ignore[no-any-return]

        @staticmethod
        def where(condition: Exact, yes: Any, no: Any) -> Exact:
            """Return one of two values."""
            return condition._new(sp.Piecewise((condition._of(yes), condition.expression), (condition._of(no), True)))
