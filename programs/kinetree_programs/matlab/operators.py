"""MATLAB's operators on matrices over any scalar."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.spatial import linear_systems
from kinetree.spatial.arrays import Array
from kinetree.spatial.scalar import Scalar, exp, logical_and, logical_not, logical_or, sqrt, where

from . import values
from .values import MatlabError, Matrix, mapped, number_matrix, settled, shown

SINGULAR = 1e-15
"""Reciprocal condition number below which equations are not solved; MATLAB warns, and its result is rounding error."""


def binary(operator: str, left: Any, right: Any) -> Matrix:
    """Apply an operator to two values; ``&&`` and ``||`` are left to the evaluator."""
    if operator in ("==", "~=") and isinstance(left, str) and isinstance(right, str):
        raise MatlabError("comparing texts letter by letter is not supported: write strcmp(a, b)")
    if operator in _LOGICAL:
        return mapped(_LOGICAL[operator], truths(left), truths(right), logical=True)
    a, b = number_matrix(left, "the left side"), number_matrix(right, "the right side")
    if operator in _COMPARED:
        return mapped(_COMPARED[operator], a, b, logical=True)
    if operator in _ENTRYWISE:
        return mapped(_ENTRYWISE[operator], a, b)
    return _OF_MATRICES[operator](a, b)


def unary(operator: str, value: Any) -> Matrix:
    """Apply a sign or negation to a value."""
    if operator == "~":
        return mapped(_not, truths(value), logical=True)
    m = number_matrix(value, "the value after the sign")
    return m if operator == "+" else mapped(lambda x: -x, m)


def truths(value: Any) -> Matrix:
    """Convert numbers to logical values: all but zero are true, and NaN is refused."""
    m = value if isinstance(value, Matrix) else number_matrix(value)
    if m.logical:
        return m
    if m.is_plain and np.isnan(m.data).any():
        raise MatlabError("NaN is neither true nor false")
    return mapped(lambda x: x != 0.0 if m.is_plain else values.unequal(x, 0.0), m, logical=True)


def range_of(first: Any, step: Any, last: Any) -> Matrix:
    """Return ``first:step:last``."""
    if any(isinstance(x, Matrix) and x.logical for x in (first, step, last)):
        raise MatlabError("a range consists of numbers, not logical values")
    given = [values.known(x, "a number of the range").ravel(order="F") for x in (first, step, last)]
    if any(x.size == 0 for x in given):
        return Matrix(np.zeros((1, 0)))
    if any(x.size != 1 for x in given):
        raise MatlabError("a range consists of single numbers")
    low, by, high = (float(x[0]) for x in given)
    if not all(map(math.isfinite, (low, by, high))):
        raise MatlabError(f"a range from {low:g} in steps of {by:g} to {high:g}")
    if by == 0.0 or ((by > 0.0) != (high >= low) and high != low):
        return Matrix(np.zeros((1, 0)))
    ratio = (high - low) / by
    values.limited(ratio)
    count = math.floor(ratio + 3.0 * np.finfo(float).eps * max(1.0, abs(ratio))) + 1  # the last may be off by rounding
    found = low + by * np.arange(count)
    found = np.minimum(found, high) if by > 0.0 else np.maximum(found, high)
    return Matrix(found[None, :])


# ---------------------------------------------------------------- entry by entry


def _not(x: Any) -> Any:
    return ~x if isinstance(x, np.ndarray) else logical_not(bool(x) if isinstance(x, np.bool_) else x)


def equal(a: Any, b: Any) -> Any:
    """Return whether two scalars are equal, using only comparisons that any scalar has."""
    if _is_plain(a) and _is_plain(b):
        return a == b
    return logical_and(a <= b, a >= b)


def unequal(a: Any, b: Any) -> Any:
    """Return whether two scalars differ."""
    return a != b if _is_plain(a) and _is_plain(b) else _not(equal(a, b))


def _is_plain(x: Any) -> bool:
    return isinstance(x, (float, int, np.ndarray))


def power(a: Scalar, b: Scalar) -> Scalar:
    """Return a to the power of b; if a is not known yet, b must be a whole or half number."""
    if _is_plain(a) and _is_plain(b):
        base, exponent = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        found = np.power(base, exponent)
        if base.ndim == 0 == exponent.ndim:
            found = float(found)
        return found
    if isinstance(b, (float, int)):
        if b == 2.0:
            return a * a
        if 2.0 * b == math.floor(2.0 * b) and abs(b) <= 64.0:
            return _whole_power(a, b)
    if isinstance(a, (float, int)) and a > 0.0:
        return exp(b * math.log(a))
    raise MatlabError("exponents must be whole or half if the base depends on time or state: write exp(y*log(x))")


def _whole_power(a: Scalar, b: float) -> Scalar:
    found: Scalar = 1.0
    for _ in range(int(abs(b))):
        found = found * a
    if abs(b) != int(abs(b)):
        found = found * sqrt(a)
    return 1.0 / found if b < 0.0 else found


def divide(a: Scalar, b: Scalar) -> Scalar:
    """Return a / b, infinite or NaN where b is zero."""
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return float(np.float64(a) / np.float64(b))
    return a / b


def real_power(a: Matrix, b: Matrix) -> Matrix:
    """Return powers entry by entry; fractional powers of negative numbers are complex and refused."""
    if a.is_plain and b.is_plain:
        x, y = np.broadcast_arrays(a.data, b.data) if _same_axes(a, b) else (a.data, b.data)
        if ((x < 0.0) & (y != np.floor(y)) & np.isfinite(x) & np.isfinite(y)).any():
            raise MatlabError("a negative number to a fractional power is complex, which is not supported")
    return mapped(power, a, b)


def _same_axes(a: Matrix, b: Matrix) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


_LOGICAL: dict[str, Callable[..., Any]] = {"&": lambda a, b: logical_and(a, b), "|": lambda a, b: logical_or(a, b)}
_COMPARED: dict[str, Callable[..., Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": equal,
    "~=": unequal,
}
_ENTRYWISE: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    ".*": lambda a, b: a * b,
    "./": divide,
    ".\\": lambda a, b: divide(b, a),
}


# ---------------------------------------------------------------- whole matrices


def product(a: Matrix, b: Matrix) -> Matrix:
    """Return a * b for matrices, or a number and a matrix."""
    if a.size == 1 or b.size == 1:
        return mapped(lambda x, y: x * y, a, b)
    if a.data.ndim > 2 or b.data.ndim > 2 or a.shape[1] != b.shape[0]:
        raise MatlabError(f"a {shown(a)} and a {shown(b)} matrix cannot be multiplied")
    values.limited(a.shape[0] * b.shape[1])
    if a.is_plain and b.is_plain:
        return Matrix(a.data @ b.data)
    data = np.empty((a.shape[0], b.shape[1]), dtype=object)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            data[i, j] = linear_systems.dot(list(a.data[i]), list(b.data[:, j]))
    return settled(data)


def left_divide(a: Matrix, b: Matrix) -> Matrix:
    r"""Return a \ b: the solution of a x = b."""
    if a.size == 1:
        return mapped(lambda x, y: divide(y, x), a, b)
    if a.data.ndim > 2 or b.data.ndim > 2 or a.shape[0] != b.shape[0]:
        raise MatlabError(f"{shown(a)} equations do not fit a {shown(b)} right side")
    if a.is_plain and b.is_plain:
        return Matrix(_solved(a.data, b.data))
    if a.shape[0] != a.shape[1]:
        raise MatlabError(f"{shown(a)} equations that depend on time or state must be as many as unknowns")
    columns = [linear_systems.lu_solve(_rows(a), list(b.data[:, j])) for j in range(b.shape[1])]
    return values.of([[column[i] for column in columns] for i in range(a.shape[1])])


def _rows(m: Matrix) -> list[list[Scalar]]:
    return [list(row) for row in m.data]


def _solved(a: Array, b: Array) -> Array:
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise MatlabError("the equations have an entry that is not finite")
    if not a.size:
        return np.zeros((a.shape[1], b.shape[1]))
    sizes = np.linalg.svd(a, compute_uv=False)
    if not sizes.min() > SINGULAR * sizes.max():
        raise MatlabError("singular equations: MATLAB solves them with a warning, but its result is rounding error")
    if a.shape[0] == a.shape[1]:
        return np.linalg.solve(a, b)
    return np.linalg.lstsq(a, b, rcond=None)[0]


def right_divide(a: Matrix, b: Matrix) -> Matrix:
    """Return a / b."""
    if b.size == 1:
        return mapped(divide, a, b)
    return values.transposed(left_divide(values.transposed(b), values.transposed(a)))


def matrix_power(a: Matrix, b: Matrix) -> Matrix:
    """Return a ^ b for numbers, or a square matrix and a whole number."""
    if a.size == 1 and b.size == 1:
        return real_power(a, b)
    exponent = values.known_number(b, "the exponent of a matrix")
    if a.data.ndim > 2 or a.shape[0] != a.shape[1]:
        raise MatlabError(f"a {shown(a)} matrix has no powers: ^ is for square matrices, .^ for entries")
    if exponent != int(exponent) or not 0 <= exponent <= 64:
        raise MatlabError(f"exponents of matrices are whole numbers from 0 to 64 here, not {exponent:g}")
    found = Matrix(np.eye(a.shape[0]))
    for _ in range(int(exponent)):
        found = product(found, a)
    return found


def inverse(a: Matrix) -> Matrix:
    """Return the inverse of a square matrix."""
    if a.data.ndim > 2 or a.shape[0] != a.shape[1]:
        raise MatlabError(f"a {shown(a)} matrix has no inverse")
    return left_divide(a, Matrix(np.eye(a.shape[0]))) if a.size != 1 else mapped(lambda x: divide(1.0, x), a)


def determinant(a: Matrix) -> Matrix:
    """Return the determinant."""
    if a.data.ndim > 2 or a.shape[0] != a.shape[1]:
        raise MatlabError(f"a {shown(a)} matrix has no determinant")
    if a.is_plain:
        return values.of(float(np.linalg.det(a.data)) if a.size else 1.0)
    return values.of(linear_systems.lu_determinant(_rows(a)))


_OF_MATRICES: dict[str, Callable[[Matrix, Matrix], Matrix]] = {
    "*": product, "/": right_divide, "\\": left_divide, "^": matrix_power, ".^": real_power,
}  # fmt: skip


def chosen(condition: Any, yes: Matrix, no: Matrix) -> Matrix:
    """Choose between two matrices of the same shape, entry by entry."""
    if yes.logical != no.logical:
        yes, no = yes.numbers(), no.numbers()
    if yes.logical:
        both = mapped(lambda a, b: logical_or(logical_and(condition, a), logical_and(_not(condition), b)), yes, no,
                      logical=True)  # fmt: skip
        return both
    return _entry_by_entry(lambda a, b: where(condition, a, b), yes, no)


def _entry_by_entry(function: Callable[[Any, Any], Any], a: Matrix, b: Matrix) -> Matrix:
    data = np.empty(a.shape, dtype=object)
    for place in np.ndindex(a.shape):
        x, y = a.data[place], b.data[place]
        x, y = (float(z) if isinstance(z, (np.floating, int)) else z for z in (x, y))
        data[place] = x if _same(x, y) else function(x, y)
    return settled(data)


def _same(x: Any, y: Any) -> bool:
    return x is y or (
        isinstance(x, float) and isinstance(y, float) and (x == y and math.copysign(1.0, x) == math.copysign(1.0, y))
    )
