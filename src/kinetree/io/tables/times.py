"""Times of tables: since 1970 in any unit, rows that came twice, and clocks whose digits were lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray

SINCE_1970 = {"milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
"""Units of clocks that count since 1970, besides seconds."""

CLOCKS = (1e9, 4e9)
"""What such a clock shows in seconds, between 2001 and 2096; as seconds from any other start it would be a lifetime."""

LOST_DIGITS = 0.05
"""Share of rows with the time of the row before beyond which times have too few digits."""
FEW = 3
"""Such rows that are no pattern yet."""


def unit_since_1970(first: float) -> str | None:
    """Return the unit of times that count since 1970 and are no seconds; None for all others.

    Parameters
    ----------
    first : float
        The first time of the table, in whatever unit.
    """
    return next((unit for unit, size in SINCE_1970.items() if CLOCKS[0] <= first * size < CLOCKS[1]), None)


def repeated(times: Array, arrays: Sequence[Array]) -> Array:
    """Return which rows are the row before once more, time and all: messages that came twice."""
    same = np.diff(times) == 0.0
    for x in arrays:
        if not same.any():
            break
        before, after = x[:-1].reshape(len(same), -1), x[1:].reshape(len(same), -1)
        same &= ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    return np.concatenate([np.zeros(min(1, len(times)), dtype=bool), same])


def words_about_repeated(count: int, rows: int) -> str:
    """Say that so many of so many rows were left out."""
    return f"{count} of {rows} rows repeat the one before, times included; they are left out"


def not_increasing(before: float, now: float) -> str:
    """Say what is wrong with a time that is not later than the one before."""
    if np.isnan(now):
        return "time is not a number"
    if now == before:
        return f"time does not increase: {now:.10g} s after {before:.10g} s, and the rows differ in other columns"
    return f"time does not increase: {now:.10g} s after {before:.10g} s"


def lost_digits(times: Array) -> str:
    """Say that times were written with too few digits; nothing where they were not.

    Parameters
    ----------
    times : ndarray (n,)
        Without rows that came twice.
    """
    steps = np.diff(times)
    still = int(np.sum(steps == 0.0))
    if still <= max(FEW, LOST_DIGITS * len(times)) or (steps < 0.0).any():
        return ""
    what = "times"
    if CLOCKS[0] <= times[0] < CLOCKS[1]:
        what = "these times are seconds since 1970, of which ten digits stand before the point, and"
    forward = steps[steps > 0.0]
    coarse = f"they go on in steps of {np.min(forward):.3g} s" if len(forward) else "all of them are the same"
    return (
        f"{what} have lost their last digits: {still} of {len(times)} rows have the time of the row before, {coarse}; "
        "write them with more digits ('%.17g', float64 and not float32), or count from the first, t - t[0]"
    )
