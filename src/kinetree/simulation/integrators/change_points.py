"""Crossing a change point of closed loops on the smooth path of the motion.

At a change point (for instance of a stretched parallelogram) loops lose a constraint.  No choice of joints is
independent there: all minors of K vanish with its rank.  Near it velocities are known only to rounding divided by the
square of the distance, accelerations by its cube, and they change without bound at states that are not closed, where an
implicit integrator evaluates them: its steps shrink to nothing.  The motion itself passes smoothly, on the branch of
its velocity; so a polynomial follows it from one side to the other, and its loops are closed there.

A polynomial that is extrapolated beyond its states amplifies their errors, more so for higher degrees: one through
nine states amplifies them about a thousand times.  Rounding must not decide whether the path is known.  The states are
therefore computed again, with more digits than in the run, at distances from the point that grow from one to the next;
there are more of them than coefficients; every fit has an error estimate, from its residuals and the next lower degree;
and the best of all fits, from states near and far and of all degrees, is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from ...spatial.arrays import Array

Path = Callable[[Array], Array]
"""Maps times (...) to states (..., n)."""

Past = Sequence[tuple[float, Array]]
"""Times and states, the latest last."""

GROWTH = 1.15
"""Ratio of successive distances of states from the change point."""

STATES = 26
"""How many states there are before the change point: the first is some thirty times as far away as the last."""

FITTED = (12, 16, 20)
"""How many of them, in a row, a polynomial is fitted to."""

DEGREES = range(2, 10)
"""Degrees of the polynomials."""

SPREAD = 3.0
"""Number of standard deviations of a fit, due to noise, that count as its error."""

FARTHER = (1.0, 1.5, 2.0, 3.0)
"""Where the other side is tried, in units of the last state's distance."""

NEARER = (0.5, 0.25, 0.125, 0.0625)
"""Where it is tried if forces have begun to act there."""

BEHIND = 0.6
"""Least margin from losing a constraint on the other side, as a fraction of the last state's."""

AGREEING = 1e-4
"""Largest difference of the path's rates and those caused by forces on the other side, relative to the largest rate."""

ROUNDING = 1e-17
"""Relative rounding error of rates near a change point, times the cube of the distance from it."""


TELLING = 5e-5
"""Least margin from losing a constraint on the other side: closer, rates do not show which forces have begun to act."""


class Fit(NamedTuple):
    """A polynomial fitted to some states, and its error."""

    path: Path
    noise: Callable[[float], Array]
    """The error of the fit at a time due to noise of the states."""

    off: Array | float = 0.0
    """The error at later states, so that forces that begin to act in between are not overlooked."""


class Way(NamedTuple):
    """The path across a change point."""

    end: float
    path: Path
    error: Array
    """The error of its end."""


def times_before(change: float, nearest: float, since: float) -> Array:
    """Return the times of the states from which the path across a change point is made.

    They begin after ``since`` and end ``nearest`` before the change point.

    There are as many of them if the motion has begun just before; they are then closer together.
    """
    farthest = min(nearest * GROWTH ** (STATES - 1), change - since)
    if farthest <= nearest:
        return np.zeros(0)
    return np.maximum(change - np.geomspace(farthest, nearest, STATES), since)  # and not any earlier


def smooth_path(past: Past, degree: int) -> Fit:
    """Return the polynomial of a degree that best fits some states."""
    times, states = np.array([t for t, _ in past]), np.array([y for _, y in past])
    # times between -1 and 1, where Chebyshev polynomials are well conditioned
    middle, half = 0.5 * (times[0] + times[-1]), 0.5 * (times[-1] - times[0])
    base = chebyshev.chebvander((times - middle) / half, degree)
    inverse = np.linalg.pinv(base)
    # relative to the last state, whose digits need not go through the fit
    origin = states[-1]
    coefficients = inverse @ (states - origin)
    left = states - origin - base @ coefficients
    spread = np.sqrt((left * left).sum(axis=0) / max(len(times) - degree - 1, 1))

    def path(t: Array) -> Array:
        along = chebyshev.chebvander((np.ravel(t) - middle) / half, degree)
        return np.asarray(origin + along @ coefficients).reshape(*np.shape(t), -1)

    def noise(t: float) -> Array:
        gain = np.linalg.norm(chebyshev.chebvander((t - middle) / half, degree) @ inverse)
        return np.asarray(SPREAD * gain * spread)

    return Fit(path, noise)


