"""A motion prepared for display: the pose of every body at every sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinetree.algorithms import kinematics
from kinetree.errors import NoValueError, OptionError
from kinetree.model.changes.values import symbols_of_geometry
from kinetree.model.tree import BASE, Model
from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record, require_joints_of
from kinetree.spatial.arrays import Array, pack, quaternions_of, split

FINEST = 1.0 / 60.0
"""If samples are farther apart than this many seconds, samples in between are interpolated."""

MOST_SAMPLES = 20_000


@dataclass(frozen=True)
class Poses:
    """Positions (..., bodies, 3) and quaternions w, x, y, z (..., bodies, 4) of all bodies in the world."""

    position: Array
    wxyz: Array

    @classmethod
    def of(cls, model: Model, q: Array) -> Poses:
        """Compute the poses of configurations, (..., nq)."""
        batch = q.shape[:-1]
        if model.symbols:
            raise NoValueError(symbols_of_geometry(model) or model.symbols)
        with np.errstate(invalid="ignore"):  # infinity is treated like NaN: it is not drawn
            posed = kinematics.poses(model, split(q))
        if not posed:
            return cls(np.zeros((*batch, 0, 3)), np.zeros((*batch, 0, 4)))
        matrices = np.stack([pack(p.pose, batch) for p in posed], -3)
        return cls(matrices[..., :3, 3], quaternions(matrices[..., :3, :3]))

    def __getitem__(self, where: Any) -> Poses:
        return Poses(self.position[where], self.wxyz[where])

    def point(self, body: int, local: Array) -> Array:
        """Compute a point of a body in the world, (..., 3)."""
        if body == BASE:
            return np.broadcast_to(local, (*self.position.shape[:-2], 3))
        return self.position[..., body, :] + rotate(self.wxyz[..., body, :], local)

    def mixed(self, other: Poses, share: float) -> Poses:
        """Interpolate between these poses and others: positions linearly, rotations (nearly) along the shortest arc."""
        sign = np.where(np.sum(self.wxyz * other.wxyz, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
        wxyz = (1.0 - share) * self.wxyz + share * sign * other.wxyz
        position = (1.0 - share) * self.position + share * other.position
        return Poses(position, wxyz / np.linalg.norm(wxyz, axis=-1, keepdims=True))


def quaternions(matrices: Array) -> Array:
    """Find the quaternions w, x, y, z of rotation matrices; NaN if a matrix contains NaN."""
    return quaternions_of(matrices)[..., [3, 0, 1, 2]]


def rotate(wxyz: Array, v: Array) -> Array:
    """Turn a vector by quaternions."""
    w, u = wxyz[..., :1], wxyz[..., 1:]
    return v + 2.0 * np.cross(u, np.cross(u, v) + w * v)


@dataclass(frozen=True)
class BodyPoint:
    """A point of a body, perhaps with a name."""

    body: int
    point: Array
    name: str = ""

    @classmethod
    def of(cls, model: Model, frame: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> BodyPoint:
        """Make one from a frame's name and a point in that frame."""
        at = model.frame(frame)
        return cls(at.body, at.pose.rotation @ np.array(point, dtype=float) + at.pose.position, frame)


