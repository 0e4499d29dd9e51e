"""Small things that users ask for: names per coordinate, limits, frames and loads added later."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_state, random_tree


def finger() -> kt.Robot:
    builder = kt.Builder("finger")
    data = {"damping": 1.0, "friction": 2.0, "rotor_inertia": 0.1}
    builder.body(
        "a", "base", kt.Prismatic("x"), joint_name="L", mass=1.0, lower=-1.0, upper=2.0, effort_limit=7.0, **data
    )
    builder.body("c", "base", kt.Prismatic("x"), joint_name="F", mass=1.0, mimic=kt.Mimic("L", -2.0), **data)
    builder.body("d", "c", kt.Spherical(), joint_name="ball", mass=1.0, inertia=(1, 1, 1))
    return builder.build()


def test_a_followers_friction_is_its_leaders():
    robot = finger()
    v = np.array([1.5, 0, 0, 0])
    spent = robot.friction_force(v)
    # power of both joints: damping v^2 + friction |v|, the follower moving at -2 times the leader's rate
    power = (1.0 * 1.5**2 + 2.0 * 1.5) + (1.0 * 3.0**2 + 2.0 * 3.0)
    assert_close(spent @ v, power, 1e-14)


def test_a_free_joint_has_other_names_in_q_than_in_v():
    robot = kt.Builder("box").body("box", "base", kt.Free(), mass=1.0).build()
    parts = ("qx", "qy", "qz", "qw", "x", "y", "z"), ("wx", "wy", "wz", "vx", "vy", "vz")
    assert robot.q_names == [f"box_joint.{part}" for part in parts[0]]
    assert robot.v_names == [f"box_joint.{part}" for part in parts[1]]
    assert not set(robot.q_names) & set(robot.v_names)


def test_builders_say_what_is_in_them():
    b = kt.Builder("arm")
    assert repr(b) == "<Builder 'arm': nothing yet>"
    b.body("upper", "base", kt.Revolute("z"), mass=1.0).body("lower", "upper", kt.Revolute("z"), mass=1.0)
    assert repr(b) == "<Builder 'arm': 2 bodies, 2 joints>"
    b.loop("pin", "lower", "base", kt.Revolute("z"))
    assert repr(b) == "<Builder 'arm': 2 bodies, 2 joints, 1 loop>"


def test_names_and_limits_are_laid_out_like_q_and_v():
    robot = finger()
    assert robot.joint_names == ["L", "F", "ball"]
    assert robot.q_names == ["L", "ball.qx", "ball.qy", "ball.qz", "ball.qw"]
    assert robot.v_names == ["L", "ball.wx", "ball.wy", "ball.wz"]
    with_numbers = ["L", *(f"ball[{k}]" for k in range(4))]  # the names of joints and numbers are understood, too
    for which, names, count in (("q", robot.q_names, 5), ("v", robot.v_names, 4)):
        assert [robot.entry_index(name, which) for name in names] == list(range(count))
        assert [robot.entry_index(name, which) for name in with_numbers[:count]] == list(range(count))
    with pytest.raises(kt.UnknownNameError, match=r"no freedom named 'ball\[3\]'"):
        robot.entry_index("ball[3]")
    assert robot.lower_limits.tolist() == [-1.0] + [-np.inf] * 4
    assert robot.upper_limits.tolist() == [2.0] + [np.inf] * 4
    assert robot.effort_limits.tolist() == [7.0] + [np.inf] * 3
    assert robot.velocity_limits.shape == (4,)


def test_point_jacobian_is_the_velocity_of_the_point():
    robot = random_tree(np.random.default_rng(0), 5)
    q, v, _ = random_state(robot, np.random.default_rng(1), 7)
    point = np.random.default_rng(2).standard_normal((7, 3))
    expected = robot.point_velocity(q, v, "f4", point)
    assert_close((robot.point_jacobian(q, "f4", point) @ v[..., None])[..., 0], expected, 1e-12)


def test_a_frame_added_later():
    robot = random_tree(np.random.default_rng(0), 4)
    q = robot.random_configuration(0)
    pose = kt.Pose.of((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    more = robot.with_frame("tool", "f3", pose)
    assert_close(more.pose(q, "tool"), robot.pose(q, "f3") @ pose.matrix, 1e-14)
    assert_close(
        robot.with_frame("t", "b1", (1, 2, 3)).pose(q, "t")[:3, 3], robot.point_position(q, "b1", (1, 2, 3)), 1e-14
    )
    with pytest.raises(kt.ModelError, match="'f1' already"):
        robot.with_frame("f1", "b1", (0, 0, 0))
    with pytest.raises(kt.UnknownNameError, match="did you mean"):
        robot.with_frame("new", "b11", (0, 0, 0))


def test_a_load_added_later_is_like_a_welded_body():
    load = kt.MassProperties.box(2.0, (0.1, 0.2, 0.3), (0.05, 0.0, 0.0))

    def arm(with_load: bool) -> kt.Robot:
        builder = kt.Builder("arm")
        builder.body("u", "base", kt.Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        builder.frame("tool", "u", (1, 0, 0), rpy=(0.3, 0.2, 0.1))
        if with_load:
            pose = kt.Pose.of((1, 0, 0), rpy=(0.3, 0.2, 0.1))
            builder.body("load", "u", kt.Fixed(), placement=pose, mass_properties=load)
        return builder.build()

    q, v, a = np.array([0.3]), np.array([1.0]), np.array([2.0])
    welded, added = arm(True), arm(False).with_payload("tool", load)
    assert_close(added.inverse_dynamics(q, v, a), welded.inverse_dynamics(q, v, a), 1e-14)
    with pytest.raises(kt.ModelError, match="fixed to the ground"):
        added.with_payload("base", load)


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


def test_a_quaternion_in_the_wrong_place_is_noticed():
    builder = kt.Builder("free")
    builder.body("a", "base", kt.Free(), mass=1.0, inertia=(1, 1, 1))
    robot = builder.build()
    with pytest.raises(kt.StateError, match="quaternion comes first"):
        robot.gravity_force([0.3, 0.2, 0.1, 0, 0, 0, 1])
    with pytest.raises(kt.StateError, match="normalize"):
        robot.gravity_force([0, 0, 0.1, 1, 0.3, 0.2, 0.1])
