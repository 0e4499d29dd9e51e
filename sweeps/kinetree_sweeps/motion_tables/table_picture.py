"""A picture of a table of joint forces or accelerations, over time or a joint's position, with one panel per unit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import OptionError
from kinetree.io.paths import is_folder
from kinetree.io.pictures import drawing
from kinetree.io.plot_style import height_beside, keep_zero_flat, legend_beside, line
from kinetree.io.tables.reading import open_table
from kinetree.io.units import ShownUnits
from kinetree.robot.robot import Robot

from .dynamics_by_rows import units_of

WIDTH, HEIGHT = 9.0, 3.0
"""Size of a panel in inches; a panel with many names beside it is higher."""

LOW, MOST_PANELS = 1.5, 80
"""Height of a panel for a single joint, and the largest number of such panels."""

MOST_SAMPLES = 5000
"""At most this many rows are drawn, evenly spaced: a picture does not have more pixels across."""

WORDS = {"N m": "torque", "N": "force", "rad/s^2": "acceleration", "m/s^2": "acceleration"}


def draw_table(
    robot: Robot, key: str, table: Path, picture: str | os.PathLike[str], separate: bool = False,
    shown: ShownUnits | None = None, over: str | None = None,
) -> None:  # fmt: skip
    """Draw the table that :func:`kinetree.sweeps.over_table` wrote.

    key: {"tau", "a"}. Quantity of each joint in the table.
    table: A file; not a folder of parts.
    picture: ``.png``, ``.svg``, ``.pdf``, ...
    separate: Whether to draw a separate panel with its own scale for each freedom.
    shown: Units other than SI to draw in.
    over: A joint whose position, a column of the table, replaces time as the horizontal axis.
    """
    others = shown or ShownUnits()
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
    idle = {k for j in robot.model.joints if not j.actuated for k in j.freedoms}
    drawn = [k for k in range(robot.nv) if not (key == "tau" and k in idle) or np.any(values[:, k])]
    measured = list(units_of(robot)[key].values())
    groups = [(unit, [k for k in drawn if measured[k] == unit]) for unit in dict.fromkeys(measured[k] for k in drawn)]
    if separate:
        groups = [(unit, [k]) for unit, places in groups for k in places]
    if len(groups) > MOST_PANELS:
        raise OptionError(f"--separate makes {len(groups)} panels, and a picture has at most {MOST_PANELS}")
    heights = [height_beside(len(places), LOW if separate else HEIGHT) for _, places in groups]
    with drawing((WIDTH, sum(heights) + 0.6), picture) as figure:
        axes: Any = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (unit, places) in zip(axes, groups, strict=True):
            for k, place in enumerate(places):
                axis.plot(
                    across,
                    others.shown(values[rows, place], unit),
                    label=robot.v_names[place].replace("$", r"\$"),
                    **line(drawn.index(place) if separate else k),
                )
            keep_zero_flat(axis, [others.shown(values[rows, k], unit) for k in drawn if measured[k] == unit])
            axis.set_ylabel(f"{WORDS.get(unit, key)} [{others.label(unit)}]")
            legend_beside(axis)
        axes[-1].set_xlabel(along)
        figure.align_ylabels()
        figure.suptitle(robot.name.replace("$", r"\$"))
