"""Dotted names in pages, notebooks and docstrings: each must be something that is there."""

from __future__ import annotations

import ast
import builtins
import importlib
import json
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kinetree as kt

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    ROOT / "src" / "kinetree",
    ROOT / "gallery" / "kinetree_gallery",
    ROOT / "programs" / "kinetree_programs",
    ROOT / "studio" / "kinetree_studio",
    ROOT / "learning" / "kinetree_learning",
    ROOT / "optimize" / "kinetree_optimize",
    ROOT / "design" / "kinetree_design",
    ROOT / "sweeps" / "kinetree_sweeps",
    ROOT / "gallery" / "kinetree_books",
)
PAGES = [
    page
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), *(ROOT / "changelog").glob("*.md")]
    if "api" not in page.parts  # names of the reference end the build of the site where they are gone
    and page.name != "CHANGELOG.md"  # which may name what went later
]

DOTTED = re.compile(r"(?<![\w./:~-])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?![\w/-])")
CAPITAL = re.compile(r"(?<![\w.\"'-])((?:[A-Z]+[a-z0-9]+){2,}[A-Z]?|[A-Z]\w*(?:Error|Warning))(?![\w.-])")
ROLE = re.compile(r":(?:meth|class|func|attr|mod|data|exc|obj):`~?([^`]+)`")

FILES = {
    "avi", "c", "cff", "csv", "dat", "dll", "fmu", "gif", "h", "html", "ipynb", "json", "lock", "m", "mat", "md", "mp4",
    "npz", "onnx", "parquet", "png", "py", "sdf", "so", "svg", "tex", "toml", "txt", "urdf", "xacro", "xml", "yaml",
    "yml",
}  # fmt: skip
"""Endings of names of files."""

VARIABLES = {
    "Accumulator": "sums", "ActuatorRequirements": "need", "Band": "band", "BaseParameters": "base found",
    "BlockMatrix": "matrix", "Builder": "b", "ConstraintForces": "forces", "Denoc": "denoc",
    "DifferentiatedMotion": "found", "Energies": "energy", "Equilibrium": "settled", "FastestMotions": "found",
    "FileBuilder": "builder",
    "FoundDesign": "found", "Graph": "graph", "GroundForces": "ground", "IKSolution": "found", "Identified": "found",
    "JerkLimitedMotion": "quick moves",
    "Mechanism": "robot porter mechanism four_bar five_bar engine clamp", "Moment": "m", "MovedDesigns": "moved",
    "ParallelDeNOC": "denoc here", "ParameterGroups": "found", "Plan": "plan plans",
    "Platform": "platform tip top", "Predictive": "law",
    "Record": "record",
    "Result": "result", "RigidContacts": "contacts", "SampledContacts": "met", "SimulationError": "error",
    "Singularity": "report", "Stepped": "stepped", "SweepResult": "found", "Trajectory": "trajectory",
    "Viewer": "viewer", "Walk": "walk", "Workspace": "space", "World": "world walker",
}  # fmt: skip
"""What variables of prose may stand for, by classes."""

ALIASES = {"kt": "kinetree", "g": "kinetree.ground"}
"""What modules are called, in prose as in code."""

PARAMETERS = re.compile(
    r"(b|link|link_\d|palm|upper|coupler)\.(M|mass|inertia|M?[XYZ]{1,2})|joint\.(rotor_inertia|damping|friction|offset|stiffness|stribeck|fx)"
    r"|(bodies|frames|joints|loops|tendons|forces|gravity|ground|controller|q0|v0|final|peak_force)\.\w+(\.\w+)*"
    r"|(elbow|log)\.\w+|(base|floating_base|base_joint|q_base|v_base|hip|trunk)\.([qwv]?[wxyz]|angle|about_y)"
    r"|joint_1\.(position|velocity|torque|force|target|target_velocity)|name\.signal"
)  # fmt: skip
"""Parameters, columns of tables, numbers of sweeps, and variables of FMUs."""

NOT_OURS = {
    "ERobot", "L", "PiecewisePolynomial", "X", "a", "array", "casadi", "com", "ctypes", "dask", "data", "f",
    "functools", "gymnasium", "header", "inspect", "jax", "llvmlite", "math", "mmap", "model", "mujoco", "np", "numpy",
    "os", "pandas", "pin", "plant", "pyarrow", "q", "scipy", "sympy", "tau", "torch", "v", "warnings",
}  # fmt: skip
"""Other libraries, objects of theirs, and arrays."""

OF_OTHERS = ("docs/from/", "docs/names.md")
"""Pages that name what other programs have; only what begins with kinetree is ours there."""

NAMES_OF_OTHERS = {"CenterOfMass", "JointType", "PositionLimits", "VirtualAlloc", "VirtualProtect"}
"""Of MATLAB and Windows, on other pages."""


# ------------------------------------------------------------------ what there is


