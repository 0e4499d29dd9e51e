"""Loops in files: YAML, URDF with side files, MJCF against MuJoCo's own constraints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import mujoco
import numpy as np
import pytest
import yaml as pyyaml

import kinetree as kt
from helpers.compare import assert_close
from helpers.graphs import Graph
from kinetree.algorithms.loop_constraints import constraint_matrix, gaps
from kinetree.model.formats.yaml import schema
from kinetree.model.joints import Distance, Fixed, Reversed
from kinetree.model.spanning import respan
from kinetree.robot import make

VALIDATOR = jsonschema.Draft202012Validator(json.loads(schema()))

Z = kt.Revolute("z")


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def cut_names(robot: kt.Robot) -> list[str]:
    return [loop.name for loop in robot.model.loops]


# YAML

BARS = """kinetree: 1
name: four-bar
gravity: [0, -9.81, 0]
bodies:
  - {name: crank, parent: base, joint: {name: j1, kind: revolute, axis: z}, mass: 1, inertia: [1, 1, 1]}
  - {name: coupler, mass: 2, com: [0.5, 0, 0], inertia: [1, 1, 1]}
  - {name: rocker, mass: 3, com: [0.4, 0, 0], inertia: [1, 1, 1]}
joints:
  - {name: j2, kind: revolute, axis: z, parent: crank, child: coupler, placement: {position: [0.3, 0, 0]},
     actuated: false}
  - {name: j3, kind: revolute, axis: z, parent: coupler, child: rocker, placement: {position: [1, 0, 0]},
     seat: {position: [0.8, 0, 0]}, actuated: false, lower: -1}
  - {name: j4, kind: revolute, axis: z, parent: rocker, child: base, seat: {position: [1.1, 0, 0]}, actuated: false}
"""

TREE = """kinetree: 1
name: four-bar
gravity: [0, -9.81, 0]
bodies:
  - {name: crank, parent: base, joint: {name: j1, kind: revolute}, mass: 1, inertia: [1, 1, 1]}
  - {name: coupler, parent: crank, joint: {name: j2, kind: revolute, actuated: false},
     placement: {position: [0.3, 0, 0]}, mass: 2, com: [0.5, 0, 0], inertia: [1, 1, 1]}
  - {name: rocker, parent: base, joint: {name: j4, kind: revolute, actuated: false},
     placement: {position: [1.1, 0, 0]}, mass: 3, com: [0.4, 0, 0], inertia: [1, 1, 1]}
frames:
  - {name: pin, body: rocker, placement: {position: [0.8, 0, 0]}}
loops:
  - {name: j3, kind: revolute, axis: z, predecessor: coupler, successor: pin, placement: {position: [1, 0, 0]}}
