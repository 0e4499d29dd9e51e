"""Closing loops from any guess, with joints held, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import TURN, rod, two_way_parallelogram


def arm(loop, **ends):
    b = kt.Builder("arm", gravity=(0, -9.81, 0))
    for i in range(4):
        b.body(f"l{i}", f"l{i - 1}" if i else "base", TURN, position=(1.0 if i else 0.0, 0, 0), **rod(1.0, 1.0))
    b.loop("end", "base", "l3", loop, **ends)
    return b.build()


FIXED = {
    "a single name": ("rod0_joint", kt.OptionError, r"write \['rod0_joint'\]"),
    "batches that do not fit": ({"rod0_joint": [0.1, 0.2, 0.3]}, kt.ShapeError, "the position of 'rod0_joint'"),
    "text": ({"rod0_joint": "up"}, kt.ShapeError, "the position of 'rod0_joint'"),
    "too many numbers": ({"rod0_joint": np.zeros((2, 3))}, kt.ShapeError, "batches do not fit"),
}


def test_guesses_that_are_half_a_turn_off():
    """Which way to turn is not decided there; the answer was NaN, or that it cannot be closed."""
    robot = arm(kt.Fixed(), placement=kt.Pose.of((1, 0, 0), rpy=(0, 0, np.pi)), seat=(1, 0, 0))
    closed = robot.close(np.zeros((2, 4)))
    assert robot.closure_error(closed).max() < 1e-10
    with pytest.raises(kt.ClosureError, match=r"3\.14 rad remain"):
        robot.close(np.zeros(4), fixed=["l0_joint", "l1_joint", "l2_joint", "l3_joint"])


def test_a_hinge_guessed_upside_down():
    b = kt.Builder("hinges", gravity=(0, -9.81, 0))
    b.body("l0", "base", kt.Revolute("x"), **rod(1.0, 1.0))
    b.body("l1", "l0", TURN, position=(1, 0, 0), **rod(1.0, 1.0))
    b.body("l2", "l1", kt.Revolute("y"), position=(1, 0, 0), **rod(1.0, 1.0))
    b.body("l3", "l2", kt.Spherical(), position=(1, 0, 0), **rod(1.0, 1.0))
    b.loop("hinge", "base", "l3", TURN, placement=kt.Pose.of((1, 0, 0), rpy=(np.pi, 0, 0)), seat=(1, 0, 0))
    robot = b.build()
    assert robot.closure_error(robot.close(robot.neutral())) < 1e-10


def test_a_rod_guessed_with_both_ends_in_one_place():
    robot = arm(kt.Distance(0.5), placement=(4, 0, 0), seat=(1, 0, 0))
    assert robot.closure_error(robot.close(np.zeros(4))) < 1e-10


@pytest.mark.parametrize(("fixed", "error", "says"), FIXED.values(), ids=FIXED)
def test_bad_positions_of_fixed_joints(fixed, error, says):
    with pytest.raises(error, match=says):
        two_way_parallelogram().close(np.full((2, 3), 0.1) * [1, 1, -1], fixed=fixed)


def test_followers_are_not_held():
    """They follow their leader: holding them did nothing, and positions given to them were lost."""
    b = kt.Builder("geared", gravity=(0, -9.81, 0))
    b.body("a", "base", TURN, **rod(0.5, 1.0))
    b.body("b", "a", TURN, position=(0.5, 0, 0), actuated=False, **rod(0.6, 1.0))
    b.body("c", "base", TURN, position=(1, 0, 0), mimic=kt.Mimic("a_joint", -0.7, 0.2), **rod(0.5, 1.0))
    b.body("d", "c", TURN, position=(0.5, 0, 0), actuated=False, **rod(0.7, 1.0))
    b.loop("pin", "b", "d", TURN, placement=(0.6, 0, 0), seat=(0.7, 0, 0))
    robot = b.build()
    q = robot.close([1.8, -0.9, 1.0])
    for fixed in (["c_joint"], {"c_joint": 0.3}):
        with pytest.raises(kt.OptionError, match="mimics 'a_joint'"):
            robot.close(q, fixed=fixed)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan])
def test_tolerances_that_nothing_meets(tolerance):
    robot, q = two_way_parallelogram(), np.array([0.3, 0.3, -0.3])
    with pytest.raises(kt.OptionError, match="tolerance must"):
        robot.close(q, tolerance=tolerance)
    if tolerance != 0.0:
        with pytest.raises(kt.OptionError, match="tolerance must"):
            robot.forward_dynamics(q, np.zeros(3), np.zeros(3), tolerance=tolerance)
