"""The inverse of the mass matrix in O(n^2), from articulated bodies, without inverting the matrix.

Column j of the inverse is the acceleration that a unit force at freedom j causes with no
other forces and no velocities.  All columns share one elimination; in the inward sweep a column is zero outside the
path of its joint.
"""

from __future__ import annotations

from ..model.tree import BASE, Model
from ..spatial import Force, Motion, Scalar, combine, combine_forces
from .articulated_body import articulated_inertias, times
from .passes import Scalars, positions

Matrix = list[list[Scalar]]


def inverse_mass_matrix(tree: Model, q: Scalars) -> Matrix:
    """Return the inverse joint-space inertia of a tree of independent joints."""
    coordinates = positions(tree, q)
    transforms = [link.transform(x) for link, x in zip(tree.links, coordinates, strict=True)]
    subspaces = [link.subspace(x) for link, x in zip(tree.links, coordinates, strict=True)]
    pivots = [pivot for _, pivot in articulated_inertias(tree, transforms, subspaces)]

    # inward: the force that each column's unit joint force sends through each joint
    arriving: list[dict[int, Force]] = [{} for _ in tree.links]
    shares: list[dict[int, list[Scalar]]] = [{} for _ in tree.links]
    for link in reversed(tree.links):
        i, pivot = link.index, pivots[link.index]
        for k in range(link.kind.nv):
            shares[i][link.v_slice.start + k] = [row[k] for row in pivot.d_inverse]
        leaving = {link.v_slice.start + k: psi for k, psi in enumerate(pivot.psi)}
        for column, force in arriving[i].items():
            needed = [-s.dot(force) for s in subspaces[i]]
            shares[i][column] = times(pivot.d_inverse, needed)
            leaving[column] = force + combine_forces(pivot.psi, needed)
        if link.parent != BASE:
            for column, force in leaving.items():  # columns of different children never meet
                arriving[link.parent][column] = transforms[i].force_to_parent(force)

    # outward: the accelerations themselves; a column that reaches a parent reaches its children
    inverse: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    motions: list[dict[int, Motion]] = []
    for link in tree.links:
        i, pivot = link.index, pivots[link.index]
        carried = {} if link.parent == BASE else motions[link.parent]
        here: dict[int, Motion] = {}
        for column in sorted(set(carried) | set(shares[i])):
            a: list[Scalar] = list(shares[i].get(column, [0.0] * link.kind.nv))
            mu = None
            if column in carried:
                mu = transforms[i].motion_to_child(carried[column])
                a = [x - mu.dot(psi) for x, psi in zip(a, pivot.psi, strict=True)]
            for k, value in enumerate(a):
                inverse[link.v_slice.start + k][column] = value
            moved = combine(subspaces[i], a)
            here[column] = moved if mu is None else mu + moved
        motions.append(here)
    return inverse
