"""Joints whose motors make many turns: where they are within limits is found from the joints, not from the motors."""

import numpy as np
import pytest

import kinetree as kt


def geared(drawn_at, lower=1.0, upper=2.0):
    """A crank with limits, geared 50 : 1 and drawn at ``drawn_at``, that drives a parallelogram of 0.2 m by 0.5 m."""
    b = kt.Builder("geared", gravity=(0, 0, 0))
    b.body("motor", "base", kt.Revolute("z"), mass=0.1, inertia=(1e-4,) * 3)
    b.body("crank", "base", kt.Revolute("z"), mass=1, inertia=(0.1, 0.1, 0.1), lower=lower, upper=upper)
    b.body("rod", "crank", kt.Revolute("z"), position=(0.2, 0, 0), mass=1, inertia=(0.1,) * 3)
    b.body("rocker", "base", kt.Revolute("z"), position=(0, 0.5, 0), mass=1, inertia=(0.1,) * 3)
    b.loop("pin", "rod", "rocker", kt.Revolute("z"), placement=(0, 0.5, 0), seat=(0.2, 0, 0))
    b.coupling("gearbox", {"motor_joint": 0.02, "crank_joint": 1.0})
    b.configuration("drawn", {"crank_joint": drawn_at, "motor_joint": -50 * drawn_at})
    return b.build()


@pytest.mark.parametrize("drawn_at", [0.0, 1.5])
def test_a_drawing_beyond_limits_is_brought_within(drawn_at):
    robot = geared(drawn_at)
    q = robot.assembled()
    assert robot.within_limits(q)
    assert robot.closure_error(q) < 1e-12
    assert q[robot.joint("crank_joint").q_slice] == pytest.approx(1.5, abs=0.3)


def test_random_guesses_respect_gearboxes():
    robot = geared(0.0)
    q = robot.loops.assembling.random(np.random.default_rng(0), 40)
    crank = q[:, robot.joint("crank_joint").q_slice][:, 0]
    assert np.array_equal((crank > 1.0) & (crank < 2.0), np.ones(40, dtype=bool))
    np.testing.assert_allclose(q[:, robot.joint("motor_joint").q_slice][:, 0], -50 * crank, rtol=1e-14)


def test_limits_can_be_ignored():
    robot = geared(0.0)
    assert robot.assembled(limits=False)[robot.joint("crank_joint").q_slice] == pytest.approx(0.0, abs=0.1)
