"""Selections of the worlds of a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError
from ...spatial.arrays import Array


def chosen_worlds(mask: ArrayLike, batch: int) -> Array:
    """Return the indices of the worlds that a mask selects: booleans, one per world, or the indices themselves."""
    given = np.asarray(mask)
    if given.dtype == bool:
        if given.shape != (batch,):
            raise ShapeError(f"mask must have shape ({batch},), one per world, got {given.shape}")
        return np.flatnonzero(given)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise ShapeError("mask must be booleans, one per world, or numbers of worlds")
    if np.any((given < 0) | (given >= batch)) or len(set(given.tolist())) != given.size:
        raise ShapeError(f"mask names worlds from 0 to {batch - 1}, each once")
    return given
