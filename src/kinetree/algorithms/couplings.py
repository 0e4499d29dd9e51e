"""Couplings of joint coordinates as constraints: y(q) - p(x(q)) = 0 with y and x sums of coordinates.

    gap = y - p(x),    K v = y' - p'(x) x' = 0,    K a + drift = 0,    drift = -p''(x) x'^2

Each coupling has one row; the rows come after those of the loops (:mod:`.loop_constraints`).
"""

from __future__ import annotations

from ..model.actuators import JointCoupling, derivative, evaluate
from ..model.tree import Model
from ..spatial import Scalar
from .passes import Scalars
from .tendons import Taut, along_joints


def _sums(tree: Model, coupling: JointCoupling, q: Scalars) -> tuple[Taut, Taut]:
    y = along_joints(tree, coupling.joints, coupling.coefficients, q)
    return y, along_joints(tree, coupling.follows, coupling.follows_coefficients, q)


def gaps(tree: Model, q: Scalars) -> list[Scalar]:
    """Return the error of each coupling, in the unit of its y."""
    return [gap(tree, coupling, q) for coupling in tree.couplings]


def gap(tree: Model, coupling: JointCoupling, q: Scalars) -> Scalar:
    """Return the error of one coupling, in the unit of its y."""
    y, x = _sums(tree, coupling, q)
    return y.length - evaluate(coupling.polynomial, x.length)


def matrix(tree: Model, q: Scalars) -> list[list[Scalar]]:
    """Return the rows of K, ``dy/dq - p'(x) dx/dq``."""
    rows = []
    for coupling in tree.couplings:
        y, x = _sums(tree, coupling, q)
        slope = evaluate(derivative(coupling.polynomial), x.length)
        row: list[Scalar] = [0.0] * tree.nv
        for k, s in y.slope.items():
            row[k] = row[k] + s
        for k, s in x.slope.items():
            row[k] = row[k] - slope * s
        rows.append(row)
    return rows


def drift(tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Return ``K' v = -p''(x) x'^2`` of each coupling, zero if its polynomial p is linear."""
    found: list[Scalar] = []
    for coupling in tree.couplings:
        _, x = _sums(tree, coupling, q)
        bend = derivative(derivative(coupling.polynomial))
        found.append(-evaluate(bend, x.length) * x.rate(v) * x.rate(v) if bend else 0.0)
    return found


def columns(tree: Model, coupling: JointCoupling) -> list[int]:
    """Return the freedoms that a coupling binds."""
    links = [tree.links[tree.joint_index[name]] for name, _, _ in coupling.terms()]
    return sorted({link.v_slice.start for link in links})
