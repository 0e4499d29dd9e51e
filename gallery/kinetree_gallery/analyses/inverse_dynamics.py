"""Inverse dynamics along the prescribed motion, of trees and of mechanisms with closed loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.model.force_units import FORCE_OF
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.drawings import OBLIQUE, PLANE, Sketch, outlines
from kinetree.studies.fact_files import Values, stated_if_any
from kinetree.studies.facts import Fact
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Analysis, Drawing, Outcome, Table

from .common_facts import common
from .joint_curves import FORCES, MOTIONS, columns, frame_paths, motion_table, panels, short
from .loops import cuts_by_rule, groups, sizes
from .prescribed import AlongMotion, PrescribedMechanism, prescribed

METHODS = ("f_matrix", "subsystems")
"""Remark on inverse dynamics of mechanisms, in addition to the usual one."""


def inverse(
    name: str,
    measured: Callable[[Any], Values] | None = None,
    *,
    shared: str | None = None,
    view: Array | None = None,
    remarks: Sequence[str] = (),
) -> Analysis:
    """Return the analysis: joint forces for the prescribed motion, and facts about them.

    Parameters
    ----------
    name : str
        A system of the gallery, all of whose joints are driven or follow from loops.
    measured : callable, optional
        Returns the values that the facts of the system name, in addition to those of :func:`usual`, from an
        :class:`AlongMotion` or, with loops, a :class:`PrescribedMechanism`.
    shared : str, optional
        Facts of several systems that are true of this one: a section of ``facts.yaml`` next to this file.
    view : ndarray, shape (2, 3), optional
        Direction from which a tree is drawn.
    remarks : sequence of str
        Remarks for the reader in addition to the motion.
    """

    def run(quick: bool) -> Outcome:
        along = prescribed(name, 101 if quick else 401)
        values = {**usual(along), **(measured(along) if measured else {})}
        own = [*stated_if_any(name, "inverse", values), *(common(shared, values) if shared else ())]
        what = along.motion.what
        if isinstance(along, PrescribedMechanism):
            remark = f"Prescribed is {what}; all other joints follow from the loops."
            facts, tables, figures = _mechanism_facts(along), _mechanism_tables(along), _mechanism_figures(along)
        else:
            remark = f"Prescribed is: {what}."
            facts, tables = _tree_facts(along), _tree_tables(along)
            figures = _tree_figures(along, OBLIQUE if view is None else view)
        return Outcome([*own, *facts], tables, {}, figures, [remark, *remarks])

    return run


def usual(along: AlongMotion) -> dict[str, Any]:
    """Return the values that every system has along its motion."""
    q, v, _ = along.states
    found: dict[str, Any] = {"start": q[0], "end": q[-1], "rates_at_ends": v[[0, -1]], "duration": along.motion.span[1]}
    if isinstance(along, PrescribedMechanism):
        robot = along.mechanism
        found |= {"sizes": sizes(robot), "groups": lambda: groups(along), "cuts": lambda: cuts_by_rule(robot)}
    return found


def _back(along: AlongMotion, tau: Array) -> float:
    """Return the difference between the accelerations and those of forward dynamics."""
    q, v, a = along.states
    back = along.robot.forward_dynamics(q, v, tau)
    return float(np.abs(back - a).max() / (1.0 + np.abs(a).max()))


# ------------------------------------------------------------------ trees


def _tree_facts(along: AlongMotion) -> list[Fact]:
    """Return the facts about every tree."""
    robot, (q, v, a), tau = along.robot, along.states, along.tau
    matrix = np.einsum("tij,tj->ti", robot.mass_matrix(q), a) + robot.bias_force(q, v)
    by_matrix = np.abs(matrix - tau).max() / np.abs(tau).max()
    return common("inverse of trees", by_matrix=by_matrix, back=_back(along, tau), power_error=along.power_error)


def _tree_tables(along: AlongMotion) -> dict[str, Table]:
    robot = along.robot
    forces = dict(columns("force", robot.v_names, along.tau, robot.tau_units))
    return {"motion": motion_table(robot, along.time, along.states), "torques": {"time [s]": along.time, **forces}}


def _tree_figures(along: AlongMotion, view: Array) -> dict[str, Drawing]:
    robot, q = along.robot, along.states.q
    some = np.linspace(0, len(q) - 1, 5).astype(int)
    caption = f"At the start, and (faint) later: {along.motion.what}."
    forced = panels(robot, along.tau, FORCES)
    return {
        "system": Sketch(robot, q[some], frame_paths(robot, q), caption, view, 4.0),
        "motion": Curves(along.time, panels(robot, q, MOTIONS), f"Prescribed: {along.motion.what}."),
        "torques": Curves(along.time, forced, "What the joints have to do for this motion."),
    }


# ------------------------------------------------------------------ mechanisms


def _mechanism_facts(along: PrescribedMechanism) -> list[Fact]:
    """Return the facts about every mechanism."""
    mechanism, states, tau = along.mechanism, along.states, along.forces.tau
    ways = [mechanism.inverse_dynamics(*states, method=method) for method in METHODS]
    difference = max(float(np.abs(way - tau).max()) for way in ways) / np.abs(tau).max()
    report = mechanism.mobility(states.q[len(states.q) // 3])
    return common(
        "inverse of mechanisms", freedoms=report.freedoms, motors=len(along.driven),
        gaps=mechanism.closure_error(states.q), by_methods=difference, back=_back(along, tau),
        power_error=along.power_error,
    )  # fmt: skip


def _mechanism_tables(along: PrescribedMechanism) -> dict[str, Table]:
    mechanism, forces, driven = along.mechanism, along.forces, along.driven
    time = {"time [s]": along.time}
    names, units = [mechanism.v_names[k] for k in driven], [mechanism.tau_units[k] for k in driven]
    held = [FORCE_OF[unit] for unit in mechanism.constraint_units]
    return {
        "motion": motion_table(mechanism, along.time, along.states),
        "torques": time | dict(columns("actuator", names, forces.tau[:, driven], units)),
        "multipliers": time
        | _world_axes(along)
        | dict(columns("multiplier", _own_axes(forces.names), forces.multipliers, held)),
        "reactions": time | _reactions(along),
    }


WRENCH = ("moment x", "moment y", "moment z", "force x", "force y", "force z")


def _world_axes(along: PrescribedMechanism) -> dict[str, Array]:
    """Return the forces at cut joints along the world's axes, as the sources plot multipliers (Shah section 8.3)."""
    return {
        f"{loop} {label} along world axes [{'N m' if k < 3 else 'N'}]": along.forces.at(loop)[:, k]
        for loop in along.mechanism.loop_names
        for k, label in enumerate(WRENCH)
    }


