"""Uneven ground by heights on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import ModelError
from ..pose import floats
from .solid import Point, Solid, lengths

MOST_HEIGHTS = 2**24
"""The most heights of a grid: single precision counts up to this."""


@dataclass(frozen=True)
class HeightGrid(Solid):
    """Everything below a surface of triangles, given by heights on a regular grid about the origin.

    Parameters
    ----------
    size : two floats
        Lengths along x and y from the first grid line to the last.
    heights : array_like, shape (nx, ny)
        Heights along z, at least two along x and two along y.
    """

    size: tuple[float, float]
    heights: tuple[tuple[float, ...], ...]
    name = "height_field"
    is_ground = True

    def __post_init__(self) -> None:
        found = floats(self.heights, "the heights of a height field")
        if found.ndim != 2 or min(found.shape) < 2:
            raise ModelError(f"the heights of a height field must be of shape (nx, ny), 2 x 2 at least: {found.shape}")
        if found.size > MOST_HEIGHTS:
            raise ModelError(f"a height field has at most {MOST_HEIGHTS} heights, not {found.size}: thin it out")
        if not np.isfinite(found).all():
            i, j = (int(k[0]) for k in np.nonzero(~np.isfinite(found)))
            raise ModelError(f"the height [{i}, {j}] of a height field is not finite: {found[i, j]}")
        size = lengths(self.size, 2, "the size of a height field")
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "heights", tuple(map(tuple, found.tolist())))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of heights along x and along y."""
        return len(self.heights), len(self.heights[0])

    @cached_property
    def table(self) -> np.ndarray:
        """All heights one after the other, (nx ny, 1), as data that code looks up."""
        return np.array(self.heights).reshape(-1, 1)

    def numbers(self) -> tuple[float, ...]:
        """Return the lengths; the heights are data."""
        return self.size

    def ball(self) -> tuple[Point, float]:
        """Return a ball without end."""
        return (0.0, 0.0, 0.0), math.inf
