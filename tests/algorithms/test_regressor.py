"""Regressors: joint forces as a linear function of the parameters."""

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import KINDS, random_state, random_tree

TREES = {
    "every kind of joint": lambda rng: random_tree(rng, len(KINDS), list(KINDS), in_turn=True),
    "floating": lambda rng: random_tree(rng, 6, ["revolute", "universal", "prismatic"], floating=True),
    "followers": lambda rng: random_tree(rng, 8, ["revolute", "prismatic"], followers=True),
}


def grouped(robot, rng):
    """The robot with parameters that no body has, and friction."""
    return robot.with_parameters(rng.standard_normal(len(robot.parameters())), physical=False)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("friction", [False, True])
def test_times_the_parameters_it_is_inverse_dynamics(tree, backend, friction):
    rng = np.random.default_rng(8)
    robot = TREES[tree](rng).with_backend(backend)
    q, v, a = random_state(robot, rng, 7)
    v[2] = 0.0  # at rest Coulomb friction is zero
    for one in (robot, grouped(robot, rng)):
        wanted = one.inverse_dynamics(q, v, a, friction=friction)
        found = one.regressor(q, v, a, friction=friction) @ one.parameters().values
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-11)
        assert np.abs(wanted).max() > 0.1


def test_columns_are_derivatives_by_parameters():
    rng = np.random.default_rng(9)
    robot = TREES["followers"](rng)
    q, v, a = random_state(robot, rng, 3)
    table = robot.parameters()
    whole = robot.regressor(q, v, a, friction=True)
    for k in rng.choice(len(table), 12, replace=False):
        more = robot.with_parameters({table.names[k]: table.values[k] + 1.0}, physical=False)
        change = more.inverse_dynamics(q, v, a, friction=True) - robot.inverse_dynamics(q, v, a, friction=True)
        assert np.allclose(whole[..., k], change, rtol=1e-10, atol=1e-11), table.names[k]


def test_only_the_columns_asked_for_in_that_order():
    rng = np.random.default_rng(10)
    robot = TREES["floating"](rng)
    q, v, a = random_state(robot, rng, 5)
    names = robot.parameters().names
    places = [40, 3, len(names) - 1]
    some = robot.regressor(q, v, a, parameters=[names[k] for k in places], friction=True)
    assert np.array_equal(some, robot.regressor(q, v, a, friction=True)[..., places])


def test_unknown_or_repeated_columns_are_refused():
    robot = kt.gallery.load("kuka-kr5")
    q = np.zeros(robot.nv)
    name = robot.parameters().names[0]
    with pytest.raises(kt.KinetreeError, match="parameter"):
        robot.regressor(q, q, q, parameters=["nobody.M"])
    with pytest.raises(kt.KinetreeError, match="twice"):
        robot.regressor(q, q, q, parameters=[name, name])
    with pytest.raises(kt.KinetreeError, match="no parameter"):
        robot.regressor(q, q, q, parameters=[])
