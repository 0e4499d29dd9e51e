"""Mass matrix by composite rigid bodies (002 eq. 5.7-5.14; 000 eq. 5.19-5.21)."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.tree import BASE, Link, Model
from ..spatial import Motion, RigidInertia, Scalar, Transform
from .passes import Scalars, add, each, inward, positions, present

Matrix = list[list[Scalar]]


def composite_inertias(tree: Model, transforms: Sequence[Transform]) -> tuple[list[RigidInertia], RigidInertia]:
    """Inertia of each body with all it carries as if welded; last, of everything, seen from the base."""

    def step(link: Link, total: RigidInertia, x: Transform) -> tuple[RigidInertia, RigidInertia]:
        return total, x.rigid_to_parent(total)

    return inward(tree, step, each(tree, lambda link: link.inertia), transforms)


def mass_matrix(tree: Model, q: Scalars) -> Matrix:
    """The joint-space inertia matrix; entries between separate branches are exact zeros."""
    coordinates = positions(tree, q)
    transforms = [link.transform(x) for link, x in zip(tree.links, coordinates, strict=True)]
    subspaces = [link.subspace(x) for link, x in zip(tree.links, coordinates, strict=True)]
    composites, _ = composite_inertias(tree, transforms)
    h: list[list[Scalar | None]] = [[None] * tree.nv for _ in range(tree.nv)]

    for link, composite in zip(tree.links, composites, strict=True):
        forces = [composite @ s for s in subspaces[link.index]]
        carrier = link
        while True:  # the walk of 002 L1888, with the condition of eq. 7.9 corrected
            _enter(h, link, carrier, subspaces[carrier.index], forces)
            if carrier.parent == BASE:
                break
            forces = [transforms[carrier.index].force_to_parent(f) for f in forces]
            carrier = tree.links[carrier.parent]
    return [[0.0 if x is None else x for x in row] for row in h]


def _enter(
    h: list[list[Scalar | None]], link: Link, carrier: Link, subspace: tuple[Motion, ...], forces: Sequence[object]
) -> None:
    """Add the block that couples two joints, on both sides of the diagonal."""
    ratio = link.ratio * carrier.ratio
    for i, force in enumerate(forces):
        for j, s in enumerate(subspace):
            if carrier is link and j > i:
                continue
            value = s.dot(force)  # type: ignore[arg-type]
            if link.follows or carrier.follows:
                value = value * ratio
            if carrier is link and i == j and present(link.armature[i]):
                value = value + link.armature[i] * ratio
            row, column = link.v_slice.start + i, carrier.v_slice.start + j
            h[row][column] = add(h[row][column], value)
            if carrier is not link or i != j:
                h[column][row] = add(h[column][row], value)
