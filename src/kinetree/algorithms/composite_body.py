"""Mass matrix by composite rigid bodies (002 eq. 5.7-5.14; 000 eq. 5.19-5.21)."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.tree import Link, Model
from ..spatial import Force, Motion, RigidInertia, Scalar, Transform
from .passes import Scalars, each, inward, pairs, positions, present

Matrix = list[list[Scalar]]


def composite_inertias(tree: Model, transforms: Sequence[Transform]) -> tuple[list[RigidInertia], RigidInertia]:
    """Inertia of each body with all it carries as if welded; last, of everything, seen from the base."""

    def step(link: Link, total: RigidInertia, x: Transform) -> tuple[RigidInertia, RigidInertia]:
        return total, x.rigid_to_parent(total)

    return inward(tree, step, each(tree, lambda link: link.inertia), transforms)


def mass_matrix(tree: Model, q: Scalars) -> Matrix:
    """The joint-space inertia matrix; entries between separate branches are exact zeros.

    The force that accelerates all that a joint carries about its axis is felt at the joints
    before it, one after the other (the walk of 002 L1888, with the condition of eq. 7.9 corrected).
    """
    coordinates = positions(tree, q)
    transforms = each(tree, lambda link, x: link.transform(x), coordinates)
    subspaces = each(tree, lambda link, x: link.subspace(x), coordinates)
    composites, _ = composite_inertias(tree, transforms)

    def accelerate(
        link: Link, composite: RigidInertia, x: Transform, subspace: tuple[Motion, ...]
    ) -> tuple[list[Force], list[Matrix]]:
        forces = [composite @ s for s in subspace]
        block: Matrix = [[0.0] * len(forces) for _ in forces]
        for i, force in enumerate(forces):
            for j, s in enumerate(subspace[: i + 1]):
                block[i][j] = block[j][i] = s.dot(force)
            if present(link.armature[i]):
                block[i][i] = block[i][i] + link.armature[i]
        return forces, [block]

    def carry(force: Force, composite: RigidInertia, x: Transform, subspace: tuple[Motion, ...]) -> Force:
        return x.force_to_parent(force)

    def feel(
        force: Force, composite: RigidInertia, x: Transform, subspace: tuple[Motion, ...]
    ) -> list[list[tuple[Scalar, Scalar]]]:
        felt = [s.dot(force) for s in subspace]
        return [[(value, value)] for value in felt]

    return pairs(tree, accelerate, carry, feel, composites, transforms, subspaces)[0]
