"""Evenly spaced samples, without bad and stale rows, at times of the sender's clock, not the receiver's.

A row that repeats the previous one is not a new measurement but a message received twice; and times recorded by the
receiver jitter as much as the transmission does.  If velocities were measured, the steps of the positions show when the
samples were really taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import make_interp_spline

from ..errors import IdentificationError, IdentificationWarning, warn
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .measured import Measured


@dataclass(frozen=True)
class Piece:
    """Samples at evenly spaced times, without gaps."""

    t: Array  # (n,)
    step: float
    """Time from one sample to the next."""
    q: Array
    tau: Array
    v: Array | None
    a: Array | None
    wrenches: dict[str, Array]  # (n, 6)

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True)
class SampledPieces:
    """The pieces of some data, and notes on how they were made."""

    pieces: tuple[Piece, ...]
    notes: tuple[str, ...]


def sampled(data: Measured) -> SampledPieces:
    """Return data as pieces with evenly spaced samples."""
    notes: list[str] = []
    good = _finite_rows(data, notes)
    t, columns = data.t[good], {key: x[good] for key, x in _columns(data).items()}
    fresh = _fresh_rows(t, columns, notes)
    t, columns = t[fresh], {key: x[fresh] for key, x in columns.items()}
    bad_before = np.cumsum(~good)[good][fresh]
    t = _senders_times(t, columns, notes)
    step = float(np.median(np.diff(t)))
    ends = [0, *(np.flatnonzero((np.diff(t) > tuned.GAP * step) | (np.diff(bad_before) > tuned.LOST)) + 1), len(t)]
    pieces = [
        evenly_sampled(t[i:k], {key: x[i:k] for key, x in columns.items()}, step)
        for i, k in pairwise(ends)
        if k - i >= tuned.LEAST_SAMPLES
    ]
    if len(ends) > 2:
        notes.append(f"{len(ends) - 2} gaps (pauses, or rows with NaN): the data are {len(pieces)} pieces")
    if not pieces:
        raise IdentificationError(
            f"{data.name}: between its gaps there are never {tuned.LEAST_SAMPLES} consecutive rows, so nothing can be "
            "identified"
        )
    return SampledPieces(tuple(pieces), tuple(notes))


def _columns(data: Measured) -> dict[str, Array]:
    own = {"q": data.q, "tau": data.tau, "v": data.v, "a": data.a}
    found = {key: x for key, x in own.items() if x is not None}
    return found | {f"wrench {frame}": x for frame, x in data.wrenches.items()}


def _finite_rows(data: Measured, notes: list[str]) -> Array:
    """Return which rows are finite."""
    good = np.asarray(np.all([np.isfinite(x).all(axis=1) for x in _columns(data).values()], axis=0))
    if good.all():
        return good
    bad = np.flatnonzero(~good)
    if good.sum() < tuned.LEAST_SAMPLES:
        raise IdentificationError(f"{data.name}: {len(bad)} of {len(good)} rows have NaN in them; too few are left")
    message = f"{len(bad)} of {len(good)} rows have NaN in them, the first is row {bad[0] + 1}; they are left out"
    notes.append(message)
    warn(f"{data.name}: {message}", IdentificationWarning)
    return good


def _fresh_rows(t: Array, columns: dict[str, Array], notes: list[str]) -> Array:
    """Return which rows do not repeat the previous one; all rows if so many repeat that the robot must be at rest."""
    same = np.all([np.all(np.diff(x, axis=0) == 0.0, axis=1) for x in columns.values()], axis=0)
    stale = np.concatenate([[False], same])
    if not stale.any() or stale.mean() > tuned.STALE:
        return np.ones(len(t), dtype=bool)
    notes.append(f"{int(stale.sum())} of {len(t)} rows repeat the one before and are left out")
    return ~stale


def _senders_times(t: Array, columns: dict[str, Array], notes: list[str]) -> Array:
    """Return when samples were taken, in multiples of the sender's period, or the given times.

    The time step that best fits a step of the positions is the one given by the velocities in the middle of it.
    """
    q, v = columns["q"], columns.get("v")
    if v is None or q.shape != v.shape:
        return t
    middle = 0.5 * (v[1:] + v[:-1])
    speed = np.sum(middle**2, axis=1)
    moving = speed > 0.01 * np.max(speed)
    steps = np.diff(t)
    if moving.mean() < 0.5 or np.std(steps) < 0.02 * np.median(steps):
        return t
    implied = np.sum(np.diff(q, axis=0) * middle, axis=1)[moving] / speed[moving]
    period = float(np.median(implied))
    if not 0.9 < period / float(np.median(steps)) < 1.1:
        return t
    period = float(np.median(implied / np.maximum(np.rint(implied / period), 1.0)))
    rest = implied / period - np.rint(implied / period)
    jitter = np.std(steps[moving] / period - np.rint(implied / period))
    if np.mean(np.abs(rest) < 0.1) < tuned.ON_CLOCK or jitter < 0.05:
        return t
    counts = np.maximum(np.rint(steps / period), 1.0)
    counts[moving] = np.maximum(np.rint(implied / period), 1.0)
    period = _rounded(period)
    found = t[0] + period * np.concatenate([[0.0], np.cumsum(counts)])
    if abs((found[-1] - found[0]) / (t[-1] - t[0]) - 1.0) > 0.02:
        return t
    notes.append(
        f"times jitter by {1e3 * jitter * period:.2g} ms, while positions and velocities agree with steps of "
        f"{1e3 * period:.4g} ms: these steps are used"
    )
    return found


def _rounded(period: float) -> float:
    """Return the period of the nearest whole-number frequency, which clocks usually have, if one is close."""
    frequency = 1.0 / period
    return 1.0 / round(frequency) if frequency > 10.0 and abs(frequency / round(frequency) - 1.0) < 5e-3 else period


def evenly_sampled(t: Array, columns: dict[str, Array], step: float) -> Piece:
    """Interpolate between samples, unless they are already evenly spaced."""
    steps = np.diff(t)
    if np.ptp(steps) > 1e-6 * step:
        grid = t[0] + step * np.arange(int((t[-1] - t[0]) / step + 1e-9) + 1)
        columns = {key: make_interp_spline(t, x, k=1 if key == "tau" else 3)(grid) for key, x in columns.items()}
        t = grid
    wrenches = {key.partition(" ")[2]: x for key, x in columns.items() if key.startswith("wrench ")}
    return Piece(t, step, columns["q"], columns["tau"], columns.get("v"), columns.get("a"), wrenches)
