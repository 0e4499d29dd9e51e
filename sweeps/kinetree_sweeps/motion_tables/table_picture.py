"""A picture of a table of joint forces or accelerations, over time or a joint's position, with one panel per unit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import OptionError
from kinetree.io.paths import is_folder
from kinetree.io.pictures import drawing
from kinetree.io.plot_style import height_beside, keep_zero_flat, legend_beside, line
from kinetree.io.tables.reading import open_table
from kinetree.io.units import ShownUnits
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from .dynamics_by_rows import units_of

WIDTH, HEIGHT = 9.0, 3.0
"""Size of a panel in inches; a panel with many names beside it is higher."""

LOW, MOST_PANELS = 1.5, 80
"""Height of a panel for a single joint, and the largest number of such panels."""

MOST_SAMPLES = 5000
"""At most this many rows are drawn, evenly spaced: a picture does not have more pixels across."""

WORDS = {"N m": "torque", "N": "force", "rad/s^2": "acceleration", "m/s^2": "acceleration"}


class TableCurves(NamedTuple):
    """The numbers of a table, as they are drawn."""

    label: str
    across: Array
    values: Array


def draw_table(
    robot: Robot, key: str, tables: Mapping[str, Path], picture: str | os.PathLike[str], separate: bool = False,
    shown: ShownUnits | None = None, over: str | None = None,
) -> None:  # fmt: skip
    """Draw tables that :func:`kinetree.sweeps.over_table` wrote, over one another.

    robot: A robot whose joints are those of all tables.
    key: {"tau", "a"}. Quantity of each joint in the tables.
    tables: Files, not folders of parts, by what sets them apart; that is empty for a single one.
    picture: ``.png``, ``.svg``, ``.pdf``, ...
    separate: Whether to draw a separate panel with its own scale for each freedom.
    shown: Units other than SI to draw in.
    over: A joint whose position, a column of the tables, replaces time as the horizontal axis.
    """
    others = shown or ShownUnits()
    read = [_read(robot, key, label, table, others, over) for label, table in tables.items()]
    along, all_curves = read[0][0], [curves for _, curves in read]
    idle = {k for j in robot.model.joints if not j.actuated for k in j.freedoms}
    used = np.any([np.any(curves.values, axis=0) for curves in all_curves], axis=0)
    drawn = [k for k in range(robot.nv) if not (key == "tau" and k in idle) or used[k]]
    measured = list(units_of(robot)[key].values())
    groups = [(unit, [k for k in drawn if measured[k] == unit]) for unit in dict.fromkeys(measured[k] for k in drawn)]
    if separate:
        groups = [(unit, [k]) for unit, places in groups for k in places]
    if len(groups) > MOST_PANELS:
        raise OptionError(f"--separate makes {len(groups)} panels, and a picture has at most {MOST_PANELS}")
    heights = [height_beside(len(places) * len(tables), LOW if separate else HEIGHT) for _, places in groups]
    with drawing((WIDTH, sum(heights) + 0.6), picture) as figure:
        axes: Any = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (unit, places) in zip(axes, groups, strict=True):
            for k, place in enumerate(places):
                own = drawn.index(place) if separate else k
                for c, curves in enumerate(all_curves):
                    named = ", ".join(text for text in (robot.v_names[place], curves.label) if text)
                    axis.plot(
                        curves.across, others.shown(curves.values[:, place], unit),
                        label=named.replace("$", r"\$"), **line(own * len(all_curves) + c),
                    )  # fmt: skip
            keep_zero_flat(
                axis, [others.shown(x.values[:, k], unit) for x in all_curves for k in drawn if measured[k] == unit]
            )
            axis.set_ylabel(f"{WORDS.get(unit, key)} [{others.label(unit)}]")
            legend_beside(axis)
        axes[-1].set_xlabel(along)
        figure.align_ylabels()
        figure.suptitle(robot.name.replace("$", r"\$"))


def _read(
    robot: Robot, key: str, label: str, table: Path, others: ShownUnits, over: str | None
) -> tuple[str, TableCurves]:  # fmt: skip
    """Return what the horizontal axis of a table is called, and its curves."""
    if is_folder(table):
        raise OptionError(f"a picture is drawn of one table, not of the folder {str(table)!r}: give a file to write")
    wanted = {key: robot.v_names} | ({} if over is None else {"q": [over]})
    opened = open_table(table, wanted, None, units_of(robot))
    parts = [part.read() for part in opened.parts()]
    values = np.concatenate([part.arrays[0] for part in parts])
    rows = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_SAMPLES)).astype(int))
    times = np.concatenate([part.time for part in parts if part.time is not None]) if opened.has_time else None
    across, along = (rows, "row") if times is None else (times[rows], "time [s]")
    if over is not None:
        unit = units_of(robot)["q"][over]
        across = others.shown(np.concatenate([part.arrays[1] for part in parts])[rows, 0], unit)
        along = f"{over} [{others.label(unit)}]".replace("$", r"\$")
    return along, TableCurves(label, across, values[rows])
