"""Values of MATLAB over any scalar: matrices, texts, structures, cells, handles; and how matrices are indexed.

Matrices of floats are NumPy arrays of floats.  If an entry is something else, a batch of floats or a node of the
engine's graph, the array holds objects; the same text of :mod:`.functions` works on both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.spatial.arrays import Array
from kinetree.spatial.scalar import Scalar, logical_and, where

from . import syntax

MOST_ENTRIES = 1_000_000
"""The most entries of one matrix; robot files have hundreds."""


class MatlabError(Exception):
    """Something that MATLAB refuses or that is not supported; the caller adds file and line."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Numbers, or logical values if ``logical``; at least two axes, as in MATLAB."""

    data: Array
    logical: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.data.shape

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.data.size

    @property
    def is_plain(self) -> bool:
        """Whether all entries are known: floats or booleans."""
        return self.data.dtype != object

    @property
    def is_vector(self) -> bool:
        """Whether it is a row, a column or a single number."""
        return self.data.ndim == 2 and 1 in self.data.shape

    def entries(self) -> list[Scalar]:
        """Return all entries, column by column."""
        found: list[Scalar] = self.data.ravel(order="F").tolist() if self.is_plain else list(self.data.ravel(order="F"))
        return found

    def numbers(self) -> Matrix:
        """Return the matrix with logical values as ones and zeros."""
        if not self.logical:
            return self
        return mapped(lambda x: where(x, 1.0, 0.0), self) if not self.is_plain else Matrix(self.data.astype(float))


class MatlabStruct(dict[str, Any]):
    """Values by the names of fields."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell array: values of any kind, in rows and columns."""

    data: Array


@dataclass(frozen=True, eq=False)
class FunctionHandle:
    """``@name``, or an expression with the values of the variables where it was made."""

    name: str = ""
    anonymous: syntax.Anonymous | None = None
    captured: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    local: dict[str, Any] | None = None
    """Functions of the file that it was made in."""


@dataclass(frozen=True)
class NotSet:
    """Stands for an unknown value; using it raises an error that says why."""

    why: str


Value = Matrix | str | MatlabStruct | Cell | FunctionHandle
"""All kinds of values; texts are ``str``."""


# ---------------------------------------------------------------- making matrices


def of(value: Any) -> Matrix:
    """Make a matrix from a number, a scalar of any kind, or nested lists of rows."""
    if isinstance(value, list):
        rows = [row if isinstance(row, list) else [row] for row in value]
        data = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
        for i, row in enumerate(rows):
            for j, x in enumerate(row):
                data[i, j] = x
    else:
        data = np.empty((1, 1), dtype=object)
        data[0, 0] = value
    return settled(data)


def truth(value: Any) -> Matrix:
    """Make a single logical value from a boolean, or a condition that is not known yet."""
    data = np.empty((1, 1), dtype=object)
    data[0, 0] = value
    return settled(data, logical=True)


def settled(data: Array, logical: bool = False) -> Matrix:
    """Return a matrix whose entries are floats (or booleans) if all of them are known."""
    limited(data.size)
    while data.ndim > 2 and data.shape[-1] == 1:
        data = data.reshape(data.shape[:-1])
    if data.dtype != object:
        return Matrix(data.astype(bool if logical else float, copy=False), logical)
    kinds = (bool, np.bool_) if logical else (float, int, np.floating, np.integer, bool, np.bool_)
    if all(isinstance(x, kinds) for x in data.ravel()):
        return Matrix(data.astype(bool if logical else float), logical)
    return Matrix(data, logical)


def limited(count: float) -> None:
    """Refuse matrices that are too large for a robot file."""
    if not count <= MOST_ENTRIES:
        raise MatlabError(f"a matrix of {count:.0f} entries is too large; the limit is {MOST_ENTRIES}")


def empty() -> Matrix:
    """Return ``[]``."""
    return Matrix(np.zeros((0, 0)))


def mapped(function: Callable[..., Any], *matrices: Matrix, logical: bool = False) -> Matrix:
    """Apply a function to the entries of one or more matrices, which are broadcast to the same shape."""
    try:
        shape = np.broadcast_shapes(*(_aligned(m.shape, matrices) for m in matrices))
    except ValueError:
        listed = " and ".join(shown(m) for m in matrices)
        raise MatlabError(f"matrices of {listed} do not fit together") from None
    limited(math.prod(shape))
    if all(m.is_plain for m in matrices):
        return settled(np.asarray(function(*(m.data for m in matrices))).reshape(shape), logical)
    flat = [np.broadcast_to(m.data.reshape(_aligned(m.shape, matrices)), shape).ravel() for m in matrices]
    data = np.empty(math.prod(shape), dtype=object)
    for k, entries in enumerate(zip(*flat, strict=True)):
        data[k] = function(*entries)
    return settled(data.reshape(shape), logical)


