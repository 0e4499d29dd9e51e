"""Rules of the house that import-linter has no words for; docs/architecture.md says why each is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("architecture")  # one process reads all files, once

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kinetree"
PACKAGES = (
    PACKAGE,
    ROOT / "gallery" / "kinetree_gallery",
    ROOT / "programs" / "kinetree_programs",
    ROOT / "studio" / "kinetree_studio",
    ROOT / "learning" / "kinetree_learning",
    ROOT / "optimize" / "kinetree_optimize",
    ROOT / "design" / "kinetree_design",
    ROOT / "sweeps" / "kinetree_sweeps",
    ROOT / "gallery" / "kinetree_books",
)

MOST_LINES, MOST_LINES_WITH_REASON = 700, 900
MOST_FILES = 20

LARGER_WITH_REASON: dict[str, str] = {
    "algorithms": "one recursion per file, so that the file is found by the algorithm's name",
    "cli": "one command per file",
    "kinetree_design": "an analysis, a search or a kind of goals per file",
    "model/formats": "a format, or a part of one, per file",
    "kinetree_programs/matlab/evaluate.py": "one interpreter, a method for each kind of node",
    "robot/robot.py": "one class of one subject: how robots are made, changed, exported and compiled",
}
"""Modules above the limit of lines and folders above the limit of files, each with its reason.

