"""Inverse kinematics against forward kinematics, closed forms and limits."""

import gc
import weakref

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.robots import floating_pair, random_tree
from judges.real_robots import FIXED, FLOATING, load_quietly, robot_file
from kinetree.algorithms.newton_closing_step import Block, ClosingTask, FrameGoal, judge
from kinetree.errors import OptionError, ShapeError, StateError, UnknownNameError, UnreachableError
from kinetree.motion.inverse_kinematics import inverse_kinematics
from kinetree.spatial import Matrix3
from kinetree.spatial.rotation import quaternion_of

PARTS = ("q", "reached", "position_error", "angle_error", "iterations")


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


# ------------------------------------------------------------------ real robots


def real(name, **options):
    return load_quietly(robot_file((FIXED | FLOATING)[name]), **options).with_backend("compiled")


def pinocchio_poses(name, robot, q, frame):
    """Forward kinematics of a fixed arm by somebody else."""
    model = pin.buildModelFromUrdf(str(robot_file(FIXED[name])))
    data = model.createData()
    theirs = np.zeros((len(q), model.nq))
    for joint in robot.joint_names:
        if not robot.joint(joint).mimic:
            theirs[:, model.joints[model.getJointId(joint)].idx_q] = q[:, robot.joint(joint).q_slice.start]
    index, found = model.getFrameId(frame), []
    for row in theirs:
        pin.framesForwardKinematics(model, data, row)
        found.append(data.oMf[index].homogeneous.copy())
    return np.array(found)


@pytest.mark.parametrize(
    ("name", "frame", "before"), [("ur5", "tool0", 0.9863), ("panda", "panda_hand_tcp", 0.9938)]
)  # fmt: skip
def test_reachable_poses_of_real_arms_are_reached(name, frame, before):
    """Ten attempts do better than they did for these poses and seeds when NumPy took the steps, thirty even more so."""
    robot = real(name)
    asked = robot.random_configuration(np.random.default_rng(1), 2000)
    goal = robot.pose(asked, frame)
    tens = [inverse_kinematics(robot, frame, goal, attempts=10, rng=seed, must_reach=False) for seed in range(4)]
    assert np.mean([ten.reached.mean() for ten in tens]) >= before
    found = inverse_kinematics(robot, frame, goal, must_reach=False)
    assert found.reached.mean() >= 0.999
    off = pinocchio_poses(name, robot, found.q, frame) - goal
    distance = np.linalg.norm(off[:, :3, 3], axis=-1)
    np.testing.assert_array_less(distance[found.reached], 1e-9 + 1e-13)
    # |R - R'| = sqrt(8) sin(angle / 2)
    np.testing.assert_array_less(np.linalg.norm(off[:, :3, :3], axis=(1, 2))[found.reached], np.sqrt(2) * 1e-9 + 1e-13)
    np.testing.assert_allclose(found.position_error[:, 0], distance, atol=1e-12)
    assert np.all((found.q >= robot.lower_limits) & (found.q <= robot.upper_limits))
    assert found.iterations.mean() < 40


def test_a_humanoid_with_hands_and_feet_in_given_places():
    robot = real("talos", floating_base=True)
    rng = np.random.default_rng(5)
    low, high = np.clip(robot.lower_limits, -0.5, 0.5), np.clip(robot.upper_limits, -0.5, 0.5)
    asked = rng.uniform(low, high, (40, robot.nq))
    asked[:, :4] /= np.linalg.norm(asked[:, :4], axis=-1, keepdims=True)
    frames = ["left_sole_link", "right_sole_link", "gripper_left_base_link", "gripper_right_base_link"]
    what = ["pose", "pose", "position", "orientation"]
    goals = [robot.pose(asked, frame) for frame in frames]
    found = inverse_kinematics(robot, frames, goals, what=what)
    for frame, goal, kind in zip(frames, goals, what, strict=True):
        here = robot.pose(found.q, frame)
        if kind != "orientation":
            np.testing.assert_allclose(here[:, :3, 3], goal[:, :3, 3], atol=2e-9)
        if kind != "position":
            np.testing.assert_allclose(here[:, :3, :3], goal[:, :3, :3], atol=2e-9)
    inside = (found.q >= robot.lower_limits) & (found.q <= robot.upper_limits)
    assert inside.all()
    np.testing.assert_allclose(np.linalg.norm(found.q[:, :4], axis=-1), 1.0, atol=1e-12)
    assert np.all(found.position_error[:, 3] == 0.0)
    assert np.all(found.angle_error[:, 2] == 0.0)


