"""How everything is seen at first: ground, camera, and what is shown besides the robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinetree.spatial.arrays import Array

from .displayed_robot import Figure
from .motion import Poses
from .scene import Sight, followed_path, ground_height


class Framing(NamedTuple):
    """The first view of a robot and its ghosts."""

    ground: tuple[float, bool]
    """Its height, and whether it is drawn."""
    sight: Sight
    follow: Array | None
    """The path of a camera that goes along with a walking robot."""
    shown: dict[str, bool]
    """Switches of things to show."""


def framing(figures: Sequence[Figure], view: Sequence[float] | None = None) -> Framing:
    """Choose ground and camera for figures, the first of which is the robot; adds posts to what stands above ground."""
    main = figures[0]
    model, scene, track = main.robot.model, main.scene, main.track
    follow, walks = followed_path(model, track, scene.up, scene.size)
    every = [figure.scene.points(figure.some_poses()) for figure in figures]
    ground = ground_height(model, every[0] @ scene.up, scene.size)
    if ground[1] and not main.own_shapes:
        scene.add_posts(ground[0])
        every[0] = scene.points(main.some_poses())
    if follow is not None and walks:
        # the camera follows, so it only needs to see the robot itself
        near = main.some_poses()
        gone = follow[:: max(1, len(track) // 50)]
        every[0] = (
            scene.points(Poses(near.position - gone[:, None], near.wxyz)) if len(scene.model.bodies) else every[0]
        )
        every = every[:1]
    sight = scene.sight(main.some_poses(), np.concatenate(every), view)
    shown = {"ground": ground[1], "joints": not main.own_shapes}
    if follow is not None:
        shown["follow"] = walks
    if len(track.spots):
        shown["forces"] = True
    shown |= {"frames": False, "axes": False}
    if main.robot.mass > 0.0:
        shown |= {"com": False, "inertia": False}
    if main.robot.shapes:
        shown["shapes"] = False
    if len(figures) > 1:
        shown["ghost"] = True
    return Framing(ground, sight, follow, shown)
