"""``kinetree import redysim``: a robot and a study from a folder of ReDySim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml
from rich.markup import escape

from ..errors import OutputError
from ..io.atomic_files import beside
from .shared import make_console, note

if TYPE_CHECKING:
    from ..model.formats.redysim import RedysimRun
    from ..robot.robot import Robot

app = typer.Typer(
    name="import",
    help="Take over what other programs keep in their own files.",
    no_args_is_help=True,
    add_completion=False,
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of one system: inputs.m, initials.m, ...")]


@app.callback()
def main() -> None:
    """Take over what other programs keep in their own files."""


@app.command("redysim")
def redysim(
    folder: Folder,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Robot file to write; NAME.yaml here by default.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
) -> None:
    """Write a robot file, and a study with its motion and simulation, from the files of a system of ReDySim.

    Assignments of numbers and matrices are read; no MATLAB is needed and nothing is run. Code stays behind: loops and
    conditions, the constraints of closed loops, controllers.

    For example:

        kinetree import redysim "Inverse Dynamics/Gripper" -o gripper.yaml
        kinetree run gripper-study.yaml
    """
    from ..model.formats import redysim as reader
    from ..robot.load import load

    path = reader.inputs_of(folder)
    robot, run = load(path), reader.run_of(folder)
    file = output or Path(f"{robot.name.replace(' ', '_')}.yaml")
    study = file.with_name(f"{file.stem}-study.yaml")
    for place in (file, study):
        if place.exists() and not force:
            raise OutputError(f"{place} is there already: give another name, -o, or --force to write over it")
    content = _study(robot, run, file)
    robot.save(file)
    console = make_console()
    console.print(f"wrote {escape(str(file))}: {escape(repr(robot))}", soft_wrap=True)
    if content is None:
        console.print(
            "no study: initials.m has no numbers ti and tf (from when until when to simulate), and trajectory.m no "
            "thi, thf and Tp (of a cycloid); 'kinetree new' writes a study",
            soft_wrap=True,
        )
        return
    if run.has_trajectory and "motion" not in content:
        note(
            "trajectory.m stays behind: it does not say in numbers where the joints go, as thi, thf and Tp of a "
            "cycloid do; write a motion into the study, see 'kinetree new'"
        )
    with beside(study) as place:
        place.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    console.print(f"wrote {escape(str(study))}: look at it, then 'kinetree run {escape(str(study))}'", soft_wrap=True)


def _study(robot: Robot, run: RedysimRun, file: Path) -> dict[str, Any] | None:
    """Return a study with what the numbers say, or None if they say nothing."""
    content: dict[str, Any] = {
        "kinetree-study": 1,
        "name": "".join(c if c.isalnum() or c in "-_" else "-" for c in f"{file.stem}-study"),
        "title": f"{robot.name}, from ReDySim",
        "robot": file.name,
    }
    fits = {
        name: x is not None and x.size == robot.nv
        for name, x in vars(run).items()
        if name in ("q", "v", "start", "end")
    }
    if fits["q"] or fits["v"]:
        given = {"q": run.q if fits["q"] else None, "v": run.v if fits["v"] else None}
        content["start"] = {key: x.tolist() for key, x in given.items() if x is not None}
    told = False
    if fits["start"] and fits["end"] and run.duration is not None:
        assert run.start is not None
        assert run.end is not None
        content["motion"] = {
            "kind": "cycloid", "from": run.start.tolist(), "to": run.end.tolist(), "duration": run.duration,
        }  # fmt: skip
        told = True
    if run.time is not None:
        content["simulation"] = {"time": run.time, "integrator": run.integrator or "rk45"}
        if run.integrator != "dopri5":  # which has a step instead
            content["simulation"] |= {key: x for key, x in (("rtol", run.rtol), ("atol", run.atol)) if x is not None}
        if run.step is not None:
            content["simulation"]["samples"] = round(run.time / run.step) + 1
            if run.integrator == "dopri5":
                content["simulation"]["step"] = run.step
        told = True
    return content if told else None
