"""Chains of steps in machine code, against the same text on numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt
from kinetree.evaluation.chains import ChainProgram, ChainRows


def step(state, mine, shared, p):
    """ChainRows of four numbers that begin three apart, and two numbers of its own."""
    x, y = state
    best = kt.where(x * mine[0] < p[0], x * mine[0] + mine[3], p[0] - y)
    return [best, 0.5 * y + kt.sin(mine[1] * x) - shared[1], mine[2] * shared[0]]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("batch", [(), (1,), (5,), (3, 4), (17,)])
def test_machine_code_is_the_text(batch, backward):
    rng, steps = np.random.default_rng(1), 7
    sizes = 2, 6 * 3 + 4, 2 * steps, 1
    given = [rng.uniform(-1.0, 1.0, (*batch, n)) for n in sizes]
    rows = [ChainRows(4, 3), ChainRows(2, 2)]
    found, judge = (
        ChainProgram("test", step, 2, rows, 1, steps, backward, compiled=compiled)(*given) for compiled in (True, False)
    )
    assert found.shape == (*batch, steps, 3)
    assert_allclose(found, judge, rtol=1e-12, atol=1e-14)


def test_lanes_are_apart_and_vectors_may_be_parts_of_longer_ones():
    rng, steps = np.random.default_rng(2), 5
    program = ChainProgram("test", step, 2, [ChainRows(4, 3), ChainRows(2, 2)], 1, steps)
    long, own = rng.uniform(-1.0, 1.0, (11, 60)), rng.uniform(-1.0, 1.0, (11, 2 * steps))
    start, p = rng.uniform(-1.0, 1.0, (11, 2)), np.array([0.3])
    every = program(start, long[:, 9 : 9 + 16], own, p)
    for k in range(11):
        assert_allclose(program(start[k], long[k, 9:25].copy(), own[k], p), every[k], rtol=1e-13)
    start[3] = np.nan
    spoiled = program(start, long[:, 9:25], own, p)
    assert np.isnan(spoiled[3, -1, 0])
    keep = np.arange(11) != 3
    assert (spoiled[keep] == every[keep]).all()


def test_without_parameters():
    program = ChainProgram("sum", lambda x, own, _: [x[0] + own[0]], 1, [ChainRows(1, 1)], 0, 6)
    found = program(np.zeros((4, 1)), np.arange(24.0).reshape(4, 6))
    assert_allclose(found[..., 0], np.cumsum(np.arange(24.0).reshape(4, 6), axis=1))
