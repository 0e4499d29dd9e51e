"""``kinetree info``: a robot as text or JSON."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from ..errors import KinetreeError
from ..io.other_programs import of_program
from ..model.joint_fields import FIELDS
from ..model.mass import MassProperties
from ..model.parameters import mass_properties_to_table
from .shared import GivenRobot, Json, make_console, print_json, takes_robot

if TYPE_CHECKING:
    from ..loops.mobility import Mobility
    from ..robot.robot import Robot


@takes_robot
def info(given: GivenRobot, as_json: Json = False) -> None:
    """Show a robot: its tree, joints, masses, limits, frames; for a mechanism also loops and remaining freedoms.

    Joints are shown with their index in q (and in v, if it differs): the order in which all commands and methods expect
    numbers.

    For example:

        kinetree info kuka-kr5
        kinetree info four-bar --json
    """
    robot = given.load()
    mobility, geometry = _mobility(robot), of_program("symoro").geometric_table(robot.model)
    if as_json:
        print_json(_describe(robot) | _describe_loops(robot, mobility) | {"geometry": geometry})
        return
    text = robot.describe()
    if isinstance(mobility, str):
        text += f"\nmobility unknown: {mobility}"
    elif mobility is not None:
        text += f"\n{mobility}"
    text += _geometry(geometry)
    make_console().print(escape(text), soft_wrap=True)


def _mobility(robot: Robot) -> Mobility | str | None:
    """Return the mobility of a mechanism, or a text on why it is unknown; None for trees."""
    if robot.loops is None:
        return None
    try:
        return robot.mobility()
    except KinetreeError as problem:
        return str(problem)


def _geometry(rows: list[dict[str, str]]) -> str:
    """Return the table of geometric parameters, without columns of zeros that only trees with branches have."""
    if not rows:
        return ""
    keys = [k for k in rows[0] if k not in ("gamma", "b") or any(row[k] != "0" for row in rows)]
    lines = [keys, *([row[k] for k in keys] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = ("  ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)).rstrip() for line in lines)
    head = "geometric parameters (modified Denavit-Hartenberg; d and r are a and b of ReDySim's table):"
    return "\n".join(["", head, *(f"  {line}" for line in table)])


def _describe_loops(robot: Robot, mobility: Mobility | str | None) -> dict[str, Any]:
    model = robot.model
    names = [robot.base_name, *robot.body_names]
    loops = [
        {
            "name": loop.name, "kind": loop.kind.name, "predecessor": names[loop.predecessor + 1],
            "successor": names[loop.successor + 1], "constraints": loop.count,
        }
        for loop in model.loops
    ]  # fmt: skip
    if isinstance(mobility, str) or mobility is None:
        return {"loops": loops, "mobility": None}
    found = {
        "freedoms": mobility.freedoms, "gruebler": mobility.gruebler, "constraints": mobility.constraints,
        "rank": mobility.rank, "redundant": mobility.redundant, "independent": mobility.independent,
    }  # fmt: skip
    return {"loops": loops, "mobility": found}


def _describe(robot: Robot) -> dict[str, Any]:
    model = robot.model
    names = [robot.base_name, *robot.body_names]  # a parent of -1 is the base
    joints = [
        {
            "name": joint.name, "kind": joint.kind.name, "parent": names[joint.parent + 1], "body": body,
            "q": [joint.q_slice.start, joint.q_slice.stop], "v": [joint.v_slice.start, joint.v_slice.stop],
            **{name: getattr(joint, name) for name in FIELDS}, "armature": joint.armature, "actuated": joint.actuated,
            "mimic": dataclasses.asdict(joint.mimic) if joint.mimic else None,
        }
        for joint, body in zip(model.joints, robot.body_names, strict=True)
    ]  # fmt: skip
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": robot.mass,
        "gravity": list(model.gravity),
        "floating_base": robot.is_floating,
        "base": robot.base_name,
        "joints": joints,
        "bodies": [
            {"name": b.name, "mass": b.mass, "com": b.mass_properties.com, "inertia": b.mass_properties.inertia}
            if isinstance(b.mass_properties, MassProperties)
            else {"name": b.name, "mass": b.mass, "parameters": mass_properties_to_table(b.mass_properties)}
            for b in model.bodies
        ],
        "symbols": robot.symbols,
        "frames": robot.frame_names,
    }
