"""What somebody meets who calls for speed: messages, warnings, compiling ahead of time, direct calls."""

import _thread
import dataclasses
import io
import math
import pickle
import subprocess
import sys
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine import cache
from kinetree.engine.llvm import host
from kinetree.engine.trace import trace
from kinetree.io import progress
from kinetree.run import compiler
from kinetree.run.evaluator import Evaluator


def arm(name="arm"):
    builder = kt.Builder(name)
    builder.body("upper", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.01))
    builder.body("lower", "upper", kt.Revolute("x"), position=(0, 0, 0.6), mass=1.0, com=(0, 0, 0.2))
    return builder.build().with_backend("compiled")


def ball():
    return kt.Builder("ball").body("bob", "base", kt.Spherical(), mass=1.0, com=(0, 0, -0.5)).build()


# ------------------------------------------------------------------ what is no array of numbers


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([[0.1, 0.2], [0.3]], "q cannot be read .*: its rows have different lengths"),
        ("ab", "q cannot be read .*: there is text in it, 'ab'"),
        (["0.1", "0.2"], "q cannot be read .*: there is text in it, '0.1'"),
        (None, "q cannot be read .*: there is None in it"),
        (np.array([0.1, 0.2], dtype=object), r"its dtype is object; convert it with astype\(float\)"),
    ],
)
def test_what_is_no_array_of_numbers_is_said_in_words(given, reason):
    with pytest.raises(kt.ShapeError, match=reason):
        arm().gravity_force(given)


def test_symbols_are_sent_to_the_function_that_takes_them():
    sympy = pytest.importorskip("sympy")
    with pytest.raises(
        kt.ShapeError, match=r"symbols of sympy in it; kinetree.symbolic.function\(robot, name, 'sympy'"
    ):
        arm().gravity_force(sympy.symbols("a b"))


def test_traced_arrays_of_jax_are_sent_there_too():
    jax = pytest.importorskip("jax")
    with pytest.raises(kt.ShapeError, match="symbols of jax in it"):
        jax.jit(arm().gravity_force)(np.zeros(2))


@pytest.mark.parametrize(
    ("out", "reason"), [(np.empty((4, 2), dtype=int), "not int64"), ([[0.0, 0.0]] * 4, "not a list")]
)
def test_an_output_of_another_type_is_told_which(out, reason):
    with pytest.raises(
        kt.ShapeError, match=rf"out must be an array of floats, such as numpy.empty.*\(4, 2\).*, {reason}"
    ):
        arm().inverse_dynamics(*np.zeros((3, 4, 2)), out=out)


def test_a_quaternion_of_length_zero_is_named_with_its_place_in_the_batch():
    q = np.tile(ball().neutral(), (3, 1))
    q[2] = 0.0
    with pytest.raises(kt.StateError, match=r"'bob_joint' is zero \(batch index 2\)"):
        ball().normalize(q)


# ------------------------------------------------------------------ machine code that cannot be had


def test_a_backend_of_the_environment_is_named_as_such(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "gpu")
    with pytest.raises(kt.UnknownNameError, match=r"KINETREE_BACKEND in the environment.*'gpu'; known: compiled, ref"):
        kt.Builder("arm").body("a", "base", kt.Revolute("x"), mass=1.0).build()


