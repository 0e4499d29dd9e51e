"""A robot from ``inputs.m`` of ReDySim (Shah, Saha and Dutt, chapter 10)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinetree.errors import FileFormatError
from kinetree.model.dh.rows import DHRow, placements
from kinetree.model.formats.source import FileBuilder, Options, Source
from kinetree.model.joints import EulerFree, Free, JointKind, Prismatic, Revolute, Spherical
from kinetree.model.mass import MassProperties
from kinetree.model.pose import Pose
from kinetree.model.tree import Model

from .file_variables import FileNumbers
from .folder import RedysimFolder
from .loops import Geometry, loops_of

INERTIAS = ("Icxx", "Icyy", "Iczz", "Icxy", "Iczx", "Icyz")
"""Moments of inertia in the order of :class:`kinetree.MassProperties`: xx, yy, zz, xy, xz, yz."""

SEQUENCE = "ZXY"
"""Sequence of the angles phi, theta, psi of a floating base, in ``for_kine.m``."""


def read(source: Source, options: Options) -> Model:
    """Read the robot of a folder whose ``inputs.m`` has been read already."""
    folder = RedysimFolder(source.path.parent, source.path.stem)
    folder.code.give(source.path, source.data)
    return model_of(folder, source, options)


def model_of(folder: RedysimFolder, source: Source, options: Options) -> Model:
    """Return the robot of a folder."""
    given = folder.inputs
    count, freedoms = folder.count, _freedoms(given, folder)
    builder = FileBuilder(source, _name(source.path), options, gravity=[float(x) for x in given.vector("g", 3)])
    slides = given.vector("r", count, True) == 0 if "r" in given else np.zeros(count, dtype=bool)
    driven = _driven(given, folder)
    pivots = loops_of(folder).pivots if folder.is_closed else {}
    names = ["base"] + [f"link_{k + 1}" for k in range(count)]
    builder.add_body(names[0])
    for k in range(count):
        with builder.at(given.line("bt")):
            parent = _parent(given, k)
            kind, placement = _joint(given, k, int(freedoms[k]), bool(slides[k]), folder)
            if k in pivots:
                placement = Pose.of(pivots[k]) @ placement
            builder.add_body(names[k + 1], _mass(given, k, count))
            builder.add_joint(
                f"joint_{k + 1}", names[parent], names[k + 1], kind, placement,
                actuated=bool(driven[k]) and kind.nv < 6,
            )  # fmt: skip
    _name_drawn(given, builder, slides, freedoms)
    for name, extra in given.extra.items():
        builder.oddity(f"{name!r} has {extra} more numbers than there are links; like ReDySim, kinetree ignores "
                       "them", given.line(name))  # fmt: skip
    if folder.is_closed:
        _close(folder, builder, names)
    return builder.finish(floating_base=options.floating_base)


def _close(folder: RedysimFolder, builder: FileBuilder, names: list[str]) -> None:
    """Add the joints that close loops; warn if they are uncertain."""
    found, line = loops_of(folder), folder.inputs.line("type")
    if not found.pins:
        builder.oddity(
            f"the system has closed loops, but {found.words}: this is its open tree. 'kinetree import redysim' keeps "
            "jacobian.m as rows of constraints; or add the joints that close it, see the page on loops", line,
        )  # fmt: skip
        return
    for k, way in found.pivots.items():
        shown, table = ", ".join(f"{x:.6g}" for x in way), folder.inputs
        said = next((name for name in ("a", "b") if table.vector(name, folder.count, True)[k] != 0.0), None)
        known = f"its start and the table, {said}({k + 1}), disagree" if said else "the table does not have it"
        builder.oddity(
            f"joint_{k + 1} is moved by ({shown}) m on the ground, to where the loops close in the folder's own start: "
            f"ReDySim's equations do not need its position, and {known}", table.line(said or "a"),
        )  # fmt: skip
    geometry = Geometry(folder)
    turns, _ = geometry.poses(np.zeros(geometry.joints))
    with builder.at(line):
        for k, pin in enumerate(found.pins):
            kind: JointKind = Spherical()
            turned = [np.eye(3), np.eye(3)]
            if found.axis is not None:
                kind, turned = Revolute("z"), [_upright(turns[i].T @ found.axis) for i in (pin.first, pin.second)]
            places = (pin.on_first, pin.on_second)
            first, second = (Pose.of(p, rotation=r) for p, r in zip(places, turned, strict=True))
            ends = names[pin.first + 1], names[pin.second + 1]
            builder.loop(f"loop_{k + 1}", *ends, kind, placement=first, seat=second)


def _upright(axis: np.ndarray) -> np.ndarray:
    """Return a rotation whose third column is a given axis; the identity if that is z."""
    if np.abs(axis - [0.0, 0.0, 1.0]).max() < 1e-12:
        return np.eye(3)
    aside = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(aside, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _name(path: Path) -> str:
    folder = path.absolute().parent.name
    return folder if path.stem == "inputs" and folder else path.stem


def _freedoms(given: FileNumbers, folder: RedysimFolder) -> np.ndarray:
    """Return the number of variables of each joint: ``n_j``, or ``n`` as in the book's biped."""
    count = folder.count
    name = next((n for n in ("n_j", "n") if n in given and given.values[n].size == count > 1), None)
    freedoms = np.ones(count) if name is None else given.vector(name, count).copy()
    if folder.is_floating and name is None:
        freedoms[0] = 6
    for k, n in enumerate(freedoms):
        if not (n == 1 or (n == 6 and k == 0)):
            raise FileFormatError(
                f"joint {k + 1} has {n:g} variables: the file does not say in which sequence of axes it turns. "
                "Write it as rows of one variable each (kt.euler_angle_joints shows which)",
                given.file,
                given.line(name or "bt"),
            )
    return freedoms


