"""Inverse kinematics: limits of joints that mimic others, and goals at any distance."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import kinetree as kt
from helpers.robots import floating_pair
from kinetree.errors import ModelError, StateError, UnreachableError
from kinetree.model.limits_of_followers import range_left
from kinetree.motion.inverse_kinematics import inverse_kinematics

BACKENDS = ("reference", "compiled")


def folding(ratio, offset, low, high, again=None, **leader):
    """An arm whose elbow follows its shoulder; ``again`` is a wrist that follows the elbow."""
    b = kt.Builder("folding")
    b.body("upper", "base", kt.Revolute("z"), joint_name="shoulder", mass=1.0, **leader)
    b.body(
        "fore", "upper", kt.Revolute("z"), joint_name="elbow", position=(1, 0, 0), mass=1.0,
        mimic=kt.Mimic("shoulder", ratio, offset), lower=low, upper=high,
    )  # fmt: skip
    last = "fore"
    if again:
        b.body("hand", "fore", kt.Revolute("z"), joint_name="wrist", position=(0.7, 0, 0), mass=1.0, **again)
        last = "hand"
    return b.frame("tip", last, (0.7 if last == "fore" else 0.3, 0, 0)).build()


def elbow_of(robot, q):
    mimic = robot.joint("elbow").mimic
    return mimic.ratio * q[..., 0] + mimic.offset


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("ratio", "offset"), [(1.0, 0.0), (-1.0, 0.2), (2.5, -0.3), (-0.4, 0.1)])
def test_followers_limits_bind_their_leader(ratio, offset, backend):
    """Single and in a batch: what is reached keeps the elbow's limits, the rest stops as near as they allow."""
    low, high = -0.3, 0.8
    robot = folding(ratio, offset, low, high).with_backend(backend)
    free = folding(ratio, offset, -1000.0, 1000.0)
    ends = np.sort([(low - offset) / ratio, (high - offset) / ratio])
    asked = np.linspace(ends[0] - 0.6, ends[1] + 0.6, 25)[:, None]
    goals = free.pose(asked, "tip")
    found = inverse_kinematics(robot, "tip", goals, must_reach=False)
    elbow = elbow_of(robot, found.q)
    assert np.all((elbow >= low - 1e-12) & (elbow <= high + 1e-12))
    allowed = (asked[:, 0] >= ends[0]) & (asked[:, 0] <= ends[1])
    assert 0 < allowed.sum() < len(allowed)
    np.testing.assert_array_equal(found.reached, allowed)
    np.testing.assert_allclose(found.q[allowed], asked[allowed], atol=1e-8)

    def squares(x, goal):
        here = free.pose([x], "tip")
        turn = np.arctan2(here[1, 0], here[0, 0]) - np.arctan2(goal[1, 0], goal[0, 0])
        return np.sum((here - goal)[:3, 3] ** 2) + np.arctan2(np.sin(turn), np.cos(turn)) ** 2

    for k in np.flatnonzero(~allowed)[::4]:
        grid = np.linspace(*ends, 200)
        at = grid[np.argmin([squares(x, goals[k]) for x in grid])]
        bracket = (max(at - 0.05, ends[0]), min(at + 0.05, ends[1]))
        nearest = minimize_scalar(squares, bounds=bracket, args=(goals[k],), method="bounded", options={"xatol": 1e-10})
        assert found.position_error[k, 0] ** 2 + found.angle_error[k, 0] ** 2 <= nearest.fun + 1e-7
        alone = inverse_kinematics(robot, "tip", goals[k], must_reach=False)
        np.testing.assert_array_equal(alone.q, found.q[k])
        with pytest.raises(UnreachableError):
            inverse_kinematics(robot, "tip", goals[k])


