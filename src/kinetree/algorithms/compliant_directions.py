"""Compliant directions, with the stiffness and damping along them, for integration steps that are implicit in these.

With stiffness k and damping b along a length whose rate is s v, an implicit step h adds (h b + h^2 k) s s^T to the
inertia. For a single freedom this is a heavier rotor; for a line along which the world holds a point of a body, it is
more inertia of that body; for any other length, it is a matrix of rank one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from ..model.tree import BASE, Model
from ..spatial import IDENTITY, Force, Scalar, Transform, Vec3
from . import composite_body, factorization, newton_euler, springs
from .jacobian import columns_at
from .kinematics import Posed
from .passes import Scalars, add, present
from .tendons import Taut


class BodyLine(NamedTuple):
    """A line, at rest in the world, along which a point of a body moves."""

    body: int
    wrench: Force
    """Wrench of a unit force along the line, in coordinates of the body at its origin."""
    rate: Scalar
    """How fast the point moves along it."""


Along = list[tuple[Taut | BodyLine, Scalar, Scalar]]
"""Lengths and lines, with the stiffness and damping along each."""

GivingWay = tuple[list[Scalar], list[Scalar], Along]
"""Stiffness and damping of each single freedom, and compliance along lengths and lines."""


def impedance_of(tree: Model, along: Along) -> GivingWay:
    """Return the compliance of an element, with single freedoms separate from lengths and lines."""
    stiffness: list[Scalar] = [0.0] * tree.nv
    damping: list[Scalar] = [0.0] * tree.nv
    others: Along = []
    for length, k, b in along:
        if isinstance(length, Taut) and len(length.slope) == 1:
            ((i, s),) = length.slope.items()
            stiffness[i], damping[i] = stiffness[i] + s * s * k, damping[i] + s * s * b
        else:
            others.append((length, k, b))
    return stiffness, damping, others


def sum_of(tree: Model, parts: Iterable[Any]) -> GivingWay:
    """Return the sum of several compliances; those of single freedoms only omit the last of the three parts."""
    stiffness: list[Scalar] = [0.0] * tree.nv
    damping: list[Scalar] = [0.0] * tree.nv
    along: Along = []
    for stiff, damped, *others in parts:
        stiffness = [a + b for a, b in zip(stiffness, stiff, strict=True)]
        damping = [a + b for a, b in zip(damping, damped, strict=True)]
        along += [entry for some in others for entry in some]
    return stiffness, damping, along


def at_freedoms(
    tree: Model, lengths: Iterable[tuple[Taut, Scalar, Scalar]]
) -> tuple[list[Scalar], list[Scalar]]:  # fmt: skip
    """Return stiffness and damping per freedom that are upper bounds of those along lengths.

    The matrix s s^T k is bounded by a diagonal one: |s| times the sum of all |s| at each freedom.
    """
    stiffness: list[Scalar] = [0.0] * tree.nv
    damping: list[Scalar] = [0.0] * tree.nv
    for along, k, b in lengths:
        sizes = {i: abs(s) for i, s in along.slope.items()}
        whole: Scalar = sum(sizes.values(), 0.0)
        for i, s in sizes.items():
            stiffness[i] = stiffness[i] + s * whole * k
            damping[i] = damping[i] + s * whole * b
    return stiffness, damping


def point_slope(
    tree: Model, posed: Sequence[Posed], body: int, arm: Vec3, direction: Vec3
) -> dict[int, Scalar]:  # fmt: skip
    """Return how far each freedom moves a point of a body along a direction in the world; nothing moves the base."""
    if body == BASE:
        return {}
    own, columns = posed[body].pose.unrotate(direction), columns_at(tree, posed, body, Transform((), arm))
    return {k: column.linear.dot(own) for k, column in enumerate(columns) if column is not None}


def difference(a: dict[int, Scalar], b: dict[int, Scalar]) -> dict[int, Scalar]:
    """Return one slope less another."""
    found = dict(a)
    for k, s in b.items():
        found[k] = add(found.get(k), -s)
    return found


def slopes_of(tree: Model, posed: Sequence[Posed], along: Iterable[Taut | BodyLine]) -> Iterator[dict[int, Scalar]]:
    """Yield how lengths, or the positions of points on lines, change with each freedom."""
    columns = cache(lambda body: columns_at(tree, posed, body, IDENTITY))  # once for all lines through a body
    for line in along:
        if isinstance(line, Taut):
            yield line.slope
        else:
            yield {k: s.dot(line.wrench) for k, s in enumerate(columns(line.body)) if s is not None}


Rows = Sequence[tuple[dict[int, Scalar], Scalar]]
"""Slopes of lengths, and the resistance to acceleration along each."""


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, loads: Any, rows: Rows
) -> list[Scalar]:  # fmt: skip
    """Return accelerations with more inertia along some lengths: (M + sum of r s s^T) a = tau - bias."""
    tau = springs.left_for_bodies(tree, q, tau)
    bias, _ = newton_euler.inverse_dynamics(tree, q, v, None, tree.gravity, loads, springs=False)
    matrix = [list(row) for row in composite_body.mass_matrix(tree, q)]
    parents = tree.dof_parents
    for slope, more in rows:
        if not _is_on_one_path(slope, parents):
            parents = tuple(range(-1, tree.nv - 1))  # couplings between branches fill in the matrix
        for i, s in slope.items():
            for j, r in slope.items():
                if j <= i:
                    extra = more * (s * r)
                    matrix[i][j] = matrix[i][j] + extra if present(matrix[i][j]) else extra
    factors = factorization.ltdl(matrix, parents)
    return factorization.ltdl_solve(factors, parents, [t - b for t, b in zip(tau, bias, strict=True)])


def _is_on_one_path(slope: dict[int, Scalar], parents: Sequence[int]) -> bool:
    return set(slope) <= set(factorization.carriers(parents, max(slope, default=-1)))
