"""Derivatives of forces and accelerations of closed chains along the motions that their loops allow.

A state of a mechanism is given by its independent coordinates y and their rates: everything else follows.  When they
change, q changes by G dy, and since K(q) v = 0 holds at every q,

    K dv = -D(K v) dq,    K da = -D(K a + drift) dq - (d drift/dv) dv,

where D is the change with q at fixed v and a, and dv, da are given at the independent freedoms.  Along the motions G
that the loops allow, their forces do no work, so the derivative of the equations of motion is

    G^T (M da + (dID/dq) dq + (dID/dv) dv - (D K^T lambda) dq - dtau) = 0,

where ID is the tree's inverse dynamics; the term with D K^T appears because loop forces turn with the bodies they act
on. D of the constraints is found by evaluating them on dual numbers, one coordinate at a time.  Derived here from Shah
eq. 8.1 and Khalil eq. 10.36-10.48.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

from ..model.tree import Model
from ..spatial import Scalar, ldl, ldl_solve
from ..spatial.dual import Dual
from . import constrained_dynamics, derivatives, independent_motion, joint_friction, loop_constraints, newton_euler
from .constrained_dynamics import inner
from .independent_motion import Embedding, embed, product, reduced
from .loop_clusters import Pivots
from .passes import Scalars, moving_along, present

Matrix = list[list[Scalar]]


class ConstraintSlopes(NamedTuple):
    """How the constraints change with each coordinate."""

    matrix: dict[int, Matrix]
    """Derivatives of K with respect to each coordinate; rows of loops that it does not move are exact zeros."""
    drift: dict[int, list[Scalar]]

    def of_product(self, x: Scalars, i: int) -> list[Scalar]:
        """Return D(K_i x), one number per coordinate."""
        return [inner(self.matrix[j][i], x) if j in self.matrix else 0.0 for j in range(len(x))]

    def of_drift(self, i: int, n: int) -> list[Scalar]:
        """Return D of the drift of one constraint."""
        return [self.drift[j][i] if j in self.drift else 0.0 for j in range(n)]

    def drift_by_rate(self, v: Scalars, i: int) -> list[Scalar]:
        """Return how drift, v^T (D K_i) v, changes with each entry of v: (D K_i) v in both orders."""
        whole = self.of_product(v, i)
        for k, rate in enumerate(v):
            if k in self.matrix:
                whole = [
                    _sum(w, x * rate if present(x) else 0.0) for w, x in zip(whole, self.matrix[k][i], strict=True)
                ]
        return whole

    def of_forces(self, multipliers: dict[int, Scalar], direction: Scalars) -> list[Scalar]:
        """Return (D K^T lambda) dq: how loop forces turn when coordinates move along a direction."""
        total: list[Scalar] = [0.0] * len(direction)
        for k, share in enumerate(direction):
            if k in self.matrix and present(share):
                for i, multiplier in multipliers.items():
                    row = self.matrix[k][i]
                    total = [
                        _sum(t, x * (multiplier * share) if present(x) else 0.0)
                        for t, x in zip(total, row, strict=True)
                    ]
        return total


def _sum(a: Scalar, b: Scalar) -> Scalar:
    return b if not present(a) else a if not present(b) else a + b


def constraint_slopes(tree: Model, q: Scalars, v: Scalars) -> ConstraintSlopes:
    """Return how constraints change with each coordinate, for the loops and couplings that contain it."""
    touched: dict[int, set[int]] = {}
    for i, j in loop_constraints.pattern(tree):
        touched.setdefault(j, set()).add(i)
    ends = list(accumulate(loop.count for loop in tree.loops))
    owners = [n for n, loop in enumerate(tree.loops) for _ in range(loop.count)]
    matrix, drift, rates = {}, {}, [Dual(x) for x in v]
    nothing = [0.0] * tree.nv
    for j, own in touched.items():
        loops = sorted({owners[i] for i in own if i < len(owners)})
        couplings = sorted(i - len(owners) for i in own if i >= len(owners))
        part = replace(
            tree, loops=tuple(tree.loops[n] for n in loops), couplings=tuple(tree.couplings[n] for n in couplings)
        )
        rows = [i for n in loops for i in range(ends[n] - tree.loops[n].count, ends[n])]
        rows += [len(owners) + n for n in couplings]
        moved = moving_along(tree, q, j)
        k, bias = loop_constraints.constraint_matrix(part, moved), loop_constraints.drift(part, moved, rates)
        matrix[j], drift[j] = [nothing] * tree.n_constraints, [0.0] * tree.n_constraints
        for i, row, b in zip(rows, k, bias, strict=True):
            matrix[j][i], drift[j][i] = [_rate(x) for x in row], _rate(b)
    return ConstraintSlopes(matrix, drift)


def _rate(x: Scalar) -> Scalar:
    return x.rate if isinstance(x, Dual) else 0.0


class Slopes(NamedTuple):
    """All quantities from which the derivatives at one state are computed."""

    motion: Embedding
    constraints: ConstraintSlopes
    multipliers: dict[int, Scalar]
    by_q: Matrix
    """Derivatives of the tree's inverse dynamics."""
    by_v: Matrix
    mass: Matrix
    rate_by_q: dict[int, list[Scalar]]
    """D(K v), for the independent constraints."""
    opening_by_q: dict[int, list[Scalar]]
    """D(K a + drift)."""
    opening_by_v: dict[int, list[Scalar]]
    """Derivatives of the drift with respect to velocities."""

    def velocity_along(self, dq: Scalars) -> list[Scalar]:
        """Return how velocities change with positions, with the independent ones fixed."""
        return self.motion.followed({i: -inner(row, dq) for i, row in self.rate_by_q.items()})

    def acceleration_along(self, dq: Scalars | None, dv: Scalars) -> list[Scalar]:
        """Return how accelerations change with positions and velocities, with the independent ones fixed."""
        targets: dict[int, Scalar] = {}
        for i, row in self.opening_by_v.items():
            change = inner(row, dv)
            targets[i] = -(change if dq is None else change + inner(self.opening_by_q[i], dq))
        return self.motion.followed(targets)

    def force_along(self, dq: Scalars | None, dv: Scalars, da: Scalars) -> list[Scalar]:
        """Return how the force on all freedoms changes."""
        force = [_sum(x, y) for x, y in zip(product(self.by_v, dv), product(self.mass, da), strict=True)]
        if dq is not None:
            turned = self.constraints.of_forces(self.multipliers, dq)
            force = [_sum(f, x) for f, x in zip(force, product(self.by_q, dq), strict=True)]
            force = [f - t if present(t) else f for f, t in zip(force, turned, strict=True)]
        return force


