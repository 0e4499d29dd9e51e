"""A robot drawn from its numbers alone: where joints are, and how mass is spread.

A body is drawn as capsules from its joint to the places where something is attached to it: further
joints, loop joints, named frames.  A body with nothing attached away from its joint, or with much, or that
floats, is drawn as the box (or, if slender, the capsule) that has its mass and inertia: whatever has mass is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..model.attachments import attachments
from ..model.joints import JointKind
from ..model.mass import MassProperties
from ..model.pose import Pose
from ..model.tree import BASE, Model
from .geometry import Box, Capsule, Color, Cylinder, Look, Sphere

Array = np.ndarray

PALETTE: tuple[Color, ...] = (
    (0.298, 0.471, 0.659, 1.0),
    (0.447, 0.718, 0.698, 1.0),
    (0.886, 0.682, 0.357, 1.0),
    (0.635, 0.471, 0.635, 1.0),
    (0.549, 0.635, 0.322, 1.0),
    (0.827, 0.490, 0.494, 1.0),
)
"""Links, in turn."""

BASE_COLOR: Color = (0.62, 0.63, 0.65, 1.0)
JOINT_COLOR: Color = (0.23, 0.25, 0.28, 1.0)
LOOP_COLOR: Color = (0.91, 0.41, 0.10, 1.0)

MANY = 3
"""A body to which so much is attached is a trunk or platform and gets the box of its inertia too."""

PLAUSIBLE = 0.12
"""How large a body may be drawn, as a part of the robot's size, where only its inertia says how large it is."""

PLAUSIBLE_TRUNK = 0.3
"""The same for a body that carries several others, all of them at its own joint."""

TELESCOPE = 0.75
"""A body that slides in another is drawn thinner."""

SLENDER = 4.0
"""Boxes longer than so many times their width are drawn as capsules."""


def link_color(body: int) -> Color:
    """Return the color of a body that has none of its own."""
    return BASE_COLOR if body == BASE else PALETTE[body % len(PALETTE)]


def landmarks(model: Model) -> list[tuple[int, Array]]:
    """List points that show how far a robot reaches: joints, attachments and centers of mass, with their body."""
    points = attachments(model)
    result = []
    for i, body in enumerate(model.bodies):
        com = np.array([body.mass_properties.com]) if body.mass > 0.0 else np.zeros((0, 3))
        result.append((i, np.concatenate([np.zeros((1, 3)), points[i], com])))
    if not model.is_floating:
        result.append((BASE, points[BASE]))
    return result


def thickness(model: Model, size: float) -> float:
    """Choose a radius for links that suits the robot's size and does not swallow its short links."""
    points = attachments(model)
    lengths = [float(d) for i in range(len(model.bodies)) for d in np.linalg.norm(points[i], axis=1)]
    visible = [d for d in lengths if d > 1e-3 * size]
    usual = float(np.median(visible)) if visible else size
    return float(np.clip(0.15 * usual, 0.004 * size, 0.02 * size))


def links(model: Model, size: float, bodies: Sequence[int]) -> list[Look]:
    """Make shapes for the bodies listed."""
    points, radius = attachments(model), thickness(model, size)
    looks: list[Look] = []
    for i in bodies:
        color = link_color(i)
        if i == BASE:
            looks += _base(model, radius)
        else:
            looks += [Look(i, s.shape, s.pose, color) for s in _body(i, model, points[i], radius, size)]
    return looks


def joints(model: Model, size: float) -> list[Look]:
    """Make a mark at each joint, and at each joint that closes a loop."""
    radius = thickness(model, size)
    looks = []
    for i, joint in enumerate(model.joints):
        if joint.kind.nv not in (0, 6):
            looks.append(_mark(i, Pose(), joint.kind, 1.35 * radius, JOINT_COLOR, "joint"))
    for loop in model.loops:
        looks.append(_mark(loop.predecessor, loop.placement, loop.kind, 1.5 * radius, LOOP_COLOR, "loop"))
        looks.append(Look(loop.successor, Sphere(1.45 * radius), loop.seat, LOOP_COLOR, "loop"))
    return looks


def between(start: Array, end: Array, radius: float, body: int) -> Look:
    """Make a capsule from one point to another."""
    way = end - start
    pose = Pose.of((start + end) / 2, rotation=turn_z_to(way))
    return Look(body, Capsule(radius, float(np.linalg.norm(way))), pose)


def turn_z_to(direction: Array) -> Array:
    """Return some rotation that takes the z axis to a direction."""
    z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _body(i: int, model: Model, points: Array, radius: float, size: float) -> Iterator[Look]:
    apart = _distinct(points, 1e-3 * size)
    if _is_slide(model.joints[i].kind):
        radius *= TELESCOPE
    for point in apart:
        yield between(np.zeros(3), point, radius, i)
    if len(apart) == 2 and _apart_in_direction(*apart):
        yield between(apart[0], apart[1], radius, i)
    if len(apart) >= MANY or model.joints[i].kind.nv == 6:
        yield from _massive(i, model.bodies[i].mass_properties, radius, size, size, bool(apart))
    elif not apart and (not model.children[i] or model.bodies[i].mass > 0.0):
        # Many files have inertias far too large for their links; those must not bury the robot.
        mass = model.bodies[i].mass_properties
        plausible = PLAUSIBLE_TRUNK if len(model.children[i]) > 1 else PLAUSIBLE
        largest = max(plausible * size, 2.5 * float(np.linalg.norm(mass.com)))
        yield from _massive(i, mass, radius, size, largest, False)


