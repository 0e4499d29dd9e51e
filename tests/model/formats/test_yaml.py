"""kinetree's own format: a robot read back is equal to the last bit; schema and reader agree."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import KINDS as RANDOM_KINDS
from helpers.robots import random_mass, random_pose, random_tree
from judges.real_robots import load_quietly, robot_file
from kinetree.model.formats.yaml import schema
from kinetree.model.joints import KINDS, JointKind
from kinetree.model.tree import Load

SCHEMA = json.loads(schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

EXAMPLE = """
kinetree: 1
name: crane
gravity: [0, 0, -9.81]
base: ground
bodies:
  - name: boom
    parent: ground
    joint: {name: slew, kind: revolute, axis: z, lower: -2, upper: 2, damping: 1e-1}
    placement: {position: [0, 0, 1.5], rpy: [0, 0.1, 0]}
    mass: 12
    com: [1, 0, 0]
    inertia: [0.1, 4, 4]
  - name: rope
    parent: boom
    joint: {kind: universal, sequence: xy}
    placement: {position: [2, 0, 0]}
  - name: load
    parent: rope
    joint: {kind: prismatic, axis: [0, 0, -2], effort_limit: 500}
    mass: 5
  - name: counterweight
    parent: boom
    joint: fixed
    placement: {position: [-0.5, 0, 0]}
    mass: 20
frames:
  - {name: hook, body: load, placement: {position: [0, 0, -0.2]}}
