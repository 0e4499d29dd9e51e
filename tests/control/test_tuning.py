"""Gains from the inertia that motors feel."""

import numpy as np
import pytest

import kinetree as kt


def test_a_pendulum_answers_as_a_critically_damped_oscillator():
    pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, -0.5)).build()
    kp, kd = kt.control.gains_for(pendulum, [0.0], frequency=8.0)
    assert np.allclose([kp, kd], [[2.0 * 0.25 * 64.0], [2.0 * 2.0 * 0.25 * 8.0]])
    goal = kt.trajectories.Constant([0.3])
    law = kt.control.PD(goal, kp, kd)
    record = kt.simulate(pendulum.with_gravity((0, 0, 0)), [0.0], time=1.0, controller=law, samples=11)
    t = record.time
    assert np.allclose(record.q[:, 0], 0.3 * (1.0 - (1.0 + 8.0 * t) * np.exp(-8.0 * t)), atol=1e-7)


def test_motors_of_a_mechanism_feel_what_follows_them():
    four_bar = kt.load("four-bar")
    q = four_bar.close([0.0, 1.0, 4.3], fixed=["crank_joint"])
    kp, kd = kt.control.gains_for(four_bar, q, frequency=1.0, ratio=0.5)
    v = four_bar.velocities(q, [1.0])  # the crank is the only motor: twice its kinetic energy at unit speed
    assert np.allclose(kp, 2.0 * four_bar.kinetic_energy(q, v))
    assert np.allclose(kd, kp)


def test_gains_are_refused_that_make_no_sense():
    arm = kt.load("kuka-kr5")
    for wrong in ({"frequency": -1.0}, {"frequency": [1.0, 2.0]}, {"ratio": -0.1}, {"frequency": np.nan}):
        with pytest.raises(kt.OptionError):
            kt.control.gains_for(arm, arm.neutral(), **wrong)
