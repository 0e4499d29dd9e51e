"""Piecewise functions of time over any scalar: tables with a row per interval, polynomials, periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import OptionError, ShapeError
from ..spatial.arrays import split
from ..spatial.numbers import shown
from ..spatial.scalar import Scalar, arctan2, can_gather, cos, gather, sin, where
from ..spatial.taylor import Jet, value_of

FEW_ROWS = 4
"""Tables up to this many rows are part of the code that looks them up; longer ones are data."""

MOST_DIVISIONS = 4_000_000
"""The most divisions of the scale that locates a time in a table approximately."""

BLUR = 0.05
"""How far outside its division, in divisions, single-precision rounding may put a time, in tables of few rows."""


ROUNDED = 4.0 * float(np.finfo(float).eps)
"""Rounding of a column, relative to its largest value."""


def is_concrete(t: Any) -> bool:
    """Return whether a scalar is a number or an array of numbers, whose value is already known."""
    return isinstance(t, (int, float, np.ndarray, np.generic))


class IntervalTable:
    """A table with a row for each interval, ready to be looked up.

    Parameters
    ----------
    knots : ndarray, shape (K + 1,)
        Row i holds from ``knots[i]`` up to but not including ``knots[i + 1]``.
    rows : ndarray, shape (K, m)

    Attributes
    ----------
    ruler : ndarray, shape (1, 2)
        Beginning of a scale of even divisions, and how many of them are in a second.
    marks : ndarray, shape (L, 1)
        The row that applies at the beginning of each division of the scale.
    strides : tuple of int
        Steps of the search for the row from there, halved each time: a table with even knots needs one look at the
        knots, one with uneven knots a few more.
    """

    def __init__(self, knots: np.ndarray, rows: np.ndarray) -> None:
        self.knots, self.rows = np.asarray(knots, dtype=float), np.ascontiguousarray(rows, dtype=float)
        inner = self.knots[1:-1]
        count = min(max(2 * len(self.rows), 2), MOST_DIVISIONS)
        begin, length = float(self.knots[0]), float(self.knots[-1] - self.knots[0])
        self.ruler = np.array([[begin, count / length]])
        measured = (inner - begin) * self.ruler[0, 1]  # as machine code measures time
        marks = np.searchsorted(measured, np.arange(count) - BLUR, side="left")
        within = int(np.max(np.searchsorted(measured, np.arange(1, count + 1) + BLUR, side="right") - marks))
        self.marks = marks[:, None].astype(float)
        self.strides = tuple(1 << k for k in reversed(range(within.bit_length())))
        # row i ends at knot i + 1, the last one never
        self.ends = np.append(inner, np.inf)[:, None]

    def at(self, t: Scalar) -> list[Scalar]:
        """Return the row whose interval contains ``t``; the first one before all knots, the last one after.

        Numbers are looked up by bisection.  Machine code uses the same table, lane by lane: a scale of even divisions
        gives the approximate row, and a few knots from there the exact one.  Other scalars become a tree of selections.
        """
        now = value_of(t)
        if is_concrete(now):
            return split(self.rows[np.searchsorted(self.knots[1:-1], now, side="right")])
        if not can_gather(now) or len(self.rows) <= FEW_ROWS:
            return lookup_by_choice(self.knots, self.rows, now)
        zero = 0.0 * now  # always the first row, for what the whole table has in common
        row = gather(self.marks, 0, (now - gather(self.ruler, 0, zero)) * gather(self.ruler, 1, zero))
        for stride in self.strides:
            row = where(now < gather(self.ends, 0, row + (stride - 1.0)), row, row + stride)
        return [gather(self.rows, column, row) for column in range(self.rows.shape[1])]


def lookup_by_choice(knots: np.ndarray, rows: np.ndarray, now: Scalar) -> list[Scalar]:
    """Return the row whose interval contains a time, by a tree of selections."""

    def choose(first: int, last: int) -> list[Scalar]:
        if first == last:
            return [float(x) for x in rows[first]]
        middle = (first + last + 1) // 2
        early, late = choose(first, middle - 1), choose(middle, last)
        before = now < float(knots[middle])
        return [where(before, a, b) for a, b in zip(early, late, strict=True)]

    return choose(0, len(rows) - 1)


def since(t: Jet, period: float) -> Jet:
    """Return the time since the last whole period, from 0 to ``period``, with the derivatives of ``t``.

    A traced time has no floor; its angle on a circle of one turn per period gives the same
    to rounding (just before the end of a period it may return the beginning of the next).
    """
    if is_concrete(t.value):
        return Jet(t.value - period * np.floor(t.value / period), t.first, t.second)
    turn = t.value * (2.0 * math.pi / period)
    part = arctan2(sin(turn), cos(turn)) / (2.0 * math.pi)
    return Jet(where(part < 0.0, part + 1.0, part) * period, t.first, t.second)


def polynomial_rows(knots: np.ndarray, coefficients: np.ndarray) -> IntervalTable:
    """Return the table of n polynomials per interval: the interval's first knot, then their coefficients.

    Parameters
    ----------
    knots : ndarray, shape (K + 1,)
    coefficients : ndarray, shape (K, degree + 1, n)
        Coefficients of rising powers of the time since the interval's first knot.
    """
    count = len(coefficients)
    return IntervalTable(knots, np.concatenate([knots[:count, None], coefficients.reshape(count, -1)], axis=1))


def polynomials(table: IntervalTable, n: int, t: Scalar) -> list[Scalar]:
    """Return values at ``t`` of n polynomials per interval, see :func:`polynomial_rows`."""
    first, *c = table.at(t)
    s = t - first
    values = c[len(c) - n :]
    for power in range(len(c) // n - 2, -1, -1):
        values = [s * x + c[power * n + k] for k, x in enumerate(values)]
    return values


def check_times(times: Any, least: int = 2) -> np.ndarray:
    """Return rising, finite times, or raise an error that names the entry."""
    knots = np.asarray(times, dtype=float)
    if knots.ndim != 1 or len(knots) < least:
        raise ShapeError(f"times must be a list of at least {least} numbers, got shape {knots.shape}")
    if not np.all(np.isfinite(knots)):
        raise OptionError(f"times[{int(np.argmin(np.isfinite(knots)))}] is not a finite number")
    steps = np.diff(knots)
    if np.any(steps <= 0):
        k = int(np.argmax(steps <= 0))
        raise OptionError(
            f"times must rise from entry to entry: times[{k + 1}] = {knots[k + 1]:g} follows {knots[k]:g}"
        )
    return knots


def check_table(values: Any, count: int, name: str) -> np.ndarray:
    """Return one row of finite numbers per time; a plain list counts as one column."""
    try:
        table = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{name} must be rows of equal length, not {shown(values)}") from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or len(table) != count:
        raise ShapeError(f"{name} must have one row per time, {count} of them, got shape {np.shape(values)}")
    bad = ~np.isfinite(table)
    if np.any(bad):
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise OptionError(f"{name}[{row}, {column}] is not a finite number")
    return table


def hermite(knots: np.ndarray, derivatives: Sequence[np.ndarray]) -> np.ndarray:
    """Return the polynomials with given values, slopes (and curvatures) at both ends of every interval.

    One table of derivatives gives straight lines, two give cubics, three quintics.  Values are met to rounding: if the
    slopes lead so close to the next value that only its last digits remain, these are ignored, since curvature would
    be noise between close rows.
    """
    h = np.diff(knots)[:, None]
    p, q = derivatives[0][:-1], derivatives[0][1:]
    if len(derivatives) == 1:
        return np.stack([p, (q - p) / h], axis=1)
    u, w = derivatives[1][:-1], derivatives[1][1:]
    led = 0.5 * (u + w) * h
    if len(derivatives) == 3:
        a, b = derivatives[2][:-1], derivatives[2][1:]
        led = led + (a - b) * h**2 / 12.0
    way = np.where(np.abs(q - p - led) <= ROUNDED * np.max(np.abs(derivatives[0]), axis=0), led, q - p)
    if len(derivatives) == 2:
        return np.stack([p, u, (3 * way / h - 2 * u - w) / h, (u + w - 2 * way / h) / h**2], axis=1)
    # what is left after the parabola p + u s + a s^2/2, with its slope and curvature
    gap = (way - u * h - 0.5 * a * h**2) / h**3
    slope = (w - u - a * h) / h**2
    bend = (b - a) / h
    return np.stack(
        [p, u, 0.5 * a, 10 * gap - 4 * slope + 0.5 * bend, (-15 * gap + 7 * slope - bend) / h,
         (6 * gap - 3 * slope + 0.5 * bend) / h**2],
        axis=1,
    )  # fmt: skip