def _aligned(shape: tuple[int, ...], matrices: Sequence[Matrix]) -> tuple[int, ...]:
    """Return a shape with as many axes as the others have: MATLAB adds axes at the end, NumPy in front."""
    axes = max(m.data.ndim for m in matrices)
    return (*shape, *(1,) * (axes - len(shape)))


def shown(m: Matrix) -> str:
    """Return the size of a matrix as text: ``2x3``."""
    return "x".join(str(n) for n in m.shape)


# ---------------------------------------------------------------- numbers out of values


def number_matrix(value: Any, what: str = "this") -> Matrix:
    """Return a matrix of numbers, or raise an error that names what was found instead."""
    if isinstance(value, Matrix):
        return value.numbers()
    raise MatlabError(f"{what} is {kind_of(value)}, where numbers are needed")


def kind_of(value: Any) -> str:
    """Name the kind of a value, for messages."""
    kinds = {str: "a text", MatlabStruct: "a structure", Cell: "a cell", FunctionHandle: "a function handle"}
    return kinds.get(type(value), "a matrix")


def single(value: Any, what: str) -> Scalar:
    """Return the scalar that a 1x1 matrix holds."""
    m = number_matrix(value, what)
    if m.size != 1:
        raise MatlabError(f"{what} must be one number, but is a {shown(m)} matrix")
    return m.entries()[0]


def known(value: Any, what: str) -> Array:
    """Return floats, or raise an error if the value is known only when machine code runs."""
    m = number_matrix(value, what)
    if not m.is_plain:
        raise MatlabError(
            f"{what} depends on the time or the state, but must be known in advance: it determines what is computed"
        )
    return m.data


def known_number(value: Any, what: str) -> float:
    """Return one float."""
    found = known(value, what)
    if found.size != 1:
        raise MatlabError(f"{what} must be one number, but is a {shown(Matrix(found))} matrix")
    return float(found.ravel()[0])


def whole_numbers(value: Any, what: str, least: int) -> list[int]:
    """Return known whole numbers, none below ``least``."""
    found = known(value, what).ravel(order="F")
    wrong = [x for x in found.tolist() if not (least <= x <= MOST_ENTRIES and x == math.floor(x))]
    if wrong:
        raise MatlabError(f"{what} must be whole numbers from {least} to {MOST_ENTRIES}, not {wrong[0]:.10g}")
    return [int(x) for x in found]


def condition(value: Any, what: str) -> Any:
    """Return whether all entries of a matrix are true: a boolean, or a condition that is not known yet."""
    if isinstance(value, Matrix) and not value.size:
        return False
    m = value if isinstance(value, Matrix) else number_matrix(value, what)
    if m.is_plain:
        if np.isnan(m.data).any():
            raise MatlabError(f"{what} is NaN, which is neither true nor false")
        return bool(m.data.all())
    truths = m.entries() if m.logical else [unequal(x, 0.0) for x in m.entries()]
    return logical_and(*truths)


def unequal(a: Scalar, b: Scalar) -> Any:
    """Return whether two scalars differ, by comparisons that any scalar has."""
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return a != b
    same = (a <= b) & (a >= b)
    return ~same if not isinstance(same, bool) else not same


# ---------------------------------------------------------------- putting matrices together


def joined(matrices: Iterable[Matrix], axis: int) -> Matrix:
    """Concatenate matrices side by side (axis 1) or one below the other (axis 0)."""
    given = list(matrices)
    parts = [m for m in given if m.shape != (0, 0)]
    if not parts:
        return given[0] if given else empty()
    logical = all(m.logical for m in given)
    if not logical:
        parts = [m.numbers() for m in parts]
    others = {(*m.shape[:axis], *m.shape[axis + 1 :]) for m in parts}
    if len(others) > 1:
        parts = [m for m in parts if sum(m.shape) != 1] or parts  # 1x0 and 0x1 are empty, too
        others = {(*m.shape[:axis], *m.shape[axis + 1 :]) for m in parts}
    if len(others) > 1:
        where_ = "beside" if axis else "below"
        listed = ", ".join(dict.fromkeys(shown(m) for m in parts))
        raise MatlabError(f"matrices of {listed} do not fit {where_} one another")
    limited(sum(m.size for m in parts))
    kind = object if any(not m.is_plain for m in parts) else None
    data = np.concatenate([m.data if kind is None else m.data.astype(object) for m in parts], axis=axis)
    return Matrix(data, logical)


def reshaped(m: Matrix, shape: Sequence[int]) -> Matrix:
    """Return the same entries, column by column, in another shape."""
    if math.prod(shape) != m.size:
        raise MatlabError(f"a {shown(m)} matrix has {m.size} entries, not {'x'.join(map(str, shape))}")
    return settled(m.data.reshape(tuple(shape), order="F"), m.logical)


