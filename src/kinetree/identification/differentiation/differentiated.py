"""Velocities and accelerations of motions whose positions were measured, with their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly, make_interp_spline

from ...errors import OptionError
from ...spatial.arrays import Array, as_array
from .. import tuned_constants as tuned
from ..filtering import Band, FilteredMotion, SingleCoordinates, choose_band, continuous, filtered, on_manifold
from ..sampling import Piece, evenly_sampled
from .smoothing import SmoothCurve, smooth_curves

if TYPE_CHECKING:
    from ...robot.robot import Robot


@dataclass(frozen=True)
class DifferentiatedMotion:
    """A motion at the given times.

    Attributes
    ----------
    t, q, v, a : ndarray (T,), (T, nq), (T, nv), (T, nv)
        The motion; NaN in rows whose positions are not numbers.
    v_deviation, a_deviation : ndarray (T, nv)
        Standard deviations of ``v`` and ``a``; they are larger at the ends, where samples are on one side only. NaN if
        a cutoff was given, since the noise is not estimated then.
    noise : ndarray (nq,)
        Estimated standard deviation of the noise of each position; NaN if a cutoff was given.
    band : Band
        ``band.motion`` is the highest frequency at which joints move, and ``band.cutoff`` the frequency at which half
        of the amplitude passes, for the joint for which it is highest.
    is_even : bool
        Whether the samples were evenly spaced.
    averaged : int
        How many neighboring samples were averaged because their noise is not independent.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    band: Band
    is_even: bool
    v_deviation: Array
    a_deviation: Array
    noise: Array
    averaged: int = 1

    def uncertainty(self) -> tuple[Array, Array, float]:
        """Return standard deviations of accelerations inside and near the ends, (nv,) each, and the ends' length in s.

        Accelerations count as near an end if their deviation is more than twice that in the middle.
        """
        known = np.isfinite(self.a_deviation).all(axis=-1)
        t, deviation = self.t[known], self.a_deviation[known]
        if not len(t):
            nothing = np.full(self.a.shape[-1], np.nan)
            return nothing, nothing, 0.0
        middle = np.median(deviation, axis=0)
        sure = np.flatnonzero((deviation <= 2.0 * middle).all(axis=-1))
        ends = max(t[sure[0]] - t[0], t[-1] - t[sure[-1]]) if len(sure) else np.ptp(t)
        return middle, np.maximum(deviation[0], deviation[-1]), float(ends)


