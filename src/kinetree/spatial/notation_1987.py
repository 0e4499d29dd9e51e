"""Conversion between the notation of Featherstone's 1987 book and that of 2008, which kinetree and most libraries use.

In 1987, the part of a spatial vector that lies on a line comes first: a motion is (angular, linear), a force is
(force, moment).  So one matrix transforms both, one cross operator differentiates both, and the *spatial transpose*
swaps halves (Featherstone eq. 3.18, 3.20, 3.23).  Since 2008 a force is (moment, force): motions and forces have
separate matrices, and the transpose is the ordinary one.  With P, which swaps the two halves of six numbers:

    f87 = P f08,    X87 = X08 for both kinds,    I87 = P I08,    Phi87 = Phi08 P,    A^S = P A^T P
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, explain_public, refuse_unknown
from .arrays import Array, as_array

Quantity = Literal["motion", "force", "motion_transform", "force_transform", "inertia", "inverse_inertia"]

_SWAP_ROWS = {"force", "force_transform", "inertia"}
_SWAP_COLUMNS = {"force_transform", "inverse_inertia"}
QUANTITIES = ("motion", "force", "motion_transform", "force_transform", "inertia", "inverse_inertia")
"""The quantities that can be converted; several vectors may be given as the columns of one array, (..., 6, r)."""


def to_1987(value: ArrayLike, quantity: Quantity) -> Array:
    """Convert a quantity from kinetree's notation to Featherstone's of 1987.

    Parameters
    ----------
    value : array_like
        A vector (..., 6), several vectors as columns (..., 6, r), or a matrix (..., 6, 6).
    quantity : {"motion", "force", "motion_transform", "force_transform", "inertia", "inverse_inertia"}

    Examples
    --------
    >>> from kinetree.spatial import to_1987
    >>> print(to_1987([1, 2, 3, 4, 5, 6], "force"))
    [4. 5. 6. 1. 2. 3.]
    """
    refuse_unknown("spatial quantity", quantity, QUANTITIES)
    array = _spatial(value)
    if array.ndim == 1 or (quantity in ("motion", "force") and array.shape[-1] == 6 and array.shape[-2] != 6):
        return _swapped(array, -1) if quantity == "force" else np.array(array)
    if array.shape[-2] != 6:
        raise ShapeError(f"{quantity} must have shape (..., 6, r) or (..., 6), got {array.shape}")
    if quantity in _SWAP_ROWS:
        array = _swapped(array, -2)
    if quantity in _SWAP_COLUMNS:
        array = _swapped(array, -1)
    return np.array(array)


def from_1987(value: ArrayLike, quantity: Quantity) -> Array:
    """Convert a quantity from Featherstone's notation of 1987 to kinetree's, by the same swap of halves."""
    return to_1987(value, quantity)


def spatial_transpose(matrix: ArrayLike) -> Array:
    """Return the spatial transpose A^S of a vector, a 6xr or a 6x6 matrix (Featherstone eq. 3.18, 3.23, 3.20).

    matrix: A vector (6,) or a matrix (..., 6, r) in the notation of 1987.  The halves are swapped on both sides only
        for a 6x6 matrix.

    Returns
    -------
    ndarray
        (6,) for a vector, so that ``spatial_transpose(f) @ v`` is power; (..., r, 6) for a matrix.

    Examples
    --------
    The inverse of a transform is its spatial transpose:

    >>> import numpy as np
    >>> from kinetree.spatial import spatial_transpose, transform_matrix
    >>> pose = np.eye(4); pose[:3, 3] = 1, 2, 3
    >>> np.allclose(spatial_transpose(transform_matrix(pose)) @ transform_matrix(pose), np.eye(6))
    True
    """
    array = _spatial(matrix)
    if array.ndim == 1:
        return _swapped(array, -1)
    if array.shape[-2] != 6:
        raise ShapeError(f"a spatial matrix has six rows, got {array.shape}")
    flipped = _swapped(np.swapaxes(array, -1, -2), -1)
    return _swapped(flipped, -2) if array.shape[-1] == 6 else flipped


def _spatial(value: ArrayLike) -> Array:
    array = np.asarray(value)
    array = as_array(value, array.shape, "value")
    if 6 not in array.shape[-2:]:
        raise ShapeError(f"a spatial quantity has six components, got an array of shape {array.shape}")
    return array


def _swapped(array: Array, axis: int) -> Array:
    return np.roll(array, 3, axis=axis)


explain_public(__name__)