def _slopes(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, left: Scalars, gravity: Any, loads: Any, motion: Embedding,
    rubbing: bool,
) -> Slopes:  # fmt: skip
    """Collect the quantities that the derivatives need; ``left`` is the load of the loops on all freedoms."""
    by_q, by_v, mass = derivatives.inverse_dynamics_derivatives(tree, q, v, a, gravity, loads)
    if rubbing:
        for j, slope in enumerate(joint_friction.spent_slopes(tree, v)):
            by_v[j][j] = _sum(by_v[j][j], slope)
    held, count = constraint_slopes(tree, q, v), [i for i, _ in motion.pivots]
    opening = {
        i: [_sum(x, y) for x, y in zip(held.of_product(a, i), held.of_drift(i, tree.nv), strict=True)] for i in count
    }
    return Slopes(
        motion, held, motion.multipliers(left), by_q, by_v, mass, {i: held.of_product(v, i) for i in count}, opening,
        {i: held.drift_by_rate(v, i) for i in count},
    )  # fmt: skip


class EquationSlopes(NamedTuple):
    """Derivatives of G^T (ID - tau) = 0, the equations of motion along the motions that loops allow; all by columns.

    Each column belongs to one independent position or rate; all others, and all independent accelerations, are fixed.
    """

    force_by_q: Matrix
    """Derivatives of G^T (ID - tau)."""
    force_by_v: Matrix
    mass: Matrix
    """G^T M G: the derivative with respect to the independent accelerations."""
    acceleration_by_q: Matrix
    """Derivatives of all accelerations, since the dependent ones follow from the independent ones."""
    acceleration_by_v: Matrix
    basis: Matrix
    """G, by rows."""
    quality: Scalar
    left: constrained_dynamics.Residuals


