"""Ordinary, weighted and iteratively re-weighted least squares, for one set of forces or a batch of them.

The equation is ``Y x = tau`` with rows per sample and joint: ``Y`` (n, r, p), ``tau`` (..., n, r).  It is solved in
coordinates in which the columns of Y are orthonormal, so that normal equations lose no accuracy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy.optimize import nnls

from ...errors import IdentificationError, refuse_unknown
from ...spatial.arrays import Array
from .. import tuned_constants as tuned

Found = TypeVar("Found")


@dataclass(frozen=True)
class Estimate:
    """The result of a fit."""

    values: Array  # (..., p)
    covariance: Array  # (..., p, p)
    noise: Array  # (..., r)
    """Standard deviation of the residuals of each joint."""
    weights: Array  # (..., n, r)
    """Weight of each row in addition to the noise of its joint: 0 for rows that are not used."""

    @property
    def deviations(self) -> Array:
        """Standard deviations of the values."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance, axis1=-2, axis2=-1), 0.0))


def estimate(
    y: Array, tau: Array, method: str = "weighted", counted: Array | None = None, prior: Array | None = None,
    sources: Array | None = None,
) -> Estimate:  # fmt: skip
    """Solve ``Y x = tau`` for x.

    y: (n, r, p). The columns must be independent.
    tau: (..., n, r)
    method: {"ordinary", "weighted", "reweighted"}. All rows with equal weights; rows weighted by the noise of their
        joint's residuals; and, in addition, with less weight for outliers (Huber).
    counted: (n, r). Which rows are used at all.
    prior: (p,). Values to keep along directions that the rows do not determine; zero by default.
    sources: (n, r, m). How noise enters the rows: there are m independent sources, whose sizes are estimated from the
        residuals, and these are their shares in each row. By default, rows are independent of one another.
    """
    refuse_unknown("estimator", method, METHODS)
    n, r, p = y.shape
    alive = np.ones((n, r)) if counted is None else counted.astype(float)
    rows = int(alive.sum())
    if rows <= p:
        raise IdentificationError(f"{rows} rows cannot determine {p} parameters: measure longer, or filter less")
    force = tau if prior is None else tau - y @ prior
    size = np.sqrt(np.mean(force.reshape(-1, n, r) ** 2, axis=(0, 1)))
    size = np.where(size > 0.0, size, 1.0)
    least = tuned.EXACT * size
    found = _settled(y, force, alive, size, least, method, tuned.FIRST_ROUNDS)
    if method != "ordinary":  # solve again in units of the noise, which differs most between joints
        size = np.exp(np.mean(np.log(found.noise.reshape(-1, r)), axis=0))
        found = _settled(y, force, alive, size, least, method, tuned.MOST_ROUNDS, sources)
    return found if prior is None else replace(found, values=found.values + prior)


def _settled(
    y: Array, force: Array, alive: Array, size: Array, least: Array, method: str, rounds: int,
    sources: Array | None = None,
) -> Estimate:  # fmt: skip
    """Solve until the noise of the joints no longer changes, with the rows of each joint scaled by a size."""
    r = y.shape[1]
    basis, back = _orthonormal(y * (alive / size)[..., None])
    per_joint = np.swapaxes(basis, -1, -2) @ basis
    force = force / size
    noise = np.ones((*force.shape[:-2], r)) / (size if method == "ordinary" else 1.0)
    weights = np.broadcast_to(alive, force.shape)

    def weighed(noise: Array, found: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array, Array]]:
        """Solve with the noise estimated from the last solution."""
        z, inverse, weights = found
        residual = force - _apply(basis, z)
        if method == "ordinary":
            new = _common_noise(residual * size, alive, basis.shape[-1]) / size
        elif method == "reweighted":
            new = _usual_noise(residual, alive)
        else:
            new = _noise(residual, alive, _taken(per_joint, inverse, noise))
        new = np.maximum(new, least / size)
        if method == "reweighted":
            ratio = np.abs(residual) / new[..., None, :]
            weights = alive * np.where(ratio > tuned.HUBER, tuned.HUBER / np.maximum(ratio, tuned.HUBER), 1.0)
        return new, (*_solve(basis, force, new, weights), weights)

    noise, (z, inverse, weights) = settle(weighed, noise, (*_solve(basis, force, noise, weights), weights), rounds)
    residual = force - _apply(basis, z)
    if method == "ordinary":  # joints have different noise, although their rows have equal weights
        own = _noise(residual, alive, _taken(per_joint, inverse, noise))
        spread = np.tensordot((own / noise**2) ** 2, per_joint, axes=(-1, 0))
        inverse, noise = inverse @ spread @ inverse, own
    if sources is not None:
        inverse = inverse @ _spread(basis, residual, noise, weights, sources / size[:, None]) @ inverse
    covariance = back @ inverse @ back.T
    if method == "reweighted":  # asymptotic variance of Huber's estimator
        covariance = covariance * _huber_variance(residual, noise, weights, alive)[..., None, None]
    return Estimate(z @ back.T, covariance, noise * size, weights)