def test_chains_of_followers_bind_the_first():
    """The wrist follows the elbow, which follows the shoulder backwards: q_w = -3 (-2 q_s + 0.2) + 0.1."""
    wrist = {"mimic": kt.Mimic("elbow", -3.0, 0.1), "lower": -1.0, "upper": 1.2}
    robot = folding(-2.0, 0.2, -5.0, 5.0, wrist)
    left = range_left(robot.model, robot.joint("shoulder"))
    np.testing.assert_allclose([left.lower, left.upper], [(-1.0 + 0.5) / 6.0, (1.2 + 0.5) / 6.0], rtol=1e-14)
    assert (left.lower_of, left.upper_of) == ("wrist", "wrist")
    asked = np.array([[-0.3], [-0.08], [0.1], [0.28], [0.4]])
    found = inverse_kinematics(robot, "tip", robot.pose(asked, "tip"), must_reach=False)
    np.testing.assert_array_equal(found.reached, [False, True, True, True, False])
    at_wrist = 6.0 * found.q[:, 0] - 0.5
    assert np.all((at_wrist >= -1.0 - 1e-12) & (at_wrist <= 1.2 + 1e-12))


def test_the_tightest_of_leader_and_followers():
    robot = folding(-1.0, 0.0, -0.5, 2.0, lower=-1.0, upper=1.0)
    left = range_left(robot.model, robot.joint("shoulder"))
    assert (left.lower, left.upper, left.lower_of, left.upper_of) == (-1.0, 0.5, "shoulder", "elbow")
    still = folding(0.0, 0.3, 0.0, 1.0, lower=-1.0, upper=1.0)  # a follower that stands still binds nothing
    left = range_left(still.model, still.joint("shoulder"))
    assert (left.lower, left.upper) == (-1.0, 1.0)


def test_guess_and_default_start_keep_followers_limits():
    robot = folding(-1.0, 0.0, 0.5, 1.5)  # the shoulder may be from -1.5 to -0.5: zero is outside
    found = inverse_kinematics(robot, "tip", robot.pose([-0.9], "tip"))
    np.testing.assert_allclose(found.q, [-0.9], atol=1e-9)
    with pytest.raises(
        StateError, match=r"'shoulder' is outside its limits, -1.5 to -0.5 .*'elbow' has the limits 0.5"
    ):
        inverse_kinematics(robot, "tip", np.eye(4), [0.0])


@pytest.mark.parametrize(("ratio", "offset"), [(1.0, 3.0), (0.0, 3.0)])
def test_limits_that_contradict_one_another(ratio, offset):
    robot = folding(ratio, offset, -1.0, 1.0, lower=-1.0, upper=1.0)
    with pytest.raises(ModelError, match=r"no position is within all limits: .*'elbow'.* follows .*'shoulder' \+ 3"):
        inverse_kinematics(robot, "tip", np.eye(4))
    # a frame that the contradiction does not move has an answer all the same
    b = kt.Builder("beside").body("arm", "base", kt.Revolute("z"), mass=1.0)
    b.body("finger", "arm", kt.Prismatic("x"), lower=0.0, upper=1.0, mass=0.1)
    b.body("thumb", "arm", kt.Prismatic("x"), lower=2.0, upper=3.0, mass=0.1, mimic=kt.Mimic("finger_joint"))
    beside = b.frame("tip", "arm", (1, 0, 0)).build()
    found = inverse_kinematics(beside, "tip", beside.pose([0.4, 0.0], "tip"))
    np.testing.assert_allclose(found.q, [0.4, 0.0], atol=1e-9)


# ------------------------------------------------------------------ far goals


def planar(**data):
    b = kt.Builder("planar").body("l0", "base", kt.Revolute("z"), mass=1.0, **data)
    return (
        b.body("l1", "l0", kt.Revolute("z"), position=(1, 0, 0), mass=1.0, **data)
        .frame("tip", "l1", (0.7, 0, 0))
        .build()
    )


