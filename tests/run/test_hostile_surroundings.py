"""Robots where machine code is not wanted or fails: the reference with one warning, or our own error."""

import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.llvm import host

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
