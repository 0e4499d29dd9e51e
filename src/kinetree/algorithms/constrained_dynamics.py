"""Dynamics under constraints on top of the tree recursions, over any scalar.

The equations are those of the spanning tree plus the forces of the constraints,

    M a + h = tau + K^T lambda,    K a = -bias        (Shah eq. 8.1, 8.5; Featherstone eq. 9.17)

Constraints are those of loops and couplings and, if :class:`Targets` are given, driven ones: a joint's coordinate, or
the gap of a loop joint, is a given function s of time (Featherstone section 7.4.4), so that

    gap(q) = s(t),    K v = s'(t),    K a + K' v = s''(t).

The force that maintains such a constraint drives the mechanism, with the power of its multiplier times s'.  A driven
joint is a row of K with a single entry, which is one.

The choice of dependent and independent freedoms is made beforehand: ``rows`` are independent constraints, and
``dependent`` are the freedoms that follow from the others. Each function also returns a *quality* between 0 and 1: how
well the choice works at this configuration. If it is near 0, another choice or a rank-revealing method is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.tree import Model
from ..spatial import Scalar, ldl, ldl_solve, sqrt, where
from . import composite_body, factorization, loop_constraints, newton_euler
from .passes import Scalars, present

Matrix = list[list[Scalar]]


class Targets(NamedTuple):
    """What is driven, and where it must be at one moment."""

    joints: tuple[tuple[int, int], ...] = ()
    """Indices in q and in v."""
    rows: tuple[int, ...] = ()
    """Driven constraints of loops."""
    positions: Sequence[Scalar] = ()
    """Targets, one per joint, then one per row."""
    velocities: Sequence[Scalar] = ()
    accelerations: Sequence[Scalar] = ()

    def of_joint(self, k: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return the position, velocity and acceleration that joint number ``k`` must have."""
        return self.positions[k], self.velocities[k], self.accelerations[k]

    def of_row(self, row: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return the target of a constraint; zeros if it is not driven."""
        if row not in self.rows:
            return 0.0, 0.0, 0.0
        return self.of_joint(len(self.joints) + self.rows.index(row))


UNDRIVEN = Targets()


class Residuals(NamedTuple):
    """Sums of the squared violations of position, velocity and acceleration constraints."""

    gap: Scalar
    velocity: Scalar
    acceleration: Scalar


LEAST_QUALITY = 1e-8
"""If the quality of the prepared choice of coordinates (a squared sine) is below this, the general method is used."""

LEAST_QUALITY_SINGLE = 1e-3
"""Like :data:`LEAST_QUALITY`, in single precision."""


def orthogonal_solve(columns: Sequence[Scalars], rhs: Scalars, size: float = 1.0) -> tuple[list[Scalar], Scalar]:
    """Solve a square system given by columns; also return how far the columns are from being dependent.

    Columns shorter than ``size`` are compared with it, so that columns of rounding errors count as dependent.

    The Gram-Schmidt process is applied to the columns and the right-hand side together, which is as stable as
    Householder's reflections (Bjorck 1967) and needs no pivoting.
    """
    n = len(columns)
    work = [list(c) for c in columns] + [list(rhs)]
    upper: Matrix = [[0.0] * (n + 1) for _ in range(n)]
    quality: Scalar = 1.0
    for j in range(n):
        left = inner(work[j], work[j])
        quality = _smaller(quality, _share(left, inner(columns[j], columns[j]), size * size))
        length = sqrt(left)
        upper[j][j] = length
        unit = [x / length for x in work[j]]
        for k in range(j + 1, n + 1):
            r = inner(unit, work[k])
            upper[j][k] = r
            work[k] = [w - r * u for w, u in zip(work[k], unit, strict=True)]
    x: list[Scalar] = [0.0] * n
    for j in reversed(range(n)):
        rest = upper[j][n]
        for k in range(j + 1, n):
            rest = rest - upper[j][k] * x[k]
        x[j] = rest / upper[j][j]
    return x, quality


def inner(a: Scalars, b: Scalars) -> Scalar:
    """Return the inner product of two vectors; exact zeros, of which loops produce many, are skipped."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if present(x) and present(y):
            total = total + x * y
    return total


def _divided(a: Scalars, b: Scalars) -> list[Scalar]:
    return [x / y if present(x) else 0.0 for x, y in zip(a, b, strict=True)]


def _smaller(a: Scalar, b: Scalar) -> Scalar:
    return where(b < a, b, a)


def _share(left: Scalar, whole: Scalar, least: float) -> Scalar:
    """Return the fraction ``left / whole`` of a square, with ``least`` in place of a smaller ``whole``."""
    return left / where(whole > least, whole, least)


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Any, loads: Any, rows: Sequence[int],
    dependent: Sequence[int],
) -> tuple[list[Scalar], list[Scalar], Scalar, Residuals]:  # fmt: skip
    """Return forces on the independent freedoms, multipliers of ``rows``, quality, and consistency of the motion.

    Nothing drives the dependent freedoms: their rows of the tree's equations give the multipliers, K_d^T lambda =
    tau_d, and the multipliers give the forces, tau_i - K_i^T lambda, which is G^T tau (Khalil eq. 10.40; Shah eq. 8.4
    with the actuated rows solved last).
    """
    sides = loop_constraints.LoopSides(tree, q)
    tau, _ = newton_euler.inverse_dynamics(tree, q, v, a, gravity, loads)
    k_all = loop_constraints.constraint_matrix(tree, q, sides)
    k = [k_all[r] for r in rows]
    columns = [[row[j] for j in dependent] for row in k]  # columns of K_d^T
    multipliers, quality = orthogonal_solve(columns, [tau[j] for j in dependent], loop_constraints.usual_size(tree))
    forces: list[Scalar] = []
    for j in range(tree.nv):
        force = 0.0 if j in dependent else tau[j]
        if j not in dependent:
            for row, multiplier in zip(k, multipliers, strict=True):
                force = force - row[j] * multiplier
        forces.append(force)
    bias = loop_constraints.drift(tree, q, v, sides)
    return forces, multipliers, quality, residuals(tree, q, v, a, k_all, bias)


