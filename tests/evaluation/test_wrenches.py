"""External wrenches: what they may be, and how machine code takes them."""

from __future__ import annotations

import dataclasses
import re
import sys

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, random_state, two_links, two_links_state
from kinetree.evaluation import compiler
from kinetree.evaluation.evaluator import Evaluator


def test_complex_wrenches_go_to_the_reference():
    robot = arm().with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(1))
    load = np.array([0.3, -0.2, 0.5, 1.0, 2.0, 3.0])
    step = robot.inverse_dynamics(q, v, a, {"tool": 1e-30j * load}).imag / 1e-30
    assert_close(step, robot.inverse_dynamics(q, v, a, {"tool": load}) - robot.inverse_dynamics(q, v, a), 1e-12)


@pytest.mark.parametrize("batch", [(), (7,), (2, 3)])
def test_loads_given_in_the_world_are_turned_by_machine_code(batch, monkeypatch):
    robot, judge = two_links(), two_links().with_backend("reference")
    state = two_links_state("qva", batch)
    push = kt.Wrench(force=(1.0, -2.0, 3.0), moment=(0.1, 0.2, -0.3), axes="world")
    pull = kt.Wrench(force=(0.5, 0.0, 1.0), point=(0.2, 0.1, 0.4), point_axes="world")
    loads = {"lower": [push, pull], "upper": pull}
    turned = dataclasses.replace(pull, moment=np.full((*batch, 3), 0.7))
    others = {"lower": [dataclasses.replace(push, force=(4.0, 5.0, -6.0)), pull], "upper": turned}
    expected, expected_others = (judge.inverse_dynamics(*state, wrenches) for wrenches in (loads, others))
    narrow = robot.with_precision("single").inverse_dynamics(*state, loads)
    assert narrow.dtype == np.float32
    assert np.allclose(narrow, expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(robot.inverse_dynamics(*state, loads), expected, rtol=1e-13, atol=1e-13)
    if len(batch) < 2:
        monkeypatch.setattr(Evaluator, "run_checked", None)  # from the second call on nothing is computed in Python
    assert np.allclose(robot.inverse_dynamics(*state, loads), expected, rtol=1e-13, atol=1e-13)
    assert np.allclose(robot.inverse_dynamics(*state, others), expected_others, rtol=1e-13, atol=1e-13)
    out = np.empty((*batch, 2))
    assert robot.inverse_dynamics(*state, others, out=out) is out
    assert np.allclose(out, expected_others, rtol=1e-13, atol=1e-13)


def test_wrenches_that_come_and_go_are_not_compiled_without_end(monkeypatch):
    monkeypatch.setattr(compiler, "MOST_FORMS", 2)
    robot, judge = two_links(), two_links().with_backend("reference")
    push = kt.Wrench(force=(1.0, -2.0, 3.0), point=(0.2, 0.1, 0.4), axes="world", point_axes="world")
    forms = [{"lower": push}, {"upper": np.arange(6.0)}, {"lower": [push] * 2, "upper": push}, {"lower": [push] * 3}]
    forms += [np.arange(12.0).reshape(2, 6), {"lower": [push, np.ones(6)]}, {"base": push}]
    for batch in ((), (5,), (5,)):
        state = two_links_state("qva", batch)
        for name in ("inverse_dynamics", "forward_dynamics"):
            for wrenches in forms:
                found, expected = (getattr(r, name)(*state, wrenches) for r in (robot, judge))
                assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
            loaded = [key[2] for key in robot.evaluator.compiler._kernels if key[0] == name and key[2]]
            assert len(loaded) == 3  # the first two forms, and forces on all bodies


def test_numbers_of_wrenches_are_not_kept():
    robot = two_links()
    wrench = np.ones((5, 6))
    before = sys.getrefcount(wrench)
    for _ in range(3):
        robot.inverse_dynamics(*two_links_state("qva", (5,)), {"lower": wrench})
    assert sys.getrefcount(wrench) == before


def test_batches_of_wrenches_that_do_not_fit_are_named():
    batches = kt.Wrench(force=np.zeros((2, 3)), moment=np.zeros((4, 3)))
    with pytest.raises(kt.ShapeError, match=r"force of wrench 0, on 'lower': \(2,\), moment of wrench 0.*: \(4,\)"):
        two_links().inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], {"lower": batches})


def test_wrenches_come_with_the_frame_they_act_on():
    robot = arm()
    zero, push = np.zeros(robot.nv), kt.Wrench(force=(0, 0, 1))
    for given in (push, [push], (push, push)):
        with pytest.raises(kt.ShapeError, match=re.escape(f"act on: {{'{robot.body_names[-1]}': Wrench(...)}}")):
            robot.inverse_dynamics(zero, zero, zero, wrenches=given)
    assert robot.inverse_dynamics(zero, zero, zero, {robot.body_names[-1]: push}).shape == (robot.nv,)


@pytest.mark.parametrize("part", ["force", "moment", "point"])
@pytest.mark.parametrize("given", [(0, 0), 5.0, np.zeros((3, 2)), "abc"])
def test_a_wrench_of_the_wrong_shape_is_refused_at_once(part, given):
    with pytest.raises(kt.ShapeError, match=rf"{part} (must have shape \(\.\.\., 3\)|cannot be read.*contains text)"):
        kt.Wrench(**{part: given})
