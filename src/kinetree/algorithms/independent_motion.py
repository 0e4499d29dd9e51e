"""Closed chains in independent coordinates: the motions that the loops leave free, and the dynamics along them.

    v = G y',    a = G y'' + g,      K_d G_d = -K_i,   K_d g_d = -drift        (Khalil eq. 10.36, 10.48)

``pivots`` are the independent constraints, each with the freedom that it determines, in the order of elimination; they
are chosen beforehand (:attr:`kinetree.loops.coordinates.Coordinates.pivots`).  All other freedoms are independent.
Loops that share no joint do not affect one another: G is found cluster by cluster, and the recursions of articulated
and composite bodies treat clusters as joints (:mod:`.loop_clusters`), so that the work is proportional to the number of
bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..model.tree import Model
from ..spatial import Force, Scalar, ldl, ldl_solve, where
from . import (
    composite_body,
    constrained_dynamics,
    joint_friction,
    loop_clusters,
    loop_constraints,
    newton_euler,
    springs,
    tendons,
)
from .constrained_dynamics import inner
from .kinematics import poses
from .loop_clusters import ClusterJoint, Pivots, follow, groups
from .newton_euler import base_at_rest, move
from .passes import Scalars, add, nothing, outward, positions, present, rates

Matrix = list[list[Scalar]]

MOST_TOGETHER = 16
"""Up to this many constraints, rates are solved for all at once, by orthogonal columns."""


def least_quality_of_rates(pivots: Pivots) -> float:
    """Return the quality below which :func:`allowed` is not to be trusted."""
    return (
        constrained_dynamics.LEAST_QUALITY if len(pivots) <= MOST_TOGETHER else loop_clusters.LEAST_QUALITY_OF_CLUSTERS
    )


def independent_freedoms(tree: Model, pivots: Pivots) -> list[int]:
    """Return the freedoms that no constraint determines."""
    dependent = {j for _, j in pivots}
    return [j for j in range(tree.nv) if j not in dependent]


class LoopsTogether(NamedTuple):
    """Loops that share joints: all constraints, the independent ones, and the freedoms that all others follow."""

    rows: list[int]
    pivots: Pivots
    independent: list[int]


def clusters(tree: Model, pivots: Pivots) -> list[LoopsTogether]:
    """Return the clusters of loops of a mechanism."""
    found = []
    for rows, columns in loop_constraints.connected(tree):
        own = [(i, j) for i, j in pivots if i in rows]
        dependent = {j for _, j in own}
        found.append(LoopsTogether(rows, own, [j for j in columns if j not in dependent]))
    return found


def pattern(tree: Model, pivots: Pivots) -> list[tuple[int, int]]:
    """Return where G has entries other than zeros and ones: freedoms that follow, with those that they follow."""
    return [(j, i) for part in clusters(tree, pivots) for _, j in part.pivots for i in part.independent]


class Embedding(NamedTuple):
    """The motions that loops allow at a configuration."""

    k: Matrix
    """All constraints, including redundant ones."""
    drift: list[Scalar]
    pivots: Pivots
    clusters: list[LoopsTogether]
    size: float
    free: list[int]
    """The independent freedoms."""
    shares: dict[int, dict[int, Scalar]]
    """G: the coefficients with which each of the other freedoms follows the independent ones."""
    particular: dict[int, Scalar]
    """g: accelerations of the others when those of the independent ones are zero."""
    quality: Scalar
    """Between 0 and 1: how well the pivots work here."""

    @property
    def basis(self) -> Matrix:
        """G, by rows: one per freedom of the tree, a column per independent one."""
        return [[row.get(i, 0.0) for i in self.free] for row in (self.shares.get(j, {j: 1.0}) for j in range(self.nv))]

    @property
    def nv(self) -> int:
        """The number of freedoms of the tree."""
        return len(self.free) + len(self.shares)

    @property
    def columns(self) -> Matrix:
        """G by columns."""
        return [list(column) for column in zip(*self.basis, strict=True)]

    def leverage(self, tree: Model) -> Scalar:
        """Return the largest sum of squares of G in a cluster: how much faster others move than the independent ones.

        All rates are compared as lengths. Each pivot may be acceptable while their product is not. Then columns of G
        are large and nearly parallel, and G^T M G, whose condition number is that of G squared, loses digits of the
        accelerations.
        """
        length = [self.size if unit == "rad" else 1.0 for unit in tree.v_units]
        largest: Scalar = 0.0
        for cluster in self.clusters:
            total: Scalar = 0.0
            for _, j in cluster.pivots:
                for i, share in self.shares[j].items():
                    scaled = share if length[i] == length[j] else share * (length[j] / length[i])
                    total = total + scaled * scaled
            largest = where(total > largest, total, largest) if cluster.pivots else largest
        return largest

    def worth(self, tree: Model) -> Scalar:
        """Return how well pivots and independent freedoms work here, between 0 and 1."""
        loss = 1.0 / (1.0 + self.leverage(tree))
        return where(loss < self.quality, loss, self.quality)

    def followed(self, targets: Mapping[int, Scalar]) -> list[Scalar]:
        """Return x with K x = targets (for the pivots' rows) and zeros at independent freedoms."""
        whole: list[Scalar] = [0.0] * self.nv
        for cluster in self.clusters:
            found, _ = follow(self.k, {i: [targets[i]] for i, _ in cluster.pivots}, cluster.pivots, self.size)
            for j, x in found.items():
                whole[j] = x[0]
        return whole

    def multipliers(self, force: Scalars) -> dict[int, Scalar]:
        """Return the multipliers of the pivots' constraints that leave no force at others: K_d^T lambda = force_d."""
        return {i: x[0] for part in self.clusters for i, x in self._carried(part, [force]).items()}

    def _carried(self, part: LoopsTogether, forces: Sequence[Scalars]) -> dict[int, list[Scalar]]:
        """Return the multipliers of a cluster's independent constraints for several forces, by constraint."""
        turned = [(j, i) for i, j in part.pivots]
        across = {j: {i: self.k[i][j] for i, _ in part.pivots} for _, j in part.pivots}
        return follow(across, {j: [force[j] for force in forces] for j in across}, turned, self.size)[0]

    def shortest_multipliers(self, force: Scalars) -> list[Scalar]:
        """Return the smallest multipliers of all constraints with the same effect as those of :meth:`multipliers`.

        Redundant rows of K are C times those of the pivots, so that lambda_p + C^T lambda_r = alone.  The smallest are
        lambda_r = (1 + C C^T)^-1 C alone.
        """
        found: dict[int, Scalar] = {}
        for part in (part for part in self.clusters if part.pivots):
            count = {i for i, _ in part.pivots}
            redundant = [i for i in part.rows if i not in count and any(present(x) for x in self.k[i])]
            carried = self._carried(part, [force, *(self.k[i] for i in redundant)])
            alone, *c = (list(column) for column in zip(*carried.values(), strict=True))
            squares = [[inner(a, b) + (1.0 if m == n else 0.0) for n, b in enumerate(c)] for m, a in enumerate(c)]
            shared = ldl_solve(ldl(squares), product(c, alone))
            own = [x - inner([row[n] for row in c], shared) for n, x in enumerate(alone)]
            found |= dict(zip([*carried, *redundant], [*own, *shared], strict=True))
        return [found.get(i, 0.0) for i in range(len(self.k))]

    def along(self, force: Scalars) -> list[Scalar]:
        """Return G^T force: the effect at the independent freedoms of a force on all freedoms."""
        found = {j: force[j] for j in self.free}
        for j in sorted(self.shares):  # along chains of loops, where neighbors were computed together
            for i, share in self.shares[j].items():
                if present(force[j]):
                    found[i] = found[i] + share * force[j]
        return [found[j] for j in self.free]

    def laid_out(self, independent: Scalars) -> list[Scalar]:
        """Return a vector over all freedoms from the values of the independent ones; zero elsewhere."""
        y = dict(zip(self.free, independent, strict=True))
        return [y.get(j, 0.0) for j in range(self.nv)]

    def acceleration(self, independent: Scalars) -> list[Scalar]:
        """Return G y'' + g."""
        whole = self.spread(independent)
        for j, x in self.particular.items():
            if present(x):
                whole[j] = whole[j] + x
        return whole

    def spread(self, independent: Scalars) -> list[Scalar]:
        """Return G y."""
        whole = self.laid_out(independent)
        for j, shares in self.shares.items():
            whole[j] = inner(list(shares.values()), [whole[i] for i in shares])
        return whole

    def driven(self, given: Mapping[int, Scalar]) -> Embedding:
        """Return the remaining motions when some independent freedoms have given accelerations."""
        shares, particular = dict[int, dict[int, Scalar]](), dict[int, Scalar](given)
        for j, own in self.shares.items():
            moved = [share * given[i] for i, share in own.items() if i in given]
            shares[j] = {i: share for i, share in own.items() if i not in given}
            particular[j] = sum(moved, self.particular[j])
        shares |= {j: {} for j in given}
        free = [j for j in self.free if j not in given]
        return self._replace(free=free, shares=shares, particular=particular)

    def following(self, group: ClusterJoint) -> dict[int, list[Scalar]]:
        """Return how freedoms of bodies that move together follow, as :func:`.loop_clusters.accelerations` requires."""
        return {
            j: [*(shares.get(i, 0.0) for i in group.independent), self.particular[j]]
            for j, shares in ((j, self.shares[j]) for j in group.dependent)
        }


def embed(tree: Model, q: Scalars, v: Scalars, pivots: Pivots) -> Embedding:
    """Return the motions that loops allow."""
    seen = loop_constraints.LoopSides(tree, q)
    k, drift = loop_constraints.constraint_matrix(tree, q, seen), loop_constraints.drift(tree, q, v, seen)
    size, parts = loop_constraints.usual_size(tree), clusters(tree, pivots)
    quality: Scalar = 1.0
    shares, particular = dict[int, dict[int, Scalar]](), dict[int, Scalar]()
    for part in parts:
        sides = {
            i: [*(-k[i][j] if present(k[i][j]) else 0.0 for j in part.independent), -drift[i]] for i, _ in part.pivots
        }
        found, own = follow(k, sides, part.pivots, size)
        quality = where(own < quality, own, quality)
        for j, x in found.items():
            shares[j] = {i: y for i, y in zip(part.independent, x[:-1], strict=True) if present(y)}
            particular[j] = x[-1]
    return Embedding(k, drift, pivots, parts, size, independent_freedoms(tree, pivots), shares, particular, quality)


# ---------------------------------------------------------------- accelerations


def allowed(
    tree: Model, q: Scalars, v: Scalars, a: Scalars | None, pivots: Pivots
) -> tuple[list[Scalar], Scalar, constrained_dynamics.Residuals]:
    """Return all velocities from the independent ones or, if ``a`` is given, all accelerations from independent ones.

    Other entries of the last argument are ignored.  Also return how well the pivots work, and how consistent the state
    is.
    """
    given, still = (v, [0.0] * tree.nv) if a is None else (a, v)
    free = independent_freedoms(tree, pivots)
    if len(pivots) > MOST_TOGETHER:
        motion = embed(tree, q, still, pivots)
        k, drift, quality = motion.k, motion.drift, motion.worth(tree)
        found = motion.acceleration([given[j] for j in free])
    else:
        k = loop_constraints.constraint_matrix(tree, q)
        drift = [0.0] * len(k) if a is None else loop_constraints.drift(tree, q, v)
        rows, dependent = [i for i, _ in pivots], [j for _, j in pivots]
        size = loop_constraints.usual_size(tree)
        found, quality = constrained_dynamics.allowed(k, [given[j] for j in free], drift, rows, dependent, size)
    return found, quality, constrained_dynamics.residuals(tree, q, still, None, k, drift)


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, pivots: Pivots
) -> tuple[list[Scalar], Scalar, constrained_dynamics.Residuals]:
    """Return accelerations, how well the choice of pivots works here, and how consistent the state is."""
    motion = embed(tree, q, v, pivots)
    a = accelerations(tree, q, v, tau, gravity, loads, motion)
    return a, motion.worth(tree), constrained_dynamics.residuals(tree, q, v, None, motion.k, motion.drift)


