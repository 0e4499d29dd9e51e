"""Samples that machine code keeps on the way are those of single steps, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.integrators import stepper
from kinetree.simulation.integrators.stepper import samples_ahead


def arm(backend="compiled"):
    b = kt.Builder("arm")
    b.body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    b.body(
        "lower", "upper", kt.Spherical(), position=(0, 0, -1), mass=0.5, com=(0, 0, -0.4), inertia=(0.05, 0.05, 0.01)
    )
    return kt.Robot(b.build().model, backend=backend)


def one_by_one(monkeypatch, run):
    """Return what a run gives that takes single steps."""
    with monkeypatch.context() as patched:
        patched.setattr(stepper.FixedStepper, "leap_by_samples", lambda *_: None)
        return run()


def equal(one, other, to=0.0):
    """Hold two records equal; wanted times may be a rounding error beside the end of a step."""
    np.testing.assert_array_equal(one.t, other.t)
    for name in ("q", "v", "a", "tau"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=to, atol=to, err_msg=name)
    np.testing.assert_allclose(one.energy.actuators, other.energy.actuators, rtol=to, atol=to)


SETTINGS = {
    "every step": {},
    "an end within a step": {"time": 0.12345},
    "few steps": {"time": 0.01},
    "every third step": {"samples": np.arange(0.0, 0.3, 0.003)},
    "off the steps": {"samples": np.linspace(0.0, 0.3, 77)},
    "steps, then none": {"samples": np.r_[np.arange(0.0, 0.1, 0.001), 0.1234, 0.2]},
    "a controller": {"controller": kt.control.GravityCompensation()},
    "torques that jump": {
        "controller": kt.control.TorqueTable([0, 0.0505, 0.0831], 0.1 * np.eye(3, 4), kind="step", hold=True)
    },
    "a sampled controller": {"controller": kt.control.Sampled(kt.control.GravityCompensation(), period=0.013)},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("integrator", ["rk4", "implicit_euler"])
def test_the_same_record_as_step_by_step(monkeypatch, name, integrator):
    robot, given = arm(), {"time": 0.3, "step": 1e-3, "integrator": integrator} | SETTINGS[name]
    run = lambda: kt.simulate(robot, [0.3, 0, 0, 0, 1], [0.5, 1.0, 0.2, 0.1], **given)  # noqa: E731
    equal(run(), one_by_one(monkeypatch, run), to=1e-11 if "samples" in given else 0.0)


@pytest.mark.parametrize("name", ["four-bar", "3-rrr"])
def test_mechanisms_too(monkeypatch, name):
    robot = kt.Mechanism(kt.load(name).model, backend="compiled")
    q = robot.assembled()
    run = lambda: kt.simulate(robot, q, time=0.2, step=1e-3, integrator="rk4")  # noqa: E731
    equal(run(), one_by_one(monkeypatch, run))


def test_a_motion_without_bound_is_stopped_at_the_same_step(monkeypatch):
    robot = arm()
    run = lambda: kt.simulate(  # noqa: E731
        robot, [0.3, 0, 0, 0, 1], time=1.0, step=1e-3, integrator="rk4",
        forces=[kt.forces.PointSpring(("base", (0.0, 0.0, 1.0)), "lower", stiffness=1e9)],
    )  # fmt: skip
    with pytest.raises(kt.SimulationError) as one:
        run()
    with pytest.raises(kt.SimulationError) as other:
        one_by_one(monkeypatch, run)
    assert one.value.time == other.value.time
    assert len(one.value.record) == len(other.value.record)


def test_batches_keep_the_samples_of_single_runs():
    robot, rng = arm(), np.random.default_rng(0)
    q, v = robot.random_configuration(rng, 9), rng.standard_normal((9, 4))
    whole = kt.simulate(robot, q, v, time=0.15, step=1e-3, integrator="rk4", samples=151)
    alone = kt.simulate(robot, q[4], v[4], time=0.15, step=1e-3, integrator="rk4", samples=151)
    np.testing.assert_array_equal(whole.q[:, 4], alone.q)
    few = kt.simulate(robot, q, v, time=0.15, step=1e-3, integrator="rk4", samples=4)
    np.testing.assert_array_equal(whole.q[::50], few.q)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (np.arange(1, 9) * 0.1, (8, 1)),
        (np.arange(1, 5) * 0.3, (4, 3)),
        (np.array([0.2, 0.4, 0.5]), (2, 2)),
        (np.array([0.2, 0.4 + 1e-4, 0.6]), (1, 2)),
        (np.array([0.15, 0.3]), (0, 1)),
        (np.array([1e4]), (0, 1)),
        (np.zeros(0), (0, 1)),
        (np.arange(1, 9) * 1.0, (5, 10)),
    ],
)
def test_how_many_samples_are_equally_far_apart(times, expected):
    found = samples_ahead(2.0 + times, 2.0, 0.1, 0, 50)
    assert found == expected or found[0] == expected[0] == 0


def test_samples_do_not_go_past_a_look_of_a_sampled_controller(monkeypatch):
    """A sample per step, and a controller that looks every fortieth."""
    robot, law = arm(), kt.control.Sampled(kt.control.GravityCompensation(), period=0.04)
    run = lambda: kt.simulate(  # noqa: E731
        robot, [0.3, 0, 0, 0, 1], time=0.3, step=1e-3, integrator="rk4", controller=law, samples=301
    )
    equal(run(), one_by_one(monkeypatch, run), to=1e-11)
