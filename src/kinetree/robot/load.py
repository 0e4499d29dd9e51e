"""Robots from files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from ..errors import RobotFileNotFoundError, nearest
from .make import make
from .robot import Robot, require_robot


def load(
    path: str | os.PathLike[str], *, floating_base: bool = False, mimic: str = "follow",
    gravity: Sequence[float] | None = None, strict: bool = False, loops: str | os.PathLike[str] | None = None,
    cuts: Sequence[str] | None = None, rule: str | None = None, missing_meshes: str = "refuse",
    values: Mapping[str, float] | str | os.PathLike[str] | None = None,
) -> Robot:  # fmt: skip
    """Load a robot from a file (URDF, SDF, MJCF, YAML, SYMORO, spatial_v2) or from the gallery by name.

    Parameters
    ----------
    path : path-like
        ``.urdf``, ``.sdf``, ``.xml`` (MJCF, URDF or SDF, as its root says), ``.par`` (SYMORO), ``.mat`` (a model of
        spatial_v2) or ``.yaml``; a ReDySim folder, or its ``inputs.m``; or a name in
        :func:`kinetree.gallery.names`, if there is no file of this name.
    floating_base : bool
        Whether to put the root link on a free joint instead of fixing it.
    mimic : {"follow", "couple", "independent"}
        Whether a joint that mimics another has no coordinate of its own (its inertia and
        forces are carried by its leader), has one that is coupled to its leader's by a constraint force (that
        of the gear between them), or is a joint like any other.
    gravity : sequence of 3 floats, optional
        Acceleration of free fall; by default that of the file, or (0, 0, -9.81).
    strict : bool
        Whether oddities, such as physically impossible inertias, are errors. By default
        one :class:`kinetree.ModelWarning` lists them all.
    loops : path-like, optional
        A YAML file with joints that close loops, for formats that cannot express them: in kinetree's format, or a list
        of coinciding frames as in the collection of parallel robots.
    cuts : sequence of str, optional
        Joints to cut, instead of those that close loops in the file; loops that remain
        are cut by the rule.
    rule : {"minimum_dof", "shortest"}, optional
        Choose new cuts: every body is reached by the fewest degrees of freedom from the base, or
        by the fewest joints.
    missing_meshes : {"refuse", "massless"}
        An MJCF file may leave it to MuJoCo to compute a body's inertia from its meshes.  If these are missing, the file
        is refused, or such bodies have no mass, with a warning.
    values : mapping of name to number, or path-like, optional
        Values of symbols in a SYMORO file, ``{"d3": 0.45}``, or a file with them: ``d3: 0.45`` in YAML or JSON,
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
    from ..io.gallery_files import gallery_file, gallery_names

    if str(path) in gallery_names() and not Path(path).exists():
        with resources.as_file(gallery_file(str(path))) as file:
            return load(
                file, floating_base=floating_base, mimic=mimic, gravity=gravity, strict=strict, loops=loops, cuts=cuts,
                rule=rule, missing_meshes=missing_meshes, values=values,
            )  # fmt: skip
    from ..model import formats  # imports all readers, which a robot built in code does not need

    options = formats.Options(
        floating_base=floating_base, mimic=mimic, gravity=gravity, strict=strict, cuts=cuts, rule=rule,
        missing_meshes=missing_meshes, values=values,
    )  # fmt: skip
    try:
        return make(formats.read(path, options, loops))
    except RobotFileNotFoundError as problem:
        raise RobotFileNotFoundError(f"{problem}{_in_gallery(Path(path))}") from None


def as_robot(given: Robot | str | os.PathLike[str]) -> Robot:
    """Return a robot unchanged, or load it from its file or by its name in the gallery."""
    if isinstance(given, (str, os.PathLike)):
        return load(given)
    require_robot(given)
    return given


def _in_gallery(path: Path) -> str:
    """Suggest a system of the gallery, for messages."""
    if path.suffix or len(path.parts) != 1:
        return ""
    from ..io.gallery_files import gallery_names, only_a_study

    study = only_a_study(path.name)
    if study:
        return f"; {study}"
    near = nearest(path.name, gallery_names(), 1)
    return f"; the gallery has {near[0]!r}" if near else ""
