"""Steps in machine code: as written, one by one, many at once, and with samples on the way."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.evaluation.law_kernels import Sizes, StepProgram
from kinetree.spatial import sin


def advance(ask, t, state, h, p):
    """Heun's rule for a driven pendulum with a counter beside it."""
    x, v, count = state
    (a,) = ask([t, x, v])
    (b,) = ask([t + h, x + h * v, v + h * a])
    return [x + h * v + 0.5 * h * h * a, v + 0.5 * h * (a + b), count + 1.0]


def rate(question, p):
    t, x, v = question
    return [p[0] * sin(t) - sin(x) - p[1] * v]


SIZES = Sizes(3, 3, 2, 1)


@pytest.fixture(scope="module")
def one():
    return StepProgram("pendulum", advance, rate, SIZES)


def starts(count):
    rng = np.random.default_rng(1)
    return np.c_[rng.standard_normal((count, 2)), np.zeros(count)], rng.uniform(0.1, 0.5, (count, 2))


def test_the_text_as_it_is_written_takes_the_same_steps(one):
    state, p = starts(5)
    written = StepProgram("pendulum", advance, rate, SIZES, compiled=False)
    np.testing.assert_allclose(written(0.3, state, 0.01, 7, p), one(0.3, state, 0.01, 7, p), rtol=0, atol=1e-14)


@pytest.mark.parametrize("samples", [2, 5, 64])
@pytest.mark.parametrize("every", [1, 3])
def test_samples_on_the_way_are_the_states_there_to_the_bit(one, samples, every):
    state, p = starts(11)
    sampled = StepProgram("pendulum", advance, rate, SIZES, samples=samples)(0.3, state, 0.01, every, p)
    assert sampled.shape == (11, samples, 3)
    for k in range(samples):
        np.testing.assert_array_equal(sampled[:, k], one(0.3, state, 0.01, every * (k + 1), p))
    np.testing.assert_array_equal(sampled[:, -1, 2], np.full(11, samples * every))


@pytest.mark.parametrize("samples", [1, 2, 7])
@pytest.mark.parametrize("every", [1, 3])
def test_one_state_keeps_as_many_samples_as_it_is_asked_for(one, samples, every):
    state, p = starts(3)
    found = one.of_one_state()(0.3, [state[1, :2], state[1, 2:]], 0.01, every, p[1], samples)
    assert found.shape == (samples, 3)
    for k in range(samples):
        np.testing.assert_array_equal(found[k], one(0.3, state, 0.01, every * (k + 1), p)[1])


def test_a_batch_of_one_is_stepped_as_one_state_in_both_precisions():
    for single, dtype in ((False, np.float64), (True, np.float32)):
        program = StepProgram("pendulum", advance, rate, SIZES, single=single)
        state, p = (x.astype(dtype) for x in starts(9))
        t, h, n = (np.full((1, 1), x, dtype) for x in (0.3, 0.01, 5))
        many = program.prepared(t, state, h, n, p)()
        alone = program.prepared(t, state[:1], h, n, p[:1])
        np.testing.assert_array_equal(alone(), many[:1])
        out = np.empty((1, 3), dtype)
        assert alone(out) is out
        np.testing.assert_array_equal(out, many[:1])
        with pytest.raises(TypeError, match="C-ordered"):
            alone(np.empty((2, 3), dtype))


def test_samples_of_one_state_have_no_axis_of_a_batch(one):
    state, p = starts(3)
    sampled = StepProgram("pendulum", advance, rate, SIZES, samples=4)
    np.testing.assert_array_equal(sampled(0.0, state[1], 0.02, 2, p[1]), sampled(0.0, state, 0.02, 2, p)[1])


def test_a_lost_lane_leaves_the_others_alone():
    state, p = starts(9)
    sampled = StepProgram("pendulum", advance, rate, SIZES, samples=4)
    whole = sampled(0.0, state, 0.02, 2, p)
    state[4, 0] = np.nan
    found = sampled(0.0, state, 0.02, 2, p)
    assert np.isnan(found[4, :, :2]).all()
    np.testing.assert_array_equal(np.delete(found, 4, axis=0), np.delete(whole, 4, axis=0))