"""


def test_joints_that_form_a_loop_are_cut_by_themselves(tmp_path):
    robot = kt.load(write(tmp_path / "bars.yaml", BARS))
    assert cut_names(robot) == ["j3"]
    assert robot.joint_names == ["j1", "j2", "j4"]
    assert robot.model.loops[0].lower == (-1.0,)
    assert VALIDATOR.is_valid(pyyaml.safe_load(BARS))


@pytest.mark.parametrize("cut", ["j2", "j3", "j4"])
def test_cuts_are_named_in_the_file_or_when_loading(tmp_path, cut):
    text = BARS + f"cuts: [{cut}]\n"
    named = kt.load(write(tmp_path / "named.yaml", text))
    assert cut_names(named) == [cut]
    assert VALIDATOR.is_valid(pyyaml.safe_load(text))
    assert kt.load(write(tmp_path / "bars.yaml", BARS), cuts=[cut]).model.loops == named.model.loops
    assert cut_names(kt.load(write(tmp_path / "named.yaml", text), cuts=["j4"])) == ["j4"]
    assert cut_names(kt.load(tmp_path / "named.yaml", rule="shortest")) == ["j3"]  # chosen anew


def test_declared_loops_are_read_and_may_be_cut_elsewhere(tmp_path):
    path = write(tmp_path / "tree.yaml", TREE)
    assert VALIDATOR.is_valid(pyyaml.safe_load(TREE))
    robot = kt.load(path)
    assert isinstance(robot, kt.Mechanism)
    (loop,) = robot.model.loops
    assert (loop.name, loop.kind, loop.predecessor, loop.successor) == ("j3", Z, 1, 2)
    assert loop.placement == kt.Pose.of((1, 0, 0))
    assert loop.seat == kt.Pose.of((0.8, 0, 0))
    q = robot.close(np.array([0.7, 0.5, 1.5]), fixed={"j1": 0.7})
    other = kt.load(path, cuts=["j4"])
    assert cut_names(other) == ["j4"]
    angles = {"j1": q[0], "j2": q[1], "j3": q[2] - q[0] - q[1]}  # plane angles add up
    q2 = np.array([angles[j] for j in other.joint_names])
    for name in (*robot.body_names, "pin", "j3", "j4"):
        assert_close(other.pose(q2, name), robot.pose(q, name), 1e-9, scale=1.0)


@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms_come_back_from_yaml(tmp_path, seed):
    graph = Graph(400 + seed)
    robot = make(respan(graph.model, graph.random_cuts()))
    robot.save(tmp_path / "robot.yaml")
    assert kt.load(tmp_path / "robot.yaml") == robot
    assert VALIDATOR.is_valid(pyyaml.safe_load((tmp_path / "robot.yaml").read_text()))


def test_reversed_joints_and_rods_in_yaml(tmp_path):
    b = kt.Builder("odd").body("a", "base", Reversed(kt.Universal("YX")), mass=1, inertia=(1, 1, 1))
    robot = b.loop("rod", "base", "a", Distance(0.5), seat=(0.5, 0, 0)).build()
    robot.save(tmp_path / "robot.yaml")
    text = (tmp_path / "robot.yaml").read_text()
    assert "reversed: true" in text
    assert "length: 0.5" in text
    assert kt.load(tmp_path / "robot.yaml") == robot
    assert VALIDATOR.is_valid(pyyaml.safe_load(text))


BAD_YAML = {
    "unknown body": (TREE.replace("successor: pin", "successor: pim"), 13, "of loop 'j3'.*did you mean 'pin'"),
    "no predecessor": (TREE.replace("predecessor: coupler, ", ""), 13, "a revolute loop needs the key 'predecessor'"),
    "no kind": (TREE.replace("name: j3, kind: revolute, axis: z", "name: j3"), 13, "a loop needs a kind"),
    "custom": (TREE.replace("name: j3, kind: revolute, axis: z", "name: j3, kind: custom"), 13, "no kind of joint"),
    "reversed": (TREE.replace("name: j3, kind: revolute", "name: j3, kind: reversed"), 13, "no kind of joint"),
    "name taken": (TREE.replace("name: j3", "name: j4"), 13, "two joints are named 'j4'; the first is on line 8"),
    "same body": (TREE.replace("successor: pin", "successor: coupler"), 13, "the same rigid body"),
    "bad pose": (TREE.replace("position: [1, 0, 0]}}", "position: [1, 0]}}"), 13, "list of 3 numbers"),
    "loops a word": (TREE[: TREE.index("loops:")] + "loops: yes\n", 12, "loops must be a list"),
    "rod without length": (TREE.replace("kind: revolute, axis: z, pre", "kind: distance, pre"), 13, "length of a rod"),
    "cut of nothing": (TREE + "cuts: [j7]\n", 14, "no joint to cut named 'j7'; known: j1, j2"),
    "hanging": (TREE + "cuts: [j2, j3]\n", 6, "cutting 'j2', 'j3' leaves body 'coupler' unsupported"),
    "joint without child": (BARS.replace("child: rocker, ", ""), 11, "a revolute joint needs the key 'child'"),
    "joint to nowhere": (BARS.replace("child: rocker", "child: roker"), 11, "of joint 'j3': no link named 'roker'"),
    "to itself": (BARS.replace("child: rocker", "child: coupler"), 11, "joint 'j3' joins link 'coupler' to itself"),
    "lost body": (BARS.replace("bodies:", "bodies:\n  - {name: lost, mass: 1}"), 5, "body 'lost' cannot be reached"),
    "half a joint": (BARS.replace("{name: rocker, mass", "{name: rocker, parent: base, mass"), 7, "key 'joint'"),
    "two places": (BARS.replace("seat: {position: [0.8, 0, 0]}", "child_pose: 3"), 12, "no key named 'child_pose'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_YAML)
def test_bad_yaml(tmp_path, case):
    text, line, says = BAD_YAML[case]
    path = write(tmp_path / "bad.yaml", text)
    with pytest.raises(kt.FileFormatError, match=says) as caught:
        kt.load(path)
    assert str(caught.value).startswith(f"{path}, line {line}:"), caught.value


def test_bad_cuts_when_loading(tmp_path):
    path = write(tmp_path / "tree.yaml", TREE)
    with pytest.raises(kt.FileFormatError, match="no joint to cut named 'j9'"):
        kt.load(path, cuts=["j9"])
    with pytest.raises(kt.KinetreeError, match="did you mean 'shortest'"):
        kt.load(path, rule="short")


# URDF


def urdf(*loops: str, declared: bool = True, extra: str = "") -> str:
    own = ' xmlns:kinetree="urn:kinetree"' if declared else ""
    solid = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{n}">{solid}</link>\n' for n in ("crank", "coupler", "rocker"))
    joints = (
        '<joint name="j1" type="continuous"><parent link="ground"/><child link="crank"/><axis xyz="0 0 1"/></joint>\n'
        '<joint name="j2" type="continuous" kinetree:actuated="false"><parent link="crank"/><child link="coupler"/>'
        '<origin xyz="0.3 0 0"/><axis xyz="0 0 1"/></joint>\n'
        '<joint name="j4" type="continuous"><parent link="ground"/><child link="rocker"/><origin xyz="1.1 0 0"/>'
        '<axis xyz="0 0 1"/></joint>\n'
    )
    return f'<robot name="bars"{own}>\n<link name="ground"/>\n{links}{joints}{extra}{"".join(loops)}</robot>\n'


PIN = """<kinetree:loop name="j3" type="revolute">
  <predecessor link="coupler"><origin xyz="1 0 0"/></predecessor>
  <successor link="rocker"><origin xyz="0.8 0 0" rpy="0 0 0.5"/></successor>
  <axis xyz="0 0 1"/>
  <limit lower="-1" upper="2"/>
