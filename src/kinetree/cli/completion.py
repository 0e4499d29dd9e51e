"""Completion in the shell: names of robots, studies, joints and algorithms, and files, when Tab is pressed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..io.gallery_files import gallery_names, study_names

if TYPE_CHECKING:
    from ..model.tree import Model

ROBOT_FILES = (".urdf", ".xml", ".mjcf", ".yaml", ".yml", ".xacro", ".par")


def complete_robot(incomplete: str) -> list[str]:
    """Complete names of the gallery, and robot files."""
    return [*_starting(gallery_names(), incomplete), *_files(incomplete, ROBOT_FILES)]


def complete_study(incomplete: str) -> list[str]:
    """Complete names of studies, ``all``, and the user's files."""
    return [*_starting(["all", *study_names()], incomplete), *_files(incomplete, (".yaml", ".yml"))]


def complete_joint(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the joint in ``elbow=45deg,wrist``, for the robot typed before."""
    model = _model(ctx)
    return [] if model is None else _after_commas(incomplete, [f"{joint.name}=" for joint in model.joints])


def complete_coordinate(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a joint."""
    return [name.removesuffix("=") for name in complete_joint(ctx, incomplete)]


def complete_position(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a coordinate in ``elbow=45deg,base.z``, or the name of a configuration of the file."""
    model = _model(ctx)
    if model is None:
        return []
    whole = [] if "," in incomplete else [named.name for named in model.configurations]
    return [*_starting(whole, incomplete), *_after_commas(incomplete, [f"{name}=" for name in model.q_names])]


def complete_velocity(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete an entry of ``v`` or ``tau`` in ``elbow=0.1,base.z``."""
    model = _model(ctx)
    return [] if model is None else _after_commas(incomplete, [f"{name}=" for name in model.v_names])


def _model(ctx: typer.Context) -> Model | None:
    """Read the robot typed before; one that cannot be read completes nothing, and the command itself says why."""
    with suppress(Exception):
        robot = ctx.params.get("robot_name") or ctx.args[0]  # not read as such before an option without its value
        from ..io.gallery_files import gallery_file
        from ..model import formats  # a model is sufficient, and loads faster than a robot

        path = gallery_file(robot) if robot in gallery_names() else Path(robot)
        options = formats.Options(floating_base=bool(ctx.params.get("floating_base")))
        return formats.read(Path(str(path)), options, ctx.params.get("loops"))
    return None


def _after_commas(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, start = incomplete.rpartition(",")
    return [before + comma + name for name in _starting(names, start)]


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
