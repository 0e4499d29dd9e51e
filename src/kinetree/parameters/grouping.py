"""From changes that affect no torque to groups of parameters: which are kept, and what is grouped into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from ..spatial import Scalar
from ..spatial.arrays import Array
from .parameters_to_group import Considered, Vector

LEAST_ANGLE = 1e-6
"""A parameter can be eliminated if an unnoticed change alters it by at least this fraction of the whole change."""


class Grouping(NamedTuple):
    """The columns of the table that are given up, and how much of each goes into those that are kept."""

    kept: tuple[int, ...]
    given_up: tuple[int, ...]
    coefficients: Array
    """One row per kept column, and one column per column that is given up."""


def dense(vectors: Sequence[Vector], considered: Considered) -> Array:
    """Return changes as columns, in the units of :attr:`Considered.sizes`, each of length one."""
    matrix = np.zeros((len(considered.rows), len(vectors)))
    for k, vector in enumerate(vectors):
        for c, x in vector.items():
            matrix[c, k] = float(x) / considered.sizes[c]
    lengths = np.linalg.norm(matrix, axis=0)
    return np.asarray(matrix[:, lengths > 0.0] / lengths[lengths > 0.0])


def triangular(matrix: Array) -> Array:
    """Return R of the QR decomposition."""
    r: Array = qr(matrix, mode="r")[0][: matrix.shape[1]]
    return r


def span(matrix: Array, least: float = 1e-9) -> Array:
    """Return an orthonormal basis of the span of the columns; directions below ``least`` of the largest are ignored."""
    if not matrix.size:
        return np.zeros((len(matrix), 0))
    if matrix.shape[1] > 2 * len(matrix):
        matrix = triangular(matrix.T).T  # the same span, in as few columns as possible
    u, s, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(u[:, s > least * s[0]] if s[0] > 0.0 else u[:, :0])


def null_space(matrix: Array, least: float) -> Array:
    """Return an orthonormal basis of what a matrix maps to zero: to less than ``least`` times the largest, or one."""
    _, s, vt = np.linalg.svd(triangular(matrix), full_matrices=True)
    rank = int((s > least * max(s[0], 1.0)).sum()) if s.size else 0
    return np.asarray(vt[rank:].T)


def give_way(unnoticed: Array, order: Sequence[int]) -> tuple[int, ...]:
    """Return the columns that are given up, as early in ``order`` as possible, one per unnoticed change.

    A column is given up if there is a change that alters it but none of the columns already given up.

    unnoticed: (p, d). A basis of the changes that affect no torque.
    order: Columns of the table.
    """
    left = span(unnoticed)
    found = []
    for c in order:
        if not left.shape[1]:
            break
        row = left[c]
        length = float(np.linalg.norm(row))
        if length < LEAST_ANGLE:
            continue
        found.append(c)
        left = left @ _turned_to_first(row / length)[:, 1:]  # the remaining changes do not alter this column
    return tuple(found)


def _turned_to_first(unit: Array) -> Array:
    """Return an orthogonal matrix whose first column is, up to its sign, the given unit vector."""
    reflected = unit.copy()
    reflected[0] += np.copysign(1.0, unit[0])
    return np.asarray(np.eye(len(unit)) - 2.0 * np.outer(reflected, reflected) / (reflected @ reflected))


def shares(basis: Array, kept: Sequence[int], given_up: Sequence[int]) -> Array:
    """Return how much of each parameter given up goes into each of those kept, (kept, given up).

    With kept parameters (B) and those given up (D), a change n does not affect the groups ``x_B + K x_D`` if ``n_B + K
    n_D = 0``; so K is ``-N_B N_D^-1``.
    """
    if not given_up:
        return np.zeros((len(kept), 0))
    return np.asarray(-np.linalg.solve(basis[list(given_up)].T, basis[list(kept)].T).T)


def group(unnoticed: Array, considered: Considered, noise: float) -> Grouping:
    """Return the groups that follow from the changes that affect no torque.

    unnoticed: (p, d). A basis in the form of :func:`dense`.
    noise: Coefficients smaller than this, in the robot's own units, are set to zero.
    """
    basis = span(unnoticed)
    given_up = give_way(basis, considered.order)
    gone = set(given_up)
    kept = tuple(c for c in considered.columns if c not in gone)
    given_up = tuple(sorted(given_up))
    k = shares(basis, kept, given_up)
    k[np.abs(k) < noise] = 0.0
    sizes = considered.sizes
    return Grouping(kept, given_up, k * sizes[list(kept)][:, None] / sizes[list(given_up)])


def group_exactly(vectors: Sequence[Vector], given_up: Sequence[int], simplify: object) -> dict[int, Vector]:
    """Return, over symbols, how much of each column given up goes into each column kept.

    vectors: At least as many as there are columns given up.
    given_up: The columns that are given up, in order of elimination.
    simplify: callable. Simplifies a scalar so that zero becomes ``0``.

    Returns
    -------
    dict of int to Vector
        For each column given up, its coefficients in the groups of the columns kept.
    """
    assert callable(simplify)
    left = [dict(v) for v in vectors]
    solved: dict[int, Vector] = {}
    for c in given_up:
        # the change with the fewest entries that alters this column: it causes the least fill-in
        pivot = min((v for v in left if c in v), key=len)
        left.remove(pivot)
        factor = pivot[c]
        unit = {k: simplify(x / factor) for k, x in pivot.items()}
        left = [_without(v, c, unit, simplify) for v in left]
        solved = {k: _without(v, c, unit, simplify) for k, v in solved.items()}
        solved[c] = unit
    return {c: {k: simplify(-x) for k, x in v.items() if k != c} for c, v in solved.items()}


def _without(vector: Vector, column: int, unit: Vector, simplify: object) -> Vector:
    """Subtract a multiple of another change so that the entry in one column vanishes."""
    assert callable(simplify)
    if column not in vector:
        return vector
    factor: Scalar = vector[column]
    result = dict(vector)
    for k, x in unit.items():
        result[k] = simplify(result[k] - factor * x) if k in result else simplify(-(factor * x))
    return {k: x for k, x in result.items() if x != 0}