def test_each_pose_is_answered_as_if_it_were_alone():
    """Bit for bit: among others, in another order, by two threads; also where starts at random were needed."""
    robot = real("panda")
    frame, rng = "panda_hand_tcp", np.random.default_rng(2)
    goal = robot.pose(robot.random_configuration(rng, 150), frame)
    goal[3, 0, 3] = np.nan
    goal[4, :3, 3] += 5.0
    goal[5, :3, :3] = np.nan
    goal[6, 2, 3] = np.inf
    goal[8, 0, 0] = np.inf
    guess = robot.random_configuration(rng, 150)
    guess[7, 2] = np.nan
    all_together = inverse_kinematics(robot, frame, goal, guess, attempts=5, must_reach=False)
    assert all_together.iterations.max() > 100
    lost = np.isnan(all_together.q).all(axis=-1)
    assert np.flatnonzero(lost).tolist() == [3, 5, 6, 7, 8]
    assert np.isfinite(all_together.q[~lost]).all()
    assert not all_together.reached[lost].any()
    order = rng.permutation(150)
    shuffled = inverse_kinematics(robot, frame, goal[order], guess[order], attempts=5, must_reach=False, threads=2)
    for part in PARTS:
        np.testing.assert_array_equal(getattr(shuffled, part), getattr(all_together, part)[order])
    for k in range(0, 150, 4):
        alone = inverse_kinematics(robot, frame, goal[k], guess[k], attempts=5, must_reach=False)
        for part in PARTS:
            np.testing.assert_array_equal(getattr(alone, part), getattr(all_together, part)[k])


def test_machine_code_and_reference_agree():
    robot = six_axis()
    goal = robot.pose(robot.random_configuration(np.random.default_rng(3), 5), "tool")
    slow = inverse_kinematics(robot, "tool", goal)
    fast = inverse_kinematics(robot.with_backend("compiled"), "tool", goal)
    np.testing.assert_allclose(fast.q, slow.q, atol=1e-8)
    np.testing.assert_array_equal(fast.iterations, slow.iterations)


def test_joints_that_move_nothing_stay_where_they_are():
    """Also where the arm starts again at random."""
    robot = real("panda")
    asked = robot.random_configuration(np.random.default_rng(8), 300)
    guess = np.array(asked[0])
    finger = [k for k, name in enumerate(robot.q_names) if "finger" in name]
    guess[finger] = 0.0123
    found = inverse_kinematics(robot, "panda_hand_tcp", robot.pose(asked, "panda_hand_tcp"), guess)
    assert found.iterations.max() > 60
    assert finger
    assert np.all(found.q[:, finger] == 0.0123)


def test_a_guess_that_is_there_already_is_the_answer():
    robot = six_axis().with_backend("compiled")
    q = np.array([0.3, -0.4, 0.7, 0.2, -0.5, 0.9])
    found = inverse_kinematics(robot, "tool", robot.pose(q, "tool"), q)
    np.testing.assert_array_equal(found.q, q)
    assert found.iterations == 0
    assert found.reached
    assert inverse_kinematics(robot, "tool", np.empty((0, 4, 4))).q.shape == (0, 6)


@pytest.mark.parametrize("what", ["position", "pose"])
def test_the_nearest_that_limits_allow(what):
    """Where goals are out of reach, a bounded least-squares solver from many starts comes no nearer."""
    robot = six_axis(limit=0.8).with_backend("compiled")
    rng = np.random.default_rng(6)
    goal = robot.pose(rng.uniform(-0.8, 0.8, (3, 6)), "tool")
    goal[:, :3, 3] *= 1.8
    found = inverse_kinematics(robot, "tool", goal, what=what, must_reach=False)
    assert not found.reached.any()

    def residual(q, target):
        here = robot.pose(q, "tool")
        turn = Rotation.from_matrix(target[:3, :3] @ here[:3, :3].T).as_rotvec()
        return np.concatenate([target[:3, 3] - here[:3, 3], turn if what == "pose" else []])

    for target, distance, angle in zip(goal, found.position_error[:, 0], found.angle_error[:, 0], strict=True):
        starts = rng.uniform(-0.8, 0.8, (6, 6))
        best = min(
            2.0 * least_squares(residual, start, bounds=(-0.8, 0.8), args=(target,), xtol=1e-12).cost
            for start in starts
        )
        assert distance**2 + angle**2 <= best * (1 + 1e-6)


def test_steps_per_attempt_are_counted():
    robot = six_axis().with_backend("compiled")
    far = np.array([9.0, 0.0, 0.0])
    one = inverse_kinematics(robot, "tool", far, what="position", iterations=5, attempts=1, must_reach=False)
    assert one.iterations == 5
    three = inverse_kinematics(robot, "tool", far, what="position", iterations=5, attempts=3, must_reach=False)
    assert three.iterations == 20  # and five more that bring the nearest nearer
    assert three.position_error[0] <= one.position_error[0]


def test_a_robot_is_not_kept_alive():
    robot = planar()
    inverse_kinematics(robot, "tip", [1.0, 0.5, 0.0], what="position")
    alive = weakref.ref(robot)
    del robot
    gc.collect()
    assert alive() is None


# ------------------------------------------------------------------ the law


