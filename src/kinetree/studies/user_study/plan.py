"""The analyses of a user's study: forces for a motion, and a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from ...algorithms.joint_friction import rubbing_names
from ...control.driven_joints import tracking_error
from ...errors import ClosureError, PathError
from ...motion.trajectory_interface import Trajectory
from ...robot.robot import Robot
from ...simulation.prescribed import BoundMotion
from ...simulation.records.limits_in_words import beyond, in_words
from ...simulation.records.plot import panels
from ...simulation.records.record import Record
from ...simulation.run_warnings.standing import height_left
from ...simulation.run_warnings.unheld import can_fall
from ...simulation.simulator import simulate, simulate_prescribed
from ...spatial.arrays import Array
from ..fact_files import FactFile, StatedFact, Values
from ..facts import Fact
from ..measures import Measure, MovedBatch, measures, one_of_batch
from ..plots import Curve, PlotPanel
from ..study import Outcome
from ..system import States
from .forces_and_paths import MoreOutputs
from .forces_on_motion import loads_on

EXPECTED = FactFile.beside(__file__)
"""Expectations of a file, by their keys."""

NO_JOINT_FORCES = (
    "Forces at joints are not written for a simulation with ground or force elements, which they would not include."
)

EXTREMES = ("largest", "most", "least", "range")
WITH_PEAKS = ("tau.", "a.", "peak_")
"""Readings and measures of facts that depend on how many samples there are while feet land."""

QUICK = 0.25
"""Share of the samples of a quick run."""


@dataclass(frozen=True)
class StudyPlan:
    """The content of a study's file."""

    robot: Robot
    q: Array
    v: Array
    """Initial state."""
    desired: Trajectory | None = None
    """Desired motion of all joints or of the driven ones."""
    states: Callable[[Array], States] | None = None
    """Returns the desired motion of all joints at given times."""
    span: float = 0.0
    """Duration of the motion."""
    samples: int = 201
    prescribed_samples: int | None = 201
    """Samples of the analysis in which joints follow exactly; None for every step."""
    controller: Any = None
    elements: Sequence[Any] = ()
    """Controller and elements of the simulation."""
    simulation: Mapping[str, Any] = field(default_factory=dict)
    """Options of :func:`kinetree.simulate`; empty if there is none."""
    plots: Sequence[str] = ("motion", "torques", "energy", "reactions")
    """Parts of a record to draw."""
    expect: Mapping[str, float | bool] = field(default_factory=dict)
    """The user's expectations."""
    free_base: bool = False
    """Whether only the joints with motors follow the motion, and the others move by the dynamics."""
    forces: Sequence[Any] = ()
    """Force elements that act in every analysis."""
    begins: str = ""
    """Where the simulation begins, in words."""
    facts: Mapping[str, Sequence[StatedFact]] = field(default_factory=dict)
    """Facts of the file, by analysis."""
    more: MoreOutputs = field(default_factory=MoreOutputs)
    """Other outputs: forces of joints, paths of points; and the units of all of them."""

    # ---------------------------------------------------------------- inverse dynamics

    def inverse(self, quick: bool) -> Outcome:
        """Compute joint forces along the motion; forward dynamics must reproduce the accelerations."""
        assert self.states is not None
        time = np.linspace(0.0, self.span, max(2, int(self.samples * QUICK) if quick else self.samples))
        motion = self.states(time)
        loads = loads_on(self.robot.model, self.forces, time, motion) if self.forces else None
        tau = self.robot.inverse_dynamics(*motion, loads)
        back = self.robot.forward_dynamics(motion.q, motion.v, tau, loads)
        off = np.abs(back - motion.a).max() / max(1.0, np.abs(motion.a).max())
        values = self._values(time, motion, tau)
        facts = [*EXPECTED("inverse", back=off), *self._facts("inverse", values)]
        # columns that ``kinetree inverse`` and ``fd`` understand
        table = {name.replace(".", "_", 1): x for name, x in values.items() if isinstance(x, np.ndarray)}
        tables, figures = self.more.of(self.robot, time, motion, loads)
        tables = {"motion": self.more.table(table, self._units_of_columns()), **tables}
        rubbing = rubbing_names(self.robot.model)
        remarks = [f"These forces leave out the friction of {', '.join(rubbing)}."] if rubbing else []
        if self.forces:
            acting = ", ".join(dict.fromkeys(element.label for element in self.forces))
            remarks.append(f"The forces of the file act, too ({acting}): these joint forces are needed besides them.")
        fast = beyond(self.robot.v_names, motion.v, self.robot.velocity_limits)
        strong = beyond(self.robot.v_names, tau, self.robot.effort_limits)
        remarks += map(_sentence, in_words(fast, strong))
        return Outcome(facts, tables, figures=self._figures(time, motion, tau) | figures, remarks=remarks)

    def _units_of_columns(self) -> dict[str, str]:
        robot, found = self.robot, {"time": "s"}
        for key, names, units, rate in (
            ("q", robot.q_names, robot.q_units, ""), ("v", robot.v_names, robot.v_units, "/s"),
            ("a", robot.v_names, robot.v_units, "/s^2"), ("tau", robot.v_names, robot.tau_units, ""),
        ):  # fmt: skip
            found |= {f"{key}_{name}": unit + rate for name, unit in zip(names, units, strict=True)}
        return found

    def _values(self, time: Array, motion: States, tau: Array, record: Record | None = None) -> dict[str, Any]:
        """Return the values that facts can name: ``time``, ``q.elbow`` and the like, and those of :func:`measures`."""
        robot, found = self.robot, dict[str, Any](time=time)
        for key, names, values in (
            ("q", robot.q_names, motion.q), ("v", robot.v_names, motion.v), ("a", robot.v_names, motion.a),
            ("tau", robot.v_names, tau),
        ):  # fmt: skip
            found |= {f"{key}.{name}": column for name, column in zip(names, values.T, strict=True)}
        batch = None if record is None else one_of_batch(record)
        moved = MovedBatch(robot, time, motion.q[:, None], motion.v[:, None], tau[:, None], batch)
        found |= {key: partial(_of_one, measure, moved) for key, measure in measures(robot, batch is not None).items()}
        beyond = np.maximum(motion.q - robot.upper_limits, robot.lower_limits - motion.q)
        found |= {
            "samples": len(time),
            "beyond_range": lambda: np.maximum(0.0, beyond),
            "beyond_speed": lambda: np.maximum(0.0, np.abs(motion.v) - robot.velocity_limits),
        }
        unheld = not self.elements and self.forces  # with forces that may lift the robot
        if record is not None and not unheld and can_fall(robot, self.q):
            found["height_left"] = lambda: height_left(robot, self.elements, motion.q)
        return found

    def _facts(self, analysis: str, values: dict[str, Any], record: Record | None = None) -> list[Fact]:
        """Return the facts that the file expects of all measures, and those that it states about this analysis."""
        wanted = {"stands": True, **self.expect}
        stands = self._stands_after(record)
        more = {"standing": f" (its motion ends at {stands})" if stands else ""}
        facts = []
        for key, rows in EXPECTED.sections.items():
            if wanted.get(key, False) is not False and all(row.measure in values for row in rows):
                facts += EXPECTED(key, values, expected=wanted[key], **more)
        missed = record is not None and record.peaks_missed is not None
        for stated in self.facts.get(analysis, ()):
            fact = stated.beside(values)
            if missed and stated.reading in EXTREMES and stated.measure.startswith(WITH_PEAKS):
                few = f"of {values['samples']} samples; 'samples: steps' has all peaks"
                fact = replace(fact, text=f"{fact.text} ({few})")
            facts.append(fact)
        return facts

    def _stands_after(self, record: Record | None) -> str:
        """Return when the desired motion is over and how long its end is held after that; empty if it lasts."""
        if record is None or self.desired is None or not len(record):
            return ""
        until = float(self.desired.end)
        left = float(record.time[-1]) - until
        if not left > 1e-9 * abs(until):
            return ""
        there, then = self.desired(until + 0.5 * left), self.desired(until + left)
        held = np.array_equal(there[0], then[0]) and not np.any(then[1])
        return f"{until:g} s, and for the other {left:g} s its last position is held" if held else ""

    def _figures(self, time: Array, motion: States, tau: Array) -> dict[str, Any]:
        robot, shown = self.robot, self.more.units

        def by_unit(
            words: Mapping[str, str], units: Sequence[str], names: Sequence[str], values: Array
        ) -> list[PlotPanel]:
            """Return one panel per unit: angles and lengths do not share a scale."""
            curves = {unit: [Curve(n, shown.shown(x, unit)) for n, x, u in zip(names, values.T, units, strict=True)
                             if u == unit] for unit in dict.fromkeys(units)}  # fmt: skip
            return [PlotPanel(f"{words[unit]} [{shown.label(unit)}]", drawn) for unit, drawn in curves.items()]

        places = {"rad": "position", "m": "position", "1": "quaternion"}
        rates = {"rad/s": "velocity", "m/s": "velocity"}
        moving = by_unit(places, robot.q_units, robot.q_names, motion.q)
        moving += by_unit(rates, [f"{unit}/s" for unit in robot.v_units], robot.v_names, motion.v)
        forces = by_unit({"N m": "torque", "N": "force"}, robot.tau_units, robot.v_names, tau)
        held = f" No ground acts here: the force at {robot.joint_names[0]} holds the robot, which has no motor there."
        lifted = can_fall(robot, self.q) and not robot.joint(robot.joint_names[0]).actuated
        return {
            "motion": self.more.curves(robot, time, motion.q, moving, "The desired motion."),
            "forces": self.more.curves(robot, time, motion.q, forces, "The joint forces for it." + held * lifted),
        }

    # ---------------------------------------------------------------- simulation

    def simulated(self, quick: bool) -> Outcome:
        """Simulate the motion."""
        around = {"controller": self.controller, "ground": list(self.elements), "forces": list(self.forces)}
        record = simulate(self.robot, self.q, self.v, progress=False, **around, **self._options(quick))
        more = {}
        if self.desired is not None:
            end = float(record.time[-1])
            error = tracking_error(self.robot.model, self.desired, end, list(record.q[-1]), list(record.v[-1]))
            more = {"final_error": error.position}
        return self._outcome("simulation", record, more)

    def prescribed(self, quick: bool) -> Outcome:
        """Let the joints follow the motion exactly while the base moves by the dynamics; find the forces."""
        assert self.desired is not None
        options: dict[str, Any] = {
            "integrator": "bdf",
            "rtol": 1e-6,
            "atol": 1e-8,
            "samples": self.prescribed_samples,
        } | self._options(quick)
        options |= {"time": self.span, "ground": list(self.elements), "forces": list(self.forces)}
        others = BoundMotion(self.robot, self.desired).others
        base = np.concatenate([self.q[j.q_slice] for j in others])
        speed = np.concatenate([self.v[j.v_slice] for j in others])
        record = simulate_prescribed(self.robot, self.desired, base, speed, progress=False, **options)
        return self._outcome("prescribed", record, {})

    def _options(self, quick: bool) -> dict[str, Any]:
        """Return the options of the simulation."""
        options = dict(self.simulation)
        if quick and isinstance(options.get("samples"), int):
            options["samples"] = max(2, int(options["samples"] * QUICK))
        return options

    def _outcome(self, analysis: str, record: Record, more: Values) -> Outcome:
        drawn = panels(record, units=self.more.units)
        figures = {
            part: self.more.curves(
                self.robot,
                record.time,
                record.q,
                [PlotPanel(label, [Curve(*c) for c in curves]) for label, curves in drawn[part]],
            )
            for part in self.plots
            if any(curves for _, curves in drawn.get(part, []))
        }
        motion = States(record.q, record.v, record.a)
        pushed = bool(self.elements or self.forces)
        more_outputs = replace(self.more, forces=False) if pushed else self.more  # which do not know of such pushes
        tables, others = more_outputs.of(self.robot, record.time, motion)
        values = self._values(record.time, motion, record.tau, record)
        facts = self._facts(analysis, {**values, **more}, record)
        stands = self._stands_after(record)
        return Outcome(
            facts,
            tables,
            records={"record": record},
            figures=figures | others,
            remarks=[
                _summary(record),
                *map(_sentence, filter(None, [record.fallen, *record.limits_passed, record.peaks_missed])),
                *([f"The motion ends at {stands}."] if stands else []),
                *([self.begins] if self.begins else []),
                *([NO_JOINT_FORCES] if pushed and self.more.forces else []),
            ],
            units=self.more.units,
        )


