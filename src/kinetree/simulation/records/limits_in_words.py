"""Which speeds and forces of a motion exceed the limits of their joints, and how that is said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...spatial.arrays import Array

NAMED = 4
"""The most joints that are named in a line; the others are only counted."""

NO_EXCESS = 1e-9
"""A value beyond its limit by this fraction is rounding."""

OUT_OF_RANGE = "out of range"
"""Beginning of a line about joints that leave their ranges."""

FELL = "it has fallen"
"""Beginning of a line about a robot that does not stand any more."""

TOO_FAST, TOO_STRONG = "faster than allowed", "stronger than allowed"
"""Beginnings of lines about joints that move too fast or are pushed too hard."""

Beyond = Mapping[str, tuple[float, float]]


def beyond(names: Sequence[str], values: Array, limits: Array) -> dict[str, tuple[float, float]]:
    """Return what exceeds its limit to either side: the largest absolute value and the limit, by name.

    values: The last axis has one entry per name.
    """
    if not values.size:
        return {}
    sizes = [max(map(abs, extremes(values[..., k]))) for k in range(len(names))]
    return {
        name: (size, float(limit))
        for name, size, limit in zip(names, sizes, limits, strict=True)
        if size > (1.0 + NO_EXCESS) * limit
    }


def in_words(fast: Beyond, strong: Beyond, cure: str = "") -> list[str]:
    """Return a line for each kind that occurs.

    cure: What keeps forces within their limits.
    """
    lines = []
    for what, found, advice in ((TOO_FAST, fast, ""), (TOO_STRONG, strong, cure)):
        if found:
            said = some([f"{name} {value:.4g}, limit {limit:.4g}" for name, (value, limit) in found.items()])
            lines.append(f"{what}: {said}" + (f". {advice}" if advice else ""))
    return lines


def in_everyday(value: float, unit: str) -> str:
    """Return a number with its unit; angles in degrees, too."""
    degrees = f" ({math.degrees(value):.4g} deg)" if unit == "rad" else ""
    return f"{value:.4g} {unit}{degrees}" if unit != "1" else f"{value:.4g}"


def some(items: Sequence[str]) -> str:
    """Return the first items as text, and how many are left."""
    rest = f", and {len(items) - NAMED} more" if len(items) > NAMED else ""
    return "; ".join(items[:NAMED]) + rest


def extremes(values: Array) -> tuple[float, float]:
    """Return the least and the largest finite value, or NaN without one."""
    least, largest = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    if np.isfinite(least) and np.isfinite(largest):
        return least, largest
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
