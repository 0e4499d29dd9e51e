"""Robots from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from ..errors import RobotFileNotFoundError, nearest
from .make import make
from .robot import Robot


def load(
    path: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    mimic: str = "follow",
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    loops: str | os.PathLike[str] | None = None,
    cuts: Sequence[str] | None = None,
    rule: str | None = None,
) -> Robot:
    """Read a robot from a URDF, SDF, MJCF or kinetree YAML file.

    Parameters
    ----------
    path : path-like
        ``.urdf``, ``.sdf``, ``.xml`` (MJCF, URDF or SDF, as its root element says) or ``.yaml``.
    floating_base : bool
        Put the root link on a free joint instead of holding it fixed.
    mimic : {"follow", "couple", "independent"}
        Whether a joint that mimics another has no coordinate of its own (its inertia and
        forces are carried by its leader), has one that a force holds to its leader's (a coupling, with
        what the gear between them transmits), or is a joint like any other.
    gravity : sequence of 3 floats, optional
        Acceleration of free fall; by default the file's, or (0, 0, -9.81) if it says nothing.
    strict : bool
        Whether oddities, such as physically impossible inertias, are errors. By default
        one :class:`kinetree.ModelWarning` lists them all.
    loops : path-like, optional
        A YAML file with joints that close loops, for formats that have no word for them; kinetree's own, or a list of
        frames that coincide as the collection of parallel robots has them.
    cuts : sequence of str, optional
        Joints to cut, instead of those that the file says close loops; the loops these leave
        are cut by the rule.
    rule : {"minimum_dof", "shortest"}, optional
        Choose the cuts anew: every body within the fewest degrees of freedom from the base, or
        within the fewest joints.

    Returns
    -------
    Robot
        A :class:`kinetree.Mechanism` if it has loops.

    Raises
    ------
    RobotFileNotFoundError
        If there is no such file.
    FileFormatError
        If the file cannot be understood; names the file, the line and the reason.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.load("panda.urdf")  # doctest: +SKIP
    >>> robot.inverse_dynamics(q, v, a)  # doctest: +SKIP
    """
    from ..model import formats  # readers for all formats: what is built in code needs none

    options = formats.Options(
        floating_base=floating_base, mimic=mimic, gravity=gravity, strict=strict, cuts=cuts, rule=rule
    )
    try:
        return make(formats.read(path, options, loops))
    except RobotFileNotFoundError as problem:
        raise RobotFileNotFoundError(f"{problem}{_in_gallery(Path(path))}") from None


def _in_gallery(path: Path) -> str:
    """Say that a system of the gallery may have been meant, which has another door."""
    if path.suffix or len(path.parts) != 1:
        return ""
    systems = resources.files("kinetree").joinpath("gallery", "names.txt").read_text(encoding="utf-8").split()
    near = nearest(path.name, systems, 1)
    return f"; systems of the gallery are loaded by kinetree.gallery.load({near[0]!r})" if near else ""
