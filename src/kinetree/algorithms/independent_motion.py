"""Closed chains in independent coordinates: what the loops leave free, and dynamics along it.

    v = G y',    a = G y'' + g,      K_d G_d = -K_i,   K_d g_d = -drift        (Khalil eq. 10.36, 10.48)

``pivots`` are the constraints that count, each with the freedom that it determines, in the order of elimination: they
are chosen beforehand (:attr:`kinetree.loops.coordinates.Coordinates.pivots`).  All other freedoms are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..model.tree import Model
from ..spatial import Scalar, ldl, ldl_solve
from . import composite_body, constraints, newton_euler
from .constrained import inner
from .kinematics import poses
from .loop_clusters import Pivots, follow
from .passes import Scalars, present

Matrix = list[list[Scalar]]


def independent_freedoms(tree: Model, pivots: Pivots) -> list[int]:
    """Return the freedoms that no constraint determines."""
    dependent = {j for _, j in pivots}
    return [j for j in range(tree.nv) if j not in dependent]


class Embedding(NamedTuple):
    """The motions that loops allow at a configuration."""

    k: Matrix
    """All constraints, those that are redundant included."""
    drift: list[Scalar]
    pivots: Pivots
    size: float
    basis: Matrix
    """G, by rows: one per freedom of the tree, a column per independent one."""
    particular: list[Scalar]
    """g: the accelerations when the independent ones are zero."""
    quality: Scalar
    """Between 0 and 1: how well the choice of independent freedoms serves here."""

    @property
    def columns(self) -> Matrix:
        """G by columns."""
        return [list(column) for column in zip(*self.basis, strict=True)]

    def followed(self, targets: Mapping[int, Scalar]) -> list[Scalar]:
        """Return x with K x = targets (by the pivots' rows) and nothing at independent freedoms."""
        found, _ = follow(self.k, {i: [targets[i]] for i, _ in self.pivots}, self.pivots, self.size)
        return [found[j][0] if j in found else 0.0 for j in range(len(self.basis))]

    def multipliers(self, force: Scalars) -> dict[int, Scalar]:
        """Return what the constraints carry so that nothing is left at dependent freedoms: K_d^T lambda = force_d."""
        across = [list(column) for column in zip(*self.k, strict=True)]
        turned = [(j, i) for i, j in self.pivots]
        found, _ = follow(across, {j: [force[j]] for j, _ in turned}, turned, self.size)
        return {i: x[0] for i, x in found.items()}

    def along(self, force: Scalars) -> list[Scalar]:
        """Return G^T force: what a force on all freedoms is on the independent ones."""
        return [inner(column, force) for column in self.columns]

    def acceleration(self, independent: Scalars) -> list[Scalar]:
        """Return G y'' + g."""
        whole = self.spread(independent)
        return [x + p if present(p) else x for x, p in zip(whole, self.particular, strict=True)]

    def spread(self, independent: Scalars) -> list[Scalar]:
        """Return G y."""
        return [inner(row, independent) for row in self.basis]


def embed(tree: Model, q: Scalars, v: Scalars, pivots: Pivots) -> Embedding:
    """Find the motions that loops allow."""
    posed = poses(tree, q)
    k, drift = constraints.constraint_matrix(tree, q, posed), constraints.drift(tree, q, v, posed)
    size = constraints.usual_size(tree)
    free = independent_freedoms(tree, pivots)
    sides = {i: [*(-k[i][j] if present(k[i][j]) else 0.0 for j in free), -drift[i]] for i, _ in pivots}
    followed, quality = follow(k, sides, pivots, size)
    unit = {j: [1.0 if m == n else 0.0 for m in range(len(free))] for n, j in enumerate(free)}
    basis = [followed[j][:-1] if j in followed else unit[j] for j in range(tree.nv)]
    particular = [followed[j][-1] if j in followed else 0.0 for j in range(tree.nv)]
    return Embedding(k, drift, pivots, size, basis, particular, quality)


def product(matrix: Matrix, vector: Scalars) -> list[Scalar]:
    """Return a matrix times a vector; exact zeros cost nothing."""
    return [inner(row, vector) for row in matrix]


def reduced(mass: Matrix, motions: Matrix) -> Matrix:
    """Return G^T M G, for motions G by columns."""
    moved = [product(mass, motion) for motion in motions]
    return [[inner(a, b) for b in moved] for a in motions]


def hybrid_dynamics(
    tree: Model, q: Scalars, v: Scalars, given: Scalars, loads: Any, motion: Embedding, known: Sequence[int]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return all accelerations and forces where some freedoms are given accelerations, all others forces.

    ``known`` are independent freedoms whose entries of ``given`` are accelerations.  The others accelerate as forces
    say, G_u^T (M a + h - tau) = 0 with u the unknown ones; then the forces at the known ones are what is left,
    G_k^T (M a + h - tau) (Featherstone eq. 7.32-7.34 along the motions that loops allow).
    """
    free = independent_freedoms(tree, motion.pivots)
    columns = motion.columns
    tau = [0.0 if j in known else x for j, x in enumerate(given)]
    y = [given[j] if j in known else 0.0 for j in free]
    a = motion.acceleration(y)
    unknown = [m for m, j in enumerate(free) if j not in known]
    if unknown:
        bias, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
        left = [t - b for t, b in zip(tau, bias, strict=True)]
        moving = [columns[m] for m in unknown]
        factors = ldl(reduced(composite_body.mass_matrix(tree, q), moving))
        for m, x in zip(unknown, ldl_solve(factors, [inner(c, left) for c in moving]), strict=True):
            y[m] = x
        a = motion.acceleration(y)
    if not known:
        return a, tau
    force, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
    missing = [f - t for f, t in zip(force, tau, strict=True)]
    for m, j in enumerate(free):
        if j in known:
            tau[j] = inner(columns[m], missing)
    return a, tau


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, loads: Any, pivots: Pivots
) -> list[Scalar]:  # fmt: skip
    """Return accelerations under forces on all joints (Khalil eq. 10.46), and nothing else: good where pivots are."""
    return hybrid_dynamics(tree, q, v, tau, loads, embed(tree, q, v, pivots), ())[0]


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, loads: Any, pivots: Pivots
) -> list[Scalar]:  # fmt: skip
    """Return forces on the independent freedoms, G^T tau of the tree (Khalil eq. 10.40), zero elsewhere."""
    motion = embed(tree, q, v, pivots)
    whole, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
    forces: list[Scalar] = [0.0] * tree.nv
    for j, force in zip(independent_freedoms(tree, pivots), motion.along(whole), strict=True):
        forces[j] = force
    return forces