def allowed(
    k: Sequence[Scalars], given: Scalars, drift: Scalars, rows: Sequence[int], dependent: Sequence[int], size: float
) -> tuple[list[Scalar], Scalar]:
    """Return rates x of all freedoms from those of the independent ones, K x + drift = 0, and its quality.

    The rates are velocities if ``drift`` is zero, and accelerations if it is K' v (Khalil eq. 10.36, 10.48).
    """
    independent = [j for j in range(len(k[0])) if j not in dependent]
    x: list[Scalar] = [0.0] * len(k[0])
    for j, rate in zip(independent, given, strict=True):
        x[j] = rate
    columns = [[k[i][j] for i in rows] for j in dependent]
    found, quality = orthogonal_solve(columns, [-(inner(k[i], x) + drift[i]) for i in rows], size)
    for j, rate in zip(dependent, found, strict=True):
        x[j] = rate
    return x, quality


def residuals(tree: Model, q: Scalars, v: Scalars, a: Scalars | None, k: Matrix, bias: Scalars) -> Residuals:
    """Return how far a state, or a motion, is from what the loops allow."""
    gaps = loop_constraints.gaps(tree, q)
    speeds = [inner(row, v) for row in k]
    left = [] if a is None else [inner(row, a) + b for row, b in zip(k, bias, strict=True)]
    return Residuals(inner(gaps, gaps), inner(speeds, speeds), inner(left, left))


# ---------------------------------------------------------------- constraints at a state


def matrix(
    tree: Model,
    q: Scalars,
    rows: Sequence[int],
    targets: Targets = UNDRIVEN,
    sides: loop_constraints.LoopSides | None = None,
) -> Matrix:
    """Return the active rows of K: those of loops, and one per driven joint."""
    found = loop_constraints.constraint_matrix(tree, q, sides) if rows else []
    units = [[1.0 if j == place else 0.0 for j in range(tree.nv)] for _, place in targets.joints]
    return [found[r] for r in rows] + units


def gaps(tree: Model, q: Scalars, rows: Sequence[int], targets: Targets = UNDRIVEN) -> list[Scalar]:
    """Return how far positions are from where they must be."""
    found = loop_constraints.gaps(tree, q) if rows else []
    of_loops = [found[r] - targets.of_row(r)[0] if r in targets.rows else found[r] for r in rows]
    return of_loops + [q[place] - targets.of_joint(k)[0] for k, (place, _) in enumerate(targets.joints)]


def wanted_rates(rows: Sequence[int], targets: Targets) -> list[Scalar]:
    """Return the required values of K v."""
    return [targets.of_row(r)[1] for r in rows] + [targets.of_joint(k)[1] for k in range(len(targets.joints))]


