"""The rolling ball and the rolling coin: motions that fit their constraints, and studies whose facts hold."""

import numpy as np
import pytest

from helpers.studies import by_study, quick_result
from kinetree import gallery

NAMES = ["rolling-ball", "rolling-coin"]


@pytest.mark.parametrize("name", NAMES)
def test_motions_neither_slip_nor_sink_in(name):
    robot, motion = gallery.load(name), gallery.motion(name)
    q, v, a = motion.states(motion.grid(31))
    k = robot.loop_jacobian(q)
    assert robot.closure_error(q).max() < 1e-12
    assert np.abs(k @ v[..., None]).max() < 1e-11
    assert np.abs((k @ a[..., None])[..., 0] + robot.loop_drift(q, v)).max() < 1e-10
    # nothing drives it: the motion is what gravity makes of it
    assert np.abs(robot.forward_dynamics(q, v, np.zeros(6)) - a).max() < 1e-9 * (1 + np.abs(a).max())


@by_study(NAMES)
def test_facts_hold(name):
    result, warned = quick_result(name)
    assert warned == []
    assert all(fact.holds for fact in result.facts), [str(f) for f in result.facts if not f.holds]
    assert len(result.facts) >= 7