def _driven(given: FileNumbers, folder: RedysimFolder) -> np.ndarray:
    """Return which joints have motors: ``aj``, which may leave out a floating base."""
    count = folder.count
    if "aj" not in given:
        return np.ones(count)
    if folder.is_floating and given.values["aj"].size == count - 1:
        return np.concatenate([[0.0], given.vector("aj", count - 1)])
    return given.vector("aj", count, True)


def _parent(given: FileNumbers, k: int) -> int:
    parent = float(given.vector("bt")[k])
    if parent != int(parent) or not 0 <= parent <= k:
        raise FileFormatError(
            f"bt({k + 1}) is {parent:g}: the parent of link {k + 1} must be 0 (the base) or a link before it",
            given.file,
            given.line("bt"),
        )
    return int(parent)


def _joint(given: FileNumbers, k: int, freedoms: int, slides: bool, folder: RedysimFolder) -> tuple[JointKind, Pose]:
    """Return the joint of link k and its place on its parent: modified Denavit-Hartenberg (Shah eq. 3.3)."""
    if freedoms == 6:
        return (EulerFree(SEQUENCE) if "nq" in given else Free()), Pose()
    count = folder.count
    alpha, a, b = (float(given.vector(name, count, True)[k]) for name in ("alp", "a", "b"))
    theta = float(given.vector("th", count, True)[k]) if slides and "th" in given else 0.0
    row = DHRow(alpha=alpha, a=a, d=0.0 if slides else b, theta=theta)
    return (Prismatic("z") if slides else Revolute("z")), placements(row, "modified")[0]


def _name_drawn(given: FileNumbers, builder: FileBuilder, slides: np.ndarray, freedoms: np.ndarray) -> None:
    """Name the configuration of the table.

    For a hinge, ``th`` is the variable, which ReDySim overwrites, and so is ``b`` for a slide: these numbers are not
    offsets, but the configuration in which the system was drawn.
    """
    if "th" not in given or given.values["th"].size < len(slides):
        return
    theta, b = (given.vector(name, len(slides), True) for name in ("th", "b"))
    drawn = {
        f"joint_{k + 1}": float(b[k] if slides[k] else theta[k]) for k in range(len(slides)) if int(freedoms[k]) == 1
    }
    if any(drawn.values()):
        with builder.at(given.line("th")):
            builder.configuration("as_drawn", drawn)


def _mass(given: FileNumbers, k: int, count: int) -> MassProperties:
    com = [float(given.vector(name, count, True)[k]) for name in ("dx", "dy", "dz")]
    inertia = [float(given.vector(name, count, True)[k]) for name in INERTIAS]
    return MassProperties.of(float(given.vector("m", count, True)[k]), com, inertia)