def _is_slide(kind: JointKind) -> bool:
    return kind.nv == 1 and not any(float(x) for column in kind.subspace(kind.neutral()) for x in column.angular)


def _apart_in_direction(a: Array, b: Array) -> bool:
    """Tell whether two points and the origin span a triangle worth drawing."""
    return bool(np.linalg.norm(np.cross(a, b)) > 0.05 * np.linalg.norm(a) * np.linalg.norm(b))


def _distinct(points: Iterable[Array], near: float, origin: bool = True) -> list[Array]:
    """Choose points away from one another and, if wanted, from the origin."""
    taken = [np.zeros(3)] if origin else []
    count = len(taken)
    for point in points:
        if all(np.linalg.norm(point - other) > near for other in taken):
            taken.append(point)
    return taken[count:]


def _massive(
    i: int, mass: MassProperties, radius: float, size: float, largest: float, is_trunk: bool
) -> Iterator[Look]:
    """Make the uniform box with this mass and inertia, and what joins it to the body's joint."""
    com = np.array(mass.com)
    edges, axes = equivalent_box(mass)
    if not np.all(np.isfinite(edges)) or edges.max() <= 0.0:  # a point mass, or nothing at all
        if not is_trunk:
            if np.linalg.norm(com) > 1e-3 * size:
                yield between(np.zeros(3), com, radius, i)
            yield Look(i, Sphere(2.0 * radius), Pose.of(com))
        return
    edges = np.maximum(edges * min(1.0, largest / edges.max()), 1.6 * radius)
    longest = int(np.argmax(edges))
    across = np.delete(edges, longest)
    pose = Pose.of(com, rotation=axes)
    if edges[longest] > SLENDER * across.max():
        half = 0.5 * edges[longest] * axes[:, longest]
        yield between(com - half, com + half, radius, i)
    else:
        yield Look(i, Box((float(edges[0]), float(edges[1]), float(edges[2]))), pose)
    outside = np.abs(axes.T @ com) > 0.5 * edges + 1e-3 * size
    if outside.any() and not is_trunk:
        yield between(np.zeros(3), com, radius, i)


def equivalent_box(mass: MassProperties) -> tuple[Array, Array]:
    """Compute the edges of the uniform box with a body's mass and inertia, and its axes as columns.

    A box has the principal moments ``m (b^2 + c^2) / 12`` and so on, hence
    ``a^2 = 6 (I_b + I_c - I_a) / m``; a negative square (rounding, or an impossible inertia) is taken as zero.
    """
    if mass.mass <= 0.0 or not mass.is_finite:
        return np.zeros(3), np.eye(3)
    moments, axes = np.linalg.eigh(mass.inertia_matrix)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    squares = 6.0 * (moments.sum() - 2.0 * moments) / mass.mass
    return np.sqrt(np.maximum(squares, 0.0)), axes


def stands(model: Model, radius: float) -> list[Array]:
    """List where the robot is held by its base."""
    stand = [j.placement.position for j in model.joints if j.parent == BASE and j.kind.nv != 6]
    stand += [loop.placement.position for loop in model.loops if loop.predecessor == BASE]
    stand += [loop.seat.position for loop in model.loops if loop.successor == BASE]
    return _distinct(stand, radius, origin=False)


def posts(model: Model, size: float, height: float) -> Iterator[Look]:
    """Make a post from the ground to each foot of the base that would float above it."""
    up, radius = up_direction(model), thickness(model, size)
    for point in stands(model, radius):
        foot = point - 2.0 * radius * up
        ground = foot - (foot @ up - height) * up
        if foot @ up - height > 0.3 * radius:
            pose = Pose.of((foot + ground) / 2, rotation=turn_z_to(up))
            yield Look(BASE, Cylinder(0.9 * radius, float(foot @ up - height)), pose, BASE_COLOR, "base")


def _base(model: Model, radius: float) -> Iterator[Look]:
    """Make a foot under each joint that stands on the ground."""
    up = up_direction(model)
    for point in stands(model, radius):
        pose = Pose.of(point - 1.6 * radius * up, rotation=turn_z_to(up))
        yield Look(BASE, Cylinder(2.6 * radius, 1.2 * radius), pose, BASE_COLOR, "base")


def up_direction(model: Model) -> Array:
    """Return the direction against gravity; z where there is none."""
    g = np.array(model.gravity)
    length = float(np.linalg.norm(g))
    return -g / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


def _mark(body: int, pose: Pose, kind: JointKind, radius: float, color: Color, role: str) -> Look:
    """Draw a hinge as a pin along its axis, a slide as a block along it, everything else as a ball."""
    columns = () if kind.only_closes else kind.subspace(kind.neutral())  # rods and rolling have no axes of their own
    turning = [np.array([float(x) for x in c.angular]) for c in columns]
    sliding = [np.array([float(x) for x in c.linear]) for c in columns]
    if any(np.linalg.norm(w) > 0.0 for w in turning):
        axis = next(w for w in turning if np.linalg.norm(w) > 0.0)
        if all(np.linalg.norm(np.cross(axis, w)) < 1e-9 for w in turning):
            along = pose @ Pose.of(rotation=turn_z_to(axis))
            return Look(body, Cylinder(radius, 3.2 * radius), along, color, role)
    elif len(sliding) == 1:
        along = pose @ Pose.of(rotation=turn_z_to(sliding[0]))
        return Look(body, Box((2.0 * radius, 2.0 * radius, 3.2 * radius)), along, color, role)
    return Look(body, Sphere(1.2 * radius), pose, color, role)
