"""Controllers that compute with closed loops refuse states in which these are open."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import control
from kinetree.motion import trajectories

KP, KD = 100.0, 20.0


def five_bar():
    robot, start = kt.gallery.load("five-bar"), kt.gallery.start("five-bar")
    return robot, start, trajectories.Constant(start[[0, 2]])


def laws(goal, place):
    return {
        "computed torque": control.ComputedTorque(goal, KP, KD),
        "feedforward": control.Feedforward(goal, KP, KD),
        "gravity": control.GravityCompensation(),
        "friction": control.FrictionCompensation(),
        "frame": control.OperationalSpace("forearm_1", trajectories.Constant(place), KP, KD, damping=0.1),
        "sum": control.PD(goal, KP, KD) + control.GravityCompensation(),
        "saturated": control.Saturated(control.ComputedTorque(goal, KP, KD), 50.0),
    }


NAMES = ("computed torque", "feedforward", "gravity", "friction", "frame", "sum", "saturated")


@pytest.mark.parametrize("name", NAMES)
def test_open_loops_are_refused_with_gap_joint_and_advice(name):
    robot, start, goal = five_bar()
    law = laws(goal, robot.pose(start, "forearm_1")[:3, 3])[name]
    rest = np.zeros(robot.nv)
    closed = law(robot, 0.0, start, rest)
    assert np.isfinite(closed).all()
    torn = start + np.array([0.0, 0.3, 0.0, 0.0])
    loop = robot.model.loops[0].name
    gap = np.abs(robot.loop_gaps(torn)).max()
    with pytest.raises(kt.StateError, match=rf"off by {gap:.3g} m at joint '{loop}: .*robot\.close\(q\)"):
        law(robot, 0.0, torn, rest)
    with pytest.raises(kt.StateError, match=r"in state \(1,\)"):
        law(robot, 0.0, np.stack([start, torn]), rest)
    # what the advice says helps
    assert np.isfinite(law(robot, 0.0, robot.close(torn), rest)).all()
    # a lane that is no number is no open loop
    both = law(robot, 0.0, np.stack([start, np.full(robot.nq, np.nan)]), rest)
    np.testing.assert_allclose(both[0], closed, rtol=1e-12, atol=1e-12)


def test_measured_states_are_taken_and_tolerance_decides():
    robot, start, goal = five_bar()
    law, rest = control.ComputedTorque(goal, KP, KD), np.zeros(robot.nv)
    measured = start + np.array([0.0, 1e-4, 0.0, 0.0])
    near = law(robot, 0.0, measured, rest)
    np.testing.assert_allclose(near, law(robot, 0.0, start, rest), rtol=1e-2, atol=0.1)
    with pytest.raises(kt.StateError, match="more than 1e-06"):
        law(robot, 0.0, measured, rest, tolerance=1e-6)
    torn = start + np.array([0.0, 0.3, 0.0, 0.0])
    assert law(robot, 0.0, torn, rest, tolerance=np.inf).shape == (robot.nv,)
    with pytest.raises(kt.OptionError, match="tolerance"):
        law(robot, 0.0, start, rest, tolerance=-1.0)


def test_laws_of_the_joints_alone_do_not_mind():
    robot, start, goal = five_bar()
    torn = start + np.array([0.0, 0.3, 0.0, 0.0])
    v = np.array([0.1, 0.0, -0.2, 0.0])
    tau = control.PD(goal, KP, KD)(robot, 0.0, torn, v)
    np.testing.assert_allclose(tau, [-KD * 0.1, 0.0, KD * 0.2, 0.0], atol=1e-12)


def test_small_mechanisms_are_measured_by_their_own_size():
    """Bars of millimeters are grossly open long before a centimeter."""
    b = kt.Builder("small")
    small = {"mass": 1e-3, "inertia": (1e-9, 1e-9, 1e-9)}
    b.body("crank", "base", kt.Revolute("z"), **small)
    b.body("coupler", "crank", kt.Revolute("z"), position=(1e-3, 0, 0), actuated=False, **small)
    b.body("rocker", "base", kt.Revolute("z"), position=(3e-3, 0, 0), actuated=False, **small)
    robot = b.loop("pin", "coupler", "rocker", kt.Revolute("z"), placement=(3e-3, 0, 0), seat=(2e-3, 0, 0)).build()
    closed = robot.close([0.3, 0.6, 1.5])
    law, rest = control.GravityCompensation(), np.zeros(3)
    assert np.isfinite(law(robot, 0.0, closed, rest)).all()
    with pytest.raises(kt.StateError, match=r"0\.000\d+ m at joint 'pin"):
        law(robot, 0.0, closed + np.array([0.0, 0.3, 0.0]), rest)


def test_a_function_that_asks_a_law_can_be_simulated():
    """What an integrator tries on its way is not quite closed; the law has to answer there too."""
    robot, start, _ = five_bar()
    goal = trajectories.Cycloid(start[[0, 2]], start[[0, 2]] + [0.3, -0.2], 0.5).held()
    law = control.ComputedTorque(goal, KP, KD)
    asked = control.from_function(lambda t, q, v: law(robot, t, q, v))
    direct = kt.simulate(robot, start, time=0.3, controller=law, samples=4)
    through = kt.simulate(robot, start, time=0.3, controller=asked, samples=4)
    np.testing.assert_allclose(through.q, direct.q, atol=1e-6)
