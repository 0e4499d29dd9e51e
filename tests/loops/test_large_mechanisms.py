"""Mechanisms of more than 110 bodies: the path of one of 38 four-bars side by side is that of one alone."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import TURN, rod

START = np.array([0.5, 0.3, 1.5])


def four_bars(count):
    b = kt.Builder(f"{count} four-bars")
    for k in range(count):
        b.body(f"crank{k}", "base", TURN, position=(0, 0, 0.1 * k), **rod(0.4, 1.0))
        b.body(f"coupler{k}", f"crank{k}", TURN, position=(0.4, 0, 0), **rod(1.0, 1.0))
        b.body(f"rocker{k}", "base", TURN, position=(1.0, 0, 0.1 * k), **rod(0.8, 1.0))
        b.loop(f"pin{k}", f"coupler{k}", f"rocker{k}", TURN, placement=(1.0, 0, 0), seat=(0.8, 0, 0))
    return b.build()


@pytest.fixture(scope="module")
def both():
    one, many = four_bars(1), four_bars(38)
    assert len(many.model.bodies) > 110
    return one, one.close(START), many, many.close(np.tile(START, 38))


def test_a_path_of_one_crank_is_that_of_one_four_bar_and_leaves_the_others_alone(both):
    one, start, many, every = both
    turn = start[0] + np.linspace(0.0, 2.0 * np.pi, 20)
    found, wanted = many.follow({"crank7_joint": turn}, every), one.follow({"crank0_joint": turn}, start)
    np.testing.assert_allclose(found[:, 21:24], wanted, rtol=0, atol=1e-12)
    others = np.delete(found, slice(21, 24), axis=1)
    np.testing.assert_allclose(others, np.tile(np.delete(every, slice(21, 24)), (20, 1)), rtol=0, atol=1e-14)
    assert many.closure_error(found).max() < 1e-12
