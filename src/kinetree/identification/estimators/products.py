"""Weighted least squares from products of columns, for the many fits that are needed to compare models.

Forming products loses half of the digits, but differences between models are far larger than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from ..equations import MeasuredEquations
from .least_squares import noise_left, settle


def grams(equations: MeasuredEquations, part: slice = slice(None)) -> Array:
    """Return the products of all columns, forces last, with one another, per row: (r, p + 1, p + 1)."""
    counted = equations.counted[part]
    both = np.concatenate([equations.y[part], equations.tau[part][..., None]], axis=-1) * counted[..., None]
    tall = np.ascontiguousarray(np.swapaxes(both, 0, 1))
    return np.swapaxes(tall, -1, -2) @ tall


def fitted(products: Array, counts: Array) -> tuple[Array, Array]:
    """Return the weighted fit and the noise of each row, from products of columns; forces have at least some noise."""
    size = np.sqrt(np.maximum(products[:, -1, -1], 1e-300) / np.maximum(counts, 1.0))

    def weighed(noise: Array, _: Array) -> tuple[Array, Array]:
        x = solved(np.tensordot(noise**-2.0, products, axes=1))
        found = noise_left(left(products, x), counts, counts * (len(x) / counts.sum()))
        return np.hypot(found, tuned.NOISELESS * size), x

    noise, x = settle(weighed, size, size, tuned.FIT_ROUNDS)
    return x, noise


def solved(products: Array) -> Array:
    """Return the fit to products of columns, (p + 1, p + 1)."""
    size = np.sqrt(np.maximum(np.diagonal(products)[:-1], 1e-300))
    scaled = products[:-1, :-1] / np.outer(size, size) + tuned.RIDGE * np.eye(len(size))
    return np.linalg.solve(scaled, products[:-1, -1] / size) / size


def left(products: Array, x: Array) -> Array:
    """Return the sum of squares that a solution leaves, per row."""
    both = np.append(x, -1.0)
    return np.maximum(both @ products @ both, 1e-300)


@dataclass(frozen=True)
class Folds:
    """Products of columns for each part of the data, to cross-validate fits of some of the columns."""

    parts: Array  # (folds, r, p + 1, p + 1)
    counts: Array  # (r,)
    """Number of rows that are used."""

    @classmethod
    def of(cls, equations: MeasuredEquations, folds: int = tuned.FOLDS) -> Folds:
        """Cut the data into parts."""
        bounds = np.linspace(0, len(equations.t), folds + 1).astype(int)
        parts = [grams(equations, slice(first, last)) for first, last in pairwise(bounds)]
        return cls(np.stack(parts), equations.counted.sum(axis=0))

    def with_columns(self, columns: Sequence[int]) -> Folds:
        """Return the same data with some of the columns."""
        kept = np.array([*columns, self.parts.shape[-1] - 1])
        return Folds(self.parts[:, :, kept[:, None], kept], self.counts)

    @cached_property
    def whole(self) -> Array:
        """Products of columns of all data."""
        return np.asarray(np.sum(self.parts, axis=0))

    @cached_property
    def fit(self) -> tuple[Array, Array]:
        """Values of a fit to all data, and the standard deviation of its residuals in each row."""
        return fitted(self.whole, self.counts)

    @cached_property
    def errors(self) -> Array:
        """The error of each row, predicted for every part of the data by a fit to all others."""
        weights = self.fit[1] ** -2.0
        over = [left(part, solved(np.tensordot(weights, self.whole - part, axes=1))) for part in self.parts]
        total = np.sum(over, axis=0) + tuned.NOISELESS**2 * self.whole[:, -1, -1]
        return np.asarray(np.sqrt(total / np.maximum(self.counts, 1)))

    def last_over_deviation(self) -> float:
        """Return the value of the last column in a fit to all data, over its standard deviation."""
        x, noise = self.fit
        normal = np.tensordot(noise**-2.0, self.whole, axes=1)[:-1, :-1]
        size = np.sqrt(np.maximum(np.diagonal(normal), 1e-300))
        inverse = np.linalg.inv(normal / np.outer(size, size) + tuned.RIDGE * np.eye(len(size)))
        return float(x[-1] * size[-1] / np.sqrt(inverse[-1, -1]))


def cross_validated(equations: MeasuredEquations, folds: int = tuned.FOLDS) -> Array:
    """Return the error of each row, predicted for every part of the data by a fit to all others."""
    return Folds.of(equations, folds).errors
