"""Variables in MATLAB files, versions 5 to 7.

SciPy's reader is written for trusted files: damaged ones can crash the process.  This one reads arrays of real
numbers, text, and structures and cells of them, and skips everything else: sparse matrices, functions, objects.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from math import prod
from pathlib import Path

import numpy as np

from ...errors import FileFormatError

Array = np.ndarray
Variable = Array | str | None

HEADER = 128
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Types of data elements."""

MATRIX, COMPRESSED = 14, 15
CELL, STRUCTURE, TEXT = 1, 2, 4
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
"""Classes of arrays; data may be stored in a smaller type, such as doubles that are integers."""

LETTERS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
"""Encodings of text by the type of its data."""

LOGICAL, COMPLEX = 0x0200, 0x0800
DEEPEST = 6
"""The deepest nesting of structures and cells."""

MOST_AXES, MOST_FIELDS = 32, 10_000
"""The most axes of an array, and fields of a structure or cell: a few compressed bytes could expand into millions."""


@dataclass(frozen=True)
class _MatlabElement:
    kind: int
    data: bytes


class _Damaged(Exception):
    """Something that no MATLAB file has was found."""


def read_mat(path: Path) -> dict[str, Array]:
    """Read all arrays of real and logical numbers; those in structures by their full names, ``log.q``.

    Rows and columns become arrays with one axis.  Cells are left out.
    """
    read = read_variables(path.read_bytes(), str(path))
    found = {name: x for name, x in read.items() if isinstance(x, np.ndarray) and "{" not in name}
    if not found:
        raise FileFormatError(
            "this MATLAB file holds no arrays of numbers: tables, timeseries and other objects are not read; save "
            "arrays t, q, tau, as in t = data.Time; q = data.q; save('m.mat', 't', 'q', 'tau')",
            str(path),
        )
    return {name: x.reshape(-1) if x.ndim == 2 and 1 in x.shape else x for name, x in found.items()}


def read_variables(data: bytes, file: str) -> dict[str, Variable]:
    """Read all variables by their full names: ``model.NB``, ``model.Xtree{2}``; None for what is not understood."""
    order = {b"IM": "<", b"MI": ">"}.get(data[126:HEADER])
    if order is not None and data[125 if order == "<" else 124] == 2:
        raise FileFormatError(
            "this MATLAB file is of version 7.3 (HDF5), which is not supported: save it as version 7, in MATLAB "
            "save('m.mat', 't', 'q', 'tau', '-v7')",
            file,
        )
    if order is None:
        raise FileFormatError("this is not a MATLAB file of version 5 to 7: save(..., '-v7') writes one", file)
    found: dict[str, Variable] = {}
    try:
        for element in _elements(data[HEADER:], order):
            found.update(_variables(_unpacked(element, order), order, "", 0))
    except (_Damaged, struct.error, zlib.error, ValueError, OverflowError, RecursionError) as problem:
        raise FileFormatError(f"this MATLAB file is damaged ({problem})", file) from None
    return found


def _elements(data: bytes, order: str) -> Iterator[_MatlabElement]:
    """Yield the consecutive elements."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind >> 16:  # a small one, stored in its own tag
            kind, size, begin, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
            if size > 4:
                raise _Damaged(f"an element of {size} bytes where only four fit")
        else:
            begin = at + 8
            end = begin + size + (0 if kind == COMPRESSED else -size % 8)
        if begin + size > len(data):
            raise _Damaged("it ends too early")
        yield _MatlabElement(kind, data[begin : begin + size])
        at = end


def _unpacked(element: _MatlabElement, order: str) -> _MatlabElement:
    """Return the matrix in a compressed element; only the first one, whatever else its bytes expand into."""
    if element.kind != COMPRESSED:
        return element
    return next(_elements(zlib.decompress(element.data), order), _MatlabElement(MATRIX, b""))


def _variables(
    element: _MatlabElement, order: str, path: str, depth: int, name: str = ""
) -> Iterator[tuple[str, Variable]]:
    """Yield the variables in an element, with their names."""
    if element.kind != MATRIX or not element.data:
        return
    inside = _elements(element.data, order)
    parts = list(islice(inside, 4))
    if len(parts) < 4:
        return  # an object, or empty
    flags = _first(parts[0], order)
    sizes = _numbers(parts[1], order)
    whole = f"{path}{name or parts[2].data.decode('ascii')}"
    if len(sizes) > MOST_AXES or (sizes < 0).any():
        raise _Damaged(f"array {whole!r} has {len(sizes)} axes of sizes {sizes[:MOST_AXES].tolist()}")
    shape = tuple(int(x) for x in sizes)
    if flags & 0xFF in CLASSES and not flags & COMPLEX:
        values = _numbers(parts[3], order)
        if len(values) != prod(shape):
            raise _Damaged(f"array {whole!r} of shape {shape} has {len(values)} numbers")
        yield whole, values.reshape(shape, order="F").astype(bool if flags & LOGICAL else CLASSES[flags & 0xFF])
    elif flags & 0xFF == TEXT and prod(shape) == max(shape, default=0):
        yield whole, _text(parts[3], order)
    elif flags & 0xFF == CELL and prod(shape) <= MOST_FIELDS and depth < DEEPEST:
        for k, part in zip(range(1, prod(shape) + 1), chain(parts[3:], inside), strict=False):
            yield from _variables(part, order, path, depth + 1, f"{whole.removeprefix(path)}{{{k}}}")
    elif flags & 0xFF == STRUCTURE and prod(shape) == 1 and depth < DEEPEST:
        length = _first(parts[3], order)
        text = next(inside, _MatlabElement(1, b"")).data
        if not 0 < length <= 64:
            raise _Damaged(f"names of {length} letters")
        if len(text) > MOST_FIELDS * length:
            raise _Damaged(f"structure {whole!r} has {len(text) // length} fields, more than {MOST_FIELDS}")
        names = [text[k : k + length].split(b"\0")[0].decode("ascii") for k in range(0, len(text), length)]
        for own, part in zip(names, inside, strict=False):
            yield from _variables(part, order, f"{whole}.", depth + 1, own)
    else:
        yield whole, None


def _text(element: _MatlabElement, order: str) -> str | None:
    """Return the text of an element; None if its encoding is unknown."""
    kind = LETTERS.get(element.kind)
    if kind == "utf-16":
        kind = {"<": "utf-16-le", ">": "utf-16-be"}[order]
    return None if kind is None else element.data.decode(kind, "replace")


def _numbers(element: _MatlabElement, order: str) -> Array:
    """Return the numbers of an element, in native byte order."""
    kind = NUMBERS.get(element.kind)
    if kind is None or len(element.data) % int(kind[1]):
        raise _Damaged(f"an element of type {element.kind} where numbers should be")
    return np.frombuffer(element.data, dtype=f"{order}{kind}").astype(kind)


def _first(element: _MatlabElement, order: str) -> int:
    found = _numbers(element, order)
    if not len(found):
        raise _Damaged("an element without numbers")
    return int(found[0])
