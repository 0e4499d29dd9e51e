"""Constraints of hundreds of loops in one chain: singular values and Newton steps from a narrow band.

A loop involves only the joints around it, so the matrix of a long chain of loops is nearly empty.  In the right order
(Cuthill and McKee 1969) the symmetric matrix ``[[0, K], [K^T, 0]]``, whose eigenvalues are the singular values of K and
their negatives, is a narrow band; its eigenvalues are as accurate as singular values of K itself, since nothing is
squared. Matrices that are small or not sparse are left to LAPACK's singular value decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..spatial.arrays import Array

LARGE = 200
"""Matrices with fewer rows or columns than this are quickly decomposed directly."""

NARROW = 0.05
"""Bands count as narrow up to this fraction of the matrix."""

DAMPED, ROUNDS = 1e-4, 5
"""Damping, as a fraction of the square of the least singular value that counts, and how often the step is corrected."""

NOT_THERE = 1e-10
"""Singular values that do not count must be below this fraction of the least that does, for a damped solution to
work."""


def singular_values(matrices: Array) -> Array:
    """Return the singular values of matrices (..., m, n), the largest first, as ``numpy.linalg.svd`` does."""
    band = _BandOfLoops.of(matrices)
    if band is None:
        return np.asarray(np.linalg.svd(matrices, compute_uv=False))
    batch, count = matrices.shape[:-2], min(matrices.shape[-2:])
    found = [band.singular_values(one, count) for one in matrices.reshape(-1, *matrices.shape[-2:])]
    return np.reshape(found, (*batch, count))


@dataclass(frozen=True)
class _BandOfLoops:
    """Positions of matrix entries in the order that makes a narrow band of ``[[0, K], [K^T, 0]]``.

    Attributes
    ----------
    places : tuple of ndarray
        Rows and columns of K that are nonzero in any of the matrices.
    below, column : ndarray of int
        Places of these in the lower half of the band.
    width, size : int
        Width and size of the band; rows and columns of zeros are left out.
    """

    places: tuple[Array, Array]
    below: Array
    column: Array
    width: int
    size: int

    @classmethod
    def of(cls, matrices: Array) -> _BandOfLoops | None:
        """Return the band of matrices (..., m, n); None if they are small, not finite, or not nearly empty."""
        m, n = matrices.shape[-2:]
        if min(m, n) < LARGE or not matrices.size or not np.isfinite(matrices).all():
            return None
        from scipy.sparse import coo_array  # these take a while to load, and few mechanisms need them
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        rows, columns = np.nonzero((matrices != 0.0).reshape(-1, m, n).any(axis=0))
        if not len(rows) or len(rows) > NARROW * m * n:
            return None
        _, i = np.unique(rows, return_inverse=True)
        _, j = np.unique(columns, return_inverse=True)
        j = j + i.max() + 1
        size = int(j.max()) + 1
        graph = coo_array((np.ones(2 * len(i)), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(size, size))
        place = np.empty(size, dtype=int)
        place[reverse_cuthill_mckee(graph.tocsr(), symmetric_mode=True)] = np.arange(size)
        below = np.abs(place[i] - place[j])
        width = int(below.max())
        return (
            None if width > NARROW * size else cls((rows, columns), below, np.minimum(place[i], place[j]), width, size)
        )

    def singular_values(self, matrix: Array, count: int) -> Array:
        """Return the ``count`` singular values of one matrix."""
        from scipy.linalg import eigvals_banded  # as above

        band = np.zeros((self.width + 1, self.size))
        band[self.below, self.column] = matrix[self.places]
        values = np.maximum(eigvals_banded(band, lower=True)[::-1][:count], 0.0)
        return np.concatenate([values, np.zeros(count - len(values))])


def newton_step(matrix: Array, gaps: Array, least: float, most: int | None) -> tuple[Array, float] | None:
    """Return the shortest move that closes gaps of one configuration, and how far off the constraints that count are.

    Parameters
    ----------
    matrix : ndarray, shape (m, n)
    gaps : ndarray, shape (m,) or (m, k)
    least : float
        Constraints below this fraction of the strongest do not count.
    most : int or None
        The most that count.

    Returns
    -------
    move : ndarray, shape (n,) or (n, k)
    off : float
        Length of the part of the gaps that the move closes.

    None if the matrix is small or not sparse, or if it is not clear which constraints count.

    Notes
    -----
    ``x = K^T (K K^T + d)^-1 r`` is the shortest solution except for a fraction ``d / (s^2 + d)`` along each singular
    value s, and the remainder is solved for again in the same way.
    """
    band = _BandOfLoops.of(matrix)
    if band is None:
        return None
    values = band.singular_values(matrix, min(matrix.shape))
    count = int((values > least * values[0]).sum())
    count = count if most is None else min(count, most)
    if not count or (count < len(values) and values[count] > NOT_THERE * values[count - 1]):
        return None
    from scipy.sparse import csc_array, eye_array  # as above
    from scipy.sparse.linalg import splu

    k: Any = csc_array(matrix)
    factors = splu((k @ k.T + DAMPED * values[count - 1] ** 2 * eye_array(len(matrix))).tocsc())
    move = np.zeros((matrix.shape[1], *gaps.shape[1:]))
    for _ in range(ROUNDS):
        move -= k.T @ factors.solve(gaps + k @ move)
    return move, float(np.linalg.norm(k @ move))


def square_solution(matrix: Array, rhs: Array) -> Array | None:
    """Return x with ``matrix x = rhs``, (n, n) by (n, k), by sparse factors; None if these do not work."""
    if not (np.isfinite(matrix).all() and np.isfinite(rhs).all()):
        return None
    from scipy.sparse import csc_array  # as above
    from scipy.sparse.linalg import splu

    k: Any = csc_array(matrix)
    try:
        solution = np.asarray(splu(k).solve(rhs))
    except RuntimeError:  # exactly singular
        return None
    size = np.abs(matrix).max() * np.abs(solution).max(initial=0.0) + np.abs(rhs).max(initial=0.0)
    return solution if np.abs(k @ solution - rhs).max(initial=0.0) <= SOLVED * size else None


SOLVED = 1e-13
"""Largest residual of equations that sparse factors solve, relative to their largest terms."""


def null_space(matrix: Array, rank: int) -> Array | None:
    """Return orthonormal columns that a matrix (m, n) of a rank maps to zero; None as in :func:`newton_step`.

    Random moves, a few more than needed, are projected so that the constraints allow them.
    """
    n = matrix.shape[1]
    guesses = np.random.default_rng(0).standard_normal((n, min(n, n - rank + SPARE)))
    step = newton_step(matrix, matrix @ guesses, 0.0, rank)
    if step is None:
        return None
    return np.asarray(np.linalg.svd(guesses + step[0], full_matrices=False)[0][:, : n - rank])


SPARE = 4
"""How many more moves than freedoms are tried, in case random ones are nearly the same."""
