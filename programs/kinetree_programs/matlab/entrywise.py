"""MATLAB functions that work entry by entry, over any scalar."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinetree.spatial import scalar
from kinetree.spatial.arrays import Array
from kinetree.spatial.scalar import Scalar, arctan2, cos, exp, floor, log, sin, sqrt, where

from . import operators
from .values import MatlabError, Matrix, mapped, number_matrix

Value = Any


def _is_array(x: Any) -> bool:
    return isinstance(x, (float, int, np.ndarray))


def _either(of_arrays: Callable[..., Any], of_others: Callable[..., Scalar]) -> Callable[..., Scalar]:
    """Combine NumPy's function for numbers with one made of other functions for any other scalar."""
    return lambda *given: (of_arrays if all(_is_array(x) for x in given) else of_others)(*given)


_tan = _either(np.tan, lambda x: sin(x) / cos(x))
_asin = _either(np.arcsin, lambda x: arctan2(x, sqrt((1.0 - x) * (1.0 + x))))
_acos = _either(np.arccos, lambda x: arctan2(sqrt((1.0 - x) * (1.0 + x)), x))
_atan = _either(np.arctan, lambda x: arctan2(x, 1.0))
_sinh = _either(np.sinh, lambda x: 0.5 * (exp(x) - exp(-x)))
_cosh = _either(np.cosh, lambda x: 0.5 * (exp(x) + exp(-x)))
_trunc = _either(np.trunc, lambda x: where(x < 0.0, -floor(-x), floor(x)))
_sign, _ceil = _either(np.sign, scalar.sign), _either(np.ceil, lambda x: -floor(-x))
_hypot = _either(np.hypot, lambda x, y: sqrt(x * x + y * y))
_log10 = _either(np.log10, lambda x: log(x) / math.log(10.0))
_log2 = _either(np.log2, lambda x: log(x) / math.log(2.0))
smaller = _either(np.fmin, lambda a, b: where(b < a, b, where(a <= a, a, b)))
"""The smaller of two numbers; NaN only if both are."""
larger = _either(np.fmax, lambda a, b: where(b > a, b, where(a <= a, a, b)))
"""The larger of two numbers; NaN only if both are."""


def _round(x: Scalar) -> Scalar:
    """Return the nearest whole number; halves go away from zero."""
    near = floor(abs(x))
    up = where(abs(x) - near < 0.5, near, near + 1.0)
    found = where(x < 0.0, -up, up)
    return np.where(np.isfinite(x), found, x) if isinstance(x, np.ndarray) else found


def _remainder(x: Scalar, y: Scalar, whole: Callable[[Scalar], Scalar], at_zero: Scalar) -> Scalar:
    """Return x - n y with n the quotient without its fraction; zero where only rounding error is left, as in Octave."""
    ratio = operators.divide(x, y)
    near = _round(ratio)
    eps = float(np.finfo(float).eps)
    found = x - y * whole(ratio)
    off = abs(ratio - near) < eps * abs(near)
    fraction = abs(y - _round(y)) > 0.0
    both = scalar.logical_and(off, fraction)
    found = where(both, 0.0 * found, found)
    zero = operators.equal(y, 0.0)
    return where(zero, at_zero, found)


def _mod(x: Scalar, y: Scalar) -> Scalar:
    return _remainder(x, y, floor, x)


def _rem(x: Scalar, y: Scalar) -> Scalar:
    return _remainder(x, y, _trunc, math.nan)


def _inside(low: float, high: float) -> Callable[[Array], Any]:
    return lambda x: (x >= low) & (x <= high) | np.isnan(x)


def _entrywise(
    function: Callable[..., Scalar], real: Callable[[Array], Any] | None = None, count: int = 1
) -> Callable[..., Value]:
    """Return a function of one or more matrices, entry by entry.

    ``real`` tests whether the result is real for known numbers; otherwise MATLAB's result is complex, which is an error
    here.
    """

    def of_matrices(*given: Value) -> Value:
        if len(given) != count:
            raise MatlabError(f"it takes {count} arguments, but got {len(given)}")
        matrices = [number_matrix(x) for x in given]
        if real is not None:
            floats = np.array([x for x in matrices[0].entries() if isinstance(x, (float, int))], dtype=float)
            if not np.all(real(floats)):
                raise MatlabError("its result is complex, which is not supported")
        return mapped(function, *matrices)

    return of_matrices


def _of_numbers_only(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function that refuses logical values, as Octave does."""

    def of_numbers(*given: Value) -> Value:
        if any(isinstance(x, Matrix) and x.logical for x in given):
            raise MatlabError("it takes numbers, not logical values: write double(x)")
        return function(*given)

    return of_numbers


_UNIT, _FROM_ZERO = _inside(-1.0, 1.0), _inside(0.0, math.inf)

_OPERATORS = {"plus": "+", "minus": "-", "times": ".*", "rdivide": "./", "power": ".^", "mtimes": "*", "mldivide": "\\",
              "mrdivide": "/"}  # fmt: skip

ENTRYWISE: dict[str, Callable[..., Value]] = {
    "sin": _entrywise(sin), "cos": _entrywise(cos), "tan": _entrywise(_tan),
    "cot": _entrywise(lambda x: operators.divide(1.0, _tan(x)) if not isinstance(x, np.ndarray) else 1.0 / np.tan(x)),
    "sec": _entrywise(lambda x: 1.0 / cos(x)),
    "csc": _entrywise(lambda x: operators.divide(1.0, sin(x)) if not isinstance(x, np.ndarray) else 1.0 / np.sin(x)),
    "asin": _entrywise(_asin, _UNIT), "acos": _entrywise(_acos, _UNIT), "atan": _entrywise(_atan),
    "atan2": _entrywise(arctan2, count=2), "sinh": _entrywise(_sinh), "cosh": _entrywise(_cosh),
    "tanh": _entrywise(scalar.tanh), "sqrt": _entrywise(sqrt, _FROM_ZERO), "exp": _entrywise(exp),
    "log": _entrywise(log, _FROM_ZERO), "log10": _entrywise(_log10, _FROM_ZERO), "log2": _entrywise(_log2, _FROM_ZERO),
    "abs": _entrywise(abs), "sign": _entrywise(_sign), "floor": _entrywise(floor), "ceil": _entrywise(_ceil),
    "round": _entrywise(_round), "fix": _entrywise(_trunc), "hypot": _entrywise(_hypot, count=2),
    "mod": _of_numbers_only(_entrywise(_mod, count=2)), "rem": _of_numbers_only(_entrywise(_rem, count=2)),
    "deg2rad": _entrywise(lambda x: x * (math.pi / 180.0)), "rad2deg": _entrywise(lambda x: x * (180.0 / math.pi)),
    "real": _entrywise(lambda x: x), "conj": _entrywise(lambda x: x),
    **{name: partial(operators.binary, sign) for name, sign in _OPERATORS.items()},
}  # fmt: skip
"""Functions of entries, by name."""
