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
    found, done = closing.closed_from(guesses, free)
    by_rank, also_done = closing._by_rank(guesses, free, None, False)
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
    found, done = robot.loops.closing.closed_from(guesses, free)
    by_rank = robot.loops.closing._by_rank(guesses, free, None, False)[0]
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
    basis = choice.basis_of(robot.loop_jacobian(q))
    np.testing.assert_allclose(robot.basis(q), basis, rtol=0, atol=1e-10)
    np.testing.assert_allclose(v, (basis @ given[..., None])[..., 0], rtol=0, atol=1e-10)
    a = robot.accelerations(q, v, second)
    assert {"closed_velocities", "closed_accelerations", "closed_basis"} <= {
        key[0] for key in robot.evaluator.compiler._kernels
    }
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


def test_contradicting_constraints_are_met_in_least_squares_by_machine_code():
    """As closing by rank leaves them: no step along what loops allow makes the gaps smaller."""
    b = kt.Builder("rounded")
    b.body("a", "base", TURN, **rod(1.0, 1.0))
    b.body("b", "a", kt.Revolute((2e-5, 1e-5, 1.0)), position=(1, 0, 0), **rod(1.0, 1.0))
    b.body("c", "b", TURN, position=(1, 0, 1e-6), **rod(1.0, 1.0))
    b.loop("pin", "base", "c", TURN, placement=(1, 0, 0), seat=(1, 0, 0))
    robot = kt.Mechanism(b.build().model, backend="compiled", rounding=1e-3)
    with pytest.warns(kt.RoundingWarning):
        guesses = beside(robot, 0.2, 20)
    free = np.ones(robot.nv, dtype=bool)
    kernel = robot.loops.closing.kernel(free)
    found = kernel.search(guesses, np.zeros(0))
    assert kernel.is_closed(found, None).all()
    assert not kernel.is_closed(found, 1e-10).any()
    gaps, k = robot.loop_gaps(found.q), robot.loop_jacobian(found.q)
    pull = (np.swapaxes(k, -1, -2) @ gaps[..., None])[..., 0]
    assert np.abs(pull).max() < 1e-4 * np.abs(gaps).max()
    by_rank = robot.loop_gaps(robot.loops.closing._by_rank(guesses, free, None, False)[0])
    ratio = np.abs(gaps).max(axis=-1) / np.abs(by_rank).max(axis=-1)  # of configurations beside one another
    assert ratio.max() < 1.3
    assert abs(np.median(ratio) - 1.0) < 0.01


def by_rank_is_refused(*_, **__):
    raise AssertionError("this takes a thousand times as long")


@pytest.mark.parametrize("name", ["delta", "3-rrr"])
def test_what_is_out_of_reach_is_told_without_finding_ranks(monkeypatch, name):
    """Targets just beyond the workspace, and far beyond: one Newton's way is as good as another to say no."""
    robot = compiled(kt.load(name))
    top, start = robot.platform("platform", orientation=False), robot.assembled()
    here = top.pose(start)[:3, 3]
    ways = np.random.default_rng(0).standard_normal((200, 3)) * ([1, 1, 0] if name == "3-rrr" else 1)
    targets = here + ways / np.linalg.norm(ways, axis=-1, keepdims=True) * np.linspace(0.05, 3.0, 200)[:, None]
    wanted = np.array([top.inverse(x, start, limits=False, must_reach=False).reached for x in targets])
    monkeypatch.setattr(robot.loops.closing, "_by_rank", by_rank_is_refused)
    found, reached = top.inverse(targets, start, limits=False, must_reach=False)
    np.testing.assert_array_equal(reached, wanted)
    assert 5 < reached.sum() < 195
    assert robot.closure_error(found[reached]).max() < 1e-12
    np.testing.assert_allclose(top.pose(found[reached])[:, :3, 3], targets[reached], rtol=0, atol=1e-12)
    held = np.repeat(start[None], 50, axis=0)
    held[:, top._coordinates] += np.linspace(0.5, 5.0, 50)[:, None]
    robot.close(held, fixed=top.actuated, must_close=False, limits=False)


@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "3-rrr", "delta"])
def test_one_state_has_the_bits_of_a_batch(name):
    """The second call of one state goes straight to machine code made for one."""
    robot = compiled(kt.load(name))
    guesses = beside(robot, 0.1, 20)
    held = robot.independent()[:1] if name != "delta" else None
    whole = robot.close(guesses, held)
    for guess, wanted in zip(guesses, whole, strict=True):
        np.testing.assert_array_equal(robot.close(guess, held), wanted)
    assert robot.loops.closing._quick
    if held:
        position = float(guesses[3, robot.q_names.index(held[0])])
        np.testing.assert_array_equal(robot.close(guesses[3], {held[0]: position}), whole[3])
    refused = guesses[0].copy()
    refused[0] = np.nan
    assert np.isnan(robot.close(refused, held, must_close=False)).all()
    with pytest.raises(kt.ShapeError):
        robot.close(guesses[0][:-1], held)


def test_one_state_beyond_limits_is_not_let_through():
    b = kt.Builder("jib")
    b.body("crank", "base", TURN, **rod(1.0, 1.0))
    b.body("barrel", "base", TURN, position=(1.5, 0, 0), **rod(1.0, 1.0))
    b.body("rod", "barrel", kt.Prismatic("x"), mass=0.5, lower=0.8, upper=2.0)
    b.loop("pin", "crank", "rod", TURN, placement=(1, 0, 0))
    robot = compiled(b.build())
    inside = robot.close([1.0, 2.5, 1.2], ["crank_joint"])
    assert robot.loops.closing._quick
    guess = np.array([1.0, -0.8, -1.2])
    np.testing.assert_allclose(robot.close(guess, ["crank_joint"])[2], inside[2])
    np.testing.assert_allclose(robot.close(guess, ["crank_joint"], limits=False)[2], -inside[2])
    with pytest.raises(kt.ClosureError, match="only beyond limits"):
        robot.close(np.array([2.5, 2.5, 1.2]), {"crank_joint": 2.5})
