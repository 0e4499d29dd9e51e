"""Functions of one's own in machine code, and their Jacobians."""

import math

import numpy as np
import pytest

import kinetree as kt


def reach(q, lengths):
    """A planar arm with lengths that vary with the batch."""
    first, both = q[0], q[0] + q[1]
    return [
        lengths[0] * kt.cos(first) + lengths[1] * kt.cos(both),
        lengths[0] * kt.sin(first) + lengths[1] * kt.sin(both),
    ]


@pytest.fixture(scope="module")
def tip():
    return kt.compile_function(reach, 2, 2)


def on_numpy(q, lengths):
    angles = np.stack([q[..., 0], q[..., 0] + q[..., 1]], axis=-1)
    return np.stack([(lengths * np.cos(angles)).sum(-1), (lengths * np.sin(angles)).sum(-1)], axis=-1)


@pytest.mark.parametrize("batch", [(), (5,), (3, 4)])
def test_values_are_those_of_numpy(tip, batch):
    q, lengths = np.random.default_rng(0).uniform(-3, 3, (2, *batch, 2))
    np.testing.assert_allclose(tip(q, lengths), on_numpy(q, lengths), rtol=0, atol=1e-14)
    np.testing.assert_allclose(tip(q, [1.0, 0.5]), on_numpy(q, np.array([1.0, 0.5])), rtol=0, atol=1e-14)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobians_are_those_of_complex_steps(tip, mode):
    q, lengths = np.random.default_rng(1).uniform(-3, 3, (2, 6, 2))
    jacobian = tip.jacobian_by(mode)(q, lengths)
    x = np.concatenate([q, lengths], axis=-1).astype(complex)
    for k in range(4):
        moved = x.copy()
        moved[:, k] += 1e-30j
        np.testing.assert_allclose(jacobian[..., k], on_numpy(moved[:, :2], moved[:, 2:]).imag / 1e-30, atol=1e-13)


def test_second_derivatives_are_symmetric(tip):
    hessian = tip.jacobian.jacobian([0.3, -0.8], [1.0, 0.5])
    assert hessian.shape == (2, 4, 4)
    np.testing.assert_allclose(hessian, np.swapaxes(hessian, -1, -2), atol=1e-15)
    assert abs(hessian).max() > 0.1


def test_out_and_threads_and_nan_in_one_state(tip):
    q, lengths = np.random.default_rng(2).uniform(-3, 3, (2, 1000, 2))
    q[17, 0] = np.nan
    out = np.empty((1000, 2))
    assert tip(q, lengths, out=out, threads=2) is out
    assert np.isnan(out[17]).all()
    assert np.isfinite(np.delete(out, 17, axis=0)).all()
    assert np.array_equal(out, tip(q, lengths), equal_nan=True)


def test_what_cannot_be_is_said(tip):
    with pytest.raises(kt.ShapeError, match=r"argument 1 of reach must have shape \(..., 2\), got \(3,\)"):
        tip([0.0, 0.0], [1.0, 2.0, 3.0])
    with pytest.raises(kt.ShapeError, match="takes 2 vectors, not 1"):
        tip([0.0, 0.0])
    with pytest.raises(kt.UnknownNameError, match="mode of differentiation"):
        tip.jacobian_by("sideways")
    with pytest.raises(kt.ShapeError, match="length of each vector"):
        kt.compile_function(reach)
    with pytest.raises(kt.ModelError, match="instead of math's"):
        kt.compile_function(lambda x: [math.sin(x[0])], 1)
    with pytest.raises(kt.ModelError, match=r"where\(\) instead of if"):
        kt.compile_function(lambda x: [1.0 if x[0] > 0 else 2.0], 1)


def test_exponentials_look_up_their_tables():
    f = kt.compile_function(lambda q: [kt.tanh(q[0]) * kt.exp(q[1]), kt.exp(q[0])], 2)
    x = np.random.default_rng(0).normal(size=(9, 2))
    a, b = np.tanh(x[:, 0]), np.exp(x[:, 1])
    np.testing.assert_allclose(f(x), np.stack([a * b, np.exp(x[:, 0])], 1), rtol=1e-15)
    np.testing.assert_allclose(f.jacobian(x)[:, 0], np.stack([(1 - a * a) * b, a * b], 1), rtol=1e-13)


def test_any_power():
    """Against NumPy: above, at and below zero, beyond the range of numbers, and with an exponent that is computed."""
    f = kt.compile_function(
        lambda x: [x[0] ** 1.3, x[0] ** -0.7, x[0] ** x[1], 2.5 ** x[1], np.float64(3.0) ** x[1]], 2
    )
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-20, 20, (40, 2))), rng.uniform(-2, 2, (20, 2))])
    x[:40, 1] = rng.uniform(-3, 3, 40)
    x = np.concatenate([x, [[0.0, 1.5], [1.0, 0.3], [np.inf, 0.3], [np.nan, 1.0], [1e300, 1.0], [1e-300, 0.5]]])
    a, b = x.T
    with np.errstate(all="ignore"):
        expected = np.stack([a**1.3, a**-0.7, a**b, 2.5**b, 3.0**b], axis=1)
    np.testing.assert_allclose(f(x), expected, rtol=2e-13)
    assert np.isnan(f([[-1.0, 2.5]])[0, :3]).all()