A class that is one subject may take up to 900 lines: cutting it into a ladder of bases hides more than it shows.
"""

IMPORTED_LATE: dict[str, str] = {
    "cli": "a command imports what it needs when it runs, so that the others start at once",
    "errors.py": "kinds of arguments, which only a call that has failed asks for, and NumPy with them",
    "export/symbolic/__init__.py": "SymPy, JAX and CasADi are extras: each is imported when it is asked for",
    "export/symbolic/parameters.py": "the same",
    "loops/loops_class/inverse_dynamics.py": "the recursion between subsystems, which most programs never ask for",
    "motion/inverse_geometry/closed_form.py": "SymPy is an extra",
    "model/shape_builder.py": "shapes, which most robots do not have",
    "model/tree.py": "the same",
    "model/shapes/by_name.py": "kinds of shapes, for the first shape of a file",
    "parameters": "the same",
    "control/base.py": "laws for C, which most programs never ask for",
    "robot/base_parameters.py": "base parameters bring SciPy with them, and most programs never ask for them",
    "robot/description.py": "the writers of files, as robot/load.py its readers",
    "robot/kinematics.py": "distances of shapes, which most programs never ask for",
    "robot/dynamics.py": "what finds the books' matrices, which are for teaching",
    "robot/make.py": "what closes loops, which robots without any do without",
    "robot/loop_methods.py": "platforms, which most programs never ask for",
    "robot/load.py": "the readers of files: a robot that is built in code needs none",
    "robot/robot.py": "exports, actuation and locked joints, which most programs never ask for",
    "evaluation/large_trees/__init__.py": "loops over bodies, for the first large tree",
    "simulation/arguments.py": "forces of the user's own; and rigid contacts, for a message",
    "simulation/integrators/adaptive.py": "SUNDIALS is an extra",
    "simulation/integrators/steps_on_arrays.py": "large trees",
    "simulation/options.py": "names of other libraries, for a message: the command line completes without robots",
    "simulation/run_warnings/unheld.py": "shapes of the robot's file, for a message",
    "simulation/records/energy_balance.py": "tables as text, for who prints them",
    "simulation/records/record.py": "files, tables and pictures of records, which most programs never ask for",
    "simulation/run.py": "steppers of mechanisms, which trees do without",
    "simulation/simulator.py": "contact laws, sampled controllers and batches: where there are any",
    "simulation/step_budget.py": "sampled controllers, for a message",
    "kinetree_sweeps/running.py": "study files, robots and simulations, which the sweep of a function does without",
    "kinetree_sweeps/motion_tables/dynamics_by_rows.py": "splines and filters of SciPy, which only positions need",
    "__init__.py": "names of other libraries, for the message about a name that there is not",
    "lazy_names.py": "the same",
}
"""Files and folders that import modules of kinetree inside functions, each with its reason."""


@cache
def trees() -> dict[Path, ast.Module]:
    files = [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    return list(ast.walk(tree))


def inside(path: Path) -> Path:
    """Return a file as an import sees it, from the name of its package on."""
    return path.relative_to(next(package.parent for package in PACKAGES if path.is_relative_to(package)))


def shown(path: Path) -> str:
    """Return a file by its room, ``robot/load.py``; those of other packages begin with the name of the package."""
    return inside(path).as_posix().removeprefix("kinetree/")


def module_of(path: Path) -> tuple[str, ...]:
    parts = inside(path).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported_from(path: Path, node: ast.ImportFrom) -> tuple[str, ...] | None:
    """Return the parts of the absolute name of the module that a statement imports from; None for other libraries."""
    named = tuple((node.module or "").split(".")) if node.module else ()
    if node.level == 0:
        return named if named[0] in {package.name for package in PACKAGES} else None
    here = module_of(path)
    package = here if path.stem == "__init__" else here[:-1]
    return (*package[: len(package) - node.level + 1], *named)


def is_private(name: str) -> bool:
    """Return whether a name is private; what named tuples call so is public."""
    return name.startswith("_") and not name.startswith("__") and name not in ("_asdict", "_fields", "_replace")


def inside_functions(tree: ast.Module) -> list[ast.ImportFrom]:
    functions = [node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node for function in functions for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]


def test_no_private_name_is_imported_from_another_module():
    found = [
        f"{shown(path)}:{node.lineno}: {alias.name}"
        for path, tree in trees().items()
        for node in nodes(tree)
        if isinstance(node, ast.ImportFrom) and imported_from(path, node) is not None
        for alias in node.names
        if is_private(alias.name)
    ]
    assert not found, "\n".join(found)


CIRCLES: dict[str, str] = {
    "kinetree.simulation.records.files": "files know records, and a record is saved by a method of its own",
    "kinetree.simulation.records.record": "the same",
}
"""Modules that do so all the same, each with its reason."""


def test_no_modules_import_one_another_in_a_circle():
    """Those inside functions count, too, but not those for types; packages only name what their modules have."""
    known = {module_of(path): path for path in trees() if path.name != "__init__.py"}
    edges: dict[tuple[str, ...], set[tuple[str, ...]]] = {module: set() for module in known}
    for module, path in known.items():
        tree = trees()[path]
        for_types = {
            inner
            for node in nodes(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in nodes(tree):
            source = imported_from(path, node) if isinstance(node, ast.ImportFrom) else None
            if source is not None and node not in for_types:
                named = {(*source, alias.name) for alias in node.names}
                edges[module] |= (named & known.keys()) or ({source} & known.keys())
    left = set(known)
    while free := {m for m in left if not edges[m] & left or not any(m in edges[other] for other in left)}:
        left -= free  # what imports nothing that is left, and what nothing that is left imports
    assert {".".join(module) for module in left} == CIRCLES.keys()


def own_private_names(tree: ast.Module) -> set[str]:
    """Return the private attributes that a file defines: what it may use on any object."""
    defined = set()
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            defined.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined.add(node.target.id)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
    return defined


def test_no_private_attribute_of_another_package_is_used():
    """Look at ``thing._name``: the name must be of the same folder, or of ``self`` (a base class may be elsewhere)."""
    by_folder: dict[Path, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        by_folder[path.parent] |= own_private_names(tree)
    everywhere = set().union(*by_folder.values())
    foreign = {folder: everywhere - own for folder, own in by_folder.items()}
    found = [
        f"{shown(path)}:{node.lineno}: {ast.unparse(node)}"
        for path, tree in trees().items()
        for node in nodes(tree)
        if isinstance(node, ast.Attribute)
        and is_private(node.attr)
        and node.attr in foreign[path.parent]
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]
    assert not found, "\n".join(found)


def test_imports_inside_functions_are_those_with_a_reason():
    found = {
        f"{shown(path)}:{node.lineno}": shown(path)
        for path, tree in trees().items()
        for node in inside_functions(tree)
        if imported_from(path, node) is not None
    }
    allowed = {place for place, path in found.items() if path in IMPORTED_LATE or path.split("/")[0] in IMPORTED_LATE}
    assert not found.keys() - allowed, "\n".join(sorted(found.keys() - allowed))
    needed = set(found.values()) | {path.split("/")[0] for path in found.values()}
    assert not IMPORTED_LATE.keys() - needed, "reasons without need"


def test_every_module_is_imported_by_another():
    """Count imports, and the names of modules in strings; the gallery finds systems and studies by their names."""
    known = {module_of(path): path for path in trees()}
    used: set[tuple[str, ...]] = set()
    stubs = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.pyi")}
    for path, tree in (trees() | stubs).items():
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom):
                source = imported_from(path, node)
                if source is not None:
                    used |= {source} | {(*source, alias.name) for alias in node.names}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("."):
                used.add(("kinetree", *node.value.partition(":")[0].strip(".").split(".")))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("kinetree_"):
                used.add(tuple(node.value.split(".")))
    found_by_name = {"study", "system"}
    orphans = [
        shown(path)
        for module, path in known.items()
        if module not in used
        and path.name not in ("__init__.py", "__main__.py")
        and not (("systems" in module or module[0] == "kinetree_programs") and module[-1] in found_by_name)
        and "comparisons" not in module
    ]
    assert not orphans, "\n".join(orphans)


def test_modules_and_folders_are_of_a_size_to_be_read():
    large = {
        shown(path): lines
        for path in trees()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    large |= {
        shown(folder): files
        for folder in {path.parent for path in trees()}
        if (files := sum(path.name != "__init__.py" for path in folder.glob("*.py"))) > MOST_FILES
    }
    assert not large.keys() - LARGER_WITH_REASON.keys(), large
    assert all(count <= MOST_LINES_WITH_REASON for count in large.values()), large
    assert not LARGER_WITH_REASON.keys() - large.keys(), "reasons without need"


def test_a_class_name_means_one_thing():
    places = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{shown(path)}:{node.lineno}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(where)}" for name, where in twice.items())


DIMENSIONS = {"kinetree_gallery", "kinetree_learning"}
"""Rooms of systems that have dimensions of their own, each in its folder or file."""


def numbers_of(tree: ast.Module) -> dict[str, float]:
    """Return the constants of a module that are numbers, as they are written."""
    found = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        for name, written in zip(target.elts, value.elts, strict=False) if several else [(target, value)]:
            number = isinstance(written, ast.Constant) and type(written.value) in (int, float)
            if number and isinstance(name, ast.Name) and name.id.isupper():
                found[name.id] = float(written.value)
    return found


def test_within_a_room_a_constant_has_one_value():
    """Tolerances decide results: whoever reads ``CLOSED`` must not have to ask which one."""
    values: dict[tuple[str, str], set[float]] = defaultdict(set)
    for path, tree in trees().items():
        for name, value in numbers_of(tree).items():
            values[shown(path).split("/")[0], name].add(value)
    several = {f"{room}: {name}" for (room, name), found in values.items() if len(found) > 1 and room not in DIMENSIONS}
    assert not several


def written_twice(tree: ast.Module) -> set[str]:
    """Return the names that a module assigns more than once."""
    targets = [
        target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return {name for name in names if names.count(name) > 1}


def test_no_module_assigns_a_name_twice():
    """The second value would hold for the users of the first, too, and nothing would tell them."""
    assert written_twice(ast.parse("FEW = 16\nA, B = 1, 2\nB: int = 3\nFEW = 8")) == {"FEW", "B"}
    twice = {shown(path): names for path, tree in trees().items() if (names := written_twice(tree))}
    assert not twice


NOT_FINISHED: dict[str, str] = {
    "DriveBuilder": "the part of ModelBuilder about tendons and actuators, which reports oddities as that does"
}
"""Classes that call what their only subclass has, each with its reason."""


def only_refuses(function: ast.stmt) -> bool:
    """Return whether all that a method does is to raise NotImplementedError."""
    body = [
        x for x in getattr(function, "body", ()) if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))
    ]
    refuses = len(body) == 1 and isinstance(body[0], ast.Raise)
    return isinstance(function, ast.FunctionDef) and refuses and "NotImplementedError" in ast.unparse(body[0])


def test_no_class_waits_for_its_only_subclass():
    """A base that calls methods which its only subclass brings is half of a class: they are one, or parts of one."""
    classes = [node for tree in trees().values() for node in nodes(tree) if isinstance(node, ast.ClassDef)]
    below = defaultdict(set)
    for node in classes:
        for base in node.bases:
            below[ast.unparse(base).partition("[")[0].rpartition(".")[2]].add(node.name)
    waiting = {c.name for c in classes if len(below[c.name]) == 1 and any(map(only_refuses, c.body))}
    assert waiting == NOT_FINISHED.keys()


def copies_in(function: ast.AST) -> set[str]:
    """Return the names of objects that a function has just copied, which are its own to finish."""
    return {
        node.targets[0].id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in ("copy", "copy.copy")
    }


def test_nobody_writes_into_the_dict_of_another_object():
    found = []
    for path, tree in trees().items():
        copied = copies_in(tree)
        for node in nodes(tree):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
            written = [t.value for t in targets if isinstance(t, ast.Subscript)]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in ("update", "setdefault", "pop"):
                    written.append(node.func.value)
                if ast.unparse(node.func) == "object.__setattr__" and ast.unparse(node.args[0]) not in {
                    "self",
                    *copied,
                }:
                    found.append(f"{shown(path)}:{node.lineno}: object.__setattr__")
            for value in written:
                if isinstance(value, ast.Attribute) and value.attr == "__dict__" and ast.unparse(value.value) != "self":
                    found.append(f"{shown(path)}:{node.lineno}: {ast.unparse(value)}")
                if isinstance(value, ast.Call) and ast.unparse(value.func) == "vars":
                    found.append(f"{shown(path)}:{node.lineno}: {ast.unparse(value)}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("unwanted", ["export", "contact", "control", "simulation", "view"])
def test_loading_from_the_gallery_imports_no_more_than_it_needs(unwanted):
    code = "import sys, kinetree as kt; kt.gallery.load('four-bar'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"kinetree.{unwanted}" not in done.stdout.split()


def test_the_page_on_the_architecture_draws_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [folder.name for folder in PACKAGE.iterdir() if folder.is_dir() and (folder / "__init__.py").exists()]
    missing = [room for room in rooms if f"`{room}`" not in page]
    assert not missing, missing
    titles = [line for line in page.splitlines() if line.startswith("#")]
    assert all(above != below for above, below in pairwise(titles))