@pytest.mark.parametrize("count", [2, 3, 6, 9])
def test_both_forms_of_the_damped_step(count):
    """More columns than rows or fewer: the same equation, here solved by NumPy."""
    robot = planar((0.3,) * count)
    q, goal = 0.1 * np.arange(count) + 0.2, FrameGoal("tip")
    blocks = (Block(tuple(range(6)), tuple(range(count))),)
    ones = (1.0,) * count
    task = ClosingTask(blocks, tuple(range(count)), (1.0,) * 6, ones, 0.0, (goal,), (), (), np.inf, True)
    wanted = Rotation.from_rotvec([0.1, -0.2, 0.3]).as_matrix()
    numbers = np.c_[wanted, [0.4, 0.5, 0.1]]
    found = judge(robot.model, task, q.tolist(), 0.07, numbers.ravel().tolist())
    pose, j = robot.pose(q, "tip"), robot.jacobian(q, "tip", "aligned")
    turn = Rotation.from_matrix(wanted @ pose[:3, :3].T).as_rotvec()
    e = np.concatenate([turn, numbers[:, 3] - pose[:3, 3]])
    share = 0.07 * (e @ e) / (1.0 + e @ e) + 1e-12
    normal = j.T @ j + share * np.sum(j**2) / 6 * np.eye(count)
    np.testing.assert_allclose(found.move, np.linalg.solve(normal, j.T @ e), atol=1e-10)
    np.testing.assert_allclose(found.told[2:], [e @ e, 0.0, 0.0, e[:3] @ e[:3], e[3:] @ e[3:]], atol=1e-12)


def test_quaternions_of_rotations():
    """Near and at half turns about every axis, too."""
    rng = np.random.default_rng(0)
    axes = np.concatenate([np.eye(3), [[1, 1, 0], [0, 1, -1], [1, 1, 1]], rng.standard_normal((20, 3))])
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    for angle in (0.0, 1e-9, 0.5, 2.0, np.pi - 1e-9, np.pi, 4.0):
        turns = Rotation.from_rotvec(angle * axes)
        for matrix, expected in zip(turns.as_matrix(), turns.as_quat(), strict=True):
            found = np.array(quaternion_of(Matrix3.of(matrix)))
            np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-15)


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
        (("tip", np.eye(4)), {"threads": 0}, OptionError, "threads"),
        (([], []), {}, OptionError, "at least one"),
        ((None, np.eye(4)), {}, OptionError, "frame must be a name"),
        ((["tip"], None), {}, OptionError, "pose must be a list"),
        (("tip", None), {}, ShapeError, "pose of 'tip' .* it contains None"),
        (("tip", "far away"), {}, ShapeError, "it contains text"),
        (("tip", [[1.0, 2.0], [3.0]]), {}, ShapeError, "different lengths"),
        (("tip", np.eye(4) + 0j), {}, ShapeError, "pose of 'tip' has complex numbers"),
        (("tip", np.eye(4), [0.0, 0j]), {}, ShapeError, "q_guess has complex numbers"),
        (("tip", np.tile(np.eye(4), (3, 1, 1)), np.zeros((2, 2))), {}, ShapeError, r"pose: \(3,\), q_guess: \(2,\)"),
        (("tip", np.eye(4)), {"what": None}, OptionError, "what must be one of"),
        (("tip", np.eye(4)), {"joints": 3}, OptionError, "joints must be a list"),
        (("tip", np.eye(4)), {"tolerance": "small"}, OptionError, "tolerance"),
        (("tip", np.eye(4)), {"iterations": True}, OptionError, "iterations"),
    ],
)
def test_bad_questions_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        inverse_kinematics(planar(lower=-3.0, upper=3.0), *arguments, **options)


@pytest.mark.parametrize(
    ("name", "frame", "what"),
    [("four-bar", "coupler", "position"), ("3-rrr", "platform", "pose"), ("delta", "platform", "position")],
)
def test_loops_are_closed_where_the_goal_is_reached(name, frame, what):
    robot = kt.load(name)
    start = robot.assembled()
    near = robot.integrate(start, 0.05 * np.random.default_rng(0).standard_normal((8, robot.nv)))
    goals = robot.pose(robot.close(near), frame)
    goals[3] = np.nan
    found = kt.inverse_kinematics(robot, frame, goals, start, what=what, must_reach=False)
    known = np.arange(8) != 3
    assert found.reached[known].all()
    assert np.isnan(found.q[3]).all()
    assert robot.closure_error(found.q[known]).max() < 1e-12
    assert robot.within_limits(found.q[known]).all()
    there = robot.pose(found.q, frame)
    np.testing.assert_allclose(there[known, :3, 3], goals[known, :3, 3], rtol=0, atol=3e-9)
    alone = kt.inverse_kinematics(robot, frame, goals[5], start, what=what)
    np.testing.assert_array_equal(alone.q, found.q[5])


def test_a_mechanism_that_cannot_reach_stays_nearest_and_says_so():
    robot = kt.load("four-bar")
    with pytest.raises(kt.UnreachableError, match="'coupler' was not reached"):
        kt.inverse_kinematics(robot, "coupler", [3.0, 0.0, 0.0], robot.assembled(), what="position", attempts=2)