def transposed(m: Matrix) -> Matrix:
    """Return the transpose."""
    if m.data.ndim > 2:
        raise MatlabError(f"a {shown(m)} matrix cannot be transposed")
    return Matrix(m.data.T, m.logical)


# ---------------------------------------------------------------- indices

Index = list[int] | None
"""Indices from 0; None means all of an axis."""


@dataclass(frozen=True)
class Indices:
    """The arguments of an index expression, and the shape of a single one."""

    places: Sequence[Index]
    shape: tuple[int, ...] = ()

    @staticmethod
    def of(arguments: Sequence[Any]) -> Indices:
        """Read arguments: whole numbers from 1, logical values, or a colon (given as None)."""
        if not arguments:
            raise MatlabError("an index is missing in the brackets")
        places: list[Index] = []
        shape: tuple[int, ...] = ()
        for argument in arguments:
            if argument is None:
                places.append(None)
                continue
            m = argument if isinstance(argument, Matrix) else number_matrix(argument, "an index")
            if m.logical:
                flags = known(m, "an index").ravel(order="F") != 0.0
                found = [int(k) for k in np.flatnonzero(flags)]
                shape = (
                    (1, len(found)) if m.data.ndim == 2 and m.shape[0] == 1 and m.shape != (1, 1) else (len(found), 1)
                )
                if m.shape == (1, 1):
                    shape = (len(found), len(found))
            else:
                found = [k - 1 for k in whole_numbers(m, "an index", 1)]
                shape = m.shape
            places.append(found)
        return Indices(places, shape)

    def __len__(self) -> int:
        return len(self.places)


def indexed(m: Matrix, indices: Indices, name: str) -> Matrix:
    """Return entries of a matrix."""
    if len(indices) == 1:
        return _by_one(m, indices, name)
    folded = _folded(m.data, len(indices))
    chosen = []
    for axis, places in enumerate(indices.places):
        length = folded.shape[axis]
        if places is not None and places and max(places) >= length:
            raise MatlabError(_beyond(name, indices, axis, max(places) + 1, m))
        chosen.append(list(range(length)) if places is None else places)
    limited(math.prod(len(c) for c in chosen))
    return settled(folded[np.ix_(*chosen)], m.logical)


def _by_one(m: Matrix, indices: Indices, name: str) -> Matrix:
    flat = m.data.ravel(order="F")
    places = indices.places[0]
    if places is None:
        return settled(flat.reshape(-1, 1), m.logical)
    if places and max(places) >= m.size:
        raise MatlabError(_beyond(name, indices, 0, max(places) + 1, m))
    shape = indices.shape
    is_row = len(shape) == 2 and 1 in shape
    if is_row and m.is_vector and m.shape != (1, 1):
        shape = (1, len(places)) if m.shape[0] == 1 else (len(places), 1)
    taken = flat[np.array(places, dtype=int)]
    return settled(taken.reshape(shape, order="F"), m.logical)


def _beyond(name: str, indices: Indices, axis: int, place: int, m: Matrix) -> str:
    listed = ["_"] * len(indices)
    listed[axis] = str(place)
    return f"{name}({', '.join(listed)}) is outside a {shown(m)} matrix"


def _folded(data: Array, axes: int) -> Array:
    """Return an array with as many axes as indices; the last axis covers all that are left."""
    shape = data.shape
    if axes < len(shape):
        return data.reshape((*shape[: axes - 1], math.prod(shape[axes - 1 :])), order="F")
    return data.reshape((*shape, *(1,) * (axes - len(shape))))


def assigned(old: Matrix | None, indices: Indices, value: Matrix, name: str) -> Matrix:
    """Return a matrix with some entries set, enlarged if necessary."""
    m = empty() if old is None else old
    if m.logical and not value.logical:
        raise MatlabError(
            f"numbers are set into {name!r}, which is logical: MATLAB and Octave differ in what that does; write "
            f"{name} = double({name}) first"
        )
    if m.logical != value.logical:
        m, value = m.numbers() if m.size else m, value.numbers() if m.size else value
    logical = value.logical
    return _assigned_by_one(m, indices, value, name, logical) if len(indices) == 1 else _assigned_by_axes(
        m, indices, value, name, logical
    )  # fmt: skip


