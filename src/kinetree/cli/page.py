"""``kinetree page``: write a page that computes, without Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..errors import OptionError
from ..io.gallery_files import gallery_names
from .changed_numbers import Set
from .shared import (
    FloatingBase,
    GivenRobot,
    Loops,
    MissingMeshes,
    RobotName,
    Units,
    Values,
    loading_options,
    make_console,
)
from .values import read_values

if TYPE_CHECKING:
    from ..robot.robot import Robot


def page(
    robot_name: RobotName,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The page (.html).", show_default="the robot's name")
    ] = None,
    slider: Annotated[
        list[str] | None,
        typer.Option(
            help="What can be changed: gravity, masses, lengths, damping, or a body, for its mass and length; "
            "several with commas or one by one.",
            show_default="all of these",
        ),
    ] = None,
    turn: Annotated[
        str | None,
        typer.Option(help="Joint that turns at first.", show_default="the motor of a mechanism with one freedom"),
    ] = None,
    speed: Annotated[
        str | None,
        typer.Option(
            help="Its speed, such as 60rpm or 0.2m/s; a number is in rad/s or m/s.", show_default="a turn a second"
        ),
    ] = None,
    step: Annotated[
        float | None, typer.Option(help="Seconds of a step of the simulation.", show_default="chosen by the page")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.", show_default="the robot's name")] = None,
    meshes: Annotated[bool, typer.Option(help="Draw the file's shapes, or joints and inertia.")] = True,
    floating_base: FloatingBase = False,
    missing_meshes: MissingMeshes = "refuse",
    values: Values = None,
    loops: Loops = None,
    units: Units = None,
    changes: Set = None,
) -> None:
    """Write a page in which a robot can be changed, moved and simulated, without Python.

    The page is one file that opens from a disk or a course page: sliders for masses, lengths, gravity and damping,
    bodies that can be dragged with loops closed, torques and forces in the joints, curves of one turn of a motor, and a
    simulation. Requires `pip install 'kinetree[view]'`.

    For example:

        kinetree page four-bar -o four-bar.html
        kinetree page arm.urdf -o arm.html --slider masses,gravity
        kinetree page wiper -o wiper.html --speed 45rpm
        kinetree page four-bar -o heavy.html --set coupler.mass=4
    """
    from .. import page as make

    wanted = [name for names in slider for name in names.split(",")] if slider else None
    given: dict[str, Any] = {"sliders": wanted, "speed": _read_speed(speed), "step": step}
    robot: Robot | str = robot_name
    if changes:
        robot = GivenRobot(
            robot_name, floating_base, missing_meshes=missing_meshes, values=values, loops=loops, changes=changes
        ).load()
        given["geometry"] = None if robot_name in gallery_names() else robot_name
    else:
        loading = loading_options(robot_name, floating_base, missing_meshes, values, loops)
        given["load_options"] = loading or None
    made = make(
        robot, turn=turn, title=title, meshes=meshes, units=units,
        **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    path = made.save(output if output is not None else Path(f"{made.robot.name}.html"))
    make_console().print(f"wrote {escape(str(path))}, {made.sizes['page'] / 1000:.0f} kB", soft_wrap=True)


def _read_speed(text: str | None) -> float | None:
    """Read a speed, perhaps with a unit."""
    found = read_values(text, "--speed", True)
    if found is None:
        return None
    if not isinstance(found, list) or len(found) != 1:
        raise OptionError(f"--speed: one speed, such as 60rpm; not {text!r}: --turn names the joint")
    speed: float = found[0]
    return speed
