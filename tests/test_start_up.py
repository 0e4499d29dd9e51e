"""What importing and the first call import: no more than they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kinetree as kt


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


def test_importing_kinetree_imports_neither_simulation_nor_scipy():
    """What a script that only computes torques would wait for in vain."""
    late = ("scipy", "kinetree.simulation", "kinetree.gallery")
    code = f"import sys, kinetree; print([m for m in {late} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert {"simulate", "gallery", "trajectories"} <= set(dir(kt))
    assert kt.simulate is kt.simulation.simulate
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = kt.simulat
