"""Comparing arrays, and differentiating along motions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kinetree as kt

# Central differences of sixth order: f'(0) = sum of weight * f(offset * step) / step.
OFFSETS = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
WEIGHTS = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
STEP = 2e-3


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-10, scale: float | None = None) -> None:
    """Largest difference within ``tolerance`` of the largest expected number (or of ``scale``); shapes equal."""
    a, b = np.asarray(actual), np.asarray(expected)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape}"
    if a.size == 0:
        return
    size = scale or float(np.max(np.abs(b))) or 1.0
    worst = float(np.max(np.abs(a - b)))
    assert worst <= tolerance * size, f"off by {worst:.3g}, {worst / size:.3g} of {size:.3g}"


def derivative(function: Callable[[np.ndarray], np.ndarray], step: float = STEP) -> np.ndarray:
    """Derivative at zero of a function of an array of times, which come first in what it returns."""
    values = np.asarray(function(OFFSETS * step))
    return np.tensordot(WEIGHTS, values, axes=(0, 0)) / step


def rate(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    robot: kt.Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Time derivative of ``function(q, v)`` along the motion that starts with velocity v and acceleration a.

    Any curve with this start will do: the one taken is q(t) = integrate(q, v t + a t^2/2).
    """

    def at(times: np.ndarray) -> np.ndarray:
        t = times.reshape(-1, *(1,) * np.ndim(v))
        return function(robot.integrate(q, t * v + 0.5 * t * t * a), v + t * a)

    return derivative(at)


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrix times vector over the batch."""
    return np.einsum("...ij,...j->...i", matrix, vector)


def transpose(matrix: np.ndarray) -> np.ndarray:
    """Swap the last two axes."""
    return np.swapaxes(matrix, -1, -2)


def skew(w: np.ndarray) -> np.ndarray:
    """The matrix that takes the cross product with ``w``."""
    zero = np.zeros_like(w[..., 0])
    rows = [[zero, -w[..., 2], w[..., 1]], [w[..., 2], zero, -w[..., 0]], [-w[..., 1], w[..., 0], zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def unskew(m: np.ndarray) -> np.ndarray:
    """Inverse of :func:`skew`."""
    return np.stack([m[..., 2, 1], m[..., 0, 2], m[..., 1, 0]], axis=-1)
