"""Trajectories through points and from data: polynomials from knot to knot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import KinetreeWarning, OptionError, ShapeError, UnknownNameError, refuse_unknown, warn
from ..spatial.scalar import Scalar
from .piecewise import IntervalTable, check_table, check_times, hermite, polynomial_rows, polynomials
from .trajectory_interface import SLACK, Trajectory, alike, within

BENT = 1e-3
"""There is a kink where a continued polynomial misses the next one by this fraction of the largest value."""


@dataclass(frozen=True, eq=False)
class Piecewise(Trajectory):
    """Polynomials from knot to knot.

    Parameters
    ----------
    knots : array_like, shape (K + 1,)
    coefficients : array_like, shape (K, degree + 1, n)
        Coefficients of rising powers of the time since the interval's first knot.
    """

    knots: ArrayLike
    coefficients: ArrayLike

    def __post_init__(self) -> None:
        knots, table = check_times(self.knots), np.asarray(self.coefficients, dtype=float)
        if table.ndim != 3 or len(table) != len(knots) - 1:
            raise ShapeError(f"coefficients must have shape ({len(knots) - 1}, degree + 1, n), got {table.shape}")
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "coefficients", table)

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(np.shape(self.coefficients)[-1])

    @property
    def start(self) -> float:
        """First knot."""
        return float(np.asarray(self.knots)[0])

    @property
    def end(self) -> float:
        """Last knot."""
        return float(np.asarray(self.knots)[-1])

    def is_batched(self) -> bool:
        """Return whether its numbers have a batch in front."""
        return False

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions over any scalar."""
        return polynomials(self._rows, self.n, t)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the knots at which it has a kink or jump, and its ends; dense samples of a curve have none."""
        return within(self._bends, begin, end)

    @cached_property
    def _bends(self) -> np.ndarray:
        knots, table = np.asarray(self.knots), np.asarray(self.coefficients)
        steps = np.diff(knots)
        ahead = np.minimum(steps[1:], steps[:-1])
        going_on = _values(table[:-1], steps[:-1] + ahead)
        off = np.abs(going_on - _values(table[1:], ahead))
        largest = np.max(np.abs(_values(table, 0.5 * steps)), axis=0, initial=0.0)
        largest = np.maximum(largest, np.max(np.abs(table[:, 0]), axis=0, initial=0.0))
        return knots[np.concatenate([[True], np.any(off > BENT * largest, axis=1), [True]])]

    @cached_property
    def _rows(self) -> IntervalTable:
        return polynomial_rows(np.asarray(self.knots), np.asarray(self.coefficients))


def _values(coefficients: np.ndarray, since: np.ndarray) -> np.ndarray:
    """Evaluate polynomials (K, degree + 1, n), each at its own time."""
    powers = since[:, None] ** np.arange(coefficients.shape[1])
    return np.einsum("kd,kdn->kn", powers, coefficients)


ENDS = ("rest", "natural", "not-a-knot", "periodic")


def spline(
    times: ArrayLike, points: ArrayLike, *, ends: str = "rest", degree: int = 3, hold: bool = False
) -> Piecewise:
    """Return the smooth curve through points at given times.

    Parameters
    ----------
    times : array_like, shape (K,)
    points : array_like, shape (K, n)
    ends : {"rest", "natural", "not-a-knot", "periodic"}
        Conditions at the ends: at rest (zero velocity; for degree 5 also zero acceleration), without curvature, no
        condition, or continuing from the last point as at the first.
    degree : {3, 5}
        Continuous acceleration, or continuous fourth derivative.
    hold : bool
        See :class:`Trajectory`.

    Examples
    --------
    >>> path = spline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]])
    >>> path(1.0)[0]
    array([1.])
    """
    knots = check_times(times, 2)
    table = check_table(points, len(knots), "points")
    if ends not in ENDS:
        raise UnknownNameError("condition at the ends", ends, ENDS)
    if degree not in (3, 5):
        raise OptionError(f"degree must be 3 or 5, not {degree!r}")
    if ends == "periodic" and not np.allclose(table[0], table[-1], rtol=0.0, atol=1e-12 * (1 + np.abs(table).max())):
        raise OptionError("a periodic spline ends where it started: the first and the last point differ")
    from scipy.interpolate import CubicSpline, make_interp_spline  # takes half a second to import

    if degree == 3:
        curve = CubicSpline(knots, table, bc_type="clamped" if ends == "rest" else ends)
    else:
        zero = np.zeros(table.shape[1])
        condition: Any = {
            "rest": ([(1, zero), (2, zero)],) * 2,
            "natural": ([(3, zero), (4, zero)],) * 2,
            "not-a-knot": None,
            "periodic": "periodic",
        }[ends]
        if condition is None and len(knots) < 6:
            raise OptionError(f"a spline of degree 5 without conditions needs at least 6 points, got {len(knots)}")
        curve = make_interp_spline(knots, table, k=5, bc_type=condition)
    first = knots if degree == 3 else np.unique(np.clip(curve.t, knots[0], knots[-1]))
    taylor = [curve(first[:-1], nu=k) / math.factorial(k) for k in range(degree + 1)]
    return Piecewise(first, np.stack(taylor, axis=1), hold=hold)


LEAST_SHARE = 0.01
"""Least fraction of its duration that an interval keeps, since changes of times may overshoot until nothing is left."""

ROUNDS = 40
"""How often the times between points are adjusted."""


def through(
    points: ArrayLike, speed: ArrayLike, acceleration: ArrayLike, *, ends: str = "rest", degree: int = 3,
    hold: bool = False,
) -> Piecewise:  # fmt: skip
    """Return a smooth curve through points, with times such that no joint exceeds its speed and acceleration.

    The curve is that of :func:`spline`.  Times between points start with the time that each distance takes, and are
    adjusted until the limits are reached in as many intervals as possible; in at least one they are reached exactly.

    Parameters
    ----------
    points : array_like, shape (K, n)
        Via points, including the first and the last.
    speed, acceleration : float or array_like, shape (n,)
        Largest allowed values, for all joints or for each.
    ends, degree, hold
        As in :func:`spline`.

    Examples
    --------
    >>> path = through([[0.0, 0.0], [0.8, -0.2], [0.5, 0.4]], speed=1.0, acceleration=4.0)
    >>> path.knots.round(2).tolist()
    [0.0, 1.17, 1.99]
    """
    table = check_table(points, len(points) if isinstance(points, Sequence | np.ndarray) else 0, "points")
    if len(table) < 2:
        raise ShapeError(f"at least two points are needed, got {len(table)}")
    limits = [alike(table[0], x, name) for x, name in ((speed, "speed"), (acceleration, "acceleration"))]
    if any(np.any(x <= 0.0) for x in limits):
        raise OptionError("speed and acceleration must be positive")

    def made(times: np.ndarray) -> tuple[Piecewise, np.ndarray]:
        edges = np.append(0.0, np.cumsum(times))
        return spline(edges, table, ends=ends, degree=degree, hold=hold), edges

    way = np.abs(np.diff(table, axis=0))
    if np.any(still := np.all(way == 0.0, axis=1)):
        k = int(np.argmax(still))
        raise OptionError(
            f"points {k} and {k + 1} are the same: a pause is a separate part, first.then(Constant(q, 1))"
        )
    times = start = np.max(np.maximum(way / limits[0], np.sqrt(2.0 * way / limits[1])), axis=1)
    best = np.full_like(times, np.inf)
    for _ in range(ROUNDS):
        curve, edges = made(times)
        needed = _needed(curve, *limits)
        longest = float(needed.max())
        if longest * times.sum() < best.sum():
            best = longest * times
        # polynomials need not begin at points: all that overlap an interval count for it
        first = np.searchsorted(np.asarray(curve.knots), edges[:-1] + SLACK * times, side="right") - 1
        last = np.searchsorted(np.asarray(curve.knots), edges[1:] - SLACK * times, side="left")
        of_way = np.array([needed[a:b].max() for a, b in zip(first, last, strict=True)])
        times = times * of_way**0.3  # longer where limits are exceeded, shorter where they are not reached
        times = np.maximum(times, LEAST_SHARE * start * (times.sum() / start.sum()))
    left = float(_needed(made(best)[0], *limits).max())  # 1 but for rounding
    return made(left * best)[0]


def _needed(curve: Piecewise, speed: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """Return the factor by which each interval of a curve would have to be longer to stay within limits, (K,)."""
    knots, table = np.asarray(curve.knots), np.asarray(curve.coefficients)
    power = np.arange(1, table.shape[1])
    rates = table[:, 1:] * power[:, None]
    found = [_largest(rates, np.diff(knots)) / speed]
    found.append(np.sqrt(_largest(rates[:, 1:] * power[:-1, None], np.diff(knots)) / acceleration))
    return np.asarray(np.max(found, axis=(0, 2)))


def _largest(coefficients: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the largest magnitudes of polynomials (K, degree + 1, n) from zero to a length each, (K, n)."""
    scaled = coefficients * lengths[:, None, None] ** np.arange(coefficients.shape[1])[:, None]
    result = np.empty((len(scaled), scaled.shape[2]))
    for k, j in np.ndindex(result.shape):
        formula = np.polynomial.Polynomial(scaled[k, :, j])
        found = np.asarray(formula.deriv().roots() if formula.degree() > 1 else [], dtype=complex)
        turns = found[found.imag == 0.0].real
        result[k, j] = np.abs(formula(np.concatenate([[0.0, 1.0], turns[(turns > 0.0) & (turns < 1.0)]]))).max()
    return result


