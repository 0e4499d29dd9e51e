"""Clusters: loops that share joints only with each other, with their constraints expressed as lengths.

The constraint matrix splits into one block per cluster.  Independence is decided block by block, in dimensionless
numbers: with a characteristic length of the cluster, angles become lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms import loop_constraints
from ..model.mass import MassProperties
from ..model.tree import Model
from ..spatial.arrays import Array, split


@dataclass(frozen=True)
class Cluster:
    """Constraints and the freedoms that they bind.

    Attributes
    ----------
    rows, columns : ndarray of int
        Rows and columns of the constraint matrix; outside the block, all entries in them are zero.
    loops : tuple of str
        The joints that close the loops, and couplings.
    length : float
        Typical distance between axes, in meters.
    row_scale, column_scale : ndarray
        Factors that make the block dimensionless.
    reach : ndarray
        How far a slide goes while a hinge turns by a radian: a meter, or more if levers are longer or loops open wider
        than that.
    """

    rows: Array
    columns: Array
    loops: tuple[str, ...]
    length: float
    row_scale: Array = field(repr=False)
    column_scale: Array = field(repr=False)
    reach: Array = field(repr=False)

    def block(self, k: Array) -> Array:
        """Return the cluster's part of constraint matrices (..., nc, nv), dimensionless."""
        return np.asarray(k[..., self.rows[:, None], self.columns] * self.row_scale[:, None] * self.column_scale)


def find(model: Model, q: Array, k: Array, gaps: Array) -> tuple[Cluster, ...]:
    """Return the clusters of a mechanism.

    Configurations (S, nq) with their matrices K and gaps show how long levers are, and how far away a closed state is.
    """
    turning_row = np.array([unit == "rad" for unit in model.constraint_units], dtype=bool)
    turning_column = np.array([unit == "rad" for unit in model.v_units], dtype=bool)
    whose = [*model.loops, *model.couplings]
    of_row = np.repeat(np.arange(len(whose)), [loop.count for loop in model.loops] + [1] * len(model.couplings))
    levers = _levers(model, q, k)
    found = []
    for rows, columns in (map(_indices, part) for part in loop_constraints.connected(model)):
        pulled = np.unique(of_row[rows[~turning_row[rows]]])
        length = _length(model, columns, levers[pulled][:, columns[turning_column[columns]]])
        row_scale = np.where(turning_row[rows], length, 1.0)
        column_scale = np.where(turning_column[columns], 1.0 / length, 1.0)
        names = tuple(whose[i].name for i in dict.fromkeys(of_row[rows]))
        far = max(1.0, length, _longest(np.abs(gaps[:, rows[~turning_row[rows]]])))
        reach = np.where(turning_column[columns], 1.0, far)
        found.append(Cluster(rows, columns, names, length, row_scale, column_scale, reach))
    return tuple(found)


def _indices(places: list[int]) -> Array:
    return np.array(places, dtype=int)


def _levers(model: Model, q: Array, k: Array) -> Array:
    """Return the largest motion of each loop or coupling per unit of each freedom, (loops + couplings, nv).

    Both ends of a loop are considered: it may be open, and a pin may lie on a hinge that it is far from once closed.
    """
    found = np.zeros((len(model.loops) + len(model.couplings), model.nv))
    with np.errstate(all="ignore"):
        for i, columns in enumerate(loop_constraints.levers(model, split(q))):
            for j, ends in enumerate(columns):
                for end in ends or ():
                    found[i, j] = max(found[i, j], _longest(sum(np.square(x) for x in end.linear)) ** 0.5)
    first = model.n_constraints - len(model.couplings)
    for i in range(len(model.couplings)):
        found[len(model.loops) + i] = [_longest(np.abs(column)) for column in k[:, first + i, :].T]
    return found


def _longest(lengths: Any) -> float:
    return float(np.max(lengths, initial=0.0, where=np.isfinite(lengths)))


PART_OF_BODIES = 0.3
"""If all axes meet in one point, or nearly so, the characteristic length is this fraction of the bodies' size."""


def _length(model: Model, columns: Array, levers: Array) -> float:
    """Return the characteristic length of a cluster; one meter if neither levers nor bodies have any."""
    length = max(_longest(levers), PART_OF_BODIES * size_of_bodies(model, columns))
    return length if length > loop_constraints.NO_LENGTH else 1.0


def size_of_bodies(model: Model, columns: Array) -> float:
    """Return the size of the bodies that some freedoms carry: the distance of their mass from their origin.

    Point masses do not count; the size is zero if there are no others.
    """
    sizes, own = [], set(columns.tolist())
    for link, body in zip(model.links, model.bodies, strict=True):
        properties = body.mass_properties
        if not isinstance(properties, MassProperties):
            continue  # formulas in symbols without a value: the size is unknown
        if properties.mass > 0.0 and not own.isdisjoint(range(link.v_slice.start, link.v_slice.stop)):
            spread = float(np.trace(properties.inertia_matrix)) / (2.0 * properties.mass)
            sizes.append(np.sqrt(max(spread, 0.0)) + float(np.linalg.norm(properties.com)))
    return float(np.median([x for x in sizes if x > loop_constraints.NO_LENGTH] or [0.0]))


@dataclass(frozen=True)
class Stack:
    """Clusters of the same shape, computed together.

    Attributes
    ----------
    members : ndarray of int, shape (c,)
        Indices of the clusters.
    rows, columns : ndarray of int, shapes (c, m) and (c, n)
    weights : ndarray, shape (c, m)
        Factors that turn every gap into a length.
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

    def scales(self, model: Model) -> tuple[Array, Array]:
        """Return the factors of rows and of columns that make all of K dimensionless.

        Freedoms that no loop binds are scaled by the length of the largest cluster.
        """
        longest = max((cluster.length for cluster in self.all), default=1.0)
        rows = np.ones(model.n_constraints)
        columns = np.where([unit == "rad" for unit in model.v_units], 1.0 / longest, 1.0)
        for cluster in self.all:
            rows[cluster.rows], columns[cluster.columns] = cluster.row_scale, cluster.column_scale
        return rows, columns

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
    """Return everything as one cluster, for problems with further conditions besides loops."""
    rows, columns = np.arange(constraint_count), np.arange(freedoms)
    ones = np.ones(freedoms)
    return Clusters((Cluster(rows, columns, (), 1.0, np.ones(constraint_count), ones, ones),))