</kinetree:loop>
"""


@pytest.mark.parametrize("declared", [True, False])
def test_urdf_with_a_loop(tmp_path, declared):
    robot = kt.load(write(tmp_path / "bars.urdf", urdf(PIN, declared=declared)))
    (loop,) = robot.model.loops
    assert (loop.name, loop.kind, loop.lower, loop.upper) == ("j3", Z, (-1.0,), (2.0,))
    assert loop.placement == kt.Pose.of((1, 0, 0))
    assert loop.seat == kt.Pose.of((0.8, 0, 0), rpy=(0, 0, 0.5))
    assert [robot.joint(n).actuated for n in ("j1", "j2", "j4")] == [True, False, True]
    assert cut_names(kt.load(tmp_path / "bars.urdf", cuts=["j2"])) == ["j2"]


def test_urdf_loops_of_every_kind(tmp_path):
    kinds = [
        kt.Revolute((0.6, 0, 0.8)), kt.Continuous("y"), kt.Prismatic("x"), kt.Cylindrical("z"), kt.Helical("z", 0.25),
        kt.Planar("y"), kt.Universal("ZX"), kt.Spherical(), kt.EulerSpherical("ZYX"), kt.Translation(), kt.Free(),
        kt.EulerFree("XYZ"), Fixed(), Distance(0.3),
    ]  # fmt: skip
    b = kt.Builder("all").body("a", "base", kt.Continuous("z"), actuated=False, mass=1, inertia=(1, 1, 1))
    for i, kind in enumerate(kinds):
        b.loop(f"l{i}", "a", "base", kind, placement=(i, 0, 0), seat=kt.Pose.of((0, i, 0), rpy=(0.1 * i, 0, 0)))
    robot = b.build()
    robot.save(tmp_path / "all.urdf")
    assert kt.load(tmp_path / "all.urdf").model == robot.model


def test_urdf_loops_come_back(tmp_path):
    robot = kt.load(write(tmp_path / "bars.urdf", urdf(PIN)))
    robot.save(tmp_path / "again.urdf")
    assert kt.load(tmp_path / "again.urdf") == robot
    assert 'xmlns:kinetree="urn:kinetree"' in (tmp_path / "again.urdf").read_text()


SIDE = """kinetree: 1
passive: [j4]
loops:
  - {name: j3, kind: revolute, axis: z, predecessor: coupler, successor: rocker, placement: {position: [1, 0, 0]},
     seat: {position: [0.8, 0, 0], rpy: [0, 0, 0.5]}, lower: -1, upper: 2}
