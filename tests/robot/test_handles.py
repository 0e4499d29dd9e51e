"""Motors that do not pull along their joints' freedoms, and what bearings carry then (Featherstone section 7.4.2)."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_state, random_tree


def test_shares_add_up_and_bearings_do_no_work():
    rng = np.random.default_rng(0)
    robot = random_tree(rng, 5, ["revolute", "universal", "spherical", "prismatic", "cylindrical"], in_turn=True)
    q, v, a = random_state(robot, rng, 3)
    motors = {j.name: rng.standard_normal((6, j.nv)) for j in robot.model.joints}
    whole, found = robot.joint_wrenches(q, v, a), robot.motor_forces(q, v, a, motors)
    columns = robot.evaluator.run("joint_subspaces", q=q)
    for i, joint in enumerate(robot.model.joints):
        share = found[joint.name]
        by_motor = share.motor @ motors[joint.name].T
        assert_close(by_motor + share.bearing, whole[:, i], 1e-11)
        s = columns[:, joint.v_slice]
        assert np.abs(s @ share.bearing[..., None]).max() < 1e-9 * np.abs(whole[:, i]).max()
        power = np.einsum("bk,bkc,bc->b", v[:, joint.v_slice], s, by_motor)  # Featherstone eq. 7.13
        assert_close(power, np.einsum("bk,bkc,bc->b", v[:, joint.v_slice], s, whole[:, i]), 1e-9)


def test_a_motor_along_the_freedom_is_the_usual_one():
    robot = kt.gallery.load("kuka-kr5")
    q, v, a = random_state(robot, np.random.default_rng(1))
    motors = {name: [0, 0, 1, 0, 0, 0] for name in robot.joint_names}
    found = robot.motor_forces(q, v, a, motors)
    bearings = robot.joint_wrenches(q, v, a, bearings_only=True)
    for i, name in enumerate(robot.joint_names):
        assert_close(found[name].bearing, bearings[i], 1e-12)
    assert_close(np.concatenate([f.motor for f in found.values()]), robot.inverse_dynamics(q, v, a), 1e-12)


def test_a_belt_loads_the_bearing_of_its_wheel():
    """A belt of radius r on one side of a wheel: its pull is torque over radius, and the bearing carries as much."""
    wheel = (
        kt.Builder("wheel", gravity=(0, 0, 0))
        .body("wheel", "base", kt.Revolute("z"), mass=2, inertia=(1, 1, 0.5))
        .build()
    )
    r, pull = 0.1, np.array([0, 0, 0, 1.0, 0, 0])
    pull[2] = r  # at (0, -r, 0) along x
    found = wheel.motor_forces([0.3], [0.0], [4.0], {"wheel_joint": pull})["wheel_joint"]
    assert_close(found.motor, [0.5 * 4.0 / r], 1e-12)
    assert_close(found.bearing, [0, 0, 0, -0.5 * 4.0 / r, 0, 0], 1e-12)


def test_errors():
    cart = kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=3).build()
    state = [0.0], [0.0], [1.0]
    with pytest.raises(kt.SingularError, match="'cart_joint' does not act"):
        cart.motor_forces(*state, {"cart_joint": [0, 0, 0, 0, 1, 0]})
    with pytest.raises(kt.ShapeError, match="a column per freedom"):
        cart.motor_forces(*state, {"cart_joint": np.ones((6, 2))})
    with pytest.raises(kt.UnknownNameError, match="did you mean 'cart_joint'"):
        cart.motor_forces(*state, {"cart_join": np.ones(6)})
