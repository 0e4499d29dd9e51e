"""A robot drawn from its numbers only: positions of joints, and distribution of mass.

A body is drawn between its attachment points: its own joint, further joints, loop joints, named frames. Two points, or
several in a row, make a bar; others make a plate with a rim, or a solid.  A body with nothing attached away from its
joint, or that floats, is drawn as the box (or, if slender, the capsule) with its mass and inertia: everything with mass
is visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from scipy.spatial import ConvexHull

from kinetree.model.attachments import attachments, is_held_at_origin
from kinetree.model.joints import JointKind
from kinetree.model.mass import MassProperties
from kinetree.model.pose import Pose
from kinetree.model.shapes import Box, Capsule, Cylinder, Sphere
from kinetree.model.tree import BASE, Model
from kinetree.spatial.arrays import Array

from .geometry import Color, Facets, Look

PALETTE: tuple[Color, ...] = (
    (0.298, 0.471, 0.659, 1.0),
    (0.447, 0.718, 0.698, 1.0),
    (0.886, 0.682, 0.357, 1.0),
    (0.635, 0.471, 0.635, 1.0),
    (0.549, 0.635, 0.322, 1.0),
    (0.827, 0.490, 0.494, 1.0),
)
"""Colors of links, used in turn."""

BASE_COLOR: Color = (0.62, 0.63, 0.65, 1.0)
JOINT_COLOR: Color = (0.23, 0.25, 0.28, 1.0)
LOOP_COLOR: Color = (0.91, 0.41, 0.10, 1.0)

PLAUSIBLE = 0.12
"""The largest size of a body, as a fraction of the robot's size, if it is known only from its inertia."""

PLAUSIBLE_TRUNK = 0.3
"""The same for a body that carries several others, all of them at its own joint."""

TELESCOPE = 0.75
"""A body that slides in another is drawn thinner by this factor."""

IN_A_ROW = 0.05
"""Points this close to a line, relative to its length, make a bar with kinks instead of a plate."""

PLATE = 0.5
"""Half the thickness of a plate, as a fraction of the radius of its rim."""

SLENDER = 4.0
"""Boxes longer than this multiple of their width are drawn as capsules."""


def link_color(body: int) -> Color:
    """Return the default color of a body."""
    return BASE_COLOR if body == BASE else PALETTE[body % len(PALETTE)]


def landmarks(model: Model) -> list[tuple[int, Array]]:
    """List points that show how far a robot reaches: joints, attachments and centers of mass, with their body."""
    points = attachments(model)
    result = []
    for i, body in enumerate(model.bodies):
        com = np.array([body.mass_properties.com]) if body.mass > 0.0 else np.zeros((0, 3))
        own = np.concatenate([points[i], com])
        result.append((i, own if len(own) else np.zeros((1, 3))))
    if not model.is_floating:
        result.append((BASE, points[BASE]))
    return result


def thickness(model: Model, size: float) -> float:
    """Choose a radius for links that suits the robot's size and does not hide its short links."""
    points = attachments(model)
    lengths = [float(d) for i in range(len(model.bodies)) for d in np.linalg.norm(points[i] - points[i][:1], axis=1)]
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
        if joint.kind.nv and is_held_at_origin(joint):
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
    """Return a rotation that takes the z axis to a direction."""
    z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _body(i: int, model: Model, points: Array, radius: float, size: float) -> Iterator[Look]:
    apart, mass = _distinct(points, 1e-3 * size), model.bodies[i].mass_properties
    if _is_slide(model.joints[i].kind):
        radius *= TELESCOPE
    if len(apart) > 1:
        yield from _between_all(np.array(apart), radius, i)
    if not is_held_at_origin(model.joints[i]):
        yield from _massive(i, mass, radius, size, size, apart)
    elif len(apart) < 2 and (not model.children[i] or mass.mass > 0.0):
        # Many files have inertias that are far too large for their links; these must not hide the robot.
        plausible = PLAUSIBLE_TRUNK if len(model.children[i]) > 1 else PLAUSIBLE
        largest = max(plausible * size, 2.5 * float(np.linalg.norm(mass.com)))
        yield from _massive(i, mass, radius, size, largest, apart)