def ways_over(
    past: Past, change: float, end: float, regularity: Callable[[Array], float], allowed: Callable[[Array], Array]
) -> Iterator[Way]:
    """Yield paths to the other side, the best place to continue from first; none if none is known well enough.

    Parameters
    ----------
    past : sequence of (float, ndarray)
        States at the times of :func:`times_before`.
    change : float
        Approximate time at which loops lose a constraint.
    end : float
        End of the run.
    regularity : callable
        Returns, for a state, the margin of its loops from losing a constraint.
    allowed : callable
        Returns, for a state, the error that it may have.
    """
    if len(past) < STATES:
        return
    last, y = past[-1]
    before, fits = regularity(y), list(_fits(past))

    def way(far: float) -> tuple[Way, float]:
        found = _best(fits, min(change + far * (change - last), end), allowed)
        there = found.path(np.array(found.end))
        known = np.all(found.error <= allowed(there))
        return found, regularity(there) if known else np.nan

    for far in FARTHER:
        found, there = way(far)
        if np.isnan(there):
            return
        if found.end == end or there > max(BEHIND * before, TELLING):
            yield found
            break
    else:
        return
    for far in NEARER:  # before a force begins to act there
        found, there = way(far)
        if found.end < end and there > TELLING:
            yield found


def _fits(past: Past) -> Iterator[list[Fit]]:
    """Yield polynomials of all degrees from each row of states."""
    for count in FITTED:
        for first in range(0, len(past) - count + 1, 2):
            row, later = past[first : first + count], past[first + count :]
            yield [_missing(smooth_path(row, n), later) for n in DEGREES]


def _missing(fit: Fit, later: Past) -> Fit:
    """Return a fit with its error at later states."""
    if not later:
        return fit
    off = np.abs(fit.path(np.array([t for t, _ in later])) - np.array([y for _, y in later]))
    return fit._replace(off=off.max(axis=0))


def _best(fits: Sequence[list[Fit]], t: float, allowed: Callable[[Array], Array]) -> Way:
    """Return the fit with the smallest error at a time.

    The next lower degree estimates the truncation error, the residual estimates the noise.
    """
    best, least = Way(t, fits[0][0].path, np.array(np.inf)), np.inf
    for row in fits:
        at = [fit.path(np.array(t)) for fit in row]
        for fit, here, lower in zip(row[1:], at[1:], at, strict=False):
            error = np.abs(here - lower) + fit.noise(t) + fit.off
            worst = float(np.max(error / allowed(here), initial=0.0))
            if worst < least:
                best, least = Way(t, fit.path, error), worst
    return best


def agree(path: Path, t: float, apart: float, rates: Array, error: Array, regularity: float) -> bool:
    """Return whether a path's rates at its end agree with the forces there; not if some began to act on the way.

    Parameters
    ----------
    path : callable
    t : float
        End of the path.
    apart : float
        Distance from the change point: the error of the path divided by this time is an error of its slopes.
    rates : ndarray
        The rates that the forces cause.
    error : ndarray
        The error of the path.
    regularity : float
        Margin of the loops from losing a constraint.
    """
    ahead, behind = path(np.array([t + 0.1 * apart, t - 0.1 * apart]))
    slope = (ahead - behind) / (0.2 * apart)
    size = 1.0 + np.abs(rates).max()
    known = AGREEING * size + error / apart
    return bool(np.all(np.abs(slope - rates) * regularity**3 <= known * regularity**3 + ROUNDING * size))
