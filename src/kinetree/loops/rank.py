"""Linear systems whose rank is not known beforehand, for batches of small matrices."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

RELATIVE_TOLERANCE = 1e-9
"""Singular values below this fraction of the largest count as zero."""


def decompose(matrix: Array, rank: int | None = None) -> tuple[Array, Array, Array, Array]:
    """Singular value decomposition with full V, and which singular values count.

    Parameters
    ----------
    matrix : ndarray, shape (..., m, n)
        Lanes with NaN give NaN everywhere.
    rank : int, optional
        At most so many singular values count.

    Returns
    -------
    u, s, vt : ndarrays
    kept : ndarray of bool, shape of s
    """
    finite = np.isfinite(matrix).all(axis=(-1, -2), keepdims=True)
    wide = matrix.shape[-2] < matrix.shape[-1]  # only then has V more columns than there are singular values
    u, s, vt = np.linalg.svd(np.where(finite, matrix, 0.0), full_matrices=wide)
    largest = s[..., :1] if s.shape[-1] else s
    kept = s > RELATIVE_TOLERANCE * largest
    if rank is not None:
        kept &= np.arange(s.shape[-1]) < rank
    hole = ~finite[..., 0]
    s = np.where(hole, np.nan, s)
    return u, s, np.where(~finite, np.nan, vt), kept


def least_squares(matrix: Array, rhs: Array, rank: int | None = None) -> Array:
    """The shortest solution of ``matrix x = rhs`` in the least-squares sense; rhs (..., m) or (..., m, k)."""
    u, s, vt, kept = decompose(matrix, rank)
    vector = rhs.ndim < matrix.ndim or rhs.shape[-2:] != (matrix.shape[-2], rhs.shape[-1])
    b = rhs[..., None] if vector else rhs
    count = s.shape[-1]
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=kept & (s != 0.0))
    inverse = np.where(np.isnan(s), np.nan, inverse)
    x = np.swapaxes(vt[..., :count, :], -1, -2) @ (inverse[..., None] * (np.swapaxes(u[..., :count], -1, -2) @ b))
    return np.asarray(x[..., 0] if vector else x)


def numerical_rank(matrix: Array) -> Array:
    """Number of singular values that count, per lane."""
    return np.asarray(decompose(matrix)[3].sum(axis=-1))


def null_space(matrix: Array, rank: int) -> Array:
    """Orthonormal columns that ``matrix`` maps to zero, taking its rank to be ``rank``: (..., n, n - rank)."""
    _, _, vt, _ = decompose(matrix)
    return np.asarray(np.swapaxes(vt[..., rank:, :], -1, -2))
