"""Slips of somebody who uses kinetree for the first time: each is told what to do instead."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from helpers.robots import arm
from kinetree.errors import nearest

Sphere, Box, Rod, Cylinder = (getattr(kt.MassProperties, n) for n in ("sphere", "box", "rod", "cylinder"))


# ------------------------------------------------------------------ masses


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box(1, 2.0), "size of the box along x, y and z must be three numbers, got 2.0"),
        (lambda: Box(1, (1, 2)), "must be three numbers, got (1, 2)"),
        (lambda: Box(1, (1, 2, -3)), "must not be negative"),
        (lambda: Rod(1, (0, 0), (1, 0)), "start of the rod must be three numbers, got (0, 0)"),
        (lambda: Rod(1, (0, 0, 0), (1, 0)), "end of the rod must be three numbers, got (1, 0)"),
        (lambda: Rod(-1, (0, 0, 0), (1, 0, 0)), "mass must not be negative"),
        (lambda: Sphere(-1, 0.1), "mass must not be negative, and finite; got -1"),
        (lambda: Sphere(1, -0.1), "radius of the sphere must not be negative, and finite; got -0.1"),
        (lambda: Sphere(np.nan, 0.1), "mass must not be negative, and finite; got nan"),
        (lambda: Sphere("1", 0.1), "mass must be numbers, got '1'"),
        (lambda: Cylinder(1, 0.1, -1), "length of the cylinder must not be negative"),
        (lambda: Cylinder(1, [0.1, 0.2], 1), "radius of the cylinder must be one number"),
        (lambda: kt.MassProperties.of("1"), "mass must be numbers, got '1'"),
        (lambda: kt.MassProperties.of(1.0, ["0", "0", "1"]), "centre of mass must be numbers"),
    ],
)
def test_shapes_that_cannot_be(make, words):
    with pytest.raises(kt.ModelError, match=re.escape(words)):
        make()


def test_shapes_that_can_be_are_as_before():
    """Closed forms; a point and a plate are bodies, too."""
    assert Sphere(2, 0.0).inertia == (0.0,) * 6
    assert Box(12, [0, 1, 2]).inertia[:3] == (5.0, 4.0, 1.0)
    assert Cylinder(12, 2, 1).inertia[:3] == (13.0, 13.0, 24.0)
    assert Rod(12, (0, 0, 0), (1, 0, 0)).inertia[:3] == (0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mass_properties": 1.0}, "body 'a': mass_properties must be kinetree.MassProperties, such as"),
        ({"mass_properties": 0.0}, "not 0.0; a mass alone is mass=..."),
        ({"mass": "1"}, "body 'a': mass must be numbers, got '1'"),
        ({"com": (0, 0, 1)}, "body 'a': a centre of mass needs a mass"),
        ({"mass": 1, "position": ("0", "0", "1")}, "must be numbers"),
    ],
)
def test_bodies_that_cannot_be(given, words):
    builder = kt.Builder("r")
    with pytest.raises(kt.ModelError, match=re.escape(words)):
        builder.body("a", "base", kt.Revolute("z"), **given)
    assert builder.body("a", "base", kt.Revolute("z"), mass=1.0).build().mass == 1.0


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (2.0, "the payload on 'link2' must be kinetree.MassProperties"),
        (kt.MassProperties(-1.0), "mass is negative (-1)"),
    ],
)
def test_payloads_that_cannot_be(payload, words):
    robot = arm()
    name = robot.body_names[-1]
    with pytest.raises(kt.ModelError, match=re.escape(words.replace("link2", name))):
        robot.with_payload(name, payload)


@pytest.mark.parametrize("move", [kt.trajectories.Cycloid, kt.trajectories.Trapezoidal])
def test_ends_of_a_move_have_as_many_joints(move):
    with pytest.raises(kt.ShapeError, match="q1 has 1 entries, and the first vector has 2"):
        move([0.0, 0.0], [1.0], 1.0)
    assert np.array_equal(move([0.0, 0.0], 1.0, 1.0).q1, [1.0, 1.0])  # one number stands for all
    assert move([0.0, 0.0], [[1.0], [2.0]], 1.0).q1.shape == (2, 2)  # and one for each of a batch


# ------------------------------------------------------------------ wrenches


def test_wrenches_come_with_the_frame_they_act_on():
    robot = arm()
    zero, push = np.zeros(robot.nv), kt.Wrench(force=(0, 0, 1))
    for given in (push, [push], (push, push)):
        with pytest.raises(kt.ShapeError, match=re.escape(f"act on: {{'{robot.body_names[-1]}': Wrench(...)}}")):
            robot.inverse_dynamics(zero, zero, zero, wrenches=given)
    assert robot.inverse_dynamics(zero, zero, zero, {robot.body_names[-1]: push}).shape == (robot.nv,)


@pytest.mark.parametrize("part", ["force", "moment", "point"])
@pytest.mark.parametrize("given", [(0, 0), 5.0, np.zeros((3, 2)), "abc"])
def test_a_wrench_of_the_wrong_shape_is_refused_at_once(part, given):
    with pytest.raises(kt.ShapeError, match=rf"{part} (must have shape \(\.\.\., 3\)|cannot be read.*text in it)"):
        kt.Wrench(**{part: given})


# ------------------------------------------------------------------ names


def test_the_gallery_has_its_own_door(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("four-bar", "fourbar"):
        with pytest.raises(kt.RobotFileNotFoundError, match=rf"no robot file '{name}'.*gallery\.load\('four-bar'\)"):
            kt.load(name)
    for name in ("four-bar.urdf", "nothing", "models/four-bar"):
        with pytest.raises(kt.RobotFileNotFoundError) as caught:
            kt.load(name)
        assert "gallery" not in str(caught.value)


TALOS = ["leg_left_6_joint", "leg_left_6_link", "left_sole_link", "right_sole_link", "arm_left_1_joint", "base_link"]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("bse", ["base", "base", "arm"], ["base"]),
        ("lenght", ["placement", "mass", "inertia", "upper", "lower"], []),
        ("nothing", ["chain", "four-bar", "swing"], []),
        ("left_foot", TALOS, ["left_sole_link"]),
        ("LEFT_SOLE_LINK", TALOS, ["left_sole_link"]),
        ("base_lnk", TALOS, ["base_link"]),
        ("elbow", ["left_elbow_joint", "wrist"], ["left_elbow_joint"]),
        ("rk5", ["rk4", "rk45", "radau"], ["rk45"]),
        ("", ["a", "b"], []),
    ],
)
def test_suggestions(name, known, meant):
    assert nearest(name, known) == meant
    told = str(kt.UnknownNameError("thing", name, known))
    assert told.startswith(f"no thing named {name!r}; ")
    assert ("did you mean" in told) == bool(meant)
    assert all(told.count(repr(m)) == 1 for m in meant)
    if not meant:
        assert f"known: {', '.join(known)}" in told


# ------------------------------------------------------------------ starts and records


def test_a_mechanism_needs_a_start_and_the_advice_can_be_followed():
    robot = kt.gallery.load("four-bar")
    with pytest.raises(kt.StateError, match="q0 is needed") as caught:
        kt.simulate(robot, time=0.1)
    assert "project" not in str(caught.value)
    assert "q0=robot.assembled()" in str(caught.value)
    assert "kinetree.gallery.start(name)" in str(caught.value)
    for q0 in (robot.assembled(), kt.gallery.start("four-bar")):
        assert kt.simulate(robot, q0, time=0.01).status == "complete"
    with pytest.raises(kt.StateError, match=r"robot\.project\(q0, v0\), or .* robot\.assembled\(\)"):
        kt.simulate(robot, robot.neutral(), time=0.1)


@pytest.fixture
def two_arms(tmp_path):
    """The same arm on a fixed and on a floating base, and its record; and one with other names."""

    def made(first="shoulder", floating=False):
        b = kt.Builder("arm")
        b.add_body("base", kt.MassProperties.box(5.0, (1, 1, 1)))
        b.body("upper", "base", kt.Revolute("y"), joint_name=first, mass=1, com=(0, 0, -0.5))
        b.body("lower", "upper", kt.Revolute("y"), joint_name="elbow", mass=1, com=(0, 0, -0.5), position=(0, 0, -1))
        return b.build(floating_base=floating)

    robots = {"fixed": made(), "floating": made(floating=True), "other": made("hip")}
    for name, robot in robots.items():
        kt.simulate(robot, time=0.1, output=5).save(tmp_path / f"{name}.npz")
        robot.save(tmp_path / f"{name}.yaml")
    robots["fixed"].save(tmp_path / "arm.urdf")
    return tmp_path, robots


def test_a_record_is_only_loaded_with_its_robot(two_arms):
    folder, robots = two_arms
    for name, robot in robots.items():
        assert kt.Record.load(folder / f"{name}.npz", robot=robot).at(0.05).q.shape == (1, robot.nq)
    refused = {
        ("fixed", "floating"): "it was simulated on a fixed base; load the robot without floating_base=True",
        ("floating", "fixed"): "it was simulated on a floating base, joint 'floating_base'; load the robot with "
        "floating_base=True",
        ("fixed", "other"): "coordinate 0 is of joint 'shoulder' in the record, and of 'hip' in robot 'arm'",
    }
    for (record, robot), words in refused.items():
        with pytest.raises(kt.OptionError, match=re.escape(words)):
            kt.Record.load(folder / f"{record}.npz", robot=robots[robot])
    stranger = kt.gallery.load("kuka-kr5")
    with pytest.raises(kt.OptionError, match=r"2 coordinates and robot .* has 6: it is of another robot \('arm'\)"):
        kt.Record.load(folder / "fixed.npz", robot=stranger)


def test_joints_that_follow_are_named(tmp_path):
    def gripper(mimic):
        b = kt.Builder("gripper").body("left", "base", kt.Prismatic("x"), mass=1)
        return b.body("right", "base", kt.Prismatic("x"), mass=1, mimic=mimic).build()

    kt.simulate(gripper(None), time=0.1, output=3).save(tmp_path / "free.npz")
    with pytest.raises(kt.OptionError, match=r"'right_joint' only in the record; .*mimic="):
        kt.Record.load(tmp_path / "free.npz", robot=gripper(kt.Mimic("left_joint", -1.0)))


def test_view_says_that_the_base_differs(two_arms):
    folder, _ = two_arms
    said = invoke(
        "view", folder / "fixed.yaml", "--floating-base", folder / "fixed.npz", "--screenshot", "x.png", code=1
    )
    assert "it was simulated on a fixed base; load the robot without --floating-base" in said.stderr
    said = invoke("view", folder / "arm.urdf", folder / "floating.npz", "--screenshot", "x.png", code=1)
    assert "joint 'floating_base'; load the robot with --floating-base" in said.stderr
    assert "another robot" not in said.stderr


# ------------------------------------------------------------------ motors of a floating base


def four_bar_leg(**said) -> kt.Mechanism:
    """A trunk on a free joint, with a leg of one motor and one loop."""
    b = kt.Builder("hopper").body("trunk", "base", kt.Free(), mass=5.0, inertia=(0.1, 0.1, 0.1), **said)
    b.body("thigh", "trunk", kt.Revolute("y"), joint_name="hip", mass_properties=Rod(1.0, (0, 0, 0), (0, 0, -0.4)))
    b.body("shank", "thigh", kt.Revolute("y"), joint_name="knee", position=(0, 0, -0.4), actuated=False,
           mass_properties=Rod(0.5, (0, 0, 0.1), (0, 0, -0.4)))  # fmt: skip
    b.body("pushrod", "trunk", kt.Revolute("y"), joint_name="rod_hip", position=(0.1, 0, 0.1), actuated=False,
           mass_properties=Rod(0.3, (0, 0, 0), (0, 0, -0.4)))  # fmt: skip
    return b.loop("pin", "pushrod", "shank", kt.Revolute("y"), placement=(0, 0, -0.4), seat=(0, 0, 0.1)).build()


def test_a_floating_mechanism_is_lifted_by_no_motor_it_does_not_have():
    """With a motor for every freedom of the base it hangs in the air at rest; without, no motors hold it."""
    fixed = four_bar_leg(actuated=True)
    q = fixed.close(np.array([0, 0, 0, 1, 0, 0, 1.0, 0.3, -0.6, 0.1]), fixed=["trunk_joint"])
    rest = np.zeros(fixed.nv)
    tau = fixed.inverse_dynamics(q, rest, rest)
    assert tau[5] == pytest.approx(fixed.mass * 9.81)  # the whole weight, along the trunk's z axis
    hanging = kt.simulate(fixed, q, time=0.3, controller=kt.control.GravityCompensation(), output=3)
    assert np.abs(hanging.v).max() < 1e-6
    with pytest.raises(kt.SingularError, match=r"7 freedoms but 1 actuators? \(hip\)"):
        four_bar_leg().inverse_dynamics(q, rest, rest)
