"""Scenes: robots, things and terrain in one tree, against each of them alone, MuJoCo and closed forms."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileFormatError, ModelError, OptionError, UnknownNameError

S, G = kt.shapes, 9.81
FIXED = {"integrator": "implicit_euler", "step": 1e-3}


def test_two_of_the_same_robot_are_each_alone():
    arm = kt.load("kuka-kr5")
    room = kt.scene(robots={"left": arm, "right": kt.Placed(arm, (2, 0, 0.5), rpy=(0, 0, "90 deg"))})
    rng = np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, 4, 2, arm.nv))
    both = room.inverse_dynamics(*(x.reshape(4, -1) for x in (q, v, a)))
    assert both.reshape(4, 2, -1) == pytest.approx(arm.inverse_dynamics(q, v, a), rel=1e-12, abs=1e-9)
    tip = arm.body_names[-1]
    turned = np.array([[0, -1, 0, 2], [1, 0, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 1.0]])
    assert room.pose(q.reshape(4, -1), f"right/{tip}") == pytest.approx(turned @ arm.pose(q[:, 1], tip), abs=1e-12)


def test_a_mechanism_with_loops_moves_in_a_scene_as_alone():
    bar = kt.load("four-bar")
    room = kt.scene(
        robots={"one": bar, "two": kt.Placed(bar, (0, 0, 1))},
        things={"ball": kt.Thing(S.Sphere(0.1), mass=1.0, position=(9, 9, 9))},
    )
    assert room.model.n_constraints == 2 * bar.model.n_constraints
    q = room.configuration("start")
    alone = kt.simulate(bar, q[: bar.nq], time=0.3, samples=4)
    record = kt.simulate(room, time=0.3, samples=4)
    assert record.q[:, : bar.nq] == pytest.approx(alone.q, abs=1e-6)
    assert record.q[:, bar.nq : 2 * bar.nq] == pytest.approx(alone.q, abs=1e-6)
    assert record.q[-1, -2] == pytest.approx(9 - G * 0.09 / 2, abs=1e-6)
    assert record.energy.relative_error < 1e-6


def test_what_floats_starts_where_it_is_placed():
    thing = kt.Builder("kite")
    kite = thing.body("kite", "base", kt.Free(), position=(0, 0, 1), mass=1.0, inertia=(1, 1, 1)).build()
    room = kt.scene(robots={"a": kt.Placed(kite, (5, 0, 0), rpy=(0, 0, "90 deg"), q=[0, 0, 0, 1, 0.5, 0, 0])})
    place = room.pose(room.configuration("start"), "a/kite")
    assert place[:3, 3] == pytest.approx([5, 0.5, 1])
    assert place[:3, 0] == pytest.approx([0, 1, 0])
    arm = kt.Builder("arm", base="stand").body("rod", "stand", kt.Revolute("y"), mass=1.0, com=(0, 0, -1))
    with pytest.raises(ModelError, match="'arm' cannot float: its base 'stand' has no mass"):
        kt.scene(robots={"arm": kt.Placed(arm.build(), floating=True)})
    arm.add_body("stand", kt.MassProperties.box(2.0, (1, 1, 1)))
    free = kt.scene(robots={"arm": kt.Placed(arm.build(), (0, 0, 4), floating=True)})
    assert free.nv == 7
    record = kt.simulate(free, time=0.2)
    assert record.q[-1, :7][-1] == pytest.approx(4 - G * 0.02, abs=1e-7)


SOLIDS = [
    (S.Sphere(0.1), {"type": "sphere", "size": "0.1"}),
    (S.Box((0.1, 0.2, 0.3)), {"type": "box", "size": "0.05 0.1 0.15"}),
    (S.Cylinder(0.1, 0.3), {"type": "cylinder", "size": "0.1 0.15"}),
    (S.Capsule(0.1, 0.3), {"type": "capsule", "size": "0.1 0.15"}),
    (S.Ellipsoid((0.1, 0.2, 0.3)), {"type": "ellipsoid", "size": "0.1 0.2 0.3"}),
]


@pytest.mark.parametrize(("solid", "geom"), SOLIDS, ids=lambda x: getattr(x, "name", ""))
def test_things_have_the_mass_properties_of_mujoco(solid, geom):
    mujoco = pytest.importorskip("mujoco")
    words = " ".join(f'{k}="{x}"' for k, x in geom.items())
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body><freejoint/><geom {words} density='700'/></body></worldbody></mujoco>"
    )
    body = kt.scene(things={"it": kt.Thing(solid, density=700.0)}).body("it").mass_properties
    assert body.mass == pytest.approx(model.body_mass[1], rel=1e-12)
    assert sorted(body.inertia[:3]) == pytest.approx(sorted(model.body_inertia[1]), rel=1e-12)


def test_hulls_and_compounds_have_the_mass_of_their_parts():
    corners = [(x, y, z) for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.3)]
    hull = kt.scene(things={"it": kt.Thing(S.ConvexHull(corners), mass=2.0)}).body("it").mass_properties
    box = kt.MassProperties.box(2.0, (0.1, 0.2, 0.3), (0.05, 0.1, 0.15))
    assert hull.parameters == pytest.approx(box.parameters, rel=1e-12)
    halves = [
        S.ContactShape("", S.Box((0.1, 0.2, 0.15)), kt.Pose.of((0.05, 0.1, z)), f"half {z}") for z in (0.075, 0.225)
    ]
    both = kt.scene(things={"it": kt.Thing(halves, mass=2.0)})
    assert both.body("it").mass_properties.parameters == pytest.approx(box.parameters, rel=1e-12)
    assert [s.name for s in both.shapes] == ["half 0.075", "half 0.225"]


def test_a_thing_lies_on_stairs_and_a_ball_beside_it():
    room = kt.scene(
        things={
            "crate": kt.Thing(S.Box((0.2, 0.2, 0.2)), "1 kg", (0.95, 0, 0.401), friction=0.5),
            "ball": kt.Thing(S.Sphere(0.1), mass=0.5, position=(0, 1, 0.101), rolling_friction=1e-3),
            "post": kt.Thing(S.Box((0.1, 0.1, 1)), position=(3, 0, 0.5), fixed=True),
        },
        terrain=kt.terrain.floor() + kt.terrain.stairs(2, rise=0.15, tread=0.3),
    )
    assert room.shapes[-3].name == "post" or "post" in [s.name for s in room.shapes]
    pairs = [("crate", "step_2"), ("ball", "floor")]
    record = kt.simulate(room, time=1.0, ground=kt.forces.ShapeContact.of(room, pairs=pairs), samples=11, **FIXED)
    assert record.q[-1, 6] == pytest.approx(0.4 - G * 1e-5, abs=1e-6)
    assert record.q[-1, 13] == pytest.approx(0.1 - 0.5 * G * 1e-5, abs=1e-6)


def test_the_scene_is_written_and_read_back(tmp_path):
    room = kt.scene(
        robots={"a": "gripper", "b": kt.Placed("gripper", (1, 0, 0))},
        things={"crate": kt.Thing(S.Box((0.2, 0.2, 0.2)), 1.0, (2, 0, 0.1))}, terrain=kt.terrain.slope("10 deg"),
    )  # fmt: skip
    room.save(tmp_path / "room.yaml")
    again = kt.load(tmp_path / "room.yaml")
    assert again.model == room.model
    assert again.configuration("start") == pytest.approx(room.configuration("start"))
    assert [s.name for s in again.shapes] == [s.name for s in room.shapes]


def test_a_floor_that_two_robots_bring_along_carries_once(tmp_path):
    (tmp_path / "box.xml").write_text(
        '<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/><body name="b"><freejoint/>'
        '<geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody></mujoco>'
    )
    box = tmp_path / "box.xml"
    with pytest.warns(kt.ModelWarning, match="'one/floor' and 'two/floor' are the same plane"):
        room = kt.scene(robots={"one": kt.Placed(box, (0, 0, 0.1)), "two": kt.Placed(box, (1, 0, 0.1))})
    assert [s.kind for s in room.shapes].count("plane") == 1


def test_it_refuses_what_is_no_scene():
    ball = kt.Thing(S.Sphere(0.1), mass=1.0)
    with pytest.raises(ModelError, match="a scene needs a robot or a thing"):
        kt.scene(terrain=kt.terrain.floor())
    with pytest.raises(ModelError, match="the thing 'ball': give its mass"):
        kt.scene(things={"ball": kt.Thing(S.Sphere(0.1))})
    with pytest.raises(ModelError, match="its mass must be a positive number"):
        kt.scene(things={"ball": kt.Thing(S.Sphere(0.1), mass=-1.0)})
    with pytest.raises(ModelError, match="a plane has no end"):
        kt.scene(things={"ball": kt.Thing(S.HalfSpace(), mass=1.0)})
    with pytest.raises(OptionError, match=r"must be a kinetree\.Thing, not str"):
        kt.scene(things={"arm": "two-link"})
    with pytest.raises(ModelError, match="a robot and a thing are named 'ball'"):
        kt.scene(robots={"ball": "two-link"}, things={"ball": ball})
    with pytest.raises(ModelError, match="without '/'"):
        kt.scene(things={"a/b": ball})
    moon = kt.Builder("moon", gravity=(0, 0, -1.6)).body("rod", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -1))
    moon = moon.build()
    with pytest.raises(ModelError, match=r"gravity of 'a' is .* give gravity="):
        kt.scene(robots={"a": "kuka-kr5", "b": moon})
    with pytest.raises(ModelError, match="two shapes of 'scene' are named 'floor'"):
        kt.scene(things={"ball": ball}, terrain=kt.terrain.floor() + kt.terrain.floor(1.0))


STUDY = """kinetree-study: 1
scene:
  robots:
    arm: {name: kuka-kr5, position: [0, 0, 1], q: {joint_2: 0.5}}
  things:
    crate: {kind: box, size: [20 cm, 0.2, 0.2], mass: 1, position: [0, 2, 0.1], friction: 0.5}
    weight:
      density: 1000
      position: [1, 1, 0.3]
      shapes:
        - {kind: sphere, radius: 0.1, position: [0, 0, 0.2]}
        - {kind: capsule, radius: 2 cm, length: 0.4, friction: 0.3}
  terrain:
    - floor
    - {kind: stairs, count: 2, rise: 0.1, position: [0, 5, 0], angle: 90 deg}
    - {kind: box, name: wall, size: [0.1, 5, 1], position: [4, 0, 0]}