@dataclass(frozen=True)
class Track:
    """A motion, body by body.

    Attributes
    ----------
    time : ndarray (T,)
    q : ndarray (T, nq)
    poses : Poses
        Poses of all bodies, with time first.
    energy : dict from str to ndarray (T,)
        Curves to plot.
    v, tau : ndarray (T, nv) or None
        Velocities and forces of the joints to be plotted, if they are known.
    forces, moments : ndarray (T, points, 3)
        Contact forces and other wrenches on the robot, along world axes; missing moments are zero.
    spots : tuple of BodyPoint
        Points at which they act; empty if these are not known.
    """

    time: Array
    q: Array
    poses: Poses
    energy: dict[str, Array] = field(default_factory=dict)
    forces: Array = field(default_factory=lambda: np.zeros((0, 0, 3)))
    spots: tuple[BodyPoint, ...] = ()
    v: Array | None = None
    tau: Array | None = None
    moments: Array = field(default_factory=lambda: np.zeros((0, 0, 3)))

    @classmethod
    def of_states(cls, robot: Robot, time: Array, q: Array, v: Array | None = None, tau: Array | None = None) -> Track:
        """Make one from samples of a motion; with velocities, energies are computed."""
        energy = {}
        if v is not None and robot.mass > 0.0:
            kinetic, potential = robot.kinetic_energy(q, v), robot.potential_energy(q)
            energy = {"kinetic": kinetic, "potential": potential, "sum": kinetic + potential}
        return cls(time, q, Poses.of(robot.model, q), energy, v=v, tau=tau)

    @classmethod
    def of_record(cls, robot: Robot, record: Record, contacts: Any = None) -> Track:
        """Make one from a simulation.

        Parameters
        ----------
        robot : Robot
        record : Record
        contacts : optional
            Where the record's contact forces act, see :func:`contact_places`.
        """
        _check(robot, record)
        record = _dense(robot, record)
        energy = {"kinetic": record.energy.kinetic, "potential": record.energy.potential}
        energy["sum"] = record.energy.mechanical
        for name, curve in record.energy.as_dict().items():
            if name not in energy and np.any(curve != 0.0):
                energy[f"work of {name}"] = curve
        spots = contact_places(robot.model, contacts, record)
        poses = Poses.of(robot.model, record.q)
        return cls(record.time, record.q, poses, energy, record.contact_forces, spots, record.v, record.tau)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, where: Any) -> Track:
        """Return some of the samples."""
        return replace(
            self,
            time=self.time[where],
            q=self.q[where],
            poses=self.poses[where],
            energy={name: curve[where] for name, curve in self.energy.items()},
            forces=self.forces[where] if len(self.forces) else self.forces,
            moments=self.moments[where] if len(self.moments) else self.moments,
            v=None if self.v is None else self.v[where],
            tau=None if self.tau is None else self.tau[where],
        )

    def index(self, t: float) -> int:
        """Find the last sample that is not after ``t``."""
        return int(np.clip(np.searchsorted(self.time, t, side="right") - 1, 0, len(self) - 1))

    def at(self, t: float) -> Poses:
        """Return the poses of the bodies at a time, also between samples."""
        k = self.index(t)
        if k == len(self) - 1 or t <= self.time[k]:
            return self.poses[k]
        share = (t - self.time[k]) / (self.time[k + 1] - self.time[k])
        return self.poses[k].mixed(self.poses[k + 1], float(share))


def contact_places(model: Model, contacts: Any, record: Record) -> tuple[BodyPoint, ...]:
    """Return the points at which a record's contact forces act.

    Parameters
    ----------
    model : Model
    contacts
        A ground, contacts, spots or names of frames, or a list of these, in the order in which they were simulated;
        None uses the spots of the record, if it has any.
    record : Record
    """
    count = record.contact_forces.shape[-2]
    if contacts is None:
        named = record.info.get("contact_spots", [])
        return tuple(BodyPoint.of(model, frame, point) for frame, point in named) if len(named) == count else ()
    places = []
    for item in contacts if isinstance(contacts, (list, tuple)) else [contacts]:
        for spot in getattr(item, "spots", None) or getattr(item, "contacts", None) or [item]:
            frame = getattr(spot, "frame", spot)
            places.append(BodyPoint.of(model, frame, getattr(spot, "point", (0.0, 0.0, 0.0))))
    if len(places) != count:
        raise OptionError(
            f"the record has {count} contact forces, but contacts= names {len(places)} places: give those that were "
            "simulated with, in the same order"
        )
    return tuple(places)


def _check(robot: Robot, record: Record) -> None:
    if record.batch:
        raise OptionError(f"the record has a batch of {record.batch} simulations; choose one: record.lane(0)")
    if not len(record):
        raise OptionError("the record is empty: there is nothing to play")
    require_joints_of(robot, record, by_name=False)
    steps = np.diff(record.time)
    if not np.all(steps >= 0.0):
        raise OptionError(f"the record's time goes back after sample {int(np.argmax(~(steps >= 0.0)))}")


def _dense(robot: Robot, record: Record) -> Record:
    """Resample for smooth display: at least sixty samples per second, as far as memory allows."""
    if len(record) > MOST_SAMPLES:
        return record[np.linspace(0, len(record) - 1, MOST_SAMPLES).round().astype(int)]
    if len(record) > 1 and np.diff(record.time).max() > FINEST and np.isfinite(record.q).all():
        span = record.time[-1] - record.time[0]
        count = min(MOST_SAMPLES, int(np.ceil(span / FINEST)) + 1)
        return replace(record, robot=robot).at(np.linspace(record.time[0], record.time[-1], count))
    return record
