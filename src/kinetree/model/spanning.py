"""Another spanning tree for an existing mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..spatial import IDENTITY, Transform, Vec3
from . import configurations
from .builder import ModelBuilder
from .drive_builder import TendonDraft
from .graph import RULES, Draft, inverse
from .joint_fields import JOINT_DATA, LIMITS, passive_data
from .joints import Continuous, Fixed, JointKind, Prismatic, Revolute, Spherical
from .joints.constraints import rotation_vector
from .pose import Pose
from .tree import BASE, Configuration, Frame, Loop, Model

__all__ = ["RULES", "respan"]


def respan(model: Model, cuts: Sequence[str] | None = None, rule: str | None = None) -> Model:
    """Return the same mechanism with other joints cut.

    Poses of bodies and frames keep their meaning, and so do the coordinates of the joints
    that are in both trees; their order in ``q`` may change.  Joints that were cut become
    passive joints of the tree.  Bodies that were split become whole again, and named configurations are kept.

    cuts: Joints to cut; loops that remain are cut by the rule.
    rule: {"minimum_dof", "shortest"}. The first by default; see :mod:`kinetree.model.graph`.

    Raises
    ------
    ModelError
        If a cut disconnects a body, or a joint to cut has a motor, friction or a rotor.
    """
    halves = _halves(model)
    names = {BASE: model.base.name} | {i: body.name for i, body in enumerate(model.bodies)}
    names |= {half: names[body] for half, (body, _) in halves.items()}
    # the pose of each body's frame on the body that it becomes part of
    on = dict.fromkeys(names, Pose()) | {half: pose for half, (_, pose) in halves.items()}
    builder = ModelBuilder(model.name, base=model.base.name, gravity=model.gravity)
    # numbers of a model have been checked already
    builder._bodies = {model.base.name: model.base.mass_properties}
    builder._bodies |= {body.name: body.mass_properties for i, body in enumerate(model.bodies) if i not in halves}
    for half, (body, pose) in halves.items():
        builder._bodies[names[body]] = builder._bodies[names[body]] + model.bodies[half].mass_properties.moved(pose)
    for i, joint in enumerate(model.joints):
        data = {key: getattr(joint, key) for key in JOINT_DATA}
        builder._joints[joint.name] = Draft(
            joint.name, names[joint.parent], names[i], joint.kind, joint.placement, inverse(on[i]), data
        )
    builder._loops = {loop.name: _draft(loop, names, on) for loop in model.loops if loop.successor not in halves}
    frames = {frame.name for frame in model.frames}
    for tendon in model.tendons:
        points = [
            (p.frame, p.offset) if p.frame in frames
            else (names[p.body], (on[p.body] @ Pose.of(p.position)).translation)
            for p in tendon.points
        ]  # fmt: skip
        own = dict(zip(tendon.joints, tendon.coefficients, strict=True))
        builder._tendons[tendon.name] = TendonDraft(
            tendon.name, own, points, tendon.stiffness, tendon.rest, tendon.damping
        )
    builder._actuators = {actuator.name: actuator for actuator in model.actuators}
    builder._couplings = {coupling.name: coupling for coupling in model.couplings}
    builder._frames = {frame.name: (names[frame.body], on[frame.body] @ frame.pose) for frame in model.frames}
    builder._configurations = {found.name: _positions(model, found) for found in model.configurations}
    return _without_needless_frames(builder.model(merge_fixed=False, cuts=list(cuts or ()), rule=rule))


def _halves(model: Model) -> dict[int, tuple[int, Pose]]:
    """Return bodies that are halves of others (:func:`kinetree.model.graph.split`), the others, and poses on them."""
    found = {}
    for loop in model.loops:
        here, there = loop.predecessor, loop.successor
        if isinstance(loop.kind, Fixed) and BASE not in (here, there) and there not in model.parents:
            joint, half = model.joints[there].name, model.bodies[there].name
            if f"_at_{joint}" in half and loop.name.startswith(f"{joint}_weld"):
                found[there] = here, loop.placement @ inverse(loop.seat)
    return found


def _positions(model: Model, found: Configuration) -> dict[str, tuple[float, ...]]:
    """Return a configuration by joint, with the positions of joints that were cut."""
    q = [float(x) for x in configurations.named(model, found.name)]
    poses: dict[int, Transform] = {BASE: IDENTITY}
    for i, link in enumerate(model.links):
        poses[i] = poses[link.parent] @ link.transform(link.position(q))
    result = dict(found.positions)
    for loop in model.loops:
        here = poses[loop.predecessor] @ loop.placement.spatial()
        there = poses[loop.successor] @ loop.seat.spatial()
        position = _position(loop.kind, (here.inverse() @ there).collapsed())
        if position is not None:
            result[loop.name] = position
    return result


def _position(kind: JointKind, x: Transform) -> tuple[float, ...] | None:
    """Return the position of a joint whose moving frame has this pose; None for kinds that are not supported."""
    if isinstance(kind, Prismatic):
        return (float(Vec3(*kind.axis).dot(x.translation)),)
    turn = rotation_vector(x)
    if isinstance(kind, (Revolute, Continuous)):
        return (float(Vec3(*kind.axis).dot(turn)),)
    if isinstance(kind, Spherical):
        angle = math.sqrt(float(turn.dot(turn)))
        scale = math.sin(angle / 2) / angle if angle else 0.5
        return (*(float(c) * scale for c in turn), math.cos(angle / 2))
    return None


def _draft(loop: Loop, names: dict[int, str], on: dict[int, Pose]) -> Draft:
    data = passive_data(loop.kind)
    data |= {key: getattr(loop, key) for key in LIMITS if getattr(loop, key)}
    ends = names[loop.predecessor], names[loop.successor]
    placement, seat = on[loop.predecessor] @ loop.placement, on[loop.successor] @ loop.seat
    return Draft(loop.name, *ends, loop.kind, placement, inverse(seat), data, seat)


def _without_needless_frames(model: Model) -> Model:
    """Return a model without the frames of joints and bodies, which exist implicitly."""
    usual = {Frame(j.name, i) for i, j in enumerate(model.joints)} | {
        Frame(b.name, i) for i, b in enumerate(model.bodies)
    }
    return replace(model, frames=tuple(f for f in model.frames if f not in usual))
