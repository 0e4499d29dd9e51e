"""Dynamics of closed chains in O(n): loops that share joints are treated as one joint in a tree of clusters.

Within a cluster of loops, all accelerations follow from those of some of its freedoms through the cluster's own
constraints,

    a = G y + g,      K_d G_d = -K_i,   K_d g_d = -drift        (Khalil eq. 10.36, 10.48)

so a cluster is a joint with the freedoms y that carries several bodies at once, and the articulated-body recursion
(Featherstone eq. 6.46-6.55) treats it like any other joint (constraint embedding: Jain 2012; cluster joints: Chignoli
et al. 2024).  No multipliers are formed, and distant loops affect one another only as joints do.

``pivots`` are the independent constraints, each with the freedom that it determines, in the order of elimination; they
are chosen beforehand (:attr:`kinetree.loops.coordinates.Coordinates.pivots`) so that structural zeros are preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..model.tree import BASE, Model
from ..spatial import (
    ZERO_FORCE,
    ZERO_MOTION,
    ArticulatedInertia,
    Force,
    Motion,
    RigidInertia,
    Scalar,
    Transform,
    combine_forces,
    ldl,
    ldl_inverse,
    where,
)
from . import constrained_dynamics, loop_constraints
from .articulated_body import times
from .newton_euler import base_at_rest, inertia_force, move
from .passes import Scalars, add, nothing, outward, positions, present

Matrix = list[list[Scalar]]
Pivots = Sequence[tuple[int, int]]

LEAST_QUALITY_OF_CLUSTERS = 1e-4
"""If the quality of the choice of pivots (a squared sine) is below this, another method must be used.

