"""Over a change point of closed loops on the motion's own smooth path.

In a change point (a parallelogram stretched out, say) loops lose a constraint.  No joints are independent there,
whichever are chosen: all minors of K vanish with its rank.  Beside it accelerations are known to rounding divided by
the cube of the distance only, and change without bound off the closed states, where an implicit integrator looks: its
steps shrink to nothing.  The motion itself goes through smoothly, on the branch whose velocity it has; so it is
followed by a polynomial from one side to the other, and its loops are closed there.  The polynomial goes through
states before the point that are found anew, with more digits and evenly spaced: an integrator's own steps shrink as
it gets near, and those far away are too long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray
Path = Callable[[Array], Array]
"""Times (...) to states (..., n)."""

Past = Sequence[tuple[float, Array]]
"""Times and states, the latest last."""

STATES, FEWER = 9, 8
"""How many states the way over is made of; and those that it is judged by."""

AGREEING = 1e-4
"""Part of the largest rate by which those of the path and those that forces cause may differ on the other side."""

FARTHEST = 12
"""Steps that the other side may be away."""


def smooth_path(past: Past) -> Path:
    """The polynomial through some states."""
    from scipy.interpolate import BarycentricInterpolator  # slow to import, seldom needed

    times = np.array([t for t, _ in past])
    # times near zero and one: their differences are what counts
    scale = times[-1] - times[0]
    through = BarycentricInterpolator((times - times[-1]) / scale, np.array([y for _, y in past]))
    return lambda t: np.asarray(through((np.asarray(t) - times[-1]) / scale))


def way_over(
    past: Past, step: float, end: float, regularity: Callable[[Array], float], allowed: Callable[[Array], Array]
) -> tuple[float, Path] | None:
    """When the other side is reached, and the way there; None where none is known well enough.

    Parameters
    ----------
    past : sequence of (float, ndarray)
        States before the change point.
    step : float
        From one to the next.
    end : float
        Of the run.
    regularity : callable
        Of a state: how far from losing a constraint its loops are.
    allowed : callable
        Of a state: by how much it may be off.
    """
    if len(past) < STATES:
        return None
    path, check = smooth_path(past[-STATES:]), smooth_path(past[-FEWER:])
    begin, y = past[-1]
    before = regularity(y)
    for k in range(1, FARTHEST + 1):
        t = min(begin + k * step, end)
        there = path(np.array(t))
        if np.any(np.abs(there - check(np.array(t))) > allowed(there)):
            return None
        if t == end or regularity(there) > before:
            return t, path
    return None


def time_to_zero(regularity: Callable[[Array], float], y: Array, rate: Array, left: float, apart: float) -> float:
    """When loops lose a constraint if it goes on evenly; infinite where it does not get nearer."""
    falls = (regularity(y - apart * rate) - regularity(y + apart * rate)) / (2.0 * apart)
    return left / falls if falls > 0.0 else np.inf


def agree(path: Path, t: float, apart: float, rates: Array) -> bool:
    """Whether a path moves at its end as the forces there say; not if some have begun to act on the way."""
    ahead, behind = path(np.array([t + apart, t - apart]))
    slope = (ahead - behind) / (2.0 * apart)
    return bool(np.all(np.abs(slope - rates) <= AGREEING * (1.0 + np.abs(rates).max())))