def accelerations(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, motion: Embedding
) -> list[Scalar]:
    """Return accelerations under forces on all joints, along the motions that are free (Khalil eq. 10.46)."""
    if tree.has_followers:
        return _accelerations_by_mass_matrix(tree, q, v, tau, gravity, loads, motion)
    tau = springs.left_for_bodies(tree, q, tau)
    moving = outward(tree, move, base_at_rest(gravity), positions(tree, q), rates(tree, v), nothing(tree))
    return loop_clusters.accelerations(tree, groups(tree, motion.free), moving, loads, tau, motion.following)


def _accelerations_by_mass_matrix(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, motion: Embedding
) -> list[Scalar]:
    """Return the same for leaders and followers, which share freedoms and may be far apart."""
    a = motion.acceleration([0.0] * len(motion.free))
    if not motion.free:
        return a
    bias, _ = newton_euler.inverse_dynamics(tree, q, v, a, gravity, loads)
    left = motion.along([t - b for t, b in zip(tau, bias, strict=True)])
    return motion.acceleration(ldl_solve(ldl(reduced(composite_body.mass_matrix(tree, q), motion.columns)), left))


def hybrid_dynamics(
    tree: Model, q: Scalars, v: Scalars, given: Scalars, loads: Any, motion: Embedding, known: Sequence[int]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return all accelerations and forces where some freedoms are given accelerations, all others forces.

    ``known`` are independent freedoms whose entries of ``given`` are accelerations.  The others accelerate under their
    forces, G_u^T (M a + h - tau) = 0 with u the unknown ones; then the forces at the known ones are the remainder,
    G_k^T (M a + h - tau) (Featherstone eq. 7.32-7.34 along the motions that loops allow).
    """
    tau = [0.0 if j in known else x for j, x in enumerate(given)]
    a = accelerations(tree, q, v, tau, tree.gravity, loads, motion.driven({j: given[j] for j in known}))
    if known:
        force, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
        missing = motion.along([f - t for f, t in zip(force, tau, strict=True)])
        for j, needed in zip(motion.free, missing, strict=True):
            if j in known:
                tau[j] = needed
    return a, tau


# ---------------------------------------------------------------- forces


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Any, loads: Any, motion: Embedding, rubbing: bool = False
) -> list[Scalar]:
    """Return forces on the independent freedoms, zero elsewhere; with friction if ``rubbing``.

    They are G^T tau of the tree (Khalil eq. 10.40); each cluster contributes its own part.
    """
    tau, _ = newton_euler.inverse_dynamics(tree, q, v, a, gravity, loads)
    if rubbing:
        tau = [add(t, f) for t, f in zip(tau, joint_friction.lost(tree, q, v), strict=True)]
    return motion.laid_out(motion.along(tau))


def multipliers(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, tau: Scalars, gravity: Any, loads: Any, motion: Embedding
) -> list[Scalar]:
    """Return the multipliers of all constraints for a motion under joint forces, the smallest if some are redundant."""
    needed, _ = newton_euler.inverse_dynamics(tree, q, v, a, gravity, loads)
    return motion.shortest_multipliers([n - t for n, t in zip(needed, tau, strict=True)])


class LoopForces(NamedTuple):
    """The loads of loops and joints during a motion."""

    multipliers: list[Scalar]
    """The smallest ones if constraints are redundant."""
    own: list[Force]
    """Wrench of each loop joint on its successor, in the joint's moving frame."""
    world: list[Force]
    """The same in world axes, at the joint."""
    joints: Sequence[Force]
    """The wrench that each joint of the tree transmits to its body, in body axes at the body's origin."""


def loop_forces(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, tau: Scalars, gravity: Any, loads: Any, motion: Embedding
) -> LoopForces:
    """Return the forces of loops and joints during a motion under joint forces ``tau`` without friction."""
    sides, carried = loop_constraints.LoopSides(tree, q), multipliers(tree, q, v, a, tau, gravity, loads, motion)
    own = loop_constraints.loop_wrenches(tree, q, carried, sides)
    pushed = loop_constraints.loads_on_bodies(tree, q, own, sides)
    acting = [add(x, y) for x, y in zip(loads or nothing(tree), pushed, strict=True)]
    _, joints = newton_euler.inverse_dynamics(tree, q, v, a, gravity, tendons.with_lines(tree, q, acting))
    return LoopForces(carried, own, loop_constraints.in_world_axes(tree, own, poses(tree, q)), joints)


# ---------------------------------------------------------------- inertia


def product(matrix: Matrix, vector: Scalars) -> list[Scalar]:
    """Return a matrix times a vector; exact zeros cost nothing."""
    return [inner(row, vector) for row in matrix]


def reduced(mass: Matrix, motions: Matrix) -> Matrix:
    """Return G^T M G, for motions G by columns."""
    moved = [product(mass, motion) for motion in motions]
    return [[inner(a, b) for b in moved] for a in motions]


def mass_matrix(tree: Model, q: Scalars, motion: Embedding) -> Matrix:
    """Return G^T M G by composite bodies, with clusters treated as joints."""
    if tree.has_followers:
        return reduced(composite_body.mass_matrix(tree, q), motion.columns)
    entries = loop_clusters.mass_matrix(tree, q, groups(tree, motion.free), motion.following)
    return [[entries.get((max(i, j), min(i, j)), 0.0) for j in motion.free] for i in motion.free]
