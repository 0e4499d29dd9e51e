"""Independent judges: other libraries, asked the same questions in kinetree's conventions.

A judge takes kinetree's coordinates, does everything else in its own library and its own
conventions, and answers in kinetree's.  :func:`agree` compares, and remembers the worst
error seen per quantity.
"""

from __future__ import annotations

import numpy as np

TOLERANCE = 1e-12
"""Largest relative error allowed against another library."""

SOLVED = 1e-10
"""The same where equations are solved on both sides, with a mass matrix of condition 1e6 and more."""

WORST: dict[str, float] = {}
"""Worst relative error seen so far, by quantity."""


def relative_error(actual: np.ndarray, expected: np.ndarray, scale: np.ndarray | float = 0.0) -> float:
    """Largest error of any state, relative to the largest entry of that state's expected array.

    Parameters
    ----------
    actual, expected : ndarray, shape (states, ...)
    scale : float or ndarray, shape (states,)
        The size of the terms that the result is made of, where they may cancel.
    """
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    states = len(expected)
    error = np.abs(actual - expected).reshape(states, -1).max(axis=-1, initial=0.0)
    size = np.maximum(np.abs(expected).reshape(states, -1).max(axis=-1, initial=0.0), scale)
    return float(np.max(np.divide(error, size, out=np.where(error > 0, np.inf, 0.0), where=size > 0)))


def agree(
    quantity: str,
    actual: np.ndarray,
    expected: np.ndarray,
    scale: np.ndarray | float = 0.0,
    tolerance: float = TOLERANCE,
) -> None:
    """Fail unless two arrays agree state by state; a NaN on either side never agrees."""
    error = relative_error(actual, expected, scale)
    WORST[quantity] = max(WORST.get(quantity, 0.0), error)
    assert error <= tolerance, f"{quantity}: relative error {error:.2e} exceeds {tolerance:.0e}"


def size(array: np.ndarray) -> np.ndarray:
    """Largest entry of each state's array."""
    return np.abs(array).reshape(len(array), -1).max(axis=-1, initial=0.0)


def print_worst() -> None:
    """Say how good the agreement was, worst first, and start afresh (shown with ``pytest -s``)."""
    for quantity, error in sorted(WORST.items(), key=lambda item: -item[1]):
        print(f"{quantity:50s} {error:.1e}")
    WORST.clear()
