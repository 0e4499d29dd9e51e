"""The five-bar of Saha section 3.5 by Lagrange's equations with multipliers, in absolute angles of four bars.

Nothing of kinetree is in it.  Many five-bars fall at once: the base and the readings of the
lost figure are arrays.
"""

from __future__ import annotations

import numpy as np

LENGTHS = np.array([0.6, 1.1, 0.7, 1.2])  # arm and forearm of leg 1, arm and forearm of leg 2
MASSES = np.array([3.0, 1.6, 2.0, 1.1])
DEGREE = np.pi / 180


def assembled(base: np.ndarray, mirrored: np.ndarray, side: np.ndarray, first: float, second: float) -> np.ndarray:
    """Absolute angles of the four bars (..., 4), NaN where they do not meet; ``side`` 1 puts the tip above."""
    arm = np.where(mirrored, np.pi - second, second)
    start = LENGTHS[0] * np.exp(1j * first)
    way = base + LENGTHS[2] * np.exp(1j * arm) - start
    reach = abs(way)
    cosine = (LENGTHS[1] ** 2 - LENGTHS[3] ** 2 + reach**2) / (2 * LENGTHS[1] * reach)
    with np.errstate(invalid="ignore"):
        forearm = np.angle(way) + side * np.arccos(cosine)
    other = np.angle(LENGTHS[1] * np.exp(1j * forearm) - way)
    return np.stack([first + 0 * forearm, forearm, arm + 0 * forearm, other], axis=-1)


def accelerations(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Of the four absolute angles in free fall."""
    u = np.exp(1j * x)
    h = np.zeros((*x.shape[:-1], 4, 4))
    force = np.zeros(x.shape)
    for near, far in ((0, 1), (2, 3)):
        a, b = LENGTHS[near], LENGTHS[far]
        m, n = MASSES[near], MASSES[far]
        h[..., near, near] = (m / 3 + n) * a * a
        h[..., far, far] = n / 3 * b * b
        mixed = n * a * b / 2
        h[..., near, far] = h[..., far, near] = mixed * np.cos(x[..., near] - x[..., far])
        turn = mixed * np.sin(x[..., near] - x[..., far])
        force[..., near] = -turn * v[..., far] ** 2 - 9.81 * (m / 2 + n) * a * u[..., near].real
        force[..., far] = turn * v[..., near] ** 2 - 9.81 * n / 2 * b * u[..., far].real
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    rate = 1j * u * LENGTHS * signs  # of the closure  l1 u1 + l2 u2 - l3 u3 - l4 u4 = base
    drift = (u * LENGTHS * signs * v**2).sum(axis=-1)
    k = np.stack([rate.real, rate.imag], axis=-2)
    block = np.zeros((*x.shape[:-1], 6, 6))
    block[..., :4, :4], block[..., 4:, :4], block[..., :4, 4:] = h, k, np.swapaxes(k, -1, -2)
    right = np.concatenate([force, drift.real[..., None], drift.imag[..., None]], axis=-1)
    return np.linalg.solve(block, right[..., None])[..., :4, 0]


def time_to_singularity(x: np.ndarray, longest: float, step: float = 5e-4) -> np.ndarray:
    """When the forearms first come into line, falling from rest; infinite where they do not."""
    v = np.zeros_like(x)
    when = np.full(x.shape[0], np.inf)
    left = np.arange(x.shape[0])
    for count in range(int(longest / step)):
        before = np.sin(x[:, 1] - x[:, 3])
        x_new, v_new = _runge_kutta(x, v, step)
        after = np.sin(x_new[:, 1] - x_new[:, 3])
        hit = (before * after <= 0) | (abs(after) < 1e-3)
        when[left[hit]] = (count + 1) * step
        left, x, v = left[~hit], x_new[~hit], v_new[~hit]
        if not left.size:
            break
    return when


def _runge_kutta(x: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    v1, a1 = v, accelerations(x, v)
    v2 = v + h / 2 * a1
    a2 = accelerations(x + h / 2 * v1, v2)
    v3 = v + h / 2 * a2
    a3 = accelerations(x + h / 2 * v2, v3)
    v4 = v + h * a3
    a4 = accelerations(x + h * v3, v4)
    return x + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
