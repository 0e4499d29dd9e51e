"""Dynamics of closed chains in O(n): loops that share joints are one joint of the tree of clusters.

Within a cluster of loops all accelerations follow from those of some of its freedoms, by its own constraints alone,

    a = G y + g,      K_d G_d = -K_i,   K_d g_d = -drift        (Khalil eq. 10.36, 10.48)

so a cluster is a joint with the freedoms y that carries several bodies at once, and articulated bodies
(Featherstone eq. 6.46-6.55) go through it like through any other (constraint embedding: Jain 2012; cluster joints:
Chignoli et al. 2024).  No multipliers are formed, and what loops far apart have to do with one another is what joints
have.

``pivots`` are the constraints that count, each with the freedom that it determines, in the order of elimination; they
are chosen beforehand (:attr:`kinetree.loops.coordinates.Coordinates.pivots`) so that zeros stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..model.tree import BASE, Model
from ..spatial import (
    ZERO_FORCE,
    ZERO_MOTION,
    ArticulatedInertia,
    Force,
    Motion,
    Scalar,
    combine_forces,
    ldl,
    ldl_inverse,
    where,
)
from . import constrained, constraints, newton_euler, springs
from .articulated_body import times
from .kinematics import poses
from .newton_euler import base_at_rest, inertia_force, move
from .passes import Scalars, nothing, outward, positions, present, rates

Matrix = list[list[Scalar]]
Pivots = Sequence[tuple[int, int]]

LEAST_QUALITY_OF_CLUSTERS = 1e-4
"""Where the choice of pivots serves worse than this (a squared sine), another way must be taken.

