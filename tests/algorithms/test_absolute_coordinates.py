"""The recursions seen from the world against those in link coordinates, and what each takes."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import KINDS, random_state, random_tree
from kinetree_books.cost_formulas import ABSOLUTE, cost, fit, general_chain


@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed):
    """100 trees of joints of all kinds, every other one floating, some with followers, under wrenches."""
    rng = np.random.default_rng(seed)
    for k in range(25):
        if k % 5 == 4:
            robot = random_tree(rng, 5, ["revolute", "prismatic"], followers=True)
        else:
            robot = random_tree(rng, int(rng.integers(1, 6)), list(KINDS), floating=k % 2 == 0)
        q, v, a = random_state(robot, rng)
        loads = rng.standard_normal((len(robot.body_names), 6))
        tau = robot.inverse_dynamics(q, v, a, loads)
        assert_close(robot.inverse_dynamics(q, v, a, loads, method="absolute_newton_euler"), tau, 1e-10)
        assert_close(robot.mass_matrix(q, method="absolute_composite_body"), robot.mass_matrix(q), 1e-10)
        for method in ("absolute_articulated_body", "absolute_composite_body"):
            assert_close(robot.forward_dynamics(q, v, tau, loads, method=method), a, 1e-10)


def test_digits_are_lost_far_from_the_world_origin():
    """What link coordinates never see: moments about a place that is far away."""
    robot = random_tree(np.random.default_rng(1), 4, ["revolute"], floating=True)
    q = random_state(robot, np.random.default_rng(2))[0]
    far = np.array(q)
    far[4:7] += 1e4
    m = robot.mass_matrix(q)
    assert_close(robot.mass_matrix(far), m, 1e-13)
    lost = np.abs(robot.mass_matrix(far, method="absolute_composite_body") - m).max() / np.abs(m).max()
    assert 1e-11 < lost < 1e-5


def test_errors_name_the_methods():
    robot = general_chain("revolute", 2)
    with pytest.raises(kt.UnknownNameError, match="method of the mass matrix"):
        robot.mass_matrix(np.zeros(2), method="absolute")
    with pytest.raises(kt.UnknownNameError, match="absolute_newton_euler"):
        robot.inverse_dynamics(np.zeros(2), np.zeros(2), np.zeros(2), method="absolute_newton")


def test_formulas_hold_beyond_where_they_were_found():
    for name, (algorithm, options, _) in ABSOLUTE.items():
        got = cost(general_chain("revolute", 9), algorithm, **options)
        assert fit(name)(9) == (got.multiplications + got.divisions, got.additions)


def test_from_which_length_on_absolute_coordinates_take_less():
    """Featherstone sections 5.4 and 8.4.1: the mass matrix from n = 17 on; the other two recursions never."""
    link, absolute = fit("mass_matrix"), fit("mass_matrix, absolute")
    assert [sum(absolute(n)) < sum(link(n)) for n in range(3, 40)] == [n > 16 for n in range(3, 40)]
    fewer = [(absolute(n)[0] < link(n)[0], absolute(n)[1] < link(n)[1]) for n in (15, 16, 17, 18)]
    assert fewer == [(False, False), (True, False), (True, False), (True, True)]
    assert absolute.multiplications.powers[2] == 3 < link.multiplications.powers[2] == 11
    for name in ("inverse_dynamics", "forward_dynamics, articulated body"):
        assert all(sum(fit(f"{name}, absolute")(n)) > sum(fit(name)(n)) for n in range(3, 100))
    composite, articulated = (
        fit("forward_dynamics, composite body, absolute"),
        fit("forward_dynamics, articulated body"),
    )
    assert all(sum(composite(n)) > sum(articulated(n)) for n in range(3, 100))
