"""SDF: against Pinocchio models made by a second, plain reading of the same files, and against URDF and the builder."""

import math
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from judges.real_robots import robot_file


def load(tmp_path, text, name="robot.sdf", **options):
    path = tmp_path / name
    path.write_text(text)
    return kt.load(path, **options)


def link(name, pose="0 0 0 0 0 0", mass=1.0, extra="", attributes=""):
    return f"""<link name="{name}"><pose {attributes}>{pose}</pose><inertial><pose>0.1 0.02 0.03 0.1 0.2 0.3</pose>
      <mass>{mass}</mass><inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz><ixy>0.001</ixy><ixz>0.002</ixz>
      <iyz>-0.003</iyz></inertia></inertial>{extra}</link>"""


def joint(name, parent, child, kind="revolute", axis="<axis><xyz>0 0 1</xyz></axis>", rest=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{axis}{rest}</joint>'
    )  # fmt: skip


def document(body, version="1.9", model='name="m"'):
    return f'<sdf version="{version}"><model {model}>{body}</model></sdf>'


WORLD = joint("fixed_to_world", "world", "a", "fixed", "")


# ------------------------------------------------------------------ Cassie


def pose_of(element):
    numbers = [float(x) for x in element.text.split()] if element is not None else [0.0] * 6
    return pinocchio.SE3(Rotation.from_euler("xyz", numbers[3:]).as_matrix(), np.array(numbers[:3]))


def second_reading(path, joint_order):
    """Make a Pinocchio model of the tree joints of a plain file (SDF 1.6, no frames), in a given order."""
    root = ElementTree.parse(path).getroot().find("model")
    links = {e.get("name"): e for e in root.findall("link")}
    at = {name: pose_of(e.find("pose")) for name, e in links.items()} | {"world": pinocchio.SE3.Identity()}
    model = pinocchio.Model()
    carrier, seats = {"world": 0}, {"world": pinocchio.SE3.Identity()}
    joints = {e.get("name"): e for e in root.findall("joint")}
    for name in joint_order:
        element = joints[name]
        parent, child = element.find("parent").text, element.find("child").text
        seat = pose_of(element.find("pose"))
        axis = element.find("axis")
        xyz = np.array([float(x) for x in axis.find("xyz").text.split()])
        if axis.find("use_parent_model_frame") is not None:
            xyz = (at[child] * seat).rotation.T @ xyz
        kind = {
            "revolute": lambda xyz: pinocchio.JointModelRevoluteUnaligned(xyz / np.linalg.norm(xyz)),
            "prismatic": lambda xyz: pinocchio.JointModelPrismaticUnaligned(xyz / np.linalg.norm(xyz)),
            "ball": lambda xyz: pinocchio.JointModelSpherical(),
        }[element.get("type")](xyz)
        placement = seats[parent] * at[parent].inverse() * at[child] * seat
        carrier[child], seats[child] = model.addJoint(carrier[parent], kind, placement, name), seat.inverse()
        inertial = links[child].find("inertial")
        i = {e.tag: float(e.text) for e in inertial.find("inertia")}
        moments = np.array(
            [[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]], [i["ixz"], i["iyz"], i["izz"]]]
        )
        place = seats[child] * pose_of(inertial.find("pose"))
        body = pinocchio.Inertia(float(inertial.find("mass").text), np.zeros(3), moments)
        model.appendBodyToJoint(carrier[child], body, place)
    return model


@pytest.fixture(scope="module")
def cassies():
    """Cassie hanging on a slide, as two files of example-robot-data have it."""
    folder = robot_file("cassie_description/robots/cassie.sdf").parent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.ModelWarning)
        names = ("cassie_simple", "cassie_wo_gearbox_spring")
        return {name: (folder / f"{name}.sdf", kt.load(folder / f"{name}.sdf")) for name in names}


