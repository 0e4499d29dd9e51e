"""Robots from files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from ..errors import RobotFileNotFoundError, nearest
from ..io.gallery_files import gallery_file, gallery_names, only_a_study
from .make import make
from .robot import Robot, require_robot


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
    missing_meshes: str = "refuse",
    values: Mapping[str, float] | str | os.PathLike[str] | None = None,
) -> Robot:
    """Read a robot from a file: URDF, SDF, MJCF, YAML, SYMORO's, spatial_v2's; or take one of the gallery by its name.

    Parameters
    ----------
    path : path-like
        ``.urdf``, ``.sdf``, ``.xml`` (MJCF, URDF or SDF, as its root says), ``.par`` (SYMORO), ``.mat`` (a model of
        spatial_v2) or ``.yaml``; a folder of ReDySim, or its ``inputs.m``; or a name that
        :func:`kinetree.gallery.names` lists, where there is no file of this name.
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
    missing_meshes : {"refuse", "massless"}
        An MJCF file may leave it to MuJoCo to compute a body's inertia from its meshes.  Where their files are missing
        it is refused, or such bodies have no mass, with a warning each.
    values : mapping of name to number, or path-like, optional
        Of symbols in a file of SYMORO, ``{"d3": 0.45}``, or a file that has them: ``d3: 0.45`` in YAML or JSON,
        ``d3,0.45`` in CSV.  Symbols without a value stay in the robot: see :attr:`kinetree.Robot.symbols`.

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
    >>> robot = kt.load("kuka-kr5")  # from the gallery, or a file: kt.load("panda.urdf")
    >>> robot.nv
    6
    """
    if str(path) in gallery_names() and not Path(path).exists():
        with resources.as_file(gallery_file(str(path))) as file:
            return load(
                file, floating_base=floating_base, mimic=mimic, gravity=gravity, strict=strict, loops=loops, cuts=cuts,
                rule=rule, missing_meshes=missing_meshes, values=values,
            )  # fmt: skip
    from ..model import formats  # readers for all formats: what is built in code needs none

    options = formats.Options(
        floating_base=floating_base, mimic=mimic, gravity=gravity, strict=strict, cuts=cuts, rule=rule,
        missing_meshes=missing_meshes, values=values,
    )  # fmt: skip
    try:
        return make(formats.read(path, options, loops))
    except RobotFileNotFoundError as problem:
        raise RobotFileNotFoundError(f"{problem}{_in_gallery(Path(path))}") from None


def as_robot(given: Robot | str | os.PathLike[str]) -> Robot:
    """Return a robot as it is; load one that is given by its file, or by its name in the gallery."""
    if isinstance(given, (str, os.PathLike)):
        return load(given)
    require_robot(given)
    return given


def _in_gallery(path: Path) -> str:
    """Say that a system of the gallery may have been meant."""
    if path.suffix or len(path.parts) != 1:
        return ""
    study = only_a_study(path.name)
    if study:
        return f"; {study}"
    near = nearest(path.name, gallery_names(), 1)
    return f"; the gallery has {near[0]!r}" if near else ""
