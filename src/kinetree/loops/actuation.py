"""What actuators can do: the joint forces that they produce, and the actuator forces for desired joint forces.

An actuator acts along some direction in the space of joint forces, A, so that the forces u of all of them produce

    tau = A u,    and along the motions N that loops leave    N^T A u = N^T tau

is the condition for them to replace generalized forces tau (Featherstone eq. 7.12-7.14, Q^a = (S^T F)^-1 S^T f, where S
is one joint's freedom and F its actuators' directions; here S spans all motions of the mechanism).  If N^T A is
singular, some motion is out of their reach; if there are more of them than motions, the smallest forces are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import tendons
from ..errors import ExplainsArguments, OptionError, ShapeError, SingularError, UnknownNameError
from ..model.actuators import Actuator
from ..model.describe import counted
from ..model.tree import Model
from ..spatial.arrays import Array, as_array, batch_shape, split
from . import rank
from .tolerances import LEAST

REACHED = 1e-8
"""Fraction of the desired forces that may be left over if actuators are too few for arbitrary forces."""

MOST_ACTUATOR_SETS = 20_000
"""The most sets of actuators that are examined."""


@dataclass(frozen=True, eq=False)
class Actuation(ExplainsArguments):
    """What actuators can do at a configuration, or at a batch of them; made by :meth:`kinetree.Robot.actuation`.

    Attributes
    ----------
    names : tuple of str
        Names of the actuators.
    matrix : ndarray, shape (..., nv, n)
        Joint forces per unit of each actuator's force.
    motions : ndarray, shape (..., nv, freedoms)
        Motions that the loops allow, as orthonormal columns; in a state with fewer motions, the first columns are zero.
    freedoms : ndarray of int, shape (...)
        Number of motions in each state.
    """

    names: tuple[str, ...]
    matrix: Array
    motions: Array
    freedoms: Array
    _robot: str = field(default="", repr=False)
    _v_names: tuple[str, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        listed = ", ".join(self.names[:6]) + (", ..." if len(self.names) > 6 else "")
        return f"<Actuation of {self._robot!r}: {counted(len(self.names), 'actuator', 'actuators')} ({listed})>"

    @property
    def reach(self) -> Array:
        """The effect of the actuators along each motion, N^T A, (..., freedoms, n)."""
        return np.asarray(np.swapaxes(self.motions, -1, -2) @ self.matrix)

    @property
    def rank(self) -> Array:
        """The number of motions that the actuators control, per state."""
        return rank.numerical_rank(self.reach, 0.0, LEAST)

    @property
    def can_drive(self) -> Array:
        """Whether the actuators can produce any motion that the loops allow, per state."""
        return np.asarray(self.rank == self.freedoms)

    @property
    def strength(self) -> Array:
        """Strength of the worst controlled motion relative to the best: zero if one is out of reach."""
        if not self.motions.shape[-1]:
            return np.ones(self.motions.shape[:-2])
        sizes = np.linalg.svd(np.where(np.isfinite(self.reach), self.reach, 0.0), compute_uv=False)
        place = np.clip(self.freedoms - 1, 0, None)[..., None]
        if sizes.shape[-1] < self.motions.shape[-1]:  # fewer actuators than motions
            sizes = np.concatenate([sizes, np.zeros((*sizes.shape[:-1], self.motions.shape[-1]))], axis=-1)
        worst = np.take_along_axis(sizes, place, axis=-1)[..., 0]
        return np.asarray(worst / np.where(sizes[..., 0] > 0.0, sizes[..., 0], 1.0))

    def joint_forces(self, forces: ArrayLike) -> Array:
        """Return the joint forces that forces (..., n) of the actuators produce."""
        given = as_array(forces, (len(self.names),), "forces", "one per actuator")
        batch_shape(q=(self.matrix, 2), forces=(given, 1))
        return np.asarray((self.matrix @ given[..., None])[..., 0])

    def forces(self, tau: ArrayLike, *, weights: ArrayLike | None = None) -> Array:
        """Return the actuator forces that have the same effect as joint forces (Featherstone eq. 7.14).

        Parameters
        ----------
        tau : array_like, shape (..., nv)
            Joint forces, including those at joints without a motor, such as the results of the tree's inverse dynamics.
        weights : array_like, shape (n,), optional
            If there are more actuators than motions, ``sum(weights * forces**2)`` is minimized; all weights are 1 by
            default.

        Raises
        ------
        SingularError
            If no forces of the actuators have this effect.
        """
        wanted = as_array(tau, self.matrix.shape[-2:-1], "tau")
        cost = np.ones(len(self.names)) if weights is None else as_array(weights, (len(self.names),), "weights")
        if cost.shape != (len(self.names),):
            raise ShapeError(f"weights must have shape ({len(self.names)},), the same for all states, got {cost.shape}")
        if not (np.isfinite(cost) & (cost > 0.0)).all():
            raise OptionError("weights must be positive, finite numbers, one per actuator")
        root = 1.0 / np.sqrt(cost)
        batch = batch_shape(q=(self.matrix, 2), tau=(wanted, 1))
        with np.errstate(all="ignore"):
            needed = np.swapaxes(self.motions, -1, -2) @ wanted[..., None]
            reach = self.reach * root
            reach, needed = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (reach, needed))
            found = rank.least_squares(reach, needed, None, 0.0, LEAST)
            self._refuse_out_of_reach(needed - reach @ found, needed)
            return np.asarray(root * found[..., 0])

    def _refuse_out_of_reach(self, left: Array, needed: Array) -> None:
        off, size = np.linalg.norm(left, axis=(-1, -2)), np.linalg.norm(needed, axis=(-1, -2))
        bad = off > REACHED * size
        if not bad.any():
            return
        lane = np.unravel_index(int(np.argmax(bad)), bad.shape)
        here = f" in state {tuple(int(i) for i in lane)}" if bad.ndim else ""
        motions = np.broadcast_to(self.motions, (*bad.shape, *self.motions.shape[-2:]))[lane]
        moving = np.abs(motions @ left[lane][..., 0])
        name = self._v_names[int(np.argmax(moving))]
        freedoms = int(np.broadcast_to(self.freedoms, bad.shape)[lane])
        raise SingularError(
            f"the actuators of {self._robot!r} ({', '.join(self.names) or 'none'}) cannot do this{here}: they "
            f"control {int(np.broadcast_to(self.rank, bad.shape)[lane])} of {counted(freedoms, 'motion', 'motions')}, "
            f"and {off[lane] / size[lane]:.2g} of what is wanted is along one that they do not move, which moves "
            f"{name!r} most; see driving_sets() for actuators that could"
        )

    def driving_sets(self, count: int | None = None) -> list[tuple[tuple[str, ...], float]]:
        """Return sets of actuators that suffice to drive the robot, the best first, with their strength.

        Parameters
        ----------
        count : int, optional
            Number of actuators in a set; by default as many as there are motions.
        """
        if self.matrix.ndim != 2:
            raise OptionError("driving_sets handles one configuration at a time: request the actuation at one")
        size = int(self.freedoms) if count is None else count
        if not 0 <= size <= len(self.names):
            return []
        if not size:
            return [((), 1.0)] if not self.motions.shape[-1] else []
        if comb(len(self.names), size) > MOST_ACTUATOR_SETS:
            raise OptionError(
                f"{len(self.names)} actuators have {comb(len(self.names), size)} sets of {size}, more than "
                f"{MOST_ACTUATOR_SETS}: name fewer of them, robot.actuation(q, actuators=[...])"
            )
        places = np.array(list(combinations(range(len(self.names)), size)), dtype=int).reshape(-1, size)
        reach = np.moveaxis(self.reach[:, places], 1, 0)  # (sets, freedoms, size)
        sizes = np.linalg.svd(reach, compute_uv=False)
        if size < self.motions.shape[-1]:
            return []
        strength = sizes[:, -1] / np.maximum(sizes[:, 0], 1e-300)
        order = np.argsort(-strength, kind="stable")
        return [
            (tuple(self.names[j] for j in places[i]), float(strength[i])) for i in order if strength[i] > LEAST
        ]  # fmt: skip


def actuator_columns(model: Model, q: Array, wanted: Sequence[str] | str | None) -> tuple[tuple[str, ...], Array]:
    """Return names of actuators, and the joint forces (..., nv, n) per unit of their forces.

    Parameters
    ----------
    model : Model
    q : ndarray (..., nq)
    wanted : sequence of str or "joints", optional
        Actuators, joints or single freedoms by name; ``"joints"`` for a motor at every freedom.  By default the
        model's actuators, or else the freedoms of joints with a motor.
    """
    chosen = _chosen(model, wanted)
    batch = q.shape[:-1]
    coordinates = split(q)
    columns = np.zeros((*batch, model.nv, len(chosen)))
    for place, (_, what) in enumerate(chosen):
        if isinstance(what, int):
            columns[..., what, place] = 1.0
            continue
        for k, slope in tendons.transmission(model, what, coordinates).slope.items():
            columns[..., k, place] = slope
    hole = ~np.isfinite(q).all(axis=-1)
    columns[hole] = np.nan
    return tuple(name for name, _ in chosen), columns


def _chosen(model: Model, wanted: Sequence[str] | str | None) -> list[tuple[str, Actuator | int]]:
    own = {a.name: a for a in model.actuators}
    freedoms = {name: k for k, name in enumerate(model.v_names)}
    if wanted == "joints":
        return list(freedoms.items())
    if wanted is None:
        if own:
            return list(own.items())
        motors = [j for j in model.joints if j.actuated and not j.mimic]
        return [(model.v_names[k], k) for j in motors for k in range(j.v_slice.start, j.v_slice.stop)]
    if isinstance(wanted, str):
        raise OptionError(f"actuators is a list of names, or 'joints' for all; for a single one, write [{wanted!r}]")
    found: list[tuple[str, Actuator | int]] = []
    for name in wanted:
        if name in own:
            found.append((name, own[name]))
        elif name in freedoms:
            found.append((name, freedoms[name]))
        elif name in model.joint_index and not model.joint(name).mimic:
            where = model.joint(name).v_slice
            found += [(model.v_names[k], k) for k in range(where.start, where.stop)]
        else:
            raise UnknownNameError("actuator or joint", name, [*own, *freedoms, *model.joint_index])
    if len({name for name, _ in found}) < len(found):
        raise OptionError(f"an actuator is named twice: {', '.join(name for name, _ in found)}")
    return found


def actuation_at(
    robot_name: str, model: Model, q: Array, motions: tuple[Array, Array], wanted: Any
) -> Actuation:  # fmt: skip
    """Return what actuators can do at configurations, given the motions that loops allow there."""
    names, columns = actuator_columns(model, q, wanted)
    basis, counts = motions
    batch = batch_shape(q=(q, 1))
    basis = np.broadcast_to(basis, (*batch, *basis.shape[-2:]))
    freedoms = np.broadcast_to(counts.sum(axis=-1), batch)
    return Actuation(names, columns, basis, freedoms, robot_name, tuple(model.v_names))
