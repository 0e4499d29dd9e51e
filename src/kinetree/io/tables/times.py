"""Times of tables: since 1970 in any unit, repeated rows, and times with too few digits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray

SINCE_1970 = {"milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
"""Units of clocks that count since 1970, besides seconds."""

CLOCKS = (1e9, 4e9)
"""Range of such a clock in seconds, from 2001 to 2096; times that are counted from any other start are not this
long."""

LOST_DIGITS = 0.05
"""Times have too few digits if more than this share of rows has the time of the previous row."""
FEW = 3
"""If there are no more such rows than this, they are not a pattern."""


def unit_since_1970(first: float) -> str | None:
    """Return the unit of times since 1970 that are not in seconds; None for all others.

    first: The first time of the table, in whatever unit.
    """
    return next((unit for unit, size in SINCE_1970.items() if CLOCKS[0] <= first * size < CLOCKS[1]), None)


def repeated(times: Array, arrays: Sequence[Array]) -> Array:
    """Return which rows repeat the previous one, including its time: messages that were received twice."""
    same = np.diff(times) == 0.0
    for x in arrays:
        if not same.any():
            break
        before, after = x[:-1].reshape(len(same), -1), x[1:].reshape(len(same), -1)
        same &= ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    return np.concatenate([np.zeros(min(1, len(times)), dtype=bool), same])


def words_about_repeated(count: int, rows: int) -> str:
    """Return the message that repeated rows were left out."""
    return f"{count} of {rows} rows repeat the previous one, including the time; they are left out"


def not_increasing(before: float, now: float) -> str:
    """Return the message about a time that is not later than the previous one."""
    if np.isnan(now):
        return "time is not a number"
    if now == before:
        return f"time does not increase: {now:.10g} s after {before:.10g} s, and the rows differ in other columns"
    return f"time does not increase: {now:.10g} s after {before:.10g} s"


def lost_digits(times: Array) -> str:
    """Return the message that times have too few digits; an empty string if they do not.

    times: (n,). Times without those of repeated rows.
    """
    steps = np.diff(times)
    still = int(np.sum(steps == 0.0))
    if still <= max(FEW, LOST_DIGITS * len(times)) or (steps < 0.0).any():
        return ""
    what = "times"
    if CLOCKS[0] <= times[0] < CLOCKS[1]:
        what = "these times are seconds since 1970, which have ten digits before the point, and"
    forward = steps[steps > 0.0]
    coarse = f"they advance in steps of {np.min(forward):.3g} s" if len(forward) else "all of them are the same"
    return (
        f"{what} have lost their last digits: {still} of {len(times)} rows have the previous row's time, {coarse}; "
        "write them with more digits ('%.17g', float64 and not float32), or count from the first, t - t[0]"
    )
