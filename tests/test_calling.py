"""What somebody meets who calls for speed: messages, warnings, compiling ahead of time, direct calls."""

import dataclasses
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree import compiled
from kinetree.engine import cache, machine


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
        "from kinetree.engine import machine\n"
        "robot = kt.Builder('ball').body('bob', 'base', kt.Spherical(), mass=1.0, com=(0, 0, -0.5)).build()\n"
        "real, asked = machine.assemble, []\n"
        "def assemble(text):\n"
        "    asked.append(1)\n"
        f"    if len(asked) == {failing}:\n"
        "        raise machine.CompilationError('no')\n"
        "    return real(text)\n"
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
    here = dataclasses.replace(machine.host(), lanes=0)
    monkeypatch.setattr(machine, "host", lambda: here)
    compiled.supported.cache_clear()
    try:
        with pytest.warns(kt.KinetreeWarning, match="no fused multiply-add vectors.*reference is used") as caught:
            assert arm().gravity_force(np.zeros((5, 2))).shape == (5, 2)
        assert [w.filename for w in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            arm().compile()  # said once
    finally:
        compiled.supported.cache_clear()


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
