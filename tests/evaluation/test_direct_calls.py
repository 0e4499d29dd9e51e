"""Calls that go straight to machine code: every way to call gives the same numbers and the same refusals."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, floating_pair, gripper, random_state, random_tree, two_links, two_links_state
from kinetree.algorithms.table import find
from kinetree.evaluation.direct_methods import DirectMethod
from kinetree.evaluation.evaluator import Evaluator


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


def compare(robot, calls, n=11, tolerance=1e-11):
    compiled = robot.with_backend("compiled")
    reference = robot.with_backend("reference")
    q, v, a = random_state(robot, np.random.default_rng(5), n)
    for name, call in calls.items():
        expected = call(reference, q, v, a)
        batch = call(compiled, q, v, a)
        try:
            assert_close(batch, expected, tolerance, scale=max(float(np.abs(expected).max()), 1e-2))
            assert_close(call(compiled, q, v, a), batch, 0.0)  # now through the entry point, where there is one
            single = call(compiled, q[3], v[3], a[3])
            assert_close(single, batch[3], 0.0)
        except AssertionError as problem:
            raise AssertionError(f"{name}: {problem}") from None


def test_wrenches_friction_and_threads():
    robot = random_tree(np.random.default_rng(8), 5, floating=True)
    rng = np.random.default_rng(0)
    moving = rng.standard_normal((11, 6))
    push = kt.Wrench(force=(1, 2, 3), moment=(0.1, 0, 0), point=(0.2, 0, 0), axes="world")

    def loads(q):
        return {"f4": moving if q.ndim > 1 else moving[3], "b2": push, "base": push}

    compare(robot, {
        "inverse": lambda r, q, v, a: r.inverse_dynamics(q, v, a, loads(q)),
        "forward": lambda r, q, v, a: r.forward_dynamics(q, v, a, loads(q), friction=True),
        "threads": lambda r, q, v, a: r.inverse_dynamics(q, v, a, threads=3),
    })  # fmt: skip


def test_quaternion_and_gimbal_lock_are_watched_in_machine_code_too():
    builder = kt.Builder("two balls")
    builder.body("a", "base", kt.Spherical(), mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    builder.body("b", "a", kt.EulerSpherical("ZYZ"), mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    robot = builder.build().with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(0), 30)
    robot.inverse_dynamics(q, v, a)
    robot.inverse_dynamics(q[0], v[0], a[0])
    assert type(robot.inverse_dynamics).__name__ == "builtin_function_or_method"
    long = q.copy()
    long[17, :4] *= 1.0 + 3e-6
    with pytest.raises(kt.StateError, match=r"'a_joint'.*batch index 17"):
        robot.inverse_dynamics(long, v, a)
    with pytest.raises(kt.StateError, match="a_joint"):
        robot.inverse_dynamics(long[17], v[17], a[17])
    robot.inverse_dynamics(robot.normalize(long), v, a)
    locked = q.copy()
    locked[5, 5] = 1e-5
    with pytest.warns(kt.SingularityWarning, match=r"b_joint.*index 5"):
        tau = robot.inverse_dynamics(locked, v, a)
    assert np.isfinite(tau).all()
    with pytest.warns(kt.SingularityWarning, match="b_joint"):
        robot.inverse_dynamics(locked[5], v[5], a[5])


def test_out_and_bad_arguments():
    robot = gripper().with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(0), 6)
    out = np.zeros((6, 4))
    for _ in range(2):  # through Python, then straight
        assert robot.inverse_dynamics(q, v, a, out=out) is out
        with pytest.raises(kt.ShapeError, match=r"\(6, 4\)"):
            robot.inverse_dynamics(q, v, a, out=np.zeros((4, 6)))
        with pytest.raises(kt.ShapeError, match="v must have shape"):
            robot.inverse_dynamics(q, v[:, :3], a)
        with pytest.raises(kt.ShapeError, match="batches do not fit"):
            robot.inverse_dynamics(q, v[:4], a)
        assert robot.inverse_dynamics(list(q[0]), v[0].tolist(), a[0]).shape == (4,)
        assert robot.inverse_dynamics(q.astype(np.float32), v, a).dtype == float
        with pytest.raises(TypeError):
            robot.inverse_dynamics(q, v)


@pytest.mark.parametrize("name", [n for n, method in vars(kt.Robot).items() if isinstance(method, DirectMethod)])
def test_built_in_methods_say_what_they_take(name):
    robot = floating_pair().with_backend("compiled")
    method = getattr(robot, name)
    expected = [p.replace(annotation=p.empty) for p in inspect.signature(method).parameters.values()]
    doc = method.__doc__
    q, v, a = random_state(robot, np.random.default_rng(6))
    state, algorithm = {"q": q, "v": v, "a": a, "tau": a}, find(name)
    options = {option.name: option.example(robot.model) for option in algorithm.options if option.needed}
    method(*(state[x] for x in algorithm.inputs), **options)
    quick = getattr(robot, name)
    assert inspect.isbuiltin(quick)
    assert list(inspect.signature(quick).parameters.values()) == expected
    assert inspect.getdoc(quick) == inspect.cleandoc(doc)
