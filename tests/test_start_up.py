"""What importing and the first call import: no more than they need."""

from __future__ import annotations

import os
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
    late = (
        "scipy",
        "kinetree.simulation",
        "kinetree.gallery",
        "kinetree_gallery",
        "kinetree_programs",
        "kinetree_studio",
        "kinetree_learning",
        "kinetree_optimize",
        "kinetree_design",
        "kinetree_sweeps",
        "kinetree_books",
    )
    code = f"import sys, kinetree; print([m for m in {late} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert {"simulate", "gallery", "trajectories"} <= set(dir(kt))
    assert kt.simulate is kt.simulate
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = kt.simulat


def modules_of(program: str, tmp_path) -> set[str]:
    """Modules of kinetree that a program has imported in the end."""
    tell = "print(*[m for m in sys.modules if m.startswith(('kinetree', 'pyarrow'))])"
    code = f"import sys, numpy as np, kinetree as kt\n{program}\n{tell}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    return set(done.stdout.split())


PENDULUM = "robot = kt.Builder('p').body('b', 'base', kt.Revolute('y'), mass=1, com=(0, 0, -1)).build()\n"


@pytest.mark.parametrize(
    ("program", "most"),
    [("", 10), (PENDULUM, 180), (PENDULUM + "kt.simulate(robot, [0.5], time=0.01, progress=False)", 240)],
)
def test_a_program_imports_little_and_no_file_format_without_a_file(program, most, tmp_path):
    """The budgets are those of today: who needs more says why."""
    found = modules_of(program, tmp_path)
    assert len(found) <= most
    assert not [name for name in found if name.startswith("kinetree.model.formats")]


def test_a_sweep_of_a_function_needs_no_file_format_and_no_gallery(tmp_path):
    program = "kt.sweep(lambda row: {'y': row['x'] ** 2}, {'x': [1.0, 2.0, 3.0]}, progress=False)"
    found = modules_of(program, tmp_path)
    assert len(found) <= 45
    assert "pyarrow" not in found
    unwanted = (
        "kinetree.model",
        "kinetree.robot",
        "kinetree.gallery",
        "kinetree_gallery",
        "kinetree_programs",
        "kinetree_studio",
        "kinetree_learning",
        "kinetree_optimize",
        "kinetree_design",
        "kinetree_books",
    )
    assert not [name for name in found if name.startswith(unwanted)]


@pytest.mark.parametrize("asked", ["--version", "--help"])
def test_the_command_line_imports_no_command_before_it_is_asked_for(asked, tmp_path):
    code = (
        "import sys\nfrom kinetree.cli.app import app\n"
        f"try: app(['{asked}'])\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'kinetree.robot', 'kinetree.cli.simulate') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "answer", "most"),
    [
        ("kinetree simulate kuka-kr5 --locked joint_1", "joint_1=", 118),
        ("kinetree simulate kuka-kr5 --q0 joint_1", "joint_1=", 118),
        ("kinetree simulate four-bar --over cr", "crank_joint", 118),
        ("kinetree simulate kuka-kr5 --integ", "--integrator", 80),
        ("kinetree inverse four-bar --speed cr", "crank_joint=", 102),
        ("kinetree info kuka-kr5 --locked joint_1", "joint_1=", 99),
    ],
)
def test_completing_an_option_imports_no_simulation(words, answer, most, tmp_path):
    """The budgets are those of today: each Tab imports them anew."""
    code = (
        "import sys\nsys.argv = ['kinetree']\nfrom kinetree.cli.app import app\n"
        "try: app(prog_name='kinetree')\nexcept SystemExit: pass\n"
        "print(*[m for m in sys.modules if m.startswith(('kinetree', 'scipy'))])"
    )
    typed = {"_KINETREE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ | typed
    )
    *found, modules = done.stdout.splitlines()
    assert found == [answer]
    assert len(modules.split()) <= most
    unwanted = {"scipy", "kinetree.robot", "kinetree.simulation.simulator", "kinetree.studies.simulation_setup"}
    assert not unwanted & {*modules.split()}


def processor_time(code: str, environment: dict[str, str]) -> float:
    """Seconds of the processor that a Python program takes, the least of three runs: others may keep it busy."""
    tell = "\nimport time, sys; sys.stderr.write(str(time.process_time()))"
    asked = f"try:\n    from kinetree.cli.app import app\n    app(prog_name='kinetree')\nexcept SystemExit: pass{tell}"
    return min(
        float(
            subprocess.run(
                [sys.executable, "-c", f"import sys\nsys.argv = ['kinetree', {code}]\n{asked}"],
                capture_output=True, text=True, check=True, env=os.environ | environment,
            ).stderr
        )
        for _ in range(3)
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "environment", "most"),
    [
        ("'--version'", {}, 0.4),
        ("", {"_KINETREE_COMPLETE": "complete_bash", "COMP_WORDS": "kinetree info ku", "COMP_CWORD": "2"}, 0.5),
        ("", {"_KINETREE_COMPLETE": "complete_bash", "COMP_WORDS": "kinetree run fo", "COMP_CWORD": "2"}, 0.5),
        ("", {"_KINETREE_COMPLETE": "complete_bash", "COMP_WORDS": "kinetree codegen x -a in", "COMP_CWORD": "4"}, 0.5),
    ],
    ids=["version", "robots", "studies", "algorithms"],
)
def test_the_command_line_starts_at_once(code, environment, most):
    assert processor_time(code, environment) <= most
