"""What a study of the user's own computes: forces for a motion, and a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np

from ...control.driven_joints import driven_joints, tracking_error
from ...errors import ClosureError, PathError
from ...motion.trajectory import Trajectory
from ...robot.robot import Robot
from ...simulation.oddities.unheld import can_fall, height_left
from ...simulation.prescribed import Prescribed
from ...simulation.records.plot import panels
from ...simulation.records.record import Record
from ...simulation.simulator import simulate, simulate_prescribed
from ..facts import Fact
from ..plots import Curve, Curves, PlotPanel
from ..study import Outcome
from ..system import States
from .gait import base_motion

Array = np.ndarray

STANDING = 0.5
"""Part of its height that a robot must keep not to have fallen."""

QUICK = 0.25
"""Share of the samples of a quick run."""


@dataclass(frozen=True)
class StudyPlan:
    """A study's file, understood.

    Attributes
    ----------
    robot : Robot
    q, v : ndarray
        Where it starts.
    desired : Trajectory or None
        Of all joints or of the driven ones.
    states : callable or None
        The desired motion of all joints at some times.
    span : float
        How long the motion is looked at.
    samples : int
    controller, elements
        For the simulation.
    simulation : mapping
        Options of :func:`kinetree.simulate`; empty if there is none.
    plots : sequence of str
        Parts of a record to draw.
    expect : mapping from str to number
        What the user wants to hold.
    free_base : bool
        Whether the motion is one of the joints with motors alone, under which the others move by the dynamics.
    forces : sequence of force elements
        That act in the simulation.
    begins : str
        Where the simulation begins, in words.
    """

    robot: Robot
    q: Array
    v: Array
    desired: Trajectory | None = None
    states: Callable[[Array], States] | None = None
    span: float = 0.0
    samples: int = 201
    controller: Any = None
    elements: Sequence[Any] = ()
    simulation: Mapping[str, Any] = field(default_factory=dict)
    plots: Sequence[str] = ("motion", "torques", "energy", "reactions")
    expect: Mapping[str, float | bool] = field(default_factory=dict)
    free_base: bool = False
    forces: Sequence[Any] = ()
    begins: str = ""

    # ---------------------------------------------------------------- inverse dynamics

    def inverse(self, quick: bool) -> Outcome:
        """Compute joint forces along the motion; forward dynamics must give the accelerations back."""
        assert self.states is not None
        time = np.linspace(0.0, self.span, max(2, int(self.samples * QUICK) if quick else self.samples))
        motion = self.states(time)
        tau = self.robot.inverse_dynamics(*motion)
        back = self.robot.forward_dynamics(motion.q, motion.v, tau)
        size = max(1.0, float(np.abs(motion.a).max()))
        difference = float(np.abs(back - motion.a).max()) / size
        check = "forward dynamics with these forces gives the accelerations back; largest relative difference"
        facts = [Fact(check, 1e-6, difference, relation="<"), *self._force_facts(tau), *self._limit_facts(motion)]
        return Outcome(facts, {"motion": self._table(time, motion, tau)}, figures=self._figures(time, motion, tau))

    def _table(self, time: Array, motion: States, tau: Array) -> dict[str, Array]:
        """Make columns that ``kinetree inverse`` and ``fd`` understand."""
        robot, table = self.robot, {"time": time}
        for key, names, values in (
            ("q", robot.q_names, motion.q), ("v", robot.v_names, motion.v), ("a", robot.v_names, motion.a),
            ("tau", robot.v_names, tau),
        ):  # fmt: skip
            table |= {f"{key}_{name}": column for name, column in zip(names, values.T, strict=True)}
        return table

    def _figures(self, time: Array, motion: States, tau: Array) -> dict[str, Any]:
        robot = self.robot

        def by_unit(
            words: Mapping[str, str], units: Sequence[str], names: Sequence[str], values: Array
        ) -> list[PlotPanel]:
            """Return one panel per unit: angles and lengths do not share a scale."""
            curves = {unit: [Curve(n, x) for n, x, u in zip(names, values.T, units, strict=True) if u == unit]
                      for unit in dict.fromkeys(units)}  # fmt: skip
            return [PlotPanel(words[unit], drawn) for unit, drawn in curves.items()]

        places = {"rad": "position [rad]", "m": "position [m]", "1": "quaternion [1]"}
        rates = {"rad": "velocity [rad/s]", "m": "velocity [m/s]"}
        moving = by_unit(places, robot.q_units, robot.q_names, motion.q)
        moving += by_unit(rates, robot.v_units, robot.v_names, motion.v)
        forces = by_unit({"rad": "torque [N m]", "m": "force [N]"}, robot.v_units, robot.v_names, tau)
        return {
            "motion": Curves(time, moving, "The motion that was asked for."),
            "forces": Curves(time, forces, "What the joints must do for it."),
        }

    # ---------------------------------------------------------------- simulation

    def simulated(self, quick: bool) -> Outcome:
        """Let it move."""
        around = {"controller": self.controller, "ground": list(self.elements), "forces": list(self.forces)}
        record = simulate(self.robot, self.q, self.v, progress=False, **around, **self._options(quick))
        return self._outcome(record, self._final_facts(record))

    def prescribed(self, quick: bool) -> Outcome:
        """Let the joints follow the motion exactly: the base moves by the dynamics and the ground, forces are found."""
        assert self.desired is not None
        options: dict[str, Any] = {
            "integrator": "bdf",
            "rtol": 1e-6,
            "atol": 1e-8,
            "output": self.samples,
        } | self._options(quick)
        options |= {"time": self.span, "ground": list(self.elements), "forces": list(self.forces)}
        others = Prescribed(self.desired).others(self.robot.model)
        base = np.concatenate([self.q[j.q_slice] for j in others])
        speed = np.concatenate([self.v[j.v_slice] for j in others])
        record = simulate_prescribed(self.robot, self.desired, base, speed, progress=False, **options)
        return self._outcome(record, [])

    def _options(self, quick: bool) -> dict[str, Any]:
        """Return those of the simulation."""
        options = dict(self.simulation)
        if quick and isinstance(options.get("output"), int):
            options["output"] = max(2, int(options["output"] * QUICK))
        return options

    def _outcome(self, record: Record, final: Sequence[Fact]) -> Outcome:
        drawn = panels(record)
        figures = {
            part: Curves(record.time, [PlotPanel(label, [Curve(*c) for c in curves]) for label, curves in drawn[part]])
            for part in self.plots
            if any(curves for _, curves in drawn.get(part, []))
        }
        facts = [
            *self._energy_facts(record), *final, *self._standing_facts(record), *self._walk_facts(record),
            *self._force_facts(record.tau),
            *self._limit_facts(States(record.q, record.v, record.a)),
        ]  # fmt: skip
        return Outcome(
            facts,
            records={"record": record},
            figures=figures,
            remarks=[_summary(record), *([self.begins] if self.begins else [])],
        )

    # ---------------------------------------------------------------- what the user expects

    def _energy_facts(self, record: Record) -> list[Fact]:
        if "energy_error" not in self.expect:
            return []
        text = "energy balance: kinetic + potential - works is constant; largest relative error"
        return [_below(text, self.expect["energy_error"], record.energy.relative_error)]

    def _final_facts(self, record: Record) -> list[Fact]:
        if "final_error" not in self.expect or self.desired is None:
            return []
        end = float(record.time[-1])
        error = tracking_error(self.robot.model, self.desired, end, list(record.q[-1]), list(record.v[-1]))
        text = "driven joints at the end: largest distance from the desired motion"
        return [_below(text, self.expect["final_error"], float(np.abs(error.position).max()), "rad, m")]

    def _walk_facts(self, record: Record) -> list[Fact]:
        """Return how the base has moved, if that is expected."""
        done, facts = base_motion(self.robot, record.q), []
        if "forward" in self.expect:
            text, least = "how far forward the base has come, along x; at least", float(self.expect["forward"])
            facts.append(Fact(text, least, done["forward"], "m", relation=">", source="this file"))
        if "tilt" in self.expect:
            text = "largest angle by which the base turns from how it began"
            facts.append(_below(text, self.expect["tilt"], done["tilt"], "rad"))
        return facts

    def _standing_facts(self, record: Record) -> list[Fact]:
        """Return whether a robot that only ground can hold has fallen, unless the file says that it need not stand."""
        unheld = not self.elements and self.forces  # by forces that may lift it
        if not self.expect.get("stands", True) or unheld or not can_fall(self.robot, self.q):
            return []
        text = "does not fall: least height of its center of mass, as part of that at the beginning"
        least = float(np.min(height_left(self.robot, self.elements, record.q)))
        return [Fact(text, STANDING, least, relation=">")]

    def _force_facts(self, tau: Array) -> list[Fact]:
        if "largest_force" not in self.expect:
            return []
        driven = [k for j in driven_joints(self.robot.model) for k in range(j.v_slice.start, j.v_slice.stop)]
        text = f"largest force of any motor, in {len(tau)} samples"
        return [_below(text, self.expect["largest_force"], float(np.abs(tau[:, driven]).max()), "N m, N")]

    def _limit_facts(self, motion: States) -> list[Fact]:
        if not self.expect.get("within_limits", False):
            return []
        robot = self.robot
        beyond = max(
            float(np.max(motion.q - robot.upper_limits, initial=-np.inf)),
            float(np.max(robot.lower_limits - motion.q, initial=-np.inf)),
        )
        fast = float(np.max(np.abs(motion.v) - robot.velocity_limits, initial=-np.inf))
        return [
            Fact("joints stay within their range; farthest beyond it", 0.0, max(0.0, beyond), "rad, m"),
            Fact("joints stay within their speed; farthest beyond it", 0.0, max(0.0, fast), "rad/s, m/s"),
        ]


def _below(text: str, stated: float, measured: float, unit: str = "") -> Fact:
    return Fact(text, float(stated), measured, unit, relation="<", source="this file")


def _summary(record: Record) -> str:
    return (
        f"{record.time[-1]:g} s simulated by {record.info.get('integrator')}, {len(record)} samples, {record.status}; "
        f"energy balance off by {record.energy.relative_error:.1g} of the energy exchanged."
    )


@dataclass(frozen=True)
class ClosedMotion:
    """The motion of all joints of a mechanism whose driven joints follow a trajectory.

    Parameters
    ----------
    mechanism : Mechanism
    driven : Trajectory
        Of the coordinates of the driven joints.
    q : ndarray
        A closed configuration near the beginning, which says on which branch.
    """

    mechanism: Robot
    driven: Trajectory
    q: Array

    def __call__(self, times: Array) -> States:
        """Return the motion with all loops closed, on one branch."""
        robot = self.mechanism
        joints = driven_joints(robot.model)
        wanted, rates, accelerations = self.driven(times)
        ends = list(accumulate(j.nq for j in joints))
        path = {j.name: wanted[:, end - j.nq : end] for j, end in zip(joints, ends, strict=True)}
        try:
            q = robot.follow(path, self.q, limits=False)
        except PathError as problem:
            raise ClosureError(f"at t = {times[problem.point]:g} s of the motion: {problem.why}") from None
        spread = np.zeros((2, len(times), robot.nv))
        spread[:, :, [k for j in joints for k in range(j.v_slice.start, j.v_slice.stop)]] = rates, accelerations
        places = [robot.v_names.index(name) for name in robot.independent(q[0])]
        v = robot.velocities(q, spread[0][:, places])
        return States(q, v, robot.accelerations(q, v, spread[1][:, places]))
