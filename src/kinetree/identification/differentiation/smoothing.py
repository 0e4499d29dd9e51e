"""Curves through noisy samples, as smooth as the samples suggest, with the uncertainty of their derivatives.

A curve f is a spline on even knots, and is found together with the noise of the samples y:

    least  sum (y - f(t))^2 + lambda sum (differences of order m of its coefficients)^2,

which for fine knots is the integral of the m-th derivative squared.  That is the most probable curve if the m-th
derivative is white noise, so lambda and m are those under which the samples are most probable (restricted maximum
likelihood), and the same model gives the uncertainty of each derivative, also at the ends, where samples are on one
side only and accelerations are least certain.  Nothing is assumed about the ends: without noise, polynomials below the
degree m are reproduced exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial, log

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from ...spatial.arrays import Array
from .. import tuned_constants as tuned

EXPONENTS = np.linspace(-6.0, 9.0, 16)
"""Values of lambda to try first, in powers of ten, before the search is refined."""

TINY = float(np.finfo(float).tiny)


class _Bases:
    """B-splines at some times, on knots of any spacing over a time span."""

    def __init__(self, t: Array, span: tuple[float, float]) -> None:
        self.t, self.span = t, span
        self.rate = (len(t) - 1) / (t[-1] - t[0])
        self._known: dict[int, tuple[Array, csr_array, Array]] = {}

    def on(self, intervals: int) -> tuple[Array, csr_array, Array]:
        """Return the knots, the splines' values at the samples, and the upper band of their normal matrix."""
        if intervals not in self._known:
            self._known[intervals] = self._made(intervals)
        return self._known[intervals]

    def _made(self, intervals: int) -> tuple[Array, csr_array, Array]:
        step = (self.span[1] - self.span[0]) / intervals
        knots = self.span[0] + step * np.arange(-tuned.DEGREE, intervals + tuned.DEGREE + 1)
        inside = np.clip(self.t, knots[tuned.DEGREE], knots[-tuned.DEGREE - 1])
        values = csr_array(BSpline.design_matrix(inside, knots, tuned.DEGREE))
        normal = (values.T @ values).tocoo()
        row, column = normal.coords
        upper = column >= row
        band = np.zeros((tuned.DEGREE + 1, intervals + tuned.DEGREE))
        band[tuned.DEGREE - (column - row)[upper], column[upper]] = normal.data[upper]
        return knots, values, band


def _roughness(count: int, order: int) -> Array:
    """Return the upper band of D'D, where D takes differences of coefficients of some order."""
    weights = [(-1.0) ** (order - k) * comb(order, k) for k in range(order + 1)]
    band = np.zeros((tuned.DEGREE + 1, count))
    for i, first in enumerate(weights):
        for j in range(i, order + 1):
            band[tuned.DEGREE - (j - i), j : j + count - order] += first * weights[j]
    return band


def _log_determinant(count: int, order: int) -> float:
    """Return log det(D D'), which equals that of the Gram matrix of the polynomials in the null space of D."""
    return sum(
        log(factorial(j) ** 2 / (factorial(2 * j) * factorial(2 * j + 1)))
        + log(count)
        + sum(log(count**2 - i**2) for i in range(1, j + 1))
        for j in range(order)
    )


@dataclass(frozen=True)
class SmoothCurve:
    """A curve through noisy samples."""

    spline: BSpline
    noise: float
    """Standard deviation of the samples."""
    cutoff: float
    """Frequency in Hz at which half of the amplitude passes."""
    order: int
    """The derivative that is white noise."""
    unlikelihood: float
    """Twice the negative logarithm of the restricted likelihood."""
    _factor: Array

    def __call__(self, t: Array, derivative: int = 0) -> Array:
        """Return the curve or a derivative of it."""
        return np.asarray(self.spline(t, nu=derivative))

    def deviation(self, t: Array, derivative: int = 0) -> Array:
        """Return the standard deviation of the curve or a derivative of it."""
        times, deviations = self._deviations
        return np.interp(t, times, deviations[derivative])

    @cached_property
    def _deviations(self) -> tuple[Array, Array]:
        """Deviations of position, velocity and acceleration: near both ends, and one value in between."""
        count = len(self.spline.c)
        if count <= 3 * tuned.FELT_COEFFICIENTS:
            times, squares = self._window(0, count, 0, 0)
        else:
            middle = (count - tuned.FELT_COEFFICIENTS) // 2
            parts = [
                self._window(first, first + tuned.FELT_COEFFICIENTS, left, right)
                for first, left, right in ((0, 0, 1), (middle, 1, 1), (count - tuned.FELT_COEFFICIENTS, 1, 0))
            ]
            times = np.concatenate([time for time, _ in parts])
            squares = np.concatenate([square for _, square in parts], axis=1)
        return times, self.noise * np.sqrt(squares)

    def _window(self, first: int, last: int, left: int, right: int) -> tuple[Array, Array]:
        """Return the deviations within some coefficients, without the outer third at a side where others follow."""
        knots = self.spline.t[first : last + tuned.DEGREE + 1]
        low, high = (
            tuned.DEGREE + left * tuned.FELT_COEFFICIENTS // 3,
            last - first - right * tuned.FELT_COEFFICIENTS // 3,
        )
        times = np.linspace(knots[low], knots[high], 3 * (high - low) + 1)
        units = BSpline(knots, np.eye(last - first), tuned.DEGREE)
        found = []
        for derivative in range(3):
            rows = units(times, nu=derivative)
            back = cho_solve_banded((self._factor[:, first:last], False), rows.T)
            found.append(np.einsum("ij,ji->i", rows, back))
        return times, np.maximum(found, 0.0)


