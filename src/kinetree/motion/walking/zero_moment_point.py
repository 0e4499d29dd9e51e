"""The zero moment point: where the ground's reaction must act for a motion to be possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import OptionError, ShapeError, SingularError
from ...robot.robot import Robot
from ...spatial.arrays import Array


def zero_moment_point(robot: Robot, q: ArrayLike, v: ArrayLike, a: ArrayLike, height: float = 0.0) -> Array:
    """Return the point of the ground about which gravity and inertia forces have no horizontal moment (Shah eq. B.1).

    The balance of moments gives +i_xx w'_x in the second line of B.1, which prints a minus.
    It is found from the momentum of the whole robot, so products of inertia are included.

    Parameters
    ----------
    robot : Robot
    q, v, a : array_like
        A motion, including that of the base.
    height : float
        Height of the ground, measured upward (against gravity) from the world's origin.

    Returns
    -------
    ndarray, shape (..., 3)
        In world coordinates.  NaN where the ground would have to pull, or to carry nothing.
    """
    gravity = robot.gravity
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        raise SingularError("without gravity there is no ground reaction, so no zero moment point")
    up = -gravity / size
    rate = robot.momentum_rate(q, v, a)
    force = rate[..., 3:] - robot.mass * gravity  # the wrench that the ground must supply
    place = height * up
    moment = rate[..., :3] + np.cross(robot.center_of_mass(q) - place, force)
    carried = force @ up
    with np.errstate(all="ignore"):
        point = place + np.cross(up, moment) / carried[..., None]
    return np.where(carried[..., None] > 0.0, point, np.nan)


def center_of_pressure(points: ArrayLike, forces: ArrayLike, height: float = 0.0) -> Array:
    """Return the point of level ground about which contact forces have no horizontal moment.

    If nothing else touches the robot, it is the zero moment point of its motion.

    Parameters
    ----------
    points, forces : array_like, shape (..., k, 3)
        Contact points and forces, along world axes; z is up.
    height : float
        Height of the ground.

    Returns
    -------
    ndarray, shape (..., 3)
        NaN where nothing is carried.
    """
    place, push = np.asarray(points, dtype=float), np.asarray(forces, dtype=float)
    if place.shape[-1:] != (3,) or push.shape[-1:] != (3,) or place.shape[-2:] != push.shape[-2:]:
        raise ShapeError(f"points and forces must both have shape (..., k, 3), got {place.shape} and {push.shape}")
    origin, up = np.array([0.0, 0.0, height]), np.array([0.0, 0.0, 1.0])
    moment = np.cross(place - origin, push).sum(axis=-2)
    carried = push[..., 2].sum(axis=-1)
    with np.errstate(all="ignore"):
        found = origin + np.cross(up, moment) / carried[..., None]
    return np.where(carried[..., None] > 0.0, found, np.nan)


def support_margin(point: ArrayLike, corners: ArrayLike) -> Array:
    """Return how far points are inside the convex hull of the supporting feet, (...); negative outside.

    Parameters
    ----------
    point : array_like, shape (..., 2) or more
        The first two coordinates count.
    corners : array_like, shape (k, 2) or more
        Points of the feet on the ground, at least three that span an area.
    """
    from scipy.spatial import ConvexHull, QhullError  # slow to import, and few need it

    places, asked = np.asarray(corners, dtype=float), np.asarray(point, dtype=float)
    if places.ndim != 2 or places.shape[1] < 2 or asked.shape[-1:] < (2,):
        shapes = f"{asked.shape} and {places.shape}"
        raise ShapeError(f"point must have shape (..., 2) or more, corners (k, 2) or more, got {shapes}")
    try:
        hull = ConvexHull(places[:, :2])
    except (QhullError, ValueError):
        raise OptionError(f"{len(places)} points do not span an area to stand on") from None
    outside = asked[..., :2] @ hull.equations[:, :2].T + hull.equations[:, 2]
    return -outside.max(axis=-1)