@pytest.mark.parametrize("name", ["cassie_simple", "cassie_wo_gearbox_spring"])
def test_cassie_is_what_its_file_says(cassies, name):
    """Mass matrix and bias of the tree as of a second reading; loops closed as drawn, and how it can move."""
    path, robot = cassies[name]
    assert len(robot.loop_names) == 4
    assert robot.closure_error(robot.neutral()) < 1e-14
    model = second_reading(path, robot.joint_names)
    data = model.createData()
    q, v = robot.random_configuration(np.random.default_rng(2)), np.linspace(-1, 1, robot.nv)
    order = np.concatenate([np.arange(j.idx_v, j.idx_v + j.nv) for j in model.joints[1:]])
    assert np.array_equal(order, np.arange(robot.nv))
    mass = pinocchio.crba(model, data, q)
    assert np.allclose(robot.tree.mass_matrix(q), np.triu(mass) + np.triu(mass, 1).T, atol=1e-12)
    # springs of the file belong to bias forces here
    springs = sum(
        (j.stiffness[0] * (q[j.q_slice][0] - j.spring_rest[0]) * np.eye(robot.nv)[j.v_slice.start])
        for j in robot.model.joints if j.stiffness
    )  # fmt: skip
    bias = pinocchio.nonLinearEffects(model, data, q, v)
    assert np.allclose(robot.tree.bias_force(q, v), bias + springs, atol=1e-9)
    assert [j.stiffness[0] for j in robot.model.joints if j.stiffness] == [1500.0, 1250.0] * 2


def test_cassie_counts_right(cassies):
    """One slide and six freedoms a leg; five where the axis of the crank's rod is tilted against its neighbors'."""
    assert cassies["cassie_wo_gearbox_spring"][1].mobility().freedoms == 13
    assert cassies["cassie_simple"][1].mobility().freedoms == 11


def test_gearboxes_of_cassie_are_couplings():
    """Its motors turn 25 and 16 times as fast as its joints, and the other way round."""
    path = robot_file("cassie_description/robots/cassie.sdf")
    with pytest.warns(kt.ModelWarning, match="triangle inequality"):
        robot = kt.load(path, floating_base=True)
    assert len(robot.model.couplings) == 10
    q = robot.configuration("as_drawn")
    assert robot.closure_error(q) < 1e-14
    rows = robot.loop_jacobian(q)[-10:]
    row = rows[[c.name for c in robot.model.couplings].index("left-roll-joint")]
    hip, motor = (row[robot.joint(n).v_slice.start] for n in ("left-roll-op", "left-roll-ip"))
    assert motor / hip == pytest.approx(0.04)


