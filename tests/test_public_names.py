"""What ``kt.`` offers: all that is meant for users, nothing else; and what type checkers think of it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kinetree as kt
from kinetree import errors
from kinetree.robot.loop_methods import LoopMethods

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md"] + [
    f"docs/{name}.md" for name in ("start", "building", "loops", "simulating", "control", "contact", "trajectories")
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def public(module):
    return [name for name in dir(module) if not name.startswith("_")]


@pytest.mark.parametrize("module", [kt, kt.gallery, kt.spatial], ids=["kinetree", "gallery", "spatial"])
def test_completion_shows_what_is_public_and_all_of_it_is_there(module):
    assert public(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_every_kind_of_error_and_warning_is_a_public_name():
    kinds = {n: k for n, k in vars(errors).items() if isinstance(k, type) and issubclass(k, Exception)}
    assert {n: getattr(kt, n) for n in kinds} == kinds


def test_packages_come_when_asked_for_in_a_fresh_session():
    asked = "kt.symbolic.function, kt.cost.fit, kt.codegen.codegen, kt.published.INVERSE, kt.errors, kt.view.play"
    code = (
        f"import sys, kinetree as kt; before = set(sys.modules); {asked}; print('kinetree.export.symbolic' in before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


def own(cls):
    return {name for name in vars(cls) if not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(own(LoopMethods)))
def test_a_robot_without_loops_has_none_of_them(name):
    robot = pendulum()
    assert not hasattr(robot, name)
    assert name not in dir(robot)
    assert name in dir(kt.Mechanism)
    with pytest.raises(kt.NoLoopsError, match=f"'pendulum' has no closed loops, so it has no '{name}': .*Builder.loop"):
        getattr(robot, name)


def pendulum():
    return kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()


def test_a_robot_without_loops_says_so():
    robot = pendulum()
    with pytest.raises(kt.NoLoopsError, match=r"'pendulum' has no closed loops, so it has no 'close'"):
        robot.close([0.0])
    assert not hasattr(robot, "constraint_names")
    with pytest.raises(AttributeError, match="'Robot' object has no attribute 'mas_matrix'") as caught:
        _ = robot.mas_matrix
    assert not isinstance(caught.value, kt.NoLoopsError)
    assert (caught.value.name, caught.value.obj) == ("mas_matrix", robot)  # from which Python suggests mass_matrix


@pytest.mark.slow
def test_code_of_pages_is_well_typed(tmp_path):
    pytest.importorskip("mypy")
    folder = tmp_path / "page"  # the package that mypy's configuration has words for
    folder.mkdir()
    (folder / "__init__.py").touch()
    for page in PAGES:
        script = folder / (re.sub(r"\W", "_", page.removesuffix(".md")) + ".py")
        script.write_text("\n".join(BLOCK.findall((ROOT / page).read_text())))
    assert len(list(folder.iterdir())) == len(PAGES) + 1
    command = [sys.executable, "-m", "mypy", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