"""


def test_urdf_with_a_side_file(tmp_path):
    path, side = write(tmp_path / "bars.urdf", urdf()), write(tmp_path / "bars.loops.yaml", SIDE)
    assert not kt.load(path).model.loops
    robot = kt.load(path, loops=side)
    assert robot.model.loops == kt.load(write(tmp_path / "with.urdf", urdf(PIN))).model.loops
    assert [robot.joint(n).actuated for n in ("j1", "j2", "j4")] == [True, False, False]
    assert cut_names(kt.load(path, loops=str(side), cuts=["j4"])) == ["j4"]
    assert cut_names(kt.load(path, loops=write(tmp_path / "cut.yaml", SIDE + "cuts: [j4]\n"))) == ["j4"]


@pytest.mark.parametrize(
    ("side", "line", "says"),
    [
        (SIDE.replace("successor: rocker", "successor: rockr"), 4, "did you mean 'rocker'"),
        (SIDE.replace("[j4]", "[j44]"), 2, "no joint named 'j44'"),
        (SIDE.replace("passive: [j4]\n", "bodies: []\n"), 2, "no key named 'bodies'"),
        ("kinetree: 1\n", 1, "needs 'loops', or 'couplings' of joints"),
        (SIDE.replace("successor: rocker", "successor: coupler"), 4, "the same rigid body"),
        (SIDE.replace("name: j3", "name: j1"), 4, "two joints are named 'j1'"),
        ("loops: []", 1, "must begin with 'kinetree: 1'"),
    ],
)
def test_bad_side_files_are_named(tmp_path, side, line, says):
    path = write(tmp_path / "side.yaml", side)
    with pytest.raises(kt.FileFormatError, match=says) as caught:
        kt.load(write(tmp_path / "bars.urdf", urdf()), loops=path)
    assert str(caught.value).startswith(f"{path}, line {line}:"), caught.value


def test_feet_of_a_floating_robot_stand_on_the_world(tmp_path):
    """A body on two legs whose feet are 0.8 m apart: each carries half of the weight."""
    b = kt.Builder("stand", gravity=(0, 0, -9.81))
    b.add_body("base", kt.MassProperties(4.0, (0, 0, 0), (0.1, 0.1, 0.1, 0, 0, 0)))
    for side, y in (("left", 0.4), ("right", -0.4)):
        b.body(side, "base", kt.Revolute("x"), position=(0, y, 0), mass=1.0, com=(0, 0, -0.3), inertia=(0.01,) * 3)
        b.frame(f"{side}_foot", side, position=(0, 0, -0.6))
    b.build().save(tmp_path / "stand.urdf")
    loops = "".join(
        f"  - {{name: {side}_sole, kind: fixed, predecessor: {side}_foot, successor: world,\n"
        f"     seat: {{position: [0, {y}, -0.6]}}}}\n"
        for side, y in (("left", 0.4), ("right", -0.4))
    )
    (tmp_path / "feet.yaml").write_text(f"kinetree: 1\nloops:\n{loops}")
    robot = kt.load(tmp_path / "stand.urdf", floating_base=True, loops=tmp_path / "feet.yaml")
    assert len(robot.loop_names) == 2
    q = robot.neutral()
    assert robot.closure_error(q) < 1e-15
    assert robot.mobility(q).freedoms == 0
    forces = robot.constraint_forces(q, np.zeros(robot.nv), np.zeros(robot.nv)).loop_wrenches_world
    assert_close(-np.sum(forces, axis=0)[5], 6 * 9.81, 1e-10)
    assert_close(forces[0][5], forces[1][5], 1e-10)
    with pytest.raises(kt.FileFormatError, match="no link, frame or joint named 'world'"):
        kt.load(tmp_path / "stand.urdf", loops=tmp_path / "feet.yaml")


def test_a_missing_side_file(tmp_path):
    with pytest.raises(kt.RobotFileNotFoundError, match=re.escape("nowhere.yaml")):
        kt.load(write(tmp_path / "bars.urdf", urdf()), loops=tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("loop", "line", "says"),
    [
        (PIN.replace(' name="j3"', ""), 9, "<kinetree:loop> has no attribute 'name'"),
        (PIN.replace(' type="revolute"', ""), 9, "loop 'j3' has no attribute 'type'"),
        (PIN.replace('"revolute"', '"revolut"'), 9, "no joint type named 'revolut'; did you mean 'revolute'"),
        (PIN.replace('"revolute"', '"custom"'), 9, "no joint type named 'custom'"),
        (PIN.replace('"revolute"', '"helical"'), 9, "has no attribute 'pitch'"),
        (PIN.replace('"revolute"', '"universal" sequence="XX"'), 9, "sequence is one of"),
        (PIN.replace('link="rocker"', ""), 11, "the <successor> of loop 'j3' has no attribute 'link'"),
        (PIN.replace('link="rocker"', 'link="rckr"'), 9, "of loop 'j3': no link, frame or joint named 'rckr'"),
        (re.sub("  <successor.*\n", "", PIN), 9, "loop 'j3' has no <successor>"),
        (PIN.replace('"0 0 1"', '"0 0 0"'), 12, "the axis has zero length"),
        (PIN.replace('xyz="1 0 0"', 'xyz="1 0"'), 10, "3 numbers expected"),
        (PIN.replace('"j3"', '"j1"'), 9, "two joints are named 'j1'; the first is on line 6"),
        (PIN + PIN, 15, "two joints are named 'j3'; the first is on line 9"),
        (PIN.replace('link="rocker"', 'link="coupler"'), 9, "the same rigid body"),
    ],
)
def test_bad_urdf_loops(tmp_path, loop, line, says):
    path = write(tmp_path / "bad.urdf", urdf(loop))
    with pytest.raises(kt.FileFormatError, match=says) as caught:
        kt.load(path)
    assert str(caught.value).startswith(f"{path}, line {line}:"), caught.value


def test_a_misspelt_loop_is_reported(tmp_path):
    with pytest.warns(kt.ModelWarning, match="did you mean <kinetree:loop>"):
        kt.load(write(tmp_path / "bars.urdf", urdf(PIN.replace("kinetree:loop", "kinetree:lop"))))


def test_a_motor_that_is_neither_there_nor_not(tmp_path):
    text = urdf(PIN).replace('actuated="false"', 'actuated="no"')
    with pytest.raises(kt.FileFormatError, match='line 7: kinetree:actuated must be "true" or "false"'):
        kt.load(write(tmp_path / "bars.urdf", text))


# MJCF


def mjcf(rng: np.random.Generator, equality: str, *, ref: bool = False) -> str:
    """Two arms of two hinges and a slide beside them, at random places."""

    def place() -> str:
        return f'pos="{text(rng.uniform(-0.5, 0.5, 3))}" euler="{text(rng.uniform(-3, 3, 3))}"'

    def hinge(name: str, kind: str = "hinge") -> str:
        at = f'ref="{rng.uniform(-1, 1)}"' if ref else ""
        axis, anchor = text(rng.standard_normal(3)), text(rng.uniform(-0.2, 0.2, 3))
        return f'<joint name="{name}" type="{kind}" axis="{axis}" pos="{anchor}" {at}/>'

    solid = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
    return f"""<mujoco model="arms"><compiler angle="radian"/><worldbody>
      <body name="a1" {place()}>{hinge("ja1")}{solid}
        <body name="a2" {place()}>{hinge("ja2")}{solid}<site name="sa" {place()}/>
          <body name="tool" {place()}>{solid}</body>
        </body></body>
      <body name="b1" {place()}>{hinge("jb1")}{solid}
        <body name="b2" {place()}>{hinge("jb2")}{hinge("jb3", "slide")}{solid}<site name="sb" {place()}/></body></body>
    </worldbody>
    <equality>
      {equality}
    </equality></mujoco>"""


def text(values) -> str:
    return " ".join(repr(float(v)) for v in values)


QUATERNION = text(np.array([0.5, -0.5, 0.7, 0.1]) / np.linalg.norm([0.5, -0.5, 0.7, 0.1]))
EQUALITIES = {
    "connect": '<connect name="e" body1="a2" body2="b2" anchor="0.1 -0.2 0.3"/>',
    "connect world": '<connect name="e" body1="a2" anchor="0.1 -0.2 0.3"/>',
    "connect welded": '<connect name="e" body1="tool" body2="b1" anchor="0.1 -0.2 0.3"/>',
    "connect sites": '<connect name="e" site1="sa" site2="sb"/>',
    "weld": '<weld name="e" body1="a2" body2="b2"/>',
    "weld anchor": '<weld name="e" body1="a2" body2="b2" anchor="0.3 0.2 0.1"/>',
    "weld relpose": f'<weld name="e" body1="a2" body2="b2" relpose="0.1 0.2 0.3 {QUATERNION}" anchor="0.1 0 0.2"/>',
    "weld world": '<weld name="e" body1="b2"/>',
    "weld sites": '<weld name="e" site1="sb" site2="sa"/>',
    "weld without torque": '<weld name="e" body1="a2" body2="b2" torquescale="0"/>',
}


@pytest.mark.parametrize("ref", [False, True])
@pytest.mark.parametrize("case", EQUALITIES)
def test_equality_constraints_are_mujocos(tmp_path, case, ref):
    """Residuals at random configurations; at q0 (where it closes unless told otherwise) the same rows of K."""
    rng = np.random.default_rng(len(case))
    path = write(tmp_path / "arms.xml", mjcf(rng, EQUALITIES[case], ref=ref))
    robot = kt.load(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    assert robot.joint_names == [m.joint(j).name for j in range(m.njnt)]
    assert cut_names(robot) == ["e"]
    is_weld = case.startswith("weld") and "torque" not in case
    assert isinstance(robot.model.loops[0].kind, Fixed if is_weld else kt.Spherical)
    data = mujoco.MjData(m)
    for _ in range(5):
        data.qpos[:] = rng.uniform(-2, 2, m.nq)
        mujoco.mj_forward(m, data)
        found, theirs = np.array(gaps(robot.model, list(data.qpos))), data.efc_pos
        assert_close(np.linalg.norm(found[-3:]), np.linalg.norm(theirs[:3]), 1e-12)
        if is_weld:  # their sine of half the angle, our angle
            assert_close(np.sin(0.5 * np.linalg.norm(found[:3])), np.linalg.norm(theirs[3:]), 1e-12)
    if "relpose" not in case and "sites" not in case:
        data.qpos[:] = m.qpos0
        mujoco.mj_forward(m, data)
        assert_close(np.array(gaps(robot.model, list(m.qpos0))), np.zeros(robot.model.n_constraints), 1e-12, scale=1.0)
        ours = np.array(constraint_matrix(robot.model, list(m.qpos0)), dtype=float)
        jacobian = data.efc_J.reshape(data.nefc, m.nv)
        rank = np.linalg.matrix_rank(jacobian, tol=1e-9)
        assert np.linalg.matrix_rank(ours, tol=1e-9) == rank
        assert np.linalg.matrix_rank(np.vstack([ours, jacobian]), tol=1e-9) == rank  # the same rows span both


def test_closing_what_mujoco_would_close(tmp_path):
    """A four-bar drawn open: closed by us, MuJoCo finds nothing left to do."""
    bars = """<mujoco><worldbody>
      <body name="crank"><joint name="j1" axis="0 0 1"/><geom size="0.1"/>
        <body name="coupler" pos="0.3 0 0"><joint name="j2" axis="0 0 1"/><geom size="0.1"/>
          <site name="tip" pos="1 0 0"/></body></body>
      <body name="rocker" pos="1.1 0 0"><joint name="j4" axis="0 0 1"/><geom size="0.1"/>
        <site name="end" pos="0.8 0 0"/></body>
      </worldbody><equality><connect site1="tip" site2="end"/></equality>
      <actuator><motor joint="j1"/></actuator></mujoco>"""
    path = write(tmp_path / "bars.xml", bars)
    robot = kt.load(path)
    assert cut_names(robot) == ["equality_0"]
    assert [j.actuated for j in robot.model.joints] == [True, False, False]
    q = robot.close(np.array([0.7, 0.5, 1.5]), fixed={"j1": 0.7})
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_forward(m, data)
    assert_close(data.efc_pos[:3], np.zeros(3), 1e-9, scale=1.0)


def test_inactive_constraints_are_not_there(tmp_path):
    rng = np.random.default_rng(1)
    idle = EQUALITIES["connect"].replace("<connect", '<connect active="false"')
    assert not kt.load(write(tmp_path / "a.xml", mjcf(rng, idle))).model.loops
    off = mjcf(rng, EQUALITIES["connect"]).replace(
        "<worldbody>", '<option><flag equality="disable"/></option><worldbody>'
    )
    assert not kt.load(write(tmp_path / "b.xml", off)).model.loops


@pytest.mark.parametrize("ref", [False, True])
@pytest.mark.parametrize("motor", ["", "ja1", "jb1"])
def test_linear_relations_are_mimics(tmp_path, ref, motor):
    """Whichever joint leads, MuJoCo's residual vanishes."""
    relation = '<joint joint1="ja1" joint2="jb1" polycoef="0.2 -1.5 0 0 0"/>'
    document = mjcf(np.random.default_rng(2), relation, ref=ref)
    if motor:
        document = document.replace("<equality>", f'<actuator><motor joint="{motor}"/></actuator><equality>')
    path = write(tmp_path / "arms.xml", document)
    robot = kt.load(path)
    assert robot.nq == 4
    follower = "jb1" if motor == "ja1" else "ja1"
    assert [j.name for j in robot.model.joints if j.mimic] == [follower]
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    q = np.random.default_rng(3).uniform(-1, 1, 4)
    links = {link.name: link.position(list(q)) for link in robot.model.links}
    data.qpos[:] = [links[m.joint(j).name][0] for j in range(m.njnt)]
    mujoco.mj_forward(m, data)
    assert_close(data.efc_pos[:1], [0.0], 1e-14, scale=1.0)
    for name in ("a2", "b2"):
        assert_close(robot.pose(q, name)[:3, 3], data.body(name).xpos, 1e-13)
    assert kt.load(path, mimic="independent").nq == 5