def test_cassie_stands_within_limits_though_it_is_drawn_beyond_them_and_singular():
    path = robot_file("cassie_description/robots/cassie.sdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers of the file are rounded
        robot = kt.load(path, floating_base=True)
        drawn = robot.configuration("as_drawn")
        assert robot.mobility(drawn).singular
        q = robot.assembled()
        assert robot.closure_error(q) < 1e-14
        assert robot.within_limits(q)
        assert not robot.within_limits(drawn)
        assert not robot.mobility(q).singular
    springs = [q[robot.joint(j.name).q_slice][0] for j in robot.model.joints if j.stiffness]
    assert np.abs(springs).max() < 1e-3
    assert q[robot.joint("left-foot-ip").q_slice] == pytest.approx(-50 * q[robot.joint("left-foot-op").q_slice])


# ------------------------------------------------------------------ joints


def test_every_type_of_joint(tmp_path):
    """Against the same robot from the builder, at a random state."""
    body = (
        link("a", "0 0 1 0 0 0")
        + link("b", "0.3 0 1 0.1 0.2 0.3")
        + link("c", "0.6 0.1 1 0 0 0.5")
        + link("d", "0.6 0.4 1 0 0 0")
        + link("e", "0.6 0.4 1.2 0 0 0")
        + link("f", "0.9 0.4 1.2 0 0 0")
        + link("g", "0.9 0.4 1.4 0 0 0")
        + WORLD
        + joint("slide", "a", "b", "prismatic", "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper>"
                "<effort>7</effort><velocity>3</velocity></limit><dynamics><damping>2</damping><friction>0.3</friction>"
                "<spring_stiffness>50</spring_stiffness><spring_reference>0.1</spring_reference></dynamics></axis>")
        + joint("hinge", "b", "c", "continuous", "<axis><xyz>1 1 0</xyz></axis>", "<pose>0 0 0.1 0 0 0.2</pose>")
        + joint("cardan", "c", "d", "universal", "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>")
        + joint("ball", "d", "e", "ball", "")
        + joint("screw", "e", "f", "screw", rest="<screw_thread_pitch>0.02</screw_thread_pitch>")
        + joint("two", "f", "g", "revolute2", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>1 1 0</xyz></axis2>")
    )  # fmt: skip
    robot = load(tmp_path, document(body), strict=True)
    b = kt.Builder("m", base="world")
    axes = kt.Pose.of(rpy=(0.1, 0.2, 0.3))
    own = kt.MassProperties.of(1.0, (0.1, 0.02, 0.03), (0.02, 0.03, 0.04, 0.001, 0.002, -0.003), axes=axes)
    at = {
        "a": kt.Pose.of((0, 0, 1)), "b": kt.Pose.of((0.3, 0, 1), rpy=(0.1, 0.2, 0.3)),
        "c": kt.Pose.of((0.6, 0.1, 1), rpy=(0, 0, 0.5)), "d": kt.Pose.of((0.6, 0.4, 1)),
        "e": kt.Pose.of((0.6, 0.4, 1.2)), "f": kt.Pose.of((0.9, 0.4, 1.2)), "g": kt.Pose.of((0.9, 0.4, 1.4)),
    }  # fmt: skip
    for name in at:
        b.add_body(name, own)
    b.add_body("between")
    step = {f"{x}{y}": at[x].inverse() @ at[y] for x, y in ("ab", "bc", "cd", "de", "ef", "fg")}
    b.joint("held", "world", "a", kt.Fixed(), at["a"])
    b.joint("slide", "a", "b", kt.Prismatic("y"), step["ab"], damping=2, friction=0.3, stiffness=50, spring_rest=0.1)
    seat = kt.Pose.of((0, 0, 0.1), rpy=(0, 0, 0.2))
    b.joint("hinge", "b", "c", kt.Revolute((1, 1, 0)), step["bc"] @ seat, seat=seat)
    turned = kt.Pose.of(rotation=np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], dtype=float))
    b.joint("cardan", "c", "d", kt.Universal("XY"), step["cd"] @ turned, seat=turned)
    b.joint("ball", "d", "e", kt.Spherical(), step["de"])
    b.joint("screw", "e", "f", kt.Helical("z", 0.02 / (2 * math.pi)), step["ef"])
    b.joint("two_1", "f", "between", kt.Revolute("x"), step["fg"])
    b.joint("two_2", "between", "g", kt.Revolute((1, 1, 0)))
    expected = b.build()
    q, v = expected.random_configuration(np.random.default_rng(0)), np.linspace(-1, 1, expected.nv)
    assert robot.nv == expected.nv == 10
    assert np.allclose(robot.mass_matrix(q), expected.mass_matrix(q), atol=1e-12)
    assert np.allclose(robot.bias_force(q, v), expected.bias_force(q, v), atol=1e-11)
    for name in at:
        assert np.allclose(robot.pose(q, name), expected.pose(q, name), atol=1e-13)
    slide = robot.joint("slide")
    assert (slide.lower, slide.upper, slide.effort_limit, slide.velocity_limit) == ((-1.0,), (2.0,), (7.0,), (3.0,))
    assert (slide.damping, slide.friction) == ((2.0,), (0.3,))


def test_the_older_pitch_of_screws_turns_the_other_way(tmp_path):
    """thread_pitch is radians per meter of a thread to the left."""
    text = document(
        link("a") + link("b") + WORLD + joint("s", "a", "b", "screw", rest="<thread_pitch>50</thread_pitch>")
    )
    assert load(tmp_path, text).joint("s").kind.pitch == pytest.approx(-0.02)


@pytest.mark.parametrize(
    ("version", "axis", "turned"),
    [
        ("1.4", "<axis><xyz>0 0 1</xyz></axis>", False),
        ("1.6", "<axis><xyz>0 0 1</xyz></axis>", True),
        ("1.6", "<axis><xyz>0 0 1</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>", False),
        ("1.9", '<axis><xyz expressed_in="__model__">0 0 1</xyz></axis>', False),
        ("1.9", '<axis><xyz expressed_in="b">0 0 1</xyz></axis>', True),
        ("1.9", '<axis><xyz expressed_in="a">0 0 1</xyz></axis>', False),
    ],
)
def test_frames_of_axes_by_version(tmp_path, version, axis, turned):
    """An axis is along the joint's own frame, unless the file or its version says otherwise."""
    text = document(
        link("a") + link("b", "0 0 0 1.5707963267948966 0 0") + WORLD + joint("j", "a", "b", axis=axis), version
    )
    robot = load(tmp_path, text)
    moved = robot.pose([0.5], "b")[:3, :3] @ robot.pose([0.0], "b")[:3, :3].T
    direction = Rotation.from_matrix(moved).as_rotvec() / 0.5
    assert np.allclose(direction, (0, -1, 0) if turned else (0, 0, 1), atol=1e-12)


