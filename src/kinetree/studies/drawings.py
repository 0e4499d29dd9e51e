"""Line drawings of mechanisms: bars from joint to joint, at one instant, with ghosts of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..io.plot_style import COLORS, line
from ..model.attachments import attachments
from ..model.tree import BASE
from ..robot.robot import Robot
from .plots import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray

PLANE = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Planar mechanisms of the sources lie in xy."""

OBLIQUE = np.array([[0.87, -0.5, 0.0], [-0.25, -0.43, 0.87]]) * np.array([1.0, -1.0, 1.0])
"""Seen from the front, a little from the right and from above; z is up."""

SIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Seen from the right: x forward, z up."""

FLOATING = ("free", "free_euler", "planar")
"""Kinds of joints that hold nothing to the ground."""


@dataclass(frozen=True)
class Sketch:
    """A drawing of a robot at several configurations, the first one strong and the others faint.

    Parameters
    ----------
    robot : Robot
    configurations : ndarray, shape (k, nq)
    paths : mapping from str to ndarray
        Curves in space, (n, 3), by name: what a point draws.
    caption : str
    view : ndarray, shape (2, 3)
        From space to the paper: :data:`PLANE` or :data:`OBLIQUE`.
    height : float
        In inches.
    """

    robot: Robot
    configurations: Array
    paths: Mapping[str, Array] = field(default_factory=dict)
    caption: str = ""
    view: Array = field(default_factory=lambda: PLANE)
    height: float = 3.6

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
        planar = bool(np.array_equal(self.view, PLANE))
        axis.set_xlabel("x [m]" if planar else "across the picture [m]")
        axis.set_ylabel("y [m]" if planar else "up the picture [m]")
        if self.paths:
            axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    def _bars(self, axis: Axes, q: Array, faint: bool) -> None:
        strength = 0.22 if faint else 1.0
        poses = [self.robot.pose(q, name) for name in self.robot.body_names]
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
        """Return, for every body, where its joint sits on the parent and its own origin: apart where joints slide."""
        ends = []
        for joint, pose in zip(self.robot.model.joints, poses, strict=True):
            if joint.kind.name in FLOATING:
                continue
            seat = np.append(joint.placement.position, 1.0)
            ends.append(((seat if joint.parent == BASE else poses[joint.parent] @ seat)[:3], pose[:3, 3]))
        return ends


def outlines(robot: Robot) -> list[Array]:
    """Return the points of every body that its drawing joins: its own joint, further joints, frames."""
    points = attachments(robot.model, frames_below=3)  # the outline of a plate needs no middle
    # a body that floats is drawn from its origin: there is nothing else to show where it is
    return [_distinct(np.concatenate([np.zeros((1, 3)), points[i]])) for i in range(len(robot.model.bodies))]


def _on_the_ground(robot: Robot) -> Array:
    held = [j for j in robot.model.joints if j.parent == BASE and j.kind.name not in FLOATING]
    return np.array([j.placement.position for j in held], dtype=float).reshape(-1, 3)


def _distinct(points: Array) -> Array:
    _, first = np.unique(np.round(points, 9), axis=0, return_index=True)
    return points[np.sort(first)]