@pytest.mark.parametrize(
    "equality",
    [
        '<joint joint1="ja1" joint2="jb1" polycoef="0 1 0.5 0 0"/>',
        '<joint name="held" joint1="ja1"/>',
        '<joint joint1="ja1" joint2="ja2"/><joint joint1="ja1" joint2="jb1"/>',
        '<tendon tendon1="t"/>',
        '<joint joint1="ja1" joint2="jb1"/><joint joint1="jb1" joint2="ja1"/>',
    ],
)
def test_other_relations_are_couplings(tmp_path, equality):
    """What is no linear relation of two joints, or a second one of a follower: gaps as MuJoCo has them."""
    document = mjcf(np.random.default_rng(4), equality)
    document = document.replace(
        "<equality>", '<tendon><fixed name="t"><joint joint="ja1" coef="1"/></fixed></tendon><equality>'
    )
    path = write(tmp_path / "arms.xml", document)
    robot = kt.load(path, strict=True)
    assert len(robot.model.couplings) == 1
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    q = np.random.default_rng(3).uniform(-1, 1, robot.nq)
    links = {link.name: link.position(list(q)) for link in robot.model.links}
    data.qpos[:] = [links[m.joint(j).name][0] for j in range(m.njnt)]
    mujoco.mj_forward(m, data)
    assert_close(robot.loop_gaps(q), data.efc_pos[m.neq - 1 : m.neq], 1e-14, scale=1.0)


