"""Derivatives of a tree's accelerations with respect to its state and parameters, with small matrices.

Accelerations solve r = tau - ID(q, v, a) = 0, where tau contains everything that acts.  Weights w of the accelerations
therefore become weights u^T dr of everything else, with a held constant, u = H^-1 w and H the mass matrix.  The
derivatives of the tree are written by hand (:mod:`kinetree.algorithms.derivatives`), those of springs, ground, servos
and friction are found by differentiating their laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..algorithms import kinematics, newton_euler
from ..algorithms.acting_element import Loads, Scalars, sum_of_loads
from ..algorithms.derivatives import AccelerationSlopes
from ..algorithms.jacobian import columns_at
from ..algorithms.passes import present
from ..evaluation.step_adjoints import Pull, rates_along
from ..spatial import IDENTITY, Force, Scalar

if TYPE_CHECKING:
    from .equation import Equation

Column = dict[int, Scalar]


def unit(k: int, count: int) -> list[float]:
    """Return zeros with a one at index k."""
    return [1.0 if i == k else 0.0 for i in range(count)]


def tangents(tree: Any, q: Scalars) -> list[list[Scalar]]:
    """Return the derivatives of q with respect to each freedom."""
    return [kinematics.configuration_rate(tree, q, unit(k, tree.nv)) for k in range(tree.nv)]


class RateSlopes:
    """Rates of an equation of motion with their derivatives, see :data:`kinetree.evaluation.step_adjoints.LinearRate`.

    Parameters
    ----------
    equation : Equation
        The equation of a tree without followers.
    moved : sequence of int
        Indices of the parameters to differentiate with respect to.
    implicit : bool
        Whether arguments end with the step to look ahead.
    """

    def __init__(self, equation: Equation, moved: Sequence[int], implicit: bool) -> None:
        self.equation, self.moved, self.implicit = equation, moved, implicit

    def __call__(self, question: Scalars, p: Scalars, a: Scalars) -> tuple[list[Scalar], Pull]:
        """Return rates of v and z, and the function that propagates their weights backward."""
        system = self.equation.with_numbers(p)
        t, h = question[0], question[-1] if self.implicit else None
        q, v, z = self.equation.parts(question[1:])
        system = system.within_step(v, z, h)
        acting, tree = system.acting(t, q, v, z), system.tree_of_accelerations
        tau, loads, added = acting.total, acting.loads, None
        held, standing = tau, loads
        if h is not None:
            gives = system.impedance(t, q, v)
            tau = [x + y for x, y in zip(tau, gives.push(h, q, v), strict=True)]
            added = gives.added_mass(h, q)
            more, on_bodies = gives.resistance(h, q, a)
            held, standing = [x - y for x, y in zip(tau, more, strict=True)], sum_of_loads(loads, on_bodies)
        at = AccelerationSlopes(tree, q, v, tree.gravity, added)
        answer = at.accelerations(tau, loads)
        z_rate = system.rates_of_states(acting.z_rate, t, q, v, z, a, h)
        moving = [(list(q), column) for column in tangents(tree, q)]
        moving += [([x], [1.0]) for x in (*v, *z)]
        slopes = _PushSlopes(tree, q, held, standing, z_rate, [*q, *v, *z, *a])
        found = [slopes.along(nodes, rates) for nodes, rates in moving]
        by_q, by_v = at.of_forces(a, standing)
        for (forces, _), matrix, k in (
            (found[j + n * tree.nv], m, j) for n, m in enumerate((by_q, by_v)) for j in range(tree.nv)
        ):
            for i, row in enumerate(matrix):
                if present(row[k]):
                    forces[i] = forces[i] - row[k] if i in forces else -row[k]
        if self.moved:
            needed, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, standing)
            left = [x - y for x, y in zip(held, needed, strict=True)]
            wrt = _PushSlopes(tree, q, left, [None] * len(tree.bodies), z_rate, [*q, *v, *z, *a])
            found += [wrt.along([p[k]], [1.0]) for k in self.moved]

        ends = _PushSlopes(tree, q, [], [None] * len(tree.bodies), z_rate, [*q, *v, *z, *a])
        by_a = [ends.along([x], [1.0])[1] for x in a] if h is not None else []

        def pull(weights: Scalars) -> list[Scalar]:
            of_a = dict(enumerate(weights[: tree.nv]))
            for k, rates in enumerate(by_a):
                if rates:
                    of_a[k] = of_a[k] + _sum(x * weights[tree.nv + i] for i, x in rates.items())
            u = at.inverse.times(of_a)
            return [_sum(x * u[i] for i, x in forces.items()) + _sum(x * weights[tree.nv + i] for i, x in rates.items())
                    for forces, rates in found]  # fmt: skip

        return [*answer, *system.rates_of_states(acting.z_rate, t, q, v, z, answer, h)], pull


class _PushSlopes:
    """Derivatives of joint forces, of loads as joint forces, and of rates of further states."""

    def __init__(self, tree: Any, q: Scalars, tau: Scalars, loads: Loads, rates: Scalars, still: Scalars) -> None:
        self.tau, self.rates, self.still = tau, rates, still
        posed = kinematics.poses(tree, q) if any(load is not None for load in loads) else []
        self.loads = [
            (columns_at(tree, posed, b, IDENTITY), list(load)) for b, load in enumerate(loads) if load is not None
        ]

    def along(self, moved: Scalars, rates: Scalars) -> tuple[Column, Column]:
        """Return the nonzero derivatives of forces and rates."""
        results = [*self.tau, *self.rates, *(x for _, load in self.loads for x in load)]
        found = rates_along(results, list(zip(moved, rates, strict=True)), self.still)
        n, first = len(self.tau), len(self.tau) + len(self.rates)
        forces = {i: x for i, x in enumerate(found[:n]) if present(x)}
        for k, (columns, _) in enumerate(self.loads):
            change = found[first + 6 * k : first + 6 * k + 6]
            if any(map(present, change)):
                load = Force.of(change)
                for i, column in enumerate(columns):
                    if column is not None:
                        share = column.dot(load)
                        forces[i] = forces[i] + share if i in forces else share
        return forces, {i: x for i, x in enumerate(found[n:first]) if present(x)}


def _sum(terms: Any) -> Scalar:
    total: Any = 0.0
    for term in terms:
        total = total + term
    return total
