"""Numbers with their first and second time derivatives, over any scalar.

A motion is written once, as a position; when it is evaluated at the jet ``(t, 1, 0)``, it also gives velocity and
acceleration, exact except for rounding.  The three parts may be floats, arrays or nodes of the engine's graph, so that
derivatives are compiled like everything else.
"""

from __future__ import annotations

from typing import Any

from . import scalar
from .scalar import Scalar


class Jet:
    """A value with its first and second derivatives."""

    __slots__ = ("first", "second", "value")
    __array_ufunc__ = None  # makes NumPy leave array * jet to this class

    def __init__(self, value: Scalar, first: Scalar = 0.0, second: Scalar = 0.0) -> None:
        self.value, self.first, self.second = value, first, second

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.value + other.value, self.first + other.first, self.second + other.second)
        return Jet(self.value + other, self.first, self.second)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.first, -self.second)

    def __sub__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.value - other.value, self.first - other.first, self.second - other.second)
        return Jet(self.value - other, self.first, self.second)

    def __rsub__(self, other: Any) -> Jet:
        return Jet(other - self.value, -self.first, -self.second)

    def __mul__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            a, b = self, other
            return Jet(
                a.value * b.value,
                a.first * b.value + a.value * b.first,
                a.second * b.value + 2.0 * (a.first * b.first) + a.value * b.second,
            )
        return Jet(self.value * other, self.first * other, self.second * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            value = self.value / other.value  # q b = a, differentiated twice
            first = (self.first - value * other.first) / other.value
            second = (self.second - 2.0 * (first * other.first) - value * other.second) / other.value
            return Jet(value, first, second)
        return Jet(self.value / other, self.first / other, self.second / other)

    def __rtruediv__(self, other: Any) -> Jet:
        return Jet(other) / self

    def __pow__(self, exponent: int) -> Jet:
        if not isinstance(exponent, int) or exponent < 0:
            raise TypeError(f"jets can be raised to whole powers from 0 only, not {exponent!r}")
        result = Jet(1.0)
        for _ in range(exponent):
            result = result * self
        return result

    def __abs__(self) -> Jet:
        return scalar.where(self < 0.0, -self, self)

    def __lt__(self, other: Any) -> Choice:
        return Choice(self.value < value_of(other))

    def __gt__(self, other: Any) -> Choice:
        return Choice(self.value > value_of(other))

    def __le__(self, other: Any) -> Choice:
        return Choice(self.value <= value_of(other))

    def __ge__(self, other: Any) -> Choice:
        return Choice(self.value >= value_of(other))

    def __repr__(self) -> str:
        return f"Jet({self.value!r}, {self.first!r}, {self.second!r})"

    def through(self, value: Scalar, slope: Scalar, curvature: Scalar) -> Jet:
        """Return the jet of f(self), given f, f' and f'' at the value."""
        return Jet(value, slope * self.first, curvature * (self.first * self.first) + slope * self.second)

    class scalar_functions:
        """Elementary functions of jets, found by :mod:`kinetree.spatial.scalar`."""

        @staticmethod
        def sin(x: Jet) -> Jet:
            """Return the sine."""
            s, c = scalar.sin(x.value), scalar.cos(x.value)
            return x.through(s, c, -s)

        @staticmethod
        def cos(x: Jet) -> Jet:
            """Return the cosine."""
            s, c = scalar.sin(x.value), scalar.cos(x.value)
            return x.through(c, -s, -c)

        @staticmethod
        def sqrt(x: Jet) -> Jet:
            """Return the square root."""
            root = scalar.sqrt(x.value)
            slope = 0.5 / root
            return x.through(root, slope, -0.5 * slope / x.value)

        @staticmethod
        def arctan2(y: Any, x: Any) -> Jet:
            """Return the angle of the point (x, y): its rate is (x y' - y x') / (x^2 + y^2)."""
            a, b = as_jet(y), as_jet(x)
            square = a.value * a.value + b.value * b.value
            first = (b.value * a.first - a.value * b.first) / square
            change = 2.0 * (a.value * a.first + b.value * b.first)
            second = (b.value * a.second - a.value * b.second - first * change) / square
            return Jet(scalar.arctan2(a.value, b.value), first, second)


class Choice:
    """The result of comparing jets, by which ``where`` chooses between jets."""

    __slots__ = ("condition",)

    def __init__(self, condition: Any) -> None:
        self.condition = condition

    def __bool__(self) -> bool:
        """Refuse to give a single truth value for all times, which ``if``, ``max`` and ``min`` need."""
        raise TypeError("a comparison has no truth value while a function is traced: use where(condition, yes, no)")

    def __and__(self, other: Any) -> Choice:
        """Return whether both conditions hold."""
        return Choice(scalar.logical_and(self.condition, _condition(other)))

    __rand__ = __and__

    def __or__(self, other: Any) -> Choice:
        """Return whether one of two conditions holds."""
        return Choice(scalar.logical_or(self.condition, _condition(other)))

    __ror__ = __or__

    def __invert__(self) -> Choice:
        """Return whether a condition does not hold."""
        return Choice(scalar.logical_not(self.condition))

    class scalar_functions:
        """What ``kinetree.where`` calls when its condition is a Choice."""

        @staticmethod
        def where(choice: Choice, yes: Any, no: Any) -> Any:
            """Return one of two values with its derivatives."""
            if not isinstance(yes, Jet) and not isinstance(no, Jet):
                return scalar.where(choice.condition, yes, no)
            a, b = as_jet(yes), as_jet(no)
            parts = ((a.value, b.value), (a.first, b.first), (a.second, b.second))
            return Jet(*(scalar.where(choice.condition, p, q) for p, q in parts))


def _condition(given: Any) -> Any:
    return given.condition if isinstance(given, Choice) else given


def as_jet(x: Any) -> Jet:
    """Return a jet as it is, and a constant as a jet with zero derivatives."""
    return x if isinstance(x, Jet) else Jet(x)


def value_of(x: Any) -> Scalar:
    """Return the number without its derivatives."""
    return x.value if isinstance(x, Jet) else x