DISTANCES = (1e5, 3e6, 1e9, 1e14, 1e20, 1e77, 1e150, 1e155, 1e200, 1.7e308)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("limits", [{}, {"lower": -0.5, "upper": 2.0}])
def test_far_goals_are_out_of_reach_and_pointed_at(backend, limits):
    """The nearest that an arm gets to something far away is stretched out towards it."""
    robot = planar(**limits).with_backend(backend)
    goals = np.array(DISTANCES)[:, None] * [0.6, 0.8, 0.0]
    found = inverse_kinematics(robot, "tip", goals, what="position", must_reach=False)
    assert not found.reached.any()
    np.testing.assert_allclose(found.position_error[:, 0], DISTANCES, rtol=2e-5)
    np.testing.assert_allclose(robot.pose(found.q, "tip")[:, :2, 3], np.tile([1.02, 1.36], (10, 1)), atol=2e-3)
    for goal in goals:
        with pytest.raises(UnreachableError, match="'tip' was not reached: "):
            inverse_kinematics(robot, "tip", goal, what="position", attempts=2)
        pose = np.eye(4)
        pose[:3, 3] = goal
        with pytest.raises(UnreachableError, match="'tip' was not reached: "):
            inverse_kinematics(robot, "tip", pose, attempts=2)


def test_far_goals_and_nan_do_not_disturb_their_neighbors():
    robot = planar().with_backend("compiled")
    goals = np.array([[1.0, 0.5, 0], [1e200, 0, 0], [np.nan, 0, 0], [0.8, 0.1, 0], [0, np.inf, 0], [0, -1e9, 0]])
    found = inverse_kinematics(robot, "tip", goals, what="position", must_reach=False)
    np.testing.assert_array_equal(found.reached, [True, False, False, True, False, False])
    np.testing.assert_array_equal(np.isnan(found.q).any(axis=-1), [False, False, True, False, True, False])
    np.testing.assert_array_equal(np.isnan(found.q).all(axis=-1), [False, False, True, False, True, False])
    for k, goal in enumerate(goals):
        alone = inverse_kinematics(robot, "tip", goal, what="position", must_reach=False)
        np.testing.assert_array_equal(alone.q, found.q[k])
        np.testing.assert_array_equal(alone.position_error, found.position_error[k])
    with pytest.raises(UnreachableError, match=r"batch index 1 .*2 of 6"):
        inverse_kinematics(robot, "tip", goals, what="position")


def test_a_floating_base_goes_far():
    """Goals that can be had are, at any distance whose squares are numbers; beyond, the error says what remains."""
    robot = floating_pair().with_backend("compiled")
    frame = robot.body_names[0]
    for distance in (1e7, 1e12, 1e100):
        goal = distance * np.array([0.25, -0.5, 1.0])
        found = inverse_kinematics(robot, frame, goal, what="position")
        np.testing.assert_array_equal(robot.pose(found.q, frame)[:3, 3], goal)
    with pytest.raises(UnreachableError, match=r"1e\+200 m"):
        inverse_kinematics(robot, frame, [1e200, 0.0, 0.0], what="position")


def test_several_far_frames():
    robot = planar().with_backend("compiled")
    found = inverse_kinematics(
        robot, ["tip", "l1"], [[0.0, 1e200, 0.0], [0.0, 1e199, 0.0]], what="position", must_reach=False
    )
    np.testing.assert_allclose(found.position_error, [1e200, 1e199], rtol=1e-12)
    np.testing.assert_allclose(robot.pose(found.q, "tip")[:2, 3], [0.0, 1.7], atol=1e-3)


def test_a_guess_from_which_nothing_is_known_starts_again():
    """Machine code knows no sine of 1e200 rad; other starts do."""
    robot = planar().with_backend("compiled")
    found = inverse_kinematics(robot, "tip", [1.0, 0.5, 0.0], [1e200, 0.3], what="position")
    np.testing.assert_allclose(robot.pose(found.q, "tip")[:2, 3], [1.0, 0.5], atol=1e-9)
