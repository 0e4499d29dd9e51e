"""Volume and inertia of shapes that are filled evenly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...errors import ModelError
from ..mass import MassProperties
from ..pose import Pose
from .convex_hull import ConvexHull
from .solid import Solid


def volume(solid: Solid) -> float:
    """Return the volume of a shape in cubic meters."""
    return _filled(solid).mass


def uniform_mass(parts: Sequence[tuple[Solid, Pose]], mass: float | None, density: float | None) -> MassProperties:
    """Return the mass properties of shapes with the same density, which together have a mass.

    parts: Shapes and their poses on the body; where they overlap, mass counts twice.
    """
    whole = MassProperties()
    for solid, pose in parts:
        whole = whole + _filled(solid).moved(pose)
    factor = density if mass is None else mass / whole.mass
    assert factor is not None
    return MassProperties.of(whole.mass * factor, whole.com, whole.inertia_matrix * factor)


def _filled(solid: Solid) -> MassProperties:
    """Return the mass properties of a shape whose density is one."""
    if solid.is_ground:
        raise ModelError(f"a {solid.name.replace('_', ' ')} has no end, and so no mass: it can only be terrain")
    n = solid.numbers()
    if solid.name == "sphere":
        return MassProperties.sphere(4.0 / 3.0 * math.pi * n[0] ** 3, n[0]) if n[0] > 0.0 else _refused(solid)
    if solid.name == "box":
        return MassProperties.box(8.0 * n[0] * n[1] * n[2], [2.0 * h for h in n])
    if solid.name == "cylinder":
        return MassProperties.cylinder(2.0 * math.pi * n[0] ** 2 * n[1], n[0], 2.0 * n[1])
    if solid.name == "ellipsoid":
        x, y, z = (a * a for a in n)
        mass = 4.0 / 3.0 * math.pi * n[0] * n[1] * n[2]
        return MassProperties.of(mass, inertia=(mass / 5 * (y + z), mass / 5 * (x + z), mass / 5 * (x + y)))
    if solid.name == "capsule":
        return _capsule(*n)
    return _hull(solid if isinstance(solid, ConvexHull) else solid.hull)  # type: ignore[attr-defined]


def _refused(solid: Solid) -> MassProperties:
    raise ModelError(f"a {solid.name} without a size has no volume: give the thing a shape with a size")


def _capsule(radius: float, half: float) -> MassProperties:
    """Return a cylinder with half a ball at either end, whose center is 3/8 of the radius beyond the end."""
    straight = MassProperties.cylinder(2.0 * math.pi * radius**2 * half, radius, 2.0 * half)
    ends = 4.0 / 3.0 * math.pi * radius**3
    along = 0.4 * ends * radius**2
    across = along + ends * (half * half + 0.75 * radius * half)
    side, _, axis = straight.inertia[:3]
    return MassProperties.of(straight.mass + ends, inertia=(side + across, side + across, axis + along))


def _hull(hull: ConvexHull) -> MassProperties:
    """Return the sum of tetrahedra from the middle of the vertices to triangles of the faces."""
    corners = np.array(hull.vertices)
    middle = corners.mean(axis=0)
    total, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for face in hull.faces:
        for j, k in pairwise(face[1:]):
            sides = corners[[face[0], j, k]] - middle
            size = abs(float(np.linalg.det(sides))) / 6.0
            whole = sides.sum(axis=0)
            total, first = total + size, first + size / 4.0 * whole
            second += size / 20.0 * (sides.T @ sides + np.outer(whole, whole))
    com = first / total
    about = second - total * np.outer(com, com)
    return MassProperties.of(total, middle + com, np.trace(about) * np.eye(3) - about)
