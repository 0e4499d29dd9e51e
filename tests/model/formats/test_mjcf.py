"""MJCF: what MuJoCo compiles and what is read from it give the same equations; what is left out is named."""

from __future__ import annotations

import builtins
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from judges.mujoco_judge import MujocoJudge

ARM = """
<mujoco model="arm">
  <option gravity="0.3 -1 -9"/>
  <worldbody>
    <body name="pillar" pos="0.1 0.2 0.3" euler="10 20 30">
      <geom type="box" size=".1 .1 .4" mass="3"/>
      <body name="upper" pos="0 0.1 0.5" quat="0.8 0.1 -0.3 0.2">
        <joint name="shoulder" type="hinge" axis="1 2 -1" pos="0.05 -0.1 0.2" range="-90 80" armature="0.2"
               damping="0.7" frictionloss="0.3"/>
        <inertial pos="0.1 0 0.2" quat="0.5 0.5 0.1 -0.2" mass="2" diaginertia="0.05 0.04 0.03"/>
        <site name="elbow_mark" pos="0.3 0 0.1" euler="0 40 0"/>
        <body name="plate" pos="0.2 0 0.4" euler="0 0 45">
          <geom type="ellipsoid" size=".1 .2 .05" mass="0.5"/>
          <body name="lower" pos="0 0.1 0.3">
            <joint name="slide" type="slide" axis="0 1 1" pos="1 2 3" ref="0.2" range="-0.1 0.4"/>
            <joint name="twist" type="hinge" axis="0 0 1" pos="0 0.1 0" ref="25"/>
            <joint name="swing" type="hinge" axis="1 1 0" pos="-0.2 0 0.1" armature="0.05" damping="0.1"/>
            <geom type="capsule" fromto="0 0 0 0.1 0.2 0.5" size="0.05" mass="1.2"/>
            <body name="hand" pos="0 0 0.6">
              <joint name="wrist" type="ball" pos="0.02 0.01 -0.1" armature="0.01" damping="0.02"/>
              <geom type="box" size="0.1 0.03 0.06" pos="0.05 0 0" euler="10 0 30" mass="0.4"/>
            </body>
          </body>
        </body>
      </body>
      <body name="loose_end" pos="1 0 0"><site name="mark" pos="0 0 1"/></body>
    </body>
  </worldbody>
</mujoco>
"""

