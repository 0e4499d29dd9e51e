"""URDF files that are edited: inertias and friction change, and nothing else."""

import warnings

import numpy as np
import pytest

import kinetree as kt

FILE = """<?xml version="1.0"?>
<!-- our laboratory's arm -->
<robot name="arm" xmlns:xacro="http://example.org/xacro">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="world"/>
  <link name="upper">
    <visual><geometry><mesh filename="package://arm/upper.dae" scale="1 1 1"/></geometry></visual>
    <inertial>
      <origin xyz="0.1 0 0" rpy="0 0 0.3"/>
      <mass value="2"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/>
    </inertial>
  </link>
  <link name="sensor"><inertial><mass value="0.3"/><inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/>
    </inertial></link>
  <link name="lower">
    <inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="world"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
    <safety_controller k_velocity="3"/>
  </joint>
  <joint name="mount" type="fixed">
    <parent link="upper"/><child link="sensor"/><origin xyz="0 0.1 0.2" rpy="0.1 0 0"/></joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
  <gazebo reference="upper"><mu1>0.7</mu1></gazebo>
  <transmission name="t"><type>simple</type></transmission>
</robot>
"""


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(FILE)
    return path


def same(found, meant):
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 5, meant.nv))
    expected = meant.inverse_dynamics(q, v, a, friction=True)
    assert np.allclose(found.inverse_dynamics(q, v, a, friction=True), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mass", [3.0, 0.2], ids=["more than the sensor's", "less than the sensor's"])
def test_only_inertias_and_friction_change(original, tmp_path, mass):
    robot = kt.load(original)
    table = robot.parameters()
    ten = {name: mass / 2.3 * table[name] for name in table.names if name.startswith("upper.")}
    changed = robot.with_parameters(ten | {"shoulder.damping": 0.7, "elbow.friction": 0.4})
    changed.save(tmp_path / "new.urdf", original=original)
    text = (tmp_path / "new.urdf").read_text()
    for word in ("our laboratory's arm", 'filename="package://arm/upper.dae"', "<mu1>0.7</mu1>", "safety_controller",
                 'name="sensor"', "transmission", '<material name="blue">'):  # fmt: skip
        assert word in text
    lower = FILE[FILE.index('<link name="lower">') : FILE.index('<joint name="shoulder"')]
    assert lower.strip() in text  # what did not change is not written anew
    again = kt.load(tmp_path / "new.urdf")
    same(again, changed)
    assert ('<mass value="0.3"/>' in text) == (mass > 0.3)


def test_nothing_changes_where_nothing_did(original, tmp_path):
    kt.load(original).save(tmp_path / "new.urdf", original=original)
    assert (tmp_path / "new.urdf").read_text() == FILE


def test_springs_rotors_and_a_floating_base(original, tmp_path):
    robot = kt.load(original, floating_base=True).with_springs({"elbow": 2.0}, {"elbow": 0.1})
    with (
        pytest.warns(kt.ModelWarning, match="springs, of joint 'elbow', are"),
        pytest.warns(kt.ModelWarning, match="rotor inertias, of joint 'shoulder', are attributes that only kinetree"),
    ):
        robot.with_parameters({"lower.M": 1.5, "shoulder.rotor_inertia": 0.3}).save(
            tmp_path / "new.urdf", original=original
        )
    again = kt.load(tmp_path / "new.urdf", floating_base=True, strict=True)
    assert again.parameters()["elbow.stiffness"] == 2.0
    assert again.parameters()["lower.M"] == 1.5
    assert again.parameters()["shoulder.rotor_inertia"] == 0.3
    again.with_parameters({"shoulder.rotor_inertia": 0.0}).save(tmp_path / "none.urdf", original=tmp_path / "new.urdf")
    assert "rotor_inertia" not in (tmp_path / "none.urdf").read_text()


def test_other_robots_are_refused(original, tmp_path):
    robot = kt.load(original)
    other = kt.gallery.load("kuka-kr5")
    with pytest.raises(kt.UnsupportedError, match="not this robot's file"):
        other.save(tmp_path / "new.urdf", original=original)
    with pytest.raises(kt.UnsupportedError, match="for URDF files"):
        robot.save(tmp_path / "new.yaml", original=original)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kt.RobotFileNotFoundError):
            robot.save(tmp_path / "new.urdf", original=tmp_path / "nowhere.urdf")
    assert not (tmp_path / "new.urdf").exists()


@pytest.mark.filterwarnings("ignore:springs, of joint", "ignore:rotor inertias, of joint")
def test_prefixes_that_are_not_declared_stay_as_they_are(original, tmp_path):
    """They are read, so they can be edited; ours is declared where we write it."""
    text = FILE.replace("<dynamics", '<dynamics kinetree:rotor_inertia="0.2"', 1)
    text = text.replace("</robot>", '  <gazebo><ours:note text="old"/></gazebo>\n</robot>')
    original.write_text(text)
    robot = kt.load(original)
    assert robot.parameters()["elbow.rotor_inertia"] == 0.2
    robot.with_parameters({"lower.M": 1.5}).save(tmp_path / "new.urdf", original=original)
    again = kt.load(tmp_path / "new.urdf")
    assert again.parameters()["lower.M"] == 1.5
    assert again.parameters()["elbow.rotor_inertia"] == 0.2
    assert '<ours:note text="old"/>' in (tmp_path / "new.urdf").read_text()
    robot.with_parameters({"elbow.rotor_inertia": 0.5}).save(tmp_path / "new.urdf", original=original)
    assert (tmp_path / "new.urdf").read_text().count('xmlns:kinetree="urn:kinetree"') == 1