def _sentence(line: str) -> str:
    """Return a line about limits as a sentence of a report, with what a study file offers in place of Python."""
    said = line.replace("kt.control.Saturated(controller) keeps", "In the controller, limited: true keeps")
    said = said.replace("ground=kt.forces.JointStops()", "stops: true in the file")
    said = said.replace("without samples=", "with samples: steps")
    return f"{said[0].upper()}{said[1:]}."


def _of_one(measure: Measure, moved: MovedBatch) -> Any:
    return measure(moved)[0]


def _summary(record: Record) -> str:
    return (
        f"{record.time[-1]:g} s simulated by {record.info.get('integrator')}, {len(record)} samples, {record.status}; "
        f"energy balance off by {record.energy.relative_error:.1g} of the energy exchanged."
    )


@dataclass(frozen=True)
class ClosedMotion:
    """The motion of all joints of a mechanism whose driven joints follow a trajectory."""

    mechanism: Robot
    driven: Trajectory
    """Trajectory of the coordinates of the driven joints."""
    q: Array
    """A closed configuration near the beginning, which decides the branch."""

    def __call__(self, times: Array) -> States:
        """Return the motion with all loops closed, on one branch."""
        robot = self.mechanism
        joints = robot.model.driven_joints
        wanted, rates, accelerations = self.driven(times)
        ends = list(accumulate(j.nq for j in joints))
        path = {j.name: wanted[:, end - j.nq : end] for j, end in zip(joints, ends, strict=True)}
        try:
            q = robot.follow(path, self.q, limits=False)
        except PathError as problem:
            raise ClosureError(f"at t = {times[problem.point]:g} s of the motion: {problem.why}") from None
        spread = np.zeros((2, len(times), robot.nv))
        spread[:, :, [k for j in joints for k in j.freedoms]] = rates, accelerations
        places = [robot.v_names.index(name) for name in robot.independent(q[0])]
        v = robot.velocities(q, spread[0][:, places])
        return States(q, v, robot.accelerations(q, v, spread[1][:, places]))
