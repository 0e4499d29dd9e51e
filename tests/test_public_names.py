"""What ``kt.`` offers: all that is meant for users, nothing else; and what type checkers think of it."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kinetree as kt
from kinetree import errors

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md"] + [
    f"docs/{name}.md" for name in ("start", "building", "loops", "simulating", "control", "contact", "trajectories")
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def public(module):
    return [name for name in dir(module) if not name.startswith("_")]


@pytest.mark.parametrize("module", [kt, kt.gallery], ids=["kinetree", "gallery"])
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


def test_signatures_for_type_checkers_are_those_of_mechanisms():
    stub = ast.parse((ROOT / "src/kinetree/loops/signatures.pyi").read_text()).body[-1]
    listed = {f.name: f.args for f in stub.body}
    for name, args in listed.items():
        member = inspect.getattr_static(kt.Mechanism, name)
        if not inspect.isfunction(member):
            assert [a.arg for a in args.args] == ["self"]
            continue
        known = inspect.signature(member).parameters.values()
        by_name = [a.arg for a in args.kwonlyargs] + ([args.kwarg.arg] if args.kwarg else [])
        assert [p.name for p in known] == [a.arg for a in args.args] + by_name, name
        assert [p.name for p in known if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)] == by_name, name
    assert set(listed) == own(kt.Mechanism) - set(dir(kt.Robot))


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
@pytest.mark.parametrize("page", PAGES)
def test_code_of_pages_is_well_typed(page, tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "page.py"
    script.write_text("\n".join(BLOCK.findall((ROOT / page).read_text())))
    command = [sys.executable, "-m", "mypy", str(script)]  # as configured for the module "page"
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
