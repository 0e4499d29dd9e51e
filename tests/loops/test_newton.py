"""Closing in machine code: on the branch that closing by rank finds, and the same bits in any batch."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import TURN, rod, two_way_parallelogram

SYSTEMS = ["four-bar", "slider-crank", "3-rrr", "stewart-platform", "delta", "sr400", "bricard", "carpet-scraper"]


def compiled(robot):
    return kt.Mechanism(robot.model, backend="compiled")


def beside(robot, size, count, seed=0):
    """Return guesses beside a closed configuration."""
    q = np.repeat(robot.assembled()[None], count, axis=0)
    return robot.integrate(q, size * np.random.default_rng(seed).standard_normal((count, robot.nv)))


@pytest.mark.parametrize("name", SYSTEMS)
def test_guesses_close_to_the_last_digits_and_nearly_as_near_as_by_rank(name):
    robot = compiled(kt.load(name))
    guesses, free = beside(robot, 0.1, 50), np.ones(robot.nv, dtype=bool)
    closing = robot.loops.closing
    assert closing.kernel(free) is not None
    found, _, done = closing.closed_from(guesses, free)
    by_rank, _, also_done = closing._closed_by_rank(guesses, free, None, False)
    assert done.all()
    assert also_done.all()
    assert robot.closure_error(found).max() < 1e-13
    way = np.linalg.norm(robot.difference(guesses, found), axis=-1)
    other = np.linalg.norm(robot.difference(guesses, by_rank), axis=-1)
    assert (way < 1.25 * other + 1e-9).all()
    assert np.median(way / other) < 1.01


def test_a_turn_from_one_guess_stays_on_its_branch():
    """With the crank held nothing but the branch is left to choose: the answers are those of closing by rank."""
    robot = compiled(kt.load("four-bar"))
    guesses = np.repeat(robot.assembled()[None], 200, axis=0)
    guesses[:, 0] += np.linspace(0.0, 2 * np.pi, 200)
    free = np.array([False, True, True])
    found, _, done = robot.loops.closing.closed_from(guesses, free)
    by_rank = robot.loops.closing._closed_by_rank(guesses, free, None, False)[0]
    assert done.all()
    np.testing.assert_allclose(found, by_rank, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found[:, 0], guesses[:, 0])


@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "3-rrr"])
def test_the_same_bits_in_any_batch_and_place(name):
    robot = compiled(kt.load(name))
    guesses = beside(robot, 0.4, 37)
    whole = robot.close(guesses, limits=False)
    np.testing.assert_array_equal(whole[::-1], robot.close(guesses[::-1], limits=False))
    np.testing.assert_array_equal(whole[5:8], robot.close(guesses[5:8], limits=False))
    np.testing.assert_array_equal(whole[11], robot.close(guesses[11], limits=False))


def test_a_lane_that_is_not_a_number_stays_alone():
    robot = compiled(kt.load("3-rrr"))
    guesses = beside(robot, 0.1, 20)
    whole = robot.close(guesses)
    guesses[7, 2] = np.nan
    found = robot.close(guesses, must_close=False)
    assert np.isnan(found[7]).all()
    np.testing.assert_array_equal(np.delete(found, 7, axis=0), np.delete(whole, 7, axis=0))


def test_a_singular_guess_is_left_to_closing_by_rank():
    """All in one line the constraints say nothing about which way to go."""
    robot = compiled(two_way_parallelogram())
    guesses = np.zeros((3, robot.nq))
    guesses[1] += 0.2
    assert robot.closure_error(robot.close(guesses, limits=False)).max() < 1e-10


def test_redundant_constraints_that_rounding_contradicts():
    """The constraints that count can be met, all of them cannot: least squares have the last word, as before."""
    b = kt.Builder("rounded")
    tilted = kt.Revolute((1e-5, 0.0, 1.0))
    b.body("a", "base", TURN, **rod(1.0, 1.0))
    b.body("b", "a", tilted, position=(1, 0, 0), **rod(1.0, 1.0))
    b.body("c", "b", TURN, position=(1, 0, 0), **rod(1.0, 1.0))
    b.loop("pin", "base", "c", TURN, placement=(1, 0, 0), seat=(1, 0, 0))
    robot = kt.Mechanism(b.build().model, backend="compiled", rounding=1e-3)
    with pytest.warns(kt.RoundingWarning):
        q = robot.close([1.0, -1.1, -1.9], limits=False)
    assert 1e-10 < robot.closure_error(q) < 1e-4


def test_a_held_joint_that_leaves_no_way():
    robot = compiled(kt.load("four-bar"))
    q = robot.assembled()
    with pytest.raises(kt.ClosureError, match="remain"):
        robot.close(q + np.array([0.5, 0.0, 0.0]), fixed=["crank_joint", robot.joint_names[1]])


@pytest.mark.parametrize("name", ["stewart-platform", "3-rrr"])
def test_platforms_at_poses_given_in_full(name):
    """Of a platform in the plane three of the six conditions follow from the others."""
    robot = compiled(kt.load(name))
    top = robot.platform("platform")
    q = robot.close(beside(robot, 0.05, 30), limits=False)
    found = top.inverse(top.pose(q), robot.assembled(), limits=False)
    np.testing.assert_allclose(top.pose(found), top.pose(q), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found[3], top.inverse(top.pose(q[3]), robot.assembled(), limits=False))


def test_a_platform_that_is_half_a_turn_off_is_not_taken_for_reached():
    robot = compiled(kt.load("stewart-platform"))
    top, q = robot.platform("platform"), robot.assembled()
    turned = top.pose(q).copy()
    turned[:3, :3] = np.diag([-1.0, -1.0, 1.0]) @ turned[:3, :3]
    reached = top.inverse(turned, q, limits=False, must_reach=False).reached
    if reached:
        np.testing.assert_allclose(top.pose(top.inverse(turned, q, limits=False)), turned, atol=1e-9)


@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "3-rrr"])
def test_rates_are_those_of_singular_values(name):
    """The way in machine code, and the one that finds ranks."""
    robot = compiled(kt.load(name))
    rng, choice = np.random.default_rng(3), robot.loops.choice
    q = robot.close(beside(robot, 0.1, 12), limits=False)
    given, second = rng.standard_normal((2, 12, len(robot.independent())))
    v = robot.velocities(q, given)
    basis = robot.loops.choice.basis(q)
    np.testing.assert_allclose(v, (basis @ given[..., None])[..., 0], rtol=0, atol=1e-10)
    a = robot.accelerations(q, v, second)
    np.testing.assert_array_equal(a, choice._in_machine_code(q, v, second))
    left = (robot.loop_jacobian(q) @ a[..., None])[..., 0] + robot.loops.geometry.drift(q, v)
    assert np.abs(left).max() < 1e-9 * (1.0 + np.abs(a).max())
    np.testing.assert_array_equal(a[:, list(choice.coordinates.independent)], second)


def test_a_path_over_several_turns_in_one_call():
    """A double crank: both cranks turn, so that angles found from one guess are turns apart."""
    b = kt.Builder("double crank", gravity=(0, -9.81, 0))
    b.body("crank", "base", TURN, **rod(0.4, 1.0))
    b.body("coupler", "crank", TURN, position=(0.4, 0, 0), **rod(0.35, 1.0))
    b.body("follower", "coupler", TURN, position=(0.35, 0, 0), **rod(0.35, 1.0))
    b.loop("pin", "base", "follower", TURN, placement=(0.1, 0, 0), seat=(0.35, 0, 0))
    robot = compiled(b.build())
    first = robot.close([0.5, 1.0, 1.0], fixed=["crank_joint"])
    path = first[0] + np.linspace(0.0, 6 * np.pi, 1500)
    q = robot.follow({"crank_joint": path}, first)
    assert robot.closure_error(q).max() < 1e-12
    assert np.abs(np.diff(q, axis=0)).max() < 0.1
    np.testing.assert_array_equal(q[:, 0], path)
    turns = (q[-1] - q[0]).sum() / (2 * np.pi)  # of the follower, beside the crank
    assert round(turns) == 3
    moved = robot.driven_motion(
        {"crank_joint": path}, {"crank_joint": np.ones(1500)}, {"crank_joint": np.zeros(1500)}, q_guess=first
    )
    np.testing.assert_allclose(moved.q, q, rtol=0, atol=1e-9)
