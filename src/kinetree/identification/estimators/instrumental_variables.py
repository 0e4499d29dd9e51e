"""Least squares for noisy regressors: instruments that are correlated with the motion but not with its noise.

Noise in positions makes the columns of the regressor correlate with the residuals, and least squares is biased.
Columns are therefore replaced by the part that another motion explains, such as the commanded one or that of a
simulation. This is two-stage least squares, which is the method of instrumental variables with as many instruments as
columns (Janot, Vandanjon and Gautier, 2014).
"""

from __future__ import annotations

import numpy as np

from ...errors import IdentificationError
from ...spatial.arrays import Array


def explained(y: Array, instruments: Array, counted: Array, noise: Array) -> Array:
    """Return the part of the columns that instruments explain, rows weighted by the noise of their joints.

    y, instruments: (n, r, p), (n, r, k)
    counted: (n, r). Which rows count.
    noise: (r,)
    """
    if instruments.shape[:2] != y.shape[:2]:
        raise IdentificationError(
            f"the instruments have {len(instruments)} samples behind the filter and the data {len(y)}: they must be "
            "the same motion at the same times"
        )
    weight = (counted / noise)[..., None]
    tall = (instruments * weight).reshape(-1, instruments.shape[-1])
    size = np.linalg.norm(tall, axis=0)
    tall = tall[:, size > 0.0] / size[size > 0.0]
    u, s, _ = np.linalg.svd(tall, full_matrices=False)
    u = u[:, s > 1e-9 * s[0]]
    seen = u @ (u.T @ (y * weight).reshape(-1, y.shape[-1]))
    return np.asarray(
        np.where(counted[..., None], seen.reshape(y.shape) / np.where(counted[..., None], weight, 1.0), y)
    )