@pytest.mark.parametrize("failing", range(1, 6))
def test_whatever_fails_to_compile_is_our_error_with_advice(failing, monkeypatch):
    """The guard of quaternions, the kernel, the entry point and its helpers: none shows LLVM's own error."""
    monkeypatch.setenv("KINETREE_CACHE", "off")
    program = (
        "import numpy as np, kinetree as kt\n"
        "from kinetree.engine.llvm import host as machine\n"
        "robot = kt.Builder('ball').body('bob', 'base', kt.Spherical(), mass=1.0, com=(0, 0, -0.5)).build()\n"
        "real, asked = machine.assemble, []\n"
        "def assemble(text, target):\n"
        "    asked.append(1)\n"
        f"    if len(asked) == {failing}:\n"
        "        raise machine.CompilationError('no')\n"
        "    return real(text, target)\n"
        "machine.assemble = assemble\n"
        "try:\n"
        "    robot.with_backend('compiled').inverse_dynamics(robot.neutral(), np.zeros(3), np.zeros(3))\n"
        "except kt.CompileError as problem:\n"
        "    print(problem)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "of 'ball' failed: no; robot.with_backend('reference')" in said.stdout, said.stdout + said.stderr


def test_the_advice_survives_pickling_once():
    problem = pickle.loads(pickle.dumps(kt.CompileError("compiling x failed")))
    assert str(problem).count("with_backend") == 1


def test_a_processor_without_vectors_warns_where_the_user_called(monkeypatch):
    here = dataclasses.replace(host.host(), lanes=0)
    monkeypatch.setattr(host, "host", lambda: here)
    compiler.supported.cache_clear()
    try:
        with pytest.warns(kt.KinetreeWarning, match="no vectors that.*reference is used") as caught:
            assert arm().gravity_force(np.zeros((5, 2))).shape == (5, 2)
        assert [w.filename for w in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            arm().compile()  # said once
    finally:
        compiler.supported.cache_clear()


def test_a_cache_that_cannot_be_used_is_one_of_our_warnings_at_the_users_line(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("KINETREE_CACHE", str(blocked / "cache"))
    monkeypatch.setattr(cache, "_warned", False)
    with pytest.warns(
        kt.CacheWarning, match="Set KINETREE_CACHE to a folder that can be written, or to 'off'"
    ) as caught:
        arm("an arm for the cache").gravity_force(np.zeros(2))
    assert [w.filename for w in caught] == [__file__]
    assert issubclass(kt.CacheWarning, kt.KinetreeWarning)


# ------------------------------------------------------------------ ahead of time, and straight to the code


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


def given(inputs, batch=()):
    values = np.random.default_rng(3).uniform(-1.0, 1.0, (3, *batch, 2))
    return [dict(zip("qva", values, strict=True))[name] for name in inputs]


@pytest.mark.parametrize("name", FRAMED)
def test_what_needs_options_is_compiled_ahead_of_time_and_then_called_straight(name, monkeypatch):
    inputs, options = FRAMED[name]
    robot, judge = arm(), arm().with_backend("reference")
    states = [given(inputs), given(inputs, (5,))]
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


def test_straight_calls_keep_frames_and_axes_apart_and_fall_back_on_python():
    robot, judge = arm(), arm().with_backend("reference")
    q = given("q")[0]
    for _ in range(3):
        for frame in ("upper", "lower"):
            for axes in ("body", "world", "aligned"):
                assert np.allclose(robot.jacobian(q, frame, axes), judge.jacobian(q, frame, axes), atol=1e-14)
    assert np.array_equal(robot.jacobian(list(q), "lower"), robot.jacobian(q, "lower"))
    assert robot.jacobian(np.tile(q, (2, 3, 1)), "lower").shape == (2, 3, 6, 2)
    assert np.iscomplexobj(robot.jacobian(q + 1e-30j, "lower"))
    many = given("q", (5000,))[0]
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
    robot = arm()
    for batch in ((), (70,)):
        state = given(inputs, batch)
        for _ in range(2):  # through Python, then straight
            plain = getattr(robot, name)(*state)
            out = np.empty_like(plain)
            assert getattr(robot, name)(*state, out=out, threads=2) is out
            assert np.array_equal(out, plain)
        with pytest.raises(kt.ShapeError, match="out must have shape"):
            getattr(robot, name)(*state, out=np.empty((*batch, 9)))


def test_after_compiling_ahead_of_time_not_even_the_first_call_goes_through_python(monkeypatch):
    robot = arm()
    robot.compile("forward_dynamics")
    nothing_more_is_compiled(monkeypatch)
    monkeypatch.setattr(Evaluator, "run", None)
    assert robot.forward_dynamics(*np.zeros((3, 2))).shape == (2,)
    assert robot.forward_dynamics(*np.zeros((3, 4, 2))).shape == (4, 2)


def test_compiling_ahead_of_time_only_one_form(monkeypatch):
    robot = arm()
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
        ("jacobian", kt.OptionError, "jacobian needs to know the frame: give frame=..., such as 'lower'"),
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
        arm().with_backend(backend).compile(request_)


def test_compiling_by_default_leaves_out_what_a_robot_has_no_answer_to():
    massless = kt.Builder("string").body("a", "base", kt.Revolute("x"), mass=0.0).build().with_backend("compiled")
    massless.compile()
    with pytest.raises(kt.SingularError):
        massless.compile("forward_dynamics")


# ------------------------------------------------------------------ the bar


def shown(monkeypatch, terminal, steps):
    """What a run in steps writes to standard error."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(written, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    monkeypatch.setenv("TERM", "xterm")
    progress.in_steps(steps, show=True)
    return written.getvalue()


def test_a_bar_appears_in_the_middle_of_one_long_step(monkeypatch, capsys):
    text = shown(monkeypatch, True, [("forward_dynamics of 'talos', batches", lambda: time.sleep(0.4))])
    assert "forward_dynamics of 'talos', batches" in text
    assert "0/1" in text
    assert capsys.readouterr().out == ""


def test_no_bar_for_short_work_nor_where_nobody_looks(monkeypatch, capsys):
    quick = ("quick", lambda: None)
    assert shown(monkeypatch, True, [quick, quick]) == ""
    assert shown(monkeypatch, False, [("slow", lambda: time.sleep(0.2))]) == ""
    assert capsys.readouterr().out == ""


def test_a_log_gets_one_line_about_long_work(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_OF_LOGS", 0.1)
    steps = [("poses", lambda: None), ("jacobians", lambda: time.sleep(0.3)), ("momenta", lambda: time.sleep(0.3))]
    assert shown(monkeypatch, False, steps) == "kinetree is compiling jacobians (2 of 3), once: the code is kept\n"


def test_the_bar_goes_away_when_a_step_fails(monkeypatch):
    def fail():
        time.sleep(0.3)
        raise ValueError("no")

    before = _thread._count()
    with pytest.raises(ValueError, match="no"):
        shown(monkeypatch, True, [("fails", fail)])
    with suppress(ValueError):
        shown(monkeypatch, True, [("fails at once", lambda: int("x"))])
    time.sleep(0.1)
    assert _thread._count() <= before


@pytest.mark.parametrize("given", [RuntimeError("can't start new thread"), None])
def test_work_goes_on_where_threads_cannot_start_or_never_begin(monkeypatch, given):
    def start(*args):
        if given:
            raise given

    monkeypatch.setattr(_thread, "start_new_thread", start)
    assert progress.in_steps([("one", lambda: 1), ("two", lambda: 2)], show=True) == [1, 2]


# ------------------------------------------------------------------ loads


@pytest.mark.parametrize("batch", [(), (7,), (2, 3)])
def test_loads_given_in_the_world_are_turned_by_machine_code(batch, monkeypatch):
    robot, judge = arm(), arm().with_backend("reference")
    state = given("qva", batch)
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
    robot, judge = arm(), arm().with_backend("reference")
    push = kt.Wrench(force=(1.0, -2.0, 3.0), point=(0.2, 0.1, 0.4), axes="world", point_axes="world")
    forms = [{"lower": push}, {"upper": np.arange(6.0)}, {"lower": [push] * 2, "upper": push}, {"lower": [push] * 3}]
    forms += [np.arange(12.0).reshape(2, 6), {"lower": [push, np.ones(6)]}, {"base": push}]
    for batch in ((), (5,), (5,)):
        state = given("qva", batch)
        for name in ("inverse_dynamics", "forward_dynamics"):
            for wrenches in forms:
                found, expected = (getattr(r, name)(*state, wrenches) for r in (robot, judge))
                assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
            loaded = [key[2] for key in robot.evaluator.compiler._kernels if key[0] == name and key[2]]
            assert len(loaded) == 3  # the first two forms, and forces on all bodies


def test_numbers_of_wrenches_are_not_kept():
    robot = arm()
    wrench = np.ones((5, 6))
    before = sys.getrefcount(wrench)
    for _ in range(3):
        robot.inverse_dynamics(*given("qva", (5,)), {"lower": wrench})
    assert sys.getrefcount(wrench) == before


def test_arguments_by_name_and_options_go_straight_too(monkeypatch):
    robot = arm()
    q, v, a = given("qva", ())
    expected = robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a, method="composite_body")
    monkeypatch.setattr(Evaluator, "run_checked", None)
    assert np.array_equal(robot.inverse_dynamics(q=q, v=v, a=a), expected[0])
    assert np.array_equal(robot.forward_dynamics(q, v, a, method="composite_body"), expected[1])


def test_batches_of_wrenches_that_do_not_fit_are_named():
    batches = kt.Wrench(force=np.zeros((2, 3)), moment=np.zeros((4, 3)))
    with pytest.raises(kt.ShapeError, match=r"force of wrench 0, on 'lower': \(2,\), moment of wrench 0.*: \(4,\)"):
        arm().inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], {"lower": batches})


# ------------------------------------------------------------------ functions of one's own


def test_functions_of_the_module_math_are_refused_with_what_to_use():
    with pytest.raises(TypeError, match=r"not known yet: use kinetree's sin\(\), cos\(\).*instead of math's"):
        trace(lambda x: [math.sin(x[0])], [1], list)
    with pytest.raises(TypeError, match=r"use kinetree's where\(\) instead of if"):
        trace(lambda x: [x[0] if x[0] > 0 else 0.0], [1], list)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_an_output_whose_entries_share_memory_is_refused(backend):
    robot = arm().with_backend(backend)
    state = given("qva", (5,))
    expected = robot.inverse_dynamics(*state)
    shared = np.lib.stride_tricks.as_strided(np.zeros(6), (5, 2), (8, 8))
    with pytest.raises(kt.ShapeError, match=r"entries of out share memory \(strides \(8, 8\)\)"):
        robot.inverse_dynamics(*state, out=shared)
    room = np.zeros((10, 6))
    for apart in (room[::2, ::3], room[::-2, 1:3], room.T[2:4, :5].T, np.asfortranarray(room[:5, :2])):
        robot.inverse_dynamics(*state, out=apart)
        assert np.array_equal(apart, expected)


def test_masked_entries_are_refused():
    robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    q = np.ma.masked_array([[0.1], [0.2]], mask=[[False], [True]])
    with pytest.raises(kt.ShapeError, match="q has masked entries; fill them"):
        robot.gravity_force(q)
    np.testing.assert_array_equal(robot.gravity_force(q[:1]), robot.gravity_force([[0.1]]))


def test_the_first_call_does_not_import_what_it_does_not_need():
    """Masked arrays alone would make a start from the cache half as long again."""
    program = (
        "import sys, numpy as np, kinetree as kt\n"
        "robot = kt.Builder('p').body('b', 'base', kt.Revolute('y'), mass=1, com=(0, 0, -1)).build()\n"
        "robot.inverse_dynamics(np.zeros((4, 1)), np.zeros((4, 1)), np.zeros((4, 1)))\n"
        "print([m for m in ('numpy.ma', 'rich', 'scipy', 'kinetree.simulation') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
