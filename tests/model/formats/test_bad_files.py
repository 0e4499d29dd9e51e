"""Files that cannot be robots: each gets an error of its own that names the file, the line and the thing."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

LINKS = '<link name="upper_arm"/>\n<link name="forearm"/>\n<link name="hand"/>\n'


def urdf(*lines: str, links: str = LINKS) -> str:
    """A document whose <robot> is on line 1, the links on lines 2 to 4, and the rest from line 5 on."""
    return "<robot name='r'>\n" + links + "\n".join(lines) + "\n</robot>"


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "continuous") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


CHAIN = (joint("elbow", "upper_arm", "forearm"), joint("wrist", "forearm", "hand"))
REVOLUTE = '<limit lower="{}" upper="{}" effort="{}" velocity="1"/>'


def inertial(mass: str = "1", moment: str = "1") -> str:
    """On three lines: <inertial>, <mass>, <inertia>."""
    zeros = 'ixy="0" ixz="0" iyz="0"'
    return (
        f'<link name="upper_arm"><inertial>\n<mass value="{mass}"/>\n'
        f'<inertia ixx="{moment}" iyy="1" izz="1" {zeros}/></inertial></link>'
        '<link name="forearm"/><link name="hand"/>\n'
    )


BOMB = (
    """<?xml version="1.0"?>
<!DOCTYPE robot [
  <!ENTITY a "aaaaaaaaaaaaaaaaaaaa">
"""
    + "".join(f'  <!ENTITY {n} "{f"&{m};" * 20}">\n' for m, n in zip("abcdefghi", "bcdefghij", strict=True))
    + """]>
