"""Points and balls on uneven ground, which consists of triangles over a grid.

A point sinks into the triangle above it, along that triangle's normal.  A ball touches the nearest point of all
triangles around it, as many as it can reach, which a loop goes through one cell after the other.
"""

from __future__ import annotations

import math

import numpy as np

from ...errors import UnsupportedError
from ...spatial import Scalar, Vec3, repeat, sqrt, where
from .heights_below import looked_up, triangle_at, whole
from .nearest_in_difference import nearest_of_triangle
from .placed_solids import PlacedSolid, chosen

UNEVEN = "height_field"

MOST_CELLS = 15
"""The most cells along each axis that a ball may reach."""


def point_on_heights(ground: PlacedSolid, place: Vec3) -> tuple[Scalar, Vec3]:
    """Return how deep a point is under the ground, along the normal of the triangle there, and this normal."""
    x, y, z = ground.pose.unrotate(place - ground.pose.translation)
    inside, height, (along, beside) = triangle_at(ground.data, ground.numbers, x, y)
    scale = 1.0 / sqrt(1.0 + along * along + beside * beside)
    return where(inside, (height - z) * scale, -1.0), ground.pose.rotate(Vec3(-along * scale, -beside * scale, scale))


def ball_on_heights(ground: PlacedSolid, center: Vec3, radius: Scalar) -> tuple[Scalar, Vec3, Vec3]:
    """Return how deep a ball is in the ground, its point that is deepest, and the normal there."""
    grid, size = ground.data, ground.numbers
    (rows, columns), (long, wide) = grid.shape, grid.size
    if not isinstance(radius, (int, float)):
        raise UnsupportedError("a ball on a height field needs a radius that is known when code is made")
    reach = [math.ceil(radius / cell) for cell in (long / (rows - 1), wide / (columns - 1))]
    across = [min(2 * n + 1, count - 1) for n, count in zip(reach, (rows, columns), strict=True)]
    if max(across) > MOST_CELLS:
        raise UnsupportedError(
            f"a ball with the radius {radius!r} m reaches more than {MOST_CELLS} cells of a height field: thin it out"
        )
    c = ground.pose.unrotate(center - ground.pose.translation)
    s, t = (c.x / size[0] + 0.5) * (rows - 1.0), (c.y / size[1] + 0.5) * (columns - 1.0)
    first = [whole(x - n, max(count - 1 - k, 0)) for x, n, count, k in
             zip((s, t), reach, (rows, columns), across, strict=True)]  # fmt: skip
    cells = across[0] * across[1]
    offsets = np.array([[i, j] for i in range(across[0]) for j in range(across[1])], dtype=float)
    cell = size[0] / (rows - 1.0), size[1] / (columns - 1.0)
    state = [float(cells), FAR, 0.0, 0.0, 0.0]

    def step(numbers: list[Scalar]) -> list[Scalar]:
        left, best, *found = numbers[:5]
        x, y, z, i0, j0, u, w = numbers[5:]
        k = cells - left
        i, j = i0 + looked_up(TABLES.of(offsets, 0), k), j0 + looked_up(TABLES.of(offsets, 1), k)
        middle = Vec3(x, y, z)

        def corner(a: int, b: int) -> Vec3:
            height = looked_up(grid.table, (i + a) * float(columns) + (j + b))
            return Vec3((i + a) * u - 0.5 * (rows - 1.0) * u, (j + b) * w - 0.5 * (columns - 1.0) * w, height) - middle

        low, high = corner(0, 0), corner(1, 1)
        nearest = Vec3(*found)
        for third in (corner(1, 0), corner(0, 1)):
            off = nearest_of_triangle(low, third, high)
            square = off.dot(off)
            closer = square < best
            best, nearest = where(closer, square, best), chosen(closer, off, nearest)
        return [left - 1.0, best, *nearest]

    key = ("ball on heights", grid, cells)
    _, square, *found = repeat(key, step, state, [*c, *first, *cell], cells, 0)
    inside, height, (along, beside) = triangle_at(grid, size, c.x, c.y)
    scale = 1.0 / sqrt(1.0 + along * along + beside * beside)
    distance = sqrt(square)
    known = distance > NOT_APART
    sunk = where(c.z < height, -1.0, 1.0)
    up = Vec3(*found) * (-sunk / where(known, distance, 1.0))
    up = ground.pose.rotate(chosen(known, up, Vec3(-along * scale, -beside * scale, scale)))
    return where(inside, radius - sunk * distance, -1.0), center - up * radius, up


FAR, NOT_APART = 1e12, 1e-12
"""Square of a distance that is farther than any, and a distance that has no direction."""


class _Tables:
    """Columns of small tables that loops look up, each kept once."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], np.ndarray] = {}

    def of(self, table: np.ndarray, column: int) -> np.ndarray:
        """Return a column as a table of its own."""
        key = table.tobytes(), column
        return self._known.setdefault(key, np.ascontiguousarray(table[:, column : column + 1]))


TABLES = _Tables()
