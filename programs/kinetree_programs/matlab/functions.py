"""MATLAB's usual functions, each over any scalar as far as possible.

A function takes values and returns one, or a tuple where MATLAB has several outputs.  A function that needs known
numbers, such as a sort or a matrix of a given size, raises an error for others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from kinetree.spatial import scalar
from kinetree.spatial.arrays import Array
from kinetree.spatial.scalar import Scalar, sqrt

from . import operators, values
from .entrywise import ENTRYWISE, larger, smaller
from .values import Cell, MatlabError, MatlabStruct, Matrix, mapped, number_matrix, settled, shown, whole_numbers

Value = Any


# ---------------------------------------------------------------- along an axis


def _axis(m: Matrix, given: Value | None) -> int:
    """Return the axis, counted from 0: the one given, or the first whose length is not one."""
    if given is not None:
        return whole_numbers(given, "the axis", 1)[0] - 1
    return next((k for k, n in enumerate(m.shape) if n != 1), 0)


def _folded_along(m: Matrix, axis: int, start: Scalar | None, step: Callable[[Scalar, Scalar], Scalar]) -> Matrix:
    """Reduce a matrix along an axis."""
    if m.shape == (0, 0) and axis == 0:
        return Matrix(np.zeros((0, 0))) if start is None else values.of(start)
    if axis >= m.data.ndim:
        return m
    lines = np.moveaxis(m.data, axis, -1)
    shape = list(m.shape)
    shape[axis] = 1 if start is not None or m.shape[axis] else 0
    data = np.empty(lines.shape[:-1], dtype=object)
    for place in np.ndindex(lines.shape[:-1]):
        entries = list(lines[place])
        total = start
        for x in entries:
            total = x if total is None else step(total, x)
        data[place] = total
    return settled(data.reshape(shape) if shape[axis] else np.zeros(shape))


def _sum(x: Value, axis: Value | None = None) -> Value:
    m = number_matrix(x)
    if m.is_plain and m.shape != (0, 0):
        along = _axis(m, axis)
        return m if along >= m.data.ndim else settled(m.data.sum(axis=along, keepdims=True))
    return _folded_along(m, _axis(m, axis), 0.0, lambda a, b: a + b)


def _prod(x: Value, axis: Value | None = None) -> Value:
    m = number_matrix(x)
    return _folded_along(m, _axis(m, axis), 1.0, lambda a, b: a * b)


def _mean(x: Value, axis: Value | None = None) -> Value:
    m = number_matrix(x)
    if not m.size:
        raise MatlabError("the mean of an empty matrix is undefined")
    along = _axis(m, axis)
    count = m.shape[along] if along < m.data.ndim else 1
    return mapped(lambda s: s / count, _sum(m, values.of(along + 1.0)))


def _running(step: Callable[[Scalar, Scalar], Scalar], x: Value, axis: Value | None = None) -> Value:
    m = number_matrix(x)
    along = _axis(m, axis)
    if along >= m.data.ndim:
        return m
    data = np.moveaxis(m.data.astype(object), along, 0).copy()
    for k in range(1, len(data)):
        for place in np.ndindex(data.shape[1:]):
            data[(k, *place)] = step(data[(k - 1, *place)], data[(k, *place)])
    return settled(np.moveaxis(data, 0, along))


def _diff(x: Value) -> Value:
    m = number_matrix(x)
    along = _axis(m, None)
    if m.shape[along] < 2:
        return Matrix(np.zeros((0, 0)))
    data = np.moveaxis(m.data, along, 0)
    return settled(np.moveaxis(data[1:] - data[:-1], 0, along))


def _extreme(
    pick: Callable[[Scalar, Scalar], Scalar], x: Value, y: Value | None = None, axis: Value | None = None
) -> Value:
    """Return ``max`` or ``min``, of two matrices entry by entry, or along an axis with indices."""
    m = number_matrix(x)
    if y is not None:
        other = number_matrix(y)
        if other.shape != (0, 0) or axis is None:
            if other.shape == (0, 0) or m.shape == (0, 0):
                raise MatlabError("max() and min() of a number and an empty matrix are undefined")
            return mapped(pick, m, other)
    along = _axis(m, axis)
    found = _folded_along(m, along, None, pick)
    if not m.is_plain or not m.size or along >= m.data.ndim:
        return found
    blank = np.isnan(m.data).all(axis=along, keepdims=True)
    filled = np.where(np.isnan(m.data), -np.inf if pick is larger else np.inf, m.data)
    first = np.expand_dims((filled.argmax if pick is larger else filled.argmin)(axis=along), along) + 1.0
    return found, settled(np.where(blank, 1.0, first))


def _all_or_any(every: bool, x: Value, axis: Value | None = None) -> Value:
    m = operators.truths(x)
    if m.data.ndim > 2:
        raise MatlabError("all() and any() take rows, columns and matrices here")
    along = _axis(m, axis)
    if m.shape == (0, 0) and axis is None:
        return values.truth(every)
    if along >= m.data.ndim:
        return m
    lines = m.data if along == 0 else m.data.T
    join = scalar.logical_and if every else scalar.logical_or
    data = np.empty(lines.shape[1], dtype=object)
    for k in range(lines.shape[1]):
        entries = [bool(e) if isinstance(e, np.bool_) else e for e in lines[:, k]]
        data[k] = join(*entries)
    return settled(data.reshape((1, -1) if along == 0 else (-1, 1)), logical=True)


def _sort(x: Value) -> Value:
    m = number_matrix(x)
    data = values.known(m, "what is sorted")
    along = _axis(m, None)
    order = np.argsort(data, axis=along, kind="stable")
    return Matrix(np.take_along_axis(data, order, axis=along)), Matrix(order + 1.0)


def _find(x: Value) -> Value:
    m = operators.truths(x)
    flags = values.known(m, "what is looked for") != 0.0
    if flags.ndim > 2:
        raise MatlabError("find() takes rows, columns and matrices here")
    found = np.flatnonzero(flags.ravel(order="F")) + 1.0
    if m.shape == (0, 0) or m.shape == (1, 1):
        return Matrix(found.reshape(len(found), len(found)))
    return Matrix(found[None, :] if m.shape[0] == 1 else found[:, None])


# ---------------------------------------------------------------- matrices


def _sizes(given: Sequence[Value]) -> tuple[int, ...]:
    """Return a shape: one number means a square, one vector the whole shape."""
    if not given:
        return (1, 1)
    found = [max(0, int(n)) for x in given for n in _sizes_of(x)]
    if len(given) > 1 and len(found) != len(given):
        raise MatlabError("sizes are single numbers, or one vector of them")
    if len(found) < 1:
        raise MatlabError("a size is missing")
    shape = (found[0], found[0]) if len(found) == 1 else tuple(found)
    values.limited(math.prod(shape))
    return shape


def _sizes_of(x: Value) -> list[float]:
    found: list[float] = values.known(x, "a size").ravel(order="F").tolist()
    for n in found:
        if not abs(n) <= values.MOST_ENTRIES or n != math.floor(n):
            raise MatlabError(f"a size must be a whole number, not {n:g}")
    return found


def _full(number: float, logical: bool = False) -> Callable[..., Value]:
    return lambda *given: settled(np.full(_sizes(given), number), logical)


def _eye(*given: Value) -> Value:
    shape = _sizes(given)
    if len(shape) != 2:
        raise MatlabError("eye() has rows and columns")
    return Matrix(np.eye(*shape))


def _size(x: Value, axis: Value | None = None) -> Value:
    shape = _shape(x)
    if axis is not None:
        places = whole_numbers(axis, "the axis of size()", 1)
        return Matrix(np.array([[float(shape[k - 1]) if k <= len(shape) else 1.0 for k in places]]))
    return Matrix(np.array([shape], dtype=float))


def sizes_for(x: Value, count: int) -> tuple[Value, ...]:
    """Return what ``[a, b] = size(x)`` gives: the last output is the product of all remaining axes."""
    shape = [*_shape(x), *(1,) * count]
    found = [float(n) for n in shape[: count - 1]]
    return tuple(values.of(n) for n in [*found, float(math.prod(shape[count - 1 :]))])


def _shape(x: Value) -> tuple[int, ...]:
    if isinstance(x, Matrix):
        return x.shape
    if isinstance(x, str):
        return (1, len(x)) if x else (0, 0)
    if isinstance(x, Cell):
        return x.data.shape
    return (1, 1)


def _count(x: Value) -> float:
    return float(math.prod(_shape(x)))


def _length(x: Value) -> Value:
    return values.of(float(max(_shape(x))) if _count(x) else 0.0)


def _reshape(x: Value, *sizes: Value) -> Value:
    m = x if isinstance(x, Matrix) else number_matrix(x)
    blank = [k for k, s in enumerate(sizes) if isinstance(s, Matrix) and s.shape == (0, 0)]
    if len(sizes) > 1 and len(blank) == 1:
        others = [n for k, s in enumerate(sizes) if k not in blank for n in whole_numbers(s, "a size", 0)]
        rest, left = divmod(m.size, math.prod(others) or 1)
        if left or len(others) != len(sizes) - 1:
            raise MatlabError(f"a {shown(m)} matrix cannot be divided among {others}")
        shape = [*others[: blank[0]], rest, *others[blank[0] :]]
    else:
        shape = list(_sizes(sizes))
        if len(sizes) == 1 and len(_sizes_of(sizes[0])) < 2:
            raise MatlabError("reshape() needs two sizes or more")
    return values.reshaped(m, shape)


def _repmat(x: Value, *times: Value) -> Value:
    m = x if isinstance(x, Matrix) else number_matrix(x)
    counts = _sizes(times)
    values.limited(m.size * math.prod(counts))
    return settled(np.tile(m.data, counts), m.logical)


def _diag(x: Value) -> Value:
    m = number_matrix(x)
    if m.data.ndim > 2:
        raise MatlabError("diag() takes vectors and matrices")
    if not m.is_vector:
        return settled(np.diag(m.data)[:, None] if m.size else np.zeros((0, 0)))
    entries = m.data.ravel(order="F")
    values.limited(len(entries) ** 2)
    data = np.zeros((len(entries),) * 2, dtype=m.data.dtype)
    if not m.is_plain:
        data[:] = 0.0
    for k, entry in enumerate(entries):
        data[k, k] = entry
    return settled(data)


def _linspace(first: Value, last: Value, count: Value | None = None) -> Value:
    n = 100 if count is None else whole_numbers(count, "the number of points", 1)[0]
    a, b = values.single(first, "the first point"), values.single(last, "the last point")
    steps = [k / (n - 1) for k in range(n)] if n > 1 else [1.0]
    row = [b if k == n - 1 else a + (b - a) * s for k, s in enumerate(steps)]
    return values.of([row])


def _cross(a: Value, b: Value) -> Value:
    x, y = number_matrix(a), number_matrix(b)
    if x.size != 3 or y.size != 3 or not (x.is_vector and y.is_vector):
        raise MatlabError(f"cross() takes two vectors of 3 numbers here, not {shown(x)} and {shown(y)}")
    if x.shape != y.shape:
        raise MatlabError("cross() of a row and a column: MATLAB and Octave differ; transpose one of them")
    (p, q, r), (u, v, w) = x.entries(), y.entries()
    found = [q * w - r * v, r * u - p * w, p * v - q * u]
    return values.of([found] if x.shape[0] == 1 else found)


def _dot(a: Value, b: Value) -> Value:
    x, y = number_matrix(a), number_matrix(b)
    if not (x.is_vector and y.is_vector and x.size == y.size):
        raise MatlabError(f"dot() takes two vectors of the same length here, not {shown(x)} and {shown(y)}")
    return values.of(_inner(x.entries(), y.entries()))


def _inner(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return reduce(lambda total, pair: total + pair[0] * pair[1], zip(a, b, strict=True), 0.0)


def _norm(x: Value, kind: Value | None = None) -> Value:
    m = number_matrix(x)
    which = 2.0 if kind is None else math.inf if kind in ("inf", "Inf") else None if kind == "fro" else (
        values.known_number(kind, "the kind of norm")
    )  # fmt: skip
    entries = m.entries()
    if m.size and not m.is_vector:
        if which is None:
            return values.of(sqrt(_inner(entries, entries)))
        if which not in (1.0, 2.0, math.inf):
            raise MatlabError(f"this norm of a matrix is not supported: {which:g}")
        return values.of(float(np.linalg.norm(values.known(m, "the matrix in norm()"), which)))
    if which in (None, 2.0):
        if m.is_plain:
            return values.of(float(np.linalg.norm(m.data)))
        return values.of(sqrt(_inner(entries, entries)))
    if which == 1.0:
        return _sum(mapped(abs, values.reshaped(m, (m.size, 1))))
    if which == math.inf and m.size:
        return _folded_along(mapped(abs, values.reshaped(m, (m.size, 1))), 0, None, larger)
    raise MatlabError(f"this norm is not supported: {which}")


def _pinv(x: Value) -> Value:
    data = values.known(x, "the matrix in pinv()")
    if data.ndim > 2 or not np.isfinite(data).all():
        raise MatlabError("pinv() takes matrices of finite numbers")
    sizes = np.linalg.svd(data, compute_uv=False) if data.size else np.zeros(0)
    cut = max(data.shape) * (sizes.max(initial=0.0)) * float(np.finfo(float).eps)
    if ((sizes > 0.1 * cut) & (sizes < 10.0 * cut)).any():
        raise MatlabError("pinv() of a matrix whose rank is uncertain because of rounding")
    return Matrix(np.linalg.pinv(data, rcond=max(data.shape, default=1) * float(np.finfo(float).eps)))


def _polyval(p: Value, x: Value) -> Value:
    coefficients, at = number_matrix(p), number_matrix(x)
    found = mapped(lambda z: 0.0 * z, at)
    for c in coefficients.entries():
        found = operators.binary("+", operators.binary(".*", found, at), values.of(c))
    return found


def _trace(x: Value) -> Value:
    m = number_matrix(x)
    if m.data.ndim > 2 or m.shape[0] != m.shape[1]:
        raise MatlabError(f"a {shown(m)} matrix has no trace")
    return values.of(reduce(lambda a, b: a + b, np.diag(m.data), 0.0))


def _cat(axis: int, *given: Value) -> Value:
    return values.joined([x if isinstance(x, Matrix) else number_matrix(x) for x in given], axis)


def _flipped(axis: int, x: Value) -> Value:
    m = x if isinstance(x, Matrix) else number_matrix(x)
    return Matrix(np.flip(m.data, axis), m.logical)


def _triangle(kept: Callable[[Array], Array], x: Value) -> Value:
    m = number_matrix(x)
    return settled(np.where(kept(np.ones(m.shape, dtype=bool)), m.data, 0.0))


def _isequal(*given: Value) -> Value:
    def alike(a: Value, b: Value) -> bool:
        if isinstance(a, str) and isinstance(b, str):
            return a == b
        if not isinstance(a, Matrix) or not isinstance(b, Matrix):
            raise MatlabError("isequal() takes matrices or texts here")
        x, y = values.known(a, "what is compared"), values.known(b, "what is compared")
        return x.shape == y.shape and bool((x == y).all())

    if len(given) < 2:
        raise MatlabError("isequal() compares two values or more")
    return values.truth(all(alike(given[0], x) for x in given[1:]))


def _strcmp(a: Value, b: Value) -> Value:
    if isinstance(a, Cell) or isinstance(b, Cell):
        raise MatlabError("strcmp() takes two texts here")
    return values.truth(isinstance(a, str) and isinstance(b, str) and a == b)


def _struct(*given: Value) -> Value:
    if len(given) % 2:
        raise MatlabError("struct() needs a value for each name")
    found = MatlabStruct()
    for name, value in zip(given[::2], given[1::2], strict=True):
        if not isinstance(name, str) or isinstance(value, Cell):
            raise MatlabError("struct() takes names and values other than cells here")
        found[name] = value
    return found


def _cell(*given: Value) -> Value:
    data = np.empty(_sizes(given) if given else (0, 0), dtype=object)
    for place in np.ndindex(data.shape):
        data[place] = values.empty()
    return Cell(data)


def _test(which: Callable[[Array], Array], x: Value) -> Value:
    return Matrix(which(values.known(x, "what is asked about")), True)


def _kron(a: Value, b: Value) -> Value:
    x, y = number_matrix(a), number_matrix(b)
    values.limited(x.size * y.size)
    return settled(np.kron(x.data, y.data))


MATRICES: dict[str, Callable[..., Value]] = {
    "sum": _sum, "prod": _prod, "mean": _mean, "cumsum": partial(_running, lambda a, b: a + b),
    "cumprod": partial(_running, lambda a, b: a * b), "diff": _diff, "max": partial(_extreme, larger),
    "min": partial(_extreme, smaller), "all": partial(_all_or_any, True), "any": partial(_all_or_any, False),
    "sort": _sort, "find": _find, "zeros": _full(0.0), "ones": _full(1.0), "NaN": _full(math.nan),
    "nan": _full(math.nan), "Inf": _full(math.inf), "inf": _full(math.inf), "pi": _full(math.pi),
    "eps": _full(float(np.finfo(float).eps)), "true": _full(1.0, True), "false": _full(0.0, True), "eye": _eye,
    "size": _size, "numel": lambda x: values.of(_count(x)), "length": _length,
    "ndims": lambda x: values.of(float(len(_shape(x)))), "isempty": lambda x: values.truth(_count(x) == 0.0),
    "reshape": _reshape, "repmat": _repmat, "diag": _diag, "linspace": _linspace, "cross": _cross, "dot": _dot,
    "norm": _norm, "inv": lambda x: operators.inverse(number_matrix(x)), "pinv": _pinv,
    "det": lambda x: operators.determinant(number_matrix(x)), "trace": _trace, "kron": _kron,
    "transpose": lambda x: values.transposed(x if isinstance(x, Matrix) else number_matrix(x)),
    "ctranspose": lambda x: values.transposed(x if isinstance(x, Matrix) else number_matrix(x)),
    "horzcat": partial(_cat, 1), "vertcat": partial(_cat, 0), "fliplr": partial(_flipped, 1),
    "flipud": partial(_flipped, 0), "triu": partial(_triangle, np.triu), "tril": partial(_triangle, np.tril),
    "polyval": _polyval, "double": number_matrix, "logical": lambda x: operators.truths(x),
    "not": lambda x: operators.unary("~", x), "and": lambda a, b: operators.binary("&", a, b),
    "or": lambda a, b: operators.binary("|", a, b), "isnan": partial(_test, np.isnan),
    "isinf": partial(_test, np.isinf), "isfinite": partial(_test, np.isfinite), "isequal": _isequal, "strcmp": _strcmp,
    "struct": _struct, "cell": _cell,
    "isfield": lambda s, name: values.truth(isinstance(s, MatlabStruct) and isinstance(name, str) and name in s),
    "isstruct": lambda x: values.truth(isinstance(x, MatlabStruct)),
    "iscell": lambda x: values.truth(isinstance(x, Cell)), "ischar": lambda x: values.truth(isinstance(x, str)),
    "isnumeric": lambda x: values.truth(isinstance(x, Matrix) and not x.logical),
    "islogical": lambda x: values.truth(isinstance(x, Matrix) and x.logical),
    "isreal": lambda x: values.truth(isinstance(x, (Matrix, str))),
    "isscalar": lambda x: values.truth(_count(x) == 1.0),
}  # fmt: skip
"""Functions of whole matrices and other values, by name."""

FUNCTIONS = ENTRYWISE | MATRICES

SILENT = frozenset(
    ("disp", "display", "fprintf", "printf", "warning", "clc", "close", "figure", "hold", "format", "more", "tic",
     "drawnow", "grid", "beep", "axis")
)  # fmt: skip
"""Functions that only display something: their arguments are evaluated, and nothing else is done."""