FLYER = """
<mujoco model="flyer">
  <worldbody>
    <body name="hull" pos="1 2 3" euler="30 0 60">
      <freejoint name="air"/>
      <geom type="box" size=".3 .2 .1" pos="0.05 -0.1 0.02" euler="0 20 0" mass="4"/>
      <body name="leg" pos="0.3 0 0">
        <joint name="hip_x" axis="1 0 0"/>
        <joint name="hip_y" axis="0 1 0" armature="0.1" damping="0.3"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/>
        <body pos="0 0 -0.5"><joint name="knee" axis="0 1 0"/><geom type="sphere" size="0.1" pos="0 0 -0.2"/></body>
      </body>
      <body name="tail" pos="-0.3 0 0"><joint name="ball" type="ball"/><geom type="sphere" size="0.1" pos="-0.2 0 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

WELDED = """
<mujoco>
  <worldbody>
    <body name="torso" pos="0 0 1">
      <geom type="box" size=".3 .2 .1" mass="4"/>
      <body name="arm" pos="0.3 0 0"><joint name="elbow" axis="0 1 0"/><geom type="sphere" size="0.1" pos="0 0 -0.2"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written here; MuJoCo, too, writes its log into the working directory."""
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "robot.xml") -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def one_body(joint: str = '<joint name="j" axis="0 1 0"/>', rest: str = "", inside: str = "") -> str:
    """A model with one moving body."""
    return (
        f'<mujoco><worldbody><body name="bob">{joint}<geom type="sphere" size="0.1" pos="0 0 -1"/>{inside}</body>'
        f"</worldbody>{rest}</mujoco>"
    )


def judged(text: str) -> tuple[kt.Robot, MujocoJudge]:
    """The robot and its judge, from the same text."""
    robot = kt.load(write(text))
    return robot, MujocoJudge(robot, mujoco.MjModel.from_xml_string(text))


@pytest.mark.parametrize("text", [ARM, FLYER], ids=["arm", "flyer"])
def test_equations_are_mujocos(text):
    robot, judge = judged(text)
    rng = np.random.default_rng(3)
    q = robot.random_configuration(rng, 5)
    v = rng.standard_normal((5, robot.nv))
    assert_close(robot.mass_matrix(q), judge.mass_matrix(q), 1e-12)
    assert_close(robot.bias_force(q, v), judge.bias_force(q, v), 1e-12)
    for body in robot.body_names:
        if mujoco.mj_name2id(judge.model, mujoco.mjtObj.mjOBJ_BODY, body) > 0:  # not so the massless ones between
            assert_close(robot.pose(q, body), judge.pose(q, body), 1e-13)


def test_welded_bodies_and_sites_are_frames_where_mujoco_has_them():
    robot, judge = judged(ARM)
    q = robot.random_configuration(1)
    judge._set(q, np.zeros(robot.nv))
    mujoco.mj_kinematics(judge.model, judge.data)
    for name in ("pillar", "plate", "loose_end"):
        assert_close(robot.pose(q, name)[:3, 3], judge.data.body(name).xpos, 1e-14)
    for name in ("elbow_mark", "mark"):
        assert_close(robot.pose(q, name)[:3, 3], judge.data.site(name).xpos, 1e-14)
        assert_close(robot.pose(q, name)[:3, :3].ravel(), judge.data.site(name).xmat, 1e-14)


def test_what_is_written_per_joint():
    robot, judge = judged(ARM)
    assert robot.name == "arm"
    assert_close(robot.gravity, [0.3, -1.0, -9.0], 1e-15)
    assert robot.joint_names == ["shoulder", "slide", "twist", "swing", "wrist"]
    shoulder = robot.joint("shoulder")
    assert_close(shoulder.lower + shoulder.upper, np.radians([-90, 80]), 1e-15)
    assert (shoulder.damping, shoulder.friction, shoulder.armature) == ((0.7,), (0.3,), (0.2,))
    assert robot.joint("slide").lower == (-0.1,)
    assert robot.joint("twist").upper == (np.inf,)
    assert robot.joint("wrist").armature == (0.01,) * 3
    v = np.random.default_rng(0).standard_normal(robot.nv)
    judge._set(robot.neutral(), v)
    mujoco.mj_forward(judge.model, judge.data)
    assert_close(-robot.model.joint_vector("damping") * v, judge.data.qfrc_passive, 1e-14)


def test_reference_position_is_where_the_body_sits_as_drawn():
    """At q = ref MuJoCo has the body at its drawn pose; the coordinate is MuJoCo's own."""
    robot = kt.load(write(one_body('<joint name="j" axis="0 1 0" ref="30"/>')))
    drawn = robot.pose([np.radians(30)], "bob")
    assert_close(drawn, np.eye(4), 1e-15)
    assert robot.pose([0.0], "bob")[0, 2] == pytest.approx(-0.5)


def test_names_are_found_for_what_has_none():
    text = """<mujoco><worldbody><body><joint axis="1 0 0"/><joint axis="0 1 0"/><geom size="0.1" pos="1 1 1"/>
      <body name="body_2"><freejoint/><geom size="0.1"/></body></body></worldbody></mujoco>"""
    robot = kt.load(write(text.replace("<freejoint/>", '<joint type="ball"/>')))
    assert robot.name == "robot"
    assert robot.joint_names == ["body_1_joint", "body_1_joint_2", "body_2_joint"]
    assert robot.body_names == ["body_1_body_1_joint", "body_1", "body_2"]


def test_two_free_bodies():
    text = """<mujoco><worldbody>
      <body name="a" pos="9 9 9"><freejoint/><geom size="0.1"/></body>
      <body name="b"><freejoint/><geom size="0.1" pos="0 0 1"/></body></worldbody></mujoco>"""
    robot = kt.load(write(text))
    assert (robot.nq, robot.nv) == (14, 12)
    q = robot.neutral()
    q[robot.joint("a_joint").q_slice][4:] = (1, 2, 3)
    assert robot.pose(q, "a")[:3, 3].tolist() == [1, 2, 3], "a free joint's position is absolute"
    assert not robot.joint("a_joint").actuated


def test_gravity_can_be_switched_off_in_the_file_and_set_by_the_caller():
    off = one_body(rest='<option gravity="0 0 -3"><flag gravity="disable"/></option>')
    assert kt.load(write(off)).gravity.tolist() == [0, 0, 0]
    assert kt.load(write(off), gravity=(0, 1, 0)).gravity.tolist() == [0, 1, 0]


