"""Symmetric matrices of which one side is known: numbers from one side of the diagonal go to the other."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..llvm import host
from ..llvm.assembly import MachineFunction, Module, StructLayout, Value
from ..llvm.vectors import Vectors, spread, transpose_loaded
from ..load_code import load_or_compile_own
from ..make_once import once

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_MIRRORED = StructLayout(n="i64", matrix="ptr", other="ptr")


def _run_job(run: Any, count: int, *arrays: np.ndarray) -> None:
    """Call machine code with a number and the addresses of arrays."""
    job = np.array([count, *(a.ctypes.data for a in arrays)], dtype=np.int64)
    run(job.ctypes.data)


def mirror(matrix: np.ndarray, other: np.ndarray, target: host.Machine, upwards: bool = False) -> None:
    """Copy the numbers above the diagonal of a matrix below the diagonal of this or another one; both contiguous.

    With ``upwards``, the other way around.
    """
    run, _ = _mirror_code(target, bool(matrix.dtype == np.float32), upwards)
    _run_job(run, len(matrix), matrix, other)


@once
def _mirror_code(target: host.Machine, single_precision: bool, upwards: bool) -> tuple[Any, Any]:
    what, vectors = "mirroring of matrices", target.vectors(single_precision)
    name = f"{what} {vectors} {upwards}"
    addresses, alive = load_or_compile_own(
        what, name, lambda: mirror_module(vectors, upwards), ("mirror",), target=target
    )
    return _RUN(addresses["mirror"]), alive


def mirror_module(v: Vectors, upwards: bool) -> str:
    """Return LLVM assembly of ``@mirror(job)``."""
    module = Module()
    with module.function("mirror", {"job": "ptr"}) as f:
        job = _MIRRORED.of(f.args[0])
        write_mirror(f, v, job["n"], job["matrix"], job["other"], upwards)
    return module.text()


def write_mirror(f: MachineFunction, v: Vectors, n: Value, matrix: Value, other: Value, upwards: bool) -> None:
    """Transpose squares on one side of a diagonal to the other; those of a matrix that has none, number by number.

    The last squares may overlap others, and half of those on the diagonal is left unchanged.
    """
    with f.when(n < v.lanes), f.loop(0, n) as i, f.loop(i + 1, n) as j:
        row, column = (i, j) if upwards else (j, i)
        matrix.at(row * n + column, v.real).store(other.at(column * n + row, v.real).load(v.real))
    with f.otherwise():
        last = n - v.lanes
        with f.loop(0, n, v.lanes) as a, f.loop(a, n, v.lanes) as b:
            i, j = a.min(last), b.min(last)
            row, column = (i, j) if upwards else (j, i)
            square = transpose_loaded(v, _rows_from(v, other, n, column, row))
            places = _rows_from(v, matrix, n, row, column)
            with f.when(j >= i + v.lanes):
                for place, value in zip(places, square, strict=True):
                    place.store(value, v.item)
            with f.otherwise():
                _store_beside_diagonal(v, places, square, row, column, upwards)


def _rows_from(v: Vectors, matrix: Value, n: Value, row: Value, column: Value) -> list[Value]:
    """Return where the rows of a square of a matrix begin."""
    found = [matrix.at(row * n + column, v.real)]
    for _ in range(v.lanes - 1):
        found.append(found[-1].at(n, v.real))
    return found


def _store_beside_diagonal(
    v: Vectors, places: Sequence[Value], square: Sequence[Value], row: Value, column: Value, upwards: bool
) -> None:
    """Store those numbers of a square that are on the other side of the diagonal."""
    ramp = Value(row.f, v.of("i64"), f"<{', '.join(f'i64 {k}' for k in range(v.lanes))}>")
    columns = ramp + spread(column, v.lanes)
    for k, (place, value) in enumerate(zip(places, square, strict=True)):
        this_row = spread(row + k, v.lanes)
        is_beyond = columns > this_row if upwards else columns < this_row
        place.store(is_beyond.choose(value, place.load(v.type, v.item)), v.item)