# ------------------------------------------------------------------ frames, nested models, worlds


def test_poses_may_be_relative_to_any_frame(tmp_path):
    """Links, joints and frames relative to one another, against the same places in one frame."""
    plain = document(
        link("a", "1 0 0 0 0 0") + link("b", "1 2 0 0 0 1.5707963267948966") + WORLD + joint("j", "a", "b")
    )
    nested = document(
        link("a", "1 0 0 0 0 0") + '<frame name="f" attached_to="a"><pose>0 2 0 0 0 1.5707963267948966</pose></frame>'
        + link("b", "0 0 0 0 0 0", attributes='relative_to="f"') + WORLD
        + joint("j", "a", "f2", rest='<pose relative_to="f">0 0 0 0 0 0</pose>')
        + '<frame name="f2" attached_to="b"/>'
    )  # fmt: skip
    one, two = load(tmp_path, plain), load(tmp_path, nested, "two.sdf")
    for q in (0.0, 0.7):
        assert np.allclose(one.pose([q], "b"), two.pose([q], "b"), atol=1e-14)
    assert np.allclose(two.pose([0.7], "f2"), two.pose([0.7], "b"))
    assert np.allclose(one.mass_matrix([0.3]), two.mass_matrix([0.3]), atol=1e-14)
    quaternion = plain.replace(
        "<pose >1 2 0 0 0 1.5707963267948966</pose>",
        '<pose rotation_format="quat_xyzw">1 2 0 0 0 0.7071067811865476 0.7071067811865476</pose>',
    )
    degrees = plain.replace("<pose >1 2 0 0 0 1.5707963267948966</pose>", '<pose degrees="true">1 2 0 0 0 90</pose>')
    for text in (quaternion, degrees):
        assert text != plain
        assert np.allclose(load(tmp_path, text).pose([0.7], "b"), one.pose([0.7], "b"), atol=1e-15)


def test_nested_and_included_models(tmp_path):
    """Names of nested models have '::'; an included model is looked for beside the file; placement frames."""
    (tmp_path / "hand").mkdir()
    (tmp_path / "hand" / "model.sdf").write_text(
        document(link("palm", "0.5 0 0 0 0 0") + link("finger", "0.6 0 0 0 0 0") + joint("knuckle", "palm", "finger"),
                 model='name="hand"')
    )  # fmt: skip
    text = document(
        link("a", "0 0 1 0 0 0") + WORLD
        + '<model name="arm"><pose>0 1 0 0 0 0</pose>' + link("b") + link("c", "1 0 0 0 0 0") + joint("j", "b", "c")
        + "</model>"
        + '<include><uri>model://hand</uri><name>grip</name><placement_frame>palm</placement_frame>'
        '<pose relative_to="arm::c">0.2 0 0 0 0 0</pose></include>'
        + joint("shoulder", "a", "arm::b") + joint("wrist", "arm::c", "grip::palm", "fixed", "")
    )  # fmt: skip
    robot = load(tmp_path, text, strict=True)
    assert robot.joint_names == ["shoulder", "arm::j", "grip::knuckle"]
    q = np.zeros(3)
    assert np.allclose(robot.pose(q, "arm::c")[:3, 3], (1, 1, 0))
    assert np.allclose(robot.pose(q, "grip::palm")[:3, 3], (1.2, 1, 0))
    assert np.allclose(robot.pose(q, "grip::finger")[:3, 3], (1.3, 1, 0))


