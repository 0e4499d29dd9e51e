"""The joints that a controller drives, their desired motion, and the refusal of forces on joints without a motor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import hybrid, newton_euler
from ..errors import OptionError, ShapeError
from ..evaluation.law_failures import Fault
from ..evaluation.law_kernels import constant, is_traced
from ..model.tree import Joint, Model
from ..motion.trajectory_interface import Trajectory
from ..robot.robot import Robot
from ..spatial import Force, Scalar
from ..spatial.numbers import shown

Scalars = Sequence[Scalar]


def idle_joints(tree: Model) -> list[Joint]:
    """Return the joints without a motor that have coordinates of their own."""
    driven = {j.name for j in tree.driven_joints}
    return [j for j in tree.joints if j.name not in driven and not j.mimic]


def spread(tree: Model, joints: Sequence[Joint], values: Scalars) -> list[Scalar]:
    """Return one value per degree of freedom of the tree: those of some joints, and zero for the others."""
    result: list[Scalar] = [0.0] * tree.nv
    rest = iter(values)
    for joint in joints:
        for k in joint.freedoms:
            result[k] = next(rest)
    return result


def gathered(joints: Sequence[Joint], values: Scalars) -> list[Scalar]:
    """Return the velocities (or forces) of some joints from those of the tree."""
    return [x for j in joints for x in values[j.v_slice]]


def forces_for(
    tree: Model, q: Scalars, v: Scalars, driven: Sequence[Joint], a: Scalars, loads: Sequence[Force | None] | None
) -> tuple[list[Scalar], list[Scalar]]:
    """Return all accelerations and forces if the driven joints accelerate as desired and nothing drives the others.

    With a floating base this is Shah eq. 9.8-9.9: first the acceleration of the base, then the forces.
    """
    given = spread(tree, driven, a)
    if not idle_joints(tree):
        return given, newton_euler.inverse_dynamics(tree, q, v, given, tree.gravity, loads)[0]
    names = {j.name for j in driven} | {j.name for j in tree.joints if j.mimic and _follows(tree, j, driven)}
    known = [j.name in names for j in tree.joints]
    solve = hybrid.by_partition if tree.has_followers else hybrid.hybrid_dynamics
    return solve(tree, q, v, given, known, tree.gravity, loads)


def _follows(tree: Model, joint: Joint, driven: Sequence[Joint]) -> bool:
    return joint.mimic is not None and joint.mimic.leader in {j.name for j in driven}


class TrackingError(NamedTuple):
    """The errors of joints relative to the desired motion, and its acceleration."""

    position: list[Scalar]
    velocity: list[Scalar]
    acceleration: list[Scalar]


def tracking_error(
    tree: Model, trajectory: Trajectory, t: Scalar, q: Scalars, v: Scalars, joints: Sequence[Joint] | None = None
) -> TrackingError:
    """Return the desired motion minus the actual one, joint by joint; for orientations, the shortest rotation."""
    followed = tree.driven_joints if joints is None else joints
    desired = desired_motion(tree, trajectory, t, followed)
    position = [x for j, goal in zip(followed, desired.per_joint, strict=True)
                for x in j.kind.difference(q[j.q_slice], goal)]  # fmt: skip
    velocity = [d - w for d, w in zip(desired.velocity, gathered(followed, v), strict=True)]
    return TrackingError(position, velocity, desired.acceleration)


class Desired(NamedTuple):
    """The desired motion of some joints."""

    per_joint: list[list[Scalar]]
    velocity: list[Scalar]
    acceleration: list[Scalar]


def desired_motion(tree: Model, trajectory: Trajectory, t: Scalar, joints: Sequence[Joint] | None = None) -> Desired:
    """Return a trajectory of some joints (by default the driven ones), or of all joints, at a time."""
    followed = tree.driven_joints if joints is None else joints
    if not hasattr(trajectory, "at"):
        raise OptionError(
            f"the desired motion must be one of kinetree.trajectories, not {trajectory!r}; "
            "to stay at a position: trajectories.Constant(position)"
        )
    q, v, a = trajectory.at(t)
    nq, nv = sum(j.nq for j in followed), sum(j.nv for j in followed)
    if len(v) == nv and len(q) == nq:
        parts, first = [], 0
        for j in followed:
            parts.append(q[first : first + j.nq])
            first += j.nq
        return Desired(parts, v, a)
    if len(v) == tree.nv and len(q) == tree.nq:
        return Desired([q[j.q_slice] for j in followed], gathered(followed, v), gathered(followed, a))
    which = "driven ones" if all(j.actuated for j in followed) else "coordinates"
    raise ShapeError(
        f"the trajectory moves {len(v)} degrees of freedom; robot {tree.name!r} has {nv} {which} "
        f"({', '.join(j.name for j in followed[:6])}{', ...' if len(followed) > 6 else ''}) and {tree.nv} in all"
    )


# ---------------------------------------------------------------- models that controllers compute with


def checked_model(model: Any) -> Robot:
    """Return the robot that a controller computes with, or raise an error if it is not one."""
    if not isinstance(model, Robot):
        raise OptionError(f"the model that a controller computes with must be a robot, not {shown(model)}")
    return model


def refuse_other_joints(model: Robot, tree: Model) -> None:
    """Refuse a model whose coordinates or motors are not those of the robot that is driven."""
    for what, theirs, own in (
        ("joints", _joints(model.model), _joints(tree)),
        ("motors", [j.name for j in model.model.driven_joints], [j.name for j in tree.driven_joints]),
    ):
        if theirs != own:
            only = [name for name in own if name not in theirs] or [name for name in theirs if name not in own] or own
            raise OptionError(
                f"the controller computes with {model.name!r}, whose {what} are not those of {tree.name!r}, which it "
                f"drives: see {only[0]!r}"
            )


def _joints(tree: Model) -> list[str]:
    return [f"{j.name} ({j.nq}, {j.nv})" if j.nq != 1 else j.name for j in tree.joints if not j.mimic]


# ---------------------------------------------------------------- joints without a motor


def motorless(tree: Model) -> dict[int, str]:
    """Return the indices in v, with joint names, of the degrees of freedom without a motor."""
    pulled = driven_by_tendons(tree)
    idle = {k: j.name for j in idle_joints(tree) for k in j.freedoms}
    return {k: name for k, name in idle.items() if k not in pulled}


def driven_by_tendons(tree: Model) -> set[int]:
    """Return the indices in v of the freedoms that an actuator drives through a tendon."""
    used = {a.tendon for a in tree.actuators}
    found: set[int] = set()
    for tendon in tree.tendons:
        if tendon.name in used:
            found |= {tree.links[tree.joint_index[name]].v_slice.start for name in tendon.joints}
            carriers = {i for p in tendon.points for i in tree.support(p.body)}
            found |= {k for i in carriers for k in tree.links[i].freedoms}
    return found


def refuse_motorless(joints: dict[int, str], tau: Sequence[Scalar], t: Any) -> None:
    """Refuse forces on joints without a motor.

    Numbers must be zero (or NaN, which passes through).  A traced law must be the constant zero there; this check costs
    nothing at run time, and covers all times and states.
    """
    for place, name in joints.items():
        if not _is_nothing(tau[place]):
            raise asked_too_much(name, _shown(tau[place]), t)


def asked_too_much(name: str, amount: str, t: Any) -> Fault:
    """Return the fault of a controller that asks for a force at a joint without a motor."""
    when = float(t) if isinstance(t, (int, float)) else math.nan  # a node or a batch: the run has the time
    return Fault(
        f"the controller asks for a force{amount} at joint {name!r}, which has no motor: give exactly 0.0 there, or "
        "give the joint a motor, actuated=True; what pushes from outside is a force element, forces=[...]",
        when,
        name,
    )


def _is_nothing(force: Any) -> bool:
    if is_traced(force):
        return False
    force = constant(force)
    if isinstance(force, float):
        return force == 0.0 or math.isnan(force)
    values = np.asarray(force, dtype=float)
    return not np.any((values != 0.0) & ~np.isnan(values))


def _shown(force: Any) -> str:
    if is_traced(force) or np.ndim(force):
        return ""
    return f" of {float(constant(force)):.6g}"
