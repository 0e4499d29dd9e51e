import numpy as np
import pytest

import kinetree as kt
from kinetree.identification.estimators.least_squares import METHODS, estimate

RNG = np.random.default_rng(0)
Y = RNG.standard_normal((300, 2, 5)) * [1.0, 10.0, 0.1, 1.0, 1e-3]
X = np.array([1.0, -0.3, 20.0, 0.0, 500.0])
NOISE = np.array([0.01, 1e-5])


def test_ordinary_least_squares_is_numpys():
    tau = Y @ X + 0.1 * np.random.default_rng(1).standard_normal((300, 2))
    found = estimate(Y, tau, "ordinary")
    assert np.allclose(found.values, np.linalg.lstsq(Y.reshape(-1, 5), tau.reshape(-1), rcond=None)[0])


def test_weighted_least_squares_is_that_of_rows_over_their_noise():
    tau = Y @ X + NOISE * np.random.default_rng(1).standard_normal((300, 2))
    found = estimate(Y, tau, "weighted")
    rows, right = (Y / found.noise[:, None]).reshape(-1, 5), (tau / found.noise).reshape(-1)
    assert np.allclose(found.values, np.linalg.lstsq(rows, right, rcond=None)[0], rtol=1e-9, atol=1e-9)
    assert np.allclose(found.covariance, np.linalg.inv(rows.T @ rows), rtol=1e-6)
    assert np.allclose(found.noise, NOISE, rtol=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_is_its_entries_and_deviations_are_honest(method):
    tau = Y @ X + NOISE * np.random.default_rng(2).standard_normal((200, 300, 2))
    batch = estimate(Y, tau, method)
    for k in (0, 7):
        alone = estimate(Y, tau[k], method)
        assert np.allclose(alone.values, batch.values[k], rtol=1e-6, atol=1e-9)
    z = (batch.values - X) / batch.deviations
    assert 0.93 < np.mean(np.abs(z) < 1.96) < 0.97
    assert 0.9 < z.std() < 1.1


def test_outliers_count_less():
    rng = np.random.default_rng(3)
    tau = Y @ X + 0.01 * rng.standard_normal((300, 2))
    tau[::20] += 5.0
    plain, robust = (np.abs(estimate(Y, tau, method).values - X) for method in ("weighted", "reweighted"))
    assert np.all(robust < 0.2 * plain + 1e-6)


def test_rows_that_do_not_count_have_no_say():
    tau = Y @ X
    tau[:50] = 1e6
    counted = np.ones((300, 2), dtype=bool)
    counted[:50] = False
    assert np.allclose(estimate(Y, tau, "ordinary", counted).values, X)


def test_directions_that_rows_do_not_tell_keep_the_prior():
    y = Y.copy()
    y[..., 3] = 2.0 * y[..., 0]  # only x0 + 2 x3 matters
    prior = np.array([1.0, 0.0, 0.0, 4.0, 0.0])
    found = estimate(y, y @ X, "ordinary", prior=prior).values
    assert found[0] + 2.0 * found[3] == pytest.approx(X[0])
    assert np.allclose(found[[1, 2, 4]], X[[1, 2, 4]])
    change = found - prior
    assert change[3] * 1.0 == pytest.approx(
        2.0 * change[0] * (np.linalg.norm(y[..., 0]) / np.linalg.norm(y[..., 3])) ** 2
    )


def test_too_few_rows_are_refused():
    with pytest.raises(kt.IdentificationError, match="4 rows cannot determine 5"):
        estimate(Y[:2], (Y @ X)[:2])
    with pytest.raises(kt.UnknownNameError, match="weighted"):
        estimate(Y, Y @ X, "weigted")


def test_noise_that_rows_share_is_in_the_deviations():
    """One number from two rows: with a source that both have, it varies as their sum does, and not as either alone."""
    rng = np.random.default_rng(0)
    y, shared = np.ones((4000, 2, 1)), rng.standard_normal((4000, 1))
    for sign in (1.0, -1.0):
        tau = shared * np.array([1.0, sign]) + 0.5 * rng.standard_normal((4000, 2))
        sources = np.broadcast_to(np.array([[1.0], [sign]]), (4000, 2, 1))
        found = estimate(y, tau, sources=sources)
        variance = ((1.0 + sign) ** 2 + 2.0 * 0.25) / 4.0 / 4000
        assert found.deviations[0] == pytest.approx(np.sqrt(variance), rel=0.05)
        assert estimate(y, tau).deviations[0] == pytest.approx(np.sqrt(1.25 / 2.0 / 4000), rel=0.05)


def test_a_joint_with_columns_of_its_own_has_the_noise_of_what_is_left():
    """Forty rows of which thirty columns are one joint's alone: its residuals are few, and its noise is not."""
    rng = np.random.default_rng(1)
    y = np.zeros((40, 2, 31))
    y[:, 0, :30] = rng.standard_normal((40, 30))
    y[:, 1, 30] = rng.standard_normal(40)
    tau = rng.standard_normal((300, 40, 2))
    noise = estimate(y, tau).noise
    assert np.sqrt(np.mean(noise**2, axis=0)) == pytest.approx([1.0, 1.0], rel=0.06)
