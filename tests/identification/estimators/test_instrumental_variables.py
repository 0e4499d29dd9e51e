import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.estimators.instrumental_variables import explained
from kinetree.identification.estimators.least_squares import estimate


def test_noise_of_the_columns_does_no_harm():
    rng = np.random.default_rng(0)
    clean = rng.standard_normal((4000, 1, 2))
    x = np.array([2.0, -1.0])
    noisy = clean + 0.5 * rng.standard_normal(clean.shape)
    tau = clean @ x + 0.1 * rng.standard_normal((4000, 1))
    counted, noise = np.ones((4000, 1), dtype=bool), np.ones(1)
    plain = estimate(noisy, tau, "ordinary").values
    other = estimate(explained(noisy, clean, counted, noise), tau, "ordinary").values
    assert np.abs(plain - x).max() > 0.3  # pulled towards zero
    assert np.abs(other - x).max() < 0.05


@pytest.mark.filterwarnings("ignore::kinetree.IdentificationWarning")
def test_identification_with_the_commanded_motion():
    robot, rng = two_links(), np.random.default_rng(1)
    t, q, v, a = fourier(2, rng, 40.0, rate=100.0)
    tau = robot.inverse_dynamics(q, v, a) + 0.05 * rng.standard_normal(q.shape)
    measured = kt.Measured(t, q + 1e-3 * rng.standard_normal(q.shape), tau)
    commanded = kt.Measured(t, q, tau, v, a)
    options = {"friction": "none", "rotor_inertia": False, "consistent": "barrier", "cutoff": 30.0, "both_sides": 20.0}
    plain = kt.identify(robot, measured, **options)
    found = kt.identify(robot, measured, instruments=commanded, **options)
    exact = kt.identify(robot, commanded, **options)
    inertias = [k for k, name in enumerate(exact.names) if ".YY" in name]  # accelerations are the noisiest
    away = [np.linalg.norm((one.values - exact.values)[inertias]) for one in (plain, found)]
    assert away[1] < 0.3 * away[0]