def test_bad_constraints_name_their_line(tmp_path):
    path = write(
        tmp_path / "arms.xml",
        mjcf(np.random.default_rng(5), '<connect name="e" body1="a2" body2="tool" anchor="0 0 0"/>'),
    )
    with pytest.raises(kt.FileFormatError, match="'e' joins 'a2' to 'tool', which is the same rigid body") as caught:
        kt.load(path)
    line = next(i for i, row in enumerate(path.read_text().splitlines(), 1) if "<connect" in row)
    assert str(caught.value).startswith(f"{path}, line {line}:")


# Text


def test_loops_are_described(tmp_path):
    text = kt.load(write(tmp_path / "tree.yaml", TREE)).describe()
    assert "loops (1, 5 constraints):\n  coupler -- rocker  [j3: revolute(z)]  5 constraints" in text
    b = kt.Builder("odd").body("a", "base", Reversed(kt.Universal("YX")), mass=1, inertia=(1, 1, 1))
    assert "[a_joint: reversed universal(YX) q[0:2]" in b.build().describe()


@pytest.mark.parametrize("suffix", ["yaml", "urdf"])
def test_a_weld_that_came_into_the_tree_is_written(tmp_path, suffix):
    b = kt.Builder("weld").body("a", "base", Z, mass=1, com=(1, 0, 0), inertia=(1, 1, 1), actuated=False)
    b.body("b", "a", Z, position=(1, 0, 0), mass=2, com=(1, 0, 0), inertia=(1, 1, 1), actuated=False)
    b.body("c", "base", Z, mass=3, com=(1, 0, 0), inertia=(1, 1, 1), actuated=False)
    robot = b.loop("glue", "c", "b", Fixed(), placement=(1, 0, 0)).build(cuts=["b_joint"])
    assert robot.body_names == ["a", "c"]  # b is welded to c
    apart = b.build().with_cuts(["b_joint"])
    assert apart.joint_names == ["a_joint", "c_joint", "glue"]
    q = np.array([0.3, 0.5])
    for one in (robot, apart):
        path = tmp_path / f"weld.{suffix}"
        one.save(path)
        again = kt.load(path)
        assert again.nq == 2
        for name in ("a", "b", "c"):
            assert_close(again.pose(q, name), one.pose(q, name), 1e-15, scale=1.0)
        assert_close(np.array(gaps(again.model, list(q))), np.array(gaps(one.model, list(q))), 1e-14, scale=1.0)
        assert again.mass == one.mass


