"""Another spanning tree for a mechanism that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .builder import JOINT_DATA, ModelBuilder
from .drives import TendonDraft
from .graph import LIMITS, RULES, Draft, inverse, passive_data
from .pose import Pose
from .tree import BASE, Frame, Loop, Model

__all__ = ["RULES", "respan"]


def respan(model: Model, cuts: Sequence[str] | None = None, rule: str | None = None) -> Model:
    """Return the same mechanism with other joints cut.

    Poses of bodies and frames keep their meaning, and so do the coordinates of the joints
    that are in both trees; their order in ``q`` may change.  Joints that were cut become
    passive joints of the tree.

    Parameters
    ----------
    model : Model
    cuts : names of joints, optional
        Joints to cut; the loops they leave are cut by the rule.
    rule : {"minimum_dof", "shortest"}, optional
        The first by default; see :mod:`kinetree.model.graph`.

    Raises
    ------
    ModelError
        A cut leaves a body hanging, or a joint to cut has a motor, friction or a rotor.
    """
    names = {BASE: model.base.name} | {i: body.name for i, body in enumerate(model.bodies)}
    builder = ModelBuilder(model.name, base=model.base.name, gravity=model.gravity)
    # what is in a model has been checked
    builder._bodies = {body.name: body.mass_properties for body in (model.base, *model.bodies)}
    for i, joint in enumerate(model.joints):
        data = {key: getattr(joint, key) for key in JOINT_DATA if key != "child_pose"}
        data["friction_offset"] = joint.friction_offset
        builder._joints[joint.name] = Draft(
            joint.name, names[joint.parent], names[i], joint.kind, joint.placement, Pose(), data
        )
    builder._loops = {loop.name: _draft(loop, names) for loop in model.loops}
    for tendon in model.tendons:
        points = [(names[p.body], p.position) for p in tendon.points]
        own = dict(zip(tendon.joints, tendon.coefficients, strict=True))
        builder._tendons[tendon.name] = TendonDraft(
            tendon.name, own, points, tendon.stiffness, tendon.rest, tendon.damping
        )
    builder._actuators = {actuator.name: actuator for actuator in model.actuators}
    builder._couplings = {coupling.name: coupling for coupling in model.couplings}
    builder._frames = {frame.name: (names[frame.body], frame.pose) for frame in model.frames}
    return _without_needless_frames(builder.model(merge_fixed=False, cuts=list(cuts or ()), rule=rule))


def _draft(loop: Loop, names: dict[int, str]) -> Draft:
    data = passive_data(loop.kind)
    data |= {key: getattr(loop, key) for key in LIMITS if getattr(loop, key)}
    ends = names[loop.predecessor], names[loop.successor]
    return Draft(loop.name, *ends, loop.kind, loop.placement, inverse(loop.seat), data, loop.seat)


def _without_needless_frames(model: Model) -> Model:
    """Leave out the frames that say of a joint or a body what holds anyway."""
    usual = {Frame(j.name, i) for i, j in enumerate(model.joints)} | {
        Frame(b.name, i) for i, b in enumerate(model.bodies)
    }
    return replace(model, frames=tuple(f for f in model.frames if f not in usual))
