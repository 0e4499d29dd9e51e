"""Inverse kinematics at a distance from obstacles: a redundant arm beside a post, judged by coal-tested clearances."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, UnreachableError

S = kt.shapes


def arm(post=True, links=4):
    b = kt.Builder("arm")
    parent = "base"
    for k in range(links):
        b.body(f"link{k}", parent, kt.Revolute("z"), position=(0.5 if k else 0, 0, 0), mass=1.0, lower=-2.8, upper=2.8)
        b.shape(f"link{k}", S.Capsule(0.04, 0.3), (0.25, 0, 0), rpy=(0, "90 deg", 0))
        parent = f"link{k}"
    b.frame("tip", parent, (0.5, 0, 0))
    if post:
        b.shape("base", S.Cylinder(0.1, 1.0), (1.0, 0.3, 0), name="post")
    return kt.Robot(b.build().model, backend="compiled")


def test_solutions_keep_their_distance():
    robot, rng = arm(), np.random.default_rng(2)
    goals = rng.uniform((0.6, 0.7, 0.0), (1.4, 1.2, 0.0), size=(12, 3))
    guess = [0.2, 0.3, 0.2, 0.1]
    plain = kt.inverse_kinematics(robot, "tip", goals, guess, what="position")
    assert plain.clearance is None
    assert (robot.clearance(plain.q).smallest < 0.03).sum() > 3
    found = kt.inverse_kinematics(robot, "tip", goals, guess, what="position", clearance=0.03)
    assert found.reached.all()
    assert found.clearance == pytest.approx(robot.clearance(found.q).smallest, abs=1e-12)
    assert found.clearance.min() >= 0.03
    assert robot.pose(found.q, "tip")[:, :3, 3] == pytest.approx(goals, abs=1e-8)
    assert robot.within_limits(found.q).all()
    was_clear = robot.clearance(plain.q).smallest >= 0.03
    assert np.array_equal(found.q[was_clear], plain.q[was_clear])
    one = kt.inverse_kinematics(robot, "tip", goals[4], guess, what="position", clearance=0.03)
    assert one.q == pytest.approx(found.q[4], abs=1e-12)


def test_goals_inside_an_obstacle_are_refused_or_told():
    robot = arm()
    with pytest.raises(UnreachableError, match=r"keeps 0.02 m: '.*' and 'post' are|keeps 0.02 m: 'post' and '.*' are"):
        kt.inverse_kinematics(robot, "tip", [1.0, 0.3, 0.0], what="position", clearance=0.02, attempts=4)
    found = kt.inverse_kinematics(
        robot, "tip", [[1.0, 0.3, 0.0], [0.0, 1.2, 0], [np.nan, 0, 0]], what="position", clearance=0.02, attempts=4,
        must_reach=False,
    )  # fmt: skip
    assert found.reached.tolist() == [False, True, False]
    assert found.clearance[0] < 0.02 <= found.clearance[1]
    assert np.isnan(found.clearance[2])


def test_a_robot_without_shapes_has_no_distance():
    bare = kt.Builder("bare").body("rod", "base", kt.Revolute("z"), mass=1.0).frame("tip", "rod", (1, 0, 0)).build()
    with pytest.raises(ModelError, match="keeps no distance"):
        kt.inverse_kinematics(bare, "tip", [0, 1, 0], [0.3], what="position", clearance=0.1)
