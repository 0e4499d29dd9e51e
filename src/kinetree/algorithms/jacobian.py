"""Jacobians of frames, and their time derivatives.

Three ways to write the velocity of a frame, named as the user names them:

``body``
    its spatial velocity in its own axes, at its own origin;
``world``
    its spatial velocity in world axes, at the world's origin;
``aligned``
    angular velocity and velocity of its origin in world axes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.tree import BASE, Model
from ..spatial import ZERO3, ZERO_MOTION, Force, Motion, Scalar, Transform
from .kinematics import Posed, Twist, of_frame, poses, twists
from .passes import Scalars, add

FRAMES = ("body", "world", "aligned")

Columns = list[Motion]


def express(m: Motion, pose: Transform, frame: str) -> Motion:
    """Write a motion that is given in a frame's own coordinates in another way."""
    if frame == "body":
        return m
    if frame == "world":
        return pose.motion_to_parent(m)
    return Motion(pose.rotate(m.angular), pose.rotate(m.linear))


def frame_columns(
    tree: Model, q: Scalars, name: str, posed: Sequence[Posed] | None = None
) -> tuple[Columns, Transform]:
    """Columns of a frame's Jacobian in its own coordinates, and its pose."""
    posed = posed or poses(tree, q)
    body, local, world = of_frame(tree, name, posed)
    columns = columns_at(tree, posed, body, local)
    return [ZERO_MOTION if c is None else c for c in columns], world


def columns_at(
    tree: Model, posed: Sequence[Posed], body: int, local: Transform, above: int = BASE
) -> list[Motion | None]:
    """Columns for the frame ``local`` on a body, in its own coordinates; None where a joint does not move it.

    Joints at and below the body ``above`` are left out: motion relative to that body.
    """
    columns: list[Motion | None] = [None] * tree.nv
    reach = local  # from the frame to the body at hand
    while body != above:
        link = tree.links[body]
        for k, s in enumerate(posed[body].subspace):
            column = reach.motion_to_child(s)
            if link.follows:
                column = column * link.ratio
            columns[link.v_slice.start + k] = add(columns[link.v_slice.start + k], column)
        reach = (posed[body].transform @ reach).collapsed()
        body = link.parent
    return columns


def jacobian(tree: Model, q: Scalars, name: str, frame: str = "body") -> Columns:
    """Columns of the 6 x nv Jacobian."""
    columns, pose = frame_columns(tree, q, name)
    return [express(c, pose, frame) for c in columns]


def jacobian_rate(tree: Model, q: Scalars, v: Scalars, name: str, frame: str = "body") -> Columns:
    """Columns of the Jacobian's time derivative, component by component in the chosen frame.

    A column is a joint's screw s_k, which changes in space as s_k' = v_k x s_k plus its
    apparent rate; in body axes it is seen from a frame moving with velocity v_F.
    """
    posed = poses(tree, q)
    moving: Sequence[Twist] = twists(tree, q, v, None, posed)
    body, local, pose = of_frame(tree, name, posed)
    rates: list[Motion | None] = [None] * tree.nv
    v_frame = ZERO_MOTION if body == BASE else local.motion_to_child(moving[body].velocity)
    reach = local
    while body != BASE:
        link = tree.links[body]
        own_q, own_v = link.position(q), link.velocity(v)
        apparent = link.kind.subspace_rate(own_q, own_v)
        velocity = reach.motion_to_child(moving[body].velocity)
        for k, s in enumerate(posed[body].subspace):
            column = reach.motion_to_child(s)
            rate = velocity.cross(column)  # of the screw, as a vector in space
            if apparent is not None:
                rate = rate + reach.motion_to_child(apparent[k])
            rate = _componentwise(rate, column, v_frame, pose, frame)
            if link.follows:
                rate = rate * link.ratio
            rates[link.v_slice.start + k] = add(rates[link.v_slice.start + k], rate)
        reach = (posed[body].transform @ reach).collapsed()
        body = link.parent
    return [ZERO_MOTION if c is None else c for c in rates]


def _componentwise(rate: Motion, column: Motion, v_frame: Motion, pose: Transform, frame: str) -> Motion:
    """From the rate of a vector in space to the rate of its components."""
    if frame == "world":
        return pose.motion_to_parent(rate)
    if frame == "body":
        return rate - v_frame.cross(column)
    # aligned: the axes stand still but the origin moves along with the frame
    drift = Motion(ZERO3, v_frame.linear)
    return express(rate - drift.cross(column), pose, "aligned")


def rows(columns: Sequence[Motion | Force]) -> list[list[Scalar]]:
    """The 6 x n matrix by rows."""
    components = [list(c) for c in columns]
    return [[c[i] for c in components] for i in range(6)]