def _between_all(points: Array, radius: float, i: int) -> Iterator[Look]:
    """Yield bars from point to point if they are in a row, otherwise a plate or a solid with bars for edges."""
    middle = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - middle)
    along = (points - middle) @ axes.T
    length, width, height = np.ptp(along, axis=0)
    if width <= IN_A_ROW * length:
        row = points[np.argsort(along[:, 0])]
        yield from (between(first, second, radius, i) for first, second in pairwise(row))
        return
    if height <= max(2.0 * radius, IN_A_ROW * length):
        rim = points[ConvexHull(along[:, :2]).vertices]
        corners = np.concatenate([rim - PLATE * radius * axes[2], rim + PLATE * radius * axes[2]])
        hull = ConvexHull(corners)
        edges = list(zip(rim, np.roll(rim, -1, axis=0), strict=True))
    else:
        corners, hull = points, ConvexHull(points)
        edges = [(points[a], points[b]) for a, b in _sharp_edges(hull)]
    yield Look(i, Facets(corners, _outward(corners, hull)), Pose())
    yield from (between(first, second, radius, i) for first, second in edges)


def _outward(corners: Array, hull: ConvexHull) -> Array:
    """Return the triangles of a hull, oriented outward."""
    first, second, third = (corners[hull.simplices[:, k]] for k in range(3))
    inward = np.sum(np.cross(second - first, third - first) * hull.equations[:, :3], axis=1) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)


def _sharp_edges(hull: ConvexHull) -> list[tuple[int, int]]:
    """List the edges of a hull at which its triangles do not lie in one plane."""
    found = set()
    for k, (triangle, beside) in enumerate(zip(hull.simplices, hull.neighbors, strict=True)):
        for corner, other in zip(triangle, beside, strict=True):  # the neighbor is opposite the corner
            if hull.equations[k, :3] @ hull.equations[other, :3] < 1.0 - 1e-6:
                a, b = sorted(int(x) for x in triangle if x != corner)
                found.add((a, b))
    return sorted(found)


def _is_slide(kind: JointKind) -> bool:
    return kind.nv == 1 and not any(float(x) for column in kind.subspace(kind.neutral()) for x in column.angular)


def _distinct(points: Iterable[Array], near: float) -> list[Array]:
    """Return points without those close to earlier ones."""
    taken: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > near for other in taken):
            taken.append(point)
    return taken


def _massive(
    i: int, mass: MassProperties, radius: float, size: float, largest: float, apart: list[Array]
) -> Iterator[Look]:
    """Yield the uniform box with this mass and inertia, and a bar to the point where the body is held."""
    com = np.array(mass.com)
    edges, axes = equivalent_box(mass)
    is_point = not np.all(np.isfinite(edges)) or edges.max() <= 0.0  # or there is no mass at all
    far = np.zeros(3) if is_point else 0.5 * np.maximum(edges * min(1.0, largest / edges.max()), 1.6 * radius)
    if len(apart) == 1 and np.any(np.abs(axes.T @ (com - apart[0])) > far + 1e-3 * size):
        yield between(apart[0], com, radius, i)
    if is_point:
        if len(apart) < 2:
            yield Look(i, Sphere(2.0 * radius), Pose.of(com))
        return
    longest = int(np.argmax(far))
    if far[longest] > SLENDER * np.delete(far, longest).max():
        half = far[longest] * axes[:, longest]
        yield between(com - half, com + half, radius, i)
    else:
        x, y, z = (2.0 * float(edge) for edge in far)
        yield Look(i, Box((x, y, z)), Pose.of(com, rotation=axes))


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
    """List the points where the base holds the robot."""
    stand = [j.placement.position for j in model.joints if j.parent == BASE and j.kind.nv != 6]
    stand += [loop.placement.position for loop in model.loops if loop.predecessor == BASE]
    stand += [loop.seat.position for loop in model.loops if loop.successor == BASE]
    return _distinct(stand, radius)


def posts(model: Model, size: float, height: float) -> Iterator[Look]:
    """Yield a post from the ground to each foot of the base that would float above it."""
    up, radius = up_direction(model), thickness(model, size)
    for point in stands(model, radius):
        foot = point - 2.0 * radius * up
        ground = foot - (foot @ up - height) * up
        if foot @ up - height > 0.3 * radius:
            pose = Pose.of((foot + ground) / 2, rotation=turn_z_to(up))
            yield Look(BASE, Cylinder(0.9 * radius, float(foot @ up - height)), pose, BASE_COLOR, "base")


def _base(model: Model, radius: float) -> Iterator[Look]:
    """Yield a foot under each joint on the ground."""
    up = up_direction(model)
    for point in stands(model, radius):
        pose = Pose.of(point - 1.6 * radius * up, rotation=turn_z_to(up))
        yield Look(BASE, Cylinder(2.6 * radius, 1.2 * radius), pose, BASE_COLOR, "base")


def up_direction(model: Model) -> Array:
    """Return the direction opposite to gravity; z without gravity."""
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