# Actuators


def test_motors_give_effort_limits_and_say_what_is_driven():
    text = """<mujoco><worldbody><body><joint name="a" actuatorfrcrange="-7 7"/><geom size="0.1" pos="1 0 0"/>
      <body><joint name="b"/><geom size="0.1" pos="1 0 0"/>
      <body><joint name="c"/><geom size="0.1" pos="1 0 0"/>
      <body><joint name="d"/><geom size="0.1" pos="1 0 0"/></body></body></body></body></worldbody>
      <actuator><motor joint="a" gear="10"/><motor joint="b" gear="-3" ctrlrange="-2 2"/>
      <motor joint="c" gear="5" forcerange="-4 4" ctrlrange="-9 9"/></actuator></mujoco>"""
    robot = kt.load(write(text))
    assert [robot.joint(j).effort_limit for j in "abcd"] == [(7.0,), (6.0,), (20.0,), (np.inf,)]
    assert [robot.joint(j).actuated for j in "abcd"] == [True, True, True, False]
    assert kt.load(write(one_body())).joint("j").actuated, "a file without actuators says nothing about motors"


def test_inertia_and_damping_of_a_motor_reach_the_joint_through_its_gear():
    text = one_body('<joint name="j" axis="0 1 0" armature="0.1" damping="0.3"/>', "<actuator>{}</actuator>")
    try:
        robot, judge = judged(text.format('<motor joint="j" gear="3" armature="0.5" damping="0.2"/>'))
    except kt.FileFormatError:
        pytest.skip("this MuJoCo has no armature of actuators")
    assert_close(robot.mass_matrix([[0.3]]), judge.mass_matrix(np.array([[0.3]])), 1e-13)
    assert robot.joint("j").armature == pytest.approx((0.1 + 9 * 0.5,))
    assert robot.joint("j").damping == pytest.approx((0.3 + 9 * 0.2,))


# What is left out is named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (one_body('<joint name="j" type="ball" range="0 40"/>'), "range of spherical joint 'j'"),
        (one_body(rest='<option density="1.2"/>'), "fluid"),
        (
            one_body(rest='<tendon><fixed name="t" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>'),
            "range of tendon 't'",
        ),
        (
            one_body(rest='<actuator><general name="slow" joint="j" dyntype="filter" dynprm="1"/></actuator>'),
            "actuator 'slow' (it has an internal state)",
        ),
        (
            one_body(rest='<actuator><muscle name="m" joint="j" lengthrange="0 1"/></actuator>'),
            "actuator 'm' (it has an internal state)",
        ),
        (one_body(inside='<site name="bob"/>'), "site 'bob'"),
        (one_body('<joint name="j"/>').replace('<body name="bob"', '<body name="bob" gravcomp="1"'), "gravity comp"),
        (
            one_body(rest='<actuator><motor site="s" gear="1 0 0 0 0 0"/></actuator>', inside='<site name="s"/>'),
            "actuator 'actuator_0' (it drives neither a joint nor a tendon)",
        ),
        (
            one_body().replace("<worldbody>", '<worldbody><body name="hand" mocap="true"/>'),
            "motion capture of bodies 'hand'",
        ),
    ],
)
def test_what_is_not_understood_is_named_in_one_warning(text, named):
    path = write(text)
    with pytest.warns(kt.ModelWarning) as caught:
        kt.load(path)
    assert len(caught) == 1
    assert named in str(caught[0].message)
    assert "robot.xml" in str(caught[0].message)
    assert caught[0].filename == __file__, "the warning points at the caller"
    with pytest.raises(kt.FileFormatError, match="not understood"):
        kt.load(path, strict=True)


def test_a_plain_model_gives_no_warning():
    kt.load(
        write(
            one_body(
                rest='<actuator><motor joint="j"/></actuator><contact><exclude body1="bob" body2="world"/></contact>'
            )
        )
    )


# Floating base, formats, failures


def test_floating_base_frees_the_only_body_of_the_world():
    robot = kt.load(write(WELDED), floating_base=True)
    assert robot.joint_names == ["floating_base", "elbow"]
    assert robot.is_floating
    freed = WELDED.replace('<geom type="box"', '<freejoint/><geom type="box"')
    again = kt.load(write(freed))
    q = again.random_configuration(0)
    assert_close(robot.mass_matrix(q), again.mass_matrix(q), 1e-15)
    with pytest.raises(kt.FileFormatError, match="exactly one body in the world"):
        kt.load(write(freed), floating_base=True)


