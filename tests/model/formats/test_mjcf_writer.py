"""MJCF that is written: MuJoCo loads it and has the same equations, and read back it is the same mechanism."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_tree
from judges.mujoco_judge import MujocoJudge

HELD = [
    "revolute",
    "continuous",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "spherical_euler",
    "translation",
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its log into the working directory."""
    monkeypatch.chdir(tmp_path)


def written(robot):
    """Return the robot read back, and MuJoCo's model of the same file."""
    robot.save("robot.xml")
    return kt.load("robot.xml"), mujoco.MjModel.from_xml_path("robot.xml")


def in_order_of(here, there, x, of="v"):
    """Return coordinates or rates of one robot as another has them, whose joints may come in another order."""
    found = np.zeros((*x.shape[:-1], there.nq if of == "q" else there.nv))
    for joint in here.model.joints:
        if joint.nv:
            other = there.joint(joint.name)
            own, place = (joint.q_slice, other.q_slice) if of == "q" else (joint.v_slice, other.v_slice)
            found[..., place] = x[..., own]
    return found


def with_everything(rng, n, kinds=None, floating=False):
    robot = random_tree(rng, n, kinds or HELD, floating, followers=False, armature=False, in_turn=True)
    if floating:  # of the world, as MuJoCo has it
        first, *others = robot.model.joints
        robot = kt.Robot(replace(robot.model, joints=(replace(first, placement=kt.Pose()), *others)))
    single = [j.name for j in robot.model.joints if j.nv == 1]
    data = {f"{name}.{what}": rng.uniform(0.1, 1.0) for name in single for what in ("damping", "rotor_inertia")}
    robot = robot.with_parameters(data)
    chosen = single[::2]
    return robot.with_springs(
        {name: rng.uniform(1, 5) for name in chosen}, {name: rng.uniform(-1, 1) for name in chosen}
    )


@pytest.mark.parametrize(("n", "floating"), [(10, False), (6, True)])
def test_trees(n, floating):
    rng = np.random.default_rng(n)
    robot = with_everything(rng, n, floating=floating)
    again, compiled = written(robot)
    single = robot.with_single_joints()  # what MuJoCo has
    q = single.random_configuration(rng, 4)
    v, a = rng.standard_normal((2, 4, single.nv))
    there_q, there_v, there_a = (in_order_of(single, again, x, of) for x, of in ((q, "q"), (v, "v"), (a, "v")))
    expected = single.inverse_dynamics(q, v, a, friction=True)
    found = again.inverse_dynamics(there_q, there_v, there_a, friction=True)
    assert_close(found, in_order_of(single, again, expected), 1e-12)
    judge = MujocoJudge(again, compiled)
    assert_close(again.mass_matrix(there_q), judge.mass_matrix(there_q), 1e-12)
    for frame in single.model.frames:
        assert_close(again.pose(there_q, frame.name), single.pose(q, frame.name), 1e-12)
    if not floating:  # rates are MuJoCo's own, but for their places
        for k in range(4):
            judge._set(there_q[k], there_v[k])
            for seat in judge.seats:
                judge.data.qacc[seat.qvel] = there_a[k, seat.joint.v_slice]
            mujoco.mj_inverse(compiled, judge.data)
            theirs = np.concatenate([judge.data.qfrc_inverse[seat.qvel] for seat in judge.seats])
            assert_close(theirs, found[k], 1e-10)


def mechanism(closing):
    """A four-bar in a tilted plane, whose last joint closes the loop."""
    b = kt.Builder("four-bar")
    rod = {"inertia": (1e-3, 2e-3, 2e-3)}
    b.body("crank", "base", kt.Revolute("y"), mass=0.4, com=(0.1, 0, 0), **rod)
    b.body("coupler", "crank", kt.Revolute("y"), position=(0.2, 0, 0), mass=0.8, com=(0.25, 0.02, 0), **rod)
    b.body("rocker", "base", kt.Revolute("y"), position=(0.6, 0, 0), mass=0.5, com=(0.2, 0, 0), **rod)
    b.loop("pin", "coupler", "rocker", closing, placement=kt.Pose.of((0.5, 0, 0)), seat=kt.Pose.of((0.4, 0, 0)))
    return b.build()


@pytest.mark.parametrize("closing", [kt.Spherical(), kt.Revolute("y")], ids=["point", "hinge"])
def test_closed_loops(closing):
    robot = mechanism(closing)
    again, compiled = written(robot)
    assert compiled.neq == (1 if closing.name == "spherical" else 2)
    q = robot.assembled(np.random.default_rng(0))
    assert np.abs(again.closure_error(q)).max() < 1e-9
    v = robot.velocities(q, np.array([0.7]))
    a = robot.forward_dynamics(q, v, np.zeros(3))
    assert_close(again.forward_dynamics(q, v, np.zeros(3)), a, 1e-8)


