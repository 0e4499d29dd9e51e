"""Robots with locked joints move as the whole robot does when these joints stand still."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import five_bar, geared_five_bar
from helpers.robots import random_state, random_tree


def test_a_random_tree_with_joints_that_stand_still():
    rng = np.random.default_rng(3)
    robot = random_tree(rng, 9, ["revolute", "spherical", "universal", "prismatic", "helical"], floating=True)
    q, v, a = random_state(robot, rng, 1)
    q, v, a = q[0], v[0], a[0]
    names = [robot.joint_names[k] for k in (2, 3, 6)]
    still = np.zeros(robot.nv, dtype=bool)
    for name in names:
        still[robot.joint(name).v_slice] = True
    v[still], a[still] = 0.0, 0.0
    small = robot.reduced(locked={name: q[robot.joint(name).q_slice] for name in names})
    assert small.joint_names == [n for n in robot.joint_names if n not in names]
    own = np.concatenate([q[robot.joint(n).q_slice] for n in small.joint_names])
    tau = small.inverse_dynamics(own, v[~still], a[~still])
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, a)[~still], atol=1e-10)
    for name in [*robot.body_names, *names]:
        np.testing.assert_allclose(small.pose(own, name), robot.pose(q, name), atol=1e-12)
    assert np.isclose(small.mass, robot.mass)
    zero = robot.reduced(locked=names[:1])
    np.testing.assert_allclose(zero.pose(zero.neutral(), names[0]), robot.pose(robot.neutral(), names[0]), atol=1e-12)


def test_a_mechanism_with_a_locked_joint():
    robot = five_bar()
    q = robot.close([2.0, -1.0, 1.0, 1.0], fixed=["a1_joint", "b1_joint"])
    held = robot.reduced(locked={"a1_joint": q[0]})
    assert held.mobility(q[1:]).freedoms == 1
    assert held.closure_error(q[1:]) < 1e-12
    a, _ = robot.hybrid_dynamics(q, np.zeros(4), a={"a1_joint": 0.0}, tau={"b1_joint": 2.0})
    np.testing.assert_allclose(held.forward_dynamics(q[1:], np.zeros(3), [0.0, 2.0, 0.0]), a[1:], atol=1e-10)
    b = kt.Builder("bar on a four-bar").body("cart", "base", kt.Prismatic("x"), mass=1.0)
    for k, x in enumerate((0.0, 1.0)):
        b.body(f"bar{k}", "cart", kt.Revolute("z"), position=(x, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("top", "bar0", kt.Revolute("z"), position=(0, 1, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.loop("pin", "top", "bar1", kt.Revolute("z"), placement=(1, 0, 0), seat=(0, 1, 0))
    robot = b.build()
    rigid = robot.reduced({"bar0_joint": 0.3, "bar1_joint": 0.3, "top_joint": -0.3})
    assert type(rigid) is kt.Robot
    np.testing.assert_allclose(rigid.mass_matrix([0.0]), [[4.0]], atol=1e-12)
    with pytest.raises(kt.ModelError, match=r"loop 'pin'.*open by 0.\d+ .*no joint is left"):
        robot.reduced({"bar0_joint": 0.3, "bar1_joint": 0.3, "top_joint": 0.0})
    with pytest.raises(kt.ModelError, match="nothing of"):
        robot.reduced(robot.joint_names)


def test_followers_tendons_and_couplings():
    geared = geared_five_bar()
    held = geared.reduced({"a1_joint": 2.0})  # its follower stands still with it
    assert held.joint_names == ["a2_joint", "b2_joint"]
    assert np.allclose(held.pose([0.0, 0.0], "b1")[:3, :3], geared.pose([2.0, 0.0, 0.0], "b1")[:3, :3])
    with pytest.raises(kt.OptionError, match="cannot be locked: lock that one"):
        geared.reduced({"b1_joint": 0.0})
    follower = geared.model.joint("b1_joint").mimic
    both = geared.reduced({"b1_joint": 2.0 * follower.ratio + follower.offset, "a1_joint": 2.0})  # agrees, in any order
    assert both.joint_names == held.joint_names
    assert geared.reduced(["a1_joint", "b1_joint"]).joint_names == held.joint_names
    with pytest.raises(kt.OptionError, match="'b1_joint' cannot be locked at 2: it mimics 'a1_joint', which puts it"):
        geared.reduced({"a1_joint": 2.0, "b1_joint": 2})
    b = kt.Builder("fingers")
    for name, parent in (("one", "base"), ("two", "one"), ("three", "two")):
        b.body(name, parent, kt.Revolute("y"), position=(0, 0, 0.1), mass=0.1, com=(0, 0, 0.05))
    b.tendon("sinew", joints={"one_joint": 0.02, "two_joint": 0.01, "three_joint": 0.01}, stiffness=500.0, rest=0.03)
    robot = b.build()
    q = np.array([0.4, 0.7, -0.2])
    held = robot.reduced({"two_joint": 0.7})
    np.testing.assert_allclose(held.gravity_force(q[[0, 2]]), robot.gravity_force(q)[[0, 2]], atol=1e-12)


def test_what_cannot_be_locked():
    robot = five_bar()
    with pytest.raises(kt.UnknownNameError, match="a1_joint"):
        robot.reduced(["a1_join"])
    with pytest.raises(kt.OptionError, match="for a single one, write"):
        robot.reduced("a1_joint")
    with pytest.raises(kt.OptionError, match="no joint is locked"):
        robot.reduced([])
    with pytest.raises(kt.ShapeError, match="position of 'a1_joint'"):
        robot.reduced({"a1_joint": [1.0, 2.0]})
    with pytest.raises(kt.OptionError, match="finite"):
        robot.reduced({"a1_joint": np.nan})


def test_within_limits():
    b = kt.Builder("gripper").body("left", "base", kt.Prismatic("x"), mass=1, lower=0.0, upper=0.1)
    b.body("right", "base", kt.Prismatic("x"), mass=1, lower=-0.05, upper=0.0, mimic=kt.Mimic("left_joint", -1.0))
    b.body("ball", "left", kt.Spherical(), mass=1)
    robot = b.build()
    q = np.zeros((5, 5))
    q[:, 4] = 1.0
    q[:, 0] = [0.04, 0.2, 0.07, -1e-9, np.nan]  # fine; beyond; the follower beyond; by rounding; nothing
    assert robot.within_limits(q).tolist() == [True, False, False, False, False]
    assert robot.within_limits(q, tolerance=1e-6).tolist() == [True, False, False, True, False]
    assert robot.within_limits(q[0]) is True
    with pytest.raises(kt.ShapeError):
        robot.within_limits([0.0])
