"""Trees of many bodies, and Pinocchio's models of them."""

import numpy as np

import kinetree as kt


def chain(n, **options):
    """A chain of links that differ in size, on hinges about x, y, z in turn."""
    rng = np.random.default_rng(0)
    builder = kt.Builder(f"chain of {n}")
    for i in range(n):
        size = rng.uniform(0.9, 1.1)
        builder.body(
            f"l{i}", f"l{i - 1}" if i else "base", kt.Revolute("xyz"[i % 3]), position=(0.1 * size, 0, 0),
            mass_properties=kt.MassProperties.of(0.5 * size, (0.05, 0.01, 0), (0.001, 0.002, 0.002)),
        )  # fmt: skip
    return builder.build()


def separate(robot):
    """Pairs of freedoms of which none carries the other."""
    parents = robot.model.dof_parents
    related = np.eye(robot.nv, dtype=bool)
    for k in range(robot.nv):
        carrier = parents[k]
        while carrier >= 0:
            related[k, carrier] = related[carrier, k] = True
            carrier = parents[carrier]
    return ~related


def pinocchio_model(pinocchio, robot):
    model, last = pinocchio.Model(), 0
    joints = (pinocchio.JointModelRX, pinocchio.JointModelRY, pinocchio.JointModelRZ)
    for i, (joint, body) in enumerate(zip(robot.model.joints, robot.model.bodies, strict=True)):
        place = pinocchio.SE3(np.eye(3), np.array(joint.placement.position))
        last = model.addJoint(last, joints[i % 3](), place, joint.name)
        mass = body.mass_properties
        inertia = pinocchio.Inertia(mass.mass, np.array(mass.com), mass.inertia_matrix)
        model.appendBodyToJoint(last, inertia, pinocchio.SE3.Identity())
    return model
