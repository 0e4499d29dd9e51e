"""Outputs of a user's study besides motion and motor forces: pin forces, paths of points, other units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...io.units import ShownUnits
from ...loops.constraint_forces import WRENCH
from ...robot.robot import Robot
from ...spatial.arrays import Array
from ..drawings import OBLIQUE, PLANE, Sketch
from ..plots import Curve, Curves, PlotPanel
from ..system import States

PHANTOMS = 6
"""Positions of the robot that are drawn with the paths."""


@dataclass(frozen=True)
class MoreOutputs:
    """The outputs that a study file requests under ``outputs:``.

    Attributes
    ----------
    forces : bool
        Whether forces at all joints are written and drawn.
    paths : mapping from str to (frame, point)
        Points whose paths are written and drawn.
    units : ShownUnits
        Units of tables and drawings.
    """

    forces: bool = False
    paths: Mapping[str, tuple[str, Sequence[float]]] = field(default_factory=dict)
    units: ShownUnits = field(default_factory=ShownUnits)

    def of(self, robot: Robot, time: Array, motion: States) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return tables and figures of a motion."""
        tables: dict[str, Any] = {}
        figures: dict[str, Any] = {}
        if self.forces:
            columns, sizes = _joint_forces(robot, motion)
            tables["forces"] = {"time [s]": time, **self._shown(columns)}
            panel = PlotPanel(f"force [{self.units.label('N')}]",
                              [Curve(name, self.units.shown(x, "N")) for name, x in sizes.items()])  # fmt: skip
            figures["joint-forces"] = Curves(time, [panel], "Forces at each joint, of bearing and motor together.")
        if self.paths:
            paths = {name: robot.point_position(motion.q, *spot) for name, spot in self.paths.items()}
            columns = {f"{name}.{x} [m]": path[:, k] for name, path in paths.items() for k, x in enumerate("xyz")}
            tables["paths"] = {"time [s]": time, **self._shown(columns)}
            flat = all(np.ptp(path[:, 2]) < 1e-9 for path in paths.values())
            seen = np.linspace(0, len(time) - 1, PHANTOMS).round().astype(int)
            figures["paths"] = Sketch(
                robot, motion.q[seen], paths, "Paths of the points.", PLANE if flat else OBLIQUE,
                unit=self.units.label("m"),
            )  # fmt: skip
        return tables, figures

    def table(self, columns: Mapping[str, Array], units: Mapping[str, str]) -> dict[str, Array]:
        """Return a table of a motion in the requested units, which its headers then name."""
        if not self.units.others:
            return dict(columns)
        return self._shown({f"{name} [{units[name]}]" if name in units else name: x for name, x in columns.items()})

    def _shown(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        found = {}
        for name, values in columns.items():
            words, _, unit = name.removesuffix("]").rpartition(" [")
            found[f"{words} [{self.units.label(unit)}]" if words else name] = self.units.shown(values, unit)
        return found


def _joint_forces(robot: Robot, motion: States) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return moments and forces at all joints by name and component, and the magnitudes of the forces."""
    if robot.loops is not None:
        found = robot.constraint_forces(*motion)
        pins = {name: found.at(name)[:, 3:] for name in (*robot.joint_names, *robot.loop_names)}
        columns = found.columns()
    else:
        wrenches = robot.joint_wrenches(*motion)
        pins = {name: wrenches[:, k, 3:] for k, name in enumerate(robot.joint_names)}
        columns = {f"{name}.{part} [{unit}]": wrenches[:, k, i] for k, name in enumerate(robot.joint_names)
                   for i, (part, unit) in enumerate(WRENCH)}  # fmt: skip
    return columns, {name: np.linalg.norm(x, axis=-1) for name, x in pins.items()}