class Sources:
    """Every name of the package by module and by class, found without importing anything."""

    def __init__(self) -> None:
        self.modules: dict[str, set[str]] = {}
        self.members: dict[str, set[str]] = {}
        self.bases: dict[str, list[str]] = {}
        self.texts: list[tuple[str, str, str]] = []  # docstring, module, class
        for package, path in [(source, path) for source in SOURCES for path in sorted(source.rglob("*.py"))]:
            parts = path.relative_to(package.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text(encoding="utf-8")
            self.modules[name] = set(self._defined(ast.parse(text), name, "", text.splitlines()))
        for name in list(self.modules):
            package, _, last = name.rpartition(".")
            self.modules.get(package, set()).add(last)

    def _defined(self, node: Any, module: str, owner: str, lines: list[str]) -> Iterator[str]:
        """Yield the names that a module, a class or a branch of them defines; note docstrings on the way."""
        if isinstance(node, ast.Module | ast.ClassDef):
            self._note(node, module, owner)
        for child in node.body:
            if isinstance(child, ast.ClassDef):
                self.bases[child.name] = [ast.unparse(b).partition("[")[0].rpartition(".")[2] for b in child.bases]
                own = self.members.setdefault(child.name, set())
                own |= set(self._defined(child, module, child.name, lines))
                own |= set(re.findall(r"\bself\.(\w+)", "\n".join(lines[child.lineno : child.end_lineno])))
                yield child.name
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                self._note(child, module, owner)
                yield child.name
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
            elif isinstance(child, ast.Import | ast.ImportFrom):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in child.names)
            elif isinstance(child, ast.If | ast.Try):
                yield from self._defined(child, module, owner, lines)

    def _note(self, node: Any, module: str, owner: str) -> None:
        text = ast.get_docstring(node)
        if text:
            self.texts.append((text, module, owner))

    def of_class(self, name: str) -> set[str]:
        """Return the members of a class, inherited ones included."""
        found = set(self.members.get(name, ()))
        for base in self.bases.get(name, ()):
            found |= self.of_class(base) if base in self.members else set(dir(getattr(builtins, base, object)))
        return found

    def has(self, first: str, rest: list[str]) -> bool:
        """Return whether a class, or some module, of this name has what is asked of it."""
        if first in self.members:
            return not rest or rest[0] in self.of_class(first)
        ends = [names for module, names in self.modules.items() if f".{module}".endswith(f".{first}")]
        return any(not rest or rest[0] in names for names in ends)


@cache
def sources() -> Sources:
    return Sources()


@cache
def public(name: str) -> bool:
    """Return whether a name under kinetree can be reached as it is written."""
    thing: Any = kt
    parts = name.split(".")[1:]
    for at, part in enumerate(parts):
        if isinstance(thing, ModuleType):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", DeprecationWarning)  # prose has the names of today
                    thing = getattr(thing, part, None) or importlib.import_module(f"{thing.__name__}.{part}")
            except (ImportError, DeprecationWarning):
                return False
        elif isinstance(thing, type):
            return part in sources().of_class(thing.__name__) or hasattr(thing, part)
        else:
            return at > 0  # what a function returns is not looked into
    return True


def known(name: str, module: str = "", owner: str = "") -> bool:
    """Return whether a dotted name is something: seen from a class or module, or anywhere in the package."""
    first, *rest = name.split(".")
    if first in NOT_OURS or PARAMETERS.fullmatch(name) or name.rpartition(".")[2] in FILES:
        return True
    if first in ("kinetree", *ALIASES):
        return public(".".join([ALIASES.get(first, first), *rest]))
    index = sources()
    if any(rest and rest[0] in index.of_class(cls) for cls, words in VARIABLES.items() if first in words.split()):
        return True
    if owner and first in index.of_class(owner):
        return True
    return index.has(first, rest) or (not rest and first in index.modules.get(module, ()))


# ------------------------------------------------------------------ what is written


def spans(text: str) -> Iterator[str]:
    """Yield code within sentences, without quoted texts; blocks of code are run by other tests."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)
    for found in re.finditer(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", text):
        yield re.sub(r"\"[^\"]*\"|'[^']*'", '""', found[2])


def pages() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        yield page.read_text(encoding="utf-8"), str(page.relative_to(ROOT))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield "".join(cell["source"]), notebook.name


@pytest.mark.slow
def test_every_dotted_name_of_the_pages_is_there():
    missing = {
        f"{page}: {name}"
        for text, page in pages()
        for span in spans(text)
        for name in DOTTED.findall(span)
        if not known(name) and not (page.startswith(OF_OTHERS) and not name.startswith(("kt.", "kinetree.")))
    }
    assert not missing, "\n".join(sorted(missing))


def test_every_class_and_error_that_pages_name_can_be_had():
    """Under kinetree, or in one of its public modules."""
    modules = [kt, *(getattr(kt, name) for name in kt.__all__ if isinstance(getattr(kt, name), ModuleType))]
    there = {name for module in modules for name in dir(module)} | set(dir(builtins)) | NAMES_OF_OTHERS
    missing = {
        f"{page}: {name}"
        for text, page in pages()
        if not page.startswith((*OF_OTHERS, "CONTRIBUTING"))
        for span in spans(text)
        for name in CAPITAL.findall(span)
        if name not in there
    }
    assert not missing, "\n".join(sorted(missing))


@pytest.mark.slow
def test_every_dotted_name_of_docstrings_is_there():
    missing = set()
    for text, module, owner in sources().texts:
        prose = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith((">>>", "...")))
        names = [name.lstrip(".") for name in ROLE.findall(prose)]
        names += [name for span in spans(ROLE.sub("", prose)) for name in DOTTED.findall(span)]
        missing |= {f"{module} {owner}: {name}" for name in names if not known(name, module, owner)}
    assert not missing, "\n".join(sorted(missing))


@pytest.mark.parametrize(
    "name",
    ["kt.simulation.cones.coulomb", "kinetree.Robot.nothing", "robot.nothing()", "Nothing.at", "record.energies"],
)
def test_names_that_are_gone_are_found(name):
    assert not known(DOTTED.findall(name)[0])
