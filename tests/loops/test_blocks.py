"""Which rows are solved together: what a few freedoms decide comes first, the rest falls apart."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.newton_closing_step import Block, FrameGoal
from kinetree.loops import blocks


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