def test_a_world_with_several_models(tmp_path):
    """Static ones are the base, others float; gravity is the world's."""
    world = f"""<sdf version="1.9"><world name="w"><gravity>0 0 -1.6</gravity>
      <model name="ground"><static>true</static>{link("slab")}</model>
      <model name="ball"><pose>0 0 2 0 0 1</pose>{link("body")}</model>
      <model name="lamp"><pose>1 0 0 0 0 0</pose>{link("foot")}{link("arm", "0 0 0.3 0 0 0")}
        {joint("hinge", "foot", "arm")}{joint("stand", "world", "foot", "fixed", "")}</model></world></sdf>"""
    robot = load(tmp_path, world, strict=True)
    assert robot.joint_names == ["ball::body_free", "lamp::hinge"] or robot.joint_names == [
        "lamp::hinge",
        "ball::body_free",
    ]
    assert np.allclose(robot.gravity, (0, 0, -1.6))
    q = robot.configuration("as_drawn")
    assert np.allclose(robot.pose(q, "ball::body")[:3, 3], (0, 0, 2))
    assert np.allclose(robot.pose(q, "lamp::arm")[:3, 3], (1, 0, 0.3))


def test_floating_base(tmp_path):
    """A model without a joint to the world is held where it is drawn, or floats from there."""
    text = document(link("a", "0 0 1 0.3 0 0") + link("b", "0.3 0 1 0 0 0") + joint("j", "a", "b"))
    held, loose = load(tmp_path, text), load(tmp_path, text, floating_base=True)
    assert (held.nv, loose.nv) == (1, 7)
    q = loose.configuration("as_drawn")
    assert np.allclose(loose.pose(q, "b"), held.pose([0.0], "b"), atol=1e-14)
    with pytest.raises(kt.KinetreeError, match="defines what is fixed and what floats"):
        load(tmp_path, document(link("a") + WORLD), floating_base=True)


def test_a_link_with_two_parents_closes_a_loop(tmp_path):
    """A four-bar: cut at the joint that has no damping, and equal to the builder's."""
    damped = "<axis><xyz>0 1 0</xyz><dynamics><damping>0.1</damping></dynamics></axis>"
    plain = "<axis><xyz>0 1 0</xyz></axis>"
    text = document(
        link("ground") + link("crank", "0 0 0 0 0 0") + link("coupler", "0 0 0.3 0 0 0") + link("rocker", "1 0 0 0 0 0")
        + joint("j1", "ground", "crank", axis=damped) + joint("j2", "crank", "coupler", axis=damped)
        + joint("j4", "ground", "rocker", axis=damped)
        + joint("j3", "coupler", "rocker", axis=plain, rest="<pose>0 0 0.3 0 0 0</pose>")
    )  # fmt: skip
    robot = load(tmp_path, text)
    assert robot.loop_names == ["j3"]
    assert robot.joint_names == ["j1", "j2", "j4"] or set(robot.joint_names) == {"j1", "j2", "j4"}
    assert robot.closure_error(robot.neutral()) < 1e-15
    assert robot.mobility(robot.close(robot.neutral() + 0.1)).freedoms == 1


def test_followers_and_gearboxes(tmp_path):
    """<mimic> of 1.11, and a gearbox between two wheels on one carrier."""
    mimic = '<axis><xyz>0 0 1</xyz><mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset>' \
            "<reference>0.1</reference></mimic></axis>"  # fmt: skip
    text = document(
        link("a") + link("b") + link("c") + WORLD + joint("j", "a", "b") + joint("k", "a", "c", axis=mimic), "1.11"
    )
    follower = load(tmp_path, text).joint("k").mimic
    assert (follower.leader, follower.ratio, follower.offset) == ("j", 2.0, pytest.approx(0.3))
    gear = joint("g", "b", "c", "gearbox", "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 -1</xyz></axis2>",
                 "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>")  # fmt: skip
    text = document(link("a") + link("b") + link("c") + WORLD + joint("j", "a", "b") + joint("k", "a", "c") + gear)
    robot = load(tmp_path, text, strict=True)
    v = robot.project(np.zeros(2), [1.0, 0.0])[1]
    assert v[1] == pytest.approx(3.0 * v[0])  # -3 about an axis that points the other way