Accelerations are then good to nine digits or more: in 400 states of a falling platform the worst was off by 150 eps
divided by the quality, most by less than one.
"""


class ClusterJoint(NamedTuple):
    """Bodies that move together: those of a cluster of loops, or a single one."""

    bodies: tuple[int, ...]
    carrier: int
    independent: tuple[int, ...]
    pivots: tuple[tuple[int, int], ...]


def groups(tree: Model, pivots: Pivots) -> list[ClusterJoint]:
    """Return the groups of bodies of a mechanism, carriers first."""
    body_of = {j: i for i, link in enumerate(tree.links) for j in range(link.v_slice.start, link.v_slice.stop)}
    found: dict[int, ClusterJoint] = {}
    for rows, bodies in _hanging_together(
        tree, [(set(rows), {body_of[j] for j in columns}) for rows, columns in constraints.connected(tree)]
    ):
        own = tuple((i, j) for i, j in pivots if i in rows)
        dependent = {j for _, j in own}
        freedoms = [j for i in bodies for j in range(tree.links[i].v_slice.start, tree.links[i].v_slice.stop)]
        group = ClusterJoint(bodies, tree.parents[bodies[0]], tuple(j for j in freedoms if j not in dependent), own)
        found |= dict.fromkeys(bodies, group)
    for i, link in enumerate(tree.links):
        if i not in found:
            found[i] = ClusterJoint((i,), link.parent, tuple(range(link.v_slice.start, link.v_slice.stop)), ())
    return [found[i] for i in range(len(tree.links)) if found[i].bodies[0] == i]


def _hanging_together(
    tree: Model, clusters: Sequence[tuple[set[int], set[int]]]
) -> list[tuple[set[int], tuple[int, ...]]]:
    """Return rows and bodies of clusters, with all bodies between those that a coupling binds.

    The bodies around a loop hang together as they are; those that are coupled may have others between them.
    """
    found: list[tuple[set[int], set[int]]] = []
    for rows, bodies in clusters:
        bodies = _with_those_between(tree, bodies)
        apart = []
        for other in found:
            if other[1] & bodies:
                rows, bodies = rows | other[0], bodies | other[1]
            else:
                apart.append(other)
        found = [*apart, (rows, bodies)]
    return [(rows, tuple(sorted(bodies))) for rows, bodies in found]


def _with_those_between(tree: Model, bodies: set[int]) -> set[int]:
    paths = [tree.support(i) for i in bodies]
    shared = set(paths[0]).intersection(*paths) - bodies
    return {i for path in paths for i in path if i not in shared} if tree.couplings else bodies


def follow(
    k: Matrix, sides: Mapping[int, Scalars], pivots: Pivots, size: float
) -> tuple[dict[int, list[Scalar]], Scalar]:
    """Solve ``K_d X = sides`` by elimination in a given order; entries that are exactly zero cost nothing.

    Returns
    -------
    x : dict
        By the freedoms that the pivots determine.
    quality : scalar
        Between 0 and 1: how large pivots are beside what they stand for.
    """
    work = {i: {j: k[i][j] for _, j in pivots if present(k[i][j])} for i, _ in pivots}
    rhs = {i: list(sides[i]) for i, _ in pivots}
    quality: Scalar = 1.0
    for n, (i, j) in enumerate(pivots):
        pivot = work[i].get(j, 0.0)  # where all is in line the reference divides by this very zero, and says so
        below = [m for m, _ in pivots[n + 1 :] if j in work[m]]
        whole = constrained.inner([k[i][c] for _, c in pivots], [k[i][c] for _, c in pivots])
        whole = where(whole > size * size, whole, size * size)
        for m in below:
            whole = whole + work[m][j] * work[m][j]
        share = pivot * pivot / whole
        quality = where(share < quality, share, quality)
        reciprocal = 1.0 / pivot
        for m in below:
            factor = work[m].pop(j) * reciprocal
            for c, entry in work[i].items():
                if c != j:
                    work[m][c] = work[m][c] - factor * entry if c in work[m] else -(factor * entry)
            rhs[m] = [a - factor * b if present(b) else a for a, b in zip(rhs[m], rhs[i], strict=True)]
    x: dict[int, list[Scalar]] = {}
    for i, j in reversed(pivots):
        rest = rhs[i]
        for c, known in x.items():
            if c in work[i]:
                rest = [a - work[i][c] * b if present(b) else a for a, b in zip(rest, known, strict=True)]
        reciprocal = 1.0 / work[i][j]
        x[j] = [a * reciprocal if present(a) else 0.0 for a in rest]
    return x, quality


def _leverage(tree: Model, group: ClusterJoint, followed: Mapping[int, Scalars], size: float) -> Scalar:
    """Return the sum of squares of G: how much faster than the independent freedoms the others move, all as lengths.

    Each pivot may be fair while their product is not.  Then columns of G are large and nearly parallel, and
    G^T M G, whose condition is that of G squared, loses what accelerations are made of.
    """
    length = [size if unit == "rad" else 1.0 for unit in tree.v_units]
    total: Scalar = 0.0
    for j, shares in followed.items():
        for i, share in zip(group.independent, shares, strict=False):  # the last is what constraints alone demand
            if present(share):
                scaled = share if length[i] == length[j] else share * (length[j] / length[i])
                total = total + scaled * scaled
    return total


class Eliminated(NamedTuple):
    """A group whose freedoms gave way: what is needed to find its accelerations once its carrier's is known."""

    basis: dict[int, list[Scalar]]
    particular: dict[int, Scalar]
    free: list[Scalar]
    psi: tuple[Force, ...]


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, pivots: Pivots
) -> tuple[list[Scalar], Scalar, constrained.Residuals]:
    """Return accelerations, how well the choice of pivots serves here, and how consistent the state is."""
    posed, tau = poses(tree, q), springs.left_for_bodies(tree, q, tau)
    moving = outward(tree, move, base_at_rest(gravity), positions(tree, q), rates(tree, v), nothing(tree))
    k, drift = constraints.constraint_matrix(tree, q, posed), constraints.drift(tree, q, v, posed)
    size = constraints.usual_size(tree)
    quality: Scalar = 1.0

    def following(group: ClusterJoint) -> dict[int, list[Scalar]]:
        nonlocal quality
        sides = {i: [*_minus(k[i], group.independent), -drift[i]] for i, _ in group.pivots}
        followed, own = _followed(tree, group, k, sides, size)
        quality = where(own < quality, own, quality)
        return followed

    acceleration = accelerations(tree, groups(tree, pivots), moving, loads, tau, following)
    return acceleration, quality, constrained.residuals(tree, q, v, None, k, drift)


