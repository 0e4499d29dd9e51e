"""What a path of the platform requires of its actuators: positions, rates, accelerations, forces, power."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from ...errors import ExplainsArguments, OptionError, ShapeError
from ...io.atomic_files import beside
from ...io.paths import as_path
from ...io.pictures import drawing
from ...io.plot_style import legend_beside, line
from ...io.tables.formats import format_of
from ...io.tables.text import TextTable
from ...io.tables.writing import csv_text, write_parquet
from ...spatial.arrays import Array

PlatformPath = ArrayLike | Callable[[Array], tuple[ArrayLike, ArrayLike, ArrayLike]]
"""Poses (T, 4, 4) or positions (T, 3), or a trajectory of (x, y, z) or of (roll, pitch, yaw, x, y, z)."""

FEWEST = 4
"""The fewest samples for a spline."""


@dataclass(frozen=True)
class FrameMotion:
    """A motion of a frame: poses (T, 4, 4), twists and their rates (T, 6) along world axes, angular first."""

    pose: Array
    twist: Array
    rate: Array

    @staticmethod
    def read(path: PlatformPath, t: Array, rotation: Array) -> FrameMotion:
        """Read a path; if it has only positions, the frame keeps its ``rotation`` (3, 3)."""
        if callable(path):
            return _of_coordinates([np.asarray(x, dtype=float) for x in path(t)], t, rotation)
        given = np.asarray(path, dtype=float)
        if given.shape not in ((len(t), 4, 4), (len(t), 3)):
            raise ShapeError(
                f"path must hold a pose (4, 4) or a position (3,) for each of the {len(t)} times, or be a trajectory; "
                f"it has the shape {given.shape}"
            )
        return _of_samples(given, t, rotation)


def _of_samples(given: Array, t: Array, rotation: Array) -> FrameMotion:
    """Make a motion from samples, with velocities and accelerations of cubic splines."""
    if len(t) < FEWEST:
        raise OptionError(f"velocities and accelerations come from splines, which need {FEWEST} samples, not {len(t)}")
    broken = np.flatnonzero(~np.isfinite(given.reshape(len(t), -1)).all(axis=1))
    if len(broken):
        raise OptionError(
            f"point {broken[0]} of the path, at t = {t[broken[0]]:g} s, is not finite: a spline goes "
            "through all of them, so leave such points out, with their times"
        )
    pose = np.tile(np.eye(4), (len(t), 1, 1))
    pose[:, :3, :3] = rotation if given.ndim == 2 else given[:, :3, :3]
    pose[:, :3, 3] = given if given.ndim == 2 else given[:, :3, 3]
    line = CubicSpline(t, pose[:, :3, 3])
    twist, rate = (np.zeros((len(t), 6)) for _ in range(2))
    twist[:, 3:], rate[:, 3:] = line(t, 1), line(t, 2)
    if given.ndim == 3:
        turns = RotationSpline(t, Rotation.from_matrix(pose[:, :3, :3]))  # its rates are in the frame's axes
        twist[:, :3] = np.einsum("tij,tj->ti", pose[:, :3, :3], turns(t, 1))
        rate[:, :3] = np.einsum("tij,tj->ti", pose[:, :3, :3], turns(t, 2))
    return FrameMotion(pose, twist, rate)


def _of_coordinates(motion: list[Array], t: Array, rotation: Array) -> FrameMotion:
    """Make a motion from a trajectory of a position, or of roll, pitch, yaw and a position."""
    shapes = [x.shape for x in motion]
    if len(motion) != 3 or any(shape not in ((len(t), 3), (len(t), 6)) or shape != shapes[0] for shape in shapes):
        raise ShapeError(
            "a trajectory of the platform gives (x, y, z), or (roll, pitch, yaw, x, y, z), with two rates: "
            f"three arrays ({len(t)}, 3) or ({len(t)}, 6), not {shapes}"
        )
    x, rates, second = motion
    pose = np.tile(np.eye(4), (len(t), 1, 1))
    pose[:, :3, :3], pose[:, :3, 3] = rotation, x[:, -3:]
    twist, rate = (np.zeros((len(t), 6)) for _ in range(2))
    twist[:, 3:], rate[:, 3:] = rates[:, -3:], second[:, -3:]
    if x.shape[1] == 6:
        # R = Rz(yaw) Ry(pitch) Rx(roll): each angle turns about an axis that the later ones carry along
        pose[:, :3, :3] = Rotation.from_euler("xyz", x[:, :3]).as_matrix()
        carried = Rotation.from_euler("z", x[:, 2:3])
        axes = [np.tile([0.0, 0.0, 1.0], (len(t), 1)), carried.apply([0.0, 1.0, 0.0])]
        axes.append((carried * Rotation.from_euler("y", x[:, 1:2])).apply([1.0, 0.0, 0.0]))
        for axis, speed, change in zip(axes, rates[:, 2::-1].T, second[:, 2::-1].T, strict=True):
            rate[:, :3] += change[:, None] * axis + speed[:, None] * np.cross(twist[:, :3], axis)
            twist[:, :3] += speed[:, None] * axis
    return FrameMotion(pose, twist, rate)


@dataclass(frozen=True, eq=False)
class ActuatorRequirements(ExplainsArguments):
    """What a path of a platform requires of its actuators; ``print`` it for a table to choose motors.

    Attributes
    ----------
    t : ndarray (T,)
    names, units : tuple of str
        Names of the actuated freedoms, and units of their positions: ``m`` or ``rad``.
    positions, rates, accelerations, forces : ndarray (T, actuated)
        In the units above, those per second and per second squared, and newtons or newton meters.
    q, v, a : ndarray (T, nq), (T, nv), (T, nv)
        Motion of all joints.
    rate_limits, force_limits : ndarray (actuated,)
        Limits of the model, infinite if there are none: the table shows where they are exceeded.
    """

    t: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    positions: Array
    rates: Array
    accelerations: Array
    forces: Array
    q: Array
    v: Array
    a: Array
    rate_limits: Array
    force_limits: Array

    @property
    def power(self) -> Array:
        """Power of each actuator, (T, actuated), in watts; negative while it brakes."""
        return np.asarray(self.forces * self.rates)

    @property
    def rms_forces(self) -> Array:
        """Root mean square of each force over time (actuated,), which determines the heating of a motor."""
        if len(self.t) < 2:
            return np.abs(self.forces[0])
        return np.asarray(np.sqrt(trapezoid(self.forces**2, self.t, axis=0) / (self.t[-1] - self.t[0])))

    @property
    def table(self) -> TextTable:
        """A row per actuator: its range, largest rate and force, effective force, and power."""
        rows = []
        for k, (name, unit) in enumerate(zip(self.names, self.units, strict=True)):
            rate, force = np.abs(self.rates[:, k]).max(), np.abs(self.forces[:, k]).max()
            beyond = [
                f"{what} limit {limit:g}"
                for what, most, limit in (("rate", rate, self.rate_limits[k]), ("force", force, self.force_limits[k]))
                if most > limit
            ]
            rows.append(
                (name, unit, self.positions[:, k].min(), self.positions[:, k].max(), rate, force, self.rms_forces[k],
                 np.abs(self.power[:, k]).max(), ", ".join(beyond))
            )  # fmt: skip
        columns = (
            "actuator",
            "unit",
            "least",
            "largest",
            "max rate [/s]",
            "max force [N, N m]",
            "rms force",
            "max power [W]",
        )
        span = f"{self.t[-1] - self.t[0]:g} s, {len(self.t)} samples"
        if not any(row[-1] for row in rows):
            return TextTable(columns, [row[:-1] for row in rows], f"what the path asks of its actuators ({span})")
        return TextTable((*columns, "beyond"), rows, f"what the path asks of its actuators ({span})")

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table.html()

    def columns(self) -> dict[str, Array]:
        """Return time, positions, rates, accelerations and forces by name, (T,) each, as in tables."""
        found = {"time": self.t}
        for key, values in zip("qva", (self.positions, self.rates, self.accelerations), strict=True):
            found |= {f"{key}_{name}": values[:, k] for k, name in enumerate(self.names)}
        return found | {f"tau_{name}": self.forces[:, k] for k, name in enumerate(self.names)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`columns` to ``.csv``, ``.parquet`` or ``.npz``, completely or not at all."""
        place = as_path(path, "a table")
        kind = format_of(place, "requirements are saved as .csv, .parquet or .npz")
        with beside(place) as other:
            _write(other, kind, self.columns())

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw positions, rates, forces and power over time; return the matplotlib figure.

        Parameters
        ----------
        path : path, optional
            Where to save the picture.
        """
        panels = (("position", self.positions), ("rate", self.rates), ("force", self.forces), ("power", self.power))
        shown = sorted(set(self.units))
        units = {
            "position": shown, "rate": [f"{u}/s" for u in shown],
            "force": [{"m": "N", "rad": "N m"}[u] for u in shown], "power": ["W"],
        }  # fmt: skip
        with drawing((9.0, 8.0), path) as figure:
            for k, (what, values) in enumerate(panels):
                axis = figure.add_subplot(len(panels), 1, k + 1)
                for i, (name, curve) in enumerate(zip(self.names, values.T, strict=True)):
                    axis.plot(self.t, curve, label=name, **line(i))
                axis.set_ylabel(f"{what} [{', '.join(units[what])}]")
            legend_beside(figure.axes[0])
            figure.axes[-1].set_xlabel("time [s]")
        return figure


def _write(place: Path, kind: str, columns: dict[str, Array]) -> None:
    if kind == ".csv":
        place.write_text(csv_text(columns), encoding="utf-8", newline="\n")
    elif kind == ".parquet":
        write_parquet(place, columns)
    else:
        with place.open("wb") as stream:
            np.savez(stream, **columns)  # type: ignore[arg-type]