# ------------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (link("a", extra="<gravity>0</gravity>"), "<gravity> is not read"),
        (link("a", extra="<velocity_decay><linear>0.1</linear></velocity_decay>"), "<velocity_decay>"),
        ('<link name="a"/>', "has no <inertial>: taken as 1 kg"),
        (link("a", extra="<inertal/>"), "did you mean <inertial>"),
        (link("a", attributes='relativ_to="z"'), "'relativ_to' in <pose> is unknown and not read; did you mean 'rel"),
        (
            link("a") + link("c") + joint("k", "a", "c", "ball", "<axis><xyz>0 0 1</xyz><limit/></axis>"),
            "of a ball joint",
        ),
    ],
)
def test_what_cannot_be_represented_is_named(tmp_path, body, words):
    """One warning with lines; strict=True refuses."""
    text = document(body + link("z") + WORLD + joint("j", "a", "z"))
    with pytest.warns(kt.ModelWarning, match=words):
        load(tmp_path, text)
    with pytest.raises(kt.FileFormatError, match=words):
        load(tmp_path, text, strict=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot/>", "an SDF file has <sdf>"),
        ('<sdf version="2.0"><model name="m"/></sdf>', "version '2.0'"),
        ('<sdf version="1.6"/>', "no <model>"),
        (document(""), "has no <link>"),
        (document(link("a") + link("b") + joint("j", "a", "x")), "no frame named 'x'"),
        (document(link("a") + link("b") + joint("j", "a", "b", "sliding")), "joint type"),
        (document(link("a") + joint("j", "a", "a")), "to itself"),
        (document(link("a", "0 0 0 0 0")), "must be 6 numbers"),
        (document(link("a", attributes='relative_to="b"') + link("b", attributes='relative_to="a"')), "in a circle"),
        (document(link("a") + link("a")), "two frames are named 'a'"),
        (document(link("a") + "<include><uri>model://hand</uri></include>"), "was not found; looked for it at"),
        (document(link("a") + "<include><uri>https://x/hand</uri></include>"), "not in the folder of the file"),
        (document(link("a") + link("b") + joint("j", "a", "b", axis="<axis><xyz>0 0 0</xyz></axis>")), "zero length"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, words):
    """With file, line and reason."""
    with pytest.raises(kt.FileFormatError, match=words):
        load(tmp_path, text)


# ------------------------------------------------------------------ writing


def assert_same_dynamics(one, two, seed=0):
    """Both move alike, by names of joints and bodies."""
    assert [j.name for j in one.model.joints] == [j.name for j in two.model.joints]
    q, v = one.random_configuration(np.random.default_rng(seed)), np.linspace(-1, 1, one.nv)
    tree, other = (r.tree if isinstance(r, kt.Mechanism) else r for r in (one, two))
    assert np.allclose(tree.mass_matrix(q), other.mass_matrix(q), rtol=0, atol=1e-12)
    assert np.allclose(tree.bias_force(q, v), other.bias_force(q, v), rtol=1e-12, atol=1e-11)
    for a, b in zip(one.model.joints, two.model.joints, strict=True):
        for key in ("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction", "actuated", "mimic"):
            assert getattr(a, key) == getattr(b, key), (a.name, key)
    for frame in one.frame_names:
        if frame in two.model.frame_table and frame not in one.joint_names:
            assert np.allclose(one.pose(q, frame), two.pose(q, frame), atol=1e-13)
    if isinstance(one, kt.Mechanism):
        assert two.loop_names == one.loop_names
        closed = one.assembled()
        assert np.allclose(one.loop_gaps(closed), two.loop_gaps(closed), atol=1e-12)
        assert np.linalg.matrix_rank(
            np.concatenate([one.loop_jacobian(closed), two.loop_jacobian(closed)]), tol=1e-9
        ) == np.linalg.matrix_rank(one.loop_jacobian(closed), tol=1e-9)


def test_cassie_is_written_and_read_back(cassies, tmp_path):
    """Springs, loops and frames included."""
    _, robot = cassies["cassie_wo_gearbox_spring"]
    robot.save(tmp_path / "again.sdf")
    assert_same_dynamics(robot, kt.load(tmp_path / "again.sdf"))


def test_every_kind_that_sdf_has_is_written(tmp_path):
    """Joints, followers, gears, other gravity, frames elsewhere on bodies."""
    b = kt.Builder("all of it", gravity=(0, 0, -3.7))
    own = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.2, 0.3, 0.25, 0.01, 0.02, 0.03)}
    b.body("a", "base", kt.Revolute((1, 2, 0)), rpy=(0.1, 0.2, 0.3), lower=-1, upper=2, damping=0.3, **own)
    b.body("b", "a", kt.Prismatic("x"), position=(0.1, 0, 0.2), stiffness=40, spring_rest=0.2, **own)
    b.body("c", "b", kt.Helical("y", 0.003), position=(0.1, 0, 0.2), actuated=False, **own)
    b.body("d", "c", kt.Universal("ZX"), position=(0.1, 0, 0.2), damping=(0.1, 0.2), **own)
    b.body("e", "d", kt.Spherical(), position=(0, 0, 0.2), child_pose=kt.Pose.of((0.1, 0, 0), rpy=(0, 0.4, 0)), **own)
    b.body("f", "e", kt.Continuous("z"), position=(0, 0, 0.2), **own)
    b.body("g", "e", kt.Revolute("z"), position=(0, 0.2, 0.2), mimic=kt.Mimic("f_joint", -2.0, 0.1), **own)
    b.body("h", "e", kt.Revolute("-z"), position=(0, 0.3, 0.2), **own)
    b.gear("gears", "f_joint", "h_joint", (20, 30))
    b.frame("tool", "f", (0.1, 0.2, 0.3), rpy=(1, 2, 3))
    robot = b.build()
    robot.save(tmp_path / "all.sdf")
    again = kt.load(tmp_path / "all.sdf", strict=True)
    assert_same_dynamics(robot, again)
    q = robot.random_configuration(np.random.default_rng(1))
    rows = [r.loop_jacobian(q)[0] for r in (robot, again)]
    assert np.allclose(rows[0] / np.linalg.norm(rows[0]), rows[1] / np.linalg.norm(rows[1]), atol=1e-14)
    assert np.allclose(again.gravity, (0, 0, -3.7))


