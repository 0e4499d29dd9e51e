"""Contact of shapes with a plane: friction that holds, sliding, rolling, rocking, in closed form."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, OptionError

S, G = kt.shapes, 9.81
STIFFNESS = 1e5
FIXED = {"integrator": "implicit_euler", "step": 1e-3}
EITHER = pytest.mark.parametrize("how", [FIXED, {"integrator": "rk45"}], ids=["fixed", "adaptive"])


def inertia(shape, mass):
    n = shape.numbers()
    if shape.name == "sphere":
        return (0.4 * mass * n[0] ** 2,) * 3
    if shape.name == "box":
        x, y, z = (h * h for h in n)
        return (mass * (y + z) / 3, mass * (x + z) / 3, mass * (x + y) / 3)
    r, h = n
    return (mass * (3 * r * r + 4 * h * h) / 12,) * 2 + (mass * r * r / 2,)


def thing(shape, slope=0.0, friction=0.5, mass=1.0, **surface):
    """A body of a shape above a plane that descends along x."""
    built = (
        kt.Builder("thing").shape("base", S.HalfSpace(), rpy=(0, slope, 0), **surface)
        .body("thing", "base", kt.Free(), mass=mass, inertia=inertia(shape, mass))
        .shape("thing", shape, friction=friction, **surface).build()
    )  # fmt: skip
    return kt.Robot(built.model, backend="compiled")


def product(a, b):
    (x, y, z, w), (i, j, k, m) = a, b
    return [w * i + x * m + y * k - z * j, w * j - x * k + y * m + z * i, w * k + x * j - y * i + z * m,
            w * m - x * i - y * j - z * k]  # fmt: skip


def pose(slope, height, own=(0, 0, 0, 1)):
    """A configuration at a height above the slope, turned on it."""
    turned = product((0, np.sin(slope / 2), 0, np.cos(slope / 2)), own)
    return [*turned, height * np.sin(slope), 0.0, height * np.cos(slope)]


ON_ITS_SIDE = (-np.sqrt(0.5), 0, 0, np.sqrt(0.5))


def run(robot, q, time=2.0, how=FIXED, samples=201, **numbers):
    return kt.simulate(robot, q, time=time, ground=kt.forces.ShapeContact.of(robot, **numbers), samples=samples, **how)


def along(record, slope):
    return record.q[:, 4:7] @ [np.cos(slope), 0, -np.sin(slope)]


@EITHER
def test_a_box_stays_below_the_angle_of_friction_and_slides_above_it(how):
    box = S.Box((0.2, 0.2, 0.1))
    for slope in np.radians([0.0, 20.0, 35.0]):
        robot = thing(box, slope)
        record = run(robot, pose(slope, 0.05 - G * np.cos(slope) / STIFFNESS), how=how)
        x, a = along(record, slope), G * (np.sin(slope) - 0.5 * np.cos(slope))
        if np.tan(slope) < 0.5:
            assert np.ptp(x[20:]) < 1e-6
        else:
            speed = np.diff(x) / 0.01
            assert speed[-1] - speed[99] == pytest.approx(a, rel=1e-4)
        if how is not FIXED:
            assert np.abs(record.energy.error).max() < 1e-9


def test_a_box_rests_for_ten_seconds():
    for slope, start in ((0.0, 0.1), (0.3, 0.05)):
        robot = thing(S.Box((0.2, 0.2, 0.1)), slope)
        record = run(robot, pose(slope, start), time=12.0, samples=13)
        assert np.abs(record.q[2:] - record.q[2]).max() < 1e-6
        assert record.q[-1] == pytest.approx(record.q[2], abs=1e-6)
        assert np.abs(record.v[-1]).max() < 1e-6


@EITHER
@pytest.mark.parametrize(("shape", "share"), [(S.Cylinder(0.1, 0.3), 2 / 3), (S.Sphere(0.1), 5 / 7)])
def test_what_is_round_rolls_without_slipping(shape, share, how):
    slope = np.radians(15.0)
    robot = thing(shape, slope, friction=0.6)
    start = pose(slope, 0.1 - G * np.cos(slope) / STIFFNESS, ON_ITS_SIDE)
    record = run(robot, start, how=how)
    speed = np.diff(along(record, slope)) / 0.01
    assert speed[-1] - speed[99] == pytest.approx(share * G * np.sin(slope), rel=1e-7)
    turning = np.linalg.norm(record.v[-1, :3])
    assert np.linalg.norm(record.v[-1, 3:]) == pytest.approx(0.1 * turning, rel=1e-4)


def test_a_cylinder_rests_upright_and_on_its_side_and_returns_to_its_face():
    robot = thing(S.Cylinder(0.1, 0.3))
    side = run(robot, pose(0, 0.1, ON_ITS_SIDE), time=5.0, samples=6)
    # two of its four points at either end carry, each a quarter of the stiffness
    assert side.q[-1, 6] == pytest.approx(0.1 - 2 * G / STIFFNESS, abs=1e-7)
    assert np.abs(side.v[-1]).max() < 1e-6
    tilted = run(robot, pose(0, 0.16, (0, np.sin(0.01), 0, np.cos(0.01))), time=5.0, samples=6)
    assert np.abs(tilted.q[-1, :3]).max() < 1e-6
    assert tilted.q[-1, 6] == pytest.approx(0.15 - G / STIFFNESS, abs=1e-7)


def test_a_block_rocks_as_housner_says():
    """Housner, The behavior of inverted pendulum structures during earthquakes, 1963: eq. 5 and 8."""
    half, height, start = 0.1, 0.5, 0.05
    robot = thing(S.Box((2 * half, 2 * half, 2 * height)), friction=2.0, mass=10.0)
    radius, slender = np.hypot(half, height), np.arctan(half / height)
    place = half - radius * np.sin(slender - start), radius * np.cos(slender - start)
    q = [0, np.sin(start / 2), 0, np.cos(start / 2), place[0], 0, place[1]]
    how = {"integrator": "implicit_euler", "step": 1e-4}
    law = kt.ground.HuntCrossley(1e8, 100.0, exponent=1)
    record = run(robot, q, time=0.8, how=how, samples=801, normal=law)
    angle = 2 * np.arcsin(record.q[:, 1])
    first = np.flatnonzero(angle < 0)[0]
    quarter = np.arccosh(1 / (1 - start / slender)) / np.sqrt(3 * G / (4 * radius))
    assert record.time[first] == pytest.approx(quarter, rel=0.01)

    def lifted(x):
        return np.cos(slender - abs(x)) - np.cos(slender)

    kept = np.sqrt(lifted(angle[first:].min()) / lifted(start))
    assert kept == pytest.approx(1 - 1.5 * np.sin(slender) ** 2, rel=0.01)


def test_spinning_about_the_normal_stops_as_the_pressure_says():
    """Four corners of a box resist with mu N times their distance from the middle."""
    robot = thing(S.Box((0.2, 0.2, 0.1)), friction=0.4)
    contact = kt.forces.ShapeContact.of(robot)
    record = kt.simulate(
        robot, pose(0, 0.05 - G / STIFFNESS), [0, 0, 9.0, 0, 0, 0], time=0.1, ground=contact, samples=11, **FIXED
    )
    arm, about = 0.1 * np.sqrt(2), inertia(S.Box((0.2, 0.2, 0.1)), 1.0)[2]
    slowing = (record.v[8, 2] - record.v[2, 2]) / 0.06
    assert slowing == pytest.approx(-0.4 * G * arm / about, rel=2e-3)


def test_rolling_friction_stops_a_ball_and_holds_it():
    robot = thing(S.Sphere(0.1), rolling_friction=0.002, friction=0.6)
    q = pose(0, 0.1 - G / STIFFNESS)
    record = kt.simulate(
        robot, q, [0, 2.0, 0, 0.2, 0, 0], time=2.5, ground=kt.forces.ShapeContact.of(robot), samples=251, **FIXED
    )
    speed = np.gradient(record.q[:, 4], record.time)
    slowing = (speed[90] - speed[10]) / 0.8
    assert slowing == pytest.approx(-0.002 / 0.1 * G / 1.4, rel=2e-3)  # moment mu N about the place of contact
    assert np.ptp(record.q[-20:, 4]) < 1e-9


def test_worlds_and_batches_take_the_same_steps_whatever_their_size():
    robot = thing(S.Cylinder(0.1, 0.2), 0.2)
    contact = kt.forces.ShapeContact.of(robot, friction=np.array([0.1, 0.5, 0.3, 0.9, 0.2]))
    start = np.tile(pose(0.2, 0.15, (0.1, 0.2, 0.0, 0.9)), (5, 1))
    start[:, :4] /= np.linalg.norm(start[:, :4], axis=1, keepdims=True)
    start[3, 5] = np.nan
    many = kt.simulate(robot, start, time=0.5, ground=contact, samples=6, **FIXED)
    fewer = kt.forces.ShapeContact.of(robot, friction=np.array([0.9, 0.2]))
    some = kt.simulate(robot, start[3:], time=0.5, ground=fewer, samples=6, threads=2, **FIXED)
    assert np.isnan(many.q[-1, 3]).any()
    assert np.isfinite(many.q[:, [0, 1, 2, 4]]).all()
    assert np.array_equal(many.q[:, 4], some.q[:, 1])
    world = kt.World(robot, batch=2, q0=start[4], substeps=100, integrator="implicit_euler", ground=fewer)
    world.reset()
    world.step()
    assert world.q[1] == pytest.approx(many.q[1, 4], abs=1e-11)


def test_machine_code_and_python_take_the_same_steps():
    robot = thing(S.Box((0.2, 0.3, 0.1)), 0.4)
    plain = kt.Robot(robot.model, backend="reference")
    q = pose(0.4, 0.05 - 1e-6)
    a, b = (run(r, q, time=0.02, samples=3) for r in (robot, plain))
    assert a.q == pytest.approx(b.q, abs=1e-11)


def test_it_says_what_it_cannot_do():
    bare = kt.Builder("bare").body("thing", "base", kt.Free(), mass=1.0, inertia=(1, 1, 1)).build()
    with pytest.raises(ModelError, match="its bodies have no shapes"):
        kt.forces.ShapeContact.of(bare)
    robot = thing(S.Box((0.2, 0.2, 0.1)))
    with pytest.raises(OptionError, match="give shear_stiffness"):
        kt.forces.ShapeContact.of(robot, normal=kt.ground.HuntCrossley(1e5, 0.5))
    with pytest.raises(ModelError, match="shear_time must be finite and positive"):
        kt.forces.ShapeContact.of(robot, shear_time=0.0)
    with pytest.raises(ModelError, match="friction must be finite and zero or positive"):
        kt.forces.ShapeContact.of(robot, friction=-0.1)


def stack(count, size=(0.2, 0.2, 0.1)):
    b = kt.Builder("stack").shape("base", S.HalfSpace(), name="floor")
    for k in range(count):
        b.body(f"b{k}", "base", kt.Free(), mass=1.0, inertia=inertia(S.Box(size), 1.0))
        b.shape(f"b{k}", S.Box(size), friction=0.5)
    robot = kt.Robot(b.build().model, backend="compiled")
    pairs = [("floor", "b0"), *((f"b{k}", f"b{k + 1}") for k in range(count - 1))]
    q = [x for k in range(count) for x in (0, 0, 0, 1, 1e-3 * (k % 2), 0, size[2] * (k + 0.5))]
    return robot, q, kt.forces.ShapeContact.of(robot, pairs=pairs)


def test_a_box_on_a_box_rests_for_ten_seconds():
    robot, q, contact = stack(2)
    record = kt.simulate(robot, q, time=12.0, ground=contact, samples=13, **FIXED)
    assert np.abs(record.q[2:] - record.q[-1]).max() < 1e-9
    assert record.q[-1, [6, 13]] == pytest.approx([0.05 - 2 * G / STIFFNESS, 0.15 - 3 * G / STIFFNESS], abs=1e-7)


@pytest.mark.slow
def test_ten_boxes_stand_for_ten_seconds():
    """They sway, as springs do, by less than the width of a hair."""
    robot, q, contact = stack(10)
    record = kt.simulate(robot, q, time=12.0, ground=contact, samples=25, **FIXED)
    boxes = record.q.reshape(25, 10, 7)
    assert np.abs(boxes[:, :, 4:6] - boxes[0, :, 4:6]).max() < 5e-4
    assert np.ptp(boxes[12:, :, 6], axis=0).max() < 1e-5


def test_two_bodies_slide_on_one_another_and_keep_their_momentum():
    """A box slides over a box that slides over ice, until both go together."""
    b = kt.Builder("two").shape("base", S.HalfSpace(), name="ice", friction=0.0)
    for name, mass in (("sled", 3.0), ("load", 1.0)):
        shape = S.Box((1.0, 0.4, 0.1)) if name == "sled" else S.Box((0.1, 0.1, 0.02))
        b.body(name, "base", kt.Free(), mass=mass, inertia=inertia(shape, mass)).shape(name, shape, friction=0.4)
    robot = kt.Robot(b.build().model, backend="compiled")
    contact = kt.forces.ShapeContact.of(robot, pairs=[("ice", "sled"), ("sled", "load")])
    q = [0, 0, 0, 1, 0, 0, 0.05 - 4e-5 * G, 0, 0, 0, 1, 0, 0, 0.11 - 5e-5 * G]
    v = [0] * 9 + [1.0, 0, 0]
    record = kt.simulate(robot, q, v, time=0.6, ground=contact, samples=61, **FIXED)
    speeds = record.v[:, [3, 9]]
    assert speeds @ [3.0, 1.0] == pytest.approx(1.0, abs=1e-3)
    slid = (record.q[:, 11] - record.q[:, 4])[-1]
    assert slid + 0.5e-3 == pytest.approx(0.5 / (0.4 * G * 4 / 3), rel=1e-3)  # places are half a step behind
    assert speeds[-1] == pytest.approx([0.25, 0.25], abs=1e-4)


def test_a_hull_of_the_corners_of_a_box_rests_and_slides_like_the_box():
    box, slope = S.Box((0.2, 0.3, 0.1)), np.radians(35.0)
    hull = S.ConvexHull([(x, y, z) for x in (-0.1, 0.1) for y in (-0.15, 0.15) for z in (-0.05, 0.05)])
    ends = []
    for shape in (box, hull):
        built = (
            kt.Builder("thing").shape("base", S.HalfSpace(), rpy=(0, slope, 0))
            .body("thing", "base", kt.Free(), mass=1.0, inertia=inertia(box, 1.0)).shape("thing", shape, friction=0.5)
        )  # fmt: skip
        robot = kt.Robot(built.build().model, backend="compiled")
        ends.append(run(robot, pose(slope, 0.051), time=0.5, samples=2).q[-1])
    assert ends[1] == pytest.approx(ends[0], abs=1e-9)


def test_it_warns_of_a_start_inside():
    robot = thing(S.Box((0.2, 0.2, 0.2)))
    with pytest.warns(kt.ContactWarning, match=r"shape 'thing' starts 0.09 m inside of 'base', which stores .* high"):
        run(robot, pose(0, 0.01), time=0.01, samples=2)


@pytest.mark.slow
def test_a_gripper_lifts_a_box_and_holds_it():
    """Two fingers close, lift, and nothing slips in ten seconds."""
    b = kt.Builder("gripper").shape("base", S.HalfSpace(), name="floor")
    b.body("hand", "base", kt.Prismatic("z"), position=(0, 0, 0.1), mass=1.0, joint_name="lift")
    for name, sign in (("left", 1.0), ("right", -1.0)):
        b.body(name, "hand", kt.Prismatic("y"), position=(0, 0.1 * sign, 0), mass=0.1, joint_name=name)
        b.shape(name, S.Box((0.04, 0.02, 0.06)), friction=0.8)
    b.body("thing", "base", kt.Free(), mass=0.2, inertia=inertia(S.Box((0.05, 0.06, 0.16)), 0.2))
    b.shape("thing", S.Box((0.05, 0.06, 0.16)), friction=0.8)
    robot = kt.Robot(b.build().model, backend="compiled")
    contact = kt.forces.ShapeContact.of(robot, pairs=[("floor", "thing"), ("left", "thing"), ("right", "thing")])

    def law(t, q, v):
        up = kt.where(t < 1.0, 0.0, kt.where(t < 2.0, 0.2 * (t - 1.0), 0.2))
        lift = 1e4 * (up - q[0]) - 300.0 * v[0] + 1.4 * G
        return [lift, -6.0 - 5.0 * v[1], 6.0 - 5.0 * v[2], *[0.0] * 6]

    q = [0, -0.05, 0.05, 0, 0, 0, 1, 0, 0, 0.08]
    record = kt.simulate(robot, q, time=12.0, ground=contact, forces=law, samples=121, **FIXED)
    assert record.q[30, 9] == pytest.approx(0.28, abs=2e-3)
    assert np.ptp(record.q[30:, 3:], axis=0).max() < 1e-6


@pytest.mark.parametrize("shape", [S.Box((0.1, 0.1, 0.3)), S.Capsule(0.05, 0.3)], ids=["box", "capsule"])
@pytest.mark.parametrize("place", [0.0, 0.4, 0.45])
def test_what_lies_on_a_table_rests_there_and_over_its_edge_and_gains_no_energy(shape, place):
    """Over the edge it rests on a part of its face, which changes as it rocks."""
    b = kt.Builder("rod").shape("base", S.Box((1, 1, 0.2)), (0, 0, -0.1), name="table")
    b.body("rod", "base", kt.Free(), mass=1.0, inertia=(0.01, 0.01, 0.002)).shape("rod", shape, friction=0.5)
    robot = kt.Robot(b.build().model, backend="compiled")
    record = run(robot, [*ON_ITS_SIDE, 0, place, 0.06], time=5.0, samples=51)
    assert record.q[-1, 4:6] == pytest.approx([0, place], abs=5e-4)
    assert np.ptp(record.q[25:], axis=0).max() < (1e-9 if place < 0.45 else 1e-4)
    assert record.energy.ground_gain.max() < 1e-9


@pytest.mark.parametrize("restitution", [0.4, 0.8, 1.0])
def test_a_ball_rises_to_the_square_of_its_restitution(restitution):
    """In the compliant laws at any speed, mass and stiffness, but for the depth over the height; in the rigid ones."""
    ball = kt.Thing(S.Sphere(0.1), mass=3.0, position=(0, 0, 1.1), restitution=restitution)
    room = kt.Robot(kt.scene(things={"ball": ball}, terrain=kt.terrain.floor()).model, backend="compiled")
    law, fall = kt.ground.HuntCrossley(1e8, 0.5, exponent=1), np.sqrt(2 / G)
    ground, until = kt.forces.ShapeContact.of(room, normal=law), fall * (1 + restitution) + 0.002
    for how in ({"integrator": "rk45"}, {"integrator": "semi_implicit_euler", "step": 1e-5}):
        record = kt.simulate(room, time=until, ground=ground, samples=2, **how)
        assert record.q[-1, 6] - 0.1 == pytest.approx(restitution**2, rel=1e-2)
        assert record.energy.ground_gain[-1] < 1e-3
    rigid = kt.contact.Contact("ball", radius=0.1, friction=0.0, restitution=restitution)
    record = kt.simulate_rigid(room, [rigid], room.configuration("start"), time=fall * (1 + restitution), samples=2)
    assert record.q[-1, 6] - 0.1 == pytest.approx(restitution**2, rel=1e-4)


def test_what_bounces_comes_to_rest():
    box = kt.Thing(S.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.2), restitution=0.5)
    room = kt.Robot(kt.scene(things={"box": box}, terrain=kt.terrain.floor()).model, backend="compiled")
    record = kt.simulate(room, time=3.0, ground=kt.forces.ShapeContact.of(room), samples=31, **FIXED)
    assert np.ptp(record.q[20:], axis=0).max() < 1e-12
