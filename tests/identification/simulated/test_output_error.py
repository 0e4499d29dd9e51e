from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.closed_motion import motions_of
from kinetree.identification.simulated.output_error import _simulated, _windows, refine_by_output_error

TRUTH = two_links()


def measured(duration=6.0, noise=0.0):
    rng = np.random.default_rng(0)
    t, q, v, a = fourier(2, rng, duration, rate=100.0)
    return kt.Measured(t, q + noise * rng.standard_normal(q.shape), TRUTH.inverse_dynamics(q, v, a), v, a)


def test_sensitivities_are_those_of_the_simulation():
    motions, _, _ = motions_of(TRUTH, measured(), cutoff=20.0, both_sides=5.0)
    cuts = _windows(TRUTH, motions, 0.3)
    names = ("upper.MX", "lower.YY", "lower.MZ")
    rest, slope = _simulated(TRUTH, cuts, names)
    table, step = TRUTH.parameters(), 1e-6
    for k, name in enumerate(names):
        moved = TRUTH.with_parameters({name: table[name] + step}, physical=False)
        difference = (rest - _simulated(moved, cuts, names)[0]) / step
        assert np.allclose(slope[..., k], difference, atol=1e-4 * np.abs(difference).max())
    assert np.abs(rest).max() < 1e-3  # the truth goes where it went


def test_wrong_parameters_are_put_right():
    data = measured()
    wrong = TRUTH.with_parameters({"upper.MX": 1.1 * TRUTH.parameters()["upper.MX"], "lower.YY": 0.12}, physical=False)
    fitted = kt.identify(TRUTH, data, friction="none", rotor_inertia=False)
    begin = replace(fitted, robot=wrong)
    found = refine_by_output_error(begin, data, window=0.2)
    assert np.all(found.errors < 0.05 * found.errors_before)
    q, v, a = np.random.default_rng(5).standard_normal((3, 30, 2))
    expected = TRUTH.inverse_dynamics(q, v, a)
    assert np.abs(found.robot.inverse_dynamics(q, v, a) - expected).max() < 0.01 * np.abs(expected).max()
    with pytest.raises(kt.OptionError, match="window"):
        refine_by_output_error(begin, data, window=-1.0)
