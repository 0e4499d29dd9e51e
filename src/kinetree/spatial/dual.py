"""Dual numbers over any scalar: exact derivatives of user functions.

``Dual(x, 1)`` pushed through a function gives its value and its derivative; duals of
duals give second derivatives.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import scalar
from .scalar import Scalar


class Dual:
    """A value and its derivative along one direction."""

    __slots__ = ("rate", "value")

    def __init__(self, value: Scalar, rate: Scalar = 0.0) -> None:
        self.value, self.rate = value, rate

    @staticmethod
    def _parts(x: Any) -> tuple[Scalar, Scalar]:
        return (x.value, x.rate) if isinstance(x, Dual) else (x, 0.0)

    def __add__(self, other: Any) -> Dual:
        v, r = self._parts(other)
        return Dual(self.value + v, self.rate + r)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        v, r = self._parts(other)
        return Dual(self.value - v, self.rate - r)

    def __rsub__(self, other: Any) -> Dual:
        return -self + other

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __abs__(self) -> Dual:
        return Dual(abs(self.value), scalar.sign(self.value) * self.rate)

    def __mul__(self, other: Any) -> Dual:
        v, r = self._parts(other)
        return Dual(self.value * v, self.rate * v + self.value * r)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        v, r = self._parts(other)
        quotient = self.value / v
        return Dual(quotient, (self.rate - quotient * r) / v)

    def __rtruediv__(self, other: Any) -> Dual:
        return Dual(other) / self

    def __pow__(self, exponent: int | float) -> Dual:
        if exponent == 0:  # 0 * x**-1 would be 0/0 at x = 0
            return Dual(1.0)
        if exponent == 1:
            return self
        return Dual(self.value**exponent, exponent * self.value ** (exponent - 1) * self.rate)

    def __lt__(self, other: Any) -> Any:
        return self.value < self._parts(other)[0]

    def __gt__(self, other: Any) -> Any:
        return self.value > self._parts(other)[0]

    def __le__(self, other: Any) -> Any:
        return self.value <= self._parts(other)[0]

    def __ge__(self, other: Any) -> Any:
        return self.value >= self._parts(other)[0]

    @classmethod
    def chosen_by(cls, condition: Any, yes: Any, no: Any) -> Dual:
        """Choose between two values, lane by lane, along with their derivatives."""
        (yv, yr), (nv, nr) = cls._parts(yes), cls._parts(no)
        return cls(scalar.where(condition, yv, nv), scalar.where(condition, yr, nr))

    class scalar_functions:
        """Elementary functions of dual numbers, found by :mod:`kinetree.spatial.scalar`."""

        @staticmethod
        def sin(x: Dual) -> Dual:
            """Return the sine."""
            return Dual(scalar.sin(x.value), scalar.cos(x.value) * x.rate)

        @staticmethod
        def cos(x: Dual) -> Dual:
            """Return the cosine."""
            return Dual(scalar.cos(x.value), -scalar.sin(x.value) * x.rate)

        @staticmethod
        def sqrt(x: Dual) -> Dual:
            """Return the square root."""
            root = scalar.sqrt(x.value)
            return Dual(root, x.rate / (root + root))

        @staticmethod
        def exp(x: Dual) -> Dual:
            """Return the exponential."""
            value = scalar.exp(x.value)
            return Dual(value, value * x.rate)

        @staticmethod
        def log(x: Dual) -> Dual:
            """Return the natural logarithm."""
            return Dual(scalar.log(x.value), x.rate / x.value)

        @staticmethod
        def tanh(x: Dual) -> Dual:
            """Return the hyperbolic tangent."""
            value = scalar.tanh(x.value)
            return Dual(value, (1.0 - value * value) * x.rate)

        @staticmethod
        def arctan2(y: Any, x: Any) -> Dual:
            """Return the angle of the point (x, y)."""
            (yv, yr), (xv, xr) = Dual._parts(y), Dual._parts(x)
            return Dual(scalar.arctan2(yv, xv), (xv * yr - yv * xr) / (xv * xv + yv * yv))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Make ``ndarray * dual`` and ``np.sin(dual)`` work, with a whole batch as one value."""
        function = _UFUNCS.get(ufunc)
        if function is None or method != "__call__" or options:
            return NotImplemented
        return function(*(x if isinstance(x, Dual) else Dual(x) for x in inputs))


_UFUNCS: dict[Any, Any] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.negative: operator.neg,
    np.absolute: operator.abs,
    np.exp: Dual.scalar_functions.exp,
    np.log: Dual.scalar_functions.log,
    np.tanh: Dual.scalar_functions.tanh,
    np.sin: Dual.scalar_functions.sin,
    np.cos: Dual.scalar_functions.cos,
    np.sqrt: Dual.scalar_functions.sqrt,
    np.arctan2: Dual.scalar_functions.arctan2,
}