# ---------------------------------------------------------------- lists of loops, and elements of other tools


def bars(extra="", joint_attributes='type="continuous"'):
    """A four-bar drawn closed: crank, coupler on it, rocker; the coupler's end is a link of its own."""

    def link(name):
        return f"""<link name="{name}"><inertial><mass value="1"/>
          <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""

    def joint(name, parent, child, xyz, attributes=joint_attributes):
        return f"""<joint name="{name}" {attributes}><parent link="{parent}"/><child link="{child}"/>
          <origin xyz="{xyz}"/><axis xyz="0 0 1"/></joint>"""

    return "\n".join([
        '<robot name="bars"><link name="tip"/><link name="end"/>', *map(link, ("base", "crank", "coupler", "rocker")),
        joint("j1", "base", "crank", "0 0 0"), joint("j2", "crank", "coupler", "0 1 0"),
        joint("j3", "base", "rocker", "2 0 0"), joint("tip_weld", "coupler", "tip", "2 0 0", 'type="fixed"'),
        joint("end_weld", "rocker", "end", "0 1 0"), extra, "</robot>",
    ])  # fmt: skip


LISTS = {
    "links": "closed_loop: [[tip, end]]\ntype: ['6d']\nname_mot: [j1]",
    "a joint": "closed_loop: [[tip_weld, end_weld]]\ntype: ['6d']\nname_mot: [j1]",
    "no type": "closed_loop: [[tip, end]]\nname_mot: [j1]",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_lists_of_loops(tmp_path, text):
    """As the collection of parallel robots has them; a joint stands for the frame that it moves."""
    robot = kt.load(write(tmp_path / "robot.urdf", bars()), loops=write(tmp_path / "robot.yaml", text))
    assert [loop.kind for loop in robot.model.loops] == [Fixed()]
    assert robot.closure_error(robot.neutral()) < 1e-15
    assert robot.mobility(robot.neutral()).freedoms == 1
    assert [j.name for j in robot.model.joints if j.actuated] == ["j1"]


def test_lists_of_loops_change_types_of_joints(tmp_path):
    text = "closed_loop: [[tip, rocker]]\ntype: [3D]\nname_mot: [j1]\njoint_name: [j2, j3]\n"
    text += "joint_type: [SPHERICAL, UJOINT_ZX]"
    robot = kt.load(write(tmp_path / "r.urdf", bars()), loops=write(tmp_path / "r.yaml", text))
    kinds = {j.name: j.kind for j in robot.model.joints}
    assert kinds["j2"] == kt.Spherical()
    assert kinds["j3"] == kt.Universal("ZX")
    assert robot.model.loops[0].kind == kt.Spherical()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("closed_loop: [[tip, nd]]", r"line 1: .*'nd'; did you mean 'end'"),
        ("closed_loop: [[tip]]", "not a pair"),
        ("closed_loop: [[tip, end]]\ntype: [4d]", "no type of loop named '4d'"),
        ("closed_loop: [[tip, end]]\ntype: [6d, 6d]", "type has 2 entries, but closed_loop has 1"),
        ("closed_loop: [[tip, end]]\nname_mot: [j7]", "no joint named 'j7'"),
        ("closed_loop: [[tip, end]]\njoint_name: [j2]\njoint_type: [BALL]", "no type of joint named 'BALL'"),
        ("closed_loop: [[tip, end]]\njoint_name: [j2]", "joint_type has 0 entries, but joint_name has 1"),
    ],
)
def test_bad_lists_of_loops(tmp_path, text, message):
    with pytest.raises(kt.FileFormatError, match=message):
        kt.load(write(tmp_path / "robot.urdf", bars()), loops=write(tmp_path / "robot.yaml", text))


ELEMENTS = {
    "loop": """<loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="2 0 0"/></predecessor>
      <successor link="rocker"><origin xyz="0 1 0"/></successor><axis xyz="0 0 1"/></loop>""",
    "constraint": """<constraint name="pin" type="revolute"><parent link="coupler"/><parent_origin xyz="2 0 0"/>
      <parent_axis xyz="0 0 1"/><child link="rocker"/><child_origin xyz="0 1 0" rpy="0 1.5707963267948966 0"/>
      <child_axis xyz="-1 0 0"/></constraint>""",
}


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=ELEMENTS)
def test_elements_of_other_tools_close_loops(tmp_path, element):
    """URDF+ and the proposal for URDF; both were ignored in silence."""
    robot = kt.load(write(tmp_path / "robot.urdf", bars(element)))
    assert cut_names(robot) == ["pin"]
    assert robot.closure_error(robot.neutral()) < 1e-12
    ours = element.replace("<loop", "<kinetree:loop").replace("</loop", "</kinetree:loop")
    if "<kinetree" in ours:
        assert kt.load(write(tmp_path / "ours.urdf", bars(ours))).model == robot.model
    q = robot.close([0.3, -0.2, 0.3, 0.0])
    assert robot.mobility(q).freedoms == 2  # the loop, and the link at the rocker's end


def test_a_universal_constraint_holds_its_pins_square(tmp_path):
    element = """<constraint name="cross" type="universal"><parent link="coupler"/><parent_origin xyz="2 0 0"/>
      <parent_axis xyz="0 1 0"/><child link="rocker"/><child_origin xyz="0 1 0"/>
      <child_axis xyz="0 0 1"/></constraint>"""
    robot = kt.load(write(tmp_path / "robot.urdf", bars(element)))
    assert robot.closure_error(robot.neutral()) < 1e-12
    turned = bars(element.replace('child_axis xyz="0 0 1"', 'child_axis xyz="0 1 0"'))
    assert kt.load(write(tmp_path / "b.urdf", turned)).closure_error(robot.neutral()) == pytest.approx(1.0)


def test_couplings_of_urdf_plus(tmp_path):
    coupling = """<coupling name="belt"><predecessor link="crank"/><successor link="rocker"/>
      <ratio value="-1"/></coupling>"""
    robot = kt.load(write(tmp_path / "a.urdf", bars(coupling)))
    assert robot.model.joint("j3").mimic == kt.model.tree.Mimic("j1", -1.0, 0.0)
    robot = kt.load(write(tmp_path / "b.urdf", bars(coupling.replace('"-1"', '"2"'))), strict=True)
    assert robot.model.joint("j3").mimic == kt.model.tree.Mimic("j1", 2.0, 0.0)
    driven = kt.load(write(tmp_path / "d.urdf", bars("", 'type="continuous" independent="False"')))
    assert not driven.model.joint("j1").actuated


def test_side_files_may_name_frames_and_joints(tmp_path):
    text = "kinetree: 1\nloops: [{name: pin, kind: fixed, predecessor: tip, successor: end_weld}]"
    robot = kt.load(write(tmp_path / "robot.urdf", bars()), loops=write(tmp_path / "robot.loops.yaml", text))
    assert robot.closure_error(robot.neutral()) < 1e-15


def test_unnamed_joints_of_a_body_are_numbered(tmp_path):
    text = """<mujoco><worldbody><body name="hip"><joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>
      <geom size="0.1"/></body></worldbody></mujoco>"""
    assert kt.load(write(tmp_path / "hip.xml", text)).joint_names == ["hip_joint", "hip_joint_2", "hip_joint_3"]


def test_keyframes_are_configurations_to_start_from(tmp_path):
    text = """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint name="f"/><geom size="0.1"/>
      <body name="b" pos="1 0 0"><joint name="h" axis="0 1 0" ref="30"/><geom size="0.1"/>
      <body name="c" pos="1 0 0"><joint name="s" type="ball"/><geom size="0.1"/></body></body></body></worldbody>
      <keyframe><key name="home" qpos="1 2 3 2 0 0 0  0.5  0 1 0 0"/><key ctrl=""/></keyframe></mujoco>"""
    robot = kt.load(write(tmp_path / "key.xml", text))
    assert robot.configuration_names == ["home", "as_drawn"]
    np.testing.assert_allclose(robot.configuration("home"), [0, 0, 0, 1, 1, 2, 3, 0.5, 1, 0, 0, 0])
    np.testing.assert_allclose(robot.configuration("as_drawn"), [0, 0, 0, 1, 0, 0, 1, np.pi / 6, 0, 0, 0, 1])
    robot.save(tmp_path / "key.yaml")
    assert kt.load(tmp_path / "key.yaml") == robot
    with pytest.raises(kt.UnknownNameError, match="no configuration named 'hom'; did you mean 'home'"):
        robot.configuration("hom")