<robot name="&j;"><link name="l"/></robot>"""
)

BAD_URDF = {
    # XML itself
    "empty file": ("", None, "the file is empty"),
    "only blanks": ("  \n \n", None, "the file is empty"),
    "not XML": ("kinetree: 1\n", 1, "malformed XML"),
    "unclosed": ("<robot name='r'>\n<link name='a'>\n</robot>", 3, "malformed XML: mismatched tag"),
    "cut off": ("<robot name='r'>\n<link", 2, "malformed XML"),
    "attribute twice": ("<robot name='r'>\n<link name='a' name='b'/></robot>", 2, "duplicate attribute"),
    "unknown entity": ("<robot name='r'>\n<link name='&who;'/></robot>", 2, "undefined entity"),
    "entity bomb": (BOMB, 2, "document types and entities are refused"),
    "external entity": ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', 1, "refused"),
    "bad bytes": (b"<robot name='r'>\n<link name='\xff\xfe'/></robot>", 2, "malformed XML"),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><robot/>', 1, "encoding"),
    # the robot
    "another root": ("<sdf>\n</sdf>", 1, "the root element is <sdf>, but a URDF file has <robot>"),
    "no links": ("\n<robot name='void'/>", 2, "robot 'void' is empty: the file has no <link>"),
    "nameless link": (urdf(links="<link/>"), 2, "<link> has no attribute 'name'"),
    "two links of a name": (
        urdf(links=LINKS + '<link name="hand"/>\n'),
        5,
        "two links are named 'hand'; the first is on line 4",
    ),
    "two joints of a name": (
        urdf(CHAIN[0], CHAIN[1].replace("wrist", "elbow")),
        6,
        "two joints are named 'elbow'; the first is on line 5",
    ),
    "two roots": (urdf(CHAIN[0]), 4, "2 roots, 'upper_arm' (line 2), 'hand' (line 4): every link but one must be"),
    "a loop": (
        urdf(*CHAIN, joint("brace", "upper_arm", "hand")),
        7,
        "link 'hand' is the child of two joints, 'wrist' (line 6) and 'brace'",
    ),
    "a ring": (
        urdf(*CHAIN, joint("ring", "hand", "upper_arm")),
        5,
        "joints 'elbow' (line 5), 'wrist' (line 6), 'ring' (line 7) form a closed loop",
    ),
    "a ring apart": (
        urdf(joint("a", "forearm", "hand"), joint("b", "hand", "forearm")),
        5,
        "form a closed loop that is attached to nothing",
    ),
    "to itself": (urdf(CHAIN[0], joint("knot", "hand", "hand")), 6, "joint 'knot' joins link 'hand' to itself"),
    # joints
    "no parent": (urdf('<joint name="j" type="fixed"><child link="hand"/></joint>'), 5, "joint 'j' has no <parent>"),
    "no child": (urdf('<joint name="j" type="fixed"><parent link="hand"/></joint>'), 5, "joint 'j' has no <child>"),
    "empty parent": (
        urdf('<joint name="j" type="fixed">\n<parent/><child link="hand"/></joint>'),
        6,
        "the <parent> of joint 'j' has no attribute 'link'",
    ),
    "two parents": (
        urdf('<joint name="j" type="fixed"><parent link="a"/>\n<parent link="b"/></joint>'),
        6,
        "<joint> 'j' has two <parent> (the first on line 5)",
    ),
    "unknown parent": (
        urdf(joint("j", "forarm", "hand")),
        5,
        "the parent of joint 'j': no link named 'forarm'; did you mean 'forearm'",
    ),
    "unknown child": (
        urdf(CHAIN[0], joint("j", "forearm", "hant")),
        6,
        "the child of joint 'j': no link named 'hant'; did you mean 'hand'",
    ),
    "a link called base": (urdf(*CHAIN, joint("j", "base", "upper_arm")), 7, "no link named 'base'"),
    "nameless joint": (urdf('<joint type="fixed"/>'), 5, "<joint> has no attribute 'name'"),
    "typeless joint": (urdf('<joint name="j"/>'), 5, "joint 'j' has no attribute 'type'"),
    "unknown type": (
        urdf(joint("j", "forearm", "hand", kind="revolut")),
        5,
        "joint 'j': no joint type named 'revolut'; did you mean 'revolute'",
    ),
    "axis of no length": (
        urdf(CHAIN[0], joint("j", "forearm", "hand", '\n<axis xyz="0 0 0"/>')),
        7,
        "joint 'j': the axis has zero length",
    ),
    "axis of two numbers": (
        urdf(joint("j", "forearm", "hand", '\n<axis xyz="0 1"/>')),
        6,
        '<axis xyz="0 1">: 3 numbers expected',
    ),
    "axis without numbers": (urdf(joint("j", "forearm", "hand", "\n<axis/>")), 6, "<axis> has no attribute 'xyz'"),
    "mimic in a circle": (
        urdf(
            joint("a", "upper_arm", "forearm", '<mimic joint="b"/>'),
            joint("b", "forearm", "hand", '<mimic joint="a"/>'),
        ),
        5,
        "joints mimic one another in a circle: a -> b -> a",
    ),
    "mimic of the fixed": (
        urdf(joint("a", "upper_arm", "forearm", kind="fixed"), joint("b", "forearm", "hand", '<mimic joint="a"/>')),
        6,
        "joint 'b' mimics 'a', which is fixed",
    ),
    "mimic of nobody": (
        urdf(CHAIN[0], joint("b", "forearm", "hand", "\n<mimic/>")),
        7,
        "the <mimic> of joint 'b' has no attribute 'joint'",
    ),
    "mimic of many freedoms": (
        urdf(joint("a", "upper_arm", "forearm"), joint("b", "forearm", "hand", '<mimic joint="a"/>', "planar")),
        6,
        "only joints with one degree of freedom can mimic",
    ),
    "limits the wrong way round": (
        urdf(CHAIN[0], joint("j", "forearm", "hand", REVOLUTE.format(1, -1, 1), "revolute")),
        6,
        "joint 'j': lower limit 1 exceeds upper limit -1",
    ),
    "negative effort": (
        urdf(CHAIN[0], joint("j", "forearm", "hand", REVOLUTE.format(0, 1, -5), "revolute")),
        6,
        "effort limit must not be negative",
    ),
    "negative damping": (
        urdf(CHAIN[0], joint("j", "forearm", "hand", '<dynamics damping="-1"/>')),
        6,
        "damping must not be negative",
    ),
    # numbers
    "text for a number": (urdf(links=inertial(mass="heavy")), 3, '<mass value="heavy">: a number expected'),
    "NaN": (urdf(links=inertial(mass="nan")), 3, '<mass value="nan">: a number expected'),
    "infinite": (urdf(links=inertial(moment="inf")), 4, '<inertia ixx="inf">: a number expected'),
    "underscores": (urdf(links=inertial(mass="1_0")), 3, '<mass value="1_0">: a number expected'),
    "comma": (urdf(links=inertial(mass="1,5")), 3, '<mass value="1,5">: a number expected'),
    "nothing for a number": (urdf(links=inertial(mass="")), 3, '<mass value="">: a number expected'),
    "NaN as limit": (
        urdf(CHAIN[0], joint("j", "forearm", "hand", "\n" + REVOLUTE.format("nan", 1, 1), "revolute")),
        7,
        '<limit lower="nan">',
    ),
    "text in an origin": (
        urdf(joint("j", "forearm", "hand", '\n<origin xyz="0 0 up"/>')),
        6,
        '<origin xyz="0 0 up">: 3 numbers expected',
    ),
    "long quaternion": (
        urdf(joint("j", "forearm", "hand", '\n<origin quat_xyzw="0 0 1 1"/>')),
        6,
        "is not of unit length",
    ),
    # links
    "negative mass": (urdf(*CHAIN, links=inertial(mass="-2")), 2, "body 'upper_arm': mass is negative (-2)"),
    "no mass": (
        urdf(links="<link name='a'>\n<inertial>\n<inertia/></inertial></link>"),
        3,
        "the <inertial> of link 'a' has no <mass>",
    ),
    "no inertia": (
        urdf(links="<link name='a'>\n<inertial><mass value='1'/></inertial></link>"),
        3,
        "the <inertial> of link 'a' has no <inertia>",
    ),
    "half an inertia": (
        urdf(links="<link name='a'><inertial>\n<mass value='1'/><inertia ixx='1'/></inertial></link>"),
        3,
        "<inertia> has no attribute 'iyy'",
    ),
    # xacro
    "xacro element": (
        urdf("<xacro:include filename='x'/>", *CHAIN),
        5,
        "<xacro:include> is unexpanded xacro: run 'xacro",
    ),
    "xacro in a link": (
        urdf(links="<link name='a'>\n<xacro:inertial/></link>"),
        3,
        "<xacro:inertial> is unexpanded xacro",
    ),
    "xacro number": (urdf(links=inertial(mass="${m}")), 3, "'${m}' is unexpanded xacro"),
    "xacro name": (urdf(links='<link name="${prefix}arm"/>'), 2, "'${prefix}arm' is unexpanded xacro"),
}


@pytest.mark.parametrize("case", BAD_URDF)
def test_bad_urdf(tmp_path, case):
    text, line, message = BAD_URDF[case]
    path = tmp_path / "broken.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(kt.FileFormatError) as caught:
        kt.load(path)
    place = f"{path}, line {line}: " if line else f"{path}: "
    assert str(caught.value).startswith(place), str(caught.value)
    assert message in str(caught.value)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert isinstance(caught.value, ValueError)


def yaml(*lines: str) -> str:
    """Line 1 is the version, line 2 begins the bodies, and the lines given come from line 3 on."""
    return "kinetree: 1\nbodies:\n" + "\n".join(lines) + "\n"


A = "  - {name: a, parent: base, joint: {name: hip, kind: revolute}, mass: 1}"
B = "  - {name: b, parent: a, joint: {name: knee, kind: revolute}, mass: 1}"


def body(text: str) -> str:
    return f"  - {{name: b, parent: a, {text}}}"


LAUGHS = "kinetree: 1\nx0: &x0 [lol, lol]\n" + "".join(
    f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 10)}]\n" for i in range(1, 30)
)

BAD_YAML = {
    # YAML itself
    "empty file": ("", None, "the file is empty"),
    "only a comment": ("# nothing\n", None, "the file is empty"),
    "not YAML": ("kinetree: 1\nname: [1, 2\nbodies: 3", 3, "malformed YAML"),
    "tabs": ("kinetree: 1\nbase:\n\tname: x", 3, "malformed YAML"),
    "bad bytes": (b"kinetree: 1\nname: \xff\xfe", 2, "not text in UTF-8"),
    "control characters": (b"kinetree: 1\nname: \xc3\xa9\x00", 2, "malformed YAML: control characters"),
    "two documents": ("kinetree: 1\nbodies: []\n---\nkinetree: 1", 3, "more than one document"),
    "tags": ("kinetree: 1\nname: !!python/object:os.system x", 2, "tags such as"),
    "key twice": ("kinetree: 1\nname: a\nname: b", 3, "key 'name' is given twice (the first on line 2)"),
    "key that is a list": ("kinetree: 1\n? [a]\n: b", 2, "a key must be a word"),
    "alias to nothing": ("kinetree: 1\nname: *x", 2, "alias *x occurs before its anchor is complete"),
    "alias within itself": ("kinetree: 1\nbodies: &x [*x]", 2, "alias *x occurs before its anchor is complete"),
    "nested too deep": ("kinetree: 1\nbodies: " + "[" * 100_000, 2, "nested more than 32 levels deep"),
    "alias bomb": (LAUGHS, 7, "with alias *x4, aliases stand for more than 100000 values"),
    "alias bomb as a list": (LAUGHS.replace("x9:", "bodies:").replace("x8:", "name:"), 7, "with alias *x4, aliases"),
    # the robot
    "not kinetree's": (
        "name: robot\nbodies: []",
        1,
        "this is not a kinetree robot: the file must begin with 'kinetree: 1'",
    ),
    "a list": ("- 1\n- 2", 1, "this is not a kinetree robot"),
    "from the future": ("# hello\nkinetree: 2\n", 2, "version 2 of the format, but only version 1 is understood"),
    "unknown key": ("kinetree: 1\ngravty: [0, 0, 0]", 2, "no key named 'gravty'; did you mean 'gravity'"),
    "merge key": (yaml("  - <<: x"), 3, "no key named '<<'"),
    "no bodies": ("kinetree: 1\nname: void", 1, "robot 'void' is empty: the file has no bodies"),
    "bodies not a list": ("kinetree: 1\nbodies:\n  name: b", 3, "bodies must be a list"),
    "a body that is a word": (yaml(A, "  - b"), 4, "a body must be a mapping with the keys name, parent, joint"),
    "two bodies of a name": (
        yaml(A, B.replace("name: b", "name: a")),
        4,
        "two links are named 'a'; the first is on line 3",
    ),
    "two joints of a name": (
        yaml(A, B.replace("knee", "hip")),
        4,
        "two joints are named 'hip'; the first is on line 3",
    ),
    "unknown parent": (
        yaml(A, B.replace("parent: a", "parent: basis")),
        4,
        "the parent of joint 'knee': no link named 'basis'; did you mean 'base'",
    ),
    "a ring": (yaml(A.replace("parent: base", "parent: b"), B), 3, "form a closed loop"),
    "no name": (yaml("  - {parent: base, joint: fixed}"), 3, "a body needs the key 'name'"),
    "no joint": (yaml(A, "  - name: b\n    parent: a"), 4, "a body needs the key 'joint'"),
    "name that is a number": (
        yaml(A.replace("name: a", "name: 12")),
        3,
        "name of a body must be text, not 12; put it in quotes",
    ),
    "name that is nothing": (yaml(A.replace("name: a", "name: ")), 3, "name of a body must be text, not nothing"),
    "name that is empty": (yaml(A.replace("name: a", "name: ''")), 3, "a body needs a name"),
    # joints
    "unknown kind": (yaml(A, body("joint: revolut")), 4, "no kind of joint named 'revolut'; did you mean 'revolute'"),
    "custom": (yaml(A, body("joint: custom")), 4, "no kind of joint named 'custom'"),
    "no kind": (yaml(A, body("joint: {axis: z}")), 4, "the joint of body 'b' needs a kind"),
    "axis of no length": (yaml(A, body("joint: {kind: revolute, axis: [0, 0, 0]}")), 4, "axis has zero length"),
    "axis w": (
        yaml(A, body("joint: {kind: revolute, axis: w}")),
        4,
        "axis must be x, y, z, -x, -y, -z or three numbers",
    ),
    "axis of two": (yaml(A, body("joint: {kind: revolute,\n axis: [0, 1]}")), 5, "axis must be a list of 3 numbers"),
    "pitch of a hinge": (
        yaml(A, body("joint: {kind: revolute, pitch: 1}")),
        4,
        "a revolute joint: no key named 'pitch'",
    ),
    "pitch that is a word": (
        yaml(A, body("joint: {kind: helical, pitch: steep}")),
        4,
        "pitch must be a number, not 'steep'",
    ),
    "sequence": (yaml(A, body("joint: {kind: universal, sequence: XX}")), 4, "sequence is one of XY, XZ"),
    "limits": (yaml(A, body("joint: {kind: revolute, lower: 2, upper: 1}")), 4, "lower limit 2 exceeds upper limit 1"),
    "too many limits": (
        yaml(A, body("joint: {kind: revolute, lower: [1, 2]}")),
        4,
        "lower limit needs one number or 1",
    ),
    "negative friction": (yaml(A, body("joint: {kind: revolute, friction: -1}")), 4, "friction must not be negative"),
    "infinite damping": (
        yaml(A, body("joint: {kind: revolute, damping: .inf}")),
        4,
        "damping of joint 'b_joint' must be a number, not '.inf'",
    ),
    "actuated": (yaml(A, body("joint: {kind: revolute, actuated: yes}")), 4, "must be true or false, not 'yes'"),
    "mimic of nobody": (
        yaml(A, body("joint: {kind: revolute, mimic: {leader: hop}}")),
        4,
        "no joint named 'hop'; did you mean 'hip'",
    ),
    "mimic without leader": (
        yaml(A, body("joint: {kind: revolute, mimic: {ratio: 2}}")),
        4,
        "mimic of joint 'b_joint' needs the key 'leader'",
    ),
    # numbers
    "text for a number": (yaml(A, body("joint: revolute,\n mass: heavy")), 5, "mass must be a number, not 'heavy'"),
    "quoted number": (yaml(A, body("joint: revolute,\n mass: '1'")), 5, "mass must be a number, not '1'"),
    "NaN": (yaml(A, body("joint: revolute, mass: .nan")), 4, "mass must be a number, not '.nan'"),
    "too large": (yaml(A, body("joint: revolute, mass: 1e999")), 4, "mass must be a number, not '1e999'"),
    "list for a number": (yaml(A, body("joint: revolute, mass: [1]")), 4, "mass must be a single value"),
    "negative mass": (yaml(A, body("joint: revolute, mass: -1")), 4, "body 'b': mass is negative"),
    "inertia of four": (yaml(A, body("joint: revolute, inertia: [1, 2, 3, 4]")), 4, "inertia is [xx, yy, zz]"),
    "inertia not symmetric": (
        yaml(A, body("joint: revolute, inertia: [[1, 1, 0], [0, 1, 0], [0, 0, 1]]")),
        4,
        "inertia is not symmetric",
    ),
    "inertia about the moon": (
        yaml(A, body("joint: revolute, inertia_about: moon")),
        4,
        "about must be 'com' or 'origin', not 'moon'",
    ),
    "long quaternion": (
        yaml(A, body("joint: fixed, placement: {quaternion: [1, 1, 0, 0]}")),
        4,
        "has length 1.41421356, not 1",
    ),
    "not a rotation": (
        yaml(A, body("joint: fixed, placement: {rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}")),
        4,
        "rotation must be an orthonormal",
    ),
    "two rotations": (
        yaml(A, body("joint: fixed, placement: {rpy: [0, 0, 0], quaternion: [0, 0, 0, 1]}")),
        4,
        "give only one of rpy, rotation and quaternion",
    ),
    "gravity": ("kinetree: 1\ngravity: down\n", 2, "gravity must be a list of 3 numbers"),
    # frames
    "frame on nothing": (yaml(A, "frames:", "  - {name: f, body: arm}"), 5, "frame 'f': no body named 'arm'"),
    "frame like a body": (
        yaml(A, B, "frames:", "  - {name: a, body: b}"),
        6,
        "frame 'a' has the name of a body that it is not on",
    ),
    "frame twice": (
        yaml(A, "frames:", "  - {name: f, body: a}", "  - {name: f, body: a}"),
        6,
        "two frames are named 'f'",
    ),
    "frame of a weld": (
        yaml(A, body("joint: fixed"), "frames:", "  - {name: b_joint, body: a}"),
        6,
        "the weld 'b_joint' leaves frames of that name",
    ),
    "frame of a welded body": (
        yaml(A, body("joint: fixed"), "frames:", "  - {name: b, body: b}"),
        6,
        "the weld 'b_joint' leaves frames of that name",
    ),
}


@pytest.mark.parametrize("case", BAD_YAML)
def test_bad_yaml(tmp_path, case):
    text, line, message = BAD_YAML[case]
    path = tmp_path / "broken.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    start = time.process_time()
    with pytest.raises(kt.FileFormatError) as caught:
        kt.load(path)
    assert time.process_time() - start < 2.0
    place = f"{path}, line {line}: " if line else f"{path}: "
    assert str(caught.value).startswith(place), str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "panda.urdf").touch()
    (tmp_path / "pand.png").touch()  # a picture is not meant
    with pytest.raises(kt.RobotFileNotFoundError, match=r"no robot file .*pand\.urdf'; did you mean 'panda\.urdf'\?"):
        kt.load(tmp_path / "pand.urdf")
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        kt.load(tmp_path / "nowhere" / "panda.urdf")
    with pytest.raises(kt.RobotFileNotFoundError):
        kt.load(tmp_path / "panda.urdf" / "panda.urdf")
    with pytest.raises(kt.FileFormatError, match="this is a directory"):
        kt.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("robot.txt", r"files ending in '\.txt' are not supported; use \.urdf"),
        ("robot", "files ending in 'nothing' are not supported"),
        ("robot.urdf.xacro", r"xacro must be expanded first: run 'xacro"),
    ],
)
def test_files_of_other_kinds(tmp_path, name, message):
    (tmp_path / name).touch()
    with pytest.raises(kt.FileFormatError, match=message):
        kt.load(tmp_path / name)


def test_case_of_the_ending_does_not_matter(tmp_path):
    (tmp_path / "ROBOT.URDF").write_text(urdf(*CHAIN))
    assert kt.load(tmp_path / "ROBOT.URDF").nv == 2


def test_unknown_options(tmp_path):
    (tmp_path / "r.urdf").write_text(urdf(*CHAIN))
    with pytest.raises(kt.UnknownNameError, match="no way to treat mimic joints named 'folow'; did you mean 'follow'"):
        kt.load(tmp_path / "r.urdf", mimic="folow")
    with pytest.raises(kt.ModelError, match="gravity must be three finite numbers"):
        kt.load(tmp_path / "r.urdf", gravity=9.81)


@pytest.mark.parametrize("suffix", ["urdf", "yaml"])
def test_a_robot_that_floats_already(tmp_path, suffix):
    robot = (
        kt.Builder("r", base="world").body("b", "world", kt.Free(), joint_name="sky", mass=1, actuated=False).build()
    )
    path = tmp_path / f"r.{suffix}"
    robot.save(path)
    with pytest.raises(
        kt.FileFormatError, match=rf"r\.{suffix}, line \d+: .*already floats: joint 'sky' leaves 'b' free"
    ):
        kt.load(path, floating_base=True)


def test_a_deep_document_is_no_danger(tmp_path: Path):
    path = tmp_path / "deep.urdf"
    path.write_text("<robot>" + "<a>" * 200_000 + "</a>" * 200_000 + "</robot>")
    with pytest.raises(kt.FileFormatError, match="is empty"):
        kt.load(path)


GOOD_URDF = urdf(
    joint("elbow", "upper_arm", "forearm", '<origin xyz="0 0 1" rpy="0 1 0"/><axis xyz="0 1 0"/>'),
    joint("wrist", "forearm", "hand", REVOLUTE.format(-1, 1, 5) + '<mimic joint="elbow"/>', "revolute"),
    links=inertial(),
)
GOOD_YAML = yaml(
    "  - {name: a, parent: base, joint: {name: hip, kind: helical, axis: [0, 1, 0], pitch: 0.1, lower: -1}, mass: 1}",
    "  - {name: b, parent: a, joint: {kind: revolute, mimic: {leader: hip}}, placement: {rpy: [1, 2, 3]}}",
    "  - {name: c, parent: b, joint: fixed, mass: 1, inertia: [1, 1, 1], inertia_axes: {quaternion: [0, 0, 0, 1]}}",
    "frames:",
    "  - {name: f, body: c, placement: {position: [1, 2, 3]}}",
)
SHRAPNEL = [
    "nan",
    "-1",
    "0",
    "",
    "[",
    "]",
    "{",
    "}",
    ": ",
    "&a ",
    "*a",
    "<",
    ">",
    "/",
    '"',
    "1e999",
    "a",
    "hip",
    "b",
    "~",
]


def problem_of(path: Path) -> kt.FileFormatError | None:
    """What is wrong with a file, if anything."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kt.ModelWarning)
            kt.load(path)
    except kt.FileFormatError as problem:
        return problem
    return None


