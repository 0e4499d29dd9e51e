"""Exponentials and logarithms built from the operations that graphs have: arithmetic, comparisons and tables.

Powers of two are looked up, the rest is a short polynomial: errors are some units in the last digit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_LOG2_HIGH = 0.6931471803691238
"""The logarithm of two, with so few digits that integer multiples of it are exact; and the remainder."""
_LOG2_LOW = 1.9082149292705877e-10

_LOWEST, _OFFSET, _HIGHEST = -746.0, 1080, 710.0
"""Limits beyond which exponentials are zero and infinite; and the row of the table that stands for 2^0."""


def _powers() -> np.ndarray:
    """Return k, and two factors whose product is 2^k, for integers k."""
    k = np.arange(-_OFFSET, 1030)
    half = k // 2
    return np.ascontiguousarray(np.stack([k, np.ldexp(1.0, half), np.ldexp(1.0, k - half)], axis=1), dtype=float)


_POWERS = _powers()


def exp(x: Any) -> Any:
    """Return e^x = 2^k e^r, k being the integer nearest to x / log 2."""
    functions = type(x).scalar_functions
    x = functions.where(x < _LOWEST, _LOWEST, functions.where(x > _HIGHEST, _HIGHEST, x))
    row = x * (1.0 / math.log(2.0)) + (_OFFSET + 0.5)
    k, first, second = (functions.gather(_POWERS, column, row) for column in range(3))
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    return _horner(r, [1.0 / math.factorial(n) for n in range(14)]) * first * second


def log(x: Any) -> Any:
    """Return the natural logarithm of x = m 2^k with m near one; NaN below zero."""
    where = type(x).scalar_functions.where
    tiny = x < 2.0**-1000
    m, k = where(tiny, x * 2.0**100, x), where(tiny, -100.0, 0.0)
    for n in range(9, -1, -1):
        p = 2**n
        small = m < 2.0**-p
        m, k = where(small, m * 2.0**p, m), where(small, k - p, k)
        large = m > 2.0**p
        m, k = where(large, m * 2.0**-p, m), where(large, k + p, k)
    above = m > math.sqrt(2.0)
    m, k = where(above, 0.5 * m, m), where(above, k + 1.0, k)
    below = m < math.sqrt(0.5)
    m, k = where(below, 2.0 * m, m), where(below, k - 1.0, k)
    s = (m - 1.0) / (m + 1.0)
    found = k * _LOG2_HIGH + (k * _LOG2_LOW + 2.0 * s * _horner(s * s, [1.0 / (2 * n + 1) for n in range(12)]))
    found = where(x > np.finfo(float).max, x, found)
    return where(x > 0.0, found, -1.0 / abs(type(x).scalar_functions.sqrt(x)))  # minus infinity for -0.0, too


def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent: by exponentials, or by its continued fraction where these cancel."""
    where = type(x).scalar_functions.where
    square = x * x
    denominator: Any = 17.0
    for odd in (15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        denominator = odd + square / denominator
    less = exp(-2.0 * abs(x))
    far = (1.0 - less) / (1.0 + less)
    return where(abs(x) < 0.5, x / denominator, where(x < 0.0, -far, far))


def _horner(x: Any, coefficients: list[float]) -> Any:
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def power(x: Any, exponent: Any) -> Any:
    """Return x to any finite power, e^(y log x); NaN below zero."""
    if isinstance(exponent, (int, float)) and not math.isfinite(exponent):
        raise TypeError(f"traced values cannot be raised to the power {exponent!r}")
    return exp(log(x) * exponent)


def power_of(base: Any, x: Any) -> Any:
    """Return a number to a power that is not known yet."""
    if not base > 0.0:
        raise TypeError(f"a power that is not known yet needs a base above zero, not {base!r}")
    return exp(x * math.log(base))
