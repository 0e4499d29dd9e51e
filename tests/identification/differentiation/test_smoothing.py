"""Curves through noisy samples, held against dense Gaussian probabilities and against what they were made from."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.linalg import null_space

from kinetree.identification.differentiation.smoothing import _Bases, _log_determinant, _SplineEquations, smooth_curves
from kinetree.identification.tuned_constants import DEGREE


@pytest.mark.parametrize("order", [3, 5])
def test_likelihood_and_deviations_are_those_of_dense_matrices(order):
    """Restricted likelihood: that of all contrasts of the samples in which no polynomial is."""
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, 2.0, 40))
    y = np.sin(3.0 * t) + 0.05 * rng.standard_normal(40)
    samples = _SplineEquations(_Bases(t, (t[0], t[-1])), y, order, 16)
    differences = np.diff(np.eye(samples.count), order, axis=0)
    assert _log_determinant(samples.count, order) == pytest.approx(
        np.linalg.slogdet(differences @ differences.T)[1], rel=1e-6
    )
    values = samples.values.toarray()
    contrasts = null_space(np.vander(t, order).T)
    smooth = values @ np.linalg.pinv(differences)
    dense = []
    for weight in (0.1, 100.0):
        spread = contrasts.T @ (np.eye(len(t)) + smooth @ smooth.T / weight) @ contrasts
        seen = contrasts.T @ y
        squares = seen @ np.linalg.solve(spread, seen)
        dense.append((len(t) - order) * np.log(squares / (len(t) - order)) + np.linalg.slogdet(spread)[1])
    found = [samples.unlikelihood(x) for x in (-1.0, 2.0)]
    sizes = [order * np.log(samples.count * np.var(samples.solved(x)[1])) for x in (-1.0, 2.0)]
    assert np.diff(found) - np.diff(sizes) == pytest.approx(np.diff(dense), rel=1e-6)


def test_deviations_of_long_curves_are_those_of_all_coefficients():
    t = np.arange(1000) / 500.0
    y = np.sin(120.0 * t) + 1e-4 * np.random.default_rng(1).standard_normal(1000)
    (curve,) = smooth_curves(t, y[:, None])
    assert len(curve.spline.c) > 400
    assert curve.noise == pytest.approx(1e-4, rel=0.1)
    places = np.array([0.0, 0.005, 0.02, 1.0, t[-1]])
    rows = BSpline(curve.spline.t, np.eye(len(curve.spline.c)), DEGREE)(places, nu=2)
    factor = np.zeros((len(curve.spline.c),) * 2)
    for above in range(DEGREE + 1):
        np.fill_diagonal(factor[:, above:], curve._factor[DEGREE - above, above:])
    exact = curve.noise * np.linalg.norm(np.linalg.solve(factor.T, rows.T), axis=0)
    assert np.allclose(curve.deviation(places, 2), exact, rtol=0.05)
    assert exact[0] > 5.0 * exact[3]  # an end, and the middle


def test_polynomials_pass_and_jumps_of_acceleration_make_curves_less_smooth():
    t = np.linspace(0.0, 1.0, 200)
    (curve,) = smooth_curves(t, (5.0 + t**3)[:, None])
    assert np.allclose(curve(t, 2), 6.0 * t, atol=1e-4)
    bang = np.where(t < 0.5, t**2 / 2, t - t**2 / 2 - 0.25)
    noisy = np.stack([bang, np.sin(9.0 * t)], axis=1) + 1e-5 * np.random.default_rng(2).standard_normal((200, 2))
    first, second = smooth_curves(t, noisy)
    assert (first.order, second.order) == (3, 5)


def test_beyond_the_samples_curves_are_less_certain():
    """As where samples were averaged, whose middles begin later than the motion and end before it."""
    rng, t = np.random.default_rng(4), np.linspace(0.1, 3.9, 200)
    samples = (np.sin(3.0 * t) + 1e-3 * rng.standard_normal(200))[:, None]
    (short,), (long,) = smooth_curves(t, samples), smooth_curves(t, samples, (0.0, 4.0))
    ends = np.array([0.0, 4.0])
    assert (long.deviation(ends, 2) > 1.2 * long.deviation(t[[0, -1]], 2)).all()
    assert (np.abs(long(ends, 2) + 9.0 * np.sin(3.0 * ends)) < 4.0 * long.deviation(ends, 2)).all()
    np.testing.assert_allclose(long(t[20:-20], 2), short(t[20:-20], 2), atol=0.3 * long.deviation(2.0, 2))