@pytest.mark.parametrize("text", [GOOD_URDF, GOOD_YAML], ids=["urdf", "yaml"])
def test_damaged_files_load_or_fail_with_file_and_line(tmp_path, text):
    """Never with anything else than an error of kinetree's own."""
    path = tmp_path / ("r.urdf" if text == GOOD_URDF else "r.yaml")
    path.write_text(text)
    kt.load(path)
    tokens = re.findall(r"\w+|\W", text)
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(400):
        damaged = list(tokens)
        for k in rng.integers(len(tokens), size=rng.integers(1, 3)):
            damaged[k] = str(rng.choice(SHRAPNEL))
        path.write_text("".join(damaged))
        problems.append(problem_of(path))
    for problem in problems:
        assert problem is None or str(problem).startswith(f"{path}, line "), problem
    assert 5 <= problems.count(None) <= 200


# ------------------------------------------------------------------ large files


def chain_of_followers(count: int, backwards: bool) -> str:
    """Joints of which each follows the one before it in the file, or the one behind it."""
    links = "".join(f"<link name='l{k}'/>\n" for k in range(count))
    inside = {k: f"<mimic joint='j{k + (1 if backwards else -1)}' multiplier='-1' offset='1'/>" for k in range(count)}
    inside.pop(count - 1 if backwards else 0)
    links += f"<link name='world'/><link name='tip'>{TIP}</link>"
    joints = [joint(f"j{k}", "world", f"l{k}", inside.get(k, "")) for k in range(count)]
    return urdf(*joints, joint("tip", "l0", "tip", kind="fixed"), links=links)


