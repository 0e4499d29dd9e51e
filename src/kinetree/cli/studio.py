"""``kinetree studio``: build, move and run robots in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..io.packages_above import module_above
from .completion import complete_robot
from .shared import FloatingBase, Loops, MissingMeshes, Values, loading_options, make_console


def studio(
    robot_name: Annotated[
        str | None,
        typer.Argument(
            metavar="[ROBOT]",
            autocompletion=complete_robot,
            show_default="a page to choose from",
            help="Robot file, or a name that 'kinetree list' shows.",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Folder in which the studio lists, opens and saves robots.", show_default="this one")
    ] = Path(),
    port: Annotated[
        int | None, typer.Option(help="Port of the page, or the next free one.", show_default="8090")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    check: Annotated[
        Path | None,
        typer.Option(help="Only check a lesson (*.lesson.md): say what is wrong with it.", show_default=False),
    ] = None,
    floating_base: FloatingBase = False,
    missing_meshes: MissingMeshes = "refuse",
    values: Values = None,
    loops: Loops = None,
) -> None:
    """Build, move and run robots in the browser: bodies, joints, linkages by points, tables of arms.

    Every change is tried at once, explained if it is not possible, and can be undone. What was done is also there as
    Python. The page is served to this machine only, at an address with a secret; it reads and writes files in one
    folder. Stop with Ctrl-C. Requires `pip install 'kinetree[view]'`.

    For example:

        kinetree studio
        kinetree studio four-bar
        kinetree studio arm.urdf --folder robots
        kinetree studio --check pendulum.lesson.md
    """
    if check is not None:
        _check(check)
        return
    from .. import load
    from .. import studio as start

    loading = loading_options(robot_name, floating_base, missing_meshes, values, loops) if robot_name else {}
    robot: Any = load(robot_name, **loading) if robot_name and loading else robot_name
    console, more = make_console(), {} if port is None else {"port": port}
    with start(robot, folder=folder, open_browser=browser, **more) as made:
        console.print(f"The studio is at {escape(made.url)} until you press Ctrl-C", soft_wrap=True)
        made.wait()


def _check(path: Path) -> None:
    """Say what a lesson has, if nothing is wrong with it."""
    found = module_above("kinetree_studio.desk.lessons").checked(path)
    console = make_console()
    console.print(f"{escape(found['title'])}: {escape(found['system'])}", soft_wrap=True)
    for step in found["steps"]:
        asked = [part["kind"] for part in step["parts"]]
        counts = {kind: asked.count(kind) for kind in ("question", "task") if kind in asked}
        told = ", ".join(f"{n} {kind}{'s' * (n > 1)}" for kind, n in counts.items())
        console.print(f"  {escape(step['title'])}" + (f": {told}" if told else ""), soft_wrap=True)
