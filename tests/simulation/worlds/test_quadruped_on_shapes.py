"""A small quadruped on all its shapes: it falls, lies on its belly, gets up, and stands on stairs."""

import numpy as np
import pytest

import kinetree as kt

S, G = kt.shapes, 9.81
FOLDED, STANDING, FRONT = (1.75, -2.9), (0.7, -1.4), (1.0, -2.0)


def quadruped():
    """Trunk of a box; four legs of two capsules and a ball, hip and knee about y."""
    b = kt.Builder("small dog")
    b.body("trunk", "base", kt.Free(), mass_properties=kt.MassProperties.box(6.0, (0.4, 0.2, 0.1)))
    b.shape("trunk", S.Box((0.4, 0.2, 0.1)))
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("RL", -1, 1), ("RR", -1, -1)):
        rod = {"com": (0, 0, -0.1), "inertia": (2e-3, 2e-3, 2e-4)}
        b.body(f"{name}_thigh", "trunk", kt.Revolute("y"), position=(0.19 * x, 0.14 * y, 0), mass=0.8, **rod)
        b.body(f"{name}_calf", f"{name}_thigh", kt.Revolute("y"), position=(0, 0, -0.2), mass=0.2, **rod)
        b.shape(f"{name}_thigh", S.Capsule(0.02, 0.14), (0, 0, -0.1))
        b.shape(f"{name}_calf", S.Cylinder(0.012, 0.14), (0, 0, -0.1))
        b.shape(f"{name}_calf", S.Sphere(0.022), (0, 0, -0.2), name=f"{name}_foot")
    return b.build()


def world(terrain, batch, **more):
    room = kt.scene(robots={"dog": kt.Placed(quadruped(), (0, 0, 0.5))}, terrain=terrain)
    room = kt.Robot(room.model, backend="compiled")
    own = [s.name for s in room.shapes if s.name.startswith("dog/")]
    pairs = [(s.name, x) for s in terrain for x in own]
    ground = kt.forces.ShapeContact.of(room, pairs, normal=kt.ground.HuntCrossley(2e4, 5.0, exponent=1))
    servo = kt.control.Commanded("position", kp=60.0, kd=2.0)
    return kt.World(
        room, batch=batch, action=servo, ground=ground, integrator="implicit_euler", step=2e-3, substeps=25,
        random={"q": {"dog/trunk_joint": kt.Uniform(-0.1, 0.1)}}, **more,
    )  # fmt: skip


def moved(w, begin, end, seconds):
    count = round(seconds / w.period)
    for k in range(count):
        share = min(1.0, 2.0 * (k + 1) / count)
        w.step(np.tile((1 - share) * np.array(begin) + share * np.array(end), 4))
    return w.q[:, 6].copy()


@pytest.mark.slow
def test_it_falls_lies_and_gets_up():
    w = world(kt.terrain.floor(), 6, ended=lambda m: m.touches("dog/trunk"))
    lying = moved(w, FOLDED, FOLDED, 2.0)
    assert lying == pytest.approx(0.05, abs=0.03)
    assert np.abs(w.v).max() < 1e-3
    assert w.step(np.tile(FOLDED, 4)).ended.all()
    up = moved(w, FOLDED, STANDING, 3.0)
    assert (up > 0.28).all()
    assert not w.step(np.tile(STANDING, 4)).ended.any()
    assert np.abs(w.v).max() < 1e-2
    weight = quadruped().mass * G
    assert w.contact_forces[..., 2].sum(axis=1) == pytest.approx(weight, rel=1e-3)
    again = world(kt.terrain.floor(), 3, ended=lambda m: m.touches("dog/trunk"))
    moved(again, FOLDED, FOLDED, 2.0)
    again.step(np.tile(FOLDED, 4))
    moved(again, FOLDED, STANDING, 3.0)
    again.step(np.tile(STANDING, 4))
    assert np.array_equal(again.q, w.q[:3])


@pytest.mark.slow
def test_it_lands_on_stairs():
    terrain = kt.terrain.floor() + kt.terrain.stairs(1, rise=0.1, tread=2.0)
    room_feet = ["dog/FL_foot", "dog/FR_foot", "dog/RL_foot", "dog/RR_foot"]
    robot = quadruped()
    room = kt.scene(robots={"dog": kt.Placed(robot, (0.55, 0, 0.4))}, terrain=terrain)
    room = kt.Robot(room.model, backend="compiled")
    pairs = [(s.name, x) for s in terrain for x in room_feet]
    ground = kt.forces.ShapeContact.of(room, pairs, normal=kt.ground.HuntCrossley(2e4, 5.0, exponent=1))
    servo = kt.control.Commanded("position", kp=60.0, kd=2.0)
    q0 = room.configuration("start")
    q0[7:] = [*FRONT, *FRONT, *STANDING, *STANDING]  # bent by about the height of the step
    w = kt.World(
        room, action=servo, ground=ground, integrator="implicit_euler", step=2e-3, substeps=500, q0=q0,
        sensors=[kt.sensors.Collision(foot, "step_1") for foot in room_feet],
    )  # fmt: skip
    for _ in range(3):
        w.step([*FRONT, *FRONT, *STANDING, *STANDING])
    assert [float(x[0]) for x in w.sense().values()] == [1, 1, 0, 0]
    assert np.abs(w.v).max() < 1e-2