SAMPLES = ("smooth", "linear", "step")

OVERSHOOT = 1.0
"""A curve that leaves the range of its samples by more than this multiple of that range hardly means them."""


def sampled(
    times: ArrayLike, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, *, kind: str = "smooth",
    hold: bool = False,
) -> Piecewise:  # fmt: skip
    """Return measured or computed data as a trajectory.

    Parameters
    ----------
    times : array_like, shape (K,)
    q, v, a : array_like, shape (K, n)
        Positions alone give a cubic spline without end conditions; with
        velocities, cubics match both at every sample; with accelerations, quintics match all three.
    kind : {"smooth", "linear", "step"}
        The spline, which may overshoot: a jump between close samples becomes a high peak, with a warning. Or straight
        lines between positions, as forces and signals of measurements need; or positions that last until the next
        sample, the last one as long as the one before it.
    hold : bool
        See :class:`Trajectory`.

    Examples
    --------
    >>> hit = sampled([0.0, 1.0, 1.001, 2.0], [0.0, 0.0, 5.0, 5.0], kind="linear")
    >>> hit(1.0005)[0]
    array([2.5])
    """
    refuse_unknown("kind of samples", kind, SAMPLES)
    knots = check_times(times)
    given = [("q", q), ("v", v), ("a", a)]
    if v is None and a is not None:
        raise OptionError("accelerations are given without velocities: give both, or neither")
    tables = [check_table(x, len(knots), name) for name, x in given if x is not None]
    if any(x.shape != tables[0].shape for x in tables):
        raise ShapeError(f"q, v and a must have the same shape, got {', '.join(str(x.shape) for x in tables)}")
    if kind != "smooth":
        if len(tables) > 1:
            raise OptionError(f"samples of kind {kind!r} have no velocities of their own: leave out v and a")
        return straight(knots, tables[0], hold=hold) if kind == "linear" else steps(knots, tables[0], hold=hold)
    if len(tables) == 1:
        curve = spline(knots, tables[0], ends="not-a-knot", hold=hold)
        _doubt_overshoot(curve, tables[0])
        return curve
    return Piecewise(knots, hermite(knots, tables), hold=hold)


