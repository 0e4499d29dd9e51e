"""Machine code or the reference: what the environment, processor, memory and cache allow."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers.programs import run_alone
from helpers.robots import floating_pair, gripper, random_state, two_links
from kinetree.engine import cache
from kinetree.engine.llvm import host
from kinetree.evaluation import processor


@pytest.mark.parametrize("value", ["~nobody-has-this-name/cache", None])
def test_without_a_home_there_is_no_cache_but_an_answer(value):
    program = """
        import pathlib
        def homeless(self):
            raise RuntimeError("Could not determine home directory.")
        pathlib.Path.expanduser = homeless
        pathlib.Path.home = classmethod(homeless)
        from helpers.robots import arm
        print(arm().gravity_force([0.1, 0.2, 0.3]).shape)
    """
    answer, errors = run_alone(program, KINETREE_CACHE=value, XDG_CACHE_HOME=None)
    assert answer == "(3,)"
    assert errors.count("KINETREE_CACHE") == 1


def test_an_empty_backend_in_the_environment_means_the_default(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "")
    assert floating_pair().backend == "compiled"


def test_a_backend_of_the_environment_is_named_as_such(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "gpu")
    with pytest.raises(kt.UnknownNameError, match=r"KINETREE_BACKEND in the environment.*'gpu'; known: compiled, ref"):
        kt.Builder("arm").body("a", "base", kt.Revolute("x"), mass=1.0).build()


@pytest.mark.parametrize("failing", range(1, 7))
def test_whatever_fails_to_compile_is_our_error_with_advice(failing, monkeypatch):
    """The guard of quaternions, the kernel, the entry point and its helpers: none shows LLVM's own error."""
    monkeypatch.setenv("KINETREE_CACHE", "off")
    program = (
        "import numpy as np, kinetree as kt\n"
        "from kinetree.engine.llvm import host\n"
        "from kinetree.engine.llvm.kept_memory import FUNCTIONS\n"
        "robot = kt.Builder('ball').body('bob', 'base', kt.Spherical(), mass=1.0, com=(0, 0, -0.5)).build()\n"
        "real, asked = host.assemble, []\n"
        "def assemble(text, target):\n"
        "    if all(f'@{name}' in text for name in FUNCTIONS):\n"
        "        return real(text, target)\n"  # which large results do without
        "    asked.append(1)\n"
        f"    if len(asked) == {failing}:\n"
        "        raise host.CompilationError('no')\n"
        "    return real(text, target)\n"
        "host.assemble = assemble\n"
        "try:\n"
        "    robot = robot.with_backend('compiled')\n"
        "    robot.inverse_dynamics(robot.neutral(), np.zeros(3), np.zeros(3))\n"
        "    robot.inverse_dynamics(np.tile(robot.neutral(), (9, 1)), np.zeros((9, 3)), np.zeros(3))\n"
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
    processor.supported.cache_clear()
    try:
        with pytest.warns(kt.KinetreeWarning, match="no vectors that.*reference is used") as caught:
            assert two_links().gravity_force(np.zeros((5, 2))).shape == (5, 2)
        assert [w.filename for w in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            two_links().compile()  # said once
    finally:
        processor.supported.cache_clear()


def test_a_cache_that_cannot_be_used_is_one_of_our_warnings_at_the_users_line(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("KINETREE_CACHE", str(blocked / "cache"))
    monkeypatch.setattr(cache, "_warned", False)
    with pytest.warns(
        kt.CacheWarning, match="Set KINETREE_CACHE to a folder that can be written, or to 'off'"
    ) as caught:
        two_links("an arm for the cache").gravity_force(np.zeros(2))
    assert [w.filename for w in caught] == [__file__]
    assert issubclass(kt.CacheWarning, kt.KinetreeWarning)


REFUSING = """
import ctypes, sys, warnings
import numpy as np
import kinetree as kt

if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE: what was written is never executed
    print("this kernel does not know that")
    sys.exit()
builder = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=2, com=(0, 0, -0.5))
q = np.linspace(-1.0, 1.0, 40)[:, None]
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for robot in (builder.build().with_backend("compiled") for _ in range(2)):
        robot.compile()
        for _ in range(2):
            for threads in (1, 2):
                np.testing.assert_allclose(robot.gravity_force(q, threads=threads), 9.81 * np.sin(q), rtol=1e-12)
            np.testing.assert_allclose(robot.gravity_force(q[0]), 9.81 * np.sin(q[0]), rtol=1e-12)
print(*(f"{w.category.__name__}: {w.message}" for w in seen), sep="\\n")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="done with Linux's own means")
@pytest.mark.skipif(not host.host().supported, reason="no machine code here")
def test_where_code_may_not_be_made_the_reference_is_used_with_one_warning():
    found = subprocess.run([sys.executable, "-c", REFUSING], capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stderr
    if "does not know" in found.stdout:
        pytest.skip(found.stdout)
    (line,) = found.stdout.splitlines()
    assert line.startswith("KinetreeWarning: ")
    assert "does not let programs make memory executable" in line
    assert line.endswith("the slower reference is used instead")


@pytest.mark.skipif(not host.host().supported, reason="no machine code here")
def test_code_that_cannot_be_loaded_is_our_error_with_the_name_of_the_algorithm(monkeypatch):
    def fail(*args):
        raise RuntimeError("no room for code\nand a page of LLVM")

    builder = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=2, com=(0, 0, -0.5))
    robot = builder.build().with_backend("compiled")
    with monkeypatch.context() as broken:
        broken.setattr(host, "_linker", fail)
        for call in (
            lambda: robot.gravity_force([0.3]),
            lambda: robot.gravity_force(np.ones((9, 1)), threads=2),
            lambda: robot.compile("gravity_force"),
        ):
            with pytest.raises(kt.CompileError, match=r"gravity_force of 'pendulum' .*no room for code; .*reference"):
                call()
    assert robot.gravity_force([0.3]) == pytest.approx(9.81 * np.sin(0.3))  # nothing half-made is left


def test_complex_numbers_go_to_the_reference():
    robot = gripper().with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(0))
    step = robot.inverse_dynamics(q + 1e-30j * np.eye(4)[0], v, a)
    assert np.iscomplexobj(step)


def test_a_processor_without_vectors_falls_back_with_one_warning():
    program = textwrap.dedent("""
        import warnings, numpy as np
        from kinetree.engine.llvm import host as machine
        machine.host = lambda: machine.Machine("i486", "", 0, "1")
        import kinetree as kt
        robot = kt.Builder("p").body("b", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert abs(abs(robot.gravity_force([np.pi / 2])[0]) - 9.81) < 1e-12
            robot.gravity_force([0.1])
        assert len(found) == 1 and "i486" in str(found[0].message), [str(f.message) for f in found]
    """)

    environment = {**os.environ, "KINETREE_BACKEND": "compiled"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
