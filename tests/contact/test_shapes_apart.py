"""Shapes that are apart do not act on one another, not even in an implicit step that begins at rest."""

import itertools

import numpy as np
import pytest

import kinetree as kt

S = kt.shapes
CORNERS = list(itertools.product((-0.05, 0.05), (-0.06, 0.06), (-0.05, 0.05)))
SHAPES = [S.Sphere(0.05), S.Box((0.1, 0.1, 0.1)), S.Capsule(0.05, 0.2), S.Cylinder(0.05, 0.1), S.ConvexHull(CORNERS)]
ON_THE_FLOOR = [("floor", "thing")]
IMPLICIT = {"integrator": "implicit_euler", "step": 4e-3}
PUSH = kt.forces.Push("thing", (3.0, 0.0, 0.0))
SAME = {"rel": 0.0, "abs": 1e-14}


def room(shape, place, backend):
    """A shape that rests on the floor, and another one that falls from rest along a slide beside it."""
    slider = kt.Builder("slider").body("s", "base", kt.Prismatic("z"), mass=1.0).shape("s", shape).build()
    height = 0.15 if shape.name == "capsule" else 0.05
    thing = kt.Thing(shape, mass=0.3, position=(place, 0.0, height - 1e-6))
    made = kt.scene(robots={"r": kt.Placed(slider, (0, 0, 1.0))}, things={"thing": thing}, terrain=kt.terrain.floor())
    return kt.Robot(made.model, backend=backend)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_run_is_the_same_with_and_without_pairs_that_are_apart(shape):
    robot = room(shape, 0.5, "reference")
    every, some = (
        kt.simulate(robot, time=0.016, ground=ground, forces=[PUSH], samples=3, **IMPLICIT)
        for ground in (kt.forces.ShapeContact.of(robot, pairs) for pairs in (None, ON_THE_FLOOR))
    )
    assert every.q[-1, 0] == pytest.approx(-9.81 * 0.004**2 * 10, rel=1e-9)  # it falls freely: 1 + 2 + 3 + 4 steps
    assert every.q == pytest.approx(some.q, **SAME)
    assert every.v == pytest.approx(some.v, **SAME)


def test_in_a_world_that_is_apart_nothing_is_felt_of_one_that_touches():
    robot = room(S.Sphere(0.05), 0.09, "compiled")
    start = np.tile([0.0, 0, 0, 0, 1, 0.09, 0, 0.05 - 1e-6], (3, 1))
    start[:, 0] = [-0.906, 0.0, -0.2]  # the first one falls onto the side of the ball
    ends = []
    for pairs in (None, ON_THE_FLOOR):
        world = kt.World(
            robot, batch=3, q0=start, ground=kt.forces.ShapeContact.of(robot, pairs), substeps=50, **IMPLICIT
        )
        world.step(np.zeros((3, 1)))
        ends.append(world.q)
    every, some = ends
    assert abs(every[0, 5] - some[0, 5]) > 1e-4
    assert every[1:] == pytest.approx(some[1:], **SAME)


def test_a_push_moves_a_body_in_the_air_as_if_there_were_no_floor():
    robot = room(S.Box((0.1, 0.1, 0.1)), 0.5, "reference")
    start = [0, 0, 0, 0, 1, 0.5, 0, 2.0]
    grounds = (kt.forces.ShapeContact.of(robot), None)
    near, free = (
        kt.simulate(robot, start, time=0.008, ground=ground, forces=[PUSH], samples=2, **IMPLICIT) for ground in grounds
    )
    assert free.v[-1, 4] == pytest.approx(3.0 / 0.3 * 0.008, rel=1e-9)
    assert near.v == pytest.approx(free.v, **SAME)
    assert near.q == pytest.approx(free.q, **SAME)
