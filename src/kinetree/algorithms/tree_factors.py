"""Factors of the mass matrix in O(n^2), from articulated bodies, without elimination.

In M = L^T D L, D contains the pivots of articulated bodies, and an entry of L is the part of a unit force at one joint
that is felt at another joint before it: L^T = 1 + H phi K with Psi for K, whose columns are transformed from body to
body like any force (the factorization of the mass matrix by Kalman filtering, Rodriguez 1987).  For a few joints
elimination (:mod:`.factorization`) takes fewer operations, but it needs O(n^3) for a chain.
"""

from __future__ import annotations

from typing import Any

from ..model.tree import BASE, Link, Model
from ..spatial import Force, Scalar, combine_forces
from .articulated_body import Pivot, articulated_inertias
from .factorization import ltdl
from .passes import Coupling, Scalars, each, pairs, part, positions

Matrix = list[list[Scalar]]


def tree_factors(tree: Model, q: Scalars) -> Matrix:
    """Return L, with D in place of the ones on its diagonal, of a tree of independent joints."""
    coordinates = positions(tree, q)
    transforms = each(tree, lambda link, x: link.transform(x), coordinates)
    subspaces = each(tree, lambda link, x: link.subspace(x), coordinates)
    pivots = part(articulated_inertias(tree, transforms, subspaces), 1)

    def within(link: Link, pivot: Pivot) -> tuple[Matrix, list[Scalar]]:
        """Return the factors of the pivot of a joint of several freedoms."""
        return ltdl(pivot.d, range(-1, link.kind.nv - 1))

    def block(link: Link, i: int, j: int, own: Any) -> Scalar:
        lower, d = own.within
        return d[i] if i == j else lower[i][j]

    def share(k: int, own: Any) -> tuple[Force]:
        return (combine_forces(own.pivot.psi, own.within[0][k]),)

    def felt(force: tuple[Force], m: int, own: Any) -> Scalar:
        return own.subspace[m].dot(force[0])

    def carry(force: tuple[Force, ...], own: Any) -> tuple[Force, ...]:
        return tuple(own.transform.force_to_parent(f) for f in force)

    lower_only = Coupling(block, lambda k, own: (), lambda taken, m, own: 0.0, share, felt)
    (matrix,) = pairs(
        tree, [lower_only], carry, transform=transforms, subspace=subspaces, pivot=pivots,
        within=each(tree, within, pivots),
    )  # fmt: skip
    return matrix  # type: ignore[no-any-return]


def entries_of(tree: Model) -> list[int]:
    """Return where L may have entries: bit j of number i is set for each freedom j that carries freedom i."""
    carrying, found = [0] * len(tree.links), [0] * tree.nv
    for link in tree.links:
        here = 0 if link.parent == BASE else carrying[link.parent]
        for k in link.freedoms:
            found[k] = here
            here |= 1 << k
        carrying[link.index] = here
    return found
