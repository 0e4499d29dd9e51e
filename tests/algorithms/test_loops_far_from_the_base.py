"""Loops are computed as seen from the body that carries them, whatever moves it."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from kinetree.algorithms import kinematics, loop_constraints
from kinetree.engine.trace import trace
from kinetree.evaluation.compiler import flatten
from kinetree.spatial.arrays import split


def carried(links):
    """Return a four-bar on the last of some links that turn about all axes, on a free base."""
    builder = kt.Builder(f"four-bar on {links} links")
    for k in range(links):
        joint = kt.Free() if k == 0 else kt.Revolute("xyz"[k % 3])
        builder.body(
            f"link{k}",
            f"link{k - 1}" if k else "base",
            joint,
            position=(0.3, 0.1, -0.2),
            mass=1.0,
            inertia=(0.1, 0.1, 0.1),
        )
    last, hinge = f"link{links - 1}", kt.Revolute("z")
    builder.body("crank", last, hinge, position=(0.1, 0.2, 0.3), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    builder.body("coupler", "crank", hinge, position=(0.3, 0, 0), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
    builder.body("rocker", last, hinge, position=(0.7, 0.2, 0.3), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
    builder.loop("pin", "rocker", "coupler", hinge, placement=(0.4, 0, 0), seat=(0.5, 0, 0))
    return builder.build()


def operations(robot, function, count):
    n = robot.nq, *(robot.nv,) * (count - 1)
    traced = trace(lambda *x: function(robot.model, *x), n, flatten)
    return sum(bool(traced.graph.args[i]) for i in traced.graph.reachable(traced.outputs))


@pytest.mark.parametrize(
    ("function", "count"),
    [(loop_constraints.gaps, 1), (loop_constraints.constraint_matrix, 1), (loop_constraints.drift, 2)],
)
def test_a_loop_costs_the_same_wherever_it_is(function, count):
    assert operations(carried(2), function, count) == operations(carried(9), function, count)


def test_constraints_are_those_of_poses_in_the_world():
    """K and K' v of the two ends, from their Jacobians in the world; the ends need not meet."""
    robot, rng = carried(4), np.random.default_rng(0)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    posed, moving = kinematics.poses(robot.model, split(q)), kinematics.twists(robot.model, split(q), split(v))
    (loop,) = robot.model.loops
    ends = [(loop.predecessor, loop.placement.spatial()), (loop.successor, loop.seat.spatial())]
    a, b = (posed[i].pose @ place for i, place in ends)
    (twist_a, acc_a), (twist_b, acc_b) = (
        [place.motion_to_child(x) for x in (moving[i].velocity, moving[i].acceleration)] for i, place in ends
    )
    relative = a.inverse() @ b
    twist = twist_b - relative.motion_to_child(twist_a)
    bias = acc_b - relative.motion_to_child(acc_a) + twist.cross(relative.motion_to_child(twist_a))
    (closing,) = loop_constraints.closings(robot.model, split(q))
    assert_close([c.gap for c in closing.constraints], [c.gap for c in loop.kind.constraints(relative)], 1e-13)
    k = np.array(loop_constraints.constraint_matrix(robot.model, split(q)), dtype=float)
    assert_close(k @ v, [twist.dot(c.force) for c in closing.constraints], 1e-12)
    rates = loop.kind.constraint_rates(relative, twist)
    wanted = [bias.dot(c.force) + (0.0 if rates is None else twist.dot(r))
              for c, r in zip(closing.constraints, rates or closing.constraints, strict=True)]  # fmt: skip
    assert_close(loop_constraints.drift(robot.model, split(q), split(v)), wanted, 1e-11)
