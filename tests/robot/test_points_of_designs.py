"""Points of many designs at once, and motions that are asked in one way."""

import numpy as np
import pytest

import kinetree as kt


def test_points_take_parameters():
    robot = kt.load("four-bar")
    rng = np.random.default_rng(3)
    q, v, a = rng.standard_normal((3, robot.nv))
    places = np.array([[0.1, 0.0, 0.0], [0.2, 0.05, 0.0], [np.nan, 0.0, 0.0]])
    given, point = {"joints": {"coupler_joint": {"position": places}}}, (0.03, -0.02, 0.01)
    calls = {"point_position": (q,), "point_velocity": (q, v), "point_acceleration": (q, v, a)}
    for name, state in calls.items():
        found = getattr(robot, name)(*state, "coupler", point, parameters=given)
        assert found.shape == (3, 3)
        assert np.isnan(found[2]).any()
        for k in range(2):
            changed = robot.with_parameters({"joints": {"coupler_joint": {"position": places[k]}}})
            assert np.allclose(found[k], getattr(changed, name)(*state, "coupler", point), atol=1e-12)


@pytest.mark.parametrize("motion", [kt.trajectories.Cycloid([0.0], [1.0], 2.0), kt.gallery.motion("kuka-kr5")])
def test_motions_are_asked_in_one_way(motion):
    times = np.linspace(0.0, 0.5, 4)
    for ours, theirs in zip(motion.states(times), motion(times), strict=True):
        assert np.array_equal(ours, theirs)
