"""The inverse of the inertia felt at frames of the robot: Lambda^-1 = J M^-1 J^T for any number of frames."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.tree import Model
from ..spatial import Scalar
from .composite_body import mass_matrix
from .factorization import half_solve, ltdl
from .jacobian import express, frame_columns
from .kinematics import poses
from .passes import Scalars

Matrix = list[list[Scalar]]


def stacked_jacobian(tree: Model, q: Scalars, names: Sequence[str], frame: str) -> Matrix:
    """Return the Jacobians of several frames, stacked."""
    posed = poses(tree, q)
    rows: Matrix = []
    for name in names:
        columns, pose = frame_columns(tree, q, name, posed)
        components = [list(express(c, pose, frame)) for c in columns]
        rows.extend([c[i] for c in components] for i in range(6))
    return rows


def inverse_inertia(tree: Model, q: Scalars, names: Sequence[str], frame: str = "body") -> Matrix:
    """Return J M^-1 J^T, the acceleration of the frames per unit of force on them; this always exists."""
    parents = tree.dof_parents
    lower, d = ltdl(mass_matrix(tree, q), parents)
    # rows of J L^-1, with one substitution each: M^-1 = L^-1 D^-1 L^-T
    solved = [half_solve(lower, parents, row) for row in stacked_jacobian(tree, q, names, frame)]
    size = len(solved)
    result: Matrix = [[0.0] * size for _ in range(size)]
    for i in range(size):
        scaled = [a / pivot for a, pivot in zip(solved[i], d, strict=True)]
        for j in range(i + 1):
            total = scaled[0] * solved[j][0]
            for a, b in zip(scaled[1:], solved[j][1:], strict=True):
                total = total + a * b
            result[i][j] = result[j][i] = total
    return result
