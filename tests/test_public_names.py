"""What ``kt.`` offers: all that is meant for users, nothing else; and what type checkers think of it."""

import inspect
import re
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

import kinetree as kt
from kinetree import errors
from kinetree.robot.loop_methods import LoopMethods

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md"] + [
    f"docs/{name}.md" for name in ("start", "building", "loops", "simulating", "control", "contact", "trajectories")
]
BLOCK = re.compile(r"^```python\n(?!>>>)(.*?)^```", re.MULTILINE | re.DOTALL)


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
    asked = "kt.symbolic.function, kt.costs.fit, kt.c_code.codegen, kt.published.INVERSE, kt.errors, kt.view.play"
    code = (
        f"import sys, kinetree as kt; before = set(sys.modules); {asked}; print('kinetree.export.symbolic' in before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


def namespaces():
    """Return all public modules by their addresses, ``kt`` first."""
    found, waiting = {}, [("kt", kt)]
    while waiting:
        address, module = waiting.pop()
        if module not in found.values():
            found[address] = module
            names = [name for name in module.__all__ if isinstance(getattr(module, name), ModuleType)]
            waiting += [(f"{address}.{name}", getattr(module, name)) for name in names]
    return found


def test_every_public_object_has_one_address():
    places = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        for address, module in namespaces().items():
            for name in module.__all__:
                if not isinstance(value := getattr(module, name), (int, str, tuple)):
                    places[id(value)].append(f"{address}.{name}")
    assert len(places) > 300
    assert not [where for where in places.values() if len(where) > 1]


def former_addresses():
    """Return names that packages had once, each with where it is now."""
    lazy = (module for module in (kt, kt.contact, kt.identification, kt.simulation, kt.sweeps))
    return [(module, name, now) for module in lazy for name, now in module._NAMES.former.items()]


@pytest.mark.parametrize(("module", "name", "now"), former_addresses(), ids=lambda x: getattr(x, "__name__", x))
def test_former_addresses_are_found_with_a_warning(module, name, now, monkeypatch):
    monkeypatch.delitem(vars(module), name, raising=False)  # of a former module that another test has imported
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match=f"{module.__name__}.{name} is now {now};"):
            found = getattr(module, name)
    assert found is eval(now, {"kinetree": kt})
    assert name not in dir(module)


def signatures():
    """Return the signatures of all public functions, classes and their methods, by address."""
    for address, module in namespaces().items():
        for name in module.__all__:
            value = getattr(module, name)
            members = inspect.getmembers(value, callable) if isinstance(value, type) else []
            of_it = [(f"{name}.{key}", x) for key, x in members if not key.startswith("_")]
            for key, x in [(name, value), *of_it]:
                if callable(x) and not isinstance(x, ModuleType):
                    try:
                        yield f"{address}.{key}", inspect.signature(x).parameters
                    except ValueError:  # what is written in C has none
                        continue


def test_starts_guesses_and_samples_have_one_word_each():
    seen = defaultdict(set)
    for address, parameters in signatures():
        for word in parameters:
            seen[word].add(address.removeprefix("kt."))
    assert not {"near", "guess", "x_guess", "base_velocity", "q_start", "q_init"} & seen.keys()
    assert {"simulate", "simulate_rigid", "simulate_prescribed", "World", "Simulator.run"} <= seen["q0"] & seen["v0"]
    assert {"Mechanism", "Mechanism.close", "inverse_kinematics", "identify", "sweeps.Forces"} <= seen["q_guess"]
    assert {"simulate", "Simulator.run", "sweeps.Simulations", "sweeps.Forces"} <= seen["samples"]
    assert seen["output"] == {"sweep", "sweeps.run", "sweeps.over_table", "sweeps.TableDone", "design.Function"}
    assert seen["base"] == {"Builder", "from_dh", "published.StepTable"}
    assert seen["initial"] == {"sweeps.SweepResult.reduce"}
    ways = (".index", ".rod", ".Gait", ".straight_line", ".Line", ".SwingBetween")
    assert not {x for x in seen["start"] if not x.endswith(ways)}
    assert not {x for x in seen["begin"] if not x.startswith("trajectories.") and not x.endswith((".kinks", "endless"))}
    assert not {x for x in seen["record"] if not x.endswith((".books", "Error", ".of_record", "MovedBatch"))}


def test_a_module_and_a_method_have_different_names():
    modules = {name for name in kt.__all__ if type(getattr(kt, name)) is ModuleType}
    assert modules & {*dir(kt.Robot), *dir(kt.Mechanism)} == {"shapes"}  # robot.shapes are made of kt.shapes


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
