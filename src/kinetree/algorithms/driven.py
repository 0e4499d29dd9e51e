"""Constraints that are driven by time, beside those of loops, over any scalar.

A rheonomic constraint says where something is at every moment (002 section 7.4.4): a joint's coordinate, or how
far a loop joint is from where it would fit, is a given function s of time.  So

    gap(q) = s(t),    K v = s'(t),    K a + K' v = s''(t),

and the force that keeps it, which drives the mechanism, has the power of its multiplier times s'.  Joints add rows to
K with a single one in them.  Where nothing is driven these are the equations of :mod:`.constrained`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.tree import Model
from ..spatial import Scalar, dot, ldl, ldl_solve, where
from . import composite_body, constraints, factorisation, kinematics, newton_euler
from .constrained import ConstraintCoupling, inner, least_share
from .kinematics import poses
from .passes import Scalars

Matrix = list[list[Scalar]]

ROUNDS = 4
"""Newton steps back with the same factors, of positions; velocities, whose equations are linear, take two."""


class DrivenTargets(NamedTuple):
    """What is driven, and where it has to be at one moment."""

    joints: tuple[tuple[int, int], ...] = ()
    """Places in q and in v."""
    rows: tuple[int, ...] = ()
    """Constraints of loops."""
    positions: Sequence[Scalar] = ()
    """One per joint, then one per row."""
    velocities: Sequence[Scalar] = ()
    accelerations: Sequence[Scalar] = ()

    def of_joint(self, k: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return where joint number ``k`` has to be, how fast, and with which acceleration."""
        return self.positions[k], self.velocities[k], self.accelerations[k]

    def of_row(self, row: int) -> tuple[Scalar, Scalar, Scalar]:
        """Return the same of a constraint; zeros where it is not driven."""
        if row not in self.rows:
            return 0.0, 0.0, 0.0
        return self.of_joint(len(self.joints) + self.rows.index(row))


class Constrained(NamedTuple):
    """Accelerations, and the forces of constraints."""

    a: list[Scalar]
    multipliers: list[Scalar]
    """Of the loops' rows."""
    driving: list[Scalar]
    """At the driven joints."""
    quality: Scalar
    """How well the choice of rows serves: 0 for dependent ones, 1 at best."""


def matrix(tree: Model, q: Scalars, rows: Sequence[int], targets: DrivenTargets, posed: Any = None) -> Matrix:
    """Return the rows of K: those of loops, and one per driven joint."""
    found = constraints.constraint_matrix(tree, q, posed) if rows else []
    units = [[1.0 if j == place else 0.0 for j in range(tree.nv)] for _, place in targets.joints]
    return [found[r] for r in rows] + units


def gaps(tree: Model, q: Scalars, rows: Sequence[int], targets: DrivenTargets) -> list[Scalar]:
    """Return how far positions are from where they have to be."""
    found = constraints.gaps(tree, q) if rows else []
    of_loops = [found[r] - targets.of_row(r)[0] if r in targets.rows else found[r] for r in rows]
    return of_loops + [q[place] - targets.of_joint(k)[0] for k, (place, _) in enumerate(targets.joints)]


def wanted_rates(rows: Sequence[int], targets: DrivenTargets) -> list[Scalar]:
    """Return what K v has to be."""
    return [targets.of_row(r)[1] for r in rows] + [targets.of_joint(k)[1] for k in range(len(targets.joints))]


def bias(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int], targets: DrivenTargets, posed: Any = None
) -> list[Scalar]:
    """Return what -K a has to be."""
    found = constraints.drift(tree, q, v, posed) if rows else []
    of_loops = [found[r] - targets.of_row(r)[2] if r in targets.rows else found[r] for r in rows]
    return of_loops + [0.0 - targets.of_joint(k)[2] for k in range(len(targets.joints))]


def slips(k: Matrix, v: Scalars, rows: Sequence[int], targets: DrivenTargets) -> list[Scalar]:
    """Return how far velocities are from what they have to be."""
    return [inner(row, v) - w for row, w in zip(k, wanted_rates(rows, targets), strict=True)]


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, rows: Sequence[int],
    targets: DrivenTargets, gains: tuple[float, float] = (0.0, 0.0),
) -> Constrained:  # fmt: skip
    """Return accelerations under constraints, some of them driven, and their forces.

    Multiplier elimination as in :func:`.constrained.forward_dynamics` (000 eq. 8.6-8.7), with ``gains`` (alpha,
    beta) of Baumgarte's terms.
    """
    posed = poses(tree, q)
    pull, _ = newton_euler.inverse_dynamics(tree, q, v, None, gravity, loads)
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), tree.dof_parents)
    push = [t - b for t, b in zip(tau, pull, strict=True)]
    k = matrix(tree, q, rows, targets, posed)
    coupling = ConstraintCoupling(tree, factors, k)
    free = coupling.open(push)
    target = [-(b + inner(row, free)) for b, row in zip(bias(tree, q, v, rows, targets, posed), k, strict=True)]
    alpha, beta = gains
    if alpha or beta:
        off = zip(target, slips(k, v, rows, targets), gaps(tree, q, rows, targets), strict=True)
        target = [t - 2.0 * alpha * s - beta * beta * g for t, s, g in off]
    forces = coupling.solve(target)
    total = [p + inner([row[j] for row in k], forces) for j, p in enumerate(push)]
    return Constrained(coupling.open(total), forces[: len(rows)], forces[len(rows) :], coupling.quality)


def driving_power(found: Constrained, rows: Sequence[int], targets: DrivenTargets) -> Scalar:
    """Return the power of all driving forces."""
    return inner([*found.multipliers, *found.driving], wanted_rates(rows, targets))


def hold(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int], targets: DrivenTargets
) -> tuple[list[Scalar], list[Scalar], Scalar, Scalar]:
    """Bring a state that is nearly there to where its constraints hold; as :func:`.projection.project` does.

    Returns
    -------
    q, v
        The nearest configuration, in radians and metres, and there the nearest velocity, in energy.
    left
        The square of the gaps before the last step.
    quality
        Of the choice of rows.
    """
    k = matrix(tree, q, rows, targets)
    squares = [[dot(a, b) for b in k] for a in k]
    across = ldl(squares)
    quality = least_share([row[i] for i, row in enumerate(squares)], across[1])
    nearer, off = list(q), list[Scalar]()
    for _ in range(ROUNDS):
        off = gaps(tree, nearer, rows, targets)
        back = ldl_solve(across, off)
        nearer = kinematics.integrate(tree, nearer, [-dot(column, back) for column in zip(*k, strict=True)])
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, nearer), tree.dof_parents)
    coupling = ConstraintCoupling(tree, factors, matrix(tree, nearer, rows, targets))
    slower = list(v)
    for _ in range(2):
        back = coupling.back(slips(list(coupling.k), slower, rows, targets))  # type: ignore[arg-type]
        slower = [a + b for a, b in zip(slower, back, strict=True)]
    return nearer, slower, inner(off, off), where(coupling.quality < quality, coupling.quality, quality)