TIP = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


@pytest.mark.parametrize("backwards", [False, True])
def test_chains_of_followers_are_read_in_one_go(no_hang, tmp_path, backwards):
    (tmp_path / "chain.urdf").write_text(chain_of_followers(3000, backwards))
    robot = kt.load(tmp_path / "chain.urdf")
    last = 0 if backwards else 2999
    # q -> 1 - q, an odd number of times
    assert robot.model.joints[last].mimic == kt.Mimic("j2999" if backwards else "j0", -1.0, 1.0)


def test_ratios_that_multiply_beyond_all_numbers_are_refused(tmp_path):
    (tmp_path / "chain.urdf").write_text(chain_of_followers(400, False).replace("'-1'", "'1e3'"))
    with pytest.raises(kt.FileFormatError, match="joint 'j103' follows 'j0' with ratio inf"):
        kt.load(tmp_path / "chain.urdf")


def test_only_the_first_unknown_names_get_suggestions(no_hang, tmp_path):
    count = 2000
    text = chain_of_followers(count, False).replace("<mimic joint='j", "<mimic joint='k")
    (tmp_path / "chain.urdf").write_text(text)
    with pytest.warns(kt.ModelWarning, match="1999 things are odd") as caught:
        kt.load(tmp_path / "chain.urdf")
    told = str(caught[0].message)
    assert told.count("; known: ") == 10
    assert "mimics no joint named 'k1998'. Treated as an independent joint" in told
