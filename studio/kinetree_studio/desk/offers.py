"""What the page can compute with a robot: joints that a motion moves, gains, grounds, and what was computed last."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import control
from kinetree.errors import KinetreeError
from kinetree.model.tree import Joint
from kinetree.robot.robot import Robot

from ..project.designed import GOALS, KINDS_OF_MEAN, free_numbers
from ..project.document import Document
from ..project.planned_motion import KINDS, simple_joints
from ..project.run_curves import pin_names
from ..project.simulated import CONTROLLERS, GROUNDS, METHODS
from ..project.swept import measured, varied

PANELS = ("motion", "simulation", "sweep", "design")
"""Kinds of runs that are set up in the dock."""

USUAL_FREQUENCY = 10.0
"""In rad/s: how fast usual gains answer."""


def offers(document: Document, pose: Any) -> dict[str, Any]:
    """Describe what can be computed, for the forms of the page.

    pose: Positions of all joints, at which usual gains are found; none without one.
    """
    robot = document.robot
    driven = list(robot.model.motors)
    return {
        "joints": [_joint(robot, j) for j in simple_joints(robot)],
        "motors": [{"name": robot.v_names[k], "unit": robot.v_units[k], "force": robot.tau_units[k]} for k in driven],
        "kinds": list(KINDS),
        "controllers": list(CONTROLLERS if driven else CONTROLLERS[:1]),
        "gains": _gains(robot, driven, pose),
        "grounds": [name for name in GROUNDS if name != "shapes" or robot.model.shapes],
        "methods": list(METHODS),
        "low": _lowest(robot, pose),
        "limits": bool(np.isfinite(robot.lower_limits).any() or np.isfinite(robot.upper_limits).any()),
        "floating": robot.is_floating,
        "design": _design(robot),
        "sweeps": {of: _sweeps(robot, of == "simulation") for of in ("motion", "simulation")},
        "last": {run.KIND: run.content() for run in document.runs if run.KIND in PANELS},
    }


def _design(robot: Robot) -> dict[str, Any] | None:
    """Return what a search may change and what it may want; None for robots without loops."""
    if robot.loops is None:
        return None
    goals = [{**kind._asdict(), "name": name} for name, kind in GOALS.items()]
    lists = {"pins": pin_names(robot), "points": list(robot.frame_names)}
    return {"free": free_numbers(robot), "goals": goals, "lists": lists, "means": list(KINDS_OF_MEAN)}


def _sweeps(robot: Robot, simulated: bool) -> dict[str, Any]:
    measures = [{"name": name, "unit": unit} for name, (unit, _) in measured(robot, simulated).items()]
    return {"numbers": [{"name": n, **x} for n, x in varied(robot, simulated).items()], "measures": measures}


def _joint(robot: Robot, joint: Joint) -> dict[str, Any]:
    low, high = float(joint.lower[0]), float(joint.upper[0])
    return {
        "name": joint.name, "q": joint.q_slice.start, "v": joint.v_slice.start, "unit": joint.kind.q_units[0],
        "rate": f"{joint.kind.v_units[0]}/s", "force": robot.tau_units[joint.v_slice.start],
        "low": low if np.isfinite(low) else None, "high": high if np.isfinite(high) else None,
    }  # fmt: skip


def _at(robot: Robot, pose: Any) -> Any:
    if isinstance(pose, list) and len(pose) == robot.nq and np.isfinite(pose).all():
        return np.array(pose, dtype=float)
    return robot.neutral()


def _gains(robot: Robot, driven: list[int], pose: Any) -> dict[str, list[float]]:
    """Return usual gains of a PD law for each motor."""
    try:
        kp, kd = control.gains_for(robot, _at(robot, pose), USUAL_FREQUENCY)
    except KinetreeError:
        kp, kd = np.full(len(driven), 100.0), np.full(len(driven), 20.0)
    if len(np.atleast_1d(kp)) != len(driven):
        return {"kp": [], "kd": []}
    return {name: [float(f"{x:.3g}") for x in np.atleast_1d(value)] for name, value in (("kp", kp), ("kd", kd))}


def _lowest(robot: Robot, pose: Any) -> float:
    """Return the height of the lowest body or frame: where a ground fits."""
    try:
        q = _at(robot, pose)
        heights = [float(robot.pose(q, name)[2, 3]) for name in robot.frame_names]
    except KinetreeError:
        return 0.0
    return min(heights, default=0.0)
