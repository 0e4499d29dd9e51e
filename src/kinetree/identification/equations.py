"""The equations that identification solves: joint forces that are linear in parameters, filtered on both sides.

For a tree there is one row per degree of freedom. For closed loops the rows are those of the independent freedoms
(``G^T Y``, Khalil section 10.3), and if the forces on feet were not measured, those of motions that do not move the
feet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import IdentificationError
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .filtering import Band, Decimation, FilteredMotion
from .friction_models import FrictionModel, following, resting, viscous
from .identifiable import is_inertial

if TYPE_CHECKING:
    from ..robot.robot import Robot


@dataclass(frozen=True, repr=False)
class MeasuredEquations:
    """Rows ``Y x = tau``."""

    y: Array  # (n, r, p)
    tau: Array  # (n, r)
    counted: Array  # (n, r)
    """Which rows are used: not those of joints at rest, whose friction is unknown."""
    names: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[str, ...]
    """Names of the joint forces."""
    t: Array  # (n,)
    sources: Array | None = None  # (n, r, m)
    """Share of the noise of each motor's force in the rows; None if every row belongs to one motor."""

    def __repr__(self) -> str:
        n, r, p = self.y.shape
        what = "the prediction" if self.names == ("prediction",) else f"{p} columns"
        span = f", t from {self.t[0]:.4g} to {self.t[-1]:.4g} s" if n else ""
        return f"<MeasuredEquations: {n} samples of {r} joint forces (tau) and {what} (y){span}>"

    def with_columns(self, names: Sequence[str], columns: Array) -> MeasuredEquations:
        """Return these rows with more columns."""
        return replace(self, y=np.concatenate([self.y, columns], axis=-1), names=(*self.names, *names))

    def only(self, names: Sequence[str]) -> MeasuredEquations:
        """Return these rows with some of the columns."""
        place = {name: k for k, name in enumerate(self.names)}
        return replace(self, y=self.y[..., [place[name] for name in names]], names=tuple(names))

    def part(self, chosen: Array | slice) -> MeasuredEquations:
        """Return some of the samples."""
        sources = None if self.sources is None else self.sources[chosen]
        return replace(
            self, y=self.y[chosen], tau=self.tau[chosen], counted=self.counted[chosen], t=self.t[chosen],
            sources=sources,
        )  # fmt: skip


