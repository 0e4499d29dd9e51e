"""Worlds with shapes: terrain of their own, sensors of contact and of the ground, ends by touching."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, OptionError, UnknownNameError, UnsupportedError

S, G = kt.shapes, 9.81
FIXED = {"integrator": "implicit_euler", "step": 2e-3}


def stairs(rise, tread=0.5):
    return kt.terrain.floor() + kt.terrain.stairs(3, rise=rise, tread=tread)


@pytest.fixture(scope="module")
def room():
    ball = kt.Thing(S.Sphere(0.1), mass=2.0, position=(1.2, 0, 0.6), rolling_friction=1e-3)
    return kt.Robot(kt.scene(things={"ball": ball}, terrain=stairs(0.1)).model, backend="compiled")


def test_every_world_has_its_own_stairs(room):
    rises = np.array([0.05, 0.1, 0.12, 0.15, 0.02])
    ground = kt.forces.ShapeContact.of(room, terrains=[stairs(h) for h in rises])
    world = kt.World(
        room, batch=5, ground=ground, substeps=500, **FIXED,
        observe=lambda m: m.height_scan("ball", [(0.0, 0.0), (0.5, 0.0), (0.0, 5.0)]),
    )  # fmt: skip
    world.step()
    assert world.q[:, 6] == pytest.approx(2 * rises + 0.1 - 2 * G / 1e5, abs=1e-5)
    below = world.observe()
    assert below[:, 0] == pytest.approx(-0.1, abs=1e-3)
    assert below[:, 1] == pytest.approx(rises - 0.1, abs=1e-3)
    assert below[:, 2] == pytest.approx(-2 * rises - 0.1, abs=1e-3)
    alone = kt.World(room, ground=kt.forces.ShapeContact.of(room, terrains=[stairs(0.12)]), substeps=500, **FIXED)
    alone.step()
    assert alone.q[0] == pytest.approx(world.q[2], abs=1e-12)
    record = kt.simulate(room, time=1.0, ground=ground, samples=2, **FIXED)
    assert record.q[-1] == pytest.approx(world.q, abs=1e-12)


def test_forces_and_flags_of_contact(room):
    sensors = [
        kt.sensors.ContactForce("ball"), kt.sensors.ContactForce("step_2"), kt.sensors.Collision("ball", "step_2"),
        kt.sensors.Collision("ball", "floor"), kt.sensors.HeightScan.grid("ball", (0.2, 0.2), 0.1),
    ]  # fmt: skip
    world = kt.World(
        room, batch=2, ground=kt.forces.ShapeContact.of(room), substeps=500, **FIXED, sensors=sensors,
        q0=[[0, 0, 0, 1, 1.2, 0, 0.3], [0, 0, 0, 1, 1.2, 0, 9.3]],
        reward=lambda m: kt.where(m.touches("ball"), 1.0, 0.0) - m.contact_force("world", "ball").z,
        ended=lambda m: m.touches("ball", "step_2"),
        observe=lambda m: [m.clearance("ball", "step_2")],
    )  # fmt: skip
    stepped = world.step()
    sensed = world.sense()
    assert sensed["ball.force_z"] == pytest.approx([2 * G, 0], abs=1e-3)
    assert sensed["step_2.force_z"] == pytest.approx([-2 * G, 0], abs=1e-3)
    assert sensed["ball-step_2.touches"].tolist() == [1, 0]
    assert sensed["ball-floor.touches"].tolist() == [0, 0]
    assert sensed["ball.height[4]"] == pytest.approx([-0.1, -2.0], abs=1e-3)
    assert stepped.ended.tolist() == [True, False]
    assert stepped.reward == pytest.approx([1 + 2 * G, 0], abs=1e-3)
    assert stepped.observation[0] == pytest.approx([-2 * G / 1e5], abs=1e-6)


def test_spots_on_a_surface_have_forces_and_a_height_too():
    robot = kt.Builder("cube").body("cube", "base", kt.Free(), mass=1.0, inertia=(0.01,) * 3).build()
    slope = kt.ground.Plane.inclined(0.2)
    ground = kt.ground.Ground(["cube"], kt.ground.HuntCrossley(1e4, 5.0, exponent=1), None, slope)
    world = kt.World(
        robot, ground=ground, q0=[0, 0, 0, 1, 0.5, 0, 1.0],
        observe=lambda m: [m.ground_height(0.5, 0.3), m.contact_force("cube").z],
    )  # fmt: skip
    assert world.observe()[0] == pytest.approx([-0.5 * np.tan(0.2), 0.0])


def test_it_warns_of_worlds_that_start_inside_something():
    box = S.Box((0.2, 0.2, 0.2))
    things = {x: kt.Thing(box, mass=1, position=(0, 0, z)) for x, z in (("a", 0.06), ("b", 0.1))}
    pile = kt.scene(things=things, terrain=kt.terrain.floor())
    words = r"shape 'b' starts 0.16 m inside of 'a', which .* \(also: shape 'a' starts 0.04 m inside of 'floor'"
    with pytest.warns(kt.ContactWarning, match=words):
        kt.World(pile, batch=2, ground=kt.forces.ShapeContact.of(pile, pairs=[("floor", "a"), ("a", "b")]), **FIXED)


def test_it_says_what_it_cannot_do(room):
    with pytest.raises(UnknownNameError, match="step_2"):
        kt.World(room, ground=kt.forces.ShapeContact.of(room), **FIXED, observe=lambda m: [m.contact_force("stp_2").z])
    with pytest.raises(OptionError, match="'floor' and 'step_1' cannot touch"):
        kt.World(
            room, ground=kt.forces.ShapeContact.of(room), **FIXED, ended=lambda m: m.touches("floor", "step_1")
        ).step()
    with pytest.raises(OptionError, match="no ground that stands still"):
        kt.World("two-link", observe=lambda m: m.height_scan("link_2", [(0, 0)]))
    with pytest.raises(ModelError, match="terrain 1 has no shape 'step_3'"):
        kt.forces.ShapeContact.of(room, terrains=[stairs(0.1), stairs(0.1)[:-1]])
    with pytest.raises(ModelError, match="is a plane in the robot and a box in terrain 0"):
        kt.forces.ShapeContact.of(room, terrains=[[S.ContactShape("base", S.Box((1, 1, 1)), name="floor")]])
    with pytest.raises(OptionError, match="one for each world"):
        kt.forces.ShapeContact.of(room, terrains=stairs(0.1))
    one, other = (kt.terrain.random_heights((2, 2), spacing=0.5, seed=k) for k in (0, 1))
    rough = kt.scene(things={"ball": kt.Thing(S.Sphere(0.1), mass=2.0)}, terrain=one + kt.terrain.floor())
    with pytest.raises(UnsupportedError, match="side by side"):
        kt.forces.ShapeContact.of(rough, pairs=[("ball", "floor")], terrains=[one, other])
