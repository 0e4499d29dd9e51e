"""How far shapes of a robot are apart, and how that changes as the robot moves.

The nearest points of two solids move along them as the robot moves, but to first order not along the normal.  So the
distance changes as fast as the points, fixed on their bodies, move apart: its derivative by a joint's motion is the
wrench of a unit force along the normal through the points, applied to the joint's screw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.shapes.contact_shape import ContactShape
from ...model.shapes.mesh import Mesh
from ...model.tree import Model
from ...spatial import Force, Motion, Scalar, Vec3
from ..kinematics import Posed, of_frame, poses
from ..passes import Scalars, collect, each
from .pairs import separation
from .placed_solids import PlacedSolid, Separation

Pair = tuple[int, int]


def solid_of(shape: ContactShape) -> Any:
    """Return the solid that distances are computed of: that of a mesh is its hull."""
    return shape.shape.hull if isinstance(shape.shape, Mesh) else shape.shape


def data_of(solid: Any) -> Any:
    """Return the solid itself if more than its numbers matters: the faces of a hull, the heights of a field."""
    return solid if solid.name in ("convex_hull", "height_field") else None


def placed_shapes(tree: Model, q: Scalars, which: Sequence[int]) -> dict[int, PlacedSolid]:
    """Return the shapes with these indices where they are in the world."""
    posed = poses(tree, q)
    return {k: _placed(tree, posed, tree.shapes[k]) for k in which}


def _placed(tree: Model, posed: Sequence[Posed], shape: ContactShape) -> PlacedSolid:
    _, _, frame = of_frame(tree, shape.frame, posed)
    solid = solid_of(shape)
    return PlacedSolid(solid.name, solid.numbers(), (frame @ shape.pose.spatial()).collapsed(), data_of(solid))


def separations(tree: Model, q: Scalars, pairs: Sequence[Pair]) -> list[Separation]:
    """Return the separation of each pair of shapes, in the world."""
    placed = placed_shapes(tree, q, sorted({k for pair in pairs for k in pair}))
    return [separation(placed[i], placed[j]) for i, j in pairs]


def gradients(tree: Model, q: Scalars, pairs: Sequence[Pair], found: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """Return the derivatives of distances, laid out like v.

    Parameters
    ----------
    tree : Model
    q : sequence of scalars
    pairs : sequence of pairs
        Indices of shapes.
    found : sequence of sequences
        First point, second point and normal of each pair, in the world.
    """
    screws = each(tree, lambda link, p: [p.pose.motion_to_parent(s) for s in p.subspace], poses(tree, q))
    return [_gradient(tree, screws, pair, numbers) for pair, numbers in zip(pairs, found, strict=True)]


def _gradient(tree: Model, screws: Sequence[Sequence[Motion]], pair: Pair, numbers: Sequence[Scalar]) -> list[Scalar]:
    normal = Vec3(*numbers[6:9])
    carriers = [tree.support(tree.frame(tree.shapes[k].frame).body) for k in pair]
    felt: list[list[Scalar]] = [[0.0] * len(own) for own in screws]
    for side, sign in enumerate((-1.0, 1.0)):
        bodies, others, point = carriers[side], carriers[1 - side], Vec3(*numbers[3 * side : 3 * side + 3])
        push = Force(point.cross(normal), normal)
        for i in bodies:
            if i not in others:  # what carries both moves them together
                felt[i] = [sign * s.dot(push) for s in screws[i]]
    return collect(tree, felt, 0.0)
