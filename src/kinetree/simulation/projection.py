"""Keeping loops closed while stepping, over any scalar.

A step leaves a mechanism open by its error.  Newton steps back, along the motion that the
constraint forces would cause, close it again:

    q <- q - M^-1 K^T (K M^-1 K^T)^-1 gap,      v <- v - M^-1 K^T (K M^-1 K^T)^-1 K v,

with K the rows of the constraint matrix that are independent of one another.  The second
line is the nearest velocity, in energy, that the loops allow; the K that it is multiplied
by is that of the closed configuration, for beside it constraints point elsewhere.  All other
factors are made once: with those of the open configuration each step still leaves only
as large a part of the error as the error itself is large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ..algorithms import composite_body, constraints, factorisation, kinematics
from ..algorithms.constraints import UNCLOSED
from ..model.tree import Model
from ..robot.mechanism import LEAST_QUALITY, Mechanism
from ..run.program import LawProgram
from ..spatial import Scalar, dot, ldl, ldl_solve, where

Array = np.ndarray
Scalars = Sequence[Scalar]
Row = TypeVar("Row")


ROUNDS = 2

ROUNDS_TO_PROJECT = 3
"""Newton steps with the same factors: each leaves only as large a part of the gap as the first one was large."""

SURE = 1e-4
"""Constraints weaker than this, as part of the strongest, do not change velocities: see :func:`nearest_state`."""

MOST_ROWS = 10
"""Mechanisms with more independent constraints are projected as written: compiling would take seconds."""


def close(tree: Model, q: Scalars, v: Scalars, rows: Sequence[int]) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """The state brought back to where the loops are closed, and the square of the gap before the last step back."""
    parents = tree.dof_parents
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), parents)
    k = _rows(constraints.constraint_matrix(tree, q), rows)
    yielding = [factorisation.ltdl_solve(factors, parents, row) for row in k]
    coupling = ldl([[dot(a, y) for y in yielding] for a in k])

    def back(off: Scalars) -> list[Scalar]:
        multipliers = ldl_solve(coupling, off)
        return [-dot(column, multipliers) for column in zip(*yielding, strict=True)]

    nearer, slower, off = list(q), list(v), list[Scalar]()
    for _ in range(ROUNDS):
        k = _rows(constraints.constraint_matrix(tree, nearer), rows)
        off = _rows(constraints.gaps(tree, nearer), rows)
        nearer = kinematics.integrate(tree, nearer, back(off))
    for _ in range(ROUNDS):
        slower = [a + b for a, b in zip(slower, back([dot(row, slower) for row in k]), strict=True)]
    return nearer, slower, dot(off, off)


def project(
    tree: Model, q: Scalars, v: Scalars, rows: Sequence[int]
) -> tuple[list[Scalar], list[Scalar], Scalar, Scalar]:
    """A state that is nearly closed as :meth:`Mechanism.project` closes it.

    The nearest configuration, in radians and metres, and there the nearest velocity, in energy.

    Returns
    -------
    q, v
        Closed.
    left
        The square of the gap before the last step.
    quality
        Of the choice of ``rows``, between 0 and 1.
    """
    k = _rows(constraints.constraint_matrix(tree, q), rows)
    least = constraints.usual_size(tree) ** 2
    squares = [[dot(a, b) for b in k] for a in k]
    across = ldl(squares)
    quality = _quality(squares, across[1], least)
    nearer, off = list(q), list[Scalar]()
    for _ in range(ROUNDS_TO_PROJECT):
        off = _rows(constraints.gaps(tree, nearer), rows)
        multipliers = ldl_solve(across, off)
        nearer = kinematics.integrate(tree, nearer, [-dot(column, multipliers) for column in zip(*k, strict=True)])
    k = _rows(constraints.constraint_matrix(tree, nearer), rows)
    parents = tree.dof_parents
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, nearer), parents)
    yielding = [factorisation.ltdl_solve(factors, parents, row) for row in k]
    compliance = [[dot(a, y) for y in yielding] for a in k]
    coupling = ldl(compliance)
    found = _quality(compliance, coupling[1], 0.0)
    slower = list(v)
    for _ in range(ROUNDS):
        multipliers = ldl_solve(coupling, [dot(row, slower) for row in k])
        slower = [x - dot(column, multipliers) for x, column in zip(slower, zip(*yielding, strict=True), strict=True)]
    return nearer, slower, dot(off, off), where(found < quality, found, quality)


def _quality(matrix: Sequence[Scalars], pivots: Scalars, least: float) -> Scalar:
    """The least part of a row that is independent of those before; rows shorter than usual are compared with that."""
    quality: Scalar = 1.0
    for i, pivot in enumerate(pivots):
        whole = matrix[i][i]
        share = pivot / (where(whole > least, whole, least) if least else whole)
        quality = where(share < quality, share, quality)
    return quality


def projector(robot: Mechanism, rows: Sequence[int]) -> Callable[[Array, Array], tuple[Array, Array]]:
    """:meth:`Mechanism.project` as machine code, which hands over to the original where it cannot do it."""
    if len(rows) > MOST_ROWS:
        return partial(nearest_state, robot)
    nq = robot.nq

    def nearest(q: Array, v: Array) -> tuple[Array, Array]:
        out = _program(robot, tuple(rows))({"q": q, "v": v})
        if np.all(out[..., -2] <= UNCLOSED * UNCLOSED) and np.all(out[..., -1] >= LEAST_QUALITY):
            return robot.normalize(out[..., :nq]), out[..., nq:-2]
        return nearest_state(robot, q, v)

    return nearest


def nearest_state(robot: Mechanism, q: Array, v: Array) -> tuple[Array, Array]:
    """:meth:`Mechanism.project` of a state that is nearly closed, as an integrator or its interpolation leaves it.

    Beside a change point the nearest configuration may belong to the other branch, whose velocities are other ones
    altogether; and on the right one the weak constraint tells the velocity no better than rounding divided by the
    square of its size.  The one that the state has is known as well as the state is, and it breaks the constraint by
    its error times that size.
    """
    closed = robot.close(q)
    return closed, robot.nearest_velocity(closed, v, SURE)


_PROGRAMS: WeakKeyDictionary[Mechanism, dict[tuple[int, ...], LawProgram]] = WeakKeyDictionary()
"""Of robots that are still there: tracing takes longer than many a projection."""


def _program(robot: Mechanism, rows: tuple[int, ...]) -> LawProgram:
    own = _PROGRAMS.setdefault(robot, {})
    if rows not in own:
        tree = robot.model  # and not the robot itself, which would be there for ever

        def law(q: Scalars, v: Scalars) -> list[Scalar]:
            closed, rate, left, quality = project(tree, q, v, rows)
            return [*closed, *rate, left, quality]

        own[rows] = LawProgram(f"projection of {robot.name!r}", law, {"q": tree.nq, "v": tree.nv}, True, cpu=robot.cpu)
    return own[rows]


def _rows(of: Sequence[Row], chosen: Sequence[int]) -> list[Row]:
    return [of[r] for r in chosen]
