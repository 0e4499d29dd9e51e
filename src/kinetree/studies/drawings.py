"""Line drawings of mechanisms: bars from joint to joint at one instant, with other instants drawn faintly."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, explains_arguments, refuse_unknown
from ..io.pictures import drawing
from ..io.plot_style import COLORS, line
from ..io.units import LENGTHS
from ..model.attachments import attachments
from ..model.linkages.drawing import drawing_of
from ..model.linkages.plates import hull
from ..model.tree import BASE
from ..robot.robot import Robot
from ..spatial.arrays import Array
from .plots import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PLANE = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""The xy plane, in which the sources' planar mechanisms move."""

OBLIQUE = np.array([[0.87, -0.5, 0.0], [-0.25, -0.43, 0.87]]) * np.array([1.0, -1.0, 1.0])
"""View from the front, slightly from the right and from above; z is up."""

SIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""View from the right: x forward, z up."""

FLOATING = ("free", "free_euler", "planar")
"""Kinds of joints that do not connect a body to the ground."""


@dataclass(frozen=True)
class Sketch:
    """A drawing of a robot at several configurations, the first one strong and the others faint."""

    robot: Robot
    configurations: Array  # (k, nq)
    paths: Mapping[str, Array] = field(default_factory=dict)
    """Curves in space, (n, 3), by name: paths of points."""
    caption: str = ""
    view: Array = field(default_factory=lambda: PLANE)  # (2, 3)
    """Projection from space to the paper: :data:`PLANE` or :data:`OBLIQUE`."""
    height: float = 3.6
    """Height in inches."""
    unit: str = "m"
    """Unit of the scales: ``"m"``, ``"mm"``, ``"in"``."""

    def __call__(self, figure: Figure) -> None:
        """Draw."""
        figure.set_size_inches(WIDTH, self.height)
        axis = figure.subplots()
        for k, q in reversed(list(enumerate(self.configurations))):
            self._bars(axis, q, faint=k > 0)
        for k, (name, path) in enumerate(self.paths.items()):
            x, y = self.view @ np.asarray(path).T
            axis.plot(x, y, label=name, **(line(k + 1) | {"linewidth": 1.4}))
        axis.set_aspect("equal", adjustable="datalim")
        axis.set_xlabel(f"{_seen_along(self.view[0])}[{self.unit}]")
        axis.set_ylabel(f"{_seen_along(self.view[1])}[{self.unit}]")
        if self.unit != "m":
            for scale in (axis.xaxis, axis.yaxis):
                scale.set_major_formatter(lambda x, _: f"{x / LENGTHS[self.unit]:.6g}")
        if self.paths:
            axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    def _bars(self, axis: Axes, q: Array, faint: bool) -> None:
        strength = 0.22 if faint else 1.0
        model = self.robot.model  # outlines are relative to the joint that carries a body, wherever its own frame is
        poses = [self.robot.pose(q, b.name) @ model.frame(b.name).pose.inverse().matrix for b in model.bodies]
        for first, second in self._slides(poses):
            ends = self.view @ np.stack([first, second], axis=1)
            axis.plot(*ends, color=COLORS[5], linewidth=1.6, alpha=strength, zorder=1)
        for points, pose in zip(outlines(self.robot), poses, strict=True):
            placed = self.view @ (pose[:3, :3] @ points.T + pose[:3, 3:])
            closed = np.concatenate([placed, placed[:, :1]], axis=1) if placed.shape[1] > 2 else placed
            axis.plot(*closed, color=COLORS[0], linewidth=2.6, alpha=strength, solid_joinstyle="round", zorder=2)
            if not faint:
                axis.plot(*placed, "o", color=COLORS[0], markerfacecolor="white", markersize=4.5, zorder=3)
        if not faint:
            ground = self.view @ _on_the_ground(self.robot).T
            axis.plot(*ground, "^", color="#3c444c", markersize=7, zorder=4)

    def _slides(self, poses: Sequence[Array]) -> list[tuple[Array, Array]]:
        """Return, for every body, its joint's place on the parent and its own origin; slides separate the two."""
        ends = []
        for joint, pose in zip(self.robot.model.joints, poses, strict=True):
            if joint.kind.name in FLOATING:
                continue
            seat = np.append(joint.placement.position, 1.0)
            ends.append(((seat if joint.parent == BASE else poses[joint.parent] @ seat)[:3], pose[:3, 3]))
        return ends


