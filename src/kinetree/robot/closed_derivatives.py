"""How forces and accelerations of mechanisms change, along the motions that their loops allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.table import find
from ..errors import OptionError, SingularError
from ..loops import rank
from ..loops.coordinates import Coordinates
from ..run.checks import check_out
from ..run.evaluator import Evaluator
from ..run.wrench_derivatives import world_stiffness
from ..run.wrenches import Wrenches
from ..spatial.arrays import batch_shape
from .closed_dynamics import LEAST_QUALITY_OF_CLUSTERS, ClosedDynamics
from .linear_model import ForceSlopes, MotionSlopes
from .robot import Array

LARGEST_AT_ONCE = 1000
"""Accelerations times independent freedoms up to which their derivatives are one sequence of operations."""

OTHER_ORDERS = 4
"""So many other orders of elimination are tried where the usual one serves badly."""


class ClosedDerivatives(ClosedDynamics):
    """The derivatives of a :class:`kinetree.Mechanism`, in its independent coordinates: its base class."""

    def inverse_dynamics_derivatives(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        weights: ArrayLike | None = None,
        tolerance: float | None = None,
        out: Sequence[Array] | None = None,
        threads: int = 1,
    ) -> tuple[Array, Array, Array]:
        """Return how the actuator forces of a motion change with independent positions, velocities and accelerations.

        Loops leave no room for changing one coordinate alone, so the derivatives are along the motions that they
        allow: one independent freedom (in the order of :meth:`independent`) moves by a unit, or its rate or
        acceleration changes by one, while those of all others are kept, and everything else follows.

        Parameters
        ----------
        q, v, a : array_like
            A motion that the loops allow.
        wrenches, friction
            As for any robot.
        weights, tolerance, threads
            As in :meth:`inverse_dynamics`.
        out : three arrays, optional
            Where to put the results.

        Returns
        -------
        dtau_dq, dtau_dv, dtau_da : ndarray, shape (..., nv, freedoms)
            Rows are laid out like ``tau``, zero at passive joints.
        """
        known, count = self.coordinates, self.coordinates.freedoms
        cost, at_motors = self._checked_weights(weights), known.independent == self._suppliers
        self._enough_in_number(known)
        arrays = self._vectors(q, v, a=a)
        rooms = self._three_rooms(out, [(self.nv, count)] * 3, wrenches, arrays)
        if friction:
            self._friction_slope(arrays["v"])
        name = "closed_inverse_dynamics_derivatives"
        made = self._exact.evaluator.is_made(name, _slope_options(known, friction))
        if not at_motors and not made:  # else it is seen where forces are shared out
            self._enough_hold(self.loop_jacobian(arrays["q"]), known)
        whole = self._slopes_of(name, known, wrenches, friction, tolerance, threads, arrays)
        batch = whole.shape[:-1]
        # written by columns, three matrices one after the other
        three = np.swapaxes(whole[..., :-4].reshape(*batch, 3, count, count), -1, -2)
        turning = self._turned_by_the_world(arrays["q"], wrenches)
        if turning is not None:
            g = self._basis(self.loop_jacobian(arrays["q"]))
            three = three.copy()
            three[..., 0, :, :] -= np.swapaxes(g, -1, -2) @ turning @ g
        if at_motors:
            forces = np.zeros((*batch, 3, self.nv, count))
            forces[..., list(known.independent), :] = three
        else:
            forces = self._at_actuators(three, arrays, wrenches, friction, cost)
        first, second, third = (self._handed_out(forces[..., k, :, :], rooms[k]) for k in range(3))
        return first, second, third

    def forward_dynamics_derivatives(  # type: ignore[override]
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        tolerance: float | None = None,
        out: Sequence[Array] | None = None,
        threads: int = 1,
    ) -> tuple[Array, Array, Array]:
        """Return how the accelerations that joint forces cause change with independent positions, velocities and tau.

        See :meth:`inverse_dynamics_derivatives` for what the derivatives mean.

        Returns
        -------
        da_dq, da_dv : ndarray, shape (..., nv, freedoms)
            Of all accelerations.
        da_dtau : ndarray, shape (..., nv, nv)
            By the forces on all joints, passive ones included: :meth:`inverse_mass_matrix`.
        """
        self.tree.evaluator.check_pivots()
        arrays, count = self._vectors(q, v, tau=tau), self.coordinates.freedoms
        tails = [(self.nv, count), (self.nv, count), (self.nv, self.nv)]
        rooms = self._three_rooms(out, tails, wrenches, arrays)
        if friction:
            self._friction_slope(arrays["v"])
            batch_shape(tau=(arrays["tau"], 1), v=(arrays["v"], 1))
            arrays["tau"] = arrays["tau"] - self.friction_force(arrays["v"], q=arrays["q"])
        find = self._slopes_at_once if self._fits_at_once else self._slopes_in_steps
        by_q, by_v, by_tau = find(self.coordinates, wrenches, friction, tolerance, threads, arrays)
        turning = self._turned_by_the_world(arrays["q"], wrenches)
        if turning is not None:
            by_q = by_q + by_tau @ turning @ self._basis(self.loop_jacobian(arrays["q"]))
        return self._handed_out(by_q, rooms[0]), self._handed_out(by_v, rooms[1]), self._handed_out(by_tau, rooms[2])

    @property
    def _fits_at_once(self) -> bool:
        """Whether derivatives of forward dynamics are few enough for one sequence of operations."""
        return self.nv * self.coordinates.freedoms <= LARGEST_AT_ONCE

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
        """Return the same where that would be too long: G^T M G is factored on arrays, Shah eq. 8.1 along G."""
        nv, count = self.nv, known.freedoms
        a = self._exact._forward(
            arrays["q"], arrays["v"], arrays["tau"], wrenches, False, "elimination", (0.0, 0.0), tolerance, threads
        )[0]
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

    def _motion_slopes(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches, forces: ForceSlopes | None
    ) -> MotionSlopes:
        """Return how a state develops, along the motions that loops allow."""
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, wrenches)
        a, known = self.forward_dynamics(q, v, tau, wrenches), self.coordinates
        g = self._basis(self.loop_jacobian(q))
        bent = self._exact.evaluator.run("basis_slopes", {"pivots": known.pivots}, q=q)  # (..., coordinate, nv, column)
        swept = np.swapaxes((bent @ v[..., None, list(known.independent), None])[..., 0], -1, -2)
        found = MotionSlopes(known.independent, a, g, swept, by_q, by_v, by_tau)
        return found if forces is None else found.pushed(forces)

    def _turned_by_the_world(self, q: Array, wrenches: Wrenches) -> Array | None:
        """Return how wrenches that the world holds change joint forces when joints move; None where there are none."""
        held = self._held_by_the_world(wrenches)
        return np.asarray(world_stiffness(self, q, held)) if held else None

    def _three_rooms(
        self, out: Sequence[Array] | None, tails: Sequence[tuple[int, ...]], wrenches: Wrenches,
        arrays: dict[str, Array],
    ) -> Sequence[Array | None]:  # fmt: skip
        """Return where to put three results, or None for each, and refuse what they do not fit into."""
        if out is None:
            return [None] * 3
        if isinstance(out, np.ndarray) or len(out) != 3:
            raise OptionError("out of a mechanism's derivatives is three arrays: they differ in shape")
        self._check_rooms(out, tails, wrenches, **arrays)
        return out

    def _handed_out(self, result: Array, out: Array | None) -> Array:
        """In the robot's precision, where the caller wants it."""
        if out is None:
            return result if self.precision == "double" else result.astype(np.float32, copy=False)
        check_out(out, result.shape)
        out[...] = result
        return out

    # ---------------------------------------------------------------- a choice of pivots that serves everywhere

    def _slopes_of(
        self, name: str, known: Coordinates, wrenches: Wrenches, friction: bool, tolerance: float | None, threads: int,
        arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Run an algorithm in independent coordinates; where its order of elimination is poor, in another order."""
        options = _slope_options(known, friction)
        return self._in_good_order(name, options, known, wrenches, tolerance, threads, arrays)

    def _in_good_order(
        self, name: str, options: dict[str, Any], known: Coordinates, wrenches: Wrenches, tolerance: float | None,
        threads: int, arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Return results in which every pivot is good, of states that the loops allow; others are refused.

        A singular configuration is an error that says so.  Before machine code is made, which may take long, states
        are looked at with what there is.
        """
        granted, q = self._granted(tolerance, known), arrays["q"]
        state = q, arrays["v"], arrays.get("a")
        if not self._exact.evaluator.is_made(name, options):
            self._allowed(*state, granted)
            if self._is_singular(self.loop_jacobian(q), known).any():
                raise self._singular(known)
        whole = self._eliminated(name, options, known, wrenches, threads, arrays)
        self._checks.motion(whole[..., -3:], granted, *state)
        return whole

    def _is_singular(self, k: Array, known: Coordinates) -> Array:
        """Return in which states the dependent freedoms do not follow from the others."""
        columns = k[..., list(known.rows), :][..., list(known.dependent)]
        few = rank.numerical_rank(columns, self._size, known.least) < known.rank
        return np.asarray(few & np.isfinite(columns).all(axis=(-1, -2)))

    def _singular(self, known: Coordinates) -> SingularError:
        listed = ", ".join(self.v_names[j] for j in known.independent)
        return SingularError(
            f"singular configuration: the motion of {self.name!r} does not follow from {listed} here, so there is no "
            "answer in terms of these; see mobility(q), or choose others with with_independent([...])"
        )

    def _eliminated(
        self, name: str, options: dict[str, Any], known: Coordinates, wrenches: Wrenches, threads: int,
        arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Return results in which every pivot is good, trying other orders of elimination where it is not."""
        least = max(LEAST_QUALITY_OF_CLUSTERS, self._least_quality(known))
        whole = self._tried(self._exact.evaluator, name, options, wrenches, threads, arrays)
        for _ in range(OTHER_ORDERS):
            poor = whole[..., -4] < least
            if not poor.any():
                return whole
            states = np.broadcast_to(arrays["q"], (*poor.shape, self.nq))[poor]
            k = self.loop_jacobian(states[0])
            if self._is_singular(k, known):
                break
            k = k[list(known.rows)]
            # another order of elimination, not worth machine code of its own
            other = {**options, "pivots": replace(known, sample=k).pivots}
            again = self._tried(self._written, name, other, wrenches, threads, arrays)
            whole = np.where((poor & (again[..., -4] > whole[..., -4]))[..., None], again, whole)
        raise self._singular(known)

    def _tried(
        self, evaluator: Evaluator, name: str, options: dict[str, Any], wrenches: Wrenches, threads: int,
        arrays: dict[str, Array],
    ) -> Array:  # fmt: skip
        """Return an algorithm's results; of quality zero where the reference, which leaves out zeros, stops at one."""
        try:
            return evaluator.run(name, options, wrenches=wrenches, threads=threads, **arrays)
        except ZeroDivisionError:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
            return np.zeros((*batch, *find(name).shape(self.model, options)))

    # ---------------------------------------------------------------- motors that are not the independent freedoms

    def _at_actuators(
        self, three: Array, arrays: dict[str, Array], wrenches: Wrenches, friction: bool, weights: Array
    ) -> Array:
        """Return derivatives of the actuators' forces u from those of p = G^T tau, with H^T u = p, H being G's rows.

        With more actuators than freedoms u is the one with least u^T W u: W u = H s, so that

            H^T du = dp - dH^T u,    W du - H ds = dH s.
        """
        q, known, count = arrays["q"], self.coordinates, self.coordinates.freedoms
        motors = list(self._suppliers)
        u = self._inverse(q, arrays["v"], arrays["a"], wrenches, friction, "reduced", weights, np.inf)[0][..., motors]
        options = {"pivots": known.pivots}
        turned = self._exact.evaluator.run("basis_slopes", options, q=q)[..., motors, :]  # (..., coordinate, u, column)
        batch = np.broadcast_shapes(three.shape[:-3], turned.shape[:-3], u.shape[:-1])
        h = self._basis(self.loop_jacobian(q))[..., motors, :]
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

    # what Mechanism brings
    def _forward(
        self, q: Any, v: Any, tau: Any, wrenches: Wrenches, friction: bool, method: str, gains: tuple[float, float],
        tolerance: float | None, threads: int = 1, parameters: Any = None,
    ) -> tuple[Array, Array | None]:  # fmt: skip
        raise NotImplementedError

    def _inverse(
        self, q: Any, v: Any, a: Any, wrenches: Wrenches, friction: bool, method: str, weights: Any,
        tolerance: float | None, parameters: Any = None,
    ) -> tuple[Array, Array, Any]:  # fmt: skip
        raise NotImplementedError


def _slope_options(known: Coordinates, friction: bool) -> dict[str, Any]:
    return {"pivots": known.pivots, "friction": bool(friction)}