def force_slopes(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, tau: Scalars | None, gravity: Any, loads: Any, pivots: Pivots,
    rubbing: bool = False,
) -> EquationSlopes:  # fmt: skip
    """Return how the equations of motion change at a motion under forces ``tau``.

    With ``rubbing``, joint friction, which changes with velocities, is included; it has already been subtracted from
    ``tau``.
    """
    motion = embed(tree, q, v, pivots)
    force, _ = newton_euler.inverse_dynamics(tree, q, v, a, gravity, loads)
    if tau is not None:
        force = [f - t for f, t in zip(force, tau, strict=True)]
    elif rubbing:
        force = [_sum(f, x) for f, x in zip(force, joint_friction.spent(tree, v), strict=True)]
    here = _slopes(tree, q, v, a, force, gravity, loads, motion, rubbing)
    columns = motion.columns
    along = [(dq, here.velocity_along(dq)) for dq in columns]
    accelerated = [here.acceleration_along(dq, dv) for dq, dv in along]
    forced = [motion.along(here.force_along(dq, dv, da)) for (dq, dv), da in zip(along, accelerated, strict=True)]
    faster = [here.acceleration_along(None, dv) for dv in columns]
    pushed = [motion.along(here.force_along(None, dv, da)) for dv, da in zip(columns, faster, strict=True)]
    left = constrained_dynamics.residuals(tree, q, v, a if tau is None else None, motion.k, motion.drift)
    mass = reduced(here.mass, columns)
    return EquationSlopes(forced, pushed, mass, accelerated, faster, motion.basis, motion.quality, left)


def forward_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, pivots: Pivots, rubbing: bool = False
) -> tuple[Matrix, Matrix, Matrix, Matrix, Scalar, constrained_dynamics.Residuals]:
    """Return the derivatives of all accelerations with respect to independent positions and velocities, by columns.

    They are followed by the derivatives of the independent accelerations with respect to all forces, by columns, and G,
    by rows, from which those of all accelerations follow. With ``rubbing``, the friction that was subtracted from
    ``tau`` changes with velocities.
    """
    a, _, _ = independent_motion.forward_dynamics(tree, q, v, tau, gravity, loads, pivots)
    here = force_slopes(tree, q, v, a, tau, gravity, loads, pivots, rubbing)
    factors = ldl(here.mass)

    def answer(force: Scalars, acceleration: Scalars) -> list[Scalar]:
        y = ldl_solve(factors, [-x for x in force])
        return [_sum(x, inner(row, y)) for x, row in zip(acceleration, here.basis, strict=True)]

    by_q = [answer(*pair) for pair in zip(here.force_by_q, here.acceleration_by_q, strict=True)]
    by_v = [answer(*pair) for pair in zip(here.force_by_v, here.acceleration_by_v, strict=True)]
    by_tau = [ldl_solve(factors, row) for row in here.basis]
    return by_q, by_v, by_tau, here.basis, here.quality, here.left


def inverse_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Any, loads: Any, pivots: Pivots, rubbing: bool = False
) -> tuple[Matrix, Matrix, Matrix, Scalar, constrained_dynamics.Residuals]:
    """Return derivatives of forces on independent freedoms with respect to their positions, rates and accelerations.

    All are given by columns. The forces are the motors' forces if the motors act on the independent freedoms; otherwise
    they are G^T tau.
    """
    here = force_slopes(tree, q, v, a, None, gravity, loads, pivots, rubbing)
    return here.force_by_q, here.force_by_v, here.mass, here.quality, here.left


def basis_slopes(tree: Model, q: Scalars, pivots: Pivots) -> list[Matrix]:
    """Return how G changes with each independent coordinate: one matrix, by rows, per coordinate."""
    nothing = [0.0] * tree.nv
    motion, slopes = embed(tree, q, nothing, pivots), constraint_slopes(tree, q, nothing)
    changes = []
    columns = motion.columns
    moved = [{i: slopes.of_product(column, i) for i, _ in pivots} for column in columns]
    for dq in columns:
        by_column = [motion.followed({i: -inner(row, dq) for i, row in rows.items()}) for rows in moved]
        changes.append([list(row) for row in zip(*by_column, strict=True)])
    return changes


def state_basis(tree: Model, q: Scalars, v: Scalars, pivots: Pivots) -> tuple[Matrix, Matrix]:
    """Return how a closed state changes with its independent coordinates, by rows: dq = G dy, dv = V dy + G dy'."""
    motion, slopes = embed(tree, q, v, pivots), constraint_slopes(tree, q, v)
    rows = {i: slopes.of_product(v, i) for i, _ in pivots}
    faster = [motion.followed({i: -inner(row, dq) for i, row in rows.items()}) for dq in motion.columns]
    return motion.basis, [list(row) for row in zip(*faster, strict=True)]
