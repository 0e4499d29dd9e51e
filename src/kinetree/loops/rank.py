"""Linear systems whose rank is not known in advance, for batches of small matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import SingularError
from ..evaluation.small_matrices import one_blas_thread
from ..spatial.arrays import Array
from .long_chains import singular_values
from .tolerances import CLEAR, LEAST, NOTHING, ROUNDING


class Gap(NamedTuple):
    """How many singular values count, and how that was decided."""

    rank: int
    least: float
    """The smallest that counts, where the largest is one."""
    dropped: float
    """The largest that does not count."""
    is_clear: bool


def by_gap(values: Array, rounding: float | None = None) -> Gap:
    """Return how many of some singular values count, by the gap between those that do and those that do not.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Singular values of a dimensionless matrix at an ordinary configuration; the largest first.
    rounding : float, optional
        Level below which values are rounding, if it is known; then no gap is needed.

    Notes
    -----
    A file's 1.5708 for a right angle makes constraints that were implied by others independent of them, but only
    weakly: their singular values are as small as the rounding, while the others are as large as the mechanism's shape
    makes them.  Values below :data:`ROUNDING` are therefore dropped if there is a wide gap above them.
    """
    if not len(values):
        return Gap(0, 1.0, 0.0, True)
    relative = values / max(1.0, float(values[0]))
    limit = ROUNDING if rounding is None else rounding
    count = int((relative > limit).sum())
    kept, rest = _ends(relative, count)
    if rounding is not None or rest <= NOTHING or kept >= CLEAR * rest:
        return Gap(count, kept, rest, True)
    # weak ones just below the limit, with only zeros below them: weak because of the mechanism's shape
    whole = int((relative > NOTHING).sum())
    if relative[whole - 1] * CLEAR > limit:
        return Gap(whole, *_ends(relative, whole), True)
    return Gap(count, kept, rest, False)


def _ends(relative: Array, count: int) -> tuple[float, float]:
    """Return the last singular value that counts, and the first that does not."""
    return float(relative[count - 1]) if count else 1.0, float(relative[count]) if count < len(relative) else 0.0


@one_blas_thread()
def decompose(
    matrix: Array, rank: int | None = None, scale: float = 0.0, least: float = LEAST
) -> tuple[Array, Array, Array, Array]:
    """Return the singular value decomposition with full V, and which singular values count.

    Parameters
    ----------
    matrix : ndarray, shape (..., m, n)
        Lanes with NaN give NaN everywhere.
    rank : int, optional
        The most singular values that count.
    scale : float
        Usual size of the largest singular value away from singularities.  If the largest is smaller, all are compared
        with this instead; otherwise rounding errors would be compared with rounding errors.
    least : float
        Singular values below this fraction of the largest do not count.

    Returns
    -------
    u, s, vt : ndarrays
    kept : ndarray of bool, shape of s
    """
    finite = np.isfinite(matrix).all(axis=(-1, -2), keepdims=True)
    wide = matrix.shape[-2] < matrix.shape[-1]  # only then does V have more columns than there are singular values
    u, s, vt = np.linalg.svd(np.where(finite, matrix, 0.0), full_matrices=wide)
    largest = s[..., :1] if s.shape[-1] else s
    kept = s > least * np.maximum(largest, scale)
    if rank is not None:
        kept &= np.arange(s.shape[-1]) < rank
    hole = ~finite[..., 0]
    s = np.where(hole, np.nan, s)
    return u, s, np.where(~finite, np.nan, vt), kept


def least_squares(
    matrix: Array, rhs: Array, rank: int | None = None, scale: float = 0.0, least: float = LEAST
) -> Array:
    """Return the shortest solution of ``matrix x = rhs`` in the least-squares sense; rhs (..., m, k)."""
    u, s, vt, kept = decompose(matrix, rank, scale, least)
    count = s.shape[-1]
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=kept & (s != 0.0))
    inverse = np.where(np.isnan(s), np.nan, inverse)
    return np.asarray(
        np.swapaxes(vt[..., :count, :], -1, -2) @ (inverse[..., None] * (np.swapaxes(u[..., :count], -1, -2) @ rhs))
    )


@one_blas_thread()
def numerical_rank(matrix: Array, scale: float = 0.0, least: float = LEAST) -> Array:
    """Return the number of singular values that count, per lane."""
    finite = np.isfinite(matrix).all(axis=(-1, -2), keepdims=True)
    s = singular_values(np.where(finite, matrix, 0.0))
    return np.asarray((s > least * np.maximum(s[..., :1], scale)).sum(axis=-1))


def null_space(matrix: Array, rank: int) -> Array:
    """Return orthonormal columns that ``matrix`` maps to zero, assuming its rank to be ``rank``: (..., n, n - rank).

    Those that are only nearly mapped to zero come first.
    """
    _, _, vt, _ = decompose(matrix)
    return np.asarray(np.swapaxes(vt[..., rank:, :], -1, -2))


def motions(matrix: Array, rank: int, scale: float = 0.0, least: float = LEAST) -> tuple[Array, Array]:
    """Return what ``matrix``, of rank ``rank`` or less, maps (nearly) to zero in each lane; see :func:`decompose`.

    Returns
    -------
    basis : ndarray, shape (..., n, k)
        Orthonormal columns; if a lane has fewer than the others, its first ones are zero.
    counts : ndarray of bool, shape (..., k)
        Which columns are nonzero.
    """
    _, s, vt, kept = decompose(matrix, rank, scale, least)
    n = matrix.shape[-1]
    local = np.where(np.isnan(s).any(axis=-1), rank, kept.sum(axis=-1))
    first = int(local.min(initial=rank))
    counts = np.arange(first, n) >= local[..., None]
    return np.where(counts[..., None, :], np.swapaxes(vt[..., first:, :], -1, -2), 0.0), counts


@one_blas_thread()
def solve_along(basis: Array, counts: Array, mass: Array, rhs: Array) -> Array:
    """Solve ``B^T mass B y = B^T rhs`` for the columns B of a basis that count, and return ``B y``; rhs (..., n, k)."""
    across = np.swapaxes(basis, -1, -2)
    reduced = across @ mass @ basis + np.where(counts, 0.0, 1.0)[..., None] * np.eye(counts.shape[-1])
    return np.asarray(basis @ solve(reduced, across @ rhs))


@one_blas_thread()
def solve(matrix: Array, rhs: Array) -> Array:
    """Solve square systems of the equations of motion; rhs (..., n, k)."""
    try:
        return np.asarray(np.linalg.solve(matrix, rhs))
    except np.linalg.LinAlgError:
        raise no_inertia() from None


MASSLESS = 1e-13
"""Motions with less than this fraction of the largest inertia have none, except for rounding."""


@one_blas_thread()
def massless(mass: Array, k: Array, least: float) -> Array:
    """Return in which states a motion that ``k`` allows has no inertia; dimensionless (..., n, n) and (..., m, n).

    Motions without inertia are found first, and then whether the constraints hold them: projected on the allowed
    motions, rounding errors of heavy bodies would hide them.
    """
    finite = np.isfinite(mass).all(axis=(-1, -2)) & np.isfinite(k).all(axis=(-1, -2))
    sizes, ways = np.linalg.eigh(np.where(finite[..., None, None], mass, 0.0))
    light = (sizes <= MASSLESS * sizes[..., -1:]) & finite[..., None]
    found = np.array(light.any(axis=-1))
    for lane in map(tuple, np.argwhere(found)):
        held = singular_values(k[lane] @ ways[lane][:, light[lane]])
        few = len(held) < light[lane].sum()
        found[lane] = few or held[-1] <= least * max(1.0, float(np.linalg.norm(k[lane], 2)))
    return found


def no_inertia() -> SingularError:
    """Return the error about a motion that has no inertia."""
    return SingularError(
        "the mechanism has a motion along which nothing has inertia, so forces do not determine its "
        "acceleration: give its bodies mass, or a joint rotor inertia (armature)"
    )