class Prepared:
    """Motions from which equations are made; everything that does not depend on the friction model is computed once.

    contacts: Frames that are fixed to the ground by forces that were not measured.
    """

    def __init__(
        self, robot: Robot, motions: Sequence[FilteredMotion], band: Band, contacts: Sequence[str] = ()
    ) -> None:
        self.robot, self.band, self.contacts = robot, band, tuple(contacts)
        self.motions = [m for m in motions if len(Decimation.of(band, len(m.t)).centers)]
        if not self.motions:
            raise IdentificationError(
                f"the data are too short for a filter at {band.both_sides:.3g} Hz, which needs "
                f"{len(Decimation.of(band, 0).weights) / band.sampling:.3g} s: measure longer, or give both_sides="
            )
        self.decimations = [Decimation.of(band, len(m.t)) for m in self.motions]
        self.reductions = [_reduction(robot, m, self.contacts) for m in self.motions]
        self.moving = _moving(self.motions)
        self.inertial = tuple(filter(is_inertial, robot.parameters().names))
        self.equations = self._inertial()

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows."""
        return row_names(self.robot)

    def _inertial(self) -> MeasuredEquations:
        """Return the equations without friction."""
        parts = [
            self._filtered_regressor(m, d, r)
            for m, d, r in zip(self.motions, self.decimations, self.reductions, strict=True)
        ]
        forces = self.in_rows([external_forces(self.robot, m) for m in self.motions])
        times, counted, sources = [], [], []
        for m, d, r in zip(self.motions, self.decimations, self.reductions, strict=True):
            times.append(m.t[d.centers])
            still = resting(m.v, m.speed_noise, len(d.weights) // 2)[d.centers] | ~self.moving
            counted.append(~self._held_back(still, None if r is None else np.abs(r[d.centers])))
            if r is not None:
                sources.append(r[d.centers][:, :, self.robot.model.motors])
        return MeasuredEquations(
            np.concatenate(parts), forces, np.concatenate(counted), self.inertial, self.rows,
            np.concatenate(times), np.concatenate(sources) if sources else None,
        )  # fmt: skip

    def in_rows(self, forces: Sequence[Array]) -> Array:
        """Convert forces at all freedoms, an array per motion, to those of the rows, (n, r)."""
        parts = zip(self.decimations, self.reductions, forces, strict=True)
        return np.concatenate([d(_reduced(r, force[..., None])[..., 0]) for d, r, force in parts])

    def _held_back(self, still: Array, share: Array | None) -> Array:
        """Return which rows contain the friction of joints at rest, (n, r).

        still: (n, nv). Which joints are at rest.
        share: (n, r, nv). Share of each joint's force in a row; None if every joint has its own row.
        """
        rubbing = np.zeros(self.robot.nv, dtype=bool)
        rubbing[self.robot.model.motors] = True
        for joint in self.robot.model.joints:
            if not joint.mimic:
                rubbing[joint.v_slice] |= np.array(joint.friction or (0.0,) * joint.nv) > 0.0
        still = still & rubbing
        if share is None:
            return still
        felt = share > tuned.PART * np.max(share, axis=-1, keepdims=True)
        return np.asarray(np.any(felt & still[:, None, :], axis=-1))

    def _filtered_regressor(self, m: FilteredMotion, d: Decimation, r: Array | None) -> Array:
        centers = len(d.centers)
        tree = self.robot.tree
        found = []
        per_block = max(1, tuned.BLOCK // d.factor)
        for first in range(0, centers, per_block):
            last = min(first + per_block, centers)
            part = d.block(first, last)
            y = tree.regressor(m.q[part], m.v[part], m.a[part], parameters=self.inertial)
            found.append(d(_reduced(None if r is None else r[part], y), first, last))
        return np.concatenate(found)

    def friction(self, joint: int, model: FrictionModel, shape: float, time: float = 0.0) -> tuple[list[str], Array]:
        """Return the columns of a joint's friction, (n, r, terms), with their names.

        joint: Degree of freedom.
        time: Time constant with which viscous friction follows the velocity; zero if it follows at once.
        """
        names = [f"{self.robot.v_names[joint]}.{symbol}" for symbol in model.terms]
        place = _coordinate_of(self.robot, joint)

        def terms(m: FilteredMotion) -> Array:
            noise, v = float(m.speed_noise[joint]), m.v[:, joint]
            behind = following(v, float(m.t[1] - m.t[0]), time) if time else v
            values = [f(m.q[:, place], behind if f is viscous else v, noise, shape) for f in model.terms.values()]
            return np.stack(values, axis=-1) if values else np.zeros((len(m.t), 0))

        return names, self._at_joint(joint, terms)

    def spring(self, joint: int, rest: float) -> tuple[list[str], Array]:
        """Return the column of a joint's stiffness, (n, r, 1), with its name.

        joint: Degree of freedom.
        rest: Rest position of the spring.
        """
        place = _coordinate_of(self.robot, joint)
        column = self._at_joint(joint, lambda m: (m.q[:, place] - rest)[:, None])
        return [f"{self.robot.v_names[joint]}.stiffness"], column

    def _at_joint(self, joint: int, values_of: Callable[[FilteredMotion], Array]) -> Array:
        """Return filtered columns of forces that act at one degree of freedom, (n, r, k), from values (samples, k)."""
        parts = []
        for m, d, r in zip(self.motions, self.decimations, self.reductions, strict=True):
            values = values_of(m)
            if r is None:
                columns = np.zeros((len(d.centers), self.robot.nv, values.shape[1]))
                columns[:, joint] = d(values)
            else:
                columns = d(r[:, :, joint, None] * values[:, None, :])
            parts.append(columns)
        return np.concatenate(parts)

    def speeds(self, joint: int) -> tuple[float, float]:
        """Return the noise of a joint's velocity, and the speed that the joint seldom exceeds."""
        every = np.concatenate([np.abs(m.v[:, joint]) for m in self.motions])
        return max(float(m.speed_noise[joint]) for m in self.motions), float(np.quantile(every, 0.95))

    def row_of(self, joint: int) -> int:
        """Return the row in which a force at a degree of freedom has the largest effect."""
        if all(r is None for r in self.reductions):
            return joint
        shown = sum(np.sum(r[:, :, joint] ** 2, axis=0) for r in self.reductions if r is not None)
        return int(np.argmax(shown))

    def middle(self, joint: int) -> float:
        """Return the middle of a joint's motion."""
        place = _coordinate_of(self.robot, joint)
        every = np.concatenate([m.q[:, place] for m in self.motions])
        return float(0.5 * (every.min() + every.max()))

    def known(self, values: Mapping[str, float]) -> Array:
        """Return the filtered forces due to known parameters, (n, r), friction included."""
        given = {name: value for name, value in values.items() if value}
        if not given:
            return np.zeros_like(self.equations.tau)
        tree = self.robot.tree
        parts = []
        for m, d, r in zip(self.motions, self.decimations, self.reductions, strict=True):
            y = tree.regressor(m.q, m.v, m.a, parameters=tuple(given), friction=True)
            parts.append(d(_reduced(r, (y @ np.array(list(given.values())))[..., None])[..., 0]))
        return np.concatenate(parts)


def _moving(motions: Sequence[FilteredMotion]) -> Array:
    """Return which degrees of freedom move in more than a few samples, (nv,)."""
    fast = sum(np.sum(np.abs(m.v) > np.maximum(tuned.FAST * m.speed_noise, 1e-9), axis=0) for m in motions)
    return np.asarray(fast > tuned.OFTEN * sum(len(m.t) for m in motions))


def row_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of the rows, which are those of the independent freedoms."""
    if robot.loops is not None:
        return tuple(robot.v_names[k] for k in robot.coordinates.independent)
    return tuple(robot.v_names)


def external_forces(robot: Robot, motion: FilteredMotion) -> Array:
    """Return joint forces plus the contribution of measured wrenches."""
    total = motion.tau
    for frame, wrench in motion.wrenches.items():
        jacobian = robot.jacobian(motion.q, frame, "aligned")
        total = total + np.einsum("nij,ni->nj", jacobian, wrench)
    return total


def _coordinate_of(robot: Robot, freedom: int) -> int:
    """Return the index in q of a joint with one coordinate."""
    joint = next(j for j in robot.model.joints if not j.mimic and j.v_slice.start <= freedom < j.v_slice.stop)
    return joint.q_slice.start + min(freedom - joint.v_slice.start, joint.nq - 1)


def _reduction(robot: Robot, motion: FilteredMotion, contacts: Sequence[str]) -> Array | None:
    """Return the matrix that eliminates unknown forces from the rows, (n, r, nv); None if there are none."""
    if robot.loops is not None:
        return np.swapaxes(robot.basis(motion.q), -1, -2)
    if not contacts:
        return None
    rows = np.concatenate([robot.jacobian(motion.q, frame, "aligned")[:, 3:] for frame in contacts], axis=1)
    return np.eye(robot.nv) - np.linalg.pinv(rows, rcond=1e-9) @ rows


def _reduced(reduction: Array | None, columns: Array) -> Array:
    return columns if reduction is None else reduction @ columns
