"""Where the bodies are and how they move: poses, velocities, accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.tree import BASE, Link, Model
from ..spatial import BASIS, IDENTITY, ZERO_MOTION, Matrix3, MatrixRotation, Motion, Scalar, Transform, combine
from .passes import Scalars, at_tip, bias_motion, each, nothing, outward, path_to, positions, rates, side_by_side


class Posed(NamedTuple):
    """A body's pose in the world, and in its parent; its motion subspace in its own frame."""

    pose: Transform
    transform: Transform
    subspace: tuple[Motion, ...]


class Twist(NamedTuple):
    """A body's spatial velocity and spatial acceleration, in its own frame."""

    velocity: Motion
    acceleration: Motion


class MovingBody(NamedTuple):
    """A body's pose in its parent, and its spatial velocity in its own frame."""

    transform: Transform
    velocity: Motion


AT_ORIGIN = Posed(Transform((MatrixRotation(Matrix3(*BASIS)),)), IDENTITY, ())
AT_REST = Twist(ZERO_MOTION, ZERO_MOTION)


def poses(tree: Model, q: Scalars) -> list[Posed]:
    """Return the pose of every body."""

    def step(link: Link, parent: Posed, q: Scalars) -> Posed:
        x = link.transform(q)
        return Posed((parent.pose @ x).collapsed(), x, link.subspace(q))

    return outward(tree, step, AT_ORIGIN, positions(tree, q))


def velocities(tree: Model, q: Scalars, v: Scalars) -> list[MovingBody]:
    """Return the spatial velocity of every body (Featherstone eq. 4.6)."""

    def step(link: Link, parent: MovingBody, q: Scalars, v: Scalars) -> MovingBody:
        x = link.transform(q)
        return MovingBody(x, x.motion_to_child(parent.velocity) + combine(link.subspace(q), v))

    return outward(tree, step, MovingBody(IDENTITY, ZERO_MOTION), positions(tree, q), rates(tree, v))


def twists(
    tree: Model, q: Scalars, v: Scalars, a: Scalars | None = None, posed: Sequence[Posed] | None = None
) -> list[Twist]:
    """Return the spatial velocity and acceleration of every body, without gravity (Featherstone eq. 4.6-4.7, 7.16)."""

    def step(link: Link, parent: Twist, p: Posed, q: Scalars, v: Scalars, a: Scalars | None) -> Twist:
        joint = combine(p.subspace, v)
        velocity = p.transform.motion_to_child(parent.velocity) + joint
        acceleration = p.transform.motion_to_child(parent.acceleration) + velocity.cross(joint)
        bias = bias_motion(link, q, v)
        if bias is not None:
            acceleration = acceleration + bias
        if a is not None:
            acceleration = acceleration + combine(p.subspace, a)
        return Twist(velocity, acceleration)

    posed = posed or poses(tree, q)
    accelerations = nothing(tree) if a is None else rates(tree, a)
    return outward(tree, step, AT_REST, posed, positions(tree, q), rates(tree, v), accelerations)


def of_frame(tree: Model, name: str, posed: Sequence[Posed]) -> tuple[int, Transform, Transform]:
    """Return the body that carries a frame, the frame's pose on it, and its pose in the world."""
    frame = tree.frame(name)
    local = frame.pose.spatial()
    world = local if frame.body == BASE else posed[frame.body].pose @ local
    return frame.body, local, world.collapsed()


class OnPath(NamedTuple):
    """A frame together with the path of bodies that carry it."""

    path: Any
    posed: Sequence[Posed]
    local: Transform
    """Pose of the frame on its body."""
    world: Transform
    """Pose of the frame in the world."""
    fixed: bool
    """Whether the frame is on the base."""


def to_frame(tree: Model, q: Scalars, name: str) -> OnPath:
    """Return a frame with its path; only the bodies on that path are visited."""
    frame = tree.frame(name)
    local = frame.pose.spatial()
    path = path_to(tree, frame.body)
    if frame.body == BASE:
        return OnPath(path, [], local, local, True)
    posed = poses(path, q)
    return OnPath(path, posed, local, at_tip(path, posed).pose @ local, False)


def frame_pose(tree: Model, q: Scalars, name: str) -> Transform:
    """Return the pose of one frame in the world."""
    return to_frame(tree, q, name).world


def frame_velocity(tree: Model, q: Scalars, v: Scalars, name: str) -> tuple[Motion, Transform]:
    """Return the spatial velocity of a frame in its own coordinates, and its pose."""
    path, posed, local, world, fixed = to_frame(tree, q, name)
    if fixed:
        return ZERO_MOTION, world
    return local.motion_to_child(at_tip(path, twists(path, q, v, None, posed)).velocity), world.collapsed()


def frame_acceleration(tree: Model, q: Scalars, v: Scalars, a: Scalars, name: str) -> tuple[Motion, Motion, Transform]:
    """Return the spatial velocity and acceleration of a frame in its own coordinates, and its pose."""
    path, posed, local, world, fixed = to_frame(tree, q, name)
    if fixed:
        return ZERO_MOTION, ZERO_MOTION, world
    twist = at_tip(path, twists(path, q, v, a, posed))
    here = local.motion_to_child
    return here(twist.velocity), here(twist.acceleration), world.collapsed()


def classical(velocity: Motion, spatial: Motion) -> Motion:
    """Return a frame origin's ordinary acceleration from the spatial one, a + w x v (Featherstone section 2.7)."""
    return Motion(spatial.angular, spatial.linear + velocity.angular.cross(velocity.linear))


def configuration_rate(tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Return the time derivative of ``q``."""
    moving = each(tree, lambda link, q, v: link.kind.rate(q, v), positions(tree, q), rates(tree, v))
    return side_by_side(tree, moving, "q")


def integrate(tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Return the configuration reached after unit time with constant ``v``."""
    reached = each(tree, lambda link, q, v: link.kind.integrate(q, v), positions(tree, q), rates(tree, v))
    return side_by_side(tree, reached, "q")


def difference(tree: Model, q0: Scalars, q1: Scalars) -> list[Scalar]:
    """Return the constant ``v`` that leads from one configuration to the other in unit time."""
    apart = each(tree, lambda link, q0, q1: link.kind.difference(q0, q1), positions(tree, q0), positions(tree, q1))
    return side_by_side(tree, apart, "v")
