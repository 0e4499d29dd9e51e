"""Compound joints as chains of one-DOF joints with massless links between them (Shah section 3.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import ModelError
from ..joint_fields import FIELDS
from ..joints import Compound, Cylindrical, JointKind, Prismatic, Revolute, Step
from ..pose import Pose
from ..tree import BASE, Body, Frame, Joint, Model, lay_out


def expand_in_order(tree: Model) -> tuple[Model, list[int]]:
    """Expand only joints whose coordinates keep their order; also return the new index of each body."""
    return _expand(tree, lambda steps: [s.coordinate for s in steps] == list(range(len(steps))))


def expand(tree: Model) -> Model:
    """Return the same mechanism with every joint that consists of steps replaced by one-DOF joints.

    The parts of joint ``j`` are named ``j_1``, ``j_2``, ... in the order of its
    coordinates; its body keeps its name.  Since coordinates are laid out from the base
    outwards, a planar or free Euler-angle joint, whose slides come first, changes the
    order of its coordinates; all others keep ``q`` and ``v`` as they are.
    """
    return _expand(tree, lambda steps: True)[0]


def _expand(tree: Model, wanted: Callable[[list[Step]], bool]) -> tuple[Model, list[int]]:
    joints: list[Joint] = []
    bodies: list[Body] = []
    new_index: dict[int, int] = {BASE: BASE}
    for i, (joint, body) in enumerate(zip(tree.joints, tree.bodies, strict=True)):
        steps = _steps(joint.kind)
        if steps is not None and not wanted(steps):
            steps = None
        parent = new_index[joint.parent]
        if steps is None:
            joints.append(replace(joint, parent=parent))
            bodies.append(body)
        else:
            for order, step in enumerate(steps):
                last = order == len(steps) - 1
                joints.append(_single(joint, step, parent, joint.placement if order == 0 else Pose()))
                bodies.append(body if last else Body(f"{body.name}_{step.coordinate + 1}"))
                parent = len(joints) - 1
        new_index[i] = len(joints) - 1
    names = [j.name for j in joints] + [b.name for b in bodies]
    if len({j.name for j in joints}) < len(joints) or len({b.name for b in bodies}) < len(bodies):
        raise ModelError(f"the parts of compound joints would clash with existing names: {names}")
    frames = tuple(Frame(f.name, new_index[f.body], f.pose) for f in tree.frames)
    loops = tuple(
        replace(loop, predecessor=new_index[loop.predecessor], successor=new_index[loop.successor])
        for loop in tree.loops
    )
    tendons = tuple(
        replace(t, points=tuple(w._replace(body=new_index[w.body]) for w in t.points)) for t in tree.tendons
    )
    expanded = replace(
        tree, joints=lay_out(joints), bodies=tuple(bodies), frames=frames, loops=loops, tendons=tendons
    )  # fmt: skip
    return expanded, [new_index[i] for i in range(len(tree.bodies))]


def _steps(kind: JointKind) -> list[Step] | None:
    if isinstance(kind, Compound):
        return list(kind.steps())
    if isinstance(kind, Cylindrical):
        return [Step(True, kind.axis, 0), Step(False, kind.axis, 1)]
    return None


def _single(joint: Joint, step: Step, parent: int, placement: Pose) -> Joint:
    k = step.coordinate
    part: dict[str, Any] = {name: getattr(joint, name)[k : k + 1] for name in FIELDS}
    kind: JointKind = Revolute(step.axis) if step.turns else Prismatic(step.axis)
    return Joint(f"{joint.name}_{k + 1}", kind, parent, placement, actuated=joint.actuated, **part)
