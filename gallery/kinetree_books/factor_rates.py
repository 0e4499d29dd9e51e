"""Time derivatives of the three DeNOC matrices of a parallel manipulator, in closed form (Saha section 3.4).

The matrices of :mod:`.parallel_denoc` are products of few quantities, and each has a simple rate along the closed
motion: origins and axes of joints move with the bodies, and dual numbers through the poses give their rates, also for
axes that turn within their joint; the rates of the eliminated joints follow from that of the pseudo-inverse,

    (c^+)' = -c^+ c' c^+ + c^+ c^+^T c'^T (1 - c c^+)        for independent columns c,

and the platform's twist per actuated rate from ``Phi T = Phi_leg A``, so ``Phi T' = (Phi_leg A)' - Phi' T``.
Everything is exact to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinetree.algorithms import kinematics, loop_constraints
from kinetree.model.tree import BASE
from kinetree.spatial.arrays import Array, cross_matrix, flatten, pack
from kinetree.spatial.dual import Dual

from .denoc import twist_shift
from .parallel_denoc import Edge, LegElimination, ParallelDeNOC, freedom_of, turned


class LinkRate(NamedTuple):
    """The rates of a leg link's origin, and of the columns P of the joint before it."""

    origin: Array
    columns: Array


class FactorRates:
    """Rates of N_l, N_c and N_d at one state.

    denoc: The matrices at the configuration.
    v: (nv,). Velocities of all joints that the loops allow.
    """

    def __init__(self, denoc: ParallelDeNOC, v: Sequence[float]) -> None:
        self.denoc = denoc
        model, q = denoc.model, denoc.q
        rate = kinematics.configuration_rate(model, q, v)
        moving = [Dual(x, r) for x, r in zip(q, rate, strict=True)]
        self._posed = kinematics.poses(model, moving)
        self._closings = loop_constraints.closings(model, moving)
        body, seat = denoc.place.body, denoc.place.pose.position
        self._origin: Array = self._world(body)[:3, :3] @ seat + self._world(body)[:3, 3]

    # ---------------------------------------------------------------- geometry

    def _world(self, body: int) -> Array:
        return np.zeros((4, 4)) if body == BASE else _rate(self._posed[body].pose)

    @cached_property
    def legs(self) -> list[list[LinkRate]]:
        """The rates per leg and link, as ``denoc.legs``."""
        return [[self._link(edge, forward) for edge, forward in chain] for chain in self.denoc.chains]

    def _link(self, edge: Edge, forward: bool) -> LinkRate:
        model, denoc = self.denoc.model, self.denoc
        if edge.cut:
            loop = model.loops[edge.number]
            placement, seat = loop.placement.matrix, loop.seat.matrix
            forces = [c.force for c in self._closings[edge.number].constraints]
            value, rate = _value(forces).reshape(-1, 6), _rate(forces).reshape(-1, 6)
            own = freedom_of(value)
            # F Z = 0 does not say how Z turns within the joint's freedom, but eliminated rates do not depend on it
            own_rate = -np.linalg.pinv(value) @ rate @ own
        else:
            placement, seat = model.joints[edge.number].placement.matrix, np.eye(4)
            subspace = self._posed[edge.number].subspace
            own, own_rate = _value(subspace).reshape(-1, 6).T, _rate(subspace).reshape(-1, 6).T
        b, b_rate = denoc.world(edge.end) @ seat, self._world(edge.end) @ seat
        columns, columns_rate = turned(b, own), turned(b_rate, own) + turned(b, own_rate)
        if forward:
            return LinkRate(b_rate[:3, 3], columns_rate)
        a, a_rate = denoc.world(edge.start) @ placement, self._world(edge.start) @ placement
        arm, arm_rate = (b - a)[:3, 3], (b_rate - a_rate)[:3, 3]
        return LinkRate(a_rate[:3, 3], -_shift_rate(arm_rate) @ columns - twist_shift(arm) @ columns_rate)

    def _from_platform(self, leg: int, i: int) -> Array:
        return _shift_rate(self.legs[leg][i].origin - self._origin)

    # ---------------------------------------------------------------- elimination

    @cached_property
    def eliminations(self) -> list[LegElimination]:
        """Rates of ``denoc.eliminations``."""
        return [self._eliminate(leg) for leg in range(len(self.legs))]

    def _eliminate(self, leg: int) -> LegElimination:
        denoc, links, values = self.denoc, self.denoc.legs[leg], self.denoc.eliminations[leg]
        psi, share = [np.zeros((6, 6)) for _ in links], [np.zeros((6, 6)) for _ in links]
        inverse = [np.zeros_like(x) for x in values.inverse]
        phi, phi_rate = np.eye(6), np.zeros((6, 6))
        for i in reversed(range(len(links))):
            link = links[i]
            if link.actuated or not link.columns.shape[1]:
                continue
            columns_rate, c_plus = self.legs[leg][i].columns, values.inverse[i]
            shift, shift_rate = denoc.from_platform(link), self._from_platform(leg, i)
            c = phi @ shift @ link.columns
            c_rate = (phi_rate @ shift + phi @ shift_rate) @ link.columns + phi @ shift @ columns_rate
            inverse[i] = c_plus @ (c_plus.T @ c_rate.T @ (np.eye(6) - c @ c_plus) - c_rate @ c_plus)
            share[i] = columns_rate @ c_plus + link.columns @ inverse[i]
            psi[i] = -share[i] @ shift - values.share[i] @ shift_rate
            phi, phi_rate = phi - c @ c_plus, phi_rate - c_rate @ c_plus - c @ inverse[i]
        return LegElimination(psi, share, inverse, phi_rate)

    @cached_property
    def _inputs_to_twist(self) -> list[Array]:
        denoc, found = self.denoc, []
        phi_rate = sum((e.phi for e in self.eliminations), np.zeros((6, 6)))
        for (i, leg), per_twist in zip(denoc.inputs, denoc.inputs_to_twist, strict=True):
            change = self.eliminations[leg].phi @ denoc.from_platform(denoc.legs[leg][i])
            change = change + denoc.eliminations[leg].phi @ self._from_platform(leg, i)
            found.append(np.linalg.solve(denoc.phi, change - phi_rate @ per_twist))
        return found

    # ---------------------------------------------------------------- the three matrices

    @cached_property
    def n_l(self) -> Array:
        """N_l'."""
        denoc = self.denoc
        whole = np.zeros_like(denoc.n_l)
        place = {row: 6 * k for k, row in enumerate(denoc.places)}
        for leg, links in enumerate(denoc.legs):
            psi, psi_rate = denoc.eliminations[leg].psi, self.eliminations[leg].psi
            for j in range(len(links)):
                block, rate = np.eye(6), np.zeros((6, 6))
                for i in range(j + 1, len(links)):
                    step = twist_shift(links[i - 1].origin - links[i].origin)
                    step_rate = _shift_rate(self.legs[leg][i - 1].origin - self.legs[leg][i].origin)
                    rate = (psi_rate[i] @ step + psi[i] @ step_rate) @ block + psi[i] @ step @ rate
                    block = psi[i] @ step @ block
                    r, c = place[i, leg], place[j, leg]
                    whole[r : r + 6, c : c + 6] = rate
        return whole

    @cached_property
    def n_c(self) -> Array:
        """N_c'."""
        denoc = self.denoc
        whole = np.zeros_like(denoc.n_c)
        for r, (i, leg) in enumerate(denoc.places):
            share, share_rate = denoc.eliminations[leg].share[i], self.eliminations[leg].share[i]
            for c, (k, other) in enumerate(denoc.inputs):
                if (i, leg) == (k, other):
                    continue
                block = share_rate @ denoc.inputs_to_twist[c] + share @ self._inputs_to_twist[c]
                if leg == other and k > i:
                    block = block - share_rate @ denoc.from_platform(denoc.legs[leg][k])
                    block = block - share @ self._from_platform(leg, k)
                whole[6 * r : 6 * r + 6, 6 * c : 6 * c + 6] = block
        return whole

    @cached_property
    def n_d(self) -> Array:
        """N_d'."""
        whole = np.zeros_like(self.denoc.n_d)
        used = 0
        for c, (i, leg) in enumerate(self.denoc.inputs):
            columns = self.legs[leg][i].columns
            whole[6 * c : 6 * c + 6, used : used + columns.shape[1]] = columns
            used += columns.shape[1]
        return whole


def _shift_rate(a: Array) -> Array:
    """Return the rate of :func:`twist_shift` from that of the arm."""
    whole = np.zeros((6, 6))
    whole[3:, :3] = cross_matrix(a)
    return whole


def _value(x: Any) -> Array:
    return pack(_each(flatten(x), "value"), ())


def _rate(x: Any) -> Array:
    return pack(_each(flatten(x), "rate"), ())


def _each(nested: Any, part: str) -> Any:
    if isinstance(nested, list):
        return [_each(x, part) for x in nested]
    if isinstance(nested, Dual):
        return getattr(nested, part)
    return nested if part == "value" else 0.0
