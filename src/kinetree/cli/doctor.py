"""``kinetree doctor``: what is installed, how machine code is made, where it is kept, and whether it is correct."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import KinetreeError
from ..evaluation.machine_code import CodeCache, MachineCode, code_cache, machine_code
from ..io.packages_above import module_above
from ..version import VERSION
from .bench import Timing, measure, sample
from .shared import ERROR, GivenRobot, Json, make_console, messages, new_table, print_json

PURPOSES = {
    "": "the core",
    "view": "the viewer, pictures and videos",
    "plot": "plots of records and studies",
    "mjcf": "robots in MuJoCo's file format",
    "matlab": "folders of ReDySim",
    "symbolic": "equations of motion in SymPy",
    "jax": "the algorithms in JAX",
    "casadi": "the algorithms in CasADi",
    "parquet": "tables in Parquet files",
    "identification": "physically consistent identification",
    "sundials": "the integrator 'sundials'",
    "cluster": "sweeps and many files on a Dask cluster",
    "sweep": "sweeps, on many processes",
    "gym": "Gymnasium environments",
    "learn": "the learning examples",
    "design": "designs without gradients, and in many processes",
    "dxf": "outlines of linkages and cams for CAD",
    "shapes": "meshes as shapes, divided into convex parts",
    "fmu": "FMUs for other machines than this one",
    "policy": "policies in ONNX files",
}
"""Purpose of each extra, in the order in which they are shown; extras for developers are not shown."""

MEASURED, STATES, ROUNDS = "kuka-kr5", 4096, 3
AGREE = 1e-10
"""Tolerance relative to the largest number: machine code and reference differ only in the order of their sums."""


@dataclass(frozen=True)
class Requirement:
    """A package that an extra needs; ``version`` is empty if it is not installed."""

    extra: str
    package: str
    version: str


@dataclass(frozen=True)
class Examination:
    """How fast one robot is, and how far machine code is from the reference."""

    robot: str
    difference: float
    timings: tuple[Timing, ...]


def doctor(as_json: Json = False) -> None:
    """Report what is installed, how machine code is made and where it is kept; time and check one robot.

    The exit code is 1 if something is wrong; a missing optional package does not count.

    For example:

        kinetree doctor
        kinetree doctor --json
    """
    packages, code, kept = requirements(), machine_code(), code_cache()
    problems = complaints(code, kept)
    examination = None
    try:
        with messages().status("compiling and timing"):
            examination = examine()
        if not examination.difference <= AGREE:
            problems.append(
                f"machine code differs from the reference by {examination.difference:.1e}: please report this"
            )
    except KinetreeError as problem:
        problems.append(str(problem))
    if as_json:
        print_json({
            "kinetree": VERSION, "place": str(_place()), "python": platform.python_version(),
            "system": platform.platform(), "cores": _cores(), "environment": _environment(),
            "browser": _browser() or None,
            "packages": [asdict(p) for p in packages], "machine_code": asdict(code),
            "cache": asdict(kept) | {"folder": str(kept.folder) if kept.folder else None},
            "examination": asdict(examination) if examination else None, "problems": problems,
        })  # fmt: skip
    else:
        _show(make_console(), packages, code, kept, examination, problems)
    if problems:
        raise typer.Exit(ERROR)


def requirements() -> list[Requirement]:
    """List what the installed kinetree requires, with the installed versions."""
    try:
        asked = importlib.metadata.requires("kinetree") or []
    except importlib.metadata.PackageNotFoundError:  # run from a clone that is not installed
        asked = []
    found = []
    for line in asked:
        package = re.match(r"[A-Za-z0-9._-]+", line)
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        name = extra[1] if extra else ""
        if package and package[0] != "kinetree" and name in PURPOSES:
            found.append(Requirement(name, package[0], _version(package[0])))
    return sorted(found, key=lambda r: list(PURPOSES).index(r.extra))


def complaints(code: MachineCode, kept: CodeCache) -> list[str]:
    """List problems with making and keeping code, each with a remedy."""
    found = []
    if code.problem:
        found.append(f"no machine code can be made, so everything is thousands of times slower: {code.problem}")
    if os.environ.get("KINETREE_BACKEND", "") == "reference":
        found.append("KINETREE_BACKEND=reference: nothing is compiled; unset it unless you want that")
    if kept.folder is not None and not kept.can_be_written:
        found.append(
            f"the folder {kept.folder} cannot be written, so every process compiles again: "
            "set KINETREE_CACHE to one that can, or to 'off'"
        )
    return found


def examine() -> Examination:
    """Time one robot, and compare machine code with the reference."""
    robot = GivenRobot(MEASURED).load()
    state = sample(robot, 64)
    answer, judge = robot.inverse_dynamics(*state), robot.with_backend("reference").inverse_dynamics(*state)
    difference = float(np.abs(answer - judge).max() / np.abs(judge).max())
    return Examination(robot.name, difference, tuple(measure(robot, STATES, ROUNDS)))


def _show(
    console: Console, packages: list[Requirement], code: MachineCode, kept: CodeCache,
    examination: Examination | None, problems: list[str],
) -> None:  # fmt: skip
    facts = Table.grid(padding=(0, 2))
    facts.add_row("kinetree", f"{VERSION} in {escape(str(_place()))}")
    facts.add_row("Python", f"{platform.python_version()} in {escape(sys.prefix)}")
    facts.add_row("system", f"{escape(platform.platform())}, {_cores()} cores available")
    if code.lanes:
        apart = "" if code.fused else ", without fused multiply-add"
        facts.add_row(
            "machine code", f"for {escape(code.processor)}: {code.lanes} doubles at once{apart}; LLVM {code.llvm}"
        )
        facts.add_row("others that run here", ", ".join(code.targets) + "  (KINETREE_CPU)")
    facts.add_row("compiled code", _kept(kept))
    facts.add_row(
        "pictures and videos", f"by {escape(browser)}" if (browser := _browser()) else "no Chromium is installed"
    )
    for name, value in _environment().items():
        facts.add_row(name, escape(value))
    console.print(facts, soft_wrap=True)
    console.print()
    console.print(_extras(packages))
    if examination is not None:
        console.print()
        console.print(
            f"{examination.robot}, one thread; machine code and reference differ by {examination.difference:.0e}"
        )
        for t in examination.timings:
            count = f"batch of {STATES:,}" if t.how == "batch" else t.how
            console.print(f"  {t.algorithm}, {count}: {t.kinetree:,.0f} ns per state")
    console.print()
    for problem in problems:
        console.print(f"[bold red]problem:[/] {escape(problem)}", soft_wrap=True)
    if not problems:
        console.print("[green]All checks passed.[/]")


def _extras(packages: list[Requirement]) -> Table:
    table = new_table("packages", "for", "installed", "missing", "to install")
    for extra, purpose in PURPOSES.items():
        of_extra = [p for p in packages if p.extra == extra]
        here = ", ".join(f"{p.package} {p.version}" for p in of_extra if p.version)
        missing = ", ".join(p.package for p in of_extra if not p.version)
        command = escape(f"pip install 'kinetree[{extra}]'") if missing else ""
        if of_extra:
            table.add_row(purpose, here, missing, command)
    return table


def _kept(kept: CodeCache) -> str:
    if kept.folder is None:
        return "is not kept (KINETREE_CACHE)"
    return (
        f"in {escape(str(kept.folder))}: {kept.kernels} kernels, {kept.size / 2**20:.1f} MB; may be deleted at any time"
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _place() -> Path:
    return Path(__file__).resolve().parents[1]


def _browser() -> str:
    """Return the path of Chromium, which draws pictures; empty if there is none."""
    try:
        return str(module_above("kinetree_studio.view.browser").find_browser())
    except KinetreeError:
        return ""


def _cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _environment() -> dict[str, str]:
    """Return the environment variables for kinetree."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("KINETREE_")}