"""


def write(tmp_path: Path, text: str, name: str = "robot.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def there_and_back(robot: kt.Robot, tmp_path: Path) -> kt.Robot:
    """Written, validated against the schema as any other tool would read it, and read back."""
    path = tmp_path / "robot.yaml"
    robot.save(path)
    VALIDATOR.validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    return load_quietly(path)


# Equal to the last bit


def test_a_robot_without_a_name(tmp_path):
    robot = kt.Builder("").body("b", "base", kt.Revolute(), mass=1).build()
    assert there_and_back(robot, tmp_path) == robot


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_every_kind_of_joint(tmp_path, seed):
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in RANDOM_KINDS if kind != "custom"]
    robot = random_tree(rng, 15, kinds, followers=True)
    assert there_and_back(robot, tmp_path) == robot


@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize(
    "path",
    [
        "panda_description/urdf/panda.urdf", "talos_data/robots/talos_full_v2.urdf", "pr2_description/urdf/pr2.urdf",
        "anymal_c_simple_description/urdf/anymal.urdf", "tiago_description/robots/tiago_dual.urdf",
        "romeo_description/urdf/romeo.urdf", "hector_description/robots/quadrotor_base.urdf",
    ],
)  # fmt: skip
def test_real_robots(tmp_path, path, floating_base):
    robot = load_quietly(robot_file(path), floating_base=floating_base)
    assert there_and_back(robot, tmp_path) == robot


def test_everything_a_joint_can_say(tmp_path):
    b = kt.Builder("all", base="the ground", gravity=(1e-20, -3e300, 0.1))
    b.add_body("the ground", random_mass(np.random.default_rng(0)))
    b.body(
        "ball", "the ground", kt.Spherical(), mass=2.0, inertia=(0.1, 0.1, 0.1),
        lower=(-1, -math.inf, 0, 0), upper=1, velocity_limit=(1, 2, math.inf), effort_limit=9,
        damping=(0.1, 0.2, 1 / 3), friction=1e-300,
        rotor_inertia=(1e-6, 2e-6, 3e-6), gear_ratio=(-100, 50, 1), actuated=False,
    )  # fmt: skip
    b.body("tip", "ball", kt.Helical((1, 2, 3), pitch=-0.01), mass=1, com=(0.1, 0, 0))
    b.body("finger", "ball", kt.Prismatic("-x"), mass=1, mimic=kt.Mimic("tip_joint", -0.5, 1e-5))
    b.frame("ball", "ball", pose=random_pose(np.random.default_rng(1)))
    b.frame("eye", "tip", (1, 2, 3)).frame("here", "tip")
    robot = b.build()
    again = there_and_back(robot, tmp_path)
    assert again == robot
    for a, c in zip(robot.model.joints, again.model.joints, strict=True):
        assert a == c
        assert (a.q_slice, a.v_slice) == (c.q_slice, c.v_slice)


def test_names_longer_than_the_keys_that_yaml_reads_at_once(tmp_path):
    long = "j" * 1020, "a: " * 700
    b = kt.Builder("long").body("a", "base", kt.Revolute(), joint_name=long[0], mass=1.0)
    b.body("b", "a", kt.Revolute(), joint_name=long[1], mass=1.0)
    b.configuration("home", dict.fromkeys(long, 0.1)).configuration(long[1], {})
    b.tendon("line", dict.fromkeys(long, 2.0)).coupling("pair", {long[0]: 1.0, long[1]: 2.0})
    robot = b.build()
    assert there_and_back(robot, tmp_path) == robot


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(names, min_size=4, max_size=4, unique=True))
def test_any_name(tmp_path_factory, words):
    base, body, joint, frame = words
    b = kt.Builder(body, base=base).body(body, base, kt.Revolute(), joint_name=joint, mass=1)
    robot = b.frame(frame, body, (0, 0, 1)).build()
    assert there_and_back(robot, tmp_path_factory.mktemp("names")) == robot


@pytest.mark.parametrize(
    "name", ["no", "null", "~", "1e5", "-", "0x10", "true", "#", "a: b", "a #b", "é", "\U0001f916", " "]
)
def test_names_that_yaml_would_take_for_something_else(tmp_path, name):
    robot = kt.Builder(name).body("b", "base", kt.Revolute(), joint_name=name, mass=1).build()
    assert there_and_back(robot, tmp_path) == robot


finite = st.floats(-1e99, 1e99)


@given(st.lists(finite, min_size=6, max_size=6))
def test_any_number(tmp_path_factory, numbers):
    position, com = numbers[:3], numbers[3:]
    pose = kt.Pose.of(position)
    builder = kt.Builder("r").body("b", "base", kt.Revolute(), placement=pose, mass=0, com=com, lower=-math.inf)
    robot = builder.build()
    assert there_and_back(robot, tmp_path_factory.mktemp("numbers")) == robot


def test_rotations_are_angles_where_they_say_it_exactly(tmp_path):
    plain = kt.Pose.of(rpy=(0.1, -0.2, 1.5707963267948966))
    odd = plain @ kt.Pose.of(rpy=(1, 2, 3)) @ plain
    for pose, word in ((plain, "rpy: [0.1, -0.2, 1.5707963267948966]"), (odd, "rotation: [[")):
        robot = kt.Builder("r").body("b", "base", kt.Revolute(), placement=pose, mass=1).build()
        assert there_and_back(robot, tmp_path) == robot
        assert word in (tmp_path / "robot.yaml").read_text()


# By hand


def test_an_example_by_hand(tmp_path):
    robot = kt.load(write(tmp_path, EXAMPLE))
    VALIDATOR.validate(yaml.safe_load(EXAMPLE.replace("1e-1", "1.0e-1")))
    b = kt.Builder("crane", base="ground")
    b.body(
        "boom", "ground", kt.Revolute("z"), joint_name="slew", position=(0, 0, 1.5), rpy=(0, 0.1, 0), mass=12,
        com=(1, 0, 0), inertia=(0.1, 4, 4), lower=-2, upper=2, damping=0.1,
    )  # fmt: skip
    b.body("rope", "boom", kt.Universal("XY"), position=(2, 0, 0))
    b.body("load", "rope", kt.Prismatic("-z"), mass=5, effort_limit=500)
    b.body("counterweight", "boom", kt.Fixed(), position=(-0.5, 0, 0), mass=20)
    b.frame("hook", "load", (0, 0, -0.2))
    assert robot == b.build()


def body_with(lines: str) -> str:
    return f"kinetree: 1\nbodies:\n  - {{name: b, parent: base, joint: revolute, {lines}}}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mass: 2, inertia: [1, 2, 2.5]", kt.MassProperties.of(2, inertia=(1, 2, 2.5))),
        ("mass: 2, inertia: [3, 2, 3, 0.1, 0.2, 0.3]", kt.MassProperties.of(2, inertia=(3, 2, 3, 0.1, 0.2, 0.3))),
        (
            "mass: 2, inertia: [[3, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]]",
            kt.MassProperties.of(2, inertia=(3, 2, 3, 0.1, 0.2, 0.3)),
        ),
        (
            "mass: 2, com: [0, 0, 1], inertia: [3, 3, 1], inertia_about: origin",
            kt.MassProperties.of(2, (0, 0, 1), (1, 1, 1)),
        ),
        (
            "mass: 2, inertia: [3, 2, 2], inertia_axes: {quaternion: [0, 0, 1.0, 0.0]}",
            kt.MassProperties.of(2, (0, 0, 0), (3, 2, 2)),
        ),
    ],
)
def test_inertia_in_any_form(tmp_path, text, expected):
    robot = kt.load(write(tmp_path, body_with(text)))
    VALIDATOR.validate(yaml.safe_load(body_with(text)))
    assert_close(robot.body("b").mass_properties.parameters, expected.parameters, 1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "rpy: [0.1, 0.2, 0.3]",
        f"quaternion: {Rotation.from_euler('xyz', (0.1, 0.2, 0.3)).as_quat().tolist()}",
        f"rotation: {kt.Pose.of(rpy=(0.1, 0.2, 0.3)).rotation.tolist()}",
    ],
)
def test_rotation_in_any_form(tmp_path, text):
    content = body_with(f"placement: {{position: [1, 2, 3], {text}}}, mass: 1")
    VALIDATOR.validate(yaml.safe_load(content))
    pose = kt.load(write(tmp_path, content)).joint("b_joint").placement
    assert_close(pose.matrix, kt.Pose.of((1, 2, 3), rpy=(0.1, 0.2, 0.3)).matrix, 1e-15)


def test_numbers_as_in_yaml_1_2(tmp_path):
    text = body_with("mass: 1e-5, com: [.5, -1.E+2, +3]")
    properties = kt.load(write(tmp_path, text)).body("b").mass_properties
    assert (properties.mass, properties.com) == (1e-5, (0.5, -100.0, 3.0))


def test_anchors_save_typing(tmp_path):
    text = """
