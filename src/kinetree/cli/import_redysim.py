"""``kinetree import redysim``: a robot and a study from a folder of ReDySim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.markup import escape

from ..errors import KinetreeError, OutputError
from ..io.atomic_files import beside
from ..io.other_programs import of_program
from .error_wording import as_options, worded
from .shared import make_console, note

app = typer.Typer(name="import", help="Import models from other programs.", no_args_is_help=True, add_completion=False)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of one system: inputs.m, initials.m, ...")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Robot file to write; NAME.yaml here by default.")]
Analysis = Annotated[
    str | None, typer.Option("--analysis", help="forward or inverse; by default that of the solver next to the files.")
]
Instead = Annotated[
    Path | None, typer.Option("--trajectory", help="A readable file in place of an encrypted trajectory.p.")
]


@app.callback()
def main() -> None:
    """Import models from other programs."""


@app.command("redysim")
def redysim(
    context: typer.Context, folder: Folder, output: Output = None, analysis: Analysis = None,
    trajectory: Instead = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:  # fmt: skip
    """Write a robot file, and a study that runs the folder as ReDySim does.

    The MATLAB files of the folder are read and run by kinetree: MATLAB is not needed, nothing else is run, and no file
    outside of the folder (and the working folder of ReDySim above it) is read. Results that ReDySim has stored there
    are compared with those of kinetree.

    For example:

        kinetree import redysim "InvDyn/KUKA Robot" -o kuka.yaml
        kinetree run kuka-study.yaml
    """
    system = of_program("redysim.system").Redysim(folder, analysis=analysis, trajectory=trajectory)
    file = output or Path(f"{system.robot.name.replace(' ', '_')}.yaml")
    study = file.with_name(f"{file.stem}-study.yaml")
    for place in (file, study):
        if place.exists() and not force:
            raise OutputError(f"{place} already exists: give another name, -o, or --force to overwrite it")
    system.robot.save(file)
    console = make_console()
    console.print(f"wrote {escape(str(file))}: {escape(repr(system.robot))}", soft_wrap=True)
    for words in system.notes():
        note(words)
    try:
        system.check()
    except KinetreeError as problem:
        note(f"no study: {worded(problem, as_options(context.command))}")
        return
    with beside(study) as place:
        content = yaml.safe_dump(_study(system, file, folder, trajectory), sort_keys=False, allow_unicode=True)
        hint = (
            f"# The robot is the folder's. To run another one, such as a changed {file.name}:\n# robot: {file.name}\n"
        )
        place.write_text(content + hint, encoding="utf-8")
    console.print(f"wrote {escape(str(study))}: look at it, then 'kinetree run {escape(str(study))}'", soft_wrap=True)


def _study(system: Any, file: Path, folder: Path, trajectory: Path | None) -> dict[str, Any]:
    """Return a study of a folder; paths are relative to the study."""

    def seen(path: Path) -> str:
        return path.absolute().as_posix() if path.is_absolute() or file.parent != Path() else path.as_posix()

    return {
        "kinetree-study": 1,
        "name": "".join(c if c.isalnum() or c in "-_" else "-" for c in f"{file.stem}-study"),
        "title": f"{system.robot.name}, {system.analysis} dynamics, from ReDySim",
        "redysim": {"folder": seen(folder), "analysis": system.analysis}
        | ({} if trajectory is None else {"trajectory": seen(trajectory)}),
    }
