"""Pictures of designs: before and after, and fronts between two goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.io.units import LENGTHS
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from .circuits import turn
from .goals import PathGoal

if TYPE_CHECKING:
    from .found_design import FoundDesign

OF_A_PATH = 1441
"""Samples of a path: many, since points run fast where a drive comes to its dead point."""

LINKS, PATH, GOAL = "#34495e", "#2980b9", "#c0392b"


def before_and_after(figure: Any, found: FoundDesign, paths: Sequence[str]) -> None:
    """Draw the mechanism before and after, one beside the other, to the same scale."""
    goals = [goal for goal in (found.points.goals if found.points else ()) if isinstance(goal, PathGoal)]
    paths = list(paths) or [goal.point for goal in goals]
    unit = found.of.free.drawn.units if found.of.free.drawn else "m"
    wanted = [found.of.places(goal.points, goal.label) @ found.of.plane.T / LENGTHS[unit] for goal in goals]
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, robot, title in ((left, found.before, "before"), (right, found.robot, "after")):
        _draw(axis, found, robot, paths, LENGTHS[unit])
        for points in wanted:
            axis.plot(*points.T, "o", color=GOAL, markersize=5, fillstyle="none", zorder=4)
        axis.set(title=title, xlabel=f"x [{unit}]", aspect="equal")
    left.set_ylabel(f"y [{unit}]")


def _draw(axis: Any, found: FoundDesign, robot: Robot, paths: Sequence[str], unit: float) -> None:
    plane, start = found.of.plane, found.of.start
    q = start if robot is found.before or found.of.free.drawn else robot.close(start)  # type: ignore[attr-defined]
    for line in _links(found, robot, q):
        axis.plot(*(line @ plane.T / unit).T, "-o", color=LINKS, markersize=4, lw=1.8, zorder=3)
    try:
        motion = turn(robot, OF_A_PATH, q)
    except KinetreeError:  # several freedoms, or no motion from there: only the links are drawn
        return
    for point in paths:
        axis.plot(*(robot.point_position(motion, point) @ plane.T / unit).T, color=PATH, lw=1.0)


def _links(found: FoundDesign, robot: Robot, q: Array) -> list[Array]:
    drawn = found.of.free.drawn
    if drawn is None:
        places = [robot.pose(q, body.name)[:3, 3] for body in robot.model.bodies]
        return [np.array(places)]
    closed = [(*bar.points, bar.points[0]) if len(bar.points) > 2 else bar.points for bar in drawn.bars.values()]
    return [np.array([robot.point_position(q, p) for p in points]) for points in closed]


def front(figure: Any, designs: Sequence[FoundDesign]) -> None:
    """Plot two goals of several designs against each other."""
    axis, shown = figure.subplots(), designs[0].of.free.shown
    rows = [[design.goals[k] for design in designs] for k in (0, 1)]
    x, y = ([shown(row.after, row.unit)[0] for row in own] for own in rows)
    axis.plot(x, y, "-o", color=PATH)
    axis.plot(*(shown(own[0].before, own[0].unit)[0] for own in rows), "x", color=GOAL, label="before")
    for own, name in zip(rows, (axis.set_xlabel, axis.set_ylabel), strict=True):
        unit = shown(0.0, own[0].unit)[1]
        name(f"{own[0].label} [{unit}]" if unit else own[0].label)
    axis.legend()
