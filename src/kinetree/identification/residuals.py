"""Residuals of a fit: how large they are, and whether they are only noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .equations import MeasuredEquations


@dataclass(frozen=True)
class Whiteness:
    """The autocorrelation of the residuals of each row."""

    correlation: Array  # (lags, r)
    """Autocorrelation, starting at lag 1."""
    bound: float
    """Bound below which 95 % of the correlations of pure noise lie."""
    factor: Array  # (r,)
    """Factor by which standard deviations are too small because samples are not independent: 1 for pure noise."""

    @property
    def is_white(self) -> Array:
        """Whether no more correlations exceed the bound than expected by chance, per row."""
        outside = np.mean(np.abs(self.correlation) > self.bound, axis=0)
        return np.asarray(outside <= 0.15)


def whiteness(equations: MeasuredEquations, lags: int = tuned.LAGS) -> Whiteness:
    """Return the autocorrelation of the residuals of a prediction.

    equations: Equations with the prediction as the only column.
    """
    rest = equations.counted * (equations.tau - equations.y[..., 0])
    count = len(rest)
    lags = max(1, min(lags, count // 4))
    power = np.maximum(np.mean(rest**2, axis=0), 1e-300)
    correlation = np.stack([np.sum(rest[k:] * rest[:-k], axis=0) / count / power for k in range(1, lags + 1)])
    bound = 1.96 / np.sqrt(count)
    first_small = np.argmax(np.abs(correlation) < bound, axis=0)
    first_small = np.where(np.any(np.abs(correlation) < bound, axis=0), first_small, lags)
    total = np.array([np.sum(correlation[:k, j]) for j, k in enumerate(first_small)])
    return Whiteness(correlation, bound, np.sqrt(np.maximum(1.0, 1.0 + 2.0 * total)))


def relative_errors(tau: Array, predicted: Array) -> Array:
    """Return the size of the error over that of the force, per row; NaN if there is no force at all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.linalg.norm(tau - predicted, axis=0) / np.linalg.norm(tau, axis=0))