def _followed(
    tree: Model, group: ClusterJoint, k: Matrix, sides: Mapping[int, Scalars], size: float
) -> tuple[dict[int, list[Scalar]], Scalar]:
    """Return how the freedoms of a group follow its independent ones, and what else there is; and how well they do."""
    followed, quality = follow(k, sides, group.pivots, size)
    if followed:
        loss = 1.0 / (1.0 + _leverage(tree, group, followed, size))
        quality = where(loss < quality, loss, quality)
    return followed, quality


def _minus(row: Scalars, columns: Sequence[int]) -> list[Scalar]:
    return [-row[j] if present(row[j]) else 0.0 for j in columns]


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Any, loads: Any, pivots: Pivots
) -> tuple[list[Scalar], Scalar, constrained.Residuals]:
    """Return forces on the independent freedoms, how well the pivots serve, and how consistent the motion is.

    They are G^T tau of the tree (Khalil eq. 10.40), of which each cluster has its own part.
    """
    posed = poses(tree, q)
    tau, _ = newton_euler.inverse_dynamics(tree, q, v, a, gravity, loads)
    k, drift = constraints.constraint_matrix(tree, q, posed), constraints.drift(tree, q, v, posed)
    size = constraints.usual_size(tree)
    quality: Scalar = 1.0
    forces: list[Scalar] = [0.0] * tree.nv
    for group in groups(tree, pivots):
        sides = {i: _minus(k[i], group.independent) for i, _ in group.pivots}
        followed, own = _followed(tree, group, k, sides, size)
        quality = where(own < quality, own, quality)
        for n, j in enumerate(group.independent):
            shares = [share[n] for share in followed.values()]
            forces[j] = tau[j] + constrained.inner(shares, [tau[d] for d in followed]) if shares else tau[j]
    return forces, quality, constrained.residuals(tree, q, v, a, k, drift)


def accelerations(
    tree: Model, order: Sequence[ClusterJoint], moving: Sequence[Any], loads: Any, tau: Scalars,
    following: Callable[[ClusterJoint], dict[int, list[Scalar]]],
) -> list[Scalar]:  # fmt: skip
    """Return accelerations by articulated bodies that go through groups of bodies like through joints.

    ``following(group)`` says how each freedom of a group that is not independent follows those that are: by which
    shares, and last by what it does if these rest.
    """
    inertia = [link.articulated() for link in tree.links]
    force = [inertia_force(link, m, f) for link, m, f in zip(tree.links, moving, loads or nothing(tree), strict=True)]
    given_way = [_give_way(tree, group, moving, inertia, force, tau, following(group)) for group in reversed(order)]
    acceleration: list[Scalar] = [0.0] * tree.nv
    mu: dict[int, Motion] = {BASE: ZERO_MOTION}
    for group, gone in zip(order, reversed(given_way), strict=True):
        y = [a - mu[group.carrier].dot(psi) for a, psi in zip(gone.free, gone.psi, strict=True)]
        for i in group.bodies:
            link, m = tree.links[i], moving[i]
            motion = m.transform.motion_to_child(mu[link.parent])
            for s, j in zip(m.subspace, range(link.v_slice.start, link.v_slice.stop), strict=True):
                acceleration[j] = constrained.inner(gone.basis[j], y)
                if present(gone.particular[j]):
                    acceleration[j] = acceleration[j] + gone.particular[j]
                motion = motion + s * acceleration[j]
            mu[i] = motion
    return acceleration


