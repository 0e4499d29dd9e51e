"""Velocities and accelerations of motions of which positions were measured: filtered without phase, differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly, make_interp_spline

from ..errors import OptionError, explains_arguments
from ..spatial.arrays import as_array
from .filtering import Band, FilteredMotion, SingleCoordinates, choose_band, filtered
from .sampling import Piece, evenly_sampled

if TYPE_CHECKING:
    from ..robot.robot import Robot

Array = np.ndarray

FEWEST = 12
"""Samples below which nothing can be told from noise."""

ABOVE_MOTION = 2.0
"""Cutoff over the highest frequency of the motion: no second filter follows that takes off the rest of the noise."""

END_WINDOW, END_DEGREE = 1.0, 4
"""How long the ends of a motion are looked at, over one by the cutoff; and of which degree a polynomial fits them."""

UNEVEN = 20.0
"""The longest pause between two samples, in steps: nobody knows what happened in a longer one."""


@dataclass(frozen=True)
class DifferentiatedMotion:
    """A motion at the times that were given.

    Attributes
    ----------
    t, q, v, a : ndarray (T,), (T, nq), (T, nv), (T, nv)
        NaN in rows whose positions are not numbers.
    band : Band
        The frequencies: ``band.motion``, the highest at which joints move, and ``band.cutoff`` of the filter.
    is_even : bool
        Whether the samples were evenly spaced; else they were interpolated in between.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    band: Band
    is_even: bool


@explains_arguments
def differentiated(
    robot: Robot, t: ArrayLike, q: ArrayLike, *, cutoff: float | None = None, joints: Sequence[str] | None = None
) -> DifferentiatedMotion:
    """Return velocities and accelerations of sampled positions, by a zero-phase filter as in identification.

    Where the motion ends in the spectrum and noise begins is found from the data.  Times may be uneven: the samples are
    interpolated on even times, filtered there, and the answer is given at the times asked for.

    Parameters
    ----------
    robot : Robot
    t : array_like, shape (T,)
        Increasing times.
    q : array_like, shape (T, nq)
        Positions.
    cutoff : float, optional
        Of the filter, in Hz.
    joints : sequence of str, optional
        Names of joints with a coordinate each that the columns of q are, where they are not all.

    Examples
    --------
    >>> import numpy as np
    >>> import kinetree as kt
    >>> arm = kt.Builder("arm").body("link", "base", kt.Revolute("z"), mass=1).build()
    >>> t = np.linspace(0, 4, 401)
    >>> found = kt.identification.differentiated(arm, t, np.sin(3 * t)[:, None])
    >>> bool(abs(found.v[50:-50, 0] - 3 * np.cos(3 * t)[50:-50]).max() < 1e-3)
    True
    """
    times = as_array(t, (), "t")
    width = robot.nq if joints is None else len(joints)
    positions = as_array(q, (width,), "q")
    if times.ndim != 1 or positions.shape != (len(times), width):
        raise OptionError(f"t is one time per row of q: shapes {times.shape} and {positions.shape} do not fit together")
    good = np.isfinite(positions).all(axis=-1) & np.isfinite(times)
    if int(good.sum()) < FEWEST:
        raise OptionError(f"{int(good.sum())} samples are too few to differentiate: give {FEWEST} or more")
    known = times[good]
    steps = np.diff(known)
    if not (steps > 0.0).all():
        raise OptionError(f"times must increase: {known[int(np.argmin(steps > 0.0)) + 1]:.10g} s does not")
    step = float(np.median(steps))
    if steps.max() > UNEVEN * step:
        at = int(np.argmax(steps))
        raise OptionError(
            f"there is a pause of {steps[at]:.4g} s after t = {known[at]:.10g} s, where samples are {step:.4g} s apart "
            "otherwise: nobody knows what happened in between. Part the data there"
        )
    piece = evenly_sampled(known, {"q": positions[good], "tau": np.zeros((len(known), 1))}, step)
    moving = robot if joints is None else SingleCoordinates(width)
    if not np.ptp(piece.q, axis=0).any():
        raise OptionError("no joint moves: all samples are the same, and there is nothing to differentiate")
    band = choose_band([piece], moving, cutoff)  # type: ignore[arg-type]
    if cutoff is None:
        band = replace(band, cutoff=min(ABOVE_MOTION * band.motion, 0.8 * 0.5 * band.sampling))
    smooth = _filtered_to_the_ends(piece, band, moving)
    count = smooth.v.shape[-1]
    found = {"q": np.full((len(times), width), np.nan), **{k: np.full((len(times), count), np.nan) for k in "va"}}
    even = len(piece.t) == len(known) and bool(np.array_equal(piece.t, known))
    for key, values in (("q", smooth.q), ("v", smooth.v), ("a", smooth.a)):
        found[key][good] = (
            values if even else make_interp_spline(piece.t, values, k=3)(np.clip(known, None, piece.t[-1]))
        )
    return DifferentiatedMotion(times, found["q"], found["v"], found["a"], band, even)


def _filtered_to_the_ends(piece: Piece, band: Band, robot: Robot | SingleCoordinates) -> FilteredMotion:
    """Filter and differentiate a motion that need not be at rest where it begins and ends.

    Filters go on beyond the ends by turning the samples about the last one, where accelerations would vanish.  So a
    polynomial with the position, velocity and acceleration of both ends is taken off before, and added behind.
    """
    of_q, of_v = _plain(robot)
    if not len(of_q):
        return filtered(piece, band, robot)  # type: ignore[arg-type]
    many = min(len(piece), max(FEWEST, int(END_WINDOW * band.sampling / band.cutoff)))
    ends = [
        _end(piece.t[part], piece.q[part][:, of_q], at) for part, at in ((slice(many), 0), (slice(-many, None), -1))
    ]
    trend = BPoly.from_derivatives(piece.t[[0, -1]], ends)
    q = piece.q.copy()
    q[:, of_q] -= trend(piece.t)
    found = filtered(replace(piece, q=q), band, robot)  # type: ignore[arg-type]
    for array, places, order in ((found.q, of_q, 0), (found.v, of_v, 1), (found.a, of_v, 2)):
        array[:, places] += trend(piece.t, nu=order)
    return found


def _plain(robot: Robot | SingleCoordinates) -> tuple[Array, Array]:
    """Return where in q and v coordinates and velocities are that are their rates."""
    if isinstance(robot, SingleCoordinates):
        return np.arange(robot.nq), np.arange(robot.nv)
    own = [j for j in robot.model.joints if not j.mimic and j.kind.q_units == j.kind.v_units]
    parts = [(k, n) for j in own for k, n in zip(range(*_ends(j.q_slice)), range(*_ends(j.v_slice)), strict=True)]
    return np.array([k for k, _ in parts], dtype=int), np.array([n for _, n in parts], dtype=int)


def _ends(part: slice) -> tuple[int, int]:
    return part.start, part.stop


def _end(t: Array, q: Array, at: int) -> Array:
    """Return position, velocity and acceleration at one end of some samples, (3, n)."""
    fits = [Polynomial.fit(t - t[at], column, END_DEGREE) for column in q.T]
    return np.array([[fit.deriv(order)(0.0) if order else fit(0.0) for fit in fits] for order in range(3)])
