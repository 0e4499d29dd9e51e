"""Inverse kinematics against forward kinematics, closed forms and limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.robots import floating_pair, random_tree
from kinetree.errors import OptionError, ShapeError, StateError, UnknownNameError, UnreachableError
from kinetree.simulation.inverse_kinematics import inverse_kinematics


def planar(lengths=(1.0, 0.7), **data):
    builder = kt.Builder("planar")
    parent, at = "base", 0.0
    for k, length in enumerate(lengths):
        builder.body(f"l{k}", parent, kt.Revolute("z"), position=(at, 0, 0), mass=1.0, **data)
        parent, at = f"l{k}", length
    return builder.frame("tip", parent, (at, 0, 0)).build()


def six_axis(limit=2.5):
    builder = kt.Builder("six")
    parent = "base"
    for k, (axis, at) in enumerate(
        zip("zyyxyx", ((0, 0, 0.3), (0.1, 0, 0), (0, 0, 0.4), (0.2, 0, 0.05), (0.2, 0, 0), (0.1, 0, 0)), strict=True)
    ):
        builder.body(f"l{k}", parent, kt.Revolute(axis), position=at, mass=1.0, lower=-limit, upper=limit)
        parent = f"l{k}"
    return builder.frame("tool", parent, (0.1, 0, 0), rpy=(0, 1.0, 0)).build()


def test_two_links_closed_form():
    robot = planar()
    x, y = 0.9, 0.8
    c = (x * x + y * y - 1.0 - 0.49) / 1.4
    for sign in (1.0, -1.0):  # the guess chooses the elbow
        elbow = sign * np.arccos(c)
        shoulder = np.arctan2(y, x) - np.arctan2(0.7 * np.sin(elbow), 1.0 + 0.7 * np.cos(elbow))
        found = inverse_kinematics(robot, "tip", [x, y, 0.0], [0.1, 0.5 * sign], what="position")
        np.testing.assert_allclose(found.q, [shoulder, elbow], atol=1e-8)
        assert found.reached
        assert found.iterations < 30


def test_a_batch_of_poses_of_a_six_axis_arm():
    robot = six_axis().with_backend("compiled")
    rng = np.random.default_rng(0)
    q = rng.uniform(-2.3, 2.3, (4, 3, 6))
    goal = robot.pose(q, "tool")
    found = inverse_kinematics(robot, "tool", goal, attempts=60)
    assert found.q.shape == (4, 3, 6)
    np.testing.assert_allclose(robot.pose(found.q, "tool"), goal, atol=1e-8)
    assert np.all(np.abs(found.q) <= 2.5)
    assert found.reached.all()
    near = inverse_kinematics(robot, "tool", goal, q + rng.uniform(-0.05, 0.05, q.shape), attempts=60)
    assert np.median(np.abs(near.q - q).max(axis=-1)) < 1e-6  # the nearby one, but for singular places


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_random_trees_with_every_kind_of_joint(seed):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 5, ["revolute", "prismatic", "universal", "spherical", "helical", "planar"])
    q = robot.random_configuration(rng)
    guess = robot.integrate(q, rng.uniform(-0.1, 0.1, robot.nv))
    goal = robot.pose(q, "f4")
    found = inverse_kinematics(robot, "f4", goal, guess, attempts=30)
    np.testing.assert_allclose(robot.pose(found.q, "f4"), goal, atol=1e-7)


def test_positions_and_orientations_alone():
    robot = six_axis()
    goal = robot.pose([0.3, -0.4, 0.7, 0.2, -0.5, 0.9], "tool")
    place = inverse_kinematics(robot, "tool", goal, what="position")
    np.testing.assert_allclose(robot.pose(place.q, "tool")[:3, 3], goal[:3, 3], atol=1e-9)
    assert place.angle_error == 0.0
    for given_as in (goal, goal[:3, :3]):
        turn = inverse_kinematics(robot, "tool", given_as, what="orientation")
        np.testing.assert_allclose(robot.pose(turn.q, "tool")[:3, :3], goal[:3, :3], atol=1e-8)


def test_several_frames_at_once_on_a_floating_base():
    robot = floating_pair()
    rng = np.random.default_rng(4)
    q = robot.random_configuration(rng, 6)
    names = ["trunk", "head", "tail"]
    goals = [robot.pose(q, name) for name in names]
    found = inverse_kinematics(robot, names, goals, what=["pose", "orientation", "position"])
    reached = [robot.pose(found.q, name) for name in names]
    np.testing.assert_allclose(reached[0], goals[0], atol=1e-8)
    np.testing.assert_allclose(reached[1][:, :3, :3], goals[1][:, :3, :3], atol=1e-8)
    np.testing.assert_allclose(reached[2][:, :3, 3], goals[2][:, :3, 3], atol=1e-8)
    assert found.position_error.shape == (6, 3)
    np.testing.assert_allclose(np.linalg.norm(found.q[:, :4], axis=-1), 1.0, atol=1e-12)


def test_joints_that_may_not_move():
    robot = planar((1.0, 0.7, 0.5))
    q0 = np.array([0.2, 0.5, -0.4])
    goal = robot.pose([0.2, 1.1, 0.3], "tip")[:3, 3]
    found = inverse_kinematics(robot, "tip", goal, q0, what="position", joints=["l1_joint", "l2_joint"])
    assert found.q[0] == 0.2
    np.testing.assert_allclose(robot.pose(found.q, "tip")[:3, 3], goal, atol=1e-9)
    with pytest.raises(UnreachableError, match="tip"):
        inverse_kinematics(robot, "tip", [2.2, 0, 0], [1.5, 0, 0], what="position", joints=["l2_joint"])


def test_limits_are_kept_and_used():
    robot = planar(lower=-0.5, upper=2.0)
    found = inverse_kinematics(robot, "tip", [0.9, 0.8, 0.0], [0.1, 0.1], what="position")
    assert np.all((found.q >= -0.5) & (found.q <= 2.0))
    np.testing.assert_allclose(robot.pose(found.q, "tip")[:2, 3], [0.9, 0.8], atol=1e-9)
    # only an elbow beyond its limit reaches this; the nearest point is on the boundary
    blocked = inverse_kinematics(robot, "tip", [0.3, 0.0, 0.0], [0.1, 0.1], what="position", must_reach=False)
    assert not blocked.reached
    assert blocked.position_error[0] > 0.01
    assert np.isclose(blocked.q, [-0.5, 2.0]).any()
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 2, 251), np.linspace(-0.5, 2, 251)), -1)
    nearest = np.linalg.norm(robot.pose(grid, "tip")[..., :2, 3] - [0.3, 0.0], axis=-1).min()
    assert blocked.position_error[0] <= nearest + 1e-9


def test_out_of_reach_says_so():
    robot = planar()
    with pytest.raises(UnreachableError, match=r"'tip' was not reached: 0\.3 m") as caught:
        inverse_kinematics(robot, "tip", [2.0, 0.0, 0.0], what="position", attempts=2)
    assert "0 rad" in str(caught.value)
    goals = np.array([[1.0, 0.5, 0.0], [5.0, 0.0, 0.0], [0.8, 0.1, 0.0]])
    with pytest.raises(UnreachableError, match=r"batch index 1 .*1 of 3"):
        inverse_kinematics(robot, "tip", goals, what="position", attempts=2)
    found = inverse_kinematics(robot, "tip", goals, what="position", attempts=2, must_reach=False)
    assert found.reached.tolist() == [True, False, True]
    np.testing.assert_allclose(found.position_error[1], 5.0 - 1.7, atol=1e-6)
    np.testing.assert_allclose(robot.pose(found.q, "tip")[1, :2, 3], [1.7, 0.0], atol=1e-3)


def test_nan_stays_in_its_lane():
    robot = planar()
    goals = np.array([[1.0, 0.5, 0.0], [np.nan, 0.0, 0.0]])
    found = inverse_kinematics(robot, "tip", goals, what="position")
    assert found.reached.tolist() == [True, False]
    assert np.isnan(found.q[1]).all()
    assert np.isfinite(found.q[0]).all()


def test_half_turns_and_compiled_robots():
    robot = six_axis(limit=3.5).with_backend("compiled")
    start = np.array([0.1, 0.2, 0.3, 0.1, 0.4, 0.2])
    pose = robot.pose(start, "tool")
    pose[:3, :3] = Rotation.from_rotvec([np.pi, 0, 0]).as_matrix() @ pose[:3, :3]
    found = inverse_kinematics(robot, "tool", pose, start, what="orientation")
    np.testing.assert_allclose(robot.pose(found.q, "tool")[:3, :3], pose[:3, :3], atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("tipp", np.eye(4)), {}, UnknownNameError, "tip"),
        (("tip", [1, 2, 3]), {}, ShapeError, "what='position'"),
        (("tip", np.eye(4)), {"what": "place"}, UnknownNameError, "position"),
        (("tip", np.diag([2, 1, 1, 1])), {}, StateError, "rotation matrix"),
        (("tip", np.diag([-1, 1, 1, 1])), {}, StateError, "rotation matrix"),
        ((["tip", "l0"], [np.eye(4)]), {}, ShapeError, "2 frames"),
        (("tip", np.eye(4), [0.0, 9.0]), {}, StateError, "l1_joint"),
        (("tip", np.eye(4), [0.0]), {}, ShapeError, "q_guess"),
        (("tip", np.eye(4)), {"tolerance": 0.0}, OptionError, "tolerance"),
        (("tip", np.eye(4)), {"attempts": 0}, OptionError, "attempts"),
        (("tip", np.eye(4)), {"joints": "l0_joint"}, OptionError, "list"),
        (("tip", np.eye(4)), {"joints": ["l9_joint"]}, UnknownNameError, "l0_joint"),
        (([], []), {}, OptionError, "at least one"),
    ],
)
def test_bad_questions_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        inverse_kinematics(planar(lower=-3.0, upper=3.0), *arguments, **options)
