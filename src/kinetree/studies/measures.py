"""Measures of a motion by name: largest forces, work, distance; for one motion or a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import OptionError
from ..robot.robot import Robot
from ..simulation.records.record import FIELDS, Record
from ..spatial.arrays import Array


@dataclass(frozen=True)
class MovedBatch:
    """Motions of a batch of robots: time first, then the batch.

    Attributes
    ----------
    robot : Robot
    time : ndarray, shape (T,)
    q, v, tau : ndarray, shapes (T, n, nq), (T, n, nv)
    record : Record or None
        The record, if the motion was simulated.
    """

    robot: Robot
    time: Array
    q: Array
    v: Array
    tau: Array
    record: Any = None


Measure = Callable[[MovedBatch], Array]


def measures(robot: Robot, simulated: bool) -> dict[str, Measure]:
    """Return all measures by name.

    Parameters
    ----------
    robot : Robot
    simulated : bool
        Whether there is a simulation, or only the forces for a motion.
    """
    motors = robot.model.motors
    motors = motors or list(range(robot.nv))
    found: dict[str, Measure] = {
        "peak_force": lambda m: np.abs(m.tau[..., motors]).max(axis=(0, 2)),
        "rms_force": lambda m: np.sqrt(_mean(m.time, (m.tau[..., motors] ** 2).sum(axis=-1))),
        "peak_power": lambda m: np.abs(m.tau[..., motors] * m.v[..., motors]).sum(axis=-1).max(axis=0),
        "work": lambda m: _integral(m.time, np.abs(m.tau[..., motors] * m.v[..., motors]).sum(axis=-1)),
    }
    for k in motors:
        name = robot.v_names[k]
        found[f"peak_force.{name}"] = lambda m, k=k: np.abs(m.tau[..., k]).max(axis=0)  # type: ignore[misc]
        found[f"rms_force.{name}"] = lambda m, k=k: np.sqrt(_mean(m.time, m.tau[..., k] ** 2))  # type: ignore[misc]
    if simulated:
        for k, name in enumerate(robot.q_names):
            found[f"final.q.{name}"] = lambda m, k=k: m.q[-1, :, k]  # type: ignore[misc]
        for k, name in enumerate(robot.v_names):
            found[f"final.v.{name}"] = lambda m, k=k: m.v[-1, :, k]  # type: ignore[misc]
        found |= {"forward": _forward, "tilt": _tilt, "lowest": _lowest, "energy_error": _energy_error}
        found["peak_ground_force"] = _peak_ground_force
    return found


def _integral(time: Array, values: Array) -> Array:
    return np.asarray(np.trapezoid(values, time, axis=0))


def _mean(time: Array, values: Array) -> Array:
    span = time[-1] - time[0]
    return _integral(time, values) / span if span > 0.0 else values.mean(axis=0)


def _poses(moved: MovedBatch) -> Array:
    return np.asarray(moved.robot.pose(moved.q, moved.robot.model.bodies[0].name))


def _forward(moved: MovedBatch) -> Array:
    """Return the distance of the first body along x."""
    pose = _poses(moved)
    return np.asarray(pose[-1, :, 0, 3] - pose[0, :, 0, 3])


def _lowest(moved: MovedBatch) -> Array:
    """Return the lowest height of the first body."""
    return np.asarray(_poses(moved)[..., 2, 3].min(axis=0))


def _tilt(moved: MovedBatch) -> Array:
    """Return the largest rotation of the first body from its initial orientation."""
    turn = _poses(moved)[..., :3, :3]
    cosine = 0.5 * (np.einsum("nji,tnji->tn", turn[0], turn) - 1.0)
    return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)).max(axis=0))


def _energy_error(moved: MovedBatch) -> Array:
    """Return the error of the energy balance, relative to the exchanged energy."""
    lanes = [moved.record.lane(k).energy.relative_error for k in range(moved.q.shape[1])]
    return np.asarray(lanes)


def _peak_ground_force(moved: MovedBatch) -> Array:
    if not moved.record.contact_forces.shape[2]:
        raise OptionError(
            "peak_ground_force needs spots that touch a ground, and there are none: give ground=kt.ground.Ground(...); "
            "forces of joint stops are not among the outputs"
        )
    force = np.linalg.norm(moved.record.contact_forces.sum(axis=2), axis=-1)
    return np.asarray(force.max(axis=0))


def one_of_batch(record: Record) -> Record:
    """Return the record of one simulation as that of a batch of one, with the same axes for outputs."""
    arrays = {name: getattr(record, name)[:, None] for name in FIELDS}
    energy = type(record.energy)(**{name: x[:, None] for name, x in record.energy.as_dict().items()})
    return replace(record, energy=energy, **arrays)
