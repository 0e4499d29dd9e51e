"""Gaits in study files: legs by the names of their joints, the numbers of a step, and where the trunk starts."""

from __future__ import annotations

import numpy as np

from ...control.driven_joints import idle_joints
from ...errors import OptionError
from ...model.formats.yaml_nodes import Node, NodeReader
from ...motion import trajectories
from ...motion.walking.gaits import COORDINATES, Leg, Walk, angles_of, leg_coordinates, put_base
from ...motion.walking.legs import Gait
from ...robot.robot import Robot
from ...spatial.arrays import Array

GAIT_KEYS = (
    "period", "stride", "height", "foot_height", "side", "pendulum_height", "above_hip", "duration", "legs",
)  # fmt: skip

LEG_KEYS = ("joints", "angles", "thigh", "shank", "group", "hip")


def read_gait(
    reader: NodeReader, robot: Robot, q: Array, fields: dict[str, Node], node: Node
) -> tuple[trajectories.Trajectory, Walk, float]:
    """Read a walk of all driven joints in the robot's order, that of the legs, and the base's height above the hips.

    Driven joints that do not belong to a leg keep their positions in ``q``.
    """
    missing = [key for key in ("period", "stride", "height", "foot_height", "legs", "duration") if key not in fields]
    if missing:
        raise reader.error(f"a motion of kind 'gait' needs {missing[0]!r}", node)
    number = {key: reader.number(fields[key], key) for key in fields if key not in ("kind", "legs", "duration")}
    above, stride = number.pop("above_hip", 0.0), number.pop("stride")
    gait = Gait(start=-0.5 * stride, stride=stride, gravity=float(np.linalg.norm(robot.gravity)), **number)
    legs, names = [], []
    for item in reader.items(fields["legs"], "legs"):
        with reader.at(item):
            leg, joints = _leg(reader, robot, item)
        legs.append(leg)
        names += joints
    each = list(dict.fromkeys(names))
    twice = next((name for name in each if names.count(name) > robot.joint(name).nv), None)
    if twice is not None:
        raise reader.error(f"joint {twice!r} belongs to two legs, or to one twice", fields["legs"])
    walk = Walk(gait, legs)
    with reader.at(fields["legs"]):
        walk.check(robot, each, lengths=False)
    return _whole(robot, q, walk, names), walk, above


def _leg(reader: NodeReader, robot: Robot, node: Node) -> tuple[Leg, list[str]]:
    given = reader.fields(node, "a leg", LEG_KEYS, required=("joints", "thigh", "shank", "group"))
    joints = [reader.text(item, "a joint of a leg") for item in reader.items(given["joints"], "joints")]
    driven = {j.name: j for j in robot.model.driven_joints}
    for item, name in zip(reader.items(given["joints"], "joints"), joints, strict=True):
        robot.joint(name)  # raises an error that suggests the intended name
        if name not in driven:
            raise reader.error(f"joint {name!r} cannot be part of a leg: it needs a motor", item)
    places = [place for name in joints for place in angles_of(robot, name)]
    names = [name for name in joints for _ in angles_of(robot, name)]
    angles = leg_coordinates(robot, places) or COORDINATES[: len(places)]
    if "angles" in given:
        angles = tuple(reader.text(item, "an angle of a leg") for item in reader.items(given["angles"], "angles"))
    if len(angles) != len(places):
        has = f"a leg with {len(joints)} joints" + (f" of {len(places)} angles" if len(places) > len(joints) else "")
        raise reader.error(f"{has} needs as many angles, not {len(angles)}", node)
    hip = reader.numbers(given["hip"], "hip", 2) if "hip" in given else [0.0, 0.0]
    group = reader.number(given["group"], "group")
    if group not in (0.0, 1.0):
        said = f"a leg belongs to group 0 (stands first) or 1 (swings first), not {group:g}"
        raise reader.error(said, given["group"])
    thigh, shank = (reader.number(given[key], key) for key in ("thigh", "shank"))
    return Leg(thigh, shank, int(group), (hip[0], hip[1]), angles), names


def _whole(robot: Robot, q: Array, walk: Walk, names: list[str]) -> trajectories.Trajectory:
    """Return the motion of all driven joints, in the robot's order."""
    driven = robot.model.driven_joints
    still = [j for j in driven if j.name not in names]
    if any(j.nq != j.nv for j in still):
        raise OptionError("a joint with a quaternion that belongs to no leg cannot stay where it is while others walk")
    parts: list[trajectories.Trajectory] = [walk]
    if still:
        parts.append(trajectories.Constant(np.concatenate([q[j.q_slice] for j in still])))
    places = [*names, *(j.name for j in still for _ in range(j.nv))]
    order: list[int] = []
    for joint in driven:
        order += [k for k, name in enumerate(places) if name == joint.name]
    return trajectories.Picked(trajectories.Stacked(parts), order)


def walking_start(robot: Robot, motion: trajectories.Trajectory, walk: Walk, above: float) -> tuple[Array, Array]:
    """Return the initial state of a walk: its joints, and the base upright above the hips and moving with them.

    The base may have any kind of joint whose coordinates in meters translate it while it is upright.
    """
    q, v = robot.neutral(), np.zeros(robot.nv)
    positions, rates, _ = motion(0.0)
    first = 0
    for joint in robot.model.driven_joints:
        q[joint.q_slice], v[joint.v_slice] = positions[first : first + joint.nq], rates[first : first + joint.nv]
        first += joint.nq
    idle = idle_joints(robot.model)
    if idle:
        place, speed, _ = walk.trunk(above)(0.0)
        put_base(robot, idle[0], q, v, place, speed)
    return q, v