def _spread(basis: Array, residual: Array, noise: Array, weights: Array, sources: Array) -> Array:
    """Return the covariance of the noise terms, (..., k, k): the inverse of the solution's if rows were independent.

    The sizes of the sources are those that best explain the products of residuals of the same sample, by least squares:
    for sources g with squared sizes s, the mean of r r^T is the sum of s g g^T.

    basis: (r, n, k)
    residual, weights: (..., n, r)
    noise: (..., r)
    sources: (n, r, m)
    """
    k = basis.shape[-1]
    batch = residual.shape[:-2]
    found = np.zeros((*batch, k, k))
    own = np.broadcast_to(np.eye(len(basis)), (len(sources), len(basis), len(basis)))
    every = np.concatenate([sources, own], axis=-1)  # the remaining noise, independent in each row
    for index in np.ndindex(*batch):
        scale = np.sqrt(weights[index]) / noise[index]
        rest, seen = scale * residual[index], scale[..., None] * every
        counts = np.maximum(np.sum(weights[index] > 0.0, axis=0), 1)
        rest = rest / np.sqrt(np.maximum(np.sum(rest**2, axis=0) / counts, 1e-300))  # without the fitted part
        seen = seen / np.sqrt(np.maximum(np.mean(np.sum(seen**2, axis=1), axis=0), 1e-300))
        products = np.einsum("nri,nrj->nij", seen, seen, optimize=True)
        squares = _not_negative(np.sum(products**2, axis=0), np.sum(np.einsum("nri,nr->ni", seen, rest) ** 2, axis=0))
        loads = np.einsum("rnk,nrm->mnk", basis, scale[..., None] * seen, optimize=True)
        found[index] = np.einsum("m,mnk,mnl->kl", squares, loads, loads, optimize=True)
    return found


