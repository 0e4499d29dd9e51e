"""DIDIM: forces measured under a controller, and positions that are too noisy to be differentiated."""

import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import two_links

FREQUENCIES = 2 * np.pi * np.array([0.25, 0.6, 1.1])
A, B = 0.4 * np.random.default_rng(0).standard_normal((2, 3, 2))
FRICTION = {"upper_joint.damping": 0.4, "upper_joint.friction": 0.15, "lower_joint.damping": 0.1}
DURATION, RATE = 8.0, 100.0


def path(t):
    waves = list(zip(FREQUENCIES, A, B, strict=True))
    return [sum(a[j] * kt.sin(w * t) + b[j] * kt.cos(w * t) for w, a, b in waves) for j in range(2)]


@pytest.fixture(scope="module")
def truth():
    return two_links().with_parameters(FRICTION).with_backend("compiled")


@pytest.fixture(scope="module")
def guess():
    b = kt.Builder("two links")
    b.body("upper", "base", kt.Revolute("y"), mass=2.0, com=(0.1, 0, 0), inertia=(0.03, 0.03, 0.03))
    b.body("lower", "upper", kt.Revolute("y"), position=(0.5, 0, 0), mass=2.0, com=(0.1, 0, 0), inertia=(0.02,) * 3)
    return b.build().with_backend("compiled")


@pytest.fixture(scope="module")
def controller():
    return kt.control.PD(kt.trajectories.Function(path), kp=(300.0, 80.0), kd=(30.0, 6.0))


@pytest.fixture(scope="module")
def run(truth, controller):
    """The run as it was, from the simulator: times, positions, forces."""
    q0, v0, _ = controller.trajectory(0.0)
    t = np.arange(int(DURATION * RATE) + 1) / RATE
    record = kt.simulate(
        truth, q0, v0, time=DURATION, controller=controller, integrator="rk4", step=5e-4, samples=t, friction_speed=1e-2
    )  # fmt: skip
    return t, record.q, controller(truth, t, record.q, record.v)


def measured(run, seed, noise=4e-3):
    t, q, tau = run
    rng = np.random.default_rng(seed)
    return kt.Measured(t, q + noise * rng.standard_normal(q.shape), tau + 0.05 * rng.standard_normal(tau.shape))


def inertial_error(found, truth):
    """Return how wrong the forces of bodies are, over all motions alike."""
    q, v, a = np.random.default_rng(5).standard_normal((3, 200, 2))
    expected = truth.inverse_dynamics(q, v, a)
    return np.linalg.norm(found.robot.inverse_dynamics(q, v, a) - expected) / np.linalg.norm(expected)


def test_noise_of_positions_does_no_harm(truth, guess, controller, run):
    data = measured(run, 1)
    options = {"friction": "coulomb", "rotor_inertia": False, "springs": False}
    plain = kt.identify(guess, data, **options)
    found = kt.identify(guess, data, estimator="didim", controller=controller, **options)
    assert "until nothing changed" in found.notes[-1]
    assert inertial_error(found, truth) < 0.02
    assert inertial_error(found, truth) < 0.5 * inertial_error(plain, truth)
    table = found.robot.parameters()
    for name, value in FRICTION.items():
        place = found.names.index(name)
        assert abs(table[name] - value) < 4.0 * found.deviations[place]


def test_a_controller_with_states_is_simulated_from_the_beginning(truth, guess, run):
    pid = kt.control.PID(kt.trajectories.Function(path), kp=(300.0, 80.0), kd=(30.0, 6.0), ki=(100.0, 30.0))
    q0, v0, _ = pid.trajectory(0.0)
    t = run[0][:301]
    record = kt.simulate(
        truth, q0, v0, time=3.0, controller=pid, integrator="rk4", step=5e-4, samples=t, friction_speed=1e-2
    )  # fmt: skip
    data = kt.Measured(t, record.q, pid(truth, t, record.q, record.v, record.z), record.v)
    found = kt.identify(guess, data, estimator="didim", controller=pid, friction="coulomb", springs=False)
    assert inertial_error(found, truth) < 0.01


def test_what_is_missing_is_said(guess, controller, run):
    data = measured(run, 2)
    with pytest.raises(kt.OptionError, match="give controller="):
        kt.identify(guess, data, estimator="didim")
    with pytest.raises(kt.OptionError, match="not 'presliding'"):
        kt.identify(guess, data, estimator="didim", controller=controller, friction="presliding")
    short = kt.control.PD(kt.trajectories.Function(path, 0.0, 3.0), 300.0, 30.0)
    with pytest.raises(kt.OptionError, match="same clock"):
        kt.identify(guess, data, estimator="didim", controller=short, friction="coulomb")
    mechanism = kt.gallery.load("four-bar")
    from kinetree.identification.simulated.controlled_motion import ControlledRun

    with pytest.raises(kt.UnsupportedError, match="trees on a fixed base"):
        ControlledRun(mechanism, controller, [], mechanism)