def slips(k: Sequence[Scalars], v: Scalars, rows: Sequence[int], targets: Targets = UNDRIVEN) -> list[Scalar]:
    """Return how far velocities are from what they must be."""
    return [inner(row, v) - w for row, w in zip(k, wanted_rates(rows, targets), strict=True)]


def bias(
    tree: Model,
    q: Scalars,
    v: Scalars,
    rows: Sequence[int],
    targets: Targets = UNDRIVEN,
    sides: loop_constraints.LoopSides | None = None,
) -> list[Scalar]:
    """Return the required values of -K a."""
    found = loop_constraints.drift(tree, q, v, sides) if rows else []
    of_loops = [found[r] - targets.of_row(r)[2] if r in targets.rows else found[r] for r in rows]
    return of_loops + [0.0 - targets.of_joint(k)[2] for k in range(len(targets.joints))]


# ---------------------------------------------------------------- the least change that satisfies them


class ShortestWay:
    """The least change that corrects ``K x``, with K W K^T factored once.

    W defines how easily each freedom changes: all equally, in radians and meters, or according to their inertia
    (:class:`EnergyWay`).

    damping: Added to the diagonal of K W K^T, so that weak rows count less.
    """

    def __init__(self, k: Sequence[Scalars], damping: Scalar = 0.0) -> None:
        self.k = k
        squares = self._squares()
        if present(damping):
            for i, row in enumerate(squares):
                row[i] = row[i] + damping
        self.diagonal = [row[i] for i, row in enumerate(squares)]
        self._factors = ldl(squares)

    def _squares(self) -> Matrix:
        """Return K W K^T, on its diagonal and below."""
        there = [{c for c, x in enumerate(row) if present(x)} for row in self.k]

        def square(i: int, j: int) -> Scalar:
            both = sorted(there[i] & there[j]) if j <= i else []
            return inner([self.k[i][c] for c in both], [self.k[j][c] for c in both])

        return [[square(i, j) for j in range(len(self.k))] for i in range(len(self.k))]

    def _weighted(self, x: list[Scalar]) -> list[Scalar]:
        """Return W x."""
        return x

    def solve(self, sums: Scalars) -> list[Scalar]:
        """Return the multipliers that change ``K x`` by ``sums``."""
        return ldl_solve(self._factors, sums)

    def back(self, off: Scalars) -> list[Scalar]:
        """Return the least ``x`` with ``K x = -off``."""
        multipliers = self.solve(off)
        return self._weighted([-inner(column, multipliers) for column in zip(*self.k, strict=True)])

    def quality(self, least: float = 0.0) -> Scalar:
        """Return how independent the rows are, between 0 and 1; squares below ``least`` are compared with ``least``."""
        return least_share(*self.independence_of_rows(least), least)

    def independence_of_rows(self, least: float = 0.0) -> tuple[list[Scalar], list[Scalar]]:
        """Return the squares of the rows, at least ``least``, and of what is independent of the rows before each."""
        return [where(x > least, x, least) for x in self.diagonal] if least else self.diagonal, self._factors[1]


