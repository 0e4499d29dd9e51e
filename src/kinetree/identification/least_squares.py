"""Ordinary, weighted and iteratively re-weighted least squares, for one set of forces or a batch of them.

The equation is ``Y x = tau`` with rows per sample and joint: ``Y`` (n, r, p), ``tau`` (..., n, r).  It is solved in
coordinates in which the columns of Y are orthonormal, so that normal equations lose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import IdentificationError, UnknownNameError

Array = np.ndarray

ROUNDS = 30
SETTLED = 1e-7
HUBER = 1.345
"""Residuals beyond so many standard deviations count less: 95 % as good as least squares where nothing is wrong."""


@dataclass(frozen=True)
class Estimate:
    """What a fit found.

    Attributes
    ----------
    values : ndarray (..., p)
    covariance : ndarray (..., p, p)
    noise : ndarray (..., r)
        Standard deviation of the residuals of each joint.
    weights : ndarray (..., n, r)
        How much each row counts, beside the noise of its joint: 0 for those that do not.
    """

    values: Array
    covariance: Array
    noise: Array
    weights: Array

    @property
    def deviations(self) -> Array:
        """Standard deviations of the values."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance, axis1=-2, axis2=-1), 0.0))


def estimate(
    y: Array, tau: Array, method: str = "weighted", counted: Array | None = None, prior: Array | None = None
) -> Estimate:
    """Solve ``Y x = tau`` for x.

    Parameters
    ----------
    y : ndarray (n, r, p)
        With independent columns.
    tau : ndarray (..., n, r)
    method : {"ordinary", "weighted", "reweighted"}
        All rows alike; each joint by the noise of its residuals; and with outliers that count less, too (Huber).
    counted : ndarray (n, r), optional
        Which rows count at all.
    prior : ndarray (p,), optional
        What directions that the rows do not tell keep; zero when left out.
    """
    if method not in METHODS:
        raise UnknownNameError("estimator", method, METHODS)
    n, r, p = y.shape
    alive = np.ones((n, r)) if counted is None else counted.astype(float)
    rows = int(alive.sum())
    if rows <= p:
        raise IdentificationError(f"{rows} rows cannot tell {p} parameters: measure longer, or filter less")
    basis, back, start = _orthonormal(y * alive[..., None], prior)
    force = tau - (0.0 if start is None else y @ start)
    batch = tau.shape[:-2]
    noise = np.ones((*batch, r))
    weights = np.broadcast_to(alive, (*batch, n, r))
    z, inverse = _solve(basis, force, noise, weights)
    for _ in range(ROUNDS):
        residual = force - _apply(basis, z)
        new = _noise(residual, weights if method == "reweighted" else alive, alive, p, common=method == "ordinary")
        if method == "reweighted":
            ratio = np.abs(residual) / np.maximum(new[..., None, :], 1e-300)
            weights = alive * np.where(ratio > HUBER, HUBER / np.maximum(ratio, HUBER), 1.0)
        settled = np.all(np.abs(new - noise) <= SETTLED * np.maximum(new, 1e-300))
        noise = new
        z, inverse = _solve(basis, force, noise, weights)
        if settled:
            break
    covariance = back @ inverse @ back.T
    if method == "reweighted":  # asymptotic variance of Huber's estimator
        covariance = covariance * _huber_variance(force - _apply(basis, z), noise, weights, alive)[..., None, None]
    values = z @ back.T + (0.0 if start is None else start)
    return Estimate(values, covariance, noise, weights)


METHODS = ("ordinary", "weighted", "reweighted")


def residual_noise(residual: Array, counted: Array, parameters: int) -> Array:
    """Return the standard deviation of each joint's residuals, (..., r)."""
    return _noise(residual, counted, counted, parameters, common=False)


def _apply(basis: Array, z: Array) -> Array:
    """Return Y x for every entry of a batch, (..., n, r)."""
    n, r, p = basis.shape
    return (z @ basis.reshape(n * r, p).T).reshape(*z.shape[:-1], n, r)


def _orthonormal(y: Array, prior: Array | None) -> tuple[Array, Array, Array | None]:
    """Return Y in orthonormal columns, the way back to x, and where x starts."""
    n, r, p = y.shape
    size = np.linalg.norm(y.reshape(-1, p), axis=0)
    scale = np.where(size > 0.0, size, 1.0)
    u, s, vt = np.linalg.svd(y.reshape(-1, p) / scale, full_matrices=False)
    known = s > 1e-9 * s[0]
    back = (vt[known].T / s[known]) / scale[:, None]
    return u[:, known].reshape(n, r, -1), back, prior


def _solve(basis: Array, force: Array, noise: Array, weights: Array) -> tuple[Array, Array]:
    """Return the solution and the inverse of the normal matrix."""
    if weights.ndim == 2 or np.all(weights == weights.reshape(-1, *weights.shape[-2:])[0]):
        one = weights.reshape(-1, *weights.shape[-2:])[0]
        per_joint = np.einsum("nr,nrp,nrs->rps", one, basis, basis, optimize=True)
        normal = np.einsum("...r,rps->...ps", noise**-2.0, per_joint)
    else:
        normal = np.einsum("...nr,nrp,nrs->...ps", weights / noise[..., None, :] ** 2, basis, basis, optimize=True)
    right = np.einsum("...nr,nrp->...p", weights * force / noise[..., None, :] ** 2, basis, optimize=True)
    inverse = np.linalg.inv(normal)
    return (inverse @ right[..., None])[..., 0], inverse


def _noise(residual: Array, weights: Array, alive: Array, parameters: int, common: bool) -> Array:
    """Return the standard deviation of the residuals, per joint or of all; parameters are shared by all joints alike."""
    rows = alive.sum(axis=0)
    lost = parameters * rows / max(rows.sum(), 1.0)
    if weights is alive:
        square = np.sum(alive * residual**2, axis=-2)
        if common:
            total = np.sum(square, axis=-1, keepdims=True) / (rows.sum() - parameters)
            return np.sqrt(np.broadcast_to(total, square.shape)) + 1e-300
        found = np.sqrt(square / np.maximum(rows - lost, 1.0))
        return np.where(rows > 0, np.maximum(found, 1e-300), 1.0)
    spread = np.where(alive > 0.0, np.abs(residual), np.nan)
    return np.maximum(np.nan_to_num(np.nanmedian(spread, axis=-2) / 0.6745, nan=1.0), 1e-300)


def _huber_variance(residual: Array, noise: Array, weights: Array, alive: Array) -> Array:
    ratio = residual / noise[..., None, :]
    pulled = np.sum(alive * (weights * ratio) ** 2, axis=(-1, -2)) / alive.sum()
    inside = np.sum(alive * (np.abs(ratio) <= HUBER), axis=(-1, -2)) / alive.sum()
    weight = np.sum(weights, axis=(-1, -2)) / alive.sum()
    return pulled * weight / np.maximum(inside, 1e-3) ** 2
