"""Analyses that all trees on the ground have in common: inverse dynamics and free fall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..robot.robot import Robot
from ..simulation.records.record import Record
from ..simulation.simulate import simulate
from . import load, start
from .along import Along
from .report import columns
from .sketch import OBLIQUE, PLANE, Sketch
from .study import Fact, Outcome
from .style import Curve, Curves, Panel

Array = np.ndarray

SIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Seen from the right: x forward, z up."""


# ------------------------------------------------------------------ along the prescribed motion


Claims = Callable[[Along], Sequence[Fact]]
"""What the source states about a system along its motion."""


def inverse(
    name: str, claims: Claims | None = None, *, view: Array | None = None, remarks: Sequence[str] = ()
) -> Callable[[bool], Outcome]:
    """Inverse dynamics along the prescribed motion.

    Parameters
    ----------
    name : str
        A tree of the gallery, all of whose joints are driven.
    claims : callable, optional
        Facts of the source.
    view : ndarray, shape (2, 3), optional
        From where it is drawn.
    remarks : sequence of str
        What a reader should know beside the motion.
    """

    def run(quick: bool) -> Outcome:
        along = Along(name, 101 if quick else 401)
        facts = [*(claims(along) if claims else ()), *_agreement(along)]
        remark = f"Prescribed is: {along.motion.what}."
        figures = _inverse_figures(along, OBLIQUE if view is None else view)
        return Outcome(facts, _inverse_tables(along), {}, figures, [remark, *remarks])

    return run


def _agreement(along: Along) -> list[Fact]:
    """What must be true of every tree."""
    robot, (q, v, a), tau = along.robot, along.states, along.tau
    matrix = np.einsum("tij,tj->ti", robot.mass_matrix(q), a) + robot.bias_force(q, v)
    back = robot.forward_dynamics(q, v, tau)
    return [
        Fact("torques by recursion and by mass matrix and bias; largest relative difference", 1e-10,
             float(np.abs(matrix - tau).max() / np.abs(tau).max()), relation="<"),
        Fact("forward dynamics with these torques gives the accelerations back; largest relative difference", 1e-8,
             float(np.abs(back - a).max() / (1.0 + np.abs(a).max())), relation="<"),
        Fact("power of the joint forces is the rate of the energy; largest relative difference", 1e-7,
             along.power_error, relation="<"),
    ]  # fmt: skip


def _inverse_tables(along: Along) -> dict[str, dict[str, Array]]:
    robot, units = along.robot, along.robot.v_units
    time = {"time [s]": along.time}
    moving = time | dict(columns("position", robot.q_names, along.states.q, robot.q_units))
    moving |= dict(columns("velocity", robot.v_names, along.states.v, [f"{u}/s" for u in units]))
    moving |= dict(columns("acceleration", robot.v_names, along.states.a, [f"{u}/s^2" for u in units]))
    forces = dict(columns("force", robot.v_names, along.tau, robot.tau_units))
    return {"motion": moving, "torques": time | forces}


def _inverse_figures(along: Along, view: Array) -> dict[str, Any]:
    robot, q = along.robot, along.states.q
    some = np.linspace(0, len(q) - 1, 5).astype(int)
    moved = panels(robot, q, {"rad": "angle [rad]", "m": "position [m]"})
    forced = panels(robot, along.tau, {"rad": "torque [N m]", "m": "force [N]"})
    caption = f"At the start, and (faint) later: {along.motion.what}."
    return {
        "system": Sketch(robot, q[some], frame_paths(robot, q), caption, view, 4.0),
        "motion": Curves(along.time, moved, f"Prescribed: {along.motion.what}."),
        "torques": Curves(along.time, forced, "What the joints have to do for this motion."),
    }


# ------------------------------------------------------------------ names, units, pictures


def short(name: str) -> str:
    """A joint's name without the words every joint's has."""
    return name.replace("_joint", "").replace("_", " ")


def panels(robot: Robot, array: Array, labels: dict[str, str], skip: int = 0, most: int = 6) -> list[Panel]:
    """Curves of one column per degree of freedom, or coordinate, those of one unit together, a few per panel."""
    of_v = array.shape[-1] == robot.nv
    names, units = (robot.v_names, robot.v_units) if of_v else (robot.q_names, robot.q_units)
    made = []
    for unit, label in labels.items():
        chosen = [k for k in range(skip, len(units)) if units[k] == unit]
        rows = -(-len(chosen) // most)
        for part in np.array_split(chosen, rows) if rows else []:
            made.append(Panel(label, [Curve(short(names[k]), array[:, k]) for k in part]))
    return made


def frame_paths(robot: Robot, q: Array) -> dict[str, Array]:
    """What the named frames draw."""
    names = [frame.name for frame in robot.model.frames if frame.name not in robot.body_names]
    return {f"path of {short(name)}": robot.pose(q, name)[..., :3, 3] for name in names}


# ------------------------------------------------------------------ free fall


def free_fall(
    name: str,
    seconds: float = 1.0,
    which: str = "free-fall",
    claims: Callable[[Robot, Record], Sequence[Fact]] | None = None,
    *,
    within: float = 1e-9,
    rtol: float = 1e-11,
) -> Callable[[bool], Outcome]:
    """Let go at rest: no motor acts, gravity does.

    Parameters
    ----------
    name : str
    seconds : float
        The whole of it even when quick, so that every fact can be checked.
    which : str
        Where it starts, see :func:`kinetree.gallery.start`.
    claims : callable, optional
        Facts of the source.
    within : float
        Largest drift of the energy, in joules.
    rtol : float
        Of the integrator.
    """

    def run(quick: bool) -> Outcome:
        robot = load(name).with_backend("compiled")
        record = simulate(
            robot, start(name, which), time=seconds, output=101 if quick else 401, rtol=rtol, atol=1e-2 * rtol,
            progress=False,
        )  # fmt: skip
        facts = [
            *(claims(robot, record) if claims else ()),
            Fact("kinetic and potential energy add up to a constant; largest drift", within,
                 float(np.abs(record.energy.error).max()), "J", relation="<"),
        ]  # fmt: skip
        remark = f"All torques are zero. It starts at rest (dop853, rtol {rtol:g}, atol {1e-2 * rtol:g})."
        return Outcome(facts, {}, {"record": record}, fall_figures(robot, record), [remark])

    return run


def fall_figures(robot: Robot, record: Record) -> dict[str, Any]:
    """Joints and energies."""
    energy = record.energy
    potential = energy.potential - energy.potential[0]
    energies = [
        Panel("energy [J]", [Curve("kinetic", energy.kinetic), Curve("potential", potential),
                             Curve("sum", energy.kinetic + potential)]),
        Panel("drift [J]", [Curve("of the sum", np.maximum(np.abs(energy.error), 1e-18))], log=True),
    ]  # fmt: skip
    moved = panels(robot, record.q, {"rad": "angle [rad]", "m": "position [m]"})
    return {
        "motion": Curves(record.time, moved, "Joints in free fall."),
        "energy": Curves(record.time, energies, "Energies, the potential one from its value at the beginning; below, "
                         "how far their sum drifts."),
    }  # fmt: skip


def at(record: Record, times: Sequence[float]) -> Array:
    """Which samples of a record are at these times."""
    found = np.array([int(np.argmin(np.abs(record.time - t))) for t in times])
    assert np.allclose(record.time[found], times, atol=1e-9)
    return found


__all__ = [
    "OBLIQUE", "PLANE", "SIDE", "Along", "at", "frame_paths", "free_fall", "inverse",
    "panels", "short",
]  # fmt: skip
