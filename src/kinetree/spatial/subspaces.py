"""Subspaces of motions and forces: complements, bases, dyads (Featherstone section 3.10), on arrays, batch first.

A subspace is a matrix of columns, (..., 6, r).  Motions and forces are dual: the product of one with the other is
power, and there is no other product of two spatial vectors.  So only forces can be orthogonal to motions, and a basis
can be orthogonal only with respect to an inertia.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, SingularError, explain_public
from .arrays import Array, as_array
from .six_by_six import as_columns

DEPENDENT = 1e-12
"""Columns count as dependent if the remainder of one after projection is shorter than this fraction of its length."""


def complement(subspace: ArrayLike) -> Array:
    """Return an orthonormal basis of the vectors of the other kind that do no work on a subspace (Featherstone 3.25).

    Parameters
    ----------
    subspace : array_like (..., 6, r)
        Independent columns, for example the motions that a joint allows.

    Returns
    -------
    ndarray (..., 6, 6 - r)
        The forces that the joint's bearings can transmit; for a subspace of forces, the motions that they leave free.
    """
    s = _independent(subspace, "subspace")
    u, _, _ = np.linalg.svd(np.where(np.isfinite(s), s, 0.0), full_matrices=True)
    spoiled = ~np.isfinite(s).all(axis=(-1, -2), keepdims=True)
    return np.where(spoiled, np.nan, u[..., s.shape[-1] :])


def resolve(vector: ArrayLike, along: ArrayLike, resisted_by: ArrayLike) -> Array:
    """Return coordinates of a vector's part in one subspace, the rest orthogonal to another (Featherstone eq. 3.27).

    vector: (..., 6)
    along: (..., 6, r). S, of the same kind (motion or force) as the vector.
    resisted_by: (..., 6, r). T, of the other kind: ``vector - S alpha`` does no work on its columns.

    Returns
    -------
    alpha : ndarray (..., r)
    """
    a, s, t = as_array(vector, (6,), "vector"), as_columns(along, "along"), as_columns(resisted_by, "resisted_by")
    if s.shape[-1] != t.shape[-1]:
        raise ShapeError(f"along has {s.shape[-1]} columns and resisted_by {t.shape[-1]}; both need the same number")
    tt = np.swapaxes(t, -1, -2)
    return np.asarray(
        _solved(tt @ s, tt @ a[..., None], "the vector cannot be resolved along S against T: T^T S is singular")[..., 0]
    )


def reciprocal_basis(basis: ArrayLike) -> Array:
    """Return the basis of the other kind with e_i . f_j = 1 for i = j and 0 otherwise (Featherstone eq. 3.28).

    basis: (..., 6, r)

    Returns
    -------
    ndarray (..., 6, r)
        ``f.T @ v`` are the coordinates of a vector of the subspace in the basis (Featherstone eq. 3.29).  With r < 6
        there are many reciprocal bases; this one has the shortest columns.
    """
    e = _independent(basis, "basis")
    et = np.swapaxes(e, -1, -2)
    return np.asarray(np.swapaxes(_solved(et @ e, et, "the columns of the basis depend on one another"), -1, -2))


def orthogonal_basis(subspace: ArrayLike, inertia: ArrayLike) -> Array:
    """Return a basis of a subspace that is orthonormal with respect to an inertia (Featherstone section 3.10.3).

    This is the Gram-Schmidt process with the product s_i . (I s_j): the first k columns of the result span the same
    subspace as the first k given columns.

    subspace: (..., 6, r). Motions, independent of one another.
    inertia: (..., 6, 6). Symmetric, positive on the subspace; or an inverse inertia for a subspace of forces.

    Returns
    -------
    ndarray (..., 6, r)
    """
    s, i = _independent(subspace, "subspace"), as_array(inertia, (6, 6), "inertia")
    found: list[Array] = []
    for k in range(s.shape[-1]):
        left = s[..., k]
        for _ in range(2):  # a second pass removes what rounding left
            for unit in found:
                left = left - unit * ((i @ unit[..., None])[..., 0] * left).sum(axis=-1, keepdims=True)
        square = (left * (i @ left[..., None])[..., 0]).sum(axis=-1, keepdims=True)
        if np.any(square <= 0.0):
            raise SingularError(f"column {k} of the subspace has no inertia that the columns before it do not have")
        found.append(left / np.sqrt(square))
    return np.stack(np.broadcast_arrays(*found), axis=-1)


def dyad(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the map that takes c to a times (b . c), a 6x6 matrix of rank one (Featherstone eq. 3.30)."""
    return as_array(a, (6,), "a")[..., :, None] * as_array(b, (6,), "b")[..., None, :]


def inertia_dyads(inertia: ArrayLike, basis: ArrayLike | None = None) -> Array:
    """Split an inertia into a sum of dyads, one for each motion of a basis (Featherstone eq. 3.31).

    inertia: (..., 6, 6)
    basis: (..., 6, r). Motions, which are made orthogonal first.  The six unit motions by default.

    Returns
    -------
    ndarray (..., r, 6, 6)
        Each ``(I s)(I s)^T / (s . I s)``; with r = 6 their sum is the inertia.
    """
    i = as_array(inertia, (6, 6), "inertia")
    s = np.swapaxes(orthogonal_basis(np.eye(6) if basis is None else basis, i), -1, -2)
    moved = (i[..., None, :, :] @ s[..., None])[..., 0]
    return dyad(moved, moved)


def _independent(matrix: ArrayLike, name: str) -> Array:
    """Return columns if they are independent; otherwise raise an error that names the argument."""
    columns = as_columns(matrix, name)
    if columns.shape[-1] == 0:
        return columns
    finite = np.where(np.isfinite(columns), columns, 0.0)
    spread = np.linalg.svd(finite, compute_uv=False)
    whole = np.isfinite(columns).all(axis=(-1, -2))
    if columns.shape[-1] > 6 or np.any(whole & (spread[..., -1] <= DEPENDENT * spread[..., 0])):
        raise SingularError(f"the {columns.shape[-1]} columns of {name} depend on one another; leave some out")
    return columns


def _solved(matrix: Array, right: Array, problem: str) -> Array:
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        raise SingularError(problem) from None


explain_public(__name__)