def _own_axes(names: Sequence[str]) -> list[str]:
    """Return names of constraints that state their axes: those of the joint, which turn with it."""
    return [re.sub(r" (along|about) (?=[xyz]$)", r" \1 its own ", name) for name in names]


def _reactions(along: PrescribedMechanism) -> dict[str, Array]:
    """Return six numbers per joint: in body axes for joints of the tree, in the moving frame for cut ones."""
    mechanism, forces = along.mechanism, along.forces
    parts = zip(
        [*mechanism.joint_names, *mechanism.loop_names],
        [*np.moveaxis(forces.joint_wrenches, 1, 0), *np.moveaxis(forces.loop_wrenches, 1, 0)],
        strict=True,
    )
    made: dict[str, Array] = {}
    for name, wrench in parts:
        for k, label in enumerate(WRENCH):
            made[f"{name} {label} [{'N m' if k < 3 else 'N'}]"] = wrench[:, k]
    return made


def _mechanism_figures(along: PrescribedMechanism) -> dict[str, Drawing]:
    mechanism, t, q = along.mechanism, along.time, along.states.q
    planar = _is_planar(mechanism, q)
    ghosts = 8 if len(mechanism.body_names) < 4 else 5 if planar else 3
    some = np.linspace(0, len(t) - 1, ghosts + 1).astype(int)[:-1]
    picture = Sketch(
        mechanism, q[some], frame_paths(mechanism, q), f"At the start, and (faint) during {along.motion.what}.",
        PLANE if planar else OBLIQUE, 3.6 if planar else 4.4,
    )  # fmt: skip
    moved = panels(mechanism, q, MOTIONS, most=None)
    forced = panels(mechanism, along.forces.tau, FORCES, along.driven, most=None)
    return {
        "mechanism": picture,
        "motion": Curves(t, moved, f"Joints during {along.motion.what}."),
        "torques": Curves(t, forced, "What the actuators do for this motion."),
        "multipliers": Curves(
            t, _multiplier_panels(along), "Forces and moments at the cut joints along the world's axes, as in books."
        ),
        "reactions": Curves(
            t, [PlotPanel("reaction [N]", _reaction_sizes(along))],
            f"Size of the force in every joint; {', '.join(short(n) for n in mechanism.loop_names)} cut.",
        ),
    }  # fmt: skip


def _is_planar(mechanism: Robot, q: Array) -> bool:
    """Return whether no body ever leaves the plane xy."""
    poses = np.stack([mechanism.pose(q, name) for name in mechanism.body_names])
    level = np.all(np.abs(poses[..., 2, :] - [0.0, 0.0, 1.0, 0.0]) < 1e-12)
    return bool(level) and bool(np.all(np.concatenate(outlines(mechanism))[:, 2] == 0.0))


def _multiplier_panels(along: PrescribedMechanism) -> list[PlotPanel]:
    """Return panels of the forces at cut joints along the world's axes, without directions in which nothing acts."""
    least, made = 1e-9 * np.abs(along.forces.loop_wrenches_world).max(), []
    for label, part in (("force,\nworld axes [N]", 3), ("moment,\nworld axes [N m]", 0)):
        word = "along" if part else "about"
        curves = [
            Curve(f"{short(loop)} {word} {'xyz'[k]}", along.forces.at(loop)[:, part + k])
            for loop in along.mechanism.loop_names
            for k in range(3)
        ]
        acting = [curve for curve in curves if np.abs(curve.y).max() > least]
        if acting:
            made.append(PlotPanel(label, acting))
    return made


def _reaction_sizes(along: PrescribedMechanism) -> list[Curve]:
    mechanism, forces = along.mechanism, along.forces
    sizes = np.concatenate([forces.joint_wrenches[..., 3:], forces.loop_wrenches[..., 3:]], axis=1)
    names = [*mechanism.joint_names, *mechanism.loop_names]
    return [Curve(short(n), np.linalg.norm(sizes[:, k], axis=-1)) for k, n in enumerate(names)]