class RedundantRows:
    """Rows that depend on others up to rounding, K_redundant = C K_rows.

    k: All of K.
    rows: Indices of the independent rows.
    way: The factored correction for the independent rows.
    """

    def __init__(self, k: Sequence[Scalars], rows: Sequence[int], way: ShortestWay) -> None:
        found = [i for i in range(len(k)) if i not in rows and any(present(x) for x in k[i])]
        self.redundant = found
        self.c = [way.solve([inner(k[i], row) for row in way.k]) for i in found]
        squares = [[inner(a, b) + float(i == j) for j, b in enumerate(self.c)] for i, a in enumerate(self.c)]
        self._factors = ldl(squares)

    def shared(self, multipliers: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return the shortest multipliers of all rows with the same effect as those of the independent rows alone."""
        others = ldl_solve(self._factors, [inner(row, multipliers) for row in self.c])
        return self._less(multipliers, others), others

    def met(self, off: Scalars, others: Scalars) -> list[Scalar]:
        """Return the correction of the rows that minimizes the squared error of all rows, redundant ones included."""
        more = [x - inner(row, off) for x, row in zip(others, self.c, strict=True)]
        return self._less(off, [-x for x in ldl_solve(self._factors, more)])

    def _less(self, x: Scalars, others: Scalars) -> list[Scalar]:
        """Return x - C^T others."""
        return [a - inner([row[j] for row in self.c], others) for j, a in enumerate(x)]


def shared(k: Sequence[Scalars], rows: Sequence[int], multipliers: Scalars) -> list[Scalar]:
    """Return the shortest multipliers of all constraints with the same effect as those of some rows alone."""
    found: list[Scalar] = [0.0] * len(k)
    parts = RedundantRows(k, rows, ShortestWay([k[i] for i in rows]))
    of_rows, others = parts.shared(multipliers)
    for i, x in zip((*rows, *parts.redundant), (*of_rows, *others), strict=True):
        found[i] = x
    return found


class EnergyWay(ShortestWay):
    """The least change as measured by kinetic energy: W is the inverse of the mass matrix."""

    def __init__(self, tree: Model, q: Scalars, k: Sequence[Scalars]) -> None:
        self.parents = tree.dof_parents
        self.factors = factorization.ltdl(composite_body.mass_matrix(tree, q), self.parents)
        super().__init__(k)

    def _squares(self) -> Matrix:
        half = [factorization.half_solve(self.factors[0], self.parents, row) for row in self.k]
        weighted = [_divided(row, self.factors[1]) for row in half]
        return [[inner(a, b) if j <= i else 0.0 for j, b in enumerate(half)] for i, a in enumerate(weighted)]

    def _weighted(self, x: list[Scalar]) -> list[Scalar]:
        return self.free(x)

    def free(self, tau: Scalars) -> list[Scalar]:
        """Return M^-1 tau, the accelerations without the constraints."""
        return factorization.ltdl_solve(self.factors, self.parents, tau)

    def independence(self, size: float) -> Scalar:
        """Return how independent the rows are; those much shorter than ``size`` (rounding errors) count as dependent.

        The pivots of such rows look normal, so the rows themselves are examined.
        """
        quality = self.quality()
        for row in self.k:
            quality = _smaller(quality, inner(row, row) / size**2)
        return quality


def least_share(diagonal: Scalars, pivots: Scalars, least: float = 0.0) -> Scalar:
    """Return the smallest fraction of a row that is independent of those before it: 0 if dependent, 1 at best.

    least: What the entries of the diagonal are at least.
    """
    share: Scalar = 1.0
    whole: Scalar = 1.0
    for here, pivot in zip(diagonal, pivots, strict=True):  # one division, which takes as long as ten products
        known = where(here > 0.0, here, 1.0) if least == 0.0 else here
        less = pivot * whole < share * known
        share, whole = where(less, pivot, share), where(less, known, whole)
    return share / whole


class Constrained(NamedTuple):
    """Accelerations under constraints, and the forces that maintain them."""

    a: list[Scalar]
    multipliers: list[Scalar]
    """Multipliers of the loops' rows."""
    driving: list[Scalar]
    """Forces at the driven joints."""
    quality: Scalar
    """How well the choice of rows works, from 0 for dependent rows to 1."""

    def driving_power(self, rows: Sequence[int], targets: Targets) -> Scalar:
        """Return the power of all driving forces."""
        return inner([*self.multipliers, *self.driving], wanted_rates(rows, targets))


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, rows: Sequence[int],
    targets: Targets = UNDRIVEN, stabilization: tuple[float, float] = (0.0, 0.0),
) -> Constrained:  # fmt: skip
    """Return accelerations under constraints, and their forces.

    Multiplier elimination (Shah eq. 8.6-8.7): with the branch-sparse factors M = L^T D L,
    (K M^-1 K^T) lambda = -(bias + K M^-1 (tau - h)) - 2 alpha slip - beta^2 gap, the last
    two being Baumgarte's stabilization.  Loops that share no body leave zeros in
    K M^-1 K^T, and zeros cost nothing once traced.
    """
    sides = loop_constraints.LoopSides(tree, q)
    pull, _ = newton_euler.inverse_dynamics(tree, q, v, None, gravity, loads)
    push = [t - b for t, b in zip(tau, pull, strict=True)]
    k = matrix(tree, q, rows, targets, sides)
    way = EnergyWay(tree, q, k)
    free = way.free(push)
    target = [-(b + inner(row, free)) for b, row in zip(bias(tree, q, v, rows, targets, sides), k, strict=True)]
    alpha, beta = stabilization
    if alpha or beta:
        off = zip(target, slips(k, v, rows, targets), gaps(tree, q, rows, targets), strict=True)
        target = [t - 2.0 * alpha * s - beta * beta * g for t, s, g in off]
    forces = way.solve(target)
    total = [p + inner([row[j] for row in k], forces) for j, p in enumerate(push)]
    quality = way.independence(loop_constraints.usual_size(tree))
    return Constrained(way.free(total), forces[: len(rows)], forces[len(rows) :], quality)
