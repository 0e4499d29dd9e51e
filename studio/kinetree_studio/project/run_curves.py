"""What the page shows of a run: states to play, curves by group, and a table of each motor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.evaluation.wrenches import Wrench
from kinetree.loops.dynamics import along_world
from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.spatial.arrays import Array

from ..view.motion import BodyPoint
from .planned_motion import motor_places

MOST_SPOTS = 12
"""More points on the ground than this are shown as their sum."""

TERMS = {
    "of_acceleration": "acceleration (M·a)", "of_velocity": "velocity (C·v)", "weight": "weight (g)",
    "of_friction": "friction",
}  # fmt: skip
"""Parts of a motor's force, by their variables in the code."""


@dataclass
class RunCurves:
    """A run as arrays.

    Attributes
    ----------
    robot : Robot
    time : ndarray (T,)
    q, v, tau : ndarray (T, n)
    wrenches : ndarray (T, pins, 6)
        Force and moment that each joint and each loop transmits to its second body, along world axes.
    groups : list of dict
        Curves: ``title``, ``unit``, ``names`` and ``data``, one curve after the other.
    """

    robot: Robot
    time: Array
    q: Array
    v: Array
    tau: Array
    wrenches: Array
    groups: list[dict[str, Any]] = field(default_factory=list)
    ground: Array = field(default_factory=lambda: np.zeros(0))
    spots: Sequence[BodyPoint] = ()
    """Forces of the ground along world axes, (T, spots, 3), and the points on which they act."""

    def add(self, title: str, unit: str, curves: Mapping[str, Array]) -> None:
        """Add a group of curves, if there are any."""
        if curves:
            self.groups.append(
                {
                    "title": title, "unit": unit, "names": list(curves),
                    "data": np.concatenate([np.broadcast_to(x, self.time.shape) for x in curves.values()]),
                }
            )  # fmt: skip

    def add_by_unit(self, title: str, units: Sequence[str], curves: Mapping[str, Array]) -> None:
        """Add a group for each unit."""
        for unit in dict.fromkeys(units):
            self.add(title, unit, {n: x for (n, x), own in zip(curves.items(), units, strict=True) if own == unit})

    @property
    def motors(self) -> list[int]:
        """The freedoms with motors."""
        return motor_places(self.robot)

    def add_forces(self) -> None:
        """Add the torques and forces of the motors."""
        for title, unit in (("Torque of motors", "N m"), ("Force of motors", "N")):
            own = [k for k in self.motors if self.robot.tau_units[k] == unit]
            self.add(title, unit, {self.robot.v_names[k]: self.tau[:, k] for k in own})

    def add_motion(self) -> None:
        """Add positions and velocities of joints of one freedom."""
        joints = [j for j in self.robot.model.joints if not j.mimic and j.nq == j.nv == 1]
        units = [j.kind.q_units[0] for j in joints]
        self.add_by_unit("Position", units, {j.name: self.q[:, j.q_slice.start] for j in joints})
        rates = [f"{j.kind.v_units[0]}/s" for j in joints]
        self.add_by_unit("Velocity", rates, {j.name: self.v[:, j.v_slice.start] for j in joints})

    def add_pins(self) -> None:
        """Add the sizes of forces in joints."""
        pins = pin_names(self.robot)
        sizes = np.linalg.norm(self.wrenches[..., :3], axis=-1)
        self.add(
            "Forces in joints", "N", {n: sizes[:, k] for k, n in enumerate(pins) if np.isfinite(sizes[:, k]).any()}
        )

    @property
    def power(self) -> Array:
        """The power of each motor, (T, motors)."""
        return self.tau[:, self.motors] * self.v[:, self.motors]

    def table(self) -> list[dict[str, Any]]:
        """Return for each motor its largest and mean force, speed, power and work."""
        found = []
        span = max(float(self.time[-1] - self.time[0]), 1e-300)
        for i, k in enumerate(self.motors):
            force, speed, power = self.tau[:, k], self.v[:, k], self.power[:, i]
            found.append(
                {
                    "name": self.robot.v_names[k], "unit": self.robot.tau_units[k],
                    "speedUnit": f"{self.robot.v_units[k]}/s",
                    "peak": float(np.abs(force).max()),
                    "rms": float(np.sqrt(np.trapezoid(force**2, self.time) / span)),
                    "speed": float(np.abs(speed).max()), "power": float(np.abs(power).max()),
                    "work": float(np.trapezoid(np.abs(power), self.time)),
                }
            )  # fmt: skip
        return found

    def content(self) -> dict[str, Any]:
        """Return everything that the page gets."""
        spots = [{"body": int(spot.body), "point": [float(x) for x in spot.point]} for spot in self.spots]
        return {
            "time": np.asarray(self.time, dtype=np.float64), "q": self.q.ravel(), "v": self.v.ravel(),
            "tau": self.tau.ravel(), "wrenches": self.wrenches.ravel(), "groups": self.groups, "table": self.table(),
            "ground": np.asarray(self.ground, dtype=np.float64).ravel(), "spots": spots,
            "kinetic": self.robot.kinetic_energy(self.q, self.v), "potential": self.robot.potential_energy(self.q),
        }  # fmt: skip


def pin_names(robot: Robot) -> list[str]:
    """Return the joints that transmit forces, then those that close loops: in the order of the page."""
    return [*robot.joint_names, *robot.loop_names] if robot.loops is not None else list(robot.joint_names)


