"""Everything that acts inside a mechanism during a motion, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError, UnknownNameError, UnsupportedError
from ..io.atomic_files import beside
from ..io.paths import as_path
from ..io.tables.text import TextTable
from ..io.tables.writing import csv_text
from ..model.force_units import FORCE_OF
from ..spatial.arrays import Array
from . import rank

if TYPE_CHECKING:
    from .subsystems.order import SolutionOrder

WRENCH = (("mx", "N m"), ("my", "N m"), ("mz", "N m"), ("fx", "N"), ("fy", "N"), ("fz", "N"))
"""Components of a wrench: moment first."""


@dataclass(frozen=True)
class ForceNames:
    """Names and units of the entries of :class:`ConstraintForces`: freedoms, joints and loops."""

    freedoms: tuple[str, ...] = ()
    freedom_units: tuple[str, ...] = ()
    constraint_units: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    pushed_by: tuple[str, ...] = ()
    """What drives each freedom: ``"motor"``, ``"base"`` for a base that nothing drives, or nothing."""


SHARE = 1e-8
"""A force is undetermined if it has a component above this in one of the :func:`free_shares`, which are of length
one."""

WHOSE_AXES = (
    "constraints: along the axes of the loop's joint, which turn with its second body; loop_wrenches_world has them "
    "along world axes"
)

HOW_SHARED = (
    "undetermined: redundant constraints or motors share these depending on fit and compliance, not on the "
    "motion; the minimum-norm solution is shown"
)


@dataclass(frozen=True)
class Undetermined:
    """Forces inside a mechanism that its motion does not determine, laid out as in :class:`ConstraintForces`.

    Attributes
    ----------
    tau, multipliers, loop_wrenches, joint_wrenches : ndarray of bool
    """

    tau: Array
    multipliers: Array
    loop_wrenches: Array
    joint_wrenches: Array

    @property
    def any(self) -> bool:
        """Whether any force is undetermined."""
        parts = (self.tau, self.multipliers, self.loop_wrenches, self.joint_wrenches)
        return any(bool(part.any()) for part in parts)


def free_shares(k: Array, supplied: Array) -> tuple[Array, Array]:
    """Return forces of actuators and multipliers that together have no effect: S tau + K^T lambda = 0.

    Parameters
    ----------
    k : ndarray (..., constraints, nv)
    supplied : ndarray of bool (nv,)
        Which freedoms have an actuator.

    Returns
    -------
    tau, multipliers : ndarray (m, ..., nv), (m, ..., constraints)
        Orthonormal together; m is the number of redundant constraints and actuators.
    """
    nv = k.shape[-1]
    motors = np.broadcast_to(np.eye(nv)[:, supplied], (*k.shape[:-2], nv, int(supplied.sum())))
    both = np.concatenate([motors, np.swapaxes(k, -1, -2)], axis=-1)
    free = np.moveaxis(rank.null_space(both, int(rank.numerical_rank(both).max(initial=0))), -1, 0)
    tau = np.zeros((*free.shape[:-1], nv))
    tau[..., supplied] = free[..., : motors.shape[-1]]
    return tau, free[..., motors.shape[-1] :]


@dataclass(frozen=True)
class ConstraintForces:
    """Everything that acts inside a mechanism during a motion; the batch comes first.  ``print`` it for a table.

    Attributes
    ----------
    tau : ndarray (..., nv)
        Actuator forces, zero at passive joints.
    multipliers : ndarray (..., constraints)
        Forces of the loop joints along their constraints, acting on the successor, along the joint's axes, which turn
        with it; the solution of least norm if constraints are redundant.  Books and ReDySim give them along world axes:
        ``loop_wrenches_world``.
    names : tuple of str
        One per constraint.
    loop_wrenches : ndarray (..., loops, 6)
        Moment and force of each loop joint on its successor, in the joint's moving frame.
    loop_wrenches_world : ndarray (..., loops, 6)
        The same in world axes, at the joint.
    joint_wrenches : ndarray (..., bodies, 6)
        What each joint of the tree transmits to its body, bearing and motor together, in body axes at its origin.
    order : SolutionOrder or None
        Which systems of equations were solved one after the other, for ``method="subsystems"``; ``print`` it.
    of : ForceNames
        Names and units of the entries.
    find_undetermined : callable, optional
        Computes :attr:`undetermined`.
    find_along_world : callable, optional
        Computes :attr:`joint_wrenches_world`.
    find_springs : callable, optional
        Computes :attr:`springs`.
    """

    tau: Array
    multipliers: Array
    names: tuple[str, ...]
    loop_wrenches: Array
    loop_wrenches_world: Array
    joint_wrenches: Array
    order: SolutionOrder | None = None
    of: ForceNames = field(default_factory=ForceNames, repr=False)
    find_undetermined: Callable[[], Undetermined] | None = field(default=None, repr=False, compare=False)
    find_along_world: Callable[[], Array] | None = field(default=None, repr=False, compare=False)
    find_springs: Callable[[], dict[str, Array]] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def undetermined(self) -> Undetermined:
        """Which of these numbers the motion does not determine, since redundant constraints or motors share them."""
        if self.find_undetermined is not None:
            return self.find_undetermined()
        parts = (self.tau, self.multipliers, self.loop_wrenches, self.joint_wrenches)
        return Undetermined(*(np.zeros(part.shape, dtype=bool) for part in parts))

    @cached_property
    def joint_wrenches_world(self) -> Array:
        """The wrenches of the tree's joints along world axes, each at its body's origin, (..., bodies, 6)."""
        if self.find_along_world is None:
            raise UnsupportedError("forces that were not made by a mechanism are known along body axes only")
        return self.find_along_world()

    @cached_property
    def springs(self) -> dict[str, Array]:
        """What springs between points exert on the body of their last point, there and along world axes, (..., 6)."""
        return {} if self.find_springs is None else self.find_springs()

    def at(self, joint: str) -> Array:
        """Return the wrench of a joint, cut or uncut, on its second body, along world axes, (..., 6).

        Parameters
        ----------
        joint : str
            Name of a joint: ``forces.at("pin")[..., 3:]`` is the force that the pin carries.  Or the name of a spring
            between points, which acts on the body of its last point.
        """
        if joint in self.springs:
            return self.springs[joint]
        if joint in self.of.loops:
            return np.asarray(self.loop_wrenches_world[..., self.of.loops.index(joint), :])
        if joint not in self.of.joints:
            raise UnknownNameError("joint or spring", joint, (*self.of.joints, *self.of.loops, *self.springs))
        return np.asarray(self.joint_wrenches_world[..., self.of.joints.index(joint), :])

    @property
    def table(self) -> TextTable:
        """A table of motors, springs, joint loads, and loop forces along constraints; for a batch, the extremes."""
        rows: list[tuple[object, ...]] = []
        open_ = self.undetermined
        for k, what in enumerate(self.of.pushed_by):
            if what:
                shown = self._shown(self.tau[..., k])
                rows.append((what, self.of.freedoms[k], *shown, self.of.freedom_units[k], _said(open_.tau[..., k])))
        for name, wrench in self.springs.items():
            rows.append(("spring", name, *self._shown(np.linalg.norm(wrench[..., 3:], axis=-1)), "N", ""))
        for names, wrenches, free in (
            (self.of.joints, self.joint_wrenches, open_.joint_wrenches),
            (self.of.loops, self.loop_wrenches, open_.loop_wrenches),
        ):
            for k, name in enumerate(names):
                for what, part, unit in (("force at", slice(3, 6), "N"), ("moment at", slice(0, 3), "N m")):
                    size = np.linalg.norm(wrenches[..., k, part], axis=-1)
                    which = [bool(free[..., k, i].any()) for i in range(6)]
                    listed = " ".join(c[0] for c, on in zip(WRENCH[part], which[part], strict=True) if on)
                    rows.append((what, name, *self._shown(size), unit, listed))
        for k, name in enumerate(self.names):
            unit = FORCE_OF[self.of.constraint_units[k]] if self.of.constraint_units else ""
            shown = self._shown(self.multipliers[..., k])
            rows.append(("constraint", name, *shown, unit, _said(open_.multipliers[..., k])))
        count = int(np.prod(self.tau.shape[:-1], dtype=int))
        values = ("least", "largest") if self._is_batch else ("value",)
        title = f"forces in {count} states" if self._is_batch else "forces"
        columns: tuple[str, ...] = ("what", "where", *values, "unit", "undetermined")
        if not open_.any:
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        return TextTable(columns, rows, title, "columns() has them all by name, save(path) writes them")

    @property
    def _is_batch(self) -> bool:
        return self.tau.ndim > 1

    def _shown(self, values: Array) -> tuple[object, ...]:
        if not self._is_batch:
            return (float(values),)
        known = values[np.isfinite(values)]
        return (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)

    @property
    def _remarks(self) -> list[str]:
        axes = any(name.split(": ")[-1].startswith(("force along", "moment about")) for name in self.names)
        return [*([WHOSE_AXES] if axes else []), *([HOW_SHARED] if self.undetermined.any else [])]

    def __str__(self) -> str:
        return "\n".join([str(self.table), *self._remarks])

    def _repr_html_(self) -> str:
        return self.table.html() + "".join(f"<p>{escape(line)}</p>" for line in self._remarks)

    def columns(self) -> dict[str, Array]:
        """Return all numbers by name, (T,) each: ``tau_...``, constraints, ``joint.fx`` and others of every joint.

        Wrenches of joints in the tree are in body axes at the body's origin; those of loops are in the joint's moving
        frame, and again along world axes as ``pin.world_fx``, as are springs between points.
        """
        if self.tau.ndim > 2:
            raise UnsupportedError(
                f"a table has one row per state: these forces have a batch of shape {self.tau.shape[:-1]}; take a part"
            )
        tau, multipliers = np.atleast_2d(self.tau), np.atleast_2d(self.multipliers)
        found = {
            f"tau_{name} [{u}]": x for name, u, x in zip(self.of.freedoms, self.of.freedom_units, tau.T, strict=True)
        }
        for k, name in enumerate(self.names):
            found[f"{name} [{FORCE_OF[self.of.constraint_units[k]]}]"] = multipliers[:, k]
        for names, wrenches in ((self.of.joints, self.joint_wrenches), (self.of.loops, self.loop_wrenches)):
            rows = wrenches.reshape(len(tau), -1, 6)
            for k, name in enumerate(names):
                found |= {f"{name}.{part} [{unit}]": rows[:, k, i] for i, (part, unit) in enumerate(WRENCH)}
        rows = self.loop_wrenches_world.reshape(len(tau), -1, 6)
        for k, name in enumerate(self.of.loops):
            found |= {f"{name}.world_{part} [{unit}]": rows[:, k, i] for i, (part, unit) in enumerate(WRENCH)}
        for name, wrench in self.springs.items():
            forces = wrench[..., 3:].reshape(len(tau), 3)
            found |= {f"{name}.world_{part} [{unit}]": forces[:, i] for i, (part, unit) in enumerate(WRENCH[3:])}
        return found

    def save(self, path: str | os.PathLike[str], time: Array | None = None) -> None:
        """Write :meth:`columns` to a ``.csv`` file, with the time in front if it is given.

        Parameters
        ----------
        path : path
        time : array_like, shape (T,), optional
        """
        place = as_path(path, "a table")
        if place.suffix.lower() != ".csv":
            raise OptionError(f"forces are saved as .csv, not {place.suffix or 'without ending'!r}: {place}")
        columns = self.columns()
        if time is not None:
            times = np.atleast_1d(np.asarray(time, dtype=float))
            count = len(next(iter(columns.values())))
            if times.shape != (count,):
                raise OptionError(
                    f"time must have one entry for each of the {count} states, not the shape {times.shape}"
                )
            columns = {"time [s]": times, **columns}
        with beside(place) as other:
            other.write_text(csv_text(columns), encoding="utf-8", newline="\n")


def _said(undetermined: Array) -> str:
    return "yes" if undetermined.any() else ""
