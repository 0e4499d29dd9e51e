"""Joints by name and unit: columns of tables, and curves of plots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.model.linkages.drawing import drawing_of
from kinetree.model.tree import BASE
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.plots import Curve, PlotPanel
from kinetree.studies.system import States

MOTIONS = {"rad": "angle [rad]", "m": "position [m]"}
FORCES = {"rad": "torque [N m]", "m": "force [N]"}
"""Labels of axes, by the unit of the degree of freedom."""


def short(name: str) -> str:
    """Return a name without the words common to all joints or constraints."""
    return name.replace("_joint", "").replace("_", " ").replace(": force", "").replace(": moment", "")


# ------------------------------------------------------------------ tables


def columns(prefix: str, names: Sequence[str], array: Array, units: Sequence[str] | str) -> Iterator[tuple[str, Any]]:
    """Yield columns of a table from an array of one row per sample, named ``prefix name [unit]``."""
    each = [units] * len(names) if isinstance(units, str) else units
    for name, unit, column in zip(names, each, np.asarray(array).T, strict=True):
        yield f"{prefix} {name} [{unit}]", column


def motion_table(robot: Robot, time: Array, states: States) -> dict[str, Array]:
    """Return times, positions, velocities and accelerations of all joints as columns."""
    return {
        "time [s]": time,
        **dict(columns("position", robot.q_names, states.q, robot.q_units)),
        **dict(columns("velocity", robot.v_names, states.v, [f"{u}/s" for u in robot.v_units])),
        **dict(columns("acceleration", robot.v_names, states.a, [f"{u}/s^2" for u in robot.v_units])),
    }


# ------------------------------------------------------------------ pictures


def panels(
    robot: Robot, array: Array, labels: Mapping[str, str], only: Iterable[int] | None = None, most: int | None = 6
) -> list[PlotPanel]:
    """Return curves of one column per degree of freedom, or coordinate, grouped by unit.

    Parameters
    ----------
    robot : Robot
    array : ndarray, shape (samples, nv) or (samples, nq)
    labels : mapping from str to str
        Labels of the axes, keyed by unit.
    only : iterable of int, optional
        Which columns; all by default.
    most : int or None
        Curves per panel; None for any number.
    """
    of_v = array.shape[-1] == robot.nv
    names, units = (robot.v_names, robot.v_units) if of_v else (robot.q_names, robot.q_units)
    wanted, made = list(range(len(units)) if only is None else only), []
    for unit, label in labels.items():
        chosen = [k for k in wanted if units[k] == unit]
        rows = 0 if not chosen else 1 if most is None else -(-len(chosen) // most)
        for part in np.array_split(chosen, rows) if rows else []:
            made.append(PlotPanel(label, [Curve(short(names[k]), array[:, k]) for k in part]))
    return made


def frame_paths(robot: Robot, q: Array) -> dict[str, Array]:
    """Return the paths of the named frames; for a linkage from points, of those that are not pins."""
    drawn = drawing_of(robot.model)
    left_out = {*robot.body_names, *(joint.point for joint in (drawn.joints if drawn else ()))}
    names = [frame.name for frame in robot.model.frames if frame.body != BASE and frame.name not in left_out]
    return {f"path of {short(name)}": robot.pose(q, name)[..., :3, 3] for name in names}
