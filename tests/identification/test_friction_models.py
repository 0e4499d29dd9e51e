import numpy as np
import pytest

import kinetree as kt
from kinetree.identification.friction_models import MODELS, coulomb, following, friction_model, presliding, resting


def test_presliding_solves_dahls_equation():
    """dz = (v - |v| z) dt / shape, by small steps."""
    t = np.linspace(0.0, 6.0, 60_001)
    q, v = np.sin(2 * t) * np.exp(-0.1 * t), np.gradient(np.sin(2 * t) * np.exp(-0.1 * t), t)
    shape, z = 0.02, np.zeros_like(t)
    z[0] = 1.0
    for k in range(1, len(t)):
        step = q[k] - q[k - 1]
        middle = z[k - 1] + 0.5 * (step - abs(step) * z[k - 1]) / shape
        z[k] = z[k - 1] + (step - abs(step) * middle) / shape
    assert np.abs(presliding(q, v, 0.0, shape) - z).max() < 1e-4


def test_presliding_becomes_coulomb_friction():
    t = np.linspace(0.0, 6.0, 2001)
    q, v = np.sin(t), np.cos(t)
    away = np.abs(v) > 0.1
    assert np.allclose(presliding(q, v, 0.0, 1e-5)[away], coulomb(q, v, 0.0, 0.0)[away])


def test_a_damper_behind_a_spring_follows():
    """In closed form for velocities that grow evenly from a start at which the damper has them, too."""
    t, time = np.linspace(0.0, 2.0, 201), 0.3
    v = 0.5 + 2.0 * t
    assert np.allclose(following(v, 0.01, time), v - 2.0 * time * (1.0 - np.exp(-t / time)), rtol=0, atol=1e-13)
    assert np.allclose(following(v, 0.01, 1e-6), v, rtol=0, atol=1e-5)


def test_coulomb_friction_has_no_sign_within_noise():
    v = np.array([-1.0, -0.015, 0.0, 0.015, 1.0])
    assert np.allclose(coulomb(v, v, 0.01, 0.0), [-1.0, -0.5, 0.0, 0.5, 1.0])
    assert np.array_equal(coulomb(v, v, 0.0, 0.0), np.sign(v))


def test_coulomb_friction_keeps_its_sign_where_a_joint_only_slows_down():
    t = np.linspace(-1.0, 1.0, 401)
    noise = 0.01 * np.sin(40.0 * t)
    assert np.all(coulomb(t, t**2 + noise, 0.01, 0.0) == 1.0)
    assert np.all(coulomb(t, -(t**2) + noise, 0.01, 0.0) == -1.0)
    turns = coulomb(t, t**2 - 0.025, 0.01, 0.0)  # backwards by more than noise explains
    assert turns[200] == pytest.approx(-0.025 / 0.03)
    assert np.allclose(coulomb(t, t**3, 0.01, 0.0), np.clip(t**3 / 0.03, -1.0, 1.0))  # where it turns back
    begins = coulomb(t, (t + 1.0) ** 2, 0.01, 0.0)  # nothing says from where it came
    assert begins[0] == 0.0


def test_rest_is_a_whole_window_of_slow_samples():
    v = np.ones((100, 1))
    v[40:60] = 0.0
    still = resting(v, np.array([0.01]), 5)[:, 0]
    assert np.array_equal(np.flatnonzero(still), np.arange(45, 55))


def test_unknown_models_are_named():
    with pytest.raises(kt.UnknownNameError, match="coulomb"):
        friction_model("coulom")
    assert set(MODELS) >= {"none", "viscous", "coulomb", "stribeck", "presliding"}