Above it, accelerations are accurate to nine digits or more: in 400 states of a falling platform the worst error was 150
eps divided by the quality, and most were less than one eps.
"""


class ClusterJoint(NamedTuple):
    """Bodies that move together: those of a cluster of loops, or a single one."""

    bodies: tuple[int, ...]
    carrier: int
    independent: tuple[int, ...]
    dependent: tuple[int, ...] = ()

    def tips_first(self, tree: Model) -> list[int]:
        """Return the bodies, each before the one that carries it, branch by branch: sums then go along a chain."""
        own = set(self.bodies)
        found: list[int] = []
        waiting = [i for i in reversed(self.bodies) if tree.parents[i] not in own]
        while waiting:
            i = waiting[-1]
            above = [k for k in reversed(tree.children[i]) if k in own]
            own.difference_update(above)
            waiting += above
            if not above:
                found.append(waiting.pop())
        return found


def groups(tree: Model, free: Collection[int]) -> list[ClusterJoint]:
    """Return the groups of bodies of a mechanism, with independent freedoms or not, carriers first."""
    body_of = {j: i for i, link in enumerate(tree.links) for j in link.freedoms}
    together = _hanging_together(
        tree, [{body_of[j] for j in columns} for _, columns in loop_constraints.connected(tree)]
    )
    inside, independent, found = {i for bodies in together for i in bodies}, set(free), []
    for bodies in sorted([*together, *([i] for i in range(len(tree.links)) if i not in inside)]):
        freedoms = [j for i in bodies for j in tree.links[i].freedoms]
        first, others = ([j for j in freedoms if (j in independent) is kind] for kind in (True, False))
        found.append(ClusterJoint(tuple(bodies), tree.parents[bodies[0]], tuple(first), tuple(others)))
    return found


def _hanging_together(tree: Model, clusters: Sequence[set[int]]) -> list[list[int]]:
    """Return the bodies of clusters, with all bodies between coupled ones.

    The bodies around a loop are already connected; coupled bodies may have others between them.
    """
    found: list[set[int]] = []
    for bodies in clusters:
        bodies = _with_those_between(tree, bodies)
        for other in [other for other in found if other & bodies]:
            found.remove(other)
            bodies = bodies | other
        found.append(bodies)
    return [sorted(bodies) for bodies in found]


def _with_those_between(tree: Model, bodies: set[int]) -> set[int]:
    paths = [tree.support(i) for i in bodies]
    shared = set(paths[0]).intersection(*paths) - bodies
    return {i for path in paths for i in path if i not in shared} if tree.couplings else bodies


def follow(k: Any, sides: Mapping[int, Scalars], pivots: Pivots, size: float) -> tuple[dict[int, list[Scalar]], Scalar]:
    """Solve ``K_d X = sides`` by elimination in a given order; entries that are exactly zero cost nothing.

    Returns
    -------
    x : dict
        Solutions, keyed by the freedoms that the pivots determine.
    quality : scalar
        Between 0 and 1: how large the pivots are compared with the entries they were computed from.
    """
    work = {i: {j: k[i][j] for _, j in pivots if present(k[i][j])} for i, _ in pivots}
    rhs = {i: list(sides[i]) for i, _ in pivots}
    quality: Scalar = 1.0
    for n, (i, j) in enumerate(pivots):
        pivot = work[i].get(j, 0.0)  # at a dead point, the reference divides by this zero and reports it
        below = [m for m, _ in pivots[n + 1 :] if j in work[m]]
        whole = constrained_dynamics.inner([k[i][c] for _, c in pivots], [k[i][c] for _, c in pivots])
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


Following = Callable[[ClusterJoint], dict[int, list[Scalar]]]
"""How each dependent freedom of a group follows the independent ones: coefficients, then its acceleration when these
are at rest."""


class Together(NamedTuple):
    """A group of bodies that move together, with everything they carry."""

    basis: dict[int, list[Scalar]]
    """The coefficients with which each of its freedoms follows the independent ones."""
    particular: dict[int, Scalar]
    felt: dict[int, list[Force | None]]
    """The force that each body must pass on per unit of each independent freedom; last, the force that only the
    constraints require."""
    handed: list[Force | None]
    """The same forces at the carrier."""
    d: Matrix
    """Inertia matrix of the independent freedoms."""
    inertia: Any
    """Inertia of all bodies that the carrier would feel if the group were rigid; None if the carrier is the base."""


def _together(
    tree: Model, group: ClusterJoint, moving: Sequence[Any], inertia: Sequence[Any], followed: dict[int, list[Scalar]]
) -> Together:
    count = len(group.independent)
    basis = {j: [1.0 if n == m else 0.0 for m in range(count)] for n, j in enumerate(group.independent)}
    basis |= {j: x[:count] for j, x in followed.items()}
    particular: dict[int, Scalar] = dict.fromkeys(basis, 0.0) | {j: x[count] for j, x in followed.items()}
    # how bodies move with each of the group's freedoms, and due to the constraints alone
    along: dict[int, list[Motion | None]] = {group.carrier: [None] * (count + 1)}
    for i in group.bodies:
        link, m = tree.links[i], moving[i]
        along[i] = [None if x is None else m.transform.motion_to_child(x) for x in along[link.parent]]
        for s, j in zip(m.subspace, link.freedoms, strict=True):
            for n, share in enumerate([*basis[j], particular[j]]):
                if present(share):
                    along[i][n] = add(along[i][n], s if isinstance(share, float) and share == 1.0 else s * share)
    d: Matrix = [[0.0] * count for _ in range(count)]
    felt: dict[int, list[Force | None]] = {i: [None] * (count + 1) for i in (group.carrier, *group.bodies)}
    whole: dict[int, Any] = {group.carrier: None} | {i: inertia[i] for i in group.bodies}
    for i in group.tips_first(tree):
        link, m = tree.links[i], moving[i]
        own = [None if x is None else inertia[i] @ x for x in along[i]]
        felt[i] = [add(a, b) for a, b in zip(felt[i], own, strict=True)]
        for s, j in zip(m.subspace, link.freedoms, strict=True):
            armature = link.armature[j - link.v_slice.start]
            for n, share in enumerate(basis[j]):
                for o in range(n, count) if present(share) else ():
                    f = felt[i][o]
                    if f is not None:
                        d[n][o] = d[n][o] + share * s.dot(f)
                    if present(armature) and present(basis[j][o]):
                        d[n][o] = d[n][o] + armature * (share * basis[j][o])
        parts = [None if f is None else m.transform.force_to_parent(f) for f in felt[i][:count]]
        felt[link.parent] = [add(a, b) for a, b in zip(felt[link.parent], [*parts, None], strict=True)]
        if link.parent != BASE:
            whole[link.parent] = add(whole[link.parent], _to_parent(m.transform, whole[i]))
    for n in range(count):
        for o in range(n):
            d[n][o] = d[o][n]
    return Together(basis, particular, felt, felt[group.carrier][:count], d, whole[group.carrier])


def _to_parent(x: Transform, inertia: Any) -> Any:
    return x.rigid_to_parent(inertia) if isinstance(inertia, RigidInertia) else x.articulated_to_parent(inertia)


def mass_matrix(
    tree: Model, q: Scalars, order: Sequence[ClusterJoint], following: Following
) -> dict[tuple[int, int], Scalar]:
    """Return the mass matrix of the independent freedoms, by composite bodies, with groups of bodies treated as joints.

    Entries are keyed by pairs of freedoms, the larger one first; those between branches are left out.
    """
    still = [[0.0] * link.kind.nv for link in tree.links]
    moving = outward(tree, move, base_at_rest((0.0, 0.0, 0.0)), positions(tree, q), still, nothing(tree))
    rigid = all(link.added is None for link in tree.links)
    inertia: list[Any] = [link.inertia if rigid else link.articulated() for link in tree.links]
    group_of = {i: group for group in order for i in group.bodies}
    entries: dict[tuple[int, int], Scalar] = {}
    bases: dict[int, list[Scalar]] = {}
    for group in order:
        bases |= {j: [1.0 if i == j else 0.0 for i in group.independent] for j in group.independent}
        bases |= {j: x[:-1] for j, x in following(group).items()}
    for group in reversed(order):
        one = _together(tree, group, moving, inertia, {j: [*bases[j], 0.0] for j in group.dependent})
        if group.carrier != BASE:
            inertia[group.carrier] = inertia[group.carrier] + one.inertia
        for n, j in enumerate(group.independent):
            entries |= {(max(i, j), min(i, j)): x for i, x in zip(group.independent, one.d[n], strict=True)}
            force, body = one.handed[n], group.carrier
            while body != BASE and force is not None:
                link, m = tree.links[body], moving[body]
                for s, k in zip(m.subspace, link.freedoms, strict=True):
                    for i, share in zip(group_of[body].independent, bases[k], strict=True):
                        if present(share):
                            entry = max(i, j), min(i, j)
                            entries[entry] = entries.get(entry, 0.0) + share * s.dot(force)
                force, body = m.transform.force_to_parent(force), link.parent
    return entries


class Eliminated(NamedTuple):
    """A group whose freedoms have been eliminated; it gives their accelerations once that of the carrier is known."""

    basis: dict[int, list[Scalar]]
    particular: dict[int, Scalar]
    free: list[Scalar]
    psi: tuple[Force, ...]


def accelerations(
    tree: Model, order: Sequence[ClusterJoint], moving: Sequence[Any], loads: Any, tau: Scalars, following: Following
) -> list[Scalar]:
    """Return accelerations by articulated bodies, with groups of bodies treated as joints."""
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
            for s, j in zip(m.subspace, link.freedoms, strict=True):
                acceleration[j] = constrained_dynamics.inner(gone.basis[j], y)
                if present(gone.particular[j]):
                    acceleration[j] = acceleration[j] + gone.particular[j]
                motion = motion + s * acceleration[j]
            mu[i] = motion
    return acceleration


def _give_way(
    tree: Model, group: ClusterJoint, moving: Sequence[Any], inertia: list[ArticulatedInertia], force: list[Force],
    tau: Scalars, followed: dict[int, list[Scalar]],
) -> Eliminated:  # fmt: skip
    """Pass a group's inertia and force, less the part of its freedoms, to its carrier (``inertia``, ``force``)."""
    one, count = _together(tree, group, moving, inertia, followed), len(group.independent)
    excess: list[Scalar] = [0.0] * count
    for i in group.tips_first(tree):
        link, m = tree.links[i], moving[i]
        required = add(force[i], one.felt[i][count])
        for s, j in zip(m.subspace, link.freedoms, strict=True):
            armature = link.armature[j - link.v_slice.start]
            left = tau[j] - s.dot(required)
            if present(armature) and present(one.particular[j]):
                left = left - armature * one.particular[j]
            for n, share in enumerate(one.basis[j]):
                if present(share):
                    excess[n] = excess[n] + share * left
        if link.parent != BASE:
            force[link.parent] = force[link.parent] + m.transform.force_to_parent(required)
    inverse = [[1.0 / one.d[0][0]]] if count == 1 else ldl_inverse(ldl(one.d)) if count else []
    u = tuple(ZERO_FORCE if f is None else f for f in one.handed)
    psi = tuple(combine_forces(u, column) for column in inverse)
    if group.carrier != BASE:
        inertia[group.carrier] = inertia[group.carrier] + one.inertia
        for a, b in zip(psi, u, strict=True):
            inertia[group.carrier] = inertia[group.carrier] - ArticulatedInertia.dyad(a, b)
        if count:
            force[group.carrier] = force[group.carrier] + combine_forces(psi, excess)
    return Eliminated(one.basis, one.particular, times(inverse, excess) if count else [], psi)
