"""Limits on the distance between shapes: a block that slides past a ball, by a half circle's worth of detour."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, UnknownNameError

S, o = kt.shapes, kt.optimize


def slider(obstacle=True):
    b = kt.Builder("slider", gravity=(0, 0, 0))
    b.body("beam", "base", kt.Prismatic("x"), joint_name="x")
    b.body("head", "beam", kt.Prismatic("y"), mass=1.0, joint_name="y")
    b.shape("head", S.Sphere(0.05))
    if obstacle:
        b.shape("base", S.Sphere(0.2), (0.5, -0.02, 0), name="post")
    return kt.Robot(b.build().model, backend="compiled")


def test_a_head_goes_around_a_ball_at_the_distance_that_was_asked_for():
    robot = slider()
    costs, end = [o.Effort(weight=1.0)], [o.Positions([1.0, 0.0], at="end"), o.Velocities(at="end")]
    apart = o.Bounded(o.Clearance([("head", "post")], at="always"), lower=0.03)
    straight = kt.optimize(robot, [0.0, 0.0], horizon=1.0, step=0.025, costs=costs, limits=end)
    assert robot.clearance(straight.q).smallest.min() < 0.0
    plan = kt.optimize(
        robot,
        [0.0, 0.0],
        horizon=1.0,
        step=0.025,
        costs=costs,
        limits=[*end, apart],
        initial_guess=np.tile([0.0, 0.3], (40, 1)),
    )
    assert plan.success
    least = robot.clearance(plan.q).smallest
    assert least.min() == pytest.approx(0.03, abs=1e-4)
    assert plan.q[-1] == pytest.approx([1.0, 0.0], abs=1e-4)
    assert plan.q[20, 1] == pytest.approx(0.26, abs=0.02)


def test_it_says_which_shapes_there_are():
    costs = [o.Effort()]
    with pytest.raises(UnknownNameError, match="post"):
        kt.optimize(
            slider(), [0.0, 0.0], horizon=1.0, costs=costs, limits=[o.Bounded(o.Clearance([("head", "pots")]), 0.0)]
        )
    with pytest.raises(ModelError, match="none of its 1 shapes may touch another"):
        kt.optimize(slider(False), [0.0, 0.0], horizon=1.0, costs=costs, limits=[o.Bounded(o.Clearance(), 0.0)])
