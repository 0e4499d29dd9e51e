"""Which rows are solved together: what a few freedoms decide comes first, the rest falls apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.algorithms.newton_closing_step import Block, FrameGoal
from kinetree.loops import blocks
from kinetree.loops.goals import numbers_of


def test_rows_that_decide_come_first():
    columns = {0: {0, 1, 2}, 1: {0}, 2: {1, 0}, 3: {4, 5, 2}}
    found = blocks.find(columns, (0, 1, 2, 3))
    assert found[:3] == (Block((1,), (0,)), Block((2,), (1,)), Block((0,), (2,)))
    assert found[3] == Block((3,), (4, 5))


def test_rows_that_need_one_another_stay_together():
    columns = {0: {0, 1}, 1: {0, 1}, 2: {2, 0}, 3: {3, 4}, 4: {4, 5}}
    assert blocks.find(columns, tuple(columns)) == (
        Block((0, 1), (0, 1)), Block((2,), (2,)), Block((3, 4), (3, 4, 5)),
    )  # fmt: skip


def test_redundant_rows_stay_with_what_they_contradict():
    columns = {0: {0, 1}, 1: {0, 1}, 2: {0, 1}, 3: {2, 3}}
    assert blocks.find(columns, (0, 1, 3), (2,)) == (Block((0, 1), (0, 1), (2,)), Block((3,), (2, 3)))


def test_a_platform_that_is_held_leaves_its_legs_alone():
    model = kt.load("stewart-platform").model
    goal = FrameGoal("platform")
    columns = blocks.pattern(model, (goal,), range(model.nv))
    found = blocks.find(columns, range(model.n_constraints + 6))
    assert sorted(len(block.rows) for block in found) == [3] * 5 + [6]
    assert len(found[0].rows) == 6  # the platform's own freedoms, then the other legs


def test_a_platform_at_its_goal_leaves_all_legs_alone():
    """The first leg carries it: its tip is one block, the turn of its ball joint the last one."""
    model = kt.load("stewart-platform").model
    found = blocks.placed(model, (FrameGoal("platform"),), range(model.nv), range(model.n_constraints + 6))
    assert [len(block.rows) for block in found.blocks] == [3] * 7
    assert found.turned == tuple(range(5))  # along the legs' axes: nothing moves the platform
    carrying = {block.columns for block in found.blocks if min(block.rows) >= model.n_constraints}
    assert carrying == {(0, 1, 2), (3, 4, 5)}


def test_bodies_are_placed_only_if_their_whole_pose_is_given():
    model = kt.load("delta").model
    rows, free = range(model.n_constraints + 6), range(model.nv)
    assert blocks.placed(model, (FrameGoal("platform", orientation=False),), free, rows[:-3]) is None
    assert blocks.placed(model, (), free, rows[:-6]) is None
    assert blocks.placed(model, (FrameGoal("platform"),), free, rows) is not None


@pytest.mark.parametrize(("system", "frame"), [("stewart-platform", "platform"), ("delta", "platform"),
                                               ("space-six-bar", "satellite"), ("3-rrr", "platform")])  # fmt: skip
def test_placed_bodies_lead_to_the_same_configurations(system, frame, monkeypatch):
    """Newton steps differ, but not where they end, and loops are as closed."""
    robot, usual = (kt.Mechanism(kt.load(system).model) for _ in range(2))
    rng, start = np.random.default_rng(3), robot.assembled(limits=False)
    moved = robot.integrate(np.repeat(start[None], 16, axis=0), 0.1 * rng.standard_normal((16, robot.nv)))
    poses = robot.pose(robot.close(moved, limits=False), frame)
    found = robot.platform(frame).inverse(poses, start, limits=False)
    monkeypatch.setattr(blocks, "placed", lambda *given: None)
    np.testing.assert_allclose(found, usual.platform(frame).inverse(poses, start, limits=False), atol=1e-11)
    assert np.abs(robot.loop_gaps(found)).max() < 1e-13
    np.testing.assert_allclose(robot.pose(found, frame), poses, atol=1e-13)


def test_targets_far_from_the_guess_are_reached_in_no_more_steps(monkeypatch):
    """Each leg is damped by its own gap: without a rank to find, from a guess up to a radian away."""
    model, steps, closed = kt.load("stewart-platform").model, [], []
    for how in (blocks.placed, lambda *given: None):
        monkeypatch.setattr(blocks, "placed", how)
        robot = kt.Mechanism(model)
        start, rng = robot.assembled(), np.random.default_rng(0)
        targets = np.repeat(robot.pose(start, "platform")[None], 128, axis=0)
        targets[:, :3, :3] = Rotation.from_rotvec(0.4 * rng.standard_normal((128, 3))).as_matrix() @ targets[:, :3, :3]
        targets[:, :3, 3] += 0.2 * rng.standard_normal((128, 3))
        goal = FrameGoal("platform")
        kernel = robot.loops.closing.kernel(np.ones(robot.nv, dtype=bool), (goal,))
        found = kernel.search(np.repeat(start[None], 128, axis=0), numbers_of(goal, targets))
        steps.append(found.steps.mean())
        closed.append(kernel.is_closed(found, None).sum())
    assert closed[0] == 128 >= closed[1]
    assert steps[0] <= steps[1]


def test_a_target_with_rounded_axes_leaves_loops_closed():
    """Loops see the platform at its target: axes that are not perpendicular would bend it."""
    robot = kt.load("stewart-platform")
    start = robot.assembled()
    target = robot.pose(start, "platform")
    target[:3, :3] += 1e-4 * np.random.default_rng(0).standard_normal((3, 3))
    found = robot.platform("platform").inverse(target, start, limits=False)
    assert np.abs(robot.loop_gaps(found)).max() < 1e-13
    np.testing.assert_allclose(robot.pose(found, "platform"), target, atol=5e-4)


@pytest.mark.parametrize("seed", range(20))
def test_what_blocks_find_solves_the_whole(seed):
    """A random system of full rank: rows one after the other, in blocks, give the shortest solution of all."""
    rng = np.random.default_rng(seed)
    m, n = 7, int(rng.integers(7, 11))
    shape = rng.random((m, n)) < 0.3
    shape[np.arange(m), rng.permutation(n)[:m]] = True
    a, b = np.where(shape, rng.standard_normal((m, n)), 0.0), rng.standard_normal(m)
    found = blocks.find({i: set(np.flatnonzero(row).tolist()) for i, row in enumerate(shape)}, range(m))
    assert sorted(i for block in found for i in block.rows) == list(range(m))
    x = np.zeros(n)
    for block in found:
        rows, places = list(block.rows), list(block.columns)
        x[places] = np.linalg.lstsq(a[np.ix_(rows, places)], b[rows] - a[rows] @ x, rcond=None)[0]
    np.testing.assert_allclose(x, np.linalg.lstsq(a, b, rcond=None)[0], atol=1e-8)
