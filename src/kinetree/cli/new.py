"""``kinetree new``: a template for your own study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ..errors import OutputError
from ..io.atomic_files import beside
from .shared import make_console

File = Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")]


def new(
    file: File = Path("my-study.yaml"),
    walker: Annotated[
        bool, typer.Option("--walker", help="Write a study of a walking machine: gait, firm ground.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented file that describes a study: robot, motion, controller, ground, outputs.

    It runs as it is; change it to your needs.

    For example:

        kinetree new my-study.yaml
        kinetree run my-study.yaml
        kinetree new biped.yaml --walker
    """
    from ..studies.user_study import NAME, starter

    if file.suffix.lower() not in (".yaml", ".yml"):
        raise OutputError(f"{file}: give the file a name that ends in .yaml")
    if file.exists() and not force:
        raise OutputError(f"{file} already exists: give another name, or --force to overwrite it")
    if not file.absolute().parent.is_dir():
        raise OutputError(f"{file} cannot be written: there is no directory {str(file.parent)!r}")
    text = starter(walker)
    if NAME.fullmatch(file.stem):
        text = text.replace("name: my-study  ", f"name: {file.stem}  ").replace("my-study.yaml", file.name)
    with beside(file) as place:
        place.write_text(text, encoding="utf-8")
    make_console().print(
        f"wrote {escape(str(file))}: look at it, then 'kinetree run {escape(str(file))}'", soft_wrap=True
    )