@explains_arguments
def plot_mechanism(
    robot: Robot, q: ArrayLike | None = None, *, path: str | Sequence[str] | Mapping[str, tuple[str, ArrayLike]] = (),
    phantoms: int = 5, view: str = "xy", units: str = "m", file: str | os.PathLike[str] | None = None,
) -> Figure:  # fmt: skip
    """Draw a mechanism with lines: links, pins and ground, phantom positions, and paths of points.

    Parameters
    ----------
    robot : Robot
    q : array_like, shape (nq,) or (T, nq), optional
        A configuration, or a motion, such as from :meth:`kinetree.Mechanism.follow`: the first one is drawn
        strongly.  By default the configuration as drawn in the robot's file.
    path : str, sequence of str, or mapping from name to (frame, point)
        Bodies or frames whose paths are drawn, or points in their coordinates.
    phantoms : int
        Number of further positions of a motion that are drawn faintly.
    view : {"xy", "xz", "yz"}
        The plane of the picture: to the right and up.
    units : {"m", "mm", "cm", "in"}
        Unit of the scales.
    file : path-like, optional
        File to write the picture to: ``.png``, ``.svg``, ``.pdf``.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np, kinetree as kt
    >>> four_bar = kt.load("four-bar")
    >>> turn = four_bar.follow({"crank_joint": np.linspace(0, 6.28, 100)}, kt.gallery.start("four-bar"))
    >>> figure = kt.plot_mechanism(four_bar, turn, path={"middle": ("coupler", (0.05, 0, 0))}, units="mm")
    """
    if q is None:
        q = robot.neutral() if robot.loops is None else robot.assembled()
    motion = np.atleast_2d(np.asarray(q, dtype=float))
    if motion.ndim != 2 or motion.shape[1] != robot.nq or not len(motion):
        raise ShapeError(f"q must be one configuration ({robot.nq},) or a motion (T, {robot.nq}), not {np.shape(q)}")
    refuse_unknown("unit of length", units, LENGTHS)
    if len(view) != 2 or not {*view} <= {*"xyz"} or phantoms < 0:
        raise OptionError(f"view is a plane, such as 'xy' or 'xz', phantoms 0 or more; not {view!r}, {phantoms}")
    names = [path] if isinstance(path, str) else path
    points = names if isinstance(names, Mapping) else {name: (name, np.zeros(3)) for name in names}
    paths = {name: robot.point_position(motion, frame, point) for name, (frame, point) in points.items()}
    others = np.linspace(0, len(motion) - 1, phantoms + 1).round().astype(int)[1:] if len(motion) > 1 else ()
    plane = np.array([np.eye(3)["xyz".index(x)] for x in view])
    with drawing((WIDTH, 3.6), file) as figure:
        Sketch(robot, motion[[0, *others]], paths, view=plane, unit=units)(figure)
    return figure


def _seen_along(direction: Array) -> str:
    """Return the name of the space axis along an axis of the paper, if there is one."""
    return next((f"{x} " for x, unit in zip("xyz", np.eye(3), strict=True) if np.array_equal(unit, direction)), "")


def outlines(robot: Robot) -> list[Array]:
    """Return the points that the drawing of every body connects: its own joint, further joints, frames."""
    drawn = drawing_of(robot.model) is not None
    points = attachments(robot.model, math.inf if drawn else 3)  # the outline of a plate does not need its center
    # a floating body is drawn from its origin: nothing else shows where it is
    found = [_distinct(np.concatenate([np.zeros((1, 3)), points[i]])) for i in range(len(robot.model.bodies))]
    return [_around(one) for one in found] if drawn else found


def _around(points: Array) -> Array:
    """Return the corners of a plate one after the other, or the points of a straight bar from end to end."""
    order = hull([(x, y) for x, y, _ in points.tolist()]) if len(points) > 1 else [0]
    if len(order) == 2:
        order = list(np.argsort(points @ (points[order[1]] - points[order[0]])))
    return np.asarray(points[order])


def _on_the_ground(robot: Robot) -> Array:
    held = [j for j in robot.model.joints if j.parent == BASE and j.kind.name not in FLOATING]
    return np.array([j.placement.position for j in held], dtype=float).reshape(-1, 3)


def _distinct(points: Array) -> Array:
    _, first = np.unique(np.round(points, 9), axis=0, return_index=True)
    return points[np.sort(first)]
