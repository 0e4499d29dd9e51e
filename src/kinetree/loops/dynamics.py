"""Dynamics of closed loops on arrays, by methods that determine the rank at each configuration.

    M a = force + K^T lambda,    K a = target        (Shah eq. 8.1, 8.5; Featherstone eq. 9.17)

All arrays have the batch in front: M (..., nv, nv), K (..., nc, nv).  ``rank`` is the number of rows of K that are
generally independent; in a singular configuration there are fewer, and the directions that are not held there move
freely under forces. ``scale`` is the usual size of K's singular values, and ``least`` the smallest fraction of it that
counts (see :func:`kinetree.loops.rank.decompose`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms import kinematics, loop_constraints, tendons
from ..errors import OptionError
from ..evaluation.small_matrices import one_blas_thread
from ..model.tree import Model
from ..spatial import Vec3
from ..spatial.arrays import Array, batch_shape, pack, split
from .rank import decompose, least_squares, motions, numerical_rank, solve, solve_along

MOST_TOGETHER = 16
"""The most constraints that are eliminated together if clusters do not work: more take minutes to compile."""

BAUMGARTE = (10.0, 10.0)
"""Default stabilization: gaps decay as exp(-10 t), critically damped."""


# ---------------------------------------------------------------- actuator forces


def without_hold(basis: Array, counts: Array, driven: Array, least: float) -> Array:
    """Return for each state whether some motion is out of the actuators' control, as in :func:`.rank.motions`."""
    moved = basis[..., driven, :]
    short = numerical_rank(moved, 1.0, least) < counts.sum(axis=-1)
    return np.asarray(short & np.isfinite(moved).all(axis=(-1, -2)))


@one_blas_thread()
def forces_along(columns: Array, basis: Array, driven: Array, weights: Array) -> Array:
    """Return the actuator forces for each of several joint forces of the tree, (..., nv, several).

    They minimize the weighted forces subject to N^T (B u - tau) = 0, where N is the ``basis`` of the motions that the
    loops allow.
    """
    n = np.swapaxes(basis, -1, -2)
    root = 1.0 / np.sqrt(weights[driven])
    forces = np.zeros_like(columns)
    if not driven.any():
        return forces
    forces[..., driven, :] = root[:, None] * least_squares(n[..., driven] * root, n @ columns)
    return forces


@one_blas_thread()
def left_by_actuators(tau: Array, basis: Array, driven: Array) -> Array:
    """Return the part of a motion's joint forces that no actuator and no loop can provide, (..., nv).

    It is zero for an unforced motion, however few actuators there are.
    """
    forces = forces_along(tau[..., None], basis, driven, np.ones(len(driven)))
    left = np.swapaxes(basis, -1, -2) @ (tau[..., None] - forces)
    return np.asarray((basis @ least_squares(np.swapaxes(basis, -1, -2) @ basis, left))[..., 0])


@one_blas_thread()
def forces_by_f_matrix(
    tau: Array, k: Array, rank: int, driven: Array, weights: Array, scale: float, least: float
) -> Array:
    """Return all actuator forces and multipliers, solved for at once (Shah eq. 8.4).

    Redundant constraints are left out; with redundant actuators the system is bordered
    by the conditions for the least weighted forces.
    """
    rows, kept = _local_rows(k, rank, scale, least)
    batch, nv = tau.shape[:-1], tau.shape[-1]
    motors = np.flatnonzero(driven)
    nu = len(motors)
    f = np.zeros((*batch, nv, nu + rank))
    f[..., motors, range(nu)] = 1.0
    f[..., nu:] = np.swapaxes(rows, -1, -2)
    if nu + rank == nv and kept.all():
        unknown = np.linalg.solve(f, tau[..., None])[..., 0]
    else:
        size = nu + rank + nv
        bordered = np.zeros((*batch, size, size))
        bordered[..., range(nu), range(nu)] = weights[motors]
        bordered[..., range(nu, nu + rank), range(nu, nu + rank)] = ~kept  # the rows that singular states lack
        bordered[..., : nu + rank, nu + rank :] = np.swapaxes(f, -1, -2)
        bordered[..., nu + rank :, : nu + rank] = f
        rhs = np.concatenate([np.zeros((*batch, nu + rank)), tau], axis=-1)
        unknown = np.linalg.solve(bordered, rhs[..., None])[..., 0]
    forces = np.zeros_like(tau)
    forces[..., motors] = unknown[..., :nu]
    return forces


