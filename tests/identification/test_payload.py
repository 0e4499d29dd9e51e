import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification import drive_gains, identify_payload

LOAD = kt.MassProperties.of(2.0, (0.3, 0.0, 0.05), (0.01, 0.02, 0.02))
FREE = two_links().with_parameters({"upper_joint.friction": 0.2, "lower_joint.damping": 0.1})


def measured(robot, seed, gains=1.0, noise=0.01):
    rng = np.random.default_rng(seed)
    t, q, v, a = fourier(2, rng, 20.0, rate=200.0)
    tau = robot.inverse_dynamics(q, v, a, friction=True) + noise * rng.standard_normal(q.shape)
    return kt.Measured(t, q, tau / gains, v)


def test_a_payload_is_the_difference():
    carried = FREE.with_payload("lower", LOAD)
    found = identify_payload(two_links(), measured(FREE, 0), measured(carried, 1), "lower", friction="coulomb")
    moments = 2.0 * np.array([0.3, 0.05])
    assert found.values[[6, 8]] == pytest.approx(moments, abs=0.02)
    assert found.errors.max() < 0.05
    with pytest.raises(kt.UnknownNameError, match="lower"):
        identify_payload(two_links(), measured(FREE, 0), measured(carried, 1), "lowr", friction="coulomb")


def test_a_known_load_tells_the_gains():
    gains = np.array([20.0, 8.0])
    carried = FREE.with_payload("lower", LOAD)
    found = drive_gains(two_links(), measured(FREE, 0, gains, 1e-3), measured(carried, 1, gains, 1e-3), LOAD, "lower")
    assert found == pytest.approx(gains, rel=0.02)
