"""Pinocchio's constrained dynamics as a judge of closed loops.

It knows point (3-D) and weld (6-D) constraints only, so a hinge becomes two points on its
axis: six constraints, one of them redundant, which its proximal iterations resolve.  A
slider or a universal joint at a cut cannot be expressed and is not judged here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import kinetree as kt
from kinetree.model.tree import Loop, Model

Array = np.ndarray


def pinocchio_model(model: Model) -> Any:
    """The spanning tree; hinges, sliders and balls only, whose velocities mean the same."""
    other = pin.Model()
    other.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    index = {-1: 0}
    for i in _depth_first(model):
        joint, body = model.joints[i], model.bodies[i]
        place = se3(joint.placement.matrix)
        index[i] = other.addJoint(index[joint.parent], _joint(joint.kind), place, joint.name)
        properties = body.mass_properties
        inertia = pin.Inertia(properties.mass, np.array(properties.com), np.array(properties.inertia_matrix))
        other.appendBodyToJoint(index[i], inertia, pin.SE3.Identity())
    return other


def _depth_first(model: Model) -> list[int]:
    order: list[int] = []

    def visit(i: int) -> None:
        order.append(i)
        for child in model.children[i]:
            visit(child)

    for root in model.roots:
        visit(root)
    return order


def se3(matrix: Array) -> Any:
    """Pinocchio's pose."""
    return pin.SE3(np.array(matrix))


def _joint(kind: Any) -> Any:
    if isinstance(kind, kt.Revolute):
        return pin.JointModelRevoluteUnaligned(np.array(kind.axis))
    if isinstance(kind, kt.Prismatic):
        return pin.JointModelPrismaticUnaligned(np.array(kind.axis))
    if isinstance(kind, kt.Spherical):
        return pin.JointModelSpherical()
    raise NotImplementedError(kind)


def constraints(mechanism: kt.Mechanism, other: Any) -> list[Any]:
    """Every loop joint as points that stay together, or as a weld."""
    return [c for loop in mechanism.model.loops for c in _constraints(mechanism.model, loop, other)]


def _constraints(model: Model, loop: Loop, other: Any) -> list[Any]:
    def joint(body: int) -> int:
        return 0 if body < 0 else other.getJointId(model.joints[body].name)

    a, b = joint(loop.predecessor), joint(loop.successor)
    at_a, at_b = se3(loop.placement.matrix), se3(loop.seat.matrix)
    if isinstance(loop.kind, kt.Fixed):
        return [pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, other, a, at_a, b, at_b, pin.LOCAL)]
    offsets = [np.zeros(3)]
    if isinstance(loop.kind, kt.Revolute):
        offsets.append(0.3 * np.array(loop.kind.axis))
    elif not isinstance(loop.kind, kt.Spherical):
        raise NotImplementedError(loop.kind)
    points = [pin.SE3(np.eye(3), x) for x in offsets]
    return [
        pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, other, a, at_a * p, b, at_b * p, pin.LOCAL) for p in points
    ]


def rows(mechanism: kt.Mechanism, other: Any) -> tuple[list[int], list[int]]:
    """Where our entries of q and of v sit in Pinocchio's."""
    q, v = [], []
    for joint in mechanism.model.joints:
        theirs = other.joints[other.getJointId(joint.name)]
        q += list(range(theirs.idx_q, theirs.idx_q + theirs.nq))
        v += list(range(theirs.idx_v, theirs.idx_v + theirs.nv))
    return q, v


def accelerations(mechanism: kt.Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Constrained forward dynamics of one state."""
    other = pinocchio_model(mechanism.model)
    data = other.createData()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in constraints(mechanism, other):
        models.append(constraint)
        datas.append(constraint.createData())
    pin.initConstraintDynamics(other, data, models, datas)
    at_q, at_v = rows(mechanism, other)
    theirs = [np.zeros(other.nq), np.zeros(other.nv), np.zeros(other.nv)]
    theirs[0][at_q], theirs[1][at_v], theirs[2][at_v] = q, v, tau
    settings = pin.ProximalSettings(1e-14, 1e-8, 200)
    return np.array(pin.constraintDynamics(other, data, *theirs, models, datas, settings))[at_v]
