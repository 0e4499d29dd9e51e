"""``kinetree view``: show a robot and its motion in the browser, or draw it to a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..errors import OptionError
from .shared import FloatingBase, Loops, MissingMeshes, RobotName, Units, Values, loading_options, make_console


def view(
    robot_name: RobotName,
    record: Annotated[
        Path | None,
        typer.Argument(
            metavar="MOTION",
            help="What 'kinetree simulate -o' wrote, or a table with columns t, q_elbow, ... or t, q1, q2, ...",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port of the page; 0 for any free one.", show_default="8080")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
    screenshot: Annotated[
        Path | None, typer.Option(help="Draw a picture (.png, .jpg) instead of opening a window.", show_default=False)
    ] = None,
    video: Annotated[
        Path | None, typer.Option(help="Make a video (.mp4, .gif) instead of opening a window.", show_default=False)
    ] = None,
    recording: Annotated[
        Path | None, typer.Option(help="Write a page (.html) that opens without Python.", show_default=False)
    ] = None,
    at: Annotated[
        float | None, typer.Option(help="Time of the motion to draw, in seconds.", show_default="the beginning")
    ] = None,
    size: Annotated[
        str | None, typer.Option(help="Size of the picture or video in pixels, such as 1280x720.", show_default=False)
    ] = None,
    panel: Annotated[bool, typer.Option("--panel", help="Show the controls in the picture.")] = False,
    fps: Annotated[float, typer.Option(help="Frames per second of the video.")] = 30.0,
    speed: Annotated[float, typer.Option(help="Seconds of motion per second.")] = 1.0,
    ghost: Annotated[
        str | None,
        typer.Option(
            help="Another motion of the robot, or another robot, to show as a pale ghost.", show_default=False
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="Also frames, axes, com (center of mass), inertia, follow, joints, ground; no-ground hides it.",
            show_default=False,
        ),
    ] = None,
    trail: Annotated[
        list[str] | None, typer.Option(help="Body or frame whose path is drawn.", show_default=False)
    ] = None,
    meshes: Annotated[bool, typer.Option(help="Draw the file's shapes, or joints and inertia.")] = True,
    geometry: Annotated[
        Path | None, typer.Option(help="URDF file with the shapes of the links.", show_default="the robot file")
    ] = None,
    floating_base: FloatingBase = False,
    missing_meshes: MissingMeshes = "refuse",
    values: Values = None,
    loops: Loops = None,
    units: Units = None,
) -> None:
    """Show a robot in the browser: play its motion, drag its joints, look at forces and energy.

    Without a motion, a system of the gallery plays its own; any other robot stands still and can be moved with sliders.
    Stop with Ctrl-C. Pictures and videos need Chromium but no window; a recording needs neither. Requires `pip install
    'kinetree[view]'`.

    For example:

        kinetree view stewart-platform
        kinetree view kuka-kr5 fall.npz --ghost reference.csv
        kinetree view quadruped --screenshot quadruped.png --at 0.5 --show com --trail trunk
        kinetree view quadruped --recording walk.html
        kinetree view four-bar --units deg,mm,rpm
    """
    from ..view import play

    options: dict[str, Any] = {} if port is None else {"port": port}
    loading = loading_options(robot_name, floating_base, missing_meshes, values, loops)
    written = play(
        robot_name, record, screenshot=screenshot, video=video, recording=recording, ghost=ghost, trails=trail or (),
        show=read_switches(show), meshes=meshes, time=at, size=read_size(size), panel=panel, fps=fps,
        speed=speed, open_browser=browser, say=lambda line: make_console().print(escape(line), soft_wrap=True),
        geometry=geometry, load_options=loading or None, units=units, **options,
    )  # fmt: skip
    for path in written:
        make_console().print(f"wrote {escape(str(path))}", soft_wrap=True)


def read_switches(names: list[str] | None) -> dict[str, bool]:
    """Read what to show, and with the prefix "no-" what to hide."""
    return {name.removeprefix("no-"): not name.startswith("no-") for name in names or ()}


def read_size(text: str | None) -> tuple[int, int] | None:
    """Read width and height."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", text)
    if found is None or not (int(found[1]) and int(found[2])):
        raise OptionError(f"--size: width and height in pixels, such as 1280x720; not {text!r}")
    return int(found[1]), int(found[2])
