"""Functions of MATLAB that go entry by entry, over any scalar."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....spatial import scalar
from ....spatial.scalar import Scalar, arctan2, cos, exp, floor, log, sin, sqrt, where
from . import operators
from .values import MatlabError, Matrix, mapped, number_matrix

Array = np.ndarray
Value = Any


def _is_array(x: Any) -> bool:
    return isinstance(x, (float, int, np.ndarray))


def _tan(x: Scalar) -> Scalar:
    return np.tan(x) if _is_array(x) else sin(x) / cos(x)


def _asin(x: Scalar) -> Scalar:
    return np.arcsin(x) if _is_array(x) else arctan2(x, sqrt((1.0 - x) * (1.0 + x)))


def _acos(x: Scalar) -> Scalar:
    return np.arccos(x) if _is_array(x) else arctan2(sqrt((1.0 - x) * (1.0 + x)), x)


def _atan(x: Scalar) -> Scalar:
    return np.arctan(x) if _is_array(x) else arctan2(x, 1.0)


def _sinh(x: Scalar) -> Scalar:
    return np.sinh(x) if _is_array(x) else 0.5 * (exp(x) - exp(-x))


def _cosh(x: Scalar) -> Scalar:
    return np.cosh(x) if _is_array(x) else 0.5 * (exp(x) + exp(-x))


def _trunc(x: Scalar) -> Scalar:
    return np.trunc(x) if _is_array(x) else where(x < 0.0, -floor(-x), floor(x))


def _round(x: Scalar) -> Scalar:
    """Return the nearest whole number; halves go away from zero."""
    near = floor(abs(x))
    up = where(abs(x) - near < 0.5, near, near + 1.0)
    found = where(x < 0.0, -up, up)
    return np.where(np.isfinite(x), found, x) if isinstance(x, np.ndarray) else found


def _sign(x: Scalar) -> Scalar:
    return np.sign(x) if _is_array(x) else scalar.sign(x)


def _ceil(x: Scalar) -> Scalar:
    return np.ceil(x) if _is_array(x) else -floor(-x)


def _remainder(x: Scalar, y: Scalar, whole: Callable[[Scalar], Scalar], at_zero: Scalar) -> Scalar:
    """Return x - n y, n being the quotient without its fraction; zero where that is rounding, as Octave has it."""
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


def _hypot(x: Scalar, y: Scalar) -> Scalar:
    return np.hypot(x, y) if _is_array(x) and _is_array(y) else sqrt(x * x + y * y)


def smaller(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two numbers; NaN only if both are."""
    if _is_array(a) and _is_array(b):
        return np.fmin(a, b)
    return where(b < a, b, where(a <= a, a, b))


def larger(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two numbers; NaN only if both are."""
    if _is_array(a) and _is_array(b):
        return np.fmax(a, b)
    return where(b > a, b, where(a <= a, a, b))


def _inside(low: float, high: float) -> Callable[[Array], Any]:
    return lambda x: (x >= low) & (x <= high) | np.isnan(x)


def _entrywise(
    function: Callable[..., Scalar], real: Callable[[Array], Any] | None = None, count: int = 1
) -> Callable[..., Value]:
    """Return a function of one or more matrices, entry by entry.

    ``real`` says for which known numbers the result is real: of others MATLAB's is complex, and an error here.
    """

    def of_matrices(*given: Value) -> Value:
        if len(given) != count:
            raise MatlabError(f"it takes {count} arguments, and {len(given)} are given")
        matrices = [number_matrix(x) for x in given]
        if real is not None:
            floats = np.array([x for x in matrices[0].entries() if isinstance(x, (float, int))], dtype=float)
            if not np.all(real(floats)):
                raise MatlabError("its result is complex, which is not known here")
        return mapped(function, *matrices)

    return of_matrices


def _of_numbers_only(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function that refuses truths, as Octave does."""

    def of_numbers(*given: Value) -> Value:
        if any(isinstance(x, Matrix) and x.logical for x in given):
            raise MatlabError("it is of numbers, not of truths: write double(x)")
        return function(*given)

    return of_numbers


ENTRYWISE: dict[str, Callable[..., Value]] = {
    "sin": _entrywise(sin),
    "cos": _entrywise(cos),
    "tan": _entrywise(_tan),
    "cot": _entrywise(lambda x: operators.divide(1.0, _tan(x)) if not isinstance(x, np.ndarray) else 1.0 / np.tan(x)),
    "sec": _entrywise(lambda x: 1.0 / cos(x)),
    "csc": _entrywise(lambda x: operators.divide(1.0, sin(x)) if not isinstance(x, np.ndarray) else 1.0 / np.sin(x)),
    "asin": _entrywise(_asin, _inside(-1.0, 1.0)),
    "acos": _entrywise(_acos, _inside(-1.0, 1.0)),
    "atan": _entrywise(_atan),
    "atan2": _entrywise(arctan2, count=2),
    "sinh": _entrywise(_sinh),
    "cosh": _entrywise(_cosh),
    "tanh": _entrywise(scalar.tanh),
    "sqrt": _entrywise(sqrt, _inside(0.0, math.inf)),
    "exp": _entrywise(exp),
    "log": _entrywise(log, _inside(0.0, math.inf)),
    "log10": _entrywise(lambda x: np.log10(x) if _is_array(x) else log(x) / math.log(10.0), _inside(0.0, math.inf)),
    "log2": _entrywise(lambda x: np.log2(x) if _is_array(x) else log(x) / math.log(2.0), _inside(0.0, math.inf)),
    "abs": _entrywise(abs),
    "sign": _entrywise(_sign),
    "floor": _entrywise(floor),
    "ceil": _entrywise(_ceil),
    "round": _entrywise(_round),
    "fix": _entrywise(_trunc),
    "mod": _of_numbers_only(_entrywise(_mod, count=2)),
    "rem": _of_numbers_only(_entrywise(_rem, count=2)),
    "hypot": _entrywise(_hypot, count=2),
    "deg2rad": _entrywise(lambda x: x * (math.pi / 180.0)),
    "rad2deg": _entrywise(lambda x: x * (180.0 / math.pi)),
    "real": _entrywise(lambda x: x),
    "conj": _entrywise(lambda x: x),
    "plus": lambda a, b: operators.binary("+", a, b),
    "minus": lambda a, b: operators.binary("-", a, b),
    "times": lambda a, b: operators.binary(".*", a, b),
    "rdivide": lambda a, b: operators.binary("./", a, b),
    "power": lambda a, b: operators.binary(".^", a, b),
    "mtimes": lambda a, b: operators.binary("*", a, b),
    "mldivide": lambda a, b: operators.binary("\\", a, b),
    "mrdivide": lambda a, b: operators.binary("/", a, b),
}
"""Functions of entries, by name."""
