"""Completion in the shell: names of robots, studies, joints and algorithms, and files, when Tab is pressed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import typer

from ..io.gallery_files import gallery_names, study_names

ROBOT_FILES = (".urdf", ".xml", ".mjcf", ".yaml", ".yml", ".xacro", ".par")


def complete_robot(incomplete: str) -> list[str]:
    """Complete names of the gallery, and robot files."""
    return [*_starting(gallery_names(), incomplete), *_files(incomplete, ROBOT_FILES)]


def complete_study(incomplete: str) -> list[str]:
    """Complete names of studies, ``all``, and the user's files."""
    return [*_starting(["all", *study_names()], incomplete), *_files(incomplete, (".yaml", ".yml"))]


def complete_joint(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the joint in ``elbow=45deg,wrist``, for the robot typed before."""
    before, comma, start = incomplete.rpartition(",")
    with suppress(Exception):  # a robot that cannot be read has no joints; the command itself says why
        robot = ctx.params.get("robot_name") or ctx.args[0]  # not read as such before an option without its value
        from ..io.gallery_files import gallery_file
        from ..model import formats  # a model is sufficient, and loads faster than a robot

        path = gallery_file(robot) if robot in gallery_names() else Path(robot)
        model = formats.read(Path(str(path)), formats.Options(), ctx.params.get("loops"))
        return [f"{before}{comma}{joint.name}=" for joint in model.joints if joint.name.startswith(start)]
    return []


def complete_coordinate(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a joint."""
    return [name.removesuffix("=") for name in complete_joint(ctx, incomplete)]


def complete_algorithm(incomplete: str) -> list[str]:
    """Complete names of algorithms."""
    from ..algorithms.table import ALGORITHMS

    return _starting(ALGORITHMS, incomplete)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _files(incomplete: str, endings: tuple[str, ...]) -> list[str]:
    """List folders, and files of some kinds, that begin with the given text."""
    folder, _, start = incomplete.rpartition("/")
    place = Path(f"{folder}/" if folder or incomplete.startswith("/") else ".")
    if not place.is_dir():
        return []
    prefix = incomplete[: len(incomplete) - len(start)]
    found = sorted(p for p in place.iterdir() if p.name.startswith(start) and (start or not p.name.startswith(".")))
    return [f"{prefix}{p.name}/" for p in found if p.is_dir()] + [
        f"{prefix}{p.name}" for p in found if p.suffix.lower() in endings and p.is_file()
    ]
