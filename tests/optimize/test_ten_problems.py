"""Optima of ten problems are those of Ipopt, which begins at the plan that was found: swing-ups have several."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.optimal_problems import motions

FAST = ("double integrator",)
"""The others take half a second and more each, most of it CasADi's."""

NAMES = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in motions()]


@pytest.mark.parametrize("name", NAMES)
def test_optimum_is_that_of_ipopt(name):
    motion = motions()[name]
    motion.robot = motion.robot.with_backend("compiled")
    plan = motion.problem(1e-7).solve(motion.start)
    assert plan.success, plan
    cost, _ = motion.ipopt(plan, warm=True)()
    assert_allclose(plan.cost, cost, rtol=1e-6)
    for which, most in motion.ranges.items():
        reached = np.abs((plan.q if which[0] == "q" else plan.v)[:-1, int(which[1:])])
        assert most - 1e-3 < reached.max() < most + 1e-6