def straight(times: ArrayLike, values: ArrayLike, *, hold: bool = False, name: str = "values") -> Piecewise:
    """Return rows as a trajectory that is straight between them.

    name: Of the rows, in messages.
    """
    knots = check_times(times)
    return Piecewise(knots, hermite(knots, [check_table(values, len(knots), name)]), hold=hold)


def steps(times: ArrayLike, values: ArrayLike, *, hold: bool = False, name: str = "values") -> Piecewise:
    """Return rows as a trajectory that jumps from one to the next; the last lasts as long as the one before it.

    name: Of the rows, in messages.
    """
    knots = check_times(times)
    rows = check_table(values, len(knots), name)
    return Piecewise(
        np.append(knots, 2.0 * knots[-1] - knots[-2]), np.stack([rows, 0.0 * rows], axis=1), hold=hold
    )  # fmt: skip


def _doubt_overshoot(curve: Piecewise, samples: np.ndarray) -> None:
    """Warn of a spline that goes far beyond the samples that it goes through."""
    table, steps = np.asarray(curve.coefficients), np.diff(np.asarray(curve.knots))
    low, high = samples.min(axis=0), samples.max(axis=0)
    between = np.concatenate([_values(table, share * steps) for share in (0.2, 0.35, 0.5, 0.65, 0.8)])
    beyond = np.maximum(between.max(axis=0) - high, low - between.min(axis=0))
    worst = int(np.argmax(beyond - OVERSHOOT * (high - low)))
    if beyond[worst] > OVERSHOOT * (high - low)[worst] + BENT * np.abs(samples).max():
        reached = between[np.argmax(np.abs(between[:, worst])), worst]
        warn(
            f"the smooth curve through the samples of column {worst} reaches {reached:.6g}, though they are between "
            f"{low[worst]:.6g} and {high[worst]:.6g}: sampled(..., kind='linear') is straight between samples, 'step' "
            "jumps, and velocities v fix the slopes",
            KinetreeWarning,
        )
