"""Terrain that differs between the worlds of a batch: places and sizes of its shapes as numbers.

The numbers of a shape are the nine of its rotation, row by row, the three of its place in the world, and those of its
solid, see :meth:`kinetree.shapes.Solid.numbers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algorithms.clearance.of_robot import data_of, solid_of
from ..algorithms.clearance.placed_solids import PlacedSolid
from ..errors import ModelError, OptionError, UnknownNameError, UnsupportedError
from ..model.shapes.contact_shape import ContactShape
from ..model.tree import BASE, Model
from ..spatial import Matrix3, MatrixRotation, Scalar, Transform, Vec3

PLACE = "place_of_"
"""How the names of these numbers begin."""

OF_POSE = 12


def varied_ground(tree: Model, terrains: Sequence[Sequence[ContactShape]]) -> Mapping[str, np.ndarray]:
    """Return the numbers of all shapes that differ between terrains, (terrains, n) by name.

    tree: The model, which has shapes of the same names and kinds on the ground.
    """
    if isinstance(terrains, (str, ContactShape)) or any(isinstance(x, ContactShape) for x in terrains):
        raise OptionError(
            "terrains are several terrains, one for each world: [kinetree.terrain.stairs(3, rise=h) for h in ...]"
        )
    own = {s.name: s for s in tree.shapes if tree.frame(s.frame).body == BASE}
    rows: dict[str, list[np.ndarray]] = {}
    for k, terrain in enumerate(terrains):
        given = {shape.name: shape for shape in terrain}
        for name, shape in given.items():
            if name not in own:
                raise UnknownNameError(f"shape of the ground (of terrain {k})", name, own)
            rows.setdefault(name, []).append(_numbers(shape, own[name], k))
        missing = [name for name in rows if name not in given]
        if missing or any(len(x) <= k for x in rows.values()):
            lost = missing or [name for name, x in rows.items() if len(x) <= k]
            raise ModelError(f"terrain {k} has no shape {lost[0]!r}, which others have: all need the same shapes")
    found = {name: np.array(x) for name, x in rows.items()}
    return {name: x for name, x in found.items() if (x != _numbers(own[name], own[name], 0)).any()}


def _numbers(shape: ContactShape, own: ContactShape, k: int) -> np.ndarray:
    if shape.kind != own.kind:
        raise ModelError(f"shape {shape.name!r} is a {own.kind} in the robot and a {shape.kind} in terrain {k}")
    solid = solid_of(shape)
    if shape.kind == "height_field" and solid.heights != solid_of(own).heights:
        raise UnsupportedError(
            f"the heights of {shape.name!r} differ between worlds: put the fields side by side into one, and "
            "let worlds differ in its place"
        )
    numbers = solid.numbers()
    if len(numbers) != len(solid_of(own).numbers()):
        raise ModelError(f"shape {shape.name!r} has other vertices in terrain {k}: their number must be the same")
    return np.array([*shape.pose.nine, *shape.pose.translation, *numbers])


def placed_anew(solid: Any, numbers: Sequence[Scalar]) -> PlacedSolid:
    """Return a solid with these numbers, where they put it."""
    if isinstance(numbers, np.ndarray):
        numbers = [numbers[..., k] for k in range(numbers.shape[-1])]
    rows = [numbers[k : k + 3] for k in (0, 3, 6)]
    pose = Transform((MatrixRotation(Matrix3.of(rows)),), Vec3(*numbers[9:OF_POSE]))
    return PlacedSolid(solid.name, numbers[OF_POSE:], pose, data_of(solid))