def test_xml_is_read_as_what_its_root_says():
    urdf = """<robot name="u"><link name="a"/><link name="b"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    assert kt.load(write(urdf)).name == "u"
    with pytest.raises(kt.FileFormatError, match=r"robot\.xml, line 1: .*<collada>"):
        kt.load(write("<collada/>"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody>\n<body><joint type='hing'/></body></worldbody></mujoco>", r"line 2: .*hing"),
        ("<mujoco><worldbody>\n<body name='x'><joint/></body></worldbody></mujoco>", r"mass and inertia"),
        (
            "<mujoco><asset><mesh name='m' file='gone.stl'/></asset><worldbody><body name='x'><joint/>"
            "<geom type='mesh' mesh='m'/></body></worldbody></mujoco>",
            r"inertia of bodies 'x' \(gone\.stl\)",
        ),
        ("<mujoco>", r"line 1: malformed XML"),
        ("<mujoco/>", r"empty"),
        ("<!DOCTYPE m [<!ENTITY a 'b'>]><mujoco/>", r"line 1: .*DOCTYPE"),
    ],
)
def test_broken_files(text, message):
    with pytest.raises(kt.FileFormatError, match=r"robot\.xml.*" + message):
        kt.load(write(text))


def test_meshes_may_be_missing_where_inertias_are_given():
    inertial = '<inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.05"/>'
    plain = f"""<mujoco model="m"><asset/><worldbody><body name="x"><joint name="j" axis="0 1 0"/>{inertial}
      <geom size="0.1"/></body></worldbody></mujoco>"""
    asset = '<asset><mesh name="m" file="gone.stl"/><texture name="t" type="2d" file="gone.png"/>'
    asset += '<material name="c" texture="t"/></asset>'
    shaped = plain.replace("<asset/>", asset).replace(
        "<geom", '<geom name="g" type="mesh" mesh="m" material="c"/><geom name="h" material="c"'
    )
    shaped = shaped.replace("</mujoco>", '<contact><pair geom1="g" geom2="h"/></contact></mujoco>')
    with pytest.warns(kt.ModelWarning, match=r"files are missing.*'gone\.stl', 'gone\.png'"):
        robot = kt.load(write(shaped))
    assert robot.model == kt.load(write(plain)).model
    with pytest.raises(kt.FileFormatError, match="files are missing"):
        kt.load(write(shaped), strict=True)


def test_bodies_whose_mass_was_to_be_computed_from_missing_meshes():
    """Refused, or massless with a warning each; of a body that cannot move it does not matter."""
    inertial = '<inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.05"/>'
    mesh = '<geom type="mesh" mesh="m"/>'
    text = f"""<mujoco model="m"><asset><mesh name="m" file="gone.stl"/></asset><worldbody><body name="mount">{mesh}
      <body name="arm"><joint name="j" axis="0 1 0"/>{inertial}<body name="pad">{mesh}</body></body></body>
      </worldbody></mujoco>"""
    with pytest.raises(kt.FileFormatError, match=r"of bodies 'pad' \(gone\.stl\) would be .*missing_meshes='massless'"):
        kt.load(write(text))
    with pytest.warns(kt.ModelWarning, match=r"body 'pad' has no mass: .*'gone\.stl', which is missing"):
        robot = kt.load(write(text), missing_meshes="massless")
    assert robot.parameters()["arm.M"] == 2.0
    with pytest.warns(kt.ModelWarning, match="files are missing that only pictures"):
        held = kt.load(write(text.replace(f'<body name="pad">{mesh}</body>', "")))
    assert held.mass_matrix([0.0]) == robot.mass_matrix([0.0])
    with pytest.raises(
        kt.FileFormatError, match=r"inertia of bodies .*'arm' \("
    ):  # MuJoCo has no moving ones without mass
        kt.load(write(text.replace(inertial, mesh)), missing_meshes="massless")
    with pytest.raises(kt.UnknownNameError, match="way to treat missing meshes"):
        kt.load(write(text), missing_meshes="ignore")


def test_without_mujoco_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(kt.UnsupportedError, match=r"pip install kinetree\[mjcf\]"):
        kt.load(write(WELDED))


def test_what_is_read_can_be_written_as_yaml_and_read_back():
    robot = kt.load(write(ARM))
    robot.save("arm.yaml")
    assert kt.load("arm.yaml") == robot
