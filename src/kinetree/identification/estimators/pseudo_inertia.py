"""Ten parameters as a matrix: a body is possible if and only if its pseudo-inertia is positive definite.

The matrix holds the second moments of the density, ``[[S, h], [h^T, m]]`` with ``S = tr(I)/2 - I`` (Wensing, Kim and
Slotine, 2018).  It is linear in the parameters; the entries of its Cholesky factor, with logarithms on the diagonal,
are coordinates that describe every possible body and no other (Rucker and Wensing, 2022).
"""

from __future__ import annotations

import numpy as np

from ...spatial.arrays import Array


def _basis() -> Array:
    """Return the matrices of the ten unit parameters XX XY XZ YY YZ ZZ MX MY MZ M, (10, 4, 4)."""
    found = np.zeros((10, 4, 4))
    for k, axis in ((0, 0), (3, 1), (5, 2)):
        found[k, :3, :3] = 0.5 * np.eye(3)
        found[k, axis, axis] = -0.5
    for k, (i, j) in ((1, (0, 1)), (2, (0, 2)), (4, (1, 2))):
        found[k, i, j] = found[k, j, i] = -1.0
    for axis in range(3):
        found[6 + axis, axis, 3] = found[6 + axis, 3, axis] = 1.0
    found[9, 3, 3] = 1.0
    return found


BASIS = _basis()
_FLAT = BASIS.reshape(10, 16)
_BACK = np.linalg.pinv(_FLAT.T)


def matrix_of(ten: Array) -> Array:
    """Return pseudo-inertias, (..., 4, 4), of parameters (..., 10) in the order of ``robot.parameters()``."""
    return np.asarray(np.einsum("...k,kij->...ij", ten, BASIS))


def parameters_of(matrix: Array) -> Array:
    """Return the ten parameters of a symmetric matrix, the inverse of :func:`matrix_of`."""
    return np.asarray(matrix.reshape(*matrix.shape[:-2], 16) @ _BACK.T)


def is_possible(ten: Array, slack: float = 1e-9) -> Array:
    """Return whether there is a body with these parameters, up to rounding; points and rods are allowed."""
    matrix = matrix_of(ten)
    least = np.linalg.eigvalsh(matrix)[..., 0]
    return np.asarray(least >= -slack * np.maximum(np.trace(matrix, axis1=-2, axis2=-1), 1e-300))


def from_log_cholesky(coordinates: Array) -> Array:
    """Return the ten parameters for ten coordinates: logarithms of the diagonal, then the entries below it."""
    return parameters_of(_product(factor_of(coordinates)))


def to_log_cholesky(ten: Array) -> Array:
    """Return the coordinates of a possible body."""
    factor = np.linalg.cholesky(matrix_of(ten))
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    rows, columns = np.tril_indices(4, -1)
    return np.concatenate([np.log(diagonal), factor[..., rows, columns]], axis=-1)


def factor_of(coordinates: Array) -> Array:
    """Return the lower triangular factor, (..., 4, 4)."""
    found = np.zeros((*coordinates.shape[:-1], 4, 4))
    rows, columns = np.tril_indices(4, -1)
    found[..., np.arange(4), np.arange(4)] = np.exp(coordinates[..., :4])
    found[..., rows, columns] = coordinates[..., 4:]
    return found


def log_cholesky_slope(coordinates: Array) -> Array:
    """Return the derivative of the ten parameters with respect to the ten coordinates, (..., 10, 10)."""
    factor = factor_of(coordinates)
    rows, columns = np.tril_indices(4, -1)
    slope = np.zeros((*coordinates.shape[:-1], 10, 4, 4))
    for k in range(4):
        slope[..., k, k, k] = factor[..., k, k]
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):
        slope[..., 4 + k, i, j] = 1.0
    change = slope @ np.swapaxes(factor, -1, -2)[..., None, :, :]
    return np.swapaxes(parameters_of(change + np.swapaxes(change, -1, -2)), -1, -2)


def _product(factor: Array) -> Array:
    return np.asarray(factor @ np.swapaxes(factor, -1, -2))
