"""Calls that go straight to machine code: every way to call gives the same numbers and the same refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, random_state, two_links, two_links_state
from kinetree.run.evaluator import Evaluator


def test_a_subclass_keeps_its_own_methods():
    class Biased(kt.Robot):
        def inverse_dynamics(self, *args, **options):
            return super().inverse_dynamics(*args, **options) + 1.0

    robot = Biased(arm().model, backend="compiled")
    q, v, a = random_state(robot, np.random.default_rng(1), 5)
    expected = arm().with_backend("reference").inverse_dynamics(q, v, a) + 1.0
    for _ in range(3):
        assert_close(robot.inverse_dynamics(q, v, a), expected, 1e-12)


def test_out_is_refused_by_methods_that_have_none_before_and_after_the_first_call():
    robot = arm().with_backend("compiled")
    q = np.zeros((4, 3))
    for _ in range(2):
        with pytest.raises(TypeError, match="out"):
            robot.potential_energy(q, out=np.zeros(4))
        robot.potential_energy(q)


def test_a_method_can_be_pickled_before_and_after_the_first_call():
    robot = arm().with_backend("compiled")
    q = np.ones((2, 3))
    for _ in range(2):
        again = pickle.loads(pickle.dumps(robot.gravity_force))
        assert_close(again(q), robot.gravity_force(q), 0.0)


def ball():
    return kt.Builder("ball").body("bob", "base", kt.Spherical(), mass=1.0, com=(0, 0, -0.5)).build()


def test_straight_calls_keep_frames_and_axes_apart_and_fall_back_on_python():
    robot, judge = two_links(), two_links().with_backend("reference")
    q = two_links_state("q")[0]
    for _ in range(3):
        for frame in ("upper", "lower"):
            for axes in ("body", "world", "aligned"):
                assert np.allclose(robot.jacobian(q, frame, axes), judge.jacobian(q, frame, axes), atol=1e-14)
    assert np.array_equal(robot.jacobian(list(q), "lower"), robot.jacobian(q, "lower"))
    assert robot.jacobian(np.tile(q, (2, 3, 1)), "lower").shape == (2, 3, 6, 2)
    assert np.iscomplexobj(robot.jacobian(q + 1e-30j, "lower"))
    many = two_links_state("q", (5000,))[0]
    assert np.array_equal(robot.jacobian(many, "lower", threads=2), robot.jacobian(many, "lower"))
    with pytest.raises(kt.ShapeError, match=r"q must have shape \(..., 2\)"):
        robot.jacobian(np.zeros(3), "lower")
    with pytest.raises(kt.ShapeError, match="out must have shape"):
        robot.jacobian(q, "lower", out=np.empty((6, 3)))
    with pytest.raises(kt.OptionError, match="threads must be"):
        robot.jacobian(q, "lower", threads=0)
    with pytest.raises(kt.UnknownNameError, match="no body or frame named 'lowr'"):
        robot.jacobian(q, "lowr")


def test_bad_quaternions_are_refused_by_straight_calls_too():
    robot = ball().with_backend("compiled")
    q = robot.neutral()
    robot.pose(q, "bob")
    with pytest.raises(kt.StateError, match="quaternion of joint 'bob_joint'"):
        robot.pose(1.1 * q, "bob")


@pytest.mark.parametrize(("name", "inputs"), [("gravity_force", "q"), ("bias_force", "qv"), ("center_of_mass", "q")])
def test_every_part_of_the_equations_takes_out_and_threads(name, inputs):
    robot = two_links()
    for batch in ((), (70,)):
        state = two_links_state(inputs, batch)
        for _ in range(2):  # through Python, then straight
            plain = getattr(robot, name)(*state)
            out = np.empty_like(plain)
            assert getattr(robot, name)(*state, out=out, threads=2) is out
            assert np.array_equal(out, plain)
        with pytest.raises(kt.ShapeError, match="out must have shape"):
            getattr(robot, name)(*state, out=np.empty((*batch, 9)))


def test_arguments_by_name_and_options_go_straight_too(monkeypatch):
    robot = two_links()
    q, v, a = two_links_state("qva", ())
    expected = robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a, method="composite_body")
    monkeypatch.setattr(Evaluator, "run_checked", None)
    assert np.array_equal(robot.inverse_dynamics(q=q, v=v, a=a), expected[0])
    assert np.array_equal(robot.forward_dynamics(q, v, a, method="composite_body"), expected[1])
