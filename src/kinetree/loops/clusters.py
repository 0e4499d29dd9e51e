"""Loops that share joints, and nothing with others: what their constraints are, each in its own units of length.

The constraint matrix falls apart into one block per cluster.  Whatever is decided about independence is decided block
by block, in numbers without units: with a characteristic length of the cluster, angles become lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..algorithms import constraints
from ..model.tree import Model

Array = np.ndarray


@dataclass(frozen=True)
class Cluster:
    """Constraints and the freedoms that they bind.

    Attributes
    ----------
    rows, columns : ndarray of int
        Of the constraint matrix; all its other entries in these rows and columns are zero.
    loops : tuple of str
        The joints that close the loops, and couplings.
    length : float
        Typical distance between axes, in metres.
    row_scale, column_scale : ndarray
        What makes the block a matrix of numbers without units.
    """

    rows: Array
    columns: Array
    loops: tuple[str, ...]
    length: float
    row_scale: Array = field(repr=False)
    column_scale: Array = field(repr=False)

    def block(self, k: Array) -> Array:
        """Return the cluster's part of constraint matrices (..., nc, nv), without units."""
        return np.asarray(k[..., self.rows[:, None], self.columns] * self.row_scale[:, None] * self.column_scale)


def find(model: Model, k: Array) -> tuple[Cluster, ...]:
    """Return the clusters of a mechanism; ``k`` (S, nc, nv) are constraint matrices that show how long levers are."""
    turning_row = np.array([unit == "rad" for unit in model.constraint_units], dtype=bool)
    turning_column = np.array([unit == "rad" for unit in model.v_units], dtype=bool)
    whose = [*model.loops, *model.couplings]
    of_row = np.repeat(np.arange(len(whose)), [loop.count for loop in model.loops] + [1] * len(model.couplings))
    found = []
    for rows, columns in (map(_indices, part) for part in constraints.connected(model)):
        levers = np.abs(k[..., rows[:, None], columns])[..., ~turning_row[rows], :][..., turning_column[columns]]
        longest = float(np.max(levers, initial=0.0, where=np.isfinite(levers)))
        length = max(longest, PART_OF_BODIES * size_of_bodies(model, columns))
        row_scale = np.where(turning_row[rows], length, 1.0)
        column_scale = np.where(turning_column[columns], 1.0 / length, 1.0)
        names = tuple(whose[i].name for i in dict.fromkeys(of_row[rows]))
        found.append(Cluster(rows, columns, names, length, row_scale, column_scale))
    return tuple(found)


def _indices(places: list[int]) -> Array:
    return np.array(places, dtype=int)


PART_OF_BODIES = 0.3
"""Where all axes meet in one point, or nearly so, bodies tell what is long: this part of their size."""


def size_of_bodies(model: Model, columns: Array) -> float:
    """Return how large bodies are that some freedoms carry, by how far their mass is from their origin."""
    sizes = []
    for link, body in zip(model.links, model.bodies, strict=True):
        properties = body.mass_properties
        if properties.mass > 0.0 and np.isin(np.arange(link.v_slice.start, link.v_slice.stop), columns).any():
            spread = float(np.trace(properties.inertia_matrix)) / (2.0 * properties.mass)
            sizes.append(np.sqrt(max(spread, 0.0)) + float(np.linalg.norm(properties.com)))
    return float(np.median(sizes)) if sizes and max(sizes) > 0.0 else 1.0


@dataclass(frozen=True)
class Stack:
    """Clusters of one shape, computed at once.

    Attributes
    ----------
    members : ndarray of int, shape (c,)
        Which clusters.
    rows, columns : ndarray of int, shapes (c, m) and (c, n)
    weights : ndarray, shape (c, m)
        What makes every gap a length.
    """

    members: Array
    rows: Array
    columns: Array
    weights: Array

    def blocks(self, k: Array) -> Array:
        """Return the blocks (..., c, m, n) of constraint matrices, all rows weighted."""
        return np.asarray(k[..., self.rows[:, :, None], self.columns[:, None, :]] * self.weights[:, :, None])

    def gaps(self, left: Array) -> Array:
        """Return the weighted gaps (..., c, m)."""
        return np.asarray(left[..., self.rows] * self.weights)


@dataclass(frozen=True)
class Clusters:
    """All clusters of a mechanism."""

    all: tuple[Cluster, ...]

    @cached_property
    def stacks(self) -> tuple[Stack, ...]:
        """Clusters gathered by shape."""
        shapes: dict[tuple[int, int], list[int]] = {}
        for i, cluster in enumerate(self.all):
            shapes.setdefault((len(cluster.rows), len(cluster.columns)), []).append(i)
        return tuple(
            Stack(
                np.array(members),
                np.stack([self.all[i].rows for i in members]),
                np.stack([self.all[i].columns for i in members]),
                np.stack([self.all[i].row_scale for i in members]),
            )
            for members in shapes.values()
        )


def single(constraint_count: int, freedoms: int) -> Clusters:
    """Return everything as one cluster, for problems with other conditions beside those of loops."""
    rows, columns = np.arange(constraint_count), np.arange(freedoms)
    return Clusters((Cluster(rows, columns, (), 1.0, np.ones(constraint_count), np.ones(freedoms)),))