class _SplineEquations:
    """The equations of a curve of some order, on some knots."""

    def __init__(self, bases: _Bases, y: Array, order: int, intervals: int) -> None:
        self.y, self.order, self.count = y, order, intervals + tuned.DEGREE
        self.knots, self.values, self.normal = bases.on(intervals)
        self.rough, self.seen = _roughness(self.count, order), self.values.T @ y
        self.constant = _log_determinant(self.count, order)

    def solved(self, exponent: float) -> tuple[Array, Array, float, float]:
        """Return the factor of the equations, coefficients, residual sum of squares, and negative log-likelihood."""
        weight, free = 10.0**exponent, len(self.y) - self.order
        try:
            factor = cholesky_banded(self.normal + weight * self.rough)
        except LinAlgError:  # with hardly any weight, and splines without samples, the matrix is not positive definite
            return np.zeros((0, 0)), np.zeros(0), 0.0, np.inf
        found = cho_solve_banded((factor, False), self.seen)
        left = np.sum((self.y - self.values @ found) ** 2) + weight * np.sum(np.diff(found, self.order) ** 2)
        squares = max(float(left), TINY)
        unlikelihood = (
            free * log(squares / free)
            + 2.0 * float(np.sum(np.log(factor[-1])))
            - (self.count - self.order) * exponent * log(10.0)
            - self.constant
            + self.order * log(max(self.count * float(np.var(found)), TINY))  # polynomials may be as large as the curve
        )
        return factor, found, squares, unlikelihood

    def unlikelihood(self, exponent: float) -> float:
        return self.solved(exponent)[-1]

    def best(self) -> float:
        """Return the exponent under which the samples are most probable."""
        best = int(np.argmin([self.unlikelihood(x) for x in EXPONENTS]))
        ends = EXPONENTS[max(0, best - 1)], EXPONENTS[min(len(EXPONENTS) - 1, best + 1)]
        found = minimize_scalar(self.unlikelihood, bounds=ends, method="bounded", options={"xatol": 0.02})
        return float(found.x)


def _fitted(bases: _Bases, y: Array, order: int, intervals: int) -> SmoothCurve:
    """Return the most probable curve of an order, on knots as fine as given or finer if necessary."""
    while True:
        samples = _SplineEquations(bases, y, order, intervals)
        exponent = samples.best()
        step = samples.knots[1] - samples.knots[0]
        weight = 10.0**exponent * step ** (2 * order - 1)  # the scale of the integral
        cutoff = float((bases.rate / weight) ** (0.5 / order) / (2.0 * np.pi))
        if cutoff * step < tuned.PER_KNOT or intervals >= len(y):
            factor, found, squares, unlikelihood = samples.solved(exponent)
            noise = float(np.sqrt(squares / (len(y) - order)))
            return SmoothCurve(BSpline(samples.knots, found, tuned.DEGREE), noise, cutoff, order, unlikelihood, factor)
        intervals = min(2 * intervals, len(y))


def _fineness(bases: _Bases, y: Array, order: int) -> int:
    """Return the initial number of intervals; all are tried, since coarse knots may mistake a motion for noise."""
    levels = [tuned.FEWEST_KNOTS]
    while levels[-1] < len(y):
        levels.append(min(4 * levels[-1], len(y)))
    scores = [min(map(_SplineEquations(bases, y, order, level).unlikelihood, EXPONENTS[::3])) for level in levels]
    return levels[int(np.argmin(scores))]


def smooth_curves(t: Array, y: Array, span: tuple[float, float] | None = None) -> list[SmoothCurve]:
    """Return a curve through the samples of each column.

    t: (T,). Increasing times, not necessarily evenly spaced.
    y: (T, n). Samples with white noise; no column may be constant.
    span: Time span of the curves, if it is longer than that of the samples; the standard deviations show that the
        curves are less certain there.
    """
    bases = _Bases(t, (float(t[0]), float(t[-1])) if span is None else span)
    middle = tuned.ORDERS[1]
    found = []
    for column in np.transpose(y):
        start = float(np.mean(column))
        best = _fitted(bases, column - start, middle, _fineness(bases, column - start, middle))
        intervals = len(best.spline.c) - tuned.DEGREE
        for order in reversed(tuned.ORDERS):
            if order != middle:
                other = _fitted(bases, column - start, order, max(tuned.FEWEST_KNOTS, intervals // 2))
                if other.unlikelihood < best.unlikelihood:
                    best = other
                    break
        best.spline.c += start
        found.append(best)
    return found