ground: {spots: [shapes]}
simulation: {time: 0.01, integrator: implicit_euler, step: 1 ms}
"""


def study(tmp_path, text):
    from kinetree.studies.user_study.reader import read

    (tmp_path / "room.yaml").write_text(text)
    return read(tmp_path / "room.yaml")


def test_a_study_describes_a_scene(tmp_path):
    room = study(tmp_path, STUDY).robot
    names = ["floor", "step_1", "step_2", "wall", "crate", "weight_1", "weight_2"]
    assert [s.name for s in room.shapes] == names
    assert room.configuration("start")[1] == 0.5
    assert room.shapes[1].pose.translation == pytest.approx((0, 5.65, 0.1 - 0.55))
    assert room.shapes[6].friction == 0.3


@pytest.mark.parametrize(
    ("old", "new", "error", "line", "words"),
    [
        ("size: [20 cm, 0.2, 0.2]", "size: [0.2, 0.2]", FileFormatError, 6, "the size of a box must be 3 numbers"),
        ("friction: 0.5", "friction: -0.5", FileFormatError, 6, "its friction must be a number that is not negative"),
        ("mass: 1,", "", FileFormatError, 6, "give its mass"),
        ("kind: stairs", "kind: stares", FileFormatError, 15, "stairs"),
        ("count: 2", "count: 0", FileFormatError, 15, "count must be a whole number"),
        ("kind: sphere, radius: 0.1", "kind: sphere", FileFormatError, 11, "a sphere needs 'radius'"),
        ("scene:", "robot: two-link\nscene:", FileFormatError, 1, "both a robot and a scene"),
    ],
)
def test_a_study_says_in_which_line_a_scene_is_wrong(tmp_path, old, new, error, line, words):
    assert old in STUDY
    with pytest.raises(error, match=words) as found:
        study(tmp_path, STUDY.replace(old, new, 1))
    assert f"line {line}" in str(found.value)


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownNameError, match="left/joint_1"):
        kt.scene(robots={"left": "two-link"}).joint("left/joint_l")
