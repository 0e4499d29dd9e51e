"""The spatial biped of Shah, chapter 6, on its fixed foot; and its torques compared with those of the floating one."""

from __future__ import annotations

import numpy as np

from kinetree import control as laws
from kinetree.motion.trajectories import Function
from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array
from kinetree.studies.drawings import OBLIQUE
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.named_systems import load, motion
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

from ...analyses.inverse_dynamics import inverse
from ...analyses.joint_curves import panels
from ...analyses.prescribed import AlongMotion
from .system import single_support

NAME = "biped-spatial-fixed"

PERIOD = 0.5

BOOK_ENERGY = 0.0058

TABLE_STEP = 0.02
"""Seconds between the rows that the authors' program stores."""

KP, KD = 225.0, 40.0
"""Gains of the authors' program."""


def _facts(along: AlongMotion) -> Values:
    q = along.states.q
    trunk, foot = along.robot.pose(q, "trunk"), along.robot.pose(q, "right_foot")
    middle = trunk[:, :3, 3] + np.array([0.0, -0.05, 0.0])
    turned = max(float(np.abs(pose[:, :3, :3] - np.eye(3)).max()) for pose in (trunk, foot))
    return {
        "turned": turned, "hips": middle[0], "hip_height": middle[:, 2], "foot_ahead": foot[[0, -1], 0, 3],
        "foot_height": foot[:, 2, 3], "ankle": along.tau[:, 10:],
    }  # fmt: skip


def _system() -> tuple[Robot, Function, Array, Array, float]:
    begin, end = motion(NAME).span
    q, v, _ = motion(NAME).states(begin)
    return load(NAME).with_backend("compiled"), Function(single_support, begin, end), q, v, end


def _error(record: Record) -> Array:
    return np.asarray(np.abs(record.q - motion(NAME).states(record.time).q).max(axis=-1))


def forced(quick: bool) -> Outcome:
    """Simulate it driven by the torques of inverse dynamics, without feedback."""
    robot, desired, q, v, end = _system()
    exact = simulate(
        robot, q, v, time=end, controller=laws.Feedforward(desired, 0.0, 0.0), rtol=1e-10, atol=1e-12, samples=501,
        progress=False,
    )  # fmt: skip
    rows = np.linspace(0.0, end, round(PERIOD / TABLE_STEP) + 1)
    table = laws.TorqueTable(rows, robot.inverse_dynamics(*motion(NAME).states(rows)), hold=True)
    replayed = simulate(
        robot, q, v, time=end, controller=table, rtol=1e-9, atol=1e-11, samples=501, progress=False, largest_step=0.01
    )
    error = _error(replayed)
    left = float(replayed.time[np.argmax(error > 1e-3)])
    facts = stated(
        "biped-spatial-fixed", "forced", left=left, error=error, exact_error=_error(exact),
        energy=max(float(np.ptp(r.energy.total)) for r in (exact, replayed)),
    )  # fmt: skip
    curves = [Curve("26 rows", np.maximum(error, 1e-14)), Curve("exact torques", np.maximum(_error(exact), 1e-14))]
    figures = {
        "error": Curves(replayed.time, [PlotPanel("error [rad]", curves, log=True)], "Largest error of a joint."),
        "motion": Curves(
            replayed.time, panels(robot, replayed.q, {"rad": "angle [rad]"}), "Joints, driven by the torque table."
        ),
    }
    remark = (
        "The book says that the simulation departs after 0.1 s and blames the 'zero eigenvalue effect'. What the "
        "motion multiplies is an error of the torques: interpolated between the 26 rows that the authors' program "
        "stores they part after 0.1 s as in the book, while exact torques lead to the end of the step."
    )
    return Outcome(facts, {}, {"record": replayed}, figures, [remark])


def computed_torque(quick: bool) -> Outcome:
    """Control it by computed torque: an initial error decays according to the formula."""
    robot, desired, q, v, end = _system()
    off = 0.05
    record = simulate(
        robot, q + off, v, time=end, controller=laws.ComputedTorque(desired, KP, KD), rtol=1e-10, atol=1e-12,
        samples=101, progress=False,
    )  # fmt: skip
    slow, fast = sorted(np.roots([1.0, KD, KP]).real, reverse=True)
    law = off * (slow * np.exp(fast * record.time) - fast * np.exp(slow * record.time)) / (slow - fast)
    error = record.q - motion(NAME).states(record.time).q
    facts = stated(
        "biped-spatial-fixed", "computed-torque", law_error=error - law[:, None], final_error=error[-1],
        law_end=float(law[-1]), energy=record.energy.total,
    )  # fmt: skip
    remark = f"kp = {KP:g}, kd = {KD:g} (the authors' program); all joints start {off:g} rad off the desired motion."
    curves = [Curve("joints", np.abs(error).max(axis=1)), Curve("formula", law[::5], record.time[::5], stated=True)]
    figures = {
        "error": Curves(record.time, [PlotPanel("error [rad]", curves)], "The error of every joint, and the law.")
    }
    return Outcome(facts, {}, {"record": record}, figures, [remark])


STUDY = Study.of(
    NAME, {"inverse": inverse(NAME, _facts, view=OBLIQUE), "forced": forced, "computed-torque": computed_torque}
)
