"""Code that would be too long: nobody waits minutes for a compiler, and what is done instead is said."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_state, random_tree
from kinetree.algorithms.table import ALGORITHMS
from kinetree.engine.kernels.loop_kernel import RolledKernel
from kinetree.evaluation import compiler
from kinetree.evaluation.wrenches import each_body


def test_code_that_is_too_long_becomes_a_loop(monkeypatch, recwarn):
    monkeypatch.setattr(compiler, "LONGEST_CODE", 2000)
    reference = random_tree(np.random.default_rng(1), 8)
    robot = reference.with_backend("compiled")
    q, v, tau = random_state(robot, np.random.default_rng(0), 3)
    found = robot.forward_dynamics_derivatives(q, v, tau)
    for matrix, expected in zip(found, reference.forward_dynamics_derivatives(q, v, tau), strict=True):
        assert_close(matrix, expected, 1e-10)
    assert not [w for w in recwarn if issubclass(w.category, kt.KinetreeWarning)]


def test_a_new_process_does_not_trace_again_what_was_too_long(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "LONGEST_CODE", 300)
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path))
    traced, trace = list[str](), compiler.Compiler.trace
    monkeypatch.setattr(
        compiler.Compiler,
        "trace",
        lambda self, name, *rest, **more: traced.append(name) or trace(self, name, *rest, **more),
    )
    found = []
    for _ in range(2):
        robot = long_chain(5).with_backend("compiled")
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 5, robot.nv))
        found.append(robot.inverse_dynamics_derivatives(q, v, a))
    assert traced.count("inverse_dynamics_derivatives") == 1
    np.testing.assert_array_equal(*found)
    monkeypatch.setattr(compiler, "LONGEST_CODE", 250)  # another limit is another question
    long_chain(5).with_backend("compiled").inverse_dynamics_derivatives(q, v, a)
    assert traced.count("inverse_dynamics_derivatives") == 2


USUAL, MATRICES = "articulated_body", "walker_orin_1"


def long_chain(n):
    builder = kt.Builder("chain")
    for i in range(n):
        parent = f"l{i - 1}" if i else "base"
        body = kt.MassProperties.of(0.5 + 0.01 * i, (0.05, 0.01, 0), (0.001, 0.002, 0.002))
        builder.body(f"l{i}", parent, kt.Revolute("xyz"[i % 3]), position=(0.1, 0, 0.02), mass_properties=body)
    return builder.build()


class TestCodeThatWouldBeTooLong:
    """Nobody waits minutes for a compiler: what is too long becomes loops, or is left to the reference, and said."""

    @pytest.fixture
    def robot(self, monkeypatch):
        monkeypatch.setattr(compiler, "LONGEST_CODE", 1500)
        monkeypatch.setenv("KINETREE_CACHE", "off")
        return long_chain(12).with_backend("compiled")

    def test_what_cannot_be_a_loop_comes_from_the_reference_with_one_warning(self, robot):
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 5, robot.nv))
        with pytest.warns(kt.KinetreeWarning, match="forward_dynamics of .* more than 1,500 operations"):
            found = robot.forward_dynamics(q, v, a, method=MATRICES)
        expected = robot.with_backend("reference").forward_dynamics(q, v, a, method=MATRICES)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(robot.forward_dynamics(q, v, a, method=MATRICES), expected)  # no further word

    @pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
    def test_derivatives_go_through_loops(self, robot, name):
        state = np.random.default_rng(0).uniform(-1, 1, (3, 5, robot.nv))
        expected = getattr(robot.with_backend("reference"), name)(*state)
        for _ in range(2):
            for found, judge in zip(getattr(robot, name)(*state), expected, strict=True):
                np.testing.assert_allclose(found, judge, rtol=1e-9, atol=1e-9 * np.abs(judge).max())

    def test_the_inverse_of_the_mass_matrix_goes_through_loops(self, robot):
        q = np.random.default_rng(0).uniform(-1, 1, (3, robot.nv))
        expected = robot.with_backend("reference").inverse_mass_matrix(q)
        for _ in range(2):
            np.testing.assert_allclose(robot.inverse_mass_matrix(q), expected, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(robot.inverse_mass_matrix(q[0]), expected[0], rtol=1e-10, atol=1e-10)

    def test_compiling_ahead_says_it_once_and_goes_on(self, robot):
        with pytest.warns(kt.KinetreeWarning, match="too many to compile") as said:
            robot.compile(("forward_dynamics", {"method": MATRICES}), "inverse_mass_matrix", "gravity_force")
        assert len(said) == 1
        assert robot.cost("forward_dynamics_derivatives").multiplications > 1500  # counting needs no code

    def test_a_method_that_is_too_long_says_so_and_leaves_the_others_alone(self, monkeypatch):
        monkeypatch.setenv("KINETREE_CACHE", "off")
        robot = long_chain(9).with_backend("compiled")
        q, v, tau = np.random.default_rng(0).uniform(-1, 1, (3, 4, robot.nv))
        sizes = [
            len(robot.evaluator.compiler.trace("forward_dynamics", {"method": m}).graph.kinds)
            for m in (USUAL, MATRICES)
        ]
        monkeypatch.setattr(compiler, "LONGEST_CODE", sum(sizes) // 2)
        assert sizes[0] < sizes[1]
        expected = robot.with_backend("reference").forward_dynamics(q, v, tau)
        with pytest.warns(kt.KinetreeWarning, match=f"forward_dynamics of 'chain' by '{MATRICES}' would be more than"):
            found = robot.forward_dynamics(q, v, tau, method=MATRICES)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-8, atol=1e-8)
        straight = robot.evaluator.compiler.kernel("forward_dynamics", {"method": USUAL})
        assert not isinstance(straight, RolledKernel)

    def test_wrenches_along_world_axes_where_poses_are_too_long(self, robot, monkeypatch):
        monkeypatch.setattr(compiler, "LONGEST_CODE", 30)
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 4, robot.nv))
        push = {"l7": kt.Wrench(force=(1, 2, 3), axes="world")}
        found = robot.inverse_dynamics(q, v, a, push)
        expected = robot.with_backend("reference").inverse_dynamics(q, v, a, push)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)

    def test_another_thread_gives_up_while_loads_are_gathered(self, robot, monkeypatch):
        """The loop takes wrenches on all bodies, what was gathered for straight-line code are those on some."""
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 4, robot.nv))
        push = {"l3": np.random.default_rng(1).uniform(-1, 1, (4, 6))}
        expected = robot.with_backend("reference").inverse_dynamics(q, v, a, push)
        make = compiler.Compiler.kernel

        def meanwhile(compiler, name, options=None, loaded=()):
            compiler.give_up(name, options)
            return make(compiler, name, options, loaded)

        monkeypatch.setattr(compiler.Compiler, "kernel", meanwhile)
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, push), expected, rtol=1e-10, atol=1e-10)
        assert {key[2] for key in robot.evaluator.compiler._kernels} == {each_body(robot.model)}


# ------------------------------------------------------------------ wide robots, whose matrices are mostly zero


def free_bodies(count):
    builder = kt.Builder("free bodies")
    for k in range(count):
        builder.body(f"b{k}", "base", kt.Free(), mass=1.0 + 0.1 * k, com=(0.1, 0.0, 0.2), inertia=(1, 1.5, 2))
    return builder.build()


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_no_function_for_one_state_stores_thousands_of_numbers(cpu):
    """LLVM compares every store with every other: 40 free bodies took two minutes."""
    robot = kt.Robot(free_bodies(40).model, backend="compiled", cpu=cpu if platform.machine() == "x86_64" else None)
    text = robot.evaluator.compiler.kernel("mass_matrix")._assembly("single")
    functions = text.split("define ")
    assert max(function.count("  store ") for function in functions) <= 1500
    assert text.count("  store ") < 40 * 36 + 500  # zeros are cleared in a loop


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_a_wide_robot_in_every_form(cpu, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "off")
    reference = free_bodies(8)
    robot = kt.Robot(reference.model, backend="compiled", cpu=cpu if platform.machine() == "x86_64" else None)
    q, _, _ = random_state(reference, np.random.default_rng(0), 3)
    expected = reference.mass_matrix(q)
    assert_close(robot.mass_matrix(q), expected, 1e-13)
    for one, wanted in zip(q, expected, strict=True):
        result = np.full_like(wanted, np.nan)
        robot.mass_matrix(one, out=result)  # every entry is written
        assert_close(result, wanted, 1e-13)
    q[1, 0] = np.nan
    with np.errstate(all="ignore"):
        assert np.isnan(robot.mass_matrix(q[1])).any()


QUICK = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "joint_momentum_regressor")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(a.name, marks=[] if a.name in QUICK else [pytest.mark.slow])
        for a in ALGORITHMS.values()
        if a.large is not None and a.large.followers
    ],
)
def test_joints_that_follow_others_have_loops_too(name, monkeypatch, recwarn):
    """Where straight-line code would be too long, they are put together from loops over a tree of free joints."""
    monkeypatch.setattr(compiler, "LONGEST_CODE", 1)
    monkeypatch.setenv("KINETREE_CACHE", "off")
    reference = random_tree(np.random.default_rng(2), 9, ["revolute", "prismatic", "spherical"], followers=True)
    assert reference.model.has_followers
    robot, algorithm = reference.with_backend("compiled"), ALGORITHMS[name]
    options = algorithm.defaults | {o.name: o.example(robot.model) for o in algorithm.options if o.needed}
    if "inverse" in algorithm.option_names:
        options["inverse"] = True
    state = dict(zip(algorithm.inputs, random_state(robot, np.random.default_rng(0), 5), strict=False))
    loads = {"wrenches": np.random.default_rng(3).standard_normal((9, 6))} if algorithm.loads else {}
    expected = reference.evaluator.run(name, options, **loads, **state)
    found = robot.evaluator.run(name, options, **loads, **state)
    assert_close(found, expected, 1e-10)
    one = robot.evaluator.run(name, options, **loads, **{key: x[3] for key, x in state.items()})
    assert_close(one, expected[3], 1e-10)
    assert robot.evaluator.compiler.loops(name, options)
    assert not [w for w in recwarn if issubclass(w.category, kt.KinetreeWarning)]
