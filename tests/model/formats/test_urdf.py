"""URDF: every real robot loads and agrees with Pinocchio's reading; each element means what it should; round trips."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_mass, random_pose
from judges.pinocchio_judge import PinocchioJudge
from judges.real_robots import load_quietly, robot_file
from kinetree.model.formats.urdf import UNLIMITED
from kinetree.model.pose import roll_pitch_yaw

ROBOTS = robot_file("")
FILES = sorted(str(p.relative_to(ROBOTS)) for p in ROBOTS.glob("**/*.urdf"))
EMPTY = "ur_description/urdf/ur3.urdf"
"""An empty <robot/>, left over by xacro from a file that only defines macros; Pinocchio refuses it, too."""

PANDA = "panda_description/urdf/panda.urdf"


def write(tmp_path: Path, body: str, name: str = "robot.urdf") -> Path:
    path = tmp_path / name
    path.write_text(body)
    return path


def link(name: str, mass: float | None = 1.0) -> str:
    if mass is None:
        return f'<link name="{name}"/>'
    return (
        f'<link name="{name}"><inertial><origin xyz="0.1 0 0.2"/><mass value="{mass}"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "continuous") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def one_joint(inside: str = "", kind: str = "continuous") -> str:
    return f'<robot name="r">{link("a", None)}{link("b")}{joint("j", "a", "b", inside, kind)}</robot>'


# Real robots


def test_there_are_as_many_files_as_expected():
    assert len(FILES) >= 60


@pytest.mark.parametrize("path", [f for f in FILES if f != EMPTY])
def test_every_robot_agrees_with_pinocchio(path):
    """Names, masses and, at a random state on a floating base, the equations of motion."""
    file = ROBOTS / path
    robot = load_quietly(file, floating_base=True, mimic="independent")
    fixed = load_quietly(file, mimic="independent")
    judge = PinocchioJudge.of_urdf(robot, file, floating_base=True)
    theirs = pin.buildModelFromUrdf(str(file))
    assert set(fixed.joint_names) == set(list(theirs.names)[1:])
    assert fixed.nv == theirs.nv
    masses = [inertia.mass for inertia in theirs.inertias]
    assert fixed.mass == pytest.approx(sum(masses[1:]), rel=1e-13)
    assert fixed.model.base.mass == pytest.approx(masses[0], rel=1e-13)
    assert robot.mass == pytest.approx(judge.mass(), rel=1e-13)
    rng = np.random.default_rng(0)
    q, v, a = robot.random_configuration(rng, 1), *rng.standard_normal((2, 1, robot.nv))
    assert_close(robot.inverse_dynamics(q, v, a), judge.inverse_dynamics(q, v, a), 1e-12)


@pytest.mark.parametrize("path", [f for f in FILES if f != EMPTY])
def test_followers_have_no_coordinate(path):
    file = ROBOTS / path
    robot, free = load_quietly(file), load_quietly(file, mimic="independent")
    followers = [j for j in robot.model.joints if j.mimic]
    assert robot.joint_names == free.joint_names
    assert robot.nv == free.nv - len(followers)
    q = robot.random_configuration(1)
    positions = np.zeros(free.nq)
    for j in robot.model.joints:
        m = j.mimic
        own = m.ratio * q[robot.joint(m.leader).q_slice] + m.offset if m else q[j.q_slice]
        positions[free.joint(j.name).q_slice] = own
    if robot.body_names:
        assert_close(robot.pose(q, robot.body_names[-1]), free.pose(positions, robot.body_names[-1]), 1e-13)


def test_which_robots_have_followers():
    """Read off the files: moving joints with a <mimic> whose leader is there and moves."""
    counts = {f: sum(j.mimic is not None for j in load_quietly(ROBOTS / f).model.joints) for f in FILES if f != EMPTY}
    assert {Path(f).stem: n for f, n in counts.items() if n} == {
        "baxter": 2, "panda": 1, "panda_collision": 1, "pr2": 10, "romeo": 22, "talos_full_v2": 12,
        "talos_full_v2_box": 12, "tiago_pro": 10,
    }  # fmt: skip


def test_the_empty_file_is_refused_as_such():
    text = (ROBOTS / EMPTY).read_text()
    assert "<link" not in text
    assert "xacro" in text
    with pytest.raises(kt.FileFormatError, match=r"ur3\.urdf, line 6: robot 'ur3' is empty: the file has no <link>"):
        kt.load(ROBOTS / EMPTY)


def test_impossible_inertias_are_a_warning_that_names_the_links():
    file = robot_file("romeo_description/urdf/romeo_small.urdf")
    with pytest.warns(kt.ModelWarning) as caught:
        kt.load(file)
    (warning,) = caught
    for expected in ("romeo_small.urdf", "line ", "'RShoulderYawLink'", "'RElbowYawLink'", "triangle inequality"):
        assert expected in str(warning.message)
    assert warning.filename == __file__, "the warning points at the caller"
    with pytest.raises(
        kt.FileFormatError, match=r"romeo_small\.urdf, line \d+: 2 th[^\n]*\n  line \d+: body 'RShoulderYawLink'"
    ):
        kt.load(file, strict=True)


@pytest.mark.parametrize("path", ["hector_description/robots/quadrotor_base.urdf"])
def test_a_robot_without_joints_loads_and_can_float(path):
    with pytest.warns(kt.ModelWarning, match="no moving joints"):
        robot = kt.load(robot_file(path))
    assert (robot.nq, robot.nv) == (0, 0)
    assert robot.model.base.mass == 1.477
    assert kt.load(robot_file(path), floating_base=True).mass == 1.477
    with pytest.raises(kt.FileFormatError, match="no moving joints"):
        kt.load(robot_file(path), strict=True)


@pytest.mark.parametrize("path", [PANDA, "talos_data/robots/talos_reduced.urdf"])
def test_frames_of_fixed_joints_keep_their_names(path):
    robot = load_quietly(robot_file(path), mimic="independent")
    judge = PinocchioJudge.of_urdf(robot, robot_file(path))
    q = robot.random_configuration(2)[None]
    welded = {f.name for f in robot.model.frames}
    checked = [name for name in judge.frame_names() if name in welded]
    assert len(checked) > 1
    for name in checked:
        assert_close(robot.pose(q, name), judge.pose(q, name), 1e-13)


# Elements


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("revolute", kt.Revolute), ("continuous", kt.Continuous), ("prismatic", kt.Prismatic),
        ("floating", kt.Free), ("planar", kt.Planar),
    ],
)  # fmt: skip
def test_joint_types(tmp_path, kind, expected):
    ends = 'lower="-1" upper="2" ' if kind in ("revolute", "prismatic") else ""
    robot = kt.load(write(tmp_path, one_joint(f'<limit {ends}effort="3" velocity="4"/>', kind)))
    assert type(robot.joint("j").kind) is expected


def test_an_axis_left_out_is_x(tmp_path):
    assert kt.load(write(tmp_path, one_joint())).joint("j").kind == kt.Continuous("x")


def test_an_axis_is_normalized_and_said_so(tmp_path):
    path = write(tmp_path, one_joint('<axis xyz="0 3 4"/>'))
    with pytest.warns(kt.ModelWarning, match=r"robot\.urdf, line 1: joint 'j': the axis has length 5, not 1"):
        assert kt.load(path).joint("j").kind == kt.Continuous((0, 0.6, 0.8))
    rounded = write(tmp_path, one_joint('<axis xyz="0 0.7071 0.7071"/>'))
    assert_close(kt.load(rounded).joint("j").kind.axis, (0, math.sqrt(0.5), math.sqrt(0.5)), 1e-15)


def test_numbers_of_a_joint(tmp_path):
    inside = (
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 -1 0"/><dynamics damping="0.5" friction="0.25"/>'
        '<limit lower="-1" upper="2" effort="3" velocity="4"/><safety_controller k_velocity="1"/>'
    )
    j = kt.load(write(tmp_path, one_joint(inside, "revolute"))).joint("j")
    assert (j.lower, j.upper, j.effort_limit, j.velocity_limit) == ((-1.0,), (2.0,), (3.0,), (4.0,))
    assert (j.damping, j.friction, j.rotor_inertia) == ((0.5,), (0.25,), (0.0,))
    assert j.kind == kt.Revolute("-y")
    expected = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([1.0, 2, 3]))
    assert_close(j.placement.matrix, expected.homogeneous, 1e-15)


def test_inertia_in_turned_axes(tmp_path):
    text = one_joint().replace('<origin xyz="0.1 0 0.2"/>', '<origin xyz="0.1 0 0.2" rpy="0 0 1.5707963267948966"/>')
    text = text.replace('ixx="0.1" iyy="0.1"', 'ixx="0.15" iyy="0.1"')
    properties = kt.load(write(tmp_path, text)).body("b").mass_properties
    assert properties.com == (0.1, 0.0, 0.2)
    assert_close(properties.inertia, [0.1, 0.15, 0.1, 0, 0, 0], 1e-15)


def test_an_orientation_as_quaternion(tmp_path):
    robot = kt.load(write(tmp_path, one_joint('<origin quat_xyzw="0 0 0.6 0.8"/>')))
    assert_close(robot.joint("j").placement.rotation, kt.Pose.of(quaternion=(0, 0, 0.6, 0.8)).rotation, 1e-15)


def test_missing_limits_are_named(tmp_path):
    with pytest.warns(kt.ModelWarning, match=r"joint 'j' has no <limit>, which URDF needs"):
        j = kt.load(write(tmp_path, one_joint("", "revolute"))).joint("j")
    assert (j.lower, j.upper) == ((-math.inf,), (math.inf,))
    with pytest.warns(kt.ModelWarning, match=r"(?s)no 'effort'.*no 'velocity'.*neither 'lower' nor 'upper'"):
        j = kt.load(write(tmp_path, one_joint("<limit/>", "prismatic"))).joint("j")
    assert (j.lower, j.upper, j.effort_limit) == ((-math.inf,), (math.inf,), (math.inf,))
    assert kt.load(write(tmp_path, one_joint("<limit effort='2'/>"))).joint("j").effort_limit == (2.0,)


RATES = '<limit effort="1" velocity="20"/>'
SHUT = '<limit effort="1" velocity="20" lower="0" upper="0.0"/>'


def bars(limits: list[str]) -> str:
    """A four-bar of hinges, one to a line."""
    about = '<axis xyz="0 0 1"/>'
    pin = f'<kinetree:loop name="end" type="revolute" xmlns:kinetree="urn:kinetree">{about}<predecessor link="b">'
    pin += '<origin xyz="1 0 0"/></predecessor><successor link="c"><origin xyz="0.8 0 0"/></successor></kinetree:loop>'
    joints = [
        joint(name, *ends, about + f'<origin xyz="{x} 0 0"/>' + limit, "revolute")
        for name, ends, x, limit in zip(
            ("crank", "pin", "rocker"), (("base", "a"), ("a", "b"), ("base", "c")), (0, 0.3, 1.1), limits, strict=True
        )
    ]
    links = link("base", None) + "".join(map(link, "abc"))
    return "\n".join([f'<robot name="bars">{links}', *joints, pin + "</robot>"])


@pytest.mark.parametrize("limits", [[RATES] * 3, [SHUT] * 3, [SHUT, RATES, SHUT]], ids=["none", "shut", "both"])
def test_no_range_is_no_limit(tmp_path, limits):
    """Loops of hinges that programs wrote without ranges, or with 0 to 0 throughout, can be closed."""
    path = write(tmp_path, bars(limits))
    with pytest.warns(kt.ModelWarning) as said:
        robot = kt.load(path)
    assert len(said) == 1
    message = str(said[0].message)
    assert ("neither 'lower' nor 'upper' are treated as unlimited: " in message) == (RATES in limits)
    assert ("No joint has another range, so these are treated as unlimited" in message) == (SHUT in limits)
    q = robot.close({"crank": 1.0, "pin": -0.5, "rocker": 1.5}, fixed=["crank"])
    assert np.max(robot.closure_error(q)) < 1e-12
    with pytest.raises(kt.FileFormatError, match=r"line [23]: joints"):
        kt.load(path, strict=True)


def test_a_joint_that_is_shut_among_others_is_obeyed(tmp_path):
    some = '<limit effort="1" velocity="20" lower="-1" upper="3"/>'
    with pytest.warns(kt.ModelWarning, match=r"line 3: joints that move have ranges from 0 to 0: 'pin'\. Set limits"):
        robot = kt.load(write(tmp_path, bars([some, SHUT, some])))
    assert robot.joint("pin").upper == (0.0,)


def test_no_limit_can_be_said(tmp_path):
    inside = f'<limit lower="-inf" upper="{UNLIMITED!r}" effort="1" velocity="INF"/>'
    j = kt.load(write(tmp_path, one_joint(inside, "prismatic"))).joint("j")
    assert (j.lower, j.upper, j.velocity_limit) == ((-math.inf,), (math.inf,), (math.inf,))


def test_other_tools_elements_and_missing_meshes_do_not_matter(tmp_path):
    extra = (
        '<gazebo reference="a"><sensor><orgin/></sensor></gazebo><transmission name="t"/><ros2_control/><material/>'
        '<xyz:thing xmlns:xyz="urn:x">text ${free}</xyz:thing>'
    )
    text = one_joint().replace("</robot>", extra + "</robot>")
    geometry = '<visual><geometry><mesh filename="package://gone/gone.stl" scale="a b c"/></geometry></visual>'
    text = text.replace("</inertial>", "</inertial>" + geometry + geometry + "<collision/>")
    assert kt.load(write(tmp_path, text)).model == kt.load(write(tmp_path, one_joint(), "other.urdf")).model


def test_what_looks_misspelt_is_named(tmp_path):
    text = one_joint('\n<orgin xyz="1 0 0"/>')
    with pytest.warns(kt.ModelWarning, match=r"line 2: <orgin> in <joint> is unknown .* did you mean <origin>\?"):
        kt.load(write(tmp_path, text))


ATTRIBUTES = """<robot name="r">
<link name="a"/><link name="b"><inertial><origin xzy="0 0 1"/><mass value="1"/>
<inertia ixx="1" iyx="0" ixz="0" iyy="1" iyz="0" izz="1" ixy="0"/></inertial>
<collision><geometry><capsule radius="0.1" lenght="0.2"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="1 0 0" ryp="0 0 1"/>
<limit lower="-1.9" up="1.9" effort="1" velocity="1" command_effort="3"/>
<dynamics dampng="0.1" friction="0" mu_viscous="2"/>
<mimic joint="k" multiplyer="2"/>
</joint>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/><dynamics viscous="1"/></joint>
<link name="c"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
</robot>"""


def test_attributes_that_look_misspelt_are_named(tmp_path):
    path = write(tmp_path, ATTRIBUTES)
    with pytest.warns(kt.ModelWarning) as told:
        kt.load(path)
    for line, name, meant in ((2, "xzy", "xyz"), (6, "ryp", "rpy"), (7, "up", "upper"), (8, "dampng", "damping"),
                              (4, "lenght", "length"), (9, "multiplyer", "multiplier")):  # fmt: skip
        assert f"line {line}: {name!r} in <" in str(told[0].message)
        assert f"did you mean {meant!r}?" in str(told[0].message)
    assert "line 11: 'viscous' in <dynamics> is unknown and not read; <dynamics> has 'damping', 'friction'" in str(
        told[0].message
    )
    for other in ("command_effort", "mu_viscous", "iyx"):  # of other tools, or beside what was meant
        assert f"{other!r} in" not in str(told[0].message)
    with pytest.raises(kt.FileFormatError, match=r"line 2: 9 things are wrong, .*:\n  line 2: 'xzy'") as refused:
        kt.load(path, strict=True)
    assert "line 9: 'multiplyer'" in str(refused.value)


def test_a_range_with_one_end_is_named(tmp_path):
    path = write(tmp_path, one_joint('<limit upper="1.9" effort="1" velocity="1"/>', "revolute"))
    with pytest.warns(kt.ModelWarning, match="<limit> has 'upper' but no 'lower', which URDF then takes as 0"):
        assert kt.load(path).joint("j").lower == (0.0,)


def test_all_faults_of_a_file_are_named_at_once(tmp_path):
    links = "".join(link(n) for n in "ab") + '\n<link name="c"><inertial><mass value="x"/></inertial></link>'
    joints = "\n" + joint("j1", "a", "b", kind="revlute") + "\n" + joint("j2", "a", "c", kind="revolute")
    limit = '<limit lower="2.4" upper="-2.4" effort="1" velocity="1"/></joint>'
    path = write(tmp_path, f"<robot name='r'>{links}{joints.removesuffix('</joint>')}{limit}</robot>")
    with pytest.raises(kt.FileFormatError) as refused:
        kt.load(path)
    told = str(refused.value).split("\n")
    assert told[0].endswith("robot.urdf, line 2: 3 things are wrong, the first of them here:")
    assert told[1].startswith("  line 2: the <inertial> of link 'c'")
    assert told[2].startswith("  line 3: joint 'j1': no joint type named 'revlute'; did you mean 'revolute'?")
    assert told[3] == "  line 4: joint 'j2': lower limit 2.4 exceeds upper limit -2.4"
    assert refused.value.line == 2


POINT_MASS = (
    '<inertial><origin xyz="{}"/><mass value="1.8"/>'
    '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
)


@pytest.mark.parametrize(
    ("place", "kind", "more", "idle"),
    [("0 0 0.1", "continuous", "", True), ("0.1 0 0", "continuous", "", False), ("0 0 0.1", "prismatic", "", False),
     ("0 0 0", "continuous", '<dynamics kinetree:rotor_inertia="0.1" xmlns:kinetree="urn:kinetree"/>', False)],
)  # fmt: skip
def test_a_mass_without_inertia_is_named_where_a_joint_turns_it(tmp_path, place, kind, more, idle):
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>' if kind == "prismatic" else ""
    inside = f'<origin xyz="0 0.2 0" rpy="0.3 0.4 0.5"/><axis xyz="0 0 1"/>{limit}{more}'
    path = write(
        tmp_path, f"<robot name='r'>{link('a')}<link name='b'>{POINT_MASS.format(place)}</link>"
        + joint("j", "a", "b", inside, kind) + "</robot>",
    )  # fmt: skip
    if not idle:
        assert np.linalg.det(kt.load(path, strict=True).mass_matrix([0.0])) > 0
        return
    with pytest.warns(kt.ModelWarning, match="nothing resists joints 'j': what 'j' carries has a mass of 1.8 kg"):
        assert abs(kt.load(path).mass_matrix([0.3])[0, 0]) < 1e-12


def test_order_is_parents_first_then_the_files(tmp_path):
    links = "".join(link(n) for n in "edcba")
    joints = joint("j3", "c", "d") + joint("j2", "a", "c") + joint("j1", "a", "b") + joint("j4", "c", "e")
    robot = kt.load(write(tmp_path, f"<robot name='r'>{links}{joints}</robot>"))
    assert robot.joint_names == ["j2", "j3", "j1", "j4"]


def test_a_follower_of_a_follower(tmp_path):
    links = "".join(link(n) for n in "abcd")
    joints = (
        joint("j1", "a", "b", '<mimic joint="j2" multiplier="3" offset="0.5"/>')
        + joint("j2", "b", "c", '<mimic joint="j3" multiplier="-2" offset="0.1"/>')
        + joint("j3", "c", "d")
    )
    robot = kt.load(write(tmp_path, f"<robot name='r'>{links}{joints}</robot>"))
    assert robot.nv == 1
    assert robot.joint("j1").mimic == kt.Mimic("j3", -6.0, 3 * 0.1 + 0.5)


def test_a_leader_that_is_not_there_is_named_and_the_follower_goes_free(tmp_path):
    path = write(tmp_path, one_joint('\n<mimic joint="jj"/>'))
    with pytest.warns(kt.ModelWarning, match=r"line 2: joint 'j' mimics no joint named 'jj'; did you mean 'j'\?"):
        assert kt.load(path).nv == 1
    with pytest.raises(kt.FileFormatError, match="line 2: joint 'j' mimics no joint"):
        kt.load(path, strict=True)
    assert kt.load(path, mimic="independent").nv == 1


def test_floating_base_and_gravity(tmp_path):
    path = write(tmp_path, one_joint())
    robot = kt.load(path, floating_base=True, gravity=(0, -1, 0))
    assert robot.is_floating
    assert robot.joint_names == ["floating_base", "j"]
    assert robot.gravity.tolist() == [0, -1, 0]
    assert not robot.joint("floating_base").actuated


def test_encodings(tmp_path):
    text = '<?xml version="1.0" encoding="{}"?>' + one_joint().replace('"b"', '"brüste"')
    for encoding in ("utf-8", "iso-8859-1", "utf-16"):
        path = tmp_path / f"{encoding}.urdf"
        path.write_bytes(text.format(encoding).encode(encoding))
        assert kt.load(path).body_names == ["brüste"]
    path.write_bytes(b"\xef\xbb\xbf" + one_joint().encode())
    assert kt.load(path).body_names == ["b"]


# Writing

PLANAR = kt.Planar((1, 1, 0.2))


def every_urdf_joint(rng: np.random.Generator, planar: kt.Planar | kt.Prismatic = PLANAR) -> kt.Robot:
    """A robot with every kind of joint that URDF knows, odd names, and frames in all places."""
    b = kt.Builder('all "kinds" & <more>', base="ground")
    b.add_body("ground", random_mass(rng))
    kinds = [
        kt.Free(), kt.Revolute((1, 2, 3)), kt.Continuous("-y"), kt.Prismatic((0.3, 0.1, -1)), planar,
        kt.Revolute("z"), kt.Prismatic("x"),
    ]  # fmt: skip
    parent = "ground"
    for i, kind in enumerate(kinds):
        b.add_body(f"b{i}", random_mass(rng))
        data = {} if kind.nv > 1 else {"damping": 0.1 * i, "friction": 0.2, "effort_limit": 5.0, "velocity_limit": 3.0}
        if i in (1, 3):
            data |= {"lower": -0.5, "upper": 1.5}
        if i == 5:
            data["mimic"] = kt.Mimic("j1", -1.5, 0.25)
        b.add_joint(
            f"j{i}", parent, f"b{i}", kind, random_pose(rng), actuated=not isinstance(kind, kt.Free), **data,
            child_pose=random_pose(rng) if i == 3 else None,
        )  # fmt: skip
        parent = f"b{i}" if i != 4 else "b2"
    b.add_body("weld", random_mass(rng))
    b.add_joint("weld joint", "b2", "weld", kt.Fixed(), random_pose(rng))
    b.frame("tool é", "b5", pose=random_pose(rng)).frame("j2", "b1", pose=random_pose(rng))
    return b.build()


def assert_same_motion(a: kt.Robot, b: kt.Robot) -> None:
    assert a.joint_names == b.joint_names
    rng = np.random.default_rng(0)
    q, v, acceleration = a.random_configuration(rng, 3), *rng.standard_normal((2, 3, a.nv))
    tau = a.inverse_dynamics(q, v, acceleration, friction=True)
    assert_close(b.inverse_dynamics(q, v, acceleration, friction=True), tau, 1e-13)
    for name in a.frame_names:
        assert_close(b.pose(q, name), a.pose(q, name), 1e-13)


def test_every_joint_survives_writing(tmp_path):
    robot = every_urdf_joint(np.random.default_rng(5))
    robot.save(tmp_path / "all.urdf")
    again = kt.load(tmp_path / "all.urdf")
    assert again.name == robot.name
    assert_same_motion(robot, again)
    for a, b in zip(robot.model.joints, again.model.joints, strict=True):
        kind = kt.Continuous(a.kind.axis) if a.name == "j5" else a.kind  # URDF's hinge without stops
        assert b == replace(a, kind=kind, placement=b.placement)
        assert_close(b.placement.matrix, a.placement.matrix, 1e-15)
    assert [b.mass_properties for b in again.model.bodies] == [b.mass_properties for b in robot.model.bodies]
    assert again.model.base == robot.model.base
    assert {f.name for f in again.model.frames} == {f.name for f in robot.model.frames} | {"j2_"}
    assert again.body_names == [f"b{i}" if i != 3 else "b3_at_joint" for i in range(7)]


def test_others_can_read_what_is_written(tmp_path):
    """Pinocchio can, but for planar joints, which it always lays into the x-y plane."""
    every_urdf_joint(np.random.default_rng(5), kt.Prismatic((1, 1, 0.2))).save(tmp_path / "all.urdf")
    robot = kt.load(tmp_path / "all.urdf", mimic="independent")
    judge = PinocchioJudge.of_urdf(robot, tmp_path / "all.urdf")
    rng = np.random.default_rng(1)
    q, v, a = robot.random_configuration(rng, 2), *rng.standard_normal((2, 2, robot.nv))
    assert_close(robot.inverse_dynamics(q, v, a), judge.inverse_dynamics(q, v, a), 1e-12)


@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize(
    "path",
    [
        PANDA, "ur_description/urdf/ur5_robot.urdf", "solo_description/robots/solo12.urdf",
        "g1_description/urdf/g1_29dof_rev_1_0.urdf", "kinova_description/robots/kinova.urdf",
    ],
)  # fmt: skip
def test_a_real_robot_written_and_read_is_equal(tmp_path, path, floating_base):
    robot = load_quietly(robot_file(path), floating_base=floating_base)
    robot.save(tmp_path / "robot.urdf")
    assert load_quietly(tmp_path / "robot.urdf") == robot


def test_a_robot_with_chains_of_welds_is_equal_to_rounding(tmp_path):
    """Products of rotations need not be what three angles can give."""
    robot = load_quietly(robot_file("talos_data/robots/talos_reduced.urdf"))
    robot.save(tmp_path / "robot.urdf")
    again = load_quietly(tmp_path / "robot.urdf")
    assert_same_motion(robot, again)
    assert [f.name for f in again.model.frames] == [f.name for f in robot.model.frames]


@pytest.mark.parametrize("seed", range(20))
def test_angles_of_a_rotation_are_found_again(seed):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-3.2, 3.2, 3)
    angles[rng.random(3) < 0.3] = rng.choice([0.0, np.pi / 2, -np.pi / 2, np.pi, 3.14159265359, 1.5708, -3.1416])
    pose = kt.Pose.of(rpy=angles)
    assert kt.Pose.of(rpy=roll_pitch_yaw(pose)).nine == pose.nine
    product = pose @ kt.Pose.of(rpy=rng.uniform(-3, 3, 3)) @ kt.Pose.of(rpy=(0, np.pi / 2, 0))
    assert_close(kt.Pose.of(rpy=roll_pitch_yaw(product)).rotation, product.rotation, 1e-15)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_angles_at_gimbal_lock(pitch):
    """Where roll and yaw turn about the same axis, rounding noise must not decide."""
    a, b = kt.Pose.of(rpy=(0.4, 0, 0)), kt.Pose.of(rpy=(0, pitch, 0)) @ kt.Pose.of(rpy=(0, 0, 1.3))
    assert_close(kt.Pose.of(rpy=roll_pitch_yaw(b @ a)).rotation, (b @ a).rotation, 4e-16)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (kt.Spherical(), "write .yaml"), (kt.Helical("z", 0.1), "write .yaml"),
        (kt.Universal("XY"), "with_single_joints"), (kt.Cylindrical("z"), "with_single_joints"),
        (kt.EulerFree("XYZ"), "with_single_joints"), (kt.Translation(), "with_single_joints"),
    ],
)  # fmt: skip
def test_what_urdf_cannot_express_is_refused(tmp_path, kind, advice):
    robot = kt.Builder("r").body("b", "base", kind, joint_name="odd one", mass=1).build()
    with pytest.raises(kt.UnsupportedError, match=rf"no {kind.name} joint like joint 'odd one': .*{advice}"):
        robot.save(tmp_path / "r.urdf")
    assert not list(tmp_path.iterdir())


def test_single_joints_can_be_written_instead(tmp_path):
    robot = kt.Builder("r").body("b", "base", kt.Universal("XY"), mass=1, com=(0, 0, 1)).build().with_single_joints()
    robot.save(tmp_path / "r.urdf")
    assert_same_motion(robot, kt.load(tmp_path / "r.urdf"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"rotor_inertia": 0.1}, "rotor inertia of joint 'b_joint'"),
        ({"damping": (1, 2, 3)}, "damping that differs between the freedoms of joint 'b_joint'"),
    ],
)
def test_what_would_change_the_motion_is_refused(tmp_path, data, message):
    robot = kt.Builder("r").body("b", "base", kt.Planar(), mass=1, **data).build()
    with pytest.raises(kt.UnsupportedError, match=message):
        robot.save(tmp_path / "r.urdf")


@pytest.mark.filterwarnings("ignore:not written, because URDF")
def test_rotors_are_felt_alike_behind_gears(tmp_path):
    robot = kt.Builder("r").body("b", "base", kt.Revolute(), mass=1, rotor_inertia=2e-3, gear_ratio=10.0).build()
    with pytest.warns(kt.ModelWarning, match="rotor inertias, of joint 'b_joint', are attributes that only kinetree"):
        robot.save(tmp_path / "r.urdf")
    assert kt.load(tmp_path / "r.urdf", strict=True).mass_matrix([0.0]) == pytest.approx(0.2)


def test_another_gravity_is_refused(tmp_path):
    robot = kt.Builder("r", gravity=(0, 0, -1.6)).body("b", "base", kt.Revolute(), mass=1).build()
    with pytest.raises(kt.UnsupportedError, match="gravity"):
        robot.save(tmp_path / "r.urdf")


def test_what_is_lost_without_changing_the_motion_is_named(tmp_path):
    builder = kt.Builder("r").body("b", "base", kt.Revolute(), mass=1, gear_ratio=50, actuated=False)
    robot = builder.body("c", "b", kt.Planar(), mass=1, lower=-1).build()
    with pytest.warns(kt.ModelWarning) as caught:
        robot.save(tmp_path / "r.urdf")
    (warning,) = caught
    for lost in ("gear ratio of joint 'b_joint'", "position limits of joint 'c_joint'"):
        assert lost in str(warning.message)


def test_names_that_xml_cannot_contain(tmp_path):
    robot = kt.Builder("r").body("bell\a", "base", kt.Revolute(), mass=1).build()
    with pytest.raises(kt.UnsupportedError, match="XML cannot contain the name"):
        robot.save(tmp_path / "r.urdf")
    odd = kt.Builder("r").body("line\nend\ttab", "base", kt.Revolute(), mass=1, inertia=(1, 1, 1)).build()
    odd.save(tmp_path / "r.urdf")
    assert kt.load(tmp_path / "r.urdf").body_names == ["line\nend\ttab"]


@pytest.mark.thorough
def test_ten_thousand_links_load_in_seconds(tmp_path):
    count = 10_000
    parts = [link("l0", None)]
    inside = '<origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/><dynamics damping="0.1"/>'
    for i in range(1, count + 1):
        parent = i - 1 if i % 7 else max(i - 3, 0)
        parts += [link(f"l{i}"), joint(f"j{i}", f"l{parent}", f"l{i}", inside)]
    path = write(tmp_path, f"<robot name='rope'>{''.join(parts)}</robot>")
    start = time.process_time()
    robot = kt.load(path)
    assert time.process_time() - start < 10.0
    assert robot.nv == count
    start = time.process_time()
    robot.save(tmp_path / "again.urdf")
    assert time.process_time() - start < 10.0
