"""What a robot says of itself, and frames and loads added later."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, random_tree


def finger() -> kt.Robot:
    builder = kt.Builder("finger")
    data = {"damping": 1.0, "friction": 2.0, "rotor_inertia": 0.1}
    builder.body(
        "a", "base", kt.Prismatic("x"), joint_name="L", mass=1.0, lower=-1.0, upper=2.0, effort_limit=7.0, **data
    )
    builder.body("c", "base", kt.Prismatic("x"), joint_name="F", mass=1.0, mimic=kt.Mimic("L", -2.0), **data)
    builder.body("d", "c", kt.Spherical(), joint_name="ball", mass=1.0, inertia=(1, 1, 1))
    return builder.build()


def test_a_followers_friction_is_its_leaders():
    robot = finger()
    v = np.array([1.5, 0, 0, 0])
    spent = robot.friction_force(v)
    # power of both joints: damping v^2 + friction |v|, the follower moving at -2 times the leader's rate
    power = (1.0 * 1.5**2 + 2.0 * 1.5) + (1.0 * 3.0**2 + 2.0 * 3.0)
    assert_close(spent @ v, power, 1e-14)


def test_a_free_joint_has_other_names_in_q_than_in_v():
    robot = kt.Builder("box").body("box", "base", kt.Free(), mass=1.0).build()
    parts = ("qx", "qy", "qz", "qw", "x", "y", "z"), ("wx", "wy", "wz", "vx", "vy", "vz")
    assert robot.q_names == [f"box_joint.{part}" for part in parts[0]]
    assert robot.v_names == [f"box_joint.{part}" for part in parts[1]]
    assert not set(robot.q_names) & set(robot.v_names)


def test_names_and_limits_are_laid_out_like_q_and_v():
    robot = finger()
    assert robot.joint_names == ["L", "F", "ball"]
    assert robot.q_names == ["L", "ball.qx", "ball.qy", "ball.qz", "ball.qw"]
    assert robot.v_names == ["L", "ball.wx", "ball.wy", "ball.wz"]
    with_numbers = ["L", *(f"ball[{k}]" for k in range(4))]  # the names of joints and numbers are understood, too
    for which, names, count in (("q", robot.q_names, 5), ("v", robot.v_names, 4)):
        assert [robot.entry_index(name, which) for name in names] == list(range(count))
        assert [robot.entry_index(name, which) for name in with_numbers[:count]] == list(range(count))
    with pytest.raises(kt.UnknownNameError, match=r"no freedom named 'ball\[3\]'"):
        robot.entry_index("ball[3]")
    assert robot.lower_limits.tolist() == [-1.0] + [-np.inf] * 4
    assert robot.upper_limits.tolist() == [2.0] + [np.inf] * 4
    assert robot.effort_limits.tolist() == [7.0] + [np.inf] * 3
    assert robot.velocity_limits.shape == (4,)


def test_a_frame_added_later():
    robot = random_tree(np.random.default_rng(0), 4)
    q = robot.random_configuration(0)
    pose = kt.Pose.of((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    more = robot.with_frame("tool", "f3", pose)
    assert_close(more.pose(q, "tool"), robot.pose(q, "f3") @ pose.matrix, 1e-14)
    assert_close(
        robot.with_frame("t", "b1", (1, 2, 3)).pose(q, "t")[:3, 3], robot.point_position(q, "b1", (1, 2, 3)), 1e-14
    )
    assert np.array_equal(robot.point_position(q, "b1"), robot.pose(q, "b1")[:3, 3])
    with pytest.raises(kt.ModelError, match="'f1' already"):
        robot.with_frame("f1", "b1", (0, 0, 0))
    with pytest.raises(kt.UnknownNameError, match="did you mean"):
        robot.with_frame("new", "b11", (0, 0, 0))


def test_a_load_added_later_is_like_a_welded_body():
    load = kt.MassProperties.box(2.0, (0.1, 0.2, 0.3), (0.05, 0.0, 0.0))

    def arm(with_load: bool) -> kt.Robot:
        builder = kt.Builder("arm")
        builder.body("u", "base", kt.Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        builder.frame("tool", "u", (1, 0, 0), rpy=(0.3, 0.2, 0.1))
        if with_load:
            pose = kt.Pose.of((1, 0, 0), rpy=(0.3, 0.2, 0.1))
            builder.body("load", "u", kt.Fixed(), placement=pose, mass_properties=load)
        return builder.build()

    q, v, a = np.array([0.3]), np.array([1.0]), np.array([2.0])
    welded, added = arm(True), arm(False).with_payload("tool", load)
    assert_close(added.inverse_dynamics(q, v, a), welded.inverse_dynamics(q, v, a), 1e-14)
    with pytest.raises(kt.ModelError, match="fixed to the ground"):
        added.with_payload("base", load)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (2.0, "the payload on 'link2' must be kinetree.MassProperties"),
        (kt.MassProperties(-1.0), "mass is negative (-1)"),
    ],
)
def test_payloads_that_cannot_be(payload, words):
    robot = arm()
    name = robot.body_names[-1]
    with pytest.raises(kt.ModelError, match=re.escape(words.replace("link2", name))):
        robot.with_payload(name, payload)


def test_equal_robots_give_equal_answers():
    arm = kt.load("kuka-kr5")
    assert arm == kt.load("kuka-kr5")
    assert hash(arm) == hash(kt.load("kuka-kr5"))
    other = "compiled" if arm.backend == "reference" else "reference"
    for changed in (arm.with_precision("single"), arm.with_backend(other), arm.with_gravity((0, 0, 0))):
        assert changed != arm
    bar = kt.load("five-bar")
    names = bar.v_names
    one, two = bar.with_independent(names[:2]), bar.with_independent(names[2:])
    assert one != two
    assert one == bar.with_independent(names[:2])
    q = bar.assembled()
    assert not np.allclose(one.velocities(q, [1.0, 0.0]), two.velocities(q, [1.0, 0.0]))
