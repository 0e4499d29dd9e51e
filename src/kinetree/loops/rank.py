"""Linear systems whose rank is not known beforehand, for batches of small matrices."""

from __future__ import annotations

import numpy as np

from ..errors import SingularError

Array = np.ndarray

RELATIVE_TOLERANCE = 1e-9
"""Singular values below this fraction of the largest count as zero."""


def decompose(
    matrix: Array, rank: int | None = None, scale: float = 0.0, least: float = RELATIVE_TOLERANCE
) -> tuple[Array, Array, Array, Array]:
    """Return singular value decomposition with full V, and which singular values count.

    Parameters
    ----------
    matrix : ndarray, shape (..., m, n)
        Lanes with NaN give NaN everywhere.
    rank : int, optional
        At most so many singular values count.
    scale : float
        How large the largest singular value is where nothing is singular: where it is smaller, singular values
        are compared with this, for beside nothing but rounding errors rounding errors are large.
    least : float
        Singular values below this fraction of the largest do not count.

    Returns
    -------
    u, s, vt : ndarrays
    kept : ndarray of bool, shape of s
    """
    finite = np.isfinite(matrix).all(axis=(-1, -2), keepdims=True)
    wide = matrix.shape[-2] < matrix.shape[-1]  # only then has V more columns than there are singular values
    u, s, vt = np.linalg.svd(np.where(finite, matrix, 0.0), full_matrices=wide)
    largest = s[..., :1] if s.shape[-1] else s
    kept = s > least * np.maximum(largest, scale)
    if rank is not None:
        kept &= np.arange(s.shape[-1]) < rank
    hole = ~finite[..., 0]
    s = np.where(hole, np.nan, s)
    return u, s, np.where(~finite, np.nan, vt), kept


def least_squares(matrix: Array, rhs: Array, rank: int | None = None, scale: float = 0.0) -> Array:
    """Return the shortest solution of ``matrix x = rhs`` in the least-squares sense; rhs (..., m, k)."""
    u, s, vt, kept = decompose(matrix, rank, scale)
    count = s.shape[-1]
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=kept & (s != 0.0))
    inverse = np.where(np.isnan(s), np.nan, inverse)
    return np.asarray(
        np.swapaxes(vt[..., :count, :], -1, -2) @ (inverse[..., None] * (np.swapaxes(u[..., :count], -1, -2) @ rhs))
    )


def numerical_rank(matrix: Array, scale: float = 0.0) -> Array:
    """Return the number of singular values that count, per lane."""
    return np.asarray(decompose(matrix, None, scale)[3].sum(axis=-1))


def null_space(matrix: Array, rank: int) -> Array:
    """Return orthonormal columns that ``matrix`` maps to zero, taking its rank to be ``rank``: (..., n, n - rank)."""
    _, _, vt, _ = decompose(matrix)
    return np.asarray(np.swapaxes(vt[..., rank:, :], -1, -2))


def motions(matrix: Array, rank: int, scale: float = 0.0, least: float = RELATIVE_TOLERANCE) -> tuple[Array, Array]:
    """Return what ``matrix``, of rank ``rank`` or less, maps to zero in each lane, or nearly so: see :func:`decompose`.

    Returns
    -------
    basis : ndarray, shape (..., n, k)
        Orthonormal columns; where a lane has fewer than the others its first ones are zero.
    counts : ndarray of bool, shape (..., k)
        Which columns are not.
    """
    _, s, vt, kept = decompose(matrix, rank, scale, least)
    n = matrix.shape[-1]
    local = np.where(np.isnan(s).any(axis=-1), rank, kept.sum(axis=-1))
    first = int(local.min(initial=rank))
    counts = np.arange(first, n) >= local[..., None]
    return np.where(counts[..., None, :], np.swapaxes(vt[..., first:, :], -1, -2), 0.0), counts


def solve_along(basis: Array, counts: Array, mass: Array, rhs: Array) -> Array:
    """Solve ``B^T mass B y = B^T rhs`` for the columns B of a basis that count, and return ``B y``; rhs (..., n, k)."""
    across = np.swapaxes(basis, -1, -2)
    reduced = across @ mass @ basis + np.where(counts, 0.0, 1.0)[..., None] * np.eye(counts.shape[-1])
    return np.asarray(basis @ solve(reduced, across @ rhs))


def solve(matrix: Array, rhs: Array) -> Array:
    """Solve square systems of the equations of motion; rhs (..., n, k)."""
    try:
        return np.asarray(np.linalg.solve(matrix, rhs))
    except np.linalg.LinAlgError:
        raise SingularError(
            "the mechanism has a motion along which nothing has inertia, so that forces do not determine its "
            "acceleration: give its bodies mass, or a joint rotor inertia (armature)"
        ) from None