def differentiated(
    robot: Robot, t: ArrayLike, q: ArrayLike, *, cutoff: float | None = None, joints: Sequence[str] | None = None
) -> DifferentiatedMotion:
    """Return velocities and accelerations of sampled positions, with their uncertainty.

    Each coordinate is fitted by a spline that is as smooth as the samples suggest: noise, smoothness and standard
    deviations are estimated together (restricted maximum likelihood). The noise is assumed to be white; if the spectrum
    shows that it is not, for example after a filter, neighboring samples are averaged first. Times need not be evenly
    spaced. With ``cutoff``, a zero-phase filter is used instead, as in identification.

    Parameters
    ----------
    robot : Robot
    t : array_like, shape (T,)
        Increasing times.
    q : array_like, shape (T, nq)
        Positions.
    cutoff : float, optional
        Cutoff frequency of the filter, in Hz.
    joints : sequence of str, optional
        Names of the joints (with one coordinate each) that the columns of q belong to; by default, all joints.

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
    if int(good.sum()) < tuned.FEWEST:
        raise OptionError(f"{int(good.sum())} samples are too few to differentiate: give {tuned.FEWEST} or more")
    known = times[good]
    steps = np.diff(known)
    if not (steps > 0.0).all():
        raise OptionError(f"times must increase: {known[int(np.argmin(steps > 0.0)) + 1]:.10g} s does not")
    step = float(np.median(steps))
    if steps.max() > tuned.UNEVEN * step:
        at = int(np.argmax(steps))
        raise OptionError(
            f"there is a pause of {steps[at]:.4g} s after t = {known[at]:.10g} s, where samples are otherwise "
            f"{step:.4g} s apart: what happened in between is unknown. Split the data there"
        )
    if not np.ptp(positions[good], axis=0).any():
        raise OptionError("no joint moves: all samples are the same, and there is nothing to differentiate")
    moving = robot if joints is None else SingleCoordinates(width)
    measured = continuous(positions[good], moving)  # type: ignore[arg-type]
    unit = on_manifold(measured.copy(), moving)  # type: ignore[arg-type]
    if np.abs(unit - measured).max() < tuned.NOISE_OF_QUATERNIONS:  # the robot reports others
        measured = unit
    piece = evenly_sampled(known, {"q": measured, "tau": np.zeros((len(known), 1))}, step)
    even = len(piece.t) == len(known) and bool(np.array_equal(piece.t, known))
    made = (
        _smoothed(piece, known, measured, moving)
        if cutoff is None
        else _filtered(piece, known, choose_band([piece], moving, cutoff), moving, even)  # type: ignore[arg-type]
    )

    def placed(values: Array) -> Array:
        whole = np.full((len(times), values.shape[-1]), np.nan)
        whole[good] = values
        return whole

    return DifferentiatedMotion(
        times, placed(made.q), placed(made.v), placed(made.a), made.band, even,
        placed(made.v_deviation), placed(made.a_deviation), made.noise, made.averaged,
    )  # fmt: skip


# ------------------------------------------------------------------ splines as smooth as the samples suggest


def _smoothed(piece: Piece, t: Array, q: Array, robot: Robot | SingleCoordinates) -> DifferentiatedMotion:
    """Smooth all coordinates; constant ones are taken to have no noise."""
    moves = np.flatnonzero(np.ptp(q, axis=0) > 0.0)
    band = choose_band([piece], robot)  # type: ignore[arg-type]
    averaged, curves = 1, smooth_curves(t, q[:, moves])
    most = int(len(t) / (tuned.PER_PERIOD * band.motion * np.ptp(t)))
    if most > 1 and _is_colored(piece, curves, moves, band, robot):
        averaged, count = most, len(t) // most * most
        means = [x[:count].reshape(-1, most, *x.shape[1:]).mean(axis=1) for x in (t, q[:, moves])]
        curves = smooth_curves(means[0], means[1], (float(t[0]), float(t[-1])))

    def at(times: Array, derivative: int = 0) -> Array:
        values = np.zeros((len(times), q.shape[1]))
        values[:, moves] = np.stack([curve(times, derivative) for curve in curves], axis=-1)
        if not derivative:
            values[:, np.ptp(q, axis=0) == 0.0] = q[0, np.ptp(q, axis=0) == 0.0]
        return values

    deviations = np.zeros((2, len(t), q.shape[1]))
    for column, curve in zip(moves, curves, strict=True):
        deviations[:, :, column] = [curve.deviation(t, derivative) for derivative in (1, 2)]
    noise = np.zeros(q.shape[1])
    noise[moves] = [curve.noise for curve in curves]
    cutoff = max(curve.cutoff for curve in curves)
    band = replace(band, motion=min(band.motion, cutoff), cutoff=cutoff)
    v, a, spread = _rates_of(robot, at, t, cutoff, deviations)
    return DifferentiatedMotion(
        t, on_manifold(at(t), robot), v, a, band, True, spread[0], spread[1], noise, averaged  # type: ignore[arg-type]
    )  # fmt: skip


def _is_colored(
    piece: Piece, curves: list[SmoothCurve], moves: Array, band: Band, robot: Robot | SingleCoordinates
) -> bool:
    """Return whether curves follow correlated noise: their accelerations are mostly above a gap in the spectrum."""
    fast = np.array([curve.cutoff > tuned.ABOVE_VALLEY * band.motion for curve in curves])
    if not fast.any() or tuned.ABOVE_VALLEY * band.motion > 0.4 * band.sampling:
        return False
    below = filtered(piece, replace(band, cutoff=tuned.ABOVE_VALLEY * band.motion), SingleCoordinates(piece.q.shape[1]))  # type: ignore[arg-type]
    inside = slice(len(piece) // 10, -(len(piece) // 10))
    for column, curve, is_fast in zip(moves, curves, fast, strict=True):
        slow = below.a[inside, column]
        if is_fast and np.std(curve(piece.t[inside], 2) - slow) > tuned.COLORED * np.std(slow):
            return True
    return False


def _rates_of(
    robot: Robot | SingleCoordinates, at: Callable[..., Array], t: Array, cutoff: float, deviations: Array
) -> tuple[Array, Array, Array]:
    """Return velocities, accelerations and the deviations of both, from coordinates as functions of time."""
    of_q, of_v = _plain(robot)
    if isinstance(robot, SingleCoordinates) or len(of_v) == robot.nv:
        return at(t, 1)[:, of_q], at(t, 2)[:, of_q], deviations[:, :, of_q]
    instant, turning = tuned.INSTANT / cutoff, robot

    def rate(times: Array) -> Array:
        before, behind = (on_manifold(at(times + x), turning) for x in (-instant, instant))
        return np.asarray(turning.difference(before, behind)) / (2.0 * instant)

    v, a = rate(t), (rate(t + instant) - rate(t - instant)) / (2.0 * instant)
    v[:, of_v], a[:, of_v] = at(t, 1)[:, of_q], at(t, 2)[:, of_q]
    spread = np.full((2, *v.shape), np.nan)
    spread[:, :, of_v] = deviations[:, :, of_q]
    for joint in robot.model.joints:
        if not joint.mimic and joint.kind.q_units[:4] == ("1",) * 4:
            # rates of unit quaternions are half the angular velocity
            q, n, last = joint.q_slice.start, joint.v_slice.start, joint.v_slice.stop
            spread[:, :, n : n + 3] = 2.0 * deviations[:, :, q : q + 4].max(axis=-1, keepdims=True)
            if last > n + 3:
                spread[:, :, n + 3 : last] = deviations[:, :, q + 4 : q + 7].max(axis=-1, keepdims=True)
    return v, a, spread


# ------------------------------------------------------------------ a filter with a given cutoff


def _filtered(piece: Piece, t: Array, band: Band, robot: Robot | SingleCoordinates, even: bool) -> DifferentiatedMotion:
    smooth = _filtered_to_the_ends(piece, band, robot)
    q, v, a = (
        x if even else make_interp_spline(piece.t, x, k=3)(np.clip(t, None, piece.t[-1]))
        for x in (smooth.q, smooth.v, smooth.a)
    )
    return DifferentiatedMotion(
        t, q, v, a, band, even, np.full(v.shape, np.nan), np.full(v.shape, np.nan), np.full(q.shape[-1], np.nan)
    )  # fmt: skip


def _filtered_to_the_ends(piece: Piece, band: Band, robot: Robot | SingleCoordinates) -> FilteredMotion:
    """Filter and differentiate a motion that need not be at rest at its ends.

    Filters extend the samples beyond the ends by reflecting them about the last one, which makes accelerations vanish
    there. So a polynomial with the position, velocity and acceleration at both ends is subtracted before filtering and
    added afterwards.
    """
    of_q, of_v = _plain(robot)
    if not len(of_q):
        return filtered(piece, band, robot)  # type: ignore[arg-type]
    many = min(len(piece), max(tuned.FEWEST, int(tuned.END_WINDOW * band.sampling / band.cutoff)))
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
    """Return the indices in q and v of coordinates whose rates are velocities."""
    if isinstance(robot, SingleCoordinates):
        return np.arange(robot.nq), np.arange(robot.nv)
    own = [j for j in robot.model.joints if not j.mimic and j.kind.q_units == j.kind.v_units]
    parts = [(k, n) for j in own for k, n in zip(range(*_ends(j.q_slice)), range(*_ends(j.v_slice)), strict=True)]
    return np.array([k for k, _ in parts], dtype=int), np.array([n for _, n in parts], dtype=int)


def _ends(part: slice) -> tuple[int, int]:
    return part.start, part.stop


def _end(t: Array, q: Array, at: int) -> Array:
    """Return position, velocity and acceleration at one end of some samples, (3, n)."""
    fits = [Polynomial.fit(t - t[at], column, tuned.END_DEGREE) for column in q.T]
    return np.array([[fit.deriv(order)(0.0) if order else fit(0.0) for fit in fits] for order in range(3)])
