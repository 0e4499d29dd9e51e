"""Outputs of a user's study besides motion and motor forces: pin forces, paths of points, other units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...io.units import ShownUnits
from ...loops.constraint_forces import WRENCH
from ...loops.dynamics import along_world
from ...robot.robot import Robot
from ...spatial.arrays import Array
from ..drawings import OBLIQUE, PLANE, Sketch
from ..plots import Curve, Curves, PlotPanel
from ..system import States

AXES = (
    "The table has those on the joint's second body: world_fx, ... along world axes, body_fx, ... along the axes of "
    "that body; moments are about its origin, or about the joint that closes a loop."
)

PHANTOMS = 6
"""Positions of the robot that are drawn with the paths."""


@dataclass(frozen=True)
class MoreOutputs:
    """The outputs that a study file requests under ``outputs:``."""

    forces: bool = False
    """Whether forces at all joints are written and drawn."""
    paths: Mapping[str, tuple[str, Sequence[float]]] = field(default_factory=dict)  # (frame, point)
    """Points whose paths are written and drawn."""
    units: ShownUnits = field(default_factory=ShownUnits)
    """Units of tables and drawings."""
    over: str | None = None
    """The coordinate over which curves are drawn instead of time; it is the first column of tables, too."""

    def curves(self, robot: Robot, time: Array, q: Array, panels: Sequence[PlotPanel], caption: str = "") -> Curves:
        """Draw panels over time, or over a coordinate."""
        if self.over is None:
            return Curves(time, panels, caption)
        k = robot.q_names.index(self.over)
        unit = robot.q_units[k]
        return Curves(self.units.shown(q[:, k], unit), panels, caption, f"{self.over} [{self.units.label(unit)}]")

    def _first(self, robot: Robot, time: Array, q: Array) -> dict[str, Array]:
        """Return the columns that tables of forces and paths begin with."""
        if self.over is None:
            return {"time [s]": time}
        k = robot.q_names.index(self.over)
        return {f"q_{self.over} [{robot.q_units[k]}]": q[:, k], "time [s]": time}

    def of(
        self, robot: Robot, time: Array, motion: States, loads: Array | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
        """Return tables and figures of a motion, under external loads on all bodies."""
        tables: dict[str, Any] = {}
        figures: dict[str, Any] = {}
        if self.forces:
            columns, sizes = _joint_forces(robot, motion, loads)
            tables["forces"] = self._shown(self._first(robot, time, motion.q) | columns)
            panel = PlotPanel(f"force [{self.units.label('N')}]",
                              [Curve(name, self.units.shown(x, "N")) for name, x in sizes.items()])  # fmt: skip
            words = f"Forces at each joint, of bearing and motor together. {AXES}"
            figures["joint-forces"] = self.curves(robot, time, motion.q, [panel], words)
        if self.paths:
            paths = {name: robot.point_position(motion.q, *spot) for name, spot in self.paths.items()}
            columns = {f"{name}.{x} [m]": path[:, k] for name, path in paths.items() for k, x in enumerate("xyz")}
            tables["paths"] = self._shown(self._first(robot, time, motion.q) | columns)
            flat = all(np.ptp(path[:, 2]) < 1e-9 for path in paths.values())
            seen = np.linspace(0, len(time) - 1, PHANTOMS).round().astype(int)
            figures["paths"] = Sketch(
                robot, motion.q[seen], paths, "Paths of the points.", PLANE if flat else OBLIQUE,
                unit=self.units.label("m"),
            )  # fmt: skip
        return tables, figures

    def table(self, columns: Mapping[str, Array], units: Mapping[str, str]) -> dict[str, Array]:
        """Return a table of a motion in the requested units, which its headers then name."""
        if self.over is not None:
            columns = {f"q_{self.over}": columns[f"q_{self.over}"], **columns}
        if not self.units.others:
            return dict(columns)
        return self._shown({f"{name} [{units[name]}]" if name in units else name: x for name, x in columns.items()})

    def _shown(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        found = {}
        for name, values in columns.items():
            words, _, unit = name.removesuffix("]").rpartition(" [")
            found[f"{words} [{self.units.label(unit)}]" if words else name] = self.units.shown(values, unit)
        return found


def _joint_forces(
    robot: Robot, motion: States, loads: Array | None
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """Return moments and forces at all joints by name, axes and component, and the magnitudes of the forces."""
    if robot.loops is not None:
        found = robot.constraint_forces(*motion, loads)
        wrenches = found.joint_wrenches
        world = {name: found.at(name) for name in (*robot.joint_names, *robot.loop_names, *found.springs)}
        columns = {name: x for name, x in found.columns().items() if name.startswith("tau_") or ": " in name}
    else:
        wrenches, columns = robot.joint_wrenches(*motion, loads), {}
        world = dict(zip(robot.joint_names, along_world(robot.model, motion.q, wrenches).swapaxes(0, 1), strict=True))
    body = dict(zip(robot.joint_names, wrenches.swapaxes(0, 1), strict=True))
    for axes, those in (("world", world), ("body", body)):
        columns |= {f"{name}.{axes}_{part} [{unit}]": x[:, i] for name, x in those.items()
                    for i, (part, unit) in enumerate(WRENCH)}  # fmt: skip
    return columns, {name: np.linalg.norm(x[:, 3:], axis=-1) for name, x in world.items()}