def test_followers_couplings_tendons_actuators_and_configurations(tmp_path):
    rod = {"mass": 1.0, "com": (0, 0, -0.2), "inertia": (0.02, 0.02, 0.01)}
    b = kt.Builder("hand")
    b.body("palm", "base", kt.Revolute("y"), lower=-1.0, upper=2.0, effort_limit=5.0, friction=0.3, **rod)
    b.body("first", "palm", kt.Revolute("y"), position=(0, 0, -0.4), actuated=False, **rod)
    follower = {"mimic": kt.Mimic("first_joint", 0.5, 0.1), "actuated": False}
    b.body("second", "palm", kt.Revolute("x"), position=(0.1, 0, -0.4), **follower, **rod)
    b.body("third", "second", kt.Prismatic("z"), actuated=False, **rod)
    b.coupling("cam", "third_joint", "palm_joint", [0.1, 0.2, 0.05])
    b.tendon("cord", {"palm_joint": 0.1, "first_joint": -0.2}, stiffness=30.0, rest=0.05, damping=0.4)
    b.tendon("rope", points=[("palm", (0.1, 0, 0)), ("third", (0, 0.1, 0))], stiffness=10.0, rest=(0.1, 0.3))
    b.actuator("servo", "palm_joint", gain=20.0, bias=(0.5, -20.0, -2.0), control_range=(-1, 1), force_range=(-9, 9))
    b.configuration("bent", {"palm_joint": 0.3, "first_joint": 0.4, "third_joint": 0.1})
    robot = b.build()
    again, compiled = written(robot)
    assert (compiled.neq, compiled.ntendon, compiled.nu, compiled.nkey) == (2, 2, 1, 1)
    assert again.model.joints == robot.model.joints
    assert (again.model.couplings, again.model.tendons) == (robot.model.couplings, robot.model.tendons)
    assert again.model.actuators == robot.model.actuators
    (bent,) = again.model.configurations
    expected = {"palm_joint": 0.3, "first_joint": 0.4, "second_joint": 0.3, "third_joint": 0.1}
    assert bent.name == "bent"
    assert {name: x for name, (x,) in bent.positions} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("passive", "servo"), [("", False), ("c", False), ("ac", False), ("abc", False), ("abc", True), ("bc", True)]
)
def test_joints_without_a_motor_come_back_without(passive, servo):
    """A file without actuators says nothing about motors, and an actuator may drive a joint that is passive."""
    b = kt.Builder("arm")
    for name, parent, kind in zip("abc", ("base", "a", "b"), (kt.Revolute("y"), kt.Prismatic("x"), kt.Spherical()),
                                  strict=True):  # fmt: skip
        b.body(name, parent, kind, mass=1.0, inertia=(1, 1, 1), position=(0, 0, 1), actuated=name not in passive)
    b.body("d", "base", kt.Revolute("y"), mass=1.0, inertia=(1, 1, 1), mimic=kt.Mimic("a_joint", 2.0, 0.1))
    if servo:
        b.actuator("servo", "a_joint", gain=3.0)
    again, compiled = written(b.build())
    assert compiled.nu == (1 if servo else 0 if passive in ("", "abc") else 3 - len(passive))
    driven = {j.name: j.actuated for j in again.model.joints if j.nv}
    assert driven == {f"{name}_joint": name not in passive for name in "abc"}
    assert again.joint("d_joint").mimic == kt.Mimic("a_joint", 2.0, 0.1)


def test_frames_that_bodies_are_known_by():
    path = "<robot name='r'><link name='a'/><joint name='j' type='continuous'><parent link='a'/><child link='b'/>"
    path += "<axis xyz='0 1 0'/></joint><link name='b'><inertial><mass value='1'/><origin xyz='0.1 0 0'/>"
    path += "<inertia ixx='.1' iyy='.1' izz='.1' ixy='.01' ixz='0' iyz='0'/></inertial></link></robot>"
    with open("r.urdf", "w") as file:
        file.write(path)
    robot = kt.load("r.urdf")
    again, _ = written(robot)
    assert "a" in {f.name for f in again.model.frames}  # the base, which MuJoCo calls the world
    assert again.body_names == robot.body_names
    assert_close(again.parameters().values, robot.parameters().values, 1e-14)


@pytest.mark.parametrize(
    ("robot", "said"),
    [
        (kt.Builder().body("b", "base", kt.Helical("z", 0.1), mass=1, inertia=(1, 1, 1)), "has no helical joint"),
        (kt.Builder().body("b", "base", kt.Revolute("z"), mass=1, com=(1, 0, 0)), "'b' has no extent"),
        (kt.Builder().body("b", "base", kt.Revolute("z")), "'b' has no mass"),
        (
            kt.Builder().body("b", "base", kt.Spherical(), mass=1, inertia=(1, 1, 1), damping=(1, 2, 3)),
            "damping of joint 'b_joint'",
        ),
    ],
)
def test_what_mujoco_does_not_have_is_refused(robot, said, tmp_path):
    with pytest.raises(kt.UnsupportedError, match=said):
        robot.build().save(tmp_path / "robot.xml")
    assert not (tmp_path / "robot.xml").exists()


def test_what_is_lost_is_named():
    robot = kt.Builder().body(
        "b", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1), velocity_limit=3.0, friction_offset=0.2
    )
    with pytest.warns(kt.ModelWarning, match="velocity limits of joint 'b_joint'; friction offset of joint 'b_joint'"):
        robot.build().save("robot.xml")


def test_a_spring_that_only_pushes_is_slack_for_a_billion_meters(tmp_path):
    b = kt.Builder("pad").body("arm", "base", kt.Revolute("z"), mass=1, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.frame("p", "arm", (0.1, 0, 0)).frame("g", "base", (0.1, -0.04, 0))
    with pytest.raises(kt.ModelError, match="from a length to infinity"):
        b.tendon("pad", points=("p", "g"), stiffness=100.0, rest=np.inf)
    robot = b.tendon("pad", points=("p", "g"), stiffness=100.0, rest=(0.05, np.inf)).build()
    robot.save(tmp_path / "pad.xml")
    again = kt.load(tmp_path / "pad.xml")
    assert again.model.tendons[0].rest == (0.05, 1e9)
    for angle in (-0.1, 0.2):
        found = again.inverse_dynamics([angle], [0.0], [0.0])
        np.testing.assert_allclose(found, robot.inverse_dynamics([angle], [0.0], [0.0]), atol=1e-12)
