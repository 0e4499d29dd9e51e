"""A robot prepared for display: its shapes, its size, its initial configuration, its motion."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import ModelWarning, OptionError, callers_level
from kinetree.model.configurations import START
from kinetree.model.tree import BASE
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array, as_array

from . import geometry, skeleton
from .mjcf_geometry import read_geoms
from .motion import Poses, Track
from .scene import Scene


@dataclass(frozen=True)
class Figure:
    """A robot for display: its drawing, and its motion, which has one sample if the robot stands still."""

    robot: Robot
    scene: Scene
    track: Track
    own_shapes: bool
    """Whether some of its shapes are from a file."""
    ghost: bool = False

    def some_poses(self) -> Poses:
        """Return about fifty poses over the motion, for camera and ground."""
        return self.track.poses[:: max(1, len(self.track) // 50)]


def make_figure(
    robot: Robot, track: Track | None, *, q: ArrayLike | None = None, file: str | os.PathLike[str] | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (), ghost: bool = False,
) -> Figure:  # fmt: skip
    """Prepare a robot for display.

    Parameters
    ----------
    robot : Robot
    track : Track or None
        Its motion; if None, the robot stands still at ``q``.
    q : array_like, optional
        Configuration of a robot that stands still; by default one with closed loops, within limits, and on the ground.
    file : path, optional
        URDF or MJCF file from which the links' visual shapes are read.
    package_dirs : sequence of paths
        Folders that hold ROS packages, for meshes.
    ghost : bool
        Whether it is shown as a pale ghost behind another robot.
    """
    if track is not None:
        start = np.array(track.q[int(np.argmax(np.isfinite(track.q).all(axis=1)))])
    else:
        start = starting_configuration(robot) if q is None else as_array(q, (robot.nq,), "q").copy()
    if start.ndim != 1:
        raise OptionError(f"q must be one configuration of {robot.nq} numbers, not an array {start.shape}")
    size = extent(robot, Poses.of(robot.model, start))
    looks, problems = appearance(robot, size, file, package_dirs)
    scene = Scene(robot.model, looks, size)
    _warn(problems + scene.problems, file)
    if track is None:
        begins = START in robot.configuration_names
        if q is None and not begins and robot.model.has_quaternion_base and any(robot.model.gravity):
            start = _standing(robot, scene, start)
        track = Track(np.zeros(1), start[None], Poses.of(robot.model, start[None]))
    return Figure(robot, scene, track, any(look.line is not None for look in looks), ghost)


def starting_configuration(robot: Robot) -> Array:
    """Return an initial configuration: the one named ``start``, or one that is closed and within limits."""
    if START in robot.configuration_names:
        return robot.configuration(START)
    if robot.loops is not None:
        return robot.assembled()
    q = robot.neutral()
    for joint in robot.model.joints:
        if joint.nq == 1 and not joint.lower[0] <= q[joint.q_slice][0] <= joint.upper[0]:
            bounds = [x for x in (joint.lower[0], joint.upper[0]) if np.isfinite(x)]
            q[joint.q_slice] = np.mean(bounds)
    return q


def _standing(robot: Robot, scene: Scene, q: Array) -> Array:
    """Return a configuration with the floating base lifted until the robot stands on the ground."""
    lowest = float((scene.points(Poses.of(robot.model, q)) @ scene.up).min())
    root = robot.model.joints[robot.model.roots[0]]
    lifted = q.copy()
    lifted[root.q_slice.stop - 3 : root.q_slice.stop] -= lowest * scene.up
    return lifted


def extent(robot: Robot, poses: Poses) -> float:
    """Compute the diagonal of the box around joints and centers of mass; of the largest body if these coincide."""
    points = [poses.point(body, p) for body, local in skeleton.landmarks(robot.model) for p in local]
    finite = np.array([p for p in points if np.isfinite(p).all()]).reshape(-1, 3)
    size = float(np.linalg.norm(np.ptp(finite, axis=0))) if len(finite) else 0.0
    edges = [float(skeleton.equivalent_box(body.mass_properties)[0].max()) for body in robot.model.bodies]
    return size or max(edges, default=0.0) or 1.0


def appearance(
    robot: Robot, size: float, file: str | os.PathLike[str] | None, package_dirs: Sequence[str | os.PathLike[str]]
) -> tuple[list[geometry.Look], list[str]]:
    """Return shapes from the file if it has any, otherwise from joints and inertia."""
    looks: list[geometry.Look] = []
    problems: list[str] = []
    kind = geometry.format_of(Path(file)) if file is not None else ""
    if file is not None and kind == "urdf":
        looks, problems = geometry.read_visuals(Path(file), robot.model, [Path(p) for p in package_dirs])
    elif file is not None and kind == "mjcf":
        looks, problems = read_geoms(Path(file), robot.model)
    dressed = {look.body for look in looks}
    bare = [i for i in range(len(robot.model.bodies)) if i not in dressed]
    if not dressed:
        bare.append(BASE)
    touching, unseen = geometry.contact_looks(robot.model, size)
    own = [*looks, *skeleton.links(robot.model, size, bare), *skeleton.joints(robot.model, size)]
    return [*own, *touching], problems + unseen


def _warn(problems: list[str], file: Any) -> None:
    if problems:
        listed = "\n".join(f"  {p}" for p in problems[:10])
        more = f"\n  and {len(problems) - 10} more" if len(problems) > 10 else ""
        warnings.warn(
            f"{file}: {len(problems)} things cannot be drawn as in the file; bodies without shapes are drawn from "
            f"their joints and inertia:\n{listed}{more}",
            ModelWarning,
            stacklevel=callers_level(),
        )