@pytest.mark.parametrize("ending", ["sdf", "urdf"])
def test_stops_of_a_continuous_joint_are_written(tmp_path, ending):
    """SDF and URDF have none on such joints, and ignored what was written: they are hinges there."""
    b = kt.Builder("m").body("a", "base", kt.Continuous("z"), mass=1, inertia=(1, 1, 1), lower=-2, upper=1)
    b.build().save(tmp_path / f"m.{ending}")
    again = kt.load(tmp_path / f"m.{ending}").joint("a_joint")
    assert (again.lower, again.upper, again.kind) == ((-2.0,), (1.0,), kt.Revolute("z"))
    text = (tmp_path / f"m.{ending}").read_text().replace("revolute", "continuous")
    (tmp_path / f"other.{ending}").write_text(text)
    with pytest.warns(kt.ModelWarning, match=r"position limits of .* are not read"):
        assert kt.load(tmp_path / f"other.{ending}").joint("a_joint").upper == (np.inf,)


def test_ranges_from_0_to_0_throughout_are_none(tmp_path):
    """As converters write them where nobody set any; URDF likewise."""
    limit = "<axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>0</upper></limit></axis>"
    text = document(WORLD + link("a") + link("b") + joint("j", "a", "b", axis=limit))
    with pytest.warns(kt.ModelWarning, match=r"line \d+: .* 0 to 0: 'j'\. No joint has another range"):
        assert load(tmp_path, text).joint("j").upper == (np.inf,)


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda b: b.body("x", "a", kt.Planar("z"), mass=1, inertia=(1, 1, 1)), "no planar joint"),
        (lambda b: b.body("x", "a", kt.Revolute("z"), mass=1, inertia=(1, 1, 1), rotor_inertia=1), "rotor inertia"),
        (lambda b: b.coupling("c", "a_joint", "b_joint", [0, 1, 1]), "gearboxes between two hinges"),
        (lambda b: b.loop("l", "base", "b", kt.Spherical(), placement=(0, 0, 3)), "is open by"),
        (lambda b: b.tendon("t", {"a_joint": 1.0}, stiffness=1.0, rest=0.0), "along tendon 't'"),
        (lambda b: b.body("x", "b", kt.Spherical(), mass=1, inertia=(1, 1, 1), damping=1), "in ball joint"),
    ],
)
def test_what_sdf_cannot_express_is_not_written(tmp_path, add, words):
    """Nothing is written that would move otherwise."""
    b = kt.Builder("m")
    b.body("a", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1))
    b.body("b", "a", kt.Revolute("x"), mass=1, inertia=(1, 1, 1), position=(0, 0, 1))
    add(b)
    with pytest.raises(kt.UnsupportedError, match=words):
        b.build().save(tmp_path / "m.sdf")
    assert not (tmp_path / "m.sdf").exists()