def _local_rows(k: Array, rank: int, scale: float, least: float) -> tuple[Array, Array]:
    """Return orthonormal rows that span K's, zero after the last one, and which of them are nonzero."""
    _, s, vt, kept = decompose(k, None, scale, least)
    there = (kept | np.isnan(s))[..., :rank]
    return np.where(there[..., None], vt[..., :rank, :], 0.0), there


# ---------------------------------------------------------------- accelerations


def stabilization_gains(stabilization: Any) -> tuple[float, float]:
    """Return the gains (alpha, beta) of Baumgarte's stabilization from the user's option."""
    if stabilization is True:
        return BAUMGARTE
    if stabilization is False or stabilization is None:
        return (0.0, 0.0)
    try:
        alpha, beta = (float(x) for x in stabilization)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"stabilization is True, False or two numbers (alpha, beta), not {stabilization!r}") from None
    if alpha < 0.0 or beta < 0.0:
        raise OptionError(f"stabilization must not be negative, got ({alpha:g}, {beta:g}): gaps would grow")
    return alpha, beta


class Accelerations(NamedTuple):
    """Accelerations of a mechanism under forces."""

    a: Array
    multipliers: Array
    """Multipliers; those of least norm if constraints are redundant."""
    ordinary: Array
    """Whether the configuration is ordinary: as many constraints are independent as in general."""
    left: Array
    """The residual of K a = target, in singular configurations only."""