def pin_wrenches(robot: Robot, q: Array, v: Array, a: Array, pushes: Any = None) -> Array:
    """Return force and moment of each joint and loop along world axes, (T, pins, 6).

    pushes: Other forces on the robot, by frame.
    """
    if robot.loops is None:
        found = along_world(robot.model, q, robot.joint_wrenches(q, v, a, pushes))
    else:
        forces = robot.constraint_forces(q, v, a, pushes, friction=True)
        found = np.concatenate([forces.joint_wrenches_world, forces.loop_wrenches_world], axis=-2)
    return np.asarray(found)[..., [3, 4, 5, 0, 1, 2]]


def of_motion(robot: Robot, space: Mapping[str, Any]) -> RunCurves:
    """Return the curves of a planned motion from the variables of its code."""
    t, q, v, a, tau = (np.asarray(space[name]) for name in ("t", "q", "v", "a", "tau"))
    made = RunCurves(robot, t, q, v, tau, pin_wrenches(robot, q, v, a))
    made.add_forces()
    known = [(name, title) for name, title in TERMS.items() if name in space]
    for k in made.motors:
        curves = {"all": tau[:, k]} | {title: np.asarray(space[name])[:, k] for name, title in known}
        made.add(f"What makes the {_force(robot, k)} of {robot.v_names[k]}", robot.tau_units[k], curves)
    made.add_pins()
    made.add_motion()
    made.add("Power of motors", "W", {robot.v_names[k]: made.power[:, i] for i, k in enumerate(made.motors)})
    kinetic, potential = robot.kinetic_energy(q, v), robot.potential_energy(q)
    made.add("Energy", "J", {"kinetic": kinetic, "potential": potential, "both": kinetic + potential})
    return made


def _force(robot: Robot, k: int) -> str:
    return "torque" if robot.tau_units[k] == "N m" else "force"


def of_record(
    robot: Robot, record: Record, desired: Any = None, by_shapes: bool = False
) -> tuple[RunCurves, list[str]]:
    """Return the curves of a simulation, and what cannot be shown.

    robot: With the numbers that it was simulated with.
    by_shapes: Whether shapes touch: the record does not say where.
    """
    notes = []
    try:
        if by_shapes and np.any(record.contact_forces):
            raise KinetreeError("it is not recorded where shapes push")
        wrenches = pin_wrenches(robot, record.q, record.v, record.a, _pushes(robot, record))
    except KinetreeError as problem:
        notes.append(f"Forces in joints are not shown: {problem}")
        wrenches = np.full((len(record.time), len(pin_names(robot)), 6), np.nan)
    made = RunCurves(robot, record.time, record.q, record.v, record.tau, wrenches)
    made.add_motion()
    if robot.model.motors:
        made.add_forces()
    made.add_pins()
    made.add("Forces of the ground", "N", _ground(record))
    if record.contact_forces.shape[1] and not by_shapes:
        made.ground = record.contact_forces
        made.spots = [BodyPoint.of(robot.model, *spot) for spot in record.info["contact_spots"]]
    energy = record.energy
    made.add("Energy", "J", {"kinetic": energy.kinetic, "potential": energy.potential, "both": energy.mechanical})
    works = {name: x for name, x in energy.as_dict().items() if name not in ("kinetic", "potential")}
    balance = {f"from {name}": x for name, x in works.items() if np.any(x != 0.0)}
    balance["kinetic and potential, from the start"] = energy.mechanical - energy.mechanical[0]
    balance["error of the balance"] = energy.total - energy.total[0]
    made.add("Energy: where it comes from", "J", balance)
    if robot.model.motors:
        made.add("Power of motors", "W", {robot.v_names[k]: made.power[:, i] for i, k in enumerate(made.motors)})
    if desired is not None:
        names, position, _ = record.errors(desired)
        units = [robot.q_units[robot.q_names.index(name)] for name in names]
        made.add_by_unit("Behind the desired position by", units, dict(zip(names, position.T, strict=True)))
    return made, notes


def _pushes(robot: Robot, record: Record) -> dict[str, Wrench] | None:
    """Return the forces of the ground by frame, moments about its origin included."""
    spots = record.info.get("contact_spots", [])
    if not record.contact_forces.shape[1]:
        return None
    totals: dict[str, list[Array]] = {}
    for k, (frame, point) in enumerate(spots):
        force = record.contact_forces[:, k]
        arm = robot.pose(record.q, frame)[..., :3, :3] @ np.asarray(point, dtype=float)
        total = totals.setdefault(frame, [np.zeros_like(force), np.zeros_like(force)])
        total[0] += force
        total[1] += np.cross(arm, force)
    return {name: Wrench(force=force, moment=moment, axes="world") for name, (force, moment) in totals.items()}


def _ground(record: Record) -> dict[str, Array]:
    forces = record.contact_forces
    if not forces.shape[1]:
        return {}
    sizes = np.linalg.norm(forces, axis=-1)
    spots = record.info.get("contact_spots", [])
    acting = [k for k in range(sizes.shape[1]) if np.any(sizes[:, k] > 0.0)]
    found = {"all together": np.linalg.norm(forces.sum(axis=1), axis=-1)}
    if len(acting) <= MOST_SPOTS and len(spots) == sizes.shape[1]:
        found |= {f"at {spots[k][0]}": sizes[:, k] for k in acting}
    return found
