"""Checks of height fields: they must not jump, nor have hollows smaller than a ball.

The search for the distance to a height field starts straight below (or above) a spot.  If the height jumps, a spot that
moves along below the edge is suddenly deep inside, and is thrown out with energy from nowhere; a ball touches a hollow
narrower than itself in two places, one of which would be missed.  Formulas do not show this, so fields are sampled
along lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..spatial.arrays import Array

Heights = Callable[[Array, Array], Any]
"""Heights over arrays of x and y."""

LINES = 41
"""Number of lines in either direction along which a field is sampled."""

POINTS = 801
"""Points on each line, unless more are needed."""

MOST_POINTS = 20_001

SMALLEST_JUMP = 1e-3
"""The smallest jump in meters, if it happens within a ten-thousandth of that."""

OFF_THE_GRID = 0.0137
"""Offset of lines from round numbers, where edges usually are, as a fraction of the distance between lines."""


class RoughPlace(NamedTuple):
    """A place that was found, and its size."""

    x: float
    y: float
    size: float


Region = tuple[tuple[float, float], tuple[float, float]]
"""Range in x and in y."""


def find_jump(heights: Heights, region: Region) -> RoughPlace | None:
    """Find the place nearest to the origin where heights jump; None if there is none."""
    found: list[RoughPlace] = []
    for at, t, across in _lines(region, POINTS):
        rise = np.diff(_sampled(heights, at, t, across), axis=-1)
        beside = np.pad(rise, ((0, 0), (1, 1)))  # on a curve, rises change evenly from one interval to the next
        odd = np.abs(rise - 0.5 * (beside[:, :-2] + beside[:, 2:])) > 0.5 * SMALLEST_JUMP
        rows, columns = np.nonzero(odd)
        if not len(rows):
            continue
        low, high, where_ = t[columns], t[columns + 1], across[rows]
        while np.any(high - low > 1e-4 * SMALLEST_JUMP):  # toward the steepest half, until only a jump is left
            middle = 0.5 * (low + high)
            a, b, c = (_each(heights, at, x, where_) for x in (low, middle, high))
            first = np.abs(b - a) >= np.abs(c - b)
            low, high = np.where(first, low, middle), np.where(first, middle, high)
        jump = np.nan_to_num(np.abs(_each(heights, at, high, where_) - _each(heights, at, low, where_)))
        found += [_place(at, low[k], where_[k], float(jump[k])) for k in np.flatnonzero(jump > SMALLEST_JUMP)]
    return min(found, key=lambda place: place.x**2 + place.y**2, default=None)


def sharpest_hollow(heights: Heights, region: Region, width: float) -> RoughPlace:
    """Find where the mean slope grows most from one interval of a width to the next, and by how much."""
    best = RoughPlace(0.0, 0.0, 0.0)
    length = max(high - low for low, high in region)
    count = int(min(max(2.0 * length / width, 8.0), MOST_POINTS - 1)) + 1
    for at, t, across in _lines(region, count):
        before, here, after = (_sampled(heights, at, t + shift, across) for shift in (-width, 0.0, width))
        bend = np.nan_to_num((after - 2.0 * here + before) / width, nan=0.0, posinf=0.0, neginf=0.0)
        row, column = np.unravel_index(int(np.argmax(bend)), bend.shape)
        if bend[row, column] > best.size:
            best = _place(at, t[column], across[row], float(bend[row, column]))
    return best


def _place(at: Callable[..., Any], along: Any, across: Any, size: float) -> RoughPlace:
    x, y = at(along, across)
    return RoughPlace(float(x), float(y), size)


def _lines(region: Region, count: int) -> Iterator[tuple[Callable[..., Any], Array, Array]]:
    """Yield lines along x, then along y: a map from (along, across) to (x, y), points along, and offsets across."""
    for axis in (0, 1):
        (low, high), (left, right) = region[axis], region[1 - axis]
        beside = OFF_THE_GRID * (right - left) / LINES
        across = np.linspace(left, right, LINES) + beside
        at = (lambda a, b: (a, b)) if axis == 0 else (lambda a, b: (b, a))
        yield at, np.linspace(low, high, count) + OFF_THE_GRID * (high - low) / count, across


def _each(heights: Heights, at: Callable[..., Any], along: Array, across: Array) -> Array:
    """Return heights at single points, (points,)."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(heights(*at(along, across)), dtype=float), along.shape)


def _sampled(heights: Heights, at: Callable[..., Any], along: Array, across: Array) -> Array:
    """Return heights on all lines, (lines, points)."""
    x, y = at(np.broadcast_to(along, (len(across), len(along))), across[:, None] + 0.0 * along)
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(heights(np.array(x), np.array(y)), dtype=float), x.shape)
