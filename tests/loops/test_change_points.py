"""Linkages that are drawn at a change point, folded up flat: what is put together, and which velocities are given."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import TURN, two_way_parallelogram
from judges import maximal_coordinates

BAR = {"mass": 3.3, "inertia": (0.011, 0.036, 0.043)}


def flat_four_bar(home=None, **limits):
    """Cranks of half a meter on pivots a meter apart, as generalized_rbda draws its four-bar: all in one line."""
    b = kt.Builder("four-bar", gravity=(0, -9.81, 0))
    b.body("crank", "base", TURN, **BAR, **limits)
    b.body("coupler", "crank", TURN, position=(0.5, 0, 0), actuated=False, **BAR)
    b.body("rocker", "base", TURN, position=(1, 0, 0), actuated=False, **BAR)
    b.loop("pin", "coupler", "rocker", TURN, placement=(1, 0, 0), seat=(0.5, 0, 0))
    if home is not None:
        b.configuration("home", home)
    return b.build()


def flat_leg():
    """A leg of generalized_rbda's kind: a parallelogram along the thigh, folded up flat."""
    b = kt.Builder("leg", gravity=(0, -9.81, 0))
    b.body("thigh", "base", TURN, com=(0.036, 0, 0), **BAR)
    b.body("driver", "thigh", TURN, position=(0.011, 0, 0), com=(0.048, 0, 0), **BAR)
    b.body("support", "thigh", TURN, position=(0.042, 0, 0), com=(0.04, 0, 0), actuated=False, **BAR)
    b.body("foot", "driver", TURN, position=(0.096, 0, 0), com=(0.06, 0, 0), actuated=False, **BAR)
    b.loop("linkage", "foot", "support", TURN, placement=(0.031, 0, 0), seat=(0.096, 0, 0))
    return b.build()


@pytest.mark.parametrize("make", [flat_four_bar, flat_leg, two_way_parallelogram])
@pytest.mark.parametrize("limits", [True, False])
def test_what_is_put_together_is_regular(make, limits):
    """It was the change point as drawn, where a random velocity leads between the branches."""
    robot = make()
    assert robot.mobility(np.zeros(robot.nq)).singular
    q = robot.assembled(limits=limits)
    assert not robot.mobility(q).singular
    assert not robot.mobility().singular
    assert np.abs(q).max() < 1.0  # beside what is drawn, not anywhere
    q, v = robot.project(q, np.random.default_rng(0).normal(size=robot.nv))
    found = robot.forward_dynamics(q, v, np.zeros(robot.nv))
    wanted = maximal_coordinates.accelerations(robot, q, v, np.zeros(robot.nv))
    np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 3.0), (-3.0, 0.0), (0.05, 3.0)])
def test_what_is_put_together_is_regular_within_limits(lower, upper):
    robot = flat_four_bar(lower=lower, upper=upper)
    q = robot.assembled()
    assert lower <= q[0] <= upper
    assert not robot.mobility(q).singular


def test_a_regular_configuration_as_drawn_stays():
    q = flat_four_bar(home={"crank_joint": 0.7, "coupler_joint": -0.7, "rocker_joint": 0.7}).assembled()
    np.testing.assert_allclose(q, [0.7, -0.7, 0.7], atol=1e-9)


def test_where_all_is_singular_that_is_what_there_is():
    """Bars of one and two meters between pivots three meters apart close in one line only."""
    b = kt.Builder("stretched")
    b.body("first", "base", TURN, **BAR)
    b.body("second", "first", TURN, position=(1, 0, 0), **BAR)
    b.loop("pin", "base", "second", TURN, placement=(3, 0, 0), seat=(2, 0, 0))
    np.testing.assert_allclose(b.build().assembled(), 0.0, atol=1e-4)


def test_a_velocity_between_the_branches_is_said():
    """Projection gave it, and forward dynamics refused it."""
    robot = flat_four_bar()
    with pytest.warns(kt.SingularityWarning, match="'four-bar': the nearest velocity lies between the branches"):
        q, v = robot.project(np.zeros(3), [1.0, 0.3, -0.2])
    with pytest.raises(kt.StateError, match="no acceleration keeps them closed"):
        robot.forward_dynamics(q, v, np.zeros(3))
    batch = np.array([robot.assembled(), np.zeros(3)])
    with pytest.warns(kt.SingularityWarning, match=r"in state \(1,\)"):
        robot.project(batch, [1.0, 0.3, -0.2])


@pytest.mark.parametrize("along", [(1.0, -1.0, 1.0), (1.0, -3.0, -3.0)], ids=["parallel", "crossed"])
def test_a_velocity_along_a_branch_is_given_without_a_word(along):
    """To second order, (w1 + w2)^2 = (w3^2 - w1^2) / 2 beside 3 w1 + 2 w2 = w3: the cranks go alike, or as 1 to -3."""
    found = flat_four_bar().project(np.zeros(3), along)[1]
    np.testing.assert_allclose(found, along, atol=1e-12)