kinetree: 1
bodies:
  - {name: a, parent: base, joint: &hinge {kind: revolute, axis: y}, mass: 1, inertia: &i [1, 1, 1]}
  - {name: b, parent: a, joint: *hinge, mass: 1, inertia: *i}
"""
    assert kt.load(write(tmp_path, text)).body("b").mass_properties.inertia[0] == 1.0


def test_options_apply(tmp_path):
    path = write(tmp_path, EXAMPLE, "robot.yml")
    robot = kt.load(path, floating_base=True, gravity=(0, 0, 1))
    assert robot.is_floating
    assert robot.gravity.tolist() == [0, 0, 1]
    follower = EXAMPLE.replace("effort_limit: 500", "effort_limit: 500, mimic: {leader: slew}")
    assert kt.load(write(tmp_path, follower)).nv == 3
    assert kt.load(write(tmp_path, follower), mimic="independent").nv == 4


def test_bodies_in_any_order(tmp_path):
    shuffled = yaml.safe_load(EXAMPLE.replace("1e-1", "0.1"))
    shuffled["bodies"].reverse()
    robot = kt.load(write(tmp_path, yaml.safe_dump(shuffled)))
    q = robot.random_configuration(0)
    original = kt.load(write(tmp_path, EXAMPLE))
    assert robot.joint_names == original.joint_names
    assert_close(robot.pose(q, "hook"), original.pose(q, "hook"), 1e-15)


# Writing


def test_functions_cannot_be_written(tmp_path):
    identity = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    cam = kt.Custom(1, lambda x: (identity, (x, 0, 0)))
    robot = kt.Builder("r").body("b", "base", cam, joint_name="cam", mass=1).build()
    path = write(tmp_path, "old content")
    with pytest.raises(kt.UnsupportedError, match="joint 'cam'"):
        robot.save(path)
    assert path.read_text() == "old content"
    assert os.listdir(tmp_path) == ["robot.yaml"]


def test_a_failing_disk_leaves_the_old_file(tmp_path, monkeypatch):
    robot = kt.load(write(tmp_path, EXAMPLE))
    path = write(tmp_path, "old content")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        robot.save(path)
    assert path.read_text() == "old content"
    assert os.listdir(tmp_path) == ["robot.yaml"]


def test_writing_goes_through_links_and_keeps_usual_permissions(tmp_path):
    robot = kt.load(write(tmp_path, EXAMPLE))
    (tmp_path / "link.yaml").symlink_to(tmp_path / "target.yaml")
    robot.save(tmp_path / "link.yaml")
    assert (tmp_path / "link.yaml").is_symlink()
    assert kt.load(tmp_path / "target.yaml") == robot
    (tmp_path / "plain").touch()
    assert (tmp_path / "target.yaml").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_formats_that_cannot_be_written(tmp_path):
    robot = kt.load(write(tmp_path, EXAMPLE))
    with pytest.raises(kt.UnsupportedError, match="robots are written as"):
        robot.save(tmp_path / "robot.stl")
    with pytest.raises(kt.UnsupportedError, match=r"\.yaml, \.urdf"):
        robot.save(tmp_path / "robot.dae")
    with pytest.raises(kt.RobotFileNotFoundError, match="there is no directory"):
        robot.save(tmp_path / "nowhere" / "robot.yaml")
    lone = kt.Builder("r\ud800").body("b", "base", kt.Revolute(), mass=1).build()
    with pytest.raises(kt.UnsupportedError, match="not text"):
        lone.save(tmp_path / "lone.yaml")


# The schema


def test_the_schema_is_one_and_is_packaged():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert resources.files("kinetree.model.formats").joinpath("kinetree.schema.json").is_file()


def test_the_schema_knows_every_kind_of_joint():
    builtin = {name for name, kind in KINDS.items() if kind.__module__.startswith("kinetree.")}
    builtin -= {"custom", "reversed"}
    assert set(SCHEMA["$defs"]["kind"]["enum"]) == builtin


@pytest.mark.parametrize("kind", sorted(SCHEMA["$defs"]["kind"]["enum"]))
@pytest.mark.parametrize("parameter", ["axis: y", "pitch: 0.1", "normal: -x", "sequence: XY", "sequence: XYZ"])
def test_the_schema_and_the_reader_agree_on_parameters(tmp_path, kind, parameter):
    joint = f"{{kind: {kind}, {parameter}}}"
    text = f"kinetree: 1\nbase: {{name: g, mass: 1}}\nbodies: [{{name: b, parent: g, joint: {joint}}}]\n"
    valid = VALIDATOR.is_valid(yaml.safe_load(text))
    try:
        load_quietly(write(tmp_path, text))
    except kt.FileFormatError:
        assert not valid
    else:
        assert valid


WRONG = [
    "kinetree: 2\nbodies: []",
    "bodies: []",
    "kinetree: 1",
    "kinetree: 1\nbodies: []\ncolour: red",
    "kinetree: 1\nbodies: {}",
    "kinetree: 1\nbodies: [{name: b, parent: base}]",
    "kinetree: 1\nbodies: [{name: b, joint: fixed}]",
    "kinetree: 1\nbodies: [{name: 7, parent: base, joint: revolute}]",
    "kinetree: 1\nbodies: [{name: b, parent: base, joint: hinge}]",
    "kinetree: 1\nbodies: [{name: b, parent: base, joint: {axis: z}}]",
    body_with("mass: heavy"),
    body_with("mass: -1"),
    body_with("mass: '1'"),
    body_with("com: [1, 2]"),
    body_with("com: [1, 2, x]"),
    body_with("inertia: [1, 2, 3, 4]"),
    body_with("inertia: [[1, 2, 3], [1, 2, 3]]"),
    body_with("inertia_about: tip"),
    body_with("inertia_axes: {rpy: [0, 0, 0], quaternion: [0, 0, 0, 1]}"),
    body_with("placement: {rpy: [0, 0, 0], rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}"),
    body_with("placement: {positon: [0, 0, 0]}"),
    body_with("placement: [0, 0, 0]"),
    "kinetree: 1\nbodies: [{name: b, parent: base, joint: {kind: revolute, damping: -1}}]",
    "kinetree: 1\nbodies: [{name: b, parent: base, joint: {kind: revolute, lower: low}}]",
    "kinetree: 1\nbodies: [{name: b, parent: base, joint: {kind: revolute, actuated: maybe}}]",
    "kinetree: 1\nbodies: [{name: b, parent: base, joint: {kind: revolute, mimic: {ratio: 2}}}]",
    "kinetree: 1\nbodies: [{name: b, parent: base, joint: {kind: universal, sequence: XX}}]",
    "kinetree: 1\nbase: {mass: 1}\nbodies: [{name: b, parent: base, joint: revolute}]",
    "kinetree: 1\ngravity: 9.81\nbodies: [{name: b, parent: base, joint: revolute}]",
    "kinetree: 1\nframes: [{name: f}]\nbodies: [{name: b, parent: base, joint: revolute}]",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_the_schema_rejects_the_reader_rejects(tmp_path, text):
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
    with pytest.raises(kt.FileFormatError):
        kt.load(write(tmp_path, text))


def test_a_users_own_kind_of_joint(tmp_path):
    """A joint class with a name is known to the files, too, without a change to the reader."""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Geared(kt.Revolute):
        teeth: float = 10.0
        name = "geared_for_test"

    try:
        robot = kt.Builder("r").body("b", "base", Geared("y", 12.0), mass=1, com=(1, 0, 0)).build()
        robot.save(tmp_path / "r.yaml")
        assert kt.load(tmp_path / "r.yaml") == robot
    finally:
        del KINDS["geared_for_test"]
    with pytest.raises(kt.UnsupportedError, match="b_joint"):
        robot.save(tmp_path / "r.yaml")
    assert isinstance(robot.joint("b_joint").kind, JointKind)


@pytest.mark.slow
def test_ten_thousand_bodies_load_in_seconds(tmp_path):
    count = 10_000
    b = kt.Builder("rope")
    properties, pose = kt.MassProperties.rod(0.1, (0, 0, 0), (0, 0, 0.1)), kt.Pose.of((0, 0, 0.1), rpy=(0.1, 0.2, 0.3))
    for i in range(count):
        parent = "base" if i == 0 else f"b{i - 1}" if i % 7 else f"b{max(i - 3, 0)}"
        b.body(f"b{i}", parent, kt.Revolute("y"), placement=pose, mass_properties=properties, damping=0.1, lower=-1)
    robot = b.build()
    robot.save(tmp_path / "rope.yaml")
    start = time.process_time()
    again = kt.load(tmp_path / "rope.yaml")
    assert time.process_time() - start < 10.0
    assert again == robot
    assert replace(again.model, name="other") != robot.model


def test_the_example_in_the_documentation(tmp_path):
    page = (Path(__file__).resolve().parents[3] / "docs" / "file-formats.md").read_text()
    (text,) = [block.split("```")[0] for block in page.split("```yaml\n")[1:] if "slew" in block.split("```")[0]]
    VALIDATOR.validate(yaml.safe_load(text.replace("1e-3", "1.0e-3")))
    robot = kt.load(write(tmp_path, text))
    assert robot.joint_names == ["slew", "rope_joint", "load_joint", "indicator_joint"]
    assert robot.joint("slew").armature == pytest.approx((6.4,))
    up = np.array([np.sin(0.1), 0, np.cos(0.1)])  # the boom's z axis, tilted by the placement
    expected = [0, 0, 1.5] + 2 * np.array([np.cos(0.1), 0, -np.sin(0.1)]) - 0.2 * up
    assert_close(robot.pose(np.zeros(4), "hook")[:3, 3], expected, 1e-15)
    assert robot.mass == pytest.approx(370.1)


def test_wrenches_of_a_file(tmp_path):
    """They are kept, and act where they are given; other formats say that they have no word for them."""
    robot = kt.Builder("lift").body("bob", "base", kt.Prismatic("z"), mass=1, inertia=(1, 1, 1)).build()
    loaded = kt.Robot(replace(robot.model, loads=(Load("bob", (0.0, 0.0, 0.0, 0.0, 0.0, 3.0)),)))
    loaded.save(tmp_path / "r.yaml")
    again = kt.load(tmp_path / "r.yaml")
    assert again == loaded
    np.testing.assert_allclose(again.inverse_dynamics([0.0], [0.0], [0.0], wrenches=again.loads), 9.81 - 3.0)
    for ending in (".urdf", ".sdf", ".xml"):
        with pytest.warns(kt.ModelWarning, match="the wrench on 'bob'"):
            loaded.save(tmp_path / f"r{ending}")
    text = (tmp_path / "r.yaml").read_text()
    (tmp_path / "r.yaml").write_text(text.replace("  bob: [", "  bib: ["))
    with pytest.raises(kt.FileFormatError, match="bib"):
        kt.load(tmp_path / "r.yaml")