@one_blas_thread()
def accelerations(
    m: Array, k: Array, force: Array, target: Array, rank: int, scale: float, least: float, at_once: bool
) -> Accelerations:
    """Solve the equations of motion: with K = U S V^T, V_r^T a is given and the rest is free.

    ``at_once`` solves for accelerations and multipliers together (Shah eq. 8.5), else along the motions that the loops
    allow (Khalil eq. 10.46).
    """
    u, s, vt, kept = decompose(k, rank, scale, least)
    u, s, held, kept = u[..., :rank], s[..., :rank], vt[..., :rank, :], kept[..., :rank] | np.isnan(s[..., :rank])
    # in a singular configuration the smallest singular values vanish: those directions are released
    held = np.where(kept[..., None], held, 0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
    given = inverse * (np.swapaxes(u, -1, -2) @ target[..., None])[..., 0]
    if at_once:
        a = _block_solve(m, held, kept, force, given)
    else:
        a = _reduced_solve(m, held, motions(k, rank, scale, least), force, given)
    left = (m @ a[..., None])[..., 0] - force
    multipliers = (u @ (inverse * (held @ left[..., None])[..., 0])[..., None])[..., 0]
    return Accelerations(a, multipliers, kept.all(axis=-1), (k @ a[..., None])[..., 0] - target)


def _block_solve(m: Array, held: Array, kept: Array, force: Array, given: Array) -> Array:
    """Solve [M V; V^T 0] [a; -mu] = [force; given] (Shah eq. 8.5); rows of V not kept are zero, and so is mu."""
    nv, r = m.shape[-1], held.shape[-2]
    whole = np.zeros((*m.shape[:-2], nv + r, nv + r))
    whole[..., :nv, :nv] = m
    whole[..., :nv, nv:] = np.swapaxes(held, -1, -2)
    whole[..., nv:, :nv] = held
    whole[..., range(nv, nv + r), range(nv, nv + r)] = ~kept
    rhs = np.concatenate([force, np.broadcast_to(given, (*force.shape[:-1], r))], axis=-1)
    return solve(whole, rhs[..., None])[..., :nv, 0]


def _reduced_solve(m: Array, held: Array, along: tuple[Array, Array], force: Array, given: Array) -> Array:
    """Solve a = N y + V given, N^T M N y = N^T (force - M V given) (Khalil eq. 10.46-10.48)."""
    fixed = np.swapaxes(held, -1, -2) @ given[..., None]
    return np.asarray((solve_along(*along, m, force[..., None] - m @ fixed) + fixed)[..., 0])


@one_blas_thread()
def nearest_velocity(m: Array, k: Array, v: Array, rank: int, scale: float, least: float) -> tuple[Array, Array]:
    """Return the nearest velocity, in energy, with K v = 0, and whether the configuration is ordinary.

    Constraints weaker than ``least`` are ignored.
    """
    batch = np.broadcast_shapes(k.shape[:-2], v.shape[:-1])
    basis, counts = motions(k, rank, scale, least)
    reduced = np.swapaxes(basis, -1, -2) @ m @ basis
    momentum = np.swapaxes(basis, -1, -2) @ (m @ np.broadcast_to(v, (*batch, v.shape[-1]))[..., None])
    ordinary = counts.sum(axis=-1) == k.shape[-1] - rank
    return np.asarray((basis @ least_squares(reduced, momentum))[..., 0]), np.broadcast_to(ordinary, batch)


def kept_open(k: Array, drift: Array, rank: int, scale: float, least: float) -> Array:
    """Return the residual of K a + drift = 0 at the best acceleration, (..., nc): zero unless singular."""
    a = -least_squares(k, drift[..., None], rank, scale, least)
    return np.asarray((k @ a)[..., 0] + drift)


# ---------------------------------------------------------------- forces of loop joints


class LoopWrenches(NamedTuple):
    """Forces of loop joints, moment first."""

    own: Array
    """Wrench on each successor, in the joint's moving frame."""
    world: Array
    """The same in world axes, at the joint."""
    on_bodies: Array
    """The same as loads on all bodies of the tree, in body axes."""


def loop_wrenches(model: Model, q: Array, multipliers: Array) -> LoopWrenches:
    """Return the forces of loop joints from multipliers."""
    batch = batch_shape(q=(q, 1), multipliers=(multipliers, 1))
    with np.errstate(all="ignore"):
        sides = loop_constraints.LoopSides(model, split(q))
        own = loop_constraints.loop_wrenches(model, split(q), split(multipliers), sides)
        loads = loop_constraints.loads_on_bodies(model, split(q), own, sides)
        world = loop_constraints.in_world_axes(model, own, kinematics.poses(model, split(q)))
        on_bodies = [[0.0] * 6 if f is None else list(f) for f in loads]
        return LoopWrenches(pack(own, batch), pack(world, batch), pack(on_bodies, batch))


def spring_wrenches(model: Model, q: Array) -> dict[str, Array]:
    """Return what springs between points exert on the body of their last point, at that point, along world axes."""
    with np.errstate(all="ignore"):
        found = tendons.spring_forces(model, split(q))
    return {name: pack([0.0, 0.0, 0.0, *force], q.shape[:-1]) for name, force in found.items()}


def along_world(model: Model, q: Array, wrenches: Array) -> Array:
    """Return wrenches on the bodies, (..., bodies, 6), along world axes instead of the bodies', at the same points."""
    with np.errstate(all="ignore"):
        posed = kinematics.poses(model, split(q))
        turned = [
            [*here.pose.rotate(Vec3(*split(one[..., :3]))), *here.pose.rotate(Vec3(*split(one[..., 3:])))]
            for here, one in zip(posed, np.moveaxis(wrenches, -2, 0), strict=True)
        ]
    return pack(turned, wrenches.shape[:-2])
