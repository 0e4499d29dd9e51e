"""Derivatives of forces and accelerations of mechanisms, along the motions that their loops allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import OptionError
from ...evaluation.friction_on_arrays import friction_force, friction_slope
from ...evaluation.small_matrices import one_blas_thread
from ...evaluation.wrench_derivatives import world_stiffness
from ...evaluation.wrenches import Wrenches
from ...spatial.arrays import Array, batch_shape
from .. import rank
from ..coordinates import Coordinates
from .forward_dynamics import ForwardOfLoops
from .inverse_dynamics import InverseOfLoops
from .prepared_dynamics import PreparedDynamics

LARGEST_AT_ONCE = 1000
"""Derivatives are one sequence of operations up to this product of accelerations and independent freedoms."""


class LoopDerivatives:
    """The derivatives of a mechanism's dynamics, in its independent coordinates.

    Parameters
    ----------
    prepared : PreparedDynamics
    inverse : InverseOfLoops
    forward : ForwardOfLoops
        All in double precision.
    """

    def __init__(self, prepared: PreparedDynamics, inverse: InverseOfLoops, forward: ForwardOfLoops) -> None:
        self.prepared, self.choice, self.geometry = prepared, prepared.choice, prepared.geometry
        self.inverse, self.forward = inverse, forward
        self.model, self.evaluator, self.exact, self.nv = (
            prepared.model,
            prepared.evaluator,
            prepared.exact,
            prepared.nv,
        )

    @one_blas_thread()
    def of_inverse_dynamics(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches = None, friction: bool = False, weights: Any = None,
        tolerance: float | None = None, out: Sequence[Array] | None = None, threads: int = 1,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return derivatives of forces; see :meth:`kinetree.Robot.inverse_dynamics_derivatives`."""
        known, count = self.choice.coordinates, self.choice.coordinates.freedoms
        cost, at_motors = self.prepared.checked_weights(weights), known.independent == self.choice.suppliers
        self.prepared.enough_in_number(known)
        arrays = self.prepared.vectors(q, v, a=a)
        rooms = self._three_rooms(out, [(self.nv, count)] * 3, wrenches, arrays)
        if friction:
            friction_slope(self.model, arrays["v"])
        name = "closed_inverse_dynamics_derivatives"
        made = self.exact.is_made(name, _slope_options(known, friction))
        if not at_motors and not made:  # otherwise an error is raised where forces are distributed
            self.prepared.enough_hold(self.choice.motions(arrays["q"]), known)
        whole = self._slopes_of(name, known, wrenches, friction, tolerance, threads, arrays)
        batch = whole.shape[:-1]
        # written by columns, three matrices one after the other
        three = np.swapaxes(whole[..., :-4].reshape(*batch, 3, count, count), -1, -2)
        turning = world_stiffness(self.evaluator, arrays["q"], wrenches)
        if turning is not None:
            g = self.choice.basis(arrays["q"])
            three = three.copy()
            three[..., 0, :, :] -= np.swapaxes(g, -1, -2) @ turning @ g
        if at_motors:
            forces = np.zeros((*batch, 3, self.nv, count))
            forces[..., list(known.independent), :] = three
        else:
            forces = self._at_actuators(three, arrays, wrenches, friction, cost)
        first, second, third = (self.prepared.handed_out(forces[..., k, :, :], rooms[k]) for k in range(3))
        return first, second, third

    @one_blas_thread()
    def of_forward_dynamics(
        self, q: Any, v: Any, tau: Any, wrenches: Wrenches = None, friction: bool = False,
        tolerance: float | None = None, out: Sequence[Array] | None = None, threads: int = 1,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return derivatives of accelerations; see :meth:`kinetree.Robot.forward_dynamics_derivatives`."""
        self.evaluator.check_pivots()
        arrays, count = self.prepared.vectors(q, v, tau=tau), self.choice.coordinates.freedoms
        tails = [(self.nv, count), (self.nv, count), (self.nv, self.nv)]
        rooms = self._three_rooms(out, tails, wrenches, arrays)
        if friction:
            friction_slope(self.model, arrays["v"])
            batch_shape(tau=(arrays["tau"], 1), v=(arrays["v"], 1))
            arrays["tau"] = arrays["tau"] - friction_force(self.evaluator, arrays["v"], q=arrays["q"])
        find = self._slopes_at_once if self.fits_at_once else self._slopes_in_steps
        by_q, by_v, by_tau = find(self.choice.coordinates, wrenches, friction, tolerance, threads, arrays)
        turning = world_stiffness(self.evaluator, arrays["q"], wrenches)
        if turning is not None:
            by_q = by_q + by_tau @ turning @ self.choice.basis(arrays["q"])
        return (
            self.prepared.handed_out(by_q, rooms[0]),
            self.prepared.handed_out(by_v, rooms[1]),
            self.prepared.handed_out(by_tau, rooms[2]),
        )

    @property
    def fits_at_once(self) -> bool:
        """Whether derivatives of forward dynamics are few enough for one sequence of operations."""
        return self.nv * self.choice.coordinates.freedoms <= LARGEST_AT_ONCE

    def _slopes_at_once(
        self, known: Coordinates, wrenches: Wrenches, friction: bool, tolerance: float | None, threads: int,
        arrays: dict[str, Array],
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return derivatives of forward dynamics by one sequence of operations."""
        nv, count = self.nv, known.freedoms
        whole = self._slopes_of(
            "closed_forward_dynamics_derivatives", known, wrenches, friction, tolerance, threads, arrays
        )
        # written by columns: two of all accelerations, one of the independent ones by forces; then G by rows
        q_columns, v_columns, tau_columns, g = np.split(whole[..., :-4], 4, axis=-1)
        by_q, by_v = (np.swapaxes(x.reshape(*x.shape[:-1], count, nv), -1, -2) for x in (q_columns, v_columns))
        by_force, g = (x.reshape(*x.shape[:-1], nv, count) for x in (tau_columns, g))
        with np.errstate(all="ignore"):
            return by_q, by_v, g @ np.swapaxes(by_force, -1, -2)

    def _slopes_in_steps(
        self, known: Coordinates, wrenches: Wrenches, friction: bool, tolerance: float | None, threads: int,
        arrays: dict[str, Array],
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """Return derivatives if one program would be too long: G^T M G is factored on arrays, Shah eq. 8.1 along G."""
        nv, count = self.nv, known.freedoms
        a = self.forward.found(arrays["q"], arrays["v"], arrays["tau"], wrenches, tolerance=tolerance, threads=threads)[
            0
        ]
        state = arrays | {"a": a}
        whole = self._slopes_of("closed_force_slopes", known, wrenches, friction, tolerance, threads, state)
        batch, small = whole.shape[:-1], 3 * count * count
        force_q, force_v, mass = (
            np.swapaxes(x.reshape(*batch, count, count), -1, -2) for x in np.split(whole[..., :small], 3, axis=-1)
        )
        q_columns, v_columns, g = np.split(whole[..., small:-4], 3, axis=-1)
        by_q, by_v = (np.swapaxes(x.reshape(*batch, count, nv), -1, -2) for x in (q_columns, v_columns))
        g = g.reshape(*batch, nv, count)
        sides = np.concatenate([-force_q, -force_v, np.swapaxes(g, -1, -2)], axis=-1)
        with np.errstate(all="ignore"):
            moved = g @ rank.solve(mass, sides)
            return by_q + moved[..., :count], by_v + moved[..., count : 2 * count], moved[..., 2 * count :]

    @one_blas_thread()
    def moving_basis(self, q: Array, v: Array) -> tuple[tuple[int, ...], Array, Array]:
        """Return the independent freedoms, G, and the derivative of G v_independent with respect to them."""
        known = self.choice.coordinates
        g = self.choice.basis(q)
        bent = self.exact.run("basis_slopes", {"pivots": known.pivots}, q=q)  # (..., coordinate, nv, column)
        swept = np.swapaxes((bent @ v[..., None, list(known.independent), None])[..., 0], -1, -2)
        return known.independent, g, swept

    def _three_rooms(
        self, out: Sequence[Array] | None, tails: Sequence[tuple[int, ...]], wrenches: Wrenches,
        arrays: dict[str, Array],
    ) -> Sequence[Array | None]:  # fmt: skip
        """Return three arrays for results, or None for each; refuse those that do not fit."""
        if out is None:
            return [None] * 3
        if not isinstance(out, (list, tuple)) or len(out) != 3:
            raise OptionError("out= of a mechanism's derivatives must be three arrays: they differ in shape")
        self.prepared.check_rooms(out, tails, wrenches, **arrays)
        return out

    def _slopes_of(
        self, name: str, known: Coordinates, wrenches: Wrenches, friction: bool, tolerance: float | None, threads: int,
        arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Return the results of an algorithm in independent coordinates, in another elimination order if necessary."""
        options = _slope_options(known, friction)
        return self.prepared.in_good_order(name, options, known, wrenches, tolerance, threads, arrays)

    # ---------------------------------------------------------------- motors that are not the independent freedoms

    def _at_actuators(
        self, three: Array, arrays: dict[str, Array], wrenches: Wrenches, friction: bool, weights: Array
    ) -> Array:
        """Return derivatives of the actuators' forces u from those of p = G^T tau, where H^T u = p and H is rows of G.

        With more actuators than freedoms, u is the one with least u^T W u: W u = H s, so that

            H^T du = dp - dH^T u,    W du - H ds = dH s.
        """
        q, known, count = arrays["q"], self.choice.coordinates, self.choice.coordinates.freedoms
        motors = list(self.choice.suppliers)
        u = self.inverse.by_rank(q, arrays["v"], arrays["a"], wrenches, friction, "reduced", weights, np.inf)[0]
        u = u[..., motors]
        options = {"pivots": known.pivots}
        turned = self.exact.run("basis_slopes", options, q=q)[..., motors, :]  # (..., coordinate, u, column)
        batch = np.broadcast_shapes(three.shape[:-3], turned.shape[:-3], u.shape[:-1])
        h = self.choice.basis(q)[..., motors, :]
        light = 1.0 / weights[motors]
        stiff = np.swapaxes(h, -1, -2) @ (light[:, None] * h)
        s = np.linalg.solve(stiff, np.swapaxes(h, -1, -2) @ u[..., None])[..., 0]
        rows = np.zeros((*batch, 3, count, count)) + three
        extra = np.zeros((*batch, 3, len(motors), count))
        rows[..., 0, :, :] -= np.einsum("...cum,...u->...mc", turned, np.broadcast_to(u, (*batch, len(motors))))
        extra[..., 0, :, :] = light[:, None] * np.einsum(
            "...cum,...m->...uc", turned, np.broadcast_to(s, (*batch, count))
        )
        # du = W^-1 dH s + W^-1 H ds,   H^T W^-1 H ds = dp - dH^T u - H^T W^-1 dH s
        side = rows - np.swapaxes(h, -1, -2)[..., None, :, :] @ extra
        moved = light[:, None] * h
        found = extra + moved[..., None, :, :] @ np.linalg.solve(stiff[..., None, :, :], side)
        forces = np.zeros((*batch, 3, self.nv, count))
        forces[..., motors, :] = found
        return forces


def _slope_options(known: Coordinates, friction: bool) -> dict[str, Any]:
    return {"pivots": known.pivots, "friction": bool(friction)}
