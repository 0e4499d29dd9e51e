"""A robot with other numbers is what the same numbers are as ``parameters=`` of a call; what cannot be is refused."""

import numpy as np
import pytest

import kinetree as kt

CHANGED = {
    "bodies": {"link_2": {"mass": 30, "com": (0.1, 0.2, 0.3)}, "link_4": {"inertia": (0.3, 0.2, 0.25)}},
    "joints": {
        "joint_3": {"position": (0.1, 0.2, 0.3), "rpy": (0.1, -0.2, 0.3)},
        "joint_2": {"damping": 3.0, "friction": 2, "rotor_inertia": 0.01, "gear_ratio": 50.0},
    },
    "gravity": (1, 2, 3),
    "link_6.M": 2.0,
}


def test_the_same_as_for_one_call():
    robot = kt.load("kuka-kr5").with_backend("reference")
    q, v, a = np.random.default_rng(0).standard_normal((3, 6))
    other = robot.with_parameters(CHANGED)
    given = robot.inverse_dynamics(q, v, a, friction=True, parameters=CHANGED)
    assert np.allclose(other.inverse_dynamics(q, v, a, friction=True), given, rtol=1e-12)
    assert not np.allclose(robot.inverse_dynamics(q, v, a, friction=True), given, rtol=0.01)
    assert robot.with_parameters({"bodies": {}, "link_2.M": robot.parameters()["link_2.M"]}) == robot


def test_where_a_loop_closes():
    short = kt.load("four-bar").with_parameters({"loops": {"crank_pin": {"position": (0.03, 0, 0)}}})
    assert short.model.loops[0].placement.translation == (0.03, 0.0, 0.0)
    assert short.closure_error(short.close([0.0, 1.0, 4.3], fixed=["crank_joint"])) < 1e-9


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bodies": {"link_2": {"mass": [1, 2]}}}, r"one number for each parameter, not \[1, 2\]"),
        ({"bodies": {"link_2": {"mass": np.nan}}}, "finite"),
        ({"bodies": {"link_2": {"mass": -1}}}, "body 'link_2': mass is negative"),
        ({"bodies": {"link_2": {"mas": 1}}}, "did you mean 'mass'"),
        ({"joints": {"joint_2": {"damping": -1}}}, "damping of joint 'joint_2' is -1: it cannot be negative"),
        ({"joints": {"joint_2": {"position": (0, np.inf, 0)}}}, "finite"),
        ({"gravity": (0, 0)}, "gravity needs 3 numbers"),
        ({"gravity": (0, 0, -1), "link_2.m": 1}, "did you mean 'link_2.M'"),
    ],
)
def test_what_cannot_be_is_refused(given, said):
    with pytest.raises(kt.KinetreeError, match=said):
        kt.load("kuka-kr5").with_parameters(given)