def _not_negative(matrix: Array, right: Array) -> Array:
    """Return the nonnegative numbers that minimize ``x^T matrix x / 2 - right^T x``."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])
    return np.asarray(nnls(root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ right) / root)[0])


METHODS = ("ordinary", "weighted", "reweighted")


def _apply(basis: Array, z: Array) -> Array:
    """Return Y x for every entry of a batch, (..., n, r)."""
    r, n, p = basis.shape
    return np.swapaxes((z @ basis.reshape(r * n, p).T).reshape(*z.shape[:-1], r, n), -1, -2)


def _orthonormal(y: Array) -> tuple[Array, Array]:
    """Return Y in orthonormal columns, (r, n, k), and the map back to x, (p, k), without what rows do not determine."""
    n, r, p = y.shape
    tall = np.swapaxes(y, 0, 1).reshape(-1, p)
    size = np.linalg.norm(tall, axis=0)
    scale = np.where(size > 0.0, size, 1.0)
    q, triangle = np.linalg.qr(tall / scale)
    u, s, vt = np.linalg.svd(triangle)
    known = s > tuned.UNTOLD * s[0]
    back = (vt[known].T / s[known]) / scale[:, None]
    return (q @ u[:, known]).reshape(r, n, -1), back


def _solve(basis: Array, force: Array, noise: Array, weights: Array) -> tuple[Array, Array]:
    """Return the solution and the inverse of the normal matrix; the basis is (r, n, p), joint after joint."""
    scale = noise[..., :, None] ** -2.0 * np.swapaxes(weights, -1, -2)
    if weights.ndim == 2 or weights.strides[0] == 0:  # all entries of the batch have the same row weights
        one = weights.reshape(-1, *weights.shape[-2:])[0].T
        per_joint = np.swapaxes(basis, -1, -2) @ (one[..., None] * basis)
        normal = np.tensordot(noise**-2.0, per_joint, axes=(-1, 0))
    else:
        p = basis.shape[-1]
        flat = basis.reshape(-1, p)
        heavy = scale.reshape(*scale.shape[:-2], -1)
        normal = np.stack([flat.T @ (w[:, None] * flat) for w in heavy.reshape(-1, heavy.shape[-1])])
        normal = normal.reshape(*heavy.shape[:-1], p, p)
    loaded = (scale * np.swapaxes(force, -1, -2)).reshape(*force.shape[:-2], -1)
    right = loaded @ basis.reshape(-1, basis.shape[-1])
    inverse = np.linalg.inv(normal)
    return (inverse @ right[..., None])[..., 0], inverse


def _taken(per_joint: Array, inverse: Array, noise: Array) -> Array:
    """Return how many of the parameters the rows of each joint use up, (..., r): the trace of its hat matrix."""
    return np.asarray(np.einsum("...kl,rkl->...r", inverse, per_joint) / noise**2)


def _noise(residual: Array, alive: Array, taken: Array) -> Array:
    """Return the standard deviation of each joint's residuals, (..., r), given the degrees of freedom used up."""
    return noise_left(np.sum(alive * residual**2, axis=-2), alive.sum(axis=0), taken)


def noise_left(squares: Array, rows: Array, taken: Array) -> Array:
    """Return the standard deviation from sums of squares over rows, some of which are used up by parameters."""
    found = np.sqrt(squares / np.maximum(rows - taken, 1.0))
    return np.where(rows > 0, np.maximum(found, 1e-300), 1.0)


def settle(
    weighed: Callable[[Array, Found], tuple[Array, Found]], noise: Array, found: Found, rounds: int
) -> tuple[Array, Found]:
    """Fit repeatedly, with rows weighted by the noise of the previous fit, until the noise no longer changes.

    weighed: A function of ``(noise, found)`` that returns the noise that a new fit leaves, and the fit.
    noise: Initial noise.
    found: The fit that left this noise.
    rounds: Maximum number of fits.
    """
    for _ in range(rounds):
        before = noise
        noise, found = weighed(noise, found)
        if np.all(np.abs(noise - before) <= tuned.NOISE_SETTLED * noise):
            break
    return noise, found


def _common_noise(residual: Array, alive: Array, parameters: int) -> Array:
    """Return the standard deviation of all residuals, for each joint."""
    square = np.sum(alive * residual**2, axis=-2)
    total = np.sum(square, axis=-1, keepdims=True) / max(alive.sum() - parameters, 1.0)
    return np.sqrt(np.broadcast_to(total, square.shape)) + 1e-300


def _usual_noise(residual: Array, alive: Array) -> Array:
    """Return the standard deviation of noise estimated by its median, which outliers do not affect."""
    spread = np.where(alive > 0.0, np.abs(residual), np.nan)
    return np.maximum(np.nan_to_num(np.nanmedian(spread, axis=-2) / 0.6745, nan=1.0), 1e-300)


def _huber_variance(residual: Array, noise: Array, weights: Array, alive: Array) -> Array:
    ratio = residual / noise[..., None, :]
    pulled = np.sum(alive * (weights * ratio) ** 2, axis=(-1, -2)) / alive.sum()
    inside = np.sum(alive * (np.abs(ratio) <= tuned.HUBER), axis=(-1, -2)) / alive.sum()
    weight = np.sum(weights, axis=(-1, -2)) / alive.sum()
    return pulled * weight / np.maximum(inside, 1e-3) ** 2
