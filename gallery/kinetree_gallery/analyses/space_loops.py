"""Satellites with closed loops: motors move the loop, and the satellite reacts."""

from __future__ import annotations

import numpy as np

from kinetree import control as laws
from kinetree.motion.trajectories import Cycloid
from kinetree.robot.robot import Robot
from kinetree.simulation.prescribed import Prescribed
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array
from kinetree.studies.drawings import PLANE, Sketch
from kinetree.studies.facts import Fact
from kinetree.studies.named_systems import load, motion, start
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Drawing, Outcome, Study

from ..systems.space_loops import DURATION
from .common_facts import common
from .joint_curves import frame_paths, panels

BASE = 6
KP, KD = 49.0, 14.0
"""Gains of ReDySim's controller."""


def space_loop_study(name: str) -> Study:
    """Return the study: motors follow their motion exactly, and under ReDySim's feedback."""
    return Study.of(name, {"inverse": lambda quick: _inverse(name, quick), "feedback": lambda quick: _fed(name, quick)})


def _made(name: str) -> tuple[Robot, Array, Cycloid, list[int]]:
    robot = load(name).with_backend("compiled")
    driven = [robot.q_names.index(joint) for joint in motion(name).joints]
    first, last = (motion(name).states([t]).q[0, driven] for t in (0.0, DURATION))
    return robot, start(name), Cycloid(first, last, DURATION), driven


def _inverse(name: str, quick: bool) -> Outcome:
    robot, q, wanted, driven = _made(name)
    record = simulate(
        robot, q, time=DURATION, prescribed=Prescribed(wanted, motion(name).joints), rtol=1e-9, atol=1e-11,
        samples=101 if quick else 401, progress=False,
    )  # fmt: skip
    still = [k for k in range(BASE, robot.nv) if k not in driven]
    known = motion(name).states(record.time).q
    facts = common(
        "loops in space, inverse", following=record.q[:, still] - known[:, still],
        pushed=record.tau[:, [*range(BASE), *still]], final_rates=record.v[-1],
    )  # fmt: skip
    facts += _kept(robot, record)
    return Outcome(facts, {}, {"record": record}, _figures(robot, record, driven), [_remark(name, record)])


def _fed(name: str, quick: bool) -> Outcome:
    robot, q, wanted, driven = _made(name)
    record = simulate(
        robot, q, time=DURATION, controller=laws.PD(wanted, KP, KD), rtol=1e-9, atol=1e-11,
        samples=101 if quick else 401, progress=False,
    )  # fmt: skip
    off = record.q[:, driven] - np.array([wanted(float(t))[0] for t in record.time])
    facts = common("loops in space, feedback", lag=off)
    words = f"Torques are {KP:g} times the error of the angle and {KD:g} times that of the rate, as ReDySim has them."
    return Outcome([*facts, *_kept(robot, record)], {}, {"record": record}, _figures(robot, record, driven), [words])


def _kept(robot: Robot, record: Record) -> list[Fact]:
    """Return the quantities that are conserved regardless of the motors."""
    momentum = robot.momentum(record.q, record.v, "origin")
    com = robot.center_of_mass(record.q)
    return common(
        "loops in space", momentum=momentum, center=com - com[0], gap=robot.closure_error(record.q),
        energy_error=record.energy.error, place=record.q[:, 3:BASE],
    )  # fmt: skip


def _remark(name: str, record: Record) -> str:
    turned = float(np.degrees(record.q[-1, 2]))
    return f"Prescribed: {motion(name).what}. In the end the satellite is turned by {turned:.3g} degrees about z."


def _figures(robot: Robot, record: Record, driven: list[int]) -> dict[str, Drawing]:
    some = np.linspace(0, len(record) - 1, 4).astype(int)
    turned = [Curve("about z", np.degrees(record.q[:, 2]))]
    places = [Curve(axis, record.q[:, 3 + k]) for k, axis in enumerate("xy")]
    paths = frame_paths(robot, record.q)
    return {
        "system": Sketch(robot, record.q[some], paths, "At the start and (faint) on the way.", PLANE, 4.2),
        "satellite": Curves(record.time, [PlotPanel("angle [degrees]", turned), PlotPanel("position [m]", places)],
                            "The satellite gives way to the loop."),
        "torques": Curves(record.time, panels(robot, record.tau, {"rad": "torque [N m]"}, driven), "Of the motors."),
    }  # fmt: skip