def _assigned_by_one(m: Matrix, indices: Indices, value: Matrix, name: str, logical: bool) -> Matrix:
    places = indices.places[0]
    if places is None:
        places = list(range(m.size))
        if not m.size:
            raise MatlabError(f"{name}(:) is set where {name!r} is empty: write {name} = ... to make a new matrix")
        if value.size not in (1, m.size):
            raise MatlabError(f"{name}(:) has {m.size} entries, but {value.size} are assigned")
    elif value.size not in (1, len(places)):
        raise MatlabError(f"{len(places)} entries of {name!r} cannot be set to a {shown(value)} matrix")
    shape = m.shape
    needed = max(places, default=-1) + 1
    if needed > m.size:
        limited(needed)
        if m.shape == (0, 0) or m.shape == (1, 1) or (m.data.ndim == 2 and m.shape[0] == 1):
            shape = (1, needed)
        elif m.data.ndim == 2 and m.shape[1] == 1 and m.size:
            shape = (needed, 1)
        else:
            raise MatlabError(f"{name}({needed}) is outside a {shown(m)} matrix, which cannot be enlarged by one index")
    flat = _filled(max(needed, m.size), logical, [m, value])
    flat[: m.size] = m.data.ravel(order="F")
    _put(flat, places, value)
    return settled(flat.reshape(shape, order="F"), logical)


def _assigned_by_axes(m: Matrix, indices: Indices, value: Matrix, name: str, logical: bool) -> Matrix:
    axes = len(indices)
    if axes < m.data.ndim:
        raise MatlabError(f"{name!r} has {m.data.ndim} axes and is set by {axes} indices: give one for each")
    folded, fresh = _folded(m.data, axes), m.shape == (0, 0)
    lengths = [n for n in value.shape if n != 1]
    wide = sum(places is None or len(places) != 1 for places in indices.places)
    waiting = list(value.shape) if axes == value.data.ndim == wide == 2 else list(lengths)
    chosen: list[list[int]] = []
    for axis, places in enumerate(indices.places):
        if places is not None:
            chosen.append(places)
            if len(places) != 1 and waiting:
                waiting.pop(0)
        elif fresh:  # a colon for an axis that does not exist yet takes the length of the value
            chosen.append(list(range(waiting.pop(0) if waiting else 1)))
        else:
            chosen.append(list(range(folded.shape[axis])))
    counts = [len(c) for c in chosen]
    if value.size != 1 and [n for n in counts if n != 1] != lengths:
        raise MatlabError(f"{'x'.join(map(str, counts))} entries of {name!r} cannot be set to a {shown(value)} matrix")
    shape = [max([folded.shape[k], *(i + 1 for i in c)]) for k, c in enumerate(chosen)]
    if value.size == 1 and not math.prod(counts):
        shape = list(folded.shape)
    limited(math.prod(shape))
    grown = _filled(math.prod(shape), logical, [m, value]).reshape(shape)
    grown[tuple(slice(0, n) for n in folded.shape)] = folded
    flat = _filled(math.prod(counts), logical, [value])
    _put(flat, list(range(math.prod(counts))), value)
    if math.prod(counts):
        grown[np.ix_(*chosen)] = flat.reshape(counts, order="F")
    return settled(grown, logical)


def _filled(count: int, logical: bool, those: Sequence[Matrix]) -> Array:
    """Return zeros of a type that can hold the entries of some matrices."""
    if all(m.is_plain for m in those):
        return np.zeros(count, dtype=bool if logical else float)
    found = np.empty(count, dtype=object)
    found[:] = False if logical else 0.0
    return found


def _put(flat: Array, places: Sequence[int], value: Matrix) -> None:
    entries = value.data.ravel(order="F")
    for k, place in enumerate(places):
        flat[place] = entries[k if value.size != 1 else 0]


def without(m: Matrix, indices: Indices, name: str) -> Matrix:
    """Remove entries of a vector, or whole rows or columns: ``x(2) = []``."""
    if len(indices) == 1 and m.is_vector:
        places = set(range(m.size) if indices.places[0] is None else indices.places[0])
        if places and max(places) >= m.size:
            raise MatlabError(_beyond(name, indices, 0, max(places) + 1, m))
        kept = [k for k in range(m.size) if k not in places]
        taken = m.data.ravel(order="F")[np.array(kept, dtype=int)]
        if indices.places[0] is None:
            return empty()
        return Matrix(taken.reshape((1, -1) if m.shape[0] == 1 else (-1, 1)), m.logical)
    given = [k for k, places in enumerate(indices.places) if places is not None]
    if len(indices) != m.data.ndim or len(given) != 1:
        raise MatlabError(f"only entries of vectors and whole rows or columns of {name!r} can be removed")
    axis = given[0]
    places = set(indices.places[axis] or ())
    if places and max(places) >= m.shape[axis]:
        raise MatlabError(_beyond(name, indices, axis, max(places) + 1, m))
    kept = [k for k in range(m.shape[axis]) if k not in places]
    return Matrix(np.take(m.data, kept, axis=axis), m.logical)
