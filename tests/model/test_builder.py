"""Putting robots together in code: order, welds, frames, limits, and what is refused."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, floating_pair, random_mass, random_pose, random_state
from kinetree.errors import KinetreeError, ModelError, ModelWarning, UnknownNameError

Z = kt.Revolute("z")
SOLID = {"mass": 1.0, "inertia": (1, 1, 1)}


# Order and layout


def test_parents_come_before_children_and_otherwise_the_order_given():
    builder = kt.Builder()
    builder.body("late", "b", Z, **SOLID)
    builder.body("a", "base", Z, **SOLID)
    builder.body("b", "base", kt.Spherical(), **SOLID)
    builder.body("c", "a", kt.Universal("XY"), **SOLID)
    robot = builder.build()
    # what is ready is taken in the order of description: 'late' was described before 'c'
    assert robot.body_names == ["a", "b", "late", "c"]
    assert robot.joint_names == ["a_joint", "b_joint", "late_joint", "c_joint"]
    assert robot.model.parents == (-1, -1, 1, 0)
    assert [(j.q_slice.start, j.q_slice.stop) for j in robot.model.joints] == [(0, 1), (1, 5), (5, 6), (6, 8)]
    assert [(j.v_slice.start, j.v_slice.stop) for j in robot.model.joints] == [(0, 1), (1, 4), (4, 5), (5, 7)]
    assert (robot.nq, robot.nv) == (8, 7)
    assert robot.joint("b_joint").q_slice == slice(1, 5)
    assert robot.model.support(2) == [1, 2]
    assert robot.model.children == ((3,), (2,), (), ())


def test_order_of_description_does_not_change_the_physics():
    rng = np.random.default_rng(90)
    parts = [("a", "base", Z), ("b", "a", kt.Revolute("x")), ("c", "a", kt.Prismatic("y")), ("d", "c", kt.Spherical())]
    masses, poses = [random_mass(rng) for _ in parts], [random_pose(rng) for _ in parts]
    robots = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        builder = kt.Builder()
        for k in order:
            name, parent, kind = parts[k]
            builder.body(name, parent, kind, placement=poses[k], mass_properties=masses[k])
        robots.append(builder.build())
    first, second = robots
    q, v, a = random_state(first, rng)
    state = []
    for x, which in ((q, "q_slice"), (v, "v_slice"), (a, "v_slice")):
        y = np.empty_like(x)
        for joint in first.model.joints:
            y[getattr(second.joint(joint.name), which)] = x[getattr(joint, which)]
        state.append(y)
    tau, other = first.inverse_dynamics(q, v, a), second.inverse_dynamics(*state)
    for joint in first.model.joints:
        assert_close(other[second.joint(joint.name).v_slice], tau[joint.v_slice], 1e-13)


def test_models_are_plain_data_that_cannot_be_changed():
    robot = arm()
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.model.gravity = (0, 0, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.joint("elbow").parent = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.joint("elbow").kind.axis = (1, 0, 0)
    robot.gravity[2] = 5.0  # a copy
    assert robot.gravity[2] == -9.81
    assert arm() == robot
    assert hash(arm()) == hash(robot)
    assert robot.with_gravity((0, 0, -1)) != robot
    assert robot != "arm"


def test_a_builder_can_go_on_after_building():
    builder = kt.Builder().body("a", "base", Z, **SOLID)
    first = builder.build()
    second = builder.body("b", "a", Z, **SOLID).build()
    assert (first.nv, second.nv) == (1, 2)


def test_describe_names_everything():
    text = arm().describe()
    for word in ("arm", "upper", "middle", "lower", "shoulder", "elbow", "wrist", "tool", "damping 0.3", "[-2, 1.5]"):
        assert word in text
    assert "Robot 'arm'" in repr(arm())


# Welds, frames, floating bases


def test_welds_merge_masses_and_keep_names():
    rng = np.random.default_rng(91)
    parts = [random_mass(rng) for _ in range(4)]
    poses = [random_pose(rng) for _ in range(4)]
    builder = kt.Builder()
    builder.body("post", "base", kt.Fixed(), placement=poses[0], mass_properties=parts[0])
    builder.body("arm", "post", Z, placement=poses[1], mass_properties=parts[1])
    builder.body("plate", "arm", kt.Fixed(), joint_name="bolts", placement=poses[2], mass_properties=parts[2])
    builder.body("tool", "plate", kt.Fixed(), placement=poses[3], mass_properties=parts[3])
    builder.frame("tip", "tool", (0.1, 0, 0))
    robot = builder.build()
    assert robot.body_names == ["arm"]
    assert robot.nv == 1
    expected = parts[1] + parts[2].moved(poses[2]) + parts[3].moved(poses[2] @ poses[3])
    assert_close(robot.body("arm").mass_properties.parameters, expected.parameters, 1e-14)
    assert_close(robot.model.base.mass, np.array(parts[0].mass))
    q = [0.4]
    turn = np.eye(4)
    turn[:2, :2] = [[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]]
    to_arm = poses[0].matrix @ poses[1].matrix @ turn
    assert_close(robot.pose(q, "post"), poses[0].matrix, 1e-15)
    assert_close(robot.pose(q, "arm"), to_arm, 1e-14)
    assert_close(robot.pose(q, "bolts"), to_arm @ poses[2].matrix, 1e-14)
    assert_close(robot.pose(q, "tool"), to_arm @ poses[2].matrix @ poses[3].matrix, 1e-14)
    shift = np.eye(4)
    shift[0, 3] = 0.1
    assert_close(robot.pose(q, "tip"), to_arm @ poses[2].matrix @ poses[3].matrix @ shift, 1e-14)


def test_child_pose_puts_the_body_frame_elsewhere():
    rng = np.random.default_rng(92)
    mass, placement, child = random_mass(rng), random_pose(rng), random_pose(rng)
    builder = kt.Builder()
    builder.add_body("a", mass)
    builder.add_joint("j", "base", "a", Z, placement, child_pose=child)
    builder.body("b", "a", kt.Revolute("x"), position=(0.1, 0.2, 0.3), **SOLID)
    robot = builder.build()
    assert_close(robot.pose([0, 0], "a"), (placement @ child).matrix, 1e-15)
    assert_close(robot.pose([0, 0], "b"), (placement @ child @ kt.Pose.of((0.1, 0.2, 0.3))).matrix, 1e-15)
    com = robot.pose([0.7, 0], "a") @ [*mass.com, 1]
    only_a = kt.Builder()
    only_a.add_body("a", mass)
    only_a.add_joint("j", "base", "a", Z, placement, child_pose=child)
    assert_close(only_a.build().center_of_mass([0.7]), com[:3], 1e-14)


def test_floating_base():
    builder = kt.Builder(base="trunk")
    builder.add_body("trunk", kt.MassProperties.box(2.0, (1, 1, 1)))
    builder.body("leg", "trunk", Z, position=(0.5, 0, 0), **SOLID)
    fixed, floating = builder.build(), builder.build(floating_base=True)
    assert not fixed.is_floating
    assert fixed.mass == 1.0
    assert floating.is_floating
    assert floating.mass == 3.0
    assert floating.body_names == ["trunk", "leg"]
    assert floating.joint_names == ["floating_base", "leg_joint"]
    assert (floating.nq, floating.nv) == (8, 7)
    assert floating.base_name == "world"
    assert not floating.joint("floating_base").actuated
    q = np.array([0, 0, 0, 1, 0.1, 0.2, 0.3, 0.4])
    assert_close(floating.pose(q, "trunk")[:3, 3], [0.1, 0.2, 0.3])
    # standing still on the ground's force alone
    weight = floating.gravity_force(q)
    assert_close(weight[3:6], [0, 0, 3.0 * 9.81], 1e-14)


def test_two_separate_trees_on_one_base():
    robot = kt.Builder().body("a", "base", Z, **SOLID).body("b", "base", Z, **SOLID).build()
    assert robot.model.roots == (0, 1)
    assert not robot.is_floating
    assert_close(robot.mass_matrix([0.1, 0.2]), np.eye(2), 1e-15)


def test_per_joint_data():
    robot = kt.Builder().body(
        "a", "base", kt.Universal("XY"), joint_name="j", lower=-1, upper=(1, 2), velocity_limit=3, effort_limit=(4, 5),
        damping=0.1, friction=(0.2, 0.3), rotor_inertia=0.01, gear_ratio=(10, -20), actuated=False, **SOLID,
    ).build()  # fmt: skip
    joint = robot.joint("j")
    assert (joint.lower, joint.upper) == ((-1, -1), (1, 2))
    assert (joint.velocity_limit, joint.effort_limit) == ((3, 3), (4, 5))
    assert (joint.damping, joint.friction) == ((0.1, 0.1), (0.2, 0.3))
    assert_close(joint.armature, [1.0, 4.0], 1e-15)
    assert not joint.actuated
    assert_close(robot.model.joint_vector("effort_limit"), np.array([4.0, 5.0]))
    q = robot.random_configuration(93, 500)
    assert np.all(q >= [-1, -1])
    assert np.all(q <= [1, 2])


def test_random_configurations_repeat_with_a_seed():
    robot = floating_pair()
    np.testing.assert_array_equal(robot.random_configuration(5, (2, 3)), robot.random_configuration(5, (2, 3)))
    assert robot.random_configuration(5, (2, 3)).shape == (2, 3, robot.nq)
    assert robot.random_configuration().shape == (robot.nq,)
    assert robot.random_configuration(5, 4).shape == robot.random_configuration(5, np.int64(4)).shape == (4, robot.nq)
    assert not np.array_equal(robot.random_configuration(5), robot.random_configuration(6))


# What is refused, and where it says so


def built(*bodies, **options) -> kt.Robot:
    builder = kt.Builder("bot", **options)
    for body in bodies:
        builder.body(*body[:3], **(SOLID | (body[3] if len(body) > 3 else {})))
    return builder.build()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: kt.Builder("bot").build(), ModelError, "'bot' is empty"),
        (lambda: built(("a", "base", kt.Fixed())), ModelError, "no moving joints"),
        (lambda: built(("a", "nowhere", Z)), UnknownNameError, "parent of joint 'a_joint'.*'nowhere'"),
        (lambda: built(("hip", "base", Z), ("leg", "hp", Z)), UnknownNameError, "did you mean 'hip'"),
        (lambda: built(("a", "a", Z), ("b", "base", Z)), ModelError, "'a_joint' joins body 'a' to itself"),
        (lambda: built(("a", "base", Z), ("a", "base", Z, {"joint_name": "k"})), ModelError, "two bodies.*'a'"),
        (lambda: built(("a", "base", Z), ("b", "a", Z, {"joint_name": "a_joint"})), ModelError, "two joints.*'a_j"),
        (lambda: built(("a", "b", Z), ("b", "a", Z)), ModelError, "'bot' has no root.*loop"),
        (lambda: built(("c", "base", Z), ("a", "b", Z), ("b", "a", Z)), ModelError, "'a', 'b' cannot be reached.*base"),
        (lambda: built(("", "base", Z)), ModelError, "needs a name"),
        (lambda: built(("a", "base", "revolute")), ModelError, "'a_joint'.*kinetree.Revolute"),
        (lambda: built(("a", "base", Z, {"mass": -1.0})), ModelError, "body 'a': mass is negative"),
        (lambda: built(("a", "base", Z, {"mass": "x"})), ModelError, "body 'a': mass must be numbers"),
        (lambda: built(("a", "base", Z, {"com": (1, 2)})), ModelError, "body 'a': center of mass"),
        (lambda: built(("a", "base", Z, {"inertia": (1, 2)})), ModelError, "body 'a': inertia must be"),
        (lambda: built(("a", "base", Z, {"inertia": (1, 1, 5)})), ModelError, "body 'a': .*triangle"),
        (lambda: built(("a", "base", Z, {"position": (1, 2)})), ModelError, "body 'a': a position"),
        (lambda: built(("a", "base", Z, {"rpy": (1, 2)})), ModelError, "body 'a': rpy"),
        (lambda: built(("a", "base", Z, {"mass_properties": kt.MassProperties()})), ModelError, "'a': give either"),
        (lambda: built(("a", "base", Z, {"lower": 2, "upper": 1})), ModelError, "'a_joint': lower limit.*exceeds"),
        (lambda: built(("a", "base", Z, {"lower": (1, 2)})), ModelError, "'a_joint': lower limit needs one number"),
        (lambda: built(("a", "base", Z, {"upper": np.nan})), ModelError, "'a_joint': upper limit is not a number"),
        (lambda: built(("a", "base", Z, {"damping": -1})), ModelError, "'a_joint': damping must not be negative"),
        (lambda: built(("a", "base", Z, {"friction": "x"})), ModelError, "'a_joint': friction must be numbers"),
        (lambda: built(("a", "base", Z, {"rotor_inertia": -1})), ModelError, "'a_joint': rotor inertia"),
        (lambda: built(("a", "base", Z, {"effort_limit": -1})), ModelError, "'a_joint': effort limit"),
        (lambda: built(("a", "base", Z, {"velocity_limit": -1})), ModelError, "'a_joint': velocity limit"),
        (lambda: built(("a", "base", Z), gravity=(1, 2)), ModelError, "gravity must be three"),
        (lambda: built(("a", "base", Z), gravity="down"), ModelError, "gravity must be numbers"),
        (lambda: built(("a", "base", Z), gravity=(0, 0, np.inf)), ModelError, "gravity must be three finite"),
        (lambda: built(("a", "base", Z)).with_gravity((1,)), ModelError, "gravity must be three"),
        (lambda: kt.Robot("panda.urdf"), ModelError, "made from a Model.*load"),
    ],
)  # fmt: skip
def test_impossible_robots_are_refused(make, error, says):
    with pytest.raises(error, match=says) as caught:
        make()
    assert isinstance(caught.value, KinetreeError)


def test_a_body_without_a_joint_is_named():
    builder = kt.Builder("bot").body("a", "base", Z, **SOLID)
    builder.add_body("lost", kt.MassProperties.sphere(1.0, 0.1))
    with pytest.raises(ModelError, match=r"body 'lost' cannot be reached.*'base'; declare its joint"):
        builder.build()


def test_two_roots_are_named():
    builder = kt.Builder("bot").body("a", "torso", Z, **SOLID)
    for name in ("torso", "lost"):
        builder.add_body(name, kt.MassProperties.sphere(1.0, 0.1))
    with pytest.raises(ModelError, match=r"2 roots \('torso', 'lost'\)"):
        builder.build()


def test_two_carriers_are_a_loop_that_is_cut_somewhere():
    builder = kt.Builder().body("a", "base", Z, **SOLID).body("b", "base", Z, **SOLID).body("c", "a", Z, **SOLID)
    builder.add_joint("closing", "b", "c", Z)
    robot = builder.build()
    assert [loop.name for loop in robot.model.loops] == ["closing_weld"]
    assert robot.joint_names == ["a_joint", "b_joint", "c_joint", "closing"]
    assert robot.mass == 3 * SOLID["mass"]


def test_a_refused_body_leaves_no_trace():
    builder = kt.Builder()
    with pytest.raises(ModelError):
        builder.body("a", "base", Z, lower=2, upper=1, **SOLID)
    assert builder.body("a", "base", Z, **SOLID).build().nv == 1


def test_frames_are_checked():
    def fresh() -> kt.Builder:
        return kt.Builder().body("a", "base", Z, **SOLID).body("b", "a", Z, **SOLID)

    with pytest.raises(ModelError, match="two frames are named 'tip'"):
        fresh().frame("tip", "a").frame("tip", "b")
    with pytest.raises(UnknownNameError, match=r"of frame 'tip'.*'bb'.*did you mean 'b'"):
        fresh().frame("tip", "bb").build()
    with pytest.raises(ModelError, match="'b' has the name of a body"):
        fresh().frame("b", "a").build()
    with pytest.raises(ModelError, match="frame 'tip': a position"):
        fresh().frame("tip", "a", (1, 2))


def test_impossible_inertias_only_warn_where_files_are_read():
    lenient = kt.Builder(strict=False)
    with pytest.warns(ModelWarning, match="body 'a': .*triangle"):
        lenient.body("a", "base", Z, mass=1.0, inertia=(1, 1, 5))
    assert lenient.build().body("a").mass == 1.0
    for mass in (-1.0, np.nan):
        with pytest.raises(ModelError, match="body 'b'"):
            lenient.body("b", "base", Z, mass=mass)


# Followers


@pytest.mark.parametrize(
    ("mimics", "error", "says"),
    [
        ({"a": "b_joint", "b": "a_joint"}, ModelError, "circle: a_joint -> b_joint -> a_joint"),
        ({"a": "a_joint"}, ModelError, "circle: a_joint -> a_joint"),
        ({"a": "b_joint", "b": "c_joint", "c": "b_joint"}, ModelError, "circle"),
        ({"a": "d_joint"}, UnknownNameError, "mimicked by joint 'a_joint'.*'d_joint'"),
        ({"a": "ball"}, ModelError, "'a_joint' mimics 'ball', which has 3 degrees"),
        ({"a": "weld"}, UnknownNameError, "mimicked by joint 'a_joint'.*'weld'"),
    ],
)
def test_impossible_mimics(mimics, error, says):
    builder = kt.Builder().body("x", "base", kt.Spherical(), joint_name="ball", **SOLID)
    builder.body("y", "base", kt.Fixed(), joint_name="weld")
    for name in "abc":
        builder.body(name, "base", Z, mimic=kt.Mimic(mimics[name]) if name in mimics else None, **SOLID)
    with pytest.raises(error, match=says):
        builder.build()


def test_only_single_joints_can_mimic():
    with pytest.raises(ModelError, match=r"'a_joint'.*one degree of freedom"):
        kt.Builder().body("a", "base", kt.Spherical(), mimic=kt.Mimic("b_joint"), **SOLID)


def test_followers_have_no_coordinates():
    builder = kt.Builder().body("a", "base", Z, **SOLID)
    robot = builder.body("b", "a", Z, mimic=kt.Mimic("a_joint", 2.0, 0.5), **SOLID).build()
    assert (robot.nq, robot.nv) == (1, 1)
    assert robot.joint("b_joint").nv == 0
    assert_close(robot.pose([0.3], "b")[:2, :2], _turn(0.3 + 2 * 0.3 + 0.5), 1e-15)
    assert "2 * a_joint + 0.5" in robot.describe()
    assert len(robot.neutral()) == 1


def _turn(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


# Looking things up


def test_unknown_names_suggest_the_nearest():
    robot = arm()
    for call, says in (
        (lambda: robot.joint("sholder"), "no joint named 'sholder'; did you mean 'shoulder'"),
        (lambda: robot.body("midle"), "no body named 'midle'; did you mean 'middle'"),
        (lambda: robot.frame("tol"), "did you mean 'tool'"),
        (lambda: robot.pose([0, 0, 0], "tul"), "did you mean 'tool'"),
        (lambda: robot.jacobian([0, 0, 0], "lowr"), "did you mean 'lower'"),
        (lambda: robot.joint(3), "no joint named 3; known: shoulder, elbow, wrist"),
        (lambda: robot.pose([0, 0, 0], None), "known: "),
        (lambda: robot.joint([1]), "known: shoulder"),
        (lambda: robot.modules([["uper"]]), "did you mean 'upper'"),
        (lambda: robot.operational_space_inertia([0, 0, 0], ["tool", "tol"]), "did you mean 'tool'"),
    ):
        with pytest.raises(UnknownNameError) as caught:
            call()
        assert says in str(caught.value)
        assert isinstance(caught.value, KeyError)


def test_bodies_joints_and_the_base_can_be_looked_up():
    robot = arm()
    assert robot.body("base").name == "base"
    assert robot.body("upper").mass == 2.0
    assert robot.frame("tool").body == 2
    assert robot.frame_names[0] == "tool"
    assert set(robot.frame_names) == {"tool", "base", "upper", "middle", "lower", "shoulder", "elbow", "wrist"}


def test_wrench_axes_are_checked_when_made():
    with pytest.raises(kt.OptionError, match="axes must be 'body' or 'world', not 'tool'"):
        kt.Wrench(axes="tool")
    with pytest.raises(kt.OptionError, match="point_axes"):
        kt.Wrench(point_axes="tool")


# Modules


def test_module_rules():
    builder = kt.Builder()
    for name, parent in (("a", "base"), ("b", "a"), ("c", "b"), ("d", "b"), ("e", "d")):
        builder.body(name, parent, Z, **SOLID)
    robot = builder.build()
    assert robot.modules().names == (("a", "b"), ("c",), ("d", "e"))
    assert robot.modules().parents == (-1, 0, 0)
    assert robot.modules("links").names == (("a",), ("b",), ("c",), ("d",), ("e",))
    assert robot.modules([["a"], ["b"], ["c"], ["d", "e"]]).parents == (-1, 0, 1, 1)
    for partition, says in (
        ([["a", "b", "c"], ["d", "e"]], "'b', which is not the last link of module 1"),
        ([["a", "b"], ["c", "d"], ["e"]], "not a serial chain: 'd' is not carried by 'c'"),
        ([["a", "b"], ["c"]], "'d', 'e' are in no module"),
        ([["a", "b"], ["b", "c"], ["d", "e"]], "'b' is in modules 1 and 2"),
        ([["a", "b"], ["c"], ["d", "e"], []], "module 4 is empty"),
        ([["c"], ["a", "b"], ["d", "e"]], "list parents first"),
    ):
        with pytest.raises(ModelError, match=says):
            robot.modules(partition)


def hopper(**said: bool) -> kt.Robot:
    b = kt.Builder("hopper").body("trunk", "base", kt.Free(), mass=4.0, inertia=(0.1, 0.1, 0.05), **said)
    return b.body("leg", "trunk", kt.Prismatic("z"), mass=0.5, inertia=(0.01, 0.01, 0.001)).build()


@pytest.mark.parametrize("kind", [kt.Free(), kt.EulerFree("XYZ")], ids=lambda k: k.name)
def test_free_joints_have_a_motor_only_where_that_is_said(kind, tmp_path):
    """As in the readers of URDF and MJCF; what is written says the same when it is read back."""
    for said, driven in ((None, False), (False, False), (True, True)):
        b = kt.Builder("box").body("box", "base", kind, mass=1.0, inertia=(1, 1, 1), actuated=said)
        robot = b.body("arm", "box", kt.Revolute("y"), mass=1.0, com=(1, 0, 0)).build()
        assert [j.actuated for j in robot.model.joints] == [driven, True]
        assert ("passive" in robot.describe()) == (not driven)
        for ending in (".yaml", ".urdf") if isinstance(kind, kt.Free) else (".yaml",):
            robot.save(tmp_path / f"box{ending}")
            assert kt.load(tmp_path / f"box{ending}").joint("box_joint").actuated == driven


def test_all_agree_on_the_motors_of_a_free_base():
    """What describe, controllers and mechanisms take for driven is the same, said or not."""

    for robot, names in ((hopper(), ["leg_joint"]), (hopper(actuated=True), ["trunk_joint", "leg_joint"])):
        assert [j.name for j in robot.model.driven_joints] == names
        assert [j.name for j in robot.model.joints if j.actuated] == names
        assert robot.is_floating


def test_builders_say_what_is_in_them():
    b = kt.Builder("arm")
    assert repr(b) == "<Builder 'arm': nothing yet>"
    b.body("upper", "base", kt.Revolute("z"), mass=1.0).body("lower", "upper", kt.Revolute("z"), mass=1.0)
    assert repr(b) == "<Builder 'arm': 2 bodies, 2 joints>"
    b.loop("pin", "lower", "base", kt.Revolute("z"))
    assert repr(b) == "<Builder 'arm': 2 bodies, 2 joints, 1 loop>"


def test_placements_as_matrices_and_clear_mistakes():
    builder = kt.Builder("arm")
    matrix = np.eye(4)
    matrix[:3, 3] = 1, 2, 3
    builder.body("a", "base", kt.Revolute("z"), placement=matrix, mass=1.0, inertia=(1, 1, 1))
    assert_close(builder.build().pose([0.0], "a"), matrix, 0.0)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'damping'"):
        builder.body("b", "a", kt.Revolute("z"), dampng=1.0)
    with pytest.raises(kt.ModelError, match="two bodies are named 'a'"):
        builder.body("a", "base", kt.Revolute("z"))
    with pytest.raises(kt.ModelError, match="Mimic"):
        builder.body("b", "a", kt.Revolute("z"), mimic="a_joint")
    with pytest.raises(kt.ModelError, match="pitch"):
        kt.Helical("z")
    with pytest.raises(kt.UnknownNameError, match="did you mean 'base'"):
        kt.Builder("x").body("a", "bas", kt.Revolute("z"), mass=1.0).build()
    robot = builder.build()
    for threads in (0, -1, 2.5, "x", None, True):
        with pytest.raises(kt.OptionError, match="threads"):
            robot.inverse_dynamics([0.0], [0.0], [0.0], threads=threads)
    with pytest.raises(kt.OptionError, match="map joint names"):
        robot.hybrid_dynamics([0.0], [0.0], a=np.zeros(1))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mass_properties": 1.0}, "body 'a': mass_properties must be kinetree.MassProperties, such as"),
        ({"mass_properties": 0.0}, "not 0.0; a mass alone is mass=..."),
        ({"mass": "1"}, "body 'a': mass must be numbers, got '1'"),
        ({"com": (0, 0, 1)}, "body 'a': a center of mass needs a mass"),
        ({"mass": 1, "position": ("0", "0", "1")}, "must be numbers"),
    ],
)
def test_bodies_that_cannot_be(given, words):
    builder = kt.Builder("r")
    with pytest.raises(kt.ModelError, match=re.escape(words)):
        builder.body("a", "base", kt.Revolute("z"), **given)
    assert builder.body("a", "base", kt.Revolute("z"), mass=1.0).build().mass == 1.0


ROD = kt.MassProperties.rod(1.0, (0, 0, 0), (0, 0, -1))


def test_a_mistyped_property_is_found_among_those_of_bodies_and_joints():
    with pytest.raises(kt.UnknownNameError, match="did you mean 'mass'"):
        kt.Builder("r").body("b", "base", kt.Revolute("z"), mas=1.0)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'damping'"):
        kt.Builder("r").body("b", "base", kt.Revolute("z"), mass=1.0, damped=0.1)


@pytest.mark.parametrize(
    "twice",
    [{"com": (0, 0, -0.5)}, {"inertia": (0.1, 0.1, 0.1)}, {"placement": (1, 0, 0), "position": (2, 0, 0)},
     {"placement": (1, 0, 0), "rpy": (0, 0, 1)}],
    ids=["com", "inertia", "position", "rpy"],
)  # fmt: skip
def test_what_is_said_twice_is_refused_instead_of_ignored(twice):
    with pytest.raises(kt.ModelError, match="body 'b'"):
        kt.Builder("r").body("b", "base", kt.Revolute("z"), mass_properties=ROD, **twice)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [1e308, np.nan, np.inf, -1e200])
def test_rotations_beyond_all_numbers_are_refused_without_a_warning(number):
    turn = np.eye(3)
    turn[1, 2] = number
    with pytest.raises(kt.ModelError, match="rotation must be an orthonormal"):
        kt.Pose.of(rotation=turn)


def test_bodies_that_are_welded_to_something_beyond_all_numbers(tmp_path):
    """Otherwise the robot is saved with an infinite inertia, and cannot be loaded."""
    b = kt.Builder("heavy").body("arm", "base", kt.Revolute("z"), mass=1.0)
    b.body("load", "arm", kt.Fixed(), mass=1e90, inertia=(1e90, 1e90, 1e90), position=(1e160, 0, 0))
    with pytest.raises(kt.ModelError, match=r"too large for a number|must not exceed"):
        b.build()


# ------------------------------------------------------------------ numbers that nothing can be computed with


@pytest.mark.parametrize("name", ["damping", "friction", "rotor_inertia", "gear_ratio"])
@pytest.mark.parametrize("value", [np.inf, 1e101])
def test_properties_of_a_joint_are_finite(name, value):
    with pytest.raises(kt.ModelError, match=f"{name.replace('_', ' ')} must be finite, and no more than 1e\\+100"):
        kt.Builder("r").body("a", "base", kt.Revolute("z"), mass=1.0, **{name: value})


@pytest.mark.parametrize("position", [(1e308, 0, 0), (0, -1e101, 0)])
@pytest.mark.parametrize("joint", [kt.Revolute("z"), kt.Fixed()])
def test_places_beyond_all_measure_are_refused(position, joint):
    b = kt.Builder("r").body("a", "base", kt.Revolute("z"), mass=1.0)
    b.body("b", "a", joint, position=position, mass=1.0, joint_name="far")
    with pytest.raises(kt.ModelError, match=r"joint 'far' is placed at .* numbers must not exceed 1e\+100"):
        b.build()
    b = kt.Builder("r").body("a", "base", kt.Revolute("z"), mass=1.0).frame("tip", "a", position)
    with pytest.raises(kt.ModelError, match="frame 'tip' is placed at"):
        b.build()


def test_places_just_within_all_measure_leave_numbers():
    b = kt.Builder("r").body("a", "base", kt.Revolute("z"), position=(1e100, 0, 0), mass=1.0)
    b.body("b", "a", kt.Fixed(), position=(1e100, 0, 0), mass=1.0)
    assert np.isfinite(
        b.body("c", "b", kt.Revolute("z"), position=(1e100, 0, 0), mass=1.0).build().mass_matrix([0.1, 0.2])
    ).all()


@pytest.mark.parametrize(
    "options",
    [
        {"mass": 1e308, "com": (1, 0, 0)},
        {"mass": 1.0, "com": (1e308, 0, 0)},
        {"mass": 1.0, "inertia": (1e308, 1e308, 1e308)},
        {"mass_properties": kt.MassProperties(mass="a")},
        {"mass": 10**400},
        {"mass": 1.0, "damping": 10**400},
        {"mass": 1.0, "position": (10**400, 0, 0)},
    ],
)
def test_numbers_that_are_none_are_errors_of_ours(options):
    with pytest.raises(kt.ModelError, match=r"'a(_joint)?': "):
        kt.Builder("r").body("a", "base", kt.Revolute("z"), **options)


@pytest.mark.parametrize(("lower", "upper"), [(np.inf, np.inf), (-np.inf, -np.inf)])
def test_limits_that_leave_no_position_are_refused(lower, upper):
    with pytest.raises(kt.ModelError, match="no position is within limits"):
        kt.Builder("r").body("a", "base", kt.Revolute("z"), mass=1.0, lower=lower, upper=upper)


@pytest.mark.parametrize(
    "mimic", [kt.Mimic("a_joint", np.inf), kt.Mimic("a_joint", "x"), kt.Mimic("a_joint", 1.0, None)]
)
def test_ratios_of_followers_are_numbers(mimic):
    b = kt.Builder("r").body("a", "base", kt.Revolute("z"), mass=1.0)
    with pytest.raises(kt.ModelError, match=r"joint 'b_joint': the (ratio|offset) of mimic must be a finite number"):
        b.body("b", "a", kt.Revolute("z"), mass=1.0, mimic=mimic)


def test_a_robot_has_a_name():
    with pytest.raises(kt.ModelError, match="a robot's name must be text, not None"):
        kt.Builder(None)


@pytest.mark.parametrize("ending", ["yaml", "urdf"])
@pytest.mark.parametrize("joint", [kt.Revolute("z"), kt.Free()])
def test_a_single_massless_link_is_read_back(tmp_path, joint, ending):
    robot = kt.Builder("r").body("a", "base", joint).build()
    robot.save(tmp_path / f"r.{ending}")
    assert kt.load(tmp_path / f"r.{ending}").nq == robot.nq


@pytest.mark.parametrize(
    ("lower", "upper", "low", "high"),
    [
        (-1e16, 1e16, -np.pi, np.pi),
        (-1e16, 2.0, 2.0 - 2 * np.pi, 2.0),
        (1.0, 1e300, 1.0, 1.0 + 2 * np.pi),
        (-50.0, 1e5, -50.0, 1e5),
    ],
)
def test_limits_that_are_none_do_not_spread_random_angles(lower, upper, low, high):
    robot = kt.Builder("r").body("a", "base", kt.Revolute("z"), mass=1.0, lower=lower, upper=upper).build()
    q = robot.random_configuration(0, 1000)
    assert low <= q.min() < low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) < q.max() <= high
    assert np.isfinite(robot.pose(q, "a")).all()


def test_limits_in_degrees_are_noticed_and_slips_are_named_first():
    with pytest.warns(kt.ModelWarning, match=r"joint 'a_joint': limit -170 rad .* -170 degrees are -2\.967"):
        kt.Builder().body("a", "base", kt.Revolute("z"), mass=1.0, lower=-170, upper=150)
    kt.Builder().body("a", "base", kt.Prismatic("z"), mass=1.0, lower=-170, upper=150)  # meters, of a crane
    with pytest.raises(kt.UnknownNameError, match="named 'mas'; did you mean 'mass'"):
        kt.Builder().body("a", "base", kt.Revolute("z"), mas=1.0, com=(1, 0, 0))
    with pytest.raises(kt.UnknownNameError, match=r"known: mass, com, .*, lower, .*, spring_rest$"):
        kt.Builder().body("a", "base", kt.Revolute("z"), hue=1.0)


QUARTER = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("as_given", [np.array, list, lambda m: np.array(m).ravel(), lambda m: tuple(map(tuple, m))])
def test_poses_and_masses_made_of_arrays_are_plain_numbers(tmp_path, as_given):
    """An array failed later, with an error of NumPy's; lists made a robot that is not equal to itself from a file."""
    pose = kt.Pose(as_given(QUARTER), np.array([1, 2, 3]))
    assert pose == kt.Pose.of((1, 2, 3), rotation=QUARTER)
    mass = kt.MassProperties(2.0, [0, 0, 1], np.eye(3))
    assert (
        mass == kt.MassProperties(2.0, np.array([0, 0, 1]), (1, 1, 1)) == kt.MassProperties.of(2, (0, 0, 1), (1, 1, 1))
    )
    b = kt.Builder("arm").body("a", "base", kt.Revolute("z"), placement=pose, mass_properties=mass)
    b.build().save(tmp_path / "arm.yaml")
    assert kt.load(tmp_path / "arm.yaml") == b.build()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: kt.Pose(np.eye(4)), r"Pose\.from_matrix takes a homogeneous"),
        (lambda: kt.Pose((1, 2, 3)), "orthonormal, right-handed 3x3"),
        (lambda: kt.Pose(np.ones((3, 3))), "orthonormal, right-handed 3x3"),
        (lambda: kt.Pose("abc"), "a rotation must be numbers"),
        (lambda: kt.Pose(translation=np.zeros(2)), "three finite numbers"),
        (lambda: kt.MassProperties(1.0, np.zeros(2)), "center of mass must have 3 components"),
        (lambda: kt.MassProperties(1.0, inertia=np.zeros(5)), "not shape \\(5,\\)"),
    ],
)
def test_poses_and_masses_of_something_else_are_refused(make, says):
    with pytest.raises(kt.ModelError, match=says):
        make()
