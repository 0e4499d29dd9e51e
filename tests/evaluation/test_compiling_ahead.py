"""``robot.compile``: afterwards nothing is compiled; what cannot be compiled is said."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, gripper, random_state, two_links, two_links_state
from kinetree.engine.llvm import host
from kinetree.evaluation.evaluator import Evaluator


def test_compiling_ahead_of_time_what_needs_options_and_what_has_usual_ones():
    robot = arm().with_backend("compiled")
    with pytest.raises(kt.OptionError, match="frame"):
        robot.compile("pose")
    with pytest.raises(kt.UnknownNameError):
        robot.compile("nonsense")
    robot.compile("momentum", "mass_matrix_factors", progress=False)


def test_compiling_a_large_tree_ahead_of_time(monkeypatch):
    monkeypatch.setattr("kinetree.evaluation.compiler.LARGEST_UNROLLED", 2)
    robot = arm().with_backend("compiled")
    monkeypatch.setattr(robot.evaluator.compiler, "trace", None)  # nothing may be unrolled
    robot.compile(progress=False)
    q, v, a = random_state(robot, np.random.default_rng(1), 5)
    assert_close(robot.inverse_dynamics(q, v, a), arm().with_backend("reference").inverse_dynamics(q, v, a), 1e-12)


def nothing_more_is_compiled(monkeypatch):
    """From here on the code generator must not be asked."""

    def refuse(*text):
        raise AssertionError("something was compiled after all")

    monkeypatch.setattr(host, "assemble", refuse)
    monkeypatch.setenv("KINETREE_CACHE", "off")


FRAMED = {
    "pose": ("q", {"frame": "lower"}),
    "velocity": ("qv", {"frame": "lower", "axes": "aligned"}),
    "acceleration": ("qva", {"frame": "lower", "axes": "aligned", "classical": True}),
    "jacobian": ("q", {"frame": "lower", "axes": "world"}),
    "jacobian_rate": ("qv", {"frame": "lower", "axes": "aligned"}),
    "momentum": ("qv", {"about": "origin"}),
    "centroidal_momentum_matrix": ("q", {}),
}


@pytest.mark.parametrize("name", FRAMED)
def test_what_needs_options_is_compiled_ahead_of_time_and_then_called_straight(name, monkeypatch):
    inputs, options = FRAMED[name]
    robot, judge = two_links(), two_links().with_backend("reference")
    states = [two_links_state(inputs), two_links_state(inputs, (5,))]
    expected = [getattr(judge, name)(*state, **options) for state in states]
    robot.compile((name, options))
    nothing_more_is_compiled(monkeypatch)
    monkeypatch.setattr(Evaluator, "run_checked", None)  # not in Python, not even the first time
    for state, wanted in zip(states, expected, strict=True):
        found = getattr(robot, name)(*state, **options)
        assert np.allclose(found, wanted, rtol=1e-13, atol=1e-13)
        out = np.empty_like(wanted)
        assert getattr(robot, name)(*state, **options, out=out) is out
        assert np.array_equal(out, found)


def test_after_compiling_ahead_of_time_not_even_the_first_call_goes_through_python(monkeypatch):
    robot = two_links()
    robot.compile("forward_dynamics")
    nothing_more_is_compiled(monkeypatch)
    monkeypatch.setattr(Evaluator, "run", None)
    assert robot.forward_dynamics(*np.zeros((3, 2))).shape == (2,)
    assert robot.forward_dynamics(*np.zeros((3, 4, 2))).shape == (4, 2)


def test_compiling_ahead_of_time_only_one_form(monkeypatch):
    robot = two_links()
    robot.compile("mass_matrix", batch=False)
    nothing_more_is_compiled(monkeypatch)
    assert robot.mass_matrix(np.zeros(2)).shape == (2, 2)
    with pytest.raises(AssertionError, match="compiled after all"):
        robot.mass_matrix(np.zeros((5, 2)))


def test_a_mechanism_is_compiled_with_its_loops_closed(monkeypatch):
    four_bar = kt.gallery.load("four-bar").with_backend("compiled")
    q = four_bar.assembled()
    four_bar.compile("forward_dynamics", batch=False)
    four_bar.loop_gaps(q)
    nothing_more_is_compiled(monkeypatch)
    a = four_bar.forward_dynamics(q, np.zeros(3), np.zeros(3))
    assert np.allclose(a, four_bar.with_backend("reference").forward_dynamics(q, np.zeros(3), np.zeros(3)))


@pytest.mark.parametrize(
    ("request_", "error", "reason"),
    [
        ("jacobian", kt.OptionError, "jacobian needs the frame: give frame=..., such as 'lower'"),
        (("jacobian", {"frame": "lowr"}), kt.UnknownNameError, "no body or frame named 'lowr'"),
        (("jacobian", {"frame": "lower", "axis": "body"}), kt.UnknownNameError, "no option of jacobian named 'axis'"),
        (["mass_matrix"], kt.OptionError, r"a name, or a pair .*, not \['mass_matrix'\]"),
        (3, kt.OptionError, "a name, or a pair .*, not 3"),
        ("mass_matrx", kt.UnknownNameError, "did you mean 'mass_matrix'"),
    ],
)
@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_what_cannot_be_compiled_ahead_of_time_is_said(request_, error, reason, backend):
    with pytest.raises(error, match=reason):
        two_links().with_backend(backend).compile(request_)


def test_compiling_by_default_leaves_out_what_a_robot_has_no_answer_to():
    massless = kt.Builder("string").body("a", "base", kt.Revolute("x"), mass=0.0).build().with_backend("compiled")
    massless.compile()
    with pytest.raises(kt.SingularError):
        massless.compile("forward_dynamics")


def test_pickling_and_ahead_of_time():
    robot = gripper().with_backend("compiled")
    robot.compile()
    q, v, a = random_state(robot, np.random.default_rng(0), 3)
    tau = robot.inverse_dynamics(q, v, a)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert_close(again.inverse_dynamics(q, v, a), tau, 0.0)


@pytest.mark.parametrize("name", ["center_of_mass", "momentum", ("operational_space_inertia", {"frames": "a"})])
def test_what_divides_by_zero_is_said_when_compiling(name):
    robot = kt.Builder("ghost", strict=False).body("a", "base", kt.Revolute("z"), mass=0.0).build()
    with pytest.raises(kt.SingularError):
        robot.with_backend("compiled").compile(name)