def _give_way(
    tree: Model, group: ClusterJoint, moving: Sequence[Any], inertia: list[ArticulatedInertia], force: list[Force],
    tau: Scalars, followed: dict[int, list[Scalar]],
) -> Eliminated:  # fmt: skip
    """Hand what a group's bodies have, less what its freedoms take, to its carrier (in ``inertia`` and ``force``)."""
    count = len(group.independent)
    basis = {j: [1.0 if n == m else 0.0 for m in range(count)] for n, j in enumerate(group.independent)}
    basis |= {j: x[:count] for j, x in followed.items()}
    particular: dict[int, Scalar] = dict.fromkeys(basis, 0.0) | {j: x[count] for j, x in followed.items()}
    # how bodies move with each of the group's freedoms, and by what the constraints alone demand
    along: dict[int, list[Motion | None]] = {group.carrier: [None] * (count + 1)}
    for i in group.bodies:
        link, m = tree.links[i], moving[i]
        along[i] = [None if x is None else m.transform.motion_to_child(x) for x in along[link.parent]]
        for s, j in zip(m.subspace, range(link.v_slice.start, link.v_slice.stop), strict=True):
            for n, share in enumerate([*basis[j], particular[j]]):
                if present(share):
                    along[i][n] = _sum(along[i][n], s if isinstance(share, float) and share == 1.0 else s * share)
    felt: dict[int, list[Force | None]] = {}
    d: Matrix = [[0.0] * count for _ in range(count)]
    excess: list[Scalar] = [0.0] * count
    whole = {i: inertia[i] for i in group.bodies}
    handed: list[Force | None] = [None] * count
    for i in reversed(group.bodies):
        link, m = tree.links[i], moving[i]
        own = [None if x is None else inertia[i] @ x for x in along[i]]
        felt[i] = [_sum(a, b) for a, b in zip(felt.get(i, [None] * (count + 1)), own, strict=True)]
        required = _sum(force[i], felt[i][count])
        for s, j in zip(m.subspace, range(link.v_slice.start, link.v_slice.stop), strict=True):
            armature = link.armature[j - link.v_slice.start]
            left = tau[j] - s.dot(required)
            if present(armature) and present(particular[j]):
                left = left - armature * particular[j]
            for n, share in enumerate(basis[j]):
                if not present(share):
                    continue
                excess[n] = excess[n] + share * left
                for o in range(n, count):
                    f = felt[i][o]
                    if f is not None:
                        d[n][o] = d[n][o] + share * s.dot(f)
                    if present(armature) and present(basis[j][o]):
                        d[n][o] = d[n][o] + armature * (share * basis[j][o])
        up = m.transform
        parts = [None if f is None else up.force_to_parent(f) for f in felt[i][:count]]
        carried = up.force_to_parent(required)
        if link.parent == group.carrier:
            handed = [_sum(a, b) for a, b in zip(handed, parts, strict=True)]
            if group.carrier != BASE:
                force[group.carrier] = force[group.carrier] + carried
                inertia[group.carrier] = inertia[group.carrier] + up.articulated_to_parent(whole[i])
        else:
            waiting = felt.get(link.parent, [None] * (count + 1))
            felt[link.parent] = [_sum(a, b) for a, b in zip(waiting, [*parts, None], strict=True)]
            force[link.parent] = force[link.parent] + carried
            whole[link.parent] = whole[link.parent] + up.articulated_to_parent(whole[i])
    for n in range(count):
        for o in range(n):
            d[n][o] = d[o][n]
    inverse = [[1.0 / d[0][0]]] if count == 1 else ldl_inverse(ldl(d)) if count else []
    u = tuple(ZERO_FORCE if f is None else f for f in handed)
    psi = tuple(combine_forces(u, column) for column in inverse)
    if group.carrier != BASE and count:
        for a, b in zip(psi, u, strict=True):
            inertia[group.carrier] = inertia[group.carrier] - ArticulatedInertia.dyad(a, b)
        force[group.carrier] = force[group.carrier] + combine_forces(psi, excess)
    return Eliminated(basis, particular, times(inverse, excess) if count else [], psi)


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b
